// SPDX-License-Identifier: Apache-2.0
// Replies are compared with the examples of docs/reference/protocol: the same fields in the same order.
#include "server/wire/reply_json.h"
#include "expr/testing.h"

#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "base/testing/page.h"
#include "expr/expr.h"
#include "server/wire/request_json.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

// The keys of a JSON object in order, nested ones as `a.b`.
std::vector<std::string> Keys(const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  EXPECT_EQ(parser.parse(json).get(object), simdjson::SUCCESS) << json;
  std::vector<std::string> keys;
  const std::function<void(simdjson::dom::object, const std::string&)> walk = [&](simdjson::dom::object from,
                                                                                  const std::string& prefix) {
    for (const auto& field : from) {
      keys.push_back(prefix + std::string(field.key));
      simdjson::dom::object inner;
      if (field.value.get(inner) == simdjson::SUCCESS) walk(inner, keys.back() + ".");
    }
  };
  walk(object, "");
  return keys;
}

// The first example below `heading` on the pages of the protocol, or that of errors.
std::string Example(const std::string& heading) {
  std::ostringstream errors;
  errors << std::ifstream("docs/reference/errors.md").rdbuf();
  const std::string text = testing::ReadFolder("docs/reference/protocol") + errors.str();
  const auto at = text.find("\n" + heading + "\n");
  EXPECT_NE(at, std::string::npos) << heading;
  const auto start = text.find("```json\n", at) + 8;
  return text.substr(start, text.find("```", start) - start);
}

JobView SomeJob() {
  JobView job;
  job.id = JobId{77};
  job.tags = Interned(std::vector<std::string>{"square"});
  job.count = 1000;
  job.queued = 10;
  job.running = 4;
  job.done = 986;
  job.promised = 6;
  job.max_attempts = 5;
  job.lease = 60s;
  job.retention = 24h;
  job.wait_reason = WaitReason{ReasonCode::kAllBusy, WallTime{}};
  return job;
}

TEST(Reply, JobIsAsThePageShowsIt) {
  std::string out;
  AppendJob(SomeJob(), "default", out);
  EXPECT_EQ(Keys(out), Keys(Example("### Job")));
  // The example has `…` as its id; everything else is the same, blanks aside.
  std::string want = Example("### Job");
  want = std::regex_replace(want, std::regex("…"), "77");
  want = std::regex_replace(want, std::regex("([:,]) +|\n *"), "$1");
  EXPECT_EQ(out, want);
}

TEST(Reply, AJobOfWhichNothingWaitsIsNotHeld) {
  JobView job = SomeJob();
  job.wait_reason = WaitReason{ReasonCode::kNoMatch, std::nullopt};
  std::string out;
  AppendJob(job, "default", out);
  EXPECT_NE(out.find(R"("held":{"code":"no_match","kind":"operator","since_at_ms":null})"), std::string::npos) << out;
  job.wait_reason.reset();
  out.clear();
  AppendJob(job, "default", out);
  EXPECT_NE(out.find(R"("held":null})"), std::string::npos) << out;
}

TEST(Reply, AJobWithoutPromisesDoesNotSpeakOfThem) {
  JobView job = SomeJob();
  job.promised = 0;
  std::string out;
  AppendJob(job, "q", out);
  EXPECT_EQ(out.find("promised"), std::string::npos) << out;
}

TEST(Reply, JobTellsWhatItDemands) {
  JobView job = SomeJob();
  job.constraints = Interned(std::vector<Properties>{{{"gpu", "a\"100"}, {"mem", "high"}}, {{"gpu", "h100"}}});
  job.constraint_tags = Interned(std::vector<std::string>{"c:gpu=a%22100,mem=high", "c:gpu=h100"});
  job.requirements = testing::MustParse("TARGET.name ==\n\"x\"");
  job.rank = testing::MustParse("1");
  std::string out;
  AppendJob(job, "q", out);
  EXPECT_NE(out.find(R"("constraints":[{"gpu":"a\"100","mem":"high"},{"gpu":"h100"}],)"
                     R"("constraint_tags":["c:gpu=a%22100,mem=high","c:gpu=h100"],)"
                     R"("requirements":"TARGET.name ==\n\"x\"","rank":"1")"),
            std::string::npos)
      << out;
  Keys(out);
}

