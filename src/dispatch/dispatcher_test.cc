// SPDX-License-Identifier: Apache-2.0
#include "dispatch/dispatcher.h"

#include <gtest/gtest.h>

#include <numeric>

#include "dispatch/testing_world.h"

namespace allot {
namespace {

using testing::DispatchWorld;
using testing::WorldJob;
using testing::WorldWorker;

std::vector<std::uint64_t> Promises(const DispatchWorld& world) {
  std::vector<std::uint64_t> promises;
  for (const auto& worker : world.workers) promises.push_back(DispatchWorld::Promised(*worker));
  return promises;
}
std::uint64_t Sum(const std::vector<std::uint64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0});
}
using Numbers = std::vector<std::uint64_t>;

constexpr Balance kBalances[] = {Balance::kLeastQueue, Balance::kRoundRobin, Balance::kRandom};

// --- One task and many workers.

TEST(Dispatcher, InFanoutEveryWorkerHasATaskUntilOneTakesIt) {
  DispatchWorld world;
  for (int i = 0; i < 5; ++i) world.Add();
  WorldJob& job = world.Submit(1);
  for (const auto& worker : world.workers) EXPECT_EQ(world.Pick(*worker), &job);
  EXPECT_EQ(world.Pull(*world.workers[3]), &job);
  for (const auto& worker : world.workers) EXPECT_EQ(world.Pick(*worker), nullptr);
  EXPECT_EQ(world.dispatcher.counts().promised, 0u);
  EXPECT_EQ(world.Wrong(), "");
}

TEST(Dispatcher, InFanoutAJobThatIsClosedIsGoneForAll) {
  DispatchWorld world;
  for (int i = 0; i < 5; ++i) world.Add();
  WorldJob& job = world.Submit(3);
  world.Close(job);
  for (const auto& worker : world.workers) EXPECT_EQ(world.Pick(*worker), nullptr);
}

TEST(Dispatcher, InBalancedDispatchOneWorkerHoldsATask) {
  for (const Balance balance : kBalances) {
    DispatchWorld world;
    world.Balance(balance);
    for (int i = 0; i < 5; ++i) world.Add();
    WorldJob& job = world.Submit(1);
    EXPECT_EQ(Sum(Promises(world)), 1u);
    EXPECT_EQ(DispatcherCheck::Promises(job), 1u);
    EXPECT_EQ(DispatchWorld::OpenOf(job), 0u);
    for (const auto& worker : world.workers) EXPECT_EQ(world.Pick(*worker), &job);  // whoever is idle would take it
    EXPECT_EQ(world.Pull(*world.workers[3]), &job);
    for (const auto& worker : world.workers) EXPECT_EQ(world.Pick(*worker), nullptr);
    EXPECT_EQ(Sum(Promises(world)), 0u);
    EXPECT_EQ(world.Wrong(), "");
  }
}

TEST(Dispatcher, AJobThatIsClosedIsInNoQueueAnyMore) {
  for (const Balance balance : kBalances) {
    DispatchWorld world;
    world.Balance(balance);
    for (int i = 0; i < 5; ++i) world.Add();
    WorldJob& job = world.Submit(100);
    WorldJob& other = world.Submit(10);
    EXPECT_EQ(world.dispatcher.counts().promised, 110u);
    world.Close(job);
    EXPECT_EQ(world.dispatcher.counts().promised, 10u);
    EXPECT_EQ(Sum(Promises(world)), 10u);
    for (const auto& worker : world.workers) EXPECT_EQ(world.Pick(*worker), &other);
    EXPECT_EQ(world.Wrong(), "");
    world.Open(job);
    EXPECT_EQ(Sum(Promises(world)), 110u);
    EXPECT_EQ(world.Wrong(), "");
  }
}

// --- Whom a task is promised to.

TEST(Dispatcher, TheLeastLoadedIsPromisedATask) {
  DispatchWorld world;
  world.Balance();
  for (int i = 0; i < 3; ++i) world.Add({std::string(1, static_cast<char>('a' + i))});
  world.Submit(5, {"a"});
  world.Submit(3, {"b"});
  world.Submit(4, {"c"});
  EXPECT_EQ(Promises(world), (Numbers{5, 3, 4}));
  world.Submit(1);
  EXPECT_EQ(Promises(world), (Numbers{5, 4, 4}));
  world.Submit(1);  // the second registered before the third, and has been idle for longer
  EXPECT_EQ(Promises(world), (Numbers{5, 5, 4}));
  world.Submit(2);
  EXPECT_EQ(Promises(world), (Numbers{6, 5, 5}));
  EXPECT_EQ(world.Wrong(), "");
}

