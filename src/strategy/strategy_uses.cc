// SPDX-License-Identifier: Apache-2.0
#include "strategy/strategy_uses.h"

#include "base/check.h"

namespace allot {

StrategyUses::Added StrategyUses::Add(const StrategyPtr& strategy) {
  const std::string text = PrintStrategy(*strategy);
  if (const auto found = by_text_.find(text); found != by_text_.end()) {
    ++uses_[found->second].users;
    return {found->second, false};
  }
  Id id = 0;
  while (id < uses_.size() && uses_[id].users > 0) ++id;
  if (id == uses_.size()) uses_.emplace_back();
  uses_[id] = {strategy, 1};
  by_text_.emplace(text, id);
  blocks_ += CountBlocks(*strategy);
  return {id, true};
}

bool StrategyUses::Remove(Id id) {
  CHECK(uses_[id].users > 0);
  if (--uses_[id].users > 0) return false;
  by_text_.erase(PrintStrategy(*uses_[id].strategy));
  blocks_ -= CountBlocks(*uses_[id].strategy);
  uses_[id] = Use{};
  return true;
}

bool StrategyUses::Knows(const StrategyPtr& strategy) const { return by_text_.contains(PrintStrategy(*strategy)); }

}  // namespace allot
