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

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/bytes.h"
#include "base/rng.h"
#include "base/share_pool.h"
#include "dispatch/lease_table.h"
#include "engine/jobs/job.h"
#include "engine/jobs/job_lists.h"
#include "engine/jobs/job_record.h"
#include "engine/jobs/job_table.h"
#include "engine/jobs/journal.h"
#include "engine/jobs/timers.h"
#include "engine/tallies/class_reasons.h"
#include "engine/tallies/user_table.h"
#include "engine/types.h"
#include "engine/waiting.h"
#include "limits/limit_table.h"
#include "match/class_table.h"
#include "match/explain.h"
#include "strategy/orders.h"

namespace allot {

namespace order {
struct Plan;
}
class DemandWalk;
class Dispatcher;
class HoldReasons;
class JobSweep;
struct JobStanding;
struct OrderStanding;
struct OutlookSnapshot;
struct PreviewStep;
struct PromisedStanding;
enum class SweepAction : std::uint8_t;
class LimitTrial;
class PreviewWalk;
struct Receipt;
class ReceiptLog;
struct Standing;

// Jobs that are submitted together, and stay with whoever does.
struct JobBatch {
  std::span<const JobSpec> specs;
  std::span<const JobFold> folds = {};  // Engine::FoldOf() each, or none
  std::uint64_t stage = 0;              // the engine's
  const JobFold* FoldOf(std::size_t i) const { return folds.empty() ? nullptr : &folds[i]; }
};

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
  // What matching goes by of the job's own expressions. Takes a millisecond where these are long and hostile: whoever
  // submits many at a time asks for it on another thread.
  static JobFold FoldOf(const JobSpec& spec);
  // Leased tasks stay; the others are matched and ordered anew. kJobEnded.
  Result<void> Change(const Now& now, JobId job, const JobChange& change);
  // Ready and waiting tasks are skipped; workers that hold one are told. Cancelling an ended job changes nothing.
  Result<void> Cancel(const Now& now, JobId job);
  // No grants until resumed; leases go on. kJobEnded.
  Result<void> Pause(const Now& now, JobId job);
  Result<void> Resume(const Now& now, JobId job);
  // Failed and skipped tasks become ready with fresh attempts. kJobActive while it has not ended. A task that a worker
  // was told to stop goes on if the worker finishes it all the same, and runs again otherwise.
  // Returns how many tasks are not done, and so will run again.
  Result<std::uint32_t> Retry(const Now& now, JobId job);

  // --- The queue.
  // Changes two of the options; times that run already keep their length.
  void Configure(Duration worker_grace, std::size_t max_finished_jobs) {
    options_.worker_grace = worker_grace;
    options_.max_finished_jobs = max_finished_jobs;
  }
  // Longer leases of limits are cut to it from now on.
  void SetMaxLimitExpiration(Duration most) { limits_.SetMaxExpiration(most); }
  // How long whoever was denied a start counts as denied after that (LimitTable::Exclusions), from now on.
  void SetLimitBanWindow(Duration window) { limits_.SetBanWindow(window); }
  // What holds for all workers; takes over once its order is built.
  void SetPolicy(const Now& now, const StrategyPtr& policy, const Weights& weights);
  // Is there room for these strategies, as far as they are not in use already? Null ones need none.
  // For that worker, if one is named: its user may have a share of them. kTooManyStrategies, kMemoryFull.
  Result<void> AdmitStrategies(std::initializer_list<StrategyPtr> strategies,
                               std::optional<WorkerId> worker = std::nullopt) const;
  // New jobs, strategies and limits that would take it beyond are refused (kMemoryFull); what is there stays, also if
  // it is more. 0: none.
  void SetMemoryBudget(std::uint64_t bytes) { memory_budget_ = bytes; }
  // What is used of it, and by what. At once.
  MemoryUse Memory() const;
  // Who holds ready tasks. From one to the other, or to another balance, nothing is lost: ready tasks are promised, or
  // are open again, in steps.
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

