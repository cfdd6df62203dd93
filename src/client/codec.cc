#include "client/codec.h"

#include <algorithm>

#include "base/json.h"
#include "client/json_in.h"

namespace allotter {
namespace {

using allot::JsonWriter;

void WriteMeta(const Meta& meta, JsonWriter& w) {
  w.BeginObject();
  for (const auto& [key, value] : meta) {
    w.OpenKey(key);
    if (const auto* text = std::get_if<std::string>(&value)) w.String(*text);
    if (const auto* number = std::get_if<std::int64_t>(&value)) w.Int(*number);
    if (const auto* real = std::get_if<double>(&value)) w.Real(*real);
    if (const auto* flag = std::get_if<bool>(&value)) w.Bool(*flag);
  }
  w.EndObject();
}

void WriteProperties(const Properties& properties, JsonWriter& w) {
  w.BeginObject();
  for (const auto& [key, value] : properties) w.OpenKey(key).String(value);
  w.EndObject();
}

void WriteConstraints(const std::vector<Properties>& alternatives, JsonWriter& w) {
  w.Key("constraints").BeginArray();
  for (const Properties& alternative : alternatives) WriteProperties(alternative, w);
  w.EndArray();
}

void WriteTags(const std::vector<std::string>& tags, JsonWriter& w) {
  w.Key("tags").BeginArray();
  for (const std::string& tag : tags) w.String(tag);
  w.EndArray();
}

// The fields of a TaskRef, without braces.
void AppendRefFields(const TaskRef& task, std::string& out) {
  out.append("\"job\":");
  allot::AppendJsonString(task.job, out);
  out.append(",\"index\":").append(std::to_string(task.index)).append(",\"lease\":");
  allot::AppendJsonString(task.lease, out);
}

template <typename Filter, typename Body>
void AppendKind(std::string_view name, const std::vector<Report>& reports, bool& wrote, std::string& out, Filter filter,
                Body body) {
  bool first = true;
  for (const Report& report : reports) {
    if (!filter(report.outcome.kind)) continue;
    if (first) {
      if (wrote) out.push_back(',');
      out.append("\"").append(name).append("\":[");
    } else {
      out.push_back(',');
    }
    first = false;
    wrote = true;
    out.push_back('{');
    AppendRefFields(report.task, out);
    body(report.outcome);
    out.push_back('}');
  }
  if (!first) out.push_back(']');
}

}  // namespace

void WriteOrNull(std::string_view key, const std::string& text, JsonWriter& w) {
  w.Key(key);
  text.empty() ? w.Null() : w.String(text);
}

std::string OneLine(std::string_view json) {
  if (json.find_first_of("\r\n") == std::string_view::npos) return std::string(json);
  // Raw line ends stand only between tokens: inside JSON strings they are escaped.
  std::string out(json);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  return out;
}

void AppendSpec(const JobSpec& spec, bool stream, std::string& out) {
  JsonWriter w(out);
  w.BeginObject();
  if (!spec.tags.empty()) WriteTags(spec.tags, w);
  if (spec.count && !stream) w.Key("count").Uint(*spec.count);
  if (!spec.payload.empty()) w.Key("payload").Raw(OneLine(spec.payload));
  if (!spec.payloads.empty() && !stream) {
    w.Key("payloads").BeginArray();
    for (const std::string& payload : spec.payloads) w.Raw(payload);
    w.EndArray();
  }
  if (!spec.payload_prefix.empty()) w.Key("payload_prefix").String(spec.payload_prefix);
  if (spec.priority) w.Key("priority").Int(*spec.priority);
  if (!spec.user.empty()) w.Key("user").String(spec.user);
  if (!spec.async) w.Key("async").Bool(false);
  if (spec.delay) w.Key("delay_ms").Int(spec.delay->count());
  if (spec.scheduled_at_ms) w.Key("scheduled_at_ms").Int(*spec.scheduled_at_ms);
  if (!spec.meta.empty()) {
    w.Key("meta");
    WriteMeta(spec.meta, w);
  }
  if (!spec.constraints.empty()) WriteConstraints(spec.constraints, w);
  if (!spec.requirements.empty()) w.Key("requirements").String(spec.requirements);
  if (!spec.rank.empty()) w.Key("rank").String(spec.rank);
  if (spec.max_attempts) w.Key("max_attempts").Uint(*spec.max_attempts);
  const Backoff& backoff = spec.backoff;
  if (backoff.first || backoff.factor || backoff.max || backoff.jitter) {
    w.Key("backoff").BeginObject();
    if (backoff.first) w.Key("first_ms").Int(backoff.first->count());
    if (backoff.factor) w.Key("factor").Real(*backoff.factor);
    if (backoff.max) w.Key("max_ms").Int(backoff.max->count());
    if (backoff.jitter) w.Key("jitter").Real(*backoff.jitter);
    w.EndObject();
  }
  if (spec.lease) w.Key("lease_ms").Int(spec.lease->count());
  if (spec.timeout) w.Key("timeout_ms").Int(spec.timeout->count());
  if (!spec.max_failed_tasks.empty()) {
    const std::string& text = spec.max_failed_tasks;
    const bool number =
        text.size() <= 10 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    w.Key("max_failed_tasks");
    number ? w.Uint(std::stoull(text)) : w.String(text);
  }
  if (spec.retention) w.Key("retention_ms").Int(spec.retention->count());
  if (!spec.idempotency_key.empty()) w.Key("idempotency_key").String(spec.idempotency_key);
  if (!spec.trace.empty()) w.Key("trace").String(spec.trace);
  w.EndObject();
}

void AppendChange(const JobChange& change, std::string& out) {
  JsonWriter w(out);
  w.BeginObject();
  if (change.tags) WriteTags(*change.tags, w);
  if (change.priority) {
    w.Key("priority");
    *change.priority ? w.Int(**change.priority) : w.Null();
  }
  if (change.delay) w.Key("delay_ms").Int(change.delay->count());
  if (change.scheduled_at_ms) w.Key("scheduled_at_ms").Int(*change.scheduled_at_ms);
  if (change.meta) {
    w.Key("meta");
    WriteMeta(*change.meta, w);
  }
  if (change.constraints) WriteConstraints(*change.constraints, w);
  if (change.requirements) WriteOrNull("requirements", *change.requirements, w);
  if (change.rank) WriteOrNull("rank", *change.rank, w);
  w.EndObject();
}

void AppendWorkerChange(const WorkerChange& change, std::string& out) {
  JsonWriter w(out);
  w.BeginObject();
  if (change.tags) WriteTags(*change.tags, w);
  if (change.properties) {
    w.Key("properties");
    WriteProperties(*change.properties, w);
  }
  if (change.attributes) {
    w.Key("attributes");
    WriteMeta(*change.attributes, w);
  }
  if (change.requirements) WriteOrNull("requirements", *change.requirements, w);
  if (change.rank) WriteOrNull("rank", *change.rank, w);
  if (change.strategy) WriteOrNull("strategy", *change.strategy, w);
  w.EndObject();
}

void Add(const WorkerChange& change, WorkerChange& to) {
  if (change.tags) to.tags = change.tags;
  if (change.properties) to.properties = change.properties;
  if (change.attributes) to.attributes = change.attributes;
  if (change.requirements) to.requirements = change.requirements;
  if (change.rank) to.rank = change.rank;
  if (change.strategy) to.strategy = change.strategy;
}

void AppendTaskRef(const TaskRef& task, std::string& out) {
  out.push_back('{');
  AppendRefFields(task, out);
  out.push_back('}');
}

void AppendHello(const Hello& hello, std::string& out) {
  JsonWriter w(out);
  w.BeginObject().Key("name").String(hello.name);
  WriteTags(hello.tags, w);
  w.Key("slots").Uint(hello.slots);
  if (!hello.properties.empty()) {
    w.Key("properties");
    WriteProperties(hello.properties, w);
  }
  if (!hello.attributes.empty()) {
    w.Key("attributes");
    WriteMeta(hello.attributes, w);
  }
  if (!hello.requirements.empty()) w.Key("requirements").String(hello.requirements);
  if (!hello.rank.empty()) w.Key("rank").String(hello.rank);
  if (!hello.strategy.empty()) w.Key("strategy").String(hello.strategy);
  if (!hello.worker.empty()) {
    w.Key("worker").String(hello.worker).Key("key").String(hello.key).Key("resume").BeginArray();
    std::string entry;
    for (const TaskRef& task : hello.resume) {
      entry.clear();
      AppendTaskRef(task, entry);
      w.Raw(entry);
    }
    w.EndArray();
  }
  w.EndObject();
}

bool AppendReports(const std::vector<Report>& reports, std::string& out) {
  using Kind = Outcome::Kind;
  bool wrote = false;
  AppendKind(
      "done", reports, wrote, out, [](Kind kind) { return kind == Kind::kDone; },
      [&](const Outcome& outcome) {
        if (!outcome.text.empty()) out.append(",\"result\":").append(outcome.text);
      });
  AppendKind(
      "failed", reports, wrote, out, [](Kind kind) { return kind == Kind::kFailed || kind == Kind::kRejected; },
      [&](const Outcome& outcome) {
        if (!outcome.text.empty()) {
          out.append(",\"error\":");
          allot::AppendJsonString(outcome.text, out);
        }
        if (outcome.kind == Kind::kRejected) out.append(",\"final\":true");
      });
  AppendKind(
      "released", reports, wrote, out, [](Kind kind) { return kind == Kind::kReleased; }, [](const Outcome&) {});
  return wrote;
}

// --- Reading.

namespace {

using json_in::Each;
using json_in::EachField;
using json_in::Raw;
using json_in::Read;
using json_in::ReadOrEmpty;
using json_in::Value;

void Read(Value value, Properties& out) {
  EachField(value, [&](std::string_view key, Value field) { out.emplace_back(key, json_in::Text(field)); });
}
void Read(Value value, std::vector<Properties>& out) {
  Each(value, [&](Value item) { Read(item, out.emplace_back()); });
}

void Read(Value value, Meta& out) {
  EachField(value, [&](std::string_view key, Value field) {
    MetaValue read;
    const simdjson::ondemand::json_type type = field.type();
    if (type == simdjson::ondemand::json_type::string) {
      read = json_in::Text(field);
    } else if (type == simdjson::ondemand::json_type::boolean) {
      read = bool(field.get_bool());
    } else if (field.raw_json_token().find_first_of(".eE") == std::string_view::npos) {
      read = std::int64_t(field.get_int64());
    } else {
      read = double(field.get_double());
    }
    out.emplace_back(key, std::move(read));
  });
}

void Read(Value value, Job::Held& held) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "code") Read(field, held.code);
    if (key == "kind") Read(field, held.kind);
    if (key == "since_at_ms") Read(field, held.since_at_ms);
  });
}

