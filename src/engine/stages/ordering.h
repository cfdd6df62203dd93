// SPDX-License-Identifier: Apache-2.0
// In which order: the orders of all strategies are updated, and built, in steps.
#pragma once

#include <deque>

#include "engine/jobs/job_table.h"
#include "engine/stages/stage.h"
#include "strategy/orders.h"

namespace allot {

struct EngineParts;

// What strategies group jobs by.
class EngineJobKeys : public JobKeys {
 public:
  GroupText Get(const PickJob& job, const StrategyKey& key) const override;
  bool HasTag(const PickJob& job, const std::string& tag) const override;
};

// Orders are updated by what was put off because there are many of them: before anything else in a tick.
class OrderUpdates final : public EngineStage {
 public:
  explicit OrderUpdates(EngineParts& parts) : p_(parts) {}

  // Of the job that opens, or of a lease that has ended, with one of the next ticks.
  void OpenLater(EngineJob& job);
  void ReturnLater(EngineJob& job);

  void Tick(TickBudget& tick) override;
  void AddWakes(NextTick& next) const override;
  std::size_t works() const override { return returns_.empty() && openings_.empty() ? 0 : 1; }
  bool busy() const override { return false; }  // ticks do it

 private:
  EngineParts& p_;
  std::deque<JobId> returns_, openings_;
};

class Ordering final : public EngineStage {
 public:
  explicit Ordering(EngineParts& parts) : p_(parts) {}

  // Are orders over all jobs built, and dropped, within one command?
  bool SmallBuild() const;
  // Orders for strategies that are new. True: all are built.
  bool Build(std::size_t& budget);

  void Open(EngineJob& job) override;
  void Close(EngineJob& job) override;
  void AfterCommand(std::size_t& budget) override;
  void Tick(TickBudget& tick) override;
  void AddWakes(NextTick& next) const override;
  std::size_t works() const override;

 private:
  EngineParts& p_;
};

}  // namespace allot
