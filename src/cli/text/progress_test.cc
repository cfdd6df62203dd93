// SPDX-License-Identifier: Apache-2.0
#include "cli/text/progress.h"

#include <gtest/gtest.h>

#include "cli/text/output.h"

namespace allot::cli {
namespace {

allotter::Job Half() {
  allotter::Job job;
  job.state = "active";
  job.count = 1000;
  job.done = 490;
  job.failed = 10;
  return job;
}

TEST(ProgressText, TellsCountPartRateAndWhatIsLeft) {
  const std::string text = ProgressText(Half(), 100, 120);
  EXPECT_NE(text.find("500/1,000  50%  100/s  5s left  10 failed"), std::string::npos) << text;
}

TEST(ProgressText, FitsIntoTheTerminal) {
  for (int columns = 1; columns < 120; ++columns) {
    std::size_t shown = 0;
    for (const char c : ProgressText(Half(), 100, columns)) shown += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    EXPECT_LT(shown, static_cast<std::size_t>(columns) + 1) << columns;
  }
}

TEST(ProgressText, AnEmptyJobIsWhole) {
  allotter::Job job;
  job.state = "done";
  EXPECT_NE(ProgressText(job, 0, 80).find("0/0  100%  done"), std::string::npos);
}

TEST(RateMeter, FollowsAChangeWithoutJumping) {
  RateMeter meter;
  const auto start = std::chrono::steady_clock::time_point();
  for (int second = 0; second <= 10; ++second)
    meter.Add(static_cast<std::uint64_t>(second) * 100, start + std::chrono::seconds(second));
  EXPECT_NEAR(meter.per_second(), 100, 1);
  meter.Add(1000, start + std::chrono::seconds(11));
  EXPECT_LT(meter.per_second(), 100);
  EXPECT_GT(meter.per_second(), 50);
}

}  // namespace
}  // namespace allot::cli
