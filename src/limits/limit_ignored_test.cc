// SPDX-License-Identifier: Apache-2.0
// Every user whose start was denied is known, with when, while it waits and for the ban window after.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/rng.h"
#include "limits/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;
using expr::Value;
using testing::AddOpenJobOf;
using testing::AtTime;
using testing::NamesOf;
using testing::SomeLimit;
using Names = std::vector<std::string>;

struct IgnoredFixture {
  IgnoredFixture() : worker(testing::AddWorker(table)) {}
  void Create(const char* uuid, const LimitSpec& spec) { ASSERT_TRUE(table.Create(uuid, spec, now).ok()); }
  LimitView View(const char* uuid) { return table.looks().List({std::nullopt, uuid}, now).at(0); }
  bool Draw(GroupId group, const char* user) {
    table.users().BeginTry();
    return table.Draw(group, worker, user, now).allowed();
  }
  // A worker asks, and finds the group blocked.
  void Try(GroupId group) {
    table.users().BeginTry();
    table.users().NoteTry(group, worker, now);
  }

  LimitTable table;
  Now now = AtTime(0s);
  LimitTable::WorkerHandle worker;
};

TEST(IgnoredUsers, ADenialIsOneOfAllWhoseJobsAreAlikeToTheLimit) {
  IgnoredFixture f;
  f.Create("one", SomeLimit("true", 1));
  const GroupId group = AddOpenJobOf(f.table, "ann", f.now);
  ASSERT_EQ(AddOpenJobOf(f.table, "bob", f.now), group);
  ASSERT_TRUE(f.Draw(group, "ann"));
  EXPECT_TRUE(f.View("one").ignored_users.empty());
  f.now = AtTime(1s);
  ASSERT_FALSE(f.Draw(group, "ann"));
  EXPECT_EQ(f.View("one").ignored_users.size(), 2u);
  for (const IgnoredView& user : f.View("one").ignored_users) EXPECT_EQ(user.at, f.now.wall) << user.user;
  // Who comes later was not denied yet; with the next try it is.
  f.now = AtTime(2s);
  AddOpenJobOf(f.table, "eve", f.now);
  f.now = AtTime(3s);
  EXPECT_EQ(f.View("one").ignored_users.size(), 2u);
  f.Try(group);
  EXPECT_EQ(f.View("one").ignored_users.size(), 3u);
  EXPECT_EQ(f.View("one").ignored_users.back().at, f.now.wall);
}

TEST(IgnoredUsers, EachDeniedTryOfAWorkerCounts) {
  IgnoredFixture f;
  f.Create("stop", SomeLimit("true", 0));
  const GroupId group = AddOpenJobOf(f.table, "ann", f.now);
  ASSERT_FALSE(f.Draw(group, "ann"));
  f.table.users().NoteTry(group, f.worker, f.now);  // of the same try
  EXPECT_EQ(f.View("stop").ignored_matches, 1u);
  f.now = AtTime(5s);
  for (int i = 0; i < 3; ++i) f.Try(group);
  EXPECT_EQ(f.View("stop").ignored_matches, 4u);
  EXPECT_EQ(f.View("stop").last_ignored, f.now.wall);
  EXPECT_EQ(f.View("stop").skipped, 1u);
}

