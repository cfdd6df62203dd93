// SPDX-License-Identifier: Apache-2.0
// Promised tasks inside the engine: what the dispatcher's own tests and the simulation do not reach, or what should be
// seen by name.
#include "engine/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineDispatchTest : public testing::EngineTest {
 protected:
  void SetUp() override {
    options_.dispatch.mode = DispatchMode::kBalanced;
    EngineTest::SetUp();
  }
  std::uint64_t Promised(WorkerId worker) { return engine_->looks().DescribeWorker(worker)->promised; }
  std::vector<std::uint64_t> Promised(const std::vector<WorkerId>& workers) {
    std::vector<std::uint64_t> all;
    for (const WorkerId worker : workers) all.push_back(Promised(worker));
    return all;
  }
  using Lengths = std::vector<std::uint64_t>;
  void Switch(DispatchMode mode, Balance balance = Balance::kLeastQueue) {
    options_.dispatch = {mode, balance};
    engine_->queue().SetDispatch(now_, options_.dispatch);
  }
  void Do(const Result<void>& result) { EXPECT_TRUE(result.ok()); }
};

TEST_F(EngineDispatchTest, ATaskGoesToTheShortestQueueAndNotToWhoWaitsLongest) {
  const WorkerId busy = RegisterBy("", {"a"}, 3), idle = RegisterBy("", {"a"}, 3);
  Submit(Spec(2, {}));
  Wait(busy, 3);
  EXPECT_EQ(Grants().size(), 2u);  // both were open to it, as the other one did not ask
  Wait(idle, 3);
  Submit(Spec(2));
  EXPECT_EQ(Served(), (std::vector<WorkerId>{idle}));
}

TEST_F(EngineDispatchTest, WhoHasNothingTakesFromTheLongestQueue) {
  const WorkerId one = Register(), two = Register(), other = Register({"b"});
  const JobId job = Submit(Spec(10));
  EXPECT_EQ(Promised({one, two, other}), (Lengths{5, 5, 0}));
  EXPECT_EQ(Pull(one, 5).size(), 5u);
  EXPECT_EQ(Pull(one, 2).size(), 2u);
  EXPECT_EQ(Promised({one, two}), (Lengths{0, 3}));
  EXPECT_EQ(engine_->looks().Stats().dispatch_steals, 2u);
  EXPECT_EQ(View(job).promised, 3u);
  EXPECT_EQ(Pull(two, 9).size(), 3u);
  EXPECT_TRUE(Pull(other, 1).empty());
  EXPECT_EQ(engine_->looks().Stats().wasted_pops, 0u);
}

TEST_F(EngineDispatchTest, WhatAWorkerWasPromisedGoesToOthersWhenItDrainsLosesItsConnectionOrLeaves) {
  const WorkerId stays = Register();
  for (const int way : {0, 1, 2}) {
    const WorkerId leaves = Register();
    const JobId job = Submit(Spec(10));
    EXPECT_EQ(Promised({stays, leaves}), (Lengths{5, 5}));
    if (way == 0) Do(engine_->workers().Drain(now_, leaves));
    if (way == 1) engine_->workers().Disconnect(now_, leaves);
    if (way == 2) engine_->workers().Unregister(now_, leaves);
    EXPECT_EQ(Promised(stays), 10u);
    if (way == 1) {
      ComeBack(leaves, {});
      EXPECT_EQ(Promised({stays, leaves}), (Lengths{5, 5}));
      engine_->workers().Unregister(now_, leaves);
    }
    Do(engine_->jobs().Cancel(now_, job));
    EXPECT_EQ(Promised(stays), 0u);
  }
}

TEST_F(EngineDispatchTest, WhatAWorkerMayNotRunAnyMoreGoesToWhoMay) {
  const WorkerId one = Register(), two = Register();
  Submit(Spec(10));
  WorkerChange change;
  change.tags = std::vector<std::string>{"b"};
  Do(engine_->workers().Change(now_, one, change));
  EXPECT_EQ(Promised({one, two}), (Lengths{0, 10}));
  Do(engine_->workers().Change(now_, two, change));
  EXPECT_EQ(Promised({one, two}), (Lengths{0, 0}));
  change.tags = std::vector<std::string>{"a", "b"};
  Do(engine_->workers().Change(now_, one, change));
  EXPECT_EQ(Promised({one, two}), (Lengths{10, 0}));
}

