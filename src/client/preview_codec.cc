#include "client/preview_codec.h"

#include "base/json.h"
#include "client/explain_codec.h"
#include "client/json_in.h"

namespace allotter {
namespace {
namespace previews {  // its Read() are no candidates for what other codecs read

using allot::JsonWriter;
using json_in::Each;
using json_in::EachField;
using json_in::Value;

void Read(Value value, StrategyPreview::Step& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "block") out.block = json_in::Text(field);
    if (key == "of") out.of = json_in::Text(field);
    if (key == "text") out.text = json_in::Text(field);
  });
}

void Read(Value value, StrategyPreview::Pick& out) {
  out.json = json_in::Raw(value);
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "job" && !field.is_null()) out.job = json_in::Text(field);
    if (key == "index" && !field.is_null()) out.index = std::uint64_t(field.get_uint64());
    if (key == "random") out.random = field.get_bool();
    if (key == "user") out.user = json_in::Text(field);
    if (key == "tags") Each(field, [&](Value tag) { out.tags.push_back(json_in::Text(tag)); });
    if (key == "why") Each(field, [&](Value step) { Read(step, out.why.emplace_back()); });
  });
}

void Read(Value value, StrategyPreview& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "strategy") out.strategy = json_in::Text(field);
    if (key == "policy") out.policy = json_in::Text(field);
    if (key == "paused") out.paused = field.get_bool();
    if (key == "draining") out.draining = field.get_bool();
    if (key == "complete") out.complete = field.get_bool();
    if (key == "limited") out.limited = field.get_bool();
    if (key == "held") {
      EachField(field, [&](std::string_view inner, Value held) {
        if (inner == "jobs") out.held_jobs = held.get_uint64();
        if (inner == "tasks") out.held_tasks = held.get_uint64();
        if (inner == "job" && !held.is_null()) out.held_job = json_in::Text(held);
      });
    }
    if (key == "jobs_looked_at") out.jobs_looked_at = field.get_uint64();
    if (key == "may_run") out.may_run = field.get_uint64();
    if (key == "ready_tasks") out.ready_tasks = field.get_uint64();
    if (key == "took_ms") out.took_ms = field.get_uint64();
    if (key == "picks") Each(field, [&](Value pick) { Read(pick, out.picks.emplace_back()); });
  });
}

void Read(Value value, WorkerOutlook::Other& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "stage") out.stage = json_in::Text(field);
    if (key == "classes") out.classes = field.get_uint64();
    if (key == "tasks") out.tasks = field.get_uint64();
    if (key == "job" && !field.is_null()) out.job = json_in::Text(field);
    if (key == "message") out.message = json_in::Text(field);
  });
}

void Read(Value value, WorkerOutlook& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "worker") out.worker = json_in::Text(field);
    if (key == "name") out.name = json_in::Text(field);
    if (key == "verdict") ReadReason(field, out.verdict);
    if (key == "strategy") out.next.strategy = json_in::Text(field);
    if (key == "policy") out.next.policy = json_in::Text(field);
    if (key == "complete") out.next.complete = field.get_bool();
    if (key == "picks") Each(field, [&](Value pick) { Read(pick, out.next.picks.emplace_back()); });
    if (key == "others") Each(field, [&](Value other) { Read(other, out.others.emplace_back()); });
  });
}

}  // namespace previews
}  // namespace

void ReadStep(json_in::Value value, StrategyPreview::Step& out) { previews::Read(value, out); }

void AppendTry(const StrategyTry& what, std::string& out) {
  allot::JsonWriter w(out);
  w.BeginObject();
  w.Key("strategy").String(what.strategy);
  if (!what.policy.empty()) w.Key("policy").String(what.policy);
  if (!what.worker.empty()) w.Key("worker").String(what.worker);
  if (what.like) {
    std::string like;
    AppendWorkerChange(*what.like, like);
    w.Key("worker").Raw(like);
  }
  w.Key("count").Uint(what.count);
  w.EndObject();
}

template <>
Result<StrategyPreview> Parse<StrategyPreview>(const std::string& json) {
  StrategyPreview out;
  if (auto walked = json_in::Document(json, [&](json_in::Value root) { previews::Read(root, out); }); !walked)
    return walked.error();
  out.json = json;
  return out;
}
template <>
Result<WorkerOutlook> Parse<WorkerOutlook>(const std::string& json) {
  WorkerOutlook out;
  if (auto walked = json_in::Document(json, [&](json_in::Value root) { previews::Read(root, out); }); !walked)
    return walked.error();
  out.json = json;
  return out;
}

}  // namespace allotter
