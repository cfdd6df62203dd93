// SPDX-License-Identifier: Apache-2.0
#include "server/wire/request_json.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/json.h"
#include "base/testing/text.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kNow = 1'800'000'000'000;
SpecOptions Options() {
  SpecOptions options;
  options.now = FromMillis(kNow);
  return options;
}

// A case that must fail: its code, and words of its message and hint.
struct Bad {
  std::string json;
  Code code;
  const char* message;
  const char* hint = "";
};

template <typename Parse>
void ExpectBad(const std::vector<Bad>& rows, Parse&& parse) {
  for (const Bad& row : rows) {
    const std::string shown = row.json.substr(0, 200);
    const auto result = parse(row.json);
    ASSERT_FALSE(result.ok()) << shown;
    EXPECT_EQ(CodeText(result.error().code), CodeText(row.code)) << shown << ": " << result.error().message;
    EXPECT_NE(result.error().message.find(row.message), std::string::npos) << shown << ": " << result.error().message;
    EXPECT_NE(result.error().hint.find(row.hint), std::string::npos) << shown << ": " << result.error().hint;
    EXPECT_LT(result.error().message.size(), 600u) << shown;
    EXPECT_TRUE(IsUtf8(JsonString(result.error().message)));
  }
}

TEST(ParseJobSpec, AnEmptyObjectIsAJobOfDefaults) {
  const auto got = ParseJobSpec("{}", Options());
  ASSERT_TRUE(got.ok()) << got.error().message;
  const JobSpec& spec = got->spec;
  EXPECT_EQ(spec.count, 1u);
  EXPECT_TRUE(spec.tags.empty());
  EXPECT_FALSE(spec.priority);
  EXPECT_TRUE(spec.async);
  EXPECT_EQ(spec.max_attempts, 5u);
  EXPECT_EQ(spec.lease, 60s);
  EXPECT_EQ(spec.timeout, 0s);
  EXPECT_EQ(spec.retention, 24h);
  EXPECT_EQ(spec.backoff, Backoff());
  EXPECT_FALSE(got->user_given);
  EXPECT_TRUE(got->payload.empty());
  EXPECT_TRUE(got->payloads.empty());
  EXPECT_FALSE(spec.payload.common || spec.payload.per_task);
}

TEST(ParseJobSpec, EveryFieldArrives) {
  const std::string json = R"({
    "tags": ["b", "a/x:1=2@y+z", "b"], "count": 4294967295, "payload": {"k": [1, 2.5e3, "\u00e9"]} , "payload_prefix": "s3://b/p",
    "priority": -9223372036854775808, "user": "ann", "async": false, "delay_ms": 1500,
    "meta": {"z": 1, "A_1": "x", "real": 2.0, "flag": true, "big": 9223372036854775807},
    "max_attempts": 1000, "backoff": {"first_ms": 5, "factor": 3, "max_ms": 604800000, "jitter": 0},
    "lease_ms": 1000, "timeout_ms": 2592000000, "max_failed_tasks": "2.5%", "retention_ms": 0,
    "idempotency_key": "k-1", "trace": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})";
  const auto got = ParseJobSpec(json, Options());
  ASSERT_TRUE(got.ok()) << got.error().message;
  const JobSpec& spec = got->spec;
  EXPECT_EQ(spec.tags, (std::vector<std::string>{"a/x:1=2@y+z", "b"}));
  EXPECT_EQ(spec.count, 4294967295u);
  EXPECT_EQ(got->payload, R"({"k": [1, 2.5e3, "\u00e9"]})");
  EXPECT_TRUE(spec.payload.common);
  EXPECT_FALSE(spec.payload.per_task);
  EXPECT_EQ(spec.payload_prefix, "s3://b/p");
  EXPECT_EQ(spec.priority, INT64_MIN);
  EXPECT_EQ(spec.user, "ann");
  EXPECT_TRUE(got->user_given);
  EXPECT_FALSE(spec.async);
  EXPECT_EQ(spec.delay, 1500ms);
  ASSERT_EQ(spec.meta.size(), 5u);
  EXPECT_EQ(spec.meta[0].first, "A_1");  // sorted
  EXPECT_EQ(spec.meta[1], (std::pair<std::string, MetaValue>("big", INT64_MAX)));
  EXPECT_EQ(spec.meta[2], (std::pair<std::string, MetaValue>("flag", true)));
  EXPECT_EQ(spec.meta[3], (std::pair<std::string, MetaValue>("real", 2.0)));  // a real stays a real
  EXPECT_EQ(spec.meta[4], (std::pair<std::string, MetaValue>("z", std::int64_t{1})));
  EXPECT_EQ(spec.max_attempts, 1000u);
  EXPECT_EQ(spec.backoff, (Backoff{5ms, 3.0, 168h, 0}));
  EXPECT_EQ(spec.lease, 1s);
  EXPECT_EQ(spec.timeout, 30 * 24h);
  EXPECT_EQ(spec.max_failed_tasks.percent, 2.5);
  EXPECT_EQ(spec.retention, 0s);
  EXPECT_EQ(spec.idempotency_key, "k-1");
  EXPECT_EQ(spec.trace.size(), 55u);
}

