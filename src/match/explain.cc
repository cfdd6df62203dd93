// SPDX-License-Identifier: Apache-2.0
#include "match/explain.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include "match/constraints.h"
#include "match/explain_conditions.h"
#include "match/explain_reasons.h"
#include "match/explain_suggest.h"

namespace allot {
namespace {

using expr::Side;

// Told of a clause of a worker's: 64 of them come from 64 strangers.
constexpr std::size_t kMostClauseBytes = 1024;

template <typename E, std::size_t N>
std::string_view TextOf(E value, const std::string_view (&texts)[N]) {
  return texts[static_cast<std::size_t>(value)];
}

// Do two comparisons of the same attribute exclude each other, whatever it is?
bool Exclude(const expr::Expr::Comparison& a, const expr::Expr::Comparison& b) {
  if (a.attribute.scope != b.attribute.scope || !expr::SameName(a.attribute.name, b.attribute.name)) return false;
  if (a.constant.is(expr::Type::kString) && b.constant.is(expr::Type::kString))
    return a.op == "==" && b.op == "==" && !expr::SameName(a.constant.string(), b.constant.string());
  if (!a.constant.IsNumber() || !b.constant.IsNumber()) return false;
  const auto number = [](const expr::Value& v) {
    // Holds every integer exactly.
    return v.is(expr::Type::kInteger) ? static_cast<long double>(v.integer()) : static_cast<long double>(v.real());
  };
  const long double x = number(a.constant), y = number(b.constant);
  const auto above = [](std::string_view op) { return op == ">" || op == ">="; };
  const auto below = [](std::string_view op) { return op == "<" || op == "<="; };
  const auto closed = [](std::string_view op) { return op == "==" || op == ">=" || op == "<="; };
  const bool at_least = (above(a.op) || a.op == "==") && (below(b.op) || b.op == "==");
  const bool at_most = (below(a.op) || a.op == "==") && (above(b.op) || b.op == "==");
  const bool touch = closed(a.op) && closed(b.op);
  return (at_least && (x > y || (x == y && !touch))) || (at_most && (x < y || (x == y && !touch)));
}

// The attribute of the worker that a clause reads, if it is one.
std::string ReadOf(const expr::Expr& clause) {
  std::string name;
  for (const expr::Reference& reference : clause.References()) {
    if (!ReachesWorker(reference.scope, Side::kJob)) continue;
    if (!name.empty()) return {};
    name = reference.name;
  }
  return name;
}

class Explainer {
 public:
  Explainer(const MatchSnapshot& snapshot, const ExplainOptions& options)
      : s_(snapshot), options_(options), conditions_(snapshot) {
    for (const MatchSnapshot::Tag& tag : s_.tags) e_.tags.push_back({tag.tag, {}, tag.last_seen});
    for (const Properties& wanted : s_.constraints) {
      Explanation::Alternative& alternative = e_.constraints.emplace_back();
      alternative.tag = ConstraintTag(wanted);
      for (const auto& [key, value] : wanted) alternative.pairs.push_back({key, value});
    }
    for (const ExprPtr& clause : conditions_.clauses()) {
      e_.requirements.emplace_back().text = clause->source();
      comparisons_.push_back(clause->AsComparison());
      survey_.reads.push_back(ReadOf(*clause));
      best_.emplace_back();
    }
    any_available_ = std::any_of(s_.workers.begin(), s_.workers.end(), Conditions::Available);
  }

  Explanation Run() {
    e_.funnel[static_cast<std::size_t>(Stage::kTotal)] = s_.workers.size();
    for (const Worker& worker : s_.workers) {
      // At least one, so that there is something to say.
      if (e_.examined > 0 && options_.enough && options_.enough()) break;
      Look(worker);
      ++e_.examined;
    }
    SettleTags();
    SettleClauses();
    FindNever();
    SpellNearest();
    if (options_.show_workers && !Settled()) Suggest(s_, conditions_, DoubtfulClauses(), options_, e_);
    GiveReasons(s_, survey_, options_, e_);
    return std::move(e_);
  }

 private:
  using Worker = MatchSnapshot::Worker;

  bool Settled() const { return Ended(s_.state) || s_.queued + s_.retrying == 0; }
  void Pass(Stage stage) { ++e_.funnel[static_cast<std::size_t>(stage)]; }

