// SPDX-License-Identifier: Apache-2.0
// Limits over real sockets: setting, renewing and looking at them, what is refused, and who may do what.
#include <chrono>
#include <thread>

#include "server/ops/tokens.h"
#include "server/testing.h"
#include "server/testing_tokens.h"

namespace allot::testing {
namespace {

// A valid limit with some fields more, or instead: later ones would be there twice, so those are left out here.
std::string Limit(const std::string& more = "", const std::string& without = "") {
  static constexpr std::pair<const char*, const char*> kFields[] = {
      {"tag", R"("agent-7")"}, {"expr", R"("User == \"ann\"")"}, {"count", "10"},
      {"window_ms", "60000"},  {"expires_in_ms", "120000"},
  };
  std::string out = "{";
  for (const auto& [name, value] : kFields) {
    if (name == without) continue;
    out += (out.size() > 1 ? "," : "") + ("\"" + std::string(name) + "\":" + value);
  }
  return out + (more.empty() ? "" : "," + more) + "}";
}

class LimitTest : public ServerTest {
 protected:
  std::size_t Count(HttpClient& http, const std::string& query = "") {
    const Answer answer = http.Get(kLimits + query);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json["limits"].size();
  }
};

TEST_F(LimitTest, IsCreatedShownRenewedAndDeleted) {
  HttpClient http = Http();
  const Answer created = http.Post(
      kLimits, Limit(R"("name":"ann, slowly","cost":"Tasks / 2.0","burst":2.5,"max_burst_cost":4,"monitor":true)"));
  ASSERT_EQ(created.status, 201) << created.body;
  const std::string uuid = created.json["uuid"].str();
  EXPECT_EQ(uuid.size(), 36u);
  EXPECT_EQ(created.json["expires_in_ms"].num(), 120'000);
  EXPECT_FALSE(created.json["capped"].flag());

  const Answer shown = http.Get(kLimits + "/" + uuid);
  ASSERT_EQ(shown.status, 200) << shown.body;
  const Json& limit = shown.json;
  EXPECT_EQ(limit["uuid"].str(), uuid);
  EXPECT_EQ(limit["tag"].str(), "agent-7");
  EXPECT_EQ(limit["name"].str(), "ann, slowly");
  EXPECT_EQ(limit["expr"].str(), "User == \"ann\"");
  EXPECT_EQ(limit["cost"].str(), "Tasks / 2.0");
  EXPECT_EQ(limit["count"].text(), "10");
  EXPECT_EQ(limit["window_ms"].num(), 60'000);
  EXPECT_EQ(limit["burst"].text(), "2.5");
  EXPECT_EQ(limit["max_burst_cost"].text(), "4");
  EXPECT_TRUE(limit["monitor"].flag());
  EXPECT_EQ(limit["tokens"].text(), "10");
  EXPECT_EQ(limit["allowed"].num(), 0);
  EXPECT_EQ(limit["ignored_users"].text(), "[]");
  EXPECT_EQ(limit["last_ignored_at_ms"].text(), "null");
  EXPECT_EQ(limit["payable_in_ms"].text(), "null");
  EXPECT_GT(limit["expires_in_ms"].num(), 100'000);

  const Answer renewed = http.Post(kLimits + "/" + uuid + "/renew", R"({"expires_in_ms":200000})");
  ASSERT_EQ(renewed.status, 200) << renewed.body;
  EXPECT_EQ(renewed.json["expires_in_ms"].num(), 200'000);
  EXPECT_EQ(http.Post(kLimits + "/" + uuid + "/renew").status, 200);

  const Answer deleted = http.Do(http::verb::delete_, kLimits + "/" + uuid);
  ASSERT_EQ(deleted.status, 200) << deleted.body;
  EXPECT_EQ(deleted.json["deleted"].str(), uuid);
  EXPECT_EQ(Count(http), 0u);
}

TEST_F(LimitTest, PuttingItAgainUpdatesIt) {
  HttpClient http = Http();
  const std::string path = kLimits + "/my-own-1";
  const Answer created = http.Do(http::verb::put, path, Limit());
  ASSERT_EQ(created.status, 201) << created.body;
  EXPECT_TRUE(created.json["created"].flag());
  EXPECT_EQ(created.json["uuid"].str(), "my-own-1");
  const Answer again = http.Do(http::verb::put, path, Limit(R"("count":20)", "count"));
  ASSERT_EQ(again.status, 200) << again.body;
  EXPECT_TRUE(again.json["created"].there());
  EXPECT_FALSE(again.json["created"].flag());
  // The level stays, where a new one would be full. (It is refilled at the new rate from then on.)
  const Json limit = http.Get(path).json;
  EXPECT_EQ(limit["count"].text(), "20");
  EXPECT_EQ(limit["tokens"].text().substr(0, 2), "10");
  EXPECT_EQ(Count(http), 1u);
}

TEST_F(LimitTest, ListsAreOfATagOrAUuid) {
  HttpClient http = Http();
  http.Do(http::verb::put, kLimits + "/a", Limit());
  http.Do(http::verb::put, kLimits + "/b", Limit(R"("tag":"other")", "tag"));
  http.Do(http::verb::put, kLimits + "/c", Limit());
  EXPECT_EQ(Count(http), 3u);
  const Answer mine = http.Get(kLimits + "?tag=agent-7");
  ASSERT_EQ(mine.json["limits"].size(), 2u);
  EXPECT_EQ(mine.json["limits"][0]["uuid"].str(), "a");
  EXPECT_EQ(mine.json["limits"][1]["uuid"].str(), "c");
  EXPECT_EQ(Count(http, "?uuid=b"), 1u);
  EXPECT_EQ(Count(http, "?uuid=b&tag=agent-7"), 0u);
  EXPECT_EQ(Count(http, "?uuid=d"), 0u);
  EXPECT_EQ(http.Get(kLimits + "?tags=x").code(), "unknown_field");
}

TEST_F(LimitTest, ALeaseBeyondTheMaximumIsCutAndSaidSo) {
  HttpClient http = Http();
  for (const char* asked : {"300001", "9000000000000000"}) {
    const Answer created = http.Post(kLimits, Limit(R"("expires_in_ms":)" + std::string(asked), "expires_in_ms"));
    ASSERT_EQ(created.status, 201) << created.body;
    EXPECT_TRUE(created.json["capped"].flag());
    EXPECT_EQ(created.json["expires_in_ms"].num(), 300'000);
  }
  const Answer queue =
      http.Do(http::verb::patch, "/v1/queues/default", R"({"settings":{"max_limit_expiration_ms":20000}})");
  ASSERT_EQ(queue.status, 200) << queue.body;
  EXPECT_EQ(queue.json["settings"]["max_limit_expiration_ms"].num(), 20'000);
  const Answer put = http.Do(http::verb::put, kLimits + "/a", Limit());
  EXPECT_TRUE(put.json["capped"].flag());
  EXPECT_EQ(put.json["expires_in_ms"].num(), 20'000);
  const Answer renewed = http.Post(kLimits + "/a/renew", R"({"expires_in_ms":20001})");
  EXPECT_TRUE(renewed.json["capped"].flag());
  EXPECT_EQ(renewed.json["expires_in_ms"].num(), 20'000);
  for (const char* bad : {"0", "999", "86400001", "-1", "\"5m\""}) {
    const Answer refused = http.Do(http::verb::patch, "/v1/queues/default",
                                   R"({"settings":{"max_limit_expiration_ms":)" + std::string(bad) + "}}");
    EXPECT_EQ(refused.code(), "bad_value") << bad;
  }
  EXPECT_EQ(http.Get("/v1/queues/default").json["settings"]["max_limit_expiration_ms"].num(), 20'000);
}

TEST_F(LimitTest, BanWindowAndLookaheadAreSettings) {
  HttpClient http = Http();
  const auto settings = [&] { return http.Get("/v1/queues/default").json["settings"]; };
  EXPECT_EQ(settings()["limit_ban_window_ms"].num(), 60'000);
  EXPECT_EQ(settings()["demand_lookahead_ms"].num(), 60'000);
  const Answer set = http.Do(http::verb::patch, "/v1/queues/default",
                             R"({"settings":{"limit_ban_window_ms":0,"demand_lookahead_ms":120000}})");
  ASSERT_EQ(set.status, 200) << set.body;
  for (const char* name : {"limit_ban_window_ms", "demand_lookahead_ms"}) {
    for (const char* bad : {"86400001", "-1", "\"5m\""}) {
      const Answer refused = http.Do(http::verb::patch, "/v1/queues/default",
                                     R"({"settings":{")" + std::string(name) + "\":" + bad + "}}");
      EXPECT_EQ(refused.code(), "bad_value") << name << " " << bad;
    }
  }
  EXPECT_EQ(settings()["limit_ban_window_ms"].num(), 0);
  EXPECT_EQ(http.Get("/v1/queues/default/demand").json["lookahead_ms"].num(), 120'000);
  // Of one a minute two can be paid within two minutes, and the first at once.
  ASSERT_EQ(http.Post("/v1/queues/default/jobs", R"({"tag":"t","count":10,"user":"ann"})").status, 201);
  http.Do(http::verb::put, kLimits + "/a",
          R"({"tag":"a","expr":"MY.User == \"ann\"","count":1,"window_ms":60000,"expires_in_ms":120000})");
  EXPECT_EQ(http.Get("/v1/queues/default/demand").json["totals"]["startable"].num(), 3);
}

TEST_F(LimitTest, TheMaximumSurvivesARestartAndLimitsDoNot) {
  {
    HttpClient http = Http();
    http.Do(http::verb::patch, "/v1/queues/default", R"({"settings":{"max_limit_expiration_ms":20000}})");
    http.Do(http::verb::put, kLimits + "/a", Limit());
    EXPECT_EQ(Count(http), 1u);
  }
  Stop();
  Start();
  HttpClient http = Http();
  EXPECT_EQ(Count(http), 0u);
  EXPECT_EQ(http.Post(kLimits + "/a/renew").code(), "unknown_limit");
  const Answer put = http.Do(http::verb::put, kLimits + "/a", Limit());
  EXPECT_TRUE(put.json["created"].flag());
  EXPECT_EQ(put.json["expires_in_ms"].num(), 20'000);
}

TEST_F(LimitTest, ItGoesAwayUnlessItIsRenewed) {
  HttpClient http = Http();
  http.Do(http::verb::put, kLimits + "/short", Limit(R"("expires_in_ms":30)", "expires_in_ms"));
  http.Do(http::verb::put, kLimits + "/long", Limit());
  for (int i = 0; i < 100 && Count(http) > 1; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(http.Get(kLimits + "/short").code(), "unknown_limit");
  EXPECT_EQ(http.Get(kLimits + "/long").status, 200);
}

TEST_F(LimitTest, WhatIsNoLimitIsRefusedAndChangesNothing) {
  HttpClient http = Http();
  ASSERT_EQ(http.Do(http::verb::put, kLimits + "/there", Limit()).status, 201);
  const std::string before = http.Get(kLimits + "/there").json["expr"].str();
  struct Row {
    std::string body;
    const char* code;
    const char* message;  // is in it
  };
  const auto with = [](const char* name, const char* value) {
    return Limit("\"" + std::string(name) + "\":" + value, name);
  };
  const Row kRows[] = {
      {with("expr", R"("User == \"ann\" &&")"), "bad_value", "`expr`: expected an expression here (at byte 16)"},
      {with("expr", R"("")"), "bad_value", "`expr`"},
      {with("expr", "null"), "bad_value", "`expr` is missing"},
      {with("expr", "7"), "bad_value", "`expr` must be an expression"},
      {with("expr", R"_("time() > 7")_"), "bad_value", "`expr`: must not read time()"},
      {with("cost", R"("1 +")"), "bad_value", "`cost`: expected an expression here (at byte 3)"},
      {with("cost", R"_("time()")_"), "bad_value", "`cost`: must not read time()"},
      {with("cost", "true"), "bad_value", "`cost` must be an expression"},
      {with("window_ms", "0"), "bad_value", "`window_ms`"},
      {with("window_ms", "-5"), "bad_value", "`window_ms`"},
      {with("window_ms", "31622400001"), "bad_value", "`window_ms`"},
      {with("window_ms", "1.5"), "bad_value", "`window_ms`"},
      {with("count", "-1"), "bad_value", "`count`"},
      {with("count", "1000000000001"), "bad_value", "`count` must be a number from 0 to 1,000,000,000,000"},
      {with("count", "1e999"), "bad_value", "`count`"},
      {with("count", R"("10")"), "bad_value", "`count`"},
      {with("burst", "-0.5"), "bad_value", "`burst`"},
      {with("max_burst_cost", "-1"), "bad_value", "`max_burst_cost`"},
      {with("expires_in_ms", "0"), "bad_value", "`expires_in_ms`"},
      {with("expires_in_ms", "-1"), "bad_value", "`expires_in_ms`"},
      {with("expires_in_ms", "null"), "bad_value", "`expires_in_ms`"},
      {with("monitor", "1"), "bad_value", "`monitor`"},
      {with("tag", R"("")"), "bad_value", "`tag`"},
      {with("tag", R"("a b")"), "bad_value", "`tag`"},
      {with("name", R"("a\u001bb")"), "bad_value", "`name`"},
      {with("name", R"(["x"])"), "bad_value", "`name`"},
      {with("rate", R"("10/60s")"), "unknown_field", "`rate`"},
      {with("uuid", R"("x")"), "unknown_field", "`uuid`"},
      {Limit(R"("count":1)"), "bad_value", "`count` is there twice"},
      {Limit("", "tag"), "bad_value", "`tag` is missing"},
      {Limit("", "count"), "bad_value", "`count` is missing"},
      {Limit("", "window_ms"), "bad_value", "`window_ms` is missing"},
      {Limit("", "expires_in_ms"), "bad_value", "`expires_in_ms` is missing"},
      {"", "bad_json", ""},
      {"[]", "bad_value", ""},
      {"{", "bad_json", ""},
      {Limit() + "x", "bad_json", ""},
      {with("expr", ("\"" + std::string(20'000, '(') + "\"").c_str()), "bad_value", "`expr`"},
      {with("cost", (std::string(200, '[') + std::string(200, ']')).c_str()), "bad_value", "`cost`"},
  };
  for (const Row& row : kRows) {
    const std::pair<http::verb, std::string> kRequests[] = {
        {http::verb::post, kLimits}, {http::verb::put, kLimits + "/new"}, {http::verb::put, kLimits + "/there"}};
    for (const auto& [verb, path] : kRequests) {
      const Answer answer = http.Do(verb, path, row.body);
      EXPECT_EQ(answer.code(), row.code) << row.body << " " << answer.body;
      EXPECT_NE(answer.json["error"]["message"].str().find(row.message), std::string::npos) << answer.body;
    }
  }
  for (const char* body : {R"({"expires_in_ms":0})", R"({"expires_in_ms":"1"})", R"({"expires":1})", "7"})
    EXPECT_EQ(http.Post(kLimits + "/there/renew", body).status, 400) << body;
  EXPECT_EQ(Count(http), 1u);
  const Json after = http.Get(kLimits + "/there").json;
  EXPECT_EQ(after["expr"].str(), before);
  EXPECT_EQ(after["count"].text(), "10");
}

TEST_F(LimitTest, UnknownOnesAndOddPathsAreRefused) {
  HttpClient http = Http();
  const std::string none = kLimits + "/none";
  EXPECT_EQ(http.Get(none).code(), "unknown_limit");
  EXPECT_EQ(http.Post(none + "/renew").code(), "unknown_limit");
  EXPECT_EQ(http.Do(http::verb::delete_, none).code(), "unknown_limit");
  EXPECT_EQ(http.Get(kLimits + "/%1b%5b31m").code(), "unknown_limit");
  EXPECT_EQ(http.Get(kLimits + "/%1b%5b31m").body.find('\x1b'), std::string::npos);
  EXPECT_EQ(http.Do(http::verb::put, kLimits + "/a_b", Limit()).code(), "bad_value");
  EXPECT_EQ(http.Do(http::verb::put, kLimits + "/" + std::string(65, 'a'), Limit()).code(), "bad_value");
  EXPECT_EQ(http.Do(http::verb::put, kLimits, Limit()).code(), "method_not_allowed");
  EXPECT_EQ(http.Do(http::verb::patch, none, Limit()).code(), "method_not_allowed");
  EXPECT_EQ(http.Get(none + "/renew").code(), "method_not_allowed");
  EXPECT_EQ(http.Post(none + "/other").code(), "not_found");
  EXPECT_EQ(http.Post(kLimits + "?x=1", Limit()).code(), "unknown_field");
  EXPECT_EQ(http.Post(kLimits, Limit(), "text/plain").code(), "unsupported_media");
  EXPECT_EQ(http.Get("/v1/queues/none/limits").code(), "unknown_queue");
  EXPECT_EQ(Count(http), 0u);
}

TEST_F(LimitTest, TheOneBeyondAThousandIsRefused) {
  HttpClient http = Http();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(http.Do(http::verb::put, kLimits + "/l" + std::to_string(i), Limit()).status, 201) << i;
  }
  EXPECT_EQ(http.Post(kLimits, Limit()).code(), "too_many_limits");
  EXPECT_EQ(http.Do(http::verb::put, kLimits + "/more", Limit()).code(), "too_many_limits");
  EXPECT_EQ(http.Do(http::verb::put, kLimits + "/l7", Limit()).status, 200);  // updating one needs no room
  EXPECT_EQ(Count(http), 1000u);
}

TEST_F(LimitTest, QueuesHaveTheirOwn) {
  HttpClient http = Http();
  ASSERT_EQ(http.Post("/v1/queues", R"({"name":"other"})").status, 201);
  http.Do(http::verb::put, "/v1/queues/other/limits/a", Limit());
  EXPECT_EQ(Count(http), 0u);
  EXPECT_EQ(http.Get("/v1/queues/other/limits").json["limits"].size(), 1u);
}

TEST_F(LimitTest, MetricsCountThem) {
  HttpClient http = Http();
  http.Do(http::verb::put, kLimits + "/a", Limit());
  const std::string text = http.Get("/metrics").body;
  for (const char* name : {"allotter_limits{", "allotter_limits_waiting{", "allotter_limit_denials_total{"})
    EXPECT_NE(text.find(name), std::string::npos) << name;
}

class LimitTokenTest : public ServerTest {
 protected:
  void SetUp() override {
    operate_ = testing::MakeToken(config_, "operate", {Scope::kOperate});
    read_ = testing::MakeToken(config_, "read", {Scope::kRead});
    submit_ = testing::MakeToken(config_, "submit", {Scope::kSubmit, Scope::kWork});
    ann_ = testing::MakeToken(config_, "ann", {Scope::kSubmit, Scope::kRead}, "ann");
    Start();
  }
  std::string operate_, read_, submit_, ann_;
};

TEST_F(LimitTokenTest, ChangingNeedsOperateAndReadingRead) {
  HttpClient http = Http();
  const std::string one = kLimits + "/a";
  const std::string question = R"({"expr":"true"})";
  http.token = operate_;
  EXPECT_EQ(http.Do(http::verb::put, one, Limit(R"("name":"secret-name")")).status, 201);
  EXPECT_EQ(http.Post(one + "/renew").status, 200);
  EXPECT_EQ(http.Get(kLimits).code(), "forbidden");
  EXPECT_EQ(http.Get(one).code(), "forbidden");
  EXPECT_EQ(http.Post(kLimits + "/try", question).code(), "forbidden");
  EXPECT_EQ(http.Get("/v1/queues/default/demand").code(), "forbidden");
  for (const std::string& token : {read_, submit_, ann_}) {
    http.token = token;
    EXPECT_EQ(http.Do(http::verb::put, one, Limit()).code(), "forbidden");
    EXPECT_EQ(http.Post(kLimits, Limit()).code(), "forbidden");
    EXPECT_EQ(http.Post(one + "/renew").code(), "forbidden");
    EXPECT_EQ(http.Do(http::verb::delete_, one).code(), "forbidden");
  }
  http.token = read_;
  EXPECT_EQ(http.Get(kLimits).json["limits"].size(), 1u);
  EXPECT_EQ(http.Get(one).json["name"].str(), "secret-name");
  EXPECT_EQ(http.Post(kLimits + "/try", question).status, 200);
  EXPECT_EQ(http.Get("/v1/queues/default/demand").status, 200);
  http.token = submit_;
  EXPECT_EQ(http.Get(kLimits).code(), "forbidden");
  // What limits say, and whom they block, is not for those who see one user's jobs.
  http.token = ann_;
  for (const std::string& path : {kLimits, one, kLimits + "?uuid=a"}) {
    const Answer refused = http.Get(path);
    EXPECT_EQ(refused.code(), "forbidden");
    EXPECT_EQ(refused.body.find("secret"), std::string::npos);
  }
  EXPECT_EQ(http.Post(kLimits + "/try", question).code(), "forbidden");
  EXPECT_EQ(http.Get("/v1/queues/default/demand?user=bob").code(), "forbidden");
  http.token = operate_;
  EXPECT_EQ(http.Do(http::verb::delete_, one).status, 200);
}

TEST_F(LimitTest, ATryThatIsNoneIsRefused) {
  HttpClient http = Http();
  const std::string path = kLimits + "/try";
  for (const char* body : {R"({})", R"({"expr":null})", R"({"expr":"1 +"})", R"({"expr":"true","cost":"("})",
                           R"_({"expr":"time() > 1"})_", R"({"expr":"true","tag":"x"})", R"([])", R"({"expr")"}) {
    EXPECT_EQ(http.Post(path, body).status, 400) << body;
  }
  EXPECT_EQ(http.Post(path + "?n=1", R"({"expr":"true"})").status, 400);
  const Answer answer = http.Post(path, R"({"expr":"true"})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_TRUE(answer.json["complete"].flag());
}

}  // namespace
}  // namespace allot::testing