TEST(ParseJobSpec, PayloadsAreSlicesOfTheCallersText) {
  const std::string json =
      R"({"payloads" : [ 1 , "two\n", {"a" : [ ] } ,[null,true], 123456789012345678901234567890, -1.5E+400 , null ], "tag": "x"})";
  const auto got = ParseJobSpec(json, Options());
  ASSERT_TRUE(got.ok()) << got.error().message;
  const std::vector<std::string_view> want = {
      "1", R"("two\n")", R"({"a" : [ ] })", "[null,true]", "123456789012345678901234567890", "-1.5E+400", "null"};
  EXPECT_EQ(got->payloads, want);
  EXPECT_EQ(got->spec.count, want.size());
  EXPECT_TRUE(got->spec.payload.per_task);
  EXPECT_EQ(got->spec.tags, std::vector<std::string>{"x"});
  for (const std::string_view slice : got->payloads) {
    EXPECT_GE(slice.data(), json.data());
    EXPECT_LE(slice.data() + slice.size(), json.data() + json.size());
  }
}

TEST(ParseJobSpec, NoPayloadsMakeAnEmptyJob) {
  const auto got = ParseJobSpec(R"({"payloads": []})", Options());
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->spec.count, 0u);
  EXPECT_FALSE(got->spec.payload.per_task);
}

TEST(ParseJobSpec, AStreamHasNeitherPayloadsNorACountUnlessThereAreNone) {
  SpecOptions options = Options();
  options.stream = true;
  const auto got = ParseJobSpec(R"({"tag": "x", "payload": 1})", options);
  ASSERT_TRUE(got.ok());
  EXPECT_TRUE(got->spec.payload.per_task);
  EXPECT_TRUE(got->spec.payload.common);
  const auto none = ParseJobSpec(R"({"count": 0})", options);
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->spec.payload.per_task);
  EXPECT_FALSE(ParseJobSpec(R"({"count": 1})", options).ok());
  EXPECT_FALSE(ParseJobSpec(R"({"payloads": [1]})", options).ok());
}

