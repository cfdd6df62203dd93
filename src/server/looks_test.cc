// SPDX-License-Identifier: Apache-2.0
// Looks agree about what limits and ceilings stop, over real sockets: overview, lists, metrics, trying a strategy.
#include "server/ops/tokens.h"
#include "server/testing.h"
#include "server/testing_tokens.h"

namespace allot::testing {
namespace {

class LooksTest : public ServerTest {
 protected:
  static void Limit(HttpClient& http, const std::string& uuid, const std::string& expr, const std::string& count) {
    const Answer set = http.Do(http::verb::put, kQueue + "/limits/" + uuid,
                               R"({"tag":"agent","name":"n-)" + uuid + R"(","expr":")" + expr +
                                   R"(","window_ms":60000,"expires_in_ms":60000,"count":)" + count + "}");
    ASSERT_LT(set.status, 300) << set.body;
  }
  // The overview's row of that code, once it has what is asked for.
  static Json Row(HttpClient& http, const std::string& code, const char* with = nullptr) {
    for (int i = 0; i < 400; ++i) {
      const Json reasons = http.Get(kQueue + "/overview").json["reasons"];
      for (std::size_t row = 0; row < reasons.size(); ++row) {
        if (reasons[row]["code"].str() == code && (with == nullptr || reasons[row][with].there())) return reasons[row];
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return {};
  }
};

TEST_F(LooksTest, WhatALimitStopsIsNotSaidToStart) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t","user":"ann","count":7})");
  Submit(http, R"({"tag":"t","user":"bob","count":2})");
  http.Post(kQueue + "/workers", R"({"tags":["t"],"slots":4})");
  Limit(http, "stop", R"(MY.User == \"ann\")", "0");
  const Json row = Row(http, "limit_never", "limits");
  EXPECT_EQ(row["kind"].str(), "operator");
  EXPECT_EQ(row["tasks"].num(), 7);
  EXPECT_EQ(row["job"].str(), id);
  EXPECT_EQ(row["limits"].text(), R"([{"uuid":"stop","tag":"agent","name":"n-stop","tasks":7}])");
  EXPECT_EQ(Row(http, "can_start")["tasks"].num(), 2);
  EXPECT_EQ(http.Get(kQueue + "/jobs/" + id).json["wait_reason"]["code"].str(), "limit_never");
  const Json banner = http.Get(kQueue + "/overview").json["banners"][0];
  EXPECT_EQ(banner["code"].str(), "limit_never");
  EXPECT_EQ(banner["message"].str(), "limits let 1 job (7 tasks) never start");
  EXPECT_EQ(banner["hint"].str(), "allot limit show stop");
  const std::string metrics = http.Get("/metrics").body;
  EXPECT_NE(metrics.find(R"(allotter_tasks_by_wait_reason{queue="default",reason="limit_never"} 7)"),
            std::string::npos);
  EXPECT_NE(metrics.find(R"(allotter_tasks_by_wait_reason{queue="default",reason="can_start"} 2)"), std::string::npos);
}

TEST_F(LooksTest, WhatACeilingStopsIsNamedWithItsValue) {
  HttpClient http = Http();
  ASSERT_LT(
      http.Do(http::verb::patch, kQueue, R"_({"settings":{"policy":"max_simultaneous(user, 1, worker)"}})_").status,
      300);
  Submit(http, R"({"tag":"t","user":"ann","count":3})");
  const Json worker = http.Post(kQueue + "/workers", R"({"tags":["t"],"slots":4})").json;
  http.Post(kQueue + "/workers/" + worker["worker"].str() + "/pull",
            R"({"key":")" + worker["key"].str() + R"(","pull":4})");
  const Json row = Row(http, "max_simultaneous", "ceilings");
  EXPECT_EQ(row["tasks"].num(), 2);
  EXPECT_EQ(row["ceilings"].text(), R"([{"of":"policy","key":"user","value":"ann","running":1,"max":1,"tasks":2}])");
}

TEST_F(LooksTest, TryingAStrategyLeavesOutWhatLimitsStop) {
  HttpClient http = Http();
  const std::string anns = Submit(http, R"({"tag":"t","user":"ann","count":5})");
  const std::string bobs = Submit(http, R"({"tag":"t","user":"bob","count":3})");
  Limit(http, "stop", R"(MY.User == \"ann\")", "0");
  Limit(http, "slow", R"(MY.User == \"bob\")", "2");
  const Json tried = http.Post(kQueue + "/strategy/try", R"({"strategy":"oldest","worker":{"tags":["t"]}})").json;
  EXPECT_EQ(tried["blocked"].text(), R"({"jobs":1,"tasks":5,"job":")" + anns + "\"}");
  ASSERT_EQ(tried["picks"].size(), 2u) << tried.text();
  EXPECT_EQ(tried["picks"][1]["job"].str(), bobs);
  EXPECT_TRUE(tried["limited"].flag());
  // And that is what then starts.
  const Json worker = http.Post(kQueue + "/workers", R"({"tags":["t"],"slots":9,"strategy":"oldest"})").json;
  const Answer pulled = http.Post(kQueue + "/workers/" + worker["worker"].str() + "/pull",
                                  R"({"key":")" + worker["key"].str() + R"(","pull":9})");
  EXPECT_EQ(pulled.json["tasks"].size(), 2u) << pulled.body;
}

TEST_F(LooksTest, TheBannerAboutMissingWorkersHasTheCommandThatStartsOne) {
  HttpClient http = Http();
  Submit(http, R"({"tag":"square","requirements":"TARGET.memory >= MY.need","meta":{"need":4096}})");
  const Json banner = http.Get(kQueue + "/overview").json["banners"][0];
  EXPECT_EQ(banner["code"].str(), "no_workers");
  EXPECT_EQ(banner["hint"].str(), "allot work --tag square --attribute memory=4096 -- COMMAND");
}

}  // namespace
}  // namespace allot::testing
