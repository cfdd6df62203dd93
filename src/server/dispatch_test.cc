// SPDX-License-Identifier: Apache-2.0
// Who holds a queued task, over real sockets: the settings, what workers and jobs tell of promises, and to whom.
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "server/ops/tokens.h"
#include "server/testing.h"
#include "server/testing_tokens.h"
#include "server/wire/request_json.h"
#include "store/sqlite/sqlite_store.h"

namespace allot::testing {
namespace {

using namespace std::chrono_literals;

TEST(ReadSettings, DispatchAndBalance) {
  QueueSettings settings;
  ParseQueueChange(R"({"settings":{"dispatch":"balanced","balance":"round_robin"}})")->ApplyTo(settings);
  EXPECT_EQ(settings.dispatch, (DispatchOptions{DispatchMode::kBalanced, Balance::kRoundRobin}));
  ParseQueueChange(R"({"settings":{"balance":"random"}})")->ApplyTo(settings);
  EXPECT_EQ(settings.dispatch, (DispatchOptions{DispatchMode::kBalanced, Balance::kRandom}));
  ParseQueueChange(R"({"settings":{"dispatch":null,"balance":null}})")->ApplyTo(settings);
  EXPECT_EQ(settings.dispatch, DispatchOptions());
}

class DispatchTest : public ServerTest {
 protected:
  static Answer Set(HttpClient& http, const std::string& settings) {
    return http.Do(http::verb::patch, kQueue, R"({"settings":)" + settings + "}");
  }
  static Json Register(HttpClient& http, const std::string& name) {
    const Answer answer = http.Post(kWorkers, R"({"name":")" + name + R"(","tags":["t"],"slots":20})");
    EXPECT_EQ(answer.status, 201) << answer.body;
    return answer.json;
  }
  static Answer Show(HttpClient& http, const Json& worker) { return http.Get(kWorkers + "/" + worker["worker"].str()); }
  // What takes steps is asked for again, for ten seconds.
  static bool Soon(const std::function<bool()>& holds) {
    const auto until = std::chrono::steady_clock::now() + 10s;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(2ms);
    }
    return true;
  }
  // Takes so many tasks, in as many pulls as that needs, reports them done, and tells which indices they were.
  static std::multiset<std::int64_t> Work(HttpClient& http, const Json& worker, std::size_t tasks) {
    const std::string pull = kWorkers + "/" + worker["worker"].str() + "/pull";
    const std::string key = R"({"key":")" + worker["key"].str() + "\"";
    std::multiset<std::int64_t> indices;
    std::string done;
    while (indices.size() < tasks) {
      const Answer got =
          http.Post(pull, key + R"(,"pull":)" + std::to_string(tasks - indices.size()) + R"(,"wait_ms":5000})");
      if (got.json["tasks"].size() == 0) break;
      for (std::size_t i = 0; i < got.json["tasks"].size(); ++i) {
        indices.insert(got.json["tasks"][i]["index"].num());
        done += (done.empty() ? "" : ",") + Ref(got.json["tasks"][i]) + "}";
      }
    }
    const Answer reported = http.Post(pull, key + R"(,"done":[)" + done + "]}");
    EXPECT_EQ(reported.json["stale"].size(), 0u) << reported.body;
    return indices;
  }
  static std::multiset<std::int64_t> Upto(std::int64_t count) {
    std::multiset<std::int64_t> all;
    for (std::int64_t i = 0; i < count; ++i) all.insert(i);
    return all;
  }
};

