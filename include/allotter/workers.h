// SPDX-License-Identifier: Apache-2.0
// Workers, as values: see types.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allotter/tasks.h"
#include "allotter/values.h"

namespace allotter {

// Tasks of one job in a worker's queue.
struct PromisedShare {
  std::string job;
  std::uint64_t tasks = 0;
  std::optional<std::int64_t> priority;
  std::string user;
  std::vector<std::string> tags;
};

struct WorkerInfo {
  std::string id;
  std::string name;
  std::vector<std::string> tags;
  Properties properties;
  std::vector<std::string> constraint_tags;  // that it generates; only where one worker is asked for
  Meta attributes;
  std::string requirements, rank;  // empty: none
  std::string strategy;
  std::uint64_t slots = 0, running = 0, credit = 0;
  bool draining = false, connected = false, away = false;
  std::string address, user;
  std::int64_t registered_at_ms = 0, last_seen_at_ms = 0;
  std::vector<std::pair<std::string, std::uint64_t>> tasks;  // job, index; only where one worker is asked for
  // What it was promised, in tasks and in jobs; none where the queue's dispatch is not balanced.
  std::optional<std::uint64_t> promised, promised_jobs;
  std::vector<PromisedShare>
      queue;  // the first of them, in order, as far as one sees jobs; where one worker is asked for
  std::string json;
};

// What to change of a worker; what is not set stays.
struct WorkerChange {
  std::optional<std::vector<std::string>> tags = {};
  std::optional<Properties> properties = {};
  std::optional<Meta> attributes = {};
  std::optional<std::string> requirements = {}, rank = {};  // set to an empty text: none any more
  std::optional<std::string> strategy = {};                 // set to an empty text: the default

  bool empty() const { return !tags && !properties && !attributes && !requirements && !rank && !strategy; }
};

struct WorkerPage {
  std::vector<WorkerInfo> workers;
  std::string next;  // empty: that was all
};

// A worker's introduction, for plain HTTP.
struct Hello {
  std::string name = {};
  std::vector<std::string> tags = {};
  Properties properties = {};
  Meta attributes = {};
  std::string requirements = {}, rank = {};  // empty: none
  std::string strategy = {};                 // empty: the default
  std::uint32_t slots = 1;
  std::string worker, key = {};      // of the same process before; empty: a new one
  std::vector<TaskRef> resume = {};  // what it still holds
};

struct Welcome {
  std::string worker, key;
  milliseconds heartbeat{0};
  std::vector<TaskRef> resumed, lost;
  std::vector<std::string> features;  // what the server can beyond the first version of the protocol
};

struct PullRequest {
  std::vector<Report> reports = {};
  std::vector<TaskRef> extend = {};
  WorkerChange set = {};  // of itself
  std::uint32_t pull = 0;
  std::string strategy = {};  // of this pull; empty: the worker's own
  milliseconds wait{0};
  bool job_headers = false;  // with the tasks come the headers of their jobs; needs the feature of that name
};

struct PullAnswer {
  std::vector<TaskRef> stale;
  std::vector<Assignment> tasks;
  std::vector<JobHeader> jobs;
  std::vector<CancelOrder> cancel;
  bool drain = false;
  WorkerChange set;  // what others changed of it: to be said when it registers again
};

}  // namespace allotter
