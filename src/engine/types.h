// SPDX-License-Identifier: Apache-2.0
// What goes into the engine and what comes out of it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.h"
#include "base/ids.h"
#include "base/interned.h"
#include "base/job.h"
#include "base/record.h"
#include "base/result.h"
#include "base/siphash.h"
#include "base/time.h"
#include "dispatch/dispatch_mode.h"
#include "engine/memory_use.h"
#include "expr/expr.h"
#include "limits/limit.h"
#include "match/reason.h"
#include "strategy/strategy.h"
#include "strategy/weights.h"

namespace allot {

struct EngineOptions {
  SipKey key;                                        // of lease ids and worker keys; secret, kept with the queue
  std::uint64_t seed = 1;                            // of jitter
  Duration worker_grace = std::chrono::seconds(30);  // how long a worker that lost its connection may stay away
  Duration idle_worker = std::chrono::seconds(90);   // how long a worker without a connection may stay silent
  Duration late_tick = std::chrono::seconds(2);      // a tick later than this was a stall: deadlines move by it
  std::size_t max_finished_jobs = 1'000'000;
  StrategyPtr policy = {};  // null: `worker`
  Weights weights = {};
  Duration max_limit_expiration = bounds::kDefaultMaxLimitExpiration;
  Duration limit_ban_window = bounds::kDefaultBanWindow;
  DispatchOptions dispatch = {};
  std::uint64_t memory_budget = 0;  // bytes; 0: none
};

// A lease that begins. The payload is for the server to read.
struct Grant {
  TaskRef task;
  std::uint32_t attempt = 1;
  milliseconds lease{0};
  milliseconds timeout{0};  // 0: none
  std::uint32_t count = 1;  // tasks of the job
  PayloadRef payload;
  std::string payload_prefix;  // empty for most
  std::string trace;           // empty for most
};

struct WorkerSpec {
  WorkerId id;  // new, or that of the same process before
  std::string name;
  std::vector<std::string> tags;  // sorted, without duplicates
  Properties properties;
  Meta attributes;
  ExprPtr requirements;
  ExprPtr rank;
  StrategyPtr strategy;  // null: `priority`
  std::uint32_t slots = 1;
  bool connected = false;       // stays connected (WebSocket): gone means grace; otherwise silence does
  std::string address;          // for people
  std::string user;             // of the token that it came with; for people
  std::string token;            // its id; what it uses of the queue's strategies counts for its user, or else for it
  std::vector<TaskRef> resume;  // what it still holds
};

// What `worker set` changes; what is not named stays.
struct WorkerChange {
  std::optional<std::vector<std::string>> tags;
  std::optional<Properties> properties;
  std::optional<Meta> attributes;
  std::optional<ExprPtr> requirements;  // null: none any more
  std::optional<ExprPtr> rank;
  std::optional<StrategyPtr> strategy;  // null: `priority`
};

struct PullOptions {
  std::uint32_t credit = 1;      // how many tasks it wants now; replaces what was left of an earlier pull. 0: none
  bool once = false;             // the first grant batch uses the whole credit up (HTTP)
  std::optional<Duration> wait;  // how long an empty pull waits; none: until it is used up or replaced
  StrategyPtr strategy = {};     // for this pull; null: the worker's own
};

enum class ReportKind : std::uint8_t {
  kDone,      // finished
  kFailed,    // this attempt failed; again after its backoff, if attempts are left
  kRejected,  // failed for good: no further attempt
  kReleased,  // not started: queued again, counting no attempt
};

struct Report {
  TaskRef task;
  ReportKind kind = ReportKind::kDone;
  std::optional<milliseconds> retry_in = {};  // kFailed: when its next attempt may start, instead of after its backoff
};

// How far a running task is, as its worker says. Known for as long as the lease lives, and not stored.
struct TaskProgress {
  double done = 0;
  std::optional<double> of;  // none: how much there is is not known
  std::string note;
};
struct ProgressReport {
  TaskRef task;
  TaskProgress progress;
};

enum class ReportVerdict : std::uint8_t {
  kTaken,
  kStale,      // not the task's lease (any more): nothing changed
  kCancelled,  // the job had ended: the lease is over, the outcome is not kept
};

// An order to a worker: stop this task. It still reports, or releases, the lease.
struct StopRequest {
  WorkerId worker;
  TaskRef task;
  std::string_view reason;  // "cancelled", "job_failed", "timeout", "expired"
};

struct GrantBatch {
  WorkerId worker;
  std::vector<Grant> grants;  // empty, with `once` alone: the pull has waited long enough for nothing
};

// Why an attempt ended that no worker reported; stored as the task's error.
struct EngineError {
  JobId job;
  TaskIndex index = 0;
  std::uint32_t attempt = 0;
  std::string_view text;
};

// Something about a limit that is worth a line in the log.
struct LimitNotice {
  enum class Kind : std::uint8_t {
    kExpired,     // its lease has ended, and it with it
    kCostFailed,  // the cost of some start could not be evaluated, and counts as 1; said once
    kSummary,     // it was in the way since the last one
  };
  Kind kind = Kind::kExpired;
  LimitName limit;
  LimitSummary summary;
};

// What follows from commands. All of it may leave only once `events` is durable.
struct Effects {
  std::string events;
  std::uint32_t event_count = 0;
  std::vector<GrantBatch> grant_batches;
  std::vector<StopRequest> stop_requests;
  std::vector<WorkerId> drains;   // told to finish what they hold and go
  std::vector<WorkerId> gone;     // no longer registered: timed out, or their grace is over
  std::vector<JobId> ended;       // jobs that reached an end state
  std::vector<JobId> progressed;  // watched jobs of which a task ended, or whose state changed
  std::vector<EngineError> errors;
  std::vector<Removal> removed;  // past their retention
  std::vector<LimitNotice> limit_notices;
  bool empty() const {
    return events.empty() && grant_batches.empty() && stop_requests.empty() && drains.empty() && gone.empty() &&
           ended.empty() && progressed.empty() && errors.empty() && removed.empty() && limit_notices.empty();
  }
};

struct SubmitAnswer {
  JobId job;
  bool existing = false;               // found by its idempotency key
  std::uint32_t matching_workers = 0;  // registered ones that may run it
};

struct RegisterAnswer {
  WorkerId worker;
  std::uint64_t key = 0;  // to come back as the same worker
  std::vector<TaskRef> resumed;
  std::vector<TaskRef> lost;  // named in `resume`, but not this worker's any more
};

struct FoldStep {
  std::vector<Record> records;
  Position floor = 0;  // events up to here are in records handed out so far, this step included
};

}  // namespace allot
