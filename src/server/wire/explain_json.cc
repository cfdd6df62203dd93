// SPDX-License-Identifier: Apache-2.0
#include "server/wire/explain_json.h"

#include <algorithm>

#include "base/json.h"
#include "server/wire/limit_json.h"
#include "server/wire/preview_json.h"
#include "server/wire/reply_json.h"
#include "wire/explanation.h"
#include "wire/writer.h"

namespace allot {
namespace {

void AppendLimits(const JobSnapshot& job_snapshot, JsonWriter& json) {
  json.BeginArray();
  for (const LimitOnJob& on_job : job_snapshot.limits.all) {
    const LimitStatus& limit = on_job.limit;
    wire::Writer<wire::kExplainedLimit> w(json);
    w.Text("uuid", limit.limit.uuid);
    w.Text("tag", limit.limit.tag);
    w.Text("name", limit.limit.name);
    w.Bool("monitor", limit.monitor);
    w.Bool("reads_worker", limit.reads_worker);
    AppendTokens(limit.tokens, w.Value("level"));
    AppendTokens(limit.cost.number(), w.Value("cost"));
    w.Bool("blocks", limit.blocks);
    w.Bool("never", limit.never);
    w.Bool("stops", on_job.stops);
    w.Bool("overtaken", limit.overtaken);
    AppendFromNow(limit.payable_at, job_snapshot.now, w.Value("payable_in_ms"));
    w.Count("workers", on_job.workers);
    w.Count("workers_blocked", on_job.workers_blocked);
  }
  json.EndArray();
}

void AppendCeiling(const Ceiling& ceiling, JsonWriter& json) {
  wire::Writer<wire::kCeiling> w(json);
  w.Text("of", ceiling.own ? "strategy" : "policy");
  w.Text("key", ceiling.key.name);
  AppendGroup(ceiling.value, w.Value("value"));
  w.Count("running", ceiling.running);
  w.Count("max", ceiling.max);
}

void AppendOrder(const OrderSnapshot& order, bool others, JsonWriter& json) {
  wire::Writer<wire::kOrder> w(json);
  if (others) {
    w.Text("strategy", PrintStrategy(*order.strategy));
    w.Text("policy", PrintStrategy(*order.policy));
    w.Count("workers", order.workers);
    w.Count("place", order.place);
    w.Bool("complete", order.looked_for > 0 && order.complete);
    if (order.first) {
      auto first = w.Open<wire::kFirst>("first");
      first.Id("job", order.first->value);
      first.Text("user", order.first_user);
      AppendWhy(order.first_why, first.Value("why"));
    } else {
      w.Null("first");
    }
    auto own = w.Open<wire::kOwn>("own");
    AppendWhy(order.own_why, own.Value("why"));
  }
  w.Each("ceilings", order.ceilings, AppendCeiling);
}

void AppendPromised(const std::optional<PromiseSnapshot>& promised, bool show_workers, JsonWriter& json) {
  if (!promised) {
    json.Null();
    return;
  }
  wire::Writer<wire::kPromised> w(json);
  w.Count("tasks", promised->tasks);
  w.Count("workers", promised->workers);
  if (promised->workers > 0 && show_workers) {
    auto longest = w.Open<wire::kLongest>("longest");
    longest.Id("worker", promised->longest.value);
    longest.Text("name", promised->longest_name);
    longest.Count("tasks", promised->longest_tasks);
    longest.Count("queue", promised->longest_queue);
  } else {
    w.Null("longest");
  }
}

// What is the same for one worker and for all.
template <const wire::Object& kObject>
void AppendHead(const JobSnapshot& job_snapshot, const std::vector<Reason>& reasons, wire::Writer<kObject>& w) {
  const MatchSnapshot& snapshot = job_snapshot.match;
  w.IdOrNull("job", snapshot.job ? snapshot.job->value : 0);
  w.Text("state", StateText(snapshot.state));
  {
    wire::Writer<wire::kTaskCounts> tasks(w.Value("tasks"));
    tasks.Count("queued", snapshot.queued);
    tasks.Count("running", snapshot.running);
    tasks.Count("retrying", snapshot.retrying);
  }
  AppendReason(reasons.front(), w.Value("verdict"));
  w.Each("reasons", reasons, AppendReason);
  AppendLimits(job_snapshot, w.Value("limits"));
}

void AppendCondition(const Condition& condition, JsonWriter& json) {
  wire::Writer<wire::kCondition> w(json);
  w.Text("stage", StageText(condition.stage));
  w.Text("condition", condition.text);
  w.Bool("holds", condition.holds());
  w.Text("outcome", TruthText(condition.outcome));
  w.Value("values").BeginArray();
  for (const Condition::Value& value : condition.values) {
    wire::Writer<wire::kSeenValue> one(json);
    one.Text("name", value.name);
    one.Text("value", value.value);
  }
  json.EndArray();
  w.Text("message", condition.message);
}

void AppendClause(const Explanation::Clause& clause, JsonWriter& json) {
  wire::Writer<wire::kClause> w(json);
  w.Text("clause", clause.text);
  w.Count("reached", clause.reached);
  w.Count("failed", clause.failed);
  w.Count("undefined", clause.undefined);
  w.Count("error", clause.error);
  w.Text("best", clause.best);
}

void AppendTag(const Explanation::Tag& tag, JsonWriter& json) {
  wire::Writer<wire::kTagStanding> w(json);
  w.Text("tag", tag.tag);
  w.Text("status", tag.status);
  w.Count("workers", tag.workers);
  w.Count("available", tag.available);
  w.Count("free", tag.free);
  w.Time("last_seen_at_ms", tag.last_seen);
}

void AppendAlternative(const Explanation::Alternative& alternative, JsonWriter& json) {
  wire::Writer<wire::kConstraintStanding> w(json);
  w.Text("tag", alternative.tag);
  w.Count("workers", alternative.workers);
  w.Each("properties", alternative.pairs, [](const Explanation::Alternative::Pair& pair, JsonWriter& inner) {
    wire::Writer<wire::kPropertyStanding> one(inner);
    one.Text("key", pair.key);
    one.Text("value", pair.value);
    one.Count("workers", pair.workers);
  });
}

void AppendRank(const std::string& expression, double value, JsonWriter& json) {
  wire::Writer<wire::kRank> w(json);
  w.TextOrNull("expression", expression);
  w.Real("value", value);
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

void AppendReason(const Reason& reason, JsonWriter& json) {
  wire::Writer<wire::kReason> w(json);
  w.Text("kind", AdviceText(reason.advice));
  w.Text("code", ReasonText(reason.code));
  w.Text("message", reason.message);
  w.Text("hint", reason.hint);
  w.Time("since_at_ms", reason.since);
}

void AppendExplanation(const JobSnapshot& job_snapshot, const Explanation& e, const ExplainEyes& eyes,
                       std::string& out) {
  const MatchSnapshot& snapshot = job_snapshot.match;
  JsonWriter json(out);
  wire::Writer<wire::kExplanation> w(json);
  AppendHead(job_snapshot, AllReasons(job_snapshot, e.reasons, e.matching), w);
  if (job_snapshot.order) AppendOrder(*job_snapshot.order, eyes.others, w.Value("order"));
  AppendPromised(job_snapshot.promised, eyes.workers, w.Value("promised"));
  if (job_snapshot.task) {
    std::string task;
    AppendTask(*job_snapshot.task, {}, task);
    w.Raw("task", task);
  }
  {
    auto workers = w.Open<wire::kExamined>("workers");
    workers.Count("total", snapshot.workers.size());
    workers.Count("examined", e.examined);
    workers.Count("draining", e.draining);
    workers.Count("away", e.away);
    workers.Count("matching", e.matching);
  }
  w.Value("funnel").BeginArray();
  for (std::size_t stage = 0; stage < kStages; ++stage) {
    wire::Writer<wire::kFunnel> one(json);
    one.Text("stage", StageText(static_cast<Stage>(stage)));
    one.Count("workers", e.funnel[stage]);
  }
  json.EndArray();
  w.Each("tags", e.tags, AppendTag);
  w.Each("constraints", e.constraints, AppendAlternative);
  w.Each("requirements", e.requirements, AppendClause);
  w.Each("worker_requirements", e.worker_requirements, AppendClause);
  if (e.nearest) {
    auto nearest = w.Open<wire::kNearest>("nearest");
    nearest.Id("worker", e.nearest->worker.value);
    nearest.Text("name", e.nearest->name);
    nearest.Each("misses", e.nearest->misses, AppendCondition);
  } else {
    w.Null("nearest");
  }
  w.Value("suggestions").BeginArray();
  for (const Suggestion& suggestion : e.suggestions) {
    wire::Writer<wire::kSuggestion> one(json);
    one.Text("kind", SuggestionText(suggestion.kind));
    one.Text("given", suggestion.given);
    one.Text("nearest", suggestion.nearest);
    one.Text("where", suggestion.where);
    one.Text("message", suggestion.message);
  }
  json.EndArray();
}

void AppendPairExplanation(const JobSnapshot& job_snapshot, const PairExplanation& pair, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kWorkerExplanation> w(json);
  AppendHead(job_snapshot, AllReasons(job_snapshot, pair.reasons, 1), w);
  w.Id("worker", pair.worker.value);
  w.Text("name", pair.name);
  w.Bool("matches", pair.matches);
  w.Each("conditions", pair.conditions, AppendCondition);
  AppendRank(pair.job_rank_text, pair.job_rank, w.Value("job_rank"));
  AppendRank(pair.worker_rank_text, pair.worker_rank, w.Value("worker_rank"));
}

}  // namespace allot
