#include "server/wire/limit_json.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/bounds.h"
#include "server/wire/json_fields.h"
#include "server/wire/json_reader.h"
#include "server/wire/request_query.h"

namespace allot {
namespace {

using Value = JsonReader::Value;

enum LimitField : std::size_t {
  kLimitTag,
  kLimitName,
  kLimitExpr,
  kLimitCost,
  kLimitCount,
  kLimitWindow,
  kLimitBurst,
  kLimitMaxBurstCost,
  kLimitMonitor,
  kLimitExpires
};
constexpr std::string_view kLimitNames[] = {"tag",       "name",  "expr",           "cost",    "count",
                                            "window_ms", "burst", "max_burst_cost", "monitor", "expires_in_ms"};
constexpr FieldSet kLimitFields{"a limit", kLimitNames};
constexpr LimitField kNeeded[] = {kLimitTag, kLimitExpr, kLimitCount, kLimitWindow, kLimitExpires};
constexpr FieldSet kRenewalFields{"a renewal", std::span(kLimitNames).subspan(kLimitExpires)};
constexpr std::string_view kTryNames[] = {"expr", "cost"};
constexpr FieldSet kTryFields{"this request", kTryNames};

bool ReadExpiry(JsonReader& reader, Value& value, std::optional<Duration>& out) {
  // However long: it is cut to what the queue allows.
  milliseconds expires{0};
  if (!ReadMillis(reader, value, milliseconds(1), Duration::max(), expires)) return false;
  out = expires;
  return true;
}

bool ReadTokens(JsonReader& reader, Value& value, double& out) {
  return reader.Real(value, 0, static_cast<double>(bounds::kMaxLimitTokens), out);
}

bool ReadField(JsonReader& reader, std::size_t field, Value& value, LimitSpec& out) {
  switch (field) {
    case kLimitTag: {
      std::string_view tag;
      if (!reader.Text(value, tag) || !reader.Take(CheckTag(reader.Path(), tag))) return false;
      out.tag = tag;
      return true;
    }
    case kLimitName:
      return ReadPlainText(reader, value, bounds::kMaxNameBytes, out.name);
    case kLimitExpr:
      return ReadRequirements(reader, value, out.expr);
    case kLimitCost:
      return ReadRank(reader, value, out.cost);
    case kLimitCount:
      return ReadTokens(reader, value, out.count);
    case kLimitWindow: {
      milliseconds window{0};
      if (!ReadMillis(reader, value, milliseconds(1), bounds::kMaxLimitWindow, window)) return false;
      out.window = window;
      return true;
    }
    case kLimitBurst:
      return ReadTokens(reader, value, out.burst);
    case kLimitMaxBurstCost:
      return ReadTokens(reader, value, out.max_burst_cost);
    case kLimitMonitor:
      return reader.Bool(value, out.monitor);
    default:
      return ReadExpiry(reader, value, out.expires_in);
  }
}

std::string Printed(const ExprPtr& expr) { return expr == nullptr ? std::string() : expr->Print(); }

void AppendView(const LimitView& limit, Instant now, JsonWriter& w) {
  const LimitSpec& spec = limit.spec;
  w.BeginObject();
  w.Key("uuid").String(limit.uuid).Key("tag").String(spec.tag).Key("name").String(spec.name);
  w.Key("expr").String(Printed(spec.expr));
  w.Key("cost");
  spec.cost == nullptr ? w.Null() : w.String(spec.cost->Print());
  AppendTokens(spec.count, w.Key("count"));
  w.Key("window_ms").Int(ToMillis(spec.window));
  AppendTokens(spec.burst, w.Key("burst"));
  AppendTokens(spec.max_burst_cost, w.Key("max_burst_cost"));
  w.Key("monitor").Bool(spec.monitor).Key("job_only").Bool(limit.job_only);
  w.Key("expires_in_ms").Int(std::max<std::int64_t>(0, ToMillis(limit.expires_in)));
  AppendTokens(limit.tokens, w.Key("tokens"));
  w.Key("allowed").Uint(limit.allowed);
  AppendTokens(limit.cost_allowed, w.Key("cost_allowed"));
  w.Key("skipped").Uint(limit.skipped).Key("ignored_matches").Uint(limit.ignored_matches);
  w.Key("last_ignored_at_ms");
  limit.last_ignored ? w.Int(ToMillis(*limit.last_ignored)) : w.Null();
  w.Key("ignored_users").BeginArray();
  for (const IgnoredView& user : limit.ignored_users) w.String(user.user);
  w.EndArray();
  w.Key("ignored").BeginArray();
  for (const IgnoredView& user : limit.ignored_users) {
    w.BeginObject().Key("user").String(user.user).Key("at_ms").Int(ToMillis(user.at)).EndObject();
  }
  w.EndArray();
  w.Key("blocked_ms").Int(ToMillis(limit.blocked));
  w.Key("waiting").Uint(limit.waiting).Key("waiting_forever").Uint(limit.waiting_forever);
  w.Key("cheapest");
  limit.cheapest ? AppendTokens(limit.cheapest->number(), w) : static_cast<void>(w.Null());
  AppendFromNow(limit.payable_at, now, w.Key("payable_in_ms"));
  w.Key("cost_failed").Bool(limit.cost_failed);
  w.EndObject();
}

}  // namespace

Result<LimitSpec> ParseLimit(std::string_view json) {
  JsonReader& reader = ThreadReader();
  LimitSpec spec;
  std::uint32_t seen = 0;
  if (!reader.Begin(json) || !reader.Root(kLimitFields, [&](std::size_t field, Value value) {
        seen |= 1u << field;
        return ReadField(reader, field, value, spec);
      }))
    return reader.error();
  for (const LimitField field : kNeeded) {
    const bool there = (seen >> field & 1) != 0 && (field != kLimitExpr || spec.expr != nullptr);
    if (!there && !Missing(reader, kLimitNames[field])) return reader.error();
  }
  if (const Result<void> check = CheckLimit(spec); !check.ok()) return check.error();
  return spec;
}

Result<std::optional<Duration>> ParseLimitRenewal(std::string_view json) {
  std::optional<Duration> expires;
  if (json.empty()) return expires;
  JsonReader& reader = ThreadReader();
  if (!reader.Begin(json) ||
      !reader.Root(kRenewalFields, [&](std::size_t, Value value) { return ReadExpiry(reader, value, expires); }))
    return reader.error();
  return expires;
}

Result<LimitQuestion> ParseLimitTry(std::string_view json) {
  JsonReader& reader = ThreadReader();
  LimitSpec spec;
  if (!reader.Begin(json) || !reader.Root(kTryFields, [&](std::size_t field, Value value) {
        return ReadField(reader, field == 0 ? kLimitExpr : kLimitCost, value, spec);
      }))
    return reader.error();
  if (spec.expr == nullptr && !Missing(reader, "expr")) return reader.error();
  // The rest is what any limit could be: what is wrong is the expressions'.
  spec.tag = "try";
  spec.window = std::chrono::seconds(1);
  spec.expires_in = std::chrono::seconds(1);
  if (const Result<void> check = CheckLimit(spec); !check.ok()) return check.error();
  return LimitQuestion{std::move(spec.expr), std::move(spec.cost)};
}

Result<LimitTable::Filter> ParseLimitQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"tag", "uuid"};
  const Result<Query> query = Query::Parse(text, kKnown);
  if (!query.ok()) return query.error();
  LimitTable::Filter filter;
  if (const auto tag = query->Get("tag")) filter.tag = std::string(*tag);
  if (const auto uuid = query->Get("uuid")) filter.uuid = std::string(*uuid);
  return filter;
}

