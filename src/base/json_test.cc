// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <simdjson.h>

namespace allot {
namespace {

TEST(JsonString, EscapesWhatJsonDemands) {
  struct Row {
    std::string_view text;
    std::string_view want;
  };
  using namespace std::string_view_literals;
  const Row rows[] = {
      {"", R"("")"},
      {"plain", R"("plain")"},
      {"a\"b\\c", R"("a\"b\\c")"},
      {"\n\r\t\b\x01\x1f\x7f"sv, "\"\\n\\r\\t\\u0008\\u0001\\u001f\x7f\""},
      {"a\0b"sv, R"("a\u0000b")"},
      {"gr\xC3\xBC\xC3\x9F", "\"gr\xC3\xBC\xC3\x9F\""},
      {"\xF0\x9F\x98\x80", "\"\xF0\x9F\x98\x80\""},
      {"\xff", "\"\xEF\xBF\xBD\""},
      {"a\xC3", "\"a\xEF\xBF\xBD\""},                                                // cut off
      {"\xC0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},                                  // overlong
      {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},                  // a surrogate
      {"\xF4\x90\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},  // past U+10FFFF
  };
  for (const Row& row : rows) EXPECT_EQ(JsonString(row.text), row.want);
}

TEST(JsonString, AnyBytesGiveValidJsonThatReadsBackIfTheyWereUtf8) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    simdjson::dom::parser parser;
    std::string_view back;
    const std::string json = "[" + JsonString(text) + "]";
    RC_ASSERT(parser.parse(json).at(0).get_string().get(back) == simdjson::SUCCESS);
    if (IsUtf8(text)) RC_ASSERT(back == text);
  }));
}

TEST(JsonReal, IsShortestAndAlwaysAReal) {
  const std::pair<double, const char*> rows[] = {
      {0.1, "0.1"},
      {2, "2.0"},
      {-0.0, "-0.0"},
      {1e300, "1e+300"},
      {1.5e-9, "1.5e-09"},
      {123456789, "123456789.0"},
      {std::numeric_limits<double>::infinity(), "null"},
      {std::nan(""), "null"},
  };
  for (const auto& [value, want] : rows) {
    std::string out;
    AppendJsonReal(value, out);
    EXPECT_EQ(out, want);
  }
}

TEST(JsonWriter, PutsCommasWhereTheyBelong) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject();
  json.Key("a").Int(-1);
  json.Key("b").BeginArray().Uint(1).String("x").BeginObject().EndObject().BeginArray().EndArray().Null().EndArray();
  json.OpenKey("c\"").Bool(true);
  json.Key("d").Raw("{\"k\": 1}").Key("e").Id(UINT64_MAX).Key("f").Real(1);
  json.EndObject();
  EXPECT_EQ(out, R"({"a":-1,"b":[1,"x",{},[],null],"c\"":true,"d":{"k": 1},"e":"18446744073709551615","f":1.0})");
}

}  // namespace
}  // namespace allot
