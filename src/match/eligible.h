// SPDX-License-Identifier: Apache-2.0
// May this worker run this job, and how do they rank each other? Nothing else decides it: neither for those that are
// registered (match/class_table.h) nor for a worker that is only described.
//
// Threading: confined to whoever owns the evaluator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "expr/expr.h"
#include "match/traits.h"

namespace allot {

// What each brings. Expressions may have attributes of their owner folded in.
struct EligibleJob {
  const TagList& tags;
  const TagList& constraint_tags;
  const ExprPtr& requirements;
  const ExprPtr& rank;  // null: it is not asked for
};
struct EligibleWorker {
  const TagList& tags;
  const TagList& constraint_tags;
  const ExprPtr& requirements;
  const ExprPtr& rank;
  const expr::Ad* ad;
};

// A worker has all tags of the job, one tag for one of its constraints, and the requirements of both hold. `job_ad()`
// gives what the job shows, and is asked only where an expression is to be evaluated.
template <typename JobAd>
Verdict Eligible(const EligibleJob& job, const EligibleWorker& worker, JobAd job_ad, std::int64_t time,
                 expr::Evaluator& evaluator) {
  if (!std::includes(worker.tags.begin(), worker.tags.end(), job.tags.begin(), job.tags.end())) return {};
  if (!job.constraint_tags.empty() &&
      std::none_of(job.constraint_tags.begin(), job.constraint_tags.end(), [&](const std::string& tag) {
        return std::binary_search(worker.constraint_tags.begin(), worker.constraint_tags.end(), tag);
      })) {
    return {};
  }
  Verdict verdict{true, 0, 0};
  if (!job.requirements && !job.rank && !worker.requirements && !worker.rank) return verdict;
  expr::Sides sides{job_ad(), worker.ad, expr::Side::kJob, time};
  if (job.requirements && !evaluator.True(*job.requirements, sides)) return {};
  if (job.rank) verdict.job_rank = evaluator.Number(*job.rank, sides);
  sides.my = expr::Side::kMachine;
  if (worker.requirements && !evaluator.True(*worker.requirements, sides)) return {};
  if (worker.rank) verdict.worker_rank = evaluator.Number(*worker.rank, sides);
  return verdict;
}

}  // namespace allot
