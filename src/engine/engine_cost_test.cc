// SPDX-License-Identifier: Apache-2.0
// What the engine may cost in memory, at a scale that a test can afford; bench/ measures the same at full size.
//
// Counted is what the allocator has given out, its own overhead included.
#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>
#include <vector>

#include "base/sanitizers.h"
#include "engine/engine.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineCost : public ::testing::Test {
 protected:
  void SetUp() override {
#if ALLOT_SANITIZED
    GTEST_SKIP() << "a sanitizer's allocator counts otherwise";
#endif
    malloc_trim(0);
    before_ = Allocated();
    engine_ = std::make_unique<Engine>(EngineOptions{SipKey{1, 2}});
    engine_->records().FinishLoad(now_, 0s);
  }
  static double Allocated() {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
  }
  double Used() { return Allocated() - before_; }
  // What waits to be folded is bounded by the server, and no part of the state.
  void Fold() {
    static_cast<void>(engine_->Take());
    while (engine_->looks().UnfoldedEvents() > 0) engine_->records().Fold(1 << 20);
  }
  void Submit(std::uint64_t jobs, const JobSpec& spec) {
    for (std::uint64_t i = 0; i < jobs; ++i) {
      ASSERT_TRUE(engine_->jobs().Submit(now_, JobId{++last_id_}, spec).ok());
      if (i % 1000 == 999) Fold();
    }
    Fold();
  }

  Now now_{Instant(1s), FromMillis(1'800'000'000'000)};
  std::uint64_t last_id_ = 0;
  double before_ = 0;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineCost, AWaitingJobOfOneTaskTakesAtMost500Bytes) {
  JobSpec spec;
  spec.tags = {"a"};
  Submit(200'000, spec);
  const double bytes = Used() / 200'000;
  RecordProperty("bytes", std::to_string(bytes));
  EXPECT_LE(bytes, 500);
}

TEST_F(EngineCost, UntouchedTasksCostNothingBesidesTheirJob) {
  JobSpec spec;
  spec.tags = {"a"};
  spec.count = 1'000'000;
  Submit(10'000, spec);  // a tenth of the jobs, ten times the tasks
  const double bytes = Used();
  RecordProperty("bytes", std::to_string(bytes));
  EXPECT_LE(bytes, 15e6);
}

// Failing at the pace of a busy queue, so that due times spread as they do there.
TEST_F(EngineCost, ATaskThatFailedOnceAndWaitsForItsRetryTakesAtMostTwoBytes) {
  constexpr std::uint32_t kTasks = 2'000'000;
  constexpr std::uint32_t kCredit = 1000;
  JobSpec spec;
  spec.count = kTasks;
  spec.backoff.first = spec.backoff.max = 10min;
  Submit(1, spec);
  WorkerSpec worker;
  worker.id = WorkerId{++last_id_};
  worker.connected = true;
  ASSERT_TRUE(engine_->workers().Register(now_, worker, std::nullopt).ok());
  for (std::uint32_t failed = 0; failed < kTasks; failed += kCredit) {
    now_.mono += 10ms;
    now_.wall += 10ms;
    ASSERT_TRUE(engine_->workers().Pull(now_, worker.id, PullOptions{kCredit, false, 0s}).ok());
    std::vector<Report> reports;
    const auto [position, effects] = engine_->Take();
    for (const Grant& grant : effects.grant_batches.at(0).grants) reports.push_back({grant.task, ReportKind::kFailed});
    ASSERT_EQ(reports.size(), kCredit);
    ASSERT_TRUE(engine_->workers().ReportAll(now_, worker.id, reports).ok());
    Fold();
  }
  ASSERT_EQ(engine_->looks().Stats().tasks_retrying, kTasks);
  const double bytes = Used() / kTasks;
  RecordProperty("bytes", std::to_string(bytes));
  EXPECT_LE(bytes, 2);
}

TEST_F(EngineCost, AJobThatIsChangedAgainAndAgainCostsNoMoreThanOneThatIsNot) {
  JobSpec spec;
  spec.delay = 24h;
  Submit(1, spec);
  const JobId job{last_id_};
  const auto again = [&](int times) {
    for (int i = 0; i < times; ++i) {
      JobChange change;
      change.delay = 24h - Duration(1ms) * i;
      ASSERT_TRUE(engine_->jobs().Change(now_, job, change).ok());
      ASSERT_TRUE(engine_->jobs().Pause(now_, job).ok());
      ASSERT_TRUE(engine_->jobs().Resume(now_, job).ok());
      ASSERT_TRUE(engine_->jobs().Cancel(now_, job).ok());
      ASSERT_TRUE(engine_->jobs().Retry(now_, job).ok());
      Fold();
    }
  };
  again(100);
  const double before = Used();
  again(20'000);
  EXPECT_LE(Used() - before, 200'000);
}

}  // namespace
}  // namespace allot
