// SPDX-License-Identifier: Apache-2.0
#include "client/limit_codec.h"

#include <gtest/gtest.h>

namespace allotter {
namespace {

TEST(AppendLimit, WhatIsNotSetIsNotSent) {
  std::string out;
  AppendLimit(
      {.tag = "agent", .expr = "true", .count = 10, .window = milliseconds(60'000), .expires_in = milliseconds(1)},
      out);
  EXPECT_EQ(out, R"({"tag":"agent","expr":"true","count":10,"window_ms":60000,"expires_in_ms":1})");
}

TEST(AppendLimit, HasTheProtocolsFields) {
  LimitSpec spec{.tag = "agent", .name = "a \"b\"", .expr = "User == \"x\"", .cost = "Tasks"};
  spec.count = 0.5;
  spec.window = milliseconds(1'000);
  spec.burst = 2.5;
  spec.max_burst_cost = 4;
  spec.monitor = true;
  spec.expires_in = milliseconds(300'000);
  std::string out;
  AppendLimit(spec, out);
  EXPECT_EQ(out,
            R"({"tag":"agent","name":"a \"b\"","expr":"User == \"x\"","cost":"Tasks","count":0.5,"window_ms":1000,)"
            R"("burst":2.5,"max_burst_cost":4,"monitor":true,"expires_in_ms":300000})");
}

TEST(ParseLimits, ReadsWhatTheServerWrites) {
  const auto limits = Parse<std::vector<Limit>>(
      R"({"limits":[{"uuid":"u","tag":"t","name":"n","expr":"e","cost":null,"count":10,"window_ms":60000,"burst":2.5,)"
      R"("max_burst_cost":0,"monitor":false,"job_only":false,"expires_in_ms":5,"tokens":-1.5,"allowed":3,)"
      R"("cost_allowed":4.5,"skipped":1,"ignored_matches":2,"last_ignored_at_ms":7,"ignored_users":["a","b"],"ignored":[{"user":"a","at_ms":6},{"user":"b","at_ms":7}],)"
      R"("blocked_ms":8,"waiting":9,"waiting_forever":1,"cheapest":2,"payable_in_ms":11,"cost_failed":true,"new":{}},)"
      R"({"uuid":"v","last_ignored_at_ms":null,"cheapest":null,"payable_in_ms":null}]})");
  ASSERT_TRUE(limits) << limits.error().message;
  ASSERT_EQ(limits->size(), 2u);
  const Limit& limit = limits->front();
  EXPECT_EQ(limit.uuid, "u");
  EXPECT_EQ(limit.spec.cost, "");
  EXPECT_EQ(limit.spec.count, 10);
  EXPECT_EQ(limit.spec.burst, 2.5);
  EXPECT_FALSE(limit.job_only);
  EXPECT_EQ(limit.tokens, -1.5);
  EXPECT_EQ(limit.ignored_users, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(limit.ignored.size(), 2u);
  EXPECT_EQ(limit.ignored[0].user, "a");
  EXPECT_EQ(limit.ignored[1].at_ms, 7);
  EXPECT_EQ(limit.blocked, milliseconds(8));
  EXPECT_EQ(limit.cheapest, 2.0);
  EXPECT_EQ(limit.payable_in_ms, 11u);
  EXPECT_EQ(limit.last_ignored_at_ms, 7);
  EXPECT_TRUE(limit.cost_failed);
  EXPECT_EQ(limit.json.substr(0, 11), R"({"uuid":"u")");
  EXPECT_FALSE((*limits)[1].cheapest);
  EXPECT_FALSE((*limits)[1].payable_in_ms);
  for (const char* bad : {R"({"limits":7})", R"({"limits":[{"tokens":"x"}]})", R"({"limits":[)", "[]"})
    EXPECT_FALSE(Parse<std::vector<Limit>>(bad)) << bad;
}

TEST(ParseDemand, ReadsWhatTheServerWrites) {
  const auto demand = Parse<Demand>(
      R"({"totals":{"queued":5,"startable":4,"running":3,"wanted":7,"jobs":2,"rows":1,)"
      R"("oldest_at_ms":null,"oldest_age_ms":null},)"
      R"("paused":true,"complete":false,"lookahead_ms":60000,"rows":[{"user":"u","tags":["t"],"constraints":[{}],)"
      R"("constraint_tags":["c:"],"requirements":null,"jobs":2,"queued":5,"startable":4,"running":3,)"
      R"("oldest_at_ms":9,"oldest_age_ms":8,"limits":[{"uuid":"x","tag":"y","name":"z"}]}],"took_ms":1})");
  ASSERT_TRUE(demand) << demand.error().message;
  EXPECT_EQ(demand->startable, 4u);
  EXPECT_EQ(demand->wanted, 7u);
  EXPECT_EQ(demand->row_count, 1u);
  EXPECT_TRUE(demand->paused);
  EXPECT_FALSE(demand->complete);
  ASSERT_EQ(demand->rows.size(), 1u);
  EXPECT_EQ(demand->rows[0].requirements, "");
  EXPECT_EQ(demand->rows[0].limits[0].name, "z");
  EXPECT_EQ(demand->rows[0].oldest_age_ms, 8);
}

TEST(ParseLease, SaysWhetherItWasMadeAndCut) {
  const auto put = Parse<LimitLease>(R"({"uuid":"u","created":false,"expires_in_ms":300000,"capped":true})");
  ASSERT_TRUE(put);
  EXPECT_FALSE(put->created);
  EXPECT_TRUE(put->capped);
  EXPECT_EQ(put->expires_in, milliseconds(300'000));
  EXPECT_TRUE(Parse<LimitLease>(R"({"uuid":"u","expires_in_ms":1,"capped":false})")->created);
}

}  // namespace
}  // namespace allotter
