// SPDX-License-Identifier: Apache-2.0
// Demand is what really starts once workers are there.
#include "engine/looks/demand_walk.h"
#include "engine/testing_limits.h"
#include "match/testing.h"
#include "strategy/some_strategy.h"

namespace allot {
namespace {

using namespace std::chrono_literals;
using testing::SomeLimit;

class EngineDemand : public testing::LimitedEngineTest {
 protected:
  EngineDemand() { job_lease_ = 24h; }
  // In steps of `budget`; 0: in one.
  std::vector<DemandRow> Demand(DemandRequest request = {}, std::size_t budget = 0) {
    walk_ = std::make_unique<DemandWalk>(std::move(request));
    while (!engine_->prepared_looks().Collect(now_, *walk_, budget == 0 ? 1'000'000 : budget)) ++steps_;
    return walk_->rows();
  }
  std::vector<DemandRow> Within(Duration lookahead) { return Demand({std::nullopt, std::nullopt, lookahead}); }
  static std::uint64_t Sum(const std::vector<DemandRow>& rows) {
    std::uint64_t sum = 0;
    for (const DemandRow& row : rows) sum += row.startable;
    return sum;
  }
  WorkerId RegisterWith(Meta attributes, std::uint32_t slots = 1) {
    WorkerSpec spec;
    spec.id = WorkerId{++last_id_};
    spec.tags = {"a"};
    spec.connected = true;
    spec.attributes = std::move(attributes);
    spec.slots = slots;
    EXPECT_TRUE(engine_->workers().Register(now_, spec, std::nullopt).ok());
    return spec.id;
  }
  static bool Accepts(const std::string& requirements, const testing::Attributes& worker) {
    const expr::Ad job, machine = testing::AdOf(worker);
    expr::Evaluator evaluator;
    return evaluator.True(*testing::MustParse(requirements), {&job, &machine, expr::Side::kJob, 0});
  }