TEST_F(EngineDispatchTest, AJobThatChangesIsPromisedAnew) {
  const WorkerId a = Register(), b = Register({"b"});
  const JobId job = Submit(Spec(4));
  EXPECT_EQ(Promised({a, b}), (Lengths{4, 0}));
  JobChange change;
  change.tags = std::vector<std::string>{"b"};
  Do(engine_->jobs().Change(now_, job, change));
  EXPECT_EQ(Promised({a, b}), (Lengths{0, 4}));
  Do(engine_->jobs().Pause(now_, job));
  EXPECT_EQ(Promised({a, b}), (Lengths{0, 0}));
  Do(engine_->jobs().Resume(now_, job));
  EXPECT_EQ(Promised({a, b}), (Lengths{0, 4}));
  change.tags = std::vector<std::string>{"c"};
  Do(engine_->jobs().Change(now_, job, change));
  EXPECT_EQ(Promised({a, b}), (Lengths{0, 0}));
  EXPECT_EQ(View(job).promised, 0u);
  EXPECT_EQ(Promised(Register({"c"})), 4u);
}

TEST_F(EngineDispatchTest, ANewWorkerIsLevelledUpToTheMean) {
  std::vector<WorkerId> workers = {Register(), Register()};
  Submit(Spec(30));
  workers.push_back(Register());
  EXPECT_EQ(Promised(workers), (Lengths{10, 10, 10}));
  for (int i = 0; i < 30; ++i) Submit(Spec(1));
  workers.push_back(Register());
  EXPECT_EQ(Promised(workers), (Lengths{15, 15, 15, 15}));
}

TEST_F(EngineDispatchTest, AfterARestartTheFirstWhoComesBackDoesNotTakeAll) {
  const WorkerId one = Register(), two = Register();
  Submit(Spec(100));
  Submit(Spec(100));
  Pull(one);
  Fold();
  Load(30s);
  ComeBack(two, {});
  EXPECT_EQ(Promised(two), 0u) << "others may be on their way";
  EXPECT_EQ(Pull(two, 3).size(), 3u) << "but nobody has to wait";
  ComeBack(one, {});
  Pass(31s);
  EXPECT_EQ(Promised({one, two}), (Lengths{100, 97}));  // and what it runs counts
  EXPECT_EQ(engine_->looks().Stats().tasks_queued, 197u);
}

TEST_F(EngineDispatchTest, GoingFromOneModeToTheOtherLosesAndDoublesNothing) {
  const WorkerId one = Register(), two = Register();
  const JobId job = Submit(Spec(20));
  for (int round = 0; round < 4; ++round) {
    EXPECT_EQ(Promised({one, two}), (Lengths{10u - 2u * static_cast<unsigned>(round), 10}))
        << "round " << round;  // two runs nothing
    EXPECT_EQ(Pull(one, 1).size(), 1u);
    Switch(DispatchMode::kFanout);
    EXPECT_EQ(Promised({one, two}), (Lengths{0, 0}));
    EXPECT_EQ(View(job).promised, 0u);
    EXPECT_EQ(Pull(one, 1).size(), 1u);
    Switch(DispatchMode::kBalanced, round % 2 == 0 ? Balance::kRoundRobin : Balance::kLeastQueue);
    Switch(DispatchMode::kBalanced);
    if (round == 3) break;
    Do(engine_->jobs().Pause(now_, job));
    Do(engine_->jobs().Resume(now_, job));
  }
  EXPECT_EQ(View(job).queued + View(job).running, 20u);
}

