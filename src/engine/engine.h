// The one decision: which worker gets which task next. One engine per queue.
//
// A deterministic state machine: no clock, no threads, no I/O, no chance of its own. Commands go in with the time, effects
// come out. The same commands at the same times with the same options give the same effects, to the byte.
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

#include "engine/types.h"

namespace allot {

class Engine {
 public:
  explicit Engine(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // --- Jobs. Each fails with kUnknownJob where there is none of that id.

  // Takes the job as `id`, which must be above all before it. With an idempotency key that is known: answers with that job
  // (kIdempotencyConflict for other content). kTooManyJobs, kTooManyClasses at the bounds.
  Result<SubmitAnswer> Submit(const Now& now, JobId id, const JobSpec& spec);
  // All of them, or none. Same ids and order as single submits.
  Result<std::vector<SubmitAnswer>> SubmitAll(const Now& now, std::span<const JobId> ids, std::span<const JobSpec> specs);
  // Leased tasks stay; the others are matched and ordered anew. kJobEnded.
  Result<void> Change(const Now& now, JobId job, const JobChange& change);
  // Ready and waiting tasks are skipped; workers that hold one are told. Cancelling an ended job changes nothing.
  Result<void> Cancel(const Now& now, JobId job);
  // No grants until resumed; leases go on. kJobEnded.
  Result<void> Pause(const Now& now, JobId job);
  Result<void> Resume(const Now& now, JobId job);
  // Failed and skipped tasks become ready with fresh attempts. kJobActive while it has not ended.
  // Returns how many tasks will run again.
  Result<std::uint32_t> Retry(const Now& now, JobId job);

  // --- The queue.
  void PauseQueue(const Now& now);
  void ResumeQueue(const Now& now);

  // --- Workers. Each fails with kUnknownWorker where there is none of that id. Any of them is a sign of life.

  // Also for a worker that comes back: leases that it lists go on, others of its own return to ready counting no attempt.
  // `key` proves that it is the same one (from RegisterAnswer); a spec.id of 0 is an error of the caller.
  Result<RegisterAnswer> Register(const Now& now, const WorkerSpec& spec, std::optional<std::uint64_t> key);
  bool KnowsKey(WorkerId worker, std::uint64_t key) const;
  Result<void> Heartbeat(const Now& now, WorkerId worker);
  // Grants come as an Assignment in the effects, now or later.
  Result<void> Pull(const Now& now, WorkerId worker, const PullOptions& options);
  // One verdict each, in order.
  Result<std::vector<ReportVerdict>> ReportAll(const Now& now, WorkerId worker, std::span<const Report> reports);
  // False for each lease that is not this worker's (any more).
  Result<std::vector<bool>> Extend(const Now& now, WorkerId worker, std::span<const TaskRef> tasks);
  // No new tasks; what it holds goes on.
  Result<void> Drain(const Now& now, WorkerId worker);
  // Its connection is gone; it may come back within its grace time. Not an error for unknown workers.
  void Disconnect(const Now& now, WorkerId worker);
  // It leaves for good. What it still holds counts as a delivery and becomes ready again, or fails.
  void Unregister(const Now& now, WorkerId worker);
  // These assignments never left the server: ready again, counting no attempt.
  void Undelivered(const Now& now, std::span<const TaskRef> tasks);

  // --- Time.

  // Does what is due: schedules, retries, expired leases, timeouts, waiting pulls, retention, and a bounded piece of any
  // larger work. After a bounded amount it stops; NextWake() is then at once.
  void Tick(const Now& now);
  // When Tick() has something to do; none if nothing is pending.
  std::optional<Instant> NextWake(const Now& now) const;

  // --- What follows.

  // The effects since the last Take(), and the position that their events belong to. Positions increase by one for each Take()
  // with events.
  std::pair<Position, Effects> Take();
  // True if Take() would give something.
  bool HasEffects() const;

  // --- Records. Folding replaces journal entries by records.

  // Hands out changed records, about `max_bytes` of them (at least one, if any). To be stored after all events taken before, in
  // order. REQUIRES: !HasEffects().
  FoldStep Fold(std::size_t max_bytes);
  std::uint64_t UnfoldedEvents() const;

  Result<void> LoadRecord(JobId job, std::uint32_t page, std::string_view blob);
  Result<void> Replay(Position position, std::string_view events);
  // Leases found are kept for `grace`, then end with their attempt counted; 0 ends them at once.
  void FinishLoad(const Now& now, Duration grace);
  // The highest job, worker or set id seen; for the allocator.
  std::uint64_t HighestId() const;
  // Is a payload set of that id used by a job?
  bool UsesPayloadSet(JobId set) const;

  // --- Looking, without changing anything.
  Result<JobView> Describe(JobId job) const;
  std::optional<JobId> LastJob(std::string_view user) const;  // empty user: anyone's
  JobPage List(const JobQuery& query) const;
  Result<TaskPage> Tasks(const TaskQuery& query) const;
  Result<TaskView> Task(JobId job, TaskIndex index) const;
  // Workers in order of id, after `after`.
  std::vector<WorkerView> Workers(std::optional<WorkerId> after, std::size_t limit) const;
  Result<WorkerView> DescribeWorker(WorkerId worker) const;
  EngineStats Stats() const;
  // Asks for `progressed` effects of that job; calls nest.
  Result<void> Watch(JobId job);
  void Unwatch(JobId job);
  // Heap bytes of jobs, tasks and order, as far as they are counted; for benchmarks and metrics.
  std::size_t MemoryBytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace allot