  // Also for a worker that comes back: leases that it lists go on, others of its own return to ready counting no
  // attempt. `key` proves that it is the same one (from RegisterAnswer); a spec.id of 0 is an error of the caller.
  Result<RegisterAnswer> Register(const Now& now, const WorkerSpec& spec, std::optional<std::uint64_t> key);
  // Waiting jobs are matched with it anew, at once; what it holds stays. Not a sign of life: others may do it.
  Result<void> ChangeWorker(const Now& now, WorkerId worker, const WorkerChange& change);
  bool KnowsKey(WorkerId worker, std::uint64_t key) const;
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
  // It leaves for good. What it still holds counts as a delivery and becomes ready again, or fails.
  void Unregister(const Now& now, WorkerId worker);
  // These assignments never left the server: ready again, counting no attempt.
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
  std::uint64_t UnfoldedEvents() const;

  Result<void> LoadRecord(JobId job, std::uint32_t page, std::string_view blob);
  Result<void> Replay(Position position, std::string_view events);
  // Leases found are kept for `grace`, then end with their attempt counted; 0 ends them at once.
  void FinishLoad(const Now& now, Duration grace);
  // The highest job, worker or set id seen; for the allocator.
  std::uint64_t HighestId() const;
  // Is a payload set of that id used by a job?
  bool UsesPayloadSet(JobId set) const;

  // --- Looking. What is const changes nothing that anyone could see; the rest is below.
  Result<JobView> Describe(JobId job) const;
  std::optional<JobId> LastJob(std::string_view user) const;  // empty user: anyone's
  JobPage List(const JobQuery& query) const;
  Result<TaskPage> Tasks(const TaskQuery& query) const;
  Result<TaskView> Task(JobId job, TaskIndex index) const;
  // Its state alone, without a look at the job's leases. Fails as Task() does.
  Result<TaskState> StateOf(JobId job, TaskIndex index) const;
  // Workers in order of id, after `after`: so many, or fewer where they are as large as a page may be.
  WorkerPage Workers(std::optional<WorkerId> after, std::size_t limit) const;
  // With a user: of what it holds, and of its queue, that user's jobs alone.
  Result<WorkerView> DescribeWorker(WorkerId worker, std::optional<std::string_view> jobs_of = std::nullopt) const;
  // For a job, or for one that might be submitted: what matching knows of it (match/explain.h).
  Result<MatchSnapshot> Snapshot(JobId job) const;
  MatchSnapshot Snapshot(const JobSpec& spec) const;
  // Why a worker does not get what it may not run (engine/worker_outlook.h). kUnknownWorker.
  Result<OutlookSnapshot> OutlookOf(const Now& now, WorkerId worker) const;
  // What there is to know of the jobs and tasks that the finished walk picks.
  void Resolve(PreviewWalk& walk) const;
  // In order of creation.
  std::vector<LimitView> Limits(const Now& now, const LimitTable::Filter& filter) const;
  // Calls `f(uuid, tokens, waiting)` for each of them, in no order: two numbers cost less than a view.
  void ForEachLimit(const Now& now, const LimitTable::LevelVisitor& f) const { limits_.ForEachLevel(now, f); }
  // What a limit would apply to (engine/limit_trial.h): goes on with a walk over all jobs for about `budget`
  // microseconds. True: that was all.
  bool Collect(const Now& now, LimitTrial& trial, std::size_t budget) const;
  // How the tasks from `from` to before `to` stand, in at most `parts` (1 to 1,000) parts of equal width; an end of 0
  // is that of the job. Not linear in tasks.
  Result<TaskPicture> Picture(JobId job, TaskIndex from, TaskIndex to, std::size_t parts) const;
  // What holds tasks back, those reasons first that hold back the most; as of the last second or so.
  std::vector<ReasonRow> Reasons() const;
  UserPage Users(const UserQuery& query) const;
  // How the last start of that task was decided, if it is among the last 10,000 of the queue (engine/receipts.h).
  std::optional<Receipt> ReceiptOf(JobId job, TaskIndex index) const;
  // The latest ones, newest first, below that serial, of that user's jobs.
  std::vector<Receipt> Receipts(std::optional<std::uint64_t> before, std::size_t limit,
                                std::optional<std::string_view> user) const;
  EngineStats Stats() const;

