// SPDX-License-Identifier: Apache-2.0
// Limits on starts: what they block, what goes on beside it, and what time and refunds open again.
#include <set>

#include "engine/pace.h"
#include "engine/testing_limits.h"
#include "engine/testing_steps.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineLimitTest : public testing::LimitedEngineTest {
 protected:
  static LimitSpec Limit(const std::string& expr, double count, const std::string& cost = "") {
    return testing::SomeLimit(expr, count, cost);
  }
  std::vector<JobId> JobsOf(const std::vector<Grant>& grants) {
    std::vector<JobId> jobs;
    for (const Grant& grant : grants) jobs.push_back(grant.task.job);
    return jobs;
  }
  LimitView ViewOf(const std::string& uuid) { return engine_->looks().Limits(now_, {std::nullopt, uuid}).at(0); }
};

TEST_F(EngineLimitTest, WhatALimitHoldsBackDoesNotHideTheNext) {
  const JobId slow = SubmitOf("slow", 10);
  const JobId quick = SubmitOf("quick", 3);
  SetLimit("l1", Limit("User == \"slow\"", 2));
  const WorkerId worker = Register();
  EXPECT_EQ(JobsOf(Pull(worker, 10)), (std::vector<JobId>{slow, slow, quick, quick, quick}));
  EXPECT_TRUE(Pull(worker, 10).empty());
  EXPECT_EQ(ViewOf("l1").allowed, 2u);
  EXPECT_EQ(engine_->looks().Stats().limits_waiting, 1u);
}