TEST_F(EngineDispatchTest, InAQueueThatIsSwitchedTheBacklogIsPromisedInSteps) {
  Switch(DispatchMode::kFanout);
  const WorkerId one = Register(), two = Register();
  for (int i = 0; i < 20'000; ++i) Submit(Spec(1));
  Switch(DispatchMode::kBalanced);
  EXPECT_LT(Promised(one), 2'000u);
  EXPECT_EQ(Pull(two, 1)[0].task.job, JobId{103}) << "until then the shared order decides";
  while (engine_->NextWake(now_) == now_.mono) engine_->Tick(now_);
  EXPECT_EQ(Promised(one) + Promised(two), 19'999u);
  Switch(DispatchMode::kFanout);
  EXPECT_EQ(Pull(two, 1).size(), 1u);
  while (engine_->NextWake(now_) == now_.mono) engine_->Tick(now_);
  EXPECT_EQ(engine_->looks().Stats().tasks_promised, 0u);
  EXPECT_EQ(engine_->looks().Stats().tasks_queued, 19'998u);
}

TEST_F(EngineDispatchTest, WhatAWorkerThatStandsStillWasPromisedGoesToOthersThoughTheyAreBusy) {
  const WorkerId works = Register(), stands = Register();
  JobSpec urgent = Spec(10);
  urgent.priority = 100;
  const JobId job = Submit(urgent);
  EXPECT_EQ(Promised({works, stands}), (Lengths{5, 5}));
  for (int second = 0; second < 60; ++second) {
    Submit(Spec(1));
    const auto grants = Pull(works);
    ASSERT_EQ(grants.size(), 1u);
    EXPECT_TRUE(engine_->workers().Heartbeat(now_, stands).ok());
    Pass(1s);
    Say(works, grants[0].task, ReportKind::kDone);
  }
  EXPECT_EQ(View(job).done, 10u);
  EXPECT_EQ(Promised(stands), 0u);
  EXPECT_EQ(Pull(stands).size(), 1u) << "until it asks again";
  Pass(2s);
  EXPECT_EQ(Promised(works), Promised(stands) + 1);
}

TEST_F(EngineDispatchTest, AQueueThatIsStillBeingGivenBackSurvivesASwitchOfModes) {
  const WorkerId stays = Register(), leaves = Register();
  for (int i = 0; i < 9000; ++i) Submit(Spec(1));
  engine_->workers().Unregister(now_, leaves);
  EXPECT_LT(Promised(stays), 9000u);
  Switch(DispatchMode::kFanout);
  Switch(DispatchMode::kBalanced);
  while (engine_->NextWake(now_) == now_.mono) engine_->Tick(now_);
  EXPECT_EQ(Promised(stays), 9000u);
}

TEST_F(EngineDispatchTest, AWorkersStrategyOrdersItsOwnQueueAndThePolicyHoldsWhenATaskIsTaken) {
  SetPolicy("max_simultaneous(customer, 1, worker)");
  const WorkerId worker = RegisterBy("newest");
  const auto of = [&](const char* customer) {
    JobSpec spec = Spec(2);
    spec.meta = {{"customer", customer}};
    return Submit(spec);
  };
  const JobId acme = of("acme"), beta = of("beta");
  EXPECT_EQ(Promised(worker), 4u);
  const auto grants = Pull(worker, 4);
  ASSERT_EQ(grants.size(), 2u);
  EXPECT_EQ(grants[0].task.job, beta);
  EXPECT_EQ(grants[1].task.job, acme);
  Wait(worker);
  EXPECT_EQ(Say(worker, grants[1].task, ReportKind::kDone), ReportVerdict::kTaken);
  const auto next = Grants();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].task.job, acme);
}

TEST_F(EngineDispatchTest, AQueueIsShownHighestPriorityFirstThenOldest) {
  const WorkerId worker = Register();
  JobSpec spec = Spec(3);
  spec.user = "ann";
  const JobId old = Submit(spec), later = Submit(spec);
  spec.priority = 7;
  const JobId urgent = Submit(spec);
  const WorkerView view = *engine_->looks().DescribeWorker(worker);
  EXPECT_EQ(view.promised, 9u);
  EXPECT_EQ(view.promised_jobs, 3u);
  ASSERT_EQ(view.queue.size(), 3u);
  EXPECT_EQ(view.queue[0].job, urgent);
  EXPECT_EQ(view.queue[0].priority, 7);
  EXPECT_EQ(view.queue[1].job, old);
  EXPECT_EQ(view.queue[2].job, later);
  EXPECT_EQ(view.queue[2].tasks, 3u);
  EXPECT_EQ(view.queue[2].user, "ann");
}

}  // namespace
}  // namespace allot
