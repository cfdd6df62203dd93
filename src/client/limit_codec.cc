// SPDX-License-Identifier: Apache-2.0
#include "client/limit_codec.h"

#include <cmath>

#include "base/json.h"
#include "client/fields.h"
#include "wire/limits.h"
#include "wire/writer.h"

namespace allotter {
namespace json_in {

template <>
struct FieldsOf<LimitLease> {
  static constexpr auto kRows = RowsOf<LimitLease, wire::kLimitAnswer>(
      In<&LimitLease::uuid>("uuid"), In<&LimitLease::created>("created"), In<&LimitLease::expires_in>("expires_in_ms"),
      In<&LimitLease::capped>("capped"));
};

template <>
struct FieldsOf<Limit::Ignored> {
  static constexpr auto kRows =
      RowsOf<Limit::Ignored, wire::kIgnored>(In<&Limit::Ignored::user>("user"), In<&Limit::Ignored::at_ms>("at_ms"));
};

template <>
struct FieldsOf<Limit> {
  static constexpr auto kRows = RowsOf<Limit, wire::kLimit>(
      In<&Limit::uuid>("uuid"), In<&Limit::spec, &LimitSpec::tag>("tag"), In<&Limit::spec, &LimitSpec::name>("name"),
      In<&Limit::spec, &LimitSpec::expr>("expr"), InOrEmpty<&Limit::spec, &LimitSpec::cost>("cost"),
      In<&Limit::spec, &LimitSpec::count>("count"), In<&Limit::spec, &LimitSpec::window>("window_ms"),
      In<&Limit::spec, &LimitSpec::burst>("burst"), In<&Limit::spec, &LimitSpec::max_burst_cost>("max_burst_cost"),
      In<&Limit::spec, &LimitSpec::monitor>("monitor"), In<&Limit::job_only>("job_only"),
      In<&Limit::spec, &LimitSpec::expires_in>("expires_in_ms"), In<&Limit::tokens>("tokens"),
      In<&Limit::allowed>("allowed"), In<&Limit::cost_allowed>("cost_allowed"), In<&Limit::skipped>("skipped"),
      In<&Limit::ignored_matches>("ignored_matches"), In<&Limit::last_ignored_at_ms>("last_ignored_at_ms"),
      In<&Limit::ignored_users>("ignored_users"), In<&Limit::ignored>("ignored"), In<&Limit::blocked>("blocked_ms"),
      In<&Limit::waiting>("waiting"), In<&Limit::waiting_forever>("waiting_forever"), In<&Limit::cheapest>("cheapest"),
      In<&Limit::payable_in_ms>("payable_in_ms"), In<&Limit::cost_failed>("cost_failed"));
};

template <>
struct FieldsOf<LimitTrial::User> {
  static constexpr auto kRows = RowsOf<LimitTrial::User, wire::kLimitTryUser>(
      In<&LimitTrial::User::user>("user"), In<&LimitTrial::User::jobs>("jobs"), In<&LimitTrial::User::tasks>("tasks"));
};

template <>
struct FieldsOf<LimitTrial::Worker> {
  static constexpr auto kRows = RowsOf<LimitTrial::Worker, wire::kNamedWorker>(
      In<&LimitTrial::Worker::worker>("worker"), In<&LimitTrial::Worker::name>("name"));
};

template <>
struct FieldsOf<LimitTrial> {
  static constexpr auto kRows = RowsOf<LimitTrial, wire::kLimitTry>(
      In<&LimitTrial::job_only>("job_only"), In<&LimitTrial::complete>("complete"),
      In<&LimitTrial::jobs_looked_at>("jobs_looked_at"), In<&LimitTrial::jobs>("jobs"), In<&LimitTrial::tasks>("tasks"),
      In<&LimitTrial::least_cost>("least_cost"), In<&LimitTrial::most_cost>("most_cost"),
      In<&LimitTrial::cost_failed>("cost_failed"), In<&LimitTrial::users>("users"),
      In<&LimitTrial::worker_count>("worker_count"), In<&LimitTrial::workers>("workers"),
      In<&LimitTrial::took_ms>("took_ms"));
};

template <>
struct FieldsOf<Demand::LimitName> {
  static constexpr auto kRows = RowsOf<Demand::LimitName, wire::kLimitName>(
      In<&Demand::LimitName::uuid>("uuid"), In<&Demand::LimitName::tag>("tag"), In<&Demand::LimitName::name>("name"));
};

template <>
struct FieldsOf<Demand::Row> {
  static constexpr auto kRows = RowsOf<Demand::Row, wire::kDemandRow>(
      In<&Demand::Row::user>("user"), In<&Demand::Row::tags>("tags"), Unread("constraints"),
      In<&Demand::Row::constraint_tags>("constraint_tags"), InOrEmpty<&Demand::Row::requirements>("requirements"),
      In<&Demand::Row::jobs>("jobs"), In<&Demand::Row::queued>("queued"), In<&Demand::Row::startable>("startable"),
      In<&Demand::Row::running>("running"), InOrEmpty<&Demand::Row::oldest_at_ms>("oldest_at_ms"),
      InOrEmpty<&Demand::Row::oldest_age_ms>("oldest_age_ms"), In<&Demand::Row::limits>("limits"));
};

constexpr auto kTotals = RowsOf<Demand, wire::kDemandTotals>(
    In<&Demand::queued>("queued"), In<&Demand::startable>("startable"), In<&Demand::running>("running"),
    In<&Demand::wanted>("wanted"), In<&Demand::jobs>("jobs"), In<&Demand::row_count>("rows"), Unread("oldest_at_ms"),
    Unread("oldest_age_ms"));

template <>
struct FieldsOf<Demand> {
  static constexpr auto kRows = RowsOf<Demand, wire::kDemand>(
      Inside<Demand, kTotals>("totals"), In<&Demand::paused>("paused"), In<&Demand::complete>("complete"),
      In<&Demand::lookahead>("lookahead_ms"), In<&Demand::rows>("rows"), Unread("took_ms"));
};

constexpr auto kLimits = RowsOf<std::vector<Limit>, wire::kLimits>(By<std::vector<Limit>>("limits", ReadItems));

}  // namespace json_in

namespace {

using allot::JsonWriter;

void AppendNumber(double number, JsonWriter& w) {
  if (number == std::trunc(number) && std::abs(number) < 9e15) {
    w.Int(static_cast<std::int64_t>(number));
  } else {
    w.Real(number);
  }
}

}  // namespace

void AppendLimit(const LimitSpec& spec, std::string& out) {
  allot::JsonWriter json(out);
  allot::wire::Writer<allot::wire::kLimitSpec> w(json);
  w.Text("tag", spec.tag);
  if (!spec.name.empty()) w.Text("name", spec.name);
  w.Text("expr", spec.expr);
  if (!spec.cost.empty()) w.Text("cost", spec.cost);
  AppendNumber(spec.count, w.Value("count"));
  w.Int("window_ms", spec.window.count());
  if (spec.burst != 0) AppendNumber(spec.burst, w.Value("burst"));
  if (spec.max_burst_cost != 0) AppendNumber(spec.max_burst_cost, w.Value("max_burst_cost"));
  if (spec.monitor) w.Bool("monitor", true);
  w.Int("expires_in_ms", spec.expires_in.count());
}

template Result<LimitLease> Parse<LimitLease>(const std::string& json);
template Result<Limit> Parse<Limit>(const std::string& json);
template Result<LimitTrial> Parse<LimitTrial>(const std::string& json);
template Result<Demand> Parse<Demand>(const std::string& json);

template <>
Result<std::vector<Limit>> Parse<std::vector<Limit>>(const std::string& json) {
  return json_in::ParseList<Limit>(json, json_in::kLimits);
}

}  // namespace allotter
