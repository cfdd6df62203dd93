// SPDX-License-Identifier: Apache-2.0
#include "server/wire/preview_json.h"

#include "base/bounds.h"
#include "base/json.h"
#include "server/wire/json_fields.h"
#include "server/wire/json_reader.h"
#include "server/wire/strategy_fields.h"
#include "wire/decisions.h"
#include "wire/writer.h"

namespace allot {
namespace {

using Value = JsonReader::Value;

constexpr std::string_view kPreviewNames[] = {"strategy", "policy", "worker", "count"};
constexpr FieldSet kPreviewFields{"a try", kPreviewNames};
static_assert(wire::SameNames(wire::kTry, kPreviewFields.names));
constexpr FieldSet kWorkerFields{"a worker to try", kDescriptionNames};
static_assert(wire::SameNames(wire::kTryWorker, kWorkerFields.names));

void AppendMoment(const PreviewMoment& moment, JsonWriter& json) {
  wire::Writer<wire::kServed> w(json);
  if (moment.pick != 0) {
    w.Count("pick", moment.pick);
  } else if (moment.never) {
    w.Int("never_since_ms", moment.ms);
  } else {
    w.Int("at_ms", moment.ms);
  }
}

void AppendStep(const PreviewStep& step, JsonWriter& json) {
  wire::Writer<wire::kWhy> w(json);
  w.Text("block", StrategyWord(step.block));
  w.Text("of", step.own ? "strategy" : "policy");
  if (!step.key.name.empty()) {
    w.Text("key", step.key.name);
    AppendGroup(step.value, w.Value("value"));
  }
  if (step.running) w.Count("running", *step.running);
  if (step.max) w.Count("max", *step.max);
  if (step.percent) {
    w.Count("percent", *step.percent);
    w.Count("slots", *step.slots);
  }
  if (step.level) w.Count("level", *step.level);
  if (step.weight) w.Count("weight", *step.weight);
  if (step.served) AppendMoment(*step.served, w.Value("served"));
  if (step.branches != 0) {
    w.Count("branch", step.branch);
    w.Count("branches", step.branches);
  }
  if (step.rank) w.Real("rank", *step.rank);
  if (step.scheduled) {
    w.Int("priority", step.priority);
    w.Int("scheduled_at_ms", *step.scheduled);
  }
  if (step.submitted) w.Int("submitted_at_ms", *step.submitted);
  if (step.picked) AppendMoment(*step.picked, w.Value("picked"));
  if (step.candidates) w.Count("candidates", *step.candidates);
  w.Text("text", step.text);
}

void AppendTask(const PreviewWalk::Task& task, JsonWriter& json) {
  wire::Writer<wire::kPick> w(json);
  w.Id("job", task.pick.job.value);
  w.Count("index", task.index);
  w.Bool("random", task.pick.random);
  w.Text("user", task.user);
  w.Texts("tags", task.tags);
  AppendWhy(task.pick.why, w.Value("why"));
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
  w.BeginArray();
  for (const PreviewStep& step : why) AppendStep(step, w);
  w.EndArray();
}

void AppendPicks(const PreviewWalk& walk, JsonWriter& w) {
  w.BeginArray();
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
  JsonWriter json(out);
  wire::Writer<wire::kStrategyTry> w(json);
  w.Text("strategy", PrintStrategy(*walk.strategy()));
  w.Text("policy", PrintStrategy(*walk.policy()));
  w.Bool("paused", walk.paused());
  w.Bool("draining", walk.draining());
  w.Bool("complete", walk.complete());
  w.Count("jobs_looked_at", walk.jobs_seen());
  w.Count("may_run", walk.jobs());
  w.Count("queued_tasks", walk.queued_tasks());
  w.Int("took_ms", ToMillis(took));
  {
    auto blocked = w.Open<wire::kBlockedByLimits>("blocked");
    blocked.Count("jobs", walk.blocked_jobs());
    blocked.Count("tasks", walk.blocked_tasks());
    blocked.IdOrNull("job", walk.blocked_jobs() > 0 ? walk.one_blocked().value : 0);
  }
  w.Bool("limited", walk.ran_out());
  AppendPicks(walk, w.Value("picks"));
}

}  // namespace allot
