// SPDX-License-Identifier: Apache-2.0
// Pictures of a job's tasks, against counting them one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "backlog/job_tasks.h"
#include "base/rng.h"

namespace allot {
namespace {

void Check(const JobTasks& job, TaskIndex from, TaskIndex to, std::size_t parts) {
  const JobTasks::Parts picture = job.Picture(from, to, parts);
  SCOPED_TRACE(std::to_string(from) + " to " + std::to_string(to) + " in " + std::to_string(parts));
  ASSERT_LE(picture.parts.size(), parts);
  ASSERT_LE(picture.from, from);
  ASSERT_GE(picture.to, to);
  if (picture.from != from || picture.to != to || picture.width > kPageTasks) {
    EXPECT_EQ(picture.from % kPageTasks, 0u);
    EXPECT_TRUE(picture.to % kPageTasks == 0 || picture.to == job.count());
    EXPECT_LT(from - picture.from, kPageTasks);
    EXPECT_LT(picture.to - to, kPageTasks);
  }
  ASSERT_EQ(picture.parts.size(), (std::uint64_t{picture.to} - picture.from + picture.width - 1) / picture.width);
  for (std::size_t i = 0; i < picture.parts.size(); ++i) {
    const auto begin = static_cast<TaskIndex>(picture.from + i * picture.width);
    const TaskIndex end = std::min<TaskIndex>(picture.to, begin + picture.width);
    std::map<TaskState, std::uint32_t> naive;
    for (TaskIndex index = begin; index < end; ++index) ++naive[job.State(index)];
    const JobTasks::Counts& part = picture.parts[i];
    ASSERT_EQ(part.queued, naive[TaskState::kQueued]) << i;
    ASSERT_EQ(part.out, naive[TaskState::kRunning]) << i;
    ASSERT_EQ(part.retrying, naive[TaskState::kRetrying]) << i;
    ASSERT_EQ(part.done, naive[TaskState::kDone]) << i;
    ASSERT_EQ(part.failed, naive[TaskState::kFailed]) << i;
  }
}

void CheckSum(const JobTasks& job, std::size_t parts) {
  JobTasks::Counts sum;
  for (const JobTasks::Counts& part : job.Picture(0, job.count(), parts).parts) {
    sum.queued += part.queued;
    sum.out += part.out;
    sum.retrying += part.retrying;
    sum.done += part.done;
    sum.failed += part.failed;
  }
  EXPECT_EQ(sum.queued, job.queued());
  EXPECT_EQ(sum.out, job.out());
  EXPECT_EQ(sum.retrying, job.retrying());
  EXPECT_EQ(sum.done, job.done());
  EXPECT_EQ(sum.failed, job.failed());
}

TEST(JobTasksPicture, OfAnEmptyJobThereIsNone) {
  EXPECT_TRUE(JobTasks(0).Picture(0, 0, 10).parts.empty());
  EXPECT_TRUE(JobTasks(10).Picture(4, 4, 10).parts.empty());
}

TEST(JobTasksPicture, OfTheLargestJobHasItsParts) {
  for (const std::uint32_t count : {0xFFFFFFFFu, 1'000'000'000u}) {
    JobTasks job(count);
    for (const std::size_t parts : {1u, 7u, 200u, 1000u}) {
      CheckSum(job, parts);
      const JobTasks::Parts picture = job.Picture(0, count, parts);
      EXPECT_LE(picture.parts.size(), parts);
      EXPECT_TRUE(parts == 1 || picture.width % kPageTasks == 0);
    }
  }
  EXPECT_EQ(JobTasks(1'000'000'000).Picture(0, 1'000'000'000, 200).width, 5'013'504u);
}

TEST(JobTasksPicture, IsWhatCountingSays) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const std::uint32_t counts[] = {1, 63, 64, 65, 1000, kPageTasks, kPageTasks + 1, 3 * kPageTasks, 100'000, 130'000};
    JobTasks job(counts[rng.Below(std::size(counts))]);
    const std::uint32_t count = job.count();
    std::int64_t now = 0;
    const std::uint64_t due_times = 1 + rng.Below(40);
    for (int round = 0; round < 4; ++round) {
      // A stretch, so that whole pages become all done and all queued again.
      const auto from = static_cast<TaskIndex>(rng.Below(count));
      const auto to = static_cast<TaskIndex>(std::min<std::uint64_t>(count, from + rng.Below(count) + 1));
      const std::uint64_t mix = rng.Below(4);
      for (TaskIndex i = from; i < to; ++i) {
        if (job.State(i) != TaskState::kQueued) continue;
        switch (mix == 0 ? 0 : rng.Below(6)) {
          case 0:
            job.Finish(i);
            break;
          case 1:
            job.Claim(i);
            break;
          case 2:
            job.Claim(i);
            job.Fail(i);
            break;
          case 3:
            job.Claim(i);
            job.Wait(i, 1 + static_cast<std::uint32_t>(rng.Below(3)),
                     FromMillis(now + 1 + static_cast<std::int64_t>(rng.Below(due_times))));
            break;
          case 4:
            job.Claim(i);
            job.Release(i, static_cast<std::uint32_t>(rng.Below(2)));
            break;
          default:
            break;
        }
      }
      now += static_cast<std::int64_t>(rng.Below(due_times));
      job.ReleaseDue(FromMillis(now), rng.Below(4), [](std::uint32_t) {});
      if (const auto retrying = job.FirstInState(TaskState::kRetrying, 0)) {
        rng.Below(2) == 0 ? job.Promote(*retrying) : job.Finish(*retrying);
      }
      if (rng.Below(4) == 0) job.RevivePage(static_cast<std::uint32_t>(rng.Below(job.pages())));
      for (const std::size_t parts : {1u, 3u, 200u, 1000u}) {
        CheckSum(job, parts);
        Check(job, 0, count, parts);
      }
      const auto begin = static_cast<TaskIndex>(rng.Below(count));
      Check(job, begin, begin + 1 + static_cast<TaskIndex>(rng.Below(count - begin)), 1 + rng.Below(1000));
      if (::testing::Test::HasFailure()) return;
    }
    // The same from records: what was out is queued then.
    JobTasks loaded(count);
    for (std::uint32_t page = 0; page < job.pages(); ++page) {
      if (job.Untouched(page)) continue;
      std::string bytes;
      ByteWriter out(bytes);
      job.SavePage(page, out);
      ByteReader in(bytes);
      ASSERT_TRUE(loaded.LoadPage(page, in));
    }
    CheckSum(loaded, 10);
    Check(loaded, 0, count, 1);
    Check(loaded, 0, count, 100);
  }
}

// More due times than bits may be looked up for: whole pages then, and still right.
TEST(JobTasksPicture, OfManyDueTimesIsOfWholePages) {
  Rng rng(1);
  JobTasks job(4 * kPageTasks);
  for (TaskIndex i = 0; i < job.count(); i += 7) {
    job.Claim(i);
    job.Wait(i, 1, FromMillis(static_cast<std::int64_t>(rng.Below(6000))));
  }
  const JobTasks::Parts picture = job.Picture(0, job.count(), 1000);
  EXPECT_EQ(picture.width, kPageTasks);
  CheckSum(job, 1000);
  EXPECT_LT(job.Picture(10, 1000, 1000).parts.size(), 1001u);
}

}  // namespace
}  // namespace allot
