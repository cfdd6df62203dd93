// SPDX-License-Identifier: Apache-2.0
// Who waits is woken by exactly the changes that give him work: nobody is forgotten, and no change stirs up a crowd.
#include <functional>

#include "engine/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

// A thousand workers wait, in one group or in several that differ in kind or strategy.
class EngineWakingTest : public testing::EngineTest {
 public:
  using EngineTest::ComeBack;
  using EngineTest::engine_;
  using EngineTest::now_;
  using EngineTest::Pass;
  using EngineTest::Pull;
  using EngineTest::RegisterBy;
  using EngineTest::Say;
  using EngineTest::SetPolicy;
  using EngineTest::Spec;
  using EngineTest::Submit;
  static constexpr std::size_t kCrowd = 1000;

  JobSpec For(const std::string& customer, std::uint32_t count, std::vector<std::string> tags = {"a"}) {
    JobSpec spec = Spec(count, std::move(tags));
    spec.meta = {{"customer", customer}};
    spec.max_failed_tasks.number = 100;
    spec.backoff.first = spec.backoff.max = 3'600'000ms;
    return spec;
  }
  // Acme has all that it may, in the hands of two workers that wait for nothing else.
  void Saturate() {
    SetPolicy("max_simultaneous(customer, 2, worker)");
    acme_ = Submit(For("acme", 10));
    Lease(2);
  }
  void Lease(std::size_t tasks) {
    for (std::size_t i = 0; i < tasks; ++i) {
      lessees_.push_back(RegisterBy("oldest"));
      const auto grants = Pull(lessees_.back());
      ASSERT_EQ(grants.size(), 1u);
      tasks_.push_back(grants[0].task);
    }
  }
  void Gather(const std::vector<std::string>& strategies, std::size_t kinds) {
    // Jobs that tell the kinds apart, and are for nobody.
    for (std::size_t kind = 1; kind < kinds; ++kind) {
      ASSERT_TRUE(engine_->jobs().Pause(now_, Submit(Spec(1, {"a", "k" + std::to_string(kind)}))).ok());
    }
    for (std::size_t i = 0; i < kCrowd; ++i) {
      const std::size_t kind = i / strategies.size() % kinds;
      std::vector<std::string> tags = {"a"};
      if (kind > 0) tags.push_back("k" + std::to_string(kind));
      crowd_.push_back(RegisterBy(strategies[i % strategies.size()], tags));
      Wait(crowd_.back());
    }
    EXPECT_TRUE(Grants().empty());
    EXPECT_EQ(engine_->looks().Stats().workers_waiting, kCrowd);
  }
  // Nobody who waits would be served if he asked.
  void ExpectNobodyForgotten() {
    for (const WorkerId worker : crowd_) {
      if (engine_->looks().DescribeWorker(worker)->credit > 0) Wait(worker);
    }
    EXPECT_TRUE(Grants().empty()) << "somebody waited for what was there";
  }
  std::uint64_t LooksInVain() const { return engine_->looks().Stats().woken_empty; }
  void Do(const Result<void>& result) { EXPECT_TRUE(result.ok()); }

  std::vector<WorkerId> crowd_;
  std::vector<WorkerId> lessees_;
  std::vector<TaskRef> tasks_;  // that they hold, one each
  JobId acme_, other_;
};

// Before it there is nothing for anybody, after it there is one task.
struct Change {
  std::string name;
  std::function<void(EngineWakingTest&)> before, change;
};

