// SPDX-License-Identifier: Apache-2.0
// What the store has of tasks that have ended, and results as JSON.
//
// Threading: any thread that may read the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/looks/views.h"
#include "store/store.h"

namespace allot {

// The outcomes of tasks from `from` on, before `end`; and where they end, if there was too much for one answer.
struct OutcomePage {
  std::vector<Outcome> outcomes;  // in order of index
  std::uint64_t end = 0;
};
inline constexpr std::size_t kMaxOutcomePageBytes = 8 << 20;
// At least one, where there is one, however large it is.
Result<OutcomePage> ReadOutcomePage(Store& store, JobId job, TaskIndex from, std::uint64_t end,
                                    std::size_t max_bytes = kMaxOutcomePageBytes);
// Those of these tasks, and perhaps of some between. REQUIRES: in order of index.
Result<std::vector<Outcome>> ReadOutcomesOf(Store& store, JobId job, std::span<const TaskIndex> tasks);

// Appends `{…},{…}` for these tasks until that is longer than `max_bytes`, always at least one. How many they are.
// Reads outcomes: the reports of these tasks must be durable.
Result<std::size_t> AppendResultItems(Store& store, JobId job, std::span<const EndedTask> tasks, std::size_t max_bytes,
                                      std::string& out);

}  // namespace allot
