// SPDX-License-Identifier: Apache-2.0
// What decides who may run what, over real sockets: declared keys, constraints, expressions, and changes of workers.
#include <atomic>
#include <string>

#include "server/ops/tokens.h"
#include "server/testing.h"

namespace allot::testing {
namespace {

class MatchTest : public ServerTest {
 protected:
  void SetUp() override {
    config_.queue_defaults.property_keys = {"gpu", "mem"};
    Start();
  }
  static Answer Patch(HttpClient& http, const std::string& path, const std::string& body) {
    return http.Do(http::verb::patch, path, body);
  }
  // What a pull gives at once: how many tasks.
  static std::size_t Pull(WsClient& worker, const std::string& more = "") {
    worker.Send(R"({"seq":1,"pull":1)" + more + "}");
    return worker.ReadUntil("ack")["tasks"].size();
  }
  static std::string PathOf(const Json& welcome) { return kWorkers + "/" + welcome["worker"].str(); }
};

TEST_F(MatchTest, KeysMayBeNumbers) {
  HttpClient http = Http();
  const std::string small = Submit(http, R"({"tag":"t","meta":{"6":1}})");
  const std::string large = Submit(http, R"({"tag":"t","meta":{"6":9},"requirements":"TARGET[\"07\"] >= MY[\"6\"]"})");
  EXPECT_EQ(http.Get(kJobs + "/" + large).json["meta"].text(), R"({"6":9})");
  EXPECT_EQ(http.Get(kJobs + "/" + large).json["requirements"].str(), R"(TARGET["07"] >= MY["6"])");
  WsClient worker = Worker();
  const std::string strategy = "prefer_distinct(6, oldest)";
  Greet(worker, R"(,"attributes":{"07":9},"requirements":"TARGET[\"6\"] > 1","strategy":")" + strategy + "\"");
  worker.Send(R"({"pull":2})");
  const Json tasks = worker.ReadUntil("tasks")["tasks"];
  EXPECT_EQ(tasks.size(), 1u);
  EXPECT_EQ(tasks[0]["job"].str(), large);
  EXPECT_NE(http.Get(kJobs + "/" + small + "/explain").body.find(R"(TARGET[\"6\"] > 1)"), std::string::npos);
}

TEST_F(MatchTest, AJobShowsWhatItDemands) {
  HttpClient http = Http();
  const Answer answer = http.Post(
      kJobs,
      R"({"tag":"t","constraints":[{"mem":"high","gpu":"a 100"},"c:gpu=h100"],"requirements":"TARGET.memory > 5","rank":2})");
  ASSERT_EQ(answer.status, 201) << answer.body;
  const Json job = http.Get(kJobs + "/last").json;
  EXPECT_EQ(job["constraints"].text(), R"([{"gpu":"a 100","mem":"high"},{"gpu":"h100"}])");
  EXPECT_EQ(job["constraint_tags"].text(), R"(["c:gpu=a%20100,mem=high","c:gpu=h100"])");
  EXPECT_EQ(job["requirements"].str(), "TARGET.memory > 5");
  EXPECT_EQ(job["rank"].str(), "2");
  const Answer changed =
      Patch(http, kJobs + "/last", R"({"constraints":{"mem":"low"},"requirements":null,"rank":"TARGET.memory"})");
  ASSERT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.json["constraint_tags"].text(), R"(["c:mem=low"])");
  EXPECT_TRUE(changed.json["requirements"].null());
  EXPECT_EQ(changed.json["rank"].str(), "TARGET.memory");
  EXPECT_EQ(Patch(http, kJobs + "/last", R"({"constraints":null})").json["constraints"].text(), "[]");
}

TEST_F(MatchTest, AStreamIsCheckedToo) {
  HttpClient http = Http();
  const std::string type = "application/x-ndjson";
  const Answer good = http.Post(kJobs, "{\"constraints\":{\"gpu\":\"a100\"}}\n1\n2\n", type);
  EXPECT_EQ(good.json["job"]["constraint_tags"].text(), R"(["c:gpu=a100"])") << good.body;
  const Answer bad = http.Post(kJobs, "{\"constraints\":{\"gup\":\"a100\"}}\n1\n2\n", type);
  EXPECT_EQ(bad.code(), "bad_value") << bad.body;
  EXPECT_NE(bad.json["error"]["message"].str().find("did you mean `gpu`?"), std::string::npos) << bad.body;
}

TEST_F(MatchTest, OnlyAWorkerWithThePropertyGetsTheTask) {
  HttpClient http = Http();
  Submit(http, R"({"tag":"t","constraints":{"gpu":"a100"}})");
  WsClient without = Worker();
  Greet(without);
  EXPECT_EQ(Pull(without), 0u);
  WsClient other = Worker();
  Greet(other, R"(,"properties":{"gpu":"h100","mem":"high"})");
  EXPECT_EQ(Pull(other), 0u);
  WsClient with = Worker();
  const Json welcome = Greet(with, R"(,"properties":{"gpu":"a100","mem":"high"})");
  const Json shown = http.Get(PathOf(welcome)).json;
  EXPECT_EQ(shown["properties"].text(), R"({"gpu":"a100","mem":"high"})");
  EXPECT_EQ(shown["constraint_tags"].text(), R"(["c:","c:gpu=a100","c:gpu=a100,mem=high","c:mem=high"])");
  EXPECT_EQ(Pull(with), 1u);
}

TEST_F(MatchTest, RequirementsOfBothSidesDecide) {
  HttpClient http = Http();
  Submit(http, R"({"tag":"t","requirements":"TARGET.memory >= 4096","meta":{"size":7}})");
  WsClient small = Worker();
  Greet(small, R"(,"attributes":{"memory":1024})");
  EXPECT_EQ(Pull(small), 0u);
  WsClient choosy = Worker();
  Greet(choosy, R"(,"attributes":{"memory":8192},"requirements":"TARGET.size < 5")");
  EXPECT_EQ(Pull(choosy), 0u);
  WsClient right = Worker();
  const Json welcome =
      Greet(right, R"(,"attributes":{"memory":8192},"requirements":"TARGET.size < 10","rank":"TARGET.size")");
  EXPECT_EQ(Pull(right), 1u);
  const Json shown = http.Get(PathOf(welcome)).json;
  EXPECT_EQ(shown["attributes"].text(), R"({"memory":8192})");
  EXPECT_EQ(shown["requirements"].str(), "TARGET.size < 10");
  EXPECT_EQ(shown["rank"].str(), "TARGET.size");
}

TEST_F(MatchTest, AWorkerThatChangesIsMatchedAnew) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t","constraints":{"gpu":"a100"},"count":2})");
  WsClient worker = Worker();
  const Json welcome = Greet(worker);
  EXPECT_EQ(Pull(worker), 0u);
  // Its pull waits: the change itself brings the task.
  worker.Send(R"({"seq":2,"set":{"properties":{"gpu":"a100"}}})");
  const Json tasks = worker.ReadUntil("tasks")["tasks"];
  ASSERT_EQ(tasks.size(), 1u);
  // What it holds stays.
  worker.Send(R"({"seq":3,"set":{"properties":null,"tags":["t"]}})");
  worker.ReadUntil("ack");
  EXPECT_EQ(http.Get(kJobs + "/" + id).json["running"].num(), 1);
  EXPECT_EQ(Pull(worker), 0u);
  worker.Send(R"({"seq":4,"done":[)" + Ref(tasks[0]) + "}]}");
  EXPECT_FALSE(worker.ReadUntil("ack")["stale"].there());
  EXPECT_EQ(http.Get(PathOf(welcome)).json["properties"].text(), "{}");
}

