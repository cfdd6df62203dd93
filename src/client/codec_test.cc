// SPDX-License-Identifier: Apache-2.0
#include "client/codec.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <chrono>
#include <limits>
#include <random>
#include <set>

#include "client/index_ranges.h"

namespace allotter {
namespace {

TEST(AppendSpec, WhatIsNotSetIsNotSent) {
  std::string out;
  AppendSpec({}, false, out);
  EXPECT_EQ(out, "{}");
}

TEST(AppendSpec, HasTheProtocolsFields) {
  JobSpec spec;
  spec.tags = {"a", "b\"c"};
  spec.payload = "{\"x\":1}";
  spec.payloads = {"1", "\"two\""};
  spec.priority = -3;
  spec.async = false;
  spec.delay = milliseconds(1500);
  spec.meta = {{"k", std::int64_t{1}}, {"r", 1.0}, {"s", std::string("x")}, {"b", true}};
  spec.max_attempts = 2;
  spec.backoff.first = milliseconds(10);
  spec.max_failed_tasks = "5%";
  std::string out;
  AppendSpec(spec, false, out);
  EXPECT_EQ(
      out,
      R"({"tags":["a","b\"c"],"payload":{"x":1},"payloads":[1,"two"],"priority":-3,"async":false,"delay_ms":1500,)"
      R"("meta":{"k":1,"r":1.0,"s":"x","b":true},"max_attempts":2,"backoff":{"first_ms":10},"max_failed_tasks":"5%"})");
  spec = {};
  spec.max_failed_tasks = "7";
  spec.count = 5;
  out.clear();
  AppendSpec(spec, true, out);
  EXPECT_EQ(out, R"({"max_failed_tasks":7})");
}

TEST(AppendSpec, HasWhatMatchingNeeds) {
  JobSpec spec;
  spec.constraints = {{{"gpu", "a100"}, {"mem", "\"high\""}}, {{"gpu", "h100"}}};
  spec.requirements = "TARGET.name == \"x\"\n&& true";
  spec.rank = "TARGET.memory";
  std::string out;
  AppendSpec(spec, true, out);
  EXPECT_EQ(out, R"({"constraints":[{"gpu":"a100","mem":"\"high\""},{"gpu":"h100"}],)"
                 R"("requirements":"TARGET.name == \"x\"\n&& true","rank":"TARGET.memory"})");
}

TEST(AppendChange, AnEmptyExpressionTakesItAway) {
  JobChange change;
  change.constraints.emplace();
  change.requirements = "";
  change.rank = "1";
  std::string out;
  AppendChange(change, out);
  EXPECT_EQ(out, R"({"constraints":[],"requirements":null,"rank":"1"})");
}

TEST(AppendSettings, KeysAreAList) {
  QueueSettings settings;
  settings.property_keys = std::vector<std::string>{"gpu", "mem"};
  settings.max_property_keys = 4;
  settings.policy = "";
  settings.weights = {{"user.a\"b", 3}, {"user.c", 0}};
  std::string out;
  AppendSettings(settings, out);
  EXPECT_EQ(
      out,
      R"({"property_keys":["gpu","mem"],"max_property_keys":4,"policy":null,"weights":{"user.a\"b":3,"user.c":null}})");
}

TEST(AppendSettings, DispatchIsAWord) {
  QueueSettings settings;
  settings.dispatch = "balanced";
  settings.balance = "";
  std::string out;
  AppendSettings(settings, out);
  EXPECT_EQ(out, R"({"dispatch":"balanced","balance":null})");
}

TEST(AppendHello, HasWhatMatchingNeeds) {
  Hello hello;
  hello.name = "w";
  hello.properties = {{"gpu", "a100"}};
  hello.attributes = {{"memory", std::int64_t{8}}};
  hello.requirements = "true";
  hello.rank = "0";
  hello.strategy = "newest";
  std::string out;
  AppendHello(hello, out);
  EXPECT_EQ(out, R"({"name":"w","tags":[],"slots":1,"properties":{"gpu":"a100"},"attributes":{"memory":8},)"
                 R"("requirements":"true","rank":"0","strategy":"newest"})");
}