  // --- Looking that prepares what it looks at: it puts jobs into groups of limits, or counts who comes first, as a
  // pull would. What is granted later, and what is stored, is the same as if nobody had looked.

  // What explanations are made from (engine/explain.h): for a job, or one of its tasks, with all workers or as if there
  // were no other than that one. kUnknownTask.
  Result<JobStanding> StandingOf(const Now& now, JobId job, std::optional<TaskIndex> task = std::nullopt,
                                 std::optional<WorkerId> only = std::nullopt);
  // All limits that apply to starts of the job, and how they stand; with a worker, as if there were no other.
  Result<LimitHolds> LimitsOn(const Now& now, JobId job, std::optional<WorkerId> only = std::nullopt);
  // What a strategy would give, without an order for it (engine/preview_walk.h), and what could start if workers were
  // there (engine/demand_walk.h): each goes on with a walk over all jobs for about `budget` microseconds. True: that
  // was all. kUnknownWorker, at the first step.
  Result<bool> Collect(const Now& now, PreviewWalk& walk, std::size_t budget);
  bool Collect(const Now& now, DemandWalk& walk, std::size_t budget);

  // --- Many jobs at once, in steps like a look (engine/job_sweep.h): counts those that a filter finds, and changes
  // each of them, unless it is only to count.
  bool Collect(const Now& now, JobSweep& sweep, std::size_t budget);

  // --- For those who look.
  // Asks for `progressed` effects of that job; calls nest.
  Result<void> Watch(JobId job);
  void Unwatch(JobId job);
  // Heap bytes of jobs, tasks and order, as far as they are counted; for benchmarks and metrics.
  std::size_t MemoryBytes() const;
  // Of that, what belongs to classes, kinds and the verdicts on their pairs.
  std::size_t MatchingBytes() const { return classes_.MemoryBytes(); }
  // And to the orders of all strategies.
  std::size_t OrderBytes() const { return orders_.MemoryBytes(); }

 private:
  friend class EngineCheck;  // tests look inside

  // Changed verdicts change the order, and may open something to whoever waits.
  class Verdicts : public ClassTable::Listener {
   public:
    explicit Verdicts(Engine& engine) : engine_(engine) {}
    void OnWidth() override { engine_.orders_.OnWidth(); }
    void OnClass(ClassId cls) override;
    void OnKind(KindId kind) override;
    void OnMoved(KindId from) override;

   private:
    Engine& engine_;
  };

  // What strategies group jobs by.
  class Keys : public JobKeys {
   public:
    GroupText Get(const PickJob& job, const StrategyKey& key) const override;
    bool HasTag(const PickJob& job, const std::string& tag) const override;
  };

  // What limits say to the worker that asks.
  class Gate : public StartGate {
   public:
    explicit Gate(Engine& engine) : engine_(engine) {}
    Held Ask(std::uint32_t group) override;
    Held AskClosely(std::uint32_t group) override;
    LimitTable::WorkerHandle worker = 0;

   private:
    Engine& engine_;
  };

  // engine.cc: what every command shares.
  void Begin(const Now& now);
  void End();
  EngineJob* FindJob(JobId job) const;
  EngineWorker* FindWorker(WorkerId worker) const;
  // After any change of a job's tasks or state: in the order or not, counted, wakers told.
  void Refresh(EngineJob& job);
  void WakeWaiting();
  // Waiting workers of these kinds pull until none finds anything: those first whom a job of the opened classes ranks
  // highest, then the longest waiting.
  void Wake(std::vector<KindId> kinds, const std::vector<ClassId>& opened);
  // Grants up to the worker's credit. True if it got anything; `more`: all that it wanted, so that there may be more.
  bool Serve(EngineWorker& worker, bool* more = nullptr);
  // The job that the worker is to start next, paid for; null: none. Counts what it did beside looking, and gives up
  // where that is too much for one command.
  EngineJob* Next(EngineWorker& worker, LimitTable::Drawn& drawn, std::size_t& work);
  // It has paid so many limits.
  Lease& GrantOne(EngineWorker& worker, EngineJob& job, TaskIndex index, std::size_t limits_met,
                  std::vector<Grant>& grants);
  WallTime Steady() const;  // wall time that no step of the clock moves

