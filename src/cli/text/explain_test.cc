// SPDX-License-Identifier: Apache-2.0
#include "cli/text/explain.h"

#include <gtest/gtest.h>

namespace allot::cli {
namespace {

using allotter::Explanation;

constexpr std::int64_t kNow = 1'800'000'000'000;

Explanation Sample() {
  Explanation e;
  e.job = "7";
  e.state = "active";
  e.queued = 5;
  e.workers = e.examined = 1000;
  e.draining = 1;
  e.funnel = {{"total", 1000},   {"available", 999},  {"tags", 1},
              {"constraint", 1}, {"requirements", 0}, {"new_stage", 0}};
  e.tags = {{"gpu", "gone", 0, 0, 0, kNow - 300'000}, {"t", "free", 2, 2, 1, {}}};
  e.requirements = {{"TARGET.Memory >= 4096", 1, 1, 0, 0, "2048"}, {"true", 1, 0, 0, 0, ""}};
  e.nearest = {"12", "host\x1b[31m", {{"requirements", "", false, "false", {}, "TARGET.Memory >= 4096: has 2048"}}};
  e.suggestions = {{"tag", "gup", "gpu", "", "did you mean \x1b]0;`gpu`?"}};
  e.verdict = {"change_request", "requirements_unmet", "no worker has enough", "ask for less"};
  e.reasons = {e.verdict, {"operator", "queue_paused", "the queue is paused", ""}};
  return e;
}

TEST(ExplanationText, IsAFunnelWithItsDetailsAndEndsWithTheVerdict) {
  EXPECT_EQ(ExplanationText(Sample(), kNow, {}),
            "job 7 is active: 5 queued, 0 running, 0 retrying\n"
            "\n"
            "WORKERS\n"
            "  1,000  ████████████████████████  workers\n"
            "    999  ███████████████████████░  available                   1 draining\n"
            "      1  █░░░░░░░░░░░░░░░░░░░░░░░  with its tags\n"
            "      1  █░░░░░░░░░░░░░░░░░░░░░░░  with its properties\n"
            "      0  ░░░░░░░░░░░░░░░░░░░░░░░░  that meet its requirements\n"
            "      0  ░░░░░░░░░░░░░░░░░░░░░░░░  new_stage\n"
            "\n"
            "TAG  WORKERS  FREE  STATUS\n"
            "gpu        0     0  gone: the last worker left 5m 00s ago\n"
            "\n"
            "FAIL  OF  UNDEFINED  ERROR  NEAREST  REQUIREMENT\n"
            "   1   1          -      -     2048  TARGET.Memory >= 4096\n"
            "\n"
            "nearest miss: worker 12 (host[31m)\n"
            "  TARGET.Memory >= 4096: has 2048\n"
            "\n"
            "did you mean ]0;`gpu`?\n"
            "\n"
            "also ask the operator: the queue is paused\n"
            "change the request: no worker has enough\n"
            "hint: ask for less\n");
}

TEST(ExplanationText, TellsAStopFromWhatCostsTooMuch) {
  Explanation e = Sample();
  e.limits.resize(2);
  e.limits[0].name = "stop";
  e.limits[0].stops = true;
  e.limits[1].name = "costly";
  for (allotter::LimitHold& hold : e.limits) hold.blocks = hold.never = true;
  e.tags[0].last_seen_at_ms = kNow;
  const std::string text = ExplanationText(e, kNow, {});
  const std::size_t stop = text.find("never: its count is 0\n");
  EXPECT_NE(stop, std::string::npos) << text;
  EXPECT_LT(stop, text.find("never: that is more than it can ever have\n")) << text;
  EXPECT_NE(text.find("the last worker left just now\n"), std::string::npos) << text;
}

TEST(ExplanationText, IsShortWhereNothingWaits) {
  Explanation e = Sample();
  e.queued = 0;
  e.state = "done";
  e.verdict = {"wait", "ended", "the job is done", ""};
  e.reasons = {e.verdict};
  EXPECT_EQ(ExplanationText(e, kNow, {}), "job 7 is done: 0 queued, 0 running, 0 retrying\nwait: the job is done\n");
}

TEST(PairText, TellsEveryConditionByStage) {
  allotter::PairExplanation pair;
  pair.conditions = {{"tags", "a", true, "true", {}, "tag `a`: there"},
                     {"tags", "b", false, "false", {}, "tag `b`: missing"},
                     {"free_slot", "", true, "true", {}, "0 of 1 slot in use\x1b"}};
  pair.job_rank = {"TARGET.Memory", 2048};
  pair.verdict = {"something_new", "mismatch", "this worker cannot run it", ""};
  pair.reasons = {pair.verdict};
  EXPECT_EQ(PairText(pair, kNow, {}),
            "tags\n"
            "  yes  tag `a`: there\n"
            "  no   tag `b`: missing\n"
            "slots\n"
            "  yes  0 of 1 slot in use\n"
            "rank\n"
            "  of the worker, seen from the job: 2048 (TARGET.Memory)\n"
            "\n"
            "something_new: this worker cannot run it\n");
}

}  // namespace
}  // namespace allot::cli
