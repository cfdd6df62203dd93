// SPDX-License-Identifier: Apache-2.0
// The protocol's objects, to and from JSON text.
//
// Reading ignores fields that it does not know; a known one of a wrong type is an error. Nothing here throws.
#pragma once

#include <string>
#include <string_view>

#include <simdjson.h>

#include "allotter/job_waiter.h"
#include "allotter/result.h"
#include "allotter/types.h"

namespace allotter {

struct Explanation;
struct PairExplanation;

// Appends the job spec's object. With `stream` without count and payloads, as the first line of a streamed submit.
void AppendSpec(const JobSpec& spec, bool stream, std::string& out);
void AppendChange(const JobChange& change, std::string& out);
void AppendWorkerChange(const WorkerChange& change, std::string& out);
// Both, one after the other.
void Add(const WorkerChange& change, WorkerChange& to);
void AppendSettings(const QueueSettings& settings, std::string& out);
void AppendHello(const Hello& hello, std::string& out);
// The entries' fields of a worker's message: "done":[…],"failed":[…],"released":[…], those that are not empty.
// Returns true if it wrote any.
bool AppendReports(const std::vector<Report>& reports, std::string& out);
void AppendTaskRef(const TaskRef& task, std::string& out);
// "extend":[…] with how far these tasks are.
void AppendExtend(const std::vector<std::pair<TaskRef, TaskProgress>>& tasks, std::string& out);

// JSON text on one line, or as it is if it already is.
std::string OneLine(std::string_view json);

// `json` needs no padding; where its capacity has room for some, nothing is copied.
// For all that the library gives; a codec instantiates it for what it reads, and its header says so.
template <typename T>
Result<T> Parse(const std::string& json);
extern template Result<Job> Parse<Job>(const std::string& json);
extern template Result<Submitted> Parse<Submitted>(const std::string& json);
extern template Result<JobPage> Parse<JobPage>(const std::string& json);
extern template Result<Retried> Parse<Retried>(const std::string& json);
extern template Result<Task> Parse<Task>(const std::string& json);
extern template Result<TaskPage> Parse<TaskPage>(const std::string& json);
extern template Result<ResultPage> Parse<ResultPage>(const std::string& json);
extern template Result<WorkerPage> Parse<WorkerPage>(const std::string& json);
extern template Result<WorkerInfo> Parse<WorkerInfo>(const std::string& json);
extern template Result<ServerInfo> Parse<ServerInfo>(const std::string& json);
extern template Result<Queue> Parse<Queue>(const std::string& json);
extern template Result<Welcome> Parse<Welcome>(const std::string& json);
extern template Result<Explanation> Parse<Explanation>(const std::string& json);
extern template Result<PairExplanation> Parse<PairExplanation>(const std::string& json);
template <>
Result<std::vector<SubmittedId>> Parse<std::vector<SubmittedId>>(const std::string& json);
template <>
Result<std::vector<NamedStrategy>> Parse<std::vector<NamedStrategy>>(const std::string& json);
template <>
Result<std::vector<Queue>> Parse<std::vector<Queue>>(const std::string& json);

// What the server sends to a worker, or to one that waits for jobs.
struct ServerMessage {
  std::optional<std::uint64_t> ack;
  std::vector<TaskRef> stale;
  std::vector<std::string> stale_codes;  // as many
  std::vector<Assignment> tasks;
  std::vector<CancelOrder> cancel;
  bool drain = false;
  std::optional<WorkerChange> set;
  std::optional<Welcome> welcome;
  std::optional<Error> error;
  std::optional<std::uint64_t> error_seq;
  std::vector<JobHeader> jobs;
  std::vector<JobWaiter::Ended> ended;  // unknown ones without a state
  // Of one job that is read.
  struct Results {
    std::string job;
    std::vector<TaskResult> results;
    bool end = false;
  };
  std::vector<Results> results;
  void Clear();
};

// Reads a message into `message`, which is cleared first. `text` must have SIMDJSON_PADDING readable bytes behind it.
Result<void> ParseMessage(std::string_view text, ServerMessage& message);

}  // namespace allotter
