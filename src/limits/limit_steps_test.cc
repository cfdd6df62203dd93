// SPDX-License-Identifier: Apache-2.0
// What many groups wait for opens, moves and is forgotten a bounded part at a time.
#include <gtest/gtest.h>

#include "limits/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;
using expr::Value;
using testing::AtTime;
using testing::SomeLimit;

constexpr int kGroups = 5000;
constexpr std::size_t kStep = 100;

struct StepsFixture {
  StepsFixture() : worker(testing::AddWorker(table, {{"Speed", Value::Real(1e-6)}})) {}
  void Create(const char* uuid, const LimitSpec& spec) { ASSERT_TRUE(table.Create(uuid, spec, now).ok()); }
  // Each of another cost, and denied.
  void Block() {
    for (int i = 1; i <= kGroups; ++i) {
      groups.push_back(testing::AddJob(table, {{"Weight", Value::Integer(i)}}));
      ASSERT_FALSE(table.Draw(groups.back(), worker, "ann", now).allowed());
    }
    ASSERT_EQ(table.waits().size(), groups.size());
  }
  // Takes what opens until nothing is left to do at once; how often it had to be asked for that.
  int Settle(std::size_t& opened) {
    int steps = 0;
    for (; table.waits().NextPayable() && *table.waits().NextPayable() <= now.mono; ++steps) {
      const std::size_t some = table.waits().TakePayable(now, kStep).size();
      EXPECT_LE(some, kStep);
      opened += some;
      if (steps > kGroups) break;
    }
    return steps;
  }

  LimitTable table;
  Now now = AtTime(0s);
  LimitTable::WorkerHandle worker;
  std::vector<GroupId> groups;
};

TEST(LimitSteps, ALimitThatLeavesOpensWhatWaitsForIt) {
  StepsFixture f;
  f.Create("stop", SomeLimit("true", 0, "MY.Weight"));
  f.Block();
  ASSERT_TRUE(f.table.Delete("stop", f.now).ok());
  EXPECT_EQ(f.table.size(), 0u);
  EXPECT_TRUE(f.table.looks().List({}, f.now).empty());
  std::size_t opened = 0;
  EXPECT_GT(f.Settle(opened), 10);
  EXPECT_EQ(opened, f.groups.size());
  EXPECT_EQ(f.table.waits().size(), 0u);
}

TEST(LimitSteps, OtherExpressionsKeepCountsLevelAndWhatIsDrawn) {
  StepsFixture f;
  f.Create("l", SomeLimit("MY.Weight > 0", 1, "MY.Weight"));
  const GroupId first = testing::AddJob(f.table, {{"Weight", Value::Integer(1)}});
  const auto drawn = f.table.Draw(first, f.worker, "ann", f.now);
  ASSERT_TRUE(drawn.allowed());
  f.Block();
  f.now = AtTime(30s);
  ASSERT_TRUE(f.table.Update("l", SomeLimit("MY.Weight > 10", 1, "MY.Weight"), f.now).ok());
  const LimitView view = f.table.looks().List({}, f.now).at(0);
  EXPECT_EQ(view.allowed, 1u);
  EXPECT_EQ(view.tokens, 0.5);
  EXPECT_EQ(view.blocked, 30s);
  EXPECT_EQ(view.waiting, 0u);
  // The start never left: what it drew goes back, though the limit is another by now.
  f.table.Refund(drawn.drawn, f.now);
  EXPECT_EQ(f.table.looks().List({}, f.now).at(0).tokens, 1);
  std::size_t opened = 0;
  f.Settle(opened);
  EXPECT_EQ(opened, f.groups.size());
}

TEST(LimitSteps, WhatAnotherLimitDeniesAsWellMovesThere) {
  StepsFixture f;
  f.Create("a", SomeLimit("true", 0, "MY.Weight"));
  f.Create("b", SomeLimit("true", 0, "MY.Weight"));
  f.Block();
  const bool first = f.table.looks().List({std::nullopt, "a"}, f.now).at(0).waiting > 0;
  ASSERT_TRUE(f.table.Delete(first ? "a" : "b", f.now).ok());
  std::size_t opened = 0;
  EXPECT_GT(f.Settle(opened), 10);
  EXPECT_EQ(opened, 0u);
  EXPECT_EQ(f.table.waits().size(), f.groups.size());
  EXPECT_EQ(f.table.looks().List({}, f.now).at(0).waiting, f.groups.size());
}

// Costs that read a worker are known as long as something waits on workers like it, also when the last has left.
TEST(LimitSteps, WhatWaitedOnAWorkerThatLeftIsForgotten) {
  StepsFixture f;
  f.Create("few", SomeLimit("true", 1, "0.5 + MY.Weight * TARGET.Speed"));
  const GroupId first = testing::AddJob(f.table, {{"Weight", Value::Integer(0)}});
  ASSERT_TRUE(f.table.Draw(first, f.worker, "ann", f.now).allowed());
  ASSERT_TRUE(f.table.Draw(first, f.worker, "ann", f.now).allowed());
  f.Block();
  f.table.DropWorker(f.worker, f.now);
  f.now = AtTime(40s);  // it could pay for some by now
  std::size_t opened = 0;
  EXPECT_GT(f.Settle(opened), 10);
  EXPECT_EQ(f.table.waits().size(), 0u);
  EXPECT_FALSE(f.table.looks().List({}, f.now).at(0).cost_failed);
}

}  // namespace
}  // namespace allot
