// SPDX-License-Identifier: Apache-2.0
// Fair groups: cells of one value, those first that have least.
#include <algorithm>

#include <boost/container/small_vector.hpp>

#include "base/check.h"
#include "strategy/index/views.h"

namespace allot::order {
namespace {

bool HasBit(const View& view, const ViewContext& context, Bit bit) {
  std::vector<std::uint64_t> mask(context.width);
  view.AddMask(mask.data());
  return (mask[bit / 64] >> (bit % 64) & 1) != 0;
}

}  // namespace

class FairView;

struct FairKey {
  std::uint32_t running = 0, weight = 1;
  Stamp served;
  const std::string* name = nullptr;
  ValueId value = kNoValue;
  friend bool operator==(const FairKey&, const FairKey&) = default;
  friend bool operator<(const FairKey& a, const FairKey& b) {
    const std::uint64_t left = std::uint64_t{a.running} * b.weight;
    const std::uint64_t right = std::uint64_t{b.running} * a.weight;
    if (left != right) return left < right;
    if (a.served != b.served) return a.served < b.served;
    if (const int names = a.name->compare(*b.name); names != 0) return names < 0;
    return a.value < b.value;
  }
};

FairKey FairKeyOf(const Plan& plan, const ViewContext& context, ValueId id) {
  const ValueTable::Value& value = context.values.Get(context.keys[plan.key], id);
  return {value.running, value.weight, value.Served(), &value.text, id};
}

int CompareFairGroups(const Plan& plan, const ViewContext& context, ValueId a, ValueId b) {
  if (a == b) return 0;
  return FairKeyOf(plan, context, a) < FairKeyOf(plan, context, b) ? -1 : 1;
}

// What a value has in one view.
struct FairGroup {
  FairView* view = nullptr;
  FairKey key;
  std::unique_ptr<View> below;
  FairGroup *before = nullptr, *next = nullptr;           // of the same value, in other views; hashed ones come last
  bool hashed = false;                                    // its view finds it by a table of its own
  boost::container::small_vector<std::uint64_t, 1> mask;  // as it stands in the tree; more than is true, until a pick
};

void ViewContext::FreeFairGroup::operator()(FairGroup* group) const { delete group; }

// fair: a view for every value that has cells, in the order of what they have.
class FairView : public View {
 public:
  FairView(const Plan& plan, ViewContext& context) : plan_(plan), context_(context) {}
  ~FairView() override {
    ForEachGroup([this](FairGroup* group) { Delete(group); });
  }
  FairView(const FairView&) = delete;
  FairView& operator=(const FairView&) = delete;

