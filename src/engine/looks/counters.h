// SPDX-License-Identifier: Apache-2.0
// What an engine counts from its start on. Each counter is a metric of its queue, by the name and with the help that
// stand here: a new one is a member, its row, and the place that counts it.
//
// Changing it: names are part of the metrics (docs/reference/metrics.md). Add, never rename.
#pragma once

#include <cstdint>

namespace allot {

struct EngineCounters {
  std::uint64_t submitted_jobs = 0, submitted_tasks = 0;
  std::uint64_t granted = 0, done = 0, failed_tasks = 0, failed_attempts = 0, expired = 0, stale = 0;
  std::uint64_t limit_denials = 0;
  // Tasks that went from one worker's queue to another's because it left, may not run them any more, or had more than
  // others; tasks that a worker took from another's queue because it had nothing to do; and pops of a task that
  // somebody else had taken, of which there are none.
  std::uint64_t dispatch_moves = 0, dispatch_steals = 0, wasted_pops = 0;
};

struct EngineCounterRow {
  const char* name;
  const char* help;
  std::uint64_t EngineCounters::*value;
};
inline constexpr EngineCounterRow kEngineCounters[] = {
    {"allotter_jobs_submitted_total", "Jobs taken.", &EngineCounters::submitted_jobs},
    {"allotter_tasks_submitted_total", "Tasks of jobs taken.", &EngineCounters::submitted_tasks},
    {"allotter_tasks_granted_total", "Leases begun.", &EngineCounters::granted},
    {"allotter_tasks_done_total", "Tasks done.", &EngineCounters::done},
    {"allotter_tasks_failed_total", "Tasks failed for good.", &EngineCounters::failed_tasks},
    {"allotter_attempts_failed_total", "Attempts that failed.", &EngineCounters::failed_attempts},
    {"allotter_leases_expired_total", "Leases that ended without a report.", &EngineCounters::expired},
    {"allotter_reports_stale_total", "Reports with a lease that was not the task's own.", &EngineCounters::stale},
    {"allotter_limit_denials_total", "Starts that met a limit which blocked them.", &EngineCounters::limit_denials},
    {"allotter_dispatch_moves_total", "Tasks that went from one worker's queue to another's.",
     &EngineCounters::dispatch_moves},
    {"allotter_dispatch_steals_total", "Tasks that a worker with nothing to do took from another's queue.",
     &EngineCounters::dispatch_steals},
    {"allotter_dispatch_wasted_pops_total", "Tasks of a worker's queue that somebody else had taken: always 0.",
     &EngineCounters::wasted_pops},
};

}  // namespace allot
