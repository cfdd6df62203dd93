// SPDX-License-Identifier: Apache-2.0
// Waiting and watching, and a restart in between.
#include <set>
#include <string>
#include <vector>

#include "base/sanitizers.h"
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

TEST_F(WaitTest, ResultsArePushedAsTheyComplete) {
  HttpClient http = Http();
  WsClient worker = Worker();
  Greet(worker);
  const std::string id = Submit(http, R"({"tag":"t","count":4,"max_attempts":1,"max_failed_tasks":4})");
  worker.Send(R"({"pull":4})");
  std::vector<Json> tasks;
  while (tasks.size() < 4) {
    const Json news = worker.ReadUntil("tasks")["tasks"];
    for (std::size_t i = 0; i < news.size(); ++i) tasks.push_back(news[i]);
  }
  WsClient reader(port(), kQueue + "/wait");
  reader.Send(R"({"results":[{"job":")" + id + R"(","credit":2}]})");
  const auto done = [&](std::size_t at, const std::string& kind, const std::string& more) {
    worker.Send(R"({"seq":1,")" + kind + R"(":[)" + Ref(tasks[at]) + more + "}]}");
    worker.ReadUntil("ack");
  };
  const auto told = [&](const std::string& items, bool end) {
    return R"([{"job":")" + id + R"(","results":)" + items + R"(,"end":)" + (end ? "true" : "false") + "}]";
  };
  done(2, "done", R"(,"result":{"n": 2})");
  EXPECT_EQ(reader.Read()["results"].text(), told(R"([{"index":2,"state":"done","result":{"n":2}}])", false));
  done(0, "failed", R"(,"error":"no")");
  EXPECT_EQ(reader.Read()["results"].text(), told(R"([{"index":0,"state":"failed","error":"no"}])", false));
  done(3, "done", "");  // beyond its credit
  reader.Send(R"({"results":[{"job":")" + id + R"(","credit":9}]})");
  EXPECT_EQ(reader.Read()["results"].text(), told(R"([{"index":3,"state":"done"}])", false));
  // One that comes later, with what it has, misses nothing and gets nothing twice.
  WsClient later(port(), kQueue + "/wait");
  later.Send(R"({"results":[{"job":")" + id + R"(","credit":9,"have":[{"from":0,"to":1},{"from":2,"to":3}]}]})");
  EXPECT_EQ(later.Read()["results"].text(), told(R"([{"index":3,"state":"done"}])", false));
  http.Post(kJobs + "/" + id + "/cancel");
  for (WsClient* one : {&reader, &later})
    EXPECT_EQ(one->Read()["results"].text(), told(R"([{"index":1,"state":"skipped"}])", true));
  // The end needs no credit.
  const std::string one = Submit(http, R"({"tag":"t"})");
  reader.Send(R"({"results":[{"job":")" + one + R"(","credit":1}]})");
  http.Post(kJobs + "/" + one + "/cancel");
  const Json skipped = reader.Read()["results"][0];
  EXPECT_TRUE(skipped["end"].flag() || reader.Read()["results"][0]["end"].flag());
  // What is over is told at once, and again to whoever asks anew.
  later.Send(R"({"results":[{"job":")" + id + R"(","credit":3},{"job":"12345","credit":1}]})");
  EXPECT_EQ(later.Read()["results"][0]["results"].size(), 3u);
  EXPECT_EQ(later.Read()["unknown"].text(), R"(["12345"])");
  later.Send(R"({"results":[{"job":")" + id + R"(","credit":3}]})");
  const Json last = later.Read()["results"][0];
  EXPECT_EQ(last["results"].size(), 1u);
  EXPECT_TRUE(last["end"].flag());
}

TEST_F(WaitTest, PushedResultsSurviveARestart) {
  std::string id;
  {
    HttpClient http = Http();
    WsClient worker = Worker();
    Greet(worker);
    id = Submit(http, R"({"tag":"t","count":3})");
    WsClient reader(port(), kQueue + "/wait");
    reader.Send(R"({"results":[{"job":")" + id + R"(","credit":10}]})");
    Work(worker, 2);
    std::size_t results = 0;
    while (results < 2) results += reader.Read()["results"][0]["results"].size();
    Stop();
    EXPECT_EQ(reader.ReadText(), "");
  }
  Start();
  WsClient reader(port(), kQueue + "/wait");
  reader.Send(R"({"results":[{"job":")" + id + R"(","credit":10,"have":[{"from":0,"to":2}]}]})");
  WsClient worker = Worker();
  Greet(worker);
  Work(worker, 1);
  const Json news = reader.Read()["results"][0];
  EXPECT_EQ(news["results"].text(), R"([{"index":2,"state":"done","result":2}])");
  EXPECT_TRUE(news["end"].flag() || reader.Read()["results"][0]["end"].flag());
}

