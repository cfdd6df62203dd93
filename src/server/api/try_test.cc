// SPDX-License-Identifier: Apache-2.0
// What a strategy would give, over real sockets: the answer's form, and who may see what.
#include "server/ops/tokens.h"
#include "server/testing.h"
#include "server/testing_tokens.h"

namespace allot::testing {
namespace {

const std::string kTry = "/v1/queues/default/strategy/try";

// The jobs of all picks, joined.
std::string Jobs(const Json& json) {
  std::string out;
  for (std::size_t i = 0; i < json["picks"].size(); ++i) {
    const Json pick = json["picks"][i];
    out += (out.empty() ? "" : " ") + pick["job"].str() + "/" + std::to_string(pick["index"].num());
  }
  return out;
}

class TryTest : public ServerTest {
 protected:
  void SetUp() override { Start(); }
};

TEST_F(TryTest, ShowsWhatWouldBeGivenAndWhy) {
  HttpClient http = Http();
  const std::string a = Submit(http, R"({"tag":"t","user":"ann","count":2,"meta":{"size":1.5}})");
  const std::string b = Submit(http, R"({"tag":"t","user":"bob","priority":3})");
  Submit(http, R"({"tag":"other","user":"cy"})");
  const Answer answer = http.Post(kTry, R"_({"strategy":"fair(user, priority)",
      "policy":"max_simultaneous(size, 1, worker)","worker":{"tags":["t"]}})_");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json& got = answer.json;
  EXPECT_EQ(got["strategy"].str(), "fair(user, priority)");
  EXPECT_EQ(got["policy"].str(), "max_simultaneous(size, 1, worker)");
  EXPECT_EQ(got["jobs_looked_at"].num(), 3);
  EXPECT_EQ(got["may_run"].num(), 2);
  EXPECT_EQ(got["queued_tasks"].num(), 3);
  EXPECT_TRUE(got["complete"].flag());
  EXPECT_FALSE(got["paused"].flag());
  EXPECT_EQ(Jobs(got), a + "/0 " + b + "/0");  // of the first job one task, whose size is then taken
  const Json pick = got["picks"][0];
  EXPECT_EQ(pick["user"].str(), "ann");
  EXPECT_EQ(pick["tags"].text(), R"(["t"])");
  EXPECT_EQ(pick["why"].size(), 4u);
  EXPECT_EQ(pick["why"][0]["block"].str(), "max_simultaneous");
  EXPECT_EQ(pick["why"][0]["of"].str(), "policy");
  EXPECT_EQ(pick["why"][0]["value"].text(), "1.5");
  EXPECT_EQ(pick["why"][0]["running"].num(), 0);
  EXPECT_EQ(pick["why"][0]["max"].num(), 1);
  EXPECT_EQ(pick["why"][1]["block"].str(), "worker");
  EXPECT_EQ(pick["why"][2]["of"].str(), "strategy");
  EXPECT_EQ(pick["why"][2]["weight"].num(), 1);
  EXPECT_EQ(pick["why"][3]["priority"].text(), "null");
  EXPECT_EQ(got["picks"][1]["why"][3]["priority"].num(), 3);
  // Nothing was taken, and a worker that may run everything is given everything.
  const Answer all = http.Post(kTry, R"({"strategy":"newest","count":2})");
  EXPECT_EQ(all.json["may_run"].num(), 3);
  EXPECT_EQ(all.json["queued_tasks"].num(), 4);
  EXPECT_EQ(all.json["picks"].size(), 2u);
}

TEST_F(TryTest, NullIsTheDefaultButSomethingMustBeSaid) {
  HttpClient http = Http();
  const Answer answer = http.Post(kTry, R"({"strategy":null,"policy":null})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json["strategy"].str(), "priority");
  EXPECT_EQ(answer.json["policy"].str(), "worker");
  EXPECT_NE(http.Post(kTry, "{}").body.find("`strategy` is missing"), std::string::npos);
}

TEST_F(TryTest, ARegisteredWorkerIsTriedAsItIs) {
  HttpClient http = Http();
  const std::string job = Submit(http, R"({"tag":"t"})");
  Submit(http, R"({"tag":"u"})");
  const Json welcome = http.Post(kWorkers, R"({"tags":["t"]})").json;
  EXPECT_EQ(Jobs(http.Post(kTry, R"({"strategy":"random","worker":")" + welcome["worker"].str() + "\"}").json),
            job + "/0");
  EXPECT_EQ(http.Post(kTry, R"({"strategy":"random","worker":"4"})").code(), "unknown_worker");
  http.Post("/v1/queues/default/pause", "");
  const Answer paused = http.Post(kTry, R"({"strategy":"random"})");
  EXPECT_TRUE(paused.json["paused"].flag());
  EXPECT_EQ(paused.json["picks"].size(), 2u);
}

TEST_F(TryTest, WhatIsNoTryIsRefused) {
  HttpClient http = Http();
  const struct {
    const char* body;
    const char* code;
  } kRows[] = {
      {R"({})", "bad_value"},
      {R"({"strategy":"worker"})", "bad_value"},
      {R"({"strategy":"olest"})", "bad_value"},
      {R"({"strategy":"oldest","policy":"oldest"})", "bad_value"},
      {R"({"strategy":"oldest","count":0})", "bad_value"},
      {R"({"strategy":"oldest","count":101})", "bad_value"},
      {R"({"strategy":"oldest","worker":7})", "bad_value"},
      {R"({"strategy":"oldest","worker":"x"})", "bad_value"},
      {R"({"strategy":"oldest","worker":{"tag":"t"}})", "unknown_field"},
      {R"({"strategy":"oldest","worker":{"requirements":"1 +"}})", "bad_value"},
      {R"({"strategy":"oldest","n":3})", "unknown_field"},
      {R"([])", "bad_value"},
      {R"({"strategy")", "bad_json"},
  };
  for (const auto& row : kRows) EXPECT_EQ(http.Post(kTry, row.body).code(), row.code) << row.body;
  EXPECT_EQ(http.Get(kTry).code(), "method_not_allowed");
  EXPECT_EQ(http.Post(kTry + "?n=3", R"({"strategy":"oldest"})").status, 400);
}

class TryTokenTest : public ServerTest {
 protected:
  void SetUp() override {
    admin_ = testing::MakeToken(config_, "admin", {Scope::kAdmin});
    submit_ = testing::MakeToken(config_, "submit", {Scope::kSubmit, Scope::kWork});
    ann_ = testing::MakeToken(config_, "ann", {Scope::kSubmit, Scope::kRead}, "ann");
    Start();
  }
  std::string admin_, submit_, ann_;
};

TEST_F(TryTokenTest, WhoSeesOnlyItsOwnJobsIsRefused) {
  HttpClient http = Http();
  http.token = admin_;
  Submit(http, R"({"tag":"secret-tag","user":"bob","meta":{"customer":"secret-customer"}})");
  const std::string body = R"_({"strategy":"prefer_distinct(customer, oldest)"})_";
  EXPECT_NE(http.Post(kTry, body).body.find("secret-customer"), std::string::npos);
  http.token = submit_;
  EXPECT_EQ(http.Post(kTry, body).code(), "forbidden");
  http.token = ann_;
  const Answer refused = http.Post(kTry, body);
  EXPECT_EQ(refused.code(), "forbidden");
  EXPECT_EQ(refused.body.find("secret"), std::string::npos) << refused.body;
}

}  // namespace
}  // namespace allot::testing
