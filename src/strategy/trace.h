// SPDX-License-Identifier: Apache-2.0
// How a strategy came to a pick, in few bytes: which branches it took, and what its blocks looked at before the grant
// changed it. Written for every start, so without a search and without memory of its own: the leaf that gave the job
// tells the branches, and what a value has is in the value table. Only who asks pays for words.
//
// Use:       WriteTrace() after a pick and before the orders are told of the lease; ReadTrace() at any time later, with
//            the strategies that it was written by.
// Threading: none of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/bounds.h"
#include "strategy/index/views.h"
#include "strategy/pick_job.h"
#include "strategy/preview.h"
#include "strategy/strategy.h"

namespace allot {

struct TracedPick {
  const order::Rules& rules;
  const order::Plan& leaf;  // that gave the job
  const PickJob& job;
  KindId kind = 0;               // of the worker
  bool ranked = false;           // it ranks some job that is open
  std::uint64_t candidates = 0;  // where the leaf is `random`: tasks that it was drawn from
};

// Copies a text, which is most likely short, without a call for it.
inline char* CopyText(const char* from, std::size_t bytes, char* to) {
  const auto both_ends = [&](auto part) {
    std::memcpy(&part, from, sizeof(part));
    auto last = part;
    std::memcpy(&last, from + bytes - sizeof(last), sizeof(last));
    std::memcpy(to, &part, sizeof(part));
    std::memcpy(to + bytes - sizeof(last), &last, sizeof(last));
  };
  if (bytes > 16) {
    std::memcpy(to, from, bytes);
  } else if (bytes >= 8) {
    both_ends(std::uint64_t{});
  } else if (bytes >= 4) {
    both_ends(std::uint32_t{});
  } else {
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
  return to + bytes;
}

// Longer texts of values are cut; none that a job may have is.
inline constexpr std::size_t kMostTracedText = 4096;
// What any trace has room in.
inline constexpr std::size_t kMostTraceBytes = 2 * (bounds::kMaxStrategyDepth + 1) * (kMostTracedText + 64) + 2048;
// Gives the end of what it wrote at `out`; null: there is not enough room before `end`.
char* WriteTrace(const TracedPick& pick, char* out, const char* end);

// The steps, as Preview gives them; `now` is when it was picked, for how long ago the rest was.
std::vector<PreviewStep> ReadTrace(const StrategyPair& strategies, std::string_view trace, WallTime now);

}  // namespace allot
