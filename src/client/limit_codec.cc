#include "client/limit_codec.h"

#include <cmath>

#include "base/json.h"
#include "client/json_in.h"

namespace allotter {
namespace {
namespace limits {  // its Read() are no candidates for what other codecs read

using allot::JsonWriter;
using json_in::Each;
using json_in::EachField;
using json_in::Read;
using json_in::ReadOrEmpty;
using json_in::Value;

void Read(Value value, Limit& out);
void Read(Value value, LimitTrial::User& out);
void Read(Value value, LimitTrial::Worker& out);
void Read(Value value, Demand::LimitName& out);
void Read(Value value, Demand::Row& out);
template <typename T>
void Read(Value value, std::vector<T>& out) {
  Each(value, [&](Value item) { Read(item, out.emplace_back()); });
}

void Read(Value value, LimitLease& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "uuid") Read(field, out.uuid);
    if (key == "created") Read(field, out.created);
    if (key == "expires_in_ms") Read(field, out.expires_in);
    if (key == "capped") Read(field, out.capped);
  });
}

void Read(Value value, Limit& out) {
  out.json = json_in::Raw(value);
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "uuid") Read(field, out.uuid);
    if (key == "tag") Read(field, out.spec.tag);
    if (key == "name") Read(field, out.spec.name);
    if (key == "expr") Read(field, out.spec.expr);
    if (key == "cost") ReadOrEmpty(field, out.spec.cost);
    if (key == "count") Read(field, out.spec.count);
    if (key == "window_ms") Read(field, out.spec.window);
    if (key == "burst") Read(field, out.spec.burst);
    if (key == "max_burst_cost") Read(field, out.spec.max_burst_cost);
    if (key == "monitor") Read(field, out.spec.monitor);
    if (key == "expires_in_ms") Read(field, out.spec.expires_in);
    if (key == "job_only") Read(field, out.job_only);
    if (key == "tokens") Read(field, out.tokens);
    if (key == "allowed") Read(field, out.allowed);
    if (key == "cost_allowed") Read(field, out.cost_allowed);
    if (key == "skipped") Read(field, out.skipped);
    if (key == "ignored_matches") Read(field, out.ignored_matches);
    if (key == "last_ignored_at_ms") Read(field, out.last_ignored_at_ms);
    if (key == "ignored_users") Read(field, out.ignored_users);
    if (key == "ignored") {
      Each(field, [&](Value item) {
        Limit::Ignored& ignored = out.ignored.emplace_back();
        EachField(item, [&](std::string_view name, Value inner) {
          if (name == "user") Read(inner, ignored.user);
          if (name == "at_ms") Read(inner, ignored.at_ms);
        });
      });
    }
    if (key == "blocked_ms") Read(field, out.blocked);
    if (key == "waiting") Read(field, out.waiting);
    if (key == "waiting_forever") Read(field, out.waiting_forever);
    if (key == "cheapest") Read(field, out.cheapest);
    if (key == "payable_in_ms") Read(field, out.payable_in_ms);
    if (key == "cost_failed") Read(field, out.cost_failed);
  });
}

void Read(Value value, LimitTrial::User& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "user") Read(field, out.user);
    if (key == "jobs") Read(field, out.jobs);
    if (key == "tasks") Read(field, out.tasks);
  });
}

void Read(Value value, LimitTrial::Worker& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "worker") Read(field, out.worker);
    if (key == "name") Read(field, out.name);
  });
}

void Read(Value value, LimitTrial& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "job_only") Read(field, out.job_only);
    if (key == "complete") Read(field, out.complete);
    if (key == "jobs_looked_at") Read(field, out.jobs_looked_at);
    if (key == "jobs") Read(field, out.jobs);
    if (key == "tasks") Read(field, out.tasks);
    if (key == "least_cost") Read(field, out.least_cost);
    if (key == "most_cost") Read(field, out.most_cost);
    if (key == "cost_failed") Read(field, out.cost_failed);
    if (key == "users") Read(field, out.users);
    if (key == "worker_count") Read(field, out.worker_count);
    if (key == "workers") Read(field, out.workers);
    if (key == "took_ms") Read(field, out.took_ms);
  });
}

