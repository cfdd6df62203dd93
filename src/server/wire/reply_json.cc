// SPDX-License-Identifier: Apache-2.0
#include "server/wire/reply_json.h"

#include <concepts>
#include <variant>

#include "base/json.h"
#include "expr/expr.h"
#include "match/reason.h"
#include "server/wire/request_json.h"
#include "wire/jobs.h"
#include "wire/queues.h"
#include "wire/server.h"
#include "wire/workers.h"
#include "wire/writer.h"

namespace allot {
namespace {

void MetaObject(const Meta& meta, JsonWriter& json) {
  struct Visit {
    JsonWriter& json;
    void operator()(const std::string& value) const { json.String(value); }
    void operator()(std::int64_t value) const { json.Int(value); }
    void operator()(double value) const { json.Real(value); }
    void operator()(bool value) const { json.Bool(value); }
  };
  json.BeginObject();
  for (const auto& [key, value] : meta) {
    json.OpenKey(key);
    std::visit(Visit{json}, value);
  }
  json.EndObject();
}

template <typename T>
void PutDetail(const T& value, JsonWriter& json) {
  if constexpr (std::same_as<T, std::string>) {
    json.String(value);
  } else if constexpr (std::same_as<T, bool>) {
    json.Bool(value);
  } else if constexpr (std::same_as<T, milliseconds>) {
    json.Int(value.count());
  } else {
    json.Int(static_cast<std::int64_t>(value));
  }
}

void PropertyObject(JsonWriter& json, const Properties& properties) {
  json.BeginObject();
  for (const auto& [key, value] : properties) json.OpenKey(key).String(value);
  json.EndObject();
}

// As it was written; empty: none.
std::string_view SourceOf(const ExprPtr& expression) {
  return expression == nullptr ? std::string_view() : std::string_view(expression->source());
}

void ErrorObject(const Error& error, JsonWriter& json) {
  wire::Writer<wire::kError> w(json);
  w.Text("code", CodeText(error.code));
  w.Text("message", error.message);
  w.Text("hint", error.hint);
}

// The fields of a TaskRef.
template <const wire::Object& kObject>
void RefFields(const TaskRef& task, wire::Writer<kObject>& w) {
  w.Id("job", task.job.value);
  w.Count("index", task.index);
  // Hexadecimal digits and a dash: nothing to escape.
  JsonWriter& json = w.Value("lease");
  json.Raw("\"");
  AppendText(task.lease, json.out());
  json.out().push_back('"');
}

void Refs(const std::vector<TaskRef>& tasks, JsonWriter& json) {
  json.BeginArray();
  for (const TaskRef& task : tasks) {
    wire::Writer<wire::kTaskRef> w(json);
    RefFields(task, w);
  }
  json.EndArray();
}

}  // namespace

void AppendError(const Error& error, std::string& out) { AppendError(error, std::nullopt, out); }

void AppendError(const Error& error, std::optional<std::uint64_t> seq, std::string& out) {
  JsonWriter json(out);
  // Of a message; an answer has the first field alone.
  wire::Writer<wire::kWorkerNews> w(json);
  ErrorObject(error, w.Value("error"));
  if (seq) w.Count("seq", *seq);
}

std::string_view UsualAdvice(ReasonCode code) {
  switch (code) {
    case ReasonCode::kJobPaused:
    case ReasonCode::kQueuePaused:
    case ReasonCode::kNoWorkers:
    case ReasonCode::kTagNeverSeen:
    case ReasonCode::kTagGone:
    case ReasonCode::kTagUnavailable:
    case ReasonCode::kTagsApart:
    case ReasonCode::kWorkersDraining:
    case ReasonCode::kLimitNever:
    case ReasonCode::kNotSelected:
    case ReasonCode::kNoMatch:
      return AdviceText(Advice::kOperator);
    case ReasonCode::kConstraintUnmet:
    case ReasonCode::kRequirementsNeverTrue:
    case ReasonCode::kRequirementsUnmet:
    case ReasonCode::kWorkersRefuse:
    case ReasonCode::kMismatch:
      return AdviceText(Advice::kChangeRequest);
    default:
      return AdviceText(Advice::kWait);
  }
}

void AppendJob(const JobView& job, std::string_view queue, std::string& out, std::optional<std::string_view> payload) {
  JsonWriter json(out);
  wire::Writer<wire::kJob> w(json);
  w.Id("id", job.id.value);
  w.Text("queue", queue);
  w.Text("state", StateText(job.state));
  w.Bool("paused", job.paused);
  w.Texts("tags", job.tags);
  w.Int("priority", job.priority);
  w.Text("user", job.user);
  w.Bool("async", job.async);
  MetaObject(job.meta, w.Value("meta"));
  w.Value("constraints").BeginArray();
  for (const Properties& alternative : *job.constraints) PropertyObject(json, alternative);
  json.EndArray();
  w.Texts("constraint_tags", job.constraint_tags);
  w.TextOrNull("requirements", SourceOf(job.requirements));
  w.TextOrNull("rank", SourceOf(job.rank));
  w.Count("count", job.count);
  w.Count("queued", job.queued);
  w.Count("running", job.running);
  w.Count("retrying", job.retrying);
  w.Count("done", job.done);
  w.Count("failed", job.failed);
  w.Count("skipped", job.skipped);
  if (job.promised > 0) w.Count("promised", job.promised);
  if (job.progress) w.Real("progress", *job.progress);
  if (payload) w.Raw("payload", *payload);
  w.Count("max_attempts", job.max_attempts);
  w.Count("max_failed_tasks", job.max_failed_tasks);
  {
    auto backoff = w.Open<wire::kBackoff>("backoff");
    backoff.Int("first_ms", job.backoff.first.count());
    backoff.Real("factor", job.backoff.factor);
    backoff.Int("max_ms", job.backoff.max.count());
    backoff.Real("jitter", job.backoff.jitter);
  }
  w.Int("lease_ms", job.lease.count());
  w.Int("timeout_ms", job.timeout.count());
  w.Int("retention_ms", job.retention.count());
  w.Time("submitted_at_ms", job.submitted_at);
  w.Time("scheduled_at_ms", job.scheduled_for);
  w.Time("started_at_ms", job.started_at);
  w.Time("ended_at_ms", job.ended_at);
  w.Time("next_retry_at_ms", job.next_retry_at);
  w.Text("reason", job.reason);
  ForEach(kJobDetails, [&](const auto& detail) { PutDetail(job.*detail.member, json.Key(detail.name)); });
  if (job.wait_reason) {
    auto held = w.Open<wire::kHeld>("held");
    held.Text("code", ReasonText(job.wait_reason->code));
    held.Text("kind", UsualAdvice(job.wait_reason->code));
    held.Time("since_at_ms", job.wait_reason->since);
  } else {
    w.Null("held");
  }
}

void AppendSubmitted(const SubmitAnswer& answer, const JobView& job, std::string_view queue, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kSubmitted> w(json);
  AppendJob(job, queue, w.Place("job"));
  w.Bool("existing", answer.existing);
  w.Count("matching_workers", answer.matching_workers);
}

void AppendSubmitItem(const SubmitAnswer& answer, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kSubmittedId> w(json);
  w.Id("id", answer.job.value);
  w.Bool("existing", answer.existing);
  w.Count("matching_workers", answer.matching_workers);
}

void AppendEnded(const JobView& job, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kEnded> w(json);
  w.Id("id", job.id.value);
  w.Text("state", StateText(job.state));
  w.Count("done", job.done);
  w.Count("failed", job.failed);
}

void AppendTask(const TaskView& task, const TaskExtra& extra, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kTask> w(json);
  w.Count("index", task.index);
  w.Text("state", StateText(task.state));
  w.Count("attempts", task.attempts);
  w.IdOrNull("worker", task.worker.value);
  w.Time("started_at_ms", task.started_at);
  w.Text("error", extra.error);
  if (task.retry_at) w.Time("retry_at_ms", *task.retry_at);
  if (task.progress) {
    auto progress = w.Open<wire::kProgress>("progress");
    progress.Real("done", task.progress->done);
    if (task.progress->of) progress.Real("of", *task.progress->of);
    if (!task.progress->note.empty()) progress.Text("note", task.progress->note);
  }
  if (extra.payload) w.Raw("payload", *extra.payload);
  if (extra.result) w.Raw("result", *extra.result);
}

void AppendResultItem(const EndedTask& task, const Outcome* outcome, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kResult> w(json);
  w.Count("index", task.index);
  w.Text("state", StateText(task.state));
  const bool error = outcome != nullptr && outcome->kind == OutcomeKind::kError;
  if (task.state == TaskState::kDone && outcome != nullptr && !error) w.Raw("result", outcome->text);
  if (task.state == TaskState::kFailed) w.Text("error", error ? outcome->text : std::string_view());
}

void AppendWorker(const WorkerView& worker, WorkerDetail detail, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kWorker> w(json);
  w.Id("id", worker.id.value);
  w.Text("name", worker.name);
  w.Texts("tags", worker.tags);
  w.Value("properties");
  PropertyObject(json, worker.properties);
  MetaObject(worker.attributes, w.Value("attributes"));
  w.TextOrNull("requirements", SourceOf(worker.requirements));
  w.TextOrNull("rank", SourceOf(worker.rank));
  w.Text("strategy", PrintStrategy(worker.strategy == nullptr ? *DefaultStrategy() : *worker.strategy));
  w.Count("slots", worker.slots);
  w.Count("running", worker.running);
  w.Count("credit", worker.credit);
  if (detail.balanced) {
    w.Count("promised", worker.promised);
    w.Count("promised_jobs", worker.promised_jobs);
  }
  w.Bool("draining", worker.draining);
  w.Bool("connected", worker.connected);
  w.Bool("away", worker.away);
  w.Text("address", worker.address);
  w.Text("user", worker.user);
  w.Time("registered_at_ms", worker.registered_at);
  w.Time("last_seen_at_ms", worker.last_seen);
  if (detail.tasks) {
    w.Texts("constraint_tags", worker.constraint_tags);
    // Without their leases: whoever knows one could end the task.
    w.Value("tasks").BeginArray();
    for (const TaskRef& task : worker.tasks) {
      wire::Writer<wire::kHeldTask> one(json);
      one.Id("job", task.job.value);
      one.Count("index", task.index);
    }
    json.EndArray();
  }
  if (detail.balanced && detail.queue) {
    w.Value("queue").BeginArray();
    for (const PromisedView& share : worker.queue) {
      wire::Writer<wire::kPromisedShare> one(json);
      one.Id("job", share.job.value);
      one.Count("tasks", share.tasks);
      one.Int("priority", share.priority);
      one.Text("user", share.user);
      one.Texts("tags", share.tags);
    }
    json.EndArray();
  }
}

void AppendWorkerChange(const WorkerChange& change, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kWorkerChange> w(json);
  if (change.tags) w.Texts("tags", *change.tags);
  if (change.properties) {
    w.Value("properties");
    PropertyObject(json, *change.properties);
  }
  if (change.attributes) MetaObject(*change.attributes, w.Value("attributes"));
  if (change.requirements) w.TextOrNull("requirements", SourceOf(*change.requirements));
  if (change.rank) w.TextOrNull("rank", SourceOf(*change.rank));
  if (change.strategy) {
    w.Value("strategy");
    if (*change.strategy == nullptr) {
      json.Null();
    } else {
      json.String(PrintStrategy(**change.strategy));
    }
  }
}

void AppendQueueSettings(const QueueSettings& settings, std::string& out, bool names) {
  JsonWriter json(out);
  wire::Writer<wire::kQueueSettings> w(json);
  w.Count("max_finished_jobs", settings.max_finished_jobs);
  w.Int("worker_grace_ms", ToMillis(settings.worker_grace));
  w.Count("max_result_bytes", settings.max_result_bytes);
  w.Texts("property_keys", settings.property_keys);
  w.Count("max_property_keys", settings.max_property_keys);
  if (names) {
    w.Text("policy", settings.policy);
    w.Value("weights").BeginObject();
    for (const auto& [name, weight] : settings.weights) json.OpenKey(name).Uint(weight);
    json.EndObject();
  }
  w.Int("max_limit_expiration_ms", ToMillis(settings.max_limit_expiration));
  w.Int("limit_ban_window_ms", ToMillis(settings.limit_ban_window));
  w.Int("demand_lookahead_ms", ToMillis(settings.demand_lookahead));
  w.Text("dispatch", Text(settings.dispatch.mode));
  w.Text("balance", Text(settings.dispatch.balance));
  w.Count("memory_budget_bytes", settings.memory_budget);
}

void AppendQueue(const QueueView& queue, std::string& out) {
  const EngineStats& stats = queue.stats;
  JsonWriter json(out);
  wire::Writer<wire::kQueue> w(json);
  w.Text("name", queue.name);
  w.Bool("paused", stats.paused);
  w.Time("created_at_ms", queue.created_at);
  {
    auto jobs = w.Open<wire::kJobCounts>("jobs");
    jobs.Count("scheduled", stats.jobs_scheduled);
    jobs.Count("active", stats.jobs_active);
    jobs.Count("paused", stats.jobs_paused);
    jobs.Count("done", stats.jobs_done);
    jobs.Count("failed", stats.jobs_failed);
    jobs.Count("cancelled", stats.jobs_cancelled);
  }
  {
    auto tasks = w.Open<wire::kOpenTasks>("tasks");
    tasks.Count("queued", stats.tasks_queued);
    tasks.Count("retrying", stats.tasks_retrying);
    tasks.Count("running", stats.tasks_running);
  }
  w.Count("workers", stats.workers);
  w.Count("workers_waiting", stats.workers_waiting);
  std::string settings;
  AppendQueueSettings(queue.settings, settings, queue.names);
  w.Raw("settings", settings);
  {
    auto store = w.Open<wire::kStoreUse>("store");
    store.Count("file_bytes", queue.usage.file_bytes);
    store.Count("journal_rows", queue.usage.journal_rows);
  }
  {
    auto memory = w.Open<wire::kMemoryUse>("memory");
    memory.Count("budget_bytes", stats.memory.budget);
    memory.Count("used_bytes", stats.memory.total());
    memory.Value("parts").BeginObject();
    for (std::size_t i = 0; i < kMemoryParts; ++i) json.Key(kMemoryWords[i]).Uint(stats.memory.bytes[i]);
    json.EndObject();
  }
}

void AppendAssignment(const Grant& grant, const GrantPayloads& payloads, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kAssignment> w(json);
  RefFields(grant.task, w);
  w.Count("attempt", grant.attempt);
  w.Count("count", grant.count);
  w.Int("lease_ms", grant.lease.count());
  w.Int("timeout_ms", grant.timeout.count());
  if (payloads.own) {
    w.Raw("payload", *payloads.own);
    if (payloads.common) w.Raw("job_payload", *payloads.common);
  } else if (payloads.common) {
    w.Raw("payload", *payloads.common);
  }
  if (!grant.payload_prefix.empty()) w.Text("payload_prefix", grant.payload_prefix);
  if (!grant.trace.empty()) w.Text("trace", grant.trace);
}

void AppendJobHeader(const JobHeaderView& header, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kJobHeader> w(json);
  w.Id("id", header.id.value);
  w.Texts("tags", header.tags);
  MetaObject(header.meta, w.Value("meta"));
  w.Text("user", header.user);
}

void AppendTaskRef(const TaskRef& task, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kTaskRef> w(json);
  RefFields(task, w);
}

void AppendStale(const TaskRef& task, ReportVerdict verdict, std::string& out) {
  CHECK(verdict != ReportVerdict::kTaken);
  JsonWriter json(out);
  wire::Writer<wire::kStale> w(json);
  RefFields(task, w);
  w.Text("code", CodeText(verdict == ReportVerdict::kCancelled ? Code::kJobEnded : Code::kStale));
}

void AppendCancel(const StopRequest& stop, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kCancel> w(json);
  RefFields(stop.task, w);
  w.Text("reason", stop.reason);
}

void AppendFeatures(JsonWriter& json) {
  json.BeginArray();
  for (const std::string_view feature : wire::kFeatureWords) json.String(feature);
  json.EndArray();
}

void AppendWelcome(const RegisterAnswer& answer, Duration heartbeat, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kWelcome> w(json);
  w.Id("worker", answer.worker.value);
  w.Text("key", KeyText(answer.key));
  w.Int("heartbeat_ms", ToMillis(heartbeat));
  Refs(answer.resumed, w.Value("resumed"));
  Refs(answer.lost, w.Value("lost"));
  AppendFeatures(w.Value("features"));
}

}  // namespace allot
