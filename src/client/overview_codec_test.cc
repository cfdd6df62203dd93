// SPDX-License-Identifier: Apache-2.0
#include "client/overview_codec.h"

#include <gtest/gtest.h>

#include "allotter/live.h"

namespace allotter {
namespace {

TEST(ParseOverview, HasTheProtocolsFields) {
  auto overview = Parse<Overview>(R"({"queue":{"name":"q","paused":true,"tasks":{"queued":10,"retrying":2,"running":4}},
    "rates":{"submitted":12.5,"started":10,"done":9.5,"failed":0.1},"oldest_waiting":{"job":"7","since_at_ms":50},
    "workers":{"registered":4,"waiting":1,"away":2,"draining":3,"slots":16,"busy":11},
    "reasons":[{"code":"all_busy","kind":"wait","tasks":1204,"jobs":12,"classes":2,"since_at_ms":9,"job":"7","tags":["render"]},
               {"code":"new","kind":"wait","tasks":1,"jobs":1,"classes":1,"since_at_ms":null,
                "limits":[{"uuid":"u","tag":"agent","name":"slow","tasks":7}],
                "ceilings":[{"of":"policy","key":"user","value":"ann","running":2,"max":2,"tasks":5}]}],
    "banners":[{"level":"warning","code":"no_match","message":"m","hint":"h","job":"7"},{"level":"info","code":"x","message":"n"}],
    "unheard":{"of":[1]}})");
  ASSERT_TRUE(overview) << overview.error().message;
  EXPECT_EQ(overview->queue.name, "q");
  EXPECT_TRUE(overview->queue.paused);
  EXPECT_EQ(overview->queue.tasks_queued, 10u);
  EXPECT_EQ(overview->rates.submitted, 12.5);
  EXPECT_EQ(overview->rates.done, 9.5);
  ASSERT_TRUE(overview->oldest_waiting);
  EXPECT_EQ(overview->oldest_waiting->since_at_ms, 50);
  EXPECT_EQ(overview->workers.slots, 16u);
  EXPECT_EQ(overview->workers.busy, 11u);
  ASSERT_EQ(overview->reasons.size(), 2u);
  EXPECT_EQ(overview->reasons[0].tasks, 1204u);
  EXPECT_EQ(overview->reasons[0].tags, std::vector<std::string>{"render"});
  EXPECT_FALSE(overview->reasons[1].since_at_ms);
  EXPECT_TRUE(overview->reasons[0].limits.empty());
  ASSERT_EQ(overview->reasons[1].limits.size(), 1u);
  EXPECT_EQ(overview->reasons[1].limits[0].name, "slow");
  EXPECT_EQ(overview->reasons[1].limits[0].tasks, 7u);
  ASSERT_EQ(overview->reasons[1].ceilings.size(), 1u);
  EXPECT_EQ(overview->reasons[1].ceilings[0].value, "\"ann\"");
  EXPECT_EQ(overview->reasons[1].ceilings[0].max, 2u);
  ASSERT_EQ(overview->banners.size(), 2u);
  EXPECT_EQ(overview->banners[0].hint, "h");
  EXPECT_EQ(overview->banners[1].job, "");
}

TEST(ParseOverview, OfAnEmptyQueue) {
  auto overview = Parse<Overview>(R"({"queue":{"name":"q"},"oldest_waiting":null,"reasons":[],"banners":[]})");
  ASSERT_TRUE(overview);
  EXPECT_FALSE(overview->oldest_waiting);
}

TEST(ParseOverview, AWrongTypeIsAnError) {
  EXPECT_FALSE(Parse<Overview>(R"({"rates":{"done":"many"}})"));
  EXPECT_FALSE(Parse<Overview>(R"({"reasons":7})"));
  EXPECT_FALSE(Parse<Overview>(R"([])"));
  EXPECT_FALSE(Parse<Overview>(""));
}

TEST(ParseHistory, HasANumberForEachStep) {
  auto history = Parse<History>(R"({"step_ms":1000,"from_at_ms":5,"submitted":[0,5],"started":[1,2],"done":[0,4],
    "failed":[0,0],"queued":[3,4],"retrying":[5,6],"running":[0,1],"oldest_ms":[0,700]})");
  ASSERT_TRUE(history);
  EXPECT_EQ(history->done, (std::vector<std::uint64_t>{0, 4}));
  EXPECT_EQ(history->oldest_wait_ms, (std::vector<std::uint64_t>{0, 700}));
  EXPECT_EQ(history->from_at_ms, 5);
}

