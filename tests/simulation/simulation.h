// SPDX-License-Identifier: Apache-2.0
// The real engine with a memory store, in virtual time, side by side with the model: random commands, late ticks, steps
// of the clock, folding, group commits and crashes, compared after every step.
//
// Everything follows from the seed.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "engine/engine.h"
#include "simulation/decisions.h"
#include "simulation/model.h"
#include "store/memory/memory_store.h"

namespace allot::simulation {

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed);

  // One command, tick, fold, commit or crash. False once engine and model differ; difference() says how.
  bool Step();
  const std::string& difference() const { return difference_; }
  std::uint64_t steps() const { return steps_; }
  // How often each thing was tried and came about, to see that the simulation reaches them all.
  const std::map<std::string, std::uint64_t>& tally() const { return tally_; }
  // All effects since the start, as bytes.
  std::uint64_t effects_hash() const { return effects_hash_; }
  const Decisions& decisions() const { return decisions_; }

 private:
  // A worker's process, from the outside.
  struct Process {
    WorkerId id;
    std::uint64_t key = 0;
    bool connected = false;
    std::vector<std::string> tags;
    std::vector<TaskRef> running;
  };
  using Operation = std::function<void(Model&)>;
  // What is on its way to the disk, and what the model did meanwhile.
  struct Pending {
    Batch batch;
    std::vector<Operation> operations;
    std::vector<std::uint64_t> granted;
    std::uint64_t highest_job = 0;
  };

  // Commands.
  Result<std::vector<SubmitAnswer>> SubmitBatch(const std::vector<JobId>& ids, const std::vector<JobSpec>& specs);
  void DoSubmit();
  void DoChange();
  void DoJobCommand();
  void DoQueue();
  void DoRegister();
  void DoPull();
  void DoReport();
  void DoWorkerCommand();
  void DoUndelivered();
  void DoTime();
  void DoFold();
  void DoCrash();

  // The same to engine and model; the model's part is done again for the durable one when it is committed.
  template <typename Do>
  auto InModel(Do what);
  void TickBoth();
  void Move(Instant to);
  void Load(Duration grace);
  void AdoptAfterCrash();
  void AdoptJitter();
  void Take();
  void Queue(Batch batch);
  void Commit(std::size_t batches);

  // Comparing.
  void Trace(const std::string& what) const;
  void Differ(const std::string& what);
  template <typename T>
  void Expect(const T& engine, const T& model, const std::string& what);
  void ExpectCode(const std::optional<Code>& engine, const Model::Failure& model, const std::string& what);
  void CompareAll();
  void CompareJob(const JobView& view, const Model::Job& job);
  void CompareTasks(const Model::Job& job);
  void CompareWorkers();
  void CompareStats();
  void CompareLists();

  // Choices.
  bool Chance(std::uint64_t one_in) { return rng_.Below(one_in) == 0; }
  std::uint64_t Between(std::uint64_t low, std::uint64_t high) { return low + rng_.Below(high - low + 1); }
  Duration Some(Duration unit, std::uint64_t low, std::uint64_t high) {
    return unit * static_cast<std::int64_t>(Between(low, high));
  }
  std::vector<std::string> Tags(bool of_worker);
  Properties SomeProperties();
  std::vector<Properties> Constraints();
  Meta SomeMeta();
  Meta Attributes();
  ExprPtr Expression(std::initializer_list<const char*> texts);
  StrategyPtr SomeStrategy(bool policy);
  ExprPtr JobRequirements();
  ExprPtr JobRank();
  ExprPtr WorkerRequirements();
  ExprPtr WorkerRank();
  JobSpec Spec();
  JobId AnyJob();
  JobId AnyEndedJob();
  Process& AnyProcess();
  TaskRef AnyRef(const Process& process);
  bool Genuine(const TaskRef& ref) const;
  std::vector<bool> Genuine(const std::vector<TaskRef>& refs) const;

  Rng rng_;
  Rng look_;  // of what is looked at, so that looking more often changes nothing
  EngineOptions options_;
  std::shared_ptr<MemoryDisk> disk_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Engine> engine_;
  Model model_;                        // as the engine is now
  Model durable_;                      // as the disk is
  std::vector<Operation> operations_;  // since the last batch
  std::deque<Pending> pending_;
  Now now_;
  Duration wall_offset_{0};
  std::vector<Process> processes_;
  std::vector<TaskRef> issued_;  // by serial; [0] is unused
  std::uint64_t last_id_ = 1000;
  std::uint64_t highest_durable_job_ = 0;
  std::uint64_t highest_durable_serial_ = 0;
  std::uint64_t highest_taken_job_ = 0;
  std::string difference_;
  std::uint64_t steps_ = 0;
  std::map<std::string, std::uint64_t> tally_;
  std::uint64_t effects_hash_ = 0;
  Decisions decisions_;
  std::map<std::string, ExprPtr> parsed_;
  bool large_jobs_ = false;
  bool strategies_ = false;
  bool fair_ = false;   // among strategies, those that share between users
  bool trace_ = false;  // ALLOT_SIM_TRACE
};

template <typename T>
void Simulation::Expect(const T& engine, const T& model, const std::string& what) {
  if (engine == model || !difference_.empty()) return;
  if constexpr (std::is_arithmetic_v<T>) {
    Differ(what + ": engine " + std::to_string(engine) + ", model " + std::to_string(model));
  } else {
    Differ(what);
  }
}

template <typename Do>
auto Simulation::InModel(Do what) {
  operations_.push_back([what](Model& model) { static_cast<void>(what(model)); });
  return what(model_);
}

}  // namespace allot::simulation
