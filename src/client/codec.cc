// SPDX-License-Identifier: Apache-2.0
#include "client/codec.h"

#include <algorithm>
#include <cmath>

#include "base/bounds.h"
#include "base/json.h"
#include "client/fields.h"
#include "client/task_fields.h"
#include "wire/jobs.h"
#include "wire/server.h"
#include "wire/workers.h"
#include "wire/writer.h"

namespace allotter {
namespace wire = allot::wire;

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
  w.BeginArray();
  for (const Properties& alternative : alternatives) WriteProperties(alternative, w);
  w.EndArray();
}

// A piece of text with the key of one field of kObject, which is checked: `,"index":`.
template <const wire::Object& kObject>
struct Key {
  template <std::size_t N>
  consteval explicit Key(const char (&piece)[N]) : text(piece, N - 1) {
    std::string_view name = text.substr(text.find('"') + 1);
    name = name.substr(0, name.find('"'));
    if (wire::Find(kObject, name) == nullptr) wire::NoSuchField(name);
  }
  std::string_view text;
};

// Reports come by the hundred thousand: their texts are put together by hand.
void AppendRefFields(const TaskRef& task, std::string& out) {
  out.append(Key<wire::kTaskRef>("\"job\":").text);
  allot::AppendJsonString(task.job, out);
  out.append(Key<wire::kTaskRef>(",\"index\":").text).append(std::to_string(task.index));
  out.append(Key<wire::kTaskRef>(",\"lease\":").text);
  allot::AppendJsonString(task.lease, out);
}

