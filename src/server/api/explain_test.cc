// SPDX-License-Identifier: Apache-2.0
// Why a job does not run, over real sockets: the answers' form, and who may see what.
#include "server/ops/tokens.h"
#include "server/testing.h"
#include "server/testing_tokens.h"

namespace allot::testing {
namespace {

const std::string kExplain = "/v1/queues/default/explain";

std::string PathOf(const std::string& job) { return kJobs + "/" + job + "/explain"; }

// `tags 2` and so on, joined.
std::string Funnel(const Json& json) {
  std::string out;
  for (std::size_t i = 0; i < json["funnel"].size(); ++i) {
    const Json stage = json["funnel"][i];
    out += (out.empty() ? "" : ", ") + stage["stage"].str() + " " + std::to_string(stage["workers"].num());
  }
  return out;
}

class ExplainTest : public ServerTest {
 protected:
  void SetUp() override {
    config_.queue_defaults.property_keys = {"gpu", "mem"};
    Start();
  }
};

TEST_F(ExplainTest, AJobThatNobodyCanRunIsExplained) {
  HttpClient http = Http();
  WsClient worker = Worker();
  const Json welcome = Greet(worker, R"(,"properties":{"gpu":"a100"},"attributes":{"memory":2048})");
  const std::string id = Submit(
      http, R"({"tag":"t","constraints":{"gpu":"a100"},"requirements":"TARGET.memory >= 4096 && TARGET.Slots > 1"})");
  const Answer answer = http.Get(PathOf(id));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json& e = answer.json;
  EXPECT_EQ(e["job"].str(), id);
  EXPECT_EQ(e["state"].str(), "active");
  EXPECT_EQ(e["tasks"].text(), R"({"queued":1,"running":0,"retrying":0})");
  EXPECT_EQ(e["verdict"]["kind"].str(), "change_request");
  EXPECT_EQ(e["verdict"]["code"].str(), "requirements_unmet");
  EXPECT_EQ(e["reasons"].size(), 1u);
  EXPECT_EQ(e["reasons"][0].text(), e["verdict"].text());
  EXPECT_EQ(e["workers"].text(), R"({"total":1,"examined":1,"draining":0,"away":0,"matching":0})");
  EXPECT_EQ(Funnel(e),
            "total 1, available 1, tags 1, constraint 1, requirements 0, worker_requirements 0, free_slot 0");
  EXPECT_EQ(e["tags"].text(),
            R"([{"tag":"t","status":"free","workers":1,"available":1,"free":1,"last_seen_at_ms":null}])");
  EXPECT_EQ(e["constraints"].text(),
            R"([{"tag":"c:gpu=a100","workers":1,"properties":[{"key":"gpu","value":"a100","workers":1}]}])");
  EXPECT_EQ(e["requirements"][0].text(),
            R"({"clause":"TARGET.memory >= 4096","reached":1,"failed":1,"undefined":0,"error":0,"best":"2048"})");
  EXPECT_EQ(e["requirements"][1]["failed"].num(), 0);
  EXPECT_EQ(e["nearest"]["worker"].str(), welcome["worker"].str());
  EXPECT_EQ(e["nearest"]["name"].str(), "w");
  EXPECT_EQ(
      e["nearest"]["misses"].text(),
      R"([{"stage":"requirements","condition":"TARGET.memory >= 4096","holds":false,"outcome":"false","values":[{"name":"TARGET.memory","value":"2048"}],"message":"TARGET.memory >= 4096: has 2048"}])");
  EXPECT_EQ(http.Get(kJobs + "/last/explain").json["job"].str(), id);
}

TEST_F(ExplainTest, OthersThatComeFirstAreNamedAndTheFirstTaskCanBeExplained) {
  HttpClient http = Http();
  const std::string worker = http.Post(kWorkers, R"({"tags":["t"],"name":"w"})").json["worker"].str();
  const std::string first = Submit(http, R"({"tag":"t","user":"ann"})"), second = Submit(http, R"({"tag":"t"})");
  const Json e = http.Get(PathOf(second)).json;
  EXPECT_EQ(e["verdict"]["code"].str(), "behind");
  EXPECT_EQ(e["order"]["place"].num(), 2);
  EXPECT_EQ(e["order"]["first"]["job"].str(), first);
  EXPECT_EQ(e["order"]["first"]["user"].str(), "ann");
  const Json task = http.Get(PathOf(first) + "?task=0").json;
  EXPECT_EQ(task["verdict"]["code"].str(), "can_start");
  EXPECT_EQ(task["task"]["index"].num(), 0);
  EXPECT_EQ(http.Get(PathOf(first) + "?task=1").status, 404);
  EXPECT_EQ(http.Get(PathOf(first) + "?task=x").status, 400);
}

TEST_F(ExplainTest, AWorkerIsToldWhatItWouldGetAndWhyNotTheOthers) {
  HttpClient http = Http();
  const std::string worker = http.Post(kWorkers, R"({"tags":["t"],"name":"w"})").json["worker"].str();
  const std::string mine = Submit(http, R"({"tag":"t"})"), other = Submit(http, R"({"tag":"gpu","count":7})");
  const std::string path = kWorkers + "/" + worker + "/next";
  const Json next = http.Get(path + "?count=3").json;
  EXPECT_EQ(next["name"].str(), "w");
  EXPECT_EQ(next["verdict"]["code"].str(), "can_start");
  EXPECT_EQ(next["picks"].size(), 1u);
  EXPECT_EQ(next["picks"][0]["job"].str(), mine);
  EXPECT_EQ(next["others"].text(),
            R"([{"stage":"tags","classes":1,"tasks":7,"job":")" + other + R"(","message":"tag `gpu`: missing"}])");
  EXPECT_EQ(http.Get(path + "?count=51").status, 400);
  EXPECT_EQ(http.Get(kWorkers + "/77/next").json["error"]["code"].str(), "unknown_worker");
  EXPECT_EQ(http.Post(path, "{}").status, 405);
}

TEST_F(ExplainTest, AWorkerThatLeftIsRememberedByItsTags) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"rare"})");
  EXPECT_EQ(http.Get(PathOf(id)).json["verdict"]["code"].str(), "no_workers");
  const Json welcome = http.Post(kWorkers, R"({"tags":["rare"]})").json;
  EXPECT_EQ(http.Get(PathOf(id)).json["verdict"]["code"].str(), "can_start");
  http.Do(http::verb::delete_, kWorkers + "/" + welcome["worker"].str(), R"({"key":")" + welcome["key"].str() + "\"}");
  http.Post(kWorkers, R"({"tags":["other"]})");
  const Json e = http.Get(PathOf(id)).json;
  EXPECT_EQ(e["verdict"]["code"].str(), "tag_gone") << e.text();
  EXPECT_EQ(e["verdict"]["kind"].str(), "operator");
  EXPECT_EQ(e["tags"][0]["status"].str(), "gone");
  EXPECT_GT(e["tags"][0]["last_seen_at_ms"].num(), 0);
}

