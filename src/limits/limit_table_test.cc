// SPDX-License-Identifier: Apache-2.0
#include "limits/limit_table.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "limits/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;
using expr::Value;
using testing::AddJob;
using testing::AddJobOf;
using testing::AddWorker;
using testing::AtTime;
using testing::SomeLimit;

// A table with one worker, at a time that only goes on when told.
struct Fixture {
  LimitTable table;
  LimitTable::WorkerHandle worker = AddWorker(table);
  Now now = AtTime(0s);

  void Create(const char* uuid, LimitSpec spec) {
    const auto lease = table.Create(uuid, std::move(spec), now);
    ASSERT_TRUE(lease.ok()) << lease.error().message;
  }
  LimitTable::Outcome Draw(GroupId group, std::string_view user = "ann") {
    return table.Draw(group, worker, user, now);
  }
  int Passing(GroupId group) {
    int passed = 0;
    while (passed < 1000 && Draw(group).allowed()) ++passed;
    return passed;
  }
  LimitView View(const char* uuid) {
    const auto views = table.looks().List({{}, uuid}, now);
    CHECK(views.size() == 1);
    return views[0];
  }
};

TEST(LimitTable, AStartDrawsFromAllItsLimitsOrFromNone) {
  Fixture f;
  f.Create("wide", SomeLimit("true", 10));
  f.Create("narrow", SomeLimit("MY.User == \"ann\"", 2));
  f.Create("other", SomeLimit("MY.User == \"bob\"", 1));
  EXPECT_EQ(f.Passing(AddJobOf(f.table, "ann")), 2);
  EXPECT_EQ(f.View("wide").tokens, 8);
  EXPECT_EQ(f.View("wide").allowed, 2u);
  EXPECT_EQ(f.View("narrow").tokens, 0);
  EXPECT_EQ(f.View("other").tokens, 1);
  EXPECT_EQ(f.Passing(AddJobOf(f.table, "eve")), 8);
}

TEST(LimitTable, ADenialNamesTheLimitsAndTheInstant) {
  Fixture f;
  f.Create("a", SomeLimit("true", 1));
  f.Create("b", SomeLimit("true", 2, "2"));
  const GroupId group = AddJobOf(f.table, "ann");
  ASSERT_TRUE(f.Draw(group).allowed());
  f.now = AtTime(15s);
  const auto denied = f.Draw(group);
  ASSERT_FALSE(denied.allowed());
  EXPECT_TRUE(denied.denial->any_worker);
  ASSERT_EQ(denied.denial->limits.size(), 2u);
  EXPECT_EQ(f.table.looks().NameOf(denied.denial->limits[0]).uuid, "a");
  EXPECT_EQ(f.table.looks().NameOf(denied.denial->limits[1]).uuid, "b");
  EXPECT_EQ(denied.denial->payable_at, Instant(60s));
  EXPECT_TRUE(f.table.waits().Blocked(group));
  EXPECT_EQ(f.table.waits().NextPayable(), Instant(60s));
  f.now = AtTime(60s - 1us);
  EXPECT_TRUE(f.table.waits().TakePayable(f.now).empty());
  f.now = AtTime(60s);
  const auto opened = f.table.waits().TakePayable(f.now);
  ASSERT_EQ(opened.size(), 1u);
  EXPECT_EQ(opened[0].group, group);
  EXPECT_FALSE(opened[0].profile);
  EXPECT_FALSE(f.table.waits().Blocked(group));
  EXPECT_EQ(f.table.waits().NextPayable(), std::nullopt);
  EXPECT_TRUE(f.Draw(group).allowed());
}

TEST(LimitTable, ACountOfZeroStopsWhateverItMatches) {
  Fixture f;
  LimitSpec stop = SomeLimit("MY.User == \"ann\"", 0, "MY.Weight");
  stop.burst = 5;
  f.Create("stop", stop);
  for (const int weight : {0, 1}) {
    const GroupId group = AddJob(f.table, {{"User", Value::String("ann")}, {"Weight", Value::Integer(weight)}});
    const auto denied = f.Draw(group);
    ASSERT_FALSE(denied.allowed());
    EXPECT_EQ(denied.denial->payable_at, std::nullopt);
    EXPECT_EQ(f.table.looks().PayableWithin(group, 60s, f.now), 0u);
    EXPECT_TRUE(f.table.looks().StatusesOf(group, {}, f.now)[0].never);
  }
  EXPECT_EQ(f.View("stop").waiting_forever, 2u);
  EXPECT_EQ(f.table.waits().NextPayable(), std::nullopt);
  // Until it is lifted.
  ASSERT_TRUE(f.table.Update("stop", SomeLimit("MY.User == \"ann\"", 60, "MY.Weight"), f.now).ok());
  EXPECT_EQ(f.table.waits().NextPayable(), Instant::min());
  EXPECT_EQ(f.table.waits().TakePayable(f.now).size(), 1u);  // the level is still 0, which pays for what costs nothing
  EXPECT_EQ(f.table.waits().NextPayable(), Instant(1s));
}