TEST_F(DispatchTest, AQueuesDispatchIsSetAndShown) {
  HttpClient http = Http();
  EXPECT_EQ(http.Get(kQueue).json["settings"]["dispatch"].str(), "fanout");
  EXPECT_EQ(http.Get(kQueue).json["settings"]["balance"].str(), "least_queue");
  const Answer set = Set(http, R"({"dispatch":"balanced"})");
  ASSERT_EQ(set.status, 200) << set.body;
  EXPECT_EQ(set.json["settings"]["dispatch"].str(), "balanced");
  EXPECT_EQ(set.json["settings"]["balance"].str(), "least_queue");
  EXPECT_EQ(Set(http, R"({"balance":"random"})").json["settings"]["balance"].str(), "random");
  EXPECT_EQ(http.Get("/v1/queues").json["queues"][0]["settings"]["dispatch"].str(), "balanced");
  const Answer made = http.Post("/v1/queues", R"({"name":"q","settings":{"dispatch":"balanced","balance":"random"}})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json["settings"]["dispatch"].str(), "balanced");
  EXPECT_EQ(made.json["settings"]["balance"].str(), "random");
}

TEST_F(DispatchTest, OtherWordsAreRefusedWithThoseThatAre) {
  HttpClient http = Http();
  struct Row {
    const char* settings;
    const char* message;
    const char* hint;
  };
  const Row rows[] = {
      {R"({"dispatch":"balance"})", "`settings.dispatch` must be one of fanout, balanced", "did you mean `balanced`?"},
      {R"({"dispatch":"Fanout"})", "`settings.dispatch` must be one of fanout, balanced", "did you mean `fanout`?"},
      {R"({"dispatch":"FANOUT"})", "`settings.dispatch` must be one of fanout, balanced", "did you mean `fanout`?"},
      {R"({"dispatch":""})", "`settings.dispatch` must be one of fanout, balanced", ""},
      {R"({"balance":"least-queue"})", "`settings.balance` must be one of least_queue, round_robin, random",
       "did you mean `least_queue`?"},
      {R"({"balance":"balanced"})", "`settings.balance` must be one of least_queue, round_robin, random", ""},
      {R"({"balance":1})", "`settings.balance` must be a string", ""},
      {R"({"dispatch":["fanout"]})", "`settings.dispatch` must be a string", ""},
  };
  for (const Row& row : rows) {
    const Answer refused = Set(http, row.settings);
    EXPECT_EQ(refused.status, 400) << refused.body;
    EXPECT_EQ(refused.code(), "bad_value") << refused.body;
    EXPECT_EQ(refused.json["error"]["message"].str(), row.message);
    EXPECT_EQ(refused.json["error"]["hint"].str(), row.hint);
  }
  // One mistake, and the rest of the change does not happen either.
  EXPECT_EQ(Set(http, R"({"dispatch":"balanced","balance":"none"})").code(), "bad_value");
  EXPECT_EQ(http.Get(kQueue).json["settings"]["dispatch"].str(), "fanout");
  EXPECT_EQ(http.Post("/v1/queues", R"({"name":"q","settings":{"dispatch":"none"}})").code(), "bad_value");
  EXPECT_EQ(Set(http, R"({"dispatc":"fanout"})").json["error"]["hint"].str(), "did you mean `dispatch`?");
}

TEST_F(DispatchTest, ItIsKeptOverARestart) {
  {
    HttpClient http = Http();
    ASSERT_EQ(Set(http, R"({"dispatch":"balanced","balance":"random"})").status, 200);
  }
  Stop();
  Start();
  HttpClient http = Http();
  EXPECT_EQ(http.Get(kQueue).json["settings"]["dispatch"].str(), "balanced");
  EXPECT_EQ(http.Get(kQueue).json["settings"]["balance"].str(), "random");
  EXPECT_TRUE(Show(http, Register(http, "w")).json["promised"].there());
}

TEST_F(DispatchTest, TheConfigurationIsForNewQueuesAlone) {
  {
    HttpClient http = Http();
    ASSERT_EQ(http.Post("/v1/queues", R"({"name":"old"})").status, 201);
  }
  Stop();
  {
    // As a version before these settings wrote it.
    SqliteOptions options;
    options.file = data_ + "/queues/old.db";
    const auto store = SqliteStore::Open(options);
    ASSERT_TRUE(store.ok()) << store.error().message;
    ASSERT_TRUE((*store)->PutSetting("settings", R"({"max_finished_jobs":7})").ok());
  }
  config_.queue_defaults.dispatch = {DispatchMode::kBalanced, Balance::kRoundRobin};
  Start();
  HttpClient http = Http();
  const Json old = http.Get("/v1/queues/old").json["settings"];
  EXPECT_EQ(old["max_finished_jobs"].num(), 7);
  EXPECT_EQ(old["dispatch"].str(), "fanout");
  EXPECT_EQ(old["balance"].str(), "least_queue");
  const Json made = http.Post("/v1/queues", R"({"name":"new"})").json["settings"];
  EXPECT_EQ(made["dispatch"].str(), "balanced");
  EXPECT_EQ(made["balance"].str(), "round_robin");
}

TEST_F(DispatchTest, UnderFanoutNothingIsSaidOfPromises) {
  HttpClient http = Http();
  const Json worker = Register(http, "w");
  const std::string job = Submit(http, R"({"tag":"t","count":10})");
  for (const char* field : {"promised", "promised_jobs", "queue"}) {
    EXPECT_FALSE(Show(http, worker).json[field].there()) << field;
    EXPECT_FALSE(http.Get(kWorkers).json["workers"][0][field].there()) << field;
  }
  EXPECT_FALSE(http.Get(kJobs + "/" + job).json["promised"].there());
}

TEST_F(DispatchTest, UnderBalancedAWorkerAlwaysHasItsFields) {
  HttpClient http = Http();
  ASSERT_EQ(Set(http, R"({"dispatch":"balanced"})").status, 200);
  const Json worker = Register(http, "w");
  EXPECT_EQ(Show(http, worker).json["promised"].num(), 0);
  EXPECT_EQ(Show(http, worker).json["promised_jobs"].num(), 0);
  EXPECT_EQ(Show(http, worker).json["queue"].text(), "[]");
  const Json listed = http.Get(kWorkers).json["workers"][0];
  EXPECT_EQ(listed["promised"].num(), 0);
  EXPECT_FALSE(listed["queue"].there());
}

TEST_F(DispatchTest, WorkersTellWhatTheyWerePromised) {
  HttpClient http = Http();
  ASSERT_EQ(Set(http, R"({"dispatch":"balanced"})").status, 200);
  const Json a = Register(http, "a"), b = Register(http, "b");
  const std::string low = Submit(http, R"({"tag":"t","count":10,"user":"ann"})");
  EXPECT_EQ(Show(http, a).json["promised"].num(), 5);
  EXPECT_EQ(Show(http, b).json["promised"].num(), 5);
  const std::string high = Submit(http, R"({"tag":"t","count":4,"user":"b\u0022ob","priority":7})");
  const Json list = http.Get(kWorkers).json["workers"];
  ASSERT_EQ(list.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(list[i]["promised"].num(), 7);
    EXPECT_EQ(list[i]["promised_jobs"].num(), 2);
    EXPECT_EQ(list[i]["running"].num(), 0);
  }
  EXPECT_EQ(Show(http, a).json["queue"].text(),
            R"([{"job":")" + high + R"(","tasks":2,"priority":7,"user":"b\"ob","tags":["t"]},)" +  //
                R"({"job":")" + low + R"(","tasks":5,"priority":null,"user":"ann","tags":["t"]}])");
  EXPECT_EQ(http.Get(kJobs + "/" + low).json["promised"].num(), 10);
  EXPECT_EQ(http.Get(kJobs + "/" + high).json["promised"].num(), 4);
  EXPECT_EQ(http.Get(kJobs + "/" + low).json["queued"].num(), 10);

  const std::string metrics = http.Get("/metrics").body;
  for (const char* line :
       {"allotter_dispatch{mode=\"balanced\",queue=\"default\"} 1",
        "allotter_dispatch{mode=\"fanout\",queue=\"default\"} 0", "allotter_tasks_promised{queue=\"default\"} 14",
        "allotter_longest_worker_queue{queue=\"default\"} 7", "allotter_dispatch_moves_total{queue=\"default\"} 0",
        "allotter_dispatch_steals_total{queue=\"default\"} 0",
        "allotter_dispatch_wasted_pops_total{queue=\"default\"} 0"}) {
    EXPECT_NE(metrics.find("\n" + std::string(line) + "\n"), std::string::npos) << line;
  }
}

