// SPDX-License-Identifier: Apache-2.0
// What simulated queues have in common: an engine in virtual time, the store that it is loaded from, workers as they
// know themselves, and a dice. Everything follows from the seed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "engine/engine.h"
#include "simulation/decisions.h"

namespace allot::simulation {

// REQUIRES: there is one of that text.
StrategyPtr ParseKnown(const std::string& text, bool policy = false);
// Whether a block of it can leave tasks to others that it could start.
bool MayBlock(const Strategy& strategy);

class World {
 public:
  const std::string& wrong() const { return wrong_; }
  // How often what happened: a simulation that never gets somewhere proves nothing there.
  const std::map<std::string, std::uint64_t>& tally() const { return tally_; }
  const Decisions& decisions() const { return decisions_; }

 protected:
  struct Worker {
    WorkerId id;
    std::uint64_t key = 0;
    bool registered = false, away = false, connected = true, draining = false;
    std::uint32_t slots = 1;
    std::vector<std::string> tags;
    Meta attributes;
    std::uint32_t looks = 0;  // a number for all that expressions see of it, where somebody counts that
    StrategyPtr strategy;
    PullOptions pull;  // the last
  };

  explicit World(std::uint64_t seed);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() = default;

  void Wrong(const std::string& what);

  bool Chance(std::uint64_t one_in) { return rng_.Below(one_in) == 0; }
  std::uint64_t Between(std::uint64_t low, std::uint64_t high) { return low + rng_.Below(high - low + 1); }
  template <typename T>
  const T& OneOf(const std::vector<T>& some) {
    return some[rng_.Below(some.size())];
  }

  // --- Time.
  void Move(Instant to);
  bool Idle() const;  // nothing is due now

  // --- The store. What it holds is durable at once; whoever wants to lose something keeps it back.

  // An engine as after a start of the server.
  void LoadEngine(Duration grace);
  // Some of what has changed goes into records, and out of the journal. REQUIRES: all effects are taken.
  void FoldSome();
  void DropRecords(JobId job);

  // --- The queue is paused now and then, and resumed.
  void PauseOrResume();

  // --- Jobs and workers.
  void AddWorkers(std::size_t count);
  Worker* Find(WorkerId id);
  std::vector<Worker*> Registered();  // and not away
  void Remember(JobId job);
  JobId AnyJob();  // of those of late
  // One of those of late that have ended, or that one.
  JobId EndedOr(JobId job);
  // One of those of late is cancelled, paused, retried or resumed.
  void JobCommand();

  Rng rng_;
  EngineOptions options_;
  bool paused_ = false;
  std::unique_ptr<Engine> engine_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::string> records_;
  std::map<Position, std::string> journal_;
  Position floor_ = 0;
  std::vector<JobId> recent_;
  std::vector<Worker> workers_;
  Now now_;
  std::uint64_t last_id_ = 1000;
  std::uint64_t steps_ = 0;
  std::string wrong_;
  std::map<std::string, std::uint64_t> tally_;
  Decisions decisions_;
};

}  // namespace allot::simulation
