#include "strategy/views.h"

#include <algorithm>
#include <map>

#include <boost/container/small_vector.hpp>

#include "base/check.h"

namespace allot::order {
namespace {

// --- Leaves.

class OrderView : public View {
 public:
  OrderView(const Plan& plan, Shared& shared) : plan_(plan), shared_(shared) {}

  bool Put(Cell& cell) override {
    const Key head = Head(cell);
    cell.leaves[plan_.leaf].key = head;
    if (many_) {
      many_->Insert(head, &cell, shared_.Mask(cell));
    } else if (few_.size() < kFew) {
      few_.push_back(&cell);
    } else {
      many_ = std::make_unique<MaskTree<Key, Cell*>>(shared_.width);
      few_.push_back(&cell);
      for (Cell* other : few_) many_->Insert(other->leaves[plan_.leaf].key, other, shared_.Mask(*other));
      few_.clear();
      few_.shrink_to_fit();
    }
    return true;
  }
  void Drop(Cell& cell) override {
    if (many_) {
      many_->Erase(cell.leaves[plan_.leaf].key);
      if (many_->size() == 0) many_.reset();
      return;
    }
    const auto found = std::find(few_.begin(), few_.end(), &cell);
    CHECK(found != few_.end());
    *found = few_.back();
    few_.pop_back();
  }
  void Moved(Cell& cell) override {
    Key& key = cell.leaves[plan_.leaf].key;
    const Key head = Head(cell);
    if (head == key) return;
    if (many_) {
      many_->Erase(key);
      many_->Insert(head, &cell, shared_.Mask(cell));
    }
    key = head;
  }
  Choice Pick(Bit bit, Rng*) override {
    if (many_) {
      Cell* const* found = many_->First(bit);
      return found == nullptr ? Choice{} : Choice{*found, &plan_, 0};
    }
    Cell* best = nullptr;
    for (Cell* cell : few_) {
      if (!shared_.Has(*cell, bit)) continue;
      if (best == nullptr || cell->leaves[plan_.leaf].key < best->leaves[plan_.leaf].key) best = cell;
    }
    return best == nullptr ? Choice{} : Choice{best, &plan_, 0};
  }
  void AddMask(std::uint64_t* out) const override {
    if (many_) return many_->AddMask(out);
    for (const Cell* cell : few_) {
      const auto mask = shared_.Mask(*cell);
      for (std::size_t w = 0; w < mask.size(); ++w) out[w] |= mask[w];
    }
  }
  bool Empty() const override { return !many_ && few_.empty(); }
  void Recolour(Bit bit) override {
    if (many_) many_->SetBit(bit, [&](const Cell* cell) { return shared_.Has(*cell, bit); });
  }
  bool Shrink(std::size_t& budget) override {
    few_.clear();
    while (many_ && budget > 0) {
      --budget;
      if (many_->Shrink(kShrunkAtOnce)) many_.reset();
    }
    return !many_;
  }
  std::size_t MemoryBytes() const override {
    return sizeof(*this) + few_.capacity() * sizeof(Cell*) + (many_ ? many_->MemoryBytes() : 0);
  }

 private:
  static constexpr std::size_t kFew = 16;
  Key Head(const Cell& cell) const { return cell.orders[plan_.list].FrontKey(plan_.order); }

  const Plan& plan_;
  Shared& shared_;
  boost::container::small_vector<Cell*, 2> few_;
  std::unique_ptr<MaskTree<Key, Cell*>> many_;
};

// Cells of equal masks are drawn together: what a kind may have is the sum over few such groups.
class RandomView : public View {
 public:
  RandomView(const Plan& plan, Shared& shared) : plan_(plan), shared_(shared) {}