TEST_F(WaitTest, ManyLargeResultsComeInSeveralMessages) {
  HttpClient http = Http();
  WsClient worker = Worker();
  Greet(worker);
  const std::string id = Submit(http, R"({"tag":"t","count":40})");
  const std::string result = "\"" + std::string(40'000, 'x') + "\"";
  for (int i = 0; i < 40; ++i) {
    worker.Send(R"({"pull":1})");
    const Json task = worker.ReadUntil("tasks")["tasks"][0];
    worker.Send(R"({"seq":1,"done":[)" + Ref(task) + R"(,"result":)" + result + "}]}");
    worker.ReadUntil("ack");
  }
  WsClient reader(port(), kQueue + "/wait");
  reader.Send(R"({"results":[{"job":")" + id + R"(","credit":1000}]})");
  std::set<std::int64_t> told;
  int messages = 0;
  for (bool end = false; !end; ++messages) {
    const Json news = reader.Read()["results"][0];
    ASSERT_TRUE(news.there());
    for (std::size_t i = 0; i < news["results"].size(); ++i) {
      EXPECT_TRUE(told.insert(news["results"][i]["index"].num()).second);
      EXPECT_EQ(news["results"][i]["result"].text(), result);
    }
    end = news["end"].flag();
  }
  EXPECT_EQ(told.size(), 40u);
  EXPECT_GT(messages, 3);
}

TEST_F(WaitTest, WhatIsAskedOfResultsIsBounded) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t"})");
  struct Row {
    std::string entry;
    const char* code;
  };
  const std::string job = R"({"job":")" + id + "\"";
  for (const Row& row : {Row{R"({"credit":1})", "bad_value"}, Row{job + "}", "bad_value"},
                         Row{job + R"(,"credit":0})", "bad_value"}, Row{job + R"(,"credit":10001})", "bad_value"},
                         Row{job + R"(,"credit":1,"have":[{"from":2,"to":2}]})", "bad_value"},
                         Row{job + R"(,"credit":1,"from":2})", "unknown_field"}}) {
    WsClient reader(port(), kQueue + "/wait");
    reader.Send(R"({"results":[)" + row.entry + "]}");
    EXPECT_EQ(reader.Read()["error"]["code"].str(), row.code) << row.entry;
  }
  std::string entries;
  for (int i = 0; i < 65; ++i) {
    entries += std::string(i > 0 ? "," : "") + R"({"job":")" + Submit(http, R"({"tag":"t"})") + R"(","credit":1})";
  }
  WsClient reader(port(), kQueue + "/wait");
  reader.Send(R"({"results":[)" + entries + "]}");
  EXPECT_EQ(reader.Read()["error"]["code"].str(), "too_many_waits");
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

TEST_F(WaitTest, EventsOfAJobThatIsNotKeptEndWithAnError) {
  HttpClient http = Http();
  HttpClient watcher = Http();
  const std::string id = Submit(http, R"({"tag":"t","retention_ms":0})");
  WsClient waiter(port(), "/v1/queues/default/wait");
  waiter.Send(R"({"wait":[")" + id + R"("]})");
  watcher.Watch(kJobs + "/" + id + "/events");
  EXPECT_EQ(watcher.NextEvent().first, "job");
  http.Post(kJobs + "/" + id + "/cancel");
  const auto [event, data] = watcher.NextEvent();
  EXPECT_TRUE(event == "end" || (event == "error" && data["error"]["code"].str() == "unknown_job"))
      << event << data.text();
  EXPECT_EQ(watcher.ReadAll(), "");
  const Json told = waiter.Read();
  EXPECT_TRUE(told["ended"].size() == 1 || told["unknown"].size() == 1) << told.text();
}

