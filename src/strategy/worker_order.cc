// SPDX-License-Identifier: Apache-2.0
#include "strategy/worker_order.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace allot {

using order::Choice;
using order::Key;
using order::KeyOf;
using order::Order;
using order::Plan;

namespace {

bool HasPercent(const Plan& plan) {
  return plan.percent ||
         std::any_of(plan.inner.begin(), plan.inner.end(), [](const auto& inner) { return HasPercent(*inner); });
}

}  // namespace

WorkerOrder::WorkerOrder(const order::Rules& rules, const ValueLog& log, bool by_class)
    : rules_(rules), by_class_(by_class), log_(log), picked_at_(log.end()), percent_(HasPercent(*rules.plan)) {
  FindLeaves(*rules.plan);
}

void WorkerOrder::FindLeaves(const Plan& plan) {
  if (plan.inner.empty() && !plan.draws()) leaves_.push_back(&plan);
  for (const auto& inner : plan.inner) FindLeaves(*inner);
}

WorkerOrder::Cell::~Cell() = default;
WorkerOrder::~WorkerOrder() = default;

bool WorkerOrder::Same::operator()(const Sought& sought, const Cell* cell) const {
  return cell->core->group == sought.group && cell->by_class == sought.cls &&
         std::equal(sought.values.begin(), sought.values.end(), cell->core->values);
}