TEST(ParseJobSpec, HostileInputGetsItsCodeAndAClearMessage) {
  const std::string deep = testing::Repeated("[", 200) + testing::Repeated("]", 200);
  const std::vector<Bad> rows = {
      // Not JSON.
      {"", Code::kBadJson, "no JSON"},
      {"   ", Code::kBadJson, ""},
      {"{", Code::kBadJson, ""},
      {"}", Code::kBadJson, ""},
      {"nul", Code::kBadJson, ""},
      {R"({"count": 1)", Code::kBadJson, ""},
      {R"({"count": 1,})", Code::kBadJson, ""},
      {R"({"count" 1})", Code::kBadJson, ""},
      {R"({"count": 1} x)", Code::kBadJson, "offset 14"},
      {R"({"count": 1}, {})", Code::kBadJson, "follows"},
      {R"({"count": 1}{})", Code::kBadJson, ""},
      {R"({"count": 1}})", Code::kBadJson, ""},
      {R"({'count': 1})", Code::kBadJson, ""},
      {R"({"payload": })", Code::kBadJson, ""},
      {R"({"payload": nul})", Code::kBadJson, ""},
      {R"({"payload": truefalse})", Code::kBadJson, ""},
      {R"({"payload": 01})", Code::kBadJson, ""},
      {R"({"payload": 1.})", Code::kBadJson, ""},
      {R"({"payload": .5})", Code::kBadJson, ""},
      {R"({"payload": +1})", Code::kBadJson, ""},
      {R"({"payload": 1e})", Code::kBadJson, ""},
      {R"({"payload": 0x10})", Code::kBadJson, ""},
      {R"({"payload": NaN})", Code::kBadJson, ""},
      {R"({"payload": [1 2]})", Code::kBadJson, ""},
      {R"({"payload": [1,]})", Code::kBadJson, ""},
      {R"({"payload": [,1]})", Code::kBadJson, ""},
      {R"({"payload": [1}})", Code::kBadJson, ""},
      {R"({"payload": {"a":1]})", Code::kBadJson, ""},
      {R"({"payload": {"a"}})", Code::kBadJson, ""},
      {R"({"payload": {"a":}})", Code::kBadJson, ""},
      {R"({"payload": {1:2}})", Code::kBadJson, ""},
      {R"({"payload": {"a":1,}})", Code::kBadJson, ""},
      {R"({"payload": {"a":1 "b":2}})", Code::kBadJson, ""},
      {R"({"payload": "\x"})", Code::kBadJson, ""},
      {R"({"payload": "\u12"})", Code::kBadJson, ""},
      {R"({"payload": "abc})", Code::kBadJson, "no end"},
      {R"({"payload": "a"b})", Code::kBadJson, ""},
      {"{\"payload\": \"a\nb\"}", Code::kBadJson, "control character"},
      {"{\"payload\": \"\xff\"}", Code::kBadJson, "not UTF-8"},
      {"{\"payload\": \"\xed\xa0\x80\"}", Code::kBadJson, "not UTF-8"},
      {"{\"payload\": \"\xc0\xaf\"}", Code::kBadJson, "not UTF-8"},
      {std::string("{\"payload\": 1}\0", 15), Code::kBadJson, ""},
      {R"({"payload": )" + deep + "}", Code::kBadJson, "128"},
      {R"({"payload": )" + testing::Repeated("{\"a\":", 100'000) + "1" + testing::Repeated("}", 100'000) + "}",
       Code::kBadJson, "128"},
      {R"({"payload": )" + testing::Repeated("[", 100'000) + "}", Code::kBadJson, ""},
      {"\xEF\xBB\xBF{}", Code::kBadJson, ""},
      // JSON, but not a job.
      {"[]", Code::kBadValue, "must be an object"},
      {"null", Code::kBadValue, "must be an object"},
      {"12", Code::kBadValue, "must be an object"},
      {"\"x\"", Code::kBadValue, "must be an object"},
      // Unknown fields.
      {R"({"cuont": 1})", Code::kUnknownField, "`cuont`", "`count`"},
      {R"({"lease": 1})", Code::kUnknownField, "`lease`", "its fields are"},
      {R"({"Count": 1})", Code::kUnknownField, "`Count`", "`count`"},
      {R"({"": 1})", Code::kUnknownField, "``", ""},
      {R"({"backoff": {"frist_ms": 1}})", Code::kUnknownField, "(in backoff)", "`first_ms`"},
      {R"({")" + testing::Repeated("x", 100'000) + R"(": 1})", Code::kUnknownField, "…", ""},
      {R"({"\u001b[31m": 1})", Code::kUnknownField, "\\u001b", ""},
      // Types and bounds.
      {R"({"count": -1})", Code::kBadValue, "`count` must be an integer from 0 to 4,294,967,295"},
      {R"({"count": 4294967296})", Code::kBadValue, "`count`"},
      {R"({"count": 1.0})", Code::kBadValue, "`count`"},
      {R"({"count": 1e3})", Code::kBadValue, "`count`"},
      {R"({"count": "1"})", Code::kBadValue, "`count`"},
      {R"({"count": null})", Code::kBadValue, "`count`"},
      {R"({"count": true})", Code::kBadValue, "`count`"},
      {R"({"count": 99999999999999999999999})", Code::kBadValue, "`count`"},
      {R"({"count": [1]})", Code::kBadValue, "`count`"},
      {R"({"count": 1, "count": 2})", Code::kBadValue, "`count` is there twice"},
      {R"({"count": 1, "payloads": []})", Code::kBadValue, "`count` and `payloads`"},
      {R"({"tag": "a", "tags": ["b"]})", Code::kBadValue, "`tags` and `tag`"},
      {R"({"delay_ms": 1, "scheduled_at_ms": 1})", Code::kBadValue, "`delay_ms` and `scheduled_at_ms`"},
      {R"({"tag": ""})", Code::kBadValue, "`tag`"},
      {R"({"tag": "a b"})", Code::kBadValue, "`tag`"},
      {R"({"tag": "ä"})", Code::kBadValue, "`tag`"},
      {R"({"tags": "a"})", Code::kBadValue, "`tags` must be a list"},
      {R"({"tags": ["a", 1]})", Code::kBadValue, "`tags[1]` must be a string"},
      {R"({"tags": ["a", "b", "*"]})", Code::kBadValue, "`tags[2]`"},
      {R"({"tag": ")" + testing::Repeated("a", 129) + "\"}", Code::kBadValue, "128"},
      {R"({"tags": [)" + testing::Repeated("\"a\",", 16) + "\"a\"]}", Code::kBadValue, "`tags` has more than 16 items"},
      {R"({"priority": 1.5})", Code::kBadValue, "`priority`"},
      {R"({"priority": 9223372036854775808})", Code::kBadValue, "`priority`"},
      {R"({"user": 1})", Code::kBadValue, "`user` must be a string"},
      {R"({"user": "a\u0000b"})", Code::kBadValue, "control characters"},
      {R"({"user": "a\u009bb"})", Code::kBadValue, "control characters"},
      {R"({"user": ")" + testing::Repeated("a", 129) + "\"}", Code::kBadValue, "`user` must have at most 128 bytes"},
      {R"({"async": 1})", Code::kBadValue, "`async` must be true or false"},
      {R"({"delay_ms": -1})", Code::kBadValue, "`delay_ms`"},
      {R"({"delay_ms": 31622400001})", Code::kBadValue, "31,622,400,000"},
      {R"({"scheduled_at_ms": -1})", Code::kBadValue, "`scheduled_at_ms`"},
      {R"({"scheduled_at_ms": 1800000000000000})", Code::kBadValue, "`scheduled_at_ms`"},
      {R"({"meta": []})", Code::kBadValue, "`meta` must be an object"},
      {R"({"meta": {"1.a": 1}})", Code::kBadValue, "`meta.1.a` is not a meta key"},
      {R"({"meta": {"a-b": 1}})", Code::kBadValue, "meta key"},
      {R"({"meta": {"": 1}})", Code::kBadValue, "meta key"},
      {R"({"meta": {"Key": 1, "kEY": 2}})", Code::kBadValue, "`key` twice"},
      {R"({"meta": {"k": 1, "k": 2}})", Code::kBadValue, "twice"},
      {R"({"meta": {"k": null}})", Code::kBadValue, "`meta.k` must be a string, an integer, a real or a boolean"},
      {R"({"meta": {"k": [1]}})", Code::kBadValue, "`meta.k`"},
      {R"({"meta": {"k": {"x": 1}}})", Code::kBadValue, "`meta.k`"},
      {R"({"meta": {"k": 9223372036854775808}})", Code::kBadValue, "`meta.k`"},
      {R"({"meta": {"k": 1e999}})", Code::kBadValue, "`meta.k`"},
      {R"({"meta": {"k": ")" + testing::Repeated("a", 1025) + "\"}}", Code::kBadValue, "1,024"},
      {R"({"meta": {")" + testing::Repeated("a", 65) + "\": 1}}", Code::kBadValue, "64"},
      {R"({"max_attempts": 0})", Code::kBadValue, "from 1 to 1,000"},
      {R"({"max_attempts": 1001})", Code::kBadValue, "from 1 to 1,000"},
      {R"({"backoff": 5})", Code::kBadValue, "`backoff` must be an object"},
      {R"({"backoff": {"factor": 0.5}})", Code::kBadValue, "`backoff.factor` must be a number from 1 to 100"},
      {R"({"backoff": {"jitter": 1.1}})", Code::kBadValue, "`backoff.jitter`"},
      {R"({"backoff": {"max_ms": 604800001}})", Code::kBadValue, "`backoff.max_ms`"},
      {R"({"lease_ms": 999})", Code::kBadValue, "from 1,000 to 86,400,000"},
      {R"({"timeout_ms": 2592000001})", Code::kBadValue, "`timeout_ms`"},
      {R"({"max_failed_tasks": "5"})", Code::kBadValue, "percentage"},
      {R"({"max_failed_tasks": "101%"})", Code::kBadValue, "percentage"},
      {R"({"max_failed_tasks": "-1%"})", Code::kBadValue, "percentage"},
      {R"({"max_failed_tasks": "nan%"})", Code::kBadValue, "percentage"},
      {R"({"max_failed_tasks": "%"})", Code::kBadValue, "percentage"},
      {R"({"max_failed_tasks": -1})", Code::kBadValue, "`max_failed_tasks`"},
      {R"({"retention_ms": 31622400001})", Code::kBadValue, "`retention_ms`"},
      {R"({"idempotency_key": ")" + testing::Repeated("a", 257) + "\"}", Code::kBadValue, "256"},
      {R"({"payload_prefix": ")" + testing::Repeated("a", 1025) + "\"}", Code::kBadValue, "1,024"},
      {R"({"trace": ")" + testing::Repeated("a", 129) + "\"}", Code::kBadValue, "128"},
      // Size.
      {R"({"payload": ")" + testing::Repeated("a", 1024 * 1024 - 1) + "\"}", Code::kTooLarge, "1,048,577"},
      {R"({"payloads": [1, ")" + testing::Repeated("a", 1024 * 1024) + "\"]}", Code::kTooLarge, "`payloads[1]`"},
  };
  ExpectBad(rows, [](const std::string& json) { return ParseJobSpec(json, Options()); });
}

