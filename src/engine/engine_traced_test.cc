// SPDX-License-Identifier: Apache-2.0
// What is said of attempts whose jobs carry a trace.
#include "engine/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;
using Step = TracedAttempt::Step;

class EngineTraced : public testing::EngineTest {
 protected:
  EngineTraced() { options_.traced = true; }
  JobSpec Traced(std::uint32_t count) {
    JobSpec spec = Spec(count);
    spec.trace = "00-trace";
    return spec;
  }
  // Of the last effects: `started 1 2.5s` with the attempt and how long it took.
  std::vector<std::string> Said() {
    constexpr const char* kSteps[] = {"started", "done", "failed", "given back"};
    std::vector<std::string> out;
    for (const TracedAttempt& attempt : last_.traced) {
      EXPECT_EQ(attempt.trace, "00-trace");
      out.push_back(std::string(kSteps[static_cast<std::size_t>(attempt.step)]) + " " +
                    std::to_string(attempt.attempt) + " " + std::to_string((attempt.until - attempt.from).count()));
    }
    return out;
  }
  using Texts = std::vector<std::string>;
};

TEST_F(EngineTraced, FirstWaitsAndAllAttemptsAreTold) {
  const WorkerId worker = Register();
  JobSpec spec = Traced(1);
  spec.backoff.first = 100ms;
  spec.backoff.factor = 1;
  const JobId job = Submit(spec);
  Pass(1500ms);
  Grant grant = Pull(worker).at(0);
  EXPECT_EQ(Said(), Texts{"started 1 1500"});
  EXPECT_EQ(last_.traced[0].job, job);
  Pass(700ms);
  Say(worker, grant.task, ReportKind::kFailed);
  Grants();
  EXPECT_EQ(Said(), Texts{"failed 1 700"});
  EXPECT_EQ(last_.traced[0].worker, worker);
  Pass(1s);
  grant = Pull(worker).at(0);
  EXPECT_EQ(Said(), Texts{});  // how long a later attempt waited is not kept
  Pass(200ms);
  Say(worker, grant.task, ReportKind::kDone);
  Grants();
  EXPECT_EQ(Said(), Texts{"done 2 200"});
}

TEST_F(EngineTraced, AnAttemptEndsOnceHoweverItDoes) {
  const WorkerId worker = Register();
  const JobId job = Submit(Traced(3));
  std::vector<Grant> grants = Pull(worker, 3);
  ASSERT_EQ(grants.size(), 3u);
  Pass(10ms);
  Say(worker, grants[0].task, ReportKind::kReleased);
  Say(worker, grants[1].task, ReportKind::kRejected);
  Grants();
  EXPECT_EQ(Said(), (Texts{"given back 1 10", "failed 1 10"}));
  // The job has failed by that; what still runs of it is stopped, and says so.
  EXPECT_EQ(View(job).state, JobState::kFailed);
  EXPECT_EQ(Say(worker, grants[2].task, ReportKind::kDone), ReportVerdict::kCancelled);
  Grants();
  EXPECT_EQ(Said(), Texts{"given back 1 10"});
  // A lease that is not renewed: the attempt counts, and has failed.
  JobSpec brief = Traced(1);
  brief.lease = 1s;
  brief.max_attempts = 5;
  Submit(brief);
  ASSERT_EQ(Pull(worker).size(), 1u);
  engine_->Take();
  Pass(3s);
  Grants();
  ASSERT_EQ(last_.traced.size(), 1u);
  EXPECT_EQ(last_.traced[0].step, Step::kFailed);
}

TEST_F(EngineTraced, NothingIsSaidWithoutATraceOrWhereNobodyAsks) {
  const auto run = [this](const JobSpec& spec) {
    const WorkerId worker = Register();
    Submit(spec);
    const Grant grant = Pull(worker).at(0);
    EXPECT_TRUE(last_.traced.empty());
    Say(worker, grant.task, ReportKind::kDone);
    Grants();
    EXPECT_TRUE(last_.traced.empty());
  };
  run(Spec(1));
  options_.traced = false;
  Load(30s);
  run(Traced(1));
}

TEST_F(EngineTraced, WhatRanOverARestartIsToldWhenItEnds) {
  const WorkerId worker = Register();
  Submit(Traced(1));
  const Grant grant = Pull(worker).at(0);
  Pass(2s);
  Load(30s);
  Grants();
  EXPECT_EQ(Said(), Texts{});
  ComeBack(worker, {grant.task});
  Pass(1s);
  Say(worker, grant.task, ReportKind::kDone);
  Grants();
  EXPECT_EQ(Said(), Texts{"done 1 3000"});
}

}  // namespace
}  // namespace allot
