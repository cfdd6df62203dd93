// SPDX-License-Identifier: Apache-2.0
#include "client/decision_fields.h"
#include "client/fields.h"
#include "wire/explanation.h"

namespace allotter {
namespace json_in {

template <>
struct FieldsOf<Condition::Value> {
  static constexpr auto kRows = RowsOf<Condition::Value, wire::kSeenValue>(In<&Condition::Value::name>("name"),
                                                                           In<&Condition::Value::value>("value"));
};

template <>
struct FieldsOf<Condition> {
  static constexpr auto kRows = RowsOf<Condition, wire::kCondition>(
      In<&Condition::stage>("stage"), In<&Condition::condition>("condition"), In<&Condition::holds>("holds"),
      In<&Condition::outcome>("outcome"), In<&Condition::values>("values"), In<&Condition::message>("message"));
};

template <>
struct FieldsOf<Explanation::Stage> {
  static constexpr auto kRows = RowsOf<Explanation::Stage, wire::kFunnel>(In<&Explanation::Stage::stage>("stage"),
                                                                          In<&Explanation::Stage::workers>("workers"));
};

template <>
struct FieldsOf<Explanation::Tag> {
  static constexpr auto kRows = RowsOf<Explanation::Tag, wire::kTagStanding>(
      In<&Explanation::Tag::tag>("tag"), In<&Explanation::Tag::status>("status"),
      In<&Explanation::Tag::workers>("workers"), In<&Explanation::Tag::available>("available"),
      In<&Explanation::Tag::free>("free"), In<&Explanation::Tag::last_seen_at_ms>("last_seen_at_ms"));
};

template <>
struct FieldsOf<Explanation::Property> {
  static constexpr auto kRows = RowsOf<Explanation::Property, wire::kPropertyStanding>(
      In<&Explanation::Property::key>("key"), In<&Explanation::Property::value>("value"),
      In<&Explanation::Property::workers>("workers"));
};

template <>
struct FieldsOf<Explanation::Alternative> {
  static constexpr auto kRows = RowsOf<Explanation::Alternative, wire::kConstraintStanding>(
      In<&Explanation::Alternative::tag>("tag"), In<&Explanation::Alternative::workers>("workers"),
      In<&Explanation::Alternative::properties>("properties"));
};

template <>
struct FieldsOf<Explanation::Clause> {
  static constexpr auto kRows = RowsOf<Explanation::Clause, wire::kClause>(
      In<&Explanation::Clause::clause>("clause"), In<&Explanation::Clause::reached>("reached"),
      In<&Explanation::Clause::failed>("failed"), In<&Explanation::Clause::undefined>("undefined"),
      In<&Explanation::Clause::error>("error"), InOrEmpty<&Explanation::Clause::best>("best"));
};

template <>
struct FieldsOf<Explanation::Nearest> {
  static constexpr auto kRows = RowsOf<Explanation::Nearest, wire::kNearest>(
      In<&Explanation::Nearest::worker>("worker"), In<&Explanation::Nearest::name>("name"),
      In<&Explanation::Nearest::misses>("misses"));
};

template <>
struct FieldsOf<Explanation::Suggestion> {
  static constexpr auto kRows = RowsOf<Explanation::Suggestion, wire::kSuggestion>(
      In<&Explanation::Suggestion::kind>("kind"), In<&Explanation::Suggestion::given>("given"),
      In<&Explanation::Suggestion::nearest>("nearest"), In<&Explanation::Suggestion::where>("where"),
      In<&Explanation::Suggestion::message>("message"));
};

template <>
struct FieldsOf<LimitHold> {
  static constexpr auto kRows = RowsOf<LimitHold, wire::kExplainedLimit>(
      In<&LimitHold::uuid>("uuid"), In<&LimitHold::tag>("tag"), In<&LimitHold::name>("name"),
      In<&LimitHold::monitor>("monitor"), In<&LimitHold::reads_worker>("reads_worker"), In<&LimitHold::level>("level"),
      In<&LimitHold::cost>("cost"), In<&LimitHold::blocks>("blocks"), In<&LimitHold::never>("never"),
      In<&LimitHold::stops>("stops"), In<&LimitHold::overtaken>("overtaken"),
      In<&LimitHold::payable_in_ms>("payable_in_ms"), In<&LimitHold::workers>("workers"),
      In<&LimitHold::workers_blocked>("workers_blocked"));
};

template <>
struct FieldsOf<CeilingHold> {
  static constexpr auto kRows = RowsOf<CeilingHold, wire::kCeiling>(
      In<&CeilingHold::of>("of"), In<&CeilingHold::key>("key"), InRaw<&CeilingHold::value>("value"),
      In<&CeilingHold::running>("running"), In<&CeilingHold::max>("max"));
};

// The blocks on the way, in words.
template <auto kMember>
consteval auto Words(std::string_view name) {
  using T = Of<kMember>;
  return By<T>(name, [](Value& value, T& out) {
    std::vector<StrategyPreview::Step> steps;
    Read(value, steps);
    for (StrategyPreview::Step& step : steps) (out.*kMember).push_back(std::move(step.text));
  });
}
constexpr auto kFirstOfOrder = RowsOf<OrderPlace, wire::kFirst>(
    In<&OrderPlace::first_job>("job"), In<&OrderPlace::first_user>("user"), Words<&OrderPlace::first_why>("why"));
constexpr auto kOwnOfOrder = RowsOf<OrderPlace, wire::kOwn>(Words<&OrderPlace::own_why>("why"));
template <>
struct FieldsOf<OrderPlace> {
  static constexpr auto kRows = RowsOf<OrderPlace, wire::kOrder>(
      In<&OrderPlace::strategy>("strategy"), In<&OrderPlace::policy>("policy"), In<&OrderPlace::workers>("workers"),
      In<&OrderPlace::place>("place"), In<&OrderPlace::complete>("complete"),
      Inside<OrderPlace, kFirstOfOrder>("first"), Inside<OrderPlace, kOwnOfOrder>("own"),
      In<&OrderPlace::ceilings>("ceilings"));
};

constexpr auto kLongestOfPromised = RowsOf<PromisedTasks, wire::kLongest>(
    In<&PromisedTasks::longest>("worker"), In<&PromisedTasks::longest_name>("name"),
    In<&PromisedTasks::longest_tasks>("tasks"), In<&PromisedTasks::longest_queue>("queue"));
template <>
struct FieldsOf<PromisedTasks> {
  static constexpr auto kRows =
      RowsOf<PromisedTasks, wire::kPromised>(In<&PromisedTasks::tasks>("tasks"), In<&PromisedTasks::workers>("workers"),
                                             Inside<PromisedTasks, kLongestOfPromised>("longest"));
};

constexpr auto kTasksOfExplanation = RowsOf<Explanation, wire::kTaskCounts>(
    In<&Explanation::queued>("queued"), In<&Explanation::running>("running"), In<&Explanation::retrying>("retrying"));
constexpr auto kWorkersOfExplanation = RowsOf<Explanation, wire::kExamined>(
    In<&Explanation::workers>("total"), In<&Explanation::examined>("examined"), In<&Explanation::draining>("draining"),
    In<&Explanation::away>("away"), In<&Explanation::matching>("matching"));
template <>
struct FieldsOf<Explanation> {
  static constexpr auto kRows = RowsOf<Explanation, wire::kExplanation>(
      InOrEmpty<&Explanation::job>("job"), In<&Explanation::state>("state"),
      Inside<Explanation, kTasksOfExplanation>("tasks"), In<&Explanation::verdict>("verdict"),
      In<&Explanation::reasons>("reasons"), In<&Explanation::limits>("limits"), In<&Explanation::order>("order"),
      In<&Explanation::promised>("promised"), Unread("task"), Inside<Explanation, kWorkersOfExplanation>("workers"),
      In<&Explanation::funnel>("funnel"), In<&Explanation::tags>("tags"), In<&Explanation::constraints>("constraints"),
      In<&Explanation::requirements>("requirements"), In<&Explanation::worker_requirements>("worker_requirements"),
      In<&Explanation::nearest>("nearest"), In<&Explanation::suggestions>("suggestions"));
};

template <>
struct FieldsOf<PairExplanation::Rank> {
  static constexpr auto kRows = RowsOf<PairExplanation::Rank, wire::kRank>(
      InOrEmpty<&PairExplanation::Rank::expression>("expression"), In<&PairExplanation::Rank::value>("value"));
};

template <>
struct FieldsOf<PairExplanation> {
  static constexpr auto kRows = RowsOf<PairExplanation, wire::kWorkerExplanation>(
      InOrEmpty<&PairExplanation::job>("job"), In<&PairExplanation::state>("state"), Unread("tasks"),
      In<&PairExplanation::verdict>("verdict"), In<&PairExplanation::reasons>("reasons"),
      In<&PairExplanation::limits>("limits"), In<&PairExplanation::worker>("worker"),
      In<&PairExplanation::name>("name"), In<&PairExplanation::matches>("matches"),
      In<&PairExplanation::conditions>("conditions"), In<&PairExplanation::job_rank>("job_rank"),
      In<&PairExplanation::worker_rank>("worker_rank"));
};

}  // namespace json_in

template Result<Explanation> Parse<Explanation>(const std::string& json);
template Result<PairExplanation> Parse<PairExplanation>(const std::string& json);

}  // namespace allotter
