// SPDX-License-Identifier: Apache-2.0
// What matching needs, from hostile JSON: constraints, expressions, properties, attributes, and changes of them.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/testing/text.h"
#include "expr/expr.h"
#include "server/wire/request_json.h"

namespace allot {
namespace {

const KeySource kKeys = [] { return std::make_shared<const PropertyKeys>(PropertyKeys{"gpu", "mem", "region"}); };

SpecOptions MatchOptions() {
  SpecOptions options;
  options.property_keys = kKeys;
  return options;
}

struct BadMatch {
  std::string json;
  const char* message;
  const char* hint = "";
};

template <typename Parse>
void ExpectBadMatch(const std::vector<BadMatch>& rows, Parse&& parse) {
  for (const BadMatch& row : rows) {
    const std::string shown = row.json.substr(0, 200);
    const auto result = parse(row.json);
    ASSERT_FALSE(result.ok()) << shown;
    EXPECT_EQ(CodeText(result.error().code), "bad_value") << shown << ": " << result.error().message;
    EXPECT_NE(result.error().message.find(row.message), std::string::npos) << shown << ": " << result.error().message;
    EXPECT_NE(result.error().hint.find(row.hint), std::string::npos) << shown << ": " << result.error().hint;
    EXPECT_LT(result.error().message.size() + result.error().hint.size(), 600u) << shown;
  }
}

TEST(Constraints, EveryFormGivesTheSameAlternatives) {
  using All = std::vector<Properties>;
  struct Row {
    const char* json;
    All want;
  };
  const Row rows[] = {
      {R"({"gpu": "a100", "mem": "high"})", {{{"gpu", "a100"}, {"mem", "high"}}}},
      {R"({"mem": "high", "gpu": "a100"})", {{{"gpu", "a100"}, {"mem", "high"}}}},
      {R"("c:gpu=a100,mem=high")", {{{"gpu", "a100"}, {"mem", "high"}}}},
      {R"(["c:gpu=a100,mem=high"])", {{{"gpu", "a100"}, {"mem", "high"}}}},
      {R"([{"gpu": "h100"}, "c:gpu=a%20b", {"gpu": "h100"}])", {{{"gpu", "a b"}}, {{"gpu", "h100"}}}},
      {R"({"gpu": "K\u00f6ln, \"x\""})", {{{"gpu", "Köln, \"x\""}}}},
      {"{}", {}},
      {"[]", {}},
      {"null", {}},
      {R"("c:")", {}},
      {R"([{"gpu": "a100"}, {}])", {}},  // one alternative takes any worker, so all do
      {R"(["c:", {"gpu": "a100"}])", {}},
  };
  for (const Row& row : rows) {
    const auto got = ParseJobSpec(std::string(R"({"constraints": )") + row.json + "}", MatchOptions());
    ASSERT_TRUE(got.ok()) << row.json << got.error().message;
    EXPECT_EQ(got->spec.constraints, row.want) << row.json;
    const auto change = ParseJobChange(std::string(R"({"constraints": )") + row.json + "}", WallTime{}, kKeys);
    ASSERT_TRUE(change.ok()) << row.json;
    EXPECT_EQ(change->constraints, row.want) << row.json;
  }
}