TEST(LimitTable, AMonitorCountsAndNeverBlocks) {
  Fixture f;
  LimitSpec monitor = SomeLimit("true", 2);
  monitor.monitor = true;
  f.Create("watch", monitor);
  const GroupId group = AddJobOf(f.table, "ann");
  EXPECT_EQ(f.Passing(group), 1000);
  EXPECT_EQ(f.View("watch").allowed, 2u);
  EXPECT_EQ(f.View("watch").skipped, 998u);
  EXPECT_EQ(f.table.looks().PayableWithin(group, 60s, f.now), std::numeric_limits<std::uint64_t>::max());
  monitor.monitor = false;
  ASSERT_TRUE(f.table.Update("watch", monitor, f.now).ok());
  EXPECT_EQ(f.Passing(group), 0);
  monitor.monitor = true;
  ASSERT_TRUE(f.table.Update("watch", monitor, f.now).ok());
  EXPECT_EQ(f.table.waits().TakePayable(f.now).size(), 1u);
}

TEST(LimitTable, ARenewalNeverRefillsAndDoesNotGroupAnew) {
  Fixture f;
  f.Create("a", SomeLimit("true", 6));
  const GroupId group = AddJobOf(f.table, "ann");
  EXPECT_EQ(f.Passing(group), 6);
  const std::uint64_t epoch = f.table.epoch();
  for (int second = 1; second < 10; ++second) {
    f.now = AtTime(1s * second);
    ASSERT_TRUE(f.table.Renew("a", {}, f.now).ok());
    ASSERT_TRUE(f.table.Update("a", SomeLimit("true", 6), f.now).ok());
    ASSERT_FALSE(f.Draw(group).allowed());
  }
  EXPECT_EQ(f.table.epoch(), epoch);
  f.now = AtTime(10s);
  EXPECT_EQ(f.table.waits().TakePayable(f.now).size(), 1u);
  EXPECT_EQ(f.Passing(group), 1);
  EXPECT_EQ(f.View("a").allowed, 7u);  // an update keeps the counters, too
}

TEST(LimitTable, ALimitThatIsNotRenewedIsGoneAndOpensWhatItBlocked) {
  Fixture f;
  LimitSpec spec = SomeLimit("true", 1);
  spec.expires_in = 10s;
  f.Create("a", spec);
  const GroupId group = AddJobOf(f.table, "ann");
  EXPECT_EQ(f.Passing(group), 1);
  EXPECT_EQ(f.table.NextExpiry(), Instant(10s));
  f.now = AtTime(10s - 1us);
  EXPECT_TRUE(f.table.Expire(f.now).empty());
  f.now = AtTime(10s);
  const auto gone = f.table.Expire(f.now);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].uuid, "a");
  EXPECT_EQ(f.table.waits().TakePayable(f.now).size(), 1u);
  EXPECT_EQ(f.Passing(group), 1000);
  EXPECT_EQ(f.table.NextExpiry(), std::nullopt);
  EXPECT_EQ(f.table.Renew("a", {}, f.now).error().code, Code::kUnknownLimit);
}

TEST(LimitTable, LongLeasesAreCutAndItIsSaid) {
  Fixture f;
  LimitSpec spec = SomeLimit("true", 1);
  spec.expires_in = 1h;
  const auto lease = f.table.Create("a", spec, f.now);
  EXPECT_TRUE(lease->capped);
  EXPECT_EQ(lease->expires_in, 300s);
  EXPECT_FALSE(f.table.Renew("a", 20s, f.now)->capped);
  EXPECT_EQ(f.table.NextExpiry(), Instant(20s));
  EXPECT_TRUE(f.table.Renew("a", Duration::max(), f.now)->capped);
  EXPECT_EQ(f.View("a").expires_in, 300s);
}

