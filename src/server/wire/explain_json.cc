#include "server/wire/explain_json.h"

#include <algorithm>

#include "base/json.h"
#include "server/wire/limit_json.h"
#include "server/wire/preview_json.h"
#include "server/wire/reply_json.h"

namespace allot {
namespace {

void AppendLimits(const JobSnapshot& job_snapshot, JsonWriter& w) {
  w.Key("limits").BeginArray();
  for (const LimitOnJob& on_job : job_snapshot.limits.all) {
    const LimitStatus& limit = on_job.limit;
    w.BeginObject();
    w.Key("uuid").String(limit.limit.uuid).Key("tag").String(limit.limit.tag).Key("name").String(limit.limit.name);
    w.Key("monitor").Bool(limit.monitor).Key("reads_worker").Bool(limit.reads_worker);
    AppendTokens(limit.tokens, w.Key("level"));
    AppendTokens(limit.cost.number(), w.Key("cost"));
    w.Key("holds_back").Bool(limit.blocks).Key("never").Bool(limit.never).Key("stops").Bool(on_job.stops);
    w.Key("overtaken").Bool(limit.overtaken);
    AppendFromNow(limit.payable_at, job_snapshot.now, w.Key("payable_in_ms"));
    w.Key("workers").Uint(on_job.workers).Key("workers_held").Uint(on_job.workers_blocked);
    w.EndObject();
  }
  w.EndArray();
}

void AppendCeilings(const std::vector<Ceiling>& ceilings, JsonWriter& w) {
  w.Key("ceilings").BeginArray();
  for (const Ceiling& ceiling : ceilings) {
    w.BeginObject().Key("of").String(ceiling.own ? "strategy" : "policy");
    w.Key("key").String(ceiling.key.name);
    AppendGroup(ceiling.value, w.Key("value"));
    w.Key("running").Uint(ceiling.running).Key("max").Uint(ceiling.max).EndObject();
  }
  w.EndArray();
}

void AppendOrder(const OrderSnapshot& order, bool others, JsonWriter& w) {
  w.Key("order").BeginObject();
  if (others) {
    w.Key("strategy").String(PrintStrategy(*order.strategy)).Key("policy").String(PrintStrategy(*order.policy));
    w.Key("workers").Uint(order.workers).Key("place");
    order.place ? w.Uint(*order.place) : w.Null();
    w.Key("complete").Bool(order.looked_for > 0 && order.complete).Key("first");
    if (order.first) {
      w.BeginObject().Key("job").Id(order.first->value).Key("user").String(order.first_user);
      AppendWhy(order.first_why, w);
      w.EndObject();
    } else {
      w.Null();
    }
    w.Key("own").BeginObject();
    AppendWhy(order.own_why, w);
    w.EndObject();
  }
  AppendCeilings(order.ceilings, w);
  w.EndObject();
}

void AppendPromised(const std::optional<PromiseSnapshot>& promised, bool show_workers, JsonWriter& w) {
  w.Key("promised");
  if (!promised) {
    w.Null();
    return;
  }
  w.BeginObject().Key("tasks").Uint(promised->tasks).Key("workers").Uint(promised->workers).Key("longest");
  if (promised->workers > 0 && show_workers) {
    w.BeginObject().Key("worker").Id(promised->longest.value).Key("name").String(promised->longest_name);
    w.Key("tasks").Uint(promised->longest_tasks).Key("queue").Uint(promised->longest_queue).EndObject();
  } else {
    w.Null();
  }
  w.EndObject();
}

// What is the same for one worker and for all.
void AppendHead(const MatchSnapshot& snapshot, const std::vector<Reason>& reasons, JsonWriter& w) {
  w.Key("job");
  snapshot.job ? w.Id(snapshot.job->value) : w.Null();
  w.Key("state").String(StateText(snapshot.state));
  w.Key("tasks").BeginObject();
  w.Key("ready").Uint(snapshot.ready).Key("leased").Uint(snapshot.leased).Key("waiting").Uint(snapshot.waiting);
  w.EndObject();
  w.Key("verdict");
  AppendReason(reasons.front(), w);
  w.Key("reasons").BeginArray();
  for (const Reason& reason : reasons) AppendReason(reason, w);
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

void Hide(const ExplainEyes& eyes, JobSnapshot& job_snapshot) {
  if (job_snapshot.order && !eyes.others) {
    job_snapshot.order->first_user.clear();
    job_snapshot.order->first.reset();
    job_snapshot.order->first_why.clear();
  }
  if (eyes.workers) return;
  job_snapshot.worker_names = false;
  if (job_snapshot.task) job_snapshot.task->worker = WorkerId{};
}

void AppendReason(const Reason& reason, JsonWriter& w) {
  w.BeginObject();
  w.Key("kind").String(AdviceText(reason.advice));
  w.Key("code").String(ReasonText(reason.code));
  w.Key("message").String(reason.message);
  w.Key("hint").String(reason.hint);
  w.Key("since_at_ms");
  reason.since ? w.Int(ToMillis(*reason.since)) : w.Null();
  w.EndObject();
}

void AppendExplanation(const JobSnapshot& job_snapshot, const Explanation& e, const ExplainEyes& eyes,
                       std::string& out) {
  const MatchSnapshot& snapshot = job_snapshot.match;
  JsonWriter w(out);
  w.BeginObject();
  AppendHead(snapshot, AllReasons(job_snapshot, e.reasons, e.matching), w);
  AppendLimits(job_snapshot, w);
  if (job_snapshot.order) AppendOrder(*job_snapshot.order, eyes.others, w);
  AppendPromised(job_snapshot.promised, eyes.workers, w);
  if (job_snapshot.task) {
    std::string task;
    AppendTask(*job_snapshot.task, {}, task);
    w.Key("task").Raw(task);
  }
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

void AppendPairExplanation(const JobSnapshot& job_snapshot, const PairExplanation& pair, std::string& out) {
  JsonWriter w(out);
  w.BeginObject();
  AppendHead(job_snapshot.match, AllReasons(job_snapshot, pair.reasons, 1), w);
  AppendLimits(job_snapshot, w);
  w.Key("worker").Id(pair.worker.value).Key("name").String(pair.name).Key("matches").Bool(pair.matches);
  w.Key("conditions").BeginArray();
  for (const Condition& condition : pair.conditions) AppendCondition(condition, w);
  w.EndArray();
  AppendRank("job_rank", pair.job_rank_text, pair.job_rank, w);
  AppendRank("worker_rank", pair.worker_rank_text, pair.worker_rank, w);
  w.EndObject();
}

}  // namespace allot
