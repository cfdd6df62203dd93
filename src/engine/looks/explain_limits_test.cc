// SPDX-License-Identifier: Apache-2.0
// How limits join the reasons of matching: what decides, and in which words.
#include "engine/looks/explain.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

using namespace std::chrono_literals;

const Instant kNow{1'000'000s};

LimitOnJob OnJob(const std::string& name, Duration payable_in) {
  LimitOnJob on_job;
  on_job.limit.limit = {"uuid-of-" + name, "agent", name};
  on_job.limit.tokens = 0.25;
  on_job.limit.cost = Tokens::Of(1.0);
  on_job.limit.blocks = true;
  on_job.limit.payable_at = kNow + payable_in;
  return on_job;
}

LimitOnJob Never(const std::string& name) {
  LimitOnJob on_job = OnJob(name, 0s);
  on_job.limit.never = true;
  on_job.limit.payable_at.reset();
  on_job.limit.cost = Tokens::Of(5.0);
  return on_job;
}

MatchSnapshot Waiting() {
  MatchSnapshot snapshot;
  snapshot.queued = 3;
  return snapshot;
}

Reason CanStart() { return {Advice::kWait, ReasonCode::kCanStart, "2 workers have a free slot for it", ""}; }

// The limits on one job's starts.
struct JobLimits {
  std::vector<LimitOnJob> all;
  Instant now{};
  std::uint32_t free = 0, free_blocked = 0;
};
std::vector<Reason> SayReasons(MatchSnapshot snapshot, const std::vector<Reason>& reasons, const JobLimits& limits,
                               std::size_t matching) {
  JobSnapshot job_snapshot;
  job_snapshot.match = std::move(snapshot);
  job_snapshot.now = limits.now;
  job_snapshot.limits = {limits.all, limits.free, limits.free_blocked};
  return AllReasons(job_snapshot, reasons, matching);
}

// The codes, joined; the verdict first.
std::string Codes(const std::vector<Reason>& reasons) {
  std::string out;
  for (const Reason& reason : reasons) out += (out.empty() ? "" : " ") + std::string(ReasonText(reason.code));
  return out;
}

TEST(ExplainLimits, ALimitThatHoldsBackIsTheVerdictWhereNothingElseIsInTheWay) {
  const auto said = SayReasons(Waiting(), {CanStart()}, {{OnJob("slow", 4500ms)}, kNow}, 2);
  ASSERT_EQ(Codes(said), "limit");
  EXPECT_EQ(AdviceText(said[0].advice), "wait");
  EXPECT_EQ(said[0].message,
            "the limit `slow` (agent) holds it back: its level is 0.25, a start costs 1, and it can pay in 4.5s");
  EXPECT_EQ(said[0].hint, "allot limit show uuid-of-slow");
}

TEST(ExplainLimits, WhatCanNeverPayIsForTheOperatorAndComesFirst) {
  const auto said = SayReasons(Waiting(), {CanStart()}, {{OnJob("slow", 9s), Never("stop")}, kNow}, 2);
  ASSERT_EQ(Codes(said), "limit_never limit");
  EXPECT_EQ(AdviceText(said[0].advice), "operator");
  EXPECT_EQ(said[0].message,
            "the limit `stop` (agent) can never pay for it: a start costs 5, which it will never have");
}

TEST(ExplainLimits, OneWhoseCountIsZeroStopsWhateverItCosts) {
  LimitOnJob stop = Never("stop");
  stop.stops = true;
  stop.limit.cost = Tokens::Of(0.0);
  const auto said = SayReasons(Waiting(), {CanStart()}, {{stop}, kNow}, 2);
  ASSERT_EQ(Codes(said), "limit_never");
  EXPECT_EQ(AdviceText(said[0].advice), "operator");
  EXPECT_EQ(said[0].message, "the limit `stop` (agent) stops it: its count is 0");
}

TEST(ExplainLimits, WhatCheaperStartsOvertakeIsSaidToBe) {
  LimitOnJob on_job = OnJob("", 9s);
  on_job.limit.overtaken = true;
  const auto said = SayReasons(Waiting(), {CanStart()}, {{on_job}, kNow}, 2);
  ASSERT_EQ(Codes(said), "limit_overtaken");
  EXPECT_EQ(said[0].message,
            "the limit `agent` holds it back: its level is 0.25, a start costs 1, and it can pay in 9s; cheaper starts "
            "keep it waiting");
}

TEST(ExplainLimits, WhatCanNeverPayIsTheHeadlineWhateverElseWaits) {
  const Reason scheduled{Advice::kWait, ReasonCode::kScheduled, "its time has not come", ""};
  const Reason paused{Advice::kOperator, ReasonCode::kQueuePaused, "the queue is paused", ""};
  EXPECT_EQ(Codes(SayReasons(Waiting(), {scheduled}, {{Never("stop")}, kNow}, 2)), "limit_never scheduled");
  EXPECT_EQ(Codes(SayReasons(Waiting(), {paused, scheduled}, {{Never("stop")}, kNow}, 2)),
            "limit_never queue_paused scheduled");
  EXPECT_EQ(Codes(SayReasons(Waiting(), {scheduled}, {{OnJob("slow", 9s)}, kNow}, 2)), "scheduled limit");
}

