// SPDX-License-Identifier: Apache-2.0
// What the parser and CheckStrategy() have in common, so that a text is told the place of what JSON is refused for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "strategy/strategy.h"

namespace allot::strategy_rules {

// Each gives what is wrong, empty if nothing is.
std::string CheckKey(const StrategyKey& key);
std::string CheckValue(const StrategyKey& key, const MetaValue& value);

// The words of the keys that are built in, by their kinds.
inline constexpr std::string_view kBuiltInKeys[] = {"", "user", "tag", "async", "priority", "job"};

std::string NoPercentage();
std::string TooDeep();
std::string TooMany();
std::string NotInPolicy();
std::string WorkerTwice();
std::string WorkerMissing();

struct Size {
  std::size_t nodes = 0, depth = 0, workers = 0;
};
// Counts no further than just beyond the bounds, whatever the tree.
Size Measure(const Strategy& strategy);

// `word` in back quotes; of a long one enough to know it by.
std::string Quoted(std::string_view word);

}  // namespace allot::strategy_rules