WorkerOrder::Cell& WorkerOrder::CellFor(const PickJob& job) {
  const order::ViewContext& context = *rules_.context;
  const ClassId cls = by_class_ ? job.cls : kNoClass;
  std::uint64_t hash = cls + (std::uint64_t{job.group} << 32);
  sought_.resize(context.keys.size());
  for (std::size_t i = 0; i < sought_.size(); ++i) {
    sought_[i] = context.values.Of(context.keys[i], job);
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
  cores_.push_back(made->core.get());
  cells_.push_back(std::move(made));
  if (cells_.size() == kFew + 1) {
    for (const auto& cell : cells_) by_key_.insert(cell.get());
  } else if (cells_.size() > kFew) {
    by_key_.insert(cells_.back().get());
  }
  if (sorted_) Enter(*cells_.back());
  return *cells_.back();
}

void WorkerOrder::Add(Entry& entry) {
  CHECK(entry.count > 0);
  Cell& cell = CellFor(*entry.job);
  entry.cell = &cell;
  ++cell.jobs;
  cell.tasks += entry.count;
  for (std::size_t i = 0; i < cell.orders.size(); ++i) {
    const Order order = (*rules_.orders)[i];
    const Key key = KeyOf(order, *entry.job);
    if (order->rotates) entry.recent = key;
    cell.orders[i].Insert(key, &entry);
    if (cell.orders[i].Front().second == &entry) Note(cell, i);
  }
  if (cell.lottery) entry.place = cell.lottery->Add(&entry, entry.count);
}

void WorkerOrder::Remove(Entry& entry) {
  Cell& cell = *entry.cell;
  entry.cell = nullptr;
  cell.tasks -= entry.count;
  if (--cell.jobs == 0) {
    if (sorted_) Leave(cell);
    by_key_.erase(&cell);
    const std::uint32_t at = cell.at;
    std::swap(cells_[at], cells_.back());
    cells_[at]->at = at;
    cores_[at] = cells_[at]->core.get();
    cells_.pop_back();
    cores_.pop_back();
    if (cells_.size() <= kFew) by_key_.clear();
    return;
  }
  for (std::size_t i = 0; i < cell.orders.size(); ++i) {
    const Order order = (*rules_.orders)[i];
    const bool first = cell.orders[i].Front().second == &entry;
    cell.orders[i].Erase(order->rotates ? entry.recent : KeyOf(order, *entry.job));
    if (first) Note(cell, i);
  }
  if (cell.lottery) Undraw(cell, entry);
}

void WorkerOrder::Undraw(Cell& cell, Entry& entry) {
  cell.lottery->Remove(entry.place, [](Entry* moved, const WeightedSet<Entry*>::Place& to) { moved->place = to; });
}

void WorkerOrder::OnCount(Entry& entry, std::uint32_t before) {
  Cell& cell = *entry.cell;
  cell.tasks += std::uint64_t{entry.count} - before;
  if (!cell.lottery || WeightedSet<Entry*>::BucketOf(entry.count) == entry.place.bucket) return;
  Undraw(cell, entry);
  entry.place = cell.lottery->Add(&entry, entry.count);
}

void WorkerOrder::Note(Cell& cell, std::size_t list) {
  const Key key = cell.orders[list].Front().first;
  for (const Plan* leaf : leaves_) {
    if (leaf->list != list) continue;
    Key& noted = cell.core->leaves[leaf->leaf].key;
    if (noted == key) continue;
    if (cell.stands && cell.leaf == leaf) Loosen(cell);
    noted = key;
  }
}

void WorkerOrder::Freshen(Cell& cell, const Plan& leaf) {
  if (!leaf.rotates) return;
  auto& jobs = cell.orders[leaf.list];
  auto [key, entry] = jobs.Front();
  while (KeyOf(leaf.order, *entry->job) != key) {
    jobs.Erase(key);
    entry->recent = KeyOf(leaf.order, *entry->job);
    jobs.Insert(entry->recent, entry);
    std::tie(key, entry) = jobs.Front();
  }
  Note(cell, leaf.list);
}

WorkerOrder::Entry* WorkerOrder::Draw(Cell& cell, Rng& rng) const {
  for (;;) {
    std::uint64_t rounded = 0;
    Entry* entry = cell.lottery->At(rng.Below(cell.lottery->total()), rounded);
    if (rounded == 1 || rng.Below(rounded) < entry->count) return entry;
  }
}

bool WorkerOrder::Blocked(const order::Cell& core, StartGate* gate) const {
  const std::uint32_t group = core.group;
  if (gate == nullptr || group == 0) return false;
  return (cells_.size() > kFewAsked ? gate->AskClosely(group) : gate->Ask(group)) != StartGate::Blocked::kNo;
}

// --- Many cells, in order.

bool WorkerOrder::Before::operator()(const Cell& a, const Cell& b) const {
  const Choice x{a.core.get(), a.leaf, 0}, y{b.core.get(), b.leaf, 0};
  return order::Compare(*of->rules_.plan, *of->rules_.context, of->sorted_for_, x, y) < 0;
}

void WorkerOrder::Loosen(Cell& cell) {
  if (cell.stands) tree_.erase(tree_.iterator_to(cell));
  cell.stands = false;
  if (std::exchange(cell.loose, true)) return;
  cell.loose_at = static_cast<std::uint32_t>(loose_.size());
  loose_.push_back(&cell);
}

void WorkerOrder::Enter(Cell& cell) {
  const auto& keys = rules_.context->keys;
  for (std::size_t i = 0; i < keys.size(); ++i) by_value_[ValueKey(keys[i], cell.core->values[i])].push_back(&cell);
  cell.stands = cell.loose = false;
  Loosen(cell);
}

void WorkerOrder::Leave(Cell& cell) {
  const auto& keys = rules_.context->keys;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto found = by_value_.find(ValueKey(keys[i], cell.core->values[i]));
    auto& cells = found->second;
    *std::find(cells.begin(), cells.end(), &cell) = cells.back();
    cells.pop_back();
    if (cells.empty()) by_value_.erase(found);
  }
  Loosen(cell);
  loose_[cell.loose_at] = loose_.back();
  loose_[cell.loose_at]->loose_at = cell.loose_at;
  loose_.pop_back();
}

void WorkerOrder::Unsort() {
  calm_ = 0;
  if (!std::exchange(sorted_, false)) return;
  for (const auto& cell : cells_) cell->stands = cell->loose = false;
  tree_.clear();
  loose_.clear();
  by_value_.clear();
}

void WorkerOrder::Sort(KindId kind) {
  Unsort();
  sorted_ = true;
  sorted_for_ = kind;
  sorted_at_ = log_.end();
  sorted_slots_ = rules_.context->slots;
  for (const auto& cell : cells_) Enter(*cell);
}

std::size_t WorkerOrder::Changed() const {
  std::size_t cells = loose_.size();
  for (std::uint64_t at = sorted_at_; at < log_.end(); ++at) {
    const auto [key, value] = log_.At(at);
    if (const auto found = by_value_.find(ValueKey(key, value)); found != by_value_.end())
      cells += found->second.size();
  }
  return cells;
}

