// SPDX-License-Identifier: Apache-2.0
#include "server/wire/limit_json.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/bounds.h"
#include "base/try.h"
#include "server/wire/json_fields.h"
#include "server/wire/json_reader.h"
#include "server/wire/request_query.h"
#include "wire/limits.h"
#include "wire/writer.h"

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
static_assert(wire::SameNames(wire::kLimitSpec, kLimitFields.names));
constexpr LimitField kNeeded[] = {kLimitTag, kLimitExpr, kLimitCount, kLimitWindow, kLimitExpires};
constexpr FieldSet kRenewalFields{"a renewal", std::span(kLimitNames).subspan(kLimitExpires)};
static_assert(wire::SameNames(wire::kRenewal, kRenewalFields.names));
constexpr std::string_view kTryNames[] = {"expr", "cost"};
constexpr FieldSet kTryFields{"this request", kTryNames};
static_assert(wire::SameNames(wire::kLimitQuestion, kTryFields.names));

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

void AppendView(const LimitView& limit, Instant now, JsonWriter& json) {
  const LimitSpec& spec = limit.spec;
  wire::Writer<wire::kLimit> w(json);
  w.Text("uuid", limit.uuid);
  w.Text("tag", spec.tag);
  w.Text("name", spec.name);
  w.Text("expr", Printed(spec.expr));
  w.TextOrNull("cost", Printed(spec.cost));
  AppendTokens(spec.count, w.Value("count"));
  w.Int("window_ms", ToMillis(spec.window));
  AppendTokens(spec.burst, w.Value("burst"));
  AppendTokens(spec.max_burst_cost, w.Value("max_burst_cost"));
  w.Bool("monitor", spec.monitor);
  w.Bool("job_only", limit.job_only);
  w.Int("expires_in_ms", std::max<std::int64_t>(0, ToMillis(limit.expires_in)));
  AppendTokens(limit.tokens, w.Value("tokens"));
  w.Count("allowed", limit.allowed);
  AppendTokens(limit.cost_allowed, w.Value("cost_allowed"));
  w.Count("skipped", limit.skipped);
  w.Count("ignored_matches", limit.ignored_matches);
  w.Time("last_ignored_at_ms", limit.last_ignored);
  w.Value("ignored_users").BeginArray();
  for (const IgnoredView& user : limit.ignored_users) json.String(user.user);
  json.EndArray();
  w.Value("ignored").BeginArray();
  for (const IgnoredView& user : limit.ignored_users) {
    wire::Writer<wire::kIgnored> one(json);
    one.Text("user", user.user);
    one.Int("at_ms", ToMillis(user.at));
  }
  json.EndArray();
  w.Int("blocked_ms", ToMillis(limit.blocked));
  w.Count("waiting", limit.waiting);
  w.Count("waiting_forever", limit.waiting_forever);
  w.Value("cheapest");
  limit.cheapest ? AppendTokens(limit.cheapest->number(), json) : static_cast<void>(json.Null());
  AppendFromNow(limit.payable_at, now, w.Value("payable_in_ms"));
  w.Bool("cost_failed", limit.cost_failed);
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
  TRY_OK(CheckLimit(spec));
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
  TRY_OK(CheckLimit(spec));
  return LimitQuestion{std::move(spec.expr), std::move(spec.cost)};
}

Result<LimitLooks::Filter> ParseLimitQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"tag", "uuid"};
  static_assert(wire::SameNames(wire::kLimitsQuery, kKnown));
  TRY(const Query query, Query::Parse(text, kKnown));
  LimitLooks::Filter filter;
  if (const auto tag = query.Get("tag")) filter.tag = std::string(*tag);
  if (const auto uuid = query.Get("uuid")) filter.uuid = std::string(*uuid);
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
  JsonWriter json(out);
  wire::Writer<wire::kLimitAnswer> w(json);
  w.Text("uuid", lease.uuid);
  if (created) w.Bool("created", *created);
  w.Int("expires_in_ms", ToMillis(lease.expires_in));
  w.Bool("capped", lease.capped);
}

void AppendLimit(const LimitView& limit, Instant now, std::string& out) {
  JsonWriter json(out);
  AppendView(limit, now, json);
}

void AppendLimits(const std::vector<LimitView>& limits, Instant now, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kLimits> w(json);
  w.Each("limits", limits, [now](const LimitView& limit, JsonWriter& one) { AppendView(limit, now, one); });
}

void AppendTrial(const LimitTrial& trial, Duration took, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kLimitTry> w(json);
  w.Bool("job_only", trial.job_only());
  w.Bool("complete", trial.complete());
  w.Count("jobs_looked_at", trial.jobs_seen());
  w.Count("jobs", trial.jobs());
  w.Count("tasks", trial.tasks());
  AppendTokens(trial.least_cost(), w.Value("least_cost"));
  AppendTokens(trial.most_cost(), w.Value("most_cost"));
  w.Bool("cost_failed", trial.cost_failed());
  w.Value("users").BeginArray();
  for (const LimitTrial::User& user : trial.users()) {
    wire::Writer<wire::kLimitTryUser> one(json);
    one.Text("user", user.user);
    one.Count("jobs", user.jobs);
    one.Count("tasks", user.tasks);
  }
  json.EndArray();
  w.Count("worker_count", trial.worker_count());
  w.Value("workers").BeginArray();
  for (const LimitTrial::Worker& worker : trial.workers()) {
    wire::Writer<wire::kNamedWorker> one(json);
    one.Id("worker", worker.id.value);
    one.Text("name", worker.name);
  }
  json.EndArray();
  w.Int("took_ms", ToMillis(took));
}

}  // namespace allot
