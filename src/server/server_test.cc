// SPDX-License-Identifier: Apache-2.0
// The whole server over real sockets: submitting, looking, the server's own pages.
#include "server/testing.h"

namespace allot::testing {
namespace {

TEST_F(ServerTest, AnswersThatItLivesAndIsReady) {
  HttpClient http = Http();
  EXPECT_EQ(http.Get("/livez").status, 200);
  EXPECT_EQ(http.Get("/readyz").status, 200);
  const Answer about = http.Get("/v1/server");
  EXPECT_EQ(about.json["name"].str(), "allotter");
  EXPECT_EQ(about.json["queues"].num(), 1);
}

TEST_F(ServerTest, ASubmittedJobCanBeLookedAt) {
  HttpClient http = Http();
  const Answer submitted = http.Post(kJobs, R"({"tag":"t","payloads":[1,2,3]})");
  ASSERT_EQ(submitted.status, 201) << submitted.body;
  EXPECT_FALSE(submitted.json["existing"].flag());
  const std::string id = submitted.json["job"]["id"].str();
  const Answer job = http.Get(kJobs + "/" + id);
  EXPECT_EQ(job.status, 200);
  EXPECT_EQ(job.json["state"].str(), "active");
  EXPECT_EQ(job.json["count"].num(), 3);
  EXPECT_EQ(http.Get(kJobs + "/last").json["id"].str(), id);
  EXPECT_EQ(http.Get(kJobs).json["jobs"][0]["id"].str(), id);
  EXPECT_EQ(http.Get(kJobs + "/" + id + "/tasks/1").json["payload"].num(), 2);
}

TEST_F(ServerTest, AWorkerGetsTasksAndTheirResultsAreKept) {
  HttpClient http = Http();
  WsClient worker = Worker();
  ASSERT_TRUE(worker.open());
  const Json welcome = Greet(worker);
  EXPECT_NE(welcome["worker"].str(), "");
  worker.Send(R"({"pull":2,"seq":1})");
  EXPECT_EQ(worker.ReadUntil("ack")["ack"].num(), 1);
  const std::string id = Submit(http, R"({"tag":"t","payloads":["a",{"b":1}]})");
  const Json tasks = worker.ReadUntil("tasks")["tasks"];
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0]["payload"].str(), "a");
  EXPECT_EQ(tasks[1]["payload"]["b"].num(), 1);
  worker.Send(R"({"seq":2,"done":[)" + Ref(tasks[0]) + R"(,"result":[42]},)" + Ref(tasks[1]) + "}]}");
  EXPECT_EQ(worker.ReadUntil("ack")["ack"].num(), 2);
  const Answer results = http.Get(kJobs + "/" + id + "/results");
  EXPECT_EQ(
      results.body,
      R"({"results":[{"index":0,"state":"done","result":[42]},{"index":1,"state":"done"}],"next":null,"job_state":"done"})");
}

}  // namespace
}  // namespace allot::testing