TEST_F(ExplainTest, StatesOfJobAndQueueAreReasons) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t","delay_ms":60000})");
  const auto code = [&] { return http.Get(PathOf(id)).json["verdict"]["code"].str(); };
  EXPECT_EQ(code(), "no_workers");  // graver than that its time has not come
  http.Post(kJobs + "/" + id + "/pause");
  http.Post("/v1/queues/default/pause");
  const Json e = http.Get(PathOf(id)).json;
  EXPECT_EQ(e["verdict"]["code"].str(), "job_paused");
  std::string codes;
  for (std::size_t i = 0; i < e["reasons"].size(); ++i) codes += e["reasons"][i]["code"].str() + " ";
  EXPECT_NE(codes.find("queue_paused"), std::string::npos) << codes;
  EXPECT_NE(codes.find("no_workers"), std::string::npos) << codes;
  http.Post(kJobs + "/" + id + "/cancel");
  EXPECT_EQ(code(), "ended");
}

TEST_F(ExplainTest, WorkersThatAreBusyAreWaitedFor) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t","count":2})");
  const Json welcome = http.Post(kWorkers, R"({"tags":["t"]})").json;
  const std::string pull = kWorkers + "/" + welcome["worker"].str() + "/pull";
  EXPECT_EQ(http.Post(pull, R"({"key":")" + welcome["key"].str() + R"(","pull":1})").json["tasks"].size(), 1u);
  const Json e = http.Get(PathOf(id)).json;
  EXPECT_EQ(e["verdict"]["kind"].str(), "wait");
  EXPECT_EQ(e["verdict"]["code"].str(), "all_busy");
  EXPECT_EQ(e["tags"][0]["status"].str(), "busy");
  const Json pair = http.Get(PathOf(id) + "?worker=" + welcome["worker"].str()).json;
  EXPECT_TRUE(pair["matches"].flag());
  EXPECT_EQ(pair["verdict"]["code"].str(), "all_busy");
}

