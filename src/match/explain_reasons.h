// SPDX-License-Identifier: Apache-2.0
// From what was counted to what it means, in words. Inside of explain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "match/explain.h"

namespace allot {

// What was counted beside the explanation itself. The conditions' counts are of available workers, or of all where none
// is available.
struct Survey {
  std::size_t looked_at = 0;
  std::size_t with_tags = 0;
  std::size_t with_properties = 0;
  std::size_t met = 0;  // the job's requirements hold
  // Of the workers that match.
  std::size_t available = 0, draining = 0, away = 0, free = 0;
  std::uint64_t slots = 0, running = 0;  // of the available ones
  // Of each clause of the requirements, the one attribute of the worker that it reads; empty: none, or several.
  std::vector<std::string> reads;
  // Why the requirements can never be true.
  std::optional<std::string> never;
};

// Puts all reasons into `explanation`, the deciding one first. REQUIRES: everything else is there.
void GiveReasons(const MatchSnapshot& snapshot, const Survey& survey, const ExplainOptions& options,
                 Explanation& explanation);
void GiveReasons(const MatchSnapshot& snapshot, const MatchSnapshot::Worker& worker, PairExplanation& pair);

}  // namespace allot
