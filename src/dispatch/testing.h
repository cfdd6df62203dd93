// SPDX-License-Identifier: Apache-2.0
// Whether a dispatcher is in order, looked at from outside: for tests.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dispatch/dispatcher.h"

namespace allot {

// All that must hold of a dispatcher between any two calls; and, once nothing is left to do, what must hold then.
// Those who look give all jobs and workers that there are, open or not, registered or not.
class DispatcherCheck {
 public:
  // The first thing that is not as it should be; empty: all is.
  static std::string Find(const Dispatcher& dispatcher, const std::vector<const DispatchJob*>& jobs,
                          const std::vector<const DispatchWorker*>& workers) {
    DispatcherCheck check(dispatcher);
    check.Queues(workers);
    check.OfJobs(jobs);
    check.Kinds();
    check.Classes();
    check.Steps();
    return check.wrong_;
  }

  // After all steps, and once all jobs are known: every promise is with a worker that may run it, and what is open
  // nobody may run.
  static std::string FindSettled(const Dispatcher& dispatcher, const std::vector<const DispatchJob*>& jobs) {
    DispatcherCheck check(dispatcher);
    check.Expect(!dispatcher.Busy(), "something is left to do");
    check.Expect(dispatcher.gone_.empty(), "queues of workers that are gone are left");
    for (const WorkerQueue* queue : dispatcher.slots_) {
      if (queue == nullptr) continue;
      check.Expect(queue->worker != nullptr, "a queue of nobody");
      check.Expect(!queue->rematch, "a queue that is still to be looked at");
      for (const Promise& promise : queue->promises) {
        check.Expect(dispatcher.classes_.kinds().Matches(queue->kind, promise.job->cls),
                     Name(*promise.of_job) + ": promised to worker " + std::to_string(queue->worker->id.value) +
                         ", which may not run it");
      }
    }
    for (const DispatchJob* job : jobs) {
      check.Expect((job->promises != nullptr) == (dispatcher.balanced() && job->open),
                   NameOf(*job) + ": wrongly known, or not");
      if (!job->promises || job->promises->open == 0) continue;
      check.Expect(check.Candidates(job->cls) == 0,
                   NameOf(*job) + ": " + std::to_string(job->promises->open) + " open, though some may run it");
    }
    return check.wrong_;
  }

  // What is open of it, and what was promised to that worker.
  static std::uint32_t Open(const DispatchJob& job) { return job.promises ? job.promises->open : job.queued; }
  static std::uint32_t PromiseOf(const DispatchJob& job, const DispatchWorker& worker) {
    const Promise* promise = job.promises && worker.queue ? job.promises->Find(worker.queue->slot) : nullptr;
    return promise == nullptr ? 0 : promise->count;
  }
  static std::uint64_t Promised(const DispatchWorker& worker) { return worker.queue ? worker.queue->promised : 0; }
  static std::size_t Promises(const DispatchJob& job) { return job.promises ? job.promises->size() : 0; }

 private:
  explicit DispatcherCheck(const Dispatcher& dispatcher) : d_(dispatcher) {}

  void Expect(bool holds, const std::string& text) {
    if (!holds && wrong_.empty()) wrong_ = text;
  }
  static std::string NameOf(const DispatchJob& job) { return "job " + std::to_string(job.id().value); }
  static std::string Name(const JobPromises& of_job) { return NameOf(*of_job.job); }
  static std::string Name(const WorkerQueue& queue) {
    return "slot " + std::to_string(queue.slot) +
           (queue.worker != nullptr ? " (worker " + std::to_string(queue.worker->id.value) + ")" : " (gone)");
  }
  std::size_t Candidates(ClassId cls) const {
    std::size_t workers = 0;
    for (KindId kind = 0; kind < d_.kinds_.size(); ++kind) {
      if (!d_.kinds_[kind].members.empty() && d_.classes_.kinds().Matches(kind, cls))
        workers += d_.kinds_[kind].members.size();
    }
    return workers;
  }