std::vector<Change> Changes() {
  using T = EngineWakingTest;
  const auto saturate = [](T& t) { t.Saturate(); };
  const auto say = [](ReportKind kind) { return [kind](T& t) { t.Say(t.lessees_[0], t.tasks_[0], kind); }; };
  const auto nothing = [](T&) {};
  // One task that could start but for something.
  const auto one = [](std::function<void(T&, JobSpec&)> as, std::function<void(T&)> then) {
    return [=](T& t) {
      JobSpec spec = t.For("beta", 1);
      as(t, spec);
      t.other_ = t.Submit(spec);
      then(t);
    };
  };
  const auto plain = [](T&, JobSpec&) {};
  return {
      // A value falls below its maximum.
      {"Done", saturate, say(ReportKind::kDone)},
      {"Failed", saturate, say(ReportKind::kFailed)},
      {"Rejected", saturate, say(ReportKind::kRejected)},
      {"Released", saturate, say(ReportKind::kReleased)},
      {"Expired",
       [](T& t) {
         t.Saturate();
         t.Pass(50s);
       },
       [](T& t) {
         t.Do(t.engine_->workers().Heartbeat(t.now_, t.lessees_[1]));
         t.Pass(11s);
       }},
      {"WorkerGone", saturate,
       [](T& t) {
         t.engine_->workers().Disconnect(t.now_, t.lessees_[0]);
         t.Pass(31s);
       }},
      {"WorkerLeft", saturate, [](T& t) { t.engine_->workers().Unregister(t.now_, t.lessees_[0]); }},
      {"WorkerCameBackWithoutIt", saturate, [](T& t) { t.ComeBack(t.lessees_[0], {}); }},
      {"Undelivered", saturate, [](T& t) { t.engine_->workers().Undelivered(t.now_, std::span(&t.tasks_[0], 1)); }},
      {"CancelledJobsWorkerStops",
       [](T& t) {
         t.Saturate();
         t.other_ = t.Submit(t.For("acme", 1));
         t.Do(t.engine_->jobs().Cancel(t.now_, t.acme_));
       },
       say(ReportKind::kDone)},
      {"JobChangesItsValue",
       [](T& t) {
         t.Saturate();
         t.other_ = t.Submit(t.For("acme", 1));
       },
       [](T& t) {
         JobChange change;
         change.meta = Meta{{"customer", "beta"}};
         t.Do(t.engine_->jobs().Change(t.now_, t.other_, change));
       }},
      {"RunningJobChangesItsValue",
       [](T& t) {
         t.SetPolicy("max_simultaneous(customer, 1, worker)");
         t.acme_ = t.Submit(t.For("acme", 1));
         t.Lease(1);
         t.Submit(t.For("acme", 9));
       },
       [](T& t) {
         JobChange change;
         change.meta = Meta{};
         t.Do(t.engine_->jobs().Change(t.now_, t.acme_, change));
       }},
      {"RetentionEnds",
       [](T& t) {
         t.SetPolicy("max_simultaneous(customer, 1, worker)");
         JobSpec spec = t.For("acme", 1);
         spec.retention = 20s;
         t.acme_ = t.Submit(spec);
         t.Lease(1);
         t.Submit(t.For("acme", 9));
         t.Do(t.engine_->jobs().Cancel(t.now_, t.acme_));
       },
       [](T& t) { t.Pass(21s); }},
      {"OneOfTwoMaximaOpens",
       [](T& t) {
         t.SetPolicy("max_simultaneous(customer, 2, max_simultaneous(user, 2, worker))");
         for (const char* user : {"u", "u", "v"}) {
           JobSpec spec = t.For(*user == 'u' ? "acme" : "beta", *user == 'u' ? 1 : 2);
           spec.user = user;
           t.Submit(spec);
         }
         t.Lease(4);
         JobSpec spec = t.For("acme", 5);
         spec.user = "v";
         t.Submit(spec);  // customer and user are both full
         t.Say(t.lessees_[0], t.tasks_[0], ReportKind::kDone);
       },
       [](T& t) { t.Say(t.lessees_[2], t.tasks_[2], ReportKind::kDone); }},
      // What holds changes.
      {"PolicyAllowsMore", saturate, [](T& t) { t.SetPolicy("max_simultaneous(customer, 3, worker)"); }},
      {"PolicySelectsOthers",
       [](T& t) {
         t.SetPolicy("select_only(customer = acme, worker)");
         t.Submit(t.For("beta", 1));
       },
       [](T& t) { t.SetPolicy("fair(user, worker)"); }},
      {"PercentageGrows",
       [](T& t) {
         t.Submit(t.For("acme", 30));
         EXPECT_EQ(t.Pull(t.RegisterBy("oldest"), 10).size(), 10u);
         // With the crowd there will be 1,001 slots, of which 10 are one in a hundred.
         t.SetPolicy("max_simultaneous(customer, 1%, worker)");
       },
       [](T& t) { t.RegisterBy("oldest", {"a"}, 99); }},
      // A job opens.
      {"Submitted", nothing, one(plain, nothing)},
      {"Resumed", one(plain, [](T& t) { t.Do(t.engine_->jobs().Pause(t.now_, t.other_)); }),
       [](T& t) { t.Do(t.engine_->jobs().Resume(t.now_, t.other_)); }},
      {"QueueResumed",
       [](T& t) {
         t.engine_->queue().Pause(t.now_);
         t.Submit(t.For("beta", 1));
       },
       [](T& t) { t.engine_->queue().Resume(t.now_); }},
      {"ScheduleDue", one([](T&, JobSpec& spec) { spec.delay = 20s; }, nothing), [](T& t) { t.Pass(21s); }},
      {"RetryDue",
       [](T& t) {
         JobSpec spec = t.For("beta", 1);
         spec.backoff.first = spec.backoff.max = 20s;
         t.Submit(spec);
         t.Lease(1);
         t.Say(t.lessees_[0], t.tasks_[0], ReportKind::kFailed);
       },
       [](T& t) { t.Pass(30s); }},
      {"LeaseExpired",
       [](T& t) {
         t.Submit(t.For("beta", 1));
         t.Lease(1);
       },
       [](T& t) { t.Pass(61s); }},
      {"TimedOut",
       [](T& t) {
         JobSpec spec = t.For("beta", 1);
         spec.timeout = 20s;
         spec.backoff.first = 0ms;
         t.Submit(spec);
         t.Lease(1);
       },
       [](T& t) { t.Pass(21s); }},
      {"Retried", one(plain, [](T& t) { t.Do(t.engine_->jobs().Cancel(t.now_, t.other_)); }),
       [](T& t) { EXPECT_TRUE(t.engine_->jobs().Retry(t.now_, t.other_).ok()); }},
      {"TagsChanged", one([](T&, JobSpec& spec) { spec.tags = {"z"}; }, nothing),
       [](T& t) {
         JobChange change;
         change.tags = std::vector<std::string>{"a"};
         t.Do(t.engine_->jobs().Change(t.now_, t.other_, change));
       }},
  };
}