  bool Put(Cell& cell) override {
    const auto mask = shared_.Mask(cell);
    auto& group = groups_[std::vector<std::uint64_t>(mask.begin(), mask.end())];
    if (!group) {
      group = std::make_unique<Group>();
      group->mask.assign(mask.begin(), mask.end());
    }
    const std::uint64_t tasks = cell.lottery->tasks();
    cell.leaves[plan_.leaf].drawn = {group.get(), group->cells.Add(&cell, tasks), tasks};
    group->tasks += tasks;
    ++count_;
    return true;
  }
  void Drop(Cell& cell) override {
    const auto& leaf = cell.leaves[plan_.leaf].drawn;
    auto* group = static_cast<Group*>(leaf.group);
    group->tasks -= leaf.tasks;
    group->cells.Remove(leaf.place, [this](Cell* moved, const WeightedSet<Cell*>::Place& place) {
      moved->leaves[plan_.leaf].drawn.place = place;
    });
    if (group->cells.empty()) groups_.erase(std::vector<std::uint64_t>(group->mask));
    --count_;
  }
  void Moved(Cell& cell) override {
    auto& leaf = cell.leaves[plan_.leaf].drawn;
    const std::uint64_t tasks = cell.lottery->tasks();
    if (WeightedSet<Cell*>::BucketOf(tasks) == leaf.place.bucket) {
      static_cast<Group*>(leaf.group)->tasks += tasks - leaf.tasks;
      leaf.tasks = tasks;
      return;
    }
    Drop(cell);
    Put(cell);
  }
  Choice Pick(Bit bit, Rng* rng) override {
    const auto has = [bit](const Group& group) { return (group.mask[bit / 64] >> (bit % 64) & 1) != 0; };
    std::uint64_t total = 0, tasks = 0;
    for (const auto& [mask, group] : groups_) {
      if (!has(*group)) continue;
      total += group->cells.total();
      tasks += group->tasks;
    }
    if (total == 0) return {};
    for (;;) {
      std::uint64_t point = rng == nullptr ? 0 : rng->Below(total);
      for (const auto& [mask, group] : groups_) {
        if (!has(*group)) continue;
        if (point >= group->cells.total()) {
          point -= group->cells.total();
          continue;
        }
        std::uint64_t rounded = 0;
        Cell* cell = group->cells.At(point, rounded);
        if (rng == nullptr || rng->Below(rounded) < cell->lottery->tasks()) return {cell, &plan_, tasks};
        break;
      }
    }
  }
  void AddMask(std::uint64_t* out) const override {
    for (const auto& [mask, group] : groups_) {
      for (std::size_t w = 0; w < mask.size(); ++w) out[w] |= mask[w];
    }
  }
  bool Empty() const override { return count_ == 0; }
  void Recolour(Bit) override {
    std::vector<Cell*> cells;
    for (const auto& [mask, group] : groups_) group->cells.ForEach([&](Cell* cell) { cells.push_back(cell); });
    groups_.clear();
    count_ = 0;
    for (Cell* cell : cells) Put(*cell);
  }
  bool Shrink(std::size_t& budget) override {
    while (!groups_.empty() && budget > 0) {
      --budget;
      groups_.erase(groups_.begin());
    }
    return groups_.empty();
  }
  std::size_t MemoryBytes() const override {
    std::size_t bytes = sizeof(*this);
    for (const auto& [mask, group] : groups_) bytes += 128 + group->cells.MemoryBytes();
    return bytes;
  }

 private:
  struct Group {
    std::vector<std::uint64_t> mask;
    WeightedSet<Cell*> cells;
    std::uint64_t tasks = 0;  // theirs
  };
  const Plan& plan_;
  Shared& shared_;
  std::map<std::vector<std::uint64_t>, std::unique_ptr<Group>> groups_;
  std::size_t count_ = 0;
};

// --- Blocks with one view below.

// Passes everything on to the view below; what differs is overridden.
class Wrapper : public View {
 public:
  Wrapper(const Plan& plan, Shared& shared)
      : plan_(plan), shared_(shared), below_(MakeView(*plan.inner.front(), shared)) {}
  bool Put(Cell& cell) override { return below_->Put(cell); }
  void Drop(Cell& cell) override { below_->Drop(cell); }
  void Moved(Cell& cell) override { below_->Moved(cell); }
  Choice Pick(Bit bit, Rng* rng) override { return below_->Pick(bit, rng); }
  void AddMask(std::uint64_t* out) const override { below_->AddMask(out); }
  bool Empty() const override { return below_->Empty(); }
  void Recolour(Bit bit) override { below_->Recolour(bit); }
  bool Shrink(std::size_t& budget) override { return below_->Shrink(budget); }
  std::size_t MemoryBytes() const override { return sizeof(*this) + below_->MemoryBytes(); }

