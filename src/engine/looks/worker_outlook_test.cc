// SPDX-License-Identifier: Apache-2.0
// What a worker would get next, and why not the others.
#include "engine/looks/worker_outlook.h"

#include "engine/looks/preview_walk.h"
#include "engine/testing_limits.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class WorkerOutlookTest : public testing::LimitedEngineTest {
 protected:
  struct Outlook {
    Reason verdict;
    std::vector<WorkerOther> others;
  };
  Outlook OutlookOf(WorkerId worker) {
    const Result<OutlookSnapshot> snapshot = engine_->looks().OutlookOf(now_, worker);
    EXPECT_TRUE(snapshot.ok());
    PreviewRequest request;
    request.strategy = snapshot->strategy;
    request.worker = worker;
    request.by_limits = true;
    PreviewWalk walk(request);
    EXPECT_TRUE(*engine_->prepared_looks().Collect(now_, walk, 1'000'000));
    walk.Pick();
    engine_->looks().Resolve(walk);
    return {OutlookVerdict(*snapshot, walk), WhyNotOthers(*snapshot, nullptr)};
  }
  std::string Verdict(WorkerId worker) { return std::string(ReasonText(OutlookOf(worker).verdict.code)); }
};

TEST_F(WorkerOutlookTest, SaysWhatItWouldGetAndAtWhichStageTheOthersFail) {
  const WorkerId worker = Register();
  EXPECT_EQ(Verdict(worker), "empty");
  const JobId mine = SubmitOf("ann", 2);
  JobSpec spec = Spec(30, {"gpu"});
  const JobId few = Submit(spec);
  spec.tags = {"gpu", "big"};
  spec.count = 70;
  const JobId many = Submit(spec);
  const Outlook outlook = OutlookOf(worker);
  EXPECT_EQ(outlook.verdict.code, ReasonCode::kCanStart);
  EXPECT_NE(outlook.verdict.message.find("task 0 of job " + ToText(mine)), std::string::npos)
      << outlook.verdict.message;
  ASSERT_EQ(outlook.others.size(), 1u);
  EXPECT_EQ(outlook.others[0].stage, "tags");
  EXPECT_EQ(outlook.others[0].classes, 2u);
  EXPECT_EQ(outlook.others[0].tasks, 100u);
  EXPECT_EQ(outlook.others[0].job, many) << "the example is of those with the most tasks, not of " << few.value;
}

TEST_F(WorkerOutlookTest, SaysWhatKeepsItFromGettingAnything) {
  SetPolicy("max_simultaneous(user, 1, worker)");
  const WorkerId worker = RegisterBy("", {"a"}, 2), picky = RegisterBy("select_only(user = bob, oldest)");
  const JobId job = SubmitOf("ann", 5);
  SetLimit("l-1", testing::SomeLimit("true", 0));
  EXPECT_EQ(Verdict(worker), "limit");
  ASSERT_TRUE(engine_->limits().Delete(now_, "l-1").ok());
  ASSERT_TRUE(engine_->workers().Pull(now_, worker, PullOptions{1, true, 0s, {}}).ok());
  EXPECT_EQ(Grants().size(), 1u);
  EXPECT_EQ(Verdict(worker), "max_simultaneous");
  SetPolicy("worker");
  Pass(1s);
  EXPECT_EQ(Verdict(worker), "can_start");
  EXPECT_EQ(Verdict(picky), "not_selected");
  engine_->queue().Pause(now_);
  EXPECT_EQ(Verdict(worker), "queue_paused");
  engine_->queue().Resume(now_);
  ASSERT_TRUE(engine_->workers().Drain(now_, worker).ok());
  EXPECT_EQ(Verdict(worker), "workers_draining");
  EXPECT_EQ(engine_->looks().OutlookOf(now_, WorkerId{999}).error().code, Code::kUnknownWorker);
  EXPECT_NE(job.value, 0u);
}

}  // namespace
}  // namespace allot