TEST(Dispatcher, OfEquallyLoadedTheLongestIdleIsFirst) {
  DispatchWorld world;
  world.Balance();
  for (int i = 0; i < 3; ++i) world.Add();
  // The first and the second have run something since.
  for (const int i : {1, 0}) {
    WorldJob& job = world.Submit(1);
    world.Take(*world.workers[static_cast<std::size_t>(i)], job);
    world.Finish(*world.workers[static_cast<std::size_t>(i)], job);
  }
  world.Submit(1);
  EXPECT_EQ(Promises(world), (Numbers{0, 0, 1}));
  world.Submit(1);
  EXPECT_EQ(Promises(world), (Numbers{0, 1, 1}));
  world.Submit(1);
  EXPECT_EQ(Promises(world), (Numbers{1, 1, 1}));
}

TEST(Dispatcher, WhatRunsCountsInTheLoad) {
  DispatchWorld world;
  world.Balance();
  for (int i = 0; i < 2; ++i) world.Add();
  WorldJob& job = world.Submit(4);
  for (int i = 0; i < 4; ++i) world.Take(*world.workers[0], job);
  world.Submit(5);
  EXPECT_EQ(Promises(world), (Numbers{0, 5}));
  for (int i = 0; i < 4; ++i) world.Finish(*world.workers[0], job);
  world.Submit(5);
  EXPECT_EQ(Promises(world), (Numbers{5, 5}));
  EXPECT_EQ(world.Wrong(), "");
}

TEST(Dispatcher, OfEquallyLoadedAndBusyTheLowestIdIsFirst) {
  DispatchWorld world;
  world.Balance();
  for (int i = 0; i < 3; ++i) world.Add();
  WorldJob& job = world.Submit(3);
  for (const int i : {2, 0, 1}) world.Take(*world.workers[static_cast<std::size_t>(i)], job);
  world.Submit(1);
  EXPECT_EQ(Promises(world), (Numbers{1, 0, 0}));
  world.Submit(1);
  EXPECT_EQ(Promises(world), (Numbers{1, 1, 0}));
}

TEST(Dispatcher, OnlyThoseWhoMayRunItArePromisedATask) {
  for (const Balance balance : kBalances) {
    DispatchWorld world;
    world.Balance(balance);
    for (int i = 0; i < 6; ++i) world.Add(i % 3 == 0 ? TagList{"a"} : i % 3 == 1 ? TagList{"a", "b"} : TagList{});
    WorldJob& job = world.Submit(200, {"b"});
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(DispatchWorld::PromiseOf(job, *world.workers[i]) > 0, i % 3 == 1) << i;
    }
    world.Submit(1000, {"a"});
    EXPECT_EQ(DispatchWorld::Promised(*world.workers[2]), 0u);
    EXPECT_EQ(DispatchWorld::Promised(*world.workers[5]), 0u);
    EXPECT_EQ(world.dispatcher.counts().promised, 1200u);
    EXPECT_EQ(world.Wrong(), "");
  }
}

TEST(Dispatcher, EquallyLoadedWorkersDifferByAtMostOneAfterAnything) {
  DispatchWorld world;
  world.Balance();
  for (int i = 0; i < 7; ++i) world.Add();
  for (int i = 0; i < 300; ++i) {
    world.Submit(static_cast<std::uint32_t>(1 + world.rng.Below(world.rng.Below(2) == 0 ? 4 : 40)));
    const Numbers promises = Promises(world);
    const auto [least, most] = std::minmax_element(promises.begin(), promises.end());
    ASSERT_LE(*most, *least + 1);
  }
  EXPECT_EQ(world.Wrong(), "");
}

TEST(Dispatcher, RoundRobinGoesFromOneToTheNext) {
  DispatchWorld world;
  world.Balance(Balance::kRoundRobin);
  for (int i = 0; i < 3; ++i) world.Add();
  const auto expected = [&](std::uint64_t total) { return Numbers{(total + 2) / 3, (total + 1) / 3, total / 3}; };
  for (std::uint64_t total = 1; total <= 10; ++total) {
    world.Submit(1);
    EXPECT_EQ(Promises(world), expected(total));
  }
  // Where a large job ends, the next one goes on.
  world.Submit(100);
  EXPECT_EQ(Promises(world), expected(110));
  world.Submit(1);
  EXPECT_EQ(Promises(world), expected(111));
  // Load does not matter.
  WorldJob& job = world.Submit(1);
  EXPECT_EQ(DispatchWorld::PromiseOf(job, *world.workers[0]), 1u);
  EXPECT_EQ(world.Wrong(), "");
}

