// SPDX-License-Identifier: Apache-2.0
// Looking at a queue: nothing here changes anything that anyone could see.
//
// Threading:  confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/looks/views.h"
#include "engine/types.h"
#include "limits/limit_table.h"
#include "match/explain.h"
#include "strategy/pick_job.h"

namespace allot {

struct EngineJob;
struct EngineParts;
struct EngineWorker;
struct JobTerms;
class LimitTrial;
struct OutlookSnapshot;
class PreviewWalk;
struct Receipt;

class Looks {
 public:
  explicit Looks(const EngineParts& parts) : p_(parts) {}

  // --- Jobs and tasks. Each fails with kUnknownJob where there is none of that id.
  Result<JobView> Describe(JobId job) const;
  std::optional<JobId> LastJob(std::string_view user) const;  // empty user: anyone's
  JobPage List(const JobQuery& query) const;
  Result<TaskPage> Tasks(const TaskQuery& query) const;
  Result<TaskView> Task(JobId job, TaskIndex index) const;
  // Its state alone, without a look at the job's leases. Fails as Task() does.
  Result<TaskState> StateOf(JobId job, TaskIndex index) const;
  // How the tasks from `from` to before `to` stand, in at most `parts` (1 to 1,000) parts of equal width; an end of 0
  // is that of the job. Not linear in tasks.
  Result<TaskPicture> Picture(JobId job, TaskIndex from, TaskIndex to, std::size_t parts) const;
  // For a job, or for one that might be submitted: what matching knows of it (match/explain.h).
  Result<MatchSnapshot> Snapshot(JobId job) const;
  MatchSnapshot Snapshot(const JobSpec& spec) const;

  // --- Workers.
  // In order of id, after `after`: so many, or fewer where they are as large as a page may be.
  WorkerPage Workers(std::optional<WorkerId> after, std::size_t limit) const;
  // With a user: of what it holds, and of its queue, that user's jobs alone.
  Result<WorkerView> DescribeWorker(WorkerId worker, std::optional<std::string_view> jobs_of = std::nullopt) const;
  // Why a worker does not get what it may not run (engine/looks/worker_outlook.h). kUnknownWorker.
  Result<OutlookSnapshot> OutlookOf(const Now& now, WorkerId worker) const;
  // Is that the key of the worker's RegisterAnswer?
  bool KnowsKey(WorkerId worker, std::uint64_t key) const;

  // --- The queue.
  EngineStats Stats() const;
  // What is used of the memory budget, and by what. At once.
  MemoryUse Memory() const;
  // Is there room for these strategies, as far as they are not in use already? Null ones need none.
  // For that worker, if one is named: its user may have a quota of them. kTooManyStrategies, kMemoryFull.
  Result<void> AdmitStrategies(std::initializer_list<StrategyPtr> strategies,
                               std::optional<WorkerId> worker = std::nullopt) const;
  // What keeps tasks from running, those reasons first that do so for the most; as of the last second or so.
  std::vector<ReasonRow> Reasons() const;
  UserPage Users(const UserQuery& query) const;
  // How the last start of that task was decided, if it is among the last 10,000 of the queue (engine/receipts.h).
  std::optional<Receipt> ReceiptOf(JobId job, TaskIndex index) const;
  // The latest ones, newest first, below that serial, of that user's jobs.
  std::vector<Receipt> Receipts(std::optional<std::uint64_t> before, std::size_t limit,
                                std::optional<std::string_view> user) const;
  // In order of creation.
  std::vector<LimitView> Limits(const Now& now, const LimitLooks::Filter& filter) const;
  // Calls `f(uuid, tokens, waiting)` for each of them, in no order: two numbers cost less than a view.
  void ForEachLimit(const Now& now, const LimitLooks::LevelVisitor& f) const;

  // --- In steps.
  // What a limit would apply to (engine/looks/limit_trial.h): goes on with a walk over all jobs for about `budget`
  // microseconds. True: that was all.
  bool Collect(const Now& now, LimitTrial& trial, std::size_t budget) const;
  // What there is to know of the jobs and tasks that the finished walk picks.
  void Resolve(PreviewWalk& walk) const;

  // --- For benchmarks and metrics.
  // Heap bytes of jobs, tasks and order, as far as they are counted; of that, what belongs to classes, kinds and the
  // verdicts on their pairs, and to the orders of all strategies.
  std::size_t MemoryBytes() const;
  std::size_t MatchingBytes() const;
  std::size_t OrderBytes() const;
  std::uint64_t UnfoldedEvents() const;
  // The highest job, worker or set id seen; for the allocator.
  std::uint64_t HighestId() const;
  // Is a payload set of that id used by a job?
  bool UsesPayloadSet(JobId set) const;

 private:
  JobView View(const EngineJob& job) const;
  WorkerView View(const EngineWorker& worker) const;
  std::vector<PromisedView> QueueOf(const EngineWorker& worker, std::optional<std::string_view> user) const;
  TaskView ViewTask(const EngineJob& job, TaskIndex index) const;
  // With all workers, or that one alone.
  MatchSnapshot SnapshotOf(const JobTerms& terms, const OrderKey& key, std::uint32_t count, const Meta& meta,
                           std::optional<WorkerId> only = std::nullopt) const;

  const EngineParts& p_;
};

}  // namespace allot