TEST_F(DispatchTest, WhatOneDoesNotTakeAnotherDoes) {
  HttpClient http = Http();
  ASSERT_EQ(Set(http, R"({"dispatch":"balanced"})").status, 200);
  Register(http, "a");
  const Json b = Register(http, "b");
  const std::string job = Submit(http, R"({"tag":"t","count":10})");
  EXPECT_EQ(Show(http, b).json["promised"].num(), 5);
  EXPECT_EQ(Work(http, b, 10), Upto(10));
  EXPECT_EQ(http.Get(kJobs + "/" + job).json["state"].str(), "done");
  const std::string metrics = http.Get("/metrics").body;
  EXPECT_EQ(metrics.find("\nallotter_dispatch_steals_total{queue=\"default\"} 0\n"), std::string::npos);
  EXPECT_NE(metrics.find("\nallotter_dispatch_wasted_pops_total{queue=\"default\"} 0\n"), std::string::npos);
}

TEST_F(DispatchTest, GoingToTheOtherModeAndBackLosesAndDoublesNothing) {
  HttpClient http = Http();
  ASSERT_EQ(Set(http, R"({"dispatch":"balanced"})").status, 200);
  const Json a = Register(http, "a"), b = Register(http, "b");
  const std::string job = Submit(http, R"({"tag":"t","count":10,"priority":5})");
  const std::string later = Submit(http, R"({"tag":"t","count":6})");
  const auto promised = [&] { return http.Get(kJobs + "/" + job).json["promised"].num(); };
  EXPECT_EQ(promised(), 10);
  ASSERT_EQ(Set(http, R"({"dispatch":"fanout"})").status, 200);
  EXPECT_FALSE(Show(http, a).json["promised"].there());
  EXPECT_TRUE(Soon([&] { return promised() == -1; }));
  EXPECT_EQ(http.Get(kQueue).json["tasks"]["queued"].num(), 16);
  EXPECT_EQ(Work(http, b, 10), Upto(10));
  EXPECT_EQ(http.Get(kJobs + "/" + job).json["state"].str(), "done");
  ASSERT_EQ(Set(http, R"({"dispatch":"balanced"})").status, 200);
  EXPECT_TRUE(Soon([&] { return http.Get(kJobs + "/" + later).json["promised"].num() == 6; }));
  EXPECT_EQ(Show(http, a).json["promised"].num(), 3);
  EXPECT_EQ(Work(http, a, 6), Upto(6));
  const Json ended = http.Get(kJobs + "/" + later).json;
  EXPECT_EQ(ended["state"].str(), "done");
  EXPECT_EQ(ended["done"].num(), 6);
}