TEST(ParseJobSpec, BoundsThemselvesAreTaken) {
  for (const std::string& json :
       {R"({"payload": ")" + testing::Repeated("a", 1024 * 1024 - 2) + "\"}",
        R"({"payload": )" + testing::Repeated("[", 127) + testing::Repeated("]", 127) + "}",
        R"({"tag": ")" + testing::Repeated("a", 128) + "\"}", std::string(R"({"delay_ms": 31622400000})"),
        std::string(R"({"scheduled_at_ms": 0})"), std::string(R"({"priority": null})"),
        std::string(R"({"max_failed_tasks": 4294967295})"), std::string(R"({"max_failed_tasks": "100%"})"),
        std::string(R"({"user": "Jürgen Ünïcode 🙂"})"), std::string(" \n\t{ } \r\n")}) {
    const auto got = ParseJobSpec(json, Options());
    EXPECT_TRUE(got.ok()) << json.substr(0, 100) << got.error().message;
  }
}

TEST(ParseJobSpec, MetaHasABoundedNumberOfPairs) {
  const auto with = [](int n) {
    std::string json = R"({"meta": {)";
    for (int i = 0; i < n; ++i) json += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":" + std::to_string(i);
    return ParseJobSpec(json + "}}", Options());
  };
  EXPECT_TRUE(with(64).ok());
  EXPECT_FALSE(with(65).ok());
}

