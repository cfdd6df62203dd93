// SPDX-License-Identifier: Apache-2.0
// Many jobs at once, over real sockets.
#include "server/testing.h"
#include "server/testing_tokens.h"

namespace allot::testing {
namespace {

class ManyJobsTest : public ServerTest {
 protected:
  static std::string States(HttpClient& http) {
    std::string out;
    const Json jobs = http.Get(kJobs).json["jobs"];
    for (std::size_t i = jobs.size(); i-- > 0;) out += jobs[i]["state"].str().substr(0, 2) + " ";
    return out;
  }
};

TEST_F(ManyJobsTest, AnActionIsDoneToAllThatTheFilterFinds) {
  HttpClient http = Http();
  Submit(http, R"({"tag":"a","count":3})");
  Submit(http, R"({"tag":"b","count":2})");
  Submit(http, R"({"tag":"a","count":4,"user":"ann"})");
  const Json dry = http.Post(kJobs + "/pause", R"({"tag":"a","dry_run":true})").json;
  EXPECT_EQ(dry["matching"].num(), 2);
  EXPECT_EQ(dry["tasks"].num(), 7);
  EXPECT_EQ(dry["changed"].num(), 0);
  EXPECT_TRUE(dry["dry_run"].flag());
  EXPECT_TRUE(dry["complete"].flag());
  EXPECT_EQ(States(http), "ac ac ac ");

  const Json paused = http.Post(kJobs + "/pause", R"({"tag":"a"})").json;
  EXPECT_EQ(paused["changed"].num(), 2);
  EXPECT_FALSE(paused["dry_run"].flag());
  EXPECT_EQ(States(http), "pa ac pa ");
  EXPECT_EQ(http.Post(kJobs + "/resume", R"({"state":"paused","user":"ann"})").json["changed"].num(), 1);
  EXPECT_EQ(States(http), "pa ac ac ");
  EXPECT_EQ(http.Post(kJobs + "/cancel", R"({"all":true})").json["changed"].num(), 3);
  EXPECT_EQ(States(http), "ca ca ca ");
  const Json again = http.Post(kJobs + "/cancel", R"({"all":true})").json;
  EXPECT_EQ(again["matching"].num(), 3);
  EXPECT_EQ(again["changed"].num(), 0);  // it has no meaning for them
  EXPECT_EQ(http.Post(kJobs + "/retry", R"({"tag":"b"})").json["changed"].num(), 1);
  EXPECT_EQ(States(http), "ca ac ca ");
}

TEST_F(ManyJobsTest, WhatCameAfterTheDryRunIsLeftAlone) {
  HttpClient http = Http();
  Submit(http, R"({"tag":"a"})");
  const std::string up_to = http.Post(kJobs + "/cancel", R"({"tag":"a","dry_run":true})").json["up_to"].str();
  Submit(http, R"({"tag":"a"})");
  EXPECT_EQ(http.Post(kJobs + "/cancel", R"({"tag":"a","up_to":")" + up_to + "\"}").json["changed"].num(), 1);
  EXPECT_EQ(States(http), "ca ac ");
}

TEST_F(ManyJobsTest, WhatWasChangedStaysAfterARestart) {
  HttpClient http = Http();
  for (int i = 0; i < 300; ++i) Submit(http, R"({"tag":"a","payload":[1,2]})");
  EXPECT_EQ(http.Post(kJobs + "/pause", R"({"tag":"a"})").json["changed"].num(), 300);
  Stop();
  Start();
  HttpClient after = Http();
  EXPECT_EQ(after.Get("/v1/queues/default").json["jobs"]["paused"].num(), 300);
  EXPECT_EQ(after.Post(kJobs + "/cancel", R"({"state":"paused"})").json["changed"].num(), 300);
  EXPECT_EQ(after.Get("/v1/queues/default").json["jobs"]["cancelled"].num(), 300);
}

TEST_F(ManyJobsTest, WorkersAreToldOfWhatIsCancelled) {
  HttpClient http = Http();
  WsClient worker = Worker();
  Greet(worker);
  Submit(http, R"({"tag":"t"})");
  worker.Send(R"({"pull":1})");
  worker.ReadUntil("tasks");
  http.Post(kJobs + "/cancel", R"({"tag":"t"})");
  EXPECT_EQ(worker.ReadUntil("cancel")["cancel"][0]["reason"].str(), "cancelled");
}

TEST_F(ManyJobsTest, ARequestSaysWhichJobs) {
  HttpClient http = Http();
  struct Row {
    const char* body;
    const char* code;
  };
  for (const Row& row :
       {Row{"{}", "bad_value"}, Row{R"({"dry_run":true})", "bad_value"}, Row{R"({"all":false})", "bad_value"},
        Row{R"({"state":"gone"})", "bad_value"}, Row{R"({"tags":"a"})", "unknown_field"},
        Row{R"({"all":true,"up_to":7})", "bad_value"}, Row{"", "bad_json"}}) {
    EXPECT_EQ(http.Post(kJobs + "/cancel", row.body).code(), row.code) << row.body;
  }
  EXPECT_EQ(http.Post(kJobs + "/cancel?all=true", R"({"all":true})").code(), "unknown_field");
  EXPECT_EQ(http.Get(kJobs + "/cancel").code(), "method_not_allowed");
}

TEST_F(ManyJobsTest, TokensChangeWhatTheyMayChange) {
  Stop();
  const std::string operate = MakeToken(config_, "op", {Scope::kOperate});
  const std::string submit = MakeToken(config_, "submit", {Scope::kSubmit});
  const std::string ann = MakeToken(config_, "ann", {Scope::kSubmit}, "ann");
  const std::string read = MakeToken(config_, "read", {Scope::kRead}, "ann");
  Start();
  HttpClient http = Http();
  http.token = submit;
  for (const char* user : {"ann", "bob", "ann"}) Submit(http, R"({"tag":"t","user":")" + std::string(user) + "\"}");
  EXPECT_EQ(http.Post(kJobs + "/cancel", R"({"all":true})").code(), "forbidden");
  http.token = read;
  EXPECT_EQ(http.Post(kJobs + "/cancel", R"({"all":true})").code(), "forbidden");
  http.token = ann;
  EXPECT_EQ(http.Post(kJobs + "/cancel", R"({"user":"bob"})").code(), "forbidden");
  EXPECT_EQ(http.Post(kJobs + "/cancel", R"({"all":true})").json["changed"].num(), 2);
  http.token = operate;
  EXPECT_EQ(http.Post(kJobs + "/cancel", R"({"all":true})").json["changed"].num(), 1);
}

}  // namespace
}  // namespace allot::testing