  bool Put(Cell& cell) override {
    const ValueId value = cell.values[plan_.key];
    FairGroup* group = Find(value);
    const bool fresh = group == nullptr;
    if (fresh) {
      auto& spare = context_.spare[plan_.fair];
      if (spare.empty()) {
        group = new FairGroup;
        group->below = MakeView(*plan_.inner.front(), context_);
      } else {
        group = spare.back().release();
        spare.pop_back();
      }
      group->view = this;
      Link(value, group);
    }
    if (!group->below->Put(cell)) {
      if (fresh) Retire(group);
      cell.fair_groups[plan_.fair] = nullptr;
      return false;
    }
    cell.fair_groups[plan_.fair] = group;
    if (fresh) {
      group->key = FairKeyOf(plan_, context_, value);
      Insert(group);
    } else if (many_ && !Has(*group, context_.Mask(cell))) {
      Remask(*group);
    }
    return true;
  }
  void Drop(Cell& cell) override {
    FairGroup* group = cell.fair_groups[plan_.fair];
    if (group == nullptr) return;
    cell.fair_groups[plan_.fair] = nullptr;
    group->below->Drop(cell);
    if (!group->below->Empty()) return;
    Erase(group);
    Retire(group);
  }
  void Moved(Cell& cell) override {
    FairGroup* group = cell.fair_groups[plan_.fair];
    if (group != nullptr) group->below->Moved(cell);
  }
  Choice Pick(Bit bit, Rng* rng) override {
    if (!many_) return PickOfFew(bit, rng);
    for (;;) {
      FairGroup* const* first = many_->First(bit);
      if (first == nullptr) return {};
      FairGroup& group = **first;
      const Choice choice = group.below->Pick(bit, rng);
      if (choice || context_.gave_up) return choice;
      // All that it had for this bit is gone or held by now.
      Remask(group);
      CHECK((group.mask[bit / 64] >> (bit % 64) & 1) == 0);
    }
  }
  void AddMask(std::uint64_t* out) const override {
    if (many_) return many_->AddMask(out);
    for (const FairGroup* group : few_) group->below->AddMask(out);
  }
  bool Empty() const override { return !many_ && few_.empty(); }
  void RefreshBit(Bit bit) override {
    ForEachGroup([&](FairGroup* group) { group->below->RefreshBit(bit); });
    if (!many_) return;
    many_->SetBit(bit, [&](FairGroup* group) {
      const bool has = HasBit(*group->below, context_, bit);
      const std::uint64_t flag = std::uint64_t{1} << (bit % 64);
      std::uint64_t& word = group->mask[bit / 64];
      word = has ? word | flag : word & ~flag;
      return has;
    });
  }
  bool Shrink(std::size_t& budget) override {
    // About in the order in which they were made, so that the allocator joins what is free at once.
    while (budget > 0 && !Empty()) {
      FairGroup* group = many_ ? many_->Back() : few_.back();
      if (!group->below->Shrink(budget)) return false;
      budget -= std::min(budget, kFreeCost);
      if (many_) {
        many_->PopBack();
      } else {
        few_.pop_back();
      }
      Delete(group);
      if (many_ && many_->size() == 0) many_.reset();
    }
    return Empty();
  }
  std::size_t MemoryBytes() const override {
    std::size_t bytes = sizeof(*this) + few_.capacity() * sizeof(FairGroup*);
    if (many_) bytes += sizeof(*many_) + many_->MemoryBytes();
    bytes += hashed_.MemoryBytes();
    ForEachGroup([&](const FairGroup* group) { bytes += sizeof(FairGroup) + group->below->MemoryBytes(); });
    return bytes;
  }
  void Rekey(FairGroup& group) {
    const FairKey key = FairKeyOf(plan_, context_, group.key.value);
    if (key == group.key) return;
    if (many_) {
      many_->Erase(group.key);
      many_->Insert(key, &group, {group.mask.data(), group.mask.size()});
    }
    group.key = key;
  }

 private:
  static constexpr std::size_t kFew = 8;
  static constexpr std::size_t kMostSpare = 2048;
  static constexpr std::size_t kMostUnhashed = 4;