  // engine_match.cc: what jobs and workers show to each other, and the classes of jobs.
  static JobTerms TermsOf(const JobSpec& spec);
  static expr::Ad AdOf(const JobTerms& terms, const OrderKey& key, std::uint32_t count, const Meta& meta);
  ClassTable::Terms ClassTerms(const JobTerms& terms, const OrderKey& key, std::uint32_t count, const Meta& meta,
                               const JobFold* fold = nullptr) const;
  static WorkerTraits TraitsOf(const EngineWorker& worker);
  // A job that has not ended has a class.
  void Enter(EngineJob& job, std::string_view token = {}, const JobFold* fold = nullptr);
  ClassId Enter(const JobTerms& terms, const OrderKey& key, std::uint32_t count, const Meta& meta,
                std::string_view token, const JobFold* fold);
  void Leave(EngineJob& job);
  // Is there room for its class?
  Result<void> AdmitClass(const ClassTable::Terms& terms, std::string_view user, std::string_view token = {}) const;
  // All registered workers as explanations see them, as of now: made anew when one came, changed or left, and otherwise
  // brought up to date in place.
  struct Crew {
    std::vector<const EngineWorker*> workers;
    std::vector<MatchSnapshot::Worker> rows;
    std::shared_ptr<const void> kept;  // their traits
    bool current = false;              // else one came, changed or left
  };
  const Crew& CrewNow() const;
  // With all workers, or that one alone.
  MatchSnapshot SnapshotOf(const JobTerms& terms, const OrderKey& key, std::uint32_t count, const Meta& meta,
                           std::optional<WorkerId> only = std::nullopt) const;
  // That a worker had its tags until now.
  void RememberTags(const EngineWorker& worker);
  // Would such a worker make too many classes, by what it reads of jobs? kTooManyClasses.
  Result<void> AdmitReads(const WorkerTraits& traits) const;
  // Workers that wait among those of that kind, and are of another now, go there.
  void MoveWaiting(KindId from);
  // Verdicts that read the time are renewed once a second.
  bool StepRenewal(std::size_t& budget);
  // Jobs are put into new classes when workers read more of them.
  bool StepRegrouping(std::size_t& budget);
  // Orders for strategies that are new.
  bool StepOrders(std::size_t& budget);

  // engine_limits.cc: limits on starts.
  static expr::Ad AdOf(const EngineJob& job);
  // Open jobs are in a group of those that look alike to limits. One of an older epoch is to be grouped before anything
  // is asked about its starts.
  bool Grouped(const EngineJob& job) const;
  void Group(EngineJob& job);
  void Ungroup(EngineJob& job);
  bool StepGrouping(std::size_t& budget);
  // After limits have come or gone: workers may be told apart otherwise.
  void OnLimits();
  // It gets no more, though groups are blocked that it might have run.
  void NoteTry(const EngineWorker& worker);
  void KeepDrawn(const Lease& lease, LimitTable::Drawn drawn);
  // The start never left: what it drew goes back.
  void Refund(const Lease& lease);
  // Groups that can pay by now are in the order again, and wake who waits for them.
  void OpenPayable();
  bool StepLimits(std::size_t& budget);

  // engine_dispatch.cc: who holds what is ready.
  // Whatever was changed about the worker: may something be promised to it?
  void Enrol(EngineWorker& worker);
  // Jobs that are there already are promised from now on, or a while later; those that open meanwhile then too.
  void BeginDealing(Duration later);
  void EndDealing();
  // An open job is promised, unless its turn is still to come.
  void Promise(EngineJob& job);
  bool StepDispatch(std::size_t& budget);
  // Who waits and was promised something gets it.
  void ServeFed();

