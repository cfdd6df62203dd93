// SPDX-License-Identifier: Apache-2.0
// A page of a job as bytes, and back.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "backlog/job_tasks.h"
#include "backlog/job_tasks_parts.h"
#include "base/check.h"

namespace allot {
namespace {

// The first byte of a saved page says which parts follow the done set.
constexpr std::uint8_t kHasFailed = 1;
constexpr std::uint8_t kHasRetrying = 2;
constexpr std::uint8_t kHasAttempts = 4;

}  // namespace

void JobTasks::SavePage(std::uint32_t page, ByteWriter& out) const {
  CHECK(page < pages());
  std::uint32_t batches = 0;
  std::uint32_t attempts_sets = 0;
  bool any_failed = false;
  if (rare_ != nullptr) {
    any_failed = rare_->failed.SizeOfPage(page) > 0;
    for (const auto& [batch, set] : rare_->retrying) batches += set.SizeOfPage(page) > 0;
    for (const auto& [attempts, set] : rare_->by_attempts) attempts_sets += set.SizeOfPage(page) > 0;
  }
  out.U8(static_cast<std::uint8_t>((any_failed ? kHasFailed : 0) | (batches > 0 ? kHasRetrying : 0) |
                                   (attempts_sets > 0 ? kHasAttempts : 0)));
  PageBits queued;
  PageBits done;
  CopyBits(page, queued, done);
  WriteBits(done, out);
  if (any_failed) rare_->failed.SavePage(page, out);
  if (batches > 0) {
    out.Varint(batches);
    for (const auto& [batch, set] : rare_->retrying) {
      if (set.SizeOfPage(page) == 0) continue;
      out.Signed(ToMillis(batch.due));
      out.Varint(batch.attempts);
      set.SavePage(page, out);
    }
  }
  if (attempts_sets > 0) {
    out.Varint(attempts_sets);
    for (const auto& [attempts, set] : rare_->by_attempts) {
      if (set.SizeOfPage(page) == 0) continue;
      out.Varint(attempts);
      set.SavePage(page, out);
    }
  }
}

bool JobTasks::LoadPage(std::uint32_t page, ByteReader& in) {
  if (page >= pages() || !Untouched(page)) return false;
  const std::uint32_t tasks = TasksOf(page);
  ByteReader reader = in;
  PageBits taken{};  // by any part so far: the parts have no task in common
  // Reads a set of tasks that no part before has; nothing if it is not one, or if it is empty and must not be.
  const auto read = [&](bool may_be_empty) -> std::optional<PageBits> {
    std::optional<PageBits> bits = ReadBits(tasks, reader);
    if (!bits) return std::nullopt;
    std::uint64_t any = 0;
    std::uint64_t common = 0;
    for (std::uint32_t w = 0; w < kPageWords; ++w) {
      any |= (*bits)[w];
      common |= (*bits)[w] & taken[w];
      taken[w] |= (*bits)[w];
    }
    if (common != 0 || (any == 0 && !may_be_empty)) return std::nullopt;
    return bits;
  };
  const auto read_attempts = [&]() -> std::uint32_t {  // 0: none that can be
    const std::uint64_t attempts = reader.Varint();
    return attempts <= UINT32_MAX ? static_cast<std::uint32_t>(attempts) : 0;
  };

  const std::uint8_t parts = reader.U8();
  if (!reader.ok() || (parts & ~(kHasFailed | kHasRetrying | kHasAttempts)) != 0) return false;
  const std::optional<PageBits> done = read(true);
  if (!done) return false;
  TaskSet failed;
  if ((parts & kHasFailed) != 0) {
    const std::optional<PageBits> bits = read(false);
    if (!bits) return false;
    failed.AddPage(page, *bits);
  }
  // Both lists are sorted by what is before each set. Sets, not bits: a page may have 32,768 due times.
  std::vector<std::pair<Rare::Batch, TaskSet>> retrying;
  if ((parts & kHasRetrying) != 0) {
    const std::uint64_t batches = reader.Varint();
    if (!reader.ok() || batches == 0 || batches > tasks) return false;
    for (std::uint64_t i = 0; i < batches; ++i) {
      const WallTime due = FromMillis(reader.Signed());
      const Rare::Batch batch{due, read_attempts()};
      if (!reader.ok() || batch.attempts == 0 || (i > 0 && batch <= retrying.back().first)) return false;
      const std::optional<PageBits> bits = read(false);
      if (!bits) return false;
      retrying.emplace_back(batch, TaskSet());
      retrying.back().second.AddPage(page, *bits);
    }
  }
  const PageBits not_queued = taken;
  std::vector<std::pair<std::uint32_t, TaskSet>> by_attempts;
  if ((parts & kHasAttempts) != 0) {
    const std::uint64_t sets = reader.Varint();
    if (!reader.ok() || sets == 0 || sets > tasks) return false;
    for (std::uint64_t i = 0; i < sets; ++i) {
      const std::uint32_t attempts = read_attempts();
      if (!reader.ok() || attempts == 0 || (i > 0 && attempts <= by_attempts.back().first)) return false;
      const std::optional<PageBits> bits = read(false);
      if (!bits) return false;
      by_attempts.emplace_back(attempts, TaskSet());
      by_attempts.back().second.AddPage(page, *bits);
    }
  }

  // All is well: from here on nothing can fail.
  in = reader;
  const std::uint32_t n_done = CountBits(done->data(), kPageWords);
  const std::uint32_t n_not_queued = CountBits(not_queued.data(), kPageWords);
  const auto n_failed = static_cast<std::int32_t>(failed.size());
  if (!failed.empty()) failed.TakePage(page, MakeRare().failed);
  std::int32_t n_waiting = 0;
  for (auto& [batch, set] : retrying) {
    n_waiting += static_cast<std::int32_t>(set.size());
    set.TakePage(page, MakeRare().retrying[batch]);
  }
  if (n_waiting > 0) rare_->n_retrying += static_cast<std::uint32_t>(n_waiting);
  for (auto& [attempts, set] : by_attempts) set.TakePage(page, MakeRare().by_attempts[attempts]);
  if (n_not_queued == 0) return true;
  if (small()) {
    store_.bits.queued &= ~not_queued[0];
    store_.bits.done = (*done)[0];
  } else if (n_done == tasks) {
    Close(page, kAllDone);
  } else {
    Page& bits = Open(page);
    std::copy_n(done->data(), bits.words(), bits.done_words());
    for (std::uint32_t w = 0; w < bits.words(); ++w) {
      bits.queued_words()[w] &= ~not_queued[w];
      if (bits.queued_words()[w] == 0) ClearBit(bits.summary(), w);
    }
    bits.queued = static_cast<std::uint16_t>(tasks - n_not_queued);
    bits.done = static_cast<std::uint16_t>(n_done);
  }
  if (!small() && n_not_queued == tasks) NoteQueued(page, false);
  if (!small()) CountQueuedDone(page);
  CountRare(page, n_waiting, n_failed);
  queued_ -= n_not_queued;
  done_ += n_done;
  if (done_ == count_ && !small() && !single()) FreeBits();
  return true;
}

}  // namespace allot