  std::unique_ptr<DemandWalk> walk_;
  std::size_t steps_ = 0;
};

TEST_F(EngineDemand, HasARowForEveryClassAndUserWithWaitingTasks) {
  SubmitOf("ann", 3);
  Move(now_.mono + 5s);
  JobSpec other = Spec(2, {"a", "b"});
  other.user = "ann";
  other.requirements = testing::MustParse("MACHINE.Memory >= MY.mem");
  other.meta = {{"mem", std::int64_t{7}}};
  Submit(other);
  SubmitOf("bob", 1);
  SubmitOf("ann", 4);
  JobSpec later = Spec(9);
  later.scheduled_for = now_.wall + 1h;
  Submit(later);
  const JobId paused = SubmitOf("ann", 100);
  const WorkerId worker = Register();
  ASSERT_EQ(Pull(worker, 2).size(), 2u);
  ASSERT_TRUE(engine_->jobs().Pause(now_, paused).ok());

  const std::vector<DemandRow> rows = Demand();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(walk_->complete());
  EXPECT_EQ(rows[0].user, "ann");
  EXPECT_EQ(rows[0].tags, (std::vector<std::string>{"a"}));
  EXPECT_EQ(rows[0].requirements, "");
  EXPECT_EQ(rows[0].jobs, 2u);
  EXPECT_EQ(rows[0].queued, 5u);
  EXPECT_EQ(rows[0].running, 2u);
  EXPECT_EQ(rows[0].startable, 5u);
  EXPECT_EQ(rows[0].oldest, FromMillis(kStart));
  EXPECT_TRUE(rows[0].limits.empty());
  EXPECT_EQ(rows[1].tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(rows[1].requirements, "MACHINE.Memory >= 7");  // nobody else knows what is MY
  EXPECT_EQ(rows[1].startable, 2u);
  EXPECT_EQ(rows[1].oldest, FromMillis(kStart + 5000));
  EXPECT_EQ(rows[2].user, "bob");

  EXPECT_EQ(Demand({"bob", std::nullopt, 0s}).size(), 1u);
  ASSERT_EQ(Demand({std::nullopt, "b", 0s}).size(), 1u);
  EXPECT_EQ(walk_->rows()[0].queued, 2u);
  EXPECT_TRUE(Demand({"bob", "b", 0s}).empty());
}

TEST_F(EngineDemand, LeasesOfJobsThatDoNotWaitCountAsRunning) {
  SubmitOf("ann", 2);
  const WorkerId worker = Register();
  ASSERT_EQ(Pull(worker, 2).size(), 2u);
  EXPECT_TRUE(Demand().empty());
  EXPECT_EQ(walk_->running(), 2u);
  SubmitOf("ann", 1);
  ASSERT_EQ(Demand().size(), 1u);
  EXPECT_EQ(walk_->rows()[0].running, 2u);
  EXPECT_EQ(walk_->running(), 2u);
}

TEST_F(EngineDemand, AllThatRunsIsCountedUnderTheFilterWhetherMoreOfItWaitsOrNot) {
  SubmitOf("ann", 2);
  const JobId cancelled = SubmitOf("bob", 1);
  const WorkerId worker = Register();
  ASSERT_EQ(Pull(worker, 3).size(), 3u);
  JobSpec other = Spec(3, {"a", "b"});
  other.user = "bob";
  Submit(other);
  const WorkerId able = Register({"a", "b"});
  ASSERT_EQ(Pull(able).size(), 1u);
  const auto running = [&](DemandRequest request) {
    Demand(std::move(request));
    return walk_->running();
  };
  const auto all = [&] {
    EXPECT_EQ(running({}), 4u);
    EXPECT_EQ(running({"ann", std::nullopt, 0s}), 2u);
    EXPECT_EQ(running({"bob", std::nullopt, 0s}), 2u);
    EXPECT_EQ(running({"eve", std::nullopt, 0s}), 0u);
    EXPECT_EQ(running({std::nullopt, "a", 0s}), 4u);
    EXPECT_EQ(running({std::nullopt, "b", 0s}), 1u);
    EXPECT_EQ(running({"ann", "b", 0s}), 0u);
  };
  all();
  // What was cancelled has its slot until the worker is through with it.
  ASSERT_TRUE(engine_->jobs().Cancel(now_, cancelled).ok());
  all();
}

TEST_F(EngineDemand, AStepEndsInTimeThoughEveryJobHasToBeComparedWithManyLimits) {
  constexpr int kJobs = 20, kLimits = 300;
  for (int i = 0; i < kJobs; ++i) SubmitOf("ann", 1, {{"size", std::int64_t{i}}});
  for (int i = 0; i < kLimits; ++i) SetLimit("l" + std::to_string(i), SomeLimit("MY.size > " + std::to_string(i), 1e6));
  ASSERT_EQ(Demand({}, 100).size(), 1u);
  // A hundred microseconds are less than the evaluations for one; some may have been grouped before.
  EXPECT_GE(steps_, static_cast<std::size_t>(kJobs) / 2);
}

TEST_F(EngineDemand, OfAPausedQueueNothingCanStart) {
  SubmitOf("ann", 3);
  engine_->queue().Pause(now_);
  ASSERT_EQ(Demand().size(), 1u);
  EXPECT_TRUE(walk_->paused());
  EXPECT_EQ(walk_->rows()[0].queued, 3u);
  EXPECT_EQ(walk_->rows()[0].startable, 0u);
}

TEST_F(EngineDemand, ALimitedUsersRowShowsTheCountThatCanStartWithinTheLookaheadAndZeroWhenItIsZero) {
  SubmitOf("ann", 100);
  SubmitOf("bob", 7);
  LimitSpec spec = SomeLimit("MY.User == \"ann\"", 1);
  spec.name = "slow";
  SetLimit("l1", spec);
  EXPECT_EQ(Within(0s)[0].startable, 1u);
  const WorkerId worker = Register();
  ASSERT_EQ(Pull(worker).size(), 1u);
  EXPECT_EQ(Within(0s)[0].startable, 0u);
  EXPECT_EQ(Within(10s)[0].startable, 0u);
  EXPECT_EQ(Within(60s - 1us)[0].startable, 0u);
  const std::vector<DemandRow> rows = Within(60s);
  EXPECT_EQ(rows[0].startable, 1u);
  EXPECT_EQ(rows[0].queued, 99u);
  ASSERT_EQ(rows[0].limits.size(), 1u);
  EXPECT_EQ(rows[0].limits[0].name, "slow");
  EXPECT_EQ(rows[0].requirements, "");
  EXPECT_EQ(rows[1].startable, 7u);
  EXPECT_TRUE(rows[1].limits.empty());
  // A stop.
  ASSERT_TRUE(engine_->limits().Update(now_, "l1", SomeLimit("MY.User == \"ann\"", 0)).ok());
  EXPECT_EQ(Within(24h)[0].startable, 0u);
}

TEST_F(EngineDemand, ALimitOnSeveralUsersIsSharedTheOldestFirst) {
  SubmitOf("ann", 6);
  SubmitOf("bob", 6);
  SubmitOf("eve", 6);
  SetLimit("l1", SomeLimit("MY.User != \"eve\"", 10));
  const std::vector<DemandRow> rows = Within(0s);
  EXPECT_EQ(rows[0].startable, 6u);
  EXPECT_EQ(rows[1].startable, 4u);
  EXPECT_EQ(rows[2].startable, 6u);
  // The same where only one is asked for.
  EXPECT_EQ(Demand({"bob", std::nullopt, 0s})[0].startable, 4u);
}

TEST_F(EngineDemand, RequirementsGainTheResidualOnlyWhenItCanBeTrue) {
  JobSpec spec = Spec(50);
  spec.user = "ann";
  spec.requirements = testing::MustParse("TARGET.Memory > 1 || TARGET.Big");
  Submit(spec);
  SubmitOf("ann", 50);
  SubmitOf("bob", 50);
  SetLimit("l1", SomeLimit("MY.User == \"ann\" && TARGET.Site == \"b\"", 1));
  const WorkerId worker = RegisterWith({{"Site", "b"}, {"Memory", std::int64_t{4}}}, 200);
  // Nothing has met the limit yet.
  for (const DemandRow& row : Demand()) EXPECT_TRUE(row.limits.empty()) << row.requirements;
  ASSERT_EQ(Pull(worker, 10).size(), 10u);  // one of ann's, then bob's
  const std::vector<DemandRow> rows = Demand();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].requirements, "(TARGET.Memory > 1 || TARGET.Big) && ((TARGET.Site == \"b\") =!= true)");
  ASSERT_EQ(rows[0].limits.size(), 1u);
  EXPECT_EQ(rows[0].limits[0].uuid, "l1");
  EXPECT_EQ(rows[0].startable, 49u);
  EXPECT_EQ(rows[1].requirements, "((TARGET.Site == \"b\") =!= true)");
  EXPECT_EQ(rows[1].startable, 50u);
  // For bob flattening proves it false.
  EXPECT_EQ(rows[2].user, "bob");
  EXPECT_EQ(rows[2].requirements, "");
  EXPECT_TRUE(rows[2].limits.empty());

