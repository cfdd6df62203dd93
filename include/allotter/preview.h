// SPDX-License-Identifier: Apache-2.0
// What a worker with some strategy would get, as the server shows it.
// What the fields mean is in docs/reference/protocol/strategies.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allotter/explanation.h"
#include "allotter/types.h"

namespace allotter {

// The worker: `worker`, a registered one; or `like`, one that might register; or neither, one that may run every job.
struct StrategyTry {
  std::string strategy;                   // text
  std::string policy = {};                // text; empty: the queue's own
  std::string worker = {};                // an id
  std::optional<WorkerChange> like = {};  // without a strategy
  std::uint32_t count = 20;
};

struct StrategyPreview {
  // A block that the pick went through; what it looked at is in the JSON.
  struct Step {
    std::string block, of, text;
  };
  struct Pick {
    std::string job;                     // empty: of a job that is not for your eyes
    std::optional<std::uint64_t> index;  // none: it was taken meanwhile
    bool random = false;
    std::string user;
    std::vector<std::string> tags;
    std::vector<Step> why;
    std::string json;
  };
  std::string strategy, policy;  // in canonical text
  bool paused = false, draining = false, complete = true;
  std::uint64_t jobs_looked_at = 0, may_run = 0, queued_tasks = 0, took_ms = 0;
  // That limits block now: they are left out.
  std::uint64_t blocked_jobs = 0, blocked_tasks = 0;
  std::string blocked_job;  // one of them
  bool limited = false;     // there are fewer picks than asked for, and limits block others
  std::vector<Pick> picks;
  std::string json;
};

// What a registered worker would get next, and why not the others.
struct WorkerOutlook {
  // Queued tasks that it may not run, by the stage at which they fail.
  struct Other {
    std::string stage;
    std::uint64_t classes = 0, tasks = 0;
    std::string job;  // an example; empty: none
    std::string message;
  };
  std::string worker, name;
  Reason verdict;
  StrategyPreview next;  // strategy, policy, picks and whether they are complete
  std::vector<Other> others;
  std::string json;
};

}  // namespace allotter
