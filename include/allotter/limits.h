// SPDX-License-Identifier: Apache-2.0
// Limits on starts, and the demand that those read who start and stop workers.
// What the fields mean is in docs/reference/protocol: limits.md, demand.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allotter/types.h"

namespace allotter {

// A token bucket on starts. It goes away unless it is renewed in time, and with a restart of the server.
struct LimitSpec {
  std::string tag;        // for whoever made it, to find its own
  std::string name = {};  // for people
  std::string expr;       // to which starts it applies
  std::string cost = {};  // an expression; empty: 1
  double count = 0;       // tokens per window
  milliseconds window{0};
  double burst = 0;           // how far it may go into debt
  double max_burst_cost = 0;  // 0: a start costs what it costs
  bool monitor = false;       // counts, and holds nothing back
  milliseconds expires_in{0};
};

struct LimitLease {
  std::string uuid;
  bool created = true;  // otherwise one that was there was changed
  milliseconds expires_in{0};
  bool capped = false;  // less than was asked for: that is all that the queue allows
  std::string json;
};

struct Limit {
  std::string uuid;
  LimitSpec spec;  // expires_in: what is left
  bool job_only = true;
  double tokens = 0;
  std::uint64_t allowed = 0;
  double cost_allowed = 0;
  std::uint64_t skipped = 0, ignored_matches = 0;
  std::optional<std::int64_t> last_ignored_at_ms;
  struct Ignored {
    std::string user;
    std::int64_t at_ms = 0;
  };
  std::vector<std::string> ignored_users;  // the last one last
  std::vector<Ignored> ignored;            // the same, with when each was denied a start last
  milliseconds blocked{0};
  std::uint64_t waiting = 0, waiting_forever = 0;
  std::optional<double> cheapest;              // of those that wait
  std::optional<std::uint64_t> payable_in_ms;  // when that one can pay
  bool cost_failed = false;
  std::string json;
};

struct LimitFilter {
  std::string tag = {}, uuid = {};  // empty: any
};

// What a limit would apply to.
struct LimitTrial {
  struct User {
    std::string user;
    std::uint64_t jobs = 0, tasks = 0;
  };
  struct Worker {
    std::string worker, name;
  };
  bool job_only = true, complete = true;
  std::uint64_t jobs_looked_at = 0, jobs = 0, tasks = 0;
  double least_cost = 0, most_cost = 0;
  bool cost_failed = false;
  std::vector<User> users;  // those with most tasks
  std::uint64_t worker_count = 0;
  std::vector<Worker> workers;  // the first of them
  std::uint64_t took_ms = 0;
  std::string json;
};

struct DemandQuery {
  std::string user = {}, tag = {};  // empty: any
  std::uint64_t limit = 1000;       // rows
};

struct Demand {
  struct LimitName {
    std::string uuid, tag, name;
  };
  struct Row {
    std::string user;
    std::vector<std::string> tags, constraint_tags;
    std::string requirements;  // empty: none
    std::uint64_t jobs = 0, queued = 0, startable = 0, running = 0;
    std::int64_t oldest_at_ms = 0, oldest_age_ms = 0;
    std::vector<LimitName> limits;  // that are in the way
    std::string json;
  };
  // Of all rows, shown or not; `running` also of jobs of which nothing waits, which have no row.
  std::uint64_t jobs = 0, queued = 0, startable = 0, running = 0, row_count = 0;
  std::uint64_t wanted = 0;  // startable and running: how many slots there is work for
  bool paused = false, complete = true;
  milliseconds lookahead{0};
  std::vector<Row> rows;  // the oldest first
  std::string json;
};

}  // namespace allotter