  // engine_submit.cc
  struct StagedJob {
    std::shared_ptr<const JobTerms> terms;  // null: not made yet
    std::unique_ptr<JobExtras> extras;
    ClassId cls = kNoClass;  // of which it is one
  };
  struct Staged {
    std::vector<StagedJob> jobs;
    std::uint64_t promised = 0;  // bytes, at most, of those that are still to be made
  };
  // Is there room for so many jobs, and as so many classes?
  Result<void> AdmitJobs(std::span<const JobSpec> specs) const;
  Result<void> AdmitClasses(std::span<const JobSpec> specs, std::span<const JobFold> folds) const;
  Result<void> MaySubmit(const JobBatch& batch) const;
  // Is there one that is not known by its key yet? kIdempotencyConflict.
  Result<bool> AnyFresh(const JobBatch& batch) const;
  // Classes of what was given up.
  bool StepUnstaged(std::size_t& budget);
  StagedJob Prepare(const JobSpec& spec, const JobFold* fold);
  SubmitAnswer Insert(JobId id, const JobSpec& spec, const JobFold* fold, StagedJob& staged);
  Result<std::optional<SubmitAnswer>> Known(const JobSpec& spec) const;

  // engine_jobs.cc
  void SetState(EngineJob& job, JobState state);
  void Settle(EngineJob& job);  // ends it if nothing is left, or too much failed
  void EndJob(EngineJob& job, JobState state, JobReason reason);
  // Those that hold a task of it are told, in steps where they are many.
  void OrderStop(EngineJob& job);
  bool StepStops(std::size_t& budget);
  static std::string_view StopReason(JobState state);
  void Forget(EngineJob& job);
  void Drop(EngineJob& job);  // out of every table
  void LogState(EngineJob& job);
  void LogHeader(EngineJob& job);

  // engine_workers.cc
  void Seen(EngineWorker& worker);
  void Park(EngineWorker& worker);
  // Those that wait do so among their like.
  void WaitAmong(EngineWorker& worker, KindId kind);
  void MoveAmong(EngineWorker& worker, KindId kind);
  // It wants nothing more, and the strategy of that pull is over.
  void EndPull(EngineWorker& worker);
  // Orders of pulls that are over are dropped once they were not asked for for a while.
  void DropLingering();
  void Unpark(EngineWorker& worker);
  void Arm(EngineWorker& worker, Instant at);
  void ArmIdle(EngineWorker& worker);
  bool Idle(const EngineWorker& worker) const;  // holds nothing, waits for nothing, and has no connection
  static Instant Deadline(const EngineWorker& worker, const Lease& lease);
  // When something is due for it, exactly. Its timer may be earlier, never later.
  Instant NextCheck(const EngineWorker& worker) const;
  void CheckWorker(EngineWorker& worker);
  void Remove(EngineWorker& worker);
  // It is not registered any more, as far as others are concerned; what it holds is still to be given back.
  void Deregister(EngineWorker& worker);
  // At most so many of its leases. True: it has none any more.
  bool GiveAllBack(EngineWorker& worker, std::size_t most, std::string_view why);
  EngineWorker& Stub(WorkerId worker);
  ReportVerdict ReportOne(const Report& report);
  void EndLease(Lease& lease);
  void GiveBack(Lease& lease, bool counted, std::string_view why);
  void AttemptFailed(Lease& lease, bool final);
  // Its worker was ordered to stop, and then the job was retried: how it ends says nothing about the task, so that,
  // unless it is done after all, the task starts with fresh attempts like the others.
  static bool Stopped(const Lease& lease, const EngineJob& job);

  // engine_memory.cc: what there is room for.
  bool Fits(std::uint64_t more) const;
  // Looks and new workers may go somewhat beyond it.
  bool LooksFit() const;
  Result<void> AdmitMemory(std::uint64_t more, std::string_view what) const;
  std::uint64_t MostBytesOf(const JobSpec& spec) const;
  // By what a look at some of the open jobs says.
  Result<void> AdmitLimit(const LimitSpec& spec);
  // What limits will take, when jobs are grouped by them, and do not yet.
  std::uint64_t PromisedToLimits() const;
  // Orders that were given up for want of memory are begun again when there is some.
  void RetryOrders();
  // A class belongs to the user, and token, whose job made it.
  ClassId JoinClass(ClassTable::Terms terms, std::string_view user, std::string_view token);
  void LeaveClass(ClassId cls);
  std::string_view TokenOf(ClassId cls) const;
  Result<void> AdmitClasses(std::string_view user, std::size_t of_user, std::string_view token,
                            std::size_t of_token) const;
  Result<void> AdmitStrategies(std::initializer_list<StrategyPtr> strategies,
                               std::optional<std::string_view> owner) const;
  // The order for a worker's strategy, with one more user; kTooManyStrategies, kMemoryFull.
  Result<Orders::Id> UseStrategy(const StrategyPtr& strategy, std::string_view owner);
  void UnuseOrder(Orders::Id order);
  // Are orders over all jobs built, and dropped, within one command?
  bool SmallBuild() const { return jobs_.places() <= kSmallQueue; }
  static constexpr std::size_t kSmallQueue = 1500;

