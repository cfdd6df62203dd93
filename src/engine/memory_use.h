// SPDX-License-Identifier: Apache-2.0
// What a queue's memory is used for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>

#include "base/memory_pool.h"

namespace allot {

// On the wire by word.
enum class MemoryPart : std::uint8_t {
  kJobs,        // jobs, ended ones that are kept included, and the states of their tasks
  kClasses,     // requirements and ranks, and the verdicts of them and workers on each other
  kStrategies,  // an order over all open jobs for each strategy in use, and the values that they group by
  kLimits,      // limits, and the groups of jobs that they apply to
  kDispatch,    // queues of workers, in balanced dispatch
  kWorkers,     //
  kLooks,       // previews, demand and other looks at all jobs that are under way
};
inline constexpr std::string_view kMemoryWords[] = {"jobs",     "classes", "strategies", "limits",
                                                    "dispatch", "workers", "looks"};
inline constexpr std::size_t kMemoryParts = std::size(kMemoryWords);

struct MemoryUse {
  std::array<std::uint64_t, kMemoryParts> bytes{};
  std::uint64_t budget = 0;  // 0: none
  std::uint64_t total() const { return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}); }
};

// The pools of an engine; that of strategies is with the orders.
struct EngineMemory {
  MemoryPool jobs, classes, limits, dispatch, workers, looks;
};

// "jobs 1.2 GiB, strategies 2.6 GiB": the largest first, without what is hardly anything.
std::string MemoryText(const MemoryUse& use);

}  // namespace allot
