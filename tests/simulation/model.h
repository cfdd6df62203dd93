// SPDX-License-Identifier: Apache-2.0
// The queue as one would write it without a thought for speed: plain maps and vectors, every question answered by
// looking at everything. Written from the design and from the contracts in engine.h, as the other half of a comparison.
//
// Two things it takes over from the engine, because the design leaves them to chance: the due time of a retry with
// jitter (AdoptDue), and whether a schedule or a due time that had passed before a crash is still held to have passed
// after it, when the clock went back meanwhile (AdoptScheduled, AdoptRetrying).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/looks/views.h"
#include "engine/types.h"
#include "expr/expr.h"
#include "strategy/pick_job.h"

namespace allot::simulation {

// Something that the engine did to the world. Which fields mean something depends on the kind.
struct Fact {
  enum class Kind { kGrant, kNothing, kCancel, kDrain, kGone, kEnded, kError, kRemoved };
  Kind kind = Kind::kGrant;
  std::uint64_t worker = 0, job = 0, index = 0, attempt = 0, serial = 0;
  std::string_view why;
  friend bool operator==(const Fact&, const Fact&) = default;
};
std::string ToText(const Fact& fact);

struct Model {
  struct Task {
    TaskState state = TaskState::kQueued;
    std::uint32_t used = 0;  // attempts
    WallTime due{};
    bool promoted = false;  // was queued because `due` had passed, and was not touched since
  };
  struct Job {
    JobId id;
    JobSpec spec;
    std::set<std::string> tags;
    JobState state = JobState::kActive;
    bool failed_by_tasks = false;
    WallTime scheduled_for{};
    WallTime submitted_at{}, started_at{}, ended_at{};
    std::vector<Task> tasks;
    Stamp picked;                                // the last time that a task of it was granted
    mutable std::shared_ptr<const expr::Ad> ad;  // what it shows, once asked for; null after a change
    std::uint32_t in_state[5] = {};              // how many tasks, by TaskState; checked by CountsAddUp()
  };
  struct Worker {
    WorkerId id;
    WorkerSpec spec;
    std::set<std::string> tags;
    bool registered = false, away = false, draining = false, once = false, waiting = false;
    std::uint32_t credit = 0;
    std::uint64_t sequence = 0;
    std::optional<Instant> pull_until;
    Instant away_until{}, last_seen{};
    WallTime registered_at{};
    StrategyPtr pull_strategy;  // of the present pull; null: its own
    mutable std::shared_ptr<const expr::Ad> ad;
  };
  struct Lease {
    TaskRef task;  // without its hash
    WorkerId worker;
    std::uint32_t attempt = 0;
    bool stop_requested = false;
    Instant granted{};
    WallTime granted_at{};
  };

  explicit Model(const EngineOptions& engine_options) : options(engine_options) {}

  // Commands, as the engine's. `genuine` says of a lease id that it was really issued for its task.
  using Failure = std::optional<Code>;
  Failure Submit(const Now& at, const std::vector<JobId>& ids, const std::vector<JobSpec>& specs,
                 std::vector<SubmitAnswer>& answers);
  Failure Change(const Now& at, JobId id, const JobChange& change);
  Failure Cancel(const Now& at, JobId id);
  Failure Pause(const Now& at, JobId id);
  Failure Resume(const Now& at, JobId id);
  Failure Retry(const Now& at, JobId id, std::uint32_t& again);
  void PauseQueue(const Now& at, bool pause);
  Failure Register(const Now& at, const WorkerSpec& spec, bool right_key, const std::vector<bool>& genuine,
                   RegisterAnswer& answer);
  Failure ChangeWorker(const Now& at, WorkerId id, const WorkerChange& change);
  Failure Heartbeat(const Now& at, WorkerId id);
  Failure Pull(const Now& at, WorkerId id, const PullOptions& pull);
  Failure ReportAll(const Now& at, WorkerId id, const std::vector<Report>& reports, const std::vector<bool>& genuine,
                    std::vector<ReportVerdict>& verdicts);
  Failure Extend(const Now& at, WorkerId id, const std::vector<TaskRef>& refs, const std::vector<bool>& genuine,
                 std::vector<bool>& own);
  Failure Drain(const Now& at, WorkerId id);
  void Disconnect(const Now& at, WorkerId id);
  void Unregister(const Now& at, WorkerId id);
  void Undelivered(const Now& at, const std::vector<TaskRef>& refs, const std::vector<bool>& genuine);
  void Tick(const Now& at);

  // Everything that was not durable is gone, and the server is back at `at`.
  void Crash(const Now& at, Duration grace);
  void AdoptDue(JobId id, WallTime due);
  void AdoptScheduled(JobId id);
  void AdoptRetrying(JobId id, TaskIndex index);

  // No later than this something happens in a tick.
  std::optional<Instant> NextEvent(const Now& at) const;
  std::uint32_t WorkersFor(const Job& job) const;
  // The four conditions of matching, and what either side thinks of the other.
  struct Match {
    bool may = false;
    double job_rank = 0, worker_rank = 0;
    auto operator<=>(const Match&) const = default;
  };
  static Match Judge(const Worker& worker, const Job& job);
  void SetPolicy(const Now& at, const StrategyPtr& policy, const Weights& weights);
  bool CountsAddUp() const;
  // What happened since the last call: grants first, then the rest by kind.
  std::vector<Fact> TakeFacts();

  EngineOptions options;
  std::map<JobId, Job> jobs;
  std::map<WorkerId, Worker> workers;
  std::map<std::uint64_t, Lease> leases;  // by serial, which is the order of granting
  // When users were served last, also by jobs that are gone since; until a user has no job left.
  std::map<std::string, Stamp> served_at;
  std::uint64_t next_serial = 1;
  std::uint64_t next_sequence = 0;
  bool paused = false;
  std::set<JobId> unknown_due;  // a task of these waits for a time that only the engine knows
  EngineStats stats;            // only what is counted since the start

 private:
  void Begin(const Now& at);
  WallTime Steady() const;
  Job* FindJob(JobId id);
  Worker* FindRegistered(WorkerId id);
  Lease* FindLease(const TaskRef& ref, bool genuine);
  bool HasLeases(WorkerId id) const;
  void Set(Job& job, TaskIndex index, TaskState state, std::uint32_t used);
  Job* FirstJob(const Worker& worker);
  bool Serve(Worker& worker);
  // The first by policy and strategy, which is more than the order of priorities.
  Job* FirstByStrategy(const Worker& worker);
  std::uint64_t AllSlots() const;
  void Grant(Worker& worker, Job& job);
  void Wake();
  void Seen(Worker& worker);
  void StopWaiting(Worker& worker);
  void Nothing(const Worker& worker);
  ReportVerdict ReportOne(const Report& report, bool genuine);
  void GiveBack(std::uint64_t serial, bool counted, std::string_view why);
  void AttemptFailed(std::uint64_t serial, bool final);
  void Settle(Job& job);
  void End(Job& job, JobState state);
  void ByClock(Job& job);
  std::optional<Instant> DueOf(const Worker& worker) const;
  void Check(Worker& worker);
  void Forget(JobId id);
  // Of the user's jobs, that one alone is left to tell.
  bool LastOfUser(const Job& job) const;

  Now now_;
  Now boot_;
  bool begun_ = false;
  Duration stalled_{0};
  Instant time_{};  // monotonic, without stalls
  std::vector<Fact> granted_, cancels_, drains_, gone_, ended_, errors_, removed_;
};

}  // namespace allot::simulation