TEST_F(DispatchTest, WorkersOnASocketGetEveryTaskOnceWhileTheModeChanges) {
  using Took = std::multiset<std::pair<std::string, std::int64_t>>;
  constexpr int kChanges = 20, kTasks = 50;
  // Takes two at a time and reports them, until the server closes the connection.
  const auto work = [](WsClient& worker, Took& took) {
    worker.Send(R"({"pull":2})");
    for (int seq = 1;; ++seq) {
      const Json tasks = worker.ReadUntil("tasks")["tasks"];
      if (tasks.size() == 0) return;
      std::string done;
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        took.emplace(tasks[i]["job"].str(), tasks[i]["index"].num());
        done += (done.empty() ? "" : ",") + Ref(tasks[i]) + "}";
      }
      worker.Send(R"({"seq":)" + std::to_string(seq) + R"(,"pull":)" + std::to_string(tasks.size()) + R"(,"done":[)" +
                  done + "]}");
    }
  };
  WsClient a = Worker(), b = Worker();
  ASSERT_TRUE(Greet(a).there());
  ASSERT_TRUE(Greet(b).there());
  Took by_a, by_b, all;
  std::thread thread_a([&] { work(a, by_a); }), thread_b([&] { work(b, by_b); });
  HttpClient http = Http();
  int under_way = 0;
  for (int i = 0; i < kChanges; ++i) {
    const std::string job = Submit(http, R"({"tag":"t","count":)" + std::to_string(kTasks) + "}");
    for (int index = 0; index < kTasks; ++index) all.emplace(job, index);
    const Answer set = Set(http, i % 2 == 0 ? R"({"dispatch":"balanced"})" : R"({"dispatch":"fanout"})");
    EXPECT_EQ(set.status, 200) << set.body;
    if (set.json["tasks"]["queued"].num() > 0) ++under_way;
  }
  EXPECT_GT(under_way, 0) << "nothing was left to take while the mode changed";
  EXPECT_TRUE(Soon([&] { return http.Get(kQueue).json["jobs"]["done"].num() == kChanges; })) << http.Get(kQueue).body;
  EXPECT_NE(http.Get("/metrics").body.find("\nallotter_dispatch_wasted_pops_total{queue=\"default\"} 0\n"),
            std::string::npos);
  Stop();
  thread_a.join();
  thread_b.join();
  EXPECT_FALSE(by_a.empty());
  EXPECT_FALSE(by_b.empty());
  by_a.merge(by_b);
  EXPECT_EQ(by_a, all);
}

