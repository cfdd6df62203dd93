// Shares come and go, and find their places in the orders of their queues.
#include <algorithm>

#include "base/check.h"
#include "dispatch/dispatcher.h"

namespace allot {

// --- A job's holding.

Holding::~Holding() {
  ForEach([](Share& share) { delete &share; });
}

Share* Holding::Find(std::uint32_t slot) const {
  if (one_ != nullptr) return one_->queue->slot == slot ? one_ : nullptr;
  if (!many_) return nullptr;
  const auto found = many_->find(slot);
  return found == many_->end() ? nullptr : found->second;
}

void Holding::Reserve(std::size_t shares) {
  if (shares <= 1) return;
  if (!many_) many_ = std::make_unique<boost::unordered_flat_map<std::uint32_t, Share*>>();
  many_->reserve(shares);
  if (Share* first = std::exchange(one_, nullptr)) many_->emplace(first->queue->slot, first);
}

void Holding::Insert(Share& share) {
  if (!many_ && one_ == nullptr) {
    one_ = &share;
    return;
  }
  if (!many_) Reserve(2);
  many_->emplace(share.queue->slot, &share);
}

void Holding::Erase(Share& share) {
  if (one_ == &share) {
    one_ = nullptr;
  } else {
    CHECK(one_ == nullptr);  // it has one, or a table of many
    many_->erase(share.queue->slot);
    if (many_->empty()) many_.reset();
  }
  delete &share;
}

// --- Shares.

void Dispatcher::Give(Holding& holding, WorkerQueue& queue, std::uint32_t count) {
  Share* share = holding.Find(queue.slot);
  if (share == nullptr) {
    share = new Share;
    share->job = holding.job;
    share->count = count;
    share->holding = &holding;
    share->queue = &queue;
    holding.Insert(*share);
    if (queue.unarranged == 0 && Current(queue)) {
      queue.shares.push_back(*share);
      Place(*share);
    } else {
      queue.shares.push_front(*share);
      ++queue.unarranged;
      if (queue.suspect) ++queue.to_check;
    }
    if (by_class_[holding.job->cls].shares++ == 0) by_class_[holding.job->cls].mask.clear();
    Mark(holding.job->cls, queue.kind);
  } else {
    const std::uint32_t before = std::exchange(share->count, share->count + count);
    if (share->arrangement == queue.arrangement) queue.order->OnCount(*share, before);
  }
  holding.open -= count;
  holding.promised += count;
  queue.promised += count;
  promised_ += count;
  if (queue.worker->hungry && !queue.fed) {
    queue.fed = true;
    fed_.push_back(queue.slot);
  }
}

void Dispatcher::Mark(ClassId cls, KindId kind) {
  std::vector<std::uint64_t>& mask = by_class_[cls].mask;
  if (mask.size() <= kind / 64) mask.resize(kind / 64 + 1);
  mask[kind / 64] |= std::uint64_t{1} << (kind % 64);
}

void Dispatcher::Reduce(Share& share, std::uint32_t count) {
  Holding& holding = *share.holding;
  WorkerQueue& queue = *share.queue;
  holding.promised -= count;
  queue.promised -= count;
  promised_ -= count;
  if (share.count > count) {
    const std::uint32_t before = std::exchange(share.count, share.count - count);
    if (share.arrangement == queue.arrangement) queue.order->OnCount(share, before);
    return;
  }
  Detach(share);
  --by_class_[holding.job->cls].shares;
  holding.Erase(share);
}

void Dispatcher::Return(Share& share) {
  Holding& holding = *share.holding;
  const std::uint32_t count = share.count;
  moves_ += count;
  Reduce(share, count);
  holding.open += count;
}

void Dispatcher::List(Holding& holding) {
  if (holding.listed || holding.open == 0) return;
  holding.listed = true;
  const ClassId cls = holding.job->cls;
  if (by_class_[cls].open.empty()) open_classes_.insert(cls);
  by_class_[cls].open.push_back(holding);
}

void Dispatcher::Unlist(Holding& holding) {
  if (!holding.listed) return;
  holding.listed = false;
  auto& open = by_class_[holding.job->cls].open;
  open.erase(open.iterator_to(holding));
  if (open.empty()) open_classes_.erase(holding.job->cls);
}

Share& Dispatcher::Longest(Holding& holding) const {
  constexpr std::size_t kFew = 64;
  Share* best = nullptr;
  const auto consider = [&](Share& share) {
    const WorkerQueue& queue = *share.queue;
    if (best != nullptr && best->queue->worker == nullptr) return;
    if (best == nullptr || queue.worker == nullptr || best->queue->place < queue.place) best = &share;
  };
  if (holding.size() > kFew) {
    // Among the most loaded of each kind there is most likely one that has some of it.
    constexpr std::size_t kLooks = 8;
    const auto mask = classes_.Mask(holding.job->cls);
    for (KindId id = 0; id < std::min<std::size_t>(kinds_.size(), mask.size() * 64); ++id) {
      if ((mask[id / 64] >> (id % 64) & 1) == 0) continue;
      std::size_t looks = kLooks;
      const auto& held = kinds_[id].held;
      for (auto it = held.rbegin(); it != held.rend() && looks > 0; ++it, --looks) {
        if (Share* share = holding.Find(it->slot)) {
          consider(*share);
          break;
        }
      }
    }
    if (best != nullptr) return *best;
  }
  holding.ForEach(consider);
  CHECK(best != nullptr);
  return *best;
}

// --- Jobs.

void Dispatcher::Open(DispatchJob& job, std::size_t& budget) {
  if (!balanced() || job.holding) return;
  while (by_class_.size() <= job.cls) by_class_.emplace_back();
  job.holding = std::make_unique<Holding>(job);
  job.holding->open = job.ready;
  Deal(*job.holding, budget);
}

void Dispatcher::Close(DispatchJob& job) {
  if (job.holding) DropHolding(job);
}

void Dispatcher::DropHolding(DispatchJob& job) {
  Holding& holding = *job.holding;
  Unlist(holding);
  std::vector<WorkerQueue*> changed;
  changed.reserve(holding.size());
  holding.ForEach([&](Share& share) {
    WorkerQueue& queue = *share.queue;
    if (queue.worker != nullptr) changed.push_back(&queue);
    queue.promised -= share.count;
    promised_ -= share.count;
    Detach(share);
  });
  by_class_[job.cls].shares -= holding.size();
  job.holding.reset();
  RelinkAll(changed);
}

void Dispatcher::SetReady(DispatchJob& job) {
  if (!job.holding) return;
  if (!balanced()) return DropHolding(job);
  Holding& holding = *job.holding;
  std::uint32_t total = holding.open + holding.promised;
  if (job.ready > total) {
    holding.open += job.ready - total;
    return Deal(holding, left_);
  }
  while (total > job.ready) {
    std::uint32_t fewer = std::min(total - job.ready, holding.open);
    if (fewer > 0) {
      holding.open -= fewer;
      if (holding.open == 0) Unlist(holding);
    } else {
      Share& share = Longest(holding);
      WorkerQueue& queue = *share.queue;
      fewer = std::min(total - job.ready, share.count);
      Reduce(share, fewer);
      Relink(queue);
    }
    total -= fewer;
  }
}

void Dispatcher::BeforeGroup(DispatchJob& job) {
  if (!job.holding) return;
  job.holding->ForEach([&](Share& share) { Displace(share); });
}

void Dispatcher::AfterGroup(DispatchJob& job) {
  if (!job.holding) return;
  job.holding->ForEach([&](Share& share) {
    // Those that had a place before.
    if (share.arrangement == share.queue->arrangement && Current(*share.queue)) Place(share);
  });
}

// --- The order of one queue.

bool Dispatcher::Current(const WorkerQueue& queue) const {
  return queue.order && queue.order_version == orders_.version(queue.order_id);
}

void Dispatcher::Place(Share& share) {
  share.queue->order->Add(share);
  share.arrangement = share.queue->arrangement;
}

void Dispatcher::Displace(Share& share) {
  if (share.arrangement != share.queue->arrangement) return;
  // The rules of an order that nobody uses any more may be gone.
  if (Current(*share.queue)) {
    share.queue->order->Remove(share);
  } else {
    Disarrange(*share.queue);
  }
}

void Dispatcher::Detach(Share& share) {
  WorkerQueue& queue = *share.queue;
  Displace(share);
  if (share.arrangement != queue.arrangement) --queue.unarranged;
  queue.shares.erase(queue.shares.iterator_to(share));
}

void Dispatcher::Disarrange(WorkerQueue& queue) {
  if (queue.order && queue.order->cells() > 0) left_orders_.push_back(std::move(queue.order));
  queue.order.reset();
  queue.order_version = 0;
  ++queue.arrangement;
  queue.unarranged = queue.shares.size();
}

bool Dispatcher::Arrange(WorkerQueue& queue, Orders::Id order, std::size_t& budget) {
  const std::uint64_t version = orders_.version(order);
  const bool by_class = classes_.HasWorkerRanks(queue.kind);
  if (!queue.order || queue.order_version != version || queue.order_by_class != by_class) {
    Disarrange(queue);
    queue.order_id = order;
    if (version == 0) return false;
    queue.order = std::make_unique<QueueOrder>(orders_.index(order).rules(), orders_.log(), by_class);
    queue.order_version = version;
    queue.order_by_class = by_class;
  }
  while (queue.unarranged > 0 && budget > 0) {
    --budget;
    Share& share = queue.shares.front();
    if (!classes_.Matches(queue.kind, share.job->cls)) {
      Holding& holding = *share.holding;
      Return(share);
      List(holding);
      Want(holding.job->cls);
      continue;
    }
    Mark(share.job->cls, queue.kind);
    --queue.unarranged;
    queue.shares.splice(queue.shares.end(), queue.shares, queue.shares.begin());
    Place(share);
  }
  Relink(queue);
  if (queue.unarranged > 0) return false;
  queue.suspect = false;
  return true;
}

}  // namespace allot