  // Workers that lack the attribute are not excluded.
  EXPECT_TRUE(Accepts(rows[1].requirements, {}));
  EXPECT_TRUE(Accepts(rows[1].requirements, {{"Site", expr::Value::String("a")}}));
  EXPECT_FALSE(Accepts(rows[1].requirements, {{"Site", expr::Value::String("b")}}));

  // Once nothing is in the way, it stays for the ban window.
  ASSERT_TRUE(engine_->limits().Update(now_, "l1", SomeLimit("MY.User == \"ann\" && TARGET.Site == \"b\"", 1000)).ok());
  Pass(59s);
  EXPECT_EQ(Demand()[1].requirements, "((TARGET.Site == \"b\") =!= true)");
  Pass(2s);
  EXPECT_EQ(Demand()[1].requirements, "");
}

TEST_F(EngineDemand, AllUsersOfAGroupThatIsHeldAreToldWhichWorkersAreOfNoUse) {
  SubmitOf("ann", 5);
  SubmitOf("bob", 5);
  SetLimit("l1", SomeLimit("TARGET.Site == \"b\"", 1));
  Wait(RegisterWith({{"Site", "b"}}), 10);
  EXPECT_EQ(Grants().size(), 1u);  // and ann's second meets the limit
  for (const DemandRow& row : Demand()) {
    EXPECT_FALSE(Accepts(row.requirements, {{"Site", expr::Value::String("b")}})) << row.user;
    EXPECT_TRUE(Accepts(row.requirements, {{"Site", expr::Value::String("c")}})) << row.user;
  }
}

TEST_F(EngineDemand, ARowNamesSomeOfManyLimits) {
  SubmitOf("ann", 5);
  for (int i = 0; i < 100; ++i) SetLimit("stop" + std::to_string(i), SomeLimit("true", 0));
  const auto rows = Demand();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].startable, 0u);
  EXPECT_EQ(rows[0].limits.size(), 20u);
}