TEST(AppendSpec, AStreamsFirstLineIsOneLine) {
  JobSpec spec;
  spec.payload = "{\n\"x\": 1\r\n}";
  std::string out;
  AppendSpec(spec, true, out);
  EXPECT_EQ(out.find_first_of("\r\n"), std::string::npos);
}

TEST(AppendReports, GroupsByKind) {
  std::string out;
  const std::vector<Report> reports = {{{"1", 0, "l0"}, Outcome::Done("\"x\"")},
                                       {{"1", 1, "l1"}, Outcome::Failed("no\n")},
                                       {{"1", 2, "l2"}, Outcome::Done()},
                                       {{"1", 3, "l3"}, Outcome::Rejected("")},
                                       {{"1", 4, "l4"}, Outcome::Released()}};
  EXPECT_TRUE(AppendReports(reports, out));
  EXPECT_EQ(
      out,
      R"("done":[{"job":"1","index":0,"lease":"l0","result":"x"},{"job":"1","index":2,"lease":"l2"}],)"
      R"("failed":[{"job":"1","index":1,"lease":"l1","error":"no\n"},{"job":"1","index":3,"lease":"l3","final":true}],)"
      R"("released":[{"job":"1","index":4,"lease":"l4"}])");
  out.clear();
  EXPECT_FALSE(AppendReports({}, out));
  EXPECT_EQ(out, "");
}

TEST(AppendReports, AWaitStaysInItsBounds) {
  std::string out;
  AppendReports({{{"1", 0, "l"}, Outcome::Failed("", milliseconds(-5))},
                 {{"1", 1, "l"}, Outcome::Failed("", std::chrono::hours(24 * 365))}},
                out);
  EXPECT_EQ(out, R"("failed":[{"job":"1","index":0,"lease":"l","retry_in_ms":0},)"
                 R"({"job":"1","index":1,"lease":"l","retry_in_ms":604800000}])");
}

TEST(AppendExtend, SaysWhatTheServerTakes) {
  std::string out;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  AppendExtend({{{"1", 0, "l"}, {nan, nan, std::string(127, 'a') + "é"}}, {{"1", 1, "l"}, {-1, 1e30, "\xff"}}}, out);
  EXPECT_EQ(out, R"("extend":[{"job":"1","index":0,"lease":"l","progress":{"done":0.0,"note":")" +
                     std::string(127, 'a') +
                     R"("}},{"job":"1","index":1,"lease":"l","progress":{"done":0.0,"of":1e+15}}])");
}

TEST(IndexRanges, KnowWhatWasThere) {
  IndexRanges ranges;
  std::set<std::uint64_t> had;
  std::mt19937_64 chance(7);
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t index = chance() % 400;
    ASSERT_EQ(ranges.Add(index), had.insert(index).second);
  }
  std::uint64_t count = 0, before = 0;
  for (const auto& [from, to] : ranges.all()) {
    EXPECT_TRUE(before == 0 || from > before);  // they do not touch
    for (std::uint64_t index = from; index < to; ++index) EXPECT_TRUE(had.contains(index));
    count += to - from;
    before = to;
  }
  EXPECT_EQ(count, had.size());
}

TEST(Parse, AJobWithFieldsOfTheFutureKeepsItsText) {
  const std::string json =
      R"({"id": "12", "state": "active", "paused": false, "tags": ["a","b"], "priority": null, "later": {"x": [1, {}]},)"
      R"( "count": 5, "done": 2, "failed": 1, "started_at_ms": 7, "ended_at_ms": null, "reason": ""})";
  const auto job = Parse<Job>(json);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->id, "12");
  EXPECT_EQ(job->tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(job->priority);
  EXPECT_EQ(job->count, 5u);
  EXPECT_EQ(job->started_at_ms, 7);
  EXPECT_FALSE(job->ended_at_ms);
  EXPECT_EQ(job->json, json);
  EXPECT_FALSE(job->ended());
}

