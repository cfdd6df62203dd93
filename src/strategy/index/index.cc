// SPDX-License-Identifier: Apache-2.0
#include "strategy/index/index.h"

#include <algorithm>

#include "base/check.h"
#include "strategy/index/cell_trees.h"
#include "strategy/index/views.h"

namespace allot {

using order::Cell;
using order::Choice;
using order::Order;
using order::Plan;

struct StrategyIndex::Parts {
  explicit Parts(ValueTable& values, const ClassTable& verdicts) : context{values, verdicts} {
    context.width = verdicts.kinds().mask_words();
  }
  order::ViewContext context;
  std::unique_ptr<Plan> plan;
  std::vector<const Plan*> bins;  // by their number
  std::vector<std::pair<KeyId, ValueId>> pins;
  std::vector<Order> orders;  // that cells keep
  std::size_t leaves = 0;
  bool random = false;
  bool rotates = false;                     // of a leaf: a pick moves its job
  std::unique_ptr<order::CellTrees> trees;  // goes before what it refers to
  ShardedSet<Cell*> cells;                  // owned
  order::CellShape shape;
  SlotArray<Cell*> by_class;                // the first one
  ClassId classes = 0, shrunk_classes = 0;  // upper bounds of those that have cells
  // Cells whose verdicts changed and that were too many to be put anew at once: of which class, and from which cell on.
  struct Stale {
    ClassId cls = 0;
    Cell* next = nullptr;
  };
  std::vector<Stale> stale;
  // Bits that are new in the masks of cells, where these are many: a walk over all cells, class by class.
  std::vector<KindId> painted, to_paint;  // in this walk, and in the one behind it
  std::vector<std::uint8_t> unpainted;    // by bit: 0, or in which of them it is
  static constexpr std::uint8_t kPainting = 1, kToPaint = 2;
  Stale paint;
  // Of these values many cells are lower than they belong, as a pick has found.
  std::vector<std::pair<std::size_t, ValueId>> crowded;
  std::uint64_t moves = 0;
  std::size_t dropped = 0;      // bytes of tables, that are not counted yet
  order::JobPlaces places;      // in lotteries
  std::vector<ValueId> sought;  // of the job that is looked for

  std::size_t KeyIndex(const StrategyKey& key, const std::string& tag, bool fair = false) {
    // The value table counts one user for each time that it is asked.
    const KeyId id = context.values.Use(key, tag, fair);
    const auto found = std::find(context.keys.begin(), context.keys.end(), id);
    if (found != context.keys.end()) {
      context.values.Unuse(id);
      return static_cast<std::size_t>(found - context.keys.begin());
    }
    context.keys.push_back(id);
    return context.keys.size() - 1;
  }

  // Those of which it must be known when they were served come first, so that others share them.
  void ServedKeys(const Strategy& strategy) {
    if (BlockOf(strategy).traits().served) KeyIndex(strategy.key, {}, true);
    for (const StrategyPtr& inner : strategy.inner) ServedKeys(*inner);
  }

  std::unique_ptr<Plan> Compile(const Strategy& strategy, const Strategy* worker) {
    auto made = std::make_unique<Plan>();
    const Block& block = BlockOf(strategy);
    const Block::Traits& traits = block.traits();
    made->block = &block;
    made->passes = traits.passes;
    made->compares = traits.compares;
    made->leaf = leaves;
    if (strategy.leaf()) CompileLeaf(traits, *made);
    if (strategy.keyed()) CompileKeyed(strategy, traits, *made);
    if (strategy.shape() == Strategy::Shape::kWorker) {
      CHECK(worker != nullptr);
      made->inner.push_back(Compile(*worker, nullptr));
    }
    for (const StrategyPtr& inner : strategy.inner) made->inner.push_back(Compile(*inner, worker));
    made->leaves_end = leaves;
    return made;
  }
  void CompileLeaf(const Block::Traits& traits, Plan& made) {
    ++leaves;
    if (traits.order == nullptr) {
      random = true;
      return;
    }
    made.order = traits.order;
    made.rotates = traits.order->rotates;
    rotates = rotates || made.rotates;
    const auto found = std::find(orders.begin(), orders.end(), made.order);
    made.list = static_cast<std::size_t>(found - orders.begin());
    if (found == orders.end()) orders.push_back(made.order);
  }
  void CompileKeyed(const Strategy& strategy, const Block::Traits& traits, Plan& made) {
    const bool tag = traits.value && strategy.key.kind == StrategyKey::Kind::kTag;
    made.key = KeyIndex(strategy.key, tag ? std::get<std::string>(strategy.value) : std::string(), traits.served);
    made.max = strategy.max;
    made.percent = strategy.percent;
    if (traits.value) {
      made.wanted = context.values.Pin(context.keys[made.key], tag ? "btrue" : *TextOf(strategy.value));
      pins.emplace_back(context.keys[made.key], made.wanted);
    }
    if (traits.passes == Passes::kBelowMax || traits.compares == Compares::kLevel) {
      made.bin = bins.size();
      bins.push_back(&made);
      made.link = context.lists.Link(made.key);
      context.lists.AddBin(made.link, made.bin);
    }
    if (traits.compares == Compares::kFairGroup) made.fair = shape.fair_groups++;
  }

