// SPDX-License-Identifier: Apache-2.0
#include "cli/text/ad_json.h"

#include <gtest/gtest.h>

#include <string>

namespace allot::cli {
namespace {

TEST(AdJson, ValuesOfEveryKind) {
  const auto ad = AdFromJson(
      R"({"b":true,"i":-9223372036854775808,"r":1.5,"one":1.0,"s":"é\n","l":[1,null,[]],"o":{"A":{"x":1},"gone":null},"n":null})");
  ASSERT_TRUE(ad.ok()) << ad.error().message;
  struct Row {
    const char* name;
    const char* want;
  };
  constexpr Row kRows[] = {{"B", "true"},     {"i", "-9223372036854775808"}, {"r", "1.5"},          {"one", "1.0"},
                           {"s", "\"é\\n\""}, {"l", "{1, undefined, {}}"},   {"o", "[A = [x = 1]]"}};
  for (const Row& row : kRows) {
    ASSERT_NE(ad->Find(row.name), nullptr) << row.name;
    EXPECT_EQ(Print(*ad->Find(row.name)), row.want);
  }
  EXPECT_EQ(ad->Find("n"), nullptr);
}

TEST(AdJson, RefusesWhatTheLanguageCannotWrite) {
  struct Row {
    std::string json;
    const char* want;
  };
  const Row rows[] = {
      {"[1]", "not a JSON object"},
      {"{", "not JSON"},
      {"{\"a\":1}x", "not JSON"},
      {R"({"a":1,"A":2})", "two attributes named `A`"},
      {R"({"a":{"x":1,"X":2}})", "`a`: there are two fields named `X`"},
      {R"({"a":{"not a name":1}})", "`a`: `not a name` is no name for a field"},
      {R"({"a":"\u0000"})", "`a`: a text cannot have \\u0000"},
      {R"({"a":9223372036854775808})", "`a`: the number 9223372036854775808 does not fit"},
      {R"({"a":1e999})", "not JSON"},
      {"{\"a\":" + std::string(200, '[') + std::string(200, ']') + "}", "levels of JSON"},
      {"{\"a\":" + std::string(5000, '[') + std::string(5000, ']') + "}", "not JSON"},
      {"{\"a\":\"\xff\"}", "not JSON"},
  };
  for (const Row& row : rows) {
    const auto ad = AdFromJson(row.json);
    ASSERT_FALSE(ad.ok()) << row.json;
    EXPECT_EQ(ad.error().code, Code::kBadValue);
    EXPECT_NE(ad.error().message.find(row.want), std::string::npos) << ad.error().message;
  }
}

}  // namespace
}  // namespace allot::cli
