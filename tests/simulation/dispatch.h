// SPDX-License-Identifier: Apache-2.0
// A queue whose tasks are promised to workers, and open to all again, while workers and jobs come and go: after every
// command what everybody runs is counted, and whoever waits is compared with what could start. In virtual time,
// with crashes.
//
// Everything follows from the seed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulation/world.h"

namespace allot::simulation {

class Dispatch : public World {
 public:
  explicit Dispatch(std::uint64_t seed);

  // One thing that happens. False once something was wrong; wrong() says what.
  bool Step();
  // No more trouble: all that is left is done, each task once.
  bool Finish();

 private:
  struct Job {
    std::vector<std::string> tags;
    std::string user;
    std::int64_t need = 0;     // what a worker's Speed must reach; 0: anything will do
    std::set<TaskIndex> done;  // reported so, and taken
  };
  struct Running {
    TaskRef task;
    WorkerId worker;
  };

  // Things that happen.
  void Submit();
  void ChangeJob();
  void PullOne();
  void Undeliver();
  void Report(bool friendly);
  void Register();
  void ComeBack(Worker& worker);
  void WorkerLeaves();
  void WorkerChanges();
  void SetPolicy();
  void SwitchDispatch();
  void LimitCommand();
  void Crash();

  void Pass(Duration time);
  // Takes what came out, and compares it with the books.
  void Settle();
  void Grant(const Worker& worker, const allot::Grant& grant);
  void End(std::uint64_t serial);
  void EndWhere(const std::function<bool(const Running&)>& which);
  std::vector<TaskRef> RunningOn(WorkerId id) const;
  // Promises and what is open are what is queued, and nothing is with whom it should not be.
  void CheckPromises();
  void CheckBooks();
  // Nobody waits who could start something.
  void CheckWaiting();
  bool MayRun(const Worker& worker, const Job& job) const;
  static std::int64_t SpeedOf(const Worker& worker);
  StrategyPtr SomeStrategy() { return OneOf(strategies_); }
  Meta SomeAttributes();
  static ExprPtr Needs(std::int64_t need);

  bool plain_;  // no order blocks anything
  std::vector<StrategyPtr> strategies_, policies_;
  std::map<JobId, Job> jobs_;
  std::map<std::uint64_t, Running> books_;  // by serial: all that runs
  std::set<std::pair<JobId, TaskIndex>> running_;
  std::map<std::string, std::string> limits_;  // by uuid: the user whose starts it blocks
  std::vector<TaskRef> started_;               // the last time that something came out
  std::optional<Instant> strangers_until_;     // after a crash: what workers run that did not come back
};

}  // namespace allot::simulation