TEST(LimitTable, WhatFailsChangesNothing) {
  LimitOptions options;
  options.max_limits = 2;
  LimitTable table(options);
  const Now now = AtTime(0s);
  ASSERT_TRUE(table.Create("a", SomeLimit("true", 1), now).ok());
  ASSERT_TRUE(table.Create("b", SomeLimit("true", 1), now).ok());
  const std::uint64_t epoch = table.epoch();
  EXPECT_EQ(table.Create("c", SomeLimit("true", 1), now).error().code, Code::kTooManyLimits);
  EXPECT_EQ(table.Create("a", SomeLimit("true", 1), now).error().code, Code::kBadValue);
  EXPECT_EQ(table.Create("", SomeLimit("true", 1), now).error().code, Code::kBadValue);
  EXPECT_EQ(table.Create("c\n", SomeLimit("true", 1), now).error().code, Code::kBadValue);
  EXPECT_EQ(table.Create("c", SomeLimit("true", -1), now).error().code, Code::kBadValue);
  EXPECT_EQ(table.Update("a", SomeLimit("false", -1), now).error().code, Code::kBadValue);
  EXPECT_EQ(table.Update("c", SomeLimit("false", 1), now).error().code, Code::kUnknownLimit);
  EXPECT_EQ(table.Renew("a", 0s, now).error().code, Code::kBadValue);
  EXPECT_EQ(table.Delete("c", now).error().code, Code::kUnknownLimit);
  EXPECT_EQ(table.Delete(std::string(100'000, 'x'), now).error().code, Code::kUnknownLimit);
  EXPECT_EQ(table.epoch(), epoch);
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(table.looks().List({}, now)[0].spec.expr->source(), "true");
  ASSERT_TRUE(table.Delete("a", now).ok());
  EXPECT_TRUE(table.Create("c", SomeLimit("true", 1), now).ok());
}

TEST(LimitTable, ListsByTagAndUuidInOrderOfCreation) {
  Fixture f;
  for (const char* uuid : {"c", "a", "b"}) {
    LimitSpec spec = SomeLimit("true", 1);
    spec.tag = uuid[0] == 'a' ? "one" : "two";
    f.Create(uuid, spec);
  }
  const auto text = [&](const LimitLooks::Filter& filter) {
    std::string out;
    for (const LimitView& view : f.table.looks().List(filter, f.now)) out += view.uuid;
    return out;
  };
  EXPECT_EQ(text({}), "cab");
  EXPECT_EQ(text({"two", {}}), "cb");
  EXPECT_EQ(text({{}, "a"}), "a");
  EXPECT_EQ(text({"two", "a"}), "");
}

TEST(LimitTable, WhatNeverLeftIsGivenBackAndWakesEarlier) {
  Fixture f;
  f.Create("a", SomeLimit("true", 3));
  f.Create("b", SomeLimit("true", 30, "2"));
  const GroupId group = AddJobOf(f.table, "ann");
  f.Draw(group);
  const auto second = f.Draw(group);
  const auto third = f.Draw(group);
  ASSERT_FALSE(f.Draw(group).allowed());
  f.now = AtTime(1s);
  f.table.Refund(second.drawn, f.now);
  EXPECT_EQ(f.View("a").allowed, 2u);
  EXPECT_EQ(f.View("b").cost_allowed, 4);
  EXPECT_EQ(f.table.waits().NextPayable(), Instant(1s));
  EXPECT_EQ(f.table.waits().TakePayable(f.now).size(), 1u);
  EXPECT_EQ(f.Passing(group), 1);
  // Of a limit that is gone, or another in its place, nothing comes back.
  ASSERT_TRUE(f.table.Delete("a", f.now).ok());
  f.Create("c", SomeLimit("true", 5));
  const GroupId regrouped = AddJobOf(f.table, "ann");
  EXPECT_EQ(f.Passing(regrouped), 5);
  f.table.Refund(third.drawn, f.now);
  EXPECT_EQ(f.View("c").tokens, 0);
}

TEST(LimitTable, ADenialAtACostDeniesEveryCostAboveAndTheCheapestOpensFirst) {
  Fixture f;
  f.Create("a", SomeLimit("true", 60, "MY.Weight"));
  const auto job = [&](int weight) { return AddJob(f.table, {{"Weight", Value::Integer(weight)}}); };
  ASSERT_TRUE(f.Draw(job(58)).allowed());
  const GroupId one = job(1), three = job(3), five = job(5), seventy = job(70);
  for (const GroupId group : {three, five, seventy}) {
    EXPECT_FALSE(f.table.looks().CanStart(group, f.worker, f.now));
    EXPECT_FALSE(f.Draw(group).allowed());
  }
  EXPECT_EQ(f.View("a").cheapest, Tokens::Of(3.0));
  EXPECT_EQ(f.table.waits().NextPayable(), Instant(1s));
  EXPECT_EQ(f.Passing(one), 2);
  EXPECT_EQ(f.View("a").cheapest, Tokens::Of(1.0));
  EXPECT_EQ(f.View("a").waiting_forever, 1u);
  // Cheaper starts take what the others wait for.
  for (int second = 1; second <= 10; ++second) {
    ASSERT_EQ(f.table.waits().NextPayable(), Instant(1s * second));
    f.now = AtTime(1s * second);
    const auto opened = f.table.waits().TakePayable(f.now);
    ASSERT_EQ(opened.size(), 1u);
    ASSERT_EQ(opened[0].group, one);
    ASSERT_EQ(f.Passing(one), 1);
  }
  EXPECT_TRUE(f.table.waits().Blocked(five));
  const LimitStatus status = f.table.looks().StatusesOf(five, {}, f.now).at(0);
  EXPECT_TRUE(status.blocks && status.overtaken && !status.never);
  EXPECT_EQ(status.payable_at, Instant(15s));
  const LimitStatus never = f.table.looks().StatusesOf(seventy, {}, f.now).at(0);
  EXPECT_TRUE(never.blocks && never.never && !never.overtaken);
  EXPECT_EQ(never.payable_at, std::nullopt);
  f.now = AtTime(15s);
  std::vector<GroupId> opened;
  for (const auto& blocking : f.table.waits().TakePayable(f.now)) opened.push_back(blocking.group);
  EXPECT_EQ(opened, (std::vector{one, three, five}));
}

TEST(LimitTable, OpensNoMoreAtOnceThanWanted) {
  Fixture f;
  f.Create("a", SomeLimit("true", 60, "MY.Weight"));
  for (int weight = 60; weight > 50; --weight) f.Draw(AddJob(f.table, {{"Weight", Value::Integer(weight)}}));
  EXPECT_EQ(f.table.waits().size(), 9u);
  f.now = AtTime(60s);
  for (const std::size_t want : {4u, 4u, 1u}) {
    ASSERT_LE(*f.table.waits().NextPayable(), f.now.mono);
    EXPECT_EQ(f.table.waits().TakePayable(f.now, 4).size(), want);
  }
  EXPECT_EQ(f.table.waits().NextPayable(), std::nullopt);
}

TEST(LimitTable, ALimitThatReadsTheWorkerHoldsBackOnlyThePairsThatItMatches) {
  Fixture f;
  f.Create("site", SomeLimit("MY.User == \"ann\" && TARGET.Site == \"x\"", 1));
  const GroupId ann = AddJobOf(f.table, "ann"), bob = AddJobOf(f.table, "bob");
  const auto x1 = AddWorker(f.table, {{"Site", Value::String("x")}, {"N", Value::Integer(1)}});
  const auto x2 = AddWorker(f.table, {{"Site", Value::String("x")}, {"N", Value::Integer(2)}});
  ASSERT_TRUE(f.table.Draw(ann, x1, "ann", f.now).allowed());
  const auto denied = f.table.Draw(ann, x1, "ann", f.now);
  ASSERT_FALSE(denied.allowed());
  EXPECT_FALSE(denied.denial->any_worker);
  EXPECT_FALSE(f.table.waits().Blocked(ann));
  EXPECT_TRUE(f.table.waits().Blocked(ann, x1, f.now));
  EXPECT_TRUE(f.table.waits().Blocked(ann, x2, f.now));  // looks the same
  EXPECT_FALSE(f.table.waits().Blocked(ann, f.worker, f.now));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(f.Draw(ann).allowed());
    ASSERT_TRUE(f.table.Draw(bob, x1, "bob", f.now).allowed());
  }
  EXPECT_EQ(f.table.looks().PayableWithin(ann, 60s, f.now), std::numeric_limits<std::uint64_t>::max());
  f.now = AtTime(60s);
  const auto opened = f.table.waits().TakePayable(f.now);
  ASSERT_EQ(opened.size(), 1u);
  EXPECT_EQ(opened[0].profile, f.table.waits().ProfileOf(x2, f.now));
  EXPECT_TRUE(f.table.Draw(ann, x2, "ann", f.now).allowed());
}

TEST(LimitTable, WhatIsBlockedEndsWithItsGroupOrItsWorkers) {
  Fixture f;
  f.Create("stop", SomeLimit("MY.User == \"ann\" && TARGET.Site == \"x\"", 0));
  f.Create("all", SomeLimit("MY.User == \"bob\"", 0));
  const GroupId ann = AddJobOf(f.table, "ann"), bob = AddJobOf(f.table, "bob");
  const auto x = AddWorker(f.table, {{"Site", Value::String("x")}});
  f.table.Draw(ann, x, "ann", f.now);
  f.table.Draw(bob, x, "bob", f.now);
  EXPECT_EQ(f.table.waits().size(), 2u);
  f.now = AtTime(5s);
  f.table.DropWorker(x, f.now);
  EXPECT_EQ(f.table.waits().size(), 1u);
  EXPECT_EQ(f.View("stop").blocked, 5s);
  f.table.DropJob(bob, f.now);
  EXPECT_EQ(f.table.waits().size(), 0u);
  f.now = AtTime(9s);
  EXPECT_EQ(f.View("all").blocked, 5s);
  EXPECT_TRUE(f.table.waits().TakePayable(f.now).empty());
}

TEST(LimitTable, WhatWaitsForTwoLimitsOpensWhenBothCanPay) {
  Fixture f;
  f.Create("fast", SomeLimit("true", 60));
  f.Create("slow", SomeLimit("MY.User == \"ann\"", 6));
  const GroupId ann = AddJobOf(f.table, "ann"), bob = AddJobOf(f.table, "bob");
  EXPECT_EQ(f.Passing(ann), 6);
  // By the time that the slow one can pay, others have emptied the fast one.
  for (int second = 1; second <= 10; ++second) {
    f.now = AtTime(1s * second);
    f.Passing(bob);
    for (const auto& opened : f.table.waits().TakePayable(f.now)) EXPECT_NE(opened.group, ann) << second;
  }
  EXPECT_TRUE(f.table.waits().Blocked(ann));
  EXPECT_EQ(f.table.waits().NextPayable(), Instant(11s));
  EXPECT_EQ(f.View("slow").waiting, 0u);
  EXPECT_EQ(f.View("slow").blocked, 10s);
  ASSERT_TRUE(f.table.Delete("fast", f.now).ok());
  EXPECT_FALSE(f.table.waits().Blocked(ann));
  EXPECT_EQ(f.Passing(ann), 1);
}

TEST(LimitTable, CountsBlockingsAndMeetingsAndRemembersUsersForAWhile) {
  Fixture f;
  f.Create("a", SomeLimit("TARGET.Name =?= undefined", 1));
  const GroupId group = AddJobOf(f.table, "ann");
  ASSERT_TRUE(f.Draw(group, "eve").allowed());
  EXPECT_TRUE(f.table.looks().Exclusions(group, "ann", f.now).empty());
  f.now = AtTime(20s);
  f.Draw(group, "ann");
  f.Draw(group, "bob");
  f.Draw(group, "ann");
  LimitView view = f.View("a");
  EXPECT_EQ(view.skipped, 1u);
  EXPECT_EQ(view.ignored_matches, 3u);
  EXPECT_EQ(view.last_ignored, f.now.wall);
  EXPECT_EQ(testing::NamesOf(view.ignored_users), (std::vector<std::string>{"bob", "ann"}));
  // While blocked, and a minute after.
  f.now = AtTime(60s);
  ASSERT_EQ(f.table.waits().TakePayable(f.now).size(), 1u);
  EXPECT_EQ(f.View("a").blocked, 40s);
  f.now = AtTime(120s - 1us);
  ASSERT_EQ(f.table.looks().Exclusions(group, "ann", f.now).size(), 1u);
  EXPECT_EQ(f.table.looks().Exclusions(group, "ann", f.now)[0].expr->Print(), "TARGET.Name =?= undefined");
  EXPECT_EQ(f.table.looks().Exclusions(group, "bob", f.now).size(), 1u);
  EXPECT_TRUE(f.table.looks().Exclusions(group, "eve", f.now).empty());
  f.now = AtTime(120s);
  EXPECT_TRUE(f.table.looks().Exclusions(group, "ann", f.now).empty());
}

TEST(LimitTable, RemembersABoundedNumberOfUsers) {
  Fixture f;
  f.Create("stop", SomeLimit("true", 0));
  const GroupId group = AddJobOf(f.table, "ann");
  for (int i = 0; i < 10'000; ++i) f.Draw(group, "u" + std::to_string(i));
  EXPECT_EQ(f.View("stop").ignored_users.size(), bounds::kMaxIgnoredUsers);
  EXPECT_EQ(f.View("stop").ignored_users.back().user, "u9999");
  EXPECT_EQ(f.View("stop").ignored_matches, 10'000u);
  EXPECT_EQ(f.View("stop").skipped, 1u);
}

TEST(LimitTable, SummariesTellWhatBlockedSinceTheLast) {
  Fixture f;
  EXPECT_EQ(f.table.reports().NextSummary(), std::nullopt);
  f.Create("a", SomeLimit("MY.User == \"ann\"", 0));
  f.Create("b", SomeLimit("MY.User == \"bob\"", 0));
  f.Create("idle", SomeLimit("false", 0));
  const GroupId ann = AddJobOf(f.table, "ann"), bob = AddJobOf(f.table, "bob");
  f.now = AtTime(30s);
  f.Draw(ann, "ann");
  f.Draw(bob, "bob");
  f.now = AtTime(50s);
  ASSERT_TRUE(f.table.Delete("b", f.now).ok());
  EXPECT_EQ(f.table.reports().NextSummary(), Instant(60s));
  EXPECT_TRUE(f.table.reports().TakeSummaries(f.now).empty());
  f.now = AtTime(60s);
  auto summaries = f.table.reports().TakeSummaries(f.now);
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].limit.uuid, "b");
  EXPECT_EQ(summaries[0].blocked, 20s);
  EXPECT_EQ(summaries[1].limit.uuid, "a");
  EXPECT_EQ(summaries[1].skipped, 1u);
  EXPECT_EQ(summaries[1].blocked, 30s);
  f.now = AtTime(120s);
  summaries = f.table.reports().TakeSummaries(f.now);
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].skipped, 0u);
  EXPECT_EQ(summaries[0].blocked, 60s);
}