void WorkerOrder::CatchUp() {
  for (; sorted_at_ < log_.end(); ++sorted_at_) {
    const auto [key, value] = log_.At(sorted_at_);
    const auto found = by_value_.find(ValueKey(key, value));
    if (found == by_value_.end()) continue;
    for (Cell* cell : found->second) Loosen(*cell);
  }
  // None of those that stand has changed, so that places can be found among them.
  for (Cell* cell : std::exchange(loose_, {})) {
    cell->loose = false;
    cell->leaf = order::LeafFor(*rules_.plan, *rules_.context, *cell->core);
    if (cell->leaf == nullptr) continue;
    Freshen(*cell, *cell->leaf);
    cell->stands = true;
    tree_.insert(*cell);
  }
}

// --- Picking.

WorkerOrder::Entry* WorkerOrder::Pick(KindId kind, StartGate* gate, Rng& rng, std::size_t& looks) {
  // To find a new place costs about ten looks: where many would have to each time, a look at all of them is cheaper. To
  // find places for all of them pays when it has been otherwise for a while. Ranks may change without a word.
  constexpr std::size_t kLooks = 10;
  constexpr std::uint32_t kCalm = 16;
  const std::uint64_t changes = log_.end() - std::exchange(picked_at_, log_.end());
  const bool few = cells_.size() < kSorted || rules_.random || by_class_;
  bool sort = !few && changes * kLooks <= cells_.size();
  if (sort && !sorted_) sort = ++calm_ >= kCalm;
  const bool anew = !sorted_ || sorted_for_ != kind || !log_.Knows(sorted_at_) ||
                    (percent_ && sorted_slots_ != rules_.context->slots);
  std::size_t cost = sort && !anew ? Changed() * kLooks : 0;
  if (!sort || cost > cells_.size()) {
    if (few || sorted_ || changes * kLooks > cells_.size()) Unsort();
    looks -= std::min(looks, cells_.size());
    return Scan(kind, gate, rng);
  }
  if (anew) {
    Sort(kind);
    cost = cells_.size() * kLooks;
  }
  looks -= std::min(looks, cost);
  CatchUp();
  random_task_ = false;
  for (auto it = tree_.begin(); it != tree_.end();) {
    Cell& cell = *it;
    const PickJob& first = *cell.orders[cell.leaf->list].Front().second->job;
    // What was picked from meanwhile stands too far ahead.
    if (cell.leaf->rotates && KeyOf(cell.leaf->order, first) != cell.core->leaves[cell.leaf->leaf].key) {
      Loosen(cell);
      CatchUp();
      it = tree_.begin();
      continue;
    }
    if (!Blocked(*cell.core, gate)) {
      leaf_ = cell.leaf;
      return cell.orders[cell.leaf->list].Front().second;
    }
    ++it;
  }
  return nullptr;
}

WorkerOrder::Entry* WorkerOrder::Scan(KindId kind, StartGate* gate, Rng& rng) {
  Choice best;
  std::size_t where = 0;
  std::uint64_t drawn = 0;  // tasks of all cells that were drawn from so far
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    const Plan* leaf = order::LeafFor(*rules_.plan, *rules_.context, *cores_[i]);
    if (leaf == nullptr) continue;
    const bool random = leaf->draws();
    Freshen(*cells_[i], *leaf);
    const Choice choice{cores_[i], leaf, random ? cells_[i]->tasks : 0};
    const int order = best ? order::Compare(*rules_.plan, *rules_.context, kind, choice, best) : -1;
    if (order > 0 || Blocked(*cores_[i], gate)) continue;
    drawn = order < 0 ? choice.tasks : drawn + choice.tasks;
    if (order == 0 && rng.Below(drawn) >= choice.tasks) continue;
    best = choice;
    where = i;
  }
  if (!best) return nullptr;
  random_task_ = best.leaf->draws();
  leaf_ = best.leaf;
  candidates_ = drawn;
  return random_task_ ? Draw(*cells_[where], rng) : cells_[where]->orders[best.leaf->list].Front().second;
}

bool WorkerOrder::Shrink(std::size_t& budget) {
  by_key_ = {};
  Unsort();
  while (!cells_.empty()) {
    if (budget == 0) return false;
    for (auto& jobs : cells_.back()->orders) {
      while (!jobs.Shrink(order::kShrunkAtOnce)) {
        if (--budget == 0) return false;
      }
    }
    // The rest of it lies in few pieces.
    --budget;
    cells_.pop_back();
    cores_.pop_back();
  }
  return true;
}

std::size_t WorkerOrder::MemoryBytes() const {
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