// As the server takes it: one bad number must not cost the message that it is in.
void AppendProgress(const TaskProgress& progress, std::string& out) {
  constexpr double kMost = 1e15;
  JsonWriter json(out);
  wire::Writer<wire::kProgress> w(json);
  w.Real("done", std::isfinite(progress.done) ? std::clamp(progress.done, 0.0, kMost) : 0.0);
  if (progress.of && std::isfinite(*progress.of)) w.Real("of", std::clamp(*progress.of, 0.0, kMost));
  std::string note = progress.note;
  std::replace_if(
      note.begin(), note.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  std::size_t end = std::min(note.size(), allot::bounds::kMaxProgressNoteBytes);
  while (end > 0 && end < note.size() && (static_cast<unsigned char>(note[end]) & 0xC0) == 0x80) --end;
  note.resize(end);
  if (!note.empty() && allot::IsUtf8(note)) w.Text("note", note);
}

// The list of those that `filter` finds, if there are any; `begin` is its key and bracket.
template <typename Filter, typename Body>
void AppendKind(std::string_view begin, const std::vector<Report>& reports, bool& wrote, std::string& out,
                Filter filter, Body body) {
  bool first = true;
  for (const Report& report : reports) {
    if (!filter(report.outcome.kind)) continue;
    if (first) {
      if (wrote) out.push_back(',');
      out.append(begin);
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

std::string OneLine(std::string_view json) {
  if (json.find_first_of("\r\n") == std::string_view::npos) return std::string(json);
  // Raw line ends stand only between tokens: inside JSON strings they are escaped.
  std::string out(json);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  return out;
}

void AppendSpec(const JobSpec& spec, bool stream, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kJobSpec> w(json);
  if (!spec.tags.empty()) w.Texts("tags", spec.tags);
  if (spec.count && !stream) w.Count("count", *spec.count);
  if (!spec.payload.empty()) w.Raw("payload", OneLine(spec.payload));
  if (!spec.payloads.empty() && !stream) {
    w.Each("payloads", spec.payloads, [](const std::string& payload, JsonWriter& one) { one.Raw(payload); });
  }
  if (!spec.payload_prefix.empty()) w.Text("payload_prefix", spec.payload_prefix);
  if (spec.priority) w.Int("priority", *spec.priority);
  if (!spec.user.empty()) w.Text("user", spec.user);
  if (!spec.async) w.Bool("async", false);
  if (spec.delay) w.Int("delay_ms", spec.delay->count());
  if (spec.scheduled_at_ms) w.Int("scheduled_at_ms", *spec.scheduled_at_ms);
  if (!spec.meta.empty()) WriteMeta(spec.meta, w.Value("meta"));
  if (!spec.constraints.empty()) WriteConstraints(spec.constraints, w.Value("constraints"));
  if (!spec.requirements.empty()) w.Text("requirements", spec.requirements);
  if (!spec.rank.empty()) w.Text("rank", spec.rank);
  if (spec.max_attempts) w.Count("max_attempts", *spec.max_attempts);
  const Backoff& backoff = spec.backoff;
  if (backoff.first || backoff.factor || backoff.max || backoff.jitter) {
    auto waits = w.Open<wire::kBackoffSpec>("backoff");
    if (backoff.first) waits.Int("first_ms", backoff.first->count());
    if (backoff.factor) waits.Real("factor", *backoff.factor);
    if (backoff.max) waits.Int("max_ms", backoff.max->count());
    if (backoff.jitter) waits.Real("jitter", *backoff.jitter);
  }
  if (spec.lease) w.Int("lease_ms", spec.lease->count());
  if (spec.timeout) w.Int("timeout_ms", spec.timeout->count());
  if (!spec.max_failed_tasks.empty()) {
    const std::string& text = spec.max_failed_tasks;
    const bool number =
        text.size() <= 10 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    JsonWriter& value = w.Value("max_failed_tasks");
    number ? value.Uint(std::stoull(text)) : value.String(text);
  }
  if (spec.retention) w.Int("retention_ms", spec.retention->count());
  if (!spec.idempotency_key.empty()) w.Text("idempotency_key", spec.idempotency_key);
  if (!spec.trace.empty()) w.Text("trace", spec.trace);
}

void AppendChange(const JobChange& change, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kJobChange> w(json);
  if (change.tags) w.Texts("tags", *change.tags);
  if (change.priority) w.Int("priority", *change.priority);
  if (change.delay) w.Int("delay_ms", change.delay->count());
  if (change.scheduled_at_ms) w.Int("scheduled_at_ms", *change.scheduled_at_ms);
  if (change.meta) WriteMeta(*change.meta, w.Value("meta"));
  if (change.constraints) WriteConstraints(*change.constraints, w.Value("constraints"));
  if (change.requirements) w.TextOrNull("requirements", *change.requirements);
  if (change.rank) w.TextOrNull("rank", *change.rank);
}

void AppendWorkerChange(const WorkerChange& change, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kWorkerChange> w(json);
  if (change.tags) w.Texts("tags", *change.tags);
  if (change.properties) WriteProperties(*change.properties, w.Value("properties"));
  if (change.attributes) WriteMeta(*change.attributes, w.Value("attributes"));
  if (change.requirements) w.TextOrNull("requirements", *change.requirements);
  if (change.rank) w.TextOrNull("rank", *change.rank);
  if (change.strategy) w.TextOrNull("strategy", *change.strategy);
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
  JsonWriter json(out);
  wire::Writer<wire::kHello> w(json);
  w.Text("name", hello.name);
  w.Texts("tags", hello.tags);
  w.Count("slots", hello.slots);
  if (!hello.properties.empty()) WriteProperties(hello.properties, w.Value("properties"));
  if (!hello.attributes.empty()) WriteMeta(hello.attributes, w.Value("attributes"));
  if (!hello.requirements.empty()) w.Text("requirements", hello.requirements);
  if (!hello.rank.empty()) w.Text("rank", hello.rank);
  if (!hello.strategy.empty()) w.Text("strategy", hello.strategy);
  if (!hello.worker.empty()) {
    w.Text("worker", hello.worker);
    w.Text("key", hello.key);
    std::string entry;
    w.Each("resume", hello.resume, [&entry](const TaskRef& task, JsonWriter& one) {
      entry.clear();
      AppendTaskRef(task, entry);
      one.Raw(entry);
    });
  }
}

void AppendExtend(const std::vector<std::pair<TaskRef, TaskProgress>>& tasks, std::string& out) {
  out.append(Key<wire::kWorkerMessage>("\"extend\":[").text);
  for (const auto& [task, progress] : tasks) {
    if (out.back() != '[') out.push_back(',');
    out.push_back('{');
    AppendRefFields(task, out);
    out.append(Key<wire::kExtend>(",\"progress\":").text);
    AppendProgress(progress, out);
    out.push_back('}');
  }
  out.push_back(']');
}

bool AppendReports(const std::vector<Report>& reports, std::string& out) {
  using Kind = Outcome::Kind;
  bool wrote = false;
  AppendKind(
      Key<wire::kWorkerMessage>("\"done\":[").text, reports, wrote, out, [](Kind kind) { return kind == Kind::kDone; },
      [&](const Outcome& outcome) {
        if (!outcome.text.empty()) out.append(Key<wire::kDone>(",\"result\":").text).append(outcome.text);
      });
  AppendKind(
      Key<wire::kWorkerMessage>("\"failed\":[").text, reports, wrote, out,
      [](Kind kind) { return kind == Kind::kFailed || kind == Kind::kRejected; },
      [&](const Outcome& outcome) {
        if (!outcome.text.empty()) {
          out.append(Key<wire::kFailed>(",\"error\":").text);
          allot::AppendJsonString(outcome.text, out);
        }
        if (outcome.kind == Kind::kRejected) {
          out.append(Key<wire::kFailed>(",\"final\":").text).append("true");
        } else if (outcome.retry_in) {
          constexpr auto kLongest = std::chrono::duration_cast<milliseconds>(allot::bounds::kMaxBackoff);
          const milliseconds wait = std::clamp(*outcome.retry_in, milliseconds(0), kLongest);
          out.append(Key<wire::kFailed>(",\"retry_in_ms\":").text).append(std::to_string(wait.count()));
        }
      });
  AppendKind(
      Key<wire::kWorkerMessage>("\"released\":[").text, reports, wrote, out,
      [](Kind kind) { return kind == Kind::kReleased; }, [](const Outcome&) {});
  return wrote;
}

// --- Reading.

namespace json_in {

void Read(Value value, Properties& out) {
  EachField(value, [&](std::string_view key, Value field) { out.emplace_back(key, Text(field)); });
}

void Read(Value value, std::vector<std::pair<std::string, std::uint64_t>>& out) {
  EachField(value,
            [&](std::string_view key, Value field) { Read(field, out.emplace_back(std::string(key), 0).second); });
}

void Read(Value value, Meta& out) {
  EachField(value, [&](std::string_view key, Value field) {
    MetaValue read;
    const simdjson::ondemand::json_type type = field.type();
    if (type == simdjson::ondemand::json_type::string) {
      read = Text(field);
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

template <>
struct FieldsOf<Job::Held> {
  static constexpr auto kRows = RowsOf<Job::Held, wire::kHeld>(
      In<&Job::Held::code>("code"), In<&Job::Held::kind>("kind"), In<&Job::Held::since_at_ms>("since_at_ms"));
};

template <>
struct FieldsOf<Job> {
  static constexpr auto kRows = RowsOf<Job, wire::kJob>(
      In<&Job::id>("id"), Unread("queue"), In<&Job::state>("state"), In<&Job::paused>("paused"), In<&Job::tags>("tags"),
      In<&Job::priority>("priority"), In<&Job::user>("user"), Unread("async"), In<&Job::meta>("meta"),
      In<&Job::constraints>("constraints"), In<&Job::constraint_tags>("constraint_tags"),
      InOrEmpty<&Job::requirements>("requirements"), InOrEmpty<&Job::rank>("rank"), In<&Job::count>("count"),
      In<&Job::queued>("queued"), In<&Job::running>("running"), In<&Job::retrying>("retrying"), In<&Job::done>("done"),
      In<&Job::failed>("failed"), In<&Job::skipped>("skipped"), In<&Job::promised>("promised"),
      In<&Job::progress>("progress"), InRaw<&Job::payload>("payload"), Unread("max_attempts"),
      Unread("max_failed_tasks"), Unread("backoff"), Unread("lease_ms"), Unread("timeout_ms"), Unread("retention_ms"),
      In<&Job::submitted_at_ms>("submitted_at_ms"), In<&Job::scheduled_at_ms>("scheduled_at_ms"),
      In<&Job::started_at_ms>("started_at_ms"), In<&Job::ended_at_ms>("ended_at_ms"),
      In<&Job::next_retry_at_ms>("next_retry_at_ms"), In<&Job::reason>("reason"), Unread("idempotency_key"),
      Unread("payload_prefix"), Unread("trace"), In<&Job::held>("held"));
};

template <>
struct FieldsOf<Submitted> {
  static constexpr auto kRows =
      RowsOf<Submitted, wire::kSubmitted>(In<&Submitted::job>("job"), In<&Submitted::existing>("existing"),
                                          In<&Submitted::matching_workers>("matching_workers"));
};

template <>
struct FieldsOf<SubmittedId> {
  static constexpr auto kRows =
      RowsOf<SubmittedId, wire::kSubmittedId>(In<&SubmittedId::id>("id"), In<&SubmittedId::existing>("existing"),
                                              In<&SubmittedId::matching_workers>("matching_workers"));
};

template <>
struct FieldsOf<JobPage> {
  static constexpr auto kRows =
      RowsOf<JobPage, wire::kJobsPage>(In<&JobPage::jobs>("jobs"), InOrEmpty<&JobPage::next>("next"));
};

template <>
struct FieldsOf<Retried> {
  static constexpr auto kRows =
      RowsOf<Retried, wire::kRetried>(In<&Retried::job>("job"), In<&Retried::retried>("retried"));
};

template <>
struct FieldsOf<TaskProgress> {
  static constexpr auto kRows = RowsOf<TaskProgress, wire::kProgress>(
      In<&TaskProgress::done>("done"), In<&TaskProgress::of>("of"), In<&TaskProgress::note>("note"));
};

template <>
struct FieldsOf<Task> {
  static constexpr auto kRows = RowsOf<Task, wire::kTask>(
      In<&Task::index>("index"), In<&Task::state>("state"), In<&Task::attempts>("attempts"),
      InOrEmpty<&Task::worker>("worker"), In<&Task::started_at_ms>("started_at_ms"), In<&Task::error>("error"),
      In<&Task::retry_at_ms>("retry_at_ms"), In<&Task::progress>("progress"), InRaw<&Task::payload>("payload"),
      InRaw<&Task::result>("result"));
};

template <>
struct FieldsOf<TaskPage> {
  static constexpr auto kRows =
      RowsOf<TaskPage, wire::kTasksPage>(In<&TaskPage::tasks>("tasks"), In<&TaskPage::next>("next"));
};

template <>
struct FieldsOf<ResultPage> {
  static constexpr auto kRows = RowsOf<ResultPage, wire::kResultsPage>(
      In<&ResultPage::results>("results"), In<&ResultPage::next>("next"), In<&ResultPage::job_state>("job_state"));
};

template <>
struct FieldsOf<PromisedShare> {
  static constexpr auto kRows = RowsOf<PromisedShare, wire::kPromisedShare>(
      In<&PromisedShare::job>("job"), In<&PromisedShare::tasks>("tasks"), In<&PromisedShare::priority>("priority"),
      In<&PromisedShare::user>("user"), In<&PromisedShare::tags>("tags"));
};

// A task that a worker has.
using JobAndIndex = std::pair<std::string, std::uint64_t>;
constexpr auto kTaskOfWorker =
    RowsOf<JobAndIndex, wire::kHeldTask>(In<&JobAndIndex::first>("job"), In<&JobAndIndex::second>("index"));

void ReadTasksOfWorker(Value& value, WorkerInfo& out) {
  Each(value, [&](Value item) { kTaskOfWorker.Read(item, out.tasks.emplace_back()); });
}

template <>
struct FieldsOf<WorkerInfo> {
  static constexpr auto kRows = RowsOf<WorkerInfo, wire::kWorker>(
      In<&WorkerInfo::id>("id"), In<&WorkerInfo::name>("name"), In<&WorkerInfo::tags>("tags"),
      In<&WorkerInfo::properties>("properties"), In<&WorkerInfo::attributes>("attributes"),
      InOrEmpty<&WorkerInfo::requirements>("requirements"), InOrEmpty<&WorkerInfo::rank>("rank"),
      In<&WorkerInfo::strategy>("strategy"), In<&WorkerInfo::slots>("slots"), In<&WorkerInfo::running>("running"),
      In<&WorkerInfo::credit>("credit"), In<&WorkerInfo::promised>("promised"),
      In<&WorkerInfo::promised_jobs>("promised_jobs"), In<&WorkerInfo::draining>("draining"),
      In<&WorkerInfo::connected>("connected"), In<&WorkerInfo::away>("away"), In<&WorkerInfo::address>("address"),
      In<&WorkerInfo::user>("user"), In<&WorkerInfo::registered_at_ms>("registered_at_ms"),
      In<&WorkerInfo::last_seen_at_ms>("last_seen_at_ms"), In<&WorkerInfo::constraint_tags>("constraint_tags"),
      By<WorkerInfo>("tasks", ReadTasksOfWorker), In<&WorkerInfo::queue>("queue"));
};

template <>
struct FieldsOf<WorkerPage> {
  static constexpr auto kRows =
      RowsOf<WorkerPage, wire::kWorkersPage>(In<&WorkerPage::workers>("workers"), InOrEmpty<&WorkerPage::next>("next"));
};

template <>
struct FieldsOf<ServerInfo::You> {
  static constexpr auto kRows = RowsOf<ServerInfo::You, wire::kYou>(
      In<&ServerInfo::You::tokens>("tokens"), In<&ServerInfo::You::name>("name"),
      InOrEmpty<&ServerInfo::You::user>("user"), InOrEmpty<&ServerInfo::You::queue>("queue"),
      In<&ServerInfo::You::scopes>("scopes"));
};

template <>
struct FieldsOf<ServerInfo> {
  static constexpr auto kRows = RowsOf<ServerInfo, wire::kServerInfo>(
      In<&ServerInfo::name>("name"), In<&ServerInfo::version>("version"), In<&ServerInfo::protocol>("protocol"),
      In<&ServerInfo::started_at_ms>("started_at_ms"), In<&ServerInfo::now_at_ms>("now_at_ms"),
      In<&ServerInfo::queues>("queues"), In<&ServerInfo::you>("you"), In<&ServerInfo::features>("features"));
};

template <>
struct FieldsOf<NamedStrategy> {
  static constexpr auto kRows = RowsOf<NamedStrategy, wire::kNamedStrategy>(
      In<&NamedStrategy::name>("name"), In<&NamedStrategy::strategy>("strategy"), Unread("json"),
      In<&NamedStrategy::words>("words"));
};

// Answers that are lists: the list alone is of interest.
template <typename T>
void ReadItems(Value& value, std::vector<T>& out) {
  Read(value, out);
}
constexpr auto kSubmittedBatch =
    RowsOf<std::vector<SubmittedId>, wire::kSubmittedBatch>(By<std::vector<SubmittedId>>("jobs", ReadItems));
constexpr auto kStrategies =
    RowsOf<std::vector<NamedStrategy>, wire::kStrategies>(By<std::vector<NamedStrategy>>("strategies", ReadItems));

}  // namespace json_in

template Result<Job> Parse<Job>(const std::string& json);
template Result<Submitted> Parse<Submitted>(const std::string& json);
template Result<JobPage> Parse<JobPage>(const std::string& json);
template Result<Retried> Parse<Retried>(const std::string& json);
template Result<Task> Parse<Task>(const std::string& json);
template Result<TaskPage> Parse<TaskPage>(const std::string& json);
template Result<ResultPage> Parse<ResultPage>(const std::string& json);
template Result<WorkerPage> Parse<WorkerPage>(const std::string& json);
template Result<WorkerInfo> Parse<WorkerInfo>(const std::string& json);
template Result<ServerInfo> Parse<ServerInfo>(const std::string& json);

template <>
Result<std::vector<SubmittedId>> Parse<std::vector<SubmittedId>>(const std::string& json) {
  return json_in::ParseList<SubmittedId>(json, json_in::kSubmittedBatch);
}
template <>
Result<std::vector<NamedStrategy>> Parse<std::vector<NamedStrategy>>(const std::string& json) {
  return json_in::ParseList<NamedStrategy>(json, json_in::kStrategies);
}

}  // namespace allotter
