// SPDX-License-Identifier: Apache-2.0
// To whom a queued task is open: to everybody who may run it, or to one of them, to whom it is promised.
//
// In fanout nothing is promised: logically every worker has every task that it may run in its queue, really all of
// them look at the one shared order, and what one takes is gone for all.
//
// In balanced dispatch every queued task is promised to one worker that may run it, as promises: (job, worker, count).
// A worker takes what comes first in its own queue, by its strategy; if nothing there may start, what comes first in
// the shared order: of that job what is open, or a task of the worker with the longest queue. So a worker idles only
// where in fanout it would too. What nobody may run stays open, and so does, for a while, what there was no time to
// promise: as long as there is such, or the worker's own queue is not in order, the shared order decides.
//
// Whoever takes nothing while others of its kind take many is passed over until it asks again.
//
// Large work (a queue of a worker that is gone, another mode, levelling) is done in steps: call Step() while Busy().
//
// Threading:  confined to the queue's engine thread.
// Invariants: promises of a job plus what is open of it = its queued tasks; a promise is at least 1; a queue's length
// is
//             the sum of its promises; a promise stands in its job's promises and in its worker's queue, or in neither.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "dispatch/dispatch_mode.h"
#include "dispatch/worker_queue.h"
#include "match/class_table.h"
#include "strategy/orders.h"

namespace allot {

class Dispatcher {
 public:
  // All of them outlive it, as jobs and workers do as long as they are in it.
  Dispatcher(Orders& orders, const ClassTable& classes, Rng& rng) : orders_(orders), classes_(classes), rng_(rng) {}
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  ~Dispatcher();

  // From fanout to balanced: register the workers, and Open() the jobs that are open, one after the other; until then
  // all of a job is open. The other way round all queues are given up, in steps, and nobody looks at them any more.
  void SetOptions(const DispatchOptions& options);
  // Are there jobs that it does not know of yet?
  void SetGathering(bool gathering) { gathering_ = gathering; }
  const DispatchOptions& options() const { return options_; }
  bool balanced() const { return options_.mode == DispatchMode::kBalanced; }

  // A command begins: fresh time for promising, and for what stands between a worker and its own queue. Where that is
  // used up, the shared order decides.
  void BeginCommand() {
    left_ = kDealtAtOnce;
    left_arranged_ = kArrangedAtOnce;
    left_looks_ = kLooksAtOnce;
  }
  static constexpr std::size_t kDealtAtOnce = 2000;     // promises, and beyond that the last job to its end
  static constexpr std::size_t kArrangedAtOnce = 2000;  // promises that find their places in a queue's order
  static constexpr std::size_t kLooksAtOnce = 200'000;  // at cells of such an order
  static constexpr std::size_t kMostCells = 16'384;     // that such an order may have

  // --- Workers.

  // From now on it may be promised something: what had no candidate, and soon as much as others have. Nothing in
  // fanout.
  void Register(DispatchWorker& worker);
  // It is not to be promised anything any more (it left, drains, or lost its connection); what it was promised goes to
  // others.
  void Unregister(DispatchWorker& worker);
  // It waits for something to start, since that sequence number; or does no more.
  void SetAsking(DispatchWorker& worker, std::optional<std::uint64_t> sequence);
  // It began to run a task, or has ended one.
  void Started(DispatchWorker& worker) { SetRunning(worker, worker.running + 1); }
  void Finished(DispatchWorker& worker) { SetRunning(worker, worker.running - 1); }

  // --- Jobs, while they are in the orders with queued tasks.

  // Promises the job's queued tasks to those who may run it. Where much is done at once, with a budget: what it did is
  // taken from it, and what does not fit in stays open until it comes up in a step.
  void Open(DispatchJob& job) { Open(job, left_); }
  void Open(DispatchJob& job, std::size_t& budget);
  // Takes it out of all queues. To be called before the orders close it.
  void Close(DispatchJob& job);
  // Its queued tasks are not as many as before, other than by Take(). Nothing while it is not here.
  void SetQueued(DispatchJob& job);
  // Its group is about to change, or has.
  void BeforeGroup(DispatchJob& job);
  void AfterGroup(DispatchJob& job);

  // --- Picking.

  // The job that the worker is to take a task of next, by that order; null if there is none, or it gave up.
  DispatchJob* Pick(DispatchWorker& worker, Orders::Id order, StartGate* gate);
  // How it went; `moved` is what it did beside looking, in units of about a microsecond.
  const PickReport& last_pick() const { return last_pick_; }
  // The worker takes a task of the job: it has one queued task less. Change the job's tasks and orders after this.
  TakenFrom Take(DispatchWorker& worker, DispatchJob& job);

  // --- As ClassTable's listener.
  void OnClass(ClassId cls);
  void OnKind(KindId kind);
  void OnMoved(KindId from);

  // --- Larger work.

  // Now and then: workers that stand still are passed over, and queues are to be levelled, as far as they are not.
  // Whoever is passed over is as good as not registered: Register() it when it asks again.
  void Sweep();
  static constexpr std::uint64_t kStandsStill = 16;  // tasks that each of the others took meanwhile
  bool Busy() const {
    return leaving_ || !wanted_.empty() || !gone_.empty() || !rematches_.empty() || sweep_ || !left_orders_.empty() ||
           (!balanced() && !open_classes_.empty());
  }
  // Takes what it did from the budget; true if nothing is left to do.
  bool Step(std::size_t& budget);
  // Workers that ask, that were given something since the last call.
  std::vector<WorkerId> TakeNewlyPromised();

