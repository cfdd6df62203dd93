// SPDX-License-Identifier: Apache-2.0
// Demand and the try of a limit over real sockets: what they count, for whom, and how they are filtered.
#include "server/ops/tokens.h"
#include "server/testing.h"
#include "server/testing_tokens.h"

namespace allot::testing {
namespace {

const std::string kDemand = "/v1/queues/default/demand";

class DemandTest : public ServerTest {
 protected:
  // One limit of that rate per minute, on everything that the expression says.
  static void Set(HttpClient& http, const std::string& uuid, const std::string& expr, const std::string& more) {
    const Answer set = http.Do(http::verb::put, kLimits + "/" + uuid,
                               R"({"tag":"agent","name":"n-)" + uuid + R"(","expr":")" + expr +
                                   R"(","window_ms":60000,"expires_in_ms":60000,)" + more + "}");
    ASSERT_LT(set.status, 300) << set.body;
  }
};

TEST_F(DemandTest, RowsAreOfUsersAndWaysOfMatching) {
  HttpClient http = Http();
  EXPECT_EQ(http.Get(kDemand).json["totals"]["startable"].num(), 0);
  Submit(http, R"({"tag":"t","user":"ann","count":3})");
  Submit(http, R"({"tag":"t","user":"ann","count":4})");
  Submit(http, R"({"tag":"u","user":"ann","requirements":"TARGET.memory >= 4096"})");
  Submit(http, R"({"tag":"t","user":"bob","count":2})");
  const Answer answer = http.Get(kDemand);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json& got = answer.json;
  EXPECT_EQ(got["totals"]["queued"].num(), 10);
  EXPECT_EQ(got["totals"]["startable"].num(), 10);
  EXPECT_EQ(got["totals"]["running"].num(), 0);
  EXPECT_EQ(got["totals"]["jobs"].num(), 4);
  EXPECT_EQ(got["totals"]["rows"].num(), 3);
  EXPECT_TRUE(got["complete"].flag());
  EXPECT_FALSE(got["paused"].flag());
  EXPECT_EQ(got["lookahead_ms"].num(), 60'000);
  ASSERT_EQ(got["rows"].size(), 3u);
  const Json first = got["rows"][0];  // the oldest
  EXPECT_EQ(first["user"].str(), "ann");
  EXPECT_EQ(first["tags"].text(), R"(["t"])");
  EXPECT_EQ(first["requirements"].text(), "null");
  EXPECT_EQ(first["jobs"].num(), 2);
  EXPECT_EQ(first["queued"].num(), 7);
  EXPECT_EQ(first["limits"].text(), "[]");
  EXPECT_GE(first["oldest_age_ms"].num(), 0);
  EXPECT_GT(first["oldest_at_ms"].num(), 0);
  EXPECT_EQ(got["rows"][1]["requirements"].str(), "TARGET.memory >= 4096");
}

TEST_F(DemandTest, IsOfAUserOrATag) {
  HttpClient http = Http();
  Submit(http, R"({"tag":"t","user":"ann","count":3})");
  Submit(http, R"({"tag":"u","user":"bob","count":2})");
  EXPECT_EQ(http.Get(kDemand + "?user=bob").json["totals"]["queued"].num(), 2);
  EXPECT_EQ(http.Get(kDemand + "?tag=t").json["totals"]["queued"].num(), 3);
  EXPECT_EQ(http.Get(kDemand + "?tag=t&user=bob").json["rows"].size(), 0u);
  const Answer one = http.Get(kDemand + "?limit=1");
  EXPECT_EQ(one.json["rows"].size(), 1u);
  EXPECT_EQ(one.json["totals"]["rows"].num(), 2);
  EXPECT_EQ(one.json["totals"]["queued"].num(), 5);
  for (const char* bad : {"?limit=0", "?limit=10001", "?limit=x", "?tag=a%20b", "?users=ann", "?user=%1b"})
    EXPECT_EQ(http.Get(kDemand + bad).status, 400) << bad;
  EXPECT_EQ(http.Post(kDemand, "{}").code(), "method_not_allowed");
  EXPECT_EQ(http.Get(kDemand + "/x").code(), "not_found");
}

TEST_F(DemandTest, WhatRunsIsCountedAlsoWhereNothingWaits) {
  HttpClient http = Http();
  Submit(http, R"({"tag":"t","user":"ann","count":2})");
  const Json worker = http.Post(kWorkers, R"({"tags":["t"],"slots":4})").json;
  const std::string pull = kWorkers + "/" + worker["worker"].str() + "/pull";
  const Answer pulled = http.Post(pull, R"({"key":")" + worker["key"].str() + R"(","pull":2})");
  ASSERT_EQ(pulled.json["tasks"].size(), 2u) << pulled.body;
  const Json none = http.Get(kDemand).json;
  EXPECT_EQ(none["rows"].size(), 0u);
  EXPECT_EQ(none["totals"]["running"].num(), 2);
  EXPECT_EQ(none["totals"]["wanted"].num(), 2);
  Submit(http, R"({"tag":"t","user":"bob","count":3})");
  const Json got = http.Get(kDemand + "?limit=1").json;
  EXPECT_EQ(got["totals"]["startable"].num(), 3);
  EXPECT_EQ(got["totals"]["wanted"].num(), 5);
  EXPECT_EQ(http.Get(kDemand + "?user=bob").json["totals"]["wanted"].num(), 3);
  EXPECT_EQ(http.Get(kDemand + "?user=ann&tag=t").json["totals"]["wanted"].num(), 2);
  EXPECT_EQ(http.Get(kDemand + "?tag=u").json["totals"]["wanted"].num(), 0);
}

TEST_F(DemandTest, LimitsBoundItAndZeroIsZero) {
  HttpClient http = Http();
  Submit(http, R"({"tag":"t","user":"ann","count":100})");
  Submit(http, R"({"tag":"t","user":"bob","count":100})");
  Set(http, "slow", R"(MY.User == \"ann\")", R"("count":4,"burst":1)");
  Json got = http.Get(kDemand).json;
  EXPECT_EQ(got["rows"][0]["user"].str(), "ann");
  EXPECT_EQ(got["rows"][0]["startable"].num(), 9);  // 4 and a burst of 1 now, 4 more within the minute
  EXPECT_EQ(got["rows"][0]["queued"].num(), 100);
  EXPECT_EQ(got["rows"][1]["startable"].num(), 100);
  EXPECT_EQ(got["totals"]["startable"].num(), 109);
  Set(http, "slow", R"(MY.User == \"ann\")", R"("count":0)");
  got = http.Get(kDemand).json;
  EXPECT_EQ(got["rows"][0]["startable"].num(), 0);
  EXPECT_EQ(got["rows"][0]["limits"][0]["name"].str(), "n-slow");
  EXPECT_EQ(got["rows"][1]["limits"].size(), 0u);
}

TEST_F(DemandTest, ATryCountsWhatItWouldApplyTo) {
  HttpClient http = Http();
  Submit(http, R"({"tag":"t","user":"ann","count":8})");
  Submit(http, R"({"tag":"t","user":"ann","count":2})");
  Submit(http, R"({"tag":"t","user":"bob","count":5})");
  http.Post(kWorkers, R"({"name":"w-a","tags":["t"],"attributes":{"site":"a"}})");
  const Json b = http.Post(kWorkers, R"({"name":"w-b","tags":["t"],"attributes":{"site":"b"}})").json;
  const Json ann = http.Post(kLimits + "/try", R"({"expr":"MY.User == \"ann\"","cost":"MY.Tasks / 2.0"})").json;
  EXPECT_TRUE(ann["job_only"].flag());
  EXPECT_TRUE(ann["complete"].flag());
  EXPECT_EQ(ann["jobs_looked_at"].num(), 3);
  EXPECT_EQ(ann["jobs"].num(), 2);
  EXPECT_EQ(ann["tasks"].num(), 10);
  EXPECT_EQ(ann["least_cost"].text(), "1");
  EXPECT_EQ(ann["most_cost"].text(), "4");
  EXPECT_EQ(ann["users"].text(), R"([{"user":"ann","jobs":2,"tasks":10}])");
  const Json site = http.Post(kLimits + "/try", R"({"expr":"TARGET.site == \"b\""})").json;
  EXPECT_FALSE(site["job_only"].flag());
  EXPECT_EQ(site["jobs"].num(), 3);
  EXPECT_EQ(site["worker_count"].num(), 1);
  EXPECT_EQ(site["workers"][0]["worker"].str(), b["worker"].str());
  EXPECT_EQ(site["workers"][0]["name"].str(), "w-b");
  EXPECT_EQ(http.Get(kLimits).json["limits"].size(), 0u);
}

