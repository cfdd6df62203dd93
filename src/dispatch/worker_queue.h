// SPDX-License-Identifier: Apache-2.0
// What the dispatcher keeps: of each job to whom how much of it is promised, and of each worker what it was promised.
//
// A promise is (job, worker, count): it belongs to the job's promises, and stands in the worker's queue. Which task of
// the job it becomes is decided when it is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "base/ids.h"
#include "dispatch/levelling.h"
#include "match/class_table.h"
#include "strategy/orders.h"
#include "strategy/pick_job.h"
#include "strategy/worker_order.h"

namespace allot {

struct DispatchJob;
struct DispatchWorker;
struct JobPromises;
struct WorkerQueue;

using PlainLink = boost::intrusive::link_mode<boost::intrusive::normal_link>;

struct Promise : WorkerOrder::Entry, boost::intrusive::list_base_hook<PlainLink> {
  JobPromises* of_job = nullptr;
  WorkerQueue* queue = nullptr;
  std::uint64_t arrangement = 0;  // of its queue that it has a place in; any other: it has none
};

// To whom how much of a job's queued tasks is promised. Sum of the promises = promised; promised + open = the job's
// queued tasks.
struct JobPromises : boost::intrusive::list_base_hook<PlainLink> {
  explicit JobPromises(DispatchJob& of) : job(&of) {}
  ~JobPromises();
  JobPromises(const JobPromises&) = delete;
  JobPromises& operator=(const JobPromises&) = delete;

  DispatchJob* const job;
  std::uint32_t open = 0;
  std::uint32_t promised = 0;
  bool listed = false;  // among the jobs of its class that have something open

  std::size_t size() const { return many_ ? many_->size() : one_ != nullptr ? 1 : 0; }
  // The promise to the queue in that slot; null if it has none.
  Promise* Find(std::uint32_t slot) const;
  void Insert(Promise& promise);
  // Frees it.
  void Erase(Promise& promise);
  void Reserve(std::size_t promises);
  // `f` erases none of them.
  template <typename F>
  void ForEach(F f) const {
    if (one_ != nullptr) return f(*one_);
    if (!many_) return;
    for (auto it = many_->begin(); it != many_->end();) f(*(it++)->second);
  }

 private:
  Promise* one_ = nullptr;  // while it is alone
  std::unique_ptr<boost::unordered_flat_map<std::uint32_t, Promise*>> many_;
};

struct DispatchJob : PickJob {
  std::unique_ptr<JobPromises> promises;  // null: nothing of it is promised, all of it is open
};

// A worker as the dispatcher knows it.
struct DispatchWorker {
  WorkerId id;
  ClassTable::Handle handle = 0;       // while it is registered
  std::uint32_t running = 0;           // tasks
  std::uint64_t idle = 0;              // who is idle in what way, and since when: less comes first
  bool asking = false;                 // it waits for something to start:
  std::uint64_t asking_since = 0;      // since that sequence number
  std::uint64_t idle_since = 0;        // the sequence number at which it had nothing to run any more
  std::unique_ptr<WorkerQueue> queue;  // while something may be promised to it

  DispatchWorker() = default;
  DispatchWorker(const DispatchWorker&) = delete;
  DispatchWorker& operator=(const DispatchWorker&) = delete;
  ~DispatchWorker();
};

struct ByLoad;
struct ByPromised;
struct BySequence;
template <typename Tag>
using QueueSetHook = boost::intrusive::set_base_hook<boost::intrusive::tag<Tag>, PlainLink>;

struct WorkerQueue : QueueSetHook<ByLoad>, QueueSetHook<ByPromised>, QueueSetHook<BySequence> {
  DispatchWorker* worker = nullptr;  // null: it is gone, and what it was promised is as good as open
  std::uint32_t slot = 0;
  KindId kind = 0;
  std::uint32_t member = 0;     // its place among those of its kind
  std::uint64_t promised = 0;   // tasks
  std::uint64_t sequence = 0;   // in which it was given something for the last time; or registered
  std::uint64_t takes = 0;      // of its kind, when it asked for the last time
  bool newly_promised = false;  // it was given something since that was asked for
  bool rematch = false;         // what it was promised is to be matched anew:
  std::size_t to_check = 0;     // the first so many promises

  LevelPlace place;            // by which it stands in the sets
  bool with_promises = false;  // it stands among those that were promised something

  // All its promises. The first so many have no place in the order yet.
  boost::intrusive::list<Promise, boost::intrusive::constant_time_size<true>> promises;
  std::size_t unarranged = 0;
  std::unique_ptr<WorkerOrder> order;
  std::uint64_t arrangement = 1;
  Orders::Id order_id = 0;
  std::uint64_t order_version = 0;  // of the rules that `order` goes by; 0: it has none
  bool order_by_class = false;

  friend bool operator<(const WorkerQueue& a, const WorkerQueue& b) { return a.place < b.place; }
};

// So many of the job's ready tasks are promised to the worker.
inline std::uint32_t PromisedTo(const DispatchWorker& worker, const DispatchJob& job) {
  const Promise* promise = worker.queue && job.promises ? job.promises->Find(worker.queue->slot) : nullptr;
  return promise == nullptr ? 0 : promise->count;
}
// Calls `f(job, count)` with promises of the worker, at most so many, in no order of meaning.
template <typename F>
void ForEachPromise(const DispatchWorker& worker, std::size_t most, F f) {
  if (!worker.queue) return;
  for (const Promise& promise : worker.queue->promises) {
    if (most-- == 0) return;
    f(std::as_const(*promise.of_job->job), promise.count);
  }
}

// All queues of workers of one kind.
struct KindQueues {
  struct EarlierSequence {
    bool operator()(const WorkerQueue& a, const WorkerQueue& b) const { return a.sequence < b.sequence; }
  };
  template <typename Tag, typename Before = std::less<WorkerQueue>>
  using Set = boost::intrusive::set<WorkerQueue, boost::intrusive::base_hook<QueueSetHook<Tag>>,
                                    boost::intrusive::compare<Before>, boost::intrusive::constant_time_size<false>>;
  Set<ByLoad> by_load;                    // the least loaded first
  Set<ByPromised> with_promises;          // the same of those that were promised something
  Set<BySequence, EarlierSequence> ring;  // who was given something longest ago first
  std::vector<WorkerQueue*> members;
  std::uint64_t load = 0;   // of all of them
  std::uint64_t takes = 0;  // tasks that they have taken
};

}  // namespace allot