TEST(Reply, JobEscapesWhatPeopleWrote) {
  JobView job = SomeJob();
  job.user = "a\"b\n";
  job.priority = -3;
  job.meta = Interned(Meta{{"flag", true}, {"n", std::int64_t{7}}, {"real", 2.0}, {"s", std::string("x\\y")}});
  job.started_at = FromMillis(5);
  job.reason = "attempts used up";
  std::string out;
  AppendJob(job, "q", out);
  EXPECT_NE(out.find(R"("user":"a\"b\n")"), std::string::npos) << out;
  EXPECT_NE(out.find(R"("meta":{"flag":true,"n":7,"real":2.0,"s":"x\\y"})"), std::string::npos) << out;
  EXPECT_NE(out.find(R"("priority":-3,)"), std::string::npos);
  EXPECT_NE(out.find(R"("started_at_ms":5,"ended_at_ms":null)"), std::string::npos);
  Keys(out);
}

TEST(Reply, Error) {
  std::string out;
  AppendError({Code::kUnknownJob, "there is no job 123", "it may be past its retention"}, out);
  EXPECT_EQ(
      out, R"({"error":{"code":"unknown_job","message":"there is no job 123","hint":"it may be past its retention"}})");
  out.clear();
  AppendError({Code::kStale, "x", ""}, 7, out);
  EXPECT_EQ(out, R"({"error":{"code":"stale","message":"x","hint":""},"seq":7})");
  EXPECT_EQ(Keys(out)[0], Keys(Example("## The answer"))[0]);
}

TEST(Reply, Task) {
  TaskView task;
  task.index = 7;
  task.state = TaskState::kFailed;
  task.attempts = 5;
  std::string out;
  AppendTask(task, {.error = "exit status 1", .payload = {}, .result = {}}, out);
  EXPECT_EQ(Keys(out), Keys(Example("### Task")));
  EXPECT_EQ(out,
            R"({"index":7,"state":"failed","attempts":5,"worker":null,"started_at_ms":null,"error":"exit status 1"})");
  out.clear();
  task.state = TaskState::kRunning;
  task.worker = WorkerId{9};
  task.started_at = FromMillis(3);
  AppendTask(task, {.error = "", .payload = "[1]", .result = "null"}, out);
  EXPECT_EQ(
      out,
      R"({"index":7,"state":"running","attempts":5,"worker":"9","started_at_ms":3,"error":"","payload":[1],"result":null})");
}

TEST(Reply, ResultItems) {
  std::string out;
  const Outcome result{JobId{1}, 0, OutcomeKind::kResult, 0, "12"}, error{JobId{1}, 0, OutcomeKind::kError, 0, "no"};
  AppendResultItem({0, TaskState::kDone}, &result, out);
  AppendResultItem({1, TaskState::kFailed}, &error, out);
  AppendResultItem({2, TaskState::kSkipped}, &error, out);
  AppendResultItem({3, TaskState::kDone}, nullptr, out);
  AppendResultItem({4, TaskState::kDone}, &error, out);  // of an attempt before
  EXPECT_EQ(out, R"({"index":0,"state":"done","result":12}{"index":1,"state":"failed","error":"no"})"
                 R"({"index":2,"state":"skipped"}{"index":3,"state":"done"}{"index":4,"state":"done"})");
}

TEST(Reply, Worker) {
  WorkerView worker;
  worker.id = WorkerId{5};
  worker.name = "host-1";
  worker.tags = {"square"};
  worker.tasks = {{JobId{1}, 7, LeaseId{1, 2}}};
  worker.properties = {{"gpu", "a100"}};
  worker.attributes = {{"memory", std::int64_t{4096}}};
  worker.constraint_tags = {"c:", "c:gpu=a100"};
  worker.requirements = testing::MustParse("TARGET.size < 5");
  worker.promised = 12;
  worker.promised_jobs = 2;
  worker.queue = {{JobId{3}, 10, 7, "a\"nn", {"square"}}, {JobId{2}, 2, std::nullopt, "", {}}};
  std::string out;
  AppendWorker(worker, {.balanced = true, .tasks = true, .queue = true}, out);
  EXPECT_EQ(Keys(out), Keys(Example("### Worker")));
  EXPECT_NE(out.find(R"("tasks":[{"job":"1","index":7}])"), std::string::npos) << out;
  EXPECT_EQ(out.find("lease\""), std::string::npos);
  EXPECT_NE(out.find(R"("credit":0,"promised":12,"promised_jobs":2,)"), std::string::npos) << out;
  EXPECT_NE(out.find(R"("queue":[{"job":"3","tasks":10,"priority":7,"user":"a\"nn","tags":["square"]},)"
                     R"({"job":"2","tasks":2,"priority":null,"user":"","tags":[]}])"),
            std::string::npos)
      << out;
  out.clear();
  AppendWorker(worker, {.balanced = false, .tasks = true, .queue = true}, out);
  EXPECT_EQ(out.find("promised"), std::string::npos);
  EXPECT_EQ(out.find("queue"), std::string::npos);
  out.clear();
  AppendWorker(worker, {}, out);
  EXPECT_EQ(out.find("tasks"), std::string::npos);
  EXPECT_EQ(out.find("constraint_tags"), std::string::npos);
  EXPECT_NE(
      out.find(
          R"("properties":{"gpu":"a100"},"attributes":{"memory":4096},"requirements":"TARGET.size < 5","rank":null)"),
      std::string::npos)
      << out;
}

