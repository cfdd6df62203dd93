#include "strategy/index.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "strategy/views.h"

namespace allot {

using order::Cell;
using order::Choice;
using order::Order;
using order::Plan;

struct StrategyIndex::Parts {
  explicit Parts(ValueTable& values, const ClassTable& verdicts) : shared{values, verdicts, {}, 0, {}} {}
  order::Shared shared;
  std::unique_ptr<Plan> plan;
  std::vector<const Plan*> bins;  // by their number
  std::vector<Order> orders;      // that cells keep
  std::size_t leaves = 0;
  bool random = false;
  bool least_recent = false;
  std::unique_ptr<order::View> root;  // goes before what it refers to
  std::unordered_map<std::string, std::unique_ptr<Cell>> cells;
  std::vector<std::unordered_map<ValueId, std::vector<Cell*>>> by_value;  // for each key
  std::unordered_map<ClassId, std::vector<Cell*>> by_class;

  std::size_t KeyIndex(const StrategyKey& key, const std::string& tag) {
    // The value table counts one user for each time that it is asked.
    const KeyId id = shared.values.Use(key, tag);
    const auto found = std::find(shared.keys.begin(), shared.keys.end(), id);
    if (found != shared.keys.end()) {
      shared.values.Unuse(id);
      return static_cast<std::size_t>(found - shared.keys.begin());
    }
    shared.keys.push_back(id);
    return shared.keys.size() - 1;
  }

  std::unique_ptr<Plan> Compile(const Strategy& strategy, const Strategy* worker) {
    auto made = std::make_unique<Plan>();
    made->kind = strategy.kind;
    const auto leaf = [&](Order kind) {
      made->order = kind;
      made->leaf = leaves++;
      const auto found = std::find(orders.begin(), orders.end(), kind);
      made->list = static_cast<std::size_t>(found - orders.begin());
      if (found == orders.end()) orders.push_back(kind);
    };
    switch (strategy.kind) {
      case Strategy::Kind::kRandom:
        random = true;
        made->leaf = leaves++;
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
        break;
      }
      case Strategy::Kind::kPreferDistinct:
      case Strategy::Kind::kMaxSimultaneous:
        made->key = KeyIndex(strategy.key, {});
        made->max = strategy.max;
        made->percent = strategy.percent;
        made->bin = bins.size();
        bins.push_back(made.get());
        break;
      case Strategy::Kind::kFair:
        made->key = KeyIndex(strategy.key, {});
        break;
      case Strategy::Kind::kOrElse:
        break;
      case Strategy::Kind::kWorker:
        CHECK(worker != nullptr);
        made->inner.push_back(Compile(*worker, nullptr));
        break;
    }
    for (const StrategyPtr& inner : strategy.inner) made->inner.push_back(Compile(*inner, worker));
    return made;
  }

  // --- Cells.

  void NameOf(const PickJob& job, std::string& out) const {
    out.clear();
    ByteWriter writer(out);
    writer.Varint(job.cls);
    for (const KeyId key : shared.keys) writer.Varint(shared.values.Of(key, job));
  }

  void List(Cell& cell) {
    cell.listed.resize(shared.keys.size());
    for (std::size_t key = 0; key < shared.keys.size(); ++key) {
      auto& list = by_value[key][cell.values[key]];
      cell.listed[key] = static_cast<std::uint32_t>(list.size());
      list.push_back(&cell);
    }
    auto& list = by_class[cell.cls];
    cell.listed_in_class = static_cast<std::uint32_t>(list.size());
    list.push_back(&cell);
  }

  void Unlist(Cell& cell) {
    for (std::size_t key = 0; key < shared.keys.size(); ++key) {
      const auto found = by_value[key].find(cell.values[key]);
      auto& list = found->second;
      list[cell.listed[key]] = list.back();
      list[cell.listed[key]]->listed[key] = cell.listed[key];
      list.pop_back();
      if (list.empty()) by_value[key].erase(found);
    }
    const auto found = by_class.find(cell.cls);
    auto& list = found->second;
    list[cell.listed_in_class] = list.back();
    list[cell.listed_in_class]->listed_in_class = cell.listed_in_class;
    list.pop_back();
    if (list.empty()) by_class.erase(found);
  }

  void Place(Cell& cell) {
    CHECK(!cell.placed);
    root->Put(cell);
    cell.placed = true;
  }
  void Displace(Cell& cell) {
    if (!cell.placed) return;
    root->Drop(cell);
    cell.placed = false;
    std::fill(cell.bins.begin(), cell.bins.end(), 0);
  }
  void Replace(Cell& cell) {
    Displace(cell);
    Place(cell);
  }
};

StrategyIndex::StrategyIndex(const StrategyPtr& policy, const StrategyPtr& worker, ValueTable& values,
                             const ClassTable& verdicts)
    : parts_(std::make_unique<Parts>(values, verdicts)) {
  parts_->plan = parts_->Compile(*policy, worker.get());
  parts_->shared.shares.resize(parts_->shared.keys.size());
  parts_->by_value.resize(parts_->shared.keys.size());
  parts_->root = order::MakeView(*parts_->plan, parts_->shared);
}

StrategyIndex::~StrategyIndex() {
  parts_->root.reset();
  for (const KeyId key : parts_->shared.keys) parts_->shared.values.Unuse(key);
}

const std::vector<KeyId>& StrategyIndex::keys() const { return parts_->shared.keys; }
std::size_t StrategyIndex::cells() const { return parts_->cells.size(); }

