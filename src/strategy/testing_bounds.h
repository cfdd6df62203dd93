// SPDX-License-Identifier: Apache-2.0
// For tests: as if two cells were many, so that all that is done in steps is.
#pragma once

#include "base/rng.h"
#include "strategy/index/cell_trees.h"
#include "strategy/orders.h"

namespace allot::testing {

class SmallSteps {
 public:
  explicit SmallSteps(bool small) {
    if (!small) return;
    order::CellTrees::most_moved = 1;
    order::CellTrees::most_shifted = 1;
    StrategyIndex::moved_at_once = 1;
    UpdateBudget::looks_at_once = 0;
    Orders::width_at_once = 2;
  }
  ~SmallSteps() {
    order::CellTrees::most_moved = before_[0];
    StrategyIndex::moved_at_once = before_[1];
    UpdateBudget::looks_at_once = before_[2];
    Orders::width_at_once = before_[3];
    order::CellTrees::most_shifted = before_[4];
  }
  SmallSteps(const SmallSteps&) = delete;
  SmallSteps& operator=(const SmallSteps&) = delete;

 private:
  const std::size_t before_[5] = {order::CellTrees::most_moved, StrategyIndex::moved_at_once,
                                  UpdateBudget::looks_at_once, Orders::width_at_once, order::CellTrees::most_shifted};
};

// A pick, asked again as long as it gives up; now and then steps go on in between. Counts how often it gave up.
inline PickJob* PickToTheEnd(Orders& orders, Orders::Id id, KindId kind, StartGate* gate, Rng& rng,
                             std::uint64_t& gave_up) {
  for (;;) {
    PickJob* picked = orders.index(id).Pick(kind, gate, &rng);
    if (picked != nullptr || !orders.index(id).last_pick().unfinished) return picked;
    ++gave_up;
    std::size_t few = rng.Below(3);
    orders.groups().Step(few);
  }
}

}  // namespace allot::testing
