// SPDX-License-Identifier: Apache-2.0
// Why a job does not run, as the server explains it.
// What the fields mean is in docs/reference/protocol/explain.md.
//
// Words (kinds, codes, stages, outcomes) are the protocol's: new ones may come, and whoever does not know one shows the
// message that stands beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace allotter {

struct Reason {
  std::string kind;  // wait change_request operator
  std::string code;
  std::string message, hint;
  std::optional<std::int64_t> since_at_ms = std::nullopt;  // not known
};

// What a worker must be, and whether it is.
struct Condition {
  struct Value {
    std::string name;
    std::optional<std::string> value;  // none: it is not there
  };
  std::string stage, condition;
  bool holds = false;
  std::string outcome;
  std::vector<Value> values;
  std::string message;
};

// How a limit on starts stands to the job.
struct LimitHold {
  std::string uuid, tag, name;
  bool monitor = false;       // holds nothing back
  bool reads_worker = false;  // holds on some workers alone
  double level = 0, cost = 0;
  bool blocks = false;                         // now
  bool never = false;                          // it cannot pay, at any time
  bool stops = false;                          // what it matches: its count is 0
  bool overtaken = false;                      // cheaper starts keep it waiting
  std::optional<std::uint64_t> payable_in_ms;  // while it blocks, if there are no other draws
  // Where it reads the worker: of those that may run the job, how many it applies to, and how many it blocks.
  std::uint64_t workers = 0, workers_blocked = 0;
};

// A maximum of running tasks that a value has reached.
struct CeilingHold {
  std::string of;          // policy strategy
  std::string key, value;  // as JSON
  std::uint64_t running = 0, max = 0;
};

// How it stands among others, under the policy and the strategy of most workers that are given it.
struct OrderPlace {
  std::string strategy, policy;                 // empty: what others do is not told
  std::uint64_t workers = 0;                    // that have this one
  std::optional<std::uint64_t> place;           // from 1
  bool complete = false;                        // all jobs were looked at
  std::string first_job, first_user;            // what comes first; empty: nothing does
  std::vector<std::string> first_why, own_why;  // the blocks on the way, in words
  std::vector<CeilingHold> ceilings;
};

// With balanced dispatch: who holds its tasks.
struct PromisedTasks {
  std::uint64_t tasks = 0, workers = 0;
  std::string longest, longest_name;  // who holds the most; empty: nobody, or not told
  std::uint64_t longest_tasks = 0, longest_queue = 0;
};

struct Explanation {
  struct Stage {
    std::string stage;
    std::uint64_t workers = 0;
  };
  struct Tag {
    std::string tag, status;
    std::uint64_t workers = 0, available = 0, free = 0;
    std::optional<std::int64_t> last_seen_at_ms;
  };
  struct Property {
    std::string key, value;
    std::uint64_t workers = 0;
  };
  struct Alternative {
    std::string tag;
    std::uint64_t workers = 0;
    std::vector<Property> properties;
  };
  struct Clause {
    std::string clause;
    std::uint64_t reached = 0, failed = 0, undefined = 0, error = 0;
    std::string best;  // empty: none
  };
  struct Nearest {
    std::string worker, name;
    std::vector<Condition> misses;
  };
  struct Suggestion {
    std::string kind, given, nearest, where, message;
  };

  std::string job;  // empty: it is not submitted
  std::string state;
  std::uint64_t queued = 0, running = 0, retrying = 0;
  Reason verdict;
  std::vector<Reason> reasons;
  std::uint64_t workers = 0, examined = 0, draining = 0, away = 0, matching = 0;
  std::vector<Stage> funnel;
  std::vector<Tag> tags;
  std::vector<Alternative> constraints;
  std::vector<Clause> requirements, worker_requirements;
  std::optional<Nearest> nearest;
  std::vector<Suggestion> suggestions;
  std::vector<LimitHold> limits;  // all that apply
  std::optional<OrderPlace> order;
  std::optional<PromisedTasks> promised;
  std::string json;
};

// Of one job and one worker.
struct PairExplanation {
  struct Rank {
    std::string expression;  // empty: none
    double value = 0;
  };
  std::string job, state, worker, name;
  Reason verdict;
  std::vector<Reason> reasons;
  bool matches = false;
  std::vector<Condition> conditions;
  Rank job_rank, worker_rank;
  std::vector<LimitHold> limits;
  std::string json;
};

}  // namespace allotter