TEST(Parse, WhatMatchingNeedsOfJobsWorkersAndQueues) {
  const auto job = Parse<Job>(
      R"({"id":"1","meta":{"s":"x","n":-7,"r":1e3,"b":false},"constraints":[{"gpu":"a100","mem":"high"},{"gpu":"h100"}],)"
      R"("constraint_tags":["c:gpu=a100,mem=high","c:gpu=h100"],"requirements":"a && b","rank":null})");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->meta, (Meta{{"s", std::string("x")}, {"n", std::int64_t{-7}}, {"r", 1000.0}, {"b", false}}));
  EXPECT_EQ(job->constraints, (std::vector<Properties>{{{"gpu", "a100"}, {"mem", "high"}}, {{"gpu", "h100"}}}));
  EXPECT_EQ(job->constraint_tags, (std::vector<std::string>{"c:gpu=a100,mem=high", "c:gpu=h100"}));
  EXPECT_EQ(job->requirements, "a && b");
  EXPECT_EQ(job->rank, "");
  const auto worker = Parse<WorkerInfo>(
      R"({"id":"1","properties":{"gpu":"a100"},"attributes":{"memory":4096},"requirements":null,"rank":"1","strategy":"newest","constraint_tags":["c:"]})");
  ASSERT_TRUE(worker);
  EXPECT_EQ(worker->properties, (Properties{{"gpu", "a100"}}));
  EXPECT_EQ(worker->attributes, (Meta{{"memory", std::int64_t{4096}}}));
  EXPECT_EQ(worker->requirements, "");
  EXPECT_EQ(worker->rank, "1");
  EXPECT_EQ(worker->strategy, "newest");
  EXPECT_EQ(worker->constraint_tags, std::vector<std::string>{"c:"});
  const auto queue = Parse<Queue>(
      R"({"settings":{"property_keys":["gpu"],"max_property_keys":3,"policy":"worker","weights":{"user.a":2}}})");
  ASSERT_TRUE(queue);
  EXPECT_EQ(queue->settings.property_keys, std::vector<std::string>{"gpu"});
  EXPECT_EQ(queue->settings.max_property_keys, 3u);
  EXPECT_EQ(queue->settings.policy, "worker");
  EXPECT_EQ(queue->settings.weights, (std::vector<std::pair<std::string, std::uint64_t>>{{"user.a", 2}}));
  const auto fixed =
      Parse<Queue>(R"({"settings":{"max_property_keys":3,"dispatch":"shared"}})");  // as a user's token sees it
  ASSERT_TRUE(fixed);
  EXPECT_FALSE(fixed->settings.policy);
  EXPECT_TRUE(fixed->settings.weights.empty());
  const auto names = Parse<std::vector<NamedStrategy>>(
      R"({"strategies":[{"name":"fair","strategy":"s","json":{"fair":{}},"words":"w"}]})");
  ASSERT_TRUE(names.ok());
  ASSERT_EQ(names->size(), 1u);
  EXPECT_EQ((*names)[0].name + (*names)[0].strategy + (*names)[0].words, "fairsw");
  for (const char* json : {R"({"constraints":{}})", R"({"constraints":[1]})", R"({"meta":{"a":[1]}})",
                           R"({"meta":{"a":99999999999999999999}})", R"({"requirements":1})"}) {
    EXPECT_FALSE(Parse<Job>(json)) << json;
  }
}

