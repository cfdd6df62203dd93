// SPDX-License-Identifier: Apache-2.0
// What is forecast is what could then be drawn, one start after the other.
#include "limits/limit_forecast.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "limits/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;
using expr::Value;
using testing::AddJob;
using testing::AddJobOf;
using testing::AtTime;
using testing::SomeLimit;

constexpr std::uint64_t kMany = std::numeric_limits<std::uint64_t>::max();

std::uint64_t Take(const LimitTable& table, GroupId group, Duration horizon, const Now& now,
                   std::uint64_t wanted = kMany) {
  return LimitForecast(table, horizon, now).Take(LimitForecast::GroupOf(table.matcher(), group), wanted);
}

TEST(LimitForecast, TellsHowManyStartsAreWithinTheTime) {
  LimitTable table;
  const Now now = AtTime(0s);
  ASSERT_TRUE(table.Create("slow", SomeLimit("MY.User == \"ann\"", 1), now).ok());
  LimitSpec spec = SomeLimit("MY.User == \"bob\"", 10);
  spec.burst = 5;
  ASSERT_TRUE(table.Create("fast", spec, now).ok());
  const GroupId ann = AddJobOf(table, "ann");
  const GroupId bob = AddJobOf(table, "bob");
  const LimitTable::WorkerHandle worker = testing::AddWorker(table);
  ASSERT_TRUE(table.Draw(ann, worker, "ann", now).allowed());

  EXPECT_EQ(Take(table, ann, 10s, now), 0u);
  EXPECT_EQ(Take(table, ann, 60s - 1us, now), 0u);
  EXPECT_EQ(Take(table, ann, 60s, now), 1u);
  EXPECT_EQ(Take(table, bob, 0s, now), 15u);
  EXPECT_EQ(Take(table, bob, 60s, now), 25u);
  EXPECT_EQ(Take(table, kFreeGroup, 0s, now), kMany);
}

TEST(LimitForecast, WhatOneTakesIsNotThereForTheNext) {
  LimitTable table;
  const Now now = AtTime(0s);
  LimitSpec named = SomeLimit("true", 10, "MY.Size");
  named.name = "all";
  ASSERT_TRUE(table.Create("all", named, now).ok());
  ASSERT_TRUE(table.Create("small", SomeLimit("MY.Size == 1", 4), now).ok());
  const auto group = [&](std::int64_t size) {
    return LimitForecast::GroupOf(table.matcher(), AddJob(table, {{"Size", Value::Integer(size)}}));
  };
  const LimitForecast::Group one = group(1), three = group(3), free = group(0);
  LimitForecast forecast(table, 0s, now);
  EXPECT_EQ(forecast.Take(three, 2), 2u);
  EXPECT_TRUE(forecast.cut().empty());
  EXPECT_EQ(forecast.Take(one, 9), 4u);  // as both limits say
  EXPECT_EQ(forecast.cut().size(), 2u);
  EXPECT_EQ(forecast.Take(three, 9), 0u);  // 10 - 2 * 3 - 4
  ASSERT_EQ(forecast.cut().size(), 1u);
  EXPECT_EQ(forecast.NameOf(forecast.cut()[0]).name, "all");
  EXPECT_EQ(forecast.Take(free, 9), 9u);  // costs nothing
  EXPECT_EQ(forecast.Take(one, 0), 0u);
  EXPECT_TRUE(forecast.cut().empty());
}

TEST(LimitForecast, ACountOfZeroStopsAMonitorDoesNot) {
  LimitTable table;
  const Now now = AtTime(0s);
  ASSERT_TRUE(table.Create("stop", SomeLimit("MY.User == \"ann\"", 0, "0"), now).ok());
  ASSERT_TRUE(table.Create("worker", SomeLimit("MY.User == \"bob\"", 0, "TARGET.Cpus"), now).ok());
  LimitSpec monitor = SomeLimit("true", 0);
  monitor.monitor = true;
  ASSERT_TRUE(table.Create("monitor", monitor, now).ok());
  EXPECT_EQ(Take(table, AddJobOf(table, "ann"), 60s, now, 5), 0u);
  EXPECT_EQ(Take(table, AddJobOf(table, "bob"), 60s, now, 5), 0u);  // whatever the worker
  EXPECT_EQ(Take(table, AddJobOf(table, "eve"), 60s, now, 5), 5u);
}

TEST(LimitForecast, WhatHasChangedSinceDoesNotCount) {
  LimitTable table;
  const Now now = AtTime(0s);
  ASSERT_TRUE(table.Create("one", SomeLimit("true", 1), now).ok());
  const LimitForecast::Group group = LimitForecast::GroupOf(table.matcher(), AddJobOf(table, "ann"));
  ASSERT_TRUE(table.Delete("one", now).ok());
  EXPECT_EQ(LimitForecast(table, 0s, now).Take(group, 7), 7u);
  ASSERT_TRUE(table.Create("two", SomeLimit("MY.User == \"bob\"", 1), now).ok());
  EXPECT_EQ(LimitForecast(table, 0s, now).Take(group, 7), 7u);
}

