// SPDX-License-Identifier: Apache-2.0
// Modes, workers, picking, and where queues stand among others.
#include "dispatch/dispatcher.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace allot {
namespace {

// Who waits for something comes before who has nothing to do, and that one before who has.
constexpr std::uint64_t kIdle = std::uint64_t{1} << 62;
constexpr std::uint64_t kBusy = std::numeric_limits<std::uint64_t>::max();

}  // namespace

DispatchWorker::~DispatchWorker() = default;

Dispatcher::~Dispatcher() = default;

void Dispatcher::SetOptions(const DispatchOptions& options) {
  const bool was = balanced();
  options_ = options;
  if (was != balanced()) orders_.log().Keep(balanced());
  if (was == balanced()) return;
  leaving_ = was;
  if (!was) return;
  // Jobs lose their holdings as the queues and lists that they are in are cleared, or as they change, whatever is
  // first.
  leave_from_ = 0;
  sweep_ = false;
  StepLeaving(left_);
}

// --- Workers.

void Dispatcher::Register(DispatchWorker& worker) {
  if (!balanced() || worker.queue) return;
  worker.queue = std::make_unique<WorkerQueue>();
  WorkerQueue& queue = *worker.queue;
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.push_back(nullptr);
  }
  queue.slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[queue.slot] = &queue;
  queue.worker = &worker;
  queue.sequence = next_sequence_++;
  worker.idle_since = queue.sequence;
  SetIdle(worker);
  Enlist(queue, classes_.KindOf(worker.handle));
  sweep_ = true;
}

void Dispatcher::Unregister(DispatchWorker& worker) {
  if (!worker.queue) return;
  std::unique_ptr<WorkerQueue> queue = std::move(worker.queue);
  Delist(*queue);
  queue->worker = nullptr;
  queue->rematch = queue->newly_promised = false;
  Disarrange(*queue);
  if (queue->promises.empty()) {
    Free(std::move(queue));
  } else {
    gone_.push_back(std::move(queue));
    StepGone(left_);
  }
}

void Dispatcher::Free(std::unique_ptr<WorkerQueue> queue) {
  slots_[queue->slot] = nullptr;
  free_slots_.push_back(queue->slot);
}

void Dispatcher::SetIdle(DispatchWorker& worker) {
  worker.idle = worker.asking ? worker.asking_since : worker.running > 0 ? kBusy : kIdle + worker.idle_since;
}

void Dispatcher::SetRunning(DispatchWorker& worker, std::uint32_t running) {
  worker.running = running;
  if (!worker.queue) return;
  if (running == 0) worker.idle_since = next_sequence_++;
  SetIdle(worker);
  Relink(*worker.queue);
}

void Dispatcher::SetAsking(DispatchWorker& worker, std::optional<std::uint64_t> sequence) {
  worker.asking = sequence.has_value();
  worker.asking_since = sequence.value_or(0);
  if (!worker.queue) return;
  SetIdle(worker);
  Relink(*worker.queue);
}

// --- Picking.

DispatchJob* Dispatcher::Pick(DispatchWorker& worker, Orders::Id order, StartGate* gate) {
  if (balanced() && worker.queue && worker.queue->promised > 0) {
    WorkerQueue& queue = *worker.queue;
    queue.takes = kinds_[queue.kind].takes;
    const bool own =
        Arrange(queue, order, left_arranged_) && Settled() && queue.order->cells() <= std::min(kMostCells, left_looks_);
    if (WorkerOrder::Entry* entry = own ? queue.order->Pick(queue.kind, gate, rng_, left_looks_) : nullptr) {
      last_pick_ = {};
      last_pick_.random_task = queue.order->random_task();
      last_pick_.leaf = queue.order->leaf();
      last_pick_.candidates = queue.order->candidates();
      return static_cast<DispatchJob*>(entry->job);
    }
  }
  StrategyIndex& index = orders_.index(order);
  PickJob* job = index.Pick(classes_.KindOf(worker.handle), gate, &rng_);
  last_pick_ = index.last_pick();
  if (job != nullptr) last_pick_.unfinished = false;
  return static_cast<DispatchJob*>(job);
}