TEST(Parse, WhatWasPromised) {
  const auto worker =
      Parse<WorkerInfo>(R"({"id":"1","running":2,"promised":12,"promised_jobs":3,"queue":[)"
                        R"({"job":"7","tasks":10,"priority":-4,"user":"a\"nn","tags":["t","u"],"later":1},)"
                        R"({"job":"6","tasks":2,"priority":null,"user":"","tags":[]}]})");
  ASSERT_TRUE(worker) << worker.error().message;
  EXPECT_EQ(worker->promised, 12u);
  EXPECT_EQ(worker->promised_jobs, 3u);
  ASSERT_EQ(worker->queue.size(), 2u);
  EXPECT_EQ(worker->queue[0].job, "7");
  EXPECT_EQ(worker->queue[0].tasks, 10u);
  EXPECT_EQ(worker->queue[0].priority, -4);
  EXPECT_EQ(worker->queue[0].user, "a\"nn");
  EXPECT_EQ(worker->queue[0].tags, (std::vector<std::string>{"t", "u"}));
  EXPECT_FALSE(worker->queue[1].priority);
  // Of a queue whose dispatch is fanout, or of a server before there was another.
  const auto other = Parse<WorkerInfo>(R"({"id":"1","running":2})");
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->promised);
  EXPECT_TRUE(other->queue.empty());
  EXPECT_EQ(Parse<Job>(R"({"queued":10,"promised":6})")->promised, 6u);
  EXPECT_EQ(Parse<Job>(R"({"queued":10})")->promised, 0u);
  const auto queue = Parse<Queue>(R"({"settings":{"dispatch":"balanced","balance":"random"}})");
  ASSERT_TRUE(queue);
  EXPECT_EQ(queue->settings.dispatch, "balanced");
  EXPECT_EQ(queue->settings.balance, "random");
  EXPECT_FALSE(Parse<Queue>(R"({"settings":{}})")->settings.dispatch);
  for (const char* json : {R"({"promised":"x"})", R"({"promised":-1})", R"({"queue":{}})", R"({"queue":[1]})",
                           R"({"queue":[{"tasks":-1}]})", R"({"queue":[{"tags":"t"}]})"}) {
    EXPECT_FALSE(Parse<WorkerInfo>(json)) << json;
  }
}

TEST(Parse, PagesKeepEachObjectsOwnText) {
  const auto page = Parse<JobPage>(
      R"({"jobs":[{"id":"2","state":"done"}, {"id":"1","state":"failed","meta":{"a":"}"}}],"next":"1"})");
  ASSERT_TRUE(page);
  ASSERT_EQ(page->jobs.size(), 2u);
  EXPECT_EQ(page->jobs[0].json, R"({"id":"2","state":"done"})");
  EXPECT_EQ(page->jobs[1].json, R"({"id":"1","state":"failed","meta":{"a":"}"}})");
  EXPECT_EQ(page->next, "1");
  EXPECT_EQ(Parse<JobPage>(R"({"jobs":[],"next":null})")->next, "");
}

TEST(Parse, ResultsAreTheSameTextAsWasSent) {
  const auto page = Parse<ResultPage>(
      R"({"results":[{"index":0,"state":"done","result":{"a" : 1.50}},{"index":1,"state":"done","result":12 },{"index":2,"state":"done","result":[1, 2]},)"
      R"({"index":3,"state":"failed","error":"x"},{"index":4,"state":"done"}],"next":null,"job_state":"done"})");
  ASSERT_TRUE(page);
  ASSERT_EQ(page->results.size(), 5u);
  EXPECT_EQ(page->results[0].result, R"({"a" : 1.50})");
  EXPECT_EQ(page->results[1].result, "12");
  EXPECT_EQ(page->results[2].result, "[1, 2]");
  EXPECT_EQ(page->results[3].error, "x");
  EXPECT_EQ(page->results[4].result, "");
  EXPECT_FALSE(page->next);
}

TEST(Parse, WhatIsNotOfTheProtocolIsAnErrorAndNeverACrash) {
  for (const char* json : {"", "x", "[]", "{", "12", "null", "{\"id\": 5}", "{\"tags\": \"a\"}", "{\"count\": \"7\"}",
                           "{\"count\": -1}"}) {
    EXPECT_FALSE(Parse<Job>(json)) << json;
  }
}

ServerMessage Message(std::string text) {
  ServerMessage message;
  const std::size_t size = text.size();
  text.resize(size + simdjson::SIMDJSON_PADDING);
  const auto parsed = ParseMessage(std::string_view(text).substr(0, size), message);
  EXPECT_TRUE(parsed) << text;
  return message;
}

