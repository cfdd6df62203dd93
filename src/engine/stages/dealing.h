// SPDX-License-Identifier: Apache-2.0
// To whom it is promised: workers and jobs are given to the dispatcher, and jobs are promised.
#pragma once

#include <optional>

#include "base/ids.h"
#include "base/time.h"
#include "dispatch/dispatch_mode.h"
#include "engine/jobs/job_table.h"
#include "engine/stages/stage.h"

namespace allot {

struct EngineParts;
struct EngineWorker;

class Dealing final : public EngineStage {
 public:
  explicit Dealing(EngineParts& parts) : p_(parts) {}

  void SetOptions(const DispatchOptions& dispatch);
  // Whatever was changed about the worker: may something be promised to it?
  void UpdateRegistration(EngineWorker& worker);
  // Jobs that are there already are promised from now on, or a while later; those that open meanwhile then too.
  void Begin(Duration later);
  void End();
  bool dealing() const { return dealing_; }

  // An open job is promised, unless it is still to come in a step.
  void Open(EngineJob& job) override;
  void Close(EngineJob& job) override;
  void AfterCommand(std::size_t& budget) override;
  void Tick(TickBudget& tick) override;
  void AddWakes(NextTick& next) const override;
  std::size_t works() const override;

 private:
  bool Step(std::size_t& budget);

  EngineParts& p_;
  std::optional<WorkerId> register_from_;  // workers from this one on are still to be registered there
  bool dealing_ = false;                   // jobs from the cursor on are still to be promised, once it is time
  Instant deal_at_{};                      // in engine time
  JobCursor dealt_;
  Instant swept_at_{};
};

}  // namespace allot