  void Look(const Worker& worker) {
    const bool available = Conditions::Available(worker);
    const bool counts = available || !any_available_;
    e_.draining += worker.draining;
    e_.away += worker.away && !worker.draining;
    CountParts(worker);
    const std::size_t tags = conditions_.MissingTags(worker);
    const std::size_t properties = conditions_.MissingProperties(worker);
    std::size_t misses = static_cast<std::size_t>(worker.draining) + worker.away + tags + properties;
    bool meets = false, accepts = false;
    if (tags == 0 && properties == 0) {
      meets = counts ? CountClauses(worker, misses) : CountMisses(worker, Side::kJob, misses);
      if (meets) accepts = counts ? CountOwn(worker, misses) : CountMisses(worker, Side::kMachine, misses);
    }
    if (counts) {
      ++survey_.looked_at;
      survey_.with_tags += tags == 0;
      survey_.with_properties += tags == 0 && properties == 0;
      survey_.met += meets;
    }
    if (available) {
      Pass(Stage::kAvailable);
      if (tags == 0) Pass(Stage::kTags);
      if (tags == 0 && properties == 0) Pass(Stage::kConstraint);
      if (meets) Pass(Stage::kRequirements);
      if (accepts) Pass(Stage::kWorkerRequirements);
      if (accepts && Conditions::Free(worker)) Pass(Stage::kFreeSlot);
    }
    if (accepts) {
      ++e_.matching;
      survey_.draining += worker.draining;
      survey_.away += worker.away && !worker.draining;
      survey_.available += available;
      if (available) {
        survey_.free += Conditions::Free(worker);
        survey_.slots += worker.slots;
        survey_.running += worker.running;
      }
    }
    // Who gets furthest in the funnel is what the verdict speaks of, so of equals that one is the nearest.
    const int passed = tags > 0 ? 0 : properties > 0 ? 1 : !meets ? 2 : !accepts ? 3 : 4;
    const int reach = available ? 5 + passed : passed;
    const auto nearer = [&] {
      if (nearest_ == nullptr || misses != nearest_misses_) return misses < nearest_misses_;
      return reach != nearest_reach_ ? reach > nearest_reach_ : worker.id < nearest_->id;
    };
    // What was not looked at above, as long as it can still be the nearest.
    if (tags + properties > 0 && nearer()) CountMisses(worker, Side::kJob, misses);
    if (!meets && nearer()) CountMisses(worker, Side::kMachine, misses);
    if (!nearer()) return;
    nearest_misses_ = misses;
    nearest_reach_ = reach;
    nearest_ = &worker;
  }

  void CountParts(const Worker& worker) {
    const TagList& has = worker.traits->tags;
    for (Explanation::Tag& tag : e_.tags) {
      if (!std::binary_search(has.begin(), has.end(), tag.tag)) continue;
      ++tag.workers;
      if (!Conditions::Available(worker)) continue;
      ++tag.available;
      tag.free += Conditions::Free(worker);
    }
    const Properties& properties = worker.traits->properties;
    for (Explanation::Alternative& alternative : e_.constraints) {
      bool all = true;
      for (Explanation::Alternative::Pair& pair : alternative.pairs) {
        const bool there =
            std::find(properties.begin(), properties.end(), std::pair(pair.key, pair.value)) != properties.end();
        pair.workers += there;
        all = all && there;
      }
      alternative.workers += all;
    }
  }

  bool CountMisses(const Worker& worker, Side my, std::size_t& misses) {
    const std::size_t failed = conditions_.FailedClauses(worker, my);
    misses += failed;
    return failed == 0;
  }

  // The job's requirements, clause by clause where they are not met.
  bool CountClauses(const Worker& worker, std::size_t& misses) {
    const bool meets = conditions_.Meets(worker);
    std::size_t failed = 0;
    for (std::size_t i = 0; i < conditions_.clauses().size(); ++i) {
      ++e_.requirements[i].reached;
      if (meets) continue;
      failed += Count(conditions_.Of(conditions_.clauses()[i], worker, Side::kJob), e_.requirements[i]);
      NoteBest(i, worker);
    }
    if (!meets) misses += std::max<std::size_t>(failed, 1);
    return meets;
  }

