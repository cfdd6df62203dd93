// SPDX-License-Identifier: Apache-2.0
// From hostile JSON to valid types. Everything behind this file may trust what it gets.
//
// Every function validates the whole text, also the parts that it only hands on: a payload or result that comes out is
// valid JSON. Such raw slices point into the caller's text. Everything else is copied out.
//
// Errors:    kBadJson with the offset; kUnknownField with the nearest field; kBadValue naming the field and its bound;
//            kTooLarge for payloads, results, batches over their bound. An object that names a field twice is
//            kBadValue.
// Threading: any thread; the parser is kept per thread, so steady use allocates nothing but what it returns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/job.h"
#include "base/result.h"
#include "engine/types.h"
#include "server/wire/queue_settings.h"

namespace allot {

// The property keys that the queue declares. Called only where a request names one; empty: none are declared.
using KeySource = std::function<PropertyKeysPtr()>;

// What names in a request about workers can mean.
struct Vocabulary {
  KeySource property_keys{};
  const NamedStrategies* strategies = nullptr;  // of the configuration; null: none
};

// --- Jobs

struct SpecOptions {
  WallTime now{};                              // bounds scheduled_at_ms
  milliseconds default_retention{86'400'000};  // of a spec that names none
  bool stream = false;                         // the first line of an NDJSON submit: no count but 0, no payloads
  KeySource property_keys{};
};

struct JobRequest {
  // Valid, but for: payload.set is 0 (the caller names it if payload.common or .per_task is set); content is zero
  // (HashContent); user is as given (ops/access.h, ClaimUser). With SpecOptions::stream count is 0, and per_task says
  // whether there will be lines: not where the line has a count of 0.
  JobSpec spec;
  bool user_given = false;
  std::string_view payload;                // JSON text for all tasks; empty: none
  std::vector<std::string_view> payloads;  // JSON text of each task; empty: none
};

Result<JobRequest> ParseJobSpec(std::string_view json, const SpecOptions& options);
// `{"jobs": [spec, …]}`.
Result<std::vector<JobRequest>> ParseBatch(std::string_view json, const SpecOptions& options);
Result<JobChange> ParseJobChange(std::string_view json, WallTime now, const KeySource& property_keys = {});

// One line of a streamed submit: its JSON text without surrounding white space, at most kMaxPayloadBytes.
// kBadJson for anything else, an empty line included.
Result<std::string_view> ValidateJsonLine(std::string_view line);

// The content of a request, for idempotency keys: the same for the same spec (after defaults; without key and trace,
// which differ between tries) and the same payload bytes, whether they come as a list or as a stream.
//
// Changing it: hashes are kept with jobs. Another form makes keys from before look like conflicts.
class ContentHasher {
 public:
  explicit ContentHasher(const JobRequest& request);  // the spec, and the payload for all tasks
  ~ContentHasher();
  ContentHasher(ContentHasher&&) noexcept;
  ContentHasher& operator=(ContentHasher&&) noexcept;
  void AddTaskPayload(std::string_view json);
  // REQUIRES: once, last. `count` is the number of tasks.
  ContentHash Finish(std::uint64_t count);

