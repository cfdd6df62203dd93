// SPDX-License-Identifier: Apache-2.0
// Looking that prepares what it looks at: it puts jobs into groups of limits, or counts who comes first, as a pull
// would. What is granted later, and what is stored, is the same as if nobody had looked.
//
// Threading:  confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/looks/views.h"
#include "limits/limit_table.h"
#include "strategy/orders.h"

namespace allot {

namespace order {
struct Plan;
}
class DemandWalk;
struct EngineJob;
struct EngineParts;
struct EngineWorker;
struct JobSnapshot;
struct OrderSnapshot;
struct PreviewStep;
class PreviewWalk;
struct PromiseSnapshot;
struct Offer;

class PreparedLooks {
 public:
  explicit PreparedLooks(EngineParts& parts) : p_(parts) {}

  // What explanations are made from (engine/looks/explain.h): for a job, or one of its tasks, with all workers or as if
  // there were no other than that one. kUnknownTask.
  Result<JobSnapshot> SnapshotOf(const Now& now, JobId job, std::optional<TaskIndex> task = std::nullopt,
                                 std::optional<WorkerId> only = std::nullopt);
  // All limits that apply to starts of the job, and how they stand; with a worker, as if there were no other.
  Result<LimitsOnJob> LimitsOn(const Now& now, JobId job, std::optional<WorkerId> only = std::nullopt);
  // What a strategy would give, without an order for it (engine/looks/preview_walk.h), and what could start if workers
  // were there (engine/looks/demand_walk.h): each goes on with a walk over all jobs for about `budget` microseconds.
  // True: that was all. kUnknownWorker, at the first step.
  Result<bool> Collect(const Now& now, PreviewWalk& walk, std::size_t budget);
  bool Collect(const Now& now, DemandWalk& walk, std::size_t budget);

 private:
  // What the worker would get now, without taking it. `known` is false where that cannot be told by a short look that
  // changes nothing: the order is being built, or what comes first meets limits.
  EngineJob* Peek(EngineWorker& worker, bool& known);
  std::optional<OrderSnapshot> OrderOf(EngineJob& job, std::optional<WorkerId> only);
  // Under that order. REQUIRES: it is ready.
  Offer OfferOfJob(Orders::Id order, const EngineJob& job) const;
  std::optional<PromiseSnapshot> PromisedOf(const EngineJob& job) const;
  // What the blocks on the way to that leaf see of the job, as if the worker were given it now.
  std::vector<PreviewStep> WhyNow(const EngineWorker& worker, const EngineJob& job, const order::Plan& leaf) const;

  Result<void> Start(const Now& now, PreviewWalk& walk);
  // The limits that block starts of an open job on the worker, by uuid.
  std::vector<std::string> BlockingLimits(const Now& now, EngineJob& job, const EngineWorker& worker);
  // The number under which the walk knows that group, with what its starts cost there.
  std::uint32_t PurseGroup(const Now& now, PreviewWalk& walk, GroupId group,
                           std::optional<LimitTable::WorkerHandle> worker, std::int64_t& nanoseconds);
  // May the worker of that walk run the job, and how does it rank it? None: it may not.
  std::optional<double> Judge(PreviewWalk& walk, const EngineJob& job, std::int64_t& nanoseconds) const;

  EngineParts& p_;
};

}  // namespace allot
