// SPDX-License-Identifier: Apache-2.0
// From the engine's views to the protocol's JSON. Each function appends one value to `out`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "engine/looks/views.h"
#include "engine/types.h"
#include "server/wire/queue_settings.h"
#include "store/store.h"

namespace allot {

class JsonWriter;

// `{"error": {…}}`. With `seq` (a message's): `{"error": {…}, "seq": 7}`.
void AppendError(const Error& error, std::string& out);
void AppendError(const Error& error, std::optional<std::uint64_t> seq, std::string& out);

// What to do about a reason as it stands in lists, where nothing but its code is known.
std::string_view UsualAdvice(ReasonCode code);

// With `payload`, JSON text, where it is asked for.
void AppendJob(const JobView& job, std::string_view queue, std::string& out,
               std::optional<std::string_view> payload = std::nullopt);

// The answer to a submit: `{"job": Job, "existing": …, "matching_workers": …}`.
void AppendSubmitted(const SubmitAnswer& answer, const JobView& job, std::string_view queue, std::string& out);
// An item of a batch's answer: `{"id": …, "existing": …, "matching_workers": …}`.
void AppendSubmitItem(const SubmitAnswer& answer, std::string& out);
// `{"id": …, "state": …, "done": …, "failed": …}`, an item of `ended`.
void AppendEnded(const JobView& job, std::string& out);

// What is known of a task beside the engine's view. Payload and result are JSON text.
struct TaskExtra {
  std::string_view error;
  std::optional<std::string_view> payload;
  std::optional<std::string_view> result;
};
void AppendTask(const TaskView& task, const TaskExtra& extra, std::string& out);
// An item of `results`, with what the store has of it; null: nothing.
void AppendResultItem(const EndedTask& task, const Outcome* outcome, std::string& out);

struct WorkerDetail {
  bool balanced = false;  // its queue's dispatch: how much it was promised
  bool tasks = false;     // what it holds, and its constraint tags
  bool queue = false;     // what it was promised, where dispatch is balanced
};
void AppendWorker(const WorkerView& worker, WorkerDetail detail, std::string& out);
// What it changes, as a worker is told of it.
void AppendWorkerChange(const WorkerChange& change, std::string& out);

struct QueueView {
  std::string_view name;
  WallTime created_at{};
  EngineStats stats;
  QueueSettings settings;
  bool names = true;  // false: without what may name users, the policy and the weights
  Store::Usage usage;
};
void AppendQueue(const QueueView& queue, std::string& out);
void AppendQueueSettings(const QueueSettings& settings, std::string& out, bool names = true);

// The payloads of a grant, as JSON text.
struct GrantPayloads {
  std::optional<std::string_view> common;
  std::optional<std::string_view> own;
};
void AppendAssignment(const Grant& grant, const GrantPayloads& payloads, std::string& out);
void AppendJobHeader(const JobHeaderView& header, std::string& out);

// `{"job", "index", "lease"}`.
void AppendTaskRef(const TaskRef& task, std::string& out);
// The same with `code`. REQUIRES: verdict != kTaken.
void AppendStale(const TaskRef& task, ReportVerdict verdict, std::string& out);
// The same with `reason`.
void AppendCancel(const StopRequest& stop, std::string& out);
// The words of all features (wire/words.h), as a list.
void AppendFeatures(JsonWriter& json);
// The object of `welcome`.
void AppendWelcome(const RegisterAnswer& answer, Duration heartbeat, std::string& out);

}  // namespace allot