TEST(ParseBatch, TakesAllOrNamesTheOneThatIsWrong) {
  const std::string json = R"({"jobs": [{"tag": "a", "payload": 1}, {"count": 3}, {"payloads": [1,2]}]})";
  const auto got = ParseBatch(json, Options());
  ASSERT_TRUE(got.ok()) << got.error().message;
  ASSERT_EQ(got->size(), 3u);
  EXPECT_EQ((*got)[0].payload, "1");
  EXPECT_EQ((*got)[1].spec.count, 3u);
  EXPECT_EQ((*got)[2].payloads[1], "2");
  std::string many = R"({"jobs": [)" + testing::Repeated("{},", 1000) + "{}]}";
  ExpectBad({{R"({"jobs": [{}, {"count": -1}]})", Code::kBadValue, "`jobs[1].count`"},
             {R"({"jobs": [{}, {"tag": "a", "tags": []}]})", Code::kBadValue, "(in jobs[1])"},
             {R"({"jobs": [{}, {"x": 1}]})", Code::kUnknownField, "(in jobs[1])"},
             {R"({"jobs": [1]})", Code::kBadValue, "`jobs[0]` must be an object"},
             {R"({"jobs": {}})", Code::kBadValue, "must be a list"},
             {R"({})", Code::kBadValue, "`jobs` is missing"},
             {many, Code::kTooLarge, "1,000"}},
            [](const std::string& text) { return ParseBatch(text, Options()); });
}

TEST(ParseJobChange, WhatIsNotNamedStays) {
  const auto some = ParseJobChange(R"({"priority": null, "tag": "b"})", FromMillis(kNow));
  ASSERT_TRUE(some.ok());
  ASSERT_TRUE(some->priority.has_value());
  EXPECT_FALSE(some->priority->has_value());
  EXPECT_EQ(some->tags, std::vector<std::string>{"b"});
  EXPECT_FALSE(some->meta || some->delay || some->scheduled_for);
  const auto other = ParseJobChange(R"({"delay_ms": 5, "meta": {}, "tags": [], "priority": 7})", FromMillis(kNow));
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->delay, 5ms);
  EXPECT_TRUE(other->meta && other->meta->empty());
  EXPECT_TRUE(other->tags && other->tags->empty());
  EXPECT_EQ(**other->priority, 7);
  ExpectBad({{"{}", Code::kBadValue, "nothing to change"},
             {R"({"count": 1})", Code::kUnknownField, "`count`"},
             {R"({"tag": "a", "tags": []})", Code::kBadValue, "do not go together"},
             {R"({"delay_ms": 1, "scheduled_at_ms": 5})", Code::kBadValue, "do not go together"}},
            [](const std::string& text) { return ParseJobChange(text, FromMillis(kNow)); });
}

// --- Content

ContentHash HashOf(const std::string& json) {
  auto request = ParseJobSpec(json, Options());
  EXPECT_TRUE(request.ok()) << json;
  HashContent(*request);
  return request->spec.content;
}

TEST(HashContent, TheSameContentInAnyFormIsTheSame) {
  const ContentHash want = HashOf(R"({"tags":["a","b"],"payload":1,"idempotency_key":"k"})");
  EXPECT_NE(want, ContentHash{});
  for (const char* json : {R"({ "idempotency_key":"k", "payload" : 1, "tags":["b","a","a"] })",
                           R"({"tags":["a","b"],"payload":1,"idempotency_key":"k","max_attempts":5,"priority":null})",
                           R"({"tags":["a","b"],"payload":1,"idempotency_key":"k","trace":"other"})"}) {
    EXPECT_EQ(HashOf(json), want) << json;
  }
  EXPECT_EQ(HashOf(R"({"tags":["a","b"],"payload":1})"), ContentHash{});  // without a key none is needed
}

TEST(HashContent, AnyDifferenceShows) {
  const std::vector<std::string> different = {
      R"("count":1)",
      R"("count":2)",
      R"("payload":1)",
      R"("payload":"1")",
      R"("payload":1.0)",
      R"("payloads":[1])",
      R"("payloads":[1,1])",
      R"("payloads":[11])",
      R"("payloads":[1],"payload":1)",
      R"("tag":"a")",
      R"("tags":["a","b"])",
      R"("tag":"ab")",
      R"("user":"a")",
      R"("async":false)",
      R"("priority":0)",
      R"("priority":1)",
      R"("delay_ms":1)",
      R"("scheduled_at_ms":1)",
      R"("meta":{"a":1})",
      R"("meta":{"a":1.0})",
      R"("meta":{"a":"1"})",
      R"("meta":{"a":true})",
      R"("lease_ms":1000)",
      R"("timeout_ms":1000)",
      R"("retention_ms":1000)",
      R"("max_attempts":1)",
      R"("max_failed_tasks":1)",
      R"("max_failed_tasks":"1%")",
      R"("backoff":{"first_ms":1})",
      R"("backoff":{"max_ms":1})",
      R"("backoff":{"factor":1})",
      R"("backoff":{"jitter":1})",
      R"("payload_prefix":"a")",
  };
  std::map<ContentHash, std::string> seen;
  for (const std::string& fields : different) {
    const auto [other, fresh] = seen.emplace(HashOf("{\"idempotency_key\":\"k\"," + fields + "}"), fields);
    EXPECT_TRUE(fresh) << fields << " and " << other->second;
  }
}

TEST(HashContent, AListAndAStreamOfTheSamePayloadsAreTheSame) {
  SpecOptions stream = Options();
  stream.stream = true;
  const auto head = ParseJobSpec(R"({"idempotency_key":"k","tag":"a"})", stream);
  ASSERT_TRUE(head.ok());
  ContentHasher hasher(*head);
  hasher.AddTaskPayload("1");
  hasher.AddTaskPayload("\"x\"");
  EXPECT_EQ(hasher.Finish(2), HashOf(R"({"idempotency_key":"k","tag":"a","payloads":[1,"x"]})"));
}

