#include "strategy/index.h"

#include <algorithm>

#include "base/check.h"
#include "strategy/cell_trees.h"
#include "strategy/views.h"

namespace allot {

using order::Cell;
using order::Choice;
using order::Order;
using order::Plan;

struct StrategyIndex::Parts {
  explicit Parts(ValueTable& values, const ClassTable& verdicts) : shared{values, verdicts, {}, 0, {}, {}} {}
  order::Shared shared;
  std::unique_ptr<Plan> plan;
  std::vector<const Plan*> bins;  // by their number
  std::vector<std::pair<KeyId, ValueId>> pins;
  std::vector<Order> orders;  // that cells keep
  std::size_t leaves = 0;
  bool random = false;
  bool least_recent = false;
  std::unique_ptr<order::CellTrees> trees;  // goes before what it refers to
  ShardedSet<Cell*> cells;                  // owned
  order::CellShape shape;
  std::vector<std::size_t> linked;          // which keys have links in cells
  std::vector<SlotArray<Cell*>> by_value;   // for each of those: the first cell of a value
  SlotArray<Cell*> by_class;                // the first one
  ClassId classes = 0, shrunk_classes = 0;  // upper bounds of those that have cells
  order::JobPlaces places;                  // in lotteries
  std::vector<ValueId> sought;              // of the job that is looked for

  std::size_t KeyIndex(const StrategyKey& key, const std::string& tag, bool fair = false) {
    // The value table counts one user for each time that it is asked.
    const KeyId id = shared.values.Use(key, tag, fair);
    const auto found = std::find(shared.keys.begin(), shared.keys.end(), id);
    if (found != shared.keys.end()) {
      shared.values.Unuse(id);
      return static_cast<std::size_t>(found - shared.keys.begin());
    }
    shared.keys.push_back(id);
    return shared.keys.size() - 1;
  }

  // Those that blocks `fair` name come first, so that others share them.
  void FairKeys(const Strategy& strategy) {
    if (strategy.kind == Strategy::Kind::kFair) KeyIndex(strategy.key, {}, true);
    for (const StrategyPtr& inner : strategy.inner) FairKeys(*inner);
  }

  std::unique_ptr<Plan> Compile(const Strategy& strategy, const Strategy* worker) {
    auto made = std::make_unique<Plan>();
    made->kind = strategy.kind;
    made->leaf = leaves;
    const auto leaf = [&](Order kind) {
      made->order = kind;
      ++leaves;
      const auto found = std::find(orders.begin(), orders.end(), kind);
      made->list = static_cast<std::size_t>(found - orders.begin());
      if (found == orders.end()) orders.push_back(kind);
    };
    switch (strategy.kind) {
      case Strategy::Kind::kRandom:
        random = true;
        ++leaves;
        break;
      case Strategy::Kind::kOldest:
        leaf(Order::kOldest);
        break;
      case Strategy::Kind::kNewest:
        leaf(Order::kNewest);
        break;
      case Strategy::Kind::kPriority:
        leaf(Order::kPriority);
        break;
      case Strategy::Kind::kLeastRecent:
        least_recent = true;
        leaf(Order::kLeastRecent);
        break;
      case Strategy::Kind::kSelectOnly: {
        const bool tag = strategy.key.kind == StrategyKey::Kind::kTag;
        made->key = KeyIndex(strategy.key, tag ? std::get<std::string>(strategy.value) : std::string());
        made->wanted = shared.values.Pin(shared.keys[made->key], tag ? "btrue" : *TextOf(strategy.value));
        pins.emplace_back(shared.keys[made->key], made->wanted);
        break;
      }
      case Strategy::Kind::kPreferDistinct:
      case Strategy::Kind::kMaxSimultaneous:
        made->key = KeyIndex(strategy.key, {});
        made->max = strategy.max;
        made->percent = strategy.percent;
        made->bin = bins.size();
        bins.push_back(made.get());
        made->link = static_cast<std::size_t>(std::find(linked.begin(), linked.end(), made->key) - linked.begin());
        if (made->link == linked.size()) linked.push_back(made->key);
        break;
      case Strategy::Kind::kFair:
        made->key = KeyIndex(strategy.key, {}, true);
        made->fair = shape.shares++;
        break;
      case Strategy::Kind::kOrElse:
        break;
      case Strategy::Kind::kWorker:
        CHECK(worker != nullptr);
        made->inner.push_back(Compile(*worker, nullptr));
        break;
    }
    for (const StrategyPtr& inner : strategy.inner) made->inner.push_back(Compile(*inner, worker));
    made->leaves_end = leaves;
    return made;
  }

  // --- Cells.

