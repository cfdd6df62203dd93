// SPDX-License-Identifier: Apache-2.0
// The blocks of a strategy as live structures over cells. Each view stands for one block in one context: below a
// grouping block there is one of its kind for each group.
//
// Use: Put and Drop every cell once each; Moved when a head or the number of its tasks changed. A view finds what it
// noted of a cell in the cell itself (its bins, its leaves).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "strategy/index/cell.h"
#include "strategy/index/cell_lists.h"
#include "strategy/index/plan.h"

namespace allot::order {

using Bit = std::uint32_t;  // of a kind, or of one rank that a kind gives

// What all views of an index have in common.
struct ViewContext {
  ValueTable& values;
  const ClassTable& verdicts;
  std::vector<KeyId> keys = {};
  std::uint64_t slots = 0;
  // The first fair group of each value, for each key.
  std::vector<SlotArray<FairGroup*>> fair_groups = {};
  // Those without cells, for each block `fair`: they come and go with values that flip.
  struct FreeFairGroup {
    void operator()(FairGroup* group) const;
  };
  std::vector<std::vector<std::unique_ptr<FairGroup, FreeFairGroup>>> spare = {};

  // Words of the masks in all trees. Bits behind them are not known here: an index that is too narrow is replaced.
  std::size_t width = 1;
  CellLists lists = {};
  // Values that a block with a percentage has found full, for each block with bins; some may not be so
  // any more. When there are more slots, these alone are to be looked at.
  std::vector<boost::unordered_flat_set<ValueId>> full = {};
  // A pick moves at most so many cells. Where that is not enough it gives up, as if nothing was there, and goes on when
  // it is asked again.
  std::size_t moves_left = 0;
  bool gave_up = false;
  std::size_t crowded_link = 0;  // where it gave up: of what key
  ValueId crowded = kNoValue;    // and of what value there are too many cells

  std::span<const std::uint64_t> Mask(const Cell& cell) const { return verdicts.kinds().Mask(cell.cls).first(width); }
  // May the pick move one more cell of that value?
  bool Spend(const Plan& plan, const Cell& cell) {
    if (moves_left > 0) {
      --moves_left;
      return true;
    }
    gave_up = true;
    crowded_link = plan.link;
    crowded = cell.values[plan.key];
    return false;
  }
  // The cell got another bin in that block.
  void OnBin(const Plan& plan, Cell& cell) {
    if (plan.percent && cell.bins[plan.bin] > 0) full[plan.bin].insert(cell.values[plan.key]);
    lists.Place(cell, plan.link);
  }

  bool Has(const Cell& cell, Bit bit) const { return verdicts.kinds().Matches(bit, cell.cls); }
  const ValueTable::Value& Value(const Cell& cell, std::size_t key) const {
    return values.Get(keys[key], cell.values[key]);
  }
};

// What an index goes by, for others that go by the same. Refers to what the index has.
struct Rules {
  const Plan* plan = nullptr;
  const ViewContext* context = nullptr;
  const std::vector<Order>* orders = nullptr;  // of leaves, but those that draw; a leaf says which of them
  std::size_t leaves = 0;
  bool random = false;  // does a leaf draw?
};

// A cell, and the leaf that says which of its jobs.
struct Choice {
  Cell* cell = nullptr;
  const Plan* leaf = nullptr;
  std::uint64_t tasks = 0;  // of a lottery: all that were in it
  explicit operator bool() const { return cell != nullptr; }
};

class View {
 public:
  virtual ~View() = default;
  // False if the blocks below do not want it at all. What they may want later counts as taken.
  virtual bool Put(Cell& cell) = 0;
  virtual void Drop(Cell& cell) = 0;
  virtual void Moved(Cell& cell) = 0;
  // What comes first for that bit. Puts aside cells that it finds to be blocked by now. Nothing, where it gave up
  // (ViewContext::gave_up): then nobody may conclude that nothing is there.
  virtual Choice Pick(Bit bit, Rng* rng) = 0;
  // Adds the bits of all cells to `out`.
  virtual void AddMask(std::uint64_t* out) const = 0;
  // No cell was put into it, blocked ones included.
  virtual bool Empty() const = 0;
  // The verdicts of that bit changed.
  virtual void RefreshBit(Bit bit) = 0;
  // Nobody needs it any more: throws cells away without a look at them, takes how many from the budget, and is true
  // when none are left. Nothing else may be called then but this.
  virtual bool Shrink(std::size_t& budget) = 0;
  virtual std::size_t MemoryBytes() const = 0;
};

// What a tree loses in the time of one unit.
inline constexpr std::size_t kShrunkAtOnce = 32;
// Units that it takes to free a cell or a fair group with all that it has.
inline constexpr std::size_t kFreeCost = 3;

inline std::unique_ptr<View> MakeView(const Plan& plan, ViewContext& context) {
  return plan.block->MakeView(plan, context);
}
// For blocks: cells in the order of their heads; fair groups of cells by what their values have, with a view of what is
// inside for each.
std::unique_ptr<View> MakeOrderView(const Plan& plan, ViewContext& context);
std::unique_ptr<View> MakeFairView(const Plan& plan, ViewContext& context);

// Where a value of a block with bins belongs that has so many running tasks: its level; or 1 if it is full, and 0 if
// not.
std::uint32_t BinOf(const Plan& plan, const ViewContext& context, ValueId value, std::uint32_t running);
// How many tasks a maximum is, of so many slots in all.
std::uint64_t MaxOf(std::uint64_t max, bool percent, std::uint64_t slots);
inline std::uint64_t MaxOf(const Plan& plan, std::uint64_t slots) { return MaxOf(plan.max, plan.percent, slots); }
// Where the cell's value belongs now.
std::uint32_t TrueBin(const Plan& plan, const ViewContext& context, const Cell& cell);

// The leaf through which the strategy gives jobs of that cell now; null: it does not.
const Plan* LeafFor(const Plan& plan, const ViewContext& context, const Cell& cell);
// Which of two choices, of different trees of one strategy, comes first for that kind: below 0 if it is `a`. 0: both
// are drawn from one lottery.
int Compare(const Plan& plan, const ViewContext& context, Bit kind, const Choice& a, const Choice& b);
// The same of the fair groups of two values; 0 for the same one.
int CompareFairGroups(const Plan& plan, const ViewContext& context, ValueId a, ValueId b);

// What a value has changed: all fair groups of it find their new places.
void Rekey(ViewContext& context, std::size_t key, ValueId value);

}  // namespace allot::order