class EngineWakingBy : public EngineWakingTest, public ::testing::WithParamInterface<Change> {
 protected:
  void Run(const std::vector<std::string>& strategies, std::size_t kinds) {
    GetParam().before(*this);
    if (HasFatalFailure()) return;
    Gather(strategies, kinds);
    const std::uint64_t before = LooksInVain();
    GetParam().change(*this);
    EXPECT_EQ(Served(), std::vector<WorkerId>{crowd_[0]}) << "the one that waits longest, and no other";
    EXPECT_LE(LooksInVain() - before, strategies.size() * kinds) << "one for each group, however many wait in it";
    ExpectNobodyForgotten();
  }
};

TEST_P(EngineWakingBy, OneOfAThousandWhoAreAlike) { Run({"oldest"}, 1); }

TEST_P(EngineWakingBy, OneOfAThousandWithDifferentStrategiesAndOfDifferentKinds) {
  Run({"fair", "newest", "priority", "least_recent", "prefer_distinct(customer, 1, random)",
       "or_else(select_only(customer = nobody, oldest), oldest)", "max_simultaneous(async, 40, random)"},
      3);
}

INSTANTIATE_TEST_SUITE_P(After, EngineWakingBy, ::testing::ValuesIn(Changes()),
                         [](const auto& change) { return change.param.name; });

// --- Several at once, and nobody at all.

TEST_F(EngineWakingTest, AsManyAreServedAsThereIsWorkTheLongestWaitingFirst) {
  SetPolicy("max_simultaneous(customer, 20, fair(user, worker))");
  Gather({"oldest", "fair", "newest"}, 2);
  const std::uint64_t before = LooksInVain();
  Submit(For("acme", 30));
  EXPECT_EQ(Served(), std::vector<WorkerId>(crowd_.begin(), crowd_.begin() + 20));
  EXPECT_LE(LooksInVain() - before, 6u);
  ExpectNobodyForgotten();
}

TEST_F(EngineWakingTest, AJobThatOnlySomeWantIsTheirs) {
  std::vector<std::string> strategies;
  for (int i = 0; i < 9; ++i) strategies.push_back("select_only(mode = bulk" + std::to_string(i) + ", oldest)");
  strategies.push_back("select_only(mode = preview, oldest)");
  Gather(strategies, 2);
  const std::uint64_t before = LooksInVain();
  JobSpec spec = Spec(2);
  spec.meta = {{"mode", "preview"}};
  Submit(spec);
  EXPECT_EQ(Served(), (std::vector<WorkerId>{crowd_[9], crowd_[19]}));
  EXPECT_LE(LooksInVain() - before, strategies.size() * 2);
  ExpectNobodyForgotten();
}

TEST_F(EngineWakingTest, WhatOpensNothingLooksAtNobody) {
  Saturate();
  Gather({"fair", "oldest"}, 3);
  const std::uint64_t before = LooksInVain();
  SetPolicy("max_simultaneous(customer, 2, worker)", {{"user.ann", 5}});
  EXPECT_TRUE(engine_->workers().Heartbeat(now_, lessees_[0]).ok());
  EXPECT_TRUE(engine_->workers().Extend(now_, lessees_[0], std::span(&tasks_[0], 1)).ok());
  Submit(Spec(1, {"nobody has this"}));
  EXPECT_TRUE(engine_->jobs().Pause(now_, acme_).ok());
  engine_->workers().Unregister(now_, crowd_.back());
  crowd_.pop_back();
  EXPECT_TRUE(Pull(RegisterBy("newest")).empty());
  Pass(20s);
  // A slot becomes free whose customer has nothing queued.
  Say(lessees_[0], tasks_[0], ReportKind::kDone);
  EXPECT_TRUE(Grants().empty());
  EXPECT_EQ(LooksInVain(), before);
  EXPECT_TRUE(engine_->jobs().Resume(now_, acme_).ok());
  EXPECT_EQ(Served(), std::vector<WorkerId>{crowd_[0]});
}

