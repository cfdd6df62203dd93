// SPDX-License-Identifier: Apache-2.0
#include "engine/clock.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

using namespace std::chrono_literals;

TEST(NextTickTest, IsTheEarliestAndNeverInThePast) {
  EngineClock clock;
  clock.stalled = 5s;
  const Now now{Instant(100s), FromMillis(1'000'000)};
  NextTick next(clock, now);
  EXPECT_EQ(next.value(), std::nullopt);
  next.At(Instant(130s));
  EXPECT_EQ(next.value(), Instant(130s));
  next.AtEngineTime(Instant(110s));  // five seconds were taken out of it
  EXPECT_EQ(next.value(), Instant(115s));
  next.At(Instant(120s));
  EXPECT_EQ(next.value(), Instant(115s));
  // A wall clock may step: what depends on it is looked at with the next tick.
  next.AtWall(now.wall + 1h);
  EXPECT_EQ(next.value(), now.mono + kTickEvery);
  next.At(Instant(3s));
  EXPECT_EQ(next.value(), now.mono);
}

}  // namespace
}  // namespace allot
