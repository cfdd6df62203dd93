// SPDX-License-Identifier: Apache-2.0
// What looks at a queue give.
#pragma once

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
#include "base/result.h"
#include "base/time.h"
#include "dispatch/dispatch_mode.h"
#include "engine/memory_use.h"
#include "engine/types.h"
#include "expr/expr.h"
#include "limits/limit.h"
#include "match/reason.h"
#include "strategy/strategy.h"
#include "strategy/weights.h"

namespace allot {

// Why what waits of a job does not run, as far as that is known without looking at single workers: for lists, where
// everyone has one. An explanation (engine/looks/explain.h) has all reasons.
struct WaitReason {
  ReasonCode code = ReasonCode::kCanStart;
  std::optional<WallTime> since;  // to about a second; none: not known, as from before the start
};

// A job as people see it.
struct JobView : JobDetails {
  JobId id;
  JobState state = JobState::kActive;
  bool paused = false;  // the same as state kPaused
  // In common with the job itself: a list of a thousand jobs copies none of it.
  Interned<std::vector<std::string>> tags;
  Interned<std::vector<Properties>> constraints;
  Interned<std::vector<std::string>> constraint_tags;  // one for each alternative
  Interned<Meta> meta;
  ExprPtr requirements;
  ExprPtr rank;
  std::optional<std::int64_t> priority;
  std::string user;
  bool async = true;
  PayloadRef payload;
  std::uint32_t count = 0, queued = 0, running = 0, retrying = 0, done = 0, failed = 0, skipped = 0;
  std::uint32_t promised = 0;  // of the queued ones, in queues of workers; the others are open to all
  std::uint32_t max_attempts = 0;
  std::uint32_t max_failed_tasks = 0;
  Backoff backoff;
  milliseconds lease{0}, timeout{0}, retention{0};
  WallTime submitted_at{};
  WallTime scheduled_for{};
  std::optional<WallTime> started_at;  // first grant
  std::optional<WallTime> ended_at;
  std::optional<WallTime> next_retry_at;
  std::optional<double> progress;         // of running tasks, in tasks; none: none says so
  std::string_view reason;                // why it failed, where it did
  std::optional<WaitReason> wait_reason;  // none: nothing of it waits
};

struct TaskView {
  TaskIndex index = 0;
  TaskState state = TaskState::kQueued;
  std::uint32_t attempts = 0;  // deliveries so far, as far as they are known: 0 for done and failed ones
  WorkerId worker;             // while running
  std::optional<WallTime> started_at;
  std::optional<WallTime> retry_at;      // while retrying
  std::optional<TaskProgress> progress;  // while running, where its worker says so
};

// What a worker may know of a job whose tasks it is given.
struct JobHeaderView {
  JobId id;
  Interned<std::vector<std::string>> tags;
  Interned<Meta> meta;
  std::string user;
};

// A task at its end.
struct EndedTask {
  TaskIndex index = 0;
  TaskState state = TaskState::kDone;  // kDone, kFailed or kSkipped
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
  std::uint32_t running = 0;
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
struct LimitOnJob {
  LimitStatus limit;
  // Where it reads the worker: of those that may run the job, how many it applies to, and how many it blocks now.
  std::uint32_t workers = 0, workers_blocked = 0;
  std::uint32_t free_blocked = 0;  // of the latter, those that could take it at once but for limits
  bool stops = false;              // its count is 0
};
// All that apply to the starts of one job.
struct LimitsOnJob {
  std::vector<LimitOnJob> all;
  // Of the workers that may run the job: those that have a free slot, are not draining and not away; and on how many of
  // these a limit that reads the worker, any of them, blocks it.
  std::uint32_t free = 0, free_blocked = 0;
};

// How the tasks of one job stand, over the range of their indices.
struct TaskPicture {
  struct Part {
    std::uint32_t queued = 0, running = 0, retrying = 0, done = 0, failed = 0, skipped = 0;
  };
  std::uint32_t count = 0;
  TaskIndex from = 0, to = 0;  // the range; `to` is not in it
  std::uint32_t width = 1;     // tasks of a part; the last may have fewer
  std::vector<Part> parts;
};

// A limit, or a ceiling of a strategy, and how many tasks it stops.
struct BlockedByLimit {
  LimitName limit;
  std::uint64_t tasks = 0;
};
struct BlockedByCeiling {
  bool own = false;  // of the workers' own strategies; else of the policy
  std::string key;
  std::optional<std::string> value;  // as GroupText
  std::uint64_t running = 0, max = 0;
  std::uint64_t tasks = 0;
};

// What keeps tasks from running, over all that wait: those alike together.
struct ReasonRow {
  ReasonCode code = ReasonCode::kCanStart;
  std::uint64_t tasks = 0, jobs = 0, classes = 0;
  std::optional<WallTime> since;  // of the longest
  JobId job;                      // one of them, of the class with the most tasks; 0: none is known
  std::vector<std::string> tags;  // of that class
  // Where limits or ceilings stop them: those that stop the most, a few, as of the last second or so. A task that
  // several stop is counted under the one that does so longest.
  std::vector<BlockedByLimit> limits;
  std::vector<BlockedByCeiling> ceilings;
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
  std::uint64_t queued = 0, retrying = 0, running = 0;
  std::uint64_t started = 0;       // since the start
  double recent = 0;               // starts a second, of the last minute or so
  std::optional<WallTime> oldest;  // since when the oldest queued job has waited
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
  // Of all users that have something queued or running.
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
                jobs_cancelled = 0;                                       // kept now
  std::uint64_t tasks_queued = 0, tasks_retrying = 0, tasks_running = 0;  // now
  std::uint64_t submitted_jobs = 0, submitted_tasks = 0, granted = 0, done = 0, failed_attempts = 0, failed_tasks = 0,
                expired = 0, stale = 0;  // since the start
  // Looks on behalf of waiting workers, because something changed, that found nothing for them. Workers alike in kind
  // and strategy are looked after together, and nobody is woken without a look that found something.
  std::uint64_t woken_empty = 0;
  std::uint64_t workers = 0, workers_waiting = 0, workers_away = 0;
  std::uint64_t classes = 0, kinds = 0, strategies = 0;
  std::uint64_t limits = 0;          // now
  std::uint64_t limits_waiting = 0;  // groups of alike jobs, or of those on alike workers, that wait for a limit
  std::uint64_t limit_denials = 0;   // starts that met a limit which blocked them, since the start
  DispatchMode dispatch = DispatchMode::kFanout;
  std::uint64_t tasks_promised = 0;  // of the queued ones, in queues of workers
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

}  // namespace allot
