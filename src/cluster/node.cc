// SPDX-License-Identifier: Apache-2.0
#include "cluster/node.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace allot::cluster {
namespace {

using namespace std::chrono_literals;

constexpr int kWorkers = 4;
constexpr auto kPatience = 1500ms;  // with a round
constexpr auto kHurry = 40ms;       // between rounds while something is about to change
constexpr auto kRiseAgain = 500ms;
constexpr Duration kTryAgain = 1s;  // to take what could not be taken

}  // namespace

const QueueRow* Picture::Find(std::string_view queue) const {
  const auto at = std::lower_bound(queues.begin(), queues.end(), queue,
                                   [](const QueueRow& row, std::string_view name) { return row.name < name; });
  return at != queues.end() && at->name == queue ? &*at : nullptr;
}

const NodeRow* Picture::OwnerOf(const QueueRow& queue) const {
  const std::string_view node = NodeOf(queue.incarnation);
  if (node.empty()) return nullptr;
  for (const NodeRow& row : nodes) {
    if (row.incarnation == node && !row.dead) return &row;
  }
  return nullptr;
}

Node::Node(Options options)
    : options_(std::move(options)), table_(options_.database), picture_(std::make_shared<Picture>()) {}

Node::~Node() { Leave(); }

Result<void> Node::Start() {
  Result<std::string> incarnation = table_.Enter(options_.introduction, options_.timing);
  if (!incarnation) return incarnation.error();
  membership_ = std::make_unique<Membership>(name(), *incarnation, options_.timing);
  rounds_ = std::make_unique<NodeTable::Rounds>(options_.database, *incarnation);
  for (int i = 0; i < kWorkers; ++i) workers_.emplace_back([this] { Work(); });
  thread_ = std::thread([this] { Loop(); });
  return {};
}

void Node::BeginStop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || !thread_.joinable()) return;
    stopping_ = true;
  }
  // Where this fails, others take over once it has left.
  static_cast<void>(table_.SetDraining(name(), true));
}

void Node::Leave() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = leaving_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (std::thread& worker : workers_) worker.join();
  lease_.End();
  static_cast<void>(table_.Leave(membership_->incarnation()));
}

PicturePtr Node::picture() const {
  const std::lock_guard lock(mutex_);
  return picture_;
}

void Node::Hurry() {
  {
    const std::lock_guard lock(mutex_);
    hurry_ = true;
  }
  changed_.notify_all();
}

Node::Stats Node::stats() const {
  const Instant now = ReadLeaseClock();
  return {.taken = taken_,
          .handed_over = handed_over_,
          .deaths = deaths_,
          .missed = missed_,
          .beat_age = now - Instant(Duration(last_beat_.load())),
          .round_time = Duration(round_time_.load())};
}

void Node::Loop() {
  auto next = std::chrono::steady_clock::now();
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_until(lock, next, [this] { return leaving_ || hurry_; });
      if (leaving_) return;
      hurry_ = false;
    }
    const auto began = std::chrono::steady_clock::now();
    if (!Round()) Rise();
    // While queues have no owner, or are to move, others act, and this one is to see it soon.
    bool moving = false;
    const PicturePtr seen = picture();
    for (const QueueRow& queue : seen->queues) {
      const NodeRow* const owner = seen->OwnerOf(queue);
      moving = moving || (queue.incarnation.empty()) || (owner != nullptr && owner->draining) ||
               (owner != nullptr && !queue.pinned.empty() && owner->name != queue.pinned);
    }
    next = began + (moving ? std::chrono::duration_cast<std::chrono::milliseconds>(options_.timing.beat_every) / 4
                           : std::chrono::duration_cast<std::chrono::milliseconds>(options_.timing.beat_every));
    next = std::max(next, std::chrono::steady_clock::now() + kHurry);
  }
}