  // The worker's own. What refuses is counted by its text: workers of one make say the same.
  bool CountOwn(const Worker& worker, std::size_t& misses) {
    if (conditions_.Accepts(worker)) return true;
    std::size_t failed = 0;
    for (const ExprPtr& clause : ClausesOf(worker.traits->requirements)) {
      const Truth outcome = conditions_.Of(clause, worker, Side::kMachine);
      if (outcome == Truth::kTrue) continue;
      ++failed;
      CountOwnClause(clause->source(), outcome);
    }
    if (failed == 0) CountOwnClause(worker.traits->requirements->source(), Truth::kError);
    misses += std::max<std::size_t>(failed, 1);
    return false;
  }
  void CountOwnClause(const std::string& text, Truth outcome) {
    const auto found = own_.find(text);
    if (found == own_.end() && own_.size() >= kMaxClausesExplained) return;
    const std::size_t at = found != own_.end() ? found->second : own_.emplace(text, own_.size()).first->second;
    if (at == e_.worker_requirements.size()) e_.worker_requirements.emplace_back().text = Cut(text, kMostClauseBytes);
    Count(outcome, e_.worker_requirements[at]);
  }

  static bool Count(Truth outcome, Explanation::Clause& clause) {
    if (outcome == Truth::kTrue) return false;
    ++clause.failed;
    clause.undefined += outcome == Truth::kUndefined;
    clause.error += outcome == Truth::kError;
    return true;
  }

  void NoteBest(std::size_t i, const Worker& worker) {
    if (!comparisons_[i] || !comparisons_[i]->constant.IsNumber()) return;
    const auto& [attribute, op, constant] = *comparisons_[i];
    const expr::Value* value = conditions_.Find(attribute, worker, Side::kJob);
    if (value == nullptr || !value->IsNumber()) return;
    const auto number = [](const expr::Value& v) {
      return v.is(expr::Type::kInteger) ? static_cast<double>(v.integer()) : v.real();
    };
    const double distance = std::abs(number(*value) - number(constant));
    if (best_[i] && best_[i]->first <= distance) return;
    best_[i] = {distance, *value};
  }

  void SettleTags() {
    for (Explanation::Tag& tag : e_.tags) {
      if (tag.workers > 0) tag.last_seen.reset();
      tag.status = tag.free > 0        ? "free"
                   : tag.available > 0 ? "busy"
                   : tag.workers > 0   ? "unavailable"
                   : tag.last_seen     ? "gone"
                                       : "never_seen";
    }
  }

  void SettleClauses() {
    if (options_.show_workers) {
      for (std::size_t i = 0; i < best_.size(); ++i) {
        if (best_[i]) e_.requirements[i].best = expr::Print(best_[i]->second);
      }
    } else {
      e_.worker_requirements.clear();
    }
    for (Explanation::Clause& clause : e_.worker_requirements) clause.reached = survey_.met;
    std::stable_sort(e_.worker_requirements.begin(), e_.worker_requirements.end(),
                     [](const auto& a, const auto& b) { return a.failed > b.failed; });
  }

  // Requirements that no worker could meet, whatever it is.
  void FindNever() {
    if (Settled() || e_.matching > 0) return;
    const std::vector<ExprPtr>& clauses = conditions_.clauses();
    for (const ExprPtr& clause : clauses) {
      const Truth outcome = conditions_.ForAny(clause);
      if (outcome == Truth::kTrue) continue;
      survey_.never = fmt::format("`{}` is {}, whatever the worker is", Cut(clause->source()),
                                  outcome == Truth::kError ? "an error" : TruthText(outcome));
      return;
    }
    for (std::size_t i = 0; i < clauses.size(); ++i) {
      for (std::size_t j = i + 1; j < clauses.size(); ++j) {
        if (!comparisons_[i] || !comparisons_[j] || !Exclude(*comparisons_[i], *comparisons_[j])) continue;
        survey_.never =
            fmt::format("`{}` and `{}` exclude each other", Cut(clauses[i]->source()), Cut(clauses[j]->source()));
        return;
      }
    }
  }

  void SpellNearest() {
    if (nearest_ == nullptr || survey_.available > 0 || !options_.show_workers || Settled()) return;
    e_.nearest = {nearest_->id, Conditions::NameOf(*nearest_), conditions_.All(*nearest_, true)};
  }

  // Clauses that fail on all that come so far, or on the nearest.
  std::vector<std::size_t> DoubtfulClauses() const {
    std::vector<std::size_t> doubtful;
    if (survey_.available > 0) return doubtful;
    for (std::size_t i = 0; i < e_.requirements.size(); ++i) {
      const Explanation::Clause& clause = e_.requirements[i];
      bool doubted = clause.reached > 0 && clause.failed == clause.reached;
      if (e_.nearest) {
        for (const Condition& miss : e_.nearest->misses)
          doubted = doubted || (miss.stage == Stage::kRequirements && miss.text == clause.text);
      }
      if (doubted) doubtful.push_back(i);
    }
    return doubtful;
  }

