// The one decision: which worker gets which task next. One engine per queue.
//
// A deterministic state machine: no clock, no threads, no I/O, no chance of its own. Commands go in with the time,
// effects come out. The same commands at the same times with the same options give the same effects, to the byte.
//
// Use:        call commands, then Take() what follows from them as one batch, store its events under the position
//             that it names, and let everything else in it leave when they are durable. Call Tick() at NextWake(), or
//             sooner. Now and then store what Fold() gives, in order.
// Start:      LoadRecord() for every record, Replay() for every journal entry, then FinishLoad(), before any command.
// Threading:  confined to the queue's engine thread.
// Invariants: at most one live lease per task; a lease serial is never reused; counts of jobs and tasks are exact.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/record.h"
#include "engine/jobs/job_batch.h"
#include "engine/looks/looks.h"
#include "engine/looks/prepared_looks.h"
#include "engine/types.h"
#include "limits/limit.h"

namespace allot {

struct EngineJob;
struct EngineParts;
class JobSweep;
enum class SweepAction : std::uint8_t;

class Engine {
 public:
  explicit Engine(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // --- Jobs. Each fails with kUnknownJob where there is none of that id.

  // Takes the job as `id`, which must be above all before it. With an idempotency key that the job's user has used
  // before: answers with that job (kIdempotencyConflict for other content). kTooManyJobs, kTooManyClasses at the
  // bounds, kMemoryFull where the budget is used up.
  Result<SubmitAnswer> Submit(const Now& now, JobId id, const JobSpec& spec);
  // All of them, or none. Same ids and order as single submits. `folds`: FoldOf() each, where that was done before.
  Result<std::vector<SubmitAnswer>> SubmitAll(const Now& now, std::span<const JobId> ids,
                                              std::span<const JobSpec> specs, std::span<const JobFold> folds = {});
  // For a thousand large jobs, which take long: makes the next ones ready; true once all are. Nobody sees any of them
  // before SubmitAll(). Fails as that does. Unless it has failed, SubmitAll() or Unstage() must follow.
  Result<bool> Stage(const Now& now, JobBatch& batch);
  Result<std::vector<SubmitAnswer>> SubmitAll(const Now& now, std::span<const JobId> ids, JobBatch& batch);
  void Unstage(JobBatch& batch);
  // Running tasks stay; the others are matched and ordered anew. kJobEnded.
  Result<void> Change(const Now& now, JobId job, const JobChange& change);
  // Queued and retrying tasks are skipped; workers that hold one are told. Cancelling an ended job changes nothing.
  Result<void> Cancel(const Now& now, JobId job);
  // No grants until resumed; leases go on. kJobEnded.
  Result<void> Pause(const Now& now, JobId job);
  Result<void> Resume(const Now& now, JobId job);
  // Failed and skipped tasks are queued again with fresh attempts. kJobActive while it has not ended. A task that a
  // worker was told to stop goes on if the worker finishes it all the same, and runs again otherwise. Returns how many
  // tasks are not done, and so will run again.
  Result<std::uint32_t> Retry(const Now& now, JobId job);

  // --- The queue.
  // Changes two of the options; times that run already keep their length.
  void Configure(Duration worker_grace, std::size_t max_finished_jobs);
  // Longer leases of limits are cut to it from now on.
  void SetMaxLimitExpiration(Duration most);
  // How long whoever was denied a start counts as denied after that (LimitTable::Exclusions), from now on.
  void SetLimitBanWindow(Duration window);
  // What holds for all workers; takes over once its order is built.
  void SetPolicy(const Now& now, const StrategyPtr& policy, const Weights& weights);
  // New jobs, strategies and limits that would take it beyond are refused (kMemoryFull); what is there stays, also if
  // it is more. 0: none.
  void SetMemoryBudget(std::uint64_t bytes);
  // Who holds queued tasks. From one to the other, or to another balance, nothing is lost: queued tasks are promised,
  // or are open again, in steps.
  void SetDispatch(const Now& now, const DispatchOptions& dispatch);
  void PauseQueue(const Now& now);
  void ResumeQueue(const Now& now);

  // --- Limits on starts (limits/limit.h). They end with their lease, or the engine. What fails changes nothing.

  // A new one, in force at once. kBadValue, also for a uuid that is in use; kTooManyLimits.
  Result<LimitLease> CreateLimit(const Now& now, std::string_view uuid, const LimitSpec& spec);
  // Keeps counters and the bucket's level. kBadValue, kUnknownLimit.
  Result<LimitLease> UpdateLimit(const Now& now, std::string_view uuid, const LimitSpec& spec);
  // A new lease, as long as the last one if none is given. kBadValue, kUnknownLimit.
  Result<LimitLease> RenewLimit(const Now& now, std::string_view uuid, std::optional<Duration> expires_in);
  Result<void> DeleteLimit(const Now& now, std::string_view uuid);

  // --- Workers. Each fails with kUnknownWorker where there is none of that id. Any of them is a sign of life.

  // Also for a worker that comes back: leases that it lists go on, others of its own are queued again, counting no
  // attempt. `key` proves that it is the same one (from RegisterAnswer); a spec.id of 0 is an error of the caller.
  Result<RegisterAnswer> Register(const Now& now, const WorkerSpec& spec, std::optional<std::uint64_t> key);
  // Waiting jobs are matched with it anew, at once; what it holds stays. Not a sign of life: others may do it.
  Result<void> ChangeWorker(const Now& now, WorkerId worker, const WorkerChange& change);
  Result<void> Heartbeat(const Now& now, WorkerId worker);
  // Grants come as an Assignment in the effects, now or later.
  Result<void> Pull(const Now& now, WorkerId worker, const PullOptions& options);
  // One verdict each, in order.
  Result<std::vector<ReportVerdict>> ReportAll(const Now& now, WorkerId worker, std::span<const Report> reports);
  // False for each lease that is not this worker's (any more).
  Result<std::vector<bool>> Extend(const Now& now, WorkerId worker, std::span<const TaskRef> tasks);
  // No new tasks, for as long as it is registered, lost connections included; what it holds goes on.
  Result<void> Drain(const Now& now, WorkerId worker);
  // Its connection is gone; it may come back within its grace time. Not an error for unknown workers.
  void Disconnect(const Now& now, WorkerId worker);
  // It leaves for good. What it still holds counts as a delivery and is queued again, or fails.
  void Unregister(const Now& now, WorkerId worker);
  // These grants never left the server: queued again, counting no attempt.
  void Undelivered(const Now& now, std::span<const TaskRef> tasks);

  // --- Time.

  // Does what is due: schedules, retries, expired leases, timeouts, waiting pulls, retention, and a bounded piece of
  // any larger work. After a bounded amount it stops; NextWake() is then at once.
  void Tick(const Now& now);
  // When Tick() has something to do; none if nothing is pending.
  std::optional<Instant> NextWake(const Now& now) const;

  // --- What follows.

  // The effects since the last Take(), and the position that their events belong to. Positions increase by one for each
  // Take() with events.
  std::pair<Position, Effects> Take();
  // True if Take() would give something.
  bool HasEffects() const;

  // --- Records. Folding replaces journal entries by records.

  // Hands out changed records, about `max_bytes` of them (at least one, if any). To be stored after all events taken
  // before, in order. REQUIRES: !HasEffects().
  FoldStep Fold(std::size_t max_bytes);

  Result<void> LoadRecord(JobId job, std::uint32_t page, std::string_view blob);
  Result<void> Replay(Position position, std::string_view events);
  // Leases found are kept for `grace`, then end with their attempt counted; 0 ends them at once.
  void FinishLoad(const Now& now, Duration grace);

  // --- Many jobs at once, in steps like a look (engine/job_sweep.h): counts those that a filter finds, and changes
  // each of them, unless it is only to count.
  bool Sweep(const Now& now, JobSweep& sweep, std::size_t budget);

  // --- For those who look.
  const Looks& looks() const { return looks_; }
  PreparedLooks& prepared_looks() { return prepared_looks_; }
  // Asks for `progressed` effects of that job; calls nest.
  Result<void> Watch(JobId job);
  void Unwatch(JobId job);

 private:
  friend class EngineCheck;  // tests look inside

  // What every command shares.
  void Begin(const Now& now);
  void End();
  // True if it did something.
  bool Act(const Now& now, EngineJob& job, SweepAction action, std::int64_t& nanoseconds);

  const std::unique_ptr<EngineParts> parts_;
  EngineParts& p_;
  const Looks looks_;
  PreparedLooks prepared_looks_;
};

}  // namespace allot
