#include "strategy/orders.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/memory.h"
#include "strategy/index/cell.h"

namespace allot {

namespace {
constexpr std::size_t kCellCost = 8;  // of a job that is the first or the last of its cell, in an index
}  // namespace

Orders::Orders(const JobKeys& keys, const ClassTable& verdicts)
    : verdicts_(verdicts), values_(keys), policy_(DefaultPolicy()), open_(verdicts) {}

Orders::~Orders() = default;

// --- Strategies.

Orders::Id Orders::Use(const StrategyPtr& strategy) {
  MemoryPool::Scope scope(&pool_);
  const std::string text = PrintStrategy(*strategy);
  if (const auto found = by_text_.find(text); found != by_text_.end()) {
    ++entries_[found->second].users;
    return found->second;
  }
  Id id = 0;
  while (id < entries_.size() && entries_[id].users > 0) ++id;
  if (id == entries_.size()) entries_.emplace_back();
  entries_[id].worker = strategy;
  entries_[id].users = 1;
  by_text_.emplace(text, id);
  blocks_ += CountBlocks(*strategy);
  Rewant();
  return id;
}

void Orders::Unuse(Id id) {
  CHECK(entries_[id].users > 0);
  if (--entries_[id].users > 0) return;
  by_text_.erase(PrintStrategy(*entries_[id].worker));
  blocks_ -= CountBlocks(*entries_[id].worker);
  Leave(std::move(entries_[id].index));
  Leave(std::move(entries_[id].next));
  entries_[id] = Entry{};
  ++changes_;
  Rewant();
}

void Orders::Recost() {
  constexpr std::size_t kValuesAtOnce = 64;  // are told to an index in about a microsecond
  std::size_t indices = 0, keys = 0;
  cost_ = 0;
  for (const Entry& entry : entries_) {
    for (const StrategyIndex* index : {entry.index.get(), entry.next.get()}) {
      if (index == nullptr) continue;
      ++indices;
      cost_ += index->cost();
    }
  }
  values_.ForEachKey([&](KeyId) { ++keys; });
  cost_ = indices <= 1 ? 0 : cost_ + keys * indices / kValuesAtOnce;
}

void Orders::Rewant() {
  Recost();
  wanted_ = std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.Wanted(); });
  const bool given_up =
      std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.given_up; });
  if (!given_up) given_up_ = 0;
}

void Orders::Leave(std::unique_ptr<StrategyIndex> index) {
  if (index) left_.push_back(std::move(index));
}

bool Orders::Clean(std::size_t& budget) {
  if (!Cleaning()) return true;
  while (budget > 0 && !left_.empty()) {
    if (!left_.back()->Shrink(budget)) continue;
    left_.pop_back();
    cleaned_ = false;
  }
  if (budget > 0 && !cleaned_) cleaned_ = values_.Clean(budget);
  SortFreedMemory();
  return !Cleaning();
}

bool Orders::Knows(const StrategyPtr& strategy) const { return by_text_.contains(PrintStrategy(*strategy)); }

void Orders::SetPolicy(const StrategyPtr& policy) {
  if (PrintStrategy(*policy) == PrintStrategy(*policy_)) return;
  policy_ = policy;
  // A walk that is under way goes on to its end: what keys know so far must not be told to them twice.
  for (Entry& entry : entries_) {
    Leave(std::move(entry.next));
    entry.stale = entry.index != nullptr;
    entry.given_up = false;
  }
  Rewant();
}

void Orders::SetWeights(std::unordered_map<std::string, std::uint32_t> weights) {
  const auto changed = values_.SetWeights(std::move(weights));
  Apply(Changed(changed.begin(), changed.end()), 0);
}

void Orders::SetSlots(std::uint64_t slots) {
  slots_ = slots;
  for (Entry& entry : entries_) {
    if (entry.index) entry.index->SetSlots(slots);
    if (entry.next) entry.next->SetSlots(slots);
  }
}

// --- Building.

void Orders::BeginBuild() {
  MemoryPool::Scope scope(&pool_);
  if (building_ || !wanted_) return;
  building_ = true;
  built_to_ = JobId{};
  // Round and round, so that none waits for those that come and go.
  do {
    next_entry_ = next_entry_ + 1 < entries_.size() ? next_entry_ + 1 : 0;
  } while (!entries_[next_entry_].Wanted());
  entries_[next_entry_].next =
      std::make_unique<StrategyIndex>(policy_, entries_[next_entry_].worker, values_, verdicts_, &memory_);
  entries_[next_entry_].next->SetSlots(slots_);
  Rewant();
  build_cost_ = 0;
  for (const Entry& entry : entries_) build_cost_ += entry.next ? entry.next->cost() : 0;
  values_.ForEachKey([&](KeyId key) { build_cost_ += values_.Fresh(key) ? 1 : 0; });
  build_cost_ = std::max<std::size_t>(1, build_cost_);
}

