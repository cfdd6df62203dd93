#include "strategy/queue_order.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace allot {

using order::Choice;
using order::Key;
using order::KeyOf;
using order::Order;
using order::Plan;

QueueOrder::Cell::~Cell() = default;
QueueOrder::~QueueOrder() = default;

bool QueueOrder::Same::operator()(const Sought& sought, const Cell* cell) const {
  return cell->core->group == sought.group && cell->by_class == sought.cls &&
         std::equal(sought.values.begin(), sought.values.end(), cell->core->values);
}

QueueOrder::Cell& QueueOrder::CellFor(const PickJob& job) {
  const order::Shared& shared = *rules_.shared;
  const ClassId cls = by_class_ ? job.cls : kNoClass;
  std::uint64_t hash = cls + (std::uint64_t{job.group} << 32);
  sought_.resize(shared.keys.size());
  for (std::size_t i = 0; i < sought_.size(); ++i) {
    sought_[i] = shared.values.Of(shared.keys[i], job);
    hash = hash * 0x9E3779B97F4A7C15ull + sought_[i];
  }
  const Sought sought{job.group, cls, sought_, Mixed(hash)};
  if (cells_.size() <= kFew) {
    for (const auto& cell : cells_) {
      if (cell->core->hash == sought.hash && Same()(sought, cell.get())) return *cell;
    }
  } else if (const auto found = by_key_.find(sought); found != by_key_.end()) {
    return **found;
  }
  order::CellShape shape;
  shape.values = sought_.size();
  shape.leaves = rules_.leaves;
  auto made = std::make_unique<Cell>();
  made->core = order::Cell::Make(shape);
  made->core->cls = job.cls;
  made->core->group = job.group;
  made->core->hash = sought.hash;
  std::copy(sought_.begin(), sought_.end(), made->core->values);
  made->by_class = cls;
  made->orders.resize(rules_.orders->size());
  if (rules_.random) made->lottery = std::make_unique<WeightedSet<Entry*>>();
  made->at = static_cast<std::uint32_t>(cells_.size());
  cells_.push_back(std::move(made));
  if (cells_.size() == kFew + 1) {
    for (const auto& cell : cells_) by_key_.insert(cell.get());
  } else if (cells_.size() > kFew) {
    by_key_.insert(cells_.back().get());
  }
  return *cells_.back();
}

void QueueOrder::Add(Entry& entry) {
  CHECK(entry.count > 0);
  Cell& cell = CellFor(*entry.job);
  entry.cell = &cell;
  ++cell.jobs;
  cell.tasks += entry.count;
  for (std::size_t i = 0; i < cell.orders.size(); ++i) {
    const Order order = (*rules_.orders)[i];
    const Key key = KeyOf(order, *entry.job);
    if (order == Order::kLeastRecent) entry.recent = key;
    cell.orders[i].Insert(key, &entry);
  }
  if (cell.lottery) entry.place = cell.lottery->Add(&entry, entry.count);
}

void QueueOrder::Remove(Entry& entry) {
  Cell& cell = *entry.cell;
  entry.cell = nullptr;
  cell.tasks -= entry.count;
  if (--cell.jobs == 0) {
    by_key_.erase(&cell);
    const std::uint32_t at = cell.at;
    std::swap(cells_[at], cells_.back());
    cells_[at]->at = at;
    cells_.pop_back();
    if (cells_.size() <= kFew) by_key_.clear();
    return;
  }
  for (std::size_t i = 0; i < cell.orders.size(); ++i) {
    const Order order = (*rules_.orders)[i];
    cell.orders[i].Erase(order == Order::kLeastRecent ? entry.recent : KeyOf(order, *entry.job));
  }
  if (cell.lottery) {
    cell.lottery->Remove(entry.place, [](Entry* moved, const WeightedSet<Entry*>::Place& to) { moved->place = to; });
  }
}

void QueueOrder::OnCount(Entry& entry, std::uint32_t before) {
  Cell& cell = *entry.cell;
  cell.tasks += std::uint64_t{entry.count} - before;
  if (!cell.lottery || WeightedSet<Entry*>::BucketOf(entry.count) == entry.place.bucket) return;
  cell.lottery->Remove(entry.place, [](Entry* moved, const WeightedSet<Entry*>::Place& to) { moved->place = to; });
  entry.place = cell.lottery->Add(&entry, entry.count);
}

