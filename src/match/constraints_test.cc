// SPDX-License-Identifier: Apache-2.0
#include "match/constraints.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/bounds.h"
#include "base/rng.h"

namespace allot {
namespace {

using Keys = std::vector<std::string>;
const Keys kDeclared = {"gpu", "mem", "region"};

TEST(ConstraintTag, IsCanonicalAndEscaped) {
  struct Row {
    Properties properties;
    const char* tag;
  };
  const Row rows[] = {
      {{}, "c:"},
      {{{"gpu", "a100"}}, "c:gpu=a100"},
      {{{"gpu", "a100"}, {"mem", "high"}}, "c:gpu=a100,mem=high"},
      {{{"path", "a/b.c-d_E9"}}, "c:path=a/b.c-d_E9"},
      {{{"gpu", "a,mem=high"}}, "c:gpu=a%2Cmem%3Dhigh"},  // not the tag of two pairs
      {{{"gpu", "50%"}}, "c:gpu=50%25"},
      {{{"gpu", "%35"}}, "c:gpu=%2535"},
      {{{"city", "Köln"}}, "c:city=K%C3%B6ln"},
      {{{"a", " x"}, {"b", "c:"}}, "c:a=%20x,b=c%3A"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ConstraintTag(row.properties), row.tag);
    const auto back = ParseConstraintTag(row.tag);
    ASSERT_TRUE(back.ok()) << row.tag << ": " << back.error().message;
    EXPECT_EQ(*back, row.properties) << row.tag;
  }
}

TEST(ConstraintTags, AWorkerHasTheTagOfEverySubset) {
  EXPECT_EQ(ConstraintTags(Properties{}), Keys{"c:"});
  EXPECT_EQ(ConstraintTags(Properties{{"gpu", "a100"}, {"mem", "high"}}),
            (Keys{"c:", "c:gpu=a100", "c:gpu=a100,mem=high", "c:mem=high"}));
  Properties six;
  for (const char* key : {"a", "b", "c", "d", "e", "f"}) six.emplace_back(key, "1");
  const std::vector<std::string> tags = ConstraintTags(six);
  EXPECT_EQ(tags.size(), 64u);
  EXPECT_EQ(std::set<std::string>(tags.begin(), tags.end()).size(), 64u);
  EXPECT_TRUE(std::is_sorted(tags.begin(), tags.end()));
}

TEST(ConstraintTags, AJobHasOneForEachAlternative) {
  EXPECT_TRUE(ConstraintTags(std::vector<Properties>{}).empty());
  EXPECT_EQ(ConstraintTags(std::vector<Properties>{{{"gpu", "h100"}}, {{"gpu", "a100"}}, {{"gpu", "h100"}}}),
            (Keys{"c:gpu=a100", "c:gpu=h100"}));
}

TEST(ConstraintTags, TwoSetsNeverShareATag) {
  // Values made of what could confuse a naive form.
  const std::string_view pieces[] = {"", "a", "b", ",", "=", "%", "%2C", "c:", "b=1", ",b=1", "ü", " ", "2C"};
  const std::uint64_t seed = 20'260'101;
  SCOPED_TRACE(seed);
  Rng rng(seed);
  std::map<std::string, Properties> seen;
  for (int i = 0; i < 20'000; ++i) {
    Properties properties;
    for (const char* key : {"a", "b", "c"}) {
      if (rng.Below(2) == 0) continue;
      std::string value(1, "xyz,=%"[rng.Below(6)]);
      for (int k = 0; k < 2; ++k) value += pieces[rng.Below(std::size(pieces))];
      properties.emplace_back(key, value);
    }
    const std::string tag = ConstraintTag(properties);
    const auto [other, fresh] = seen.emplace(tag, properties);
    ASSERT_EQ(other->second, properties) << tag;
    const auto back = ParseConstraintTag(tag);
    ASSERT_TRUE(back.ok()) << tag;
    ASSERT_EQ(*back, properties) << tag;
  }
  EXPECT_GT(seen.size(), 1'000u);
}

TEST(ParseConstraintTag, TakesPairsInAnyOrderAndNothingElse) {
  EXPECT_EQ(*ParseConstraintTag("c:mem=high,gpu=a%31%3d"), (Properties{{"gpu", "a1="}, {"mem", "high"}}));
  struct Row {
    std::string tag;
    const char* message;
  };
  const Row rows[] = {
      {"", "does not begin with `c:`"},
      {"gpu=a100", "does not begin with `c:`"},
      {"C:gpu=a100", "does not begin with `c:`"},
      {"c:gpu", "not a key=value pair"},
      {"c:gpu=a,", "not a key=value pair"},
      {"c:,", "not a key=value pair"},
      {"c:=a", "not a property key"},
      {"c:1=a", "not a property key"},
      {"c:a b=1", "not a property key"},
      {"c:gpu=", "empty"},
      {"c:gpu=a b", "not percent-encoded"},
      {"c:gpu=a%", "not percent-encoded"},
      {"c:gpu=a%2", "not percent-encoded"},
      {"c:gpu=%2G", "not percent-encoded"},
      {"c:gpu=a=b", "not percent-encoded"},
      {"c:gpu=a,gpu=b", "twice"},
      {"c:gpu=%FF", "UTF-8"},
      {"c:gpu=%1B", "control"},
      {"c:gpu=%C2%9B", "control"},
      {"c:gpu=" + std::string(129, 'a'), "at most 128 bytes"},
      {"c:a=1,b=1,c=1,d=1,e=1,f=1,g=1", "at most 6 pairs"},
      {std::string(100'000, ','), "begin"},
  };
  for (const Row& row : rows) {
    const auto got = ParseConstraintTag(row.tag);
    ASSERT_FALSE(got.ok()) << row.tag;
    EXPECT_EQ(got.error().code, Code::kBadValue);
    EXPECT_NE(got.error().message.find(row.message), std::string::npos) << row.tag << ": " << got.error().message;
    EXPECT_LT(got.error().message.size(), 600u);
  }
}

TEST(CheckProperties, PutsThemIntoOrder) {
  Properties properties = {{"region", "eu"}, {"gpu", "a100"}};
  ASSERT_TRUE(CheckProperties(properties, kDeclared).ok());
  EXPECT_EQ(properties, (Properties{{"gpu", "a100"}, {"region", "eu"}}));
  Properties none;
  EXPECT_TRUE(CheckProperties(none, {}).ok());
}

TEST(CheckProperties, ATypoIsRefusedWithTheNearestKey) {
  struct Row {
    Properties properties;
    const char* message;
    const char* hint;
  };
  const Row rows[] = {
      {{{"gup", "a100"}},
       "`gup` is not a property key of this queue; did you mean `gpu`?",
       "it declares gpu, mem, region"},
      {{{"GPU", "a100"}}, "did you mean `gpu`?", ""},
      {{{"regoin", "eu"}}, "did you mean `region`?", ""},
      {{{"weather", "wet"}}, "`weather` is not a property key of this queue", "it declares gpu, mem, region"},
      {{{"", "x"}}, "not a property key", ""},
      {{{"\x1b[31m", "x"}}, "`\\u001b[31m`", ""},
      {{{std::string(10'000, 'g'), "x"}}, "…", ""},
      {{{"gpu", ""}}, "the value of `gpu` is empty", "leave the key out"},
      {{{"gpu", "a\nb"}}, "control characters", ""},
      {{{"gpu", "\xff"}}, "UTF-8", ""},
      {{{"gpu", std::string(129, 'x')}}, "at most 128 bytes", ""},
      {{{"gpu", "a"}, {"mem", "x"}, {"gpu", "b"}}, "`gpu` stands there twice", ""},
  };
  for (const Row& row : rows) {
    Properties properties = row.properties;
    const auto check = CheckProperties(properties, kDeclared);
    ASSERT_FALSE(check.ok()) << row.message;
    EXPECT_EQ(check.error().code, Code::kBadValue);
    EXPECT_NE(check.error().message.find(row.message), std::string::npos) << check.error().message;
    EXPECT_NE(check.error().hint.find(row.hint), std::string::npos) << check.error().hint;
    EXPECT_LT(check.error().message.size(), 600u);
  }
  Properties one = {{"gpu", "a100"}};
  const auto check = CheckProperties(one, {});
  ASSERT_FALSE(check.ok());
  EXPECT_NE(check.error().message.find("declares none"), std::string::npos);
  EXPECT_EQ(check.error().hint, "allot queue set --property-keys gpu");
}

TEST(CheckConstraints, AlternativesAreSortedAndAnEmptyOneMeansAny) {
  std::vector<Properties> some = {{{"mem", "high"}, {"gpu", "h100"}}, {{"gpu", "a100"}}, {{"gpu", "a100"}}};
  ASSERT_TRUE(CheckConstraints(some, kDeclared).ok());
  EXPECT_EQ(some, (std::vector<Properties>{{{"gpu", "a100"}}, {{"gpu", "h100"}, {"mem", "high"}}}));
  std::vector<Properties> any = {{{"gpu", "a100"}}, {}};
  ASSERT_TRUE(CheckConstraints(any, kDeclared).ok());
  EXPECT_TRUE(any.empty());
  // A typo is one, beside an alternative that takes any worker, too.
  std::vector<Properties> typo = {{}, {{"gup", "a100"}}};
  const auto check = CheckConstraints(typo, kDeclared);
  ASSERT_FALSE(check.ok());
  EXPECT_NE(check.error().message.find("alternative 2: `gup`"), std::string::npos) << check.error().message;
  std::vector<Properties> many(17, Properties{{"gpu", "a100"}});
  EXPECT_FALSE(CheckConstraints(many, kDeclared).ok());
}

TEST(CheckPropertyKeys, KeysAreNamesOfTheirOwn) {
  EXPECT_TRUE(CheckPropertyKeys(kDeclared, 3).ok());
  EXPECT_TRUE(CheckPropertyKeys({}, 0).ok());
  EXPECT_TRUE(CheckPropertyKeys(Keys{std::string(64, 'a'), "_b9"}, 3).ok());
  struct Row {
    Keys keys;
    const char* message;
  };
  const Row rows[] = {
      {{"a", "b", "c", "d"}, "4 property keys are more than the 3"},
      {{"gpu", "GPU"}, "one key"},
      {{"gpu", "gpu"}, "one key"},
      {{""}, "not a property key"},
      {{"9a"}, "not a property key"},
      {{"a-b"}, "not a property key"},
      {{"ä"}, "not a property key"},
      {{std::string(65, 'a')}, "not a property key"},
      {{"slots"}, "every worker has already"},
      {{"Machine"}, "a word of the language"},
      {{"error"}, "a word of the language"},
  };
  for (const Row& row : rows) {
    const auto check = CheckPropertyKeys(row.keys, 3);
    ASSERT_FALSE(check.ok()) << row.message;
    EXPECT_EQ(check.error().code, Code::kBadValue);
    EXPECT_NE(check.error().message.find(row.message), std::string::npos) << check.error().message;
  }
}

TEST(BuiltInNames, AreFoundWithoutCase) {
  for (const char* name : {"User", "tags", "PRIORITY", "Async", "Tasks"}) EXPECT_TRUE(IsBuiltInJobName(name)) << name;
  for (const char* name : {"Name", "tags", "SLOTS"}) EXPECT_TRUE(IsBuiltInWorkerName(name)) << name;
  for (const char* name : {"", "Name", "users", "task"}) EXPECT_FALSE(IsBuiltInJobName(name)) << name;
  for (const char* name : {"", "User", "slot", "names"}) EXPECT_FALSE(IsBuiltInWorkerName(name)) << name;
}

}  // namespace
}  // namespace allot
