// SPDX-License-Identifier: Apache-2.0
#include "server/queue/committer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/ops/clock.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

constexpr auto kDiskFullRetry = 250ms;
constexpr auto kUnavailableRetry = 50ms;  // a try waits by itself
// A closing server does not wait for ever: what could not be written was never promised.
constexpr int kTriesWhenClosing = 8;
constexpr auto kIdleBeforeTidy = 5ms;
constexpr std::size_t kCommitsPerTidy = 64;                // under load
constexpr std::size_t kMaxCommitBytes = 16 * 1024 * 1024;  // of one transaction, unless a single batch is larger

std::size_t Bytes(const Batch& batch) {
  std::size_t n = batch.events.size();
  for (const PayloadSegment& s : batch.payloads) {
    for (const std::string& p : s.payloads) n += p.size();
  }
  for (const Outcome& o : batch.outcomes) n += o.text.size();
  for (const Record& r : batch.records) n += r.blob.size();
  return n;
}

// What may be committed by whoever brings it: a thread with sockets must not stand still for long, and where there is
// more, a commit for all of it costs less.
constexpr double kFewCommands = 4;
constexpr double kQuickMicros = 1000;
constexpr double kForget = 0.125;  // of what was, with each commit

}  // namespace

void Committer::Pace::Note(Duration took, std::size_t commands) {
  const auto now = static_cast<double>(commands);
  // Many at once are a load; few are the end of it only if they stay few.
  commands_ = std::max(now, commands_ + (now - commands_) * kForget);
  const double micros = std::chrono::duration<double, std::micro>(took).count();
  micros_ = micros_ == 1e9 ? micros : micros_ + (micros - micros_) * kForget;
}

bool Committer::Pace::LittleAndQuick(std::size_t commands) const {
  return static_cast<double>(commands) <= kFewCommands && commands_ <= kFewCommands && micros_ <= kQuickMicros;
}

bool HasContent(const Batch& batch) {
  return !batch.events.empty() || !batch.payloads.empty() || !batch.outcomes.empty() || !batch.records.empty() ||
         !batch.removals.empty() || batch.floor != 0;
}

Committer::Committer(Store& store, Fatal on_fatal, QueueMetrics* metrics)
    : store_(store), on_fatal_(std::move(on_fatal)), metrics_(metrics) {
  thread_ = std::thread([this] { Loop(); });
}

Committer::~Committer() { Close(); }

void Committer::Close() {
  closing_.store(true, std::memory_order_release);
  mailbox_.Close();
  if (thread_.joinable()) thread_.join();
}

bool Committer::Push(CommitWork work) {
  pending_.fetch_add(1, std::memory_order_acq_rel);
  if (mailbox_.Push(std::move(work))) return true;
  pending_.fetch_sub(1, std::memory_order_acq_rel);
  return false;
}

bool Committer::CommitHere(CommitWork& work) {
  if (work.task || work.batch.floor != 0 || !work.batch.removals.empty()) return false;  // leaves something to tidy
  if (pending() != 0 || stall() != Stall::kNone || closing_.load(std::memory_order_acquire)) return false;
  std::unique_lock lock(store_mutex_, std::try_to_lock);
  if (!lock || !pace_.LittleAndQuick(work.commands) || !store_.CommitsAtOnce()) return false;
  batches_.clear();
  batches_.push_back(std::move(work.batch));
  const Instant began = ReadMonotonic();
  const Result<void> committed = store_.Commit(batches_);
  if (!committed.ok()) {
    if (StallOf(committed.error()) == Stall::kNone) on_fatal_(committed.error());
    // The store thread tries again, and waits for space.
    work.batch = std::move(batches_.front());
    return false;
  }
  const Duration took = ReadMonotonic() - began;
  pace_.Note(took, work.commands);
  lock.unlock();
  commits_.fetch_add(1, std::memory_order_relaxed);
  commits_here_.fetch_add(1, std::memory_order_relaxed);
  if (metrics_ != nullptr) metrics_->Committed(took, 1, work.events, true);
  Release(work.outbox);
  return true;
}

