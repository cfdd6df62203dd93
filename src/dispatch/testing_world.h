// SPDX-License-Identifier: Apache-2.0
// A queue without an engine, for tests: classes, orders and a dispatcher, with jobs and workers that are given to them
// in the order in which the engine does so.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "dispatch/dispatcher.h"
#include "dispatch/testing.h"
#include "match/testing.h"
#include "strategy/orders.h"
#include "strategy/testing.h"

namespace allot::testing {

struct WorldJob : DispatchJob {
  SampleJob sample;
  bool async = true;
  std::optional<std::string> customer;
};

struct WorldWorker : DispatchWorker {
  SampleWorker sample;
  Orders::Id order = 0;
  bool registered = false;
};

using WorldKeys = SampleKeys<WorldJob>;

class DispatchWorld : public ClassTable::Listener {
 public:
  explicit DispatchWorld(std::uint64_t seed = 1)
      : rng(seed), table(*this), orders(keys, table), dispatcher(orders, table, rng) {
    table.BeginCommand(1000, kLongCommand);
  }
  ~DispatchWorld() override {
    for (const auto& worker : workers) {
      if (worker->registered) dispatcher.Unregister(*worker);
    }
    for (const auto& job : jobs) {
      if (job->open) Close(*job);
    }
  }
  void OnWidth() override { orders.OnWidth(); }
  void OnClass(ClassId cls) override {
    orders.OnClass(cls);
    dispatcher.OnClass(cls);
  }
  void OnKind(KindId kind) override {
    orders.OnKind(kind);
    dispatcher.OnKind(kind);
  }
  void OnMoved(KindId from) override { dispatcher.OnMoved(from); }

  void Begin(std::int64_t seconds = 1000) {
    table.BeginCommand(seconds, kLongCommand);
    dispatcher.BeginCommand();
  }

  // --- Jobs.

  // `fill` may set anything of it; then it is known, and open if it has queued tasks.
  template <typename F>
  WorldJob& Submit(std::uint32_t queued, F fill) {
    jobs.push_back(std::make_unique<WorldJob>());
    WorldJob& job = *jobs.back();
    job.key.id = JobId{++last_job};
    job.submitted_at = FromMillis(ms);
    job.key.scheduled_for = FromMillis(ms);
    fill(job);
    job.cls = table.AddJob(job.sample.In(table));
    orders.Know(job);
    SetQueued(job, queued);
    return job;
  }
  WorldJob& Submit(std::uint32_t queued, TagList tags = {}) {
    return Submit(queued, [&](WorldJob& job) { job.sample.tags = std::move(tags); });
  }
  void Open(WorldJob& job) {
    orders.Open(job);
    dispatcher.Open(job);
  }
  void Close(WorldJob& job) {
    dispatcher.Close(job);
    orders.Close(job);
  }
  void SetQueued(WorldJob& job, std::uint32_t queued, bool may_open = true) {
    if (job.open && queued == 0) Close(job);
    const bool open = job.open;
    orders.SetQueued(job, queued);
    if (open) dispatcher.SetQueued(job);
    if (!open && queued > 0 && may_open) Open(job);
  }
  void SetGroup(WorldJob& job, std::uint32_t group) {
    dispatcher.BeforeGroup(job);
    orders.SetGroup(job, group);
    dispatcher.AfterGroup(job);
  }
  // REQUIRES: nothing of it runs.
  void Forget(WorldJob& job) {
    if (job.open) Close(job);
    orders.Forget(job);
    table.DropJob(job.cls);
    std::erase_if(jobs, [&](const auto& one) { return one.get() == &job; });
  }
  // Puts jobs of classes that workers have begun to read more of into new ones.
  void Regroup() {
    for (const auto& job : jobs) {
      if (!table.Outdated(job->cls)) continue;
      const bool open = job->open;
      if (open) Close(*job);
      const ClassId cls = table.AddJob(job->sample.In(table));
      table.DropJob(job->cls);
      job->cls = cls;
      if (open) Open(*job);
    }
  }