void Read(Value value, Job& job) {
  job.json = Raw(value);
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "id") Read(field, job.id);
    if (key == "state") Read(field, job.state);
    if (key == "paused") Read(field, job.paused);
    if (key == "tags") Read(field, job.tags);
    if (key == "priority") Read(field, job.priority);
    if (key == "user") Read(field, job.user);
    if (key == "meta") Read(field, job.meta);
    if (key == "constraints") Read(field, job.constraints);
    if (key == "constraint_tags") Read(field, job.constraint_tags);
    if (key == "requirements") ReadOrEmpty(field, job.requirements);
    if (key == "rank") ReadOrEmpty(field, job.rank);
    if (key == "count") Read(field, job.count);
    if (key == "ready") Read(field, job.ready);
    if (key == "leased") Read(field, job.leased);
    if (key == "waiting") Read(field, job.waiting);
    if (key == "done") Read(field, job.done);
    if (key == "failed") Read(field, job.failed);
    if (key == "skipped") Read(field, job.skipped);
    if (key == "promised") Read(field, job.promised);
    if (key == "submitted_at_ms") Read(field, job.submitted_at_ms);
    if (key == "scheduled_at_ms") Read(field, job.scheduled_at_ms);
    if (key == "started_at_ms") Read(field, job.started_at_ms);
    if (key == "ended_at_ms") Read(field, job.ended_at_ms);
    if (key == "next_retry_at_ms") Read(field, job.next_retry_at_ms);
    if (key == "reason") Read(field, job.reason);
    if (key == "held" && !field.is_null()) Read(field, job.held.emplace());
  });
}