TakenFrom Dispatcher::Take(DispatchWorker& worker, DispatchJob& job) {
  if (worker.queue) worker.queue->takes = ++kinds_[worker.queue->kind].takes;
  if (job.promises && !balanced()) DropPromises(job);
  if (!job.promises) return balanced() ? TakenFrom::kOpen : TakenFrom::kShared;
  JobPromises& of_job = *job.promises;
  Promise* promise = worker.queue ? of_job.Find(worker.queue->slot) : nullptr;
  if (promise == nullptr && of_job.open > 0) {
    if (--of_job.open == 0) Unlist(of_job);
    return TakenFrom::kOpen;
  }
  TakenFrom from = TakenFrom::kOwn;
  if (promise == nullptr) {
    promise = &Longest(of_job);
    // What was promised to somebody who is gone is as good as open.
    from = promise->queue->worker != nullptr ? TakenFrom::kAnother : TakenFrom::kOpen;
    if (from == TakenFrom::kAnother) ++counts_.steals;
  }
  WorkerQueue& queue = *promise->queue;
  Reduce(*promise, 1);
  // Of its own, what was promised runs from now on: it stands where it stood.
  if (from != TakenFrom::kOwn || queue.promised == 0) Relink(queue);
  return from;
}

// --- Where queues stand.

LevelPlace Dispatcher::PlaceOf(const WorkerQueue& queue) const {
  return {queue.promised + queue.worker->running, queue.worker->idle, queue.worker->id.value, 0};
}

void Dispatcher::Link(WorkerQueue& queue) {
  KindQueues& kind = kinds_[queue.kind];
  queue.place = PlaceOf(queue);
  queue.with_promises = queue.promised > 0;
  kind.by_load.insert(queue);
  if (queue.with_promises) kind.with_promises.insert(queue);
  kind.load += queue.place.load;
}

void Dispatcher::Unlink(WorkerQueue& queue) {
  KindQueues& kind = kinds_[queue.kind];
  kind.by_load.erase(kind.by_load.iterator_to(queue));
  if (queue.with_promises) kind.with_promises.erase(kind.with_promises.iterator_to(queue));
  kind.load -= queue.place.load;
}

void Dispatcher::Relink(WorkerQueue& queue) {
  if (queue.worker == nullptr) return;
  const LevelPlace place = PlaceOf(queue);
  KindQueues& kind = kinds_[queue.kind];
  if (place == queue.place) {
    const bool with_promises = queue.promised > 0;
    if (with_promises == queue.with_promises) return;
    queue.with_promises = with_promises;
    if (with_promises) {
      kind.with_promises.insert(queue);
    } else {
      kind.with_promises.erase(kind.with_promises.iterator_to(queue));
    }
    return;
  }
  Unlink(queue);
  Link(queue);
}

void Dispatcher::RelinkAll(const std::vector<WorkerQueue*>& changed) {
  constexpr std::size_t kFew = 64;
  if (changed.size() <= kFew) {
    for (WorkerQueue* queue : changed) Relink(*queue);
    return;
  }
  // Where most of a kind have changed, it is cheaper to sort all of them.
  std::vector<std::size_t> counts(kinds_.size());
  for (const WorkerQueue* queue : changed) ++counts[queue->kind];
  for (WorkerQueue* queue : changed) {
    if (queue->worker != nullptr && counts[queue->kind] * 4 < kinds_[queue->kind].members.size()) Relink(*queue);
  }
  for (KindId id = 0; id < kinds_.size(); ++id) {
    KindQueues& kind = kinds_[id];
    if (counts[id] == 0 || counts[id] * 4 < kind.members.size()) continue;
    std::vector<std::pair<LevelPlace, WorkerQueue*>> sorted;
    sorted.reserve(kind.members.size());
    for (WorkerQueue* queue : kind.members) sorted.emplace_back(PlaceOf(*queue), queue);
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    kind.by_load.clear();
    kind.with_promises.clear();
    kind.load = 0;
    for (const auto& [place, queue] : sorted) {
      queue->place = place;
      queue->with_promises = queue->promised > 0;
      kind.by_load.push_back(*queue);
      if (queue->with_promises) kind.with_promises.push_back(*queue);
      kind.load += place.load;
    }
  }
}

