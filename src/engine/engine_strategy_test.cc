// SPDX-License-Identifier: Apache-2.0
// Strategies and policies inside the engine: what tests of strategy/ do not reach, or what should be seen by name.
#include <cmath>

#include "base/bounds.h"
#include "engine/pace.h"
#include "engine/testing.h"
#include "strategy/some_strategy.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineStrategyTest : public testing::EngineTest {
 protected:
  JobSpec For(const std::string& customer, std::uint32_t count) {
    JobSpec spec = Spec(count);
    spec.meta = {{"customer", customer}};
    return spec;
  }
  std::string CustomerOf(const Grant& grant) { return std::get<std::string>(View(grant.task.job).meta->at(0).second); }
};

TEST_F(EngineStrategyTest, CustomersTakeTurnsForAWorkerThatNeverReports) {
  for (const char* customer : {"1", "2", "3"}) Submit(For(customer, 4));
  const WorkerId worker = RegisterBy("prefer_distinct(customer, 1, oldest)", {"a"}, 20);
  std::string order;
  for (int i = 0; i < 12; ++i) {
    const auto grants = Pull(worker);
    ASSERT_EQ(grants.size(), 1u);
    order += CustomerOf(grants[0]);
  }
  EXPECT_EQ(order, "123123123123");
  EXPECT_TRUE(Pull(worker).empty());
}

TEST_F(EngineStrategyTest, TagsGroupAsOneValueAndJobsWithoutAnyAreNotHeld) {
  Submit(Spec(5, {"a"}));
  Submit(Spec(5, {"a", "b"}));
  Submit(Spec(5, {}));
  const auto grants = Pull(RegisterBy("max_simultaneous(tag, 2, oldest)", {"a", "b"}, 20), 20);
  std::map<std::size_t, int> by_tags;
  for (const Grant& grant : grants) ++by_tags[View(grant.task.job).tags->size()];
  EXPECT_EQ(by_tags, (std::map<std::size_t, int>{{0, 5}, {1, 2}, {2, 2}}));
}

// --- One pull for n, or n for one.

JobSpec SomeJob(Rng& rng) {
  JobSpec spec;
  spec.count = static_cast<std::uint32_t>(1 + rng.Below(rng.Below(3) == 0 ? 30 : 4));
  if (rng.Below(4) != 0) spec.tags = {"a"};
  if (rng.Below(5) != 0) spec.user = "u" + std::to_string(rng.Below(4));
  spec.async = rng.Below(2) == 0;
  if (rng.Below(3) != 0) spec.priority = static_cast<std::int64_t>(rng.Below(3));
  if (rng.Below(4) != 0) spec.meta = {{"customer", "c" + std::to_string(rng.Below(4))}};
  spec.backoff.first = milliseconds(rng.Below(2) * 20);
  spec.backoff.jitter = 0;
  return spec;
}

std::vector<TaskRef> TaskRefsOf(Engine& engine) {
  std::vector<TaskRef> refs;
  const auto [position, effects] = engine.Take();
  for (const GrantBatch& batch : effects.grant_batches) {
    for (const Grant& grant : batch.grants) refs.push_back(grant.task);
  }
  return refs;
}