  // --- Cells.

  // Takes what the job has; returns the hash.
  std::uint64_t Seek(const PickJob& job) {
    std::uint64_t hash = job.cls + (std::uint64_t{job.group} << 32);
    for (std::size_t i = 0; i < context.keys.size(); ++i) {
      sought[i] = context.values.Of(context.keys[i], job);
      hash = hash * 0x9E3779B97F4A7C15ull + sought[i];
    }
    return Mixed(hash);
  }
  Cell* Find(std::uint64_t hash, const PickJob& job) const {
    Cell* const* found = cells.Find(hash, [&](const Cell* cell) {
      return cell->cls == job.cls && cell->group == job.group && std::equal(sought.begin(), sought.end(), cell->values);
    });
    return found == nullptr ? nullptr : *found;
  }

  void List(Cell& cell) {
    context.lists.Add(cell);
    classes = std::max(classes, cell.cls + 1);
    Cell*& head = by_class.Make(cell.cls);
    cell.in_class = {nullptr, head};
    if (head != nullptr) head->in_class.before = &cell;
    head = &cell;
  }
  void Unlist(Cell& cell) {
    context.lists.Remove(cell);
    const Cell::Links& links = cell.in_class;
    (links.before != nullptr ? links.before->in_class.next : by_class[cell.cls]) = links.next;
    if (links.next != nullptr) links.next->in_class.before = links.before;
    for (Stale& walk : stale) {
      if (walk.next == &cell) walk.next = links.next;
    }
    if (paint.next == &cell) paint.next = links.next;
  }
  void Remove(Cell& cell) {
    Displace(cell);
    trees->Forget(cell);
    Unlist(cell);
    cells.Erase(cell.hash, [&](const Cell* other) { return other == &cell; });
    Cell::Free()(&cell);
  }

  void Displace(Cell& cell) {
    if (!cell.placed) return;
    trees->Drop(cell);
    std::fill_n(cell.bins, shape.bins, 0);
  }
  void Replace(Cell& cell) {
    ++moves;
    Displace(cell);
    trees->Put(cell);
  }

  // --- Larger work, in steps. Each takes what it did from the budget, in cells, and is true at its end.

