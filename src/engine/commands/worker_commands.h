// SPDX-License-Identifier: Apache-2.0
// Commands of workers: register, pull, report, extend, leave.
//
// Each fails with kUnknownWorker where there is none of that id. Any of them is a sign of life.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/types.h"

namespace allot {

struct EngineParts;

class WorkerCommands {
 public:
  explicit WorkerCommands(EngineParts& parts) : p_(parts) {}

  // Also for a worker that comes back: leases that it lists go on, others of its own return to ready counting no
  // attempt. `key` proves that it is the same one (from RegisterAnswer); a spec.id of 0 is an error of the caller.
  Result<RegisterAnswer> Register(const Now& now, const WorkerSpec& spec, std::optional<std::uint64_t> key);
  // Waiting jobs are matched with it anew, at once; what it holds stays. Not a sign of life: others may do it.
  Result<void> Change(const Now& now, WorkerId worker, const WorkerChange& change);
  Result<void> Heartbeat(const Now& now, WorkerId worker);
  // Grants come as an Assignment in the effects, now or later.
  Result<void> Pull(const Now& now, WorkerId worker, const PullOptions& options);
  // One verdict each, in order.
  Result<std::vector<ReportVerdict>> ReportAll(const Now& now, WorkerId worker, std::span<const Report> reports);
  // False for each lease that is not this worker's (any more).
  Result<std::vector<bool>> Extend(const Now& now, WorkerId worker, std::span<const TaskRef> tasks);
  // What of these is its own, and how far it is.
  Result<void> NoteProgress(const Now& now, WorkerId worker, std::span<ProgressReport> reports);
  // No new tasks, for as long as it is registered, lost connections included; what it holds goes on.
  Result<void> Drain(const Now& now, WorkerId worker);
  // Its connection is gone; it may come back within its grace time. Not an error for unknown workers.
  void Disconnect(const Now& now, WorkerId worker);
  // It leaves for good. What it still holds counts as a delivery and becomes queued again, or fails.
  void Unregister(const Now& now, WorkerId worker);
  // These grants never left the server: queued again, counting no attempt.
  void Undelivered(const Now& now, std::span<const TaskRef> tasks);

 private:
  EngineParts& p_;
};

}  // namespace allot