TEST(IgnoredUsers, TheBanBeginsWhenTheGroupOpensAndIsAsLongAsItIsSet) {
  for (const Duration window : {Duration(60s), Duration(10s)}) {
    IgnoredFixture f;
    f.table.SetBanWindow(window);
    f.Create("one", SomeLimit("TARGET.Name =?= undefined", 1));  // one a minute
    const GroupId group = AddOpenJobOf(f.table, "ann", f.now);
    for (int i = 0; i < 100; ++i) AddOpenJobOf(f.table, "u" + std::to_string(i), f.now);
    ASSERT_TRUE(f.Draw(group, "ann"));
    ASSERT_FALSE(f.Draw(group, "ann"));
    f.now = AtTime(60s - 1us);
    EXPECT_EQ(f.View("one").ignored_users.size(), 101u);
    f.now = AtTime(60s);
    ASSERT_EQ(f.table.waits().TakePayable(f.now).size(), 1u);
    f.now = AtTime(60s + window - 1us);
    EXPECT_EQ(f.View("one").ignored_users.size(), 101u);
    EXPECT_EQ(f.table.looks().Exclusions(group, "u99", f.now).size(), 1u);
    // Who was not there by then was not denied.
    AddOpenJobOf(f.table, "late", f.now);
    EXPECT_TRUE(f.table.looks().Exclusions(group, "late", f.now).empty());
    f.now = AtTime(60s + window);
    EXPECT_TRUE(f.View("one").ignored_users.empty());
    EXPECT_TRUE(f.table.looks().Exclusions(group, "u99", f.now).empty());
  }
}

TEST(IgnoredUsers, WhoseLastJobLeavesIsStillRemembered) {
  IgnoredFixture f;
  f.Create("stop", SomeLimit("true", 0));
  const GroupId group = AddOpenJobOf(f.table, "ann", f.now);
  for (int i = 0; i < 20; ++i) AddOpenJobOf(f.table, "u" + std::to_string(i), f.now);
  ASSERT_FALSE(f.Draw(group, "ann"));
  f.now = AtTime(10s);
  f.table.users().Uncount(group, "u19", f.now);
  f.table.DropJob(group, f.now);
  f.now = AtTime(70s - 1us);
  EXPECT_EQ(f.View("stop").ignored_users.size(), 21u);
  f.now = AtTime(70s);
  EXPECT_EQ(f.View("stop").ignored_users.size(), 20u) << "the others wait";
}

// Against a book that is kept by hand: who was in the group at a denied try, and when it left.
TEST(IgnoredUsers, AgreeWithABook) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    IgnoredFixture f;
    f.Create("few", SomeLimit("true", 6));  // one each ten seconds
    struct Of {
      int jobs = 0;
      bool denied = false;  // since it came
      std::optional<Instant> until;
    };
    std::map<std::string, Of> book;
    GroupId group = AddOpenJobOf(f.table, "keeps it", f.now);
    book["keeps it"].jobs = 1;
    std::uint64_t tries = 0;
    const auto opened = [&] {
      for (auto& [user, of] : book) {
        if (of.jobs > 0 && std::exchange(of.denied, false)) of.until = f.now.mono + 60s;
      }
    };
    for (int step = 0; step < 300; ++step) {
      f.now = AtTime(f.now.mono.time_since_epoch() + Duration(rng.Below(5'000'000)));
      if (!f.table.waits().TakePayable(f.now).empty()) opened();
      const std::string user = "u" + std::to_string(rng.Below(30));
      switch (rng.Below(4)) {
        case 0:
          ASSERT_EQ(AddOpenJobOf(f.table, user, f.now), group);
          ++book[user].jobs;
          break;
        case 1:
          if (book[user].jobs == 0) break;
          f.table.users().Uncount(group, user, f.now);
          f.table.DropJob(group, f.now);
          if (--book[user].jobs > 0) break;
          if (std::exchange(book[user].denied, false)) book[user].until = f.now.mono + 60s;
          break;
        default:
          if (f.table.waits().Blocked(group)) {
            f.Try(group);
          } else if (f.Draw(group, "keeps it")) {
            break;
          }
          ++tries;
          for (auto& [name, of] : book) of.denied = of.denied || of.jobs > 0;
      }
      std::set<std::string> want;
      for (const auto& [name, of] : book) {
        if (of.denied || (of.until && f.now.mono < *of.until)) want.insert(name);
      }
      const Names names = NamesOf(f.View("few").ignored_users);
      ASSERT_EQ(std::set<std::string>(names.begin(), names.end()), want) << step;
      ASSERT_EQ(names.size(), want.size());
      ASSERT_EQ(f.View("few").ignored_matches, tries);
    }
  }
}

}  // namespace
}  // namespace allot
