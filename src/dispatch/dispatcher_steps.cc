// SPDX-License-Identifier: Apache-2.0
// Larger work, in steps: promising what is open, queues of workers that are gone or changed, levelling.
#include <algorithm>

#include "base/check.h"
#include "base/memory.h"
#include "dispatch/dispatcher.h"

namespace allot {

bool Dispatcher::Step(std::size_t& budget) {
  const bool frees = leaving_ || !gone_.empty() || !left_orders_.empty();
  const bool finished =
      StepLeaving(budget) && StepGone(budget) && StepRematches(budget) && StepWanted(budget) && StepSweep(budget);
  if (frees) SortFreedMemory();
  return finished;
}

bool Dispatcher::StepLeaving(std::size_t& budget) {
  constexpr std::size_t kLeaveCost = 4;
  for (; leaving_ && leave_from_ < slots_.size(); ++leave_from_) {
    if (budget == 0) return false;
    const WorkerQueue* queue = slots_[leave_from_];
    if (queue == nullptr || queue->worker == nullptr) continue;
    budget -= std::min(budget, kLeaveCost);
    Unregister(*queue->worker);
  }
  leaving_ = false;
  return true;
}

bool Dispatcher::StepGone(std::size_t& budget) {
  while (!gone_.empty()) {
    WorkerQueue& queue = *gone_.front();
    while (!queue.promises.empty()) {
      if (budget == 0) return false;
      Promise& promise = queue.promises.front();
      JobPromises& of_job = *promise.of_job;
      if (!balanced()) {
        budget -= std::min(budget, of_job.size());
        DropPromises(*of_job.job);
        continue;
      }
      Return(promise);
      Deal(of_job, budget);
    }
    Free(std::move(gone_.front()));
    gone_.pop_front();
  }
  while (!left_orders_.empty()) {
    if (!left_orders_.back()->Shrink(budget)) return false;
    left_orders_.pop_back();
  }
  return true;
}

void Dispatcher::Rematch(WorkerQueue& queue) {
  if (queue.promises.empty()) return;
  Disarrange(queue);
  queue.to_check = queue.promises.size();
  if (std::exchange(queue.rematch, true)) return;
  rematches_.push_back(queue.slot);
}

bool Dispatcher::StepRematches(std::size_t& budget) {
  for (; !rematches_.empty(); rematches_.pop_front()) {
    WorkerQueue* queue = slots_[rematches_.front()];
    if (queue == nullptr || !queue->rematch) continue;
    if (!balanced()) {
      queue->rematch = false;
      continue;
    }
    auto& promises = queue->promises;
    // Whoever began to take from it looks at all of it on the way.
    if (queue->unarranged < promises.size() && Current(*queue)) {
      if (!Arrange(*queue, queue->order_id, budget)) return false;
      continue;
    }
    if (queue->unarranged < promises.size()) {
      Disarrange(*queue);
      queue->to_check = promises.size();
    }
    while (queue->to_check > 0 && !promises.empty()) {
      if (budget == 0) return false;
      --budget;
      --queue->to_check;
      Promise& promise = promises.front();
      if (classes_.kinds().Matches(queue->kind, promise.job->cls)) {
        Mark(promise.job->cls, queue->kind);
        promises.splice(promises.end(), promises, promises.begin());
        continue;
      }
      JobPromises& of_job = *promise.of_job;
      Return(promise);
      Relink(*queue);
      Deal(of_job, budget);
    }
    queue->rematch = false;
  }
  return true;
}

bool Dispatcher::StepWanted(std::size_t& budget) {
  while (!balanced() && !open_classes_.empty()) {
    if (budget == 0) return false;
    --budget;
    DropPromises(*by_class_[*open_classes_.begin()].open.front().job);
  }
  for (; !wanted_.empty(); wanted_.pop_front()) {
    ClassState& state = by_class_[wanted_.front()];
    while (!state.open.empty() && FindCandidates(wanted_.front()) > 0) {
      if (budget == 0) return false;
      Deal(state.open.front(), budget);
    }
    state.wanted = false;
  }
  return true;
}

// --- Levelling.

void Dispatcher::Sweep() {
  if (!balanced()) return;
  sweep_ = true;
  // What was promised to one that stands still would wait for it, however urgent, as long as the others are busy.
  std::vector<DispatchWorker*> still;
  for (const KindQueues& kind : kinds_) {
    for (const WorkerQueue& queue : kind.with_promises) {
      const bool asks = queue.worker->asking || kind.takes - queue.takes <= kStandsStill * kind.members.size();
      if (!asks) still.push_back(queue.worker);
    }
  }
  for (DispatchWorker* worker : still) Unregister(*worker);
}

std::uint64_t Dispatcher::Move(WorkerQueue& from, WorkerQueue& to, std::uint64_t tasks, std::size_t& budget) {
  constexpr std::size_t kMostSkipped = 256;
  // Between workers that are alike, and where the promises are few, a part of each is moved, so that both have
  // something of everything.
  constexpr std::size_t kFew = 1000;
  const bool mixed = from.kind == to.kind && from.promises.size() <= std::min(kFew, budget);
  const double part = mixed ? static_cast<double>(tasks) / static_cast<double>(from.promised) : 1;
  double due = 0.5;
  std::uint64_t moved = 0;
  std::size_t skipped = 0;
  // From the end: what came last is seldom what is wanted first.
  for (auto it = from.promises.end(); it != from.promises.begin() && moved < tasks && budget > 0;) {
    Promise& promise = *std::prev(it);
    --budget;
    if (!classes_.kinds().Matches(to.kind, promise.job->cls)) {
      if (++skipped == kMostSkipped) break;
      --it;
      continue;
    }
    JobPromises& of_job = *promise.of_job;
    due += part * promise.count;
    const auto count = static_cast<std::uint32_t>(
        std::min({static_cast<std::uint64_t>(due), std::uint64_t{promise.count}, tasks - moved}));
    due -= count;
    if (count == 0) {
      --it;
      continue;
    }
    const bool all = count == promise.count;
    Reduce(promise, count);
    of_job.open += count;
    Give(of_job, to, count);
    moved += count;
    if (!all) --it;
  }
  counts_.moves += moved;
  Relink(from);
  Relink(to);
  return moved;
}

bool Dispatcher::LevelKind(KindQueues& kind, std::size_t& budget) {
  if (kind.with_promises.empty()) return false;
  WorkerQueue &most = *kind.with_promises.rbegin(), &least = *kind.by_load.begin();
  const std::uint64_t high = most.place.load, low = least.place.load;
  if (high < low + 2) return false;
  const std::uint64_t count = kind.members.size(), mean = kind.load / count, above = (kind.load + count - 1) / count;
  const std::uint64_t spare = high > above ? high - above : 1, room = mean > low ? mean - low : 1;
  return Move(most, least, std::min({spare, room, most.promised}), budget) > 0;
}

void Dispatcher::LevelKinds(std::size_t& budget) {
  constexpr std::size_t kMost = 16;
  std::vector<WorkerQueue*> givers, takers;
  for (KindQueues& kind : kinds_) {
    if (kind.members.empty()) continue;
    takers.push_back(&*kind.by_load.begin());
    if (!kind.with_promises.empty()) givers.push_back(&*kind.with_promises.rbegin());
  }
  const auto less = [](const WorkerQueue* a, const WorkerQueue* b) { return *a < *b; };
  std::sort(takers.begin(), takers.end(), less);
  std::sort(givers.begin(), givers.end(), [&](const WorkerQueue* a, const WorkerQueue* b) { return less(b, a); });
  takers.resize(std::min(takers.size(), kMost));
  givers.resize(std::min(givers.size(), kMost));
  for (WorkerQueue* to : takers) {
    for (WorkerQueue* from : givers) {
      if (budget == 0) return;
      if (from->kind == to->kind || from->place.load < to->place.load + 2) continue;
      Move(*from, *to, std::min(from->promised, (from->place.load - to->place.load) / 2), budget);
    }
  }
}

bool Dispatcher::StepSweep(std::size_t& budget) {
  if (!sweep_) return true;
  for (; sweep_from_ < kinds_.size(); ++sweep_from_) {
    do {
      if (budget == 0) return false;
    } while (LevelKind(kinds_[sweep_from_], budget));
    budget -= std::min<std::size_t>(budget, 1);
  }
  if (budget == 0) return false;
  LevelKinds(budget);
  sweep_from_ = 0;
  sweep_ = false;
  return true;
}

}  // namespace allot