void Read(Value value, Submitted& out) {
  out.json = Raw(value);
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "job") Read(field, out.job);
    if (key == "existing") Read(field, out.existing);
    if (key == "matching_workers") Read(field, out.matching_workers);
  });
}

void Read(Value value, std::vector<SubmittedId>& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key != "jobs") return;
    Each(field, [&](Value item) {
      SubmittedId& one = out.emplace_back();
      EachField(item, [&](std::string_view name, Value inner) {
        if (name == "id") Read(inner, one.id);
        if (name == "existing") Read(inner, one.existing);
        if (name == "matching_workers") Read(inner, one.matching_workers);
      });
    });
  });
}

void Read(Value value, JobPage& page) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "jobs") Each(field, [&](Value item) { Read(item, page.jobs.emplace_back()); });
    if (key == "next") ReadOrEmpty(field, page.next);
  });
}

void Read(Value value, Client::Retried& out) {
  out.json = Raw(value);
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "job") Read(field, out.job);
    if (key == "retried") Read(field, out.retried);
  });
}

void Read(Value value, Task& task) {
  task.json = Raw(value);
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "index") Read(field, task.index);
    if (key == "state") Read(field, task.state);
    if (key == "attempts") Read(field, task.attempts);
    if (key == "worker") ReadOrEmpty(field, task.worker);
    if (key == "leased_at_ms") Read(field, task.leased_at_ms);
    if (key == "error") ReadOrEmpty(field, task.error);
    if (key == "payload") task.payload = Raw(field);
    if (key == "result") task.result = Raw(field);
  });
}