void Orders::Build(PickJob& job) {
  MemoryPool::Scope scope(&pool_);
  CHECK(building_ && built_to_ < job.id());
  values_.ForEachKey([&](KeyId key) {
    if (!values_.Fresh(key)) return;
    values_.Know(key, job);
    const bool sooner = job.open && values_.Open(key, job);
    if (!sooner && job.picked.serial == 0) return;
    // Fair groups that stand already were placed by what was known so far.
    for (Entry& entry : entries_) {
      if (entry.next) entry.next->OnValue(key, values_.Of(key, job), 0);
    }
  });
  if (job.open) {
    for (Entry& entry : entries_) {
      if (entry.next) entry.next->Add(job);
    }
  }
  built_to_ = job.id();
}

void Orders::Built() {
  CHECK(building_);
  building_ = false;
  ++changes_;
  values_.ForEachKey([&](KeyId key) { values_.Complete(key); });
  for (Id id = 0; id < entries_.size(); ++id) {
    if (!entries_[id].next) continue;
    Leave(std::move(entries_[id].index));
    entries_[id].index = std::move(entries_[id].next);
    entries_[id].version = next_version_++;
    entries_[id].stale = false;
    became_ready_.push_back(id);
  }
  Recost();
}

void Orders::GiveUp() {
  for (Entry& entry : entries_) {
    if (!entry.next) continue;
    entry.given_up = true;
    given_up_ = std::max(given_up_, entry.next->counted_bytes());
    Leave(std::move(entry.next));
  }
  Recost();
}

void Orders::Resume() {
  for (Entry& entry : entries_) entry.given_up = false;
  Rewant();
}

// --- Jobs.

// Indices and keys that are being built are told only of jobs that the walk has passed: it will come to the others.
template <typename F>
void Orders::ForEachIndex(const PickJob& job, F f) {
  for (Entry& entry : entries_) {
    if (entry.index) f(*entry.index);
    if (entry.next && Covered(job)) f(*entry.next);
  }
}

template <typename F>
void Orders::ForEachKey(const PickJob& job, F f) {
  values_.ForEachKey([&](KeyId key) {
    if (!values_.Fresh(key) || Covered(job)) f(key);
  });
}

void Orders::Know(PickJob& job) {
  MemoryPool::Scope scope(&pool_);
  if (free_slots_.empty()) free_slots_.push_back(slot_end_++);
  job.slot = free_slots_.back();
  free_slots_.pop_back();
  Changed changed;
  ForEachKey(job, [&](KeyId key) {
    values_.Know(key, job);
    if (job.picked.serial != 0) changed.emplace_back(key, values_.Of(key, job));
  });
  Apply(changed, 0);
}

void Orders::Forget(PickJob& job) {
  MemoryPool::Scope scope(&pool_);
  CHECK(!job.open);
  Changed changed;
  ForEachKey(job, [&](KeyId key) {
    const ValueId value = values_.Of(key, job);
    values_.Forget(key, job);
    if (job.running + job.unapplied_returns > 0) changed.emplace_back(key, value);
  });
  Apply(changed, job.running + std::exchange(job.unapplied_returns, 0));
  if (building_ && !Covered(job) && job.picked.serial != 0) {
    values_.ForEachKey([&](KeyId key) {
      if (!values_.Fresh(key)) return;
      const std::optional<ValueId> value = values_.Remember(key, job);
      if (!value) return;
      for (Entry& entry : entries_) {
        if (entry.next) entry.next->OnValue(key, *value, 0);
      }
    });
  }
  free_slots_.push_back(job.slot);
}

// Values belong to all jobs that have them: also an index whose walk has not come to this job must know.
void Orders::Apply(const Changed& changed, std::uint32_t fewer) {
  if (changed.empty()) return;
  for (const auto& change : changed) log_.Add(change);
  for (Entry& entry : entries_) {
    for (const auto& [key, value] : changed) {
      if (entry.index) entry.index->OnValue(key, value, fewer);
      if (entry.next) entry.next->OnValue(key, value, fewer);
    }
  }
}