TEST_F(EngineDemand, ALimitOfWhichOnlyTheCostReadsTheWorkerExcludesNone) {
  SubmitOf("ann", 50);
  SetLimit("l1", SomeLimit("true", 4, "TARGET.Cpus"));
  const WorkerId worker = RegisterWith({{"Cpus", std::int64_t{4}}}, 9);
  ASSERT_EQ(Pull(worker, 9).size(), 1u);
  EXPECT_EQ(Demand()[0].requirements, "");
  ASSERT_TRUE(engine_->limits().Update(now_, "l1", SomeLimit("true", 0, "TARGET.Cpus")).ok());
  EXPECT_EQ(Demand()[0].startable, 0u);
}

TEST_F(EngineDemand, AbsoluteMaximaOfThePolicyCapItAndAreShared) {
  const auto customer = [](const char* name) { return Meta{{"customer", std::string(name)}}; };
  SubmitOf("ann", 8, customer("x"));
  SubmitOf("bob", 8, customer("x"));
  SubmitOf("eve", 8, customer("y"));
  SubmitOf("joe", 8);  // without the key there is no maximum
  const auto expect = [&](const std::string& policy, const std::vector<std::uint64_t>& want) {
    SetPolicy(policy);
    Pass(1ms);
    std::vector<std::uint64_t> got;
    for (const DemandRow& row : Demand()) got.push_back(row.startable);
    EXPECT_EQ(got, want) << policy;
  };
  expect("max_simultaneous(customer, 10, worker)", {8, 2, 8, 8});
  const WorkerId worker = RegisterWith({}, 100);
  ASSERT_EQ(Pull(worker, 1).size(), 1u);  // of ann
  expect("max_simultaneous(customer, 10, worker)", {7, 2, 8, 8});
  expect("fair(user, max_simultaneous(user, 3, max_simultaneous(customer, 4, worker)))", {2, 1, 3, 3});
  expect("max_simultaneous(customer, 10%, worker)", {7, 8, 8, 8});
  expect("select_only(user = eve, max_simultaneous(customer, 2, worker))", {0, 0, 2, 0});
  expect("or_else(select_only(user = eve, oldest), max_simultaneous(customer, 2, worker))", {1, 0, 8, 8});
  expect("or_else(max_simultaneous(customer, 2, oldest), max_simultaneous(customer, 5, worker))", {4, 0, 5, 8});
  expect("or_else(max_simultaneous(customer, 2, oldest), worker)", {7, 8, 8, 8});
  expect("max_simultaneous(job, 3, worker)", {2, 3, 3, 3});
  expect("max_simultaneous(tag, 3, worker)", {2, 0, 0, 0});
}

TEST_F(EngineDemand, ALimitLeavesThePolicysRoomToTheOthers) {
  SubmitOf("ann", 8);
  SubmitOf("bob", 8);
  SetPolicy("max_simultaneous(tag, 10, worker)");
  Pass(1ms);
  SetLimit("l1", SomeLimit("MY.User == \"ann\"", 3));
  const std::vector<DemandRow> rows = Within(0s);
  EXPECT_EQ(rows[0].startable, 3u);
  EXPECT_EQ(rows[1].startable, 7u);
}

