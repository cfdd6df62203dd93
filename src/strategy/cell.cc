#include "strategy/cell.h"

#include <algorithm>

#include "base/check.h"

namespace allot::order {
namespace {

// Order-preserving.
std::uint64_t Unsigned(std::int64_t value) { return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63); }

}  // namespace

Key KeyOf(Order order, const PickJob& job) {
  const std::uint64_t id = job.id().value;
  switch (order) {
    case Order::kOldest:
      return {id, 0, 0};
    case Order::kNewest:
      return {~id, 0, 0};
    case Order::kPriority: {
      const OrderKey& key = job.key;
      // None comes after the lowest of all, which it shares its first part with: times leave the highest bit free.
      const std::uint64_t none = key.no_priority ? std::uint64_t{1} << 63 : 0;
      const std::uint64_t first = key.no_priority ? ~std::uint64_t{0} : ~Unsigned(key.priority);
      const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(0, ToMillis(key.scheduled_for)));
      return {first, none | time, id};
    }
    case Order::kLeastRecent: {
      const Stamp recent = job.Recent();
      return {Unsigned(recent.ms), recent.serial, id};
    }
  }
  return {};
}

void JobList::Insert(const Key& key, PickJob* job) {
  if (many_) return many_->Insert(key, job, {});
  if (few_.size() == kFew) {
    many_ = std::make_unique<MaskTree<Key, PickJob*>>(0);
    for (const auto& [k, j] : few_) many_->Insert(k, j, {});
    few_ = {};
    return many_->Insert(key, job, {});
  }
  const auto place =
      std::lower_bound(few_.begin(), few_.end(), key, [](const auto& entry, const Key& k) { return entry.first < k; });
  few_.insert(place, {key, job});
}

void JobList::Erase(const Key& key) {
  if (many_) {
    many_->Erase(key);
    if (many_->size() > 0) return;
    many_.reset();
    return;
  }
  const auto place =
      std::lower_bound(few_.begin(), few_.end(), key, [](const auto& entry, const Key& k) { return entry.first < k; });
  CHECK(place != few_.end() && place->first == key);
  few_.erase(place);
}

std::size_t JobList::MemoryBytes() const {
  return few_.capacity() * sizeof(few_[0]) + (many_ ? many_->MemoryBytes() : 0);
}

void JobLottery::Add(PickJob& job) {
  CHECK(job.ready > 0);
  const auto [it, fresh] = tickets_.try_emplace(job.id().value);
  CHECK(fresh);
  it->second = Ticket{jobs_.Add(&job, job.ready), job.ready};
  tasks_ += job.ready;
}

void JobLottery::Remove(PickJob& job) {
  const auto found = tickets_.find(job.id().value);
  CHECK(found != tickets_.end());
  const Ticket ticket = found->second;
  tickets_.erase(found);
  tasks_ -= ticket.weight;
  jobs_.Remove(ticket.place, [this](PickJob* moved, const WeightedSet<PickJob*>::Place& place) {
    tickets_.find(moved->id().value)->second.place = place;
  });
}

PickJob* JobLottery::Draw(Rng& rng) const {
  for (;;) {
    std::uint64_t rounded = 0;
    PickJob* job = jobs_.At(rng.Below(jobs_.total()), rounded);
    if (rng.Below(rounded) < tickets_.find(job->id().value)->second.weight) return job;
  }
}

PickJob* JobLottery::Any() const {
  std::uint64_t rounded = 0;
  return jobs_.At(0, rounded);
}

std::size_t JobLottery::MemoryBytes() const {
  return sizeof(*this) + jobs_.MemoryBytes() + tickets_.size() * (sizeof(Ticket) + 8) * 5 / 4;
}

}  // namespace allot::order
