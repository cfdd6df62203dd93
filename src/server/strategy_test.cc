// SPDX-License-Identifier: Apache-2.0
// Which task first, over real sockets: strategies of workers and of single pulls, policies, weights and names.
#include <string>
#include <vector>

#include "server/ops/tokens.h"
#include "server/testing.h"

namespace allot::testing {
namespace {

class StrategyTest : public ServerTest {
 protected:
  void SetUp() override {
    config_.strategies = {{"previews", ParseStrategy("select_only(mode = preview, oldest)").strategy}};
    Start();
  }
  static Answer Patch(HttpClient& http, const std::string& path, const std::string& body) {
    return http.Do(http::verb::patch, path, body);
  }
  // One-task jobs in the order of submission, by name.
  void SubmitSome(HttpClient& http) {
    const char* const rows[] = {R"("user":"ann","meta":{"mode":"bulk"})", R"("user":"ann","meta":{"mode":"preview"})",
                                R"("user":"bob","meta":{"mode":"bulk"})", R"("user":"cy","priority":9)"};
    for (const char* row : rows) ids_.push_back(Submit(http, std::string(R"({"tag":"t",)") + row + "}"));
  }
  std::string Name(const std::string& id) const {
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (ids_[i] == id) return std::string(1, static_cast<char>('A' + i));
    }
    return "?";
  }
  // What so many pulls of one task give, by name; `.` for nothing.
  std::string Order(WsClient& worker, int pulls, const std::string& more = "") {
    std::string order;
    for (int i = 0; i < pulls; ++i) {
      worker.Send(R"({"seq":1,"pull":1)" + more + "}");
      const Json tasks = worker.ReadUntil("ack")["tasks"];
      order += tasks.size() == 0 ? "." : Name(tasks[0]["job"].str());
    }
    return order;
  }
  std::vector<std::string> ids_;
};

TEST_F(StrategyTest, EachWorkerHasItsOwn) {
  HttpClient http = Http();
  SubmitSome(http);
  struct Row {
    const char* hello;
    const char* canonical;
    const char* first;
  };
  const Row rows[] = {
      {"", "priority", "D"},
      {R"(,"strategy":"newest")", "newest", "D"},
      {R"(,"strategy":"oldest")", "oldest", "A"},
      {R"(,"strategy":"previews")", R"x(select_only(mode = "preview", oldest))x", "B"},
      {R"(,"strategy":{"or_else":[{"select_only":{"key":"user","value":"bob","inner":"oldest"}},"oldest"]})",
       R"x(or_else(select_only(user = "bob", oldest), oldest))x", "C"},
  };
  for (const Row& row : rows) {
    WsClient worker = Worker();
    const Json welcome = Greet(worker, row.hello);
    EXPECT_EQ(http.Get(kWorkers + "/" + welcome["worker"].str()).json["strategy"].str(), row.canonical);
    EXPECT_EQ(Order(worker, 1), row.first) << row.canonical;
    worker.Send(R"({"bye":true})");  // what it holds is queued again
    while (http.Get(kQueue).json["tasks"]["running"].num() != 0) {
    }
  }
}

TEST_F(StrategyTest, APullMayAskForAnother) {
  HttpClient http = Http();
  SubmitSome(http);
  WsClient worker = Worker();
  Greet(worker, R"(,"strategy":"oldest")");
  EXPECT_EQ(Order(worker, 1, R"(,"strategy":"newest")"), "D");
  EXPECT_EQ(Order(worker, 1, R"(,"strategy":{"select_only":{"key":"mode","value":"preview","inner":"oldest"}})"), "B");
  EXPECT_EQ(Order(worker, 1), "A");

  const Json polling = http.Post(kWorkers, R"({"tags":["t"],"strategy":"newest"})").json;
  const std::string pull = kWorkers + "/" + polling["worker"].str() + "/pull";
  const std::string key = R"({"key":")" + polling["key"].str() + "\"";
  EXPECT_EQ(http.Post(pull, key + R"(,"pull":1,"strategy":"previews"})").json["tasks"].size(), 0u);
  const Answer bad = http.Post(pull, key + R"x(,"pull":1,"strategy":"fair(user, olest)"})x");
  EXPECT_EQ(bad.code(), "bad_value");
  EXPECT_EQ(bad.json["error"]["message"].str(),
            "`strategy`: there is no strategy `olest`: did you mean `oldest`? (at byte 11)");
  EXPECT_EQ(http.Post(pull, key + R"(,"strategy":"oldest"})").code(), "bad_value");
  const Answer got = http.Post(pull, key + R"(,"pull":1})");
  ASSERT_EQ(got.json["tasks"].size(), 1u) << got.body;
  EXPECT_EQ(Name(got.json["tasks"][0]["job"].str()), "C");
}

