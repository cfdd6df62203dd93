#include "server/wire/reply_json.h"

#include <variant>

#include "base/json.h"
#include "expr/expr.h"
#include "match/reason.h"
#include "server/wire/request_json.h"

namespace allot {
namespace {

void Time(JsonWriter& json, std::string_view key, WallTime time) { json.Key(key).Int(ToMillis(time)); }
void Time(JsonWriter& json, std::string_view key, const std::optional<WallTime>& time) {
  json.Key(key);
  time ? json.Int(ToMillis(*time)) : json.Null();
}

void Strings(JsonWriter& json, std::string_view key, const std::vector<std::string>& values) {
  json.Key(key).BeginArray();
  for (const std::string& value : values) json.String(value);
  json.EndArray();
}

void MetaObject(JsonWriter& json, std::string_view name, const Meta& meta) {
  struct Visit {
    JsonWriter& json;
    void operator()(const std::string& value) const { json.String(value); }
    void operator()(std::int64_t value) const { json.Int(value); }
    void operator()(double value) const { json.Real(value); }
    void operator()(bool value) const { json.Bool(value); }
  };
  json.Key(name).BeginObject();
  for (const auto& [key, value] : meta) {
    json.OpenKey(key);
    std::visit(Visit{json}, value);
  }
  json.EndObject();
}

void PropertyObject(JsonWriter& json, const Properties& properties) {
  json.BeginObject();
  for (const auto& [key, value] : properties) json.OpenKey(key).String(value);
  json.EndObject();
}

// As it was written; null: none.
void Expression(JsonWriter& json, std::string_view key, const ExprPtr& expression) {
  json.Key(key);
  expression == nullptr ? json.Null() : json.String(expression->source());
}

void ErrorObject(JsonWriter& json, const Error& error) {
  json.Key("error").BeginObject();
  json.Key("code").String(CodeText(error.code));
  json.Key("message").String(error.message);
  json.Key("hint").String(error.hint);
  json.EndObject();
}

// The fields of a TaskRef, without the braces.
void RefFields(JsonWriter& json, const TaskRef& task) {
  json.Key("job").Id(task.job.value);
  json.Key("index").Uint(task.index);
  // Hexadecimal digits and a dash: nothing to escape.
  json.Key("lease").Raw("\"");
  AppendText(task.lease, json.out());
  json.out().push_back('"');
}

void Refs(JsonWriter& json, std::string_view key, const std::vector<TaskRef>& tasks) {
  json.Key(key).BeginArray();
  for (const TaskRef& task : tasks) {
    json.BeginObject();
    RefFields(json, task);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

void AppendError(const Error& error, std::string& out) { AppendError(error, std::nullopt, out); }

void AppendError(const Error& error, std::optional<std::uint64_t> seq, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  ErrorObject(json, error);
  if (seq) json.Key("seq").Uint(*seq);
  json.EndObject();
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

void AppendJob(const JobView& job, std::string_view queue, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  json.Key("id").Id(job.id.value);
  json.Key("queue").String(queue);
  json.Key("state").String(StateText(job.state));
  json.Key("paused").Bool(job.paused);
  Strings(json, "tags", job.tags);
  json.Key("priority");
  job.priority ? json.Int(*job.priority) : json.Null();
  json.Key("user").String(job.user);
  json.Key("async").Bool(job.async);
  MetaObject(json, "meta", job.meta);
  json.Key("constraints").BeginArray();
  for (const Properties& alternative : *job.constraints) PropertyObject(json, alternative);
  json.EndArray();
  Strings(json, "constraint_tags", job.constraint_tags);
  Expression(json, "requirements", job.requirements);
  Expression(json, "rank", job.rank);
  json.Key("count").Uint(job.count);
  json.Key("ready").Uint(job.ready);
  json.Key("leased").Uint(job.leased);
  json.Key("waiting").Uint(job.waiting);
  json.Key("done").Uint(job.done);
  json.Key("failed").Uint(job.failed);
  json.Key("skipped").Uint(job.skipped);
  if (job.promised > 0) json.Key("promised").Uint(job.promised);
  json.Key("max_attempts").Uint(job.max_attempts);
  json.Key("max_failed_tasks").Uint(job.max_failed_tasks);
  json.Key("backoff").BeginObject();
  json.Key("first_ms").Int(job.backoff.first.count());
  json.Key("factor").Real(job.backoff.factor);
  json.Key("max_ms").Int(job.backoff.max.count());
  json.Key("jitter").Real(job.backoff.jitter);
  json.EndObject();
  json.Key("lease_ms").Int(job.lease.count());
  json.Key("timeout_ms").Int(job.timeout.count());
  json.Key("retention_ms").Int(job.retention.count());
  Time(json, "submitted_at_ms", job.submitted_at);
  Time(json, "scheduled_at_ms", job.scheduled_for);
  Time(json, "started_at_ms", job.started_at);
  Time(json, "ended_at_ms", job.ended_at);
  Time(json, "next_retry_at_ms", job.next_retry_at);
  json.Key("reason").String(job.reason);
  json.Key("idempotency_key").String(job.idempotency_key);
  json.Key("payload_prefix").String(job.payload_prefix);
  json.Key("trace").String(job.trace);
  json.Key("held");
  if (job.wait_reason) {
    json.BeginObject()
        .Key("code")
        .String(ReasonText(job.wait_reason->code))
        .Key("kind")
        .String(UsualAdvice(job.wait_reason->code));
    Time(json, "since_at_ms", job.wait_reason->since);
    json.EndObject();
  } else {
    json.Null();
  }
  json.EndObject();
}

void AppendSubmitted(const SubmitAnswer& answer, const JobView& job, std::string_view queue, std::string& out) {
  out.append("{\"job\":");
  AppendJob(job, queue, out);
  out.append(answer.existing ? ",\"existing\":true,\"matching_workers\":"
                             : ",\"existing\":false,\"matching_workers\":");
  out.append(std::to_string(answer.matching_workers));
  out.push_back('}');
}

void AppendSubmitItem(const SubmitAnswer& answer, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  json.Key("id").Id(answer.job.value);
  json.Key("existing").Bool(answer.existing);
  json.Key("matching_workers").Uint(answer.matching_workers);
  json.EndObject();
}

void AppendEnded(const JobView& job, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  json.Key("id").Id(job.id.value);
  json.Key("state").String(StateText(job.state));
  json.Key("done").Uint(job.done);
  json.Key("failed").Uint(job.failed);
  json.EndObject();
}

void AppendTask(const TaskView& task, const TaskExtra& extra, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  json.Key("index").Uint(task.index);
  json.Key("state").String(StateText(task.state));
  json.Key("attempts").Uint(task.attempts);
  json.Key("worker");
  task.worker ? json.Id(task.worker.value) : json.Null();
  Time(json, "leased_at_ms", task.leased_at);
  json.Key("error").String(extra.error);
  if (extra.payload) json.Key("payload").Raw(*extra.payload);
  if (extra.result) json.Key("result").Raw(*extra.result);
  json.EndObject();
}

void AppendResultItem(TaskIndex index, TaskState state, const TaskExtra& extra, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  json.Key("index").Uint(index);
  json.Key("state").String(StateText(state));
  if (state == TaskState::kDone && extra.result) json.Key("result").Raw(*extra.result);
  if (state == TaskState::kFailed) json.Key("error").String(extra.error);
  json.EndObject();
}

void AppendWorker(const WorkerView& worker, WorkerDetail detail, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  json.Key("id").Id(worker.id.value);
  json.Key("name").String(worker.name);
  Strings(json, "tags", worker.tags);
  json.Key("properties");
  PropertyObject(json, worker.properties);
  MetaObject(json, "attributes", worker.attributes);
  Expression(json, "requirements", worker.requirements);
  Expression(json, "rank", worker.rank);
  json.Key("strategy").String(PrintStrategy(worker.strategy == nullptr ? *DefaultStrategy() : *worker.strategy));
  json.Key("slots").Uint(worker.slots);
  json.Key("leased").Uint(worker.leased);
  json.Key("credit").Uint(worker.credit);
  if (detail.balanced) {
    json.Key("promised").Uint(worker.promised);
    json.Key("promised_jobs").Uint(worker.promised_jobs);
  }
  json.Key("draining").Bool(worker.draining);
  json.Key("connected").Bool(worker.connected);
  json.Key("away").Bool(worker.away);
  json.Key("address").String(worker.address);
  json.Key("user").String(worker.user);
  Time(json, "registered_at_ms", worker.registered_at);
  Time(json, "last_seen_at_ms", worker.last_seen);
  if (detail.tasks) {
    Strings(json, "constraint_tags", worker.constraint_tags);
    // Without their leases: whoever knows one could end the task.
    json.Key("tasks").BeginArray();
    for (const TaskRef& task : worker.tasks) {
      json.BeginObject().Key("job").Id(task.job.value).Key("index").Uint(task.index).EndObject();
    }
    json.EndArray();
  }
  if (detail.balanced && detail.queue) {
    json.Key("queue").BeginArray();
    for (const PromisedView& share : worker.queue) {
      json.BeginObject().Key("job").Id(share.job.value).Key("tasks").Uint(share.tasks);
      json.Key("priority");
      share.priority ? json.Int(*share.priority) : json.Null();
      json.Key("user").String(share.user);
      Strings(json, "tags", share.tags);
      json.EndObject();
    }
    json.EndArray();
  }
  json.EndObject();
}

void AppendWorkerChange(const WorkerChange& change, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  if (change.tags) Strings(json, "tags", *change.tags);
  if (change.properties) {
    json.Key("properties");
    PropertyObject(json, *change.properties);
  }
  if (change.attributes) MetaObject(json, "attributes", *change.attributes);
  if (change.requirements) Expression(json, "requirements", *change.requirements);
  if (change.rank) Expression(json, "rank", *change.rank);
  if (change.strategy) {
    json.Key("strategy");
    if (*change.strategy == nullptr) {
      json.Null();
    } else {
      json.String(PrintStrategy(**change.strategy));
    }
  }
  json.EndObject();
}

void AppendQueueSettings(const QueueSettings& settings, std::string& out, bool names) {
  JsonWriter json(out);
  json.BeginObject();
  json.Key("max_finished_jobs").Uint(settings.max_finished_jobs);
  json.Key("worker_grace_ms").Int(ToMillis(settings.worker_grace));
  json.Key("max_result_bytes").Uint(settings.max_result_bytes);
  Strings(json, "property_keys", settings.property_keys);
  json.Key("max_property_keys").Uint(settings.max_property_keys);
  if (names) {
    json.Key("policy").String(settings.policy);
    json.Key("weights").BeginObject();
    for (const auto& [name, weight] : settings.weights) json.OpenKey(name).Uint(weight);
    json.EndObject();
  }
  json.Key("max_limit_expiration_ms").Int(ToMillis(settings.max_limit_expiration));
  json.Key("limit_ban_window_ms").Int(ToMillis(settings.limit_ban_window));
  json.Key("demand_lookahead_ms").Int(ToMillis(settings.demand_lookahead));
  json.Key("dispatch").String(Text(settings.dispatch.mode));
  json.Key("balance").String(Text(settings.dispatch.balance));
  json.Key("memory_budget_bytes").Uint(settings.memory_budget);
  json.EndObject();
}

void AppendQueue(const QueueView& queue, std::string& out) {
  const EngineStats& stats = queue.stats;
  JsonWriter json(out);
  json.BeginObject();
  json.Key("name").String(queue.name);
  json.Key("paused").Bool(stats.paused);
  Time(json, "created_at_ms", queue.created_at);
  json.Key("jobs").BeginObject();
  json.Key("scheduled").Uint(stats.jobs_scheduled);
  json.Key("active").Uint(stats.jobs_active);
  json.Key("paused").Uint(stats.jobs_paused);
  json.Key("done").Uint(stats.jobs_done);
  json.Key("failed").Uint(stats.jobs_failed);
  json.Key("cancelled").Uint(stats.jobs_cancelled);
  json.EndObject();
  json.Key("tasks").BeginObject();
  json.Key("ready").Uint(stats.tasks_ready);
  json.Key("waiting").Uint(stats.tasks_waiting);
  json.Key("leased").Uint(stats.tasks_leased);
  json.EndObject();
  json.Key("workers").Uint(stats.workers);
  json.Key("workers_waiting").Uint(stats.workers_waiting);
  std::string settings;
  AppendQueueSettings(queue.settings, settings, queue.names);
  json.Key("settings").Raw(settings);
  json.Key("store").BeginObject();
  json.Key("file_bytes").Uint(queue.usage.file_bytes);
  json.Key("journal_rows").Uint(queue.usage.journal_rows);
  json.EndObject();
  json.Key("memory").BeginObject();
  json.Key("budget_bytes").Uint(stats.memory.budget);
  json.Key("used_bytes").Uint(stats.memory.total());
  json.Key("parts").BeginObject();
  for (std::size_t i = 0; i < kMemoryParts; ++i) json.Key(kMemoryWords[i]).Uint(stats.memory.bytes[i]);
  json.EndObject();
  json.EndObject();
  json.EndObject();
}

void AppendAssignment(const Grant& grant, const GrantPayloads& payloads, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  RefFields(json, grant.task);
  json.Key("attempt").Uint(grant.attempt);
  json.Key("count").Uint(grant.count);
  json.Key("lease_ms").Int(grant.lease.count());
  json.Key("timeout_ms").Int(grant.timeout.count());
  if (payloads.own) {
    json.Key("payload").Raw(*payloads.own);
    if (payloads.common) json.Key("job_payload").Raw(*payloads.common);
  } else if (payloads.common) {
    json.Key("payload").Raw(*payloads.common);
  }
  if (!grant.payload_prefix.empty()) json.Key("payload_prefix").String(grant.payload_prefix);
  if (!grant.trace.empty()) json.Key("trace").String(grant.trace);
  json.EndObject();
}

void AppendTaskRef(const TaskRef& task, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  RefFields(json, task);
  json.EndObject();
}

void AppendStale(const TaskRef& task, ReportVerdict verdict, std::string& out) {
  CHECK(verdict != ReportVerdict::kTaken);
  JsonWriter json(out);
  json.BeginObject();
  RefFields(json, task);
  json.Key("code").String(CodeText(verdict == ReportVerdict::kCancelled ? Code::kJobEnded : Code::kStale));
  json.EndObject();
}

void AppendCancel(const StopRequest& stop, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  RefFields(json, stop.task);
  json.Key("reason").String(stop.reason);
  json.EndObject();
}

void AppendWelcome(const RegisterAnswer& answer, Duration heartbeat, std::string& out) {
  JsonWriter json(out);
  json.BeginObject();
  json.Key("worker").Id(answer.worker.value);
  json.Key("key").String(KeyText(answer.key));
  json.Key("heartbeat_ms").Int(ToMillis(heartbeat));
  Refs(json, "resumed", answer.resumed);
  Refs(json, "lost", answer.lost);
  json.EndObject();
}

}  // namespace allot