  // engine_time.cc
  bool StepSchedules(std::size_t& budget);
  void StepTold();
  // How many larger works are under way: what a command does for them is shared out. What is due in a tick is not.
  std::size_t LargeWorks() const;
  std::size_t Part(std::size_t budget) const { return works_ > 1 ? budget / works_ : budget; }
  bool StepRetries(std::size_t& budget);
  bool StepWorkers(std::size_t& budget);
  bool StepRevivals(std::size_t& budget);
  bool StepRetention(std::size_t& budget);

  // engine_records.cc
  void ApplyHeader(EngineJob& job, JobHeader header);
  bool RestoreLeases(EngineJob& job, std::span<const StoredLease> leases);
  void RestoreLease(EngineJob& job, const StoredLease& stored);
  bool ReplayOne(Position position, ByteReader& in);
  bool ReplayTask(Position position, EventType type, ByteReader& in);

  // engine_explain.cc
  // What the worker would get now, without taking it. `known` is false where that cannot be told by a short look that
  // changes nothing: the order is being built, or what comes first meets limits.
  EngineJob* Peek(EngineWorker& worker, bool& known);
  std::optional<OrderStanding> OrderOf(EngineJob& job, std::optional<WorkerId> only);
  // Under that order. REQUIRES: it is ready.
  Standing StandingOfJob(Orders::Id order, const EngineJob& job) const;
  std::optional<PromisedStanding> PromisedOf(const EngineJob& job) const;
  // What the blocks on the way to that leaf see of the job, as if the worker were given it now.
  std::vector<PreviewStep> WhyNow(const EngineWorker& worker, const EngineJob& job, const order::Plan& leaf) const;

  // engine_preview.cc
  Result<void> Start(const Now& now, PreviewWalk& walk);
  // The limits that hold back starts of an open job on the worker, by uuid.
  std::vector<std::string> HoldingLimits(const Now& now, EngineJob& job, const EngineWorker& worker);
  // The number under which the walk knows that group, with what its starts cost there.
  std::uint32_t PurseGroup(const Now& now, PreviewWalk& walk, GroupId group,
                           std::optional<LimitTable::WorkerHandle> worker, std::int64_t& nanoseconds);
  // May the worker of that walk run the job, and how does it rank it? None: it may not.
  std::optional<double> Judge(PreviewWalk& walk, const EngineJob& job, std::int64_t& nanoseconds) const;

  // engine_receipts.cc
  // That start was picked and is granted, of which the orders are still to be told.
  void NoteStart(const EngineWorker& worker, const EngineJob& job, const Lease& lease, TakenFrom from,
                 std::size_t limits_met);
  void BeginStarts(const EngineWorker& worker, const StrategyIndex& index);

  // engine_counts.cc: what lists and metrics know without looking at jobs.
  // After any change of a job's tasks or state: as Refresh().
  void Recount(EngineJob& job);
  // It is open no more, as far as its class is concerned, which it leaves; until the next Recount().
  void CountClosed(EngineJob& job);
  // After any change of a worker, of its kind, or of how much it holds.
  void Recount(EngineWorker& worker);
  void CountState(const EngineJob& job, JobState state);
  void CountStart(EngineJob& job);
  void CountEnd(const Lease& lease, EngineJob& job);
  // Reasons are looked at once a second, while something is open.
  bool StepReasons(std::size_t& budget);
  std::optional<HeldView> HeldBy(const EngineJob& job) const;

