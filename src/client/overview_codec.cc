#include "client/overview_codec.h"

#include "base/json.h"
#include "client/json_in.h"
#include "client/preview_codec.h"

namespace allotter {
namespace {
namespace overviews {  // its Read() are no candidates for what other codecs read

using allot::JsonWriter;
using json_in::Each;
using json_in::EachField;
using json_in::Read;
using json_in::ReadOrEmpty;
using json_in::Value;

void Read(Value value, Overview::HeldBack& out);
void Read(Value value, Overview::HeldBack::Limit& out);
void Read(Value value, Overview::HeldBack::Ceiling& out);
void Read(Value value, Overview::Banner& out);
void Read(Value value, UserInfo& out);
void Read(Value value, Receipt::Stage& out);
void Read(Value value, Receipt& out);
void Read(Value value, StrategyPreview::Step& out) { ReadStep(value, out); }
template <typename T>
void Read(Value value, std::vector<T>& out) {
  Each(value, [&](Value item) { Read(item, out.emplace_back()); });
}

void Read(Value value, Overview::Rates& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "submitted") Read(field, out.submitted);
    if (key == "started") Read(field, out.started);
    if (key == "done") Read(field, out.done);
    if (key == "failed") Read(field, out.failed);
  });
}

void Read(Value value, Overview::OldestWaiting& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "job") ReadOrEmpty(field, out.job);
    if (key == "since_at_ms") ReadOrEmpty(field, out.since_at_ms);
  });
}

void Read(Value value, Overview::WorkerCounts& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "registered") Read(field, out.registered);
    if (key == "waiting") Read(field, out.waiting);
    if (key == "away") Read(field, out.away);
    if (key == "draining") Read(field, out.draining);
    if (key == "slots") Read(field, out.slots);
    if (key == "busy") Read(field, out.busy);
  });
}

void Read(Value value, Overview::HeldBack& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "code") Read(field, out.code);
    if (key == "kind") Read(field, out.kind);
    if (key == "tasks") Read(field, out.tasks);
    if (key == "jobs") Read(field, out.jobs);
    if (key == "classes") Read(field, out.classes);
    if (key == "since_at_ms") Read(field, out.since_at_ms);
    if (key == "job") ReadOrEmpty(field, out.job);
    if (key == "tags") Read(field, out.tags);
    if (key == "limits") Read(field, out.limits);
    if (key == "ceilings") Read(field, out.ceilings);
  });
}

void Read(Value value, Overview::HeldBack::Limit& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "uuid") Read(field, out.uuid);
    if (key == "tag") Read(field, out.tag);
    if (key == "name") Read(field, out.name);
    if (key == "tasks") Read(field, out.tasks);
  });
}

void Read(Value value, Overview::HeldBack::Ceiling& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "of") Read(field, out.of);
    if (key == "key") Read(field, out.key);
    if (key == "value") out.value = json_in::Raw(field);
    if (key == "running") Read(field, out.running);
    if (key == "max") Read(field, out.max);
    if (key == "tasks") Read(field, out.tasks);
  });
}

void Read(Value value, Overview::Banner& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "level") Read(field, out.level);
    if (key == "code") Read(field, out.code);
    if (key == "message") Read(field, out.message);
    if (key == "hint") ReadOrEmpty(field, out.hint);
    if (key == "job") ReadOrEmpty(field, out.job);
  });
}

void Read(Value value, Overview& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "queue") ReadQueue(field, out.queue);
    if (key == "rates") Read(field, out.rates);
    if (key == "oldest_waiting" && !field.is_null()) Read(field, out.oldest_waiting.emplace());
    if (key == "workers") Read(field, out.workers);
    if (key == "reasons") Read(field, out.reasons);
    if (key == "banners") Read(field, out.banners);
  });
}

void Read(Value value, History& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "step_ms") Read(field, out.step_ms);
    if (key == "from_at_ms") Read(field, out.from_at_ms);
    if (key == "submitted") Read(field, out.submitted);
    if (key == "started") Read(field, out.started);
    if (key == "done") Read(field, out.done);
    if (key == "failed") Read(field, out.failed);
    if (key == "ready") Read(field, out.ready);
    if (key == "waiting") Read(field, out.waiting);
    if (key == "leased") Read(field, out.leased);
    if (key == "oldest_ms") Read(field, out.oldest_wait_ms);
  });
}

