// SPDX-License-Identifier: Apache-2.0
// Submitting over real sockets: single, in batches, as streams.
#include "server/testing.h"

namespace allot::testing {
namespace {

class SubmitTest : public ServerTest {};

constexpr const char* kNdjson = "application/x-ndjson";

TEST_F(SubmitTest, AStreamOfLinesBecomesAJobOfAsManyTasks) {
  HttpClient http = Http();
  std::string body = R"({"tag":"t"})";
  constexpr int kLines = 20'000;
  for (int i = 0; i < kLines; ++i) body += "\n{\"n\":" + std::to_string(i) + "}";
  const Answer submitted = http.Post(kJobs, body, kNdjson);
  ASSERT_EQ(submitted.status, 201) << submitted.body;
  EXPECT_EQ(submitted.json["job"]["count"].num(), kLines);
  const std::string id = submitted.json["job"]["id"].str();
  for (const int i : {0, 1, 7'777, kLines - 1}) {
    EXPECT_EQ(http.Get(kJobs + "/" + id + "/tasks/" + std::to_string(i)).json["payload"]["n"].num(), i);
  }
}

TEST_F(SubmitTest, AStreamedPayloadForAllTasksComesWithEachOfThem) {
  HttpClient http = Http();
  ASSERT_EQ(http.Post(kJobs, "{\"tag\":\"t\",\"payload\":\"common\"}\n1\n", kNdjson).status, 201);
  WsClient worker = Worker();
  Greet(worker);
  worker.Send(R"({"pull":1})");
  const Json task = worker.ReadUntil("tasks")["tasks"][0];
  EXPECT_EQ(task["payload"].num(), 1);
  EXPECT_EQ(task["job_payload"].str(), "common");
}

TEST_F(SubmitTest, AStreamWithoutTasksIsRefused) {
  HttpClient http = Http();
  for (const char* body : {"", "\n", "{\"tag\":\"t\"}", "{\"tag\":\"t\"}\n", "{\"tag\":\"t\",\"payload\":1}\n"}) {
    const std::string text = body;
    const Answer answer = http.Do(http::verb::post, kJobs, text, kNdjson, {{"Content-Type", kNdjson}});
    EXPECT_EQ(answer.status, 400) << text << answer.body;
    EXPECT_EQ(answer.code(), text == "\n" ? "bad_json" : "bad_request") << text << answer.body;
  }
  EXPECT_EQ(http.Get(kJobs).json["jobs"].size(), 0u);
  EXPECT_EQ(http.Post(kJobs, "{\"tag\":\"t\",\"count\":0}\n1\n", kNdjson).code(), "bad_value");
  EXPECT_EQ(http.Get(kJobs).json["jobs"].size(), 0u);
}

TEST_F(SubmitTest, AStreamThatSaysSoIsAnEmptyJobThatIsDone) {
  HttpClient http = Http();
  const Answer submitted = http.Post(kJobs, R"({"tag":"t","count":0})", kNdjson);
  ASSERT_EQ(submitted.status, 201) << submitted.body;
  EXPECT_EQ(submitted.json["job"]["state"].str(), "done");
  EXPECT_EQ(submitted.json["job"]["count"].num(), 0);
}

TEST_F(SubmitTest, ABadLineIsNamedAndLeavesNothing) {
  HttpClient http = Http();
  std::string body = "{\"tag\":\"t\"}\n";
  for (int i = 0; i < 5'000; ++i) body += "\"0123456789012345678901234567890123456789\"\n";
  body += "{broken\n";
  const Answer answer = http.Post(kJobs, body, kNdjson);
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.code(), "bad_json");
  EXPECT_NE(answer.body.find("line 5002"), std::string::npos) << answer.body;
  EXPECT_EQ(http.Get(kJobs).json["jobs"].size(), 0u);
}

TEST_F(SubmitTest, AStreamThatBreaksOffLeavesNothing) {
  {
    HttpClient http = Http();
    http.Write(
        "POST /v1/queues/default/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
        "Content-Length: 10000000\r\n\r\n{\"tag\":\"t\"}\n");
    std::string lines;
    for (int i = 0; i < 5'000; ++i) lines += "\"0123456789012345678901234567890123456789\"\n";
    http.Write(lines);
  }
  HttpClient http = Http();
  EXPECT_EQ(http.Get(kJobs).json["jobs"].size(), 0u);
}

TEST_F(SubmitTest, AChunkedStreamIsTaken) {
  HttpClient http = Http();
  http.Write(
      "POST /v1/queues/default/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  http.Write("e\r\n{\"tag\":\"t\"}\n1\n\r\n");
  http.Write("4\r\n2\n3\n\r\n0\r\n\r\n");
  const Answer answer = http.Read();
  EXPECT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(answer.json["job"]["count"].num(), 3);
}

TEST_F(SubmitTest, TheSameKeyGivesTheSameJobWhetherListedOrStreamed) {
  HttpClient http = Http();
  const Answer first = http.Post(kJobs, R"({"tag":"t","idempotency_key":"k","payloads":[1,2]})");
  ASSERT_EQ(first.status, 201) << first.body;
  const Answer again = http.Post(kJobs, R"({"tag":"t","idempotency_key":"k","payloads":[1,2]})");
  EXPECT_EQ(again.status, 200);
  EXPECT_TRUE(again.json["existing"].flag());
  const Answer streamed = http.Post(kJobs, "{\"tag\":\"t\",\"idempotency_key\":\"k\"}\n1\n2\n", kNdjson);
  EXPECT_EQ(streamed.status, 200) << streamed.body;
  EXPECT_EQ(streamed.json["job"]["id"].str(), first.json["job"]["id"].str());
  EXPECT_EQ(http.Post(kJobs, R"({"tag":"t","idempotency_key":"k","payloads":[1,3]})").code(), "idempotency_conflict");
  // The payloads of the first are untouched.
  EXPECT_EQ(http.Get(kJobs + "/last/tasks/1").json["payload"].num(), 2);
}

TEST_F(SubmitTest, ABatchIsTakenWholeOrNotAtAll) {
  HttpClient http = Http();
  const Answer batch = http.Post(kJobs + "/batch", R"({"jobs":[{"tag":"t","payload":1},{"tag":"t","count":3}]})");
  ASSERT_EQ(batch.status, 201) << batch.body;
  ASSERT_EQ(batch.json["jobs"].size(), 2u);
  EXPECT_EQ(http.Get(kJobs + "/" + batch.json["jobs"][0]["id"].str() + "/tasks/0").json["payload"].num(), 1);
  EXPECT_EQ(http.Get(kJobs + "/" + batch.json["jobs"][1]["id"].str()).json["count"].num(), 3);
  EXPECT_EQ(http.Post(kJobs + "/batch", R"({"jobs":[{"tag":"t"},{"tag":""}]})").code(), "bad_value");
  EXPECT_EQ(http.Get(kJobs).json["jobs"].size(), 2u);
}

TEST_F(SubmitTest, ManyTasksByCountCostNothing) {
  HttpClient http = Http();
  const Answer answer = http.Post(kJobs, R"({"tag":"t","count":4294967295})");
  EXPECT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(answer.json["job"]["queued"].num(), 4294967295);
}

TEST_F(SubmitTest, ALineLongerThanAPayloadMayBeIsRefused) {
  HttpClient http = Http();
  const Answer answer = http.Post(kJobs, "{\"tag\":\"t\"}\n\"" + std::string(1'200'000, 'x') + "\"\n", kNdjson);
  EXPECT_EQ(answer.status, 413) << answer.body;
  EXPECT_EQ(answer.code(), "too_large");
}

}  // namespace
}  // namespace allot::testing