const Plan* QueueOrder::LeafFor(const Plan& plan, const Cell& cell) const {
  switch (plan.kind) {
    case Strategy::Kind::kRandom:
    case Strategy::Kind::kOldest:
    case Strategy::Kind::kNewest:
    case Strategy::Kind::kPriority:
    case Strategy::Kind::kLeastRecent:
      return &plan;
    case Strategy::Kind::kSelectOnly:
      if (cell.core->values[plan.key] != plan.wanted) return nullptr;
      break;
    case Strategy::Kind::kMaxSimultaneous:
      if (order::TrueBin(plan, *rules_.shared, *cell.core) > 0) return nullptr;
      break;
    case Strategy::Kind::kOrElse:
      for (const auto& branch : plan.inner) {
        if (const Plan* leaf = LeafFor(*branch, cell)) return leaf;
      }
      return nullptr;
    case Strategy::Kind::kPreferDistinct:
    case Strategy::Kind::kFair:
    case Strategy::Kind::kWorker:
      break;
  }
  return LeafFor(*plan.inner.front(), cell);
}

void QueueOrder::Note(Cell& cell, const Plan& leaf) {
  auto& jobs = cell.orders[leaf.list];
  auto [key, entry] = jobs.Front();
  // Whatever was picked from meanwhile stands too far ahead.
  while (leaf.order == Order::kLeastRecent && KeyOf(leaf.order, *entry->job) != key) {
    jobs.Erase(key);
    entry->recent = KeyOf(leaf.order, *entry->job);
    jobs.Insert(entry->recent, entry);
    std::tie(key, entry) = jobs.Front();
  }
  cell.core->leaves[leaf.leaf].key = key;
}

QueueOrder::Entry* QueueOrder::Draw(Cell& cell, Rng& rng) const {
  for (;;) {
    std::uint64_t rounded = 0;
    Entry* entry = cell.lottery->At(rng.Below(cell.lottery->total()), rounded);
    if (rounded == 1 || rng.Below(rounded) < entry->count) return entry;
  }
}

QueueOrder::Entry* QueueOrder::Pick(KindId kind, StartGate* gate, Rng& rng) {
  Choice best;
  Cell* where = nullptr;
  std::uint64_t drawn = 0;  // tasks of all cells that were drawn from so far
  const bool many = cells_.size() > kFewAsked;
  const auto held = [&](const Cell& cell) {
    if (gate == nullptr || cell.core->group == 0) return false;
    return (many ? gate->AskClosely(cell.core->group) : gate->Ask(cell.core->group)) != StartGate::Held::kNo;
  };
  for (const auto& cell : cells_) {
    const Plan* leaf = LeafFor(*rules_.plan, *cell);
    if (leaf == nullptr || held(*cell)) continue;
    const bool random = leaf->kind == Strategy::Kind::kRandom;
    if (!random) Note(*cell, *leaf);
    const Choice choice{cell->core.get(), leaf, random ? cell->tasks : 0};
    const int order = best ? order::Compare(*rules_.plan, *rules_.shared, kind, choice, best) : -1;
    if (order > 0) continue;
    drawn = order < 0 ? choice.tasks : drawn + choice.tasks;
    if (order == 0 && rng.Below(drawn) >= choice.tasks) continue;
    best = choice;
    where = cell.get();
  }
  if (!best) return nullptr;
  random_task_ = best.leaf->kind == Strategy::Kind::kRandom;
  return random_task_ ? Draw(*where, rng) : where->orders[best.leaf->list].Front().second;
}

bool QueueOrder::Shrink(std::size_t& budget) {
  by_key_ = {};
  while (!cells_.empty()) {
    if (budget == 0) return false;
    budget -= std::min(budget, 1 + cells_.back()->jobs / order::kShrunkAtOnce);
    cells_.pop_back();
  }
  return true;
}

std::size_t QueueOrder::MemoryBytes() const {
  std::size_t bytes = sizeof(*this) + cells_.capacity() * sizeof(cells_[0]) + by_key_.bucket_count() * sizeof(Cell*) +
                      sought_.capacity() * sizeof(ValueId);
  for (const auto& cell : cells_) {
    bytes += sizeof(*cell) + sizeof(order::Cell) + rules_.leaves * sizeof(order::LeafPlace);
    for (const auto& jobs : cell->orders) bytes += sizeof(jobs) + jobs.MemoryBytes();
    if (cell->lottery) bytes += cell->lottery->MemoryBytes();
  }
  return bytes;
}

}  // namespace allot