TEST(Reply, AWorkersChangeNamesOnlyWhatChanges) {
  WorkerChange change;
  std::string out;
  AppendWorkerChange(change, out);
  change.tags = std::vector<std::string>{"a"};
  change.attributes.emplace();
  change.requirements.emplace();
  AppendWorkerChange(change, out);
  EXPECT_EQ(out, R"({}{"tags":["a"],"attributes":{},"requirements":null})");
}

TEST(Reply, Queue) {
  QueueView queue;
  queue.name = "default";
  queue.stats.tasks_queued = 10;
  std::string out;
  AppendQueue(queue, out);
  EXPECT_EQ(Keys(out), Keys(Example("### Queue")));
  EXPECT_NE(
      out.find(
          R"("settings":{"max_finished_jobs":1000000,"worker_grace_ms":30000,"max_result_bytes":65536,)"
          R"("property_keys":[],"max_property_keys":3,"policy":"worker","weights":{},"max_limit_expiration_ms":300000,"limit_ban_window_ms":60000,"demand_lookahead_ms":60000,)"
          R"("dispatch":"fanout","balance":"least_queue","memory_budget_bytes":0})"),
      std::string::npos)
      << out;
}

TEST(Reply, SettingsReadBack) {
  const QueueSettings settings{5,
                               7s,
                               9,
                               {"gpu", "mem"},
                               4,
                               "fair(user, worker)",
                               {{"user.a\"b", 3}},
                               8s,
                               11s,
                               12s,
                               {DispatchMode::kBalanced, Balance::kRandom},
                               1ull << 30};
  std::string out;
  AppendQueueSettings(settings, out);
  const auto change = ParseQueueSettings(out);
  ASSERT_TRUE(change.ok());
  QueueSettings back;
  change->ApplyTo(back);
  EXPECT_EQ(back, settings);
}

TEST(Reply, AssignmentHasThePayloadsThatThereAre) {
  Grant grant;
  grant.task = {JobId{1}, 7, LeaseId{16, 255}};
  grant.count = 1000;
  grant.lease = 60s;
  std::string out;
  AppendAssignment(grant, {.common = {}, .own = "\"12\""}, out);
  EXPECT_EQ(Keys(out), Keys(Example("### Assignment")));
  EXPECT_EQ(
      out,
      R"({"job":"1","index":7,"lease":"10-ff","attempt":1,"count":1000,"lease_ms":60000,"timeout_ms":0,"payload":"12"})");
  const auto tail = [&](GrantPayloads payloads) {
    std::string text;
    AppendAssignment(grant, payloads, text);
    return text.substr(text.find("\"timeout_ms\":0") + 14);
  };
  EXPECT_EQ(tail({}), "}");
  EXPECT_EQ(tail({.common = "1", .own = {}}), R"(,"payload":1})");
  EXPECT_EQ(tail({.common = "1", .own = "2"}), R"(,"payload":2,"job_payload":1})");
  grant.payload_prefix = "s3://x";
  grant.trace = "t";
  EXPECT_EQ(tail({}), R"(,"payload_prefix":"s3://x","trace":"t"})");
}

TEST(Reply, WorkersMessages) {
  const TaskRef task{JobId{1}, 7, LeaseId{16, 255}};
  std::string out;
  AppendTaskRef(task, out);
  AppendStale(task, ReportVerdict::kStale, out);
  AppendStale(task, ReportVerdict::kCancelled, out);
  AppendCancel({WorkerId{1}, task, "timeout"}, out);
  EXPECT_EQ(out, R"({"job":"1","index":7,"lease":"10-ff"})"
                 R"({"job":"1","index":7,"lease":"10-ff","code":"stale"})"
                 R"({"job":"1","index":7,"lease":"10-ff","code":"job_ended"})"
                 R"({"job":"1","index":7,"lease":"10-ff","reason":"timeout"})");
  out.clear();
  RegisterAnswer answer;
  answer.worker = WorkerId{4};
  answer.key = 1;
  answer.resumed = {task};
  AppendWelcome(answer, 15s, out);
  const std::string_view want =
      R"({"worker":"4","key":"0000000000000001","heartbeat_ms":15000,"resumed":[{"job":"1","index":7,"lease":"10-ff"}],"lost":[],)"
      R"("features":["job_headers",)";
  EXPECT_EQ(out.substr(0, want.size()), want);
}

TEST(Reply, Submits) {
  std::string out;
  AppendSubmitItem({JobId{3}, true, 2}, out);
  EXPECT_EQ(out, R"({"id":"3","existing":true,"matching_workers":2})");
  out.clear();
  AppendSubmitted({JobId{77}, false, 0}, SomeJob(), "q", out);
  const auto keys = Keys(out);
  EXPECT_EQ(keys.front(), "job");
  EXPECT_EQ(keys[keys.size() - 2], "existing");
  EXPECT_EQ(keys.back(), "matching_workers");
  out.clear();
  AppendEnded(SomeJob(), out);
  EXPECT_EQ(out, R"({"id":"77","state":"active","done":986,"failed":0})");
}

}  // namespace
}  // namespace allot
