// SPDX-License-Identifier: Apache-2.0
// Commands on the queue as a whole: what holds for all of its jobs and workers.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/types.h"

namespace allot {

struct EngineParts;

class QueueCommands {
 public:
  explicit QueueCommands(EngineParts& parts) : p_(parts) {}

  // Changes two of the options; times that run already keep their length.
  void Configure(Duration worker_grace, std::size_t max_finished_jobs);
  // Longer leases of limits are cut to it from now on.
  void SetMaxLimitExpiration(Duration most);
  // How long whoever was denied a start counts as denied after that (LimitLooks::Exclusions), from now on.
  void SetLimitBanWindow(Duration window);
  // What holds for all workers; takes over once its order is built.
  void SetPolicy(const Now& now, const StrategyPtr& policy, const Weights& weights);
  // New jobs, strategies and limits that would take it beyond are refused (kMemoryFull); what is there stays, also if
  // it is more. 0: none.
  void SetMemoryBudget(std::uint64_t bytes);
  // Who holds queued tasks. From one to the other, or to another balance, nothing is lost: queued tasks are promised,
  // or are open again, in steps.
  void SetDispatch(const Now& now, const DispatchOptions& dispatch);
  void Pause(const Now& now);
  void Resume(const Now& now);

 private:
  EngineParts& p_;
};

}  // namespace allot