class DispatchTokenTest : public DispatchTest {
 protected:
  void SetUp() override {
    admin_ = MakeToken(config_, "admin", {Scope::kAdmin});
    ann_ = MakeToken(config_, "ann", {Scope::kRead}, "ann");
    work_ = MakeToken(config_, "work", {Scope::kWork});
    operate_ = MakeToken(config_, "operate", {Scope::kOperate});
    Start();
  }
  std::string admin_, ann_, work_, operate_;
};

TEST_F(DispatchTokenTest, ItTakesAnOperator) {
  HttpClient http = Http();
  http.token = ann_;
  EXPECT_EQ(Set(http, R"({"dispatch":"balanced"})").code(), "forbidden");
  EXPECT_EQ(http.Get(kQueue).json["settings"]["dispatch"].str(), "fanout");
  http.token = operate_;
  EXPECT_EQ(Set(http, R"({"dispatch":"balanced"})").status, 200);
}

TEST_F(DispatchTokenTest, WithoutReadAQueueIsNotShown) {
  HttpClient http = Http();
  http.token = admin_;
  ASSERT_EQ(Set(http, R"({"dispatch":"balanced"})").status, 200);
  const Json worker = Register(http, "w");
  const std::string path = kWorkers + "/" + worker["worker"].str();
  EXPECT_TRUE(http.Get(path).json["queue"].there());
  http.token = work_;
  const Answer own = http.Do(http::verb::patch, path, R"({"key":")" + worker["key"].str() + R"(","rank":"1"})");
  ASSERT_EQ(own.status, 200) << own.body;
  EXPECT_TRUE(own.json["promised"].there());
  EXPECT_FALSE(own.json["queue"].there());
  http.token = operate_;
  const Answer drained = http.Post(path + "/drain");
  ASSERT_EQ(drained.status, 200) << drained.body;
  EXPECT_FALSE(drained.json["queue"].there());
}

TEST_F(DispatchTokenTest, WhoSeesOneUsersJobsSeesTheseInAQueue) {
  HttpClient http = Http();
  http.token = admin_;
  ASSERT_EQ(Set(http, R"({"dispatch":"balanced"})").status, 200);
  const Json worker = http.Post(kWorkers, R"({"name":"w","tags":["t","secret-tag"],"slots":20})").json;
  const std::string own = Submit(http, R"({"tag":"t","count":3,"user":"ann"})");
  Submit(http, R"({"tag":"secret-tag","count":4,"user":"secret-bob","priority":9})");
  EXPECT_EQ(Show(http, worker).json["queue"].size(), 2u);
  http.token = ann_;
  const Answer seen = Show(http, worker);
  ASSERT_EQ(seen.status, 200) << seen.body;
  EXPECT_EQ(seen.json["queue"].text(),
            R"([{"job":")" + own + R"(","tasks":3,"priority":null,"user":"ann","tags":["t"]}])");
  EXPECT_EQ(seen.json["promised"].num(), 7);
  EXPECT_EQ(seen.json["promised_jobs"].num(), 2);
  EXPECT_EQ(seen.body.find("secret-bob"), std::string::npos) << seen.body;
}

TEST_F(DispatchTokenTest, TheOthersJobsDoNotCrowdOutTheOnesThatAreSeen) {
  HttpClient http = Http();
  http.token = admin_;
  ASSERT_EQ(Set(http, R"({"dispatch":"balanced"})").status, 200);
  const Json worker = Register(http, "w");
  for (int i = 0; i < 105; ++i) Submit(http, R"({"tag":"t","user":"bob","priority":9})");
  const std::string own = Submit(http, R"({"tag":"t","count":3,"user":"ann"})");
  EXPECT_EQ(Show(http, worker).json["queue"].size(), 100u);
  http.token = ann_;
  const Json seen = Show(http, worker).json;
  ASSERT_EQ(seen["queue"].size(), 1u) << seen.text();
  EXPECT_EQ(seen["queue"][0]["job"].str(), own);
  EXPECT_EQ(seen["promised"].num(), 108);
  EXPECT_EQ(seen["promised_jobs"].num(), 106);
}

}  // namespace
}  // namespace allot::testing