// --- Workers

TEST(ParseHello, NewAndReturningWorkers) {
  const auto fresh = ParseHello(R"({"hello": {"name": "host-1", "tags": ["b","a"], "slots": 4}})", true);
  ASSERT_TRUE(fresh.ok()) << fresh.error().message;
  EXPECT_EQ(fresh->name, "host-1");
  EXPECT_EQ(fresh->tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(fresh->slots, 4u);
  EXPECT_FALSE(fresh->worker);
  const auto back = ParseHello(
      R"({"worker": "12", "key": ")" + KeyText(0xabc) + R"(", "resume": [{"job": "5", "index": 7, "lease": "1-ff"}]})",
      false);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->worker.value, 12u);
  EXPECT_EQ(back->key, 0xabcu);
  ASSERT_EQ(back->resume.size(), 1u);
  EXPECT_EQ(back->resume[0], (TaskRef{JobId{5}, 7, LeaseId{1, 255}}));
  EXPECT_EQ(back->slots, 1u);
  ExpectBad(
      {{R"({"hello": {"slots": 0}})", Code::kBadValue, "`hello.slots` must be an integer from 1 to 10,000"},
       {R"({"hello": {"slots": 10001}})", Code::kBadValue, "`hello.slots`"},
       {R"({"hello": {"name": "a\nb"}})", Code::kBadValue, "control"},
       {R"({"hello": {"tag": "a"}})", Code::kUnknownField, "`tag`", "`tags`"},
       {R"({"hello": {"worker": "1"}})", Code::kBadValue, "needs `key`"},
       {R"({"hello": {"key": "0000000000000001"}})", Code::kBadValue, "needs `worker`"},
       {R"({"hello": {"key": "xyz", "worker": "1"}})", Code::kBadValue, "`hello.key`"},
       {R"({"hello": {"worker": 1, "key": "0000000000000001"}})", Code::kBadValue, "`hello.worker` must be a string"},
       {R"({"hello": {"resume": [{"job": "1", "index": 0, "lease": "1-1"}]}})", Code::kBadValue, "`resume` needs"},
       {R"({"hello": []})", Code::kBadValue, "`hello` must be an object"},
       {R"({"pull": 1})", Code::kUnknownField, "`pull`", ""},
       {R"({})", Code::kBadRequest, "hello"}},
      [](const std::string& text) { return ParseHello(text, true); });
}

TEST(ParseWorkerMessage, AllFieldsTogether) {
  const std::string json =
      R"({"seq": 9, "done": [{"job":"1","index":2,"lease":"a-b","result": {"x": [1, 2]} },{"job":"1","index":3,"lease":"a-c"}],
    "failed": [{"job":"4","index":0,"lease":"1-2","error":"exit \u00fc","final":true},{"lease":"1-3","index":1,"job":"4"}],
    "released": [{"job":"5","index":4294967294,"lease":"1-4"}], "extend": [{"job":"6","index":1,"lease":"1-5"}], "pull": 3, "bye": true})";
  WorkerMessage message;
  const auto got = ParseWorkerMessage(json, {}, message);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(message.seq, 9u);
  ASSERT_EQ(message.done.size(), 2u);
  EXPECT_EQ(message.done[0].task, (TaskRef{JobId{1}, 2, LeaseId{10, 11}}));
  EXPECT_EQ(message.done[0].result, R"({"x": [1, 2]})");
  EXPECT_EQ(message.done[1].result, "");
  ASSERT_EQ(message.failed.size(), 2u);
  EXPECT_EQ(message.failed[0].error, "exit ü");
  EXPECT_TRUE(message.failed[0].final);
  EXPECT_FALSE(message.failed[1].final);
  EXPECT_EQ(message.failed[1].task.lease, (LeaseId{1, 3}));
  ASSERT_EQ(message.released.size(), 1u);
  EXPECT_EQ(message.released[0].index, 4294967294u);
  EXPECT_EQ(message.extend.size(), 1u);
  EXPECT_EQ(message.pull, 3u);
  EXPECT_TRUE(message.bye);
  // The same object again: nothing is left of the message before.
  ASSERT_TRUE(ParseWorkerMessage("{}", {}, message).ok());
  EXPECT_FALSE(message.seq || message.pull || message.bye || message.key);
  EXPECT_TRUE(message.done.empty() && message.failed.empty() && message.released.empty() && message.extend.empty());
}

