// SPDX-License-Identifier: Apache-2.0
#include "server/wire/explain_json.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

using namespace std::chrono_literals;

const Instant kExplainedAt{1'000'000s};

TEST(ExplainJson, ListsAllLimitsThatApplyAlsoWhereTheReasonsNameThree) {
  JobSnapshot job_snapshot;
  job_snapshot.match.queued = 3;
  job_snapshot.now = kExplainedAt;
  for (int i = 0; i < 10; ++i) {
    LimitOnJob& on_job = job_snapshot.limits.all.emplace_back();
    const std::string name = "l" + std::to_string(i);
    on_job.limit.limit = {"uuid-of-" + name, "agent", name};
    on_job.limit.tokens = 0.25;
    on_job.limit.cost = Tokens::Of(1.0);
    on_job.limit.blocks = true;
    on_job.limit.payable_at = kExplainedAt + std::chrono::seconds(i);
  }
  std::string out;
  AppendExplanation(job_snapshot, Explain(job_snapshot.match), {}, out);
  EXPECT_NE(out.find(R"({"uuid":"uuid-of-l4","tag":"agent","name":"l4","monitor":false,"reads_worker":false,)"
                     R"("level":0.25,"cost":1,"blocks":true,"never":false,"stops":false,"overtaken":false,)"
                     R"("payable_in_ms":4000,"workers":0,"workers_blocked":0})"),
            std::string::npos)
      << out;
}

TEST(ExplainJson, WhoIsFirstIsLeftOutForThoseWhoMayNotKnow) {
  JobSnapshot job_snapshot;
  job_snapshot.match.job = JobId{7};
  job_snapshot.match.queued = 3;
  OrderSnapshot& order = job_snapshot.order.emplace();
  order.policy = DefaultPolicy();
  order.strategy = DefaultStrategy();
  order.giving = order.giving_free = order.workers = 1;
  order.first = JobId{5};
  order.first_user = "bob";
  order.others_first = true;
  std::string all, own;
  AppendExplanation(job_snapshot, Explain(job_snapshot.match), {}, all);
  Hide({true, false}, job_snapshot);
  AppendExplanation(job_snapshot, Explain(job_snapshot.match), {true, false}, own);
  EXPECT_NE(all.find("bob"), std::string::npos) << all;
  EXPECT_NE(all.find(R"("code":"behind")"), std::string::npos) << all;
  EXPECT_EQ(own.find("bob"), std::string::npos) << own;
  EXPECT_NE(own.find(R"("code":"behind")"), std::string::npos) << own;
}

}  // namespace
}  // namespace allot
