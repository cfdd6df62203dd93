// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/timers.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace allot {
namespace {

WallTime At(std::int64_t ms) { return FromMillis(ms); }

TEST(Timers, TheEarliestComesFirstAndNoneBeforeItsTime) {
  Timers<WallTime, JobId> timers;
  for (const auto& [at, id] : {std::pair{30, 1}, {10, 3}, {10, 2}, {20, 9}}) {
    timers.Set(At(at), JobId{static_cast<std::uint64_t>(id)});
  }
  EXPECT_FALSE(timers.Due(At(9)));
  std::vector<std::uint64_t> order;
  while (timers.Due(At(20))) order.push_back(timers.Take().id.value);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{2, 3, 9}));
  EXPECT_EQ(timers.next().at, At(30));
}

class JobTimersTest : public ::testing::Test {
 protected:
  EngineJob& Add(std::uint64_t id, JobState state) {
    EngineJob& job = jobs_.Add(JobId{id}, 1);
    JobTerms terms;
    terms.retention = milliseconds(100);
    job.terms = jobs_.Intern(terms);
    job.state = state;
    return job;
  }
  JobTable jobs_;
  JobTimers timers_;
};

TEST_F(JobTimersTest, AJobHasThoseOfItsState) {
  EngineJob& scheduled = Add(1, JobState::kScheduled);
  scheduled.key.scheduled_for = At(50);
  timers_.Start(scheduled);
  EXPECT_TRUE(timers_.schedules().Due(At(50)));
  EXPECT_EQ(timers_.ended_jobs(), 0u);
  EngineJob& ended = Add(2, JobState::kDone);
  ended.Course().ended_at = At(70);
  timers_.Start(ended);
  EXPECT_EQ(timers_.expiries().next().at, At(170));
  EXPECT_EQ(timers_.ends().next().at, At(70));
  EXPECT_EQ(timers_.ended_jobs(), 1u);
  timers_.Uncount();
  EXPECT_EQ(timers_.ended_jobs(), 0u);
  timers_.Start(Add(3, JobState::kActive));
  EXPECT_TRUE(timers_.retries().empty());
}

// A schedule that is changed again and again leaves no more than what holds, and some.
TEST_F(JobTimersTest, ThoseThatNoLongerHoldAreSweptOut) {
  for (std::uint64_t id = 1; id <= 1200; ++id) timers_.Start(Add(id, JobState::kScheduled));
  EngineJob& changed = *jobs_.Find(JobId{1000});
  std::size_t steps = 0, most = 0;
  for (int i = 0; i < 20'000; ++i) {
    changed.key.scheduled_for = At(i);
    timers_.Start(changed);
    if (timers_.ToSweep(jobs_)) timers_.Sweep(jobs_), ++steps;
    most = std::max(most, timers_.schedules().size());
  }
  EXPECT_GT(steps, 10u);
  EXPECT_LT(most, 4000u);
  // The one that holds is among them.
  bool found = false;
  for (auto& schedules = timers_.schedules(); !schedules.empty();) {
    const auto timer = schedules.Take();
    found = found || (timer.id == changed.id() && timer.at == changed.key.scheduled_for);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace allot