void Dispatcher::Enlist(WorkerQueue& queue, KindId kind) {
  while (kinds_.size() <= kind) kinds_.emplace_back();
  queue.kind = kind;
  queue.takes = kinds_[kind].takes;
  queue.member = static_cast<std::uint32_t>(kinds_[kind].members.size());
  kinds_[kind].members.push_back(&queue);
  // Where there was one of its kind, all that is open and that they may run is on its way already.
  if (queue.member == 0) WantAll(kind);
  kinds_[kind].ring.insert(queue);
  Link(queue);
}

void Dispatcher::Delist(WorkerQueue& queue) {
  Unlink(queue);
  KindQueues& kind = kinds_[queue.kind];
  kind.ring.erase(kind.ring.iterator_to(queue));
  kind.members[queue.member] = kind.members.back();
  kind.members[queue.member]->member = queue.member;
  kind.members.pop_back();
}

// --- Verdicts.

void Dispatcher::OnMoved(KindId from) {
  if (from >= kinds_.size()) return;
  for (WorkerQueue* queue : std::vector<WorkerQueue*>(kinds_[from].members)) {
    const KindId kind = classes_.KindOf(queue->worker->handle);
    if (kind == from) continue;
    Delist(*queue);
    Enlist(*queue, kind);
    Rematch(*queue);
  }
}

void Dispatcher::OnKind(KindId kind) {
  if (kind >= kinds_.size() || kinds_[kind].members.empty()) return;
  for (WorkerQueue* queue : kinds_[kind].members) Rematch(*queue);
  WantAll(kind);
}

void Dispatcher::OnClass(ClassId cls) {
  if (cls >= by_class_.size()) return;
  ClassState& state = by_class_[cls];
  if (!state.open.empty()) Want(cls);
  if (state.promises == 0) return;
  for (KindId kind = 0; kind < std::min<std::size_t>(kinds_.size(), state.mask.size() * 64); ++kind) {
    const bool before = (state.mask[kind / 64] >> (kind % 64) & 1) != 0;
    if (!before || classes_.kinds().Matches(kind, cls)) continue;
    for (WorkerQueue& queue : kinds_[kind].with_promises) Rematch(queue);
  }
  const auto mask = classes_.kinds().Mask(cls);
  state.mask.assign(mask.begin(), mask.end());
}

// --- Looking.

std::uint64_t Dispatcher::longest() const {
  std::uint64_t most = 0;
  for (const KindQueues& kind : kinds_) {
    for (auto it = kind.with_promises.rbegin(); it != kind.with_promises.rend() && it->place.load > most; ++it) {
      most = std::max(most, it->promised);
    }
  }
  return most;
}

std::vector<WorkerId> Dispatcher::TakeNewlyPromised() {
  std::vector<WorkerId> newly_promised;
  for (const std::uint32_t slot : newly_promised_) {
    WorkerQueue* queue = slots_[slot];
    if (queue != nullptr && std::exchange(queue->newly_promised, false)) newly_promised.push_back(queue->worker->id);
  }
  newly_promised_.clear();
  return newly_promised;
}

std::size_t Dispatcher::MemoryBytes() const {
  std::size_t bytes = slots_.capacity() * sizeof(slots_[0]) + kinds_.size() * sizeof(KindQueues) +
                      by_class_.size() * sizeof(ClassState);
  for (const WorkerQueue* queue : slots_) {
    if (queue == nullptr) continue;
    bytes += sizeof(*queue) + queue->promises.size() * (sizeof(Promise) + 2 * sizeof(void*));
    if (queue->order) bytes += queue->order->MemoryBytes();
  }
  return bytes;
}

}  // namespace allot