TEST(ParseMessage, ReadsEverythingThatAServerSends) {
  const ServerMessage message = Message(
      R"({"ack":7,"stale":[{"job":"1","index":2,"lease":"x","code":"job_ended"}],)"
      R"("tasks":[{"job":"9","index":3,"lease":"y","attempt":2,"count":10,"lease_ms":60000,"timeout_ms":5,"payload":{"a": 1},"trace":"t"}],)"
      R"("cancel":[{"job":"1","index":0,"lease":"z","reason":"timeout"}],"drain":true})");
  EXPECT_EQ(message.ack, 7u);
  ASSERT_EQ(message.stale.size(), 1u);
  EXPECT_EQ(message.stale_codes[0], "job_ended");
  ASSERT_EQ(message.tasks.size(), 1u);
  EXPECT_EQ(message.tasks[0].task.lease, "y");
  EXPECT_EQ(message.tasks[0].attempt, 2u);
  EXPECT_EQ(message.tasks[0].payload, "{\"a\": 1}");
  EXPECT_EQ(message.tasks[0].lease, milliseconds(60'000));
  EXPECT_EQ(message.cancel[0].reason, "timeout");
  EXPECT_TRUE(message.drain);
  const ServerMessage error = Message(R"({"error":{"code":"too_large","message":"m","hint":"h"},"seq":4})");
  EXPECT_EQ(error.error->code, Code::kTooLarge);
  EXPECT_EQ(error.error_seq, 4u);
  const ServerMessage results = Message(
      R"({"results":[{"job":"9","results":[{"index":4,"state":"done","result":{"a": 1}},{"index":2,"state":"failed","error":"no"}],"end":true}]})");
  ASSERT_EQ(results.results.size(), 1u);
  EXPECT_EQ(results.results[0].job, "9");
  EXPECT_TRUE(results.results[0].end);
  EXPECT_EQ(results.results[0].results[0].result, "{\"a\": 1}");
  EXPECT_EQ(results.results[0].results[1].error, "no");
  const ServerMessage ended = Message(R"({"ended":[{"id":"1","state":"done","done":1,"failed":0}],"unknown":["5"]})");
  ASSERT_EQ(ended.ended.size(), 2u);
  EXPECT_EQ(ended.ended[0].state, "done");
  EXPECT_EQ(ended.ended[1].state, "");
}

TEST(ParseMessage, AssignmentsAreReadInWhateverOrderTheirFieldsCome) {
  const ServerMessage message = Message(
      R"({"tasks":[{"trace":"t","payload":[1, {"job":"x"}],"newer":{"index":9},"lease_ms":60000,"index":3,"lease":"y","job":"9",)"
      R"("attempt":2,"count":10},{},{"j\u006fb":"8","trace ":"no","index":4},{"lea":"no","job":"7"}]})");
  ASSERT_EQ(message.tasks.size(), 4u);
  const Assignment& first = message.tasks[0];
  EXPECT_EQ(first.task.job, "9");
  EXPECT_EQ(first.task.index, 3u);
  EXPECT_EQ(first.task.lease, "y");
  EXPECT_EQ(first.attempt, 2u);
  EXPECT_EQ(first.count, 10u);
  EXPECT_EQ(first.lease, milliseconds(60'000));
  EXPECT_EQ(first.payload, R"([1, {"job":"x"}])");
  EXPECT_EQ(first.trace, "t");
  EXPECT_EQ(message.tasks[1].task.job, "");
  EXPECT_EQ(message.tasks[2].task.job, "8");  // a key may be written with escapes
  EXPECT_EQ(message.tasks[2].task.index, 4u);
  EXPECT_EQ(message.tasks[2].trace, "");
  EXPECT_EQ(message.tasks[3].task.lease, "");
  EXPECT_EQ(message.tasks[3].task.job, "7");
  for (const char* text :
       {R"({"tasks":[{"job":9}]})", R"({"tasks":[{"job":"9","index":}]})", R"({"tasks":[{"job":"9")"}) {
    std::string padded(text);
    const std::size_t size = padded.size();
    padded.resize(size + simdjson::SIMDJSON_PADDING);
    ServerMessage none;
    EXPECT_FALSE(ParseMessage(std::string_view(padded).substr(0, size), none)) << text;
  }
}

}  // namespace
}  // namespace allotter
