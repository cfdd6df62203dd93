// SPDX-License-Identifier: Apache-2.0
// A crowd of workers on a small backlog, with ceilings: every grant is compared with what runs at that moment, counted
// by hand from what went in and what came out. In virtual time, with crashes that lose what was not durable.
//
// Everything follows from the seed.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulation/world.h"

namespace allot::simulation {

class Ceilings : public World {
 public:
  explicit Ceilings(std::uint64_t seed);

  // One thing that happens. False once something was wrong; wrong() says what.
  bool Step();
  // Everything comes to an end; then exactly as much starts as may.
  bool Finish();

 private:
  // What strategies can tell of a job.
  struct Values {
    std::optional<std::string> customer, user;
    bool async = true;
  };
  struct Running {
    TaskRef task;
    WorkerId worker;
  };
  using Books = std::map<std::uint64_t, Running>;  // by serial: all that runs
  // What is on its way to the disk.
  struct Pending {
    Position position = 0;
    std::string events;
    std::vector<JobId> removed;
    std::vector<std::uint64_t> ended;
    std::vector<Running> granted;
  };

  // Things that happen.
  void Submit();
  void Burst();
  void PullOne();
  void Report();
  void Register();
  void ComeBack(Worker& worker);
  void WorkerLeaves();
  void WorkerChanges();
  void ChangeValues();
  void Time(Duration most);
  void SetPolicy();
  void Fold();
  void Crash();

  void Load(Duration grace);
  void Flush(std::size_t batches);
  // Takes what came out, and compares it with the books.
  void Settle();
  void Grant(const Worker& worker, const allot::Grant& grant);
  void End(std::uint64_t serial);
  void EndWhere(const std::function<bool(const Running&)>& which);
  void Pass(Duration time);
  // May a task of that job start now by that strategy, given what runs?
  bool MayStart(const Strategy& strategy, const Strategy& worker, JobId job) const;
  std::uint64_t RunningOf(const StrategyKey& key, JobId job) const;
  void Count(const Running& lease, int by);
  void CheckBooks();
  void CheckWaiting();

  StrategyPtr SomeStrategy();
  std::vector<TaskRef> RunningOn(WorkerId id) const;

  std::deque<Pending> pending_;
  Pending next_;
  Books books_, durable_;
  std::map<std::string, std::uint64_t> running_;  // by key and value
  std::map<JobId, Values> values_;
  StrategyPtr old_policy_;                  // while it may still hold
  std::optional<Instant> strangers_until_;  // after a crash: what workers run that did not come back
  std::uint64_t found_nothing_ = 0;
};

}  // namespace allot::simulation