  // Takes what the job has; returns the hash.
  std::uint64_t Seek(const PickJob& job) {
    std::uint64_t hash = job.cls + (std::uint64_t{job.group} << 32);
    for (std::size_t i = 0; i < shared.keys.size(); ++i) {
      sought[i] = shared.values.Of(shared.keys[i], job);
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

  static void Link(Cell*& head, Cell& cell, Cell::Links& links, Cell::Links* others) {
    links = {nullptr, head};
    if (others != nullptr) others->before = &cell;
    head = &cell;
  }
  void List(Cell& cell) {
    for (std::size_t i = 0; i < linked.size(); ++i) {
      Cell*& head = by_value[i].Make(cell.values[linked[i]]);
      Link(head, cell, cell.links[i], head == nullptr ? nullptr : &head->links[i]);
    }
    classes = std::max(classes, cell.cls + 1);
    Cell*& head = by_class.Make(cell.cls);
    Link(head, cell, cell.in_class, head == nullptr ? nullptr : &head->in_class);
  }
  void Unlist(Cell& cell) {
    for (std::size_t i = 0; i < linked.size(); ++i) {
      const Cell::Links& links = cell.links[i];
      (links.before != nullptr ? links.before->links[i].next : by_value[i][cell.values[linked[i]]]) = links.next;
      if (links.next != nullptr) links.next->links[i].before = links.before;
    }
    const Cell::Links& links = cell.in_class;
    (links.before != nullptr ? links.before->in_class.next : by_class[cell.cls]) = links.next;
    if (links.next != nullptr) links.next->in_class.before = links.before;
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
    Displace(cell);
    trees->Put(cell);
  }
};

StrategyIndex::StrategyIndex(const StrategyPtr& policy, const StrategyPtr& worker, ValueTable& values,
                             const ClassTable& verdicts)
    : parts_(std::make_unique<Parts>(values, verdicts)),
      strategies_(std::make_shared<const StrategyPair>(StrategyPair{policy, worker})) {
  parts_->FairKeys(*policy);
  parts_->FairKeys(*worker);
  parts_->plan = parts_->Compile(*policy, worker.get());
  const std::size_t keys = parts_->shared.keys.size();
  parts_->shared.shares.resize(keys);
  parts_->shared.spare.resize(parts_->shape.shares);
  parts_->by_value.resize(parts_->linked.size());
  parts_->sought.resize(keys);
  parts_->shape.values = keys;
  parts_->shape.bins = parts_->bins.size();
  parts_->shape.leaves = parts_->leaves;
  parts_->shape.orders = parts_->orders.size();
  parts_->shape.links = parts_->linked.size();
  parts_->trees = std::make_unique<order::CellTrees>(*parts_->plan, parts_->shared);
  rules_ = std::make_unique<const order::Rules>(
      order::Rules{parts_->plan.get(), &parts_->shared, &parts_->orders, parts_->leaves, parts_->random});
}

StrategyIndex::~StrategyIndex() {
  parts_->trees.reset();
  parts_->shared.spare.clear();  // they refer to the others
  for (ClassId cls = 0; cls < parts_->classes; ++cls) {
    for (Cell* cell = parts_->by_class[cls]; cell != nullptr;) Cell::Free()(std::exchange(cell, cell->in_class.next));
  }
  for (const auto& [key, value] : parts_->pins) parts_->shared.values.Unpin(key, value);
  for (const KeyId key : parts_->shared.keys) parts_->shared.values.Unuse(key);
}

const std::vector<KeyId>& StrategyIndex::keys() const { return parts_->shared.keys; }
std::size_t StrategyIndex::cells() const { return parts_->cells.size(); }

void StrategyIndex::Add(PickJob& job) {
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

bool StrategyIndex::CaresWhenPicked() const { return parts_->least_recent; }

void StrategyIndex::OnReady(PickJob& job, std::uint32_t before) {
  Parts& parts = *parts_;
  if (!parts.random) return;
  Cell* cell = parts.Find(parts.Seek(job), job);
  CHECK(cell != nullptr);
  cell->lottery->Change(job, before, parts.places);
  parts.trees->Moved(*cell);
}

void StrategyIndex::OnValue(KeyId id, ValueId value, std::uint32_t fewer) {
  Parts& parts = *parts_;
  const auto at = std::find(parts.shared.keys.begin(), parts.shared.keys.end(), id);
  if (at == parts.shared.keys.end()) return;
  const auto key = static_cast<std::size_t>(at - parts.shared.keys.begin());
  order::Rekey(parts.shared, key, value);
  if (fewer == 0) return;
  const std::uint32_t leased = parts.shared.values.Get(id, value).leased;
  const Plan* flips = nullptr;
  for (const Plan* plan : parts.bins) {
    if (plan->key != key) continue;
    if (order::BinOf(*plan, parts.shared, value, leased + fewer) > order::BinOf(*plan, parts.shared, value, leased)) {
      flips = plan;
    }
  }
  if (flips == nullptr) return;
  Cell** head = parts.by_value[flips->link].Find(value);
  for (Cell* cell = head == nullptr ? nullptr : *head; cell != nullptr; cell = cell->links[flips->link].next) {
    bool above = false;
    for (const Plan* plan : parts.bins) {
      if (plan->key != key || cell->bins[plan->bin] <= order::TrueBin(*plan, parts.shared, *cell)) continue;
      above = true;
    }
    if (!above) continue;
    parts.Replace(*cell);
    if (opened_.empty() || opened_.back() != cell->cls) opened_.push_back(cell->cls);
  }
}

void StrategyIndex::SetSlots(std::uint64_t slots) {
  Parts& parts = *parts_;
  if (parts.shared.slots == slots) return;
  const std::uint64_t before = std::exchange(parts.shared.slots, slots);
  const bool more = std::any_of(parts.bins.begin(), parts.bins.end(), [&](const Plan* plan) {
    return plan->percent && order::MaxOf(*plan, slots) > order::MaxOf(*plan, before);
  });
  if (!more) return;
  parts.cells.ForEach([&](Cell* cell) {
    for (const Plan* plan : parts.bins) {
      if (!plan->percent || cell->bins[plan->bin] <= order::TrueBin(*plan, parts.shared, *cell)) continue;
      parts.Replace(*cell);
      if (opened_.empty() || opened_.back() != cell->cls) opened_.push_back(cell->cls);
    }
  });
}

std::size_t StrategyIndex::cost() const { return 1 + (parts_->leaves + parts_->bins.size()) / 4; }

PickJob* StrategyIndex::Pick(KindId kind, StartGate* gate, Rng* rng) {
  const Choice choice = parts_->trees->Pick(kind, gate, rng);
  random_task_ = choice && choice.leaf->kind == Strategy::Kind::kRandom;
  leaf_ = choice.leaf;
  candidates_ = choice.tasks;
  if (!choice) return nullptr;
  if (!random_task_) return choice.cell->orders[choice.leaf->list].Front();
  return rng == nullptr ? choice.cell->lottery->Any() : choice.cell->lottery->Draw(*rng);
}

bool StrategyIndex::unfinished() const { return parts_->trees->unfinished(); }
std::size_t StrategyIndex::moved() const { return parts_->trees->moved(); }

void StrategyIndex::OpenGroup(std::uint32_t group, std::vector<std::uint64_t>* kinds) {
  parts_->trees->Open(group);
  if (kinds == nullptr) return;
  kinds->resize(std::max(kinds->size(), parts_->shared.verdicts.mask_words()));
  parts_->trees->AddMask(group, kinds->data());
}

void StrategyIndex::JoinGroup(std::uint32_t group) { parts_->trees->Join(group); }
bool StrategyIndex::Joining() const { return parts_->trees->Joining(); }
bool StrategyIndex::StepJoining(std::size_t& budget) { return parts_->trees->Step(budget); }

void StrategyIndex::OnWidth() {
  Parts& parts = *parts_;
  parts.trees->Rebuild();
  parts.cells.ForEach([&](Cell* cell) {
    cell->placed = false;
    std::fill_n(cell->bins, parts.shape.bins, 0);
    parts.trees->Put(*cell);
  });
}

void StrategyIndex::OnClass(ClassId cls) {
  Cell** head = parts_->by_class.Find(cls);
  for (Cell* cell = head == nullptr ? nullptr : *head; cell != nullptr; cell = cell->in_class.next) {
    parts_->Replace(*cell);
  }
}

void StrategyIndex::OnKind(KindId kind) { parts_->trees->Recolour(kind); }

bool StrategyIndex::Shrink(std::size_t& budget) {
  // Jobs and values are not told to it any more: nothing may be compared.
  Parts& parts = *parts_;
  if (!parts.trees->Shrink(budget)) return false;
  // The last that was made first, class by class, so that the allocator joins what is free at once.
  for (; parts.shrunk_classes < parts.classes; ++parts.shrunk_classes) {
    Cell*& head = parts.by_class[parts.shrunk_classes];
    while (head != nullptr) {
      for (std::size_t i = 0; i < parts.orders.size(); ++i) {
        while (!head->orders[i].Shrink(order::kShrunkAtOnce)) {
          if (--budget == 0) return false;
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

std::size_t StrategyIndex::MemoryBytes() const {
  const Parts& parts = *parts_;
  std::size_t bytes = parts.trees->MemoryBytes() + parts.cells.MemoryBytes() + parts.places.MemoryBytes() +
                      parts.by_class.MemoryBytes();
  for (const auto& heads : parts.by_value) bytes += heads.MemoryBytes();
  for (const auto& heads : parts.shared.shares) bytes += heads.MemoryBytes();
  const order::CellShape& shape = parts.shape;
  const std::size_t cell_bytes = sizeof(Cell) + shape.leaves * sizeof(order::LeafPlace) +
                                 shape.orders * sizeof(order::JobList) + shape.links * sizeof(Cell::Links) +
                                 (shape.shares + 1) * sizeof(void*) + (shape.values + shape.bins) * 4;
  parts.cells.ForEach([&](const Cell* cell) {
    bytes += cell_bytes;
    for (std::size_t i = 0; i < shape.orders; ++i) bytes += cell->orders[i].MemoryBytes();
    if (cell->lottery) bytes += cell->lottery->MemoryBytes();
  });
  return bytes;
}

}  // namespace allot