 protected:
  const Plan& plan_;
  Shared& shared_;
  std::unique_ptr<View> below_;
};

// Where the worker's own strategy begins: of a kind that ranks jobs, the highest rank that has a task.
class RankView : public Wrapper {
 public:
  using Wrapper::Wrapper;
  Choice Pick(Bit bit, Rng* rng) override {
    const auto& tiers = shared_.verdicts.Tiers(bit);
    if (tiers.empty()) return below_->Pick(bit, rng);
    for (const auto& [rank, tier] : tiers) {
      const Choice choice = below_->Pick(tier, rng);
      if (choice || shared_.gave_up) return choice;
    }
    // Nothing is there; whoever looked for it without ranks takes note.
    return below_->Pick(bit, rng);
  }
};

class SelectView : public Wrapper {
 public:
  using Wrapper::Wrapper;
  bool Put(Cell& cell) override { return Selected(cell) && below_->Put(cell); }
  void Drop(Cell& cell) override {
    if (Selected(cell)) below_->Drop(cell);
  }
  void Moved(Cell& cell) override {
    if (Selected(cell)) below_->Moved(cell);
  }

 private:
  bool Selected(const Cell& cell) const { return cell.values[plan_.key] == plan_.wanted; }
};

// max_simultaneous. Cells of values that are full stay in the view below until a pick meets them.
class GateView : public Wrapper {
 public:
  using Wrapper::Wrapper;
  bool Put(Cell& cell) override {
    ++count_;
    cell.bins[plan_.bin] = TrueBin(plan_, shared_, cell);
    shared_.OnBin(plan_, cell);
    if (Open(cell)) below_->Put(cell);
    return true;
  }
  void Drop(Cell& cell) override {
    --count_;
    if (Open(cell)) below_->Drop(cell);
  }
  void Moved(Cell& cell) override {
    if (Open(cell)) below_->Moved(cell);
  }
  Choice Pick(Bit bit, Rng* rng) override {
    for (;;) {
      const Choice choice = below_->Pick(bit, rng);
      if (!choice || TrueBin(plan_, shared_, *choice.cell) == 0) return choice;
      if (!shared_.Spend(plan_, *choice.cell)) return {};
      below_->Drop(*choice.cell);
      choice.cell->bins[plan_.bin] = 1;
      shared_.OnBin(plan_, *choice.cell);
    }
  }
  bool Empty() const override { return count_ == 0; }

 private:
  bool Open(const Cell& cell) const { return cell.bins[plan_.bin] == 0; }
  std::size_t count_ = 0;
};

// --- Blocks with several views below.

class OrElseView : public View {
 public:
  OrElseView(const Plan& plan, Shared& shared) : shared_(shared) {
    for (const auto& inner : plan.inner) branches_.push_back(MakeView(*inner, shared));
  }
  bool Put(Cell& cell) override {
    bool taken = false;
    for (const auto& branch : branches_) taken = branch->Put(cell) || taken;
    return taken;
  }
  void Drop(Cell& cell) override {
    for (const auto& branch : branches_) branch->Drop(cell);
  }
  void Moved(Cell& cell) override {
    for (const auto& branch : branches_) branch->Moved(cell);
  }
  Choice Pick(Bit bit, Rng* rng) override {
    for (const auto& branch : branches_) {
      const Choice choice = branch->Pick(bit, rng);
      if (choice || shared_.gave_up) return choice;
    }
    return {};
  }
  void AddMask(std::uint64_t* out) const override {
    for (const auto& branch : branches_) branch->AddMask(out);
  }
  bool Empty() const override {
    return std::all_of(branches_.begin(), branches_.end(), [](const auto& branch) { return branch->Empty(); });
  }
  void Recolour(Bit bit) override {
    for (const auto& branch : branches_) branch->Recolour(bit);
  }
  bool Shrink(std::size_t& budget) override {
    return std::all_of(branches_.begin(), branches_.end(), [&](const auto& branch) { return branch->Shrink(budget); });
  }
  std::size_t MemoryBytes() const override {
    std::size_t bytes = sizeof(*this);
    for (const auto& branch : branches_) bytes += branch->MemoryBytes();
    return bytes;
  }

