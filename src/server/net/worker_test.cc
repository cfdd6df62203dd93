// SPDX-License-Identifier: Apache-2.0
// Workers over WebSocket and over plain HTTP.
#include "server/testing.h"
#include "server/testing_tokens.h"

namespace allot::testing {
namespace {

class WorkerTest : public ServerTest {
 protected:
  Json Registered(HttpClient& http) {
    const Answer answer = http.Post(kWorkers, R"({"name":"h","tags":["t"],"slots":2})");
    EXPECT_EQ(answer.status, 201) << answer.body;
    return answer.json;
  }
  static std::string PullPath(const Json& welcome) { return kWorkers + "/" + welcome["worker"].str() + "/pull"; }
  static std::string Body(const Json& welcome, const std::string& more) {
    return R"({"key":")" + welcome["key"].str() + "\"" + more + "}";
  }
};

TEST_F(WorkerTest, DoneAndTheNextPullTravelTogether) {
  HttpClient http = Http();
  Submit(http, R"({"tag":"t","payloads":[1,2,3]})");
  WsClient worker = Worker();
  Greet(worker);
  worker.Send(R"({"pull":1,"seq":1})");
  Json message = worker.ReadUntil("tasks");
  for (int i = 1; i <= 3; ++i) {
    const Json task = message["tasks"][0];
    EXPECT_EQ(task["payload"].num(), i);
    worker.Send(R"({"seq":)" + std::to_string(i + 1) + R"(,"pull":1,"done":[)" + Ref(task) + R"(,"result":)" +
                std::to_string(i * i) + "}]}");
    message = worker.Read();
    EXPECT_EQ(message["ack"].num(), i + 1);
    EXPECT_EQ(message["tasks"].size(), i < 3 ? 1u : 0u);  // in the same message
  }
  EXPECT_EQ(http.Get(kJobs + "/last").json["state"].str(), "done");
}

TEST_F(WorkerTest, AMadeUpLeaseIsStale) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t"})");
  WsClient worker = Worker();
  Greet(worker);
  worker.Send(R"({"seq":1,"done":[{"job":")" + id + R"(","index":0,"lease":"1-123456789abcdef0"}]})");
  const Json message = worker.ReadUntil("ack");
  EXPECT_EQ(message["stale"][0]["code"].str(), "stale");
  EXPECT_EQ(http.Get(kJobs + "/" + id).json["done"].num(), 0);
}

TEST_F(WorkerTest, ABadMessageWithASeqIsToldAndTheConnectionGoesOn) {
  WsClient worker = Worker();
  Greet(worker);
  worker.Send(R"({"seq":7,"pul":1})");
  const Json error = worker.Read();
  EXPECT_EQ(error["error"]["code"].str(), "unknown_field");
  EXPECT_EQ(error["seq"].num(), 7);
  worker.Send(R"({"seq":8})");
  EXPECT_EQ(worker.Read()["ack"].num(), 8);
  worker.Send("{nonsense");
  EXPECT_EQ(worker.Read()["error"]["code"].str(), "bad_json");
  EXPECT_EQ(worker.ReadText(), "");  // closed
}

TEST_F(WorkerTest, AWorkerThatComesBackGoesOnWithWhatItHolds) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t","count":2})");
  WsClient first = Worker();
  const Json welcome = Greet(first);
  first.Send(R"({"pull":2})");
  const Json tasks = first.ReadUntil("tasks")["tasks"];
  ASSERT_EQ(tasks.size(), 2u);
  first.Cut();
  WsClient second = Worker();
  const Json back = Greet(second, R"(,"worker":")" + welcome["worker"].str() + R"(","key":")" + welcome["key"].str() +
                                      R"(","resume":[)" + Ref(tasks[0]) + "}]");
  EXPECT_EQ(back["worker"].str(), welcome["worker"].str());
  EXPECT_EQ(back["resumed"].size(), 1u);
  second.Send(R"({"seq":1,"done":[)" + Ref(tasks[0]) + "}]}");
  EXPECT_FALSE(second.ReadUntil("ack")["stale"].there());
  const Answer job = http.Get(kJobs + "/" + id);
  EXPECT_EQ(job.json["done"].num(), 1);
  EXPECT_EQ(job.json["queued"].num(), 1);  // what it did not list
  EXPECT_EQ(http.Get(kJobs + "/" + id + "/tasks/1").json["attempts"].num(), 0);
}

