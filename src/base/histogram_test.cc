// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

TEST(TimeHistogram, ABucketEndsWithItsPowerOfTwo) {
  struct Row {
    std::int64_t ms;
    std::size_t bucket;
  };
  constexpr Row kRows[] = {
      {-5, 0},          // a clock that was set back
      {0, 0},           //
      {1, 0},           //
      {2, 1},           //
      {3, 2},           //
      {4, 2},           // the end itself belongs to it
      {5, 3},           //
      {1024, 10},       //
      {1025, 11},       //
      {1ll << 30, 30},  //
      {1ll << 31, 31},  //
      {1ll << 40, 31},  // the last one counts the rest
  };
  for (const Row& row : kRows) {
    TimeHistogram histogram;
    histogram.Add(milliseconds(row.ms));
    EXPECT_EQ(histogram.counts[row.bucket], 1u) << row.ms;
    EXPECT_EQ(histogram.Count(), 1u) << row.ms;
    EXPECT_EQ(histogram.sum_ms, static_cast<std::uint64_t>(std::max<std::int64_t>(0, row.ms))) << row.ms;
  }
}

TEST(TimeHistogram, AQuantileIsTheEndOfItsBucket) {
  TimeHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), milliseconds(0));
  for (int i = 0; i < 90; ++i) histogram.Add(milliseconds(3));
  for (int i = 0; i < 10; ++i) histogram.Add(milliseconds(1000));
  EXPECT_EQ(histogram.Quantile(0), milliseconds(4));
  EXPECT_EQ(histogram.Quantile(0.5), milliseconds(4));
  EXPECT_EQ(histogram.Quantile(0.9), milliseconds(4));
  EXPECT_EQ(histogram.Quantile(0.91), milliseconds(1024));
  EXPECT_EQ(histogram.Quantile(1), milliseconds(1024));
}

}  // namespace
}  // namespace allot