bool Node::Round() {
  const Instant sent = ReadLeaseClock();
  // What is here now may be gone from here by the time that the rows are read, and the other way round.
  std::set<std::string, std::less<>> held = Held();
  Result<NodeTable::Rounds::Seen> seen = rounds_->Beat(std::chrono::steady_clock::now() + kPatience);
  const Instant now = ReadLeaseClock();
  if (!seen) {
    ++missed_;
    if (!std::exchange(said_away_, true)) options_.say("no beat: " + seen.error().message);
    return true;
  }
  if (std::exchange(said_away_, false)) options_.say("beats again");
  round_time_ = (now - sent).count();
  if (!seen->taken) return false;
  last_beat_ = sent.time_since_epoch().count();
  membership_->Beaten(sent);
  lease_.Extend(membership_->MayAnswerUntil());
  auto picture = std::make_shared<Picture>();
  picture->begun = sent;
  picture->incarnation = membership_->incarnation();
  picture->nodes = seen->nodes;
  picture->queues = seen->queues;
  std::sort(picture->queues.begin(), picture->queues.end(),
            [](const QueueRow& a, const QueueRow& b) { return a.name < b.name; });
  membership_->Observe(now, std::move(seen->nodes), std::move(seen->queues));
  {
    const std::lock_guard lock(mutex_);
    picture_ = std::move(picture);
  }
  held.merge(Held());
  Act(membership_->Decide(now, held));
  return true;
}

std::set<std::string, std::less<>> Node::Held() const {
  std::set<std::string, std::less<>> held;
  for (std::string& queue : options_.held()) held.insert(std::move(queue));
  const std::lock_guard lock(mutex_);
  held.insert(busy_.begin(), busy_.end());
  return held;
}

void Node::Act(const Membership::Decisions& decisions) {
  for (const Membership::Suspect& suspect : decisions.dead) {
    {
      const std::lock_guard lock(mutex_);
      if (!dying_.insert(suspect.incarnation).second) continue;
    }
    Post([this, suspect] {
      const Result<bool> dead = table_.DeclareDead(suspect);
      if (dead && *dead) options_.say("the node " + suspect.name + " is dead: its queues go to others");
      {
        const std::lock_guard lock(mutex_);
        dying_.erase(suspect.incarnation);
      }
      Hurry();
    });
  }
  for (const QueueRow& queue : decisions.takes) Take(queue, membership_->incarnation());
  for (const std::string& queue : decisions.moves) HandOver(queue);
}

bool Node::Begin(const std::string& queue) {
  const std::lock_guard lock(mutex_);
  return busy_.insert(queue).second;
}

void Node::Done(const std::string& queue) {
  {
    const std::lock_guard lock(mutex_);
    busy_.erase(queue);
  }
  Hurry();
}

void Node::Take(const QueueRow& queue, const std::string& incarnation) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    const auto later = not_before_.find(queue.name);
    if (later != not_before_.end() && ReadLeaseClock() < later->second) return;
  }
  if (!Begin(queue.name)) return;
  Post([this, queue, incarnation] {
    const Result<void> taken = options_.take(queue, incarnation);
    if (taken) {
      ++taken_;
    } else if (taken.error().code != Code::kFenced) {
      // Fenced: another one was faster, or its owner is alive after all.
      options_.say("cannot take the queue " + queue.name + ": " + taken.error().message);
      const std::lock_guard lock(mutex_);
      not_before_[queue.name] = ReadLeaseClock() + kTryAgain;
    }
    Done(queue.name);
  });
}

void Node::HandOver(const std::string& queue) {
  if (!Begin(queue)) return;
  Post([this, queue] {
    options_.hand_over(queue);
    ++handed_over_;
    Done(queue);
  });
}

void Node::Rise() {
  // Others may have all of it by now.
  lease_.End();
  ++deaths_;
  options_.say("others have declared this node dead: it begins anew, without queues");
  options_.lose_all();
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (leaving_) return;
    }
    Result<std::string> incarnation = table_.Enter(options_.introduction, options_.timing);
    if (incarnation) {
      rounds_ = std::make_unique<NodeTable::Rounds>(options_.database, *incarnation);
      membership_ = std::make_unique<Membership>(name(), *incarnation, options_.timing);
      return;
    }
    options_.say("cannot enter the cluster again: " + incarnation.error().message);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kRiseAgain, [this] { return leaving_; });
  }
}

void Node::Post(Job job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void Node::Work() {
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return leaving_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace allot::cluster