// Limits over jobs of a size and a colour, at random, with some tokens gone.
struct Scene {
  explicit Scene(Rng& rng, std::size_t limits) {
    now = AtTime(0s);
    for (std::size_t i = 0; i < limits; ++i) {
      static const char* const kExprs[] = {"true", "MY.Size > 1", "MY.Colour == 1", "MY.Colour != 1 || MY.Size == 2"};
      static const char* const kCosts[] = {"", "MY.Size", "MY.Size * 0.7", "MY.Colour == 0 ? 0 : 2.5"};
      LimitSpec spec = SomeLimit(kExprs[limits == 1 ? 0 : rng.Below(4)], static_cast<double>(rng.Below(100)) / 8,
                                 kCosts[rng.Below(4)]);
      spec.window = Duration(1 + rng.Below(90'000'000));
      if (rng.Below(2) == 0) spec.burst = static_cast<double>(rng.Below(20)) / 3;
      if (rng.Below(3) == 0) spec.max_burst_cost = static_cast<double>(1 + rng.Below(6)) / 2;
      spec.monitor = rng.Below(8) == 0;
      CHECK(table.Create("limit-" + std::to_string(i), spec, now).ok());
    }
    worker = testing::AddWorker(table);
    const std::size_t count = 1 + rng.Below(5);
    for (std::size_t i = 0; i < count; ++i) {
      const auto size = static_cast<std::int64_t>(rng.Below(4));
      const auto colour = static_cast<std::int64_t>(rng.Below(3));
      groups.push_back(AddJob(table, {{"Size", Value::Integer(size)}, {"Colour", Value::Integer(colour)}}));
    }
    for (int i = 0; i < 20; ++i) {
      now = AtTime(now.mono.time_since_epoch() + Duration(rng.Below(500'000)));
      const GroupId group = groups[rng.Below(groups.size())];
      if (table.looks().CanStart(group, worker, now)) table.Draw(group, worker, "ann", now);
    }
  }
  // The first instant at which such a start passes, if there are no others before; none: never.
  std::optional<Instant> Payable(GroupId group, const Now& at) {
    Instant first = at.mono;
    for (const LimitStatus& status : table.looks().StatusesOf(group, std::nullopt, at)) {
      if (!status.blocks) continue;
      if (!status.payable_at) return std::nullopt;
      first = std::max(first, *status.payable_at);
    }
    return first;
  }

  LimitTable table;
  Now now;
  LimitTable::WorkerHandle worker = 0;
  std::vector<GroupId> groups;
};

TEST(LimitForecast, OfOneGroupAloneIsWhatTheTableSays) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Scene scene(rng, 1 + rng.Below(5));
    const Duration horizon(rng.Below(120'000'000));
    for (const GroupId group : scene.groups) {
      ASSERT_EQ(Take(scene.table, group, horizon, scene.now),
                scene.table.looks().PayableWithin(group, horizon, scene.now));
    }
  }
}

TEST(LimitForecast, UnderOneLimitIsJustWhatCanBeDrawn) {
  std::size_t starts = 0, zeros = 0, cuts = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Scene scene(rng, 1);
    const Duration horizon(rng.Below(60'000'000));
    const Instant end = scene.now.mono + horizon;
    LimitForecast forecast(scene.table, horizon, scene.now);
    Now now = scene.now;
    for (const GroupId group : scene.groups) {
      const std::uint64_t wanted = rng.Below(40);
      const std::uint64_t given = forecast.Take(LimitForecast::GroupOf(scene.table.matcher(), group), wanted);
      ASSERT_LE(given, wanted);
      ASSERT_EQ(given < wanted, !forecast.cut().empty());
      for (std::uint64_t i = 0; i < wanted; ++i) {
        const std::optional<Instant> next = scene.Payable(group, now);
        ASSERT_EQ(next && *next <= end, i < given) << "start " << i << " of " << wanted;
        if (i >= given) break;
        now.mono = *next;
        ASSERT_TRUE(scene.table.Draw(group, scene.worker, "ann", now).allowed());
      }
      starts += given;
      zeros += wanted > 0 && given == 0 ? 1 : 0;
      cuts += given < wanted ? 1 : 0;
    }
  }
  EXPECT_GT(starts, 3000u);
  EXPECT_GT(zeros, 100u);
  EXPECT_GT(cuts, 500u);
}

TEST(LimitForecast, UnderSeveralLimitsIsAtMostAStartOfEachGroupTooMuch) {
  std::size_t starts = 0, missing = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Scene scene(rng, 2 + rng.Below(4));
    const Duration horizon(rng.Below(60'000'000));
    const Instant end = scene.now.mono + horizon;
    LimitForecast forecast(scene.table, horizon, scene.now);
    std::vector<std::uint64_t> left;
    for (const GroupId group : scene.groups) {
      const std::uint64_t wanted = rng.Below(40);
      const std::uint64_t given = forecast.Take(LimitForecast::GroupOf(scene.table.matcher(), group), wanted);
      if (left.empty() && wanted > 0) {
        const std::optional<Instant> first = scene.Payable(group, scene.now);
        ASSERT_EQ(given > 0, first && *first <= end);
      }
      left.push_back(given);
      starts += given;
    }
    // Whatever can start does.
    for (Now now = scene.now;;) {
      std::optional<Instant> next;
      for (std::size_t i = 0; i < left.size(); ++i) {
        if (left[i] == 0) continue;
        const std::optional<Instant> at = scene.Payable(scene.groups[i], now);
        if (at && *at <= now.mono) {
          ASSERT_TRUE(scene.table.Draw(scene.groups[i], scene.worker, "ann", now).allowed());
          --left[i];
          next = now.mono;
        } else if (at && (!next || *at < *next)) {
          next = at;
        }
      }
      if (!next || *next > end) break;
      now.mono = *next;
    }
    std::size_t short_of = 0;
    for (const std::uint64_t one : left) short_of += one;
    ASSERT_LE(short_of, scene.groups.size());
    missing += short_of;
  }
  EXPECT_GT(starts, 3000u);
  EXPECT_LT(missing * 50, starts);
  RecordProperty("missing", std::to_string(missing) + " of " + std::to_string(starts));
}

}  // namespace
}  // namespace allot