TEST_F(MatchTest, ABadChangeIsToldAndTheConnectionGoesOn) {
  HttpClient http = Http();
  WsClient worker = Worker();
  const Json welcome = Greet(worker, R"(,"properties":{"gpu":"a100"},"attributes":{"memory":1})");
  struct Row {
    const char* set;
    const char* message;
  };
  const Row rows[] = {
      {R"({"properties":{"gup":"a"}})", "did you mean `gpu`?"},
      {R"({"requirements":"1 +"})", "`set.requirements`: "},
      {R"({"attributes":{"GPU":1}})", "`GPU` is a property of this worker"},  // one that it has already
      {R"({"attributes":{"name":1}})", "`set.attributes.name`"},
  };
  int seq = 10;
  for (const Row& row : rows) {
    worker.Send(R"({"seq":)" + std::to_string(++seq) + R"(,"set":)" + row.set + ",\"pull\":1}");
    const Json answer = worker.Read();
    EXPECT_EQ(answer["error"]["code"].str(), "bad_value") << row.set;
    EXPECT_NE(answer["error"]["message"].str().find(row.message), std::string::npos) << answer.text();
    EXPECT_EQ(answer["seq"].num(), seq) << row.set;
  }
  const Json shown = http.Get(PathOf(welcome)).json;
  EXPECT_EQ(shown["properties"].text(), R"({"gpu":"a100"})");
  EXPECT_EQ(shown["attributes"].text(), R"({"memory":1})");
  EXPECT_EQ(shown["credit"].num(), 0);  // nothing of such a message holds
  worker.Send(R"({"seq":30,"set":{"properties":{"mem":"x"},"attributes":{"GPU":1}}})");
  EXPECT_EQ(worker.Read()["ack"].num(), 30);
}