void Committer::Loop() {
  std::vector<CommitWork> works;
  for (;;) {
    Mailbox<CommitWork>::Deadline deadline;
    if (untidy_) deadline = std::chrono::steady_clock::now() + kIdleBeforeTidy;
    if (!mailbox_.Take(works, deadline)) return;
    if (works.empty()) {
      if (untidy_ && !closing_.load(std::memory_order_acquire)) TidyOnce();
      continue;
    }
    const std::size_t count = works.size();
    CommitAll(works);
    works.clear();
    pending_.fetch_sub(count, std::memory_order_acq_rel);
    if (untidy_ && ++commits_since_tidy_ >= kCommitsPerTidy) TidyOnce();
  }
}

void Committer::CommitAll(std::vector<CommitWork>& works) {
  std::size_t begin = 0;
  while (begin < works.size()) {
    std::unique_lock lock(store_mutex_);
    std::size_t bytes = 0;
    std::size_t end = begin;
    do {
      if (works[end].task && !abandoned_.load(std::memory_order_acquire)) works[end].task(store_);
      bytes += Bytes(works[end].batch);
      ++end;
    } while (end < works.size() && bytes < kMaxCommitBytes);
    Outbox outbox = CommitSlice(works, begin, end);
    lock.unlock();
    Release(outbox);
    begin = end;
  }
}

Outbox Committer::CommitSlice(std::vector<CommitWork>& works, std::size_t begin, std::size_t end) {
  if (abandoned_.load(std::memory_order_acquire)) given_up_ = true;
  if (given_up_) return {};  // nothing may be written behind what could not be
  batches_.clear();
  std::size_t events = 0;
  std::size_t commands = 0;
  for (std::size_t i = begin; i < end; ++i) {
    commands += works[i].commands;
    Batch& batch = works[i].batch;
    if (!HasContent(batch)) continue;
    // What is only in the store's journal is to be tidied, too.
    untidy_ = true;
    batches_.push_back(std::move(batch));
    events += works[i].events;
  }
  if (!batches_.empty()) {
    const Instant began = ReadMonotonic();
    for (int tries = 0;; ++tries) {
      const Result<void> committed = store_.Commit(batches_);
      if (committed.ok()) break;
      const Stall stall = StallOf(committed.error());
      if (stall == Stall::kNone) {
        on_fatal_(committed.error());
        given_up_ = true;
        return {};
      }
      stall_.store(stall, std::memory_order_release);
      if (abandoned_.load(std::memory_order_acquire) ||
          (closing_.load(std::memory_order_acquire) && tries >= kTriesWhenClosing)) {
        given_up_ = true;
        return {};
      }
      std::this_thread::sleep_for(stall == Stall::kDiskFull ? kDiskFullRetry : kUnavailableRetry);
    }
    stall_.store(Stall::kNone, std::memory_order_release);
    commits_.fetch_add(1, std::memory_order_relaxed);
    const Duration took = ReadMonotonic() - began;
    pace_.Note(took, commands);
    if (metrics_ != nullptr) metrics_->Committed(took, batches_.size(), events);
  }
  Outbox outbox;
  for (std::size_t i = begin; i < end; ++i) {
    if (works[i].touch != 0) durable_touch_.store(works[i].touch, std::memory_order_release);
    if (outbox.empty()) {
      outbox = std::move(works[i].outbox);
    } else {
      for (OutMessage& message : works[i].outbox) outbox.push_back(std::move(message));
    }
  }
  return outbox;
}

void Committer::TidyOnce() {
  std::lock_guard lock(store_mutex_);
  commits_since_tidy_ = 0;
  if (given_up_ || abandoned_.load(std::memory_order_acquire)) {
    untidy_ = false;
    return;
  }
  const Result<bool> more = store_.Tidy();
  if (!more.ok()) {
    // Tidying needs a little space itself; what it wanted to do stays to be done.
    if (StallOf(more.error()) == Stall::kNone) on_fatal_(more.error());
    return;
  }
  untidy_ = *more;
}

}  // namespace allot