TEST(Constraints, ATypoNeverMakesAJobRunAnywhere) {
  const std::vector<BadMatch> rows = {
      {R"({"constraints": {"gup": "a100"}})",
       "`constraints`: `gup` is not a property key of this queue; did you mean `gpu`?", "it declares gpu, mem, region"},
      {R"({"constraints": [{"gpu": "a"}, {"memm": "a"}]})", "`constraints[1]`: `memm`"},
      {R"({"constraints": [{}, {"memm": "a"}]})", "`constraints[1]`: `memm`"},
      {R"({"constraints": {"GPU": "a100"}})", "did you mean `gpu`?"},
      {R"({"constraints": "c:gup=a100"})", "`constraints`: `gup`"},
      {R"({"constraints": {"gpu": "a", "gpu": "b"}})", "`gpu` stands there twice"},
      {R"({"constraints": {"mem": 8}})", "`constraints.mem` must be a string", "quote it: \"8\""},
      {R"({"constraints": {"mem": 1.50}})", "must be a string", "quote it: \"1.50\""},
      {R"({"constraints": {"mem": true}})", "`constraints.mem` must be a string", "quote it: \"true\""},
      {R"({"constraints": [{"mem": -1}]})", "`constraints[0].mem` must be a string", "\"-1\""},
      {R"({"constraints": {"mem": null}})", "`constraints.mem` must be a string"},
      {R"({"constraints": {"mem": ["a"]}})", "`constraints.mem` must be a string"},
      {R"({"constraints": {"mem": ""}})", "empty", "leave the key out"},
      {R"({"constraints": {"mem": "\u001b[31m"}})", "control characters"},
      {R"({"constraints": {"mem": ")" + testing::Repeated("a", 129) + "\"}}", "128 bytes"},
      {R"({"constraints": {"\u001b[31m": "a"}})", "\\u001b"},
      {R"({"constraints": {")" + testing::Repeated("g", 100'000) + R"(": "a"}})", "…"},
      {R"({"constraints": "gpu=a100"})", "does not begin with `c:`"},
      {R"({"constraints": "c:gpu"})", "key=value"},
      {R"({"constraints": "c:gpu=a b"})", "percent-encoded"},
      {R"({"constraints": 5})", "`constraints` must be an object"},
      {R"({"constraints": [5]})", "`constraints[0]` must be an object"},
      {R"({"constraints": [[{}]]})", "`constraints[0]` must be an object"},
      {R"({"constraints": [)" + testing::Repeated("{},", 16) + "{}]}", "`constraints` has more than 16 items"},
      {R"({"constraints": {"a":"1","b":"1","c":"1","d":"1","e":"1","f":"1","g":"1"}})", "more than 6 pairs"},
  };
  ExpectBadMatch(rows, [](const std::string& json) { return ParseJobSpec(json, MatchOptions()); });
  ExpectBadMatch(rows, [](const std::string& json) { return ParseJobChange(json, WallTime{}, kKeys); });
  ExpectBadMatch({{R"({"jobs": [{}, {"constraints": {"gup": "a"}}]})", "`jobs[1].constraints`: `gup`"}},
                 [](const std::string& json) { return ParseBatch(json, MatchOptions()); });
  // Without declared keys there is none that could be used.
  ExpectBadMatch({{R"({"constraints": {"gpu": "a100"}})", "declares none", "allot queue set --property-keys gpu"}},
                 [](const std::string& json) { return ParseJobSpec(json, {}); });
  EXPECT_TRUE(ParseJobSpec(R"({"constraints": {}})", {}).ok());
}

TEST(Expressions, AreKeptAsTheyWereWritten) {
  const auto got = ParseJobSpec(R"({"requirements": " TARGET.memory>=4096 &&\n true", "rank": "memory * 2"})", {});
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->spec.requirements->source(), " TARGET.memory>=4096 &&\n true");
  EXPECT_EQ(got->spec.rank->source(), "memory * 2");
  const auto none = ParseJobSpec(R"({"requirements": null, "rank": null})", {});
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->spec.requirements == nullptr && none->spec.rank == nullptr);
  for (const char* number : {"5", "-3", "1.5", "1e3", "0"}) {
    const auto rank = ParseJobSpec(std::string(R"({"rank": )") + number + "}", {});
    ASSERT_TRUE(rank.ok()) << number << rank.error().message;
    EXPECT_EQ(rank->spec.rank->source(), number);
  }
}