TEST_F(StrategyTest, AWorkersStrategyMayChange) {
  HttpClient http = Http();
  SubmitSome(http);
  WsClient worker = Worker();
  const Json welcome = Greet(worker, R"x(,"strategy":"select_only(mode = other, oldest)")x");
  const std::string path = kWorkers + "/" + welcome["worker"].str();
  EXPECT_EQ(Order(worker, 1), ".");
  // Its pull waits: the change itself brings the task.
  worker.Send(R"({"seq":2,"set":{"strategy":"oldest"}})");
  EXPECT_EQ(Name(worker.ReadUntil("tasks")["tasks"][0]["job"].str()), "A");
  const Answer changed = Patch(http, path, R"({"strategy":"newest"})");
  EXPECT_EQ(changed.json["strategy"].str(), "newest") << changed.body;
  EXPECT_EQ(worker.ReadUntil("set")["set"].text(), R"({"strategy":"newest"})");
  EXPECT_EQ(Order(worker, 1), "D");
  EXPECT_EQ(Patch(http, path, R"({"strategy":null})").json["strategy"].str(), "priority");
  EXPECT_EQ(worker.ReadUntil("set")["set"].text(), R"({"strategy":null})");
  EXPECT_EQ(Patch(http, path, R"({"strategy":"worker"})").code(), "bad_value");
}

TEST_F(StrategyTest, AQueuesPolicyHoldsForAllAndIsKept) {
  HttpClient http = Http();
  EXPECT_EQ(http.Get(kQueue).json["settings"]["policy"].str(), "worker");
  EXPECT_EQ(http.Get(kQueue).json["settings"]["weights"].text(), "{}");
  const Answer set = Patch(
      http, kQueue,
      R"({"settings":{"policy":{"max_simultaneous":{"key":"USER","max":1,"inner":"worker"}},"weights":{"user.ann":3}}})");
  ASSERT_EQ(set.status, 200) << set.body;
  EXPECT_EQ(set.json["settings"]["policy"].str(), "max_simultaneous(user, 1, worker)");
  EXPECT_EQ(set.json["settings"]["weights"].text(), R"({"user.ann":3})");
  SubmitSome(http);
  WsClient worker = Worker();
  Greet(worker, R"(,"strategy":"oldest")");
  EXPECT_EQ(Order(worker, 4), "ACD.");
  EXPECT_EQ(Patch(http, kQueue, R"({"settings":{"policy":"oldest"}})").code(), "bad_value");
  EXPECT_EQ(Patch(http, kQueue, R"({"settings":{"weights":{"user.bob":2,"user.ann":null}}})")
                .json["settings"]["weights"]
                .text(),
            R"({"user.bob":2})");
  // Without it there is room at once, and whoever waits gets it.
  EXPECT_EQ(Patch(http, kQueue, R"({"settings":{"policy":null}})").json["settings"]["policy"].str(), "worker");
  EXPECT_EQ(Name(worker.ReadUntil("tasks")["tasks"][0]["job"].str()), "B");
  ASSERT_EQ(Patch(http, kQueue, R"x({"settings":{"policy":"or_else(previews, worker)"}})x").status, 200);
  Stop();
  config_.strategies.clear();  // what the policy means was kept, not the name
  Start();
  HttpClient again = Http();
  const Json settings = again.Get(kQueue).json["settings"];
  EXPECT_EQ(settings["policy"].str(), R"x(or_else(select_only(mode = "preview", oldest), worker))x");
  EXPECT_EQ(settings["weights"].text(), R"({"user.bob":2})");
}

TEST_F(StrategyTest, AQueueMayBeMadeWithThem) {
  HttpClient http = Http();
  const Answer made =
      http.Post("/v1/queues", R"x({"name":"q","settings":{"policy":"fair(user, worker)","weights":{"user.ann":3}}})x");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json["settings"]["policy"].str(), "fair(user, worker)");
  EXPECT_EQ(made.json["settings"]["weights"].text(), R"({"user.ann":3})");
  EXPECT_EQ(http.Post("/v1/queues", R"x({"name":"r","settings":{"policy":"fair(user, oldest)"}})x").code(),
            "bad_value");
}