void Orders::Open(PickJob& job) {
  MemoryPool::Scope scope(&pool_);
  CHECK(!job.open && job.queued > 0);
  job.open = true;
  ++open_jobs_;
  open_.Open(job.cls);
  Changed changed;
  ForEachKey(job, [&](KeyId key) {
    if (values_.Open(key, job)) changed.emplace_back(key, values_.Of(key, job));
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
  if (cost_ > 0) Charge(cost_ + kCellCost * fresh);
}

void Orders::TakeOut(PickJob& job) {
  std::size_t gone = 0;
  ForEachIndex(job, [&](StrategyIndex& index) {
    const std::size_t cells = index.cells();
    index.Remove(job);
    gone += index.cells() < cells ? 1 : 0;
  });
  if (cost_ > 0) Charge(cost_ + kCellCost * gone);
}

void Orders::Close(PickJob& job) {
  MemoryPool::Scope scope(&pool_);
  CHECK(job.open);
  TakeOut(job);
  job.open = false;
  --open_jobs_;
  open_.Close(job.cls);
  Changed changed;
  ForEachKey(job, [&](KeyId key) {
    if (values_.Close(key, job)) changed.emplace_back(key, values_.Of(key, job));
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
  MemoryPool::Scope scope(&pool_);
  Charge(cost_);
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
  ForEachKey(job, [&](KeyId key) { changed.emplace_back(key, values_.Started(key, job, at)); });
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
  Charge(cost_);
  const std::uint32_t count = std::exchange(job.unapplied_returns, 0);
  Changed changed;
  ForEachKey(job, [&](KeyId key) { changed.emplace_back(key, values_.Returned(key, job, count)); });
  Apply(changed, count);
}

void Orders::OpenGroup(std::uint32_t group, std::vector<std::uint64_t>* kinds) {
  for (Entry& entry : entries_) {
    if (entry.index) entry.index->OpenGroup(group, kinds);
  }
}

void Orders::JoinGroup(std::uint32_t group) {
  for (Entry& entry : entries_) {
    if (entry.index) entry.index->JoinGroup(group);
  }
}

std::size_t Orders::opened_groups() const {
  std::size_t most = 0;
  for (const Entry& entry : entries_) {
    if (entry.index) most = std::max(most, entry.index->opened_groups());
  }
  return most;
}

void Orders::JoinOpened() {
  for (Entry& entry : entries_) {
    if (entry.index) entry.index->JoinOpened();
  }
}

bool Orders::Joining() const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const Entry& entry) { return entry.index && entry.index->Joining(); });
}

bool Orders::StepJoining(std::size_t& budget) {
  return std::all_of(entries_.begin(), entries_.end(),
                     [&](Entry& entry) { return !entry.index || entry.index->StepJoining(budget); });
}

std::vector<ClassId> Orders::TakeOpened() {
  std::vector<ClassId> opened;
  for (Entry& entry : entries_) {
    if (!entry.index || !entry.index->HasOpened()) continue;
    const auto some = entry.index->TakeOpened();
    opened.insert(opened.end(), some.begin(), some.end());
  }
  return opened;
}

// --- Verdicts.

void Orders::OnWidth() {
  open_.OnWidth();
  std::size_t few = width_at_once;
  for (Entry& entry : entries_) {
    const std::size_t cells = (entry.index ? entry.index->cells() : 0) + (entry.next ? entry.next->cells() : 0);
    if (cells <= few) {
      few -= cells;
      if (entry.index) entry.index->OnWidth();
      if (entry.next) entry.next->OnWidth();
      continue;
    }
    // A wider one is built in steps, as for another policy. Until then the kinds that were there before go on with what
    // there is, and the new ones wait.
    Leave(std::move(entry.next));
    entry.stale = entry.index != nullptr;
    entry.given_up = false;
  }
  Rewant();
}

void Orders::OnClass(ClassId cls) {
  open_.OnClass(cls);
  for (Entry& entry : entries_) {
    if (entry.index) entry.index->OnClass(cls);
    if (entry.next) entry.next->OnClass(cls);
  }
}

void Orders::OnKind(KindId kind) {
  open_.OnKind(kind);
  for (Entry& entry : entries_) {
    if (entry.index) entry.index->OnKind(kind, looks_);
    if (entry.next) entry.next->OnKind(kind, looks_);
  }
}

std::size_t Orders::JobBytes() const {
  std::size_t bytes = 0;
  for (const Entry& entry : entries_) {
    if (entry.index) bytes += entry.index->JobBytes();
    if (entry.next) bytes += entry.next->JobBytes();
  }
  return bytes;
}

std::size_t Orders::IndexBytes(const Strategy& strategy) const {
  constexpr std::size_t kEntry =
      sizeof(order::Key) + sizeof(void*) + 4;  // of a job in an order; nodes are not all full
  std::size_t cells = 0;
  for (const Entry& entry : entries_) cells = std::max(cells, entry.index ? entry.index->cells() : 0);
  const std::size_t blocks = CountBlocks(*policy_) + CountBlocks(strategy);
  return open_jobs_ * kEntry + std::min<std::size_t>(cells, open_jobs_) * (sizeof(order::Cell) + 48 * blocks);
}

std::uint64_t Orders::cells_moved() const {
  std::uint64_t moved = 0;
  for (const Entry& entry : entries_) {
    moved += (entry.index ? entry.index->cells_moved() : 0) + (entry.next ? entry.next->cells_moved() : 0);
  }
  return moved;
}

std::size_t Orders::MemoryBytes() const {
  std::size_t bytes = values_.MemoryBytes();
  for (const Entry& entry : entries_) {
    if (entry.index) bytes += entry.index->MemoryBytes();
    if (entry.next) bytes += entry.next->MemoryBytes();
  }
  for (const auto& index : left_) bytes += index->MemoryBytes();
  return bytes;
}

}  // namespace allot
