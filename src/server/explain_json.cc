#include "server/explain_json.h"

#include "base/json.h"

namespace allot {
namespace {

void AppendReason(const SaidReason& reason, JsonWriter& w) {
  w.BeginObject();
  w.Key("kind").String(reason.kind);
  w.Key("code").String(reason.code);
  w.Key("message").String(reason.message);
  w.Key("hint").String(reason.hint);
  w.EndObject();
}

// What is the same for one worker and for all.
void AppendHead(const MatchSnapshot& snapshot, const std::vector<SaidReason>& reasons, JsonWriter& w) {
  w.Key("job");
  snapshot.job ? w.Id(snapshot.job->value) : w.Null();
  w.Key("state").String(StateText(snapshot.state));
  w.Key("tasks").BeginObject();
  w.Key("ready").Uint(snapshot.ready).Key("leased").Uint(snapshot.leased).Key("waiting").Uint(snapshot.waiting);
  w.EndObject();
  w.Key("verdict");
  AppendReason(reasons.front(), w);
  w.Key("reasons").BeginArray();
  for (const SaidReason& reason : reasons) AppendReason(reason, w);
  w.EndArray();
}

void AppendCondition(const Condition& condition, JsonWriter& w) {
  w.BeginObject();
  w.Key("stage").String(StageText(condition.stage));
  w.Key("condition").String(condition.text);
  w.Key("holds").Bool(condition.holds());
  w.Key("outcome").String(TruthText(condition.outcome));
  w.Key("values").BeginArray();
  for (const Condition::Value& value : condition.values) {
    w.BeginObject().Key("name").String(value.name).Key("value");
    value.value ? w.String(*value.value) : w.Null();
    w.EndObject();
  }
  w.EndArray();
  w.Key("message").String(condition.message);
  w.EndObject();
}

void AppendClauses(std::string_view key, const std::vector<Explanation::Clause>& clauses, JsonWriter& w) {
  w.Key(key).BeginArray();
  for (const Explanation::Clause& clause : clauses) {
    w.BeginObject();
    w.Key("clause").String(clause.text);
    w.Key("reached").Uint(clause.reached).Key("failed").Uint(clause.failed);
    w.Key("undefined").Uint(clause.undefined).Key("error").Uint(clause.error);
    w.Key("best");
    clause.best ? w.String(*clause.best) : w.Null();
    w.EndObject();
  }
  w.EndArray();
}

void AppendTags(const std::vector<Explanation::Tag>& tags, JsonWriter& w) {
  w.Key("tags").BeginArray();
  for (const Explanation::Tag& tag : tags) {
    w.BeginObject();
    w.Key("tag").String(tag.tag).Key("status").String(tag.status);
    w.Key("workers").Uint(tag.workers).Key("available").Uint(tag.available).Key("free").Uint(tag.free);
    w.Key("last_seen_at_ms");
    tag.last_seen ? w.Int(ToMillis(*tag.last_seen)) : w.Null();
    w.EndObject();
  }
  w.EndArray();
}

void AppendConstraints(const std::vector<Explanation::Alternative>& alternatives, JsonWriter& w) {
  w.Key("constraints").BeginArray();
  for (const Explanation::Alternative& alternative : alternatives) {
    w.BeginObject();
    w.Key("tag").String(alternative.tag).Key("workers").Uint(alternative.workers);
    w.Key("properties").BeginArray();
    for (const Explanation::Alternative::Pair& pair : alternative.pairs) {
      w.BeginObject();
      w.Key("key").String(pair.key).Key("value").String(pair.value).Key("workers").Uint(pair.workers);
      w.EndObject();
    }
    w.EndArray().EndObject();
  }
  w.EndArray();
}

void AppendRank(std::string_view key, const std::string& expression, double value, JsonWriter& w) {
  w.Key(key).BeginObject().Key("expression");
  expression.empty() ? w.Null() : w.String(expression);
  w.Key("value").Real(value).EndObject();
}

}  // namespace

void AppendExplanation(const MatchSnapshot& snapshot, const Explanation& e, const JobLimits& limits, std::string& out) {
  JsonWriter w(out);
  w.BeginObject();
  AppendHead(snapshot, SayReasons(snapshot, e.reasons, limits, e.matching), w);
  AppendJobLimits(limits, w);
  w.Key("workers").BeginObject();
  w.Key("total").Uint(snapshot.workers.size()).Key("examined").Uint(e.examined);
  w.Key("draining").Uint(e.draining).Key("away").Uint(e.away).Key("matching").Uint(e.matching);
  w.EndObject();
  w.Key("funnel").BeginArray();
  for (std::size_t stage = 0; stage < kStages; ++stage) {
    w.BeginObject().Key("stage").String(StageText(static_cast<Stage>(stage)));
    w.Key("workers").Uint(e.funnel[stage]).EndObject();
  }
  w.EndArray();
  AppendTags(e.tags, w);
  AppendConstraints(e.constraints, w);
  AppendClauses("requirements", e.requirements, w);
  AppendClauses("worker_requirements", e.worker_requirements, w);
  w.Key("nearest");
  if (e.nearest) {
    w.BeginObject().Key("worker").Id(e.nearest->worker.value).Key("name").String(e.nearest->name);
    w.Key("misses").BeginArray();
    for (const Condition& miss : e.nearest->misses) AppendCondition(miss, w);
    w.EndArray().EndObject();
  } else {
    w.Null();
  }
  w.Key("suggestions").BeginArray();
  for (const Suggestion& suggestion : e.suggestions) {
    w.BeginObject();
    w.Key("kind").String(SuggestionText(suggestion.kind));
    w.Key("given").String(suggestion.given).Key("nearest").String(suggestion.nearest);
    w.Key("where").String(suggestion.where).Key("message").String(suggestion.message);
    w.EndObject();
  }
  w.EndArray().EndObject();
}

void AppendPairExplanation(const MatchSnapshot& snapshot, const PairExplanation& pair, const JobLimits& limits,
                           std::string& out) {
  JsonWriter w(out);
  w.BeginObject();
  AppendHead(snapshot, SayReasons(snapshot, pair.reasons, limits, 1), w);
  AppendJobLimits(limits, w);
  w.Key("worker").Id(pair.worker.value).Key("name").String(pair.name).Key("matches").Bool(pair.matches);
  w.Key("conditions").BeginArray();
  for (const Condition& condition : pair.conditions) AppendCondition(condition, w);
  w.EndArray();
  AppendRank("job_rank", pair.job_rank_text, pair.job_rank, w);
  AppendRank("worker_rank", pair.worker_rank_text, pair.worker_rank, w);
  w.EndObject();
}

}  // namespace allot
