// SPDX-License-Identifier: Apache-2.0
// A queue, which the overview has as well.
#pragma once

#include "allotter/types.h"
#include "client/fields.h"
#include "wire/queues.h"

namespace allotter::json_in {

template <>
struct FieldsOf<QueueSettings> {
  static constexpr auto kRows = RowsOf<QueueSettings, wire::kQueueSettings>(
      In<&QueueSettings::max_finished_jobs>("max_finished_jobs"), In<&QueueSettings::worker_grace>("worker_grace_ms"),
      In<&QueueSettings::max_result_bytes>("max_result_bytes"), In<&QueueSettings::property_keys>("property_keys"),
      In<&QueueSettings::max_property_keys>("max_property_keys"), In<&QueueSettings::policy>("policy"),
      In<&QueueSettings::weights>("weights"), In<&QueueSettings::max_limit_expiration>("max_limit_expiration_ms"),
      In<&QueueSettings::limit_ban_window>("limit_ban_window_ms"),
      In<&QueueSettings::demand_lookahead>("demand_lookahead_ms"), In<&QueueSettings::dispatch>("dispatch"),
      In<&QueueSettings::balance>("balance"), In<&QueueSettings::memory_budget_bytes>("memory_budget_bytes"));
};

inline constexpr auto kJobsOfQueue = RowsOf<Queue, wire::kJobCounts>(
    In<&Queue::jobs_scheduled>("scheduled"), In<&Queue::jobs_active>("active"), In<&Queue::jobs_paused>("paused"),
    In<&Queue::jobs_done>("done"), In<&Queue::jobs_failed>("failed"), In<&Queue::jobs_cancelled>("cancelled"));
inline constexpr auto kTasksOfQueue = RowsOf<Queue, wire::kOpenTasks>(
    In<&Queue::tasks_queued>("queued"), In<&Queue::tasks_retrying>("retrying"), In<&Queue::tasks_running>("running"));
inline constexpr auto kStoreOfQueue =
    RowsOf<Queue, wire::kStoreUse>(In<&Queue::file_bytes>("file_bytes"), In<&Queue::journal_rows>("journal_rows"));
inline constexpr auto kMemoryOfQueue =
    RowsOf<Queue, wire::kMemoryUse>(In<&Queue::memory_budget_bytes>("budget_bytes"),
                                    In<&Queue::memory_bytes>("used_bytes"), In<&Queue::memory_parts>("parts"));

template <>
struct FieldsOf<Queue> {
  static constexpr auto kRows = RowsOf<Queue, wire::kQueue>(
      In<&Queue::name>("name"), In<&Queue::paused>("paused"), In<&Queue::created_at_ms>("created_at_ms"),
      Inside<Queue, kJobsOfQueue>("jobs"), Inside<Queue, kTasksOfQueue>("tasks"), In<&Queue::workers>("workers"),
      In<&Queue::workers_waiting>("workers_waiting"), In<&Queue::settings>("settings"),
      Inside<Queue, kStoreOfQueue>("store"), Inside<Queue, kMemoryOfQueue>("memory"));
};

}  // namespace allotter::json_in