TEST(ParseUsers, HasTheProtocolsFields) {
  auto page = Parse<UserPage>(R"({"users":[{"user":"ann","weight":2,"share":0.25,"use":0.5,"jobs":3,"queued":1000,
    "retrying":1,"running":6,"started":1234,"starts_per_s":2.25,"oldest_at_ms":7,"waited_ms":{"mean":820,"p50":512,"p95":2048}},
    {"user":"","oldest_at_ms":null,"waited_ms":{"mean":null,"p50":null,"p95":null}}],
    "next":"bob","active":3,"running":12,"starts_per_s":4.5})");
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->users.size(), 2u);
  EXPECT_EQ(page->users[0].weight, 2);
  EXPECT_EQ(page->users[0].use, 0.5);
  EXPECT_EQ(page->users[0].waited_p95_ms, 2048);
  EXPECT_EQ(page->users[0].oldest_at_ms, 7);
  EXPECT_FALSE(page->users[1].oldest_at_ms);
  EXPECT_EQ(page->next, "bob");
  EXPECT_EQ(page->starts_per_s, 4.5);
}

TEST(ParsePicture, HasANumberForEachPart) {
  auto picture = Parse<Picture>(R"({"job":"7","count":10,"from":0,"to":10,"width":5,"queued":[1,2],"running":[0,1],
    "retrying":[0,0],"done":[4,2],"failed":[0,0],"skipped":[0,0]})");
  ASSERT_TRUE(picture);
  EXPECT_EQ(picture->done, (std::vector<std::uint64_t>{4, 2}));
  EXPECT_EQ(picture->width, 5u);
}

TEST(ParseReceipt, HasStagesAndBlocks) {
  const std::string one =
      R"({"serial":123,"job":"7","index":3,"attempt":1,"worker":"9","worker_name":"host-1","user":"ann",
    "at_ms":5,"waited_ms":1200,"stages":[{"stage":"match","open":5,"passed":3,"text":"3 of 5"}],"strategy":"priority",
    "policy":"worker","why":[{"block":"oldest","of":"strategy","text":"the oldest"}]})";
  auto receipt = Parse<Receipt>(one);
  ASSERT_TRUE(receipt);
  EXPECT_EQ(receipt->worker_name, "host-1");
  ASSERT_EQ(receipt->stages.size(), 1u);
  EXPECT_EQ(receipt->stages[0].text, "3 of 5");
  ASSERT_EQ(receipt->why.size(), 1u);
  EXPECT_EQ(receipt->why[0].block, "oldest");
  auto page = Parse<ReceiptPage>("{\"receipts\":[" + one + "],\"next\":122}");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->receipts.size(), 1u);
  EXPECT_EQ(page->next, 122u);
  EXPECT_FALSE(Parse<ReceiptPage>(R"({"receipts":[],"next":null})")->next);
}

TEST(ManyJobs, IsAskedForAndAnswered) {
  std::string out;
  AppendManyJobs({.state = "active", .tag = "a\"b", .up_to = "12", .dry_run = true}, out);
  EXPECT_EQ(out, R"({"state":"active","tag":"a\"b","up_to":"12","dry_run":true})");
  out.clear();
  AppendManyJobs({.all = true}, out);
  EXPECT_EQ(out, R"({"all":true})");
  auto answer = Parse<ManyJobsAnswer>(
      R"({"matching":12,"tasks":1204,"changed":11,"up_to":"99","complete":false,"dry_run":false,"took_ms":3})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->matching, 12u);
  EXPECT_EQ(answer->changed, 11u);
  EXPECT_EQ(answer->up_to, "99");
  EXPECT_FALSE(answer->complete);
}

TEST(ParseJob, SaysWhatHoldsIt) {
  auto job = Parse<Job>(R"({"id":"7","wait_reason":{"code":"all_busy","kind":"wait","since_at_ms":5}})");
  ASSERT_TRUE(job && job->wait_reason);
  EXPECT_EQ(job->wait_reason->code, "all_busy");
  EXPECT_EQ(job->wait_reason->since_at_ms, 5);
  EXPECT_FALSE(Parse<Job>(R"({"id":"7","wait_reason":null})")->wait_reason);
  EXPECT_FALSE(Parse<Job>(R"({"id":"7"})")->wait_reason);
}

TEST(ParseServer, SaysWhoAsks) {
  auto server = Parse<ServerInfo>(
      R"({"name":"allotter","you":{"tokens":true,"name":"ops","user":null,"queue":"q","scopes":["read","operate"]}})");
  ASSERT_TRUE(server);
  EXPECT_TRUE(server->you.tokens);
  EXPECT_EQ(server->you.user, "");
  EXPECT_EQ(server->you.queue, "q");
  EXPECT_EQ(server->you.scopes, (std::vector<std::string>{"read", "operate"}));
}

TEST(Paths, NameWhatIsAskedForAndNoMore) {
  EXPECT_EQ(OverviewPath("a b"), "/v1/queues/a%20b/overview");
  EXPECT_EQ(JobsPath("q", {.state = "active", .tag = "a/b", .limit = 5000}),
            "/v1/queues/q/jobs?state=active&tag=a%2Fb&limit=1000");
  EXPECT_EQ(WorkersPath("q", "", 100), "/v1/queues/q/workers?limit=100");
  EXPECT_EQ(UsersPath("q", {.after = "ann", .limit = 10}), "/v1/queues/q/users?after=ann&limit=10");
  EXPECT_EQ(LimitsPath("q"), "/v1/queues/q/limits");
}

}  // namespace
}  // namespace allotter
