// Waiting and watching, and a restart in between.
#include "server/testing.h"

namespace allot::testing {
namespace {

class WaitTest : public ServerTest {
 protected:
  // Takes `n` tasks and reports them done, with their index as result.
  void Work(WsClient& worker, int n) {
    for (int i = 0; i < n; ++i) {
      worker.Send(R"({"pull":1})");
      const Json task = worker.ReadUntil("tasks")["tasks"][0];
      worker.Send(R"({"seq":9,"done":[)" + Ref(task) + R"(,"result":)" + std::to_string(task["index"].num()) + "}]}");
      worker.ReadUntil("ack");
    }
  }
};

TEST_F(WaitTest, AJobIsWaitedForUntilItsEnd) {
  HttpClient http = Http();
  HttpClient waiter = Http();
  WsClient worker = Worker();
  Greet(worker);
  const std::string id = Submit(http, R"({"tag":"t"})");
  EXPECT_EQ(waiter.Get(kJobs + "/" + id + "?wait_ms=30").json["state"].str(), "active");
  std::thread later([&] { Work(worker, 1); });
  const Answer answer = waiter.Get(kJobs + "/" + id + "?wait_ms=30000");
  later.join();
  EXPECT_EQ(answer.json["state"].str(), "done");
  EXPECT_EQ(waiter.Get(kJobs + "/" + id + "?wait_ms=30000").json["state"].str(), "done");
}

TEST_F(WaitTest, ResultsComeInOrderAndAreWaitedFor) {
  HttpClient http = Http();
  HttpClient waiter = Http();
  WsClient worker = Worker();
  Greet(worker);
  const std::string id = Submit(http, R"({"tag":"t","count":3})");
  const std::string path = kJobs + "/" + id + "/results";
  EXPECT_EQ(http.Get(path).body, R"({"results":[],"next":0,"job_state":"active"})");
  std::thread later([&] { Work(worker, 1); });
  const Answer first = waiter.Get(path + "?wait_ms=30000");
  later.join();
  EXPECT_EQ(first.body, R"({"results":[{"index":0,"state":"done","result":0}],"next":1,"job_state":"active"})");
  Work(worker, 2);
  EXPECT_EQ(http.Get(path + "?from=1&limit=1").json["next"].num(), 2);
  EXPECT_TRUE(http.Get(path + "?from=2").json["next"].null());
}

TEST_F(WaitTest, AWebSocketTellsOfManyJobs) {
  HttpClient http = Http();
  WsClient worker = Worker();
  Greet(worker);
  const std::string a = Submit(http, R"({"tag":"t","priority":2})");
  const std::string b = Submit(http, R"({"tag":"t","priority":1})");
  WsClient waiter(port(), "/v1/queues/default/wait");
  ASSERT_TRUE(waiter.open());
  waiter.Send(R"({"wait":[")" + a + R"(",")" + b + R"(","12345"]})");
  EXPECT_EQ(waiter.Read().text(), R"({"unknown":["12345"]})");
  Work(worker, 1);
  EXPECT_EQ(waiter.Read()["ended"].text(), R"([{"id":")" + a + R"(","state":"done","done":1,"failed":0}])");
  http.Post(kJobs + "/" + b + "/cancel");
  EXPECT_EQ(waiter.Read()["ended"][0]["state"].str(), "cancelled");
  waiter.Send(R"({"wait":[")" + a + R"("]})");
  EXPECT_EQ(waiter.Read()["ended"][0]["id"].str(), a);
  waiter.Send(R"({"await":[]})");
  EXPECT_EQ(waiter.Read()["error"]["code"].str(), "unknown_field");
  EXPECT_EQ(waiter.ReadText(), "");
}

TEST_F(WaitTest, EventsShowProgressAndTheEnd) {
  HttpClient http = Http();
  HttpClient watcher = Http();
  WsClient worker = Worker();
  Greet(worker);
  const std::string id = Submit(http, R"({"tag":"t","count":2})");
  watcher.Write("GET " + kJobs + "/" + id + "/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(watcher.ReadUntil("\r\n\r\n").find("text/event-stream"), std::string::npos);
  EXPECT_EQ(watcher.ReadUntil("\n\n").substr(0, 16), "event: job\ndata:");
  Work(worker, 2);
  std::string last;
  while (last.substr(0, 10) != "event: end") {
    last = watcher.ReadUntil("\n\n");
    ASSERT_NE(last, "");
  }
  EXPECT_NE(last.find(R"("state":"done")"), std::string::npos);
}

TEST_F(WaitTest, ARestartKeepsJobsResultsAndLeases) {
  std::string id, held;
  Json welcome, tasks;
  {
    HttpClient http = Http();
    WsClient worker = Worker();
    welcome = Greet(worker);
    id = Submit(http, R"({"tag":"t","payloads":["a","b","c"]})");
    worker.Send(R"({"pull":2})");
    tasks = worker.ReadUntil("tasks")["tasks"];
    worker.Send(R"({"seq":1,"done":[)" + Ref(tasks[0]) + R"(,"result":"ra"}]})");
    worker.ReadUntil("ack");
    Stop();
  }
  Start();
  HttpClient http = Http();
  Answer job = http.Get(kJobs + "/" + id);
  EXPECT_EQ(job.json["done"].num(), 1);
  EXPECT_EQ(job.json["leased"].num(), 1);
  EXPECT_EQ(http.Get(kJobs + "/" + id + "/tasks/0").json["result"].str(), "ra");
  WsClient worker = Worker();
  const Json back = Greet(worker, R"(,"worker":")" + welcome["worker"].str() + R"(","key":")" + welcome["key"].str() +
                                      R"(","resume":[)" + Ref(tasks[1]) + "}]");
  EXPECT_EQ(back["resumed"].size(), 1u);
  worker.Send(R"({"seq":1,"pull":1,"done":[)" + Ref(tasks[1]) + "}]}");
  const Json next = worker.ReadUntil("tasks")["tasks"][0];
  EXPECT_EQ(next["payload"].str(), "c");
}

TEST_F(WaitTest, AStopAnswersThoseWhoWait) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t"})");
  HttpClient waiter = Http();
  std::thread stopper([&] {
    while (http.Get(kJobs + "/" + id).json["ready"].num() != 1) std::this_thread::yield();
    server_->Stop();
  });
  const Answer answer = waiter.Get(kJobs + "/" + id + "?wait_ms=60000");
  stopper.join();
  // Either it came in before the stop and is told how things are, or it is turned away.
  if (answer.status == 200)
    EXPECT_EQ(answer.json["state"].str(), "active");
  else
    EXPECT_TRUE(answer.status == 503 || answer.status == 0) << answer.body;
  EXPECT_EQ(server_->Wait(), 0);
}

}  // namespace
}  // namespace allot::testing
