// SPDX-License-Identifier: Apache-2.0
// Every bound of the product, by name. docs/reference/bounds.md quotes them:
// a test compares the two.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace allot::bounds {

using namespace std::chrono_literals;

// Queues, jobs, tasks.
inline constexpr std::size_t kMaxQueues = 64;
inline constexpr std::uint64_t kMaxTasksPerJob = 4'294'967'295;
inline constexpr std::size_t kMaxJobsPerQueue = 20'000'000;
inline constexpr std::size_t kMaxFinishedJobs = 1'000'000;
inline constexpr std::size_t kMaxTagsPerJob = 16;
inline constexpr std::size_t kMaxTagsPerWorker = 256;
inline constexpr std::size_t kMaxTagBytes = 128;
inline constexpr std::size_t kMaxNameBytes = 128;
inline constexpr std::size_t kMaxUserBytes = 128;
inline constexpr std::size_t kMaxMetaPairs = 64;
inline constexpr std::size_t kMaxMetaKeyBytes = 64;
inline constexpr std::size_t kMaxMetaValueBytes = 1024;
inline constexpr std::size_t kMaxIdempotencyKeyBytes = 256;
inline constexpr std::size_t kMaxPayloadPrefixBytes = 1024;
inline constexpr std::size_t kMaxTraceBytes = 128;
inline constexpr std::uint32_t kMaxAttempts = 1000;
inline constexpr Duration kMinLease = 1s;
inline constexpr Duration kMaxLease = 24h;
inline constexpr Duration kMaxTimeout = 24h * 30;
inline constexpr Duration kMaxBackoff = 24h * 7;
inline constexpr Duration kMaxRetention = 24h * 366;
inline constexpr Duration kMaxDelay = 24h * 366;
inline constexpr std::size_t kMaxClasses = 65'536;
inline constexpr std::size_t kDefaultMaxPropertyKeys = 3;  // that a queue may declare, unless it is configured for more
inline constexpr std::size_t kMaxPropertyKeys = 6;
inline constexpr std::size_t kMaxPropertyKeyBytes = 64;
inline constexpr std::size_t kMaxPropertyValueBytes = 128;
inline constexpr std::size_t kMaxAlternatives = 16;  // of a job's constraints
inline constexpr std::size_t kMaxAttributePairs = 128;

// Memory of a queue.
inline constexpr std::uint64_t kMinMemoryBudget = 16 * 1024 * 1024;

// Workers and leases.
inline constexpr std::size_t kMaxWorkers = 100'000;
inline constexpr std::uint32_t kMaxSlots = 10'000;
inline constexpr std::uint32_t kMaxCredit = 10'000;
inline constexpr Duration kMaxWorkerGrace = 24h;
inline constexpr std::size_t kMaxReportsPerMessage = 10'000;
inline constexpr std::size_t kMaxErrorBytes = 4096;
inline constexpr std::size_t kMaxProgressNoteBytes = 128;

// Expressions.
inline constexpr std::size_t kMaxExpressionBytes = 16 * 1024;
inline constexpr std::size_t kMaxExpressionDepth = 128;  // brackets, lists, calls and operators inside one another
inline constexpr std::size_t kMaxExpressionNodes = 4096;
inline constexpr std::size_t kMaxEvaluationSteps = 10'000;
inline constexpr std::size_t kMaxEvaluationBytes = 64 * 1024;
inline constexpr std::size_t kMaxPatternBytes = 256;  // of a regular expression

// Strategies.
inline constexpr std::size_t kMaxStrategyBytes = 4 * 1024;
inline constexpr std::size_t kMaxStrategyNodes = 64;
inline constexpr std::size_t kMaxStrategyDepth = 16;  // strategies inside one another
inline constexpr std::size_t kMaxStrategies = 256;    // different ones in use in a queue
inline constexpr std::size_t kMaxStrategyBlocks =
    1024;  // words and blocks of all of them: each costs memory for all jobs
inline constexpr std::size_t kMaxNamedStrategies = 256;
inline constexpr std::size_t kMaxWeights = 10'000;  // of a queue
inline constexpr std::uint32_t kMaxWeight = 1'000'000;

// Limits on starts.
inline constexpr std::size_t kMaxLimits = 1000;                      // of a queue
inline constexpr std::uint64_t kMaxLimitTokens = 1'000'000'000'000;  // count, burst and max_burst_cost
inline constexpr Duration kMaxLimitWindow = 24h * 366;
inline constexpr Duration kDefaultMaxLimitExpiration = 5min;  // longer leases are cut to it
inline constexpr Duration kMaxLimitExpiration = 24h;          // that a queue can be configured for
inline constexpr std::size_t kMaxIgnoredUsers = 256;          // that a limit remembers
inline constexpr Duration kDefaultBanWindow = 60s;            // how long a user counts as denied after the denial
inline constexpr Duration kDefaultLookahead = 60s;            // within which demand counts what limits can pay for
inline constexpr Duration kMaxDemandWindow = 24h;             // that both can be configured for
inline constexpr std::size_t kMaxDemandRows = 10'000;         // of one answer

// Bytes on the wire.
inline constexpr std::size_t kMaxHeaderBytes = 16 * 1024;
inline constexpr std::size_t kMaxBodyBytes = 16 * 1024 * 1024;
inline constexpr std::size_t kMaxMessageBytes = 16 * 1024 * 1024;  // one WebSocket message
inline constexpr std::size_t kMaxPayloadBytes = 1024 * 1024;       // of one task, or of a job for all its tasks
inline constexpr std::size_t kDefaultMaxResultBytes = 64 * 1024;
inline constexpr std::size_t kMaxResultBytes = 1024 * 1024;
inline constexpr std::size_t kMaxJsonDepth = 128;  // arrays and objects inside one another
inline constexpr std::size_t kMaxBatchJobs = 1000;
inline constexpr std::size_t kMaxPageItems = 1000;
inline constexpr std::size_t kMaxWaitsPerConnection = 10'000;
inline constexpr std::size_t kMaxFollowsPerConnection = 64;  // jobs whose results are pushed
inline constexpr std::size_t kMaxRangesPerFollow = 10'000;   // of results that are there already
inline constexpr std::size_t kMaxJobsScannedPerPage = 10'000;
inline constexpr Duration kMaxWait = 5min;

}  // namespace allot::bounds
