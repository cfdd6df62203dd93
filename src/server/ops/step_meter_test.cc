// SPDX-License-Identifier: Apache-2.0
#include "server/ops/step_meter.h"

#include <gtest/gtest.h>

#include <time.h>

#include <chrono>
#include <numeric>
#include <thread>

namespace allot {
namespace {

std::int64_t Longest(const StepMeter::Totals& totals, StepKind kind) {
  return totals[static_cast<std::size_t>(kind)].longest;
}

TEST(StepMeter, WaitingIsNoStepHoweverLong) {
  StepMeter meter;
  meter.BeginRound();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  meter.End(StepKind::kCommand);
  meter.EndRound();
  const StepMeter::Totals totals = meter.Take();
  EXPECT_LT(Longest(totals, StepKind::kCommand), 10'000'000);
  EXPECT_LT(Longest(totals, StepKind::kRound), 10'000'000);
}

TEST(StepMeter, WorkIsMeasuredUnderItsKindAndInTheRound) {
  StepMeter meter;
  meter.BeginRound();
  meter.End(StepKind::kCommand);
  timespec time{};
  const auto cpu = [&time] {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  };
  for (const auto began = cpu(); cpu() - began < 5'000'000;) {
  }
  meter.End(StepKind::kTick);
  meter.EndRound();
  ASSERT_TRUE(meter.any());
  const StepMeter::Totals totals = meter.Take();
  EXPECT_LT(Longest(totals, StepKind::kCommand), 5'000'000);
  EXPECT_GE(Longest(totals, StepKind::kTick), 5'000'000);
  EXPECT_GE(Longest(totals, StepKind::kRound), Longest(totals, StepKind::kTick));
  const auto& counts = totals[static_cast<std::size_t>(StepKind::kTick)].counts;
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0u), 1u);
  EXPECT_FALSE(meter.any());
  EXPECT_EQ(Longest(meter.Take(), StepKind::kTick), 0);
}

}  // namespace
}  // namespace allot