  // --- Workers.
  WorldWorker& AddLike(const SampleWorker& sample, const std::string& strategy = "priority") {
    workers.push_back(std::make_unique<WorldWorker>());
    WorldWorker& worker = *workers.back();
    worker.id = WorkerId{++last_worker};
    worker.sample = sample;
    worker.handle = table.AddWorker(sample.Traits());
    worker.order = orders.Use(MustParseStrategy(strategy));
    BuildAll();
    UpdateRegistration(worker);
    return worker;
  }
  WorldWorker& Add(TagList tags = {}, const std::string& strategy = "priority") {
    SampleWorker sample;
    sample.tags = std::move(tags);
    return AddLike(sample, strategy);
  }
  void UpdateRegistration(WorldWorker& worker) {
    worker.registered = true;
    dispatcher.Register(worker);
  }
  void Leave(WorldWorker& worker) {
    worker.registered = false;
    dispatcher.Unregister(worker);
  }
  void Change(WorldWorker& worker, const SampleWorker& sample) {
    worker.sample = sample;
    table.ChangeWorker(worker.handle, sample.Traits());
  }
  void Remove(WorldWorker& worker) {
    Leave(worker);
    table.DropWorker(worker.handle);
    orders.Unuse(worker.order);
    std::erase_if(workers, [&](const auto& one) { return one.get() == &worker; });
  }
  void BuildAll() {
    while (orders.builder().Building()) {
      orders.builder().Begin();
      for (const auto& job : jobs) {
        if (orders.builder().built_to() < job->id()) orders.builder().Add(*job);
      }
      orders.builder().Finish();
    }
  }

  // --- Taking.
  WorldJob* Pick(WorldWorker& worker, StartGate* gate = nullptr) {
    for (;;) {
      DispatchJob* job = dispatcher.Pick(worker, worker.order, gate);
      if (job != nullptr || !dispatcher.last_pick().unfinished) return static_cast<WorldJob*>(job);
    }
  }
  void Take(WorldWorker& worker, WorldJob& job) {
    dispatcher.Take(worker, job);
    dispatcher.Started(worker);
    orders.Started(job, Stamp{ms, ++serial});
    SetQueued(job, job.queued - 1);
  }
  // Picks and takes; null if there is nothing.
  WorldJob* Pull(WorldWorker& worker) {
    WorldJob* job = Pick(worker);
    if (job != nullptr) Take(worker, *job);
    return job;
  }
  // One of the tasks that the worker runs has ended; `again`: it is queued once more.
  void Finish(WorldWorker& worker, WorldJob& job, bool again = false) {
    dispatcher.Finished(worker);
    orders.Returned(job);
    if (again) SetQueued(job, job.queued + 1);
  }

  // --- Modes.

  // As the engine does: then all jobs come up one after the other.
  void SetOptions(const DispatchOptions& options) {
    const bool was = dispatcher.balanced();
    dispatcher.SetOptions(options);
    if (!dispatcher.balanced()) dispatcher.SetGathering(dealing = false);
    if (was || !dispatcher.balanced()) return;
    for (const auto& worker : workers) {
      if (worker->registered) dispatcher.Register(*worker);
    }
    dispatcher.SetGathering(dealing = !jobs.empty());
  }
  void Balance(Balance balance = Balance::kLeastQueue) { SetOptions({DispatchMode::kBalanced, balance}); }
  void Fanout() { SetOptions({}); }
  bool Step(std::size_t& budget) {
    if (!dispatcher.Step(budget)) return false;
    if (!dealing) return true;
    for (const auto& job : jobs) {
      if (!job->open || job->promises) continue;
      if (budget == 0) return false;
      --budget;
      dispatcher.Open(*job, budget);
    }
    dispatcher.SetGathering(dealing = false);
    return dispatcher.Step(budget);
  }
  // All steps; true unless that never ends.
  bool Settle(std::size_t at_once = 100) {
    for (int i = 0; i < 100'000; ++i) {
      std::size_t budget = at_once;
      if (Step(budget) && !dispatcher.Busy()) return true;
    }
    return false;
  }

  // --- Looking.
  std::string Wrong() const {
    std::vector<const DispatchWorker*> all;
    for (const auto& worker : workers) all.push_back(worker.get());
    return DispatcherCheck::Find(dispatcher, AllJobs(), all);
  }
  std::string Unsettled() const { return DispatcherCheck::FindSettled(dispatcher, AllJobs()); }
  static std::uint64_t Promised(const WorldWorker& worker) { return DispatcherCheck::Promised(worker); }
  static std::uint32_t PromiseOf(const WorldJob& job, const WorldWorker& worker) {
    return DispatcherCheck::PromiseOf(job, worker);
  }
  static std::uint32_t OpenOf(const WorldJob& job) { return DispatcherCheck::Open(job); }

  Rng rng;
  WorldKeys keys;
  ClassTable table;
  Orders orders;
  Dispatcher dispatcher;
  std::vector<std::unique_ptr<WorldJob>> jobs;
  std::vector<std::unique_ptr<WorldWorker>> workers;
  std::uint64_t last_job = 0, last_worker = 0, serial = 0;
  std::int64_t ms = 1'000'000;
  bool dealing = false;  // jobs are still to be given to the dispatcher, since it is balanced again

 private:
  static constexpr std::int64_t kLongCommand = 10'000'000'000;

  std::vector<const DispatchJob*> AllJobs() const {
    std::vector<const DispatchJob*> all;
    for (const auto& job : jobs) all.push_back(job.get());
    return all;
  }
};

}  // namespace allot::testing