TEST(LimitTable, WarnsOfACostThatFailsOncePerLimit) {
  Fixture f;
  f.Create("a", SomeLimit("true", 10, "MY.Weight"));
  EXPECT_TRUE(f.table.reports().TakeCostWarnings().empty());
  const GroupId group = AddJobOf(f.table, "ann");
  EXPECT_EQ(f.Passing(group), 10);
  AddJobOf(f.table, "bob");
  ASSERT_EQ(f.table.reports().TakeCostWarnings().size(), 1u);
  EXPECT_TRUE(f.table.reports().TakeCostWarnings().empty());
  EXPECT_TRUE(f.View("a").cost_failed);
  ASSERT_TRUE(f.table.Update("a", SomeLimit("true", 10, "MY.Other"), f.now).ok());
  EXPECT_TRUE(f.table.reports().TakeCostWarnings().empty());
  AddJobOf(f.table, "bob");
  EXPECT_EQ(f.table.reports().TakeCostWarnings().size(), 1u);
}

TEST(LimitTable, AnExpressionThatChangesOpensWhatMatchedBefore) {
  Fixture f;
  f.Create("a", SomeLimit("MY.User == \"ann\"", 0));
  const GroupId ann = AddJobOf(f.table, "ann");
  ASSERT_FALSE(f.Draw(ann).allowed());
  const std::uint64_t epoch = f.table.epoch();
  ASSERT_TRUE(f.table.Update("a", SomeLimit("MY.User == \"bob\"", 0), f.now).ok());
  EXPECT_GT(f.table.epoch(), epoch);
  ASSERT_EQ(f.table.waits().TakePayable(f.now).size(), 1u);
  f.table.DropJob(ann, f.now);
  EXPECT_EQ(AddJobOf(f.table, "ann"), kFreeGroup);
  EXPECT_FALSE(f.Draw(AddJobOf(f.table, "bob")).allowed());
}

}  // namespace
}  // namespace allot
