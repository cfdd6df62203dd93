// SPDX-License-Identifier: Apache-2.0
// Weights of `fair`: how much a value may have of what others have once. They are named as people write them,
// `user.acme`, by the key in lower case and the value; whether a value of that text is a string or a number does not
// matter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "strategy/strategy.h"

namespace allot {

using Weights = std::map<std::string, std::uint32_t>;

// Under which name the weight of a key's value stands.
std::string WeightName(const StrategyKey& key, std::string_view value);
// The name as it is kept. kBadValue for what is none.
Result<std::string> CheckWeightName(std::string_view name);
// `user.acme=3`.
Result<std::pair<std::string, std::uint32_t>> ParseWeight(std::string_view text);
// `user.acme=3, user.bob=2`.
std::string PrintWeights(const Weights& weights);

}  // namespace allot