TEST(Dispatcher, RoundRobinPassesByWhoMayNotRunIt) {
  DispatchWorld world;
  world.Balance(Balance::kRoundRobin);
  for (int i = 0; i < 4; ++i) world.Add(i % 2 == 0 ? TagList{"a"} : TagList{});
  world.Submit(3, {"a"});
  EXPECT_EQ(Promises(world), (Numbers{2, 0, 1, 0}));
  world.Submit(4);
  EXPECT_EQ(Promises(world), (Numbers{3, 1, 2, 1}));
}

TEST(Dispatcher, RandomIsRoughlyEven) {
  DispatchWorld world(7);
  world.Balance(Balance::kRandom);
  for (int i = 0; i < 10; ++i) world.Add();
  for (int i = 0; i < 10'000; ++i) {
    world.Begin();
    world.Submit(1);
  }
  for (const std::uint64_t promised : Promises(world)) {
    EXPECT_GE(promised, 850u);
    EXPECT_LE(promised, 1150u);
  }
  world.Submit(1'000'000);
  for (const std::uint64_t promised : Promises(world)) {
    EXPECT_GE(promised, 20'000u);
    EXPECT_LE(promised, 250'000u);
  }
  EXPECT_EQ(Sum(Promises(world)), 1'010'000u);
  EXPECT_EQ(world.Wrong(), "");
}

TEST(Dispatcher, AMillionTasksForTenThousandWorkersAreTenThousandShares) {
  for (const Balance balance : kBalances) {
    DispatchWorld world;
    world.Balance(balance);
    for (int i = 0; i < 10'000; ++i) world.Add();
    WorldJob& job = world.Submit(1'000'000);
    EXPECT_LE(DispatcherCheck::Promises(job), 10'000u);
    if (balance != Balance::kRandom) {
      EXPECT_EQ(DispatcherCheck::Promises(job), 10'000u);
      for (const std::uint64_t promised : Promises(world)) ASSERT_EQ(promised, 100u);
    }
    const Numbers promises = Promises(world);
    EXPECT_EQ(Sum(promises), 1'000'000u);
    EXPECT_EQ(DispatchWorld::OpenOf(job), 0u);
    EXPECT_EQ(world.dispatcher.longest(), *std::max_element(promises.begin(), promises.end()));
    world.Close(job);
    EXPECT_EQ(world.dispatcher.counts().promised, 0u);
    EXPECT_EQ(world.dispatcher.longest(), 0u);
  }
}

TEST(Dispatcher, WhatThereIsNoTimeToPromiseAtOnceIsOpenUntilAStep) {
  DispatchWorld world;
  world.Balance();
  for (int i = 0; i < 10; ++i) world.Add();
  ASSERT_TRUE(world.Settle());
  world.Begin();
  for (std::size_t i = 0; i < 2 * Dispatcher::kDealtAtOnce; ++i) world.Submit(1);
  EXPECT_GT(world.dispatcher.counts().promised, 0u);
  EXPECT_LE(world.dispatcher.counts().promised, Dispatcher::kDealtAtOnce);
  EXPECT_EQ(world.Wrong(), "");
  EXPECT_TRUE(world.dispatcher.Busy());
  ASSERT_TRUE(world.Settle());
  EXPECT_EQ(world.dispatcher.counts().promised, 2 * Dispatcher::kDealtAtOnce);
  EXPECT_EQ(world.Unsettled(), "");
  EXPECT_EQ(Promises(world), Numbers(10, 2 * Dispatcher::kDealtAtOnce / 10));
}

// --- What is taken.

TEST(Dispatcher, ATakeFollowsPriorityThenAge) {
  for (const bool balanced : {false, true}) {
    DispatchWorld world;
    if (balanced) world.Balance();
    world.Add();
    world.Add();
    const auto submit = [&](std::optional<int> priority) -> WorldJob& {
      return world.Submit(2, [&](WorldJob& job) {
        job.key.no_priority = !priority;
        job.key.priority = priority.value_or(0);
      });
    };
    WorldJob& none = submit({});
    WorldJob& low = submit(1);
    WorldJob& high = submit(5);
    WorldJob& later = submit(5);
    for (WorldJob* job : {&high, &later, &low, &none}) {
      for (const auto& worker : world.workers) EXPECT_EQ(world.Pull(*worker), job);
      EXPECT_EQ(world.Wrong(), "");
    }
    EXPECT_EQ(world.Pull(*world.workers[0]), nullptr);
    EXPECT_EQ(world.dispatcher.counts().steals, 0u);
  }
}

TEST(Dispatcher, AWorkersStrategyOrdersItsOwnQueue) {
  DispatchWorld world;
  world.Balance();
  WorldWorker& oldest = world.Add({}, "oldest");
  WorldWorker& newest = world.Add({}, "newest");
  std::vector<WorldJob*> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(&world.Submit(2));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(world.Pull(oldest), jobs[i]);
    EXPECT_EQ(world.Pull(newest), jobs[3 - i]);
  }
  EXPECT_EQ(world.dispatcher.counts().steals, 0u);
  EXPECT_EQ(world.Wrong(), "");
}

TEST(Dispatcher, AWorkerTakesWhatItWasPromisedBeforeWhatOthersWere) {
  DispatchWorld world;
  world.Balance();
  WorldWorker& one = world.Add({"a"});
  world.Add();
  WorldJob& own = world.Submit(1, {"a"});
  WorldJob& urgent = world.Submit(1, [](WorldJob& job) { job.key.no_priority = false; });
  ASSERT_EQ(DispatchWorld::PromiseOf(own, one), 1u);
  ASSERT_EQ(DispatchWorld::PromiseOf(urgent, one), 0u);
  EXPECT_EQ(world.Pull(one), &own);
  EXPECT_EQ(world.Pull(one), &urgent);
  EXPECT_EQ(world.dispatcher.counts().steals, 1u);
}

TEST(Dispatcher, AnIdleWorkerTakesFromTheLongestQueue) {
  DispatchWorld world;
  world.Balance();
  for (int i = 0; i < 3; ++i) world.Add({std::string(1, static_cast<char>('a' + i))});
  world.Submit(5, {"b"});
  WorldJob& job = world.Submit(16);
  ASSERT_EQ(Promises(world), (Numbers{7, 7, 7}));
  WorldWorker& idle = *world.workers[0];
  world.Submit(3, {"c"});
  while (DispatchWorld::Promised(idle) > 0) ASSERT_EQ(world.Pull(idle), &job);
  ASSERT_EQ(Promises(world), (Numbers{0, 7, 10}));
  for (std::uint64_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(world.Pull(idle), &job);
    EXPECT_EQ(Promises(world), (Numbers{0, 7, 10 - i}));
    EXPECT_EQ(world.dispatcher.counts().steals, i);
  }
  EXPECT_EQ(world.Wrong(), "");
}

TEST(Dispatcher, WhatAWorkerRanksOtherwiseThanBeforeIsTakenInThatOrder) {
  for (const int jobs : {6, 60}) {
    SCOPED_TRACE(std::to_string(jobs) + " jobs");
    DispatchWorld world;
    world.Balance();
    testing::SampleWorker sample;
    sample.rank = testing::MustParse("time() % 2 == 0 ? TARGET.Need : 10 - TARGET.Need");
    WorldWorker& worker = world.AddLike(sample, "fair(job, oldest)");
    for (int i = 0; i < jobs; ++i) world.Submit(5, [&](WorldJob& job) { job.sample.need = 1 + i % 3; });
    ASSERT_TRUE(world.Settle());
    for (std::int64_t time = 1000; time < 1010; ++time) {
      world.Begin(time);
      world.table.Renew();
      std::size_t much = 1'000'000;
      ASSERT_TRUE(world.table.Settle(much));
      const WorldJob* job = world.Pull(worker);
      ASSERT_NE(job, nullptr);
      EXPECT_EQ(job->sample.need, time % 2 == 0 ? 3 : 1) << time;
    }
    EXPECT_EQ(world.dispatcher.counts().steals, 0u);
    EXPECT_EQ(world.Wrong(), "");
  }
}

// --- Workers come and go.

TEST(Dispatcher, WhatNobodyMayRunIsOpenAndDealtWhenSomebodyRegisters) {
  for (const Balance balance : kBalances) {
    DispatchWorld world;
    world.Balance(balance);
    world.Add();
    WorldJob& job = world.Submit(10, {"a"});
    EXPECT_EQ(DispatchWorld::OpenOf(job), 10u);
    EXPECT_EQ(world.Pick(*world.workers[0]), nullptr);
    WorldWorker& able = world.Add({"a"});
    EXPECT_EQ(world.Wrong(), "");
    ASSERT_TRUE(world.Settle());
    EXPECT_EQ(world.Unsettled(), "");
    EXPECT_EQ(DispatchWorld::PromiseOf(job, able), 10u);
    EXPECT_EQ(DispatchWorld::OpenOf(job), 0u);
  }
}

TEST(Dispatcher, WhatIsOpenMayBeTakenBeforeItIsDealt) {
  DispatchWorld world;
  world.Balance();
  WorldJob& job = world.Submit(2);
  WorldWorker& worker = world.Add();
  EXPECT_EQ(world.Pull(worker), &job);
  EXPECT_EQ(DispatchWorld::OpenOf(job), 1u);
  EXPECT_EQ(world.Pull(worker), &job);
  EXPECT_EQ(world.Pull(worker), nullptr);
  EXPECT_EQ(world.Wrong(), "");
}

TEST(Dispatcher, ANewcomerIsLevelledUpToTheMean) {
  for (const bool one_job : {true, false}) {
    DispatchWorld world;
    world.Balance();
    for (int i = 0; i < 3; ++i) world.Add();
    for (int i = 0; i < (one_job ? 1 : 120); ++i) world.Submit(one_job ? 120 : 1);
    EXPECT_EQ(Promises(world), (Numbers{40, 40, 40}));
    world.Add();
    EXPECT_EQ(world.Wrong(), "");
    for (int step = 0; world.dispatcher.Busy(); ++step) {
      ASSERT_LT(step, 10'000);
      std::size_t budget = 1 + world.rng.Below(4);
      world.Step(budget);
      ASSERT_EQ(world.Wrong(), "");
    }
    EXPECT_EQ(Promises(world), (Numbers{30, 30, 30, 30}));
    EXPECT_EQ(world.Unsettled(), "");
  }
}

TEST(Dispatcher, ANewcomerOfAnotherKindIsLevelledUpToo) {
  DispatchWorld world;
  world.Balance();
  world.Add({"a"});
  world.Submit(60, {"a"});
  world.Submit(40);
  world.Add();
  for (int sweep = 0; sweep < 3; ++sweep) {
    world.dispatcher.Sweep();
    ASSERT_TRUE(world.Settle());
  }
  EXPECT_EQ(Promises(world), (Numbers{60, 40}));
  EXPECT_EQ(world.Wrong(), "");
}

TEST(Dispatcher, ASweepLevelsWhatRoundRobinAndRandomLeave) {
  for (const Balance balance : kBalances) {
    DispatchWorld world;
    world.Balance(balance);
    for (int i = 0; i < 8; ++i) world.Add();
    for (int i = 0; i < 100; ++i) world.Submit(static_cast<std::uint32_t>(1 + world.rng.Below(8)));
    world.Leave(*world.workers[0]);
    world.dispatcher.Sweep();
    ASSERT_TRUE(world.Settle(3));
    Numbers promises = Promises(world);
    promises.erase(promises.begin());
    const auto [least, most] = std::minmax_element(promises.begin(), promises.end());
    EXPECT_LE(*most, *least + 1);
    EXPECT_EQ(world.Wrong(), "");
  }
}

TEST(Dispatcher, WhatAWorkerThatLeavesWasPromisedGoesToOthers) {
  for (const Balance balance : kBalances) {
    DispatchWorld world;
    world.Balance(balance);
    for (int i = 0; i < 4; ++i) world.Add(i < 2 ? TagList{"a"} : TagList{});
    WorldJob& some = world.Submit(50, {"a"});
    for (int i = 0; i < 50; ++i) world.Submit(3);
    world.Leave(*world.workers[0]);
    EXPECT_EQ(world.Wrong(), "");
    ASSERT_TRUE(world.Settle());
    EXPECT_EQ(world.Unsettled(), "");
    EXPECT_EQ(DispatchWorld::PromiseOf(some, *world.workers[1]), 50u);
    EXPECT_EQ(Sum(Promises(world)), 200u);
    EXPECT_EQ(world.Promised(*world.workers[0]), 0u);
    // Then nobody is left who may run some.
    world.Leave(*world.workers[1]);
    ASSERT_TRUE(world.Settle());
    EXPECT_EQ(DispatchWorld::OpenOf(some), 50u);
    EXPECT_EQ(Sum(Promises(world)), 150u);
    EXPECT_EQ(world.Unsettled(), "");
    world.UpdateRegistration(*world.workers[0]);
    ASSERT_TRUE(world.Settle());
    EXPECT_EQ(DispatchWorld::PromiseOf(some, *world.workers[0]), 50u);
    EXPECT_EQ(Sum(Promises(world)), 200u);
    EXPECT_EQ(world.Wrong(), "");
  }
}

TEST(Dispatcher, AWorkerThatMayNotRunItAnyMoreGivesItBack) {
  DispatchWorld world;
  world.Balance();
  WorldWorker& changes = world.Add({"a"});
  WorldWorker& stays = world.Add({"a"});
  WorldJob& job = world.Submit(10, {"a"});
  WorldJob& any = world.Submit(10);
  ASSERT_EQ(DispatchWorld::PromiseOf(job, changes), 5u);
  world.Change(changes, testing::SampleWorker{});
  EXPECT_EQ(world.Wrong(), "");
  ASSERT_TRUE(world.Settle());
  EXPECT_EQ(world.Unsettled(), "");
  EXPECT_EQ(DispatchWorld::PromiseOf(job, changes), 0u);
  EXPECT_EQ(DispatchWorld::PromiseOf(job, stays), 10u);
  EXPECT_EQ(DispatchWorld::PromiseOf(any, changes) + DispatchWorld::PromiseOf(any, stays), 10u);
  EXPECT_EQ(world.Wrong(), "");
}

TEST(Dispatcher, AWorkerThatChangedIsNeverGivenWhatItMayNotRun) {
  DispatchWorld world;
  world.Balance();
  WorldWorker& worker = world.Add({"a"});
  world.Submit(10, {"a"});
  WorldJob& any = world.Submit(1);
  world.Change(worker, testing::SampleWorker{});
  // Before any step.
  EXPECT_EQ(world.Pull(worker), &any);
  EXPECT_EQ(world.Pull(worker), nullptr);
  EXPECT_EQ(world.Wrong(), "");
}

TEST(Dispatcher, HungryWorkersAreToldOnceWhenTheyAreGivenSomething) {
  DispatchWorld world;
  world.Balance();
  WorldWorker& asking = world.Add();
  WorldWorker& sated = world.Add();
  world.dispatcher.SetAsking(asking, 1);
  world.Submit(4);
  EXPECT_EQ(world.dispatcher.TakeNewlyPromised(), std::vector<WorkerId>{asking.id});
  EXPECT_TRUE(world.dispatcher.TakeNewlyPromised().empty());
  world.Submit(2);
  world.Leave(asking);
  EXPECT_TRUE(world.dispatcher.TakeNewlyPromised().empty());
  EXPECT_EQ(DispatchWorld::Promised(sated), 6u);
}

// --- Modes.

TEST(Dispatcher, SwitchingBetweenModesLosesNothing) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DispatchWorld world(seed);
    for (int i = 0; i < 4; ++i) world.Add(i % 2 == 0 ? TagList{"a"} : TagList{});
    std::uint64_t left = 0;
    for (int i = 0; i < 40; ++i) {
      const auto queued = static_cast<std::uint32_t>(1 + world.rng.Below(9));
      left += queued;
      world.Submit(queued, world.rng.Below(3) == 0 ? TagList{"a"} : TagList{});
    }
    while (left > 0) {
      switch (world.rng.Below(6)) {
        case 0:
          world.Fanout();
          break;
        case 1:
          world.Balance(kBalances[world.rng.Below(3)]);
          break;
        case 2: {
          std::size_t budget = world.rng.Below(20);
          world.Step(budget);
          break;
        }
        default: {
          // The first may run everything: it is never told that there is nothing.
          WorldWorker& worker = *world.workers[world.rng.Below(4)];
          const WorldJob* job = world.Pull(worker);
          ASSERT_TRUE(job != nullptr || &worker != world.workers[0].get());
          if (job != nullptr) --left;
        }
      }
      world.Begin();
      ASSERT_EQ(world.Wrong(), "");
      std::uint64_t queued = 0;
      for (const auto& job : world.jobs) queued += job->queued;
      ASSERT_EQ(queued, left);
    }
    world.Balance();
    world.Fanout();
    ASSERT_TRUE(world.Settle());
    EXPECT_EQ(world.Unsettled(), "");
    EXPECT_EQ(world.dispatcher.counts().promised, 0u);
  }
}

}  // namespace
}  // namespace allot
