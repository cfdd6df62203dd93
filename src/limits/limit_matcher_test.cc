// SPDX-License-Identifier: Apache-2.0
#include "limits/limit_matcher.h"

#include <string>

#include <gtest/gtest.h>

#include "limits/testing.h"

namespace allot {
namespace {

using expr::Value;
using testing::AdOf;
using testing::Attributes;
using testing::MustParseLimit;

GroupId Add(LimitMatcher& matcher, const Attributes& attributes) {
  return matcher.AddJob([&] { return AdOf(attributes); });
}
LimitMatcher::WorkerHandle AddWorker(LimitMatcher& matcher, const Attributes& attributes) {
  return matcher.AddWorker(std::make_shared<const expr::Ad>(AdOf(attributes)));
}
// `slot@cost` of all that match.
std::string Text(std::span<const LimitMatcher::Charge> charges) {
  std::string text;
  for (const auto& charge : charges) {
    if (!text.empty()) text += ' ';
    text += std::to_string(charge.slot) + '@' + std::to_string(charge.cost.millionths / 1000);
  }
  return text;
}
std::string PairText(LimitMatcher& matcher, GroupId group, LimitMatcher::WorkerHandle worker) {
  std::vector<LimitProfileId> gone;
  return Text(matcher.PairCharges(group, matcher.ProfileOf(worker, gone)));
}

TEST(LimitMatcher, WithoutLimitsNobodyIsLookedAt) {
  LimitMatcher matcher;
  EXPECT_EQ(matcher.AddJob([]() -> expr::Ad {
    ADD_FAILURE();
    return {};
  }),
            kFreeGroup);
  EXPECT_FALSE(matcher.DropJob(kFreeGroup));
}

TEST(LimitMatcher, JobsThatLookAlikeAreEvaluatedOnce) {
  LimitMatcher matcher;
  matcher.Put(0, MustParseLimit("MY.User != \"bob\""), MustParseLimit("MY.Weight"));
  const GroupId first = Add(matcher, {{"User", Value::String("ann")}, {"Weight", Value::Integer(2)}});
  const std::uint64_t before = matcher.evaluations();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(
        Add(matcher, {{"User", Value::String("ann")}, {"Weight", Value::Integer(2)}, {"Other", Value::Integer(i)}}),
        first);
  }
  EXPECT_EQ(matcher.evaluations(), before);
}

TEST(LimitMatcher, UsersUnderOneLimitAtOneCostAreOneGroup) {
  LimitMatcher matcher;
  matcher.Put(3, MustParseLimit("MY.User != \"bob\""), nullptr);
  const GroupId group = Add(matcher, {{"User", Value::String("ann")}});
  for (int i = 0; i < 1000; ++i) {
    const std::string user = "u" + std::to_string(i);
    ASSERT_EQ(Add(matcher, {{"User", Value::String(user)}}), group);
  }
  EXPECT_EQ(Add(matcher, {{"User", Value::String("bob")}}), kFreeGroup);
  EXPECT_EQ(matcher.groups(), 2u);
  EXPECT_EQ(Text(matcher.Charges(group)), "3@1000");
}

TEST(LimitMatcher, CostsAreNumbersAndWhatIsNoneIsOne) {
  struct Row {
    const char* cost;
    const char* want;
    bool failed;
  };
  const Row rows[] = {
      {"", "0@1000", false},
      {"5", "0@5000", false},
      {"MY.Weight / 2", "0@1500", false},
      {"-3", "0@0", false},
      {"0", "0@0", false},
      {"MY.Missing", "0@1000", true},
      {"\"two\"", "0@1000", true},
      {"1 / 0", "0@1000", true},
      {"true", "0@1000", true},
      {"1e300", "0@4000000000000000", false},
  };
  for (const Row& row : rows) {
    LimitMatcher matcher;
    matcher.Put(0, MustParseLimit("true"), MustParseLimit(row.cost));
    EXPECT_EQ(Text(matcher.Charges(Add(matcher, {{"Weight", Value::Real(3)}}))), row.want) << row.cost;
    EXPECT_EQ(matcher.CostFailed(0), row.failed) << row.cost;
  }
}

TEST(LimitMatcher, UndefinedAndErrorDoNotMatch) {
  LimitMatcher matcher;
  matcher.Put(0, MustParseLimit("MY.Missing > 1"), nullptr);
  matcher.Put(1, MustParseLimit("MY.User > 1"), nullptr);
  matcher.Put(2, MustParseLimit("MY.User"), nullptr);  // a string is not true
  matcher.Put(3, MustParseLimit("1"), nullptr);
  matcher.Put(4, MustParseLimit("TARGET.Missing > 1"), nullptr);
  const GroupId group = Add(matcher, {{"User", Value::String("ann")}});
  EXPECT_EQ(Text(matcher.Charges(group)), "3@1000");
  EXPECT_EQ(PairText(matcher, group, AddWorker(matcher, {})), "");
}

TEST(LimitMatcher, WhatReadsTheWorkerIsLeftForThePair) {
  LimitMatcher matcher;
  matcher.Put(0, MustParseLimit("MY.User == \"ann\" && TARGET.Site == \"x\""),
              MustParseLimit("MY.Weight * TARGET.Slots"));
  matcher.Put(1, MustParseLimit("MY.User == \"ann\" || TARGET.Site == \"x\""), nullptr);
  const GroupId ann = Add(matcher, {{"User", Value::String("ann")}, {"Weight", Value::Integer(2)}});
  const GroupId bob = Add(matcher, {{"User", Value::String("bob")}, {"Weight", Value::Integer(2)}});
  const GroupId eve = Add(matcher, {{"User", Value::String("eve")}, {"Weight", Value::Integer(2)}});
  EXPECT_EQ(bob, eve);  // what differs has been folded away
  const auto at_x = AddWorker(matcher, {{"Site", Value::String("x")}, {"Slots", Value::Integer(3)}});
  const auto at_y = AddWorker(matcher, {{"Site", Value::String("y")}, {"Slots", Value::Integer(3)}});
  EXPECT_EQ(Text(matcher.Charges(ann)), "1@1000");  // whatever the worker
  EXPECT_EQ(PairText(matcher, ann, at_x), "0@6000");
  EXPECT_EQ(PairText(matcher, ann, at_y), "");
  EXPECT_EQ(Text(matcher.Charges(bob)), "");
  EXPECT_EQ(PairText(matcher, bob, at_x), "1@1000");
  EXPECT_EQ(PairText(matcher, bob, at_y), "");
  // Once for all workers alike.
  const std::uint64_t before = matcher.evaluations();
  for (int i = 0; i < 100; ++i) {
    const auto worker =
        AddWorker(matcher, {{"site", Value::String("x")}, {"Slots", Value::Integer(3)}, {"N", Value::Integer(i)}});
    ASSERT_EQ(PairText(matcher, ann, worker), "0@6000");
  }
  EXPECT_EQ(matcher.evaluations(), before);
  EXPECT_EQ(matcher.profiles(), 2u);
}

TEST(LimitMatcher, AnUnscopedNameIsTheJobsAndThenTheWorkers) {
  LimitMatcher matcher;
  matcher.Put(0, MustParseLimit("Site == \"x\""), nullptr);
  const auto at_x = AddWorker(matcher, {{"Site", Value::String("x")}});
  EXPECT_EQ(Text(matcher.Charges(Add(matcher, {{"Site", Value::String("x")}}))), "0@1000");
  EXPECT_EQ(Add(matcher, {{"Site", Value::String("y")}}), kFreeGroup);
  EXPECT_EQ(PairText(matcher, Add(matcher, {}), at_x), "0@1000");
}

TEST(LimitMatcher, ValuesThatNoTextHoldsStillCount) {
  LimitMatcher matcher;
  matcher.Put(0, MustParseLimit("MY.Blob == TARGET.Blob"), nullptr);
  const std::string a = "\xff\xfe" + std::string(20'000, 'a'), b = "\xff\xfe" + std::string(20'000, 'b');
  const auto worker = AddWorker(matcher, {{"Blob", Value::String(a)}});
  EXPECT_EQ(PairText(matcher, Add(matcher, {{"Blob", Value::String(a)}}), worker), "0@1000");
  EXPECT_EQ(PairText(matcher, Add(matcher, {{"Blob", Value::String(b)}}), worker), "");
}

TEST(LimitMatcher, GroupsAndProfilesEndWithTheirLast) {
  LimitMatcher matcher;
  const std::uint64_t epoch = matcher.epoch();
  matcher.Put(0, MustParseLimit("MY.User == \"ann\" && TARGET.Site == \"x\""), nullptr);
  EXPECT_GT(matcher.epoch(), epoch);
  const GroupId group = Add(matcher, {{"User", Value::String("ann")}});
  ASSERT_EQ(Add(matcher, {{"User", Value::String("ann")}}), group);
  EXPECT_FALSE(matcher.DropJob(group));
  EXPECT_TRUE(matcher.DropJob(group));
  EXPECT_EQ(matcher.groups(), 1u);
  EXPECT_EQ(Text(matcher.Charges(Add(matcher, {{"User", Value::String("ann")}}))), "");
  const auto one = AddWorker(matcher, {{"Site", Value::String("x")}});
  const auto two = AddWorker(matcher, {{"Site", Value::String("x")}});
  std::vector<LimitProfileId> gone;
  const LimitProfileId profile = matcher.ProfileOf(one, gone);
  EXPECT_EQ(matcher.ProfileOf(two, gone), profile);
  EXPECT_TRUE(matcher.DropWorker(one).empty());
  EXPECT_EQ(matcher.ChangeWorker(two, std::make_shared<const expr::Ad>()), std::vector{profile});
  // Other names are read: everybody looks different.
  const LimitProfileId before = matcher.ProfileOf(two, gone);
  matcher.Put(1, MustParseLimit("TARGET.Region == 1"), nullptr);
  matcher.ProfileOf(two, gone);
  EXPECT_EQ(gone, std::vector{before});
  matcher.Remove(0);
  matcher.Remove(1);
  EXPECT_EQ(Add(matcher, {{"User", Value::String("ann")}}), kFreeGroup);
}

TEST(LimitMatcher, WhatIsRememberedIsBounded) {
  LimitMatcher matcher;
  matcher.Put(0, MustParseLimit("MY.N >= 0"), nullptr);
  GroupId group = 0;
  for (int i = 0; i < 200'000; ++i) {
    const GroupId next = Add(matcher, {{"N", Value::Integer(i)}});
    ASSERT_TRUE(i == 0 || next == group);
    group = next;
  }
  const std::uint64_t before = matcher.evaluations();
  ASSERT_EQ(Add(matcher, {{"N", Value::Integer(199'000)}}), group);
  EXPECT_EQ(matcher.evaluations(), before);
  ASSERT_EQ(Add(matcher, {{"N", Value::Integer(0)}}), group);  // forgotten, and found again
  EXPECT_GT(matcher.evaluations(), before);
}

}  // namespace
}  // namespace allot