void Read(Value value, Demand::LimitName& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "uuid") Read(field, out.uuid);
    if (key == "tag") Read(field, out.tag);
    if (key == "name") Read(field, out.name);
  });
}

void Read(Value value, Demand::Row& out) {
  out.json = json_in::Raw(value);
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "user") Read(field, out.user);
    if (key == "tags") Read(field, out.tags);
    if (key == "constraint_tags") Read(field, out.constraint_tags);
    if (key == "requirements") ReadOrEmpty(field, out.requirements);
    if (key == "jobs") Read(field, out.jobs);
    if (key == "waiting") Read(field, out.waiting);
    if (key == "startable") Read(field, out.startable);
    if (key == "running") Read(field, out.running);
    if (key == "oldest_at_ms") ReadOrEmpty(field, out.oldest_at_ms);
    if (key == "oldest_age_ms") ReadOrEmpty(field, out.oldest_age_ms);
    if (key == "limits") Read(field, out.limits);
  });
}

void Read(Value value, Demand& out) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "totals") {
      EachField(field, [&](std::string_view name, Value total) {
        if (name == "jobs") Read(total, out.jobs);
        if (name == "waiting") Read(total, out.waiting);
        if (name == "startable") Read(total, out.startable);
        if (name == "running") Read(total, out.running);
        if (name == "wanted") Read(total, out.wanted);
        if (name == "rows") Read(total, out.row_count);
      });
    }
    if (key == "paused") Read(field, out.paused);
    if (key == "complete") Read(field, out.complete);
    if (key == "lookahead_ms") Read(field, out.lookahead);
    if (key == "rows") Read(field, out.rows);
  });
}

void AppendNumber(double number, JsonWriter& w) {
  if (number == std::trunc(number) && std::abs(number) < 9e15) {
    w.Int(static_cast<std::int64_t>(number));
  } else {
    w.Real(number);
  }
}

template <typename T>
Result<T> ParseWhole(const std::string& json) {
  auto out = json_in::DocumentAs<T>(json, [](Value root, T& whole) { Read(root, whole); });
  if (out) out->json = json;
  return out;
}

}  // namespace limits
}  // namespace

void AppendLimit(const LimitSpec& spec, std::string& out) {
  allot::JsonWriter w(out);
  w.BeginObject().Key("tag").String(spec.tag);
  if (!spec.name.empty()) w.Key("name").String(spec.name);
  w.Key("expr").String(spec.expr);
  if (!spec.cost.empty()) w.Key("cost").String(spec.cost);
  limits::AppendNumber(spec.count, w.Key("count"));
  w.Key("window_ms").Int(spec.window.count());
  if (spec.burst != 0) limits::AppendNumber(spec.burst, w.Key("burst"));
  if (spec.max_burst_cost != 0) limits::AppendNumber(spec.max_burst_cost, w.Key("max_burst_cost"));
  if (spec.monitor) w.Key("monitor").Bool(true);
  w.Key("expires_in_ms").Int(spec.expires_in.count()).EndObject();
}

template <>
Result<LimitLease> Parse<LimitLease>(const std::string& json) {
  return limits::ParseWhole<LimitLease>(json);
}
template <>
Result<Limit> Parse<Limit>(const std::string& json) {
  return limits::ParseWhole<Limit>(json);
}
template <>
Result<std::vector<Limit>> Parse<std::vector<Limit>>(const std::string& json) {
  return json_in::DocumentAs<std::vector<Limit>>(json, [](json_in::Value root, std::vector<Limit>& out) {
    json_in::EachField(root, [&](std::string_view key, json_in::Value field) {
      if (key == "limits") limits::Read(field, out);
    });
  });
}
template <>
Result<LimitTrial> Parse<LimitTrial>(const std::string& json) {
  return limits::ParseWhole<LimitTrial>(json);
}
template <>
Result<Demand> Parse<Demand>(const std::string& json) {
  return limits::ParseWhole<Demand>(json);
}

}  // namespace allotter
