// SPDX-License-Identifier: Apache-2.0
// How limits stand to a job, and what one would apply to before it is set.
#include <algorithm>

#include "engine/looks/limit_trial.h"
#include "engine/testing_limits.h"

namespace allot {
namespace {

using namespace std::chrono_literals;
using testing::MustParseLimit;
using testing::SomeLimit;

class EngineLimitViews : public testing::LimitedEngineTest {
 protected:
  std::vector<LimitOnJob> On(JobId job) {
    auto all = engine_->prepared_looks().LimitsOn(now_, job);
    EXPECT_TRUE(all.ok());
    return all->all;
  }
  // In steps of `budget`; 0: in one.
  std::unique_ptr<LimitTrial> Try(const std::string& expr, const std::string& cost = "", std::size_t budget = 0) {
    auto trial = std::make_unique<LimitTrial>(MustParseLimit(expr), MustParseLimit(cost));
    while (!engine_->looks().Collect(now_, *trial, budget == 0 ? 1'000'000 : budget)) ++steps_;
    return trial;
  }
  std::size_t steps_ = 0;
};

// --- LimitsOn().

TEST_F(EngineLimitViews, TellsHowEveryLimitStandsToAJob) {
  const JobId ann = SubmitOf("ann", 5, {{"size", std::int64_t{3}}});
  const JobId bob = SubmitOf("bob", 5);
  EXPECT_TRUE(On(ann).empty());
  SetLimit("slow", SomeLimit("MY.User == \"ann\"", 1));
  SetLimit("costly", SomeLimit("true", 2, "MY.size"));
  LimitSpec monitor = SomeLimit("true", 100);
  monitor.monitor = true;
  SetLimit("watch", monitor);
  // `costly` can never pay ann; what is drawn for bob is seen at once.
  const WorkerId worker = Register();
  ASSERT_EQ(Pull(worker, 9).size(), 2u);  // of bob, whose cost is 1

  const std::vector<LimitOnJob> all = On(ann);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].limit.limit.uuid, "slow");
  EXPECT_FALSE(all[0].limit.blocks);
  EXPECT_EQ(all[0].limit.tokens, 1);
  EXPECT_EQ(all[0].workers, 0u);
  EXPECT_EQ(all[1].limit.limit.uuid, "costly");
  EXPECT_TRUE(all[1].limit.blocks);
  EXPECT_TRUE(all[1].limit.never);
  EXPECT_EQ(all[1].limit.cost.number(), 3);
  EXPECT_EQ(all[1].limit.tokens, 0);
  EXPECT_TRUE(all[2].limit.monitor);