TEST_F(ExplainTest, OneWorkerIsExplainedConditionByCondition) {
  HttpClient http = Http();
  WsClient worker = Worker();
  const Json welcome = Greet(worker, R"(,"attributes":{"memory":2048},"rank":"TARGET.size")");
  const std::string id =
      Submit(http, R"({"tags":["t","u"],"requirements":"TARGET.memory > 1","rank":"TARGET.memory","meta":{"size":3}})");
  const std::string path = PathOf(id) + "?worker=";
  const Answer answer = http.Get(path + welcome["worker"].str());
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json& pair = answer.json;
  EXPECT_EQ(pair["job"].str(), id);
  EXPECT_EQ(pair["worker"].str(), welcome["worker"].str());
  EXPECT_EQ(pair["verdict"]["code"].str(), "mismatch");
  EXPECT_FALSE(pair["matches"].flag());
  EXPECT_EQ(pair["job_rank"].text(), R"({"expression":"TARGET.memory","value":2048.0})");
  EXPECT_EQ(pair["worker_rank"].text(), R"({"expression":"TARGET.size","value":3.0})");
  std::string holds;
  for (std::size_t i = 0; i < pair["conditions"].size(); ++i) {
    const Json c = pair["conditions"][i];
    holds += c["stage"].str() + ":" + (c["holds"].flag() ? "yes " : "no ");
  }
  EXPECT_EQ(holds, "available:yes available:yes tags:yes tags:no requirements:yes free_slot:yes ");
  EXPECT_EQ(http.Get(path + "17").code(), "unknown_worker");
  EXPECT_EQ(http.Get(path + "w1").code(), "unknown_worker");
}

TEST_F(ExplainTest, ASpecIsExplainedAndNothingIsStored) {
  HttpClient http = Http();
  WsClient worker = Worker();
  Greet(worker, R"(,"requirements":"TARGET.Tasks < 10")");
  const Json good = http.Post(kExplain, R"({"tag":"t","count":3})").json;
  EXPECT_EQ(good["verdict"]["code"].str(), "can_start") << good.text();
  EXPECT_TRUE(good["job"].null());
  const Json many = http.Post(kExplain, R"({"tag":"t","payloads":[1,2,3,4,5,6,7,8,9,10]})").json;
  EXPECT_EQ(many["verdict"]["code"].str(), "workers_refuse") << many.text();
  EXPECT_EQ(many["worker_requirements"][0]["clause"].str(), "TARGET.Tasks < 10");
  EXPECT_EQ(http.Post(kExplain, R"({"count":0})").json["verdict"]["code"].str(), "empty");
  EXPECT_EQ(http.Post(kExplain, R"({"tag":"t","delay_ms":60000})").json["verdict"]["code"].str(), "scheduled");
  const Json near = http.Post(kExplain, R"({"tag":"t","requirements":"TARGET.Slotss > 1"})").json;
  EXPECT_EQ(near["suggestions"][0]["nearest"].str(), "Slots") << near.text();
  // As a submit would be refused.
  EXPECT_EQ(http.Post(kExplain, R"({"constraints":{"gup":"x"}})").code(), "bad_value");
  EXPECT_EQ(http.Post(kExplain, R"({"requirements":"1 +"})").code(), "bad_value");
  EXPECT_EQ(http.Get(kJobs).json["jobs"].size(), 0u);
}

TEST_F(ExplainTest, RequestsThatAreNoneAreRefused) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t"})");
  EXPECT_EQ(http.Get(kExplain).code(), "method_not_allowed");
  EXPECT_EQ(http.Post(PathOf(id)).code(), "method_not_allowed");
  EXPECT_EQ(http.Get(PathOf(id) + "?wroker=1").code(), "unknown_field");
  EXPECT_EQ(http.Post(kExplain + "?x=1", "{}").code(), "unknown_field");
  EXPECT_EQ(http.Get(PathOf("17")).code(), "unknown_job");
  EXPECT_EQ(http.Get(PathOf("abc")).code(), "unknown_job");
  EXPECT_EQ(http.Get(PathOf(id) + "/more").code(), "not_found");
  EXPECT_EQ(http.Post(kExplain, "[]").status, 400);
}

class ExplainTokenTest : public ExplainTest {
  void SetUp() override {
    admin_ = testing::MakeToken(config_, "admin", {Scope::kAdmin});
    work_ = testing::MakeToken(config_, "work", {Scope::kWork});
    submit_ = testing::MakeToken(config_, "submit", {Scope::kSubmit});
    ann_ = testing::MakeToken(config_, "ann", {Scope::kSubmit, Scope::kRead}, "ann");
    ExplainTest::SetUp();
  }