void StrategyIndex::Add(PickJob& job) {
  Parts& parts = *parts_;
  parts.NameOf(job, scratch_);
  auto& cell = parts.cells[scratch_];
  const bool fresh = !cell;
  if (fresh) {
    cell = std::make_unique<Cell>();
    cell->cls = job.cls;
    for (const KeyId key : parts.shared.keys) cell->values.push_back(parts.shared.values.Of(key, job));
    cell->bins.resize(parts.bins.size());
    cell->leaves.resize(parts.leaves);
    cell->orders.resize(parts.orders.size());
    if (parts.random) cell->lottery = std::make_unique<order::JobLottery>();
  }
  bool head = false;
  for (std::size_t i = 0; i < parts.orders.size(); ++i) {
    cell->orders[i].Insert(KeyOf(parts.orders[i], job), &job);
    head = head || cell->orders[i].Front() == &job;
  }
  if (cell->lottery) cell->lottery->Add(job);
  ++cell->jobs;
  if (fresh) {
    parts.List(*cell);
    parts.Place(*cell);
  } else if (head || cell->lottery) {
    parts.root->Moved(*cell);
  }
}

void StrategyIndex::Remove(PickJob& job) {
  Parts& parts = *parts_;
  parts.NameOf(job, scratch_);
  const auto found = parts.cells.find(scratch_);
  CHECK(found != parts.cells.end());
  Cell& cell = *found->second;
  if (cell.jobs == 1) {
    parts.Displace(cell);
    parts.Unlist(cell);
    parts.cells.erase(found);
    return;
  }
  --cell.jobs;
  bool head = false;
  for (std::size_t i = 0; i < parts.orders.size(); ++i) {
    head = head || cell.orders[i].Front() == &job;
    cell.orders[i].Erase(KeyOf(parts.orders[i], job));
  }
  if (cell.lottery) cell.lottery->Remove(job);
  if (head || cell.lottery) parts.root->Moved(cell);
}

bool StrategyIndex::Cares() const { return parts_->least_recent || parts_->random; }

void StrategyIndex::OnValue(KeyId id, ValueId value, bool fewer) {
  Parts& parts = *parts_;
  const auto at = std::find(parts.shared.keys.begin(), parts.shared.keys.end(), id);
  if (at == parts.shared.keys.end()) return;
  const auto key = static_cast<std::size_t>(at - parts.shared.keys.begin());
  if (const auto found = parts.shared.shares[key].find(value); found != parts.shared.shares[key].end()) {
    for (order::FairView* view : found->second) order::Rekey(*view, value);
  }
  if (!fewer || parts.bins.empty()) return;
  const auto cells = parts.by_value[key].find(value);
  if (cells == parts.by_value[key].end()) return;
  for (Cell* cell : cells->second) {
    bool above = false;
    for (const Plan* plan : parts.bins) {
      if (plan->key != key || cell->bins[plan->bin] <= order::TrueBin(*plan, parts.shared, *cell)) continue;
      above = true;
    }
    if (!above) continue;
    parts.Replace(*cell);
    opened_.push_back(cell->cls);
  }
}

void StrategyIndex::SetSlots(std::uint64_t slots) {
  Parts& parts = *parts_;
  if (parts.shared.slots == slots) return;
  const bool more = slots > parts.shared.slots;
  parts.shared.slots = slots;
  const bool percent = std::any_of(parts.bins.begin(), parts.bins.end(), [](const Plan* p) { return p->percent; });
  if (!more || !percent) return;
  for (const auto& [name, cell] : parts.cells) {
    for (const Plan* plan : parts.bins) {
      if (!plan->percent || cell->bins[plan->bin] <= order::TrueBin(*plan, parts.shared, *cell)) continue;
      parts.Replace(*cell);
      opened_.push_back(cell->cls);
    }
  }
}

void StrategyIndex::OnWeights() {
  for (std::size_t key = 0; key < parts_->shared.keys.size(); ++key) {
    for (const auto& [value, views] : parts_->shared.shares[key]) {
      for (order::FairView* view : views) order::Rekey(*view, value);
    }
  }
}

PickJob* StrategyIndex::Pick(KindId kind, Rng* rng) {
  const Choice choice = parts_->root->Pick(kind, rng);
  random_task_ = choice && choice.leaf->kind == Strategy::Kind::kRandom;
  if (!choice) return nullptr;
  if (!random_task_) return choice.cell->orders[choice.leaf->list].Front();
  return rng == nullptr ? choice.cell->lottery->Any() : choice.cell->lottery->Draw(*rng);
}

void StrategyIndex::OnWidth() {
  Parts& parts = *parts_;
  for (const auto& [name, cell] : parts.cells) cell->placed = false;
  parts.root.reset();
  for (auto& shares : parts.shared.shares) shares.clear();
  parts.root = order::MakeView(*parts.plan, parts.shared);
  for (const auto& [name, cell] : parts.cells) parts.Place(*cell);
}

void StrategyIndex::OnClass(ClassId cls) {
  const auto found = parts_->by_class.find(cls);
  if (found == parts_->by_class.end()) return;
  for (Cell* cell : found->second) parts_->Replace(*cell);
}

void StrategyIndex::OnKind(KindId kind) { parts_->root->Recolour(kind); }

std::size_t StrategyIndex::MemoryBytes() const {
  constexpr std::size_t kMapEntry = 64;
  std::size_t bytes = parts_->root->MemoryBytes();
  for (const auto& [name, cell] : parts_->cells) {
    bytes += kMapEntry + name.capacity() + sizeof(Cell) + (1 + cell->listed.size()) * sizeof(Cell*);
    for (const order::JobList& list : cell->orders) bytes += list.MemoryBytes();
    if (cell->lottery) bytes += cell->lottery->MemoryBytes();
  }
  return bytes;
}

}  // namespace allot