  const std::vector<LimitOnJob> others = On(bob);
  ASSERT_EQ(others.size(), 2u);
  EXPECT_TRUE(others[0].limit.blocks);
  EXPECT_EQ(others[0].limit.payable_at, now_.mono + 30s);
  EXPECT_EQ(engine_->prepared_looks().LimitsOn(now_, JobId{99'999}).error().code, Code::kUnknownJob);
}

TEST_F(EngineLimitViews, AJobOfWhichNothingCanStartIsAnsweredAllTheSame) {
  const JobId job = SubmitOf("ann", 1);
  JobSpec spec = Spec(1);
  spec.user = "ann";
  spec.scheduled_for = now_.wall + 1h;
  const JobId later = Submit(spec);
  SetLimit("slow", SomeLimit("MY.User == \"ann\"", 1));
  ASSERT_TRUE(engine_->jobs().Pause(now_, job).ok());
  EXPECT_EQ(On(job).size(), 1u);
  EXPECT_EQ(On(later).size(), 1u);
  ASSERT_TRUE(engine_->jobs().Resume(now_, job).ok());
  const WorkerId worker = Register();
  ASSERT_EQ(Pull(worker).size(), 1u);  // nothing of it is queued any more
  ASSERT_EQ(On(job).size(), 1u);
  EXPECT_TRUE(On(job)[0].limit.blocks);
  // An ended one starts no more.
  ASSERT_TRUE(engine_->jobs().Cancel(now_, later).ok());
  EXPECT_TRUE(On(later).empty());
}

TEST_F(EngineLimitViews, LookingAtAJobThatIsNotOpenLeavesNothingBehind) {
  const JobId job = SubmitOf("ann", 5);
  SetLimit("slow", SomeLimit("MY.User == \"ann\"", 1));
  ASSERT_TRUE(engine_->jobs().Pause(now_, job).ok());
  EXPECT_EQ(On(job).size(), 1u);
  ASSERT_TRUE(engine_->jobs().Resume(now_, job).ok());
  const WorkerId worker = Register();
  ASSERT_EQ(Pull(worker, 5).size(), 1u);
  EXPECT_EQ(engine_->looks().Stats().limits_waiting, 1u);
  // Nobody is left in the group that waits.
  ASSERT_TRUE(engine_->jobs().Cancel(now_, job).ok());
  Pass(1ms);
  EXPECT_EQ(engine_->looks().Stats().limits_waiting, 0u);
}

TEST_F(EngineLimitViews, OfALimitThatReadsTheWorkerTellsHowManyItHoldsBack) {
  const JobId job = SubmitOf("ann", 50);
  SetLimit("site", SomeLimit("TARGET.Site == \"b\" || TARGET.Site == \"c\"", 2, "TARGET.Site == \"c\" ? 2 : 1"));
  EXPECT_TRUE(On(job).empty());  // there is no worker that it applies to
  RegisterAt("a");
  const WorkerId b = RegisterAt("b");
  RegisterAt("b");
  RegisterAt("c");
  RegisterAt("");
  RegisterAt("b", {"other"});  // may not run it
  ASSERT_EQ(On(job).size(), 1u);
  EXPECT_TRUE(On(job)[0].limit.reads_worker);
  EXPECT_EQ(On(job)[0].workers, 3u);
  EXPECT_EQ(On(job)[0].workers_blocked, 0u);
  ASSERT_EQ(Pull(b, 1).size(), 1u);
  // One token is left: too little for c.
  EXPECT_EQ(On(job)[0].workers_blocked, 1u);
  EXPECT_EQ(On(job)[0].limit.cost.number(), 2);
  EXPECT_EQ(On(job)[0].limit.payable_at, now_.mono + 30s);
  ASSERT_EQ(Pull(b, 9).size(), 1u);
  EXPECT_EQ(On(job)[0].workers_blocked, 3u);
  EXPECT_EQ(On(job)[0].limit.cost.number(), 1);  // the one that can pay first
  EXPECT_EQ(On(job)[0].limit.payable_at, now_.mono + 30s);
}

TEST_F(EngineLimitViews, OfWorkersThatCouldTakeItTellsOnHowManyAnyLimitHoldsItBack) {
  const JobId job = SubmitOf("ann", 50);
  SetLimit("b", SomeLimit("TARGET.Site == \"b\"", 0));
  SetLimit("c", SomeLimit("TARGET.Site =?= \"c\"", 0));
  LimitSpec monitor = SomeLimit("TARGET.Site == \"a\"", 0);
  monitor.monitor = true;
  SetLimit("watch", monitor);
  const auto on = [&](std::optional<WorkerId> only = std::nullopt) {
    auto all = engine_->prepared_looks().LimitsOn(now_, job, only);
    EXPECT_TRUE(all.ok());
    return *all;
  };
  const WorkerId a = RegisterAt("a");
  const WorkerId b = RegisterAt("b");
  RegisterAt("c");
  EXPECT_EQ(on().free, 3u);
  EXPECT_EQ(on().free_blocked, 2u);
  for (const LimitOnJob& on_job : on().all) EXPECT_EQ(on_job.free_blocked, on_job.limit.monitor ? 0u : 1u);
  EXPECT_EQ(on(a).free, 1u);
  EXPECT_EQ(on(a).free_blocked, 0u);
  EXPECT_EQ(on(b).free_blocked, 1u);
  ASSERT_EQ(on(b).all.size(), 1u);
  EXPECT_EQ(on(b).all[0].limit.limit.uuid, "b");
  // Busy.
  ASSERT_EQ(Pull(a).size(), 1u);
  EXPECT_EQ(on().free, 2u);
  EXPECT_EQ(on().free_blocked, 2u);
  EXPECT_EQ(on(a).free, 0u);
}

TEST_F(EngineLimitViews, TellsWhichOfThemAreStops) {
  const JobId job = SubmitOf("ann", 5);
  SetLimit("stop", SomeLimit("true", 0, "0"));
  SetLimit("costly", SomeLimit("true", 2, "3"));
  ASSERT_EQ(On(job).size(), 2u);
  EXPECT_TRUE(On(job)[0].limit.never && On(job)[1].limit.never);
  EXPECT_TRUE(On(job)[0].stops);
  EXPECT_FALSE(On(job)[1].stops);
}

// --- LimitTrial.

TEST_F(EngineLimitViews, ATrialCountsWaitingJobsTasksUsersAndCosts) {
  SubmitOf("ann", 5, {{"size", std::int64_t{3}}});
  SubmitOf("ann", 2);
  SubmitOf("bob", 9, {{"size", 0.5}});
  SubmitOf("eve", 1, {{"size", std::int64_t{4}}});
  const JobId paused = SubmitOf("ann", 7, {{"size", std::int64_t{3}}});
  ASSERT_TRUE(engine_->jobs().Pause(now_, paused).ok());
  const WorkerId worker = RegisterAt("a");
  RegisterAt("b", {"other"});
  ASSERT_EQ(Pull(worker, 1).size(), 1u);

  const auto trial = Try("MY.User != \"eve\"", "MY.size");
  EXPECT_TRUE(trial->job_only());
  EXPECT_TRUE(trial->complete());
  EXPECT_EQ(trial->jobs_seen(), 5u);
  EXPECT_EQ(trial->jobs(), 3u);
  EXPECT_EQ(trial->tasks(), 15u);
  EXPECT_EQ(trial->least_cost(), 0.5);
  EXPECT_EQ(trial->most_cost(), 3);
  EXPECT_TRUE(trial->cost_failed());  // where there is no size
  ASSERT_EQ(trial->users().size(), 2u);
  EXPECT_EQ(trial->users()[0].user, "bob");
  EXPECT_EQ(trial->users()[0].tasks, 9u);
  EXPECT_EQ(trial->users()[1].user, "ann");
  EXPECT_EQ(trial->users()[1].jobs, 2u);
  EXPECT_EQ(trial->users()[1].tasks, 6u);
  // The worker that may run them, and not the other.
  EXPECT_EQ(trial->worker_count(), 1u);
  EXPECT_EQ(trial->workers().at(0).id, worker);

  const auto none = Try("MY.User == \"nobody\"");
  EXPECT_EQ(none->jobs(), 0u);
  EXPECT_EQ(none->worker_count(), 0u);
  EXPECT_EQ(none->least_cost(), 0);
  EXPECT_TRUE(none->users().empty());
  EXPECT_TRUE(engine_->looks().Limits(now_, {}).empty());  // nothing was set
}

TEST_F(EngineLimitViews, ATrialOfALimitThatReadsTheWorkerCountsPairsThatCanBe) {
  SubmitOf("ann", 3);
  SubmitOf("bob", 4);
  JobSpec other = Spec(5, {"other"});
  other.user = "ann";
  Submit(other);
  const std::string expr = "MY.User == \"ann\" && TARGET.Site == \"b\"";
  EXPECT_EQ(Try(expr)->jobs(), 0u);  // there is no worker yet
  EXPECT_FALSE(Try(expr)->job_only());
  RegisterAt("a", {"a", "other"});
  EXPECT_EQ(Try(expr)->jobs(), 0u);
  const WorkerId b = RegisterAt("b");
  const auto trial = Try(expr, "TARGET.Site == \"b\" ? 7 : 1");
  EXPECT_EQ(trial->jobs(), 1u);
  EXPECT_EQ(trial->tasks(), 3u);
  EXPECT_EQ(trial->least_cost(), 7);
  EXPECT_EQ(trial->most_cost(), 7);
  EXPECT_FALSE(trial->cost_failed());
  EXPECT_EQ(trial->worker_count(), 1u);
  ASSERT_EQ(trial->workers().size(), 1u);
  EXPECT_EQ(trial->workers()[0].id, b);
  EXPECT_EQ(trial->workers()[0].name, "at-b");
  // Where the job alone decides, on any worker.
  EXPECT_EQ(Try("MY.User == \"ann\" || TARGET.Site == \"b\"")->tasks(), 12u);
}

TEST_F(EngineLimitViews, ATrialTellsWhatTheLimitThenDoes) {
  static const char* const kExprs[] = {"TARGET.Site == MY.site", "MY.size > 1 && TARGET.Site != \"s0\"", "MY.size == 2",
                                       "TARGET.Site =?= undefined || MY.User == \"u1\""};
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    SetUp();
    for (std::uint64_t i = rng.Below(15); i > 0; --i) {
      Meta meta{{"size", static_cast<std::int64_t>(rng.Below(4))}};
      if (rng.Below(2) == 0) meta.emplace_back("site", "s" + std::to_string(rng.Below(4)));
      JobSpec spec = Spec(static_cast<std::uint32_t>(1 + rng.Below(3)), {rng.Below(2) == 0 ? "a" : "b"});
      spec.user = "u" + std::to_string(rng.Below(3));
      spec.meta = std::move(meta);
      Submit(spec);
    }
    for (std::uint64_t i = rng.Below(6); i > 0; --i) {
      RegisterAt(rng.Below(4) == 0 ? "" : "s" + std::to_string(rng.Below(3)), {rng.Below(2) == 0 ? "a" : "b"});
    }
    const std::string expr = kExprs[rng.Below(4)];
    const auto trial = Try(expr, "MY.size", 1 + rng.Below(4));
    // Set, it blocks every start that it applies to.
    SetLimit("stop", SomeLimit(expr, 0, "MY.size"));
    std::uint64_t jobs = 0, tasks = 0;
    for (const JobView& job : engine_->looks().List({}).jobs) {
      const std::vector<LimitOnJob> all = On(job.id);
      if (all.empty()) continue;
      ++jobs;
      tasks += job.queued;
      ASSERT_EQ(all[0].limit.reads_worker, all[0].workers > 0);
    }
    ASSERT_EQ(trial->jobs(), jobs) << expr;
    ASSERT_EQ(trial->tasks(), tasks) << expr;
  }
  EXPECT_GT(steps_, 100u);
}

TEST_F(EngineLimitViews, ATrialShowsTheUsersWithMostTasksAndAHundredWorkers) {
  for (int i = 0; i < 300; ++i) SubmitOf("u" + std::to_string(i), static_cast<std::uint32_t>(1 + i));
  for (int i = 0; i < 150; ++i) RegisterAt("s" + std::to_string(i % 3));
  const auto trial = Try("TARGET.Site != \"s0\"", "", 50);
  EXPECT_GT(steps_, 5u);
  EXPECT_EQ(trial->jobs(), 300u);
  ASSERT_EQ(trial->users().size(), 100u);
  EXPECT_EQ(trial->users()[0].user, "u299");
  EXPECT_EQ(trial->users()[99].user, "u200");
  EXPECT_EQ(trial->worker_count(), 100u);
  EXPECT_EQ(trial->workers().size(), 100u);
  EXPECT_EQ(Try("true")->worker_count(), 150u);
  EXPECT_EQ(Try("true")->workers().size(), 100u);
}

TEST_F(EngineLimitViews, ATrialThatTakesTooLongEndsWithWhatWasSeen) {
  for (int i = 0; i < 300; ++i) SubmitOf("ann");
  RegisterAt("a");
  LimitTrial trial(MustParseLimit("MY.User == \"ann\""), nullptr);
  ASSERT_FALSE(engine_->looks().Collect(now_, trial, 100));
  Move(now_.mono + 3s);
  ASSERT_TRUE(engine_->looks().Collect(now_, trial, 100));
  EXPECT_FALSE(trial.complete());
  EXPECT_GT(trial.jobs(), 0u);
  EXPECT_LT(trial.jobs(), 300u);
  EXPECT_EQ(trial.jobs(), trial.jobs_seen());
  EXPECT_EQ(trial.users().size(), 1u);
  EXPECT_EQ(trial.worker_count(), 1u);
}

TEST_F(EngineLimitViews, ATrialGoesOnWhileJobsAndWorkersComeAndGo) {
  Rng rng(3);
  std::vector<JobId> jobs;
  std::vector<WorkerId> workers;
  for (int i = 0; i < 300; ++i) {
    JobSpec spec = Spec(1, {"t" + std::to_string(i % 70)});
    spec.user = "u" + std::to_string(i % 5);
    jobs.push_back(Submit(spec));
  }
  for (int i = 0; i < 100; ++i) workers.push_back(RegisterAt("s" + std::to_string(i), {"t" + std::to_string(i % 70)}));
  LimitTrial trial(MustParseLimit("TARGET.Site != MY.site && TARGET.Site != \"s1\""), nullptr);
  for (int i = 0; !engine_->looks().Collect(now_, trial, 5); ++i) {
    ++steps_;
    ASSERT_LT(i, 10'000);
    if (i % 3 != 0) continue;
    ASSERT_TRUE(engine_->jobs().Cancel(now_, jobs[rng.Below(jobs.size())]).ok());
    engine_->workers().Unregister(now_, workers[rng.Below(workers.size())]);
    SubmitOf("late");
    Pass(1ms);
  }
  EXPECT_GT(steps_, 20u);
  EXPECT_TRUE(trial.complete());
  EXPECT_LE(trial.worker_count(), 100u);
}

}  // namespace
}  // namespace allot