void Read(Value value, UserInfo& out) {
  out.json = json_in::Raw(value);
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "user") Read(field, out.user);
    if (key == "weight") Read(field, out.weight);
    if (key == "share") Read(field, out.share);
    if (key == "use") Read(field, out.use);
    if (key == "jobs") Read(field, out.jobs);
    if (key == "ready") Read(field, out.ready);
    if (key == "waiting") Read(field, out.waiting);
    if (key == "running") Read(field, out.running);
    if (key == "started") Read(field, out.started);
    if (key == "starts_per_s") Read(field, out.starts_per_s);
    if (key == "oldest_at_ms") Read(field, out.oldest_at_ms);
    if (key == "waited_ms" && !field.is_null()) {
      EachField(field, [&](std::string_view name, Value inner) {
        if (name == "mean") ReadOrEmpty(inner, out.waited_mean_ms);
        if (name == "p50") ReadOrEmpty(inner, out.waited_p50_ms);
        if (name == "p95") ReadOrEmpty(inner, out.waited_p95_ms);
      });
    }
  });
}

void Read(Value value, UserPage& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "users") Read(field, out.users);
    if (key == "next") ReadOrEmpty(field, out.next);
    if (key == "active") Read(field, out.active);
    if (key == "running") Read(field, out.running);
    if (key == "starts_per_s") Read(field, out.starts_per_s);
  });
}

void Read(Value value, Picture& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "job") Read(field, out.job);
    if (key == "count") Read(field, out.count);
    if (key == "from") Read(field, out.from);
    if (key == "to") Read(field, out.to);
    if (key == "width") Read(field, out.width);
    if (key == "ready") Read(field, out.ready);
    if (key == "leased") Read(field, out.leased);
    if (key == "waiting") Read(field, out.waiting);
    if (key == "done") Read(field, out.done);
    if (key == "failed") Read(field, out.failed);
    if (key == "skipped") Read(field, out.skipped);
  });
}

void Read(Value value, Receipt::Stage& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "stage") Read(field, out.stage);
    if (key == "text") Read(field, out.text);
  });
}

void Read(Value value, Receipt& out) {
  out.json = json_in::Raw(value);
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "serial") Read(field, out.serial);
    if (key == "job") Read(field, out.job);
    if (key == "index") Read(field, out.index);
    if (key == "attempt") Read(field, out.attempt);
    if (key == "worker") ReadOrEmpty(field, out.worker);
    if (key == "worker_name") ReadOrEmpty(field, out.worker_name);
    if (key == "user") Read(field, out.user);
    if (key == "at_ms") Read(field, out.at_ms);
    if (key == "waited_ms") ReadOrEmpty(field, out.waited_ms);
    if (key == "stages") Read(field, out.stages);
    if (key == "strategy") ReadOrEmpty(field, out.strategy);
    if (key == "policy") ReadOrEmpty(field, out.policy);
    if (key == "why") Read(field, out.why);
  });
}

void Read(Value value, ReceiptPage& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "receipts") Read(field, out.receipts);
    if (key == "next") Read(field, out.next);
  });
}

void Read(Value value, ManyJobsAnswer& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "matching") Read(field, out.matching);
    if (key == "tasks") Read(field, out.tasks);
    if (key == "changed") Read(field, out.changed);
    if (key == "up_to") ReadOrEmpty(field, out.up_to);
    if (key == "complete") Read(field, out.complete);
    if (key == "dry_run") Read(field, out.dry_run);
  });
}

constexpr auto kReader = [](Value root, auto& out) { Read(root, out); };

template <typename T>
Result<T> ParseWhole(const std::string& json) {
  auto out = json_in::DocumentAs<T>(json, kReader);
  if (out) out->json = json;
  return out;
}

}  // namespace overviews
}  // namespace

void AppendManyJobs(const ManyJobs& which, std::string& out) {
  allot::JsonWriter w(out);
  w.BeginObject();
  if (!which.state.empty()) w.Key("state").String(which.state);
  if (!which.tag.empty()) w.Key("tag").String(which.tag);
  if (!which.user.empty()) w.Key("user").String(which.user);
  if (which.all) w.Key("all").Bool(true);
  if (!which.up_to.empty()) w.Key("up_to").String(which.up_to);
  if (which.dry_run) w.Key("dry_run").Bool(true);
  w.EndObject();
}

template <>
Result<Overview> Parse<Overview>(const std::string& json) {
  return overviews::ParseWhole<Overview>(json);
}
template <>
Result<History> Parse<History>(const std::string& json) {
  return overviews::ParseWhole<History>(json);
}
template <>
Result<UserPage> Parse<UserPage>(const std::string& json) {
  return json_in::DocumentAs<UserPage>(json, overviews::kReader);
}
template <>
Result<Picture> Parse<Picture>(const std::string& json) {
  return overviews::ParseWhole<Picture>(json);
}
template <>
Result<Receipt> Parse<Receipt>(const std::string& json) {
  return overviews::ParseWhole<Receipt>(json);
}
template <>
Result<ReceiptPage> Parse<ReceiptPage>(const std::string& json) {
  return json_in::DocumentAs<ReceiptPage>(json, overviews::kReader);
}
template <>
Result<ManyJobsAnswer> Parse<ManyJobsAnswer>(const std::string& json) {
  return overviews::ParseWhole<ManyJobsAnswer>(json);
}

}  // namespace allotter
