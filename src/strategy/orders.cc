// SPDX-License-Identifier: Apache-2.0
#include "strategy/orders.h"

#include <utility>

#include "base/check.h"

namespace allot {

namespace {
constexpr std::size_t kCellCost = 8;  // of a job that is the first or the last of its cell, in an index
}  // namespace

Orders::Orders(const JobKeys& keys, const ClassTable& verdicts) : indices_(keys, verdicts), open_(verdicts) {}

Orders::~Orders() = default;

// --- Strategies.

Orders::Id Orders::Use(const StrategyPtr& strategy) {
  MemoryPool::Scope scope(&indices_.pool_);
  const StrategyUses::Added added = uses_.Add(strategy);
  if (added.fresh) builder_.Rewant();
  return added.id;
}

void Orders::Unuse(Id id) {
  if (uses_.Remove(id)) builder_.Drop(id);
}

void Orders::SetPolicy(const StrategyPtr& policy) {
  if (PrintStrategy(*policy) == PrintStrategy(*indices_.policy_)) return;
  indices_.policy_ = policy;
  // A walk that is under way goes on to its end: what keys know so far must not be told to them twice.
  for (OrderIndices::Entry& entry : indices_.entries_) builder_.Outdate(entry);
  builder_.Rewant();
}

void Orders::SetWeights(std::unordered_map<std::string, std::uint32_t> weights) {
  const auto changed = indices_.values_.SetWeights(std::move(weights));
  Apply(Changed(changed.begin(), changed.end()), 0);
}

// --- Jobs.

// Indices and keys that are being built are told only of jobs that the walk has passed: it will come to the others.
template <typename F>
void Orders::ForEachIndex(const PickJob& job, F f) {
  for (OrderIndices::Entry& entry : indices_.entries_) {
    if (entry.index) f(*entry.index);
    if (entry.next && builder_.Covers(job)) f(*entry.next);
  }
}

template <typename F>
void Orders::ForEachKey(const PickJob& job, F f) {
  indices_.values_.ForEachKey([&](KeyId key) {
    if (!indices_.values_.Fresh(key) || builder_.Covers(job)) f(key);
  });
}

void Orders::Know(PickJob& job) {
  MemoryPool::Scope scope(&indices_.pool_);
  if (free_slots_.empty()) free_slots_.push_back(slot_end_++);
  job.slot = free_slots_.back();
  free_slots_.pop_back();
  Changed changed;
  ForEachKey(job, [&](KeyId key) {
    indices_.values_.Know(key, job);
    if (job.picked.serial != 0) changed.emplace_back(key, indices_.values_.Of(key, job));
  });
  Apply(changed, 0);
}

void Orders::Forget(PickJob& job) {
  MemoryPool::Scope scope(&indices_.pool_);
  CHECK(!job.open);
  Changed changed;
  ForEachKey(job, [&](KeyId key) {
    const ValueId value = indices_.values_.Of(key, job);
    indices_.values_.Forget(key, job);
    if (job.running + job.unapplied_returns > 0) changed.emplace_back(key, value);
  });
  Apply(changed, job.running + std::exchange(job.unapplied_returns, 0));
  if (builder_.Awaits(job) && job.picked.serial != 0) {
    indices_.values_.ForEachKey([&](KeyId key) {
      if (!indices_.values_.Fresh(key)) return;
      const std::optional<ValueId> value = indices_.values_.Remember(key, job);
      if (!value) return;
      for (OrderIndices::Entry& entry : indices_.entries_) {
        if (entry.next) entry.next->OnValue(key, *value, 0);
      }
    });
  }
  free_slots_.push_back(job.slot);
}

// Values belong to all jobs that have them: also an index whose walk has not come to this job must know.
void Orders::Apply(const Changed& changed, std::uint32_t fewer) {
  if (changed.empty()) return;
  for (const auto& change : changed) indices_.log_.Add(change);
  for (OrderIndices::Entry& entry : indices_.entries_) {
    for (const auto& [key, value] : changed) {
      if (entry.index) entry.index->OnValue(key, value, fewer);
      if (entry.next) entry.next->OnValue(key, value, fewer);
    }
  }
}

void Orders::Open(PickJob& job) {
  MemoryPool::Scope scope(&indices_.pool_);
  CHECK(!job.open && job.queued > 0);
  job.open = true;
  ++indices_.open_jobs_;
  open_.Open(job.cls);
  Changed changed;
  ForEachKey(job, [&](KeyId key) {
    if (indices_.values_.Open(key, job)) changed.emplace_back(key, indices_.values_.Of(key, job));
  });
  Apply(changed, 0);
  PutIn(job);
}

void Orders::PutIn(PickJob& job) {
  std::size_t fresh = 0;
  ForEachIndex(job, [&](StrategyIndex& index) {
    const std::size_t cells = index.cells();
    index.Add(job);
    fresh += index.cells() > cells ? 1 : 0;
  });
  if (updates_.cost() > 0) updates_.Charge(updates_.cost() + kCellCost * fresh);
}

void Orders::TakeOut(PickJob& job) {
  std::size_t gone = 0;
  ForEachIndex(job, [&](StrategyIndex& index) {
    const std::size_t cells = index.cells();
    index.Remove(job);
    gone += index.cells() < cells ? 1 : 0;
  });
  if (updates_.cost() > 0) updates_.Charge(updates_.cost() + kCellCost * gone);
}

void Orders::Close(PickJob& job) {
  MemoryPool::Scope scope(&indices_.pool_);
  CHECK(job.open);
  TakeOut(job);
  job.open = false;
  --indices_.open_jobs_;
  open_.Close(job.cls);
  Changed changed;
  ForEachKey(job, [&](KeyId key) {
    if (indices_.values_.Close(key, job)) changed.emplace_back(key, indices_.values_.Of(key, job));
  });
  Apply(changed, 0);
}

void Orders::SetQueued(PickJob& job, std::uint32_t queued) {
  if (job.queued == queued) return;
  if (!job.open) {
    job.queued = queued;
    return;
  }
  CHECK(queued > 0);
  const std::uint32_t before = std::exchange(job.queued, queued);
  ForEachIndex(job, [&](StrategyIndex& index) { index.OnQueued(job, before); });
}

void Orders::SetGroup(PickJob& job, std::uint32_t group) {
  if (!job.open) {
    job.group = group;
    return;
  }
  TakeOut(job);
  job.group = group;
  PutIn(job);
}

void Orders::Started(PickJob& job, const Stamp& now) {
  MemoryPool::Scope scope(&indices_.pool_);
  updates_.Charge(updates_.cost());
  const Stamp at = job.RecentAfter(now);
  const bool open = job.open;
  if (open) {
    ForEachIndex(job, [&](StrategyIndex& index) {
      if (index.CaresWhenPicked()) index.Remove(job);
    });
  }
  job.picked = at;
  ++job.running;
  Changed changed;
  ForEachKey(job, [&](KeyId key) { changed.emplace_back(key, indices_.values_.Started(key, job, at)); });
  Apply(changed, 0);
  if (!open) return;
  ForEachIndex(job, [&](StrategyIndex& index) {
    if (index.CaresWhenPicked()) index.Add(job);
  });
}

void Orders::Returned(PickJob& job) {
  ReturnLater(job);
  ApplyReturns(job);
}

void Orders::ReturnLater(PickJob& job) {
  CHECK(job.running > 0);
  --job.running;
  ++job.unapplied_returns;
}

void Orders::ApplyReturns(PickJob& job) {
  updates_.Charge(updates_.cost());
  const std::uint32_t count = std::exchange(job.unapplied_returns, 0);
  Changed changed;
  ForEachKey(job, [&](KeyId key) { changed.emplace_back(key, indices_.values_.Returned(key, job, count)); });
  Apply(changed, count);
}

std::vector<ClassId> Orders::TakeOpened() {
  std::vector<ClassId> opened;
  indices_.ForEach([&](StrategyIndex& index) {
    const std::vector<ClassId> some = index.TakeOpened();
    if (!some.empty()) opened.insert(opened.end(), some.begin(), some.end());
  });
  return opened;
}

// --- Verdicts.

void Orders::OnWidth() {
  open_.OnWidth();
  std::size_t few = width_at_once;
  for (OrderIndices::Entry& entry : indices_.entries_) {
    const std::size_t cells = (entry.index ? entry.index->cells() : 0) + (entry.next ? entry.next->cells() : 0);
    if (cells <= few) {
      few -= cells;
      if (entry.index) entry.index->OnWidth();
      if (entry.next) entry.next->OnWidth();
      continue;
    }
    // A wider one is built in steps, as for another policy. Until then the kinds that were there before go on with what
    // there is, and the new ones wait.
    builder_.Outdate(entry);
  }
  builder_.Rewant();
}

void Orders::OnClass(ClassId cls) {
  open_.OnClass(cls);
  for (OrderIndices::Entry& entry : indices_.entries_) {
    if (entry.index) entry.index->OnClass(cls);
    if (entry.next) entry.next->OnClass(cls);
  }
}

void Orders::OnKind(KindId kind) {
  open_.OnKind(kind);
  for (OrderIndices::Entry& entry : indices_.entries_) {
    if (entry.index) entry.index->OnKind(kind, updates_.looks());
    if (entry.next) entry.next->OnKind(kind, updates_.looks());
  }
}

}  // namespace allot