TEST_F(EngineStrategyTest, APullOfNGivesWhatNSinglePullsGive) {
  std::uint64_t pulls = 0, several = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Rng rng(seed);
    EngineOptions options = testing::TestOptions();
    std::string texts = "seed " + std::to_string(seed);
    if (rng.Below(2) == 0) {
      const std::string policy = testing::SomePolicy(rng, 2, false);
      options.policy = Strategy(policy, true);
      options.weights = {{"user.u1", 3}, {"customer.c2", 2}};
      texts += ", policy " + policy;
    }
    Engine one(options), many(options);
    const std::vector<Engine*> engines = {&one, &many};
    for (Engine* engine : engines) engine->records().FinishLoad(now_, 30s);
    const expr::Parsed rank = expr::Expr::Parse("TARGET.customer == \"c1\" ? 2 : 1");
    struct Worker {
      WorkerId id;
      std::vector<TaskRef> running;
    };
    std::vector<Worker> workers;
    for (int i = 0; i < 4; ++i) {
      WorkerSpec spec;
      spec.id = WorkerId{++last_id_};
      if (rng.Below(3) != 0) spec.tags = {"a"};
      spec.connected = true;
      spec.slots = static_cast<std::uint32_t>(1 + rng.Below(8));
      if (rng.Below(4) == 0) spec.rank = rank.expr;
      bool none = false;
      const std::string strategy = testing::SomeStrategy(rng, 3, none, false);
      spec.strategy = Strategy(strategy);
      texts += " | " + strategy;
      for (Engine* engine : engines) ASSERT_TRUE(engine->workers().Register(now_, spec, std::nullopt).ok());
      workers.push_back({spec.id, {}});
    }
    SCOPED_TRACE(texts);
    std::vector<JobId> jobs;
    for (int step = 0; step < 200; ++step) {
      Worker& worker = workers[rng.Below(workers.size())];
      const std::uint64_t dice = rng.Below(10);
      if (dice < 2 && jobs.size() < 30) {
        jobs.push_back(JobId{++last_id_});
        const JobSpec spec = SomeJob(rng);
        for (Engine* engine : engines) ASSERT_TRUE(engine->jobs().Submit(now_, jobs.back(), spec).ok());
      } else if (dice < 5) {
        std::vector<Report> reports;
        for (const TaskRef& task : worker.running) {
          if (rng.Below(2) == 0) continue;
          reports.push_back({task, static_cast<ReportKind>(rng.Below(4))});
        }
        for (const Report& report : reports) std::erase(worker.running, report.task);
        for (Engine* engine : engines) ASSERT_TRUE(engine->workers().ReportAll(now_, worker.id, reports).ok());
      } else if (dice == 5 && !jobs.empty()) {
        const JobId job = jobs[rng.Below(jobs.size())];
        const bool pause = rng.Below(2) == 0;
        for (Engine* engine : engines)
          static_cast<void>(pause ? engine->jobs().Pause(now_, job) : engine->jobs().Resume(now_, job));
      } else if (dice == 6) {
        Move(now_.mono + Duration(milliseconds(rng.Below(30))));
        for (Engine* engine : engines) engine->Tick(now_);
      } else {
        for (Engine* engine : engines) ASSERT_TRUE(TaskRefsOf(*engine).empty()) << "nobody waits";
        const auto n = static_cast<std::uint32_t>(1 + rng.Below(12));
        ASSERT_TRUE(many.workers().Pull(now_, worker.id, PullOptions{n, false, 0s}).ok());
        for (std::uint32_t i = 0; i < n; ++i) {
          ASSERT_TRUE(one.workers().Pull(now_, worker.id, PullOptions{1, false, 0s}).ok());
        }
        const auto granted = TaskRefsOf(many);
        ASSERT_EQ(TaskRefsOf(one), granted) << "step " << step;
        worker.running.insert(worker.running.end(), granted.begin(), granted.end());
        ++pulls;
        if (granted.size() > 1) ++several;
      }
    }
  }
  EXPECT_GT(several, 3'000u) << "of " << pulls;
}

// --- Chance.

// Not more than once in a million by chance, after Wilson and Hilferty.
double MostChiSquared(double degrees) {
  const double z = 4.76;
  const double root = 1 - 2 / (9 * degrees) + z * std::sqrt(2 / (9 * degrees));
  return degrees * root * root * root;
}

class EngineRandom : public EngineStrategyTest {
 protected:
  // Jobs of 1 to 300 tasks; of most of them some are done, first and last ones and some between.
  void Prepare() {
    Rng rng(99);
    const WorkerId worker = RegisterBy("newest", {"a"}, 1000);
    for (const std::uint32_t count : {1u, 2u, 3u, 7u, 20u, 64u, 65u, 300u}) {
      JobSpec spec = For(count % 2 == 0 ? "even" : "odd", count);
      spec.user = "u" + std::to_string(count % 3);
      const JobId job = Submit(spec);
      const auto grants = Pull(worker, count);
      ASSERT_EQ(grants.size(), count);
      for (const Grant& grant : grants) {
        const bool done = count > 2 && (grant.task.index == 0 || grant.task.index == count - 1 || rng.Below(4) == 0);
        Say(worker, grant.task, done ? ReportKind::kDone : ReportKind::kReleased);
        if (!done) ready_[{job, grant.task.index}] = spec.meta.at(0).second;
      }
    }
    engine_->workers().Unregister(now_, worker);  // it would be promised some
  }
  // Each pick is given back at once, so that all see the same backlog.
  double ChiSquared(const std::string& strategy, std::size_t among, int picks) {
    const WorkerId worker = RegisterBy(strategy);
    std::map<std::pair<JobId, TaskIndex>, int> seen;
    for (int i = 0; i < picks; ++i) {
      const auto grants = Pull(worker);
      if (grants.size() != 1 || !ready_.contains({grants[0].task.job, grants[0].task.index})) return INFINITY;
      ++seen[{grants[0].task.job, grants[0].task.index}];
      Say(worker, grants[0].task, ReportKind::kReleased);
      journal_.clear();
    }
    engine_->workers().Unregister(now_, worker);
    EXPECT_EQ(seen.size(), among);
    const double expected = picks / static_cast<double>(among);
    double sum = static_cast<double>(among - seen.size()) * expected;
    for (const auto& [task, times] : seen) sum += (times - expected) * (times - expected) / expected;
    return sum;
  }
  std::map<std::pair<JobId, TaskIndex>, MetaValue> ready_;
};