bool SameTerms(const LimitSpec& a, const LimitSpec& b) {
  return a.tag == b.tag && a.name == b.name && a.count == b.count && a.window == b.window && a.burst == b.burst &&
         a.max_burst_cost == b.max_burst_cost && a.monitor == b.monitor && Printed(a.expr) == Printed(b.expr) &&
         Printed(a.cost) == Printed(b.cost);
}

void AppendTokens(double tokens, JsonWriter& w) {
  constexpr double kExact = 9e15;
  if (tokens == std::trunc(tokens) && std::abs(tokens) < kExact) {
    w.Int(static_cast<std::int64_t>(tokens));
  } else {
    w.Real(tokens);
  }
}

void AppendFromNow(std::optional<Instant> at, Instant now, JsonWriter& w) {
  if (!at) {
    w.Null();
  } else {
    w.Int(std::chrono::ceil<milliseconds>(std::max(*at - now, Duration(0))).count());
  }
}

void AppendLease(const LimitLease& lease, std::optional<bool> created, std::string& out) {
  JsonWriter w(out);
  w.BeginObject().Key("uuid").String(lease.uuid);
  if (created) w.Key("created").Bool(*created);
  w.Key("expires_in_ms").Int(ToMillis(lease.expires_in)).Key("capped").Bool(lease.capped).EndObject();
}

void AppendLimit(const LimitView& limit, Instant now, std::string& out) {
  JsonWriter w(out);
  AppendView(limit, now, w);
}

void AppendLimits(const std::vector<LimitView>& limits, Instant now, std::string& out) {
  JsonWriter w(out);
  w.BeginObject().Key("limits").BeginArray();
  for (const LimitView& limit : limits) AppendView(limit, now, w);
  w.EndArray().EndObject();
}

void AppendTrial(const LimitTrial& trial, Duration took, std::string& out) {
  JsonWriter w(out);
  w.BeginObject();
  w.Key("job_only").Bool(trial.job_only()).Key("complete").Bool(trial.complete());
  w.Key("jobs_looked_at").Uint(trial.jobs_seen());
  w.Key("jobs").Uint(trial.jobs()).Key("tasks").Uint(trial.tasks());
  AppendTokens(trial.least_cost(), w.Key("least_cost"));
  AppendTokens(trial.most_cost(), w.Key("most_cost"));
  w.Key("cost_failed").Bool(trial.cost_failed());
  w.Key("users").BeginArray();
  for (const LimitTrial::User& user : trial.users()) {
    w.BeginObject().Key("user").String(user.user).Key("jobs").Uint(user.jobs).Key("tasks").Uint(user.tasks).EndObject();
  }
  w.EndArray();
  w.Key("worker_count").Uint(trial.worker_count());
  w.Key("workers").BeginArray();
  for (const LimitTrial::Worker& worker : trial.workers()) {
    w.BeginObject().Key("worker").Id(worker.id.value).Key("name").String(worker.name).EndObject();
  }
  w.EndArray();
  w.Key("took_ms").Int(ToMillis(took));
  w.EndObject();
}

}  // namespace allot
