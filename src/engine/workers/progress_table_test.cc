// SPDX-License-Identifier: Apache-2.0
#include "engine/workers/progress_table.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

TaskRef Ref(std::uint64_t job, TaskIndex index, std::uint64_t serial) {
  TaskRef task;
  task.job = JobId{job};
  task.index = index;
  task.lease.serial = serial;
  return task;
}

TEST(ProgressTable, AJobsSumIsThatOfItsRunningTasks) {
  ProgressTable table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.SumOf(JobId{1}), std::nullopt);
  table.Set(Ref(1, 0, 10), {3, 10, "three"});
  table.Set(Ref(1, 1, 11), {1, 4, ""});
  table.Set(Ref(2, 0, 12), {1, 2, ""});
  EXPECT_DOUBLE_EQ(*table.SumOf(JobId{1}), 0.55);
  table.Set(Ref(1, 0, 10), {10, 10, ""});  // replaces what was said before
  EXPECT_DOUBLE_EQ(*table.SumOf(JobId{1}), 1.25);
  table.Forget(Ref(1, 0, 10));
  table.Forget(Ref(1, 0, 10));  // it is gone
  EXPECT_DOUBLE_EQ(*table.SumOf(JobId{1}), 0.25);
  EXPECT_EQ(table.Find(10), nullptr);
  ASSERT_NE(table.Find(11), nullptr);
  EXPECT_EQ(table.Find(11)->done, 1);
  table.Forget(Ref(1, 1, 11));
  EXPECT_EQ(table.SumOf(JobId{1}), std::nullopt);
  EXPECT_DOUBLE_EQ(*table.SumOf(JobId{2}), 0.5);
  table.Forget(Ref(2, 0, 12));
  EXPECT_TRUE(table.empty());
}

TEST(ProgressTable, WhatHasNoEndCountsNothing) {
  ProgressTable table;
  table.Set(Ref(1, 0, 10), {7, std::nullopt, ""});
  EXPECT_EQ(table.SumOf(JobId{1}), std::nullopt);
  table.Set(Ref(1, 0, 10), {7, 0, ""});
  EXPECT_EQ(table.SumOf(JobId{1}), std::nullopt);
  table.Set(Ref(1, 0, 10), {7, 7, ""});
  EXPECT_DOUBLE_EQ(*table.SumOf(JobId{1}), 1);
  table.Set(Ref(1, 0, 10), {9, 7, ""});  // no more than the whole
  EXPECT_DOUBLE_EQ(*table.SumOf(JobId{1}), 1);
  table.Set(Ref(1, 0, 10), {9, std::nullopt, ""});
  EXPECT_EQ(table.SumOf(JobId{1}), std::nullopt);
  EXPECT_EQ(table.Find(10)->done, 9);
}

TEST(ProgressTable, SumsDoNotDrift) {
  ProgressTable table;
  for (int round = 0; round < 1000; ++round) {
    for (std::uint64_t i = 0; i < 7; ++i)
      table.Set(Ref(1, static_cast<TaskIndex>(i), i + 1), {round * 0.1 + static_cast<double>(i), 333, ""});
  }
  for (std::uint64_t i = 0; i < 6; ++i) table.Forget(Ref(1, static_cast<TaskIndex>(i), i + 1));
  table.Set(Ref(1, 6, 7), {0, 333, ""});
  EXPECT_EQ(*table.SumOf(JobId{1}), 0);
}

}  // namespace
}  // namespace allot
