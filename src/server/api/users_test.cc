// SPDX-License-Identifier: Apache-2.0
// How users fare and how starts were decided, over real sockets.
#include "server/testing.h"
#include "server/testing_tokens.h"

namespace allot::testing {
namespace {

const std::string kUsers = "/v1/queues/default/users";
const std::string kReceipts = "/v1/queues/default/receipts";

class UsersTest : public ServerTest {
 protected:
  static void Take(WsClient& worker, int n) {
    for (int taken = 0; taken < n;) {
      worker.Send(R"({"pull":)" + std::to_string(n - taken) + "}");
      const Json tasks = worker.ReadUntil("tasks")["tasks"];
      ASSERT_GT(tasks.size(), 0u);
      taken += static_cast<int>(tasks.size());
    }
  }
};

TEST_F(UsersTest, EachUserHasAShareAndAUse) {
  HttpClient http = Http();
  WsClient worker = Worker();
  Greet(worker);
  ASSERT_EQ(http.Do(http::verb::patch, "/v1/queues/default", R"({"settings":{"weights":{"user.ann":3}}})").status, 200);
  Submit(http, R"({"tag":"t","user":"ann","count":10})");
  Take(worker, 3);
  Submit(http, R"({"tag":"t","user":"bob","count":5})");
  const Json page = http.Get(kUsers).json;
  ASSERT_EQ(page["users"].size(), 2u) << page.text();
  EXPECT_EQ(page["users"][0]["user"].str(), "ann");
  EXPECT_EQ(page["users"][0]["weight"].num(), 3);
  EXPECT_EQ(page["users"][0]["running"].num(), 3);
  EXPECT_EQ(page["users"][0]["started"].num(), 3);
  EXPECT_EQ(page["users"][0]["queued"].num(), 7);
  EXPECT_EQ(page["users"][0]["share"].text(), "0.75");
  EXPECT_EQ(page["users"][0]["use"].text(), "1.0");
  EXPECT_EQ(page["users"][1]["share"].text(), "0.25");
  EXPECT_EQ(page["users"][1]["use"].text(), "0.0");
  EXPECT_EQ(page["active"].num(), 2);
  EXPECT_EQ(page["running"].num(), 3);
  EXPECT_TRUE(page["next"].null());
  EXPECT_TRUE(page["users"][0]["waited_ms"]["p95"].there());
  EXPECT_EQ(http.Get(kUsers + "?limit=1").json["users"].size(), 1u);
  const std::string next = http.Get(kUsers + "?limit=1").json["next"].str();
  EXPECT_EQ(http.Get(kUsers + "?limit=1&after=" + next).json["users"][0]["user"].str(), "bob");
  EXPECT_EQ(http.Get(kUsers + "?user=bob").json["users"].size(), 1u);
  EXPECT_EQ(http.Get(kUsers + "?name=bob").code(), "unknown_field");
  EXPECT_EQ(http.Post(kUsers).code(), "method_not_allowed");
}

TEST_F(UsersTest, UsersAreWatched) {
  HttpClient http = Http();
  HttpClient watcher = Http();
  watcher.Watch(kUsers);
  EXPECT_EQ(watcher.NextEvent().second["users"].size(), 0u);
  Submit(http, R"({"tag":"t","user":"ann"})");
  EXPECT_EQ(watcher.NextEvent().second["users"][0]["user"].str(), "ann");
}

TEST_F(UsersTest, AReceiptSaysHowAStartWasDecided) {
  HttpClient http = Http();
  WsClient worker = Worker();
  const std::string worker_id = Greet(worker)["worker"].str();
  const std::string id = Submit(http, R"({"tag":"t","count":3,"user":"ann"})");
  const std::string path = kJobs + "/" + id + "/tasks/";
  EXPECT_EQ(http.Get(path + "0/receipt").code(), "unknown_receipt");
  Take(worker, 2);
  const Json receipt = http.Get(path + "0/receipt").json;
  EXPECT_EQ(receipt["job"].str(), id);
  EXPECT_EQ(receipt["index"].num(), 0);
  EXPECT_EQ(receipt["attempt"].num(), 1);
  EXPECT_EQ(receipt["worker"].str(), worker_id);
  EXPECT_EQ(receipt["worker_name"].str(), "w");
  EXPECT_EQ(receipt["user"].str(), "ann");
  EXPECT_EQ(receipt["stages"][0]["stage"].str(), "match");
  EXPECT_EQ(receipt["stages"][1]["stage"].str(), "limits");
  EXPECT_EQ(receipt["stages"][2]["from"].str(), "shared");
  EXPECT_EQ(receipt["strategy"].str(), "priority");
  EXPECT_GT(receipt["why"].size(), 0u);
  EXPECT_EQ(http.Get(path + "2/receipt").code(), "unknown_receipt");
  EXPECT_EQ(http.Get(path + "3/receipt").code(), "unknown_task");
  EXPECT_EQ(http.Get(path + "x/receipt").code(), "unknown_task");

  const Json list = http.Get(kReceipts + "?limit=1").json;
  EXPECT_EQ(list["receipts"][0]["index"].num(), 1);  // newest first
  const Json rest = http.Get(kReceipts + "?before=" + std::to_string(list["next"].num())).json;
  EXPECT_EQ(rest["receipts"].size(), 1u);
  EXPECT_EQ(rest["receipts"][0]["index"].num(), 0);
  EXPECT_TRUE(rest["next"].null());
  EXPECT_EQ(http.Get(kReceipts + "?after=1").code(), "unknown_field");
}

TEST_F(UsersTest, ReceiptsAreWatched) {
  HttpClient http = Http();
  HttpClient watcher = Http();
  WsClient worker = Worker();
  Greet(worker);
  watcher.Watch(kReceipts + "?limit=5");
  EXPECT_EQ(watcher.NextEvent().second["receipts"].size(), 0u);
  Submit(http, R"({"tag":"t"})");
  Take(worker, 1);
  EXPECT_EQ(watcher.NextEvent().second["receipts"].size(), 1u);
}

TEST_F(UsersTest, ATokenOfAUserSeesThatUserAlone) {
  Stop();
  const std::string all = MakeToken(config_, "all", {Scope::kRead, Scope::kSubmit, Scope::kWork});
  const std::string ann = MakeToken(config_, "ann", {Scope::kRead}, "ann");
  const std::string submit = MakeToken(config_, "submit", {Scope::kSubmit});
  Start();
  HttpClient http = Http();
  http.token = all;
  const std::string own = Submit(http, R"({"tag":"t","user":"ann","priority":9})");
  const std::string other = Submit(http, R"({"tag":"t","user":"bob"})");
  WsClient worker(port(), "/v1/queues/default/work", all);
  Greet(worker);
  Take(worker, 2);
  EXPECT_EQ(http.Get(kUsers).json["users"].size(), 2u);
  EXPECT_EQ(http.Get(kReceipts).json["receipts"].size(), 2u);
  http.token = ann;
  const Json page = http.Get(kUsers).json;
  ASSERT_EQ(page["users"].size(), 1u);
  EXPECT_EQ(page["users"][0]["user"].str(), "ann");
  EXPECT_EQ(page["running"].num(), 2);  // totals are of all
  EXPECT_EQ(http.Get(kUsers + "?user=bob").code(), "forbidden");
  const Json receipts = http.Get(kReceipts).json["receipts"];
  ASSERT_EQ(receipts.size(), 1u);
  EXPECT_EQ(receipts[0]["job"].str(), own);
  EXPECT_FALSE(receipts[0]["stages"].there());
  EXPECT_FALSE(receipts[0]["why"].there());
  EXPECT_EQ(http.Get(kJobs + "/" + other + "/tasks/0/receipt").code(), "unknown_job");
  http.token = submit;
  EXPECT_EQ(http.Get(kUsers).code(), "forbidden");
  EXPECT_EQ(http.Get(kReceipts).code(), "forbidden");
}

}  // namespace
}  // namespace allot::testing
