// SPDX-License-Identifier: Apache-2.0
// What a person submits, and the states that it goes through.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/job_details.h"
#include "base/time.h"

namespace allot {

namespace expr {
class Expr;
}
// An expression, parsed and immutable; null: none.
using ExprPtr = std::shared_ptr<const expr::Expr>;

// Changing it: the numbers are persisted. Add at the end.
enum class JobState : std::uint8_t { kScheduled, kActive, kPaused, kDone, kFailed, kCancelled };
enum class TaskState : std::uint8_t { kQueued, kRunning, kRetrying, kDone, kFailed, kSkipped };

std::string_view StateText(JobState state);
std::string_view StateText(TaskState state);
std::optional<JobState> ParseJobState(std::string_view text);
std::optional<TaskState> ParseTaskState(std::string_view text);
inline bool Ended(JobState state) { return state >= JobState::kDone; }

struct Backoff {
  milliseconds first{1000};
  double factor = 2.0;
  milliseconds max{300'000};
  double jitter = 0.1;  // each wait is longer by up to this part of itself
  friend bool operator==(const Backoff&, const Backoff&) = default;
};

// How many tasks may fail before the job does: a number, or a part of all tasks.
struct Allowance {
  std::uint32_t number = 0;
  std::optional<double> percent;
  // The number of failed tasks that a job of `count` tasks survives.
  std::uint32_t For(std::uint32_t count) const;
  friend bool operator==(const Allowance&, const Allowance&) = default;
};

using MetaValue = std::variant<std::string, std::int64_t, double, bool>;
using Meta = std::vector<std::pair<std::string, MetaValue>>;  // sorted by key

// Declared key=value pairs: what a worker is, or what a job demands of it. Sorted by key.
using Properties = std::vector<std::pair<std::string, std::string>>;

// Where the payloads of a job's tasks are. `set` names them in the store.
struct PayloadRef {
  JobId set;              // 0: none stored
  bool common = false;    // one for all tasks
  bool per_task = false;  // one each
  friend bool operator==(const PayloadRef&, const PayloadRef&) = default;
};

using ContentHash = std::array<std::uint64_t, 2>;

// A valid job: the edge (server/) makes these from JSON, and nothing behind it checks again.
struct JobSpec : JobDetails {
  std::vector<std::string> tags;        // sorted, without duplicates
  std::vector<Properties> constraints;  // alternatives, any of which will do; none is empty. Empty: any worker
  ExprPtr requirements;
  ExprPtr rank;
  std::optional<std::int64_t> priority;
  std::string user;
  bool async = true;
  std::optional<WallTime> scheduled_for;
  Duration delay{0};  // instead of scheduled_for: from the moment of submission
  Meta meta;
  std::uint32_t count = 1;
  PayloadRef payload;
  std::uint32_t max_attempts = 5;
  Backoff backoff;
  milliseconds lease{60'000};
  milliseconds timeout{0};  // 0: none
  Allowance max_failed_tasks;
  milliseconds retention{86'400'000};
  std::string token;      // its id, that the job came with; counts for what the token may use, and is not kept
  ContentHash content{};  // of the whole request; only with an idempotency key
};

// What `job set` changes; what is not named stays.
struct JobChange {
  std::optional<std::vector<std::string>> tags;
  std::optional<std::vector<Properties>> constraints;
  std::optional<ExprPtr> requirements;  // null: none any more
  std::optional<ExprPtr> rank;
  std::optional<std::optional<std::int64_t>> priority;
  std::optional<WallTime> scheduled_for;
  std::optional<Duration> delay;
  std::optional<Meta> meta;
};

}  // namespace allot
