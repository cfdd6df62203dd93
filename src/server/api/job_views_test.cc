// SPDX-License-Identifier: Apache-2.0
// A job's tasks seen from afar, over real sockets: picture, errors in groups, why it is held.
#include "server/testing.h"
#include "server/testing_tokens.h"

namespace allot::testing {
namespace {

class JobViewsTest : public ServerTest {
 protected:
  // Takes a task and reports it failed with that text.
  void FailOne(WsClient& worker, const std::string& error) {
    worker.Send(R"({"pull":1})");
    const Json task = worker.ReadUntil("tasks")["tasks"][0];
    worker.Send(R"({"seq":9,"failed":[)" + Ref(task) + R"(,"error":")" + error + R"("}]})");
    worker.ReadUntil("ack");
  }
  void DoOne(WsClient& worker) {
    worker.Send(R"({"pull":1})");
    const Json task = worker.ReadUntil("tasks")["tasks"][0];
    worker.Send(R"({"seq":9,"done":[)" + Ref(task) + "}]}");
    worker.ReadUntil("ack");
  }
};

TEST_F(JobViewsTest, AJobShowsWhatItWasSubmittedWithWhereThatIsAskedFor) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t","count":2,"payload":{"scene": 7}})");
  EXPECT_FALSE(http.Get(kJobs + "/" + id).json["payload"].there());
  EXPECT_EQ(http.Get(kJobs + "/" + id + "?payload=true").json["payload"].text(), R"({"scene":7})");
  EXPECT_EQ(http.Get(kJobs + "/" + id + "?payload=1").code(), "bad_value");
  const std::string own = Submit(http, R"({"tag":"t","payloads":[1,2]})");
  EXPECT_FALSE(http.Get(kJobs + "/" + own + "?payload=true").json["payload"].there());
}

TEST_F(JobViewsTest, APictureHasTheTasksInParts) {
  HttpClient http = Http();
  WsClient worker = Worker();
  Greet(worker);
  const std::string id = Submit(http, R"({"tag":"t","count":10})");
  DoOne(worker);
  const std::string path = kJobs + "/" + id + "/picture";
  const Json picture = http.Get(path + "?parts=5").json;
  EXPECT_EQ(picture["job"].str(), id);
  EXPECT_EQ(picture["count"].num(), 10);
  EXPECT_EQ(picture["to"].num(), 10);
  EXPECT_EQ(picture["width"].num(), 2);
  EXPECT_EQ(picture["done"].text(), "[1,0,0,0,0]");
  EXPECT_EQ(picture["queued"].text(), "[1,2,2,2,2]");
  EXPECT_EQ(picture["failed"].size(), 5u);
  EXPECT_EQ(http.Get(path + "?from=4&to=6&parts=5").json["queued"].text(), "[1,1]");
  EXPECT_EQ(http.Get(path).json["queued"].size(), 10u);
  struct Row {
    const char* query;
    const char* code;
  };
  for (const Row& row : {Row{"?parts=0", "bad_value"}, Row{"?parts=1001", "bad_value"},
                         Row{"?from=5&to=5", "bad_value"}, Row{"?part=3", "unknown_field"}}) {
    EXPECT_EQ(http.Get(path + row.query).code(), row.code) << row.query;
  }
  EXPECT_EQ(http.Get(kJobs + "/1/picture").code(), "unknown_job");
  EXPECT_EQ(http.Post(path).code(), "method_not_allowed");
}

TEST_F(JobViewsTest, APictureIsWatched) {
  HttpClient http = Http();
  HttpClient watcher = Http();
  WsClient worker = Worker();
  Greet(worker);
  const std::string id = Submit(http, R"({"tag":"t","count":3})");
  watcher.Watch(kJobs + "/" + id + "/picture?parts=1");
  EXPECT_EQ(watcher.NextEvent().second["done"].text(), "[0]");
  DoOne(worker);
  EXPECT_EQ(watcher.NextEvent().second["done"].text(), "[1]");
}

TEST_F(JobViewsTest, ErrorsComeInGroups) {
  HttpClient http = Http();
  WsClient worker = Worker();
  Greet(worker);
  const std::string id = Submit(http, R"({"tag":"t","count":8,"max_attempts":1,"max_failed_tasks":8})");
  DoOne(worker);
  FailOne(worker, "exit status 1");
  FailOne(worker, "no space on /dev/sda1");
  DoOne(worker);
  FailOne(worker, "exit status 137");
  const std::string path = kJobs + "/" + id + "/errors";
  EXPECT_EQ(http.Get(path).body,
            R"({"job":")" + id +
                R"(","groups":[{"text":"exit status #","example":"exit status 1","tasks":2,"first":1,"last":4},)"
                R"({"text":"no space on /dev/sda#","example":"no space on /dev/sda1","tasks":1,"first":2,"last":2}],)"
                R"("examined":3,"next":null})");
  // In pages.
  const Json first = http.Get(path + "?limit=2").json;
  EXPECT_EQ(first["examined"].num(), 2);
  ASSERT_FALSE(first["next"].null());
  const Json second = http.Get(path + "?limit=2&from=" + std::to_string(first["next"].num())).json;
  EXPECT_EQ(second["groups"][0]["example"].str(), "exit status 137");
  EXPECT_TRUE(second["next"].null());
  EXPECT_EQ(http.Get(path + "?from=100").json["examined"].num(), 0);
  EXPECT_EQ(http.Get(path + "?limit=10001").code(), "bad_value");
}