TEST_F(StrategyTest, NamesAndWords) {
  HttpClient http = Http();
  const Json all = http.Get("/v1/strategies").json["strategies"];
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["name"].str(), "fair");
  EXPECT_EQ(all[0]["strategy"].str(), "fair(user, or_else(select_only(async = false, least_recent), least_recent))");
  EXPECT_EQ(all[1]["name"].str(), "previews");
  EXPECT_EQ(all[1]["json"].text(), R"({"select_only":{"key":"mode","value":"preview","inner":"oldest"}})");
  EXPECT_EQ(http.Post("/v1/strategies", "{}").code(), "method_not_allowed");
  EXPECT_EQ(http.Get("/v1/strategies/check").code(), "method_not_allowed");
  EXPECT_EQ(http.Get("/v1/strategies/nothing").code(), "not_found");
  const Answer check = http.Post("/v1/strategies/check", R"x({"policy":"max_simultaneous(customer, 5, worker)"})x");
  ASSERT_EQ(check.status, 200) << check.body;
  EXPECT_NE(check.json["words"].str().find("5 running tasks"), std::string::npos) << check.body;
  EXPECT_EQ(http.Post("/v1/strategies/check", R"x({"strategy":"max_simultaneous(customer, 5, worker)"})x").code(),
            "bad_value");
}

TEST_F(StrategyTest, OneTooManyChangesNothing) {
  HttpClient http = Http();
  SubmitSome(http);
  std::vector<WsClient> others;
  // All that one may have: the rest is kept for others.
  int made = 0;
  for (Answer answer{}; made < 255; ++made) {
    answer = http.Post(kWorkers,
                       R"({"tags":["x"],"strategy":"select_only(mode = m)" + std::to_string(made) + R"x(, oldest)"})x");
    if (answer.status == 201) continue;
    ASSERT_EQ(answer.code(), "too_many_strategies") << answer.body;
    break;
  }
  EXPECT_EQ(made, 192);
  WsClient worker = Worker();
  Greet(worker);
  const std::string one_more = R"x("strategy":"select_only(mode = one_more, oldest)")x";
  EXPECT_EQ(http.Post(kWorkers, R"({"tags":["x"],)" + one_more + "}").code(), "too_many_strategies");
  worker.Send(R"({"seq":5,"pull":1,)" + one_more + "}");
  const Json refused = worker.ReadUntil("error");
  EXPECT_EQ(refused["error"]["code"].str(), "too_many_strategies");
  EXPECT_EQ(refused["seq"].num(), 5);
  worker.Send(R"({"seq":6,"set":{)" + one_more + "}}");
  EXPECT_EQ(worker.ReadUntil("error")["error"]["code"].str(), "too_many_strategies");
  EXPECT_EQ(Order(worker, 1), "D");  // and the connection goes on
}

class StrategyTokenTest : public StrategyTest {
 protected:
  void SetUp() override {
    TokenFile file(config_.tokens_file());
    const auto make = [&](const char* name, Scope scope, std::optional<std::string> user) {
      NewToken token;
      token.name = name;
      token.scopes.Add(scope);
      token.user = std::move(user);
      return file.Create(token, WallTime{})->text;
    };
    operate_ = make("operate", Scope::kOperate, {});
    read_ = make("read", Scope::kRead, {});
    ann_ = make("ann", Scope::kRead, "ann");
    StrategyTest::SetUp();
  }
  std::string operate_, read_, ann_;
};

TEST_F(StrategyTokenTest, WeightsNameOthers) {
  HttpClient http = Http();
  http.token = operate_;
  ASSERT_EQ(Patch(http, kQueue, R"({"settings":{"weights":{"user.bob":2}}})").status, 200);
  http.token = read_;
  EXPECT_EQ(http.Get(kQueue).json["settings"]["weights"].text(), R"({"user.bob":2})");
  EXPECT_EQ(Patch(http, kQueue, R"({"settings":{"policy":"worker"}})").code(), "forbidden");
  http.token = ann_;
  const std::string seen = http.Get(kQueue).json["settings"].text();
  EXPECT_NE(seen.find("\"dispatch\""), std::string::npos) << seen;
  for (const char* key : {"weights", "policy"}) EXPECT_EQ(seen.find(key), std::string::npos) << seen;
  EXPECT_EQ(http.Post(kQueue + "/strategy/try", R"({"strategy":"oldest"})").code(), "forbidden");
  EXPECT_EQ(http.Get("/v1/queues").json["queues"][0]["settings"].text(), seen);
  http.token = "";
  EXPECT_EQ(http.Get("/v1/strategies").status, 401);
}

}  // namespace
}  // namespace allot::testing