TEST_F(EngineWakingTest, OfAllThatWaitTheOneThatTheJobRanksHighestIsServed) {
  const auto with_memory = [this](std::int64_t memory) {
    WorkerSpec spec;
    spec.id = WorkerId{++last_id_};
    spec.tags = {"a"};
    spec.connected = true;
    spec.strategy = Strategy(memory % 2 == 0 ? "fair" : "newest");
    spec.attributes = {{"Memory", memory}};
    EXPECT_TRUE(engine_->workers().Register(now_, spec, std::nullopt).ok());
    Wait(spec.id);
    return spec.id;
  };
  Saturate();
  JobSpec spec = For("acme", 9);
  spec.rank = expr::Expr::Parse("TARGET.Memory").expr;
  Submit(spec);
  EXPECT_TRUE(engine_->jobs().Pause(now_, acme_).ok());
  std::vector<WorkerId> workers;
  for (const std::int64_t memory : {1, 4, 2, 7, 6, 3, 5}) workers.push_back(with_memory(memory));
  EXPECT_TRUE(Grants().empty());
  // A value that falls below its maximum, a new policy, a percentage that grows, a queue that is resumed.
  Say(lessees_[0], tasks_[0], ReportKind::kDone);
  EXPECT_EQ(Served(), std::vector<WorkerId>{workers[3]}) << "7";
  SetPolicy("max_simultaneous(customer, 4, worker)");
  EXPECT_EQ(Served(), (std::vector<WorkerId>{workers[4], workers[6]})) << "6 and 5";
  SetPolicy("max_simultaneous(customer, 50%, worker)");
  EXPECT_TRUE(Grants().empty()) << "of nine slots four";
  RegisterBy("oldest");
  EXPECT_EQ(Served(), std::vector<WorkerId>{workers[1]}) << "4";
  engine_->queue().Pause(now_);
  Say(lessees_[1], tasks_[1], ReportKind::kDone);
  EXPECT_TRUE(Grants().empty());
  engine_->queue().Resume(now_);
  EXPECT_EQ(Served(), std::vector<WorkerId>{workers[5]}) << "3";
}

TEST_F(EngineWakingTest, WhoChangesItsStrategyIsLookedAfterByTheNewOne) {
  Gather({"select_only(mode = preview, oldest)"}, 1);
  Submit(For("acme", 2));
  EXPECT_TRUE(Grants().empty());
  WorkerChange change;
  change.strategy = Strategy("newest");
  EXPECT_TRUE(engine_->workers().Change(now_, crowd_[500], change).ok());
  EXPECT_EQ(Served(), std::vector<WorkerId>{crowd_[500]});
  // A pull of its own, for this time.
  PullOptions pull{1, false, std::nullopt, Strategy("fair")};
  EXPECT_TRUE(engine_->workers().Pull(now_, crowd_[700], pull).ok());
  EXPECT_EQ(Served(), std::vector<WorkerId>{crowd_[700]});
  EXPECT_TRUE(engine_->workers().Pull(now_, crowd_[701], pull).ok());
  EXPECT_TRUE(engine_->workers().Pull(now_, crowd_[702], pull).ok());
  Submit(For("acme", 1));
  EXPECT_EQ(Served(), std::vector<WorkerId>{crowd_[701]});
  Wait(crowd_[702]);  // by its own again
  Submit(For("acme", 1));
  EXPECT_TRUE(Grants().empty());
}

TEST_F(EngineWakingTest, AnOrderThatIsBeingBuiltServesItsWorkersOnceItIsReadyAndHoldsUpNobody) {
  constexpr int kJobs = 5000;  // more than a command builds
  for (int i = 0; i < kJobs; ++i) {
    JobSpec spec = For(i == kJobs - 1 ? "last" : "acme", 1);
    spec.user = "u" + std::to_string(i % 7);
    Submit(spec);
    if (i % 500 == 0) Fold();
  }
  const WorkerId ready = RegisterBy("");
  const WorkerId fresh = RegisterBy("select_only(customer = last, fair(user, oldest))");
  Wait(fresh, 2);
  EXPECT_TRUE(Grants().empty()) << "it is not ready yet";
  EXPECT_EQ(Pull(ready).size(), 1u);
  EXPECT_EQ(engine_->NextWake(now_), now_.mono) << "it goes on at once";
  Pass(1ms);
  EXPECT_EQ(Served(), std::vector<WorkerId>{fresh});
  // A new policy takes over in the same way; what it opens is given out then.
  Wait(fresh, 2);
  SetPolicy("or_else(worker, select_only(customer = acme, oldest))");
  EXPECT_TRUE(Grants().empty()) << "until then the old one holds";
  Pass(1ms);
  EXPECT_EQ(Grants().size(), 2u);
}

}  // namespace
}  // namespace allot
