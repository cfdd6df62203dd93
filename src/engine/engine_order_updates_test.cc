// SPDX-License-Identifier: Apache-2.0
// Whatever concerns a job is told to the orders of all strategies: where there are many, in steps. Nothing is lost by
// it, and nothing is given that a strategy does not give.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineOrderUpdatesTest : public testing::EngineTest {
 protected:
  void TearDown() override { UpdateBudget::updates_at_once = before_; }
  void UseStrategies(int count) {
    for (int i = 0; i < count; ++i)
      RegisterBy("max_simultaneous(user, " + std::to_string(100 + i) + ", oldest)", {"x"});
    Pass(1s);
  }
  std::vector<JobId> SubmitMany(std::size_t count) {
    std::vector<JobId> ids;
    for (std::size_t i = 0; i < count; ++i) ids.push_back(JobId{++last_id_});
    const std::vector<JobSpec> specs(count, Spec(1));
    EXPECT_TRUE(engine_->jobs().SubmitAll(now_, ids, specs).ok());
    return ids;
  }
  // At most so many at once.
  std::size_t PullAll(WorkerId worker, std::size_t most) {
    std::size_t got = 0;
    for (int i = 0; i < 10'000; ++i) {
      const std::size_t some = Pull(worker, 1000).size();
      EXPECT_LE(some, most);
      got += some;
      const auto wake = engine_->NextWake(now_);
      if (some == 0 && (!wake || *wake > now_.mono)) break;
      engine_->Tick(now_);
    }
    return got;
  }
  const std::size_t before_ = UpdateBudget::updates_at_once;
};

TEST_F(EngineOrderUpdatesTest, ABatchOpensAndIsGivenOutInSteps) {
  UseStrategies(10);
  UpdateBudget::updates_at_once = 100;
  const WorkerId worker = RegisterBy("", {"a"}, 1000);
  SubmitMany(300);
  EXPECT_GT(Pull(worker, 1).size(), 0u) << "some are open at once";
  EXPECT_EQ(PullAll(worker, 10), 299u);
}

TEST_F(EngineOrderUpdatesTest, OneStrategyAloneIsToldOfEverythingAtOnce) {
  UpdateBudget::updates_at_once = 1;
  const WorkerId worker = RegisterBy("", {"a"}, 1000);
  SubmitMany(300);
  EXPECT_EQ(Pull(worker, 300).size(), 300u);
}

TEST_F(EngineOrderUpdatesTest, AJobThatEndsBeforeItOpensNeverDoes) {
  UseStrategies(10);
  UpdateBudget::updates_at_once = 20;
  const WorkerId worker = RegisterBy("", {"a"}, 1000);
  const std::vector<JobId> ids = SubmitMany(50);
  for (const JobId id : ids) ASSERT_TRUE(engine_->jobs().Cancel(now_, id).ok());
  EXPECT_EQ(PullAll(worker, 0), 0u);
}

TEST_F(EngineOrderUpdatesTest, ACeilingHoldsWhileReturnsAreStillToBeTold) {
  UseStrategies(10);
  UpdateBudget::updates_at_once = 30;
  const WorkerId worker = RegisterBy("max_simultaneous(user, 2, oldest)", {"a"}, 1000);
  Pass(1s);
  SubmitMany(60);
  std::vector<Grant> running;
  std::size_t done = 0;
  for (int i = 0; i < 10'000 && done < 60; ++i) {
    for (Grant& grant : Pull(worker, 10)) running.push_back(std::move(grant));
    ASSERT_LE(running.size(), 2u);
    std::vector<Report> reports;
    for (const Grant& grant : running) reports.push_back({grant.task, ReportKind::kDone});
    if (!reports.empty()) {
      ASSERT_TRUE(engine_->workers().ReportAll(now_, worker, reports).ok());
    }
    done += std::exchange(running, {}).size();
    engine_->Tick(now_);
  }
  EXPECT_EQ(done, 60u);
}

TEST_F(EngineOrderUpdatesTest, AJobMayChangeAndBeForgottenMeanwhile) {
  UseStrategies(10);
  const WorkerId worker = RegisterBy("max_simultaneous(user, 40, oldest)", {"a"}, 1000);
  Pass(1s);
  const std::vector<JobId> ids = SubmitMany(40);
  Pass(1s);
  const std::vector<Grant> grants = Pull(worker, 40);
  ASSERT_EQ(grants.size(), 40u);
  UpdateBudget::updates_at_once = 20;
  std::vector<Report> reports;
  for (const Grant& grant : grants) reports.push_back({grant.task, ReportKind::kReleased});
  ASSERT_TRUE(engine_->workers().ReportAll(now_, worker, reports).ok());
  JobChange change;
  change.meta = Meta{{"site", std::string("b")}};
  for (std::size_t i = 0; i < 20; ++i) ASSERT_TRUE(engine_->jobs().Change(now_, ids[i], change).ok());
  for (std::size_t i = 20; i < 30; ++i) ASSERT_TRUE(engine_->jobs().Cancel(now_, ids[i]).ok());
  EXPECT_EQ(PullAll(worker, 20), 30u);
}

}  // namespace
}  // namespace allot