// Jobs of some users and customers at random, some of which run.
class EngineDemandProperty : public EngineDemand {
 protected:
  void Fill(Rng& rng) {
    records_.clear();
    journal_.clear();
    floor_ = 0;
    options_.policy = nullptr;
    Load(0s);
    for (std::uint64_t i = 1 + rng.Below(12); i > 0; --i) {
      Meta meta;
      if (rng.Below(4) != 0) meta = {{"customer", "c" + std::to_string(1 + rng.Below(3))}};
      const std::string user = rng.Below(5) == 0 ? "" : "u" + std::to_string(1 + rng.Below(3));
      SubmitOf(user, static_cast<std::uint32_t>(1 + rng.Below(6)), std::move(meta));
      Move(now_.mono + Duration(rng.Below(3'000'000)));
    }
    worker_ = RegisterWith({}, 1'000'000);
    Pull(worker_, static_cast<std::uint32_t>(rng.Below(6)));
  }
  // How many start until `end`, with one that takes whatever it gets.
  std::uint64_t Starts(Duration time) {
    Grants();
    Wait(worker_, 100'000);
    std::uint64_t starts = Grants().size();
    const Instant end = now_.mono + time;
    while (now_.mono < end) {
      Pass(std::min<Duration>(end - now_.mono, 10s));
      starts += Grants().size();
    }
    return starts;
  }
  WorkerId worker_;
};

TEST_F(EngineDemandProperty, WithThePolicyAloneIsWhatAWorkerForAllThenGets) {
  std::size_t capped = 0, zeros = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Fill(rng);
    // Maxima of one key: then the order in which tasks start does not change how many do.
    static const char* const kKeys[] = {"user", "customer", "job", "tag"};
    const std::string key = kKeys[rng.Below(4)];
    const auto most = [&](const std::string& inner) {
      return "max_simultaneous(" + key + ", " + std::to_string(1 + rng.Below(5)) + ", " + inner + ")";
    };
    std::string policy = "worker";
    for (std::uint64_t depth = 1 + rng.Below(3); depth > 0; --depth) {
      switch (rng.Below(6)) {
        case 0:
          policy = "fair(user, " + policy + ")";
          break;
        case 1:
          policy = "prefer_distinct(customer, 2, " + policy + ")";
          break;
        case 2:
          policy = "max_simultaneous(user, 50%, " + policy + ")";
          break;
        case 3:
          policy = "or_else(" + most("oldest") + ", " + policy + ")";
          break;
        default:
          policy = most(policy);
      }
    }
    if (rng.Below(4) == 0) policy = "select_only(customer = c1, " + policy + ")";
    SCOPED_TRACE(policy);
    SetPolicy(policy);
    Pass(1ms);
    const std::vector<DemandRow> rows = Demand({}, 1 + rng.Below(3));
    std::uint64_t queued = 0;
    for (const DemandRow& row : rows) queued += row.queued;
    const std::uint64_t shown = Sum(rows);
    ASSERT_EQ(shown, Starts(0s));
    capped += shown < queued ? 1 : 0;
    zeros += shown == 0 ? 1 : 0;
  }
  EXPECT_GT(capped, 100u);
  EXPECT_GT(zeros, 10u);
}

TEST_F(EngineDemandProperty, WithAnyPolicyIsZeroJustWhenNothingStarts) {
  std::size_t zeros = 0, capped = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Fill(rng);
    const std::string policy = testing::SomePolicy(rng, 3);
    SCOPED_TRACE(policy);
    SetPolicy(policy);
    Pass(1ms);
    const std::vector<DemandRow> rows = Demand();
    std::uint64_t queued = 0;
    for (const DemandRow& row : rows) {
      ASSERT_LE(row.startable, row.queued);
      queued += row.queued;
    }
    const std::uint64_t shown = Sum(rows), started = Starts(0s);
    ASSERT_EQ(shown == 0, started == 0);
    // If all can start, they do.
    ASSERT_TRUE(shown < queued || started == queued);
    zeros += shown == 0 ? 1 : 0;
    capped += shown < queued ? 1 : 0;
  }
  EXPECT_GT(zeros, 10u);
  EXPECT_GT(capped, 50u);
}

