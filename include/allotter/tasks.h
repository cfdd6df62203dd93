// SPDX-License-Identifier: Apache-2.0
// Tasks, their results, and tasks in the hands of workers, as values: see types.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allotter/values.h"

namespace allotter {

// How far a running task is, as its worker says.
struct TaskProgress {
  double done = 0;
  std::optional<double> of = {};  // how much there is; none: it is not known
  std::string note = {};          // for people
};

struct Task {
  std::uint64_t index = 0;
  std::string state;  // queued running retrying done failed skipped
  std::uint64_t attempts = 0;
  std::string worker;  // empty: none
  std::optional<std::int64_t> started_at_ms;
  std::string error;
  std::optional<std::int64_t> retry_at_ms;  // while retrying: when its next attempt may start
  std::optional<TaskProgress> progress;     // while running, where its worker says so
  std::string payload, result;              // only where one task is asked for
  std::string json;
};

struct TaskQuery {
  std::string state = {};  // empty: any
  std::uint64_t from = 0;
  std::size_t limit = 100;
};

struct TaskPage {
  std::vector<Task> tasks;
  std::optional<std::uint64_t> next;
};

struct TaskResult {
  std::uint64_t index = 0;
  std::string state;  // done failed skipped
  std::string result;
  std::string error;
  std::string json;
};

struct ResultQuery {
  std::uint64_t from = 0;
  std::size_t limit = 1000;
  milliseconds wait{0};  // for the task `from` to end
};

struct ResultPage {
  std::vector<TaskResult> results;
  std::optional<std::uint64_t> next;  // none: all tasks have been told
  std::string job_state;
};

// One task in one worker's hands.
struct TaskRef {
  std::string job;
  std::uint32_t index = 0;
  std::string lease;
};

struct Assignment {
  TaskRef task;
  std::uint32_t attempt = 1;
  std::uint32_t count = 1;  // tasks of the job
  milliseconds lease{0};
  milliseconds timeout{0};  // 0: none
  std::string payload;      // the task's own, or the job's for all tasks
  std::string job_payload;  // where a job has both
  std::string payload_prefix;
  std::string trace;
};

struct CancelOrder {
  TaskRef task;
  std::string reason;  // cancelled job_failed timeout expired; lost: another worker has it, do not report
};

// What a worker may know of a job whose tasks it is given.
struct JobHeader {
  std::string id;
  std::vector<std::string> tags;
  Meta meta;
  std::string user;
};

// How an attempt ended.
struct Outcome {
  enum class Kind {
    kDone,
    kFailed,    // again after its backoff, if attempts are left
    kRejected,  // failed for good: no further attempt
    kReleased,  // not started: queued again, counting no attempt
  };
  Kind kind = Kind::kDone;
  std::string text;  // kDone: the result, JSON text; kFailed, kRejected: the error, plain text
  // kFailed: when to try again, instead of after the job's backoff. Older servers wait for the backoff all the same.
  std::optional<milliseconds> retry_in = {};

  static Outcome Done(std::string result_json = {}) { return {Kind::kDone, std::move(result_json)}; }
  static Outcome Failed(std::string error, std::optional<milliseconds> retry_in = {}) {
    return {Kind::kFailed, std::move(error), retry_in};
  }
  static Outcome Rejected(std::string error) { return {Kind::kRejected, std::move(error)}; }
  static Outcome Released() { return {Kind::kReleased, {}}; }
};

struct Report {
  TaskRef task;
  Outcome outcome;
};

}  // namespace allotter
