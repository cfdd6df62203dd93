// SPDX-License-Identifier: Apache-2.0
#include "strategy/index/views.h"

#include <algorithm>

#include <boost/container/small_vector.hpp>

#include "base/check.h"

namespace allot::order {
namespace {

class OrderView : public View {
 public:
  OrderView(const Plan& plan, ViewContext& context) : plan_(plan), context_(context) {}

  bool Put(Cell& cell) override {
    const Key head = Head(cell);
    cell.leaves[plan_.leaf].key = head;
    if (many_) {
      many_->Insert(head, &cell, context_.Mask(cell));
    } else if (few_.size() < kFew) {
      few_.push_back(&cell);
    } else {
      many_ = std::make_unique<MaskTree<Key, Cell*>>(context_.width);
      few_.push_back(&cell);
      for (Cell* other : few_) many_->Insert(other->leaves[plan_.leaf].key, other, context_.Mask(*other));
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
      many_->Insert(head, &cell, context_.Mask(cell));
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
      if (!context_.Has(*cell, bit)) continue;
      if (best == nullptr || cell->leaves[plan_.leaf].key < best->leaves[plan_.leaf].key) best = cell;
    }
    return best == nullptr ? Choice{} : Choice{best, &plan_, 0};
  }
  void AddMask(std::uint64_t* out) const override {
    if (many_) return many_->AddMask(out);
    for (const Cell* cell : few_) {
      const auto mask = context_.Mask(*cell);
      for (std::size_t w = 0; w < mask.size(); ++w) out[w] |= mask[w];
    }
  }
  bool Empty() const override { return !many_ && few_.empty(); }
  void RefreshBit(Bit bit) override {
    if (many_) many_->SetBit(bit, [&](const Cell* cell) { return context_.Has(*cell, bit); });
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
  ViewContext& context_;
  boost::container::small_vector<Cell*, 2> few_;
  std::unique_ptr<MaskTree<Key, Cell*>> many_;
};

}  // namespace

std::unique_ptr<View> MakeOrderView(const Plan& plan, ViewContext& context) {
  return std::make_unique<OrderView>(plan, context);
}

std::uint32_t BinOf(const Plan& plan, const ViewContext& context, ValueId value, std::uint32_t running) {
  if (value == kNoValue) return 0;
  if (plan.compares == Compares::kLevel) return static_cast<std::uint32_t>(running / plan.max);
  return running >= MaxOf(plan, context.slots) ? 1 : 0;
}

std::uint64_t MaxOf(std::uint64_t max, bool percent, std::uint64_t slots) {
  return percent ? std::max<std::uint64_t>(1, slots * max / 100) : max;
}

std::uint32_t TrueBin(const Plan& plan, const ViewContext& context, const Cell& cell) {
  return BinOf(plan, context, cell.values[plan.key], context.Value(cell, plan.key).running);
}

}  // namespace allot::order