TEST_F(EngineLimitTest, WhoWaitsIsWokenAtTheInstantOfPayment) {
  SubmitOf("slow", 10);
  SetLimit("l1", Limit("User == \"slow\"", 2));
  const WorkerId worker = Register();
  EXPECT_EQ(Pull(worker, 2).size(), 2u);
  Wait(worker);
  Pass(29'999ms);
  EXPECT_TRUE(Grants().empty());
  Pass(1ms);
  EXPECT_EQ(Grants().size(), 1u);
  Wait(worker);
  Pass(29'999ms);
  EXPECT_TRUE(Grants().empty());
  Pass(1ms);
  EXPECT_EQ(Grants().size(), 1u);
}

TEST_F(EngineLimitTest, NoChangeOfTermsStartsWhatTheTermsWouldNotHave) {
  SubmitOf("slow", 100);
  LimitSpec own = Limit("User == \"slow\"", 1);
  own.window = 1h, own.burst = 5;
  SetLimit("l1", own);
  const WorkerId worker = Register();
  EXPECT_EQ(Pull(worker, 50).size(), 6u);
  for (int i = 0; i < 5; ++i) {
    for (const auto& [count, burst] : {std::pair(1.0, 0.0), {0.0, 0.0}, {0.0, 5.0}, {1.0, 5.0}}) {
      LimitSpec other = own;
      other.count = count, other.burst = burst, other.monitor = false;
      ASSERT_TRUE(engine_->limits().Update(now_, "l1", other).ok());
      EXPECT_TRUE(Pull(worker, 50).empty()) << "count " << count << ", burst " << burst;
    }
  }
  EXPECT_EQ(ViewOf("l1").tokens, -5);
}

// Users of jobs that are alike to the limit are denied together: whoever's is first in the order.
TEST_F(EngineLimitTest, EveryUserWhoseStartWasDeniedIsIgnored) {
  for (const char* user : {"ann", "bob", "eve"}) SubmitOf(user, 2);
  SetLimit("l1", Limit("true", 1));
  const WorkerId worker = Register();
  EXPECT_EQ(Pull(worker, 3).size(), 1u);
  EXPECT_EQ(testing::NamesOf(ViewOf("l1").ignored_users).size(), 3u);
  EXPECT_EQ(ViewOf("l1").ignored_matches, 1u);
  Move(now_.mono + 5s);
  SubmitOf("late");
  EXPECT_EQ(ViewOf("l1").ignored_users.size(), 3u) << "nobody has asked since";
  EXPECT_TRUE(Pull(worker, 3).empty());
  EXPECT_EQ(ViewOf("l1").ignored_users.size(), 4u);
  for (const IgnoredView& user : ViewOf("l1").ignored_users) EXPECT_EQ(user.at, now_.wall) << user.user;
  EXPECT_EQ(ViewOf("l1").ignored_matches, 2u);
  EXPECT_EQ(ViewOf("l1").skipped, 1u);
}

TEST_F(EngineLimitTest, ATryOfAWorkerThatMayNotRunThemDeniesNobody) {
  SubmitOf("ann", 2);
  SetLimit("l1", Limit("true", 0));
  EXPECT_TRUE(Pull(RegisterAt("", {"other"}), 1).empty());
  EXPECT_EQ(ViewOf("l1").ignored_matches, 0u);
  EXPECT_TRUE(ViewOf("l1").ignored_users.empty());
  const WorkerId may = Register();
  EXPECT_TRUE(Pull(may, 1).empty());
  EXPECT_TRUE(Pull(RegisterAt("", {"other"}), 1).empty());
  EXPECT_EQ(ViewOf("l1").ignored_matches, 1u);
  EXPECT_TRUE(Pull(may, 1).empty());
  EXPECT_EQ(ViewOf("l1").ignored_matches, 2u);
}

TEST_F(EngineLimitTest, WhoWaitsIsDeniedWhatComesMeanwhile) {
  SetLimit("l1", Limit("true", 0));
  const WorkerId worker = Register();
  Wait(worker);
  SubmitOf("ann");
  SubmitOf("bob");
  EXPECT_EQ(testing::NamesOf(ViewOf("l1").ignored_users), (std::vector<std::string>{"ann", "bob"}));
  EXPECT_EQ(ViewOf("l1").ignored_matches, 2u);
}

TEST_F(EngineLimitTest, TheBanLastsAsLongAsTheQueueSays) {
  engine_->queue().SetLimitBanWindow(10s);
  const JobId job = SubmitOf("ann");
  SetLimit("l1", Limit("true", 0));
  EXPECT_TRUE(Pull(Register(), 1).empty());
  ASSERT_TRUE(engine_->jobs().Cancel(now_, job).ok());
  Move(now_.mono + 10s - 1us);
  EXPECT_EQ(testing::NamesOf(ViewOf("l1").ignored_users), (std::vector<std::string>{"ann"}));
  Move(now_.mono + 1us);
  EXPECT_TRUE(ViewOf("l1").ignored_users.empty());
}

TEST_F(EngineLimitTest, APullThatDoesNotWaitFindsWhatCanPayByThen) {
  SubmitOf("slow", 10);
  SetLimit("l1", Limit("User == \"slow\"", 1));
  const WorkerId worker = Register();
  EXPECT_EQ(Pull(worker, 5).size(), 1u);
  Move(now_.mono + 60s);  // no tick in between
  EXPECT_EQ(Pull(worker, 5).size(), 1u);
}

TEST_F(EngineLimitTest, ALimitThatReadsTheWorkerHoldsBackOnlyPairs) {
  SubmitOf("u", 100);
  SetLimit("l1", Limit("TARGET.Site == \"x\"", 1));
  const WorkerId x1 = RegisterAt("x"), x2 = RegisterAt("x"), y = RegisterAt("y"), none = RegisterAt("");
  EXPECT_EQ(Pull(x1, 3).size(), 1u);
  EXPECT_TRUE(Pull(x2, 3).empty());
  EXPECT_EQ(Pull(y, 3).size(), 3u);
  EXPECT_EQ(Pull(none, 3).size(), 3u);
  Wait(x1);
  Wait(x2);
  Pass(59'999ms);
  EXPECT_TRUE(Grants().empty());
  Pass(1ms);
  EXPECT_EQ(Served(), (std::vector<WorkerId>{x1}));
  EXPECT_EQ(Pull(y, 3).size(), 3u);
}

TEST_F(EngineLimitTest, OfThoseWhoWaitNobodyStandsInAnothersWay) {
  // All are of one kind; only limits tell them apart, and the one at x has waited longest.
  SetLimit("l1", Limit("TARGET.Site == \"x\"", 0));
  const WorkerId x = RegisterAt("x"), y = RegisterAt("y");
  Wait(x);
  Wait(y);
  SubmitOf("u");
  EXPECT_EQ(Served(), (std::vector<WorkerId>{y}));
}

TEST_F(EngineLimitTest, WhoWaitsIsToldApartByALimitThatComesLater) {
  const WorkerId x = RegisterAt("x"), y = RegisterAt("y");
  Wait(x);
  Wait(y);
  SetLimit("l1", Limit("TARGET.Site == \"x\"", 0));
  SubmitOf("u");
  EXPECT_EQ(Served(), (std::vector<WorkerId>{y}));
  // And it moves on when it is changed.
  WorkerChange change;
  change.attributes = Meta{{"Site", "z"}};
  SubmitOf("u");
  EXPECT_TRUE(Grants().empty());
  ASSERT_TRUE(engine_->workers().Change(now_, x, change).ok());
  EXPECT_EQ(Served(), (std::vector<WorkerId>{x}));
}

TEST_F(EngineLimitTest, AllRunsAsBeforeWhenTheLeaseEnds) {
  SubmitOf("slow", 10);
  LimitSpec stop = Limit("User == \"slow\"", 0);
  stop.expires_in = 30s;
  SetLimit("l1", stop);
  const WorkerId worker = Register();
  Wait(worker, 5);
  Pass(20s);
  ASSERT_TRUE(engine_->limits().Renew(now_, "l1", std::nullopt).ok());
  Pass(29'999ms);
  EXPECT_TRUE(Grants().empty());
  Pass(2ms);
  EXPECT_EQ(Grants().size(), 5u);
  ASSERT_EQ(last_.limit_notices.size(), 1u);
  EXPECT_EQ(last_.limit_notices[0].kind, LimitNotice::Kind::kExpired);
  EXPECT_TRUE(engine_->looks().Limits(now_, {}).empty());
}

TEST_F(EngineLimitTest, ADeletedLimitOpensAtOnce) {
  SubmitOf("slow", 10);
  SetLimit("l1", Limit("true", 0));
  const WorkerId worker = Register();
  Wait(worker, 5);
  EXPECT_TRUE(Grants().empty());
  ASSERT_TRUE(engine_->limits().Delete(now_, "l1").ok());
  EXPECT_EQ(Grants().size(), 5u);
}

TEST_F(EngineLimitTest, ALimitAppliesAtOnceToJobsThatWaitAlready) {
  for (int i = 0; i < 3000; ++i) SubmitOf("slow");
  const JobId last = SubmitOf("quick");
  const WorkerId worker = Register();
  SetLimit("l1", Limit("User == \"slow\"", 5));
  // More jobs than are grouped in one command: the look goes on with the next ticks, and no start slips through.
  Wait(worker, 3000);
  Pass(100ms);
  EXPECT_EQ(ViewOf("l1").allowed, 5u);
  EXPECT_TRUE(View(last).started_at);
}

TEST_F(EngineLimitTest, WhatNeverLeftGivesItsTokensBack) {
  SubmitOf("slow", 10);
  SetLimit("l1", Limit("User == \"slow\"", 1));
  const WorkerId worker = Register();
  const auto grants = Pull(worker, 5);
  ASSERT_EQ(grants.size(), 1u);
  const TaskRef task = grants[0].task;
  engine_->workers().Undelivered(now_, std::span(&task, 1));
  EXPECT_EQ(ViewOf("l1").allowed, 0u);
  EXPECT_EQ(ViewOf("l1").tokens, 1);
  EXPECT_EQ(Pull(worker, 5).size(), 1u);
}

TEST_F(EngineLimitTest, WhatWentToALostConnectionGivesItsTokensBack) {
  SubmitOf("slow", 10);
  SetLimit("l1", Limit("User == \"slow\"", 1));
  const WorkerId worker = Register();
  Wait(worker, 1);
  ComeBack(worker, {});  // before anything left
  EXPECT_TRUE(Grants().empty());
  EXPECT_EQ(ViewOf("l1").tokens, 1);
  EXPECT_EQ(Pull(worker, 5).size(), 1u);
}

TEST_F(EngineLimitTest, WhatAWorkerGivesBackIsPaidForAllTheSame) {
  SubmitOf("slow", 10);
  SetLimit("l1", Limit("User == \"slow\"", 1));
  const WorkerId worker = Register();
  const auto grants = Pull(worker, 5);
  ASSERT_EQ(grants.size(), 1u);
  Say(worker, grants[0].task, ReportKind::kReleased);
  EXPECT_TRUE(Pull(worker, 5).empty());
}

TEST_F(EngineLimitTest, AChangedJobIsJudgedAnew) {
  const JobId job = SubmitOf("u", 2, {{"size", std::int64_t{5}}});
  SetLimit("l1", Limit("MY.size > 3", 0));
  const WorkerId worker = Register();
  Wait(worker, 1);
  EXPECT_TRUE(Grants().empty());
  JobChange change;
  change.meta = Meta{{"size", std::int64_t{1}}};
  ASSERT_TRUE(engine_->jobs().Change(now_, job, change).ok());
  EXPECT_EQ(Grants().size(), 1u);
}

TEST_F(EngineLimitTest, AMonitorCountsAndHoldsNothingBack) {
  SubmitOf("u", 10);
  LimitSpec monitor = Limit("true", 2);
  monitor.monitor = true;
  SetLimit("l1", monitor);
  const WorkerId worker = Register();
  EXPECT_EQ(Pull(worker, 10).size(), 10u);
  EXPECT_EQ(ViewOf("l1").allowed, 2u);
  EXPECT_EQ(ViewOf("l1").skipped, 8u);
}

TEST_F(EngineLimitTest, NothingIsDrawnWhereOneOfSeveralDenies) {
  SubmitOf("u", 10);
  SetLimit("wide", Limit("true", 100));
  SetLimit("shut", Limit("User == \"u\"", 0));
  const WorkerId worker = Register();
  EXPECT_TRUE(Pull(worker, 10).empty());
  EXPECT_EQ(ViewOf("wide").tokens, 100);
  EXPECT_EQ(ViewOf("wide").allowed, 0u);
}

TEST_F(EngineLimitTest, EveryOrderSkipsWhatIsHeldAndFindsItAgain) {
  SetPolicy("max_simultaneous(user, 100, worker)");
  SubmitOf("u1", 50);
  SetLimit("l1", Limit("MY.User == \"u1\"", 1));
  for (const char* strategy : {"oldest", "newest", "random", "fair(user, oldest)", "prefer_distinct(user, random)",
                               "or_else(select_only(user = \"u1\", oldest), priority)"}) {
    SCOPED_TRACE(strategy);
    for (const char* user : {"u0", "u2", "u3"}) SubmitOf(user);
    const WorkerId worker = RegisterBy(strategy);
    const auto done = [&](const std::vector<Grant>& grants) {
      for (const Grant& grant : grants) Say(worker, grant.task, ReportKind::kDone);
      return grants.size();
    };
    EXPECT_EQ(done(Pull(worker, 10)), 4u);  // all others, and one
    Wait(worker, 1);
    Pass(59'999ms);
    EXPECT_TRUE(Grants().empty());
    Pass(1ms);
    EXPECT_EQ(done(Grants()), 1u);
    ASSERT_TRUE(engine_->limits().Renew(now_, "l1", 300s).ok());
    Pass(60s);  // one more is paid for, and not asked for
  }
  EXPECT_EQ(ViewOf("l1").allowed, 12u);
}

TEST_F(EngineLimitTest, TheLogIsToldWhatALimitDid) {
  SubmitOf("slow", 10, {{"weight", "heavy"}});
  LimitSpec spec = Limit("User == \"slow\"", 1, "MY.weight");
  spec.name = "slowly";
  spec.expires_in = 90s;
  SetLimit("l1", spec);
  Wait(Register(), 5);
  std::vector<LimitNotice::Kind> kinds;
  for (int i = 0; i < 130; ++i) {
    Pass(1s);
    Grants();
    for (const LimitNotice& notice : last_.limit_notices) {
      EXPECT_EQ(notice.limit.name, "slowly");
      kinds.push_back(notice.kind);
    }
  }
  EXPECT_EQ(kinds, (std::vector<LimitNotice::Kind>{LimitNotice::Kind::kCostFailed, LimitNotice::Kind::kSummary,
                                                   LimitNotice::Kind::kExpired, LimitNotice::Kind::kSummary}));
}

TEST_F(EngineLimitTest, WhoWaitsIsWokenThoughAnotherLimitCameInBetween) {
  SubmitOf("slow", 10);
  SetLimit("l1", Limit("User == \"slow\"", 2));
  const WorkerId worker = Register();
  EXPECT_EQ(Pull(worker, 2).size(), 2u);
  Wait(worker);
  Pass(10s);
  EXPECT_TRUE(Grants().empty());
  SetLimit("l2", Limit("User == \"slow\"", 100));
  Pass(19'999ms);
  EXPECT_TRUE(Grants().empty());
  Pass(1ms);
  EXPECT_EQ(Grants().size(), 1u);
}

TEST_F(EngineLimitTest, NoLimitSurvivesARestart) {
  SubmitOf("slow", 10);
  SetLimit("l1", Limit("true", 0));
  Fold();
  Load(0s);
  EXPECT_TRUE(engine_->looks().Limits(now_, {}).empty());
  EXPECT_EQ(Pull(Register(), 10).size(), 10u);
}

TEST_F(EngineLimitTest, ALimitThatMatchesOthersNowOpensAtOnce) {
  SubmitOf("slow", 10);
  SetLimit("l1", Limit("User == \"slow\"", 0));
  const WorkerId worker = Register();
  Wait(worker, 5);
  EXPECT_TRUE(Grants().empty());
  ASSERT_TRUE(engine_->limits().Update(now_, "l1", Limit("User == \"quick\"", 0)).ok());
  EXPECT_EQ(Grants().size(), 5u);
}

TEST_F(EngineLimitTest, ACommandThatIsRefusedTakesNoWakeUpWithIt) {
  SubmitOf("slow", 10);
  SetLimit("l1", Limit("User == \"slow\"", 5));
  const WorkerId worker = Register();
  EXPECT_EQ(Pull(worker, 5).size(), 5u);
  Wait(worker);
  Pass(11'500ms);
  Move(now_.mono + 500ms);
  ASSERT_FALSE(engine_->workers().Heartbeat(now_, WorkerId{7}).ok());
  EXPECT_EQ(engine_->NextWake(now_), now_.mono);
  engine_->Tick(now_);
  EXPECT_EQ(Grants().size(), 1u);
}

TEST_F(EngineLimitTest, WhoWaitsIsWokenInTimeThoughLimitsReadLessOfItMeanwhile) {
  SubmitOf("u", 10);
  SetLimit("l1", Limit("TARGET.Site == \"x\"", 5));
  SetLimit("l2", Limit("TARGET.Speed == 7", 1));
  const WorkerId worker = RegisterAt("x");
  EXPECT_EQ(Pull(worker, 5).size(), 5u);
  Wait(worker);
  Pass(5s);
  ASSERT_TRUE(engine_->limits().Delete(now_, "l2").ok());
  Pass(6'999ms);
  EXPECT_TRUE(Grants().empty());
  Pass(1ms);
  EXPECT_EQ(Grants().size(), 1u);
}

TEST_F(EngineLimitTest, WhoWaitsIsWokenInTimeThoughAnotherTookFromItsJobWhenALimitWasNew) {
  for (int i = 0; i < 1000; ++i) Submit(Spec(1, {"b"}));  // so many that not all are grouped at once
  SubmitOf("u", 20);
  SetLimit("l1", Limit("TARGET.Site == \"x\"", 5));
  const WorkerId x = RegisterAt("x"), y = Register({"c"});
  Pass(1s);
  EXPECT_EQ(Pull(x, 5).size(), 5u);
  Wait(x);
  Wait(y);
  SetLimit("l2", Limit("MY.User == \"u\"", 100));
  WorkerChange change;
  change.tags = std::vector<std::string>{"a"};
  ASSERT_TRUE(engine_->workers().Change(now_, y, change).ok());
  EXPECT_EQ(Served(), (std::vector<WorkerId>{y}));
  Pass(11'999ms);
  EXPECT_TRUE(Grants().empty());
  Pass(1ms);
  EXPECT_EQ(Served(), (std::vector<WorkerId>{x}));
}

TEST_F(EngineLimitTest, WhoWaitsIsWokenThoughALookOfAnotherMovedTheJob) {
  for (int i = 0; i < 3000; ++i) Submit(Spec(1, {"z"}));  // so that grouping is not through at once
  SubmitOf("u", 10, {{"special", true}});
  SetLimit("l0", Limit("MY.special && TARGET.Site == \"y\"", 0));
  SetLimit("l1", Limit("MY.special && TARGET.Site == \"x\"", 1));
  Pass(1s);
  const WorkerId x = RegisterAt("x"), y = RegisterAt("y");
  EXPECT_EQ(Pull(x, 1).size(), 1u);
  Wait(x);
  Wait(y);
  Grants();
  SetLimit("l9", Limit("MY.special", 100));
  ASSERT_TRUE(engine_->limits().Delete(now_, "l0").ok());
  EXPECT_EQ(Served(), (std::vector<WorkerId>{y}));
  Pass(61s);
  EXPECT_EQ(Served(), (std::vector<WorkerId>{x}));
}

TEST_F(EngineLimitTest, AGroupThatIsBlockedWhileItJoinsTheOthersIsFoundAgain) {
  SetLimit("l1", Limit("true", 0));
  const auto submit = [&](const std::string& user, const std::string& tag) {
    JobSpec spec = Spec(1, {tag});
    spec.user = user;
    Submit(spec);
  };
  submit("first", "a");
  for (int i = 0; i < 3000; ++i) submit("u" + std::to_string(i), "b");
  const WorkerId a = RegisterBy("fair(user, oldest)", {"a"});
  const WorkerId b = RegisterBy("fair(user, oldest)", {"b"});
  Pass(10ms);
  EXPECT_TRUE(Pull(a).empty());
  Wait(b);
  Pass(100ms);
  Wait(b, 0);
  EXPECT_TRUE(Grants().empty());
  ASSERT_TRUE(engine_->limits().Update(now_, "l1", Limit("true", 1000)).ok());
  // Nobody asks for longer than a group stands apart: it begins to join the others, in many steps.
  Pass(2990ms);
  for (int i = 0; i < 4000 && *engine_->NextWake(now_) > now_.mono; ++i) {
    Move(now_.mono + 1ms);
    engine_->Tick(now_);
  }
  ASSERT_TRUE(engine_->limits().Update(now_, "l1", Limit("true", 0)).ok());
  Wait(a);
  Pass(10ms);
  EXPECT_TRUE(Grants().empty());
  ASSERT_TRUE(engine_->limits().Update(now_, "l1", Limit("true", 1000)).ok());
  Pass(30s);
  EXPECT_EQ(Served(), (std::vector<WorkerId>{a}));
}

TEST_F(EngineLimitTest, LimitsThatChangeAgainAndAgainKeepNothingElseWaiting) {
  for (int i = 0; i < 3000; ++i) SubmitOf("slow");
  JobSpec spec = Spec(1);
  spec.retention = 1ms;
  const JobId job = Submit(spec);
  ASSERT_TRUE(engine_->jobs().Cancel(now_, job).ok());
  SetLimit("l1", Limit("MY.User == \"nobody\"", 0));
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(engine_->limits().Update(now_, "l1", Limit("MY.User == \"nobody" + std::to_string(i) + "\"", 0)).ok());
    for (int k = 0; k < 5; ++k) {
      Move(now_.mono + 1ms);
      engine_->Tick(now_);
    }
  }
  EXPECT_FALSE(engine_->looks().Describe(job).ok());
}

TEST_F(EngineLimitTest, AStartIsNotAskedForByEveryGroupThatItsTokenOpened) {
  // One bucket for all; what another counts tells them apart.
  SetLimit("l1", Limit("MY.User == \"slow\"", 60));
  LimitSpec monitor = Limit("MY.User == \"slow\"", 1, "MY.size");
  monitor.monitor = true;
  SetLimit("l2", monitor);
  for (std::int64_t i = 0; i < 1000; ++i) SubmitOf("slow", 1, {{"size", i}});
  const WorkerId worker = Register();
  EXPECT_EQ(Pull(worker, 60).size(), 60u);
  Wait(worker, 1000);
  Pass(500ms);
  EXPECT_EQ(engine_->looks().Stats().limits_waiting, 940u);
  Grants();
  const std::uint64_t before = engine_->looks().Stats().limit_denials;
  for (int i = 0; i < 5; ++i) {
    Pass(1s);
    EXPECT_EQ(Grants().size(), 1u);
  }
  EXPECT_LE(engine_->looks().Stats().limit_denials - before, 5u * 10);
}

// Every pick asks about each group that stands apart and is open: they join the others before more are opened.
TEST_F(EngineLimitTest, ManyGroupsThatCanPayAtOnceOpenInLotsThatPicksCanAskAbout) {
  constexpr std::size_t kJobs = 5'000;
  static_assert(kJobs > 3 * kMaxOpened);
  for (std::size_t i = 0; i < kJobs; ++i) SubmitOf("ann", 1, {{"size", static_cast<std::int64_t>(i + 2)}});
  SetLimit("l1", Limit("true", 1, "MY.size"));
  const WorkerId worker = Register();
  Wait(worker, 100);
  Pass(2s);  // all have been looked at, and stand aside
  ASSERT_EQ(Grants().size(), 0u);
  ASSERT_TRUE(engine_->limits().Delete(now_, "l1").ok());
  std::set<JobId> started;
  for (int i = 0; i < 10'000 && started.size() < kJobs; ++i) {
    const std::vector<Grant> grants = Grants();
    for (const Grant& grant : grants) started.insert(grant.task.job);
    if (!grants.empty()) Wait(worker, 100);
    EXPECT_LE(EngineCheck::OpenedGroups(*engine_), kMaxOpened);
    Pass(1ms);
  }
  EXPECT_EQ(started.size(), kJobs);
  EXPECT_EQ(engine_->looks().Stats().limits_waiting, 0u);
}

// Those stand apart and are asked about too, but are not open: however many there are, others open.
TEST_F(EngineLimitTest, GroupsThatAreHeldOnSomeWorkersAloneKeepNoOthersShut) {
  for (std::size_t i = 0; i < 3 * kMaxOpened; ++i) {
    SubmitOf("ann", 1, {{"size", static_cast<std::int64_t>(i + 2)}});
  }
  const JobId other = SubmitOf("bob", 2);
  SetLimit("l1", Limit("MY.User == \"ann\" && TARGET.Site == \"x\"", 1, "MY.size"));
  SetLimit("l2", Limit("MY.User == \"bob\"", 1));
  const WorkerId worker = RegisterAt("x");
  Wait(worker, 10);
  Pass(2s);
  EXPECT_EQ(JobsOf(Grants()), (std::vector<JobId>{other}));
  Pass(57s);
  ASSERT_TRUE(Grants().empty());
  Move(now_.mono + 2s);  // there is a token again
  std::vector<Grant> grants;
  for (int i = 0; i < 100 && grants.empty(); ++i) {
    Wait(worker, 10);
    engine_->Tick(now_);
    grants = Grants();
  }
  EXPECT_EQ(JobsOf(grants), (std::vector<JobId>{other}));
}

// Nobody asks for what was opened; and jobs are put into new groups again and again, which is never through.
TEST_F(EngineLimitTest, WhatIsOpenMakesRoomForOthersWhateverElseThereIsToDo) {
  constexpr std::size_t kJobs = 3'000;
  for (std::size_t i = 0; i < kJobs; ++i) {
    JobSpec spec = Spec(1, {"b"});
    spec.meta = {{"size", static_cast<std::int64_t>(i + 2)}};
    Submit(spec);
  }
  const JobId last = SubmitOf("ann", 1, {{"size", std::int64_t{kJobs + 2}}});
  SetLimit("l1", Limit("true", 1, "MY.size"));
  const WorkerId a = Register({"a"}), b = Register({"b"});
  Wait(a);
  Wait(b, 100);
  Pass(2s);  // all have been looked at, and stand aside
  ASSERT_TRUE(Grants().empty());
  Wait(b, 0);
  ASSERT_TRUE(engine_->limits().Delete(now_, "l1").ok());
  SetLimit("l2", Limit("MY.size > 0", 1'000'000));
  std::vector<Grant> grants;
  for (int i = 0; i < 200 && grants.empty(); ++i) {
    ASSERT_TRUE(engine_->limits().Update(now_, "l2", Limit("MY.size > " + std::to_string(i + 1), 1'000'000)).ok());
    Move(now_.mono + 1ms);
    engine_->Tick(now_);
    grants = Grants();
  }
  EXPECT_EQ(JobsOf(grants), (std::vector<JobId>{last}));
}

}  // namespace
}  // namespace allot
