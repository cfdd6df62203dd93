// SPDX-License-Identifier: Apache-2.0
#include "engine/stages/strategy_use.h"

#include <algorithm>

#include "base/bounds.h"
#include "base/text.h"
#include "engine/parts.h"

namespace allot {
namespace {

std::string WorkersOf(std::string_view owner) {
  return owner.empty() ? "workers without a token" : "workers of the " + std::string(owner);
}

}  // namespace

Result<void> StrategyUse::Admit(std::initializer_list<StrategyPtr> strategies,
                                std::optional<std::string_view> owner) const {
  std::size_t count = p_.orders.uses().size(), blocks = p_.orders.uses().blocks();
  std::size_t fresh = 0, fresh_blocks = 0, fewer = 0, fewer_blocks = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> wanted;
  for (const StrategyPtr& strategy : strategies) {
    if (!strategy) continue;
    std::string text = PrintStrategy(*strategy);
    if (std::find(wanted.begin(), wanted.end(), text) != wanted.end()) continue;
    wanted.push_back(std::move(text));
    if (p_.orders.uses().Knows(strategy)) continue;
    ++fresh;
    fresh_blocks += CountBlocks(*strategy);
    bytes += p_.orders.indices().IndexBytes(*strategy);
  }
  if (fresh == 0) return {};
  // What only lingers gives way, unless it is wanted again.
  for (const Lingering& old : lingering_) {
    const Strategy& strategy = *p_.orders.uses().strategy(old.order);
    const bool again = std::find(wanted.begin(), wanted.end(), PrintStrategy(strategy)) != wanted.end();
    if (p_.orders.uses().users(old.order) > 1 || again) continue;
    --count;
    blocks -= CountBlocks(strategy);
    if (!owner || order_owners_[old.order].strategies->first != *owner) continue;
    ++fewer;
    fewer_blocks += CountBlocks(strategy);
  }
  if (count + fresh > bounds::kMaxStrategies) {
    return Error{Code::kTooManyStrategies, "the queue's workers use as many different strategies as they may",
                 "let workers share strategies: each different text has an index of its own"};
  }
  if (blocks + fresh_blocks > bounds::kMaxStrategyBlocks) {
    return Error{Code::kTooManyStrategies,
                 "the strategies of the queue's workers have as many words and blocks as they may, in all",
                 "let workers share strategies, or use shorter ones: each block is an index over all jobs"};
  }
  if (owner &&
      (!strategy_owners_.Admits(*owner, fresh, fewer) || !block_owners_.Admits(*owner, fresh_blocks, fewer_blocks))) {
    return Error{Code::kTooManyStrategies,
                 WorkersOf(*owner) + " use " + FormatCount(strategy_owners_.Of(*owner)) +
                     " different strategies with " + FormatCount(block_owners_.Of(*owner)) +
                     " words and blocks, of the " + FormatCount(bounds::kMaxStrategies) + " with " +
                     FormatCount(bounds::kMaxStrategyBlocks) +
                     " that all in the queue share; what is left is kept for others",
                 "let workers share strategies: each different text has an index of its own"};
  }
  return p_.budget.Admit(bytes, "an order by that strategy over all open jobs");
}

Result<Orders::Id> StrategyUse::Use(const StrategyPtr& strategy, std::string_view owner) {
  if (const Result<void> admitted = Admit({strategy}, owner); !admitted.ok()) return admitted.error();
  const bool fresh = !p_.orders.uses().Knows(strategy);
  const std::size_t blocks = CountBlocks(*strategy);
  const auto fits = [&] {
    return p_.orders.uses().size() < bounds::kMaxStrategies &&
           p_.orders.uses().blocks() + blocks <= bounds::kMaxStrategyBlocks && strategy_owners_.Admits(owner) &&
           block_owners_.Admits(owner, blocks);
  };
  while (fresh && !lingering_.empty() && !fits()) {
    Unuse(lingering_.front().order);
    lingering_.pop_front();
  }
  const Orders::Id order = p_.orders.Use(strategy);
  if (fresh) {
    if (order_owners_.size() <= order) order_owners_.resize(order + 1);
    order_owners_[order] = {&strategy_owners_.Take(owner), &block_owners_.Take(owner, blocks)};
  }
  std::size_t budget = kSmallBudget;  // of a small queue it is ready at once
  if (p_.orders.builder().Building() && p_.ordering.SmallBuild()) p_.ordering.Build(budget);
  return order;
}

void StrategyUse::Unuse(Orders::Id order) {
  if (p_.orders.uses().users(order) == 1) {
    const OrderOwner owner = std::exchange(order_owners_[order], {});
    strategy_owners_.Give(*owner.strategies);
    block_owners_.Give(*owner.blocks, CountBlocks(*p_.orders.uses().strategy(order)));
  }
  p_.orders.Unuse(order);
}

void StrategyUse::DropLingering() {
  while (!lingering_.empty() && (lingering_.size() > kMaxLingering || lingering_.front().until <= p_.clock.time)) {
    Unuse(lingering_.front().order);
    lingering_.pop_front();
  }
}

void StrategyUse::RetryOrders() {
  // What was given up is begun again when there is room for it and some more, or nothing is left to wait for.
  if (p_.orders.builder().given_up() == 0 ||
      !p_.budget.Fits(p_.orders.builder().given_up() + p_.orders.builder().given_up() / 2))
    return;
  p_.orders.builder().Resume();
}

void StrategyUse::Linger(Orders::Id order) {
  const auto same =
      std::find_if(lingering_.begin(), lingering_.end(), [&](const Lingering& old) { return old.order == order; });
  if (same != lingering_.end()) {
    Unuse(same->order);
    lingering_.erase(same);
  }
  lingering_.push_back({order, p_.clock.time + kOrderLingers});
  DropLingering();
}

void StrategyUse::Tick(TickBudget&) {
  DropLingering();
  RetryOrders();
}

void StrategyUse::AddWakes(NextTick& next) const {
  if (!lingering_.empty()) next.AtEngineTime(lingering_.front().until);
}

}  // namespace allot