TEST_F(DemandTest, ExplainNamesTheLimitThatHoldsAJobBack) {
  HttpClient http = Http();
  const std::string job = Submit(http, R"({"tag":"t","user":"ann","count":2})");
  const Json worker = http.Post(kWorkers, R"({"tags":["t"],"slots":4})").json;
  const auto explain = [&] { return http.Get(kJobs + "/" + job + "/explain").json; };
  EXPECT_EQ(explain()["verdict"]["code"].str(), "can_start");
  EXPECT_EQ(explain()["limits"].text(), "[]");
  Set(http, "slow", R"(MY.User == \"ann\")", R"("count":0)");
  const Json never = explain();
  EXPECT_EQ(never["verdict"]["code"].str(), "limit_never");
  EXPECT_EQ(never["limits"][0]["uuid"].str(), "slow");
  EXPECT_TRUE(never["limits"][0]["blocks"].flag());
  EXPECT_TRUE(never["limits"][0]["never"].flag());
  EXPECT_TRUE(never["limits"][0]["stops"].flag());
  EXPECT_EQ(never["verdict"]["message"].str(), "the limit `n-slow` (agent) stops it: its count is 0");
  // A new one pays for one start, and then has to wait; a monitor holds nothing back.
  ASSERT_EQ(http.Do(http::verb::delete_, kLimits + "/slow").status, 200);
  Set(http, "slow", R"(MY.User == \"ann\")", R"("count":1)");
  Set(http, "watch", "true", R"("count":0,"monitor":true)");
  const std::string pull = kWorkers + "/" + worker["worker"].str() + "/pull";
  const Answer pulled = http.Post(pull, R"({"key":")" + worker["key"].str() + R"(","pull":2})");
  ASSERT_EQ(pulled.json["tasks"].size(), 1u) << pulled.body;
  const Json blocked = explain();
  ASSERT_EQ(blocked["tasks"]["running"].num(), 1);
  EXPECT_EQ(blocked["verdict"]["code"].str(), "limit");
  EXPECT_EQ(blocked["verdict"]["kind"].str(), "wait");
  EXPECT_EQ(blocked["limits"].size(), 2u);
  EXPECT_GT(blocked["limits"][0]["payable_in_ms"].num(), 1'000);
  const Json pair = http.Get(kJobs + "/" + job + "/explain?worker=" + worker["worker"].str()).json;
  EXPECT_EQ(pair["limits"].size(), 2u);
}

TEST_F(DemandTest, ExplainSaysThatTheFreeWorkersAreHeldByALimit) {
  HttpClient http = Http();
  const std::string job = Submit(http, R"({"tag":"t","user":"ann","count":2})");
  const Json a = http.Post(kWorkers, R"({"tags":["t"],"attributes":{"site":"a"}})").json;
  const Json b = http.Post(kWorkers, R"({"tags":["t"],"attributes":{"site":"b"}})").json;
  Set(http, "site", R"(TARGET.site == \"b\")", R"("count":0)");
  const std::string explain = kJobs + "/" + job + "/explain";
  EXPECT_EQ(http.Get(explain).json["verdict"]["code"].str(), "can_start");
  EXPECT_EQ(http.Get(explain + "?worker=" + a["worker"].str()).json["verdict"]["code"].str(), "can_start");
  const Json pair = http.Get(explain + "?worker=" + b["worker"].str()).json;
  EXPECT_EQ(pair["verdict"]["message"].str(), "the limit `n-site` (agent) stops it: its count is 0");
  EXPECT_EQ(pair["reasons"].size(), 1u);
  const std::string pull = kWorkers + "/" + a["worker"].str() + "/pull";
  const Answer pulled = http.Post(pull, R"({"key":")" + a["key"].str() + R"(","pull":1})");
  ASSERT_EQ(pulled.json["tasks"].size(), 1u) << pulled.body;
  const Json blocked = http.Get(explain).json;
  EXPECT_EQ(blocked["verdict"]["kind"].str(), "wait");
  EXPECT_EQ(blocked["verdict"]["message"].str(),
            "the limit `n-site` (agent) stops it on 1 of the 2 workers that may run it: its count is 0; no worker is "
            "free on which it may start");
  EXPECT_EQ(blocked["reasons"].size(), 1u);
}

class DemandTokenTest : public DemandTest {
 protected:
  void SetUp() override {
    admin_ = testing::MakeToken(config_, "admin", {Scope::kAdmin});
    ann_ = testing::MakeToken(config_, "ann", {Scope::kRead}, "ann");
    Start();
  }
  std::string admin_, ann_;
};

TEST_F(DemandTokenTest, WhoSeesOneUsersJobsSeesThatUsersDemand) {
  HttpClient http = Http();
  http.token = admin_;
  const std::string job = Submit(http, R"({"tag":"t","user":"ann","count":3})");
  Submit(http, R"({"tag":"secret-tag","user":"secret-bob","count":2})");
  Set(http, "slow", R"(MY.User == \"ann\")", R"("count":0)");
  Set(http, "secret-limit", R"(MY.User == \"secret-bob\")", R"("count":0)");
  EXPECT_EQ(http.Get(kDemand).json["rows"].size(), 2u);
  http.token = ann_;
  for (const char* query : {"", "?user=ann"}) {
    const Answer own = http.Get(kDemand + query);
    ASSERT_EQ(own.status, 200) << own.body;
    EXPECT_EQ(own.json["rows"].size(), 1u);
    EXPECT_EQ(own.json["totals"]["queued"].num(), 3);
    EXPECT_EQ(own.body.find("secret"), std::string::npos) << own.body;
  }
  EXPECT_EQ(http.Get(kDemand + "?user=secret-bob").code(), "forbidden");
  const Answer explained = http.Get(kJobs + "/" + job + "/explain");
  EXPECT_EQ(explained.json["limits"][0]["name"].str(), "n-slow");
  EXPECT_EQ(explained.body.find("secret"), std::string::npos) << explained.body;
}

}  // namespace
}  // namespace allot::testing
