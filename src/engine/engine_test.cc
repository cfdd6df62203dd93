#include "engine/engine.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

using namespace std::chrono_literals;

// An engine in virtual time, with shorthand for the commands.
class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override { engine_.FinishLoad(now_, 30s); }

  void Pass(Duration time) {
    // As the server does: a tick at every wake-up.
    const Instant end = now_.mono + time;
    for (;;) {
      const auto wake = engine_.NextWake(now_);
      if (!wake || *wake > end) break;
      Move(std::max(*wake, now_.mono + 1us));
      engine_.Tick(now_);
    }
    Move(end);
    engine_.Tick(now_);
  }
  void Move(Instant to) {
    micros_ += to - now_.mono;
    now_.mono = to;
    now_.wall = FromMillis(kStart) + std::chrono::duration_cast<milliseconds>(micros_);
  }

  JobId Submit(JobSpec spec) {
    auto answer = engine_.Submit(now_, JobId{++last_id_}, spec);
    EXPECT_TRUE(answer.ok()) << answer.error().message;
    return answer->job;
  }
  JobSpec Spec(std::uint32_t count, std::vector<std::string> tags = {"a"}) {
    JobSpec spec;
    spec.count = count;
    spec.tags = std::move(tags);
    spec.backoff.jitter = 0;
    return spec;
  }
  WorkerId Register(std::vector<std::string> tags = {"a"}) {
    WorkerSpec spec;
    spec.id = WorkerId{++last_id_};
    spec.tags = std::move(tags);
    spec.connected = true;
    auto answer = engine_.Register(now_, spec, std::nullopt);
    EXPECT_TRUE(answer.ok());
    return answer->worker;
  }
  std::vector<Grant> Grants() {
    auto [position, effects] = engine_.Take();
    last_ = std::move(effects);
    std::vector<Grant> grants;
    for (auto& assignment : last_.assignments) {
      grants.insert(grants.end(), assignment.grants.begin(), assignment.grants.end());
    }
    return grants;
  }
  std::vector<Grant> Pull(WorkerId worker, std::uint32_t credit = 1) {
    Grants();
    EXPECT_TRUE(engine_.Pull(now_, worker, PullOptions{credit, false, 0s}).ok());
    return Grants();
  }
  ReportVerdict Say(WorkerId worker, const TaskRef& task, ReportKind kind) {
    const Report report{task, kind};
    auto verdicts = engine_.ReportAll(now_, worker, std::span(&report, 1));
    EXPECT_TRUE(verdicts.ok());
    return verdicts->front();
  }
  JobView View(JobId job) { return *engine_.Describe(job); }

  static constexpr std::int64_t kStart = 1'800'000'000'000;
  Now now_{Instant(1s), FromMillis(kStart)};
  Duration micros_{0};
  std::uint64_t last_id_ = 100;
  Effects last_;
  Engine engine_{EngineOptions{SipKey{1, 2}}};
};

TEST_F(EngineTest, AJobOfManyTasksRunsToItsEndInOrderOfIndex) {
  const WorkerId worker = Register();
  const JobId job = Submit(Spec(3));
  for (TaskIndex index = 0; index < 3; ++index) {
    const auto grants = Pull(worker);
    ASSERT_EQ(grants.size(), 1u);
    EXPECT_EQ(grants[0].task.index, index);
    EXPECT_EQ(Say(worker, grants[0].task, ReportKind::kDone), ReportVerdict::kTaken);
  }
  EXPECT_EQ(View(job).state, JobState::kDone);
  EXPECT_EQ(View(job).done, 3u);
  EXPECT_TRUE(Pull(worker).empty());
}

TEST_F(EngineTest, PriorityComesFirstNoneLastThenTheScheduleThenTheId) {
  const WorkerId worker = Register();
  JobSpec none = Spec(1), low = Spec(1), high = Spec(1);
  low.priority = -5;
  high.priority = 7;
  const JobId j_none = Submit(none), j_low = Submit(low), j_high = Submit(high), j_none2 = Submit(none);
  const auto grants = Pull(worker, 10);
  ASSERT_EQ(grants.size(), 4u);
  EXPECT_EQ(grants[0].task.job, j_high);
  EXPECT_EQ(grants[1].task.job, j_low);
  EXPECT_EQ(grants[2].task.job, j_none);
  EXPECT_EQ(grants[3].task.job, j_none2);
}

TEST_F(EngineTest, AWorkerNeedsAllTagsOfAJob) {
  const WorkerId a = Register({"a"}), ab = Register({"a", "b"});
  const JobId job = Submit(Spec(1, {"a", "b"}));
  EXPECT_TRUE(Pull(a).empty());
  const auto grants = Pull(ab);
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].task.job, job);
}

TEST_F(EngineTest, AWaitingPullIsWokenBySubmitLongestWaitingFirst) {
  const WorkerId first = Register(), second = Register();
  ASSERT_TRUE(engine_.Pull(now_, first, PullOptions{1, false, std::nullopt}).ok());
  ASSERT_TRUE(engine_.Pull(now_, second, PullOptions{1, false, std::nullopt}).ok());
  Submit(Spec(1));
  const auto grants = Grants();
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(last_.assignments[0].worker, first);
}