TEST_F(EngineDemandProperty, UnderALimitIsWhatThenStartsWithinTheLookahead) {
  std::size_t starts = 0, zeros = 0, limited = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Fill(rng);
    // One limit for each job at most, at one cost: then it does not matter who comes first.
    const bool per_customer = rng.Below(2) == 0;
    for (int i = 1; i <= 3; ++i) {
      const std::string number = std::to_string(i);
      LimitSpec spec = SomeLimit(per_customer ? "MY.customer == \"c" + number + "\"" : "MY.User == \"u" + number + "\"",
                                 static_cast<double>(rng.Below(12)) / 2, rng.Below(2) == 0 ? "" : "1.5");
      spec.window = 1s * (1 + rng.Below(100));
      spec.burst = static_cast<double>(rng.Below(3));
      if (rng.Below(4) != 0) SetLimit("l" + number, spec);
    }
    Pull(worker_, static_cast<std::uint32_t>(rng.Below(5)));
    Move(now_.mono + Duration(rng.Below(9'000'000)));
    const Duration lookahead(rng.Below(100'000'000));
    const std::vector<DemandRow> rows = Within(lookahead);
    for (const DemandRow& row : rows) {
      ASSERT_EQ(row.startable < row.queued, !row.limits.empty());
      zeros += row.startable == 0 ? 1 : 0;
      limited += row.startable < row.queued ? 1 : 0;
    }
    const std::uint64_t sum = Sum(rows);
    ASSERT_EQ(sum, Starts(lookahead));
    starts += sum;
  }
  EXPECT_GT(starts, 1000u);
  EXPECT_GT(zeros, 50u);
  EXPECT_GT(limited, 100u);
}

TEST_F(EngineDemand, GoesOnInStepsWhileJobsAndLimitsComeAndGo) {
  Rng rng(7);
  std::vector<JobId> jobs;
  for (int i = 0; i < 500; ++i) {
    jobs.push_back(SubmitOf("u" + std::to_string(i % 7), 2, {{"customer", "c" + std::to_string(i % 11)}}));
  }
  SetPolicy("max_simultaneous(job, 1, max_simultaneous(customer, 30, worker))");
  Pass(1ms);
  DemandWalk walk({});
  for (int i = 0; !engine_->prepared_looks().Collect(now_, walk, 20); ++i) {
    ++steps_;
    const std::string uuid = "l" + std::to_string(i % 3);
    const LimitSpec spec = SomeLimit("MY.customer == \"c" + std::to_string(rng.Below(11)) + "\"", 3);
    if (rng.Below(3) == 0) {
      (void)engine_->limits().Delete(now_, uuid);
    } else if (!engine_->limits().Create(now_, uuid, spec).ok()) {
      ASSERT_TRUE(engine_->limits().Update(now_, uuid, spec).ok());
    }
    ASSERT_TRUE(engine_->jobs().Cancel(now_, jobs[rng.Below(jobs.size())]).ok());
    SubmitOf("late", 1);
    Pass(10ms);
    ASSERT_LT(i, 10'000);
  }
  EXPECT_GT(steps_, 10u);
  EXPECT_TRUE(walk.complete());
  EXPECT_GE(walk.rows().size(), 7u);
  EXPECT_LE(Sum(walk.rows()), 11 * 30 + steps_);                   // late ones have no customer
  EXPECT_TRUE(engine_->prepared_looks().Collect(now_, walk, 20));  // and nothing more
}

TEST_F(EngineDemand, WhoStopsEarlyHasWhatWasSeen) {
  for (int i = 0; i < 500; ++i) SubmitOf("ann", 1);
  DemandWalk walk({});
  ASSERT_FALSE(engine_->prepared_looks().Collect(now_, walk, 20));
  ASSERT_EQ(walk.rows().size(), 1u);
  EXPECT_FALSE(walk.complete());
  EXPECT_GT(walk.rows()[0].queued, 0u);
  EXPECT_LT(walk.rows()[0].queued, 500u);
  EXPECT_EQ(walk.rows()[0].startable, walk.rows()[0].queued);
}

}  // namespace
}  // namespace allot
