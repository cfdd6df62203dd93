// SPDX-License-Identifier: Apache-2.0
// What the engine counts for pages and metrics, in virtual time.
#include "engine/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineStatsTest : public testing::EngineTest {
 protected:
  EngineStats Stats() const { return engine_->looks().Stats(); }
};

TEST_F(EngineStatsTest, SlotsAndDrainingWorkersAreThoseOfRegisteredOnes) {
  const WorkerId one = RegisterBy("", {"a"}, 4);
  const WorkerId two = RegisterBy("", {"a"}, 3);
  EXPECT_EQ(Stats().slots, 7u);
  EXPECT_EQ(Stats().workers_draining, 0u);
  ASSERT_TRUE(engine_->workers().Drain(now_, two).ok());
  ASSERT_TRUE(engine_->workers().Drain(now_, two).ok());
  EXPECT_EQ(Stats().workers_draining, 1u);
  ComeBack(two, {});  // with one slot; the order to drain stands
  EXPECT_EQ(Stats().slots, 5u);
  EXPECT_EQ(Stats().workers_draining, 1u);
  engine_->workers().Unregister(now_, two);
  EXPECT_EQ(Stats().workers_draining, 0u);
  engine_->workers().Unregister(now_, one);
  EXPECT_EQ(Stats().slots, 0u);
}

TEST_F(EngineStatsTest, ItIsKnownSinceWhenTheQueueIsPausedUnlessThatIsFromBeforeTheStart) {
  EXPECT_EQ(Stats().paused_since, std::nullopt);
  Pass(5s);
  engine_->queue().Pause(now_);
  const WallTime paused = now_.wall;
  Pass(5s);
  engine_->queue().Pause(now_);  // it is already
  EXPECT_EQ(Stats().paused_since, paused);
  Grants();
  Load(30s);
  EXPECT_TRUE(Stats().paused);
  EXPECT_EQ(Stats().paused_since, std::nullopt);
  engine_->queue().Resume(now_);
  Pass(1s);
  engine_->queue().Pause(now_);
  EXPECT_EQ(Stats().paused_since, now_.wall);
  engine_->queue().Resume(now_);
  EXPECT_EQ(Stats().paused_since, std::nullopt);
}

TEST_F(EngineStatsTest, AStartWaitedSinceItsJobCouldRun) {
  const WorkerId worker = RegisterBy("", {"a"}, 8);
  Submit(Spec(2));
  JobSpec later = Spec(1);
  later.delay = 60s;
  Pass(3s);
  const std::vector<Grant> grants = Pull(worker, 2);  // after 3 s: up to 4,096 ms
  ASSERT_EQ(grants.size(), 2u);
  Submit(later);
  for (const Grant& grant : grants) Say(worker, grant.task, ReportKind::kDone);
  EXPECT_EQ(Stats().waited.counts[12], 2u);
  EXPECT_EQ(Stats().waited.sum_ms, 6000u);
  Pass(61s);
  ASSERT_EQ(Pull(worker).size(), 1u);  // since its time had come, not since it was submitted
  EXPECT_EQ(Stats().waited.counts[10], 1u);
  EXPECT_EQ(Stats().waited.Count(), Stats().granted);
}

TEST_F(EngineStatsTest, AnAttemptRanUntilItEndedHoweverItDid) {
  const WorkerId worker = RegisterBy("", {"a"}, 8);
  Submit(Spec(4));
  const std::vector<Grant> grants = Pull(worker, 4);
  ASSERT_EQ(grants.size(), 4u);
  Pass(2s);
  Say(worker, grants[0].task, ReportKind::kDone);
  EXPECT_EQ(Stats().ran.counts[11], 1u);
  Pass(2s);
  Say(worker, grants[1].task, ReportKind::kFailed);
  Say(worker, grants[2].task, ReportKind::kReleased);
  EXPECT_EQ(Stats().ran.counts[12], 2u);
  Pass(4s);
  engine_->workers().Unregister(now_, worker);
  EXPECT_EQ(Stats().ran.counts[13], 1u);
  EXPECT_EQ(Stats().ran.Count(), 4u);
}

TEST_F(EngineStatsTest, TheOldestWaitingJobIsTheOpenOneThatCameFirst) {
  EXPECT_EQ(Stats().oldest_waiting, JobId{});
  const WallTime first = now_.wall;
  const JobId one = Submit(Spec(1));
  Pass(1s);
  JobSpec delayed = Spec(1);
  delayed.delay = 10s;
  const JobId two = Submit(delayed);
  const JobId three = Submit(Spec(2));
  const WallTime third = now_.wall;
  EXPECT_EQ(Stats().oldest_waiting, one);
  EXPECT_EQ(Stats().oldest_waiting_since, first);
  const WorkerId worker = Register();
  const std::vector<Grant> grants = Pull(worker);
  ASSERT_EQ(grants[0].task.job, one);
  EXPECT_EQ(Stats().oldest_waiting, three);  // the one before is for later
  EXPECT_EQ(Stats().oldest_waiting_since, third);
  Say(worker, grants[0].task, ReportKind::kReleased);  // queued again: the oldest one is back
  EXPECT_EQ(Stats().oldest_waiting, one);
  ASSERT_TRUE(engine_->jobs().Pause(now_, one).ok());
  EXPECT_EQ(Stats().oldest_waiting, three);
  ASSERT_TRUE(engine_->jobs().Resume(now_, one).ok());
  EXPECT_EQ(Stats().oldest_waiting, one);
  ASSERT_TRUE(engine_->jobs().Cancel(now_, one).ok());
  Pass(10s);
  EXPECT_EQ(Stats().oldest_waiting, two);
  EXPECT_EQ(Stats().oldest_waiting_since, third + 10s);
  Grants();
  Load(30s);
  EXPECT_EQ(Stats().oldest_waiting, two);
  ASSERT_TRUE(engine_->jobs().Cancel(now_, two).ok());
  ASSERT_TRUE(engine_->jobs().Cancel(now_, three).ok());
  EXPECT_EQ(Stats().oldest_waiting, JobId{});
}

TEST_F(EngineStatsTest, APictureOfAnEmptyJobIsEmptyAndBeyondItThereIsNone) {
  const JobId empty = Submit(Spec(0)), some = Submit(Spec(10));
  EXPECT_TRUE(engine_->looks().Picture(empty, 0, 0, 10)->parts.empty());
  EXPECT_EQ(engine_->looks().Picture(empty, 1, 0, 10).error().code, Code::kBadValue);
  EXPECT_EQ(engine_->looks().Picture(some, 10, 0, 10).error().code, Code::kBadValue);
  EXPECT_EQ(engine_->looks().Picture(some, 3, 2, 10).error().code, Code::kBadValue);
  EXPECT_EQ(engine_->looks().Picture(some, 9, 0, 10)->parts.size(), 1u);
}

}  // namespace
}  // namespace allot
