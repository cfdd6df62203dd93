// SPDX-License-Identifier: Apache-2.0
#include "server/wire/json_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/bounds.h"
#include "base/json.h"
#include "server/wire/request_json.h"

namespace allot {
namespace {

// What simdjson's own validating parser says. It also refuses numbers that fit no type of its own; those are left out.
enum class JsonVerdict { kJson, kNotJson, kNoOpinion };
JsonVerdict Reference(std::string_view text) {
  simdjson::dom::parser parser;
  const auto error = parser.parse(text.data(), text.size()).error();
  if (error == simdjson::SUCCESS) return JsonVerdict::kJson;
  if (error == simdjson::NUMBER_ERROR || error == simdjson::DEPTH_ERROR) return JsonVerdict::kNoOpinion;
  return JsonVerdict::kNotJson;
}

std::string Pieces(const std::vector<int>& choices) {
  static const std::vector<std::string> pieces = {
      "{",      "}",    "[",     "]",    ",",         ":",     "\"a\"",       "\"\"",     "1",
      "-1.5e3", "true", "false", "null", " ",         "\n",    "\"\\u00e9\"", "\"\\",     "\"",
      "x",      "0",    "{}",    "[]",   "{\"a\":1}", "[1,2]", ",\"b\":",     "\xc3\xa4", "\xff",
  };
  std::string text;
  for (const int choice : choices) text += pieces[static_cast<std::size_t>(choice) % pieces.size()];
  return text;
}

// The same verdict for the text as a line and as a payload inside a job.
void Compare(const std::string& text) {
  const JsonVerdict want = Reference(text);
  const auto line = ValidateJsonLine(text);
  if (want != JsonVerdict::kNoOpinion) RC_ASSERT(line.ok() == (want == JsonVerdict::kJson));
  const std::string job = "{\"payload\":" + text + ",\"tag\":\"t\"}";
  const auto request = ParseJobSpec(job, {});
  if (line.ok()) {
    RC_ASSERT(request.ok());
    RC_ASSERT(request->payload == *line);
  }
}

TEST(JsonReader, AgreesWithAParserThatValidatesEverything) {
  EXPECT_TRUE(rc::check([] {
    // Up to 12 pieces: short enough that valid texts are not rare.
    const auto choices = *rc::gen::resize(12, rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1'000)));
    Compare(Pieces(choices));
  }));
}

std::string RandomValue(int depth) {
  switch (*rc::gen::inRange(0, depth <= 0 ? 5 : 7)) {
    case 0:
      return std::to_string(*rc::gen::arbitrary<std::int64_t>());
    case 1:
      return "true";
    case 2:
      return "null";
    case 3:
      return JsonString(*rc::gen::arbitrary<std::string>());
    case 4:
      return "-0.5E-7";
    case 5: {
      std::string out = "[";
      const int n = *rc::gen::inRange(0, 4);
      for (int i = 0; i < n; ++i) out += (i > 0 ? " , " : "") + RandomValue(depth - 1);
      return out + "]";
    }
    default: {
      std::string out = "{ ";
      const int n = *rc::gen::inRange(0, 4);
      for (int i = 0; i < n; ++i)
        out += (i > 0 ? "," : "") + JsonString(*rc::gen::arbitrary<std::string>()) + " :" + RandomValue(depth - 1);
      return out + "}";
    }
  }
}

TEST(JsonReader, EveryValueComesOutAsItCameIn) {
  EXPECT_TRUE(rc::check([] {
    const std::string value = RandomValue(4);
    RC_ASSERT(Reference(value) == JsonVerdict::kJson);
    Compare(value);
    Compare("  " + value + "\n");
    const std::string text = " " + value + "\r";
    const auto line = ValidateJsonLine(text);
    RC_ASSERT(line.ok());
    RC_ASSERT(std::string(*line) == value);
  }));
}

TEST(JsonReader, ADamagedValueIsNoticedOrStillJson) {
  EXPECT_TRUE(rc::check([] {
    std::string value = RandomValue(3);
    const auto at = *rc::gen::inRange<std::size_t>(0, value.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        value.erase(at, 1);
        break;
      case 1:
        value[at] = *rc::gen::arbitrary<char>();
        break;
      default:
        value.insert(at, 1, "{}[],:\"\\0 "[*rc::gen::inRange(0, 10)]);
    }
    Compare(value);
  }));
}

TEST(ValidateJsonLine, Table) {
  struct Row {
    std::string_view line;
    bool ok;
  };
  using namespace std::string_view_literals;
  const Row rows[] = {
      {"1", true},
      {" 1 ", true},
      {"\"a\"", true},
      {"{}", true},
      {"[]\r", true},
      {"null", true},
      {"1e999", true},
      {"-0", true},
      {"12345678901234567890123", true},
      {"", false},
      {" ", false},
      {"\r", false},
      {"1 2", false},
      {"a", false},
      {"'a'", false},
      {"\"a\" \"b\"", false},
      {"\"a\"b", false},
      {"{} {}", false},
      {"[]]", false},
      {"[1", false},
      {"\"", false},
      {"truefalse", false},
      {"tru", false},
      {"--1", false},
      {"0123", false},
      {"\"\t\"", false},
      {"1\0"sv, false},
      {"\xff", false},
      {"{}\0"sv, false},
  };
  for (const Row& row : rows) EXPECT_EQ(ValidateJsonLine(row.line).ok(), row.ok) << row.line;
  EXPECT_TRUE(ValidateJsonLine("\"" + std::string(bounds::kMaxPayloadBytes - 2, 'a') + "\"").ok());
  const auto long_line = ValidateJsonLine("\"" + std::string(bounds::kMaxPayloadBytes, 'a') + "\"");
  ASSERT_FALSE(long_line.ok());
  EXPECT_EQ(long_line.error().code, Code::kTooLarge);
}

TEST(JsonReader, OffsetsPointNearTheDamage) {
  std::string text = "[";
  for (int i = 0; i < 100; ++i) text += "1,";
  text += "1 2]";
  const auto got = ValidateJsonLine(text);
  ASSERT_FALSE(got.ok());
  const std::string message = got.error().message;
  const auto digits = message.find_last_of(' ');
  EXPECT_NEAR(std::stod(message.substr(digits)), 203, 4) << message;
}

TEST(JsonReader, NothingIsLeftOfTheTextBefore) {
  // A long text with braces, then shorter ones whose end could be mistaken for more.
  ASSERT_TRUE(ValidateJsonLine("[" + std::string(2000, ' ') + "{}]").ok());
  for (const char* text : {"[", "{", "[1", "{\"a\":1", "[{}", "\"abc"})
    EXPECT_FALSE(ValidateJsonLine(text).ok()) << text;
  EXPECT_TRUE(ValidateJsonLine("[" + std::string(900'000, ' ') + "{}]").ok());
  EXPECT_TRUE(ValidateJsonLine("[1]").ok());
}

}  // namespace
}  // namespace allot