 private:
  const Shared& shared_;
  boost::container::small_vector<std::unique_ptr<View>, 2> branches_;
};

// prefer_distinct: a view for every level that has cells. A cell stands on its value's level, or below.
class LevelView : public View {
 public:
  LevelView(const Plan& plan, Shared& shared) : plan_(plan), shared_(shared) {}
  bool Put(Cell& cell) override { return PutAt(cell, TrueBin(plan_, shared_, cell)); }
  void Drop(Cell& cell) override {
    const auto level = levels_.find(cell.bins[plan_.bin]);
    if (level == levels_.end()) return;  // the block below did not want it
    level->second->Drop(cell);
    if (level->second->Empty()) levels_.erase(level);
  }
  void Moved(Cell& cell) override {
    const auto level = levels_.find(cell.bins[plan_.bin]);
    if (level != levels_.end()) level->second->Moved(cell);
  }
  Choice Pick(Bit bit, Rng* rng) override {
    for (auto level = levels_.begin(); level != levels_.end();) {
      View& view = *level->second;
      for (;;) {
        const Choice choice = view.Pick(bit, rng);
        if (shared_.gave_up) return {};
        if (!choice) break;
        const std::uint32_t now = TrueBin(plan_, shared_, *choice.cell);
        if (now == level->first) return choice;
        CHECK(now > level->first);
        if (!shared_.Spend(plan_, *choice.cell)) return {};
        view.Drop(*choice.cell);
        PutAt(*choice.cell, now);
      }
      level = view.Empty() ? levels_.erase(level) : std::next(level);
    }
    return {};
  }
  void AddMask(std::uint64_t* out) const override {
    for (const auto& [level, view] : levels_) view->AddMask(out);
  }
  bool Empty() const override { return levels_.empty(); }
  void Recolour(Bit bit) override {
    for (const auto& [level, view] : levels_) view->Recolour(bit);
  }
  bool Shrink(std::size_t& budget) override {
    while (!levels_.empty() && levels_.begin()->second->Shrink(budget)) levels_.erase(levels_.begin());
    return levels_.empty();
  }
  std::size_t MemoryBytes() const override {
    std::size_t bytes = sizeof(*this);
    for (const auto& [level, view] : levels_) bytes += 64 + view->MemoryBytes();
    return bytes;
  }

 private:
  bool PutAt(Cell& cell, std::uint32_t level) {
    cell.bins[plan_.bin] = level;
    shared_.OnBin(plan_, cell);
    auto& view = levels_[level];
    if (!view) view = MakeView(*plan_.inner.front(), shared_);
    if (view->Put(cell)) return true;
    if (view->Empty()) levels_.erase(level);
    return false;
  }
  const Plan& plan_;
  Shared& shared_;
  std::map<std::uint32_t, std::unique_ptr<View>> levels_;
};

}  // namespace

std::uint32_t BinOf(const Plan& plan, const Shared& shared, ValueId value, std::uint32_t leased) {
  if (value == kNoValue) return 0;
  if (plan.kind == Strategy::Kind::kPreferDistinct) return static_cast<std::uint32_t>(leased / plan.max);
  return leased >= MaxOf(plan, shared.slots) ? 1 : 0;
}

std::uint64_t MaxOf(std::uint64_t max, bool percent, std::uint64_t slots) {
  return percent ? std::max<std::uint64_t>(1, slots * max / 100) : max;
}

std::uint32_t TrueBin(const Plan& plan, const Shared& shared, const Cell& cell) {
  return BinOf(plan, shared, cell.values[plan.key], shared.Value(cell, plan.key).leased);
}

std::unique_ptr<View> MakeView(const Plan& plan, Shared& shared) {
  switch (plan.kind) {
    case Strategy::Kind::kRandom:
      return std::make_unique<RandomView>(plan, shared);
    case Strategy::Kind::kOldest:
    case Strategy::Kind::kNewest:
    case Strategy::Kind::kPriority:
    case Strategy::Kind::kLeastRecent:
      return std::make_unique<OrderView>(plan, shared);
    case Strategy::Kind::kSelectOnly:
      return std::make_unique<SelectView>(plan, shared);
    case Strategy::Kind::kPreferDistinct:
      return std::make_unique<LevelView>(plan, shared);
    case Strategy::Kind::kMaxSimultaneous:
      return std::make_unique<GateView>(plan, shared);
    case Strategy::Kind::kFair:
      return MakeFairView(plan, shared);
    case Strategy::Kind::kOrElse:
      return std::make_unique<OrElseView>(plan, shared);
    case Strategy::Kind::kWorker:
      return std::make_unique<RankView>(plan, shared);
  }
  return nullptr;
}

}  // namespace allot::order