 private:
  struct State;
  std::unique_ptr<State> state_;
};
// Sets spec.content of a complete request; does nothing without an idempotency key.
void HashContent(JobRequest& request);

// --- Workers

struct Hello {
  std::string name;
  std::vector<std::string> tags;  // sorted, without duplicates
  Properties properties;          // sorted
  Meta attributes;                // sorted; none has the name of a property
  ExprPtr requirements;
  ExprPtr rank;
  StrategyPtr strategy;  // null: the default
  std::uint32_t slots = 1;
  WorkerId worker;                   // of the same process before; 0: a new one
  std::optional<std::uint64_t> key;  // there exactly if `worker` is
  std::vector<TaskRef> resume;
};
// The object of `hello` (HTTP), or `{"hello": …}` around it (WebSocket).
Result<Hello> ParseHello(std::string_view json, bool wrapped, const Vocabulary& vocabulary = {});

// A change of a worker, from itself or, without a key, from an operator.
struct WorkerPatch {
  std::optional<std::uint64_t> key;
  WorkerChange change;
};
Result<WorkerPatch> ParseWorkerPatch(std::string_view json, const Vocabulary& vocabulary = {});
// Of one worker: kBadValue if an attribute has the name of a property. Parsers have done this for what comes together.
Result<void> CheckAttributeNames(const Meta& attributes, const Properties& properties);

struct DoneEntry {
  TaskRef task;
  std::string_view result;  // JSON text; empty: none
};
struct FailedEntry {
  TaskRef task;
  std::string error;  // at most kMaxErrorBytes: longer ones are cut
  bool final = false;
  std::optional<milliseconds> retry_in{};  // not together with `final`
};

struct WorkerMessage {
  std::optional<std::uint64_t> seq;
  std::vector<DoneEntry> done;
  std::vector<FailedEntry> failed;
  std::vector<TaskRef> released;
  std::vector<TaskRef> extend;
  std::vector<ProgressReport> progress;  // of those in `extend` that have any
  std::optional<std::uint32_t> pull;
  StrategyPtr strategy;      // of this pull; null: the worker's own
  bool job_headers = false;  // come with tasks, from now on; over HTTP, with those of this pull
  std::optional<WorkerChange> set;
  bool bye = false;
  // Only over HTTP.
  std::optional<std::uint64_t> key;
  milliseconds wait{0};

  void Clear();  // keeps its memory
};

struct MessageOptions {
  std::uint64_t max_result_bytes = 64 * 1024;
  bool http = false;  // `key` (required) and `wait_ms` are fields; `seq` and `bye` are not
  Vocabulary vocabulary{};
};
// Into `message`, which is cleared first. After an error only message.seq counts: it is set if the text is JSON and has
// one, so that the error can be told with it.
Result<void> ParseWorkerMessage(std::string_view json, const MessageOptions& options, WorkerMessage& message);

// `{"key": "…"}`.
Result<std::uint64_t> ParseKeyBody(std::string_view json);
// A worker's key on the wire: sixteen hexadecimal digits.
std::string KeyText(std::uint64_t key);

// --- The rest

// What one who waits asks for: ends of jobs, and results of jobs as they complete.
struct FollowEntry {
  JobId job;
  std::uint32_t credit = 0;
  // What it has already, as the first and the first behind; not longer than kMaxRangesPerFollow.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> have;
};
struct WaitMessage {
  std::vector<JobId> wait;
  std::vector<FollowEntry> results;
};
// `{"wait": ["id", …], "results": [{"job": …, "credit": …, "have": […]}, …]}`: at most kMaxWaitsPerConnection and
// kMaxFollowsPerConnection, else kTooManyWaits.
Result<WaitMessage> ParseWaitMessage(std::string_view json);

struct QueueCreate {
  std::string name;
  QueueSettingsChange settings;
};
// `{"name": "q", "settings": {…}}`; and `{"settings": {…}}`.
Result<QueueCreate> ParseQueueCreate(std::string_view json, const NamedStrategies* names = nullptr);
Result<QueueSettingsChange> ParseQueueChange(std::string_view json, const NamedStrategies* names = nullptr);
Result<QueueSettingsChange> ParseQueueSettings(
    std::string_view json);  // the object of `settings`, also as it is stored
// `{"strategy": …}` or `{"policy": …}`: one that is not to be used, only looked at.
struct StrategyCheck {
  StrategyPtr strategy;
  bool policy = false;
};
Result<StrategyCheck> ParseStrategyCheck(std::string_view json, const NamedStrategies* names);
// The node that a queue is to go to; empty: wherever it belongs.
Result<std::string> ParseMove(std::string_view json);
// A body where none is needed: nothing at all, or `{}`.
Result<void> ParseEmptyBody(std::string_view json);

// kBadValue: "`field` message".
Error BadValue(std::string_view field, std::string_view message);
// Names as the protocol has them; kBadValue naming `field` otherwise.
Result<void> CheckQueueName(std::string_view field, std::string_view name);
Result<void> CheckTag(std::string_view field, std::string_view tag);
// Names of workers and tokens, users, keys, prefixes: UTF-8 without control characters, at most `max_bytes`.
Result<void> CheckPlainText(std::string_view field, std::string_view text, std::size_t max_bytes);

}  // namespace allot
