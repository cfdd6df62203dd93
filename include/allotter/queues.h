// SPDX-License-Identifier: Apache-2.0
// Queues, and the server that has them, as values: see types.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allotter/values.h"

namespace allotter {

struct QueueSettings {
  std::optional<std::uint64_t> max_finished_jobs = {};
  std::optional<milliseconds> worker_grace = {};
  std::optional<std::uint64_t> max_result_bytes = {};
  std::optional<std::vector<std::string>> property_keys = {};
  std::optional<std::uint64_t> max_property_keys = {};
  std::optional<std::string> policy = {};                           // a strategy with the word `worker` in it
  std::vector<std::pair<std::string, std::uint64_t>> weights = {};  // to change: {"user.acme", 3}; 0: none any more
  bool no_weights = false;                                          // takes all away; not together with `weights`
  std::optional<milliseconds> max_limit_expiration = {};
  std::optional<milliseconds> limit_ban_window = {};
  std::optional<milliseconds> demand_lookahead = {};
  std::optional<std::string> dispatch = {};  // fanout balanced; set to an empty text: fanout
  std::optional<std::string> balance = {};   // least_queue round_robin random; set to an empty text: least_queue
  std::optional<std::uint64_t> memory_budget_bytes = {};  // 0: as much as the server has for all queues
};

struct Queue {
  std::string name;
  bool paused = false;
  std::int64_t created_at_ms = 0;
  std::uint64_t jobs_scheduled = 0, jobs_active = 0, jobs_paused = 0, jobs_done = 0, jobs_failed = 0,
                jobs_cancelled = 0;
  std::uint64_t tasks_queued = 0, tasks_retrying = 0, tasks_running = 0;
  std::uint64_t workers = 0, workers_waiting = 0;
  QueueSettings settings;
  std::uint64_t file_bytes = 0, journal_rows = 0;
  std::uint64_t memory_bytes = 0, memory_budget_bytes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> memory_parts = {};  // what uses it
  std::string json;
};

// A strategy that has a name in the server's configuration.
struct NamedStrategy {
  std::string name, strategy;
  std::string words;  // what it does, several lines
};

struct ServerInfo {
  // Who asks.
  struct You {
    bool tokens = false;            // none are configured: everyone may do everything
    std::string name, user, queue;  // empty: not fixed to one
    std::vector<std::string> scopes;
  };
  std::string name, version;
  You you;
  std::uint64_t protocol = 0, queues = 0;
  std::int64_t started_at_ms = 0, now_at_ms = 0;
  std::vector<std::string> features;  // what it can beyond the first version of the protocol
  std::string json;
};

}  // namespace allotter