TEST(Expressions, AnErrorCarriesItsPlace) {
  const std::vector<BadMatch> rows = {
      {R"({"requirements": "MACHINE.Memory >= 4096 && ("})", "`requirements`: expected an expression here (at byte 27)",
       "after `MACHINE.Memory >= 4096 && (`"},
      {R"({"rank": "1 +"})", "`rank`: "},
      {R"({"requirements": ""})", "(at byte 0)", "null means none"},
      {R"({"requirements": ")" + testing::Repeated("Ü", 30) + " == 1\"}", "at byte 0", "before `ÜÜ"},
      {R"({"requirements": 5})", "`requirements` must be an expression, as a string"},
      {R"({"requirements": true})", "must be an expression"},
      {R"({"requirements": {}})", "must be an expression"},
      {R"({"rank": [1]})", "must be an expression, as a string, or a number"},
      {R"({"rank": true})", "or a number"},
      {R"({"rank": 99999999999999999999999999})", "`rank`"},
      {R"({"requirements": ")" + testing::Repeated("a", 16 * 1024 + 1) + "\"}", "16,384"},
      {R"({"requirements": ")" + testing::Repeated("(", 10'000) + "\"}", "`requirements`: "},
  };
  ExpectBadMatch(rows, [](const std::string& json) { return ParseJobSpec(json, {}); });
  ExpectBadMatch(rows, [](const std::string& json) { return ParseJobChange(json, WallTime{}); });
  ExpectBadMatch(rows, [](const std::string& json) { return ParseHello(json, false); });
  ExpectBadMatch(rows, [](const std::string& json) { return ParseWorkerPatch(json); });
}

TEST(ParseJobChange, NullRemovesWhatMatches) {
  const auto change = ParseJobChange(R"({"requirements": null, "rank": null, "constraints": null})", WallTime{});
  ASSERT_TRUE(change.ok()) << change.error().message;
  EXPECT_TRUE(change->requirements && *change->requirements == nullptr);
  EXPECT_TRUE(change->rank && *change->rank == nullptr);
  EXPECT_TRUE(change->constraints && change->constraints->empty());
  const auto other = ParseJobChange(R"({"priority": 1})", WallTime{});
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->requirements || other->rank || other->constraints);
}

TEST(Names, BuiltInOnesAreRefused) {
  ExpectBadMatch({{R"({"meta": {"User": 1}})", "`meta.User` cannot be a meta key"},
                  {R"({"meta": {"tags": 1}})", "`meta.tags`"},
                  {R"({"meta": {"PRIORITY": 1}})", "`meta.PRIORITY`"},
                  {R"({"meta": {"async": 1}})", "`meta.async`"},
                  {R"({"meta": {"Tasks": 1}})", "`meta.Tasks`"}},
                 [](const std::string& json) { return ParseJobSpec(json, {}); });
  EXPECT_TRUE(ParseJobSpec(R"({"meta": {"name": 1, "slots": 2}})", {}).ok());
  ExpectBadMatch({{R"({"attributes": {"name": 1}})", "`attributes.name` cannot be an attribute's key"},
                  {R"({"attributes": {"SLOTS": 1}})", "`attributes.SLOTS`"},
                  {R"({"attributes": {"Tags": 1}})", "`attributes.Tags`"},
                  {R"({"attributes": {"a": 1, "A": 2}})", "`a` twice"},
                  {R"({"attributes": {"a-b": 1}})", "is not an attribute's key"},
                  {R"({"properties": {"gpu": "a"}, "attributes": {"GPU": 1}})", "`GPU` is a property of this worker"}},
                 [](const std::string& json) { return ParseHello(json, false, {kKeys}); });
  EXPECT_TRUE(ParseHello(R"({"attributes": {"user": 1, "priority": 2, "GPU": 3}})", false, {kKeys}).ok());
}