TEST(ParseWorkerMessage, HttpHasKeyAndWaitButNoSeq) {
  WorkerMessage message;
  const MessageOptions http{.max_result_bytes = 10, .http = true};
  ASSERT_TRUE(ParseWorkerMessage(R"({"key": "00000000000000ff", "pull": 1, "wait_ms": 300000})", http, message).ok());
  EXPECT_EQ(message.key, 255u);
  EXPECT_EQ(message.wait, 5min);
  ExpectBad({{"{}", Code::kBadValue, "`key` is missing"},
             {R"({"key": "00000000000000ff", "wait_ms": 300001})", Code::kBadValue, "`wait_ms`"},
             {R"({"key": "00000000000000ff", "seq": 1})", Code::kUnknownField, "`seq`"},
             {R"({"key": "00000000000000ff", "bye": true})", Code::kUnknownField, "`bye`"},
             {R"({"key": "ff"})", Code::kBadValue, "`key` is not a worker's key"},
             {R"({"key": "00000000000000FG"})", Code::kBadValue, "`key`"},
             {R"({"key": "00000000000000ff", "done": [{"job":"1","index":0,"lease":"1-1","result":"12345678901"}]})",
              Code::kTooLarge, "`done[0].result`", "max_result_bytes"}},
            [&](const std::string& text) { return ParseWorkerMessage(text, http, message); });
  EXPECT_FALSE(ParseWorkerMessage(R"({"key": "00000000000000ff"})", {}, message).ok());
}

TEST(ParseWorkerMessage, WrongEntriesAreNamed) {
  WorkerMessage message;
  ExpectBad(
      {{R"({"done": [{"job":"1","index":0}]})", Code::kBadValue, "`done[0].lease` is missing"},
       {R"({"done": [{"job":"1","index":0,"lease":"1-1"},{"index":0,"lease":"1-1"}]})", Code::kBadValue,
        "`done[1].job` is missing"},
       {R"({"done": [{"job":1,"index":0,"lease":"1-1"}]})", Code::kBadValue, "`done[0].job` must be a string"},
       {R"({"done": [{"job":"0","index":0,"lease":"1-1"}]})", Code::kBadValue, "`done[0].job` must be a job's id"},
       {R"({"done": [{"job":"9223372036854775808","index":0,"lease":"1-1"}]})", Code::kBadValue, "`done[0].job`"},
       {R"({"done": [{"job":"1","index":4294967295,"lease":"1-1"}]})", Code::kBadValue, "`done[0].index`"},
       {R"({"done": [{"job":"1","index":-1,"lease":"1-1"}]})", Code::kBadValue, "`done[0].index`"},
       {R"({"done": [{"job":"1","index":0,"lease":"made up"}]})", Code::kBadValue, "`done[0].lease` is not a lease"},
       {R"({"done": [{"job":"1","index":0,"lease":"1-1","error":"x"}]})", Code::kUnknownField, "`error`"},
       {R"({"done": [{"job":"1","index":0,"lease":"1-1","reslut":1}]})", Code::kUnknownField, "`reslut`", "`result`"},
       {R"({"done": [{"job":"1","index":0,"lease":"1-1","result":[1,}]})", Code::kBadJson, ""},
       {R"({"done": {}})", Code::kBadValue, "`done` must be a list"},
       {R"({"failed": [{"job":"1","index":0,"lease":"1-1","final":1}]})", Code::kBadValue, "`failed[0].final`"},
       {R"({"failed": [{"job":"1","index":0,"lease":"1-1","error":1}]})", Code::kBadValue, "`failed[0].error`"},
       {R"({"released": [{"job":"1","index":0,"lease":"1-1","result":1}]})", Code::kUnknownField, "`result`"},
       {R"({"pull": -1})", Code::kBadValue, "from 0 to 10,000"},
       {R"({"pull": 10001})", Code::kBadValue, "from 0 to 10,000"},
       {R"({"seq": -1})", Code::kBadValue, "`seq`"},
       {R"({"seq": 9223372036854775808})", Code::kBadValue, "`seq`"},
       {R"({"hello": {}})", Code::kUnknownField, "`hello`"}},
      [&](const std::string& text) { return ParseWorkerMessage(text, {}, message); });
}

TEST(ParseWorkerMessage, AnErrorStillTellsTheSeqOfTheMessage) {
  WorkerMessage message;
  EXPECT_FALSE(ParseWorkerMessage(R"({"pull": -1, "seq": 42})", {}, message).ok());
  EXPECT_EQ(message.seq, 42u);
  EXPECT_FALSE(ParseWorkerMessage(R"({"seq": 43, "nope": {"seq": 1}})", {}, message).ok());
  EXPECT_EQ(message.seq, 43u);
  EXPECT_FALSE(ParseWorkerMessage(R"({"seq": 44, "pull": )", {}, message).ok());
  EXPECT_FALSE(message.seq);
  EXPECT_FALSE(ParseWorkerMessage(R"([{"seq": 45}])", {}, message).ok());
  EXPECT_FALSE(message.seq);
  EXPECT_FALSE(ParseWorkerMessage(R"({"seq": "46"})", {}, message).ok());
  EXPECT_FALSE(message.seq);
}

TEST(ParseWorkerMessage, LongErrorsAreCutBetweenCharacters) {
  WorkerMessage message;
  const std::string json =
      R"({"failed":[{"job":"1","index":0,"lease":"1-1","error":"a)" + testing::Repeated("ü", 3000) + "\"}]}";
  ASSERT_TRUE(ParseWorkerMessage(json, {}, message).ok());
  EXPECT_LE(message.failed[0].error.size(), 4096u);
  EXPECT_GE(message.failed[0].error.size(), 4095u);
  EXPECT_TRUE(IsUtf8(message.failed[0].error));
}

