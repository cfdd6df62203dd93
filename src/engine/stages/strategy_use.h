// SPDX-License-Identifier: Apache-2.0
// Which strategies are in use, by whom, and for how long after.
#pragma once

#include <deque>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bounds.h"
#include "base/quota_pool.h"
#include "engine/stages/stage.h"
#include "engine/types.h"
#include "strategy/orders.h"

namespace allot {

struct EngineParts;

class StrategyUse final : public EngineStage {
 public:
  explicit StrategyUse(EngineParts& parts) : p_(parts) {}

  // Is there room for these, as far as they are not in use already? Null ones need none. With an owner, also within its
  // quota. kTooManyStrategies, kMemoryFull.
  Result<void> Admit(std::initializer_list<StrategyPtr> strategies, std::optional<std::string_view> owner) const;
  // The order for a worker's strategy, with one more user. Fails as Admit() does.
  Result<Orders::Id> Use(const StrategyPtr& strategy, std::string_view owner);
  void Unuse(Orders::Id order);
  // The pull that used it is over: the next may well ask for the same, and a large queue's order takes a while to
  // build. It is dropped once it was not asked for for a while.
  void Linger(Orders::Id order);

  void Tick(TickBudget& tick) override;
  void AddWakes(NextTick& next) const override;

 private:
  void DropLingering();
  // Orders that were given up for want of memory are begun again when there is some.
  void RetryOrders();

  EngineParts& p_;
  struct OrderOwner {
    QuotaPool::Owner* strategies = nullptr;
    QuotaPool::Owner* blocks = nullptr;
  };
  std::vector<OrderOwner> order_owners_;  // by order, but the default one
  QuotaPool strategy_owners_{bounds::kMaxStrategies}, block_owners_{bounds::kMaxStrategyBlocks};
  struct Lingering {
    Orders::Id order;  // with a use of its own
    Instant until;
  };
  std::deque<Lingering> lingering_;  // those of pulls that are over, each once; longest ago first
};

}  // namespace allot