TEST_F(WaitTest, ADeletedQueueLetsGoOfAllWhoWaitOrWatch) {
  HttpClient http = Http();
  ASSERT_EQ(http.Post("/v1/queues", R"({"name":"q"})").status, 201);
  const std::string jobs = "/v1/queues/q/jobs";
  const std::string id = http.Post(jobs, R"({"tag":"t"})").json["job"]["id"].str();
  HttpClient watcher = Http();
  watcher.Watch(jobs + "/" + id + "/events");
  EXPECT_EQ(watcher.NextEvent().first, "job");
  WsClient idle(port(), "/v1/queues/q/wait");
  WsClient waiter(port(), "/v1/queues/q/wait");
  waiter.Send(R"({"wait":[")" + id + R"(","1"]})");
  EXPECT_EQ(waiter.Read()["unknown"].size(), 1u);
  HttpClient polling = Http(), results = Http();
  polling.Write("GET " + jobs + "/" + id + "?wait_ms=60000 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  results.Write("GET " + jobs + "/" + id + "/results?wait_ms=60000 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  // An upload that has begun, and one that begins only then.
  const std::string head =
      "POST /v1/queues/q/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
      "Content-Length: 100000000\r\n\r\n";
  HttpClient upload = Http(), late = Http();
  upload.Write(head + "{\"tag\":\"t\"}\n1\n");
  late.Write(head);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // they are all there
  ASSERT_EQ(http.Do(http::verb::delete_, "/v1/queues/q?force=true").status, 200);

  const auto [event, data] = watcher.NextEvent();
  EXPECT_EQ(event, "error");
  EXPECT_EQ(data["error"]["code"].str(), "unknown_queue");
  EXPECT_EQ(watcher.ReadAll(), "");
  for (WsClient* const client : {&idle, &waiter}) {
    EXPECT_EQ(client->Read()["error"]["code"].str(), "unknown_queue");
    EXPECT_EQ(client->ReadText(), "");
  }
  EXPECT_EQ(polling.Read().code(), "unknown_queue");
  EXPECT_EQ(results.Read().code(), "unknown_queue");
  late.Write("{\"tag\":\"t\"}\n1\n");
  EXPECT_EQ(late.Read().code(), "unknown_queue");
  // More than may be unwritten: it would wait for that for ever.
  const std::string line = "\"" + std::string(100'000, 'x') + "\"\n";
  beast::error_code ec;
  for (int i = 0; i < 60 && !ec; ++i) asio::write(upload.socket(), asio::buffer(line), ec);
  EXPECT_EQ(upload.Read().code(), "unknown_queue");
}

TEST_F(WaitTest, ManyResultsComeInOrder) {
  HttpClient http = Http();
  WsClient worker = Worker();
  Greet(worker);
  const std::string id = Submit(http, R"({"tag":"t","count":20})");
  Work(worker, 20);
  const Json all = http.Get(kJobs + "/" + id + "/results").json;
  ASSERT_EQ(all["results"].size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(all["results"][i]["result"].num(), static_cast<std::int64_t>(i));
  EXPECT_TRUE(all["next"].null());
  EXPECT_EQ(http.Get(kJobs + "/" + id + "/tasks").json["tasks"].size(), 20u);
}

// In CPU time of the engine thread: those who wait for a task cost little when others end.
TEST_F(WaitTest, WaitingForResultsCostsNoPageForEachTaskThatEnds) {
  HttpClient http = Http();
  WsClient worker = Worker();
  worker.Send(R"({"hello":{"name":"w","tags":["t"],"slots":1000}})");
  worker.Read();
  const std::string id = Submit(http, R"({"tag":"t","count":1000})");
  worker.Send(R"({"pull":1000})");
  std::vector<std::string> refs(1000);
  for (std::size_t got = 0; got < refs.size();) {
    const Json tasks = worker.ReadUntil("tasks")["tasks"];
    for (std::size_t i = 0; i < tasks.size(); ++i, ++got) {
      refs[static_cast<std::size_t>(tasks[i]["index"].num())] = Ref(tasks[i]);
    }
  }
  std::vector<std::unique_ptr<HttpClient>> waiting;
  for (int i = 0; i < 200; ++i) {
    waiting.push_back(std::make_unique<HttpClient>(port()));
    waiting.back()->Write("GET " + kJobs + "/" + id +
                          "/results?limit=1000&wait_ms=60000 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  const auto effects = [&](const std::string& what) {
    const std::string text = http.Get("/metrics").body;
    const std::string name = "allotter_engine_step_seconds_" + what + "{kind=\"effects\",queue=\"default\"} ";
    const std::size_t at = text.find(name);
    EXPECT_NE(at, std::string::npos) << text;
    return at == std::string::npos ? 0.0 : std::strtod(text.c_str() + at + name.size(), nullptr);
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // they wait
  const double before = effects("sum");
  for (std::size_t i = 1; i <= 100; ++i) {
    worker.Send(R"({"seq":1,"done":[)" + refs[i] + "}]}");
    worker.ReadUntil("ack");
  }
  const double each = (effects("sum") - before) / 100;
  constexpr double kMost = ALLOT_SANITIZED ? 0.05 : 0.002;
  EXPECT_LT(each, kMost) << "seconds of the engine thread for one task that ends";
  // And the first one is what they wait for.
  worker.Send(R"({"seq":1,"done":[)" + refs[0] + "}]}");
  worker.ReadUntil("ack");
  for (auto& client : waiting) EXPECT_EQ(client->Read().json["results"].size(), 101u);
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
  EXPECT_EQ(job.json["running"].num(), 1);
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
    while (http.Get(kJobs + "/" + id).json["queued"].num() != 1) std::this_thread::yield();
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
