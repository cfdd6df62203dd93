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
#include "base/job.h"
#include "base/record.h"
#include "base/result.h"
#include "base/shared.h"
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
  bool once = false;             // the first assignment uses the whole credit up (HTTP)
  std::optional<Duration> wait;  // how long an empty pull waits; none: until it is used up or replaced
  StrategyPtr strategy = {};     // for this pull; null: the worker's own
};

enum class ReportKind : std::uint8_t {
  kDone,      // finished
  kFailed,    // this attempt failed; again after its backoff, if attempts are left
  kRejected,  // failed for good: no further attempt
  kReleased,  // not started: back to ready, counting no attempt
};

struct Report {
  TaskRef task;
  ReportKind kind = ReportKind::kDone;
};

enum class ReportVerdict : std::uint8_t {
  kTaken,
  kStale,      // not the task's lease (any more): nothing changed
  kCancelled,  // the job had ended: the lease is over, the outcome is not kept
};

// An order to a worker: stop this task. It still reports, or releases, the lease.
struct CancelOrder {
  WorkerId worker;
  TaskRef task;
  std::string_view reason;  // "cancelled", "job_failed", "timeout", "expired"
};

struct Assignment {
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
    kCostFailed,  // the cost of some start could not be evaluated, and counts as 1; told once
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
  std::vector<Assignment> assignments;
  std::vector<CancelOrder> cancels;
  std::vector<WorkerId> drains;   // told to finish what they hold and go
  std::vector<WorkerId> gone;     // no longer registered: timed out, or their grace is over
  std::vector<JobId> ended;       // jobs that reached an end state
  std::vector<JobId> progressed;  // watched jobs of which a task ended, or whose state changed
  std::vector<EngineError> errors;
  std::vector<Removal> removed;  // past their retention
  std::vector<LimitNotice> limit_notices;
  bool empty() const {
    return events.empty() && assignments.empty() && cancels.empty() && drains.empty() && gone.empty() &&
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

// Why what waits of a job does not run, as far as that is known without looking at single workers: for lists, where
// everyone has one. An explanation (engine/looks/explain.h) has all reasons.
struct HeldView {
  ReasonCode code = ReasonCode::kCanStart;
  std::optional<WallTime> since;  // to about a second; none: not known, as from before the start
};

// A job as people see it.
struct JobView {
  JobId id;
  JobState state = JobState::kActive;
  bool paused = false;  // the same as state kPaused
  // In common with the job itself: a list of a thousand jobs copies none of it.
  Shared<std::vector<std::string>> tags;
  Shared<std::vector<Properties>> constraints;
  Shared<std::vector<std::string>> constraint_tags;  // one for each alternative
  Shared<Meta> meta;
  ExprPtr requirements;
  ExprPtr rank;
  std::optional<std::int64_t> priority;
  std::string user;
  bool async = true;
  PayloadRef payload;
  std::string payload_prefix;
  std::string idempotency_key;
  std::string trace;
  std::uint32_t count = 0, ready = 0, leased = 0, waiting = 0, done = 0, failed = 0, skipped = 0;
  std::uint32_t promised = 0;  // of the ready ones, in queues of workers; the others are open to all
  std::uint32_t max_attempts = 0;
  std::uint32_t max_failed_tasks = 0;
  Backoff backoff;
  milliseconds lease{0}, timeout{0}, retention{0};
  WallTime submitted_at{};
  WallTime scheduled_for{};
  std::optional<WallTime> started_at;  // first grant
  std::optional<WallTime> ended_at;
  std::optional<WallTime> next_retry_at;
  std::string_view reason;       // why it failed, where it did
  std::optional<HeldView> held;  // none: nothing of it waits
};

struct TaskView {
  TaskIndex index = 0;
  TaskState state = TaskState::kReady;
  std::uint32_t attempts = 0;  // deliveries so far, as far as they are known: 0 for done and failed ones
  WorkerId worker;             // while leased
  std::optional<WallTime> leased_at;
};

// Tasks of one job that a worker was promised.
struct PromisedView {
  JobId job;
  std::uint32_t tasks = 0;
  std::optional<std::int64_t> priority;
  std::string user;
  std::vector<std::string> tags;
};

struct WorkerView {
  WorkerId id;
  std::string name;
  std::vector<std::string> tags;
  Properties properties;
  std::vector<std::string> constraint_tags;  // of every subset of its properties; only where one worker is shown
  Meta attributes;
  ExprPtr requirements;
  ExprPtr rank;
  StrategyPtr strategy;
  std::uint32_t slots = 0;
  std::uint32_t leased = 0;
  std::uint32_t credit = 0;  // waiting for so many
  bool draining = false;
  bool connected = false;
  bool away = false;  // lost its connection, in its grace time
  std::string address;
  std::string user;
  WallTime registered_at{};
  WallTime last_seen{};
  std::vector<TaskRef> tasks;  // at most the first 1,000
  // Of a queue with balanced dispatch: what it was promised, in tasks and in jobs.
  std::uint64_t promised = 0, promised_jobs = 0;
  // Where one is shown: at most the first 100, highest priority first, then oldest; of more than 10,000 jobs, of some
  // of them.
  std::vector<PromisedView> queue;
};

struct WorkerPage {
  std::vector<WorkerView> workers;
  bool more = false;  // behind the last one
};

// How a limit stands to the starts of one job.
struct LimitHold {
  LimitStanding limit;
  // Where it reads the worker: of those that may run the job, how many it applies to, and how many it holds back now.
  std::uint32_t workers = 0, workers_held = 0;
  std::uint32_t free_held = 0;  // of the latter, those that could take it at once but for limits
  bool stops = false;           // its count is 0
};
// All that apply to the starts of one job.
struct LimitHolds {
  std::vector<LimitHold> holds;
  // Of the workers that may run the job: those that have a free slot, are not draining and not away; and on how many of
  // these a limit that reads the worker, any of them, holds it back.
  std::uint32_t free = 0, free_held = 0;
};

// How the tasks of one job stand, over the range of their indices.
struct TaskPicture {
  struct Part {
    std::uint32_t ready = 0, leased = 0, waiting = 0, done = 0, failed = 0, skipped = 0;
  };
  std::uint32_t count = 0;
  TaskIndex from = 0, to = 0;  // the range; `to` is not in it
  std::uint32_t width = 1;     // tasks of a part; the last may have fewer
  std::vector<Part> parts;
};

// A limit, or a ceiling of a strategy, and how many tasks it stops.
struct HeldByLimit {
  LimitName limit;
  std::uint64_t tasks = 0;
};
struct HeldByCeiling {
  bool own = false;  // of the workers' own strategies; else of the policy
  std::string key;
  std::optional<std::string> value;  // as GroupText
  std::uint64_t running = 0, max = 0;
  std::uint64_t tasks = 0;
};

// What holds tasks back, over all that wait: those alike together.
struct ReasonRow {
  ReasonCode code = ReasonCode::kCanStart;
  std::uint64_t tasks = 0, jobs = 0, classes = 0;
  std::optional<WallTime> since;  // of the longest
  JobId job;                      // one of them, of the class with the most tasks; 0: none is known
  std::vector<std::string> tags;  // of that class
  // Where limits or ceilings stop them: those that stop the most, a few, as of the last second or so. A task that
  // several stop is counted under the one that does so longest.
  std::vector<HeldByLimit> limits;
  std::vector<HeldByCeiling> ceilings;
  // What a worker needs to run that job, where none may.
  std::vector<Properties> constraints;
  ExprPtr requirements;
  std::shared_ptr<const expr::Ad> ad;
};

// How one user fares.
struct UserView {
  std::string user;
  std::uint32_t weight = 1;
  std::uint64_t jobs = 0;  // that have not ended
  std::uint64_t ready = 0, waiting = 0, running = 0;
  std::uint64_t started = 0;       // since the start
  double recent = 0;               // starts a second, of the last minute or so
  std::optional<WallTime> oldest;  // since when the oldest ready job has waited
  TimeHistogram waited;            // of starts: from when the job could run, until they began
};
struct UserQuery {
  std::string after;  // in order of name
  std::size_t limit = 100;
  std::optional<std::string> only;
};
struct UserPage {
  std::vector<UserView> users;
  std::optional<std::string> next;
  // Of all users that have something ready or running.
  std::uint64_t active = 0, weights = 0, running = 0;
  double recent = 0;
};

struct JobQuery {
  std::optional<JobId> before;  // newest first, those below this id
  std::size_t limit = 100;
  std::optional<JobState> state;
  std::string tag;   // empty: any
  std::string user;  // empty: any
};

struct JobPage {
  std::vector<JobView> jobs;
  std::optional<JobId> next;  // go on with before = next; none: that was all
};

struct TaskQuery {
  JobId job;
  TaskIndex from = 0;
  std::size_t limit = 100;
  std::optional<TaskState> state;
};

struct TaskPage {
  std::vector<TaskView> tasks;
  std::optional<TaskIndex> next;
};

struct EngineStats {
  std::uint64_t jobs_scheduled = 0, jobs_active = 0, jobs_paused = 0, jobs_done = 0, jobs_failed = 0,
                jobs_cancelled = 0;                                    // kept now
  std::uint64_t tasks_ready = 0, tasks_waiting = 0, tasks_leased = 0;  // now
  std::uint64_t submitted_jobs = 0, submitted_tasks = 0, granted = 0, done = 0, failed_attempts = 0, failed_tasks = 0,
                expired = 0, stale = 0;  // since the start
  // Looks on behalf of waiting workers, because something changed, that found nothing for them. Workers alike in kind
  // and strategy are looked after together, and nobody is woken without a look that found something.
  std::uint64_t woken_empty = 0;
  std::uint64_t workers = 0, workers_waiting = 0, workers_away = 0;
  std::uint64_t classes = 0, kinds = 0, strategies = 0;
  std::uint64_t limits = 0;          // now
  std::uint64_t limits_waiting = 0;  // groups of alike jobs, or of those on alike workers, that wait for a limit
  std::uint64_t limit_denials = 0;   // starts that met a limit which held them back, since the start
  DispatchMode dispatch = DispatchMode::kFanout;
  std::uint64_t tasks_promised = 0;  // of the ready ones, in queues of workers
  std::uint64_t longest_queue = 0;   // the most tasks that one worker was promised
  // Since the start: tasks that went from one worker's queue to another's because it left, may not run them any more,
  // or had more than others; tasks that a worker took from another's queue because it had nothing to do; and pops of a
  // task that somebody else had taken, of which there are none.
  std::uint64_t dispatch_moves = 0, dispatch_steals = 0, wasted_pops = 0;
  std::uint64_t unfolded_events = 0, dirty_records = 0;
  MemoryUse memory;
  bool paused = false;
  std::optional<WallTime> paused_since;  // none: from before the start
  std::uint64_t slots = 0;               // of all registered workers
  std::uint64_t workers_draining = 0;
  // The waiting job that was submitted first, and since when it could run; 0: none waits.
  JobId oldest_waiting;
  WallTime oldest_waiting_since{};
  TimeHistogram waited;  // of starts: from when their job could run, until they began
  TimeHistogram ran;     // of attempts: from their start until they ended, however they did
};

struct FoldStep {
  std::vector<Record> records;
  Position floor = 0;  // events up to here are in records handed out so far, this step included
};

}  // namespace allot
