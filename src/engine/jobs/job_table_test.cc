// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/job_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace allot {
namespace {

JobTerms Of(const std::string& user) {
  JobTerms terms;
  terms.user = user;
  return terms;
}

// The ids that a walk sees which stops after so many places at a time; `between` is called at each stop.
template <typename Between>
std::vector<std::uint64_t> Walk(JobTable& jobs, std::size_t places, Between between) {
  std::vector<std::uint64_t> seen;
  JobCursor cursor;
  for (;;) {
    std::size_t left = places;
    const bool all = jobs.Walk(cursor, [&](const EngineJob* job) {
      if (left == 0) return false;
      --left;
      if (job != nullptr) seen.push_back(job->id().value);
      return true;
    });
    if (all) return seen;
    between();
  }
}

TEST(JobTable, JobsAreInOrderOfTheirIds) {
  JobTable jobs;
  for (const std::uint64_t id : {5, 9, 7, 20}) jobs.Add(JobId{id}, 1);
  EXPECT_EQ(Walk(jobs, 100, [] {}), (std::vector<std::uint64_t>{5, 7, 9, 20}));
  EXPECT_EQ(jobs.newest(), JobId{20});
  EXPECT_EQ(jobs.PlaceOf(JobId{8}), 2u);
  EXPECT_EQ(jobs.PlaceOf(JobId{21}), 4u);
  EXPECT_EQ(jobs.IdAt(2), JobId{9});
  EXPECT_EQ(jobs.Find(JobId{7})->id(), JobId{7});
  EXPECT_EQ(jobs.Find(JobId{8}), nullptr);
}

// Whatever comes and goes between its steps, a walk sees every job that stays, once, and the last that came.
TEST(JobTable, AWalkGoesOnWhereItWas) {
  for (std::size_t places = 1; places < 40; ++places) {
    JobTable jobs;
    std::uint64_t last = 0;
    for (; last < 3000; ++last) jobs.Add(JobId{2 * (last + 1)}, 1);
    std::uint64_t gone = 0;
    const auto seen = Walk(jobs, places, [&] {
      // Those with ids not divisible by 8 leave, so many that empty places are closed.
      for (int i = 0; i < 30 && gone < 3000; ++gone) {
        EngineJob* job = jobs.Find(JobId{2 * (gone + 1)});
        if (job == nullptr || job->id().value % 8 == 0) continue;
        jobs.Remove(*job);
        ++i;
      }
      if (last < 3100) jobs.Add(JobId{2 * (++last)}, 1);
    });
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
    for (std::uint64_t id = 8; id <= 6000; id += 8) {
      ASSERT_TRUE(std::binary_search(seen.begin(), seen.end(), id)) << id << " by steps of " << places;
    }
    EXPECT_TRUE(std::binary_search(seen.begin(), seen.end(), 2 * last));
  }
}

TEST(JobTable, AKeyBelongsToAUser) {
  JobTable jobs;
  const auto add = [&](std::uint64_t id, const std::string& user, const std::string& key) -> EngineJob& {
    EngineJob& job = jobs.Add(JobId{id}, 1);
    job.terms = jobs.Intern(Of(user));
    job.extras = std::make_unique<JobExtras>();
    job.extras->idempotency_key = key;
    jobs.RememberKey(job);
    return job;
  };
  EngineJob& ann = add(1, "ann", "k");
  add(2, "bob", "k");
  add(3, "ann", "");
  EXPECT_EQ(jobs.FindKey("ann", "k"), &ann);
  EXPECT_EQ(jobs.FindKey("bob", "k")->id(), JobId{2});
  EXPECT_EQ(jobs.FindKey("ann", ""), nullptr);
  EXPECT_EQ(jobs.FindKey("cy", "k"), nullptr);
  jobs.ForgetKey(ann);
  EXPECT_EQ(jobs.FindKey("ann", "k"), nullptr);
  EXPECT_NE(jobs.FindKey("bob", "k"), nullptr);
}

TEST(JobTable, TermsAreKeptOnceAndAsLongAsAnyJobHasThem) {
  JobTable jobs;
  TermsPtr a = jobs.Intern(Of("ann"));
  TermsPtr b = jobs.Intern(Of("ann"));
  EXPECT_EQ(a, b);
  EXPECT_NE(a, jobs.Intern(Of("bob")));
  EXPECT_EQ(jobs.terms(), 1u);
  a.reset();
  EXPECT_EQ(jobs.terms(), 1u);
  b.reset();
  EXPECT_EQ(jobs.terms(), 0u);
  EXPECT_EQ(jobs.expr_bytes(), 0u);
}

// Looks hold terms on other threads, and for longer than the queue may live.
TEST(JobTable, WhoLooksAtTermsNeitherKeepsThemInTheTableNorNeedsIt) {
  auto jobs = std::make_unique<JobTable>();
  TermsPtr running = jobs->Intern(Of("ann"));
  std::shared_ptr<const JobTerms> seen = running->View();
  EXPECT_EQ(seen.get(), running.get());
  running.reset();
  EXPECT_EQ(jobs->terms(), 0u);
  EXPECT_EQ(seen->user, "ann");
  // Terms like those that are still looked at are others.
  running = jobs->Intern(Of("ann"));
  EXPECT_NE(seen.get(), running.get());
  seen = running->View();
  running.reset();
  jobs.reset();
  std::thread([seen = std::move(seen)]() mutable {
    EXPECT_EQ(seen->user, "ann");
    seen.reset();
  }).join();
}

TEST(JobTable, SetsOfStreamedSubmitsAreKnownByTheirOwnIds) {
  JobTable jobs;
  EngineJob& streamed = jobs.Add(JobId{10}, 1);
  streamed.SetPayload({JobId{4}, true, false});
  jobs.RememberSet(streamed);
  EngineJob& own = jobs.Add(JobId{11}, 1);
  own.SetPayload({JobId{11}, true, false});
  jobs.RememberSet(own);
  jobs.Add(JobId{12}, 1);
  EXPECT_TRUE(jobs.UsesPayloadSet(JobId{4}));
  EXPECT_TRUE(jobs.UsesPayloadSet(JobId{11}));
  EXPECT_FALSE(jobs.UsesPayloadSet(JobId{10}));
  EXPECT_FALSE(jobs.UsesPayloadSet(JobId{12}));
  jobs.ForgetSet(streamed);
  EXPECT_FALSE(jobs.UsesPayloadSet(JobId{4}));
}

}  // namespace
}  // namespace allot