TEST_F(WorkerTest, CancellingTellsWorkersThatHoldATask) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t"})");
  WsClient worker = Worker();
  Greet(worker);
  worker.Send(R"({"pull":1})");
  const Json task = worker.ReadUntil("tasks")["tasks"][0];
  EXPECT_EQ(http.Post(kJobs + "/" + id + "/cancel").json["state"].str(), "cancelled");
  const Json order = worker.ReadUntil("cancel")["cancel"][0];
  EXPECT_EQ(order["reason"].str(), "cancelled");
  EXPECT_EQ(order["lease"].str(), task["lease"].str());
  worker.Send(R"({"seq":1,"done":[)" + Ref(task) + "}]}");
  EXPECT_EQ(worker.ReadUntil("ack")["stale"][0]["code"].str(), "job_ended");
}

TEST_F(WorkerTest, ADrainedWorkerIsToldAndGetsNothingMore) {
  HttpClient http = Http();
  WsClient worker = Worker();
  const Json welcome = Greet(worker);
  worker.Send(R"({"pull":1,"seq":1})");
  worker.ReadUntil("ack");
  const Answer drained = http.Post(kWorkers + "/" + welcome["worker"].str() + "/drain");
  EXPECT_EQ(drained.status, 200) << drained.body;
  EXPECT_TRUE(drained.json["draining"].flag());
  EXPECT_TRUE(worker.ReadUntil("drain")["drain"].flag());
  const std::string id = Submit(http, R"({"tag":"t"})");
  worker.Send(R"({"pull":1,"seq":2})");
  EXPECT_FALSE(worker.ReadUntil("ack")["tasks"].there());
  EXPECT_EQ(http.Get(kJobs + "/" + id).json["running"].num(), 0);
}

TEST_F(WorkerTest, ByeGivesBackWhatItHoldsAndEndsTheConnection) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t"})");
  WsClient worker = Worker();
  Greet(worker);
  worker.Send(R"({"pull":1})");
  worker.ReadUntil("tasks");
  worker.Send(R"({"bye":true,"seq":5})");
  EXPECT_EQ(worker.ReadUntil("ack")["ack"].num(), 5);
  EXPECT_EQ(worker.ReadText(), "");
  EXPECT_EQ(http.Get(kWorkers).json["workers"].size(), 0u);
  EXPECT_EQ(http.Get(kJobs + "/" + id).json["queued"].num(), 1);
}

TEST_F(WorkerTest, ASecondConnectionOfTheSameWorkerEndsTheFirst) {
  WsClient first = Worker();
  const Json welcome = Greet(first);
  WsClient second = Worker();
  Greet(second, R"(,"worker":")" + welcome["worker"].str() + R"(","key":")" + welcome["key"].str() + "\"");
  EXPECT_TRUE(first.Read()["error"].there());
  EXPECT_EQ(first.ReadText(), "");
  second.Send(R"({"seq":1})");
  EXPECT_EQ(second.Read()["ack"].num(), 1);  // and is not disturbed by the end of the first
  HttpClient http = Http();
  EXPECT_FALSE(http.Get(kWorkers + "/" + welcome["worker"].str()).json["away"].flag());
}

TEST_F(WorkerTest, AWorkerWithAWrongKeyIsUnknown) {
  WsClient worker = Worker();
  worker.Send(R"({"hello":{"name":"w","tags":[],"slots":1,"worker":"123","key":"0000000000000001"}})");
  EXPECT_EQ(worker.Read()["error"]["code"].str(), "unknown_worker");
  EXPECT_EQ(worker.ReadText(), "");
}

