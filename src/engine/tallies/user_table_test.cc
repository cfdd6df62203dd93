// SPDX-License-Identifier: Apache-2.0
#include "engine/tallies/user_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace allot {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> Names(const UserTable& table, std::string_view after, std::size_t most) {
  std::vector<std::string> names;
  table.ForEach(after, [&](const UserTable::Entry& entry) {
    if (names.size() == most) return false;
    names.push_back(entry.name);
    return true;
  });
  return names;
}

TEST(UserTable, AnEntryIsThereForAsLongAsSomebodyHoldsIt) {
  UserTable table;
  UserTable::Entry& ann = table.Acquire("ann");
  EXPECT_EQ(&table.Acquire("ann"), &ann);
  table.Release(ann);
  EXPECT_EQ(table.Find("ann"), &ann);
  table.Release(ann);
  EXPECT_EQ(table.Find("ann"), nullptr);
  EXPECT_EQ(table.size(), 0u);
}

TEST(UserTable, PagesAreInOrderOfName) {
  UserTable table;
  for (const char* name : {"cleo", "", "ann", "dora", "bob"}) table.Acquire(name);
  EXPECT_EQ(Names(table, "", 9), (std::vector<std::string>{"", "ann", "bob", "cleo", "dora"}));
  EXPECT_EQ(Names(table, "ann", 2), (std::vector<std::string>{"bob", "cleo"}));
  EXPECT_EQ(Names(table, "bz", 2), (std::vector<std::string>{"cleo", "dora"}));
  EXPECT_EQ(Names(table, "dora", 2), (std::vector<std::string>{}));
}

TEST(UserTable, TotalsAreOfThoseThatHaveSomethingOpenOrRunning) {
  UserTable table;
  table.SetWeights({{"user.ann", 3}, {"tag.ann", 7}});
  UserTable::Entry& ann = table.Acquire("ann");
  UserTable::Entry& bob = table.Acquire("bob");
  EXPECT_EQ(table.active(), 0u);
  table.Count(ann, 5, 0, 1);
  table.Count(bob, 5, 0, 0);  // of a paused job
  EXPECT_EQ(table.active(), 1u);
  EXPECT_EQ(table.weights(), 3u);
  table.Resumed(bob, 2);
  EXPECT_EQ(table.active(), 2u);
  EXPECT_EQ(table.weights(), 4u);
  EXPECT_EQ(table.running(), 2u);
  table.SetWeights({{"user.bob", 10}});
  EXPECT_EQ(ann.weight, 1u);
  EXPECT_EQ(table.weights(), 11u);
  table.Ended(bob);
  EXPECT_EQ(table.active(), 2u);
  table.Ended(bob);
  EXPECT_EQ(table.active(), 1u);
  EXPECT_EQ(table.weights(), 1u);
  table.Count(ann, -5, 0, -1);
  EXPECT_EQ(table.active(), 0u);
  EXPECT_EQ(table.weights(), 0u);
}

TEST(UserTable, StartsFadeAndTheSumIsThatOfTheActiveOnes) {
  UserTable table;
  UserTable::Entry& ann = table.Acquire("ann");
  UserTable::Entry& bob = table.Acquire("bob");
  Instant now(100s);
  // Ten a second, and five: for hours, so that weights begin anew a few times.
  for (int i = 0; i < 3 * 3600 * 10; ++i) {
    now += 100ms;
    table.Started(ann, now, 1ms);
    if (i % 2 == 0) table.Started(bob, now, 1ms);
  }
  EXPECT_NEAR(table.Rate(ann.recent, now), 10, 0.1);
  EXPECT_NEAR(table.Rate(bob.recent, now), 5, 0.05);
  EXPECT_NEAR(table.Rate(table.recent(), now), 15, 0.15);
  EXPECT_NEAR(table.Rate(ann.recent, now + 60s), 10 / std::exp(1.0), 0.1);
  for (std::uint64_t i = bob.running; i > 0; --i) table.Ended(bob);
  EXPECT_NEAR(table.Rate(table.recent(), now), 10, 0.1);
  EXPECT_EQ(ann.waited->Count(), ann.started);
  // A long silence.
  now += 50h;
  table.Started(ann, now, 1ms);
  EXPECT_NEAR(table.Rate(ann.recent, now), 1.0 / 60, 1e-6);
  EXPECT_NEAR(table.Rate(table.recent(), now), 1.0 / 60, 1e-6);
}

}  // namespace
}  // namespace allot