  // engine_holds.cc: which of the open jobs limits and ceilings stop.
  // Puts open jobs into other cells where those are of another making by now, and looks at all of them once a second.
  bool StepHolds(std::size_t& budget);
  bool StepCells(std::size_t& budget);
  // Which sorts of workers there are, as of now: where there are few, or `all` the same.
  void RenewSorts(bool all) const;
  // After a change of what tells cells apart.
  void Recell(EngineJob& job);
  void PutIntoCell(EngineJob& job, std::uint32_t tasks);
  // Is there no worker at all that could meet its requirements?
  static bool Never(const expr::Expr& requirements, const expr::Ad& ad);
  Instant NextHolds() const;  // in engine time

  // engine_counts.cc, too.
  // Makes the job the example of that row.
  void Show(const EngineJob& job, ReasonRow& row) const;
  // A job of that class that is open; null if none was found by a short look.
  const EngineJob* OneOf(ClassId cls, std::size_t& looks) const;

  // engine_lists.cc: jobs by filter.
  // True if it did something.
  bool Act(const Now& now, EngineJob& job, SweepAction action, std::int64_t& nanoseconds);
  // The oldest open job of one user.
  const EngineJob* Oldest(UserTable::Entry& user, std::int64_t& nanoseconds) const;

  // engine_views.cc
  JobView View(const EngineJob& job) const;
  WorkerView View(const EngineWorker& worker) const;
  std::vector<PromisedView> QueueOf(const EngineWorker& worker, std::optional<std::string_view> user) const;
  TaskView ViewTask(const EngineJob& job, TaskIndex index) const;

  // Before all that is in it.
  mutable EngineMemory memory_;
  std::uint64_t memory_budget_ = 0;
  std::uint64_t commands_ = 0;  // since the last tick

  EngineOptions options_;
  Rng rng_;
  Now now_;
  Instant engine_time_{};  // monotonic time without stalls: every deadline is in it
  Duration stalled_{0};    // what was taken out
  bool begun_ = false;
  bool loaded_ = false;  // what is counted from now on has a time
  Now boot_;