TEST_F(WorkerTest, LargePayloadsComeInSeveralMessages) {
  HttpClient http = Http();
  std::string spec = R"({"tag":"t","payloads":[)";
  for (int i = 0; i < 10; ++i) spec += (i == 0 ? "\"" : ",\"") + std::string(200'000, 'x') + "\"";
  Submit(http, spec + "]}");
  WsClient worker = Worker();
  Greet(worker);
  worker.Send(R"({"pull":10})");
  std::size_t got = 0, messages = 0;
  while (got < 10) {
    got += worker.ReadUntil("tasks")["tasks"].size();
    ++messages;
  }
  EXPECT_EQ(got, 10u);
  EXPECT_GT(messages, 2u);
}

TEST_F(WorkerTest, AWorkerOverHttpPullsAndReports) {
  HttpClient http = Http();
  const Json welcome = Registered(http);
  const std::string id = Submit(http, R"({"tag":"t","payloads":["x","y","z"]})");
  Answer answer = http.Post(PullPath(welcome), Body(welcome, R"(,"pull":2)"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  ASSERT_EQ(answer.json["tasks"].size(), 2u);
  EXPECT_EQ(answer.json["tasks"][1]["payload"].str(), "y");
  const std::string reports = R"(,"done":[)" + Ref(answer.json["tasks"][0]) + R"(,"result":"r"}],"failed":[)" +
                              Ref(answer.json["tasks"][1]) + R"(,"error":"no","final":true}])";
  answer = http.Post(PullPath(welcome), Body(welcome, reports));
  EXPECT_EQ(answer.body, R"({"stale":[],"tasks":[],"cancel":[],"drain":false})");
  EXPECT_EQ(http.Get(kJobs + "/" + id + "/tasks/0").json["result"].str(), "r");
  const Answer results = http.Get(kJobs + "/" + id + "/results");
  EXPECT_EQ(results.json["results"][1]["error"].str(), "no");
  EXPECT_EQ(results.json["results"][1]["state"].str(), "failed");
  EXPECT_EQ(results.json["job_state"].str(), "failed");
  EXPECT_EQ(http.Do(http::verb::delete_, kWorkers + "/" + welcome["worker"].str(), Body(welcome, "")).body, "{}");
  EXPECT_EQ(http.Post(PullPath(welcome), Body(welcome, R"(,"pull":2)")).code(), "unknown_worker");
}

TEST_F(WorkerTest, AnEmptyPullWaitsForATask) {
  HttpClient http = Http();
  HttpClient puller = Http();
  const Json welcome = Registered(http);
  EXPECT_EQ(http.Post(PullPath(welcome), Body(welcome, R"(,"pull":1)")).json["tasks"].size(), 0u);
  EXPECT_EQ(http.Post(PullPath(welcome), Body(welcome, R"(,"pull":1,"wait_ms":20)")).json["tasks"].size(), 0u);
  std::thread submitter([&] {
    while (http.Get(kWorkers + "/" + welcome["worker"].str()).json["credit"].num() != 1) std::this_thread::yield();
    Submit(http, R"({"tag":"t"})");
  });
  const Answer answer = puller.Post(PullPath(welcome), Body(welcome, R"(,"pull":1,"wait_ms":30000)"));
  submitter.join();
  EXPECT_EQ(answer.json["tasks"].size(), 1u);
}

TEST_F(WorkerTest, TheServerSaysWhatItCan) {
  HttpClient http = Http();
  WsClient worker = Worker();
  const Json features = Greet(worker)["features"];
  EXPECT_EQ(features.text(), http.Get("/v1/server").json["features"].text());
  EXPECT_EQ(features.text(), Registered(http)["features"].text());
  EXPECT_NE(features.text().find("\"job_headers\""), std::string::npos);
}

TEST_F(WorkerTest, AHeaderComesOnceForEachJobWhereTheyAreAskedFor) {
  HttpClient http = Http();
  const std::string a = Submit(http, R"({"tags":["t"],"count":2,"meta":{"6":7,"k":"v"},"user":"ann","priority":2})");
  const std::string b = Submit(http, R"({"tag":"t","count":2,"priority":1})");
  const std::string header = R"({"id":")" + a + R"(","tags":["t"],"meta":{"6":7,"k":"v"},"user":"ann"})";
  WsClient quiet = Worker();
  Greet(quiet);
  quiet.Send(R"({"pull":1})");
  EXPECT_FALSE(quiet.ReadUntil("tasks")["jobs"].there());
  WsClient worker = Worker();
  Greet(worker);
  worker.Send(R"({"pull":2,"job_headers":true})");
  // They may come one by one.
  std::string headers;
  for (std::size_t tasks = 0; tasks < 2;) {
    const Json news = worker.ReadUntil("tasks");
    tasks += news["tasks"].size();
    headers += news["jobs"].text();
  }
  EXPECT_NE(headers.find(header), std::string::npos) << headers;
  EXPECT_NE(headers.find(R"({"id":")" + b + R"(","tags":["t"],"meta":{},"user":""})"), std::string::npos) << headers;
  worker.Send(R"({"pull":1})");
  EXPECT_FALSE(worker.ReadUntil("tasks")["jobs"].there());  // it is known
  // By requests, with each of them that asks.
  const std::string c = Submit(http, R"({"tag":"t","count":3})");
  const Json welcome = Registered(http);
  for (int i = 0; i < 2; ++i) {
    const Answer answer = http.Post(PullPath(welcome), Body(welcome, R"(,"pull":1,"job_headers":true)"));
    EXPECT_EQ(answer.json["tasks"].size(), 1u);
    EXPECT_EQ(answer.json["jobs"].text(), R"([{"id":")" + c + R"(","tags":["t"],"meta":{},"user":""}])");
  }
  EXPECT_FALSE(http.Post(PullPath(welcome), Body(welcome, R"(,"pull":1)")).json["jobs"].there());
}

TEST_F(WorkerTest, AWorkerOfManyJobsGetsHeadersAgain) {
  HttpClient http = Http();
  WsClient worker = Worker();
  Greet(worker);
  const std::string first = Submit(http, R"({"tag":"t","count":2})");
  worker.Send(R"({"pull":1,"job_headers":true})");
  EXPECT_EQ(worker.ReadUntil("tasks")["jobs"][0]["id"].str(), first);
  std::string batch;
  for (int i = 0; i < 256; ++i) batch += std::string(i > 0 ? "," : "") + R"({"tag":"t","priority":1})";
  EXPECT_EQ(http.Post(kJobs + "/batch", R"({"jobs":[)" + batch + "]}").status, 201);
  worker.Send(R"({"pull":256})");
  std::size_t tasks = 0, headers = 0;
  while (tasks < 256) {
    const Json news = worker.ReadUntil("tasks");
    tasks += news["tasks"].size();
    headers += news["jobs"].size();
  }
  EXPECT_EQ(headers, 256u);
  worker.Send(R"({"pull":1})");
  EXPECT_EQ(worker.ReadUntil("tasks")["jobs"][0]["id"].str(), first);
}

TEST_F(WorkerTest, ARunningTaskMaySayHowFarItIs) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t","count":2})");
  WsClient worker = Worker();
  Greet(worker);
  worker.Send(R"({"pull":1})");
  const Json task = worker.ReadUntil("tasks")["tasks"][0];
  worker.Send(R"({"seq":1,"extend":[)" + Ref(task) + R"(,"progress":{"done":3,"of":12,"note":"frames"}}]})");
  EXPECT_EQ(worker.ReadUntil("ack")["stale"].size(), 0u);
  const std::string progress = R"({"done":3.0,"of":12.0,"note":"frames"})";
  EXPECT_EQ(http.Get(kJobs + "/" + id + "/tasks/0").json["progress"].text(), progress);
  EXPECT_EQ(http.Get(kJobs + "/" + id + "/tasks").json["tasks"][0]["progress"].text(), progress);
  EXPECT_EQ(http.Get(kJobs + "/" + id).json["progress"].text(), "0.25");
  worker.Send(R"({"seq":2,"extend":[)" + Ref(task) + R"(,"progress":{"of":12}}]})");
  EXPECT_EQ(worker.Read()["error"]["code"].str(), "bad_value");
  worker.Send(R"({"seq":3,"done":[)" + Ref(task) + "}]}");
  worker.ReadUntil("ack");
  EXPECT_FALSE(http.Get(kJobs + "/" + id).json["progress"].there());
  worker.Send(R"({"seq":4,"extend":[)" + Ref(task) + R"(,"progress":{"done":1}}]})");
  EXPECT_EQ(worker.ReadUntil("ack")["stale"].size(), 1u);
}

TEST_F(WorkerTest, AFailureMaySayWhenToTryAgain) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t","backoff":{"first_ms":600000}})");
  WsClient worker = Worker();
  Greet(worker);
  worker.Send(R"({"pull":1})");
  Json task = worker.ReadUntil("tasks")["tasks"][0];
  worker.Send(R"({"seq":1,"failed":[)" + Ref(task) + R"(,"error":"later","final":true,"retry_in_ms":5}]})");
  EXPECT_EQ(worker.Read()["error"]["code"].str(), "bad_value");
  worker.Send(R"({"seq":2,"failed":[)" + Ref(task) + R"(,"error":"later","retry_in_ms":604800001}]})");
  EXPECT_EQ(worker.Read()["error"]["code"].str(), "bad_value");
  worker.Send(R"({"seq":3,"failed":[)" + Ref(task) + R"(,"error":"later","retry_in_ms":40}],"pull":1})");
  task = worker.ReadUntil("tasks")["tasks"][0];
  EXPECT_EQ(task["attempt"].num(), 2);
  worker.Send(R"({"seq":4,"failed":[)" + Ref(task) + R"(,"error":"later","retry_in_ms":60000}]})");
  worker.ReadUntil("ack");
  const Json view = http.Get(kJobs + "/" + id + "/tasks/0").json;
  EXPECT_EQ(view["state"].str(), "retrying");
  const std::int64_t wait = view["retry_at_ms"].num() - http.Get("/v1/server").json["now_at_ms"].num();
  EXPECT_GT(wait, 50'000);
  EXPECT_LE(wait, 64'000);
}

TEST_F(WorkerTest, ASecondPullEndsTheFirst) {
  HttpClient http = Http();
  HttpClient puller = Http();
  const Json welcome = Registered(http);
  std::thread second([&] {
    while (http.Get(kWorkers + "/" + welcome["worker"].str()).json["credit"].num() != 1) std::this_thread::yield();
    EXPECT_EQ(http.Post(PullPath(welcome), Body(welcome, R"(,"pull":1)")).status, 200);
  });
  const Answer first = puller.Post(PullPath(welcome), Body(welcome, R"(,"pull":1,"wait_ms":60000)"));
  second.join();
  EXPECT_EQ(first.body, R"({"stale":[],"tasks":[],"cancel":[],"drain":false})");
}

TEST_F(WorkerTest, APullerThatGoesAwayGetsNothing) {
  HttpClient http = Http();
  const Json welcome = Registered(http);
  {
    HttpClient puller = Http();
    const std::string body = Body(welcome, R"(,"pull":1,"wait_ms":60000)");
    puller.Write("POST " + PullPath(welcome) +
                 " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
                 std::to_string(body.size()) + "\r\n\r\n" + body);
    while (http.Get(kWorkers + "/" + welcome["worker"].str()).json["credit"].num() != 1) std::this_thread::yield();
  }
  while (http.Get(kWorkers + "/" + welcome["worker"].str()).json["credit"].num() != 0) std::this_thread::yield();
  const std::string id = Submit(http, R"({"tag":"t"})");
  EXPECT_EQ(http.Get(kJobs + "/" + id).json["queued"].num(), 1);
}

TEST_F(WorkerTest, ACancelEndsAWaitingPull) {
  HttpClient http = Http();
  HttpClient puller = Http();
  const Json welcome = Registered(http);
  const std::string id = Submit(http, R"({"tag":"t"})");
  ASSERT_EQ(http.Post(PullPath(welcome), Body(welcome, R"(,"pull":1)")).json["tasks"].size(), 1u);
  std::thread canceller([&] {
    while (http.Get(kWorkers + "/" + welcome["worker"].str()).json["credit"].num() != 1) std::this_thread::yield();
    http.Post(kJobs + "/" + id + "/cancel");
  });
  const Answer answer = puller.Post(PullPath(welcome), Body(welcome, R"(,"pull":1,"wait_ms":60000)"));
  canceller.join();
  EXPECT_EQ(answer.json["cancel"][0]["job"].str(), id);
}

class WorkerTokenTest : public WorkerTest {
 protected:
  void SetUp() override {
    work_ = MakeToken(config_, "work", {Scope::kWork, Scope::kRead});
    ann_ = MakeToken(config_, "ann", {Scope::kRead, Scope::kSubmit}, "ann");
    bob_ = MakeToken(config_, "bob", {Scope::kRead, Scope::kSubmit}, "bob");
    Start();
  }
  std::string work_, ann_, bob_;
};

TEST_F(WorkerTokenTest, OfWhatAWorkerHoldsATokenFixedToAUserSeesThatUsersTasksAlone) {
  HttpClient http = Http(), ann = Http(), bob = Http();
  http.token = work_;
  ann.token = ann_;
  bob.token = bob_;
  const std::string of_ann = Submit(ann, R"({"tag":"t"})");
  Submit(bob, R"({"tag":"t"})");
  const Json welcome = Registered(http);
  ASSERT_EQ(http.Post(PullPath(welcome), Body(welcome, R"(,"pull":2)")).json["tasks"].size(), 2u);
  const std::string path = kWorkers + "/" + welcome["worker"].str();
  EXPECT_EQ(http.Get(path).json["tasks"].size(), 2u);
  const Json seen = ann.Get(path).json;
  ASSERT_EQ(seen["tasks"].size(), 1u);
  EXPECT_EQ(seen["tasks"][0]["job"].str(), of_ann);
  EXPECT_EQ(seen["running"].num(), 2);
}

}  // namespace
}  // namespace allot::testing
