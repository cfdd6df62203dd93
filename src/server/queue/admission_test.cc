// SPDX-License-Identifier: Apache-2.0
#include "server/queue/admission.h"

#include <gtest/gtest.h>

#include <vector>

namespace allot {
namespace {

using Full = Admission::Full;

TEST(Admission, OneAskerLeavesRoomForAnother) {
  Admission under_way(Admission::Bounds::OfOne(2));
  std::vector<Admission::Entry> of_ann;
  for (int i = 0; i < 2; ++i) of_ann.push_back(under_way.Enter(1));
  EXPECT_TRUE(of_ann.back());
  EXPECT_EQ(under_way.Enter(1).full(), Full::kOwn);
  Admission::Entry of_bob = under_way.Enter(2);
  EXPECT_TRUE(of_bob);
  EXPECT_EQ(under_way.Enter(3).full(), Full::kAll);
  of_ann.pop_back();
  EXPECT_EQ(under_way.Enter(3).full(), Full::kNo);
}

TEST(Admission, APlaceIsLeftOnceHoweverOftenItIsPassedOn) {
  Admission under_way({1, 1});
  {
    Admission::Entry first = under_way.Enter(1);
    Admission::Entry second = std::move(first);
    first = std::move(second);
    EXPECT_TRUE(first);
    EXPECT_FALSE(under_way.Enter(1));
    EXPECT_FALSE(under_way.Enter(2));
  }
  EXPECT_TRUE(under_way.Enter(2));
  Admission::Entry third = under_way.Enter(1);
  EXPECT_TRUE(third);
  third = {};
  EXPECT_TRUE(under_way.Enter(2));
}

TEST(Admission, AllTogetherHaveHalfAsManyAgainAndAtLeastOneMore) {
  EXPECT_EQ(Admission::Bounds::OfOne(1).of_all, 2u);
  EXPECT_EQ(Admission::Bounds::OfOne(2).of_all, 3u);
  EXPECT_EQ(Admission::Bounds::OfOne(4).of_all, 6u);
}

}  // namespace
}  // namespace allot
