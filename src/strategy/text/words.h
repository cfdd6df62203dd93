// SPDX-License-Identifier: Apache-2.0
// Words that blocks describe themselves with: what they will do, and what they did in a pick.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "strategy/strategy.h"

namespace allot {
struct PreviewStep;
}

namespace allot::strategy_words {

// The values of a key, as people speak of them.
struct Nouns {
  std::string one, many;
  std::string without;  // the jobs that have none; empty: every job has one
};
Nouns NounsOf(const StrategyKey& key);

// `only jobs of the user "ann"`.
std::string Selected(const Strategy& node);
// The value that the job of a pick has. REQUIRES: it has one.
std::string ValueText(const PreviewStep& step);
// `2 min ago`.
std::string Ago(std::int64_t ms, WallTime now);

}  // namespace allot::strategy_words