TEST(ParseWorkerMessage, EntriesAreBoundedInAll) {
  WorkerMessage message;
  const std::string entry = R"({"job":"1","index":0,"lease":"1-1"})";
  const std::string half = entry + testing::Repeated("," + entry, 4999);
  EXPECT_TRUE(ParseWorkerMessage("{\"done\":[" + half + "],\"released\":[" + half + "]}", {}, message).ok());
  const auto over =
      ParseWorkerMessage("{\"done\":[" + half + "],\"extend\":[" + half + "," + entry + "]}", {}, message);
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().code, Code::kTooLarge);
}

// --- The rest

TEST(ParseWaitMessage, TakesIds) {
  const auto got = ParseWaitMessage(R"({"wait": ["1", "22"]})");
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->wait, (std::vector<JobId>{JobId{1}, JobId{22}}));
  const auto results = ParseWaitMessage(
      R"({"results": [{"job": "7", "credit": 10000, "have": [{"from": 0, "to": 3}, {"from": 9, "to": 4294967295}]}]})");
  ASSERT_TRUE(results.ok());
  EXPECT_TRUE(results->wait.empty());
  ASSERT_EQ(results->results.size(), 1u);
  EXPECT_EQ(results->results[0].job, JobId{7});
  EXPECT_EQ(results->results[0].credit, 10'000u);
  EXPECT_EQ(results->results[0].have,
            (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 3}, {9, 4'294'967'295}}));
  ExpectBad({{R"({"wait": [1]})", Code::kBadValue, "`wait[0]`"},
             {R"({"wait": ["x"]})", Code::kBadValue, "`wait[0]`"},
             {R"({"results": [{"job": "7"}]})", Code::kBadValue, "`results[0].credit`"},
             {R"({"results": [{"credit": 1}]})", Code::kBadValue, "`results[0].job`"},
             {R"({"results": [{"job": "7", "credit": 1, "have": [{"from": 3, "to": 3}]}]})", Code::kBadValue,
              "`results[0].have[0]`"},
             {R"({"wiat": []})", Code::kUnknownField, "`wiat`", "`wait`"},
             {R"({"wait": [)" + testing::Repeated("\"1\",", 10'000) + "\"1\"]}", Code::kTooManyWaits, "10,000"}},
            [](const std::string& text) { return ParseWaitMessage(text); });
}

TEST(ParseQueue, CreateAndChange) {
  const auto created = ParseQueueCreate(R"({"name": "a.B-c_1", "settings": {"worker_grace_ms": 5000}})");
  ASSERT_TRUE(created.ok());
  EXPECT_EQ(created->name, "a.B-c_1");
  EXPECT_EQ(created->settings.worker_grace, 5s);
  EXPECT_FALSE(created->settings.max_finished_jobs);
  const auto changed = ParseQueueChange(R"({"settings": {"max_finished_jobs": 10, "max_result_bytes": 1048576}})");
  ASSERT_TRUE(changed.ok());
  QueueSettings settings;
  changed->ApplyTo(settings);
  EXPECT_EQ(settings, (QueueSettings{10, 30s, 1048576, {}, 3, "worker", {}}));
  ExpectBad(
      {{"{}", Code::kBadValue, "`name` is missing"},
       {R"({"name": ""})", Code::kBadValue, "`name`"},
       {R"({"name": ".."})", Code::kBadValue, "`name`"},
       {R"({"name": "a/b"})", Code::kBadValue, "`name`"},
       {R"({"name": "a\u0000"})", Code::kBadValue, "`name`"},
       {R"({"name": ")" + testing::Repeated("a", 129) + "\"}", Code::kBadValue, "`name`"},
       {R"({"name": "a", "settings": {"max_result_bytes": 1048577}})", Code::kBadValue, "`settings.max_result_bytes`"},
       {R"({"name": "a", "settings": {"worker_grace": 1}})", Code::kUnknownField, "`worker_grace`"}},
      [](const std::string& text) { return ParseQueueCreate(text); });
  ExpectBad({{"{}", Code::kBadValue, "`settings` is missing"}, {R"({"name": "x"})", Code::kUnknownField, "`name`"}},
            [](const std::string& text) { return ParseQueueChange(text); });
}

TEST(ParseKeyBody, NeedsAKey) {
  EXPECT_EQ(*ParseKeyBody(R"({"key": "0123456789abcdef"})"), 0x0123456789abcdefu);
  EXPECT_EQ(KeyText(0x0123456789abcdef), "0123456789abcdef");
  EXPECT_FALSE(ParseKeyBody("{}").ok());
  EXPECT_FALSE(ParseKeyBody("").ok());
}

TEST(ParseEmptyBody, NothingOrAnEmptyObject) {
  EXPECT_TRUE(ParseEmptyBody("").ok());
  EXPECT_TRUE(ParseEmptyBody(" {} ").ok());
  EXPECT_FALSE(ParseEmptyBody("[]").ok());
  EXPECT_FALSE(ParseEmptyBody(R"({"x": 1})").ok());
}

}  // namespace
}  // namespace allot
