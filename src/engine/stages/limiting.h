// SPDX-License-Identifier: Apache-2.0
// May it start now: which jobs look alike to limits, what these block, and what opens with time.
//
// Open jobs are in a group of those that look alike to limits. One of an older epoch is to be grouped before anything
// is asked about its starts.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "dispatch/lease_table.h"
#include "engine/jobs/job_table.h"
#include "engine/stages/stage.h"
#include "engine/types.h"
#include "limits/limit_table.h"
#include "strategy/orders.h"

namespace allot {

struct EngineParts;
struct EngineWorker;

class Limiting final : public EngineStage {
 public:
  explicit Limiting(EngineParts& parts) : p_(parts), gate_(*this) {}

  bool Grouped(const EngineJob& job) const;
  void Group(EngineJob& job);

  // What limits say to the worker that asks; null: they block nothing.
  StartGate* GateOf(LimitTable::WorkerHandle worker);
  // Of the group that a pick gave.
  LimitTable::Outcome Draw(const EngineJob& job, LimitTable::WorkerHandle worker);
  // It gets no more, though groups are blocked that it might have run.
  void NoteTry(const EngineWorker& worker);
  void KeepDrawn(const Lease& lease, LimitTable::Drawn drawn);
  void ForgetDrawn(const Lease& lease) {
    if (!draws_.empty()) draws_.erase(lease.task.lease.serial);
  }
  // The start never left: what it drew goes back.
  void Refund(const Lease& lease);

  // Is there memory for what the limit would make of jobs? By what a look at some of the open ones says.
  Result<void> Admit(const LimitSpec& spec);
  // What limits will take, when jobs are grouped by them, and do not yet.
  std::uint64_t promised_bytes() const;
  // After limits have come or gone: workers may be told apart otherwise.
  void OnLimits();
  // Groups that can pay by now are in the order again, and wake who waits for them.
  void OpenPayable();
  // Limits that expire, groups that can pay, groups that need not stand apart any more; then jobs are grouped.
  bool Step(std::size_t& budget);
  std::size_t StepBudget() const;

  void Open(EngineJob& job) override { Group(job); }
  void Close(EngineJob& job) override { Ungroup(job); }
  void AfterCommand(std::size_t& budget) override;
  void AddWakes(NextTick& next) const override;
  std::size_t works() const override;

 private:
  class Gate : public StartGate {
   public:
    explicit Gate(Limiting& limiting) : of_(limiting) {}
    Blocked Ask(std::uint32_t group) override;
    Blocked AskClosely(std::uint32_t group) override;
    LimitTable::WorkerHandle worker = 0;

   private:
    Limiting& of_;
  };

  void Ungroup(EngineJob& job);
  // Where groups that can pay wait because as many as may be are open and stand apart: these join the others, whatever
  // else there is to do.
  void MakeRoom(std::size_t& budget);
  bool StepGrouping(std::size_t& budget);

  EngineParts& p_;
  Gate gate_;
  std::uint64_t limit_epoch_ = 1;       // all open jobs are in groups of that epoch
  std::uint64_t limit_walk_epoch_ = 1;  // while that is not the table's own: jobs before the cursor are in
  JobCursor grouping_;                  // groups of this one
  // While jobs are grouped: some of them, with what limits make of each, and what all groups will take.
  struct LimitSample {
    std::vector<std::pair<JobId, std::uint64_t>> jobs;
    std::size_t stride = 1;
    std::uint64_t bytes = 0;
  };
  LimitSample limit_sample_;
  std::uint64_t limit_reads_ = 1;  // all who wait are in lists of these profiles
  // Groups that stand apart in the orders, and when each was blocked for the last time; in the order in which that is
  // to be looked at.
  boost::unordered_flat_map<GroupId, Instant> blocked_at_;
  std::deque<std::pair<Instant, GroupId>> blocked_checks_;
  // What starts have drawn, by the serial of their lease; as long as that lives.
  boost::unordered_flat_map<std::uint64_t, LimitTable::Drawn> draws_;
};

// What time brings for limits: once jobs are in their orders.
class LimitTimes final : public EngineStage {
 public:
  explicit LimitTimes(Limiting& limiting) : limiting_(limiting) {}
  // Apart from what else is due: limits that change again and again keep nothing waiting.
  void Tick(TickBudget&) override {
    std::size_t budget = limiting_.StepBudget();
    limiting_.Step(budget);
  }

 private:
  Limiting& limiting_;
};

}  // namespace allot