  template <typename F>
  void ForEachGroup(F f) const {
    if (many_) {
      many_->ForEach(f);
    } else {
      for (FairGroup* group : few_) f(group);
    }
  }
  // A value has fair groups in few views, most often: they are asked one by one. The others are in tables.
  FairGroup* Find(ValueId value) const {
    FairGroup* const* head = context_.fair_groups[plan_.key].Find(value);
    FairGroup* group = head == nullptr ? nullptr : *head;
    for (; group != nullptr && !group->hashed; group = group->next) {
      if (group->view == this) return group;
    }
    if (group == nullptr) return nullptr;
    FairGroup* const* found = hashed_.Find(Mixed(value), [&](const FairGroup* s) { return s->key.value == value; });
    return found == nullptr ? nullptr : *found;
  }
  void Insert(FairGroup* group) {
    if (!many_ && few_.size() < kFew) {
      few_.push_back(group);
      return;
    }
    if (!many_) {
      many_ = std::make_unique<MaskTree<FairKey, FairGroup*>>(context_.width);
      for (FairGroup* other : std::exchange(few_, {})) InsertAmongMany(other);
    }
    InsertAmongMany(group);
  }
  void InsertAmongMany(FairGroup* group) {
    const auto& mask = MaskOf(*group);
    group->mask.assign(mask.begin(), mask.end());
    many_->Insert(group->key, group, mask);
  }
  void Erase(FairGroup* group) {
    if (!many_) {
      std::erase(few_, group);
      return;
    }
    many_->Erase(group->key);
    if (many_->size() == 0) many_.reset();
  }
  Choice PickOfFew(Bit bit, Rng* rng) {
    // One after the other, the first first; most often that is enough.
    const FairGroup* after = nullptr;
    for (;;) {
      FairGroup* best = nullptr;
      for (FairGroup* group : few_) {
        if (after != nullptr && !(after->key < group->key)) continue;
        if (best == nullptr || group->key < best->key) best = group;
      }
      if (best == nullptr) return {};
      const Choice choice = best->below->Pick(bit, rng);
      if (choice || context_.gave_up) return choice;
      after = best;
    }
  }

  std::vector<std::uint64_t>& MaskOf(const FairGroup& group) {
    scratch_.assign(context_.width, 0);
    group.below->AddMask(scratch_.data());
    return scratch_;
  }
  static bool Has(const FairGroup& group, std::span<const std::uint64_t> mask) {
    for (std::size_t w = 0; w < mask.size(); ++w) {
      if ((mask[w] & ~group.mask[w]) != 0) return false;
    }
    return true;
  }
  void Remask(FairGroup& group) {
    const auto& mask = MaskOf(group);
    group.mask.assign(mask.begin(), mask.end());
    many_->SetMask(group.key, mask);
  }

  void Link(ValueId value, FairGroup* group) {
    group->key.value = value;
    FairGroup** place = &context_.fair_groups[plan_.key].Make(value);
    FairGroup* before = nullptr;
    std::size_t unhashed = 0;
    for (FairGroup* other = *place; other != nullptr && !other->hashed; other = other->next) ++unhashed;
    group->hashed = unhashed == kMostUnhashed;
    if (group->hashed) {
      for (; unhashed > 0; --unhashed) {
        before = *place;
        place = &before->next;
      }
      hashed_.Insert(Mixed(value), group);
    }
    group->before = before;
    group->next = *place;
    if (group->next != nullptr) group->next->before = group;
    *place = group;
  }
  void Unlink(ValueId value, FairGroup* group) {
    (group->before != nullptr ? group->before->next : context_.fair_groups[plan_.key][value]) = group->next;
    if (group->next != nullptr) group->next->before = group->before;
    if (group->hashed) hashed_.Erase(Mixed(value), [&](const FairGroup* s) { return s == group; });
  }
  // It has no cells.
  void Retire(FairGroup* group) {
    auto& spare = context_.spare[plan_.fair];
    if (spare.size() == kMostSpare) return Delete(group);
    Unlink(group->key.value, group);
    spare.emplace_back(group);
  }
  void Delete(FairGroup* group) {
    Unlink(group->key.value, group);
    delete group;
  }

  const Plan& plan_;
  ViewContext& context_;
  std::vector<FairGroup*> few_;  // owned
  std::unique_ptr<MaskTree<FairKey, FairGroup*>> many_;
  ShardedSet<FairGroup*> hashed_;
  std::vector<std::uint64_t> scratch_;
};

std::unique_ptr<View> MakeFairView(const Plan& plan, ViewContext& context) {
  return std::make_unique<FairView>(plan, context);
}

void Rekey(ViewContext& context, std::size_t key, ValueId value) {
  FairGroup** head = context.fair_groups[key].Find(value);
  for (FairGroup* group = head == nullptr ? nullptr : *head; group != nullptr; group = group->next) {
    group->view->Rekey(*group);
  }
}

}  // namespace allot::order