void Read(Value value, TaskPage& page) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "tasks") Each(field, [&](Value item) { Read(item, page.tasks.emplace_back()); });
    if (key == "next") Read(field, page.next);
  });
}

void Read(Value value, TaskResult& result) {
  result.json = Raw(value);
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "index") Read(field, result.index);
    if (key == "state") Read(field, result.state);
    if (key == "result") result.result = Raw(field);
    if (key == "error") ReadOrEmpty(field, result.error);
  });
}

void Read(Value value, ResultPage& page) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "results") Each(field, [&](Value item) { Read(item, page.results.emplace_back()); });
    if (key == "next") Read(field, page.next);
    if (key == "job_state") Read(field, page.job_state);
  });
}

void Read(Value value, PromisedShare& share) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "job") Read(field, share.job);
    if (key == "tasks") Read(field, share.tasks);
    if (key == "priority") Read(field, share.priority);
    if (key == "user") Read(field, share.user);
    if (key == "tags") Read(field, share.tags);
  });
}

void Read(Value value, WorkerInfo& worker) {
  worker.json = Raw(value);
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "id") Read(field, worker.id);
    if (key == "name") Read(field, worker.name);
    if (key == "tags") Read(field, worker.tags);
    if (key == "properties") Read(field, worker.properties);
    if (key == "constraint_tags") Read(field, worker.constraint_tags);
    if (key == "attributes") Read(field, worker.attributes);
    if (key == "requirements") ReadOrEmpty(field, worker.requirements);
    if (key == "rank") ReadOrEmpty(field, worker.rank);
    if (key == "strategy") ReadOrEmpty(field, worker.strategy);
    if (key == "slots") Read(field, worker.slots);
    if (key == "leased") Read(field, worker.leased);
    if (key == "credit") Read(field, worker.credit);
    if (key == "promised") Read(field, worker.promised);
    if (key == "promised_jobs") Read(field, worker.promised_jobs);
    if (key == "queue") Each(field, [&](Value item) { Read(item, worker.queue.emplace_back()); });
    if (key == "draining") Read(field, worker.draining);
    if (key == "connected") Read(field, worker.connected);
    if (key == "away") Read(field, worker.away);
    if (key == "address") Read(field, worker.address);
    if (key == "user") Read(field, worker.user);
    if (key == "registered_at_ms") Read(field, worker.registered_at_ms);
    if (key == "last_seen_at_ms") Read(field, worker.last_seen_at_ms);
    if (key == "tasks") {
      Each(field, [&](Value item) {
        auto& task = worker.tasks.emplace_back();
        EachField(item, [&](std::string_view name, Value inner) {
          if (name == "job") Read(inner, task.first);
          if (name == "index") Read(inner, task.second);
        });
      });
    }
  });
}

