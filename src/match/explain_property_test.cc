// SPDX-License-Identifier: Apache-2.0
// Explain against the conditions of matching as plainly as they can be written.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "match/explain.h"
#include "match/testing.h"

namespace allot {
namespace {

// Explain agrees with the plain conditions, worker by worker and in sum.
TEST(Explain, AgreesWithTheNaiveConditions) {
  const std::uint64_t seed = 20'261;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Rng rng(seed);
  std::size_t matched = 0, mismatched = 0;
  for (int round = 0; round < 600; ++round) {
    const testing::SampleJob job = testing::SomeJob(rng);
    MatchSnapshot snapshot;
    snapshot.job = JobId{1};
    snapshot.queued = 1;
    snapshot.now = FromMillis(static_cast<std::int64_t>(rng.Below(100)) * 1000);
    for (const std::string& tag : job.tags) snapshot.tags.push_back({tag, std::nullopt});
    snapshot.constraints = job.constraints;
    snapshot.constraint_tags = job.constraint_tags;
    snapshot.requirements = job.requirements;
    snapshot.rank = job.rank;
    snapshot.ad = std::make_shared<const expr::Ad>(job.Ad());
    std::vector<testing::SampleWorker> workers;
    for (std::uint64_t i = 0, n = rng.Below(8); i < n; ++i) {
      workers.push_back(testing::SomeWorker(rng));
      snapshot.workers.push_back({WorkerId{i + 1}, std::make_shared<const WorkerTraits>(workers.back().Traits()), 2,
                                  static_cast<std::uint32_t>(rng.Below(3)), rng.Below(5) == 0, rng.Below(5) == 0});
    }
    const Explanation e = Explain(snapshot);
    std::array<std::size_t, kStages> funnel{};
    std::size_t matching = 0, fewest = SIZE_MAX, furthest = 0;
    WorkerId nearest;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      const MatchSnapshot::Worker& worker = snapshot.workers[i];
      const auto verdict = testing::NaiveVerdict(job, workers[i], ToMillis(snapshot.now) / 1000);
      const auto pair = ExplainPair(snapshot, worker.id);
      ASSERT_TRUE(pair);
      ASSERT_EQ(pair->matches, verdict.match);
      if (verdict.match) {
        EXPECT_EQ(pair->job_rank, verdict.job_rank);
        EXPECT_EQ(pair->worker_rank, verdict.worker_rank);
      }
      matching += verdict.match;
      // The stages, from what the pair says of each.
      bool stages[kStages] = {};
      std::size_t misses = 0;
      for (std::size_t stage = 0; stage < kStages; ++stage) {
        bool all = true, any = false, one = false;
        for (const Condition& c : pair->conditions) {
          if (c.stage != static_cast<Stage>(stage)) continue;
          any = true;
          all = all && c.holds();
          one = one || c.holds();
          if (stage != static_cast<std::size_t>(Stage::kConstraint) &&
              stage != static_cast<std::size_t>(Stage::kFreeSlot))
            misses += !c.holds();
        }
        const bool alternatives =
            stage == static_cast<std::size_t>(Stage::kConstraint) && snapshot.constraints.size() > 1;
        stages[stage] = !any || (alternatives ? one : all);
      }
      std::size_t lacks = SIZE_MAX;
      for (const Properties& wanted : snapshot.constraints) {
        std::size_t n = 0;
        for (const auto& one : wanted)
          n +=
              std::find(workers[i].properties.begin(), workers[i].properties.end(), one) == workers[i].properties.end();
        lacks = std::min(lacks, n);
      }
      misses += snapshot.constraints.empty() ? 0 : lacks;
      bool passed = true;
      std::size_t reach = 0;
      for (std::size_t stage = 0; stage < kStages; ++stage) {
        passed = passed && stages[stage];
        funnel[stage] += passed;
        reach += 10 * passed;
      }
      // Of those that are not available: how far they would get.
      for (std::size_t stage = static_cast<std::size_t>(Stage::kTags); stage < kStages && stages[stage]; ++stage)
        reach += stage != static_cast<std::size_t>(Stage::kFreeSlot);
      if (misses < fewest || (misses == fewest && reach > furthest)) {
        fewest = misses;
        furthest = reach;
        nearest = worker.id;
      }
    }
    EXPECT_EQ(e.funnel, funnel) << "round " << round;
    EXPECT_EQ(e.matching, matching) << "round " << round;
    const bool fits = funnel[static_cast<std::size_t>(Stage::kWorkerRequirements)] > 0;
    EXPECT_EQ(e.nearest.has_value(), !fits && !workers.empty()) << "round " << round;
    if (e.nearest) {
      EXPECT_EQ(e.nearest->worker, nearest) << "round " << round;
      EXPECT_EQ(e.nearest->misses.size(), fewest) << "round " << round;
    }
    for (const Explanation::Clause& clause : e.requirements) {
      EXPECT_LE(clause.undefined + clause.error, clause.failed);
      EXPECT_LE(clause.failed, clause.reached);
    }
    EXPECT_FALSE(e.verdict().advice == Advice::kChangeRequest && matching > 0) << "round " << round;
    EXPECT_EQ(e.verdict().code == ReasonCode::kCanStart, funnel.back() > 0) << "round " << round;
    (matching > 0 ? matched : mismatched) += 1;
  }
  EXPECT_GT(matched, 50u);
  EXPECT_GT(mismatched, 50u);
}

}  // namespace
}  // namespace allot
