// A crowd of workers on a small backlog, with ceilings: every grant is held against what runs at that moment, counted
// by hand from what went in and what came out. In virtual time, with crashes that lose what was not durable.
//
// Everything follows from the seed.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "engine/engine.h"

namespace allot::simulation {

class Ceilings {
 public:
  explicit Ceilings(std::uint64_t seed);

  // One thing that happens. False once something was wrong; wrong() says what.
  bool Step();
  // Everything comes to an end; then exactly as much starts as may.
  bool Finish();
  const std::string& wrong() const { return wrong_; }
  const std::map<std::string, std::uint64_t>& tally() const { return tally_; }

 private:
  // What strategies can tell of a job.
  struct Values {
    std::optional<std::string> customer, user;
    bool async = true;
  };
  struct Held {
    TaskRef task;
    WorkerId worker;
  };
  using Books = std::map<std::uint64_t, Held>;  // by serial: all that runs
  struct Worker {
    WorkerId id;
    std::uint64_t key = 0;
    bool registered = false, away = false, connected = true, draining = false;
    std::uint32_t slots = 1;
    std::vector<std::string> tags;
    StrategyPtr strategy;
    PullOptions pull;  // the last
  };
  // What is on its way to the disk.
  struct Pending {
    Position position = 0;
    std::string events;
    std::vector<JobId> removed;
    std::vector<std::uint64_t> ended;
    std::vector<Held> granted;
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
  void JobCommand();
  void ChangeValues();
  void Time(Duration most);
  void SetPolicy();
  void Fold();
  void Crash();

  void Load(Duration grace);
  void Flush(std::size_t batches);
  // Takes what came out, and holds it against the books.
  void Settle();
  void Grant(const Worker& worker, const allot::Grant& grant);
  void End(std::uint64_t serial);
  void EndWhere(const std::function<bool(const Held&)>& which);
  void Pass(Duration time);
  // May a task of that job start now by that strategy, given what runs?
  bool MayStart(const Strategy& strategy, const Strategy& worker, JobId job) const;
  std::uint64_t Running(const StrategyKey& key, JobId job) const;
  void Count(const Held& held, int by);
  void CheckBooks();
  void CheckWaiting();
  void Wrong(const std::string& what);

  bool Chance(std::uint64_t one_in) { return rng_.Below(one_in) == 0; }
  std::uint64_t Between(std::uint64_t low, std::uint64_t high) { return low + rng_.Below(high - low + 1); }
  StrategyPtr SomeStrategy();
  JobId AnyJob();
  Worker* Find(WorkerId id);
  std::vector<Worker*> Registered();
  std::vector<TaskRef> HeldBy(WorkerId id) const;

  Rng rng_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::string> records_;
  std::map<Position, std::string> journal_;
  Position floor_ = 0;
  std::deque<Pending> pending_;
  Pending next_;
  Books books_, durable_;
  std::map<std::string, std::uint64_t> running_;  // by key and value
  std::map<JobId, Values> values_;
  std::vector<JobId> jobs_;  // those of late
  std::vector<Worker> workers_;
  StrategyPtr old_policy_;                  // while it may still hold
  std::optional<Instant> strangers_until_;  // after a crash: what workers hold that did not come back
  Now now_;
  std::uint64_t last_id_ = 1000;
  std::uint64_t steps_ = 0;
  std::uint64_t looked_in_vain_ = 0;
  std::string wrong_;
  std::map<std::string, std::uint64_t> tally_;
};

}  // namespace allot::simulation
