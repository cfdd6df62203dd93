// SPDX-License-Identifier: Apache-2.0
#include "server/ops/log.h"

#include <regex>
#include <sstream>

#include <gtest/gtest.h>
#include <simdjson.h>

namespace allot {
namespace {

class LogTest : public ::testing::Test {
 protected:
  ~LogTest() override {
    static std::ostringstream null;
    InitLogTo(null, LogLevel::kOff, LogFormat::kText);
  }
  std::ostringstream out_;
};

TEST_F(LogTest, JsonLinesAreJsonWhateverTheNames) {
  InitLogTo(out_, LogLevel::kInfo, LogFormat::kJson);
  const std::string evil = "a\"}\n{\"level\":\"error\" %v \x1b[31m \xff";
  LogInfo("hello {} %v", {{"name", evil}, {"n", -3}, {"u", std::uint64_t{7}}, {"r", 0.5}, {"b", true}});
  const std::string line = out_.str();
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  ASSERT_EQ(parser.parse(line).get(object), simdjson::SUCCESS) << line;
  EXPECT_EQ(std::string_view(object["level"]), "info");
  EXPECT_EQ(std::string_view(object["message"]), "hello {} %v");
  EXPECT_EQ(std::string_view(object["name"]).substr(0, 4), "a\"}\n");
  EXPECT_EQ(std::int64_t(object["n"]), -3);
  EXPECT_EQ(double(object["r"]), 0.5);
  EXPECT_TRUE(bool(object["b"]));
  EXPECT_TRUE(std::regex_match(std::string(std::string_view(object["time"])),
                               std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)")));
}

TEST_F(LogTest, TextQuotesWhatIsNotAPlainWord) {
  InitLogTo(out_, LogLevel::kInfo, LogFormat::kText);
  LogWarning("two\nlines",
             {{"plain", "host-1"}, {"blank", "a b"}, {"empty", ""}, {"evil", "x\x1b[2J\x7f\xc2\x9b\n=\""}, {"n", 5}});
  const std::string line = out_.str();
  EXPECT_NE(line.find(R"(warning two\nlines plain=host-1 blank="a b" empty="" evil="x\u001b[2J\u007f\u009b\n=\"" n=5)"),
            std::string::npos)
      << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
}

TEST_F(LogTest, BelowTheLevelNothingIsWritten) {
  InitLogTo(out_, LogLevel::kError, LogFormat::kText);
  LogWarning("no");
  EXPECT_FALSE(LogEnabled(LogLevel::kWarning));
  EXPECT_TRUE(LogEnabled(LogLevel::kError));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(LogTest, WhatOperatorsDoIsWrittenAtAnyLevelButOff) {
  Principal who = *LocalPrincipal();
  who.name = "ann";
  who.id = "0123";
  InitLogTo(out_, LogLevel::kError, LogFormat::kJson);
  Audit(who, "queue.pause", "default", "by hand");
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  ASSERT_EQ(parser.parse(out_.str()).get(object), simdjson::SUCCESS) << out_.str();
  EXPECT_EQ(std::string_view(object["message"]), "audit");
  EXPECT_EQ(std::string_view(object["who"]), "ann");
  EXPECT_EQ(std::string_view(object["token"]), "0123");
  EXPECT_EQ(std::string_view(object["action"]), "queue.pause");
  EXPECT_EQ(std::string_view(object["object"]), "default");
  EXPECT_EQ(std::string_view(object["detail"]), "by hand");
  std::ostringstream off;
  InitLogTo(off, LogLevel::kOff, LogFormat::kJson);
  Audit(who, "queue.pause", "default");
  EXPECT_EQ(off.str(), "");
}

}  // namespace
}  // namespace allot
