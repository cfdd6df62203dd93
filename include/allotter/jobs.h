// SPDX-License-Identifier: Apache-2.0
// Jobs, as values: see types.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allotter/values.h"

namespace allotter {

struct Backoff {
  std::optional<milliseconds> first;
  std::optional<double> factor;
  std::optional<milliseconds> max;
  std::optional<double> jitter;
};

struct JobSpec {
  std::vector<std::string> tags = {};
  std::optional<std::uint64_t> count = {};  // not together with `payloads`
  std::string payload = {};                 // for all tasks
  std::vector<std::string> payloads = {};   // one task each
  std::string payload_prefix = {};
  std::optional<std::int64_t> priority = {};
  std::string user = {};
  bool async = true;
  std::optional<milliseconds> delay = {};
  std::optional<std::int64_t> scheduled_at_ms = {};
  Meta meta = {};
  std::vector<Properties> constraints = {};  // alternatives, any of which will do; none: any worker
  std::string requirements = {};             // an expression, true where it may run; empty: anywhere
  std::string rank = {};                     // an expression: of several waiting workers the highest gets it
  std::optional<std::uint32_t> max_attempts = {};
  Backoff backoff = {};
  std::optional<milliseconds> lease = {};
  std::optional<milliseconds> timeout = {};
  std::string max_failed_tasks = {};  // "3" or "5%"
  std::optional<milliseconds> retention = {};
  std::string idempotency_key = {};
  std::string trace = {};
};

// What to change of a job; what is not set stays.
struct JobChange {
  std::optional<std::vector<std::string>> tags = {};
  std::optional<std::optional<std::int64_t>> priority = {};  // set to none: last
  std::optional<milliseconds> delay = {};
  std::optional<std::int64_t> scheduled_at_ms = {};
  std::optional<Meta> meta = {};
  std::optional<std::vector<Properties>> constraints = {};
  std::optional<std::string> requirements = {}, rank = {};  // set to an empty text: none any more
};

struct Job {
  // Why what waits of it does not run.
  struct Held {
    std::string code, kind;
    std::optional<std::int64_t> since_at_ms;
  };
  std::string id;
  std::string state;  // scheduled active paused done failed cancelled
  bool paused = false;
  std::vector<std::string> tags;
  std::optional<std::int64_t> priority;
  std::string user;
  Meta meta;
  std::vector<Properties> constraints;
  std::vector<std::string> constraint_tags;  // one for each of them
  std::string requirements, rank;            // empty: none
  std::uint64_t count = 0, queued = 0, running = 0, retrying = 0, done = 0, failed = 0, skipped = 0;
  std::uint64_t promised = 0;      // of the queued ones, in queues of workers
  std::optional<double> progress;  // what running tasks have done, in tasks; none: none says so
  std::string payload;             // for all of its tasks, where it was asked for
  std::int64_t submitted_at_ms = 0;
  std::int64_t scheduled_at_ms = 0;
  std::optional<std::int64_t> started_at_ms, ended_at_ms, next_retry_at_ms;
  std::string reason;
  std::optional<Held> held;  // none: nothing waits, or it is not known
  std::string json;

  bool ended() const { return state == "done" || state == "failed" || state == "cancelled"; }
};

struct Submitted {
  Job job;
  bool existing = false;  // found by its idempotency key
  std::uint64_t matching_workers = 0;
  std::string json;
};

// One of a batch.
struct SubmittedId {
  std::string id;
  bool existing = false;
  std::uint64_t matching_workers = 0;
};

// The answer to a retry.
struct Retried {
  Job job;
  std::uint64_t retried = 0;  // tasks that will run again
  std::string json;
};

struct JobQuery {
  std::string state, tag, user = {};  // empty: any
  std::string before = {};            // of the page before: JobPage::next
  std::size_t limit = 100;
};

struct JobPage {
  std::vector<Job> jobs;
  std::string next;  // empty: that was all
};

}  // namespace allotter
