// SPDX-License-Identifier: Apache-2.0
// What an engine is made of: tables with data, and what goes on with them.
//
// Each part owns its data. Tables know nothing of each other but what they are given; what goes on (jobs/job_flow.h,
// workers/, stages/, tallies/) reaches the others through this. Looks see all of it, and change nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/rng.h"
#include "dispatch/dispatcher.h"
#include "dispatch/lease_table.h"
#include "engine/budget.h"
#include "engine/clock.h"
#include "engine/jobs/job_flow.h"
#include "engine/jobs/job_lists.h"
#include "engine/jobs/job_stages.h"
#include "engine/jobs/job_table.h"
#include "engine/jobs/journal.h"
#include "engine/jobs/record_loader.h"
#include "engine/jobs/staging.h"
#include "engine/jobs/timers.h"
#include "engine/looks/views.h"
#include "engine/memory_use.h"
#include "engine/receipt_log.h"
#include "engine/stages/dealing.h"
#include "engine/stages/limiting.h"
#include "engine/stages/matching.h"
#include "engine/stages/ordering.h"
#include "engine/stages/stage.h"
#include "engine/stages/strategy_use.h"
#include "engine/tallies/blocked_reasons.h"
#include "engine/tallies/class_reasons.h"
#include "engine/tallies/tallies.h"
#include "engine/tallies/user_table.h"
#include "engine/types.h"
#include "engine/workers/leasing.h"
#include "engine/workers/progress_table.h"
#include "engine/workers/pulls.h"
#include "engine/workers/starts.h"
#include "engine/workers/waiting.h"
#include "engine/workers/worker_table.h"
#include "limits/limit_table.h"
#include "match/class_table.h"
#include "strategy/orders.h"

namespace allot {

// The queue itself.
struct QueueState {
  bool paused = false;
  std::optional<WallTime> paused_since;  // none: from before the start
  std::uint64_t highest_id = 0;          // of jobs, workers and sets
  void SawId(std::uint64_t id) { highest_id = std::max(highest_id, id); }
};

struct EngineParts {
  explicit EngineParts(const EngineOptions& given);
  EngineParts(const EngineParts&) = delete;
  EngineParts& operator=(const EngineParts&) = delete;

  mutable EngineMemory memory;  // before all that is in it
  EngineOptions options;
  Rng rng;
  EngineClock clock;
  WorkPace pace;
  QueueState queue;
  EngineStats stats;

  JobTable jobs;
  JobLists lists{jobs};
  Verdicts verdicts{*this};
  ClassTable classes{verdicts};
  ClassReasons reasons{classes};
  EngineJobKeys keys;
  Orders orders{keys, classes};
  LimitTable limits;
  BlockedReasons blocked;
  LeaseTable leases;
  ProgressTable progress;
  WorkerTable workers;
  Waiting waiting;
  Wakes wakes;
  Dispatcher dispatcher;
  ReceiptLog receipts;
  JobTimers timers;
  Journal journal;
  UserTable users;

  Budget budget{*this};
  RecordLoader loader{*this};
  JobFlow flow{*this};
  Pulls pulls{*this};
  Starts starts{*this};

  StrategyUse strategies{*this};
  Stopping stopping{*this};
  OrderUpdates order_updates{*this};
  Leasing leasing{*this};
  DueJobs due_jobs{*this};
  Matching matching{*this};
  Limiting limiting{*this};
  Ordering ordering{*this};
  Reviving reviving{*this};
  LimitTimes limit_times{limiting};
  Staging staging{*this};
  Tallies tallies{*this};
  Dealing dealing{*this};

  // What every command does: first the time, last what it sets off.
  void Begin(const Now& now);
  void End();
  // Calls `f` with each stage, in the order in which they come. Leases first: who holds a task matters more than what
  // could be granted.
  template <typename F>
  void ForEachStage(F f) {
    EachOf(*this, f);
  }
  template <typename F>
  void ForEachStage(F f) const {
    EachOf(*this, f);
  }

 private:
  template <typename Parts, typename F>
  static void EachOf(Parts& p, F& f) {
    f(p.strategies), f(p.stopping), f(p.order_updates), f(p.leasing), f(p.due_jobs), f(p.matching), f(p.limiting);
    f(p.ordering), f(p.reviving), f(p.limit_times), f(p.staging), f(p.tallies), f(p.dealing);
  }
};

}  // namespace allot
