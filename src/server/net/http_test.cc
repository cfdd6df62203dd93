// SPDX-License-Identifier: Apache-2.0
// HTTP itself: errors, bounds, pipelining, slow and foreign clients, queues and tokens.
#include "server/ops/tokens.h"
#include "server/testing.h"

namespace allot::testing {
namespace {

class HttpTest : public ServerTest {};

TEST_F(HttpTest, ErrorsHaveStableCodesAndChangeNothing) {
  struct Row {
    http::verb verb;
    std::string target, body;
    int status;
    const char* code;
  };
  const Row kRows[] = {
      {http::verb::get, "/nowhere", "", 404, "not_found"},
      {http::verb::get, "/v1/queues/default/nowhere", "", 404, "not_found"},
      {http::verb::put, kJobs, "", 405, "method_not_allowed"},
      {http::verb::delete_, kJobs + "/1", "", 405, "method_not_allowed"},
      {http::verb::get, "/v1/queues/no", "", 404, "unknown_queue"},
      {http::verb::post, "/v1/queues/no/jobs", "{}", 404, "unknown_queue"},
      {http::verb::get, kJobs + "/1", "", 404, "unknown_job"},
      {http::verb::get, kJobs + "/abc", "", 404, "unknown_job"},
      {http::verb::get, kJobs + "/last", "", 404, "unknown_job"},
      {http::verb::get, kWorkers + "/1", "", 404, "unknown_worker"},
      {http::verb::post, kWorkers + "/1/pull", R"({"key":"0000000000000001"})", 404, "unknown_worker"},
      {http::verb::post, kJobs, "{", 400, "bad_json"},
      {http::verb::post, kJobs, R"({"tagg":"t"})", 400, "unknown_field"},
      {http::verb::post, kJobs, R"({"tag":5})", 400, "bad_value"},
      {http::verb::post, kJobs, R"({"max_attempts":0})", 400, "bad_value"},
      {http::verb::get, kJobs + "?limt=5", "", 400, "unknown_field"},
      {http::verb::get, kJobs + "?limit=5000", "", 400, "bad_value"},
      {http::verb::post, "/v1/queues", R"({"name":"../x"})", 400, "bad_value"},
      {http::verb::post, "/v1/queues", R"({"name":"default"})", 409, "queue_exists"},
      {http::verb::delete_, "/v1/queues/default", "", 400, "bad_request"},
      {http::verb::get, "/v1/queues/default/work", "", 400, "bad_request"},
      {http::verb::get, "/%zz", "", 400, "bad_request"},
  };
  HttpClient http = Http();
  for (const Row& row : kRows) {
    const Answer answer = http.Do(row.verb, row.target, row.body);
    EXPECT_EQ(answer.status, row.status) << row.target << ": " << answer.body;
    EXPECT_EQ(answer.code(), row.code) << row.target << ": " << answer.body;
  }
  EXPECT_EQ(http.Get(kJobs).json["jobs"].size(), 0u);
}

TEST_F(HttpTest, ABodyOfAnotherTypeIsRefused) {
  HttpClient http = Http();
  EXPECT_EQ(http.Post(kJobs, R"({"tag":"t"})", "text/plain").code(), "unsupported_media");
  EXPECT_EQ(http.Post(kJobs, R"({"tag":"t"})", "Application/JSON; charset=utf-8").status, 201);
}

TEST_F(HttpTest, ForeignOriginsAndHostsAreRefused) {
  HttpClient http = Http();
  http.Write("GET /v1/server HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_EQ(http.Read().code(), "foreign_origin");
  http.Write("GET /v1/server HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n");
  EXPECT_EQ(http.Read().code(), "foreign_origin");
}

TEST_F(HttpTest, PipelinedRequestsAreAnsweredInOrder) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t"})");
  std::string requests;
  for (int i = 0; i < 50; ++i) {
    requests += "GET " + (i % 2 == 0 ? "/livez" : kJobs + "/" + id) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  }
  http.Write(requests);
  for (int i = 0; i < 50; ++i) {
    const Answer answer = http.Read();
    ASSERT_EQ(answer.status, 200);
    EXPECT_EQ(answer.json["id"].there(), i % 2 == 1) << i;
  }
}

TEST_F(HttpTest, ARequestMayComeByteByByte) {
  HttpClient http = Http();
  const std::string request =
      "POST /v1/queues/default/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "11\r\n\r\n{\"tag\":\"t\"}";
  for (const char c : request) http.Write(std::string_view(&c, 1));
  EXPECT_EQ(http.Read().status, 201);
}

TEST_F(HttpTest, WhatIsTooLargeIsRefused) {
  HttpClient http = Http();
  http.Write("POST " + kJobs +
             " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n");
  EXPECT_EQ(http.Read().code(), "too_large");
  http.Write("GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");
  EXPECT_EQ(http.Read().code(), "too_large");
  http.Write("nonsense\r\n\r\n");
  EXPECT_EQ(http.Read().code(), "bad_request");
  EXPECT_EQ(http.Get("/livez").status, 200);
}

class SlowClientTest : public ServerTest {
  void SetUp() override {
    config_.request_timeout = std::chrono::milliseconds(600);
    config_.idle_timeout = std::chrono::milliseconds(600);
    config_.heartbeat = std::chrono::milliseconds(300);
    Start();
  }
};

TEST_F(SlowClientTest, ARequestThatStaysUnfinishedIsAnsweredAndClosed) {
  HttpClient http = Http();
  http.Write("GET /livez HT");
  EXPECT_EQ(http.Read().code(), "timed_out");
}

TEST_F(SlowClientTest, IdleConnectionsAndSilentWorkersAreClosed) {
  HttpClient http = Http();
  WsClient worker = Worker();
  const Json welcome = Greet(worker);
  EXPECT_EQ(worker.ReadText(), "");
  EXPECT_EQ(http.ReadAll(), "");
  HttpClient other = Http();
  EXPECT_TRUE(other.Get(kWorkers + "/" + welcome["worker"].str()).json["away"].flag());
}

TEST_F(HttpTest, QueuesComeAndGo) {
  HttpClient http = Http();
  const Answer created = http.Post("/v1/queues", R"({"name":"q2","settings":{"max_result_bytes":100}})");
  ASSERT_EQ(created.status, 201) << created.body;
  EXPECT_EQ(created.json["settings"]["max_result_bytes"].num(), 100);
  EXPECT_EQ(http.Get("/v1/queues").json["queues"].size(), 2u);
  EXPECT_EQ(http.Do(http::verb::patch, "/v1/queues/q2", R"({"settings":{"max_result_bytes":200}})")
                .json["settings"]["max_result_bytes"]
                .num(),
            200);
  EXPECT_TRUE(http.Post("/v1/queues/q2/pause").json["paused"].flag());
  EXPECT_EQ(http.Post("/v1/queues/q2/jobs", R"({"tag":"t"})").status, 201);
  EXPECT_EQ(http.Do(http::verb::delete_, "/v1/queues/q2").code(), "queue_not_empty");
}

TEST_F(HttpTest, AQueuesSettingsAndPauseOutliveARestart) {
  {
    HttpClient http = Http();
    ASSERT_EQ(http.Post("/v1/queues", R"({"name":"q2"})").status, 201);
    http.Do(http::verb::patch, "/v1/queues/q2", R"({"settings":{"max_result_bytes":200}})");
    http.Post("/v1/queues/q2/pause");
    http.Post("/v1/queues/q2/jobs", R"({"tag":"t"})");
  }
  Stop();
  Start();
  HttpClient http = Http();
  const Answer queue = http.Get("/v1/queues/q2");
  EXPECT_EQ(queue.json["settings"]["max_result_bytes"].num(), 200);
  EXPECT_TRUE(queue.json["paused"].flag());
  EXPECT_EQ(http.Do(http::verb::delete_, "/v1/queues/q2?force=true").json["deleted"].str(), "q2");
  EXPECT_EQ(http.Get("/v1/queues/q2").code(), "unknown_queue");
  EXPECT_EQ(http.Post("/v1/queues", R"({"name":"q2"})").status, 201);
  EXPECT_EQ(http.Get("/v1/queues/q2").json["jobs"]["active"].num(), 0);
}

TEST_F(HttpTest, ANewBoundOfFinishedJobsHoldsAtOnce) {
  HttpClient http = Http();
  for (int i = 0; i < 5; ++i) Submit(http, R"({"count":0})");
  EXPECT_EQ(http.Get(kJobs).json["jobs"].size(), 5u);
  http.Do(http::verb::patch, "/v1/queues/default", R"({"settings":{"max_finished_jobs":2}})");
  while (http.Get(kJobs).json["jobs"].size() != 2) std::this_thread::yield();
}

TEST_F(HttpTest, ABackupIsAWholeFile) {
  HttpClient http = Http();
  Submit(http, R"({"tag":"t","payloads":[1,2,3]})");
  const Answer backup = http.Get("/v1/queues/default/backup");
  EXPECT_EQ(backup.status, 200);
  EXPECT_EQ(backup.body.substr(0, 15), "SQLite format 3");
  for (const auto& entry : std::filesystem::directory_iterator(data_)) {
    EXPECT_EQ(entry.path().filename().string().find("backup"), std::string::npos);
  }
}

TEST_F(HttpTest, MetricsWaitInLineWithOtherLooks) {
  HttpClient http = Http();
  http.Get("/metrics");
  std::this_thread::sleep_for(std::chrono::milliseconds(150));  // steps are told every now and then
  const std::string text = http.Get("/metrics").body;
  EXPECT_EQ(text.find("allotter_engine_step_seconds_count{kind=\"look\",queue=\"default\"} 0\n"), std::string::npos)
      << text;
}

TEST_F(HttpTest, MetricsAreText) {
  HttpClient http = Http();
  Submit(http, R"({"tag":"t"})");
  const Answer metrics = http.Get("/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_NE(metrics.body.find("allotter_"), std::string::npos);
}

class TokenTest : public ServerTest {
  void SetUp() override {
    TokenFile file(config_.tokens_file());
    NewToken token;
    token.name = "reader";
    token.scopes.Add(Scope::kRead);
    reader_ = file.Create(token, WallTime{})->text;
    token.name = "ann";
    token.user = "ann";
    token.scopes.Add(Scope::kSubmit);
    ann_ = file.Create(token, WallTime{})->text;
    token.name = "all";
    token.user.reset();
    token.scopes.Add(Scope::kAdmin);
    admin_ = file.Create(token, WallTime{})->text;
    Start();
  }

 protected:
  std::string reader_, ann_, admin_;
};

TEST_F(TokenTest, DecideWhatARequestMayDo) {
  HttpClient http = Http();
  EXPECT_EQ(http.Get("/livez").status, 200);
  EXPECT_EQ(http.Get(kJobs).code(), "unauthorized");
  http.token = "allot_000000000000_" + std::string(64, '0');
  EXPECT_EQ(http.Get(kJobs).code(), "unauthorized");
  http.token = reader_;
  EXPECT_EQ(http.Get(kJobs).status, 200);
  EXPECT_EQ(http.Post(kJobs, R"({"tag":"t"})").code(), "forbidden");
  EXPECT_FALSE(WsClient(port(), "/v1/queues/default/work", reader_).open());
  http.token = admin_;
  const std::string other = Submit(http, R"({"tag":"t","user":"bob"})");
  http.token = ann_;
  const std::string own = Submit(http, R"({"tag":"t"})");
  EXPECT_EQ(http.Get(kJobs + "/" + own).json["user"].str(), "ann");
  EXPECT_EQ(http.Get(kJobs + "/" + other).code(), "unknown_job");
  EXPECT_EQ(http.Post(kJobs + "/" + other + "/cancel").code(), "unknown_job");
  EXPECT_EQ(http.Get(kJobs).json["jobs"].size(), 1u);
  EXPECT_EQ(http.Post(kJobs + "/" + own + "/cancel").status, 200);
  EXPECT_EQ(http.Post("/v1/queues", R"({"name":"q"})").code(), "forbidden");
}

}  // namespace
}  // namespace allot::testing