  const MatchSnapshot& s_;
  const ExplainOptions& options_;
  Conditions conditions_;
  Explanation e_;
  Survey survey_;
  bool any_available_ = false;
  std::vector<std::optional<expr::Expr::Comparison>> comparisons_;  // of each clause
  std::vector<std::optional<std::pair<double, expr::Value>>> best_;
  std::unordered_map<std::string, std::size_t> own_;  // clauses of workers: where they are counted
  const Worker* nearest_ = nullptr;
  std::size_t nearest_misses_ = SIZE_MAX;
  int nearest_reach_ = 0;
};

}  // namespace

std::string_view AdviceText(Advice advice) {
  static constexpr std::string_view kTexts[] = {"wait", "change_request", "operator"};
  return TextOf(advice, kTexts);
}

std::string_view ReasonText(ReasonCode code) {
  static constexpr std::string_view kTexts[] = {
      "ended",
      "empty",
      "running",
      "job_paused",
      "queue_paused",
      "scheduled",
      "backoff",
      "no_workers",
      "tag_never_seen",
      "tag_gone",
      "tag_unavailable",
      "tags_apart",
      "constraint_unmet",
      "requirements_never_true",
      "requirements_unmet",
      "workers_refuse",
      "workers_draining",
      "workers_away",
      "all_busy",
      "can_start",
      "mismatch",
      "being_matched",
      "limit",
      "limit_overtaken",
      "limit_never",
      "max_simultaneous",
      "not_selected",
      "behind",
      "promised",
      "no_match",
  };
  return TextOf(code, kTexts);
}

int Gravity(Advice advice, ReasonCode code) {
  // Of one worker a mismatch is as final as that.
  const bool never =
      code == ReasonCode::kRequirementsNeverTrue || code == ReasonCode::kLimitNever || code == ReasonCode::kMismatch;
  switch (advice) {
    case Advice::kOperator:
      return never ? 0 : 1;
    case Advice::kChangeRequest:
      return never ? 0 : 2;
    case Advice::kWait:
      break;
  }
  return 3;
}

std::string_view StageText(Stage stage) {
  static constexpr std::string_view kTexts[] = {"total",        "available",           "tags",     "constraint",
                                                "requirements", "worker_requirements", "free_slot"};
  static_assert(std::size(kTexts) == kStages);
  return TextOf(stage, kTexts);
}

std::string_view TruthText(Truth outcome) {
  static constexpr std::string_view kTexts[] = {"true", "false", "undefined", "error", "no_boolean"};
  return TextOf(outcome, kTexts);
}

std::string_view SuggestionText(Suggestion::Kind kind) {
  static constexpr std::string_view kTexts[] = {"tag", "property", "attribute", "job_attribute", "value"};
  return TextOf(kind, kTexts);
}

Explanation Explain(const MatchSnapshot& snapshot, const ExplainOptions& options) {
  return Explainer(snapshot, options).Run();
}

std::optional<PairExplanation> ExplainPair(const MatchSnapshot& snapshot, WorkerId id) {
  const auto found = std::find_if(snapshot.workers.begin(), snapshot.workers.end(),
                                  [&](const MatchSnapshot::Worker& worker) { return worker.id == id; });
  if (found == snapshot.workers.end()) return std::nullopt;
  Conditions conditions(snapshot);
  PairExplanation pair;
  pair.worker = id;
  pair.name = Conditions::NameOf(*found);
  pair.conditions = conditions.All(*found, false);
  pair.matches = conditions.MissingTags(*found) == 0 && conditions.MissingProperties(*found) == 0 &&
                 conditions.Meets(*found) && conditions.Accepts(*found);
  pair.job_rank = conditions.Rank(snapshot.rank, *found, Side::kJob);
  pair.worker_rank = conditions.Rank(found->traits->rank, *found, Side::kMachine);
  if (snapshot.rank) pair.job_rank_text = snapshot.rank->source();
  if (found->traits->rank) pair.worker_rank_text = found->traits->rank->source();
  GiveReasons(snapshot, *found, pair);
  return pair;
}

}  // namespace allot
