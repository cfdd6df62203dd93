#include "server/wire/preview_json.h"

#include "base/bounds.h"
#include "base/json.h"
#include "server/wire/json_fields.h"
#include "server/wire/json_reader.h"
#include "server/wire/strategy_fields.h"

namespace allot {
namespace {

using Value = JsonReader::Value;

constexpr std::string_view kPreviewNames[] = {"strategy", "policy", "worker", "count"};
constexpr FieldSet kPreviewFields{"a try", kPreviewNames};
constexpr FieldSet kWorkerFields{"a worker to try", kDescriptionNames};

void AppendMoment(std::string_view key, const PreviewMoment& moment, JsonWriter& w) {
  w.Key(key).BeginObject();
  if (moment.pick != 0) {
    w.Key("pick").Uint(moment.pick);
  } else {
    w.Key(moment.never ? "never_since_ms" : "at_ms").Int(moment.ms);
  }
  w.EndObject();
}

void AppendStep(const PreviewStep& step, JsonWriter& w) {
  w.BeginObject();
  w.Key("block").String(StrategyWord(step.block));
  w.Key("of").String(step.own ? "strategy" : "policy");
  if (!step.key.name.empty()) {
    w.Key("key").String(step.key.name);
    AppendGroup(step.value, w.Key("value"));
  }
  if (step.running) w.Key("running").Uint(*step.running);
  if (step.max) w.Key("max").Uint(*step.max);
  if (step.percent) w.Key("percent").Uint(*step.percent).Key("slots").Uint(*step.slots);
  if (step.level) w.Key("level").Uint(*step.level);
  if (step.weight) w.Key("weight").Uint(*step.weight);
  if (step.served) AppendMoment("served", *step.served, w);
  if (step.branches != 0) w.Key("branch").Uint(step.branch).Key("branches").Uint(step.branches);
  if (step.rank) w.Key("rank").Real(*step.rank);
  if (step.scheduled) {
    w.Key("priority");
    step.priority ? w.Int(*step.priority) : w.Null();
    w.Key("scheduled_at_ms").Int(*step.scheduled);
  }
  if (step.submitted) w.Key("submitted_at_ms").Int(*step.submitted);
  if (step.picked) AppendMoment("picked", *step.picked, w);
  if (step.candidates) w.Key("candidates").Uint(*step.candidates);
  w.Key("text").String(step.text);
  w.EndObject();
}

void AppendTask(const PreviewWalk::Task& task, JsonWriter& w) {
  w.BeginObject();
  w.Key("job").Id(task.pick.job.value);
  w.Key("index");
  task.index ? w.Uint(*task.index) : w.Null();
  w.Key("random").Bool(task.pick.random);
  w.Key("user").String(task.user);
  w.Key("tags").BeginArray();
  for (const std::string& tag : task.tags) w.String(tag);
  w.EndArray();
  AppendWhy(task.pick.why, w);
  w.EndObject();
}

}  // namespace

void AppendGroup(const GroupText& value, JsonWriter& w) {
  if (!value) {
    w.Null();
    return;
  }
  const std::string_view text = std::string_view(*value).substr(1);
  switch ((*value)[0]) {
    case 's':
      w.String(text);
      break;
    case 'r':
      w.Real(std::strtod(value->c_str() + 1, nullptr));
      break;
    default:
      w.Raw(text);
  }
}

void AppendWhy(const std::vector<PreviewStep>& why, JsonWriter& w) {
  w.Key("why").BeginArray();
  for (const PreviewStep& step : why) AppendStep(step, w);
  w.EndArray();
}

void AppendPicks(const PreviewWalk& walk, JsonWriter& w) {
  w.Key("picks").BeginArray();
  for (const PreviewWalk::Task& task : walk.tasks()) AppendTask(task, w);
  w.EndArray();
}

Result<PreviewRequest> ParsePreview(std::string_view json, const Vocabulary& vocabulary) {
  JsonReader& reader = ThreadReader();
  PreviewRequest request;
  bool given = false;
  const auto on_field = [&](std::size_t field, Value value) {
    switch (field) {
      case 0:
        given = true;
        return ReadStrategy(reader, value, vocabulary.strategies, request.strategy);
      case 1:
        return ReadPolicy(reader, value, vocabulary.strategies, request.policy);
      case 2:
        if (reader.IsString(value)) {
          return ReadId(reader, value, "a worker's id", request.worker.emplace().value);
        }
        request.like.emplace();
        return reader.Object(value, kWorkerFields, [&](std::size_t inner, Value v) {
          return ReadDescription(reader, inner, v, vocabulary, *request.like);
        });
      default:
        return reader.IntTo(value, 1, kMaxPreviewPicks, request.count);
    }
  };
  if (!reader.Begin(json) || !reader.Root(kPreviewFields, on_field) || (!given && !Missing(reader, "strategy"))) {
    return reader.error();
  }
  if (request.like) {
    const Result<void> names = CheckAttributeNames(request.like->attributes, request.like->properties);
    if (!names.ok()) return names.error();
  }
  return request;
}

void AppendPreview(const PreviewWalk& walk, Duration took, std::string& out) {
  JsonWriter w(out);
  w.BeginObject();
  w.Key("strategy").String(PrintStrategy(*walk.strategy()));
  w.Key("policy").String(PrintStrategy(*walk.policy()));
  w.Key("paused").Bool(walk.paused());
  w.Key("draining").Bool(walk.draining());
  w.Key("complete").Bool(walk.complete());
  w.Key("jobs_looked_at").Uint(walk.jobs_seen());
  w.Key("may_run").Uint(walk.jobs());
  w.Key("ready_tasks").Uint(walk.ready_tasks());
  w.Key("took_ms").Int(ToMillis(took));
  w.Key("held").BeginObject().Key("jobs").Uint(walk.blocked_jobs()).Key("tasks").Uint(walk.blocked_tasks()).Key("job");
  walk.blocked_jobs() > 0 ? w.Id(walk.one_blocked().value) : w.Null();
  w.EndObject().Key("limited").Bool(walk.ran_out());
  AppendPicks(walk, w);
  w.EndObject();
}

}  // namespace allot