TEST(ParseHello, TellsWhatTheWorkerIs) {
  const auto hello = ParseHello(
      R"({"hello": {"properties": {"mem": "high", "gpu": "a100"}, "attributes": {"memory": 4096, "arch": "x86", "load": 0.5, "spot": false},
          "requirements": "TARGET.size < 10", "rank": 1}})",
      true, {kKeys});
  ASSERT_TRUE(hello.ok()) << hello.error().message;
  EXPECT_EQ(hello->properties, (Properties{{"gpu", "a100"}, {"mem", "high"}}));
  ASSERT_EQ(hello->attributes.size(), 4u);
  EXPECT_EQ(hello->attributes[2], (std::pair<std::string, MetaValue>("memory", std::int64_t{4096})));
  EXPECT_EQ(hello->requirements->source(), "TARGET.size < 10");
  EXPECT_EQ(hello->rank->source(), "1");
  ExpectBadMatch({{R"({"hello": {"properties": {"gup": "a"}}})", "`hello.properties`: `gup`"},
                  {R"({"hello": {"properties": {"gpu": 1}}})", "`hello.properties.gpu` must be a string", "\"1\""},
                  {R"({"hello": {"properties": []}})", "`hello.properties` must be an object"},
                  {R"({"hello": {"attributes": {"a": null}}})", "`hello.attributes.a`"}},
                 [](const std::string& json) { return ParseHello(json, true, {kKeys}); });
  const auto with = [](int n) {
    std::string json = R"({"attributes": {)";
    for (int i = 0; i < n; ++i) json += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":1";
    return ParseHello(json + "}}", false);
  };
  EXPECT_TRUE(with(128).ok());
  EXPECT_FALSE(with(129).ok());
}

