// SPDX-License-Identifier: Apache-2.0
#include "strategy/order_builder.h"

#include <algorithm>

#include "base/check.h"
#include "base/memory.h"

namespace allot {

using Entry = OrderIndices::Entry;

bool OrderBuilder::Wanted(Id id) const {
  const Entry& entry = indices_.entries_[id];
  return id < uses_.ids() && uses_.users(id) > 0 && !entry.given_up && !entry.next && (!entry.index || entry.stale);
}

void OrderBuilder::Recost() {
  constexpr std::size_t kValuesAtOnce = 64;  // are told to an index in about a microsecond
  std::size_t indices = 0, keys = 0, cost = 0;
  indices_.ForAll([&](const StrategyIndex& index) {
    ++indices;
    cost += index.cost();
  });
  indices_.values_.ForEachKey([&](KeyId) { ++keys; });
  updates_.SetCost(indices <= 1 ? 0 : cost + keys * indices / kValuesAtOnce);
}

void OrderBuilder::Rewant() {
  indices_.entries_.resize(std::max<std::size_t>(indices_.entries_.size(), uses_.ids()));
  Recost();
  wanted_ = false;
  bool given_up = false;
  for (Id id = 0; id < indices_.ids(); ++id) {
    wanted_ = wanted_ || Wanted(id);
    given_up = given_up || indices_.entries_[id].given_up;
  }
  if (!given_up) given_up_ = 0;
}

void OrderBuilder::Drop(Id id) {
  Entry& entry = indices_.entries_[id];
  indices_.Leave(std::move(entry.index));
  indices_.Leave(std::move(entry.next));
  entry = Entry{};
  ++indices_.changes_;
  Rewant();
}

void OrderBuilder::Outdate(Entry& entry) {
  indices_.Leave(std::move(entry.next));
  entry.stale = entry.index != nullptr;
  entry.given_up = false;
}

void OrderBuilder::SetSlots(std::uint64_t slots) {
  slots_ = slots;
  indices_.ForAll([&](StrategyIndex& index) { index.SetSlots(slots); });
}

void OrderBuilder::Begin() {
  MemoryPool::Scope scope(&indices_.pool_);
  if (building_ || !wanted_) return;
  building_ = true;
  built_to_ = JobId{};
  // Round and round, so that none waits for those that come and go.
  do {
    next_entry_ = next_entry_ + 1 < indices_.ids() ? next_entry_ + 1 : 0;
  } while (!Wanted(next_entry_));
  Entry& next = indices_.entries_[next_entry_];
  next.next = std::make_unique<StrategyIndex>(indices_.policy_, uses_.strategy(next_entry_), indices_.values_,
                                              indices_.verdicts_, &indices_.memory_);
  next.next->SetSlots(slots_);
  Rewant();
  cost_ = 0;
  for (const Entry& entry : indices_.entries_) cost_ += entry.next ? entry.next->cost() : 0;
  indices_.values_.ForEachKey([&](KeyId key) { cost_ += indices_.values_.Fresh(key) ? 1 : 0; });
  cost_ = std::max<std::size_t>(1, cost_);
}

void OrderBuilder::Add(PickJob& job) {
  MemoryPool::Scope scope(&indices_.pool_);
  CHECK(building_ && built_to_ < job.id());
  ValueTable& values = indices_.values_;
  values.ForEachKey([&](KeyId key) {
    if (!values.Fresh(key)) return;
    values.Know(key, job);
    const bool sooner = job.open && values.Open(key, job);
    if (!sooner && job.picked.serial == 0) return;
    // Fair groups that stand already were placed by what was known so far.
    for (Entry& entry : indices_.entries_) {
      if (entry.next) entry.next->OnValue(key, values.Of(key, job), 0);
    }
  });
  if (job.open) {
    for (Entry& entry : indices_.entries_) {
      if (entry.next) entry.next->Add(job);
    }
  }
  built_to_ = job.id();
}

void OrderBuilder::Finish() {
  CHECK(building_);
  building_ = false;
  ++indices_.changes_;
  indices_.values_.ForEachKey([&](KeyId key) { indices_.values_.Complete(key); });
  for (Id id = 0; id < indices_.ids(); ++id) {
    Entry& entry = indices_.entries_[id];
    if (!entry.next) continue;
    indices_.Leave(std::move(entry.index));
    entry.index = std::move(entry.next);
    entry.version = next_version_++;
    entry.stale = false;
    became_ready_.push_back(id);
  }
  Recost();
}

void OrderBuilder::GiveUp() {
  for (Entry& entry : indices_.entries_) {
    if (!entry.next) continue;
    entry.given_up = true;
    given_up_ = std::max(given_up_, entry.next->counted_bytes());
    indices_.Leave(std::move(entry.next));
  }
  Recost();
}

void OrderBuilder::Resume() {
  for (Entry& entry : indices_.entries_) entry.given_up = false;
  Rewant();
}

bool OrderBuilder::Clean(std::size_t& budget) {
  if (!Cleaning()) return true;
  auto& left = indices_.left_;
  while (budget > 0 && !left.empty()) {
    if (!left.back()->Shrink(budget)) continue;
    left.pop_back();
    cleaned_ = false;
  }
  if (budget > 0 && !cleaned_) cleaned_ = indices_.values_.Clean(budget);
  SortFreedMemory();
  return !Cleaning();
}

}  // namespace allot