TEST_F(JobViewsTest, WhatWaitsForItsNextAttemptHasAnErrorToo) {
  HttpClient http = Http();
  WsClient worker = Worker();
  Greet(worker);
  const std::string id =
      Submit(http, R"({"tag":"t","count":2,"max_attempts":3,"backoff":{"first_ms":3600000,"max_ms":3600000}})");
  FailOne(worker, "once");
  const Json errors = http.Get(kJobs + "/" + id + "/errors").json;
  EXPECT_EQ(errors["groups"][0]["text"].str(), "once");
  EXPECT_EQ(errors["examined"].num(), 1);
}

TEST_F(JobViewsTest, ManyErrorsAreLookedAtInPages) {
  HttpClient http = Http();
  WsClient worker = Worker();
  worker.Send(R"({"hello":{"name":"w","tags":["t"],"slots":1000}})");
  ASSERT_TRUE(worker.Read()["welcome"].there());
  constexpr int kCount = 1300;  // more than the engine is asked for at once
  const std::string id = Submit(http, R"({"tag":"t","count":)" + std::to_string(kCount) +
                                          R"(,"max_attempts":1,"max_failed_tasks":)" + std::to_string(kCount) + "}");
  for (int seen = 0; seen < kCount;) {
    worker.Send(R"({"pull":500})");
    const Json tasks = worker.ReadUntil("tasks")["tasks"];
    ASSERT_GT(tasks.size(), 0u);
    std::string failed;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      failed += (i == 0 ? "" : ",") + Ref(tasks[i]) + R"(,"error":"lost )" + std::to_string(i) + "\"}";
    }
    worker.Send(R"({"seq":9,"failed":[)" + failed + "]}");
    worker.ReadUntil("ack");
    seen += static_cast<int>(tasks.size());
  }
  std::int64_t examined = 0, tasks = 0, from = 0;
  int requests = 0;
  for (; from >= 0 && requests < 100; ++requests) {
    const Json page = http.Get(kJobs + "/" + id + "/errors?limit=10000&from=" + std::to_string(from)).json;
    examined += page["examined"].num();
    tasks += page["groups"][0]["tasks"].num();
    from = page["next"].null() ? -1 : page["next"].num();
  }
  EXPECT_EQ(examined, kCount);
  EXPECT_EQ(tasks, kCount);
  EXPECT_LE(requests, 20);
}

TEST_F(JobViewsTest, TokensSeeTheirOwnJobsAlone) {
  Stop();
  const std::string ann = MakeToken(config_, "ann", {Scope::kRead, Scope::kSubmit}, "ann");
  const std::string bob = MakeToken(config_, "bob", {Scope::kRead}, "bob");
  const std::string submit = MakeToken(config_, "submit", {Scope::kSubmit});
  Start();
  HttpClient http = Http();
  http.token = ann;
  const std::string path = kJobs + "/" + Submit(http, R"({"tag":"t","count":3})");
  EXPECT_EQ(http.Get(path + "/picture").status, 200);
  EXPECT_EQ(http.Get(path + "/errors").status, 200);
  http.token = bob;
  EXPECT_EQ(http.Get(path + "/picture").code(), "unknown_job");
  EXPECT_EQ(http.Get(path + "/errors").code(), "unknown_job");
  http.token = submit;
  EXPECT_EQ(http.Get(path + "/picture").code(), "forbidden");
  EXPECT_EQ(http.Get(path + "/errors").code(), "forbidden");
}

TEST_F(JobViewsTest, AListSaysWhyAJobIsHeld) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"nobody-has-it"})");
  Json held;
  for (int i = 0; i < 400; ++i) {  // a second or two after it came
    held = http.Get(kJobs).json["jobs"][0]["held"];
    if (held["code"].str() == "no_workers") break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(held["code"].str(), "no_workers");
  EXPECT_EQ(held["kind"].str(), "operator");
  http.Post(kJobs + "/" + id + "/cancel");
  EXPECT_TRUE(http.Get(kJobs + "/" + id).json["held"].null());
}

}  // namespace
}  // namespace allot::testing
