// SPDX-License-Identifier: Apache-2.0
#include "backlog/job_tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace allot {
namespace {

struct ModelTask {
  TaskState state = TaskState::kQueued;
  std::uint32_t attempts = 0;  // while queued or retrying
  WallTime due{};
};

// What JobTasks does, task by task.
struct Model {
  explicit Model(std::uint32_t count) : tasks(count) {}

  std::uint32_t Count(TaskState state) const {
    return static_cast<std::uint32_t>(
        std::count_if(tasks.begin(), tasks.end(), [&](const ModelTask& task) { return task.state == state; }));
  }
  std::optional<TaskIndex> First(TaskState state, TaskIndex from) const {
    for (TaskIndex i = from; i < tasks.size(); ++i) {
      if (tasks[i].state == state) return i;
    }
    return std::nullopt;
  }
  std::optional<WallTime> NextDue() const {
    std::optional<WallTime> next;
    for (const ModelTask& task : tasks) {
      if (task.state == TaskState::kRetrying && (!next || task.due < *next)) next = task.due;
    }
    return next;
  }
  bool Untouched(std::uint32_t page) const {
    for (TaskIndex i = page * kPageTasks; i < tasks.size() && PageOf(i) == page; ++i) {
      if (tasks[i].state != TaskState::kQueued || tasks[i].attempts != 0) return false;
    }
    return true;
  }