TEST_F(EngineRandom, EveryReadyTaskIsEquallyLikelyWhicheverJobItIsIn) {
  Prepare();
  const auto n = ready_.size();
  ASSERT_GT(n, 300u);
  EXPECT_LT(ChiSquared("random", n, 40'000), MostChiSquared(static_cast<double>(n - 1)));
  // Of blocks that block nothing, and that see equals, the same.
  EXPECT_LT(ChiSquared("prefer_distinct(customer, 1, random)", n, 40'000), MostChiSquared(static_cast<double>(n - 1)));
  EXPECT_LT(ChiSquared("max_simultaneous(user, 2, or_else(random, oldest))", n, 40'000),
            MostChiSquared(static_cast<double>(n - 1)));
}

TEST_F(EngineRandom, AlsoAmongThoseThatABlockSelects) {
  Prepare();
  const auto n = static_cast<std::size_t>(std::count_if(
      ready_.begin(), ready_.end(), [](const auto& task) { return std::get<std::string>(task.second) == "even"; }));
  ASSERT_GT(n, 200u);
  ASSERT_LT(n, ready_.size());
  EXPECT_LT(ChiSquared("select_only(customer = even, random)", n, 30'000), MostChiSquared(static_cast<double>(n - 1)));
  SetPolicy("or_else(select_only(customer = even, random), worker)");
  EXPECT_LT(ChiSquared("newest", n, 30'000), MostChiSquared(static_cast<double>(n - 1)));
}

TEST_F(EngineRandom, TheTestTellsAnUnevenChance) {
  // Jobs equally likely, instead of tasks: what a mistake would look like.
  Prepare();
  const double uneven = ChiSquared("fair(job, random)", ready_.size(), 40'000);
  EXPECT_GT(uneven, 2 * MostChiSquared(static_cast<double>(ready_.size() - 1)));
  EXPECT_LT(uneven, INFINITY);
}

// --- Indices come and go.

TEST_F(EngineStrategyTest, AnOrderIsThereOnlyWhileSomebodyUsesIt) {
  for (int i = 0; i < 300; ++i) {
    JobSpec spec = For("c" + std::to_string(i), 1);
    spec.user = "u" + std::to_string(i % 10);
    Submit(spec);
  }
  const std::size_t before = engine_->looks().OrderBytes();
  const auto expect_gone = [&](const char* how) {
    EXPECT_EQ(engine_->looks().Stats().strategies, 1u) << how;
    EXPECT_EQ(engine_->looks().OrderBytes(), before) << how;
  };
  const std::string text = "max_simultaneous(customer, 2, fair(user, least_recent))";
  const WorkerId first = RegisterBy(text), second = RegisterBy(text);
  EXPECT_EQ(engine_->looks().Stats().strategies, 2u) << "shared by who has the same";
  EXPECT_GT(engine_->looks().OrderBytes(), 2 * before);
  engine_->workers().Unregister(now_, first);
  EXPECT_EQ(engine_->looks().Stats().strategies, 2u);
  WorkerChange change;
  change.strategy = StrategyPtr();
  EXPECT_TRUE(engine_->workers().Change(now_, second, change).ok());
  expect_gone("both have left it");
  const WorkerId lost = RegisterBy(text);
  engine_->workers().Disconnect(now_, lost);
  Pass(31s);
  expect_gone("its worker did not come back");
  SetPolicy("fair(user, worker)");
  EXPECT_GT(engine_->looks().OrderBytes(), before);
  SetPolicy("worker");
  expect_gone("the policy is over");
  PullOptions pull{1, false, 0s, Strategy("select_only(customer = nobody, random)")};
  EXPECT_TRUE(engine_->workers().Pull(now_, second, pull).ok());
  EXPECT_TRUE(Pull(second, 0).empty());
  EXPECT_EQ(engine_->looks().Stats().strategies, 2u) << "the next pull may ask for the same";
  Pass(61s);
  expect_gone("nobody has asked for it for a while");
}

TEST_F(EngineStrategyTest, OfOrdersOfPullsOnlyTheLastFewAreKept) {
  const WorkerId worker = RegisterBy("prefer_distinct(n, oldest)");  // the key is there all the time
  const auto pull = [&](int i) {
    PullOptions options{1, false, 0s, Strategy("select_only(n = " + std::to_string(i) + ", oldest)")};
    EXPECT_TRUE(engine_->workers().Pull(now_, worker, options).ok());
  };
  const std::size_t before = engine_->looks().Stats().strategies;
  for (int i = 0; i < 100; ++i) pull(i);
  EXPECT_EQ(engine_->looks().Stats().strategies, before + kMaxLingering);
  const std::size_t bytes = engine_->looks().OrderBytes();
  for (int i = 100; i < 3000; ++i) pull(i);
  EXPECT_LE(engine_->looks().OrderBytes(), bytes + 1024) << "values that nobody names any more are gone";
  for (int i = 0; i < 100; ++i) pull(99);
  EXPECT_EQ(engine_->looks().Stats().strategies, before + kMaxLingering);
  Pass(61s);
  EXPECT_EQ(engine_->looks().Stats().strategies, before);
}

// --- What is refused changes nothing.

class EngineManyStrategies : public EngineStrategyTest {
 protected:
  // So many that there is no room for another.
  void FillUp() {
    for (std::size_t i = 0; engine_->looks().Stats().strategies < bounds::kMaxStrategies; ++i) {
      WorkerSpec spec;
      spec.id = WorkerId{++last_id_};
      spec.tags = {"b"};
      spec.connected = true;
      spec.user = "u" + std::to_string(i);  // one user alone may not
      spec.strategy = Strategy("select_only(n = " + std::to_string(i) + ", oldest)");
      ASSERT_TRUE(engine_->workers().Register(now_, spec, std::nullopt).ok());
      others_.push_back(spec.id);
    }
  }
  std::vector<WorkerId> others_;
};

TEST_F(EngineManyStrategies, AWorkerWithOneTooManyIsRefusedAndNotKnownAfterwards) {
  FillUp();
  const EngineStats before = engine_->looks().Stats();
  WorkerSpec spec;
  spec.id = WorkerId{++last_id_};
  spec.connected = true;
  spec.strategy = Strategy("newest");
  const auto refused = engine_->workers().Register(now_, spec, std::nullopt);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kTooManyStrategies);
  EXPECT_EQ(engine_->looks().Stats().workers, before.workers);
  EXPECT_EQ(engine_->looks().Stats().workers_away, before.workers_away);
  EXPECT_FALSE(engine_->looks().DescribeWorker(spec.id).ok());
  engine_->workers().Unregister(now_, others_[0]);
  EXPECT_TRUE(engine_->workers().Register(now_, spec, std::nullopt).ok());
}

TEST_F(EngineManyStrategies, WhatOnlyLingersGivesWay) {
  const WorkerId worker = Register();
  PullOptions once{1, false, 0s, Strategy("least_recent")};
  ASSERT_TRUE(engine_->workers().Pull(now_, worker, once).ok());
  ASSERT_TRUE(engine_->workers().Pull(now_, worker, {1, false, 0s}).ok());
  FillUp();
  ASSERT_TRUE(engine_->looks().AdmitStrategies({Strategy("newest")}).ok());
  RegisterBy("newest");
  EXPECT_EQ(engine_->looks().Stats().strategies, bounds::kMaxStrategies);
  EXPECT_FALSE(engine_->looks().AdmitStrategies({Strategy("least_recent")}).ok());
}

TEST_F(EngineManyStrategies, WhatLingersGivesNoWayToWhatComesWithIt) {
  const WorkerId worker = Register();
  PullOptions once{1, false, 0s, Strategy("least_recent")};
  ASSERT_TRUE(engine_->workers().Pull(now_, worker, once).ok());
  FillUp();
  EXPECT_TRUE(engine_->looks().AdmitStrategies({Strategy("newest"), nullptr}).ok());
  EXPECT_TRUE(engine_->looks().AdmitStrategies({Strategy("least_recent"), nullptr}).ok());
  EXPECT_FALSE(engine_->looks().AdmitStrategies({Strategy("newest"), Strategy("least_recent")}).ok());
}

TEST_F(EngineManyStrategies, LargeOnesCountForMore) {
  std::string large = "or_else(oldest";
  for (int i = 0; i < 30; ++i) large += ", prefer_distinct(job, " + std::to_string(i + 1) + ", newest)";
  std::size_t taken = 0;
  for (int i = 0; i < 40; ++i) {
    const StrategyPtr strategy = Strategy(large + ", select_only(n = " + std::to_string(i) + ", oldest))");
    if (!engine_->looks().AdmitStrategies({strategy}).ok()) break;
    RegisterBy(PrintStrategy(*strategy), {"a"}, 1, "u" + std::to_string(i));  // one user alone may not
    ++taken;
  }
  EXPECT_EQ(taken, (bounds::kMaxStrategyBlocks - 1) / 64);
  // Together there is no room for what each would fit.
  const StrategyPtr one = Strategy(large + ")");
  const StrategyPtr other = Strategy("fair(job, oldest)");
  EXPECT_TRUE(engine_->looks().AdmitStrategies({one, nullptr}).ok());
  EXPECT_TRUE(engine_->looks().AdmitStrategies({nullptr, other}).ok());
  EXPECT_FALSE(engine_->looks().AdmitStrategies({one, other}).ok());
  EXPECT_TRUE(engine_->looks().AdmitStrategies({Strategy("newest"), Strategy("newest"), nullptr}).ok());
}

TEST_F(EngineManyStrategies, APullThatIsRefusedLeavesTheOneBeforeAsItWas) {
  const WorkerId worker = Register();
  PullOptions first{1, false, 10s};
  ASSERT_TRUE(engine_->workers().Pull(now_, worker, first).ok());
  FillUp();
  PullOptions other{5, true, std::nullopt};
  other.strategy = Strategy("newest");
  const auto refused = engine_->workers().Pull(now_, worker, other);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kTooManyStrategies);
  EXPECT_EQ(engine_->looks().DescribeWorker(worker)->credit, 1u);
  Pass(11s);
  EXPECT_EQ(engine_->looks().DescribeWorker(worker)->credit, 0u) << "it waits for as long as it said";
}

TEST_F(EngineManyStrategies, AChangeThatIsRefusedChangesNothingElse) {
  const WorkerId worker = Register();
  FillUp();
  WorkerChange change;
  change.tags = std::vector<std::string>{"x"};
  change.attributes = Meta{{"Memory", std::int64_t{1}}};
  change.strategy = Strategy("newest");
  ASSERT_FALSE(engine_->workers().Change(now_, worker, change).ok());
  EXPECT_EQ(engine_->looks().DescribeWorker(worker)->tags, std::vector<std::string>{"a"});
  EXPECT_TRUE(engine_->looks().DescribeWorker(worker)->attributes.empty());
  Submit(Spec(1));
  EXPECT_EQ(Pull(worker).size(), 1u);
  // What it uses already it may name again.
  change.strategy = Strategy("priority");
  EXPECT_TRUE(engine_->workers().Change(now_, worker, change).ok());
}

TEST_F(EngineStrategyTest, AnOrderIsBuiltPastAnyNumberOfJobsThatAreGone) {
  JobSpec gone = Spec(1);
  gone.retention = 0ms;
  for (int i = 0; i < 4000; ++i) ASSERT_TRUE(engine_->jobs().Cancel(now_, Submit(gone)).ok());
  for (int i = 0; i < 5000; ++i) Submit(Spec(1));
  Pass(1s);
  ASSERT_EQ(engine_->looks().Stats().jobs_cancelled, 0u);
  const WorkerId worker = RegisterBy("newest");
  Wait(worker);
  Grants();
  for (int i = 0; i < 100 && engine_->NextWake(now_) == now_.mono; ++i) engine_->Tick(now_);
  EXPECT_EQ(Grants().size(), 1u);
}

}  // namespace
}  // namespace allot
