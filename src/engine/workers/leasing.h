// SPDX-License-Identifier: Apache-2.0
// Leases: how they end, and what is due for the workers that hold them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/jobs/job.h"
#include "engine/jobs/timers.h"
#include "engine/stages/stage.h"
#include "engine/types.h"

namespace allot {

struct EngineParts;

class Leasing final : public EngineStage {
 public:
  explicit Leasing(EngineParts& parts) : p_(parts) {}

  ReportVerdict ReportOne(const Report& report);
  // Queued again; `counted`: with its attempt, for which `why` is the error.
  void GiveBack(Lease& lease, bool counted, std::string_view why);
  void End(Lease& lease);

  // A sign of life.
  void Seen(EngineWorker& worker);
  // Something is due for it then, or has changed: the timer may be earlier than what it is for, never later.
  void Arm(EngineWorker& worker, Instant at);
  void ArmIdle(EngineWorker& worker);
  void ArmNext(EngineWorker& worker) { Arm(worker, NextCheck(worker)); }
  // When something is due for it, exactly.
  Instant NextCheck(const EngineWorker& worker) const;
  // Does what is due for it.
  void Check(EngineWorker& worker);
  // It leaves, or has left.
  void Unregister(EngineWorker& worker);
  void Remove(EngineWorker& worker);

  void Tick(TickBudget& tick) override;
  void AddWakes(NextTick& next) const override;

 private:
  bool Step(std::size_t& budget);
  // `retry_in`: instead of the wait that the job's backoff says.
  void AttemptFailed(Lease& lease, bool final, std::optional<milliseconds> retry_in = std::nullopt);
  // Its worker was ordered to stop, and then the job was retried: how it ends says nothing about the task, so that,
  // unless it is done after all, the task starts with fresh attempts like the others.
  static bool Stopped(const Lease& lease, const EngineJob& job);
  // It is not registered any more, as far as others are concerned; what it holds is still to be given back.
  void Deregister(EngineWorker& worker);
  // At most so many of its leases. True: it has none any more.
  bool GiveAllBack(EngineWorker& worker, std::size_t most, std::string_view why);
  bool Idle(const EngineWorker& worker) const;  // holds nothing, waits for nothing, and has no connection
  static Instant Deadline(const EngineWorker& worker, const Lease& lease);

  EngineParts& p_;
  Timers<Instant, WorkerId> checks_;  // in engine time
};

}  // namespace allot
