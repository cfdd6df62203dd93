// SPDX-License-Identifier: Apache-2.0
// What is owed stays owed, whatever becomes of the terms: the table against a ledger in rational numbers.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <boost/multiprecision/cpp_int.hpp>

#include "base/rng.h"
#include "limits/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;
using testing::AtTime;
using testing::SomeLimit;
using Rational = boost::multiprecision::cpp_rational;

Rational Exactly(double number) { return {Tokens::Of(number).millionths, 1'000'000}; }

// A limit as the documents define it, and nothing else.
struct Ledger {
  LimitSpec spec;
  Rational level;
  Duration last{};

  void Advance(Duration now) {
    level = std::min<Rational>(Exactly(spec.count),
                               level + Exactly(spec.count) * (now - last).count() / spec.window.count());
    last = now;
  }
  void Change(const LimitSpec& next) {
    spec = next;
    level = std::min(level, Exactly(spec.count));
  }
  Rational Takes(double cost) const {
    return spec.max_burst_cost == 0 ? Exactly(cost) : std::min(Exactly(cost), Exactly(spec.max_burst_cost));
  }
  bool Pays(double cost, const Rational& lost = 0) const {
    return spec.count > 0 && level - lost + Exactly(spec.burst) >= Takes(cost);
  }
};

TEST(LimitDebt, NoSequenceOfUpdatesGrantsAStartThatTheTermsInForceWouldNotHave) {
  static const std::vector<double> kCounts = {0, 0.5, 1, 3, 10};
  static const std::vector<double> kBursts = {0, 0, 1, 2.5, 5};
  static const std::vector<double> kCaps = {0, 0, 0.75, 2};
  static const std::vector<Duration> kWindows = {1s, 7s, 60s, 1h, 997ms};
  static const std::vector<double> kCosts = {1, 1, 0.3, 2, 6};
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto one_of = [&rng](const auto& all) { return all[rng.Below(all.size())]; };
    LimitTable table;
    Now now = AtTime(1s);
    const auto worker = testing::AddWorker(table);
    LimitSpec spec = SomeLimit("true", 1);
    spec.window = 1h, spec.burst = 5;
    double cost = 1;
    ASSERT_TRUE(table.Create("l", spec, now).ok());
    Ledger ledger{spec, Exactly(spec.count), now.mono.time_since_epoch()};
    GroupId group = testing::AddJobOf(table, "ann");
    int windows = 0;  // changes, of which each may lose less than a millionth of a millionth
    for (int step = 0; step < 200; ++step) {
      if (rng.Below(3) == 0) now = AtTime(now.mono.time_since_epoch() + Duration(rng.Below(3'000'000)));
      ledger.Advance(now.mono.time_since_epoch());
      switch (rng.Below(10)) {
        case 0:
          spec.count = one_of(kCounts);
          break;
        case 1:
          spec.burst = one_of(kBursts);
          break;
        case 2:
          spec.max_burst_cost = one_of(kCaps);
          break;
        case 3:
          spec.window = one_of(kWindows);
          ++windows;
          break;
        case 4:
          spec.monitor = !spec.monitor;
          break;
        case 5:
          cost = one_of(kCosts);
          spec.cost = testing::MustParseLimit(std::to_string(cost));
          break;
        case 6:
          spec.expr = testing::MustParseLimit(rng.Below(2) == 0 ? "true" : "MY.User == \"ann\"");
          break;
        case 7:
          ASSERT_TRUE(table.Renew("l", std::nullopt, now).ok());
          break;
        default:
          break;
      }
      ASSERT_TRUE(table.Update("l", spec, now).ok());
      ledger.Change(spec);
      table.DropJob(group, now);
      group = testing::AddJobOf(table, "ann");
      const bool pays = ledger.Pays(cost), surely = ledger.Pays(cost, Rational(windows, 1'000'000'000'000));
      const LimitTable::Outcome outcome = table.Draw(group, worker, "ann", now);
      if (spec.monitor) {
        ASSERT_TRUE(outcome.allowed());
      } else {
        ASSERT_TRUE(!outcome.allowed() || pays) << "granted what the terms do not pay for, at step " << step;
        ASSERT_TRUE(outcome.allowed() || !surely) << "withheld what they pay for, at step " << step;
      }
      if (!outcome.drawn.empty()) ledger.level -= ledger.Takes(cost);
      const double level = table.looks().List({}, now)[0].tokens;
      ASSERT_NEAR(level, static_cast<double>(ledger.level), 1e-9);
    }
  }
}

TEST(LimitDebt, WhatIsDeletedIsGoneAndItsSuccessorBeginsFull) {
  LimitTable table;
  const Now now = AtTime(1s);
  const auto worker = testing::AddWorker(table);
  ASSERT_TRUE(table.Create("l", SomeLimit("true", 1), now).ok());
  GroupId group = testing::AddJobOf(table, "ann");
  ASSERT_TRUE(table.Draw(group, worker, "ann", now).allowed());
  ASSERT_FALSE(table.Draw(group, worker, "ann", now).allowed());
  ASSERT_TRUE(table.Delete("l", now).ok());
  ASSERT_TRUE(table.Draw(group, worker, "ann", now).allowed()) << "nothing holds it back in between";
  ASSERT_TRUE(table.Create("l", SomeLimit("true", 1), now).ok());
  EXPECT_EQ(table.looks().List({}, now)[0].tokens, 1);
  EXPECT_EQ(table.looks().List({}, now)[0].allowed, 0u);
}

}  // namespace
}  // namespace allot