  JobTable jobs_;
  JobLists lists_{jobs_};
  std::unordered_map<std::uint64_t, Staged> staged_;
  std::uint64_t last_stage_ = 0, promised_to_staged_ = 0, staged_jobs_ = 0;
  std::deque<ClassId> unstaged_;  // to be left
  Verdicts verdicts_{*this};
  ClassTable classes_{verdicts_};
  struct ClassOwner {
    SharePool::Owner* user = nullptr;
    SharePool::Owner* token = nullptr;  // an empty one is not known
  };
  std::vector<ClassOwner> class_owners_;  // by class
  SharePool class_users_{bounds::kMaxClasses}, class_tokens_{bounds::kMaxClasses};
  ClassReasons reasons_{classes_};
  Instant reasons_at_{};  // in engine time: when the last walk over them began
  Keys keys_;
  Orders orders_{keys_, classes_};
  Orders::Id default_order_ = 0;  // `priority`, which is always there
  struct OrderOwner {
    SharePool::Owner* strategies = nullptr;
    SharePool::Owner* blocks = nullptr;
  };
  std::vector<OrderOwner> order_owners_;  // by order, but the default one
  SharePool strategy_owners_{bounds::kMaxStrategies}, block_owners_{bounds::kMaxStrategyBlocks};
  std::uint64_t slots_ = 0;  // of all registered workers
  struct Lingering {
    Orders::Id order;  // with a use of its own
    Instant until;
  };
  std::deque<Lingering> lingering_;  // those of pulls that are over, each once; longest ago first
  LimitTable limits_;
  std::uint64_t limit_epoch_ = 1;       // all open jobs are in groups of that epoch
  std::uint64_t limit_walk_epoch_ = 1;  // while that is not the table's own: jobs before the cursor are in
  JobCursor grouping_;                  // groups of this one
  // While jobs are grouped: some of them, with what limits make of each, and what all groups will take.
  struct LimitSample {
    std::vector<std::pair<JobId, std::uint64_t>> jobs;
    std::size_t stride = 1;
    std::uint64_t bytes = 0;
  };
  LimitSample limit_sample_;
  std::uint64_t limit_reads_ = 1;  // all who wait are in lists of these profiles
  Gate gate_{*this};
  const std::unique_ptr<HoldReasons> holds_;
  bool celling_ = false;  // open jobs from the cursor on are still to be put into cells of the present making
  JobCursor recelling_;
  Instant holds_at_{};              // in engine time: when the last walk over cells began
  std::size_t grants_left_ = 0;     // in this command
  std::size_t asks_left_ = 0;       // likewise: of groups that are open and stand apart
  std::size_t works_ = 0;           // LargeWorks() at its beginning
  std::vector<KindId> look_again_;  // kinds whose look met too much that is held: it goes on with the next tick
  // Groups that stand apart in the orders, and when each was held for the last time; in the order in which that is to
  // be looked at.
  boost::unordered_flat_map<GroupId, Instant> held_at_;
  std::deque<std::pair<Instant, GroupId>> held_checks_;
  // What starts have drawn, by the serial of their lease; as long as that lives.
  boost::unordered_flat_map<std::uint64_t, LimitTable::Drawn> draws_;
  LeaseTable leases_;
  std::map<WorkerId, std::unique_ptr<EngineWorker>> workers_;
  std::size_t registered_workers_ = 0;
  mutable Crew crew_;
  std::size_t away_workers_ = 0;
  std::size_t draining_workers_ = 0;
  Waiting waiting_;
  std::uint64_t next_turn_ = 0;
  const std::unique_ptr<Dispatcher> dispatcher_;
  const std::unique_ptr<ReceiptLog> receipts_;
  std::optional<WorkerId> enrol_from_;  // workers from this one on are still to be told to the dispatcher
  bool dealing_ = false;                // jobs from the cursor on are still to be promised, once it is time
  Instant deal_at_{};                   // in engine time
  JobCursor dealt_;
  Instant swept_at_{};
  // Lists of waiting workers that were looked after in this turn, and for whom there is nothing.
  std::set<std::tuple<Orders::Id, KindId, LimitProfileId>> in_vain_;
  std::uint64_t pops_ = 0;       // tasks that were found for a worker
  std::vector<ClassId> opened_;  // classes that got work in this command, or match more workers now
  std::vector<KindId> woken_;    // kinds that may run more now
  std::unordered_map<std::string, WallTime> seen_tags_;  // of workers that are gone or changed
  std::uint64_t grouped_epoch_ = 1;                      // all jobs are in classes of that epoch
  std::uint64_t regroup_epoch_ = 1;  // while that is not the table's own: jobs before the cursor are in classes
  JobCursor regrouping_;             // of this one
  std::int64_t renewed_at_ = 0;      // the second for which verdicts that read the time were renewed
  StoredExprs stored_exprs_;         // while loading
  bool paused_ = false;
  std::optional<WallTime> paused_since_;  // none: from before the start
  // Jobs that were paused since the start, as far as they are not too many.
  boost::unordered_flat_map<JobId, WallTime, std::hash<JobId>> jobs_paused_since_;

  JobTimers timers_;
  Timers<Instant, WorkerId> checks_;  // in engine time
  std::deque<JobId> revivals_;
  std::deque<JobId> returns_, openings_;             // of which the orders are still to be told
  std::deque<std::pair<JobId, std::size_t>> stops_;  // jobs that have ended, and how many of their leases to look at
  std::uint64_t highest_id_ = 0;

  Journal journal_;
  std::unique_ptr<boost::unordered_flat_map<PageKey, Position>> stored_pages_;  // while loading

  EngineStats stats_;
  std::uint64_t jobs_in_state_[6] = {};
  // Tasks of jobs that have not ended, by their state; those of others are none.
  struct Held {
    std::uint64_t ready = 0, waiting = 0, jobs = 0;
    std::optional<WallTime> since;  // when there were none for the last time; none: not since the start
  };
  Held held_[4];
  Held backing_off_;  // of active jobs, those with waiting tasks
  UserTable users_;
};

}  // namespace allot