void Read(Value value, WorkerPage& page) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "workers") Each(field, [&](Value item) { Read(item, page.workers.emplace_back()); });
    if (key == "next") ReadOrEmpty(field, page.next);
  });
}

void Read(Value value, ServerInfo& info) {
  info.json = Raw(value);
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "name") Read(field, info.name);
    if (key == "version") Read(field, info.version);
    if (key == "protocol") Read(field, info.protocol);
    if (key == "queues") Read(field, info.queues);
    if (key == "started_at_ms") Read(field, info.started_at_ms);
    if (key == "now_at_ms") Read(field, info.now_at_ms);
    if (key == "you") {
      EachField(field, [&](std::string_view of, Value inner) {
        if (of == "tokens") Read(inner, info.you.tokens);
        if (of == "name") ReadOrEmpty(inner, info.you.name);
        if (of == "user") ReadOrEmpty(inner, info.you.user);
        if (of == "queue") ReadOrEmpty(inner, info.you.queue);
        if (of == "scopes") Read(inner, info.you.scopes);
      });
    }
  });
}

void Read(Value value, std::vector<NamedStrategy>& strategies) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key != "strategies") return;
    Each(field, [&](Value item) {
      NamedStrategy& one = strategies.emplace_back();
      EachField(item, [&](std::string_view name, Value inner) {
        if (name == "name") Read(inner, one.name);
        if (name == "strategy") Read(inner, one.strategy);
        if (name == "words") Read(inner, one.words);
      });
    });
  });
}

constexpr auto kReader = [](Value root, auto& out) { Read(root, out); };

}  // namespace

void ReadWorkerChange(Value value, WorkerChange& change) {
  EachField(value, [&](std::string_view key, Value field) {
    const bool none = field.is_null();
    if (key == "tags" && change.tags.emplace().empty() && !none) Read(field, *change.tags);
    if (key == "properties" && change.properties.emplace().empty() && !none) Read(field, *change.properties);
    if (key == "attributes" && change.attributes.emplace().empty() && !none) Read(field, *change.attributes);
    if (key == "requirements") ReadOrEmpty(field, change.requirements.emplace());
    if (key == "rank") ReadOrEmpty(field, change.rank.emplace());
    if (key == "strategy") ReadOrEmpty(field, change.strategy.emplace());
  });
}

template <>
Result<Job> Parse<Job>(const std::string& json) {
  return json_in::DocumentAs<Job>(json, kReader);
}
template <>
Result<Submitted> Parse<Submitted>(const std::string& json) {
  return json_in::DocumentAs<Submitted>(json, kReader);
}
template <>
Result<std::vector<SubmittedId>> Parse<std::vector<SubmittedId>>(const std::string& json) {
  return json_in::DocumentAs<std::vector<SubmittedId>>(json, kReader);
}
template <>
Result<JobPage> Parse<JobPage>(const std::string& json) {
  return json_in::DocumentAs<JobPage>(json, kReader);
}
template <>
Result<Client::Retried> Parse<Client::Retried>(const std::string& json) {
  return json_in::DocumentAs<Client::Retried>(json, kReader);
}
template <>
Result<Task> Parse<Task>(const std::string& json) {
  return json_in::DocumentAs<Task>(json, kReader);
}
template <>
Result<TaskPage> Parse<TaskPage>(const std::string& json) {
  return json_in::DocumentAs<TaskPage>(json, kReader);
}
template <>
Result<ResultPage> Parse<ResultPage>(const std::string& json) {
  return json_in::DocumentAs<ResultPage>(json, kReader);
}
template <>
Result<WorkerInfo> Parse<WorkerInfo>(const std::string& json) {
  return json_in::DocumentAs<WorkerInfo>(json, kReader);
}
template <>
Result<WorkerPage> Parse<WorkerPage>(const std::string& json) {
  return json_in::DocumentAs<WorkerPage>(json, kReader);
}
template <>
Result<std::vector<NamedStrategy>> Parse<std::vector<NamedStrategy>>(const std::string& json) {
  return json_in::DocumentAs<std::vector<NamedStrategy>>(json, kReader);
}
template <>
Result<ServerInfo> Parse<ServerInfo>(const std::string& json) {
  return json_in::DocumentAs<ServerInfo>(json, kReader);
}

}  // namespace allotter
