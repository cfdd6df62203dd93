// SPDX-License-Identifier: Apache-2.0
// Promises come and go, and find their places in the orders of their queues.
#include <algorithm>

#include "base/check.h"
#include "dispatch/dispatcher.h"

namespace allot {

// --- A job's promises.

JobPromises::~JobPromises() {
  ForEach([](Promise& promise) { delete &promise; });
}

Promise* JobPromises::Find(std::uint32_t slot) const {
  if (one_ != nullptr) return one_->queue->slot == slot ? one_ : nullptr;
  if (!many_) return nullptr;
  const auto found = many_->find(slot);
  return found == many_->end() ? nullptr : found->second;
}

void JobPromises::Reserve(std::size_t promises) {
  if (promises <= 1) return;
  if (!many_) many_ = std::make_unique<boost::unordered_flat_map<std::uint32_t, Promise*>>();
  many_->reserve(promises);
  if (Promise* first = std::exchange(one_, nullptr)) many_->emplace(first->queue->slot, first);
}

void JobPromises::Insert(Promise& promise) {
  if (!many_ && one_ == nullptr) {
    one_ = &promise;
    return;
  }
  if (!many_) Reserve(2);
  many_->emplace(promise.queue->slot, &promise);
}

void JobPromises::Erase(Promise& promise) {
  if (one_ == &promise) {
    one_ = nullptr;
  } else {
    CHECK(one_ == nullptr);  // it has one, or a table of many
    many_->erase(promise.queue->slot);
    if (many_->empty()) many_.reset();
  }
  delete &promise;
}

// --- Promises.

void Dispatcher::Give(JobPromises& of_job, WorkerQueue& queue, std::uint32_t count) {
  Promise* promise = of_job.Find(queue.slot);
  if (promise == nullptr) {
    promise = new Promise;
    promise->job = of_job.job;
    promise->count = count;
    promise->of_job = &of_job;
    promise->queue = &queue;
    of_job.Insert(*promise);
    if (queue.unarranged == 0 && Current(queue)) {
      queue.promises.push_back(*promise);
      Place(*promise);
    } else {
      queue.promises.push_front(*promise);
      ++queue.unarranged;
      if (queue.rematch) ++queue.to_check;
    }
    if (by_class_[of_job.job->cls].promises++ == 0) by_class_[of_job.job->cls].mask.clear();
    Mark(of_job.job->cls, queue.kind);
  } else {
    const std::uint32_t before = std::exchange(promise->count, promise->count + count);
    if (promise->arrangement == queue.arrangement) queue.order->OnCount(*promise, before);
  }
  of_job.open -= count;
  of_job.promised += count;
  queue.promised += count;
  counts_.promised += count;
  if (queue.worker->asking && !queue.newly_promised) {
    queue.newly_promised = true;
    newly_promised_.push_back(queue.slot);
  }
}

void Dispatcher::Mark(ClassId cls, KindId kind) {
  std::vector<std::uint64_t>& mask = by_class_[cls].mask;
  if (mask.size() <= kind / 64) mask.resize(kind / 64 + 1);
  mask[kind / 64] |= std::uint64_t{1} << (kind % 64);
}

void Dispatcher::Reduce(Promise& promise, std::uint32_t count) {
  JobPromises& of_job = *promise.of_job;
  WorkerQueue& queue = *promise.queue;
  of_job.promised -= count;
  queue.promised -= count;
  counts_.promised -= count;
  if (promise.count > count) {
    const std::uint32_t before = std::exchange(promise.count, promise.count - count);
    if (promise.arrangement == queue.arrangement) queue.order->OnCount(promise, before);
    return;
  }
  Detach(promise);
  --by_class_[of_job.job->cls].promises;
  of_job.Erase(promise);
}

void Dispatcher::Return(Promise& promise) {
  JobPromises& of_job = *promise.of_job;
  const std::uint32_t count = promise.count;
  counts_.moves += count;
  Reduce(promise, count);
  of_job.open += count;
}

void Dispatcher::List(JobPromises& of_job) {
  if (of_job.listed || of_job.open == 0) return;
  of_job.listed = true;
  const ClassId cls = of_job.job->cls;
  if (by_class_[cls].open.empty()) open_classes_.insert(cls);
  by_class_[cls].open.push_back(of_job);
}

void Dispatcher::Unlist(JobPromises& of_job) {
  if (!of_job.listed) return;
  of_job.listed = false;
  auto& open = by_class_[of_job.job->cls].open;
  open.erase(open.iterator_to(of_job));
  if (open.empty()) open_classes_.erase(of_job.job->cls);
}

Promise& Dispatcher::Longest(JobPromises& of_job) const {
  constexpr std::size_t kFew = 64;
  Promise* best = nullptr;
  const auto consider = [&](Promise& promise) {
    const WorkerQueue& queue = *promise.queue;
    if (best != nullptr && best->queue->worker == nullptr) return;
    if (best == nullptr || queue.worker == nullptr || best->queue->place < queue.place) best = &promise;
  };
  if (of_job.size() > kFew) {
    // Among the most loaded of each kind there is most likely one that has some of it.
    constexpr std::size_t kLooks = 8;
    const auto mask = classes_.kinds().Mask(of_job.job->cls);
    for (KindId id = 0; id < std::min<std::size_t>(kinds_.size(), mask.size() * 64); ++id) {
      if ((mask[id / 64] >> (id % 64) & 1) == 0) continue;
      std::size_t looks = kLooks;
      const auto& with_promises = kinds_[id].with_promises;
      for (auto it = with_promises.rbegin(); it != with_promises.rend() && looks > 0; ++it, --looks) {
        if (Promise* promise = of_job.Find(it->slot)) {
          consider(*promise);
          break;
        }
      }
    }
    if (best != nullptr) return *best;
  }
  of_job.ForEach(consider);
  CHECK(best != nullptr);
  return *best;
}

// --- Jobs.

void Dispatcher::Open(DispatchJob& job, std::size_t& budget) {
  if (!balanced() || job.promises) return;
  while (by_class_.size() <= job.cls) by_class_.emplace_back();
  job.promises = std::make_unique<JobPromises>(job);
  job.promises->open = job.queued;
  Deal(*job.promises, budget);
}

void Dispatcher::Close(DispatchJob& job) {
  if (job.promises) DropPromises(job);
}

void Dispatcher::DropPromises(DispatchJob& job) {
  JobPromises& of_job = *job.promises;
  Unlist(of_job);
  std::vector<WorkerQueue*> changed;
  changed.reserve(of_job.size());
  of_job.ForEach([&](Promise& promise) {
    WorkerQueue& queue = *promise.queue;
    if (queue.worker != nullptr) changed.push_back(&queue);
    queue.promised -= promise.count;
    counts_.promised -= promise.count;
    Detach(promise);
  });
  by_class_[job.cls].promises -= of_job.size();
  job.promises.reset();
  RelinkAll(changed);
}

void Dispatcher::SetQueued(DispatchJob& job) {
  if (!job.promises) return;
  if (!balanced()) return DropPromises(job);
  JobPromises& of_job = *job.promises;
  std::uint32_t total = of_job.open + of_job.promised;
  if (job.queued > total) {
    of_job.open += job.queued - total;
    return Deal(of_job, left_);
  }
  while (total > job.queued) {
    std::uint32_t fewer = std::min(total - job.queued, of_job.open);
    if (fewer > 0) {
      of_job.open -= fewer;
      if (of_job.open == 0) Unlist(of_job);
    } else {
      Promise& promise = Longest(of_job);
      WorkerQueue& queue = *promise.queue;
      fewer = std::min(total - job.queued, promise.count);
      Reduce(promise, fewer);
      Relink(queue);
    }
    total -= fewer;
  }
}

void Dispatcher::BeforeGroup(DispatchJob& job) {
  if (!job.promises) return;
  job.promises->ForEach([&](Promise& promise) { Displace(promise); });
}

void Dispatcher::AfterGroup(DispatchJob& job) {
  if (!job.promises) return;
  job.promises->ForEach([&](Promise& promise) {
    // Those that had a place before.
    if (promise.arrangement == promise.queue->arrangement && Current(*promise.queue)) Place(promise);
  });
}

// --- The order of one queue.

bool Dispatcher::Current(const WorkerQueue& queue) const {
  return queue.order && queue.order_version == orders_.indices().version(queue.order_id);
}

void Dispatcher::Place(Promise& promise) {
  promise.queue->order->Add(promise);
  promise.arrangement = promise.queue->arrangement;
}

void Dispatcher::Displace(Promise& promise) {
  if (promise.arrangement != promise.queue->arrangement) return;
  // The rules of an order that nobody uses any more may be gone.
  if (Current(*promise.queue)) {
    promise.queue->order->Remove(promise);
  } else {
    Disarrange(*promise.queue);
  }
}

void Dispatcher::Detach(Promise& promise) {
  WorkerQueue& queue = *promise.queue;
  Displace(promise);
  if (promise.arrangement != queue.arrangement) --queue.unarranged;
  queue.promises.erase(queue.promises.iterator_to(promise));
}

void Dispatcher::Disarrange(WorkerQueue& queue) {
  if (queue.order && queue.order->cells() > 0) left_orders_.push_back(std::move(queue.order));
  queue.order.reset();
  queue.order_version = 0;
  ++queue.arrangement;
  queue.unarranged = queue.promises.size();
}

bool Dispatcher::Arrange(WorkerQueue& queue, Orders::Id order, std::size_t& budget) {
  const std::uint64_t version = orders_.indices().version(order);
  const bool by_class = classes_.kinds().HasWorkerRanks(queue.kind);
  if (!queue.order || queue.order_version != version || queue.order_by_class != by_class) {
    Disarrange(queue);
    queue.order_id = order;
    if (version == 0) return false;
    queue.order = std::make_unique<WorkerOrder>(orders_.index(order).rules(), orders_.log(), by_class);
    queue.order_version = version;
    queue.order_by_class = by_class;
  }
  while (queue.unarranged > 0 && budget > 0) {
    --budget;
    Promise& promise = queue.promises.front();
    if (!classes_.kinds().Matches(queue.kind, promise.job->cls)) {
      JobPromises& of_job = *promise.of_job;
      Return(promise);
      List(of_job);
      Want(of_job.job->cls);
      continue;
    }
    Mark(promise.job->cls, queue.kind);
    --queue.unarranged;
    queue.promises.splice(queue.promises.end(), queue.promises, queue.promises.begin());
    Place(promise);
  }
  Relink(queue);
  if (queue.unarranged > 0) return false;
  queue.rematch = false;
  return true;
}

}  // namespace allot