  void Queues(const std::vector<const DispatchWorker*>& workers) {
    std::set<const WorkerQueue*> owned;
    for (const DispatchWorker* worker : workers) {
      if (!worker->queue) continue;
      Expect(worker->queue->worker == worker, Name(*worker->queue) + ": is another worker's");
      owned.insert(worker->queue.get());
    }
    for (const auto& queue : d_.gone_) {
      Expect(queue->worker == nullptr, Name(*queue) + ": is gone, but has a worker");
      owned.insert(queue.get());
    }
    std::size_t used = 0;
    std::uint64_t total = 0;
    for (std::uint32_t slot = 0; slot < d_.slots_.size(); ++slot) {
      const WorkerQueue* queue = d_.slots_[slot];
      const auto times_free = std::count(d_.free_slots_.begin(), d_.free_slots_.end(), slot);
      Expect(times_free == (queue == nullptr ? 1 : 0), "slot " + std::to_string(slot) + ": wrongly free or not");
      if (queue == nullptr) continue;
      ++used;
      if (!owned.contains(queue)) return Expect(false, "slot " + std::to_string(slot) + ": a queue of nobody");
      Expect(queue->slot == slot, Name(*queue) + ": stands in another slot");
      std::uint64_t sum = 0;
      std::size_t at = 0, unarranged = 0;
      for (const Promise& promise : queue->promises) {
        Expect(promise.queue == queue, Name(*queue) + ": holds a share of another queue");
        Expect(promise.count > 0, Name(*queue) + ": a share of nothing");
        const bool placed = promise.arrangement == queue->arrangement;
        if (!placed) Expect(at == unarranged++, Name(*queue) + ": a share without a place behind one that has one");
        ++at;
        sum += promise.count;
        promises_.insert(&promise);
      }
      Expect(queue->promises.size() == at, Name(*queue) + ": its shares are miscounted");
      Expect(queue->unarranged == unarranged, Name(*queue) + ": " + std::to_string(queue->unarranged) +
                                                  " are noted as unarranged instead of " + std::to_string(unarranged));
      Expect(queue->promised == sum,
             Name(*queue) + ": promised " + std::to_string(queue->promised) + " instead of " + std::to_string(sum));
      total += sum;
    }
    Expect(used == owned.size(), "a queue without a slot");
    Expect(d_.counts_.promised == total,
           "promised in all " + std::to_string(d_.counts_.promised) + " instead of " + std::to_string(total));
  }

  void OfJobs(const std::vector<const DispatchJob*>& jobs) {
    std::size_t found = 0;
    for (const DispatchJob* job : jobs) {
      if (!job->promises) continue;
      const JobPromises& of_job = *job->promises;
      Expect(of_job.job == job, NameOf(*job) + ": the holding of another job");
      Expect(job->open, NameOf(*job) + ": a holding, though it is closed");
      std::uint64_t sum = 0;
      std::size_t count = 0;
      std::set<const WorkerQueue*> queues;
      of_job.ForEach([&](Promise& promise) {
        ++count;
        sum += promise.count;
        Expect(promise.of_job == &of_job && promise.job == job, NameOf(*job) + ": a share of another job");
        if (!promises_.contains(&promise)) return Expect(false, NameOf(*job) + ": a share that no queue has");
        Expect(queues.insert(promise.queue).second, NameOf(*job) + ": two shares in one queue");
        Expect(of_job.Find(promise.queue->slot) == &promise, NameOf(*job) + ": a share that is not found");
      });
      found += count;
      by_class_[job->cls] += count;
      Expect(count == of_job.size(), NameOf(*job) + ": shares are miscounted");
      Expect(of_job.promised == sum,
             NameOf(*job) + ": promised " + std::to_string(of_job.promised) + " instead of " + std::to_string(sum));
      Expect(of_job.open + sum == job->queued, NameOf(*job) + ": " + std::to_string(of_job.open) + " open and " +
                                                   std::to_string(sum) + " promised of " + std::to_string(job->queued) +
                                                   " queued");
      Expect(of_job.listed == (of_job.open > 0), NameOf(*job) + ": wrongly listed as open, or not");
      if (of_job.listed) listed_[job->cls].insert(&of_job);
    }
    Expect(found == promises_.size(), "a share that no job has");
  }

