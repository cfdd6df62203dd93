#include "server/queue/at_once.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

using Entry = AtOnce::Entry;

TEST(AtOnce, OneAskerLeavesRoomForAnother) {
  AtOnce under_way;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(under_way.Enter(1, 2), Entry::kIn);
  EXPECT_EQ(under_way.Enter(1, 2), Entry::kOwn);
  EXPECT_EQ(under_way.Enter(2, 2), Entry::kIn);
  EXPECT_EQ(under_way.Enter(3, 2), Entry::kOthers);
  under_way.Leave(1);
  EXPECT_EQ(under_way.Enter(3, 2), Entry::kIn);
  for (const AskerId asker : {1, 2, 3}) under_way.Leave(asker);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(under_way.Enter(1, 4), Entry::kIn);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(under_way.Enter(2, 4), Entry::kIn);
  EXPECT_EQ(under_way.Enter(2, 4), Entry::kOthers);
}

}  // namespace
}  // namespace allot