  bool TooHigh(const Cell& cell, std::size_t link) const {
    return std::any_of(bins.begin(), bins.end(), [&](const Plan* block) {
      return block->link == link && cell.bins[block->bin] > order::TrueBin(*block, context, cell);
    });
  }
  // Cells of values that fell come down.
  bool StepFallen(std::size_t& budget, std::vector<ClassId>& opened) {
    while (!context.lists.walks().empty()) {
      if (budget == 0) return false;
      const std::size_t link = context.lists.walks().back().link;
      Cell* cell = context.lists.NextOfWalk();
      if (cell == nullptr) continue;
      --budget;
      if (!TooHigh(*cell, link)) continue;
      Replace(*cell);
      if (opened.empty() || opened.back() != cell->cls) opened.push_back(cell->cls);
    }
    return true;
  }
  bool StepStale(std::size_t& budget) {
    for (; !stale.empty(); stale.pop_back()) {
      while (Cell* cell = stale.back().next) {
        if (budget == 0) return false;
        --budget;
        stale.back().next = cell->in_class.next;
        Replace(*cell);
      }
    }
    return true;
  }
  bool StepPaint(std::size_t& budget) {
    if (painted.empty() && to_paint.empty()) return true;
    if (painted.empty()) {
      painted.swap(to_paint);
      for (const KindId bit : painted) unpainted[bit] = kPainting;
      paint = {0, classes > 0 ? by_class[0] : nullptr};
    }
    while (paint.cls < classes) {
      if (budget == 0) return false;
      --budget;
      if (Cell* cell = paint.next) {
        paint.next = cell->in_class.next;
        Replace(*cell);
      } else if (++paint.cls < classes) {
        paint.next = by_class[paint.cls];
      }
    }
    for (const KindId bit : painted) {
      if (unpainted[bit] == kPainting) unpainted[bit] = 0;
    }
    painted.clear();
    return to_paint.empty();
  }
  // Nobody needs it any more: tables go piece by piece, for what the system takes to have their memory back. Little is
  // for nothing.
  bool StepTables(std::size_t& budget) {
    constexpr std::size_t kCounted = 64 * 1024, kCost = 16;
    const auto drop = [&](auto piece) {
      for (;;) {
        if (budget == 0) return false;
        const std::size_t bytes = piece();
        if (bytes == 0) return true;
        dropped += bytes;
        budget -= std::min(budget, dropped / kCounted * kCost);
        dropped %= kCounted;
      }
    };
    return drop([this] { return cells.DropTable(); }) && drop([this] { return context.lists.DropPage(); }) &&
           drop([this] { return places.DropPage() ? order::JobPlaces::kPageBytes : 0; });
  }
  // What picks would move one by one.
  bool StepCrowded(std::size_t& budget) {
    for (; !crowded.empty(); crowded.pop_back()) {
      const auto [link, value] = crowded.back();
      while (Cell* cell = context.lists.Unraised(link, value)) {
        if (budget == 0) return false;
        --budget;
        Replace(*cell);
        if (!cell->links[link].raised) break;  // it opened again
      }
    }
    return true;
  }
  // Must the picks of that kind wait until cells stand where they belong?
  bool Waits(KindId kind) const {
    if (!context.lists.walks().empty() || !stale.empty()) return true;
    const auto unknown = [this](KindId bit) {
      return bit / 64 >= context.width || (bit < unpainted.size() && unpainted[bit] != 0);
    };
    if (painted.empty() && to_paint.empty() && context.width == context.verdicts.kinds().mask_words()) return false;
    if (unknown(kind)) return true;
    const auto& tiers = context.verdicts.kinds().Tiers(kind);
    return std::any_of(tiers.begin(), tiers.end(), [&](const auto& tier) { return unknown(tier.second); });
  }
};

StrategyIndex::StrategyIndex(const StrategyPtr& policy, const StrategyPtr& worker, ValueTable& values,
                             const ClassTable& verdicts, MemorySum* sum)
    : pool_(sum),
      parts_(std::make_unique<Parts>(values, verdicts)),
      strategies_(std::make_shared<const StrategyPair>(StrategyPair{policy, worker})) {
  parts_->ServedKeys(*policy);
  parts_->ServedKeys(*worker);
  parts_->plan = parts_->Compile(*policy, worker.get());
  MemoryPool::Scope scope(&pool_);  // not before: what the table of values makes stays
  const std::size_t keys = parts_->context.keys.size();
  parts_->context.fair_groups.resize(keys);
  parts_->context.spare.resize(parts_->shape.fair_groups);
  parts_->context.full.resize(parts_->bins.size());
  parts_->sought.resize(keys);
  parts_->shape.values = keys;
  parts_->shape.bins = parts_->bins.size();
  parts_->shape.leaves = parts_->leaves;
  parts_->shape.orders = parts_->orders.size();
  parts_->shape.links = parts_->context.lists.links();
  parts_->trees = std::make_unique<order::CellTrees>(*parts_->plan, parts_->context);
  rules_ = std::make_unique<const order::Rules>(
      order::Rules{parts_->plan.get(), &parts_->context, &parts_->orders, parts_->leaves, parts_->random});
}

StrategyIndex::~StrategyIndex() {
  parts_->trees.reset();
  parts_->context.spare.clear();  // they refer to the others
  for (ClassId cls = 0; cls < parts_->classes; ++cls) {
    for (Cell* cell = parts_->by_class[cls]; cell != nullptr;) Cell::Free()(std::exchange(cell, cell->in_class.next));
  }
  for (const auto& [key, value] : parts_->pins) parts_->context.values.Unpin(key, value);
  for (const KeyId key : parts_->context.keys) parts_->context.values.Unuse(key);
}

const std::vector<KeyId>& StrategyIndex::keys() const { return parts_->context.keys; }
std::size_t StrategyIndex::cells() const { return parts_->cells.size(); }
std::uint64_t StrategyIndex::cells_moved() const { return parts_->moves; }

void StrategyIndex::Add(PickJob& job) {
  MemoryPool::Scope scope(&pool_);
  Parts& parts = *parts_;
  const std::uint64_t hash = parts.Seek(job);
  Cell* cell = parts.Find(hash, job);
  const bool fresh = cell == nullptr;
  if (fresh) {
    cell = Cell::Make(parts.shape).release();
    cell->cls = job.cls;
    cell->group = job.group;
    cell->hash = hash;
    std::copy(parts.sought.begin(), parts.sought.end(), cell->values);
    if (parts.random) cell->lottery = std::make_unique<order::JobLottery>();
    parts.cells.Insert(hash, cell);
  }
  bool head = false;
  for (std::size_t i = 0; i < parts.orders.size(); ++i) {
    cell->orders[i].Insert(parts.orders[i], &job);
    head = head || cell->orders[i].Front() == &job;
  }
  if (cell->lottery) cell->lottery->Add(job, parts.places);
  ++cell->jobs;
  if (fresh) {
    parts.List(*cell);
    parts.trees->Put(*cell);
  } else if (head || cell->lottery) {
    parts.trees->Moved(*cell);
  }
}

void StrategyIndex::Remove(PickJob& job) {
  MemoryPool::Scope scope(&pool_);
  Parts& parts = *parts_;
  Cell* found = parts.Find(parts.Seek(job), job);
  CHECK(found != nullptr);
  Cell& cell = *found;
  if (cell.jobs == 1) return parts.Remove(cell);
  --cell.jobs;
  bool head = false;
  for (std::size_t i = 0; i < parts.orders.size(); ++i) {
    head = head || cell.orders[i].Front() == &job;
    cell.orders[i].Erase(parts.orders[i], &job);
  }
  if (cell.lottery) cell.lottery->Remove(job, parts.places);
  if (head || cell.lottery) parts.trees->Moved(cell);
}

bool StrategyIndex::CaresWhenPicked() const { return parts_->rotates; }

void StrategyIndex::OnQueued(PickJob& job, std::uint32_t before) {
  Parts& parts = *parts_;
  if (!parts.random) return;
  MemoryPool::Scope scope(&pool_);
  Cell* cell = parts.Find(parts.Seek(job), job);
  CHECK(cell != nullptr);
  cell->lottery->Change(job, before, parts.places);
  parts.trees->Moved(*cell);
}

void StrategyIndex::OnValue(KeyId id, ValueId value, std::uint32_t fewer) {
  Parts& parts = *parts_;
  const auto at = std::find(parts.context.keys.begin(), parts.context.keys.end(), id);
  if (at == parts.context.keys.end()) return;
  MemoryPool::Scope scope(&pool_);
  const auto key = static_cast<std::size_t>(at - parts.context.keys.begin());
  order::Rekey(parts.context, key, value);
  if (fewer == 0) return;
  const std::uint32_t running = parts.context.values.Get(id, value).running;
  const Plan* flips = nullptr;
  for (const Plan* plan : parts.bins) {
    if (plan->key != key) continue;
    if (order::BinOf(*plan, parts.context, value, running + fewer) >
        order::BinOf(*plan, parts.context, value, running)) {
      flips = plan;
    }
  }
  if (flips == nullptr) return;
  parts.context.lists.BeginWalk(flips->link, value);
  std::size_t few = moved_at_once;
  parts.StepFallen(few, opened_);
}

void StrategyIndex::SetSlots(std::uint64_t slots) {
  MemoryPool::Scope scope(&pool_);
  Parts& parts = *parts_;
  if (parts.context.slots == slots) return;
  const std::uint64_t before = std::exchange(parts.context.slots, slots);
  for (const Plan* plan : parts.bins) {
    if (!plan->percent || order::MaxOf(*plan, slots) <= order::MaxOf(*plan, before)) continue;
    const auto has_room = [&](ValueId value) {
      const std::uint32_t running = parts.context.values.Get(parts.context.keys[plan->key], value).running;
      return order::BinOf(*plan, parts.context, value, running) == 0;
    };
    boost::unordered_flat_set<ValueId>& full = parts.context.full[plan->bin];
    // Those that have come down since, or are gone, are found here.
    boost::unordered::erase_if(full, [&](ValueId value) { return !parts.context.lists.AnyRaised(plan->link, value); });
    for (const ValueId value : full) {
      if (has_room(value)) parts.context.lists.BeginWalk(plan->link, value);
    }
  }
  std::size_t few = moved_at_once;
  parts.StepFallen(few, opened_);
}

std::size_t StrategyIndex::cost() const { return 1 + (parts_->leaves + parts_->bins.size()) / 4; }

PickJob* StrategyIndex::Pick(KindId kind, StartGate* gate, Rng* rng) {
  MemoryPool::Scope scope(&pool_);
  Parts& parts = *parts_;
  last_pick_ = {};
  if (parts.Waits(kind)) {
    std::size_t few = order::CellTrees::most_moved;
    Step(few);
    last_pick_.moved = order::CellTrees::most_moved - few;
    last_pick_.unfinished = parts.Waits(kind);  // it does not look while cells are still to be moved
    if (last_pick_.unfinished) return nullptr;
  }
  const Choice choice = parts.trees->Pick(kind, gate, rng);
  if (parts.context.gave_up) {
    const std::pair crowd(parts.context.crowded_link, parts.context.crowded);
    if (std::find(parts.crowded.begin(), parts.crowded.end(), crowd) == parts.crowded.end()) {
      parts.crowded.push_back(crowd);
    }
  }
  last_pick_.unfinished = parts.trees->unfinished();
  last_pick_.moved += parts.trees->moved();
  last_pick_.asked = parts.trees->asked();
  last_pick_.random_task = choice && choice.leaf->draws();
  last_pick_.leaf = choice.leaf;
  last_pick_.candidates = choice.tasks;
  if (!choice) return nullptr;
  if (!last_pick_.random_task) return choice.cell->orders[choice.leaf->list].Front();
  return rng == nullptr ? choice.cell->lottery->Any() : choice.cell->lottery->Draw(*rng);
}

void StrategyIndex::Prefetch(const PickJob& job) const {
  if (parts_->random) __builtin_prefetch(&parts_->places[job.slot], 1);
}

bool StrategyIndex::Stepping() const {
  const Parts& parts = *parts_;
  return !parts.context.lists.walks().empty() || !parts.stale.empty() || !parts.painted.empty() ||
         !parts.to_paint.empty() || !parts.crowded.empty();
}

bool StrategyIndex::Step(std::size_t& budget) {
  Parts& parts = *parts_;
  return parts.StepStale(budget) && parts.StepFallen(budget, opened_) && parts.StepPaint(budget) &&
         parts.StepCrowded(budget);
}

void StrategyIndex::OpenGroup(std::uint32_t group, std::vector<std::uint64_t>* kinds) {
  MemoryPool::Scope scope(&pool_);
  parts_->trees->Open(group);
  if (kinds == nullptr) return;
  kinds->resize(std::max(kinds->size(), parts_->context.verdicts.kinds().mask_words()));
  parts_->trees->AddMask(group, kinds->data());
}

std::vector<std::uint32_t> StrategyIndex::Aside(KindId kind, std::size_t most) {
  std::vector<std::uint32_t> groups;
  parts_->trees->AddAside(kind, most, groups);
  return groups;
}

void StrategyIndex::JoinGroup(std::uint32_t group) {
  MemoryPool::Scope scope(&pool_);
  parts_->trees->Join(group);
}
std::size_t StrategyIndex::opened_groups() const { return parts_->trees->opened(); }
void StrategyIndex::JoinOpened() {
  MemoryPool::Scope scope(&pool_);
  parts_->trees->JoinOpened();
}
bool StrategyIndex::Joining() const { return parts_->trees->Joining() || Stepping(); }
bool StrategyIndex::StepJoining(std::size_t& budget) {
  MemoryPool::Scope scope(&pool_);
  return Step(budget) && parts_->trees->Step(budget);
}

void StrategyIndex::OnWidth() {
  MemoryPool::Scope scope(&pool_);
  Parts& parts = *parts_;
  parts.context.width = parts.context.verdicts.kinds().mask_words();
  parts.stale.clear();
  parts.painted.clear();
  parts.to_paint.clear();
  parts.unpainted.clear();
  parts.trees->Rebuild();
  parts.cells.ForEach([&](Cell* cell) {
    cell->placed = false;
    std::fill_n(cell->bins, parts.shape.bins, 0);
    parts.trees->Put(*cell);
  });
}

void StrategyIndex::OnClass(ClassId cls) {
  MemoryPool::Scope scope(&pool_);
  Parts& parts = *parts_;
  Cell** head = parts.by_class.Find(cls);
  if (head == nullptr || *head == nullptr) return;
  const auto found =
      std::find_if(parts.stale.begin(), parts.stale.end(), [cls](const Parts::Stale& walk) { return walk.cls == cls; });
  if (found != parts.stale.end()) {
    found->next = *head;
  } else {
    parts.stale.push_back({cls, *head});
  }
  std::size_t few = moved_at_once;
  parts.StepStale(few);
}

void StrategyIndex::OnKind(KindId kind, std::size_t& looks) {
  MemoryPool::Scope scope(&pool_);
  Parts& parts = *parts_;
  if (kind / 64 >= parts.context.width) return;
  if (parts.cells.size() <= looks) {
    looks -= parts.cells.size();
    return parts.trees->RefreshBit(kind);
  }
  if (parts.unpainted.size() <= kind) parts.unpainted.resize(kind + 1);
  if (std::exchange(parts.unpainted[kind], Parts::kToPaint) != Parts::kToPaint) parts.to_paint.push_back(kind);
}

bool StrategyIndex::Shrink(std::size_t& budget) {
  // Jobs and values are not told to it any more: nothing may be compared.
  Parts& parts = *parts_;
  if (!parts.trees->Shrink(budget) || !parts.StepTables(budget) || budget == 0) return false;
  // The last that was made first, class by class, so that the allocator joins what is free at once.
  for (; parts.shrunk_classes < parts.classes; ++parts.shrunk_classes) {
    Cell*& head = parts.by_class[parts.shrunk_classes];
    while (head != nullptr) {
      for (std::size_t i = 0; i < parts.orders.size(); ++i) {
        while (!head->orders[i].Shrink(order::kShrunkAtOnce)) {
          if (budget <= 1) return false;
          --budget;
        }
      }
      Cell* cell = std::exchange(head, head->in_class.next);
      Cell::Free()(cell);
      budget -= std::min(budget, order::kFreeCost);
      if (budget == 0) return false;
    }
  }
  return true;
}

std::size_t StrategyIndex::JobBytes() const {
  constexpr std::size_t kFairGroup = 400;  // of a value in a block `fair`, with the views below it
  const order::CellShape& shape = parts_->shape;
  const std::size_t words = parts_->context.verdicts.kinds().mask_words();
  const std::size_t cell = sizeof(Cell) + shape.leaves * sizeof(order::LeafPlace) +
                           shape.orders * sizeof(order::JobList) + shape.links * sizeof(Cell::Links) +
                           (shape.fair_groups + 1) * sizeof(void*) + (shape.values + shape.bins) * 4;
  // As if it had a cell of its own; entries of trees with half of the nodes empty.
  return MemoryPool::Taken(cell) + 2 * shape.leaves * (sizeof(order::Key) + sizeof(void*) + words * 8) +
         shape.orders * 2 * sizeof(order::Key) + shape.fair_groups * kFairGroup + (parts_->random ? 64 : 0) + 32;
}

std::size_t StrategyIndex::MemoryBytes() const {
  const Parts& parts = *parts_;
  std::size_t bytes = parts.trees->MemoryBytes() + parts.cells.MemoryBytes() + parts.places.MemoryBytes() +
                      parts.by_class.MemoryBytes();
  bytes += parts.context.lists.MemoryBytes();
  for (const auto& heads : parts.context.fair_groups) bytes += heads.MemoryBytes();
  const order::CellShape& shape = parts.shape;
  const std::size_t cell_bytes = sizeof(Cell) + shape.leaves * sizeof(order::LeafPlace) +
                                 shape.orders * sizeof(order::JobList) + shape.links * sizeof(Cell::Links) +
                                 (shape.fair_groups + 1) * sizeof(void*) + (shape.values + shape.bins) * 4;
  parts.cells.ForEach([&](const Cell* cell) {
    bytes += cell_bytes;
    for (std::size_t i = 0; i < shape.orders; ++i) bytes += cell->orders[i].MemoryBytes();
    if (cell->lottery) bytes += cell->lottery->MemoryBytes();
  });
  return bytes;
}

}  // namespace allot