  void Kinds() {
    std::size_t members = 0, live = 0;
    for (const WorkerQueue* queue : d_.slots_) live += queue != nullptr && queue->worker != nullptr ? 1 : 0;
    for (KindId id = 0; id < d_.kinds_.size(); ++id) {
      const KindQueues& kind = d_.kinds_[id];
      const std::string name = "kind " + std::to_string(id);
      members += kind.members.size();
      std::uint64_t load = 0;
      std::size_t with = 0;
      for (std::size_t i = 0; i < kind.members.size(); ++i) {
        const WorkerQueue& queue = *kind.members[i];
        if (queue.worker == nullptr) return Expect(false, name + ": " + Name(queue) + " is a member");
        Expect(queue.kind == id && queue.member == i, name + ": " + Name(queue) + " does not know its place");
        Expect(d_.classes_.KindOf(queue.worker->handle) == id, name + ": " + Name(queue) + " is of another kind");
        Expect(queue.place == d_.PlaceOf(queue), name + ": " + Name(queue) + " stands where it stood");
        if (!queue.worker->asking) {
          Expect((queue.worker->idle == ~std::uint64_t{0}) == (queue.worker->running > 0),
                 name + ": " + Name(queue) + " is wrongly idle, or not");
        }
        load += queue.promised + queue.worker->running;
        with += queue.promised > 0 ? 1 : 0;
      }
      Expect(kind.load == load, name + ": load " + std::to_string(kind.load) + " instead of " + std::to_string(load));
      Expect(InOrder(kind.by_load, id, [](const auto& a, const auto& b) { return a.place < b.place; }) ==
                 kind.members.size(),
             name + ": by load incomplete or not in order");
      Expect(InOrder(kind.with_promises, id, [](const auto& a, const auto& b) { return a.place < b.place; }) == with,
             name + ": those that hold something incomplete or not in order");
      for (const WorkerQueue& queue : kind.with_promises) {
        Expect(queue.promised > 0 && queue.with_promises, name + ": " + Name(queue) + " holds nothing");
      }
      Expect(InOrder(kind.ring, id, [](const auto& a, const auto& b) { return a.sequence < b.sequence; }) ==
                 kind.members.size(),
             name + ": ring incomplete or not in order");
    }
    Expect(members == live, "a queue that is in no kind");
  }
  // How many there are; none if they are not in order.
  template <typename Set, typename Before>
  static std::size_t InOrder(const Set& set, KindId kind, Before before) {
    std::size_t count = 0;
    const WorkerQueue* last = nullptr;
    for (const WorkerQueue& queue : set) {
      if (queue.kind != kind || (last != nullptr && !before(*last, queue))) return ~std::size_t{0};
      last = &queue;
      ++count;
    }
    return count;
  }

  void Classes() {
    for (ClassId cls = 0; cls < d_.by_class_.size(); ++cls) {
      const auto& state = d_.by_class_[cls];
      const std::string name = "class " + std::to_string(cls);
      Expect(state.promises == by_class_[cls],
             name + ": " + std::to_string(state.promises) + " shares instead of " + std::to_string(by_class_[cls]));
      std::set<const JobPromises*> open;
      for (const JobPromises& of_job : state.open) open.insert(&of_job);
      Expect(open == listed_[cls], name + ": those that have something open are wrong");
      Expect(d_.open_classes_.contains(cls) == !open.empty(), name + ": wrongly among the open ones, or not");
      Expect(std::count(d_.wanted_.begin(), d_.wanted_.end(), cls) == (state.wanted ? 1 : 0),
             name + ": wrongly noted as wanted, or not");
    }
  }

  // Nothing is forgotten: what is not as it is to become will be met by a step.
  void Steps() {
    for (const auto& [cls, open] : listed_) {
      if (open.empty() || Candidates(cls) == 0) continue;
      Expect(d_.by_class_[cls].wanted, "class " + std::to_string(cls) + ": has candidates, and is not looked at");
    }
    for (const WorkerQueue* queue : d_.slots_) {
      if (queue == nullptr) continue;
      const bool noted = std::find(d_.rematches_.begin(), d_.rematches_.end(), queue->slot) != d_.rematches_.end();
      if (queue->rematch) Expect(noted, Name(*queue) + ": is suspect, and not looked at");
      if (queue->newly_promised) {
        Expect(std::find(d_.newly_promised_.begin(), d_.newly_promised_.end(), queue->slot) != d_.newly_promised_.end(),
               Name(*queue) + ": was fed, and that is not told");
      }
      if (queue->worker == nullptr || queue->rematch) continue;
      for (const Promise& promise : queue->promises) {
        Expect(d_.classes_.kinds().Matches(queue->kind, promise.job->cls),
               Name(*queue) + ": may not run " + Name(*promise.of_job) + ", and is not suspect");
      }
    }
  }

  const Dispatcher& d_;
  std::string wrong_;
  std::set<const Promise*> promises_;
  std::map<ClassId, std::uint64_t> by_class_;
  std::map<ClassId, std::set<const JobPromises*>> listed_;
};

}  // namespace allot