 protected:
  std::string admin_, work_, submit_, ann_;
};

TEST_F(ExplainTokenTest, EachSeesWhatItsTokenLetsItSee) {
  HttpClient http = Http();
  http.token = work_;
  const Json welcome =
      http.Post(
              kWorkers,
              R"({"name":"secret-name","tags":["secret-tag"],"attributes":{"memory":2048},"requirements":"TARGET.User == \"secret-user\""})")
          .json;
  ASSERT_TRUE(welcome["worker"].there());
  EXPECT_EQ(http.Post(kExplain, "{}").code(), "forbidden");  // work alone reads nothing
  http.token = admin_;
  const std::string bobs = Submit(http, R"({"tag":"secret-tga","user":"bob","requirements":"TARGET.memory > 4096"})");
  const std::string anns = Submit(http, R"({"tag":"secret-tga","user":"ann","requirements":"TARGET.memory > 4096"})");
  // Fixed to a user: another's job is not there, and a spec is that user's own.
  http.token = ann_;
  EXPECT_EQ(http.Get(PathOf(bobs)).code(), "unknown_job");
  EXPECT_EQ(http.Get(PathOf(bobs) + "?worker=" + welcome["worker"].str()).code(), "unknown_job");
  EXPECT_EQ(http.Get(PathOf(anns)).json["nearest"]["name"].str(), "secret-name");
  EXPECT_EQ(http.Post(kExplain, R"({"user":"bob"})").code(), "forbidden");
  EXPECT_EQ(http.Post(kExplain, R"({"requirements":"MY.User == \"ann\""})").json["verdict"]["code"].str(),
            "workers_refuse");
  // Without read: counts, and nothing of what workers are.
  http.token = submit_;
  for (const Answer& answer :
       {http.Get(PathOf(bobs)), http.Post(kExplain, R"({"requirements":"TARGET.memory > 4096"})"),
        http.Post(kExplain, "{}"), http.Post(kExplain, R"({"tag":"secret-tga"})")}) {
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.json["workers"]["total"].num(), 1) << answer.body;
    EXPECT_TRUE(answer.json["nearest"].null()) << answer.body;
    EXPECT_EQ(answer.json["suggestions"].size(), 0u) << answer.body;
    for (const char* secret : {"secret-name", "secret-tag\"", "secret-tag`", "secret-user", "2048"})
      EXPECT_EQ(answer.body.find(secret), std::string::npos) << secret << " in " << answer.body;
  }
  EXPECT_EQ(http.Get(PathOf(bobs) + "?worker=" + welcome["worker"].str()).code(), "forbidden");
}

TEST_F(ExplainTokenTest, ThatOthersComeFirstIsToldToAllAndWhoTheyAreIsNot) {
  HttpClient http = Http();
  http.token = work_;
  const Json welcome = http.Post(kWorkers, R"({"name":"secret-name","tags":["t"],"slots":2})").json;
  const std::string worker = welcome["worker"].str();
  http.token = admin_;
  const std::string bobs = Submit(http, R"({"tag":"t","user":"secret-bob","count":2})");
  const std::string anns = Submit(http, R"({"tag":"t","user":"ann"})");
  const auto hidden = [&](const Answer& answer) {
    for (const std::string& secret : {std::string("secret-"), bobs, worker})
      EXPECT_EQ(answer.body.find(secret), std::string::npos) << secret << " in " << answer.body;
  };
  http.token = ann_;
  const Answer behind = http.Get(PathOf(anns));
  EXPECT_EQ(behind.json["verdict"]["code"].str(), "behind") << behind.body;
  hidden(behind);
  EXPECT_EQ(http.Get(kWorkers + "/" + worker + "/next").code(), "forbidden");
  // A task that runs: on whom is for those who may read.
  http.token = work_;
  const std::string pull = R"({"key":")" + welcome["key"].str() + R"(","pull":1})";
  ASSERT_EQ(http.Post(kWorkers + "/" + worker + "/pull", pull).json["tasks"].size(), 1u);
  http.token = submit_;
  const Answer runs = http.Get(PathOf(bobs) + "?task=0");
  EXPECT_EQ(runs.json["verdict"]["code"].str(), "running") << runs.body;
  EXPECT_EQ(runs.body.find("secret-name"), std::string::npos) << runs.body;
  EXPECT_EQ(runs.body.find(worker), std::string::npos) << runs.body;
}

}  // namespace
}  // namespace allot::testing
