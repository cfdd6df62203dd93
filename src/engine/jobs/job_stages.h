// SPDX-License-Identifier: Apache-2.0
// What goes on with jobs: those that are due, those that come back, and what follows when they end.
#pragma once

#include <deque>
#include <string_view>
#include <utility>

#include "engine/jobs/job.h"
#include "engine/stages/stage.h"

namespace allot {

struct EngineParts;

// Workers that hold a task of a job which has ended are told.
class Stopping final : public EngineStage {
 public:
  explicit Stopping(EngineParts& parts) : p_(parts) {}
  // In steps, where they are many.
  void Begin(EngineJob& job);
  static std::string_view ReasonFor(JobState state);

  void Tick(TickBudget& tick) override;
  void AddWakes(NextTick& next) const override;

 private:
  bool Step(std::size_t& budget);

  EngineParts& p_;
  std::deque<std::pair<JobId, std::size_t>> stops_;  // jobs that have ended, and how many of their leases to look at
};

// Retries and schedules.
class DueJobs final : public EngineStage {
 public:
  explicit DueJobs(EngineParts& parts) : p_(parts) {}
  void AfterCommand(std::size_t& budget) override;
  void Tick(TickBudget& tick) override;
  void AddWakes(NextTick& next) const override;
  bool busy() const override;

 private:
  bool StepRetries(std::size_t& budget);
  bool StepSchedules(std::size_t& budget);

  EngineParts& p_;
};

// Failed and skipped tasks of jobs that are retried are queued again; jobs that ended long ago are forgotten.
class Reviving final : public EngineStage {
 public:
  explicit Reviving(EngineParts& parts) : p_(parts) {}
  // With one of the next steps.
  void Add(const EngineJob& job) { revivals_.push_back(job.id()); }
  bool Step(std::size_t& budget);

  void Tick(TickBudget& tick) override;
  void AddWakes(NextTick& next) const override;
  std::size_t works() const override { return revivals_.empty() ? 0 : 1; }
  bool busy() const override { return false; }  // ticks do it

 private:
  bool StepRetention(std::size_t& budget);

  EngineParts& p_;
  std::deque<JobId> revivals_;
};

}  // namespace allot