TEST(ExplainLimits, OtherReasonsKeepTheirPlace) {
  struct Row {
    std::vector<ReasonCode> reasons;
    const char* want;
  };
  const Row kRows[] = {
      {{ReasonCode::kAllBusy}, "limit all_busy"},
      {{ReasonCode::kBackoff, ReasonCode::kAllBusy}, "limit backoff all_busy"},
      {{ReasonCode::kQueuePaused, ReasonCode::kAllBusy}, "queue_paused limit all_busy"},
      {{ReasonCode::kNoWorkers}, "no_workers limit"},
      {{ReasonCode::kCanStart}, "limit"},
  };
  for (const Row& row : kRows) {
    std::vector<Reason> reasons;
    for (const ReasonCode code : row.reasons) reasons.push_back({Advice::kWait, code, "", ""});
    EXPECT_EQ(Codes(SayReasons(Waiting(), reasons, {{OnJob("slow", 1s)}, kNow}, 2)), row.want);
  }
}

TEST(ExplainLimits, WhatHoldsNothingBackIsNoReason) {
  LimitOnJob monitor = OnJob("monitor", 1s), idle = OnJob("idle", 1s), elsewhere = OnJob("elsewhere", 1s);
  monitor.limit.monitor = true;
  idle.limit.blocks = false;
  elsewhere.limit.reads_worker = true;
  elsewhere.workers = 3;
  const JobLimits limits{{monitor, idle, elsewhere}, kNow};
  EXPECT_EQ(Codes(SayReasons(Waiting(), {CanStart()}, limits, 2)), "can_start");
  // Nor does one matter to what has ended, or runs.
  MatchSnapshot ended = Waiting();
  ended.state = JobState::kCancelled;
  const Reason over{Advice::kWait, ReasonCode::kEnded, "", ""};
  EXPECT_EQ(Codes(SayReasons(ended, {over}, {{OnJob("slow", 1s)}, kNow}, 2)), "ended");
  const Reason runs{Advice::kWait, ReasonCode::kRunning, "", ""};
  EXPECT_EQ(Codes(SayReasons(MatchSnapshot(), {runs}, {{OnJob("slow", 1s)}, kNow}, 2)), "running");
}

TEST(ExplainLimits, OneThatReadsTheWorkerDecidesOnlyIfItHoldsOnAll) {
  LimitOnJob on_job = OnJob("site", 1s);
  on_job.limit.reads_worker = true;
  on_job.workers = 2;
  on_job.workers_blocked = 2;
  const auto some = SayReasons(Waiting(), {CanStart()}, {{on_job}, kNow}, 5);
  ASSERT_EQ(Codes(some), "can_start limit");
  EXPECT_NE(some[1].message.find("holds it back on 2 of the 5 workers that may run it"), std::string::npos);
  EXPECT_EQ(Codes(SayReasons(Waiting(), {CanStart()}, {{on_job}, kNow}, 2)), "limit");
}

TEST(ExplainLimits, ItDoesNotStartWhereLimitsHoldItBackOnAllWorkersThatAreFree) {
  LimitOnJob b = OnJob("b", 1s), c = Never("c"), busy = OnJob("busy", 9s);
  for (LimitOnJob* on_job : {&b, &c, &busy}) {
    on_job->limit.reads_worker = true;
    on_job->workers = on_job->workers_blocked = 1;
  }
  b.free_blocked = 1;
  // One of five workers is free.
  const auto said = SayReasons(Waiting(), {CanStart()}, {{busy, b}, kNow, 1, 1}, 5);
  ASSERT_EQ(Codes(said), "limit limit");
  EXPECT_EQ(AdviceText(said[0].advice), "wait");
  EXPECT_EQ(said[0].message,
            "the limit `b` (agent) holds it back on 1 of the 5 workers that may run it: its level is 0.25, a start "
            "costs 1, and it can pay in 1s; no worker is free on which it may start");
  EXPECT_EQ(Codes(SayReasons(Waiting(), {CanStart()}, {{b}, kNow, 2, 1}, 5)), "can_start limit");
  // Two limits, one on each of those that are free. What is stopped there alone starts elsewhere some day.
  c.free_blocked = 1;
  const auto two = SayReasons(Waiting(), {CanStart()}, {{b, c}, kNow, 2, 2}, 5);
  ASSERT_EQ(Codes(two), "limit_never limit");
  EXPECT_EQ(AdviceText(two[0].advice), "wait");
  EXPECT_EQ(SayReasons(Waiting(), {CanStart()}, {{b, c}, kNow, 2, 2}, 2)[0].advice, Advice::kOperator);
  // Nobody is free: that is what it waits for.
  const Reason all_busy{Advice::kWait, ReasonCode::kAllBusy, "", ""};
  EXPECT_EQ(Codes(SayReasons(Waiting(), {all_busy}, {{busy}, kNow, 0, 0}, 5)), "all_busy limit");
}

TEST(ExplainLimits, OfManyTheThreeThatHoldLongestAreSaid) {
  JobLimits limits{{}, kNow};
  for (int i = 0; i < 10; ++i) limits.all.push_back(OnJob("l" + std::to_string(i), std::chrono::seconds(i)));
  const auto said = SayReasons(Waiting(), {CanStart()}, limits, 1);
  ASSERT_EQ(said.size(), 3u);
  EXPECT_NE(said[0].message.find("`l9`"), std::string::npos);
}

}  // namespace
}  // namespace allot