TEST_F(EngineTest, AFailedTaskWaitsForItsBackoffAndFailsAfterItsLastAttempt) {
  const WorkerId worker = Register();
  JobSpec spec = Spec(1);
  spec.max_attempts = 2;
  const JobId job = Submit(spec);
  EXPECT_EQ(Say(worker, Pull(worker)[0].task, ReportKind::kFailed), ReportVerdict::kTaken);
  EXPECT_EQ(View(job).waiting, 1u);
  EXPECT_TRUE(Pull(worker).empty());
  Pass(1100ms);
  const auto again = Pull(worker);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].attempt, 2u);
  Say(worker, again[0].task, ReportKind::kFailed);
  EXPECT_EQ(View(job).state, JobState::kFailed);
  EXPECT_EQ(View(job).failed, 1u);
  auto retried = engine_.Retry(now_, job);
  ASSERT_TRUE(retried.ok());
  EXPECT_EQ(*retried, 1u);
  EXPECT_EQ(Pull(worker)[0].attempt, 1u);
}

TEST_F(EngineTest, ALeaseEndsExactlyAtItsDeadlineAndALateDoneIsTakenWhileNobodyRunsTheTask) {
  const WorkerId worker = Register(), other = Register();
  const JobId job = Submit(Spec(1));
  const TaskRef first = Pull(worker)[0].task;
  Pass(59'999ms);
  EXPECT_EQ(View(job).leased, 1u);
  Pass(1ms);
  EXPECT_EQ(View(job).ready, 1u);
  const TaskRef second = Pull(other)[0].task;
  EXPECT_EQ(Say(worker, first, ReportKind::kDone), ReportVerdict::kStale);
  Say(other, second, ReportKind::kReleased);
  TaskRef forged = first;
  forged.lease.mac ^= 1;
  EXPECT_EQ(Say(worker, forged, ReportKind::kDone), ReportVerdict::kStale);
  EXPECT_EQ(Say(worker, first, ReportKind::kDone), ReportVerdict::kTaken);
  EXPECT_EQ(View(job).state, JobState::kDone);
}

TEST_F(EngineTest, AStallOfTheServerDoesNotLookLikeTheDeathOfItsWorkers) {
  const WorkerId worker = Register();
  const JobId job = Submit(Spec(1));
  Pull(worker);
  Move(now_.mono + 1h);
  engine_.Tick(now_);
  EXPECT_EQ(View(job).leased, 1u);
}

TEST_F(EngineTest, CancellingTellsWorkersAndSkipsTheRest) {
  const WorkerId worker = Register();
  const JobId job = Submit(Spec(3));
  const TaskRef task = Pull(worker)[0].task;
  ASSERT_TRUE(engine_.Cancel(now_, job).ok());
  Grants();
  ASSERT_EQ(last_.cancels.size(), 1u);
  EXPECT_EQ(last_.cancels[0].task, task);
  EXPECT_EQ(View(job).skipped, 2u);
  EXPECT_EQ(View(job).leased, 1u);
  EXPECT_EQ(Say(worker, task, ReportKind::kDone), ReportVerdict::kCancelled);
  EXPECT_EQ(View(job).skipped, 3u);
}

TEST_F(EngineTest, StateSurvivesFoldingAndReplayInAnyMixture) {
  for (const bool fold : {false, true}) {
    const WorkerId worker = Register();
    const JobId job = Submit(Spec(70'000));
    auto grants = Pull(worker, 5);
    Say(worker, grants[0].task, ReportKind::kDone);
    Say(worker, grants[1].task, ReportKind::kFailed);
    Say(worker, grants[2].task, ReportKind::kRejected);

    std::map<std::pair<JobId, std::uint32_t>, std::string> records;
    std::map<Position, std::string> journal;
    // The job failed by its third task; that is what must come back.
    auto [position, effects] = engine_.Take();
    (void)position;
    (void)effects;
    const JobView before = View(job);
    FoldStep step = engine_.Fold(fold ? 1 : SIZE_MAX);
    while (fold && !step.records.empty()) {
      for (const Record& record : step.records) records[{record.job, record.page}] = record.blob;
      step = engine_.Fold(1);
    }
    for (const Record& record : step.records) records[{record.job, record.page}] = record.blob;
    Engine other(EngineOptions{SipKey{1, 2}});
    for (const auto& [key, blob] : records) {
      if (key.second == kJobPage) {
        ASSERT_TRUE(other.LoadRecord(key.first, key.second, blob).ok());
      }
    }
    for (const auto& [key, blob] : records) {
      if (key.second != kJobPage) {
        ASSERT_TRUE(other.LoadRecord(key.first, key.second, blob).ok());
      }
    }
    other.FinishLoad(now_, 30s);
    const JobView after = fold ? *other.Describe(job) : before;
    EXPECT_EQ(after.state, before.state);
    EXPECT_EQ(after.done, before.done);
    EXPECT_EQ(after.failed, before.failed);
    EXPECT_EQ(after.leased, before.leased);
  }
}

}  // namespace
}  // namespace allot