  // --- Looking.
  struct Counts {
    std::uint64_t promised = 0;  // tasks, now
    std::uint64_t moves = 0, steals = 0;
  };
  const Counts& counts() const { return counts_; }
  std::uint64_t longest() const;  // queue, in tasks
  // Does what it was promised come first for the worker, as far as it may start?
  bool OwnFirst(const DispatchWorker& worker) const {
    return balanced() && worker.queue && worker.queue->promised > 0 && Settled();
  }
  std::size_t MemoryBytes() const;

 private:
  friend class DispatcherCheck;

  void SetRunning(DispatchWorker& worker, std::uint32_t running);
  void SetIdle(DispatchWorker& worker);

  // dispatcher.cc: where queues stand among others.
  LevelPlace PlaceOf(const WorkerQueue& queue) const;
  void Link(WorkerQueue& queue);
  void Unlink(WorkerQueue& queue);
  void Relink(WorkerQueue& queue);
  // Of many that changed.
  void RelinkAll(const std::vector<WorkerQueue*>& changed);
  void Enlist(WorkerQueue& queue, KindId kind);
  void Delist(WorkerQueue& queue);
  void Free(std::unique_ptr<WorkerQueue> queue);

  // dispatcher_promises.cc: promises come and go. None of these relinks the queue.
  void Give(JobPromises& of_job, WorkerQueue& queue, std::uint32_t count);
  void Reduce(Promise& promise, std::uint32_t count);
  // Workers of that kind hold promises of jobs of that class, and may run them.
  void Mark(ClassId cls, KindId kind);
  // All of it back to what is open, from where it goes to somebody else.
  void Return(Promise& promise);
  void DropPromises(DispatchJob& job);
  void List(JobPromises& of_job);
  void Unlist(JobPromises& of_job);
  // Who has most of those that were promised some of it, as far as a short look tells where they are many.
  Promise& Longest(JobPromises& of_job) const;

  // dispatcher_shares.cc: the order of one queue.
  void Place(Promise& promise);
  void Displace(Promise& promise);
  // Out of its queue.
  void Detach(Promise& promise);
  // All its promises lose their place.
  void Disarrange(WorkerQueue& queue);
  bool Current(const WorkerQueue& queue) const;
  // Goes on giving them places by that order, and gives back what the worker may not run. True: all have one.
  bool Arrange(WorkerQueue& queue, Orders::Id order, std::size_t& budget);

  // dispatcher_deal.cc: whom what is open is promised to.
  void Deal(JobPromises& of_job, std::size_t& budget);
  // Where it stands for jobs of that class.
  LevelPlace PlaceFor(const WorkerQueue& queue, ClassId cls) const;
  void DealLevel(JobPromises& of_job, std::size_t workers);
  void DealRound(JobPromises& of_job, std::size_t workers);
  void DealRandom(JobPromises& of_job, std::size_t workers);
  // To the back of the ring.
  void Touch(WorkerQueue& queue);
  std::vector<WorkerQueue*> AllCandidates(std::size_t workers) const;
  // Kinds of workers that may run it; gives how many workers.
  std::size_t FindCandidates(ClassId cls);
  void Want(ClassId cls);
  // All that a worker of that kind may run and that is open: it may be the first.
  void WantAll(KindId kind);
  // Is everything promised that can be, and nothing where it does not belong?
  bool Settled() const { return !gathering_ && wanted_.empty() && gone_.empty() && rematches_.empty(); }

  // dispatcher_steps.cc
  void Rematch(WorkerQueue& queue);
  bool StepLeaving(std::size_t& budget);
  bool StepWanted(std::size_t& budget);
  bool StepGone(std::size_t& budget);
  bool StepRematches(std::size_t& budget);
  bool StepSweep(std::size_t& budget);
  // Moves something from who has most to who has least of a kind; false if they are level.
  bool LevelKind(KindQueues& kind, std::size_t& budget);
  // The same between kinds, where one may run what the other has.
  void LevelKinds(std::size_t& budget);
  // From one queue to another, of jobs that the other's worker may run. Gives how many tasks.
  std::uint64_t Move(WorkerQueue& from, WorkerQueue& to, std::uint64_t tasks, std::size_t& budget);

  Orders& orders_;
  const ClassTable& classes_;
  Rng& rng_;
  DispatchOptions options_;
  std::size_t left_ = kDealtAtOnce, left_arranged_ = kArrangedAtOnce, left_looks_ = kLooksAtOnce;

  std::vector<WorkerQueue*> slots_;  // null: free
  std::vector<std::uint32_t> free_slots_;
  std::deque<KindQueues> kinds_;
  std::deque<std::unique_ptr<WorkerQueue>> gone_;  // that still have promises
  std::vector<std::unique_ptr<WorkerOrder>> left_orders_;
  std::deque<std::uint32_t> rematches_;        // slots
  std::vector<std::uint32_t> newly_promised_;  // slots
  std::uint64_t next_sequence_ = 1;

  struct ClassState {
    boost::intrusive::list<JobPromises, boost::intrusive::constant_time_size<false>>
        open;  // jobs that have something open
    std::uint64_t promises = 0;
    // Kinds that may have some of the promises and may run it, a bit each; but for queues that are to be matched anew.
    std::vector<std::uint64_t> mask;
    bool wanted = false;  // some of it may find a candidate now
  };
  std::deque<ClassState> by_class_;
  std::set<ClassId> open_classes_;  // that have something open
  std::deque<ClassId> wanted_;
  bool gathering_ = false;
  bool leaving_ = false;          // back to fanout: queues from this slot on are still to be given up
  std::uint32_t leave_from_ = 0;  //
  bool sweep_ = false;
  KindId sweep_from_ = 0;

  std::vector<KindId> candidates_;  // kinds of workers that may run the job that is dealt
  Counts counts_;
  PickReport last_pick_;
};

}  // namespace allot
