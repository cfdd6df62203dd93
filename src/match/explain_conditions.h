// SPDX-License-Identifier: Apache-2.0
// The conditions of matching on one worker, spelled out. Inside of explain.
//
// Threading: confined to one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "expr/expr.h"
#include "match/explain.h"

namespace allot {

// A value, clause or name as it may stand in a message: cut where it is long.
std::string Cut(std::string_view text, std::size_t bytes = 120);
std::string Plural(std::size_t n, std::string_view one, std::string_view many);  // `1 worker`, `2,000 workers`

// The clauses of an expression, as far as they are looked at one by one.
std::vector<ExprPtr> ClausesOf(const ExprPtr& expr);

// Looks at workers for the job of one snapshot, which must outlive it.
class Conditions {
 public:
  using Worker = MatchSnapshot::Worker;
  explicit Conditions(const MatchSnapshot& snapshot);

  const std::vector<ExprPtr>& clauses() const { return clauses_; }

  static bool Available(const Worker& worker) { return !worker.draining && !worker.away; }
  static bool Free(const Worker& worker) { return worker.running < worker.slots; }
  static std::string NameOf(const Worker& worker);
  std::size_t MissingTags(const Worker& worker) const;
  // Pairs that it lacks of the alternative that it comes nearest to.
  std::size_t MissingProperties(const Worker& worker) const;
  // Null is true.
  Truth Of(const ExprPtr& expr, const Worker& worker, expr::Side my);
  bool Meets(const Worker& worker) { return Of(snapshot_.requirements, worker, expr::Side::kJob) == Truth::kTrue; }
  bool Accepts(const Worker& worker) {
    return Of(worker.traits->requirements, worker, expr::Side::kMachine) == Truth::kTrue;
  }
  // Clauses of the job's, or of the worker's own, requirements that are not true; at least 1 if the whole is not.
  std::size_t FailedClauses(const Worker& worker, expr::Side my);
  double Rank(const ExprPtr& expr, const Worker& worker, expr::Side my);
  // The job's clause for every worker that there could be: kTrue unless it is surely never true.
  Truth ForAny(const ExprPtr& clause);

  // What an attribute is, as an expression of `my` sees it; null: not there.
  const expr::Value* Find(const expr::Reference& reference, const Worker& worker, expr::Side my) const;

  // Everything, stage by stage. With `misses_only` what does not hold, free slots apart, and of alternatives the
  // nearest.
  std::vector<Condition> All(const Worker& worker, bool misses_only);

 private:
  void AddAvailability(const Worker& worker, std::vector<Condition>& out) const;
  void AddTags(const Worker& worker, std::vector<Condition>& out) const;
  void AddProperties(const Properties& wanted, const Worker& worker, std::vector<Condition>& out) const;
  void AddConstraint(const Worker& worker, bool nearest_only, std::vector<Condition>& out) const;
  void AddClauses(const Worker& worker, expr::Side my, std::vector<Condition>& out);
  Condition Spell(const ExprPtr& clause, Truth outcome, const Worker& worker, expr::Side my) const;

  const MatchSnapshot& snapshot_;
  const std::vector<ExprPtr> clauses_;
  expr::Evaluator evaluator_;
};

// Does that scope reach the worker, in an expression that `my` owns? An unscoped name may.
bool ReachesWorker(expr::Scope scope, expr::Side my);
// As it is written: `TARGET.Memory`.
std::string ReferenceText(const expr::Reference& reference);

}  // namespace allot