TEST_F(MatchTest, AnOperatorsChangeIsToldToTheWorker) {
  HttpClient http = Http();
  Submit(http, R"({"tag":"t","constraints":{"gpu":"a100"},"requirements":"memory > 1"})");
  WsClient worker = Worker();
  const Json welcome = Greet(worker);
  EXPECT_EQ(Pull(worker), 0u);
  const Answer changed =
      Patch(http, PathOf(welcome), R"({"properties":{"gpu":"a100"},"attributes":{"memory":2},"rank":"1"})");
  ASSERT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.json["properties"].text(), R"({"gpu":"a100"})");
  EXPECT_EQ(changed.json["tags"].text(), R"(["t"])");
  bool told = false, served = false;
  while (!told || !served) {
    const Json message = worker.Read();
    ASSERT_TRUE(message.there());
    if (message["set"].there()) {
      EXPECT_EQ(message["set"].text(), R"({"properties":{"gpu":"a100"},"attributes":{"memory":2},"rank":"1"})");
      told = true;
    }
    served = served || message["tasks"].size() == 1;
  }
  EXPECT_EQ(Patch(http, PathOf(welcome), R"({"attributes":{"Gpu":1}})").code(), "bad_value");
  EXPECT_EQ(Patch(http, PathOf(welcome), "{}").code(), "bad_value");
  EXPECT_EQ(Patch(http, kWorkers + "/1", R"({"tags":[]})").code(), "unknown_worker");
  EXPECT_EQ(Patch(http, kWorkers, R"({"tags":[]})").code(), "method_not_allowed");
}

TEST_F(MatchTest, AWorkerOverHttpChangesItselfByItsKey) {
  HttpClient http = Http();
  Submit(http, R"({"tag":"t","constraints":{"gpu":"a100"},"count":3})");
  const Answer refused = http.Post(kWorkers, R"({"tags":["t"],"properties":{"gup":"a100"}})");
  EXPECT_EQ(refused.code(), "bad_value");
  const Json welcome = http.Post(kWorkers, R"({"tags":["t"],"attributes":{"memory":5}})").json;
  const std::string key = R"("key":")" + welcome["key"].str() + "\"";
  const std::string pull = PathOf(welcome) + "/pull";
  EXPECT_EQ(http.Post(pull, "{" + key + R"(,"pull":1})").json["tasks"].size(), 0u);
  EXPECT_EQ(Patch(http, PathOf(welcome), R"({"key":"0000000000000001","tags":[]})").code(), "unknown_worker");
  EXPECT_EQ(Patch(http, PathOf(welcome), "{" + key + R"(,"properties":{"gpu":"a100"}})").status, 200);
  Answer pulled = http.Post(pull, "{" + key + R"(,"pull":1})");
  EXPECT_EQ(pulled.json["tasks"].size(), 1u);
  EXPECT_FALSE(pulled.json["set"].there());  // its own doing
  // With a pull, too.
  pulled = http.Post(pull, "{" + key + R"(,"pull":1,"set":{"properties":null}})");
  EXPECT_EQ(pulled.json["tasks"].size(), 0u) << pulled.body;
  EXPECT_EQ(http.Post(pull, "{" + key + R"(,"set":{"attributes":{"Slots":1}}})").code(), "bad_value");
  // What others change comes with the next answer, once.
  EXPECT_EQ(Patch(http, PathOf(welcome), R"({"tags":["u"]})").status, 200);
  EXPECT_EQ(Patch(http, PathOf(welcome), R"({"attributes":null})").status, 200);
  pulled = http.Post(pull, "{" + key + "}");
  EXPECT_EQ(pulled.json["set"].text(), R"({"tags":["u"],"attributes":{}})") << pulled.body;
  EXPECT_FALSE(http.Post(pull, "{" + key + "}").json["set"].there());
}

class MatchTokenTest : public MatchTest {
  void SetUp() override {
    TokenFile file(config_.tokens_file());
    const auto make = [&](const char* name, Scope scope) {
      NewToken token;
      token.name = name;
      token.scopes.Add(scope);
      return file.Create(token, WallTime{})->text;
    };
    read_ = make("read", Scope::kRead);
    work_ = make("work", Scope::kWork);
    operate_ = make("operate", Scope::kOperate);
    MatchTest::SetUp();
  }