TEST(ParseWorkerPatch, WhatIsNotNamedStaysAndNullEmpties) {
  const auto some =
      ParseWorkerPatch(R"({"tags": ["b", "a"], "properties": {"gpu": "a100"}, "key": "00000000000000ff"})", {kKeys});
  ASSERT_TRUE(some.ok()) << some.error().message;
  EXPECT_EQ(some->key, 255u);
  EXPECT_EQ(some->change.tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(some->change.properties, (Properties{{"gpu", "a100"}}));
  EXPECT_FALSE(some->change.attributes || some->change.requirements || some->change.rank);
  const auto none =
      ParseWorkerPatch(R"({"tags": null, "properties": null, "attributes": null, "requirements": null, "rank": null})");
  ASSERT_TRUE(none.ok()) << none.error().message;
  EXPECT_FALSE(none->key);
  EXPECT_TRUE(none->change.tags && none->change.tags->empty());
  EXPECT_TRUE(none->change.properties && none->change.properties->empty());
  EXPECT_TRUE(none->change.attributes && none->change.attributes->empty());
  EXPECT_TRUE(none->change.requirements && *none->change.requirements == nullptr);
  EXPECT_TRUE(none->change.rank && *none->change.rank == nullptr);
  ExpectBadMatch({{"{}", "nothing to change"},
                  {R"({"key": "00000000000000ff"})", "nothing to change"},
                  {R"({"tags": "a"})", "`tags` must be a list"},
                  {R"({"properties": {"gup": "a"}})", "`properties`: `gup`"},
                  {R"({"properties": {"gpu": "a"}, "attributes": {"Gpu": 1}})", "`Gpu` is a property of this worker"}},
                 [](const std::string& json) { return ParseWorkerPatch(json, {kKeys}); });
}

TEST(ParseWorkerMessage, AWorkerMaySayThatItHasChanged) {
  WorkerMessage message;
  MessageOptions options;
  options.vocabulary.property_keys = kKeys;
  ASSERT_TRUE(ParseWorkerMessage(R"({"seq": 1, "set": {"properties": {"gpu": "a100"}, "rank": 3}, "pull": 2})", options,
                                 message)
                  .ok());
  ASSERT_TRUE(message.set.has_value());
  EXPECT_EQ(message.set->properties, (Properties{{"gpu", "a100"}}));
  EXPECT_EQ((*message.set->rank)->source(), "3");
  EXPECT_EQ(message.pull, 2u);
  ASSERT_TRUE(ParseWorkerMessage("{}", options, message).ok());
  EXPECT_FALSE(message.set);
  ExpectBadMatch({{R"({"set": {}})", "nothing to change"},
                  {R"({"set": {"properties": {"gup": "a"}}})", "`set.properties`: `gup`"},
                  {R"({"set": []})", "`set` must be an object"}},
                 [&](const std::string& json) { return ParseWorkerMessage(json, options, message); });
  const auto keyed = ParseWorkerMessage(R"({"seq": 3, "set": {"key": "00000000000000ff"}})", options, message);
  ASSERT_FALSE(keyed.ok());
  EXPECT_EQ(keyed.error().code, Code::kUnknownField);
  EXPECT_EQ(message.seq, 3u);
  options.http = true;
  EXPECT_TRUE(ParseWorkerMessage(R"({"key": "00000000000000ff", "set": {"tags": []}})", options, message).ok());
}

TEST(ParseQueue, DeclaresPropertyKeys) {
  const auto change = ParseQueueChange(R"({"settings": {"property_keys": ["mem", "gpu"], "max_property_keys": 6}})");
  ASSERT_TRUE(change.ok()) << change.error().message;
  EXPECT_EQ(change->property_keys, (PropertyKeys{"mem", "gpu"}));
  EXPECT_EQ(change->max_property_keys, 6u);
  EXPECT_TRUE(ParseQueueChange(R"({"settings": {"property_keys": []}})")->property_keys->empty());
  ExpectBadMatch(
      {{R"({"settings": {"property_keys": "gpu"}})", "`settings.property_keys` must be a list"},
       {R"({"settings": {"property_keys": [1]}})", "`settings.property_keys[0]` must be a string"},
       {R"({"settings": {"property_keys": ["a b"]}})", "`settings.property_keys`: `a b` is not a property key"},
       {R"({"settings": {"property_keys": ["gpu", "GPU"]}})", "one key"},
       {R"({"settings": {"property_keys": ["Slots"]}})", "every worker has already"},
       {R"({"settings": {"property_keys": ["a","b","c","d","e","f","g"]}})", "more than 6 items"},
       {R"({"settings": {"max_property_keys": 7}})", "from 0 to 6"}},
      [](const std::string& json) { return ParseQueueChange(json); });
}

ContentHash HashOfMatch(const std::string& fields) {
  const std::string text = R"({"idempotency_key": "k")" + fields + "}";  // the request refers to it
  auto request = ParseJobSpec(text, MatchOptions());
  EXPECT_TRUE(request.ok()) << fields;
  HashContent(*request);
  return request->spec.content;
}

TEST(HashContent, WhatMatchesIsPartOfTheContent) {
  const std::vector<std::string> different = {
      "",
      R"(,"constraints":{"gpu":"a100"})",
      R"(,"constraints":{"mem":"a100"})",
      R"(,"constraints":[{"gpu":"a100"},{"gpu":"h100"}])",
      R"(,"requirements":"true")",
      R"(,"rank":"true")",
      R"(,"rank":1)",
      R"(,"requirements":"1","rank":"2")",
      R"(,"requirements":"12")",
  };
  std::map<ContentHash, std::string> seen;
  for (const std::string& fields : different) {
    const auto [other, fresh] = seen.emplace(HashOfMatch(fields), fields);
    EXPECT_TRUE(fresh) << fields << " and " << other->second;
  }
  EXPECT_EQ(HashOfMatch(R"(,"constraints":[{"gpu":"h100"},"c:gpu=a100"])"), HashOfMatch(different[3]));
  EXPECT_EQ(HashOfMatch(R"(,"constraints":{},"requirements":null,"rank":null)"), HashOfMatch(""));
}

TEST(HashContent, JobsWithoutItHashAsTheyDidBefore) {
  // Kept with jobs: another value would turn every repeated submit across an upgrade into a conflict.
  const ContentHash hash = HashOfMatch(R"(,"tag":"a","payload":1)");
  EXPECT_EQ(hash, (ContentHash{0xccc1f652884ca2f6, 0xce68bfa307c9d385})) << std::hex << hash[0] << ' ' << hash[1];
}

}  // namespace
}  // namespace allot
