// Words that the description of a strategy and that of a pick have in common.
#pragma once

#include <string>

#include "strategy/strategy.h"

namespace allot::strategy_words {

// The values of a key, as people speak of them.
struct Nouns {
  std::string one, many;
  std::string without;  // the jobs that have none; empty: every job has one
};
Nouns NounsOf(const StrategyKey& key);

// `only jobs of the user "ann"`.
std::string Selected(const Strategy& node);
// `the user with the fewest running tasks first`.
std::string PreferredBy(const Strategy& node);
// `nothing of a user that has 5 running tasks already`.
std::string CappedAt(const Strategy& node);

}  // namespace allot::strategy_words