 protected:
  std::string read_, work_, operate_;
};

TEST_F(MatchTokenTest, AWorkerIsChangedByItselfOrByAnOperator) {
  HttpClient http = Http();
  http.token = work_;
  const Json welcome = http.Post(kWorkers, R"({"tags":["t"]})").json;
  const std::string keyed = R"({"tags":["u"],"key":")" + welcome["key"].str() + "\"}";
  const std::string plain = R"({"tags":["u"]})";
  EXPECT_EQ(Patch(http, PathOf(welcome), keyed).status, 200);
  EXPECT_EQ(Patch(http, PathOf(welcome), plain).code(), "forbidden");
  http.token = operate_;
  EXPECT_EQ(Patch(http, PathOf(welcome), plain).status, 200);
  EXPECT_EQ(Patch(http, PathOf(welcome), keyed).code(), "forbidden");
  http.token = read_;
  EXPECT_EQ(Patch(http, PathOf(welcome), plain).code(), "forbidden");
  EXPECT_EQ(Patch(http, PathOf(welcome), keyed).code(), "forbidden");
}

TEST_F(MatchTest, AQueueDeclaresItsKeys) {
  HttpClient http = Http();
  EXPECT_EQ(http.Get(kQueue).json["settings"]["property_keys"].text(), R"(["gpu","mem"])");
  EXPECT_EQ(http.Get(kQueue).json["settings"]["max_property_keys"].num(), 3);
  const Answer over = Patch(http, kQueue, R"({"settings":{"property_keys":["a","b","c","d"]}})");
  EXPECT_EQ(over.code(), "bad_value");
  EXPECT_NE(over.json["error"]["message"].str().find("more than the 3"), std::string::npos) << over.body;
  EXPECT_EQ(Patch(http, kQueue, R"({"settings":{"max_property_keys":1}})").code(), "bad_value");
  EXPECT_EQ(http.Get(kQueue).json["settings"]["property_keys"].text(), R"(["gpu","mem"])");
  const Answer more =
      Patch(http, kQueue, R"({"settings":{"property_keys":["a","b","c","gpu"],"max_property_keys":4}})");
  EXPECT_EQ(more.status, 200) << more.body;
  const std::string id = Submit(http, R"({"tag":"t","constraints":{"a":"1"}})");
  Stop();
  Start();
  HttpClient again = Http();
  EXPECT_EQ(again.Get(kQueue).json["settings"]["property_keys"].text(), R"(["a","b","c","gpu"])");
  // What is there stays, also where its key is not declared any more.
  EXPECT_EQ(Patch(again, kQueue, R"({"settings":{"property_keys":["gpu"]}})").status, 200);
  EXPECT_EQ(again.Get(kJobs + "/" + id).json["constraint_tags"].text(), R"(["c:a=1"])");
  EXPECT_EQ(again.Post(kJobs, R"({"constraints":{"a":"1"}})").code(), "bad_value");
  EXPECT_EQ(again.Post("/v1/queues", R"({"name":"q","settings":{"property_keys":["a","b","c","d"]}})").code(),
            "bad_value");
  EXPECT_EQ(again.Get("/v1/queues/q").code(), "unknown_queue");
  const Answer made = again.Post("/v1/queues", R"({"name":"q","settings":{"property_keys":["zone"]}})");
  EXPECT_EQ(made.json["settings"]["property_keys"].text(), R"(["zone"])") << made.body;
  EXPECT_EQ(again.Post("/v1/queues/q/jobs", R"({"constraints":{"zone":"1"}})").status, 201);
  EXPECT_EQ(again.Post("/v1/queues/q/jobs", R"({"constraints":{"gpu":"1"}})").code(), "bad_value");
}

TEST_F(MatchTest, KeysMayChangeWhileOthersAreChecked) {
  // For the thread sanitizer: settings are read on network threads while the store thread changes them.
  std::atomic<bool> over{false};
  std::thread submitter([&] {
    HttpClient http = Http();
    while (!over) {
      const int status = http.Post(kJobs, R"({"tag":"t","constraints":{"gpu":"a100"}})").status;
      EXPECT_TRUE(status == 201 || status == 400) << status;
    }
  });
  HttpClient http = Http();
  for (int i = 0; i < 20; ++i) {
    const std::string keys = i % 2 == 0 ? R"(["zone"])" : R"(["gpu","mem"])";
    EXPECT_EQ(Patch(http, kQueue, R"({"settings":{"property_keys":)" + keys + "}}").status, 200);
  }
  over = true;
  submitter.join();
}

}  // namespace
}  // namespace allot::testing