  std::vector<ModelTask> tasks;
};

constexpr TaskState kStates[] = {TaskState::kQueued, TaskState::kRunning, TaskState::kRetrying, TaskState::kDone,
                                 TaskState::kFailed};

void ExpectSameCounts(const JobTasks& job, const Model& model) {
  ASSERT_EQ(job.queued(), model.Count(TaskState::kQueued));
  ASSERT_EQ(job.out(), model.Count(TaskState::kRunning));
  ASSERT_EQ(job.retrying(), model.Count(TaskState::kRetrying));
  ASSERT_EQ(job.done(), model.Count(TaskState::kDone));
  ASSERT_EQ(job.failed(), model.Count(TaskState::kFailed));
  ASSERT_EQ(job.NextDue(), model.NextDue());
  for (std::uint32_t page = 0; page < job.pages(); ++page) ASSERT_EQ(job.Untouched(page), model.Untouched(page));
}

void ExpectSameEnds(const JobTasks& job, const Model& model, std::uint32_t page) {
  PageBits done{}, failed{};
  const bool any = job.EndsOf(page, 0, done, failed);
  std::uint32_t ended = 0;
  for (TaskIndex i = page * kPageTasks; i < model.tasks.size() && PageOf(i) == page; ++i) {
    const TaskState state = model.tasks[i].state;
    if (state == TaskState::kDone || state == TaskState::kFailed) ++ended;
    if (!any) continue;
    ASSERT_EQ(TestBit(done.data(), i % kPageTasks), state == TaskState::kDone) << i;
    ASSERT_EQ(TestBit(failed.data(), i % kPageTasks), state == TaskState::kFailed) << i;
  }
  ASSERT_EQ(any, ended > 0);
  ASSERT_FALSE(job.EndsOf(page, ended, done, failed));
}

void ExpectSame(const JobTasks& job, const Model& model) {
  ExpectSameCounts(job, model);
  for (TaskIndex i = 0; i < model.tasks.size(); ++i) {
    const ModelTask& task = model.tasks[i];
    ASSERT_EQ(job.State(i), task.state) << i;
    const bool has_attempts = task.state == TaskState::kQueued || task.state == TaskState::kRetrying;
    ASSERT_EQ(job.AttemptsUsed(i), has_attempts ? task.attempts : 0) << i;
    const bool retrying = task.state == TaskState::kRetrying;
    ASSERT_EQ(job.DueOf(i), retrying ? std::optional(task.due) : std::nullopt) << i;
  }
  for (std::uint32_t page = 0; page < job.pages(); ++page) ExpectSameEnds(job, model, page);
}

// A job that forgets which tasks are out, by way of its records.
JobTasks SavedAndLoaded(const JobTasks& job) {
  JobTasks loaded(job.count());
  for (std::uint32_t page = 0; page < job.pages(); ++page) {
    if (job.Untouched(page)) continue;
    std::string bytes;
    ByteWriter out(bytes);
    job.SavePage(page, out);
    ByteReader in(bytes);
    EXPECT_TRUE(loaded.LoadPage(page, in));
    EXPECT_TRUE(in.AtEnd());
  }
  return loaded;
}

class JobTasksOf : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(JobTasksOf, DoAsAModelDoesUnderRandomOperations) {
  const std::uint32_t count = GetParam();
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng(seed);
  JobTasks job(count);
  Model model(count);
  ExpectSame(job, model);
  std::int64_t now = 0;
  const int rounds = count > 10'000 ? 60 : 200;
  for (int round = 0; round < rounds && count > 0; ++round) {
    // Each round keeps to a range of some size and to a mix of its own, so that words and pages fill and empty.
    const std::uint64_t length = rng.Below(4) == 0 ? count : std::min<std::uint64_t>(count, 1 + rng.Below(300));
    const std::uint64_t start = rng.Below(count - length + 1);
    const std::uint64_t finish_weight = 1 + rng.Below(round < rounds / 2 ? 5 : 100);
    for (int step = 0; step < 400; ++step) {
      auto index = static_cast<TaskIndex>(start + rng.Below(length));
      if (rng.Below(2) == 0) index = job.FirstQueued(index).value_or(index);
      ModelTask& task = model.tasks[index];
      switch (task.state) {
        case TaskState::kQueued:
          if (rng.Below(100) < finish_weight / 4) {
            job.Finish(index);
            task = {TaskState::kDone, 0, {}};
          } else {
            ASSERT_EQ(job.Claim(index), task.attempts);
            task.state = TaskState::kRunning;
          }
          break;
        case TaskState::kRunning:
          if (rng.Below(100) < finish_weight) {
            if (rng.Below(2) == 0) {
              job.Finish(index);
            } else {
              job.FinishOut(index);
            }
            task = {TaskState::kDone, 0, {}};
          } else if (rng.Below(10) == 0) {
            job.Fail(index);
            task = {TaskState::kFailed, 0, {}};
          } else if (rng.Below(2) == 0) {
            task.state = TaskState::kQueued;
            job.Release(index, task.attempts);
          } else {
            task = {TaskState::kRetrying, 1 + task.attempts % 3, FromMillis(now + static_cast<int>(rng.Below(5)))};
            job.Wait(index, task.attempts, task.due);
          }
          break;
        case TaskState::kRetrying:
          if (rng.Below(100) < finish_weight) {
            job.Finish(index);
            task = {TaskState::kDone, 0, {}};
          } else if (rng.Below(4) == 0) {
            job.Promote(index);
            task.state = TaskState::kQueued;
          }
          break;
        default:
          break;
      }
      const auto from = static_cast<TaskIndex>(rng.Below(std::uint64_t{count} + 1));
      const TaskState state = kStates[rng.Below(std::size(kStates))];
      ASSERT_EQ(job.FirstInState(state, from), model.First(state, from)) << StateText(state) << " from " << from;
      ASSERT_EQ(job.FirstQueued(), model.First(TaskState::kQueued, 0));
    }
    ExpectSameCounts(job, model);
    now += static_cast<int>(rng.Below(3));
    if (rng.Below(2) == 0) {  // a few pages at a time come due
      std::uint32_t released = 0;
      std::set<std::uint32_t> pages;
      while (job.NextDue() && *job.NextDue() <= FromMillis(now)) {
        std::size_t calls = 0;
        released += job.ReleaseDue(FromMillis(now), 2, [&](std::uint32_t page) {
          pages.insert(page);
          ++calls;
        });
        ASSERT_GE(calls, 1u);
        ASSERT_LE(calls, 2u);
      }
      std::uint32_t expected = 0;
      std::set<std::uint32_t> expected_pages;
      for (TaskIndex i = 0; i < count; ++i) {
        ModelTask& task = model.tasks[i];
        if (task.state != TaskState::kRetrying || task.due > FromMillis(now)) continue;
        task.state = TaskState::kQueued;
        ++expected;
        expected_pages.insert(PageOf(i));
      }
      ASSERT_EQ(released, expected);
      ASSERT_EQ(pages, expected_pages);
    }
    if (rng.Below(8) == 0) {  // a retry
      const auto page = static_cast<std::uint32_t>(rng.Below(job.pages()));
      std::uint32_t expected = 0;
      for (TaskIndex i = page * kPageTasks; i < count && PageOf(i) == page; ++i) {
        ModelTask& task = model.tasks[i];
        if (task.state == TaskState::kRunning || task.state == TaskState::kDone) continue;
        expected += task.state != TaskState::kQueued;
        task = {};
      }
      ASSERT_EQ(job.RevivePage(page), expected);
    }
    if (rng.Below(4) == 0) {  // a restart: what is out is claimed anew
      job = SavedAndLoaded(job);
      for (TaskIndex i = 0; i < count; ++i) {
        if (model.tasks[i].state == TaskState::kRunning) {
          ASSERT_EQ(job.Claim(i), 0u);
        }
      }
    }
    if (round % 10 == 0) ExpectSame(job, model);
  }
  ExpectSame(job, model);
  // To the end: nothing is left in memory.
  for (TaskIndex i = 0; i < count; ++i) {
    if (model.tasks[i].state != TaskState::kDone && model.tasks[i].state != TaskState::kFailed) job.Finish(i);
  }
  for (std::uint32_t page = 0; page < job.pages(); ++page) job.RevivePage(page);
  for (TaskIndex i = 0; i < count; ++i) {
    if (model.tasks[i].state == TaskState::kFailed) job.Finish(i);
  }
  EXPECT_EQ(job.done(), count);
  EXPECT_EQ(job.MemoryBytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Counts, JobTasksOf,
                         ::testing::Values(0, 1, 2, 63, 64, 65, 128, 1000, 32'767, 32'768, 32'769, 65'537, 100'000));

TEST(JobTasks, UntouchedNeedsNoHeapWhateverItsCount) {
  for (const std::uint32_t count : {0u, 1u, 64u, 65u, 32'768u, 32'769u, 4'294'967'295u}) {
    JobTasks job(count);
    EXPECT_EQ(job.MemoryBytes(), 0u);
    EXPECT_EQ(job.queued(), count);
    EXPECT_EQ(job.FirstQueued(), count > 0 ? std::optional(0u) : std::nullopt);
    EXPECT_EQ(job.FirstQueued(count), std::nullopt);
    if (count > 0) {
      EXPECT_EQ(job.FirstQueued(count - 1), count - 1);
      EXPECT_EQ(job.State(count - 1), TaskState::kQueued);
    }
    EXPECT_EQ(job.pages(), (std::uint64_t{count} + kPageTasks - 1) / kPageTasks);
  }
}

TEST(JobTasks, SmallJobNeedsNoHeapUntilSomethingFails) {
  JobTasks job(64);
  for (TaskIndex i = 0; i < 64; ++i) EXPECT_EQ(job.Claim(i), 0u);
  EXPECT_EQ(job.FirstQueued(), std::nullopt);
  for (TaskIndex i = 0; i < 64; i += 2) job.Finish(i);
  EXPECT_EQ(job.MemoryBytes(), 0u);
  job.Wait(1, 1, FromMillis(5));
  EXPECT_GT(job.MemoryBytes(), 0u);
  job.Finish(1);
  EXPECT_EQ(job.MemoryBytes(), 0u) << "and none again once nothing waits";
}

TEST(JobTasks, LargestJobWorksAtItsEnds) {
  constexpr std::uint32_t kCount = 4'294'967'295u;
  JobTasks job(kCount);
  EXPECT_EQ(job.pages(), 131'072u);
  job.Claim(kCount - 1);
  job.Claim(0);
  EXPECT_EQ(job.FirstQueued(), 1u);
  EXPECT_EQ(job.FirstQueued(kCount - 1), std::nullopt);
  EXPECT_EQ(job.FirstInState(TaskState::kRunning, 1), kCount - 1);
  job.Finish(kCount - 1);
  EXPECT_EQ(job.FirstInState(TaskState::kDone, 0), kCount - 1);
  EXPECT_EQ(job.queued(), kCount - 2);
  // A pointer a page, the tree over them, and two pages.
  EXPECT_LE(job.MemoryBytes(), 131'072 * 16 + 131'072 / 8.0 * 1.02 + 2 * 8300 + 200);
}

TEST(JobTasks, PageOutOfTheWayIsSkippedAndAllDonePageIsFreed) {
  JobTasks job(4 * kPageTasks);
  for (TaskIndex i = 0; i < 3 * kPageTasks; ++i) {
    ASSERT_EQ(job.FirstQueued(), i);
    job.Claim(i);
  }
  EXPECT_EQ(job.FirstQueued(), 3 * kPageTasks);
  const std::size_t with_three = job.MemoryBytes();
  for (TaskIndex i = kPageTasks; i < 2 * kPageTasks; ++i) job.Finish(i);
  EXPECT_LT(job.MemoryBytes(), with_three - 8192);
  EXPECT_EQ(job.State(kPageTasks), TaskState::kDone);
  job.Release(2 * kPageTasks + 9, 2);
  EXPECT_EQ(job.FirstQueued(), 2 * kPageTasks + 9);
  EXPECT_EQ(job.AttemptsUsed(2 * kPageTasks + 9), 2u);
  EXPECT_EQ(job.Claim(2 * kPageTasks + 9), 2u);
}

TEST(JobTasks, WholePageThatComesDueIsFoundFromFarBefore) {
  JobTasks job(5 * kPageTasks);
  while (const auto next = job.FirstQueued()) job.Claim(*next);
  for (TaskIndex i = 3 * kPageTasks; i < 4 * kPageTasks; i += 3) job.Wait(i, 1, FromMillis(7));
  EXPECT_EQ(job.FirstQueued(), std::nullopt);
  EXPECT_EQ(job.ReleaseDue(FromMillis(6), 9, [](std::uint32_t) {}), 0u);
  std::vector<std::uint32_t> pages;
  EXPECT_EQ(job.ReleaseDue(FromMillis(7), 9, [&](std::uint32_t page) { pages.push_back(page); }), 10'923u);
  EXPECT_EQ(pages, std::vector<std::uint32_t>{3});
  EXPECT_EQ(job.FirstQueued(), 3 * kPageTasks);
  EXPECT_EQ(job.FirstQueued(3 * kPageTasks + 1), 3 * kPageTasks + 3);
}

TEST(JobTasks, LoadedPagesWithoutQueuedTasksArePassedOver) {
  JobTasks job(5 * kPageTasks);
  for (TaskIndex i = 0; i < kPageTasks; ++i) job.Finish(i);
  for (TaskIndex i = kPageTasks; i < 3 * kPageTasks; ++i) {
    job.Claim(i);
    job.Fail(i);
  }
  for (TaskIndex i = 3 * kPageTasks; i < 4 * kPageTasks; ++i) {
    job.Claim(i);
    job.Wait(i, 2, FromMillis(9));
  }
  const JobTasks loaded = SavedAndLoaded(job);
  EXPECT_EQ(loaded.FirstQueued(), 4 * kPageTasks);
  EXPECT_EQ(loaded.done(), kPageTasks);
  EXPECT_EQ(loaded.failed(), 2 * kPageTasks);
  EXPECT_EQ(loaded.retrying(), kPageTasks);
}

TEST(JobTasks, JobLoadedAsAllDoneNeedsNoHeap) {
  for (const std::uint32_t count : {10u, 1000u, 100'000u}) {
    JobTasks job(count);
    for (TaskIndex i = 0; i < count; ++i) job.Finish(i);
    const JobTasks loaded = SavedAndLoaded(job);
    EXPECT_EQ(loaded.done(), count);
    EXPECT_EQ(loaded.State(count - 1), TaskState::kDone);
    EXPECT_EQ(loaded.MemoryBytes(), 0u);
  }
}

TEST(JobTasks, PageThatIsAllQueuedAgainWithAttemptsIsNotUntouched) {
  JobTasks job(1000);
  EXPECT_TRUE(job.Untouched(0));
  job.Claim(5);
  EXPECT_FALSE(job.Untouched(0));
  job.Release(5, 0);
  EXPECT_TRUE(job.Untouched(0));
  EXPECT_EQ(job.MemoryBytes(), 0u);
  job.Claim(5);
  job.Release(5, 1);
  EXPECT_FALSE(job.Untouched(0));
  const JobTasks loaded = SavedAndLoaded(job);
  EXPECT_EQ(loaded.AttemptsUsed(5), 1u);
}

std::size_t SavedBytes(const JobTasks& job, std::uint32_t page) {
  std::string bytes;
  ByteWriter out(bytes);
  job.SavePage(page, out);
  return bytes.size();
}

TEST(JobTasks, SavedPageIsSmall) {
  Rng rng(1);
  JobTasks job(4 * kPageTasks);
  EXPECT_LE(SavedBytes(job, 0), 2u);
  for (TaskIndex i = 0; i < kPageTasks; ++i) job.Finish(i);
  EXPECT_LE(SavedBytes(job, 0), 8u) << "all done";
  for (TaskIndex i = kPageTasks; i < kPageTasks + 20'000; ++i) job.Finish(i);
  EXPECT_LE(SavedBytes(job, 1), 8u) << "done in order";
  for (TaskIndex i = 2 * kPageTasks; i < 3 * kPageTasks; ++i) {
    if (rng.Below(10) == 0) job.Finish(i);
  }
  EXPECT_LE(SavedBytes(job, 2), 4'200u) << "a tenth done at random";
  EXPECT_LE(static_cast<double>(SavedBytes(job, 2)), 1.05 * (job.done() - kPageTasks - 20'000));
  for (TaskIndex i = 3 * kPageTasks; i < 4 * kPageTasks; ++i) {
    if (rng.Below(2) == 0) job.Finish(i);
  }
  EXPECT_LE(SavedBytes(job, 3), 4'104u) << "half done at random";
}

TEST(JobTasks, LoadPageRefusesHostileBytesAndChangesNothing) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng(seed);
  JobTasks job(500);
  for (TaskIndex i = 0; i < 500; ++i) {
    if (rng.Below(3) == 0) continue;
    job.Claim(i);
    switch (rng.Below(4)) {
      case 0:
        job.Finish(i);
        break;
      case 1:
        job.Fail(i);
        break;
      case 2:
        job.Wait(i, 1 + static_cast<std::uint32_t>(rng.Below(3)), FromMillis(static_cast<int>(rng.Below(4))));
        break;
      default:
        job.Release(i, 1 + static_cast<std::uint32_t>(rng.Below(3)));
    }
  }
  std::string good;
  ByteWriter out(good);
  job.SavePage(0, out);
  const auto try_load = [](std::uint32_t count, const std::string& bytes) {
    JobTasks loaded(count);
    ByteReader in(bytes);
    if (loaded.LoadPage(0, in)) {  // then it is a page, and its counts agree with its tasks
      std::map<TaskState, std::uint32_t> counts;
      for (TaskIndex i = 0; i < count; ++i) {
        const TaskState state = loaded.State(i);
        ++counts[state];
        if (state == TaskState::kRetrying) {
          EXPECT_GT(loaded.AttemptsUsed(i), 0u);
        }
      }
      EXPECT_EQ(counts[TaskState::kQueued], loaded.queued());
      EXPECT_EQ(counts[TaskState::kRetrying], loaded.retrying());
      EXPECT_EQ(counts[TaskState::kDone], loaded.done());
      EXPECT_EQ(counts[TaskState::kFailed], loaded.failed());
      EXPECT_EQ(counts[TaskState::kRunning], 0u);
      return true;
    }
    EXPECT_EQ(in.rest(), bytes);
    EXPECT_EQ(loaded.queued(), count);
    EXPECT_EQ(loaded.MemoryBytes(), 0u);
    EXPECT_EQ(loaded.AttemptsUsed(0), 0u);
    return false;
  };
  EXPECT_TRUE(try_load(500, good));
  EXPECT_FALSE(try_load(64, good)) << "members beyond the job";
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(try_load(500, good.substr(0, n))) << n;
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    for (std::uint64_t n = 1 + rng.Below(3); n > 0; --n) bad[rng.Below(bad.size())] = static_cast<char>(rng.Next());
    try_load(500, bad);
  }
  for (int i = 0; i < 3000; ++i) {
    std::string bad;
    for (std::uint64_t n = rng.Below(30); n > 0; --n)
      bad.push_back(static_cast<char>(rng.Below(rng.Below(2) ? 256 : 8)));
    try_load(i % 2 == 0 ? 500 : 40'000, bad);
  }
}

TEST(JobTasks, LoadPageRefusesWhatContradictsItself) {
  const std::string one_at_0("\x01\x01\x00\x00", 4);
  const std::string none("\x00", 1);
  const auto load = [](const std::string& bytes) {
    JobTasks job(100);
    ByteReader in(bytes);
    return job.LoadPage(0, in);
  };
  EXPECT_TRUE(load("\x01" + none + one_at_0));
  EXPECT_FALSE(load("\x01" + one_at_0 + one_at_0)) << "both done and failed";
  EXPECT_FALSE(load("\x01" + none + none)) << "a part without members";
  EXPECT_FALSE(load("\x08" + none)) << "an unknown part";
  EXPECT_TRUE(load("\x02" + none + "\x01\x0a\x01" + one_at_0));
  EXPECT_FALSE(load("\x02" + none + std::string("\x01\x0a\x00", 3) + one_at_0)) << "retrying without an attempt";
  EXPECT_FALSE(load("\x02" + none + "\x02\x0a\x01" + one_at_0 + "\x0a\x01\x02\x01\x07")) << "one due time twice";
  EXPECT_TRUE(load("\x02" + none + "\x02\x0a\x01" + one_at_0 + "\x0a\x02\x02\x01\x07"));
  EXPECT_TRUE(load(std::string("\x00\x03\x0d", 3) + std::string(12, '\x55') + "\x08")) << "a bitmap up to task 99";
  EXPECT_FALSE(load(std::string("\x00\x03\x0d", 3) + std::string(12, '\x55') + "\x18")) << "one up to task 100";
  EXPECT_FALSE(load("\x04" + none + "\x01\xff\xff\xff\xff\x7f" + one_at_0)) << "attempts beyond all bounds";

  JobTasks job(100);
  job.Claim(3);
  const std::string bytes("\x00\x00", 2);
  ByteReader in(bytes);
  EXPECT_FALSE(job.LoadPage(0, in)) << "not untouched";
  EXPECT_FALSE(job.LoadPage(1, in)) << "no such page";
}

std::vector<TaskIndex> RandomOrder(std::uint32_t count, Rng& rng) {
  std::vector<TaskIndex> order(count);
  for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
  for (std::uint32_t i = count; i > 1; --i) std::swap(order[i - 1], order[rng.Below(i)]);
  return order;
}

TEST(JobTasks, TaskThatWaitsCostsAtMostTwoBytes) {
  constexpr std::uint32_t kCount = 1'000'000;
  for (const std::uint32_t due_times : {16u, 64u, 100u}) {
    for (const bool random_order : {false, true}) {
      for (const bool random_due : {false, true}) {
        Rng rng(7);
        std::vector<TaskIndex> order(kCount);
        for (std::uint32_t i = 0; i < kCount; ++i) order[i] = i;
        if (random_order) order = RandomOrder(kCount, rng);
        JobTasks job(kCount);
        for (std::uint32_t i = 0; i < kCount; ++i) {
          const std::uint64_t due = random_due ? rng.Below(due_times) : std::uint64_t{i} * due_times / kCount;
          job.Claim(order[i]);
          job.Wait(order[i], 1, FromMillis(static_cast<std::int64_t>(due)));
        }
        const double each = static_cast<double>(job.MemoryBytes()) / kCount;
        EXPECT_LE(each, 2.0) << due_times << (random_order ? " random" : " in order") << random_due;
        // Due, they are queued with an attempt used: full chunks and untouched pages, next to nothing.
        EXPECT_EQ(job.ReleaseDue(FromMillis(100), 1'000'000, [](std::uint32_t) {}), kCount);
        EXPECT_EQ(job.queued(), kCount);
        EXPECT_EQ(job.AttemptsUsed(kCount / 2), 1u);
        EXPECT_LE(job.MemoryBytes(), kCount / 100);
      }
    }
  }
}

TEST(JobTasks, TaskTouchedInRandomOrderCostsAtMostThreeTenthsOfAByte) {
  constexpr std::uint32_t kCount = 10'000;
  constexpr std::uint32_t kJobs = 100;
  Rng rng(8);
  std::size_t bytes = 0;
  for (std::uint32_t n = 0; n < kJobs; ++n) {
    JobTasks job(kCount);
    for (const TaskIndex i : RandomOrder(kCount, rng)) {
      job.Claim(i);
      if (rng.Below(2) == 0) job.Finish(i);
    }
    bytes += job.MemoryBytes() + sizeof(JobTasks);
  }
  EXPECT_LE(static_cast<double>(bytes) / (kJobs * kCount), 0.3);
}

}  // namespace
}  // namespace allot
