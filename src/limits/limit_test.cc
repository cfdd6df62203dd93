// SPDX-License-Identifier: Apache-2.0
#include "limits/limit.h"

#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "limits/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;
using testing::MustParseLimit;
using testing::SomeLimit;

TEST(Limit, WhatNoLimitCanBeIsRefusedWithTheFieldThatIsWrong) {
  struct Row {
    const char* field;
    std::function<void(LimitSpec&)> break_it;
  };
  const Row rows[] = {
      {"tag", [](LimitSpec& s) { s.tag = ""; }},
      {"tag", [](LimitSpec& s) { s.tag = "no spaces"; }},
      {"tag", [](LimitSpec& s) { s.tag = std::string(bounds::kMaxTagBytes + 1, 'x'); }},
      {"name", [](LimitSpec& s) { s.name = "bell\a"; }},
      {"name", [](LimitSpec& s) { s.name = "\xff"; }},
      {"name", [](LimitSpec& s) { s.name = std::string(bounds::kMaxNameBytes + 1, 'x'); }},
      {"expr", [](LimitSpec& s) { s.expr = nullptr; }},
      {"expr", [](LimitSpec& s) { s.expr = expr::Expr::Parse("time() > 5").expr; }},
      {"cost", [](LimitSpec& s) { s.cost = expr::Expr::Parse("time() % 2").expr; }},
      {"count", [](LimitSpec& s) { s.count = -1; }},
      {"count", [](LimitSpec& s) { s.count = std::nan(""); }},
      {"count", [](LimitSpec& s) { s.count = 1e13; }},
      {"burst", [](LimitSpec& s) { s.burst = -0.5; }},
      {"max_burst_cost", [](LimitSpec& s) { s.max_burst_cost = std::numeric_limits<double>::infinity(); }},
      {"window", [](LimitSpec& s) { s.window = 0s; }},
      {"window", [](LimitSpec& s) { s.window = -1s; }},
      {"window", [](LimitSpec& s) { s.window = 24h * 367; }},
      {"expires_in", [](LimitSpec& s) { s.expires_in = {}; }},
      {"expires_in", [](LimitSpec& s) { s.expires_in = 0s; }},
  };
  ASSERT_TRUE(CheckLimit(SomeLimit("true", 0)).ok());
  for (const Row& row : rows) {
    LimitSpec spec = SomeLimit("User == \"ann\"", 10, "Weight");
    row.break_it(spec);
    const Result<void> check = CheckLimit(spec);
    ASSERT_FALSE(check.ok()) << row.field;
    EXPECT_EQ(check.error().code, Code::kBadValue);
    EXPECT_EQ(check.error().message.rfind("`" + std::string(row.field) + "`: ", 0), 0u) << check.error().message;
  }
}

TEST(Limit, TheHintShowsAnExpressionThatReadsTheJobAlone) {
  LimitSpec spec = SomeLimit("true", 1);
  spec.expr = nullptr;
  const Result<void> check = CheckLimit(spec);
  ASSERT_FALSE(check.ok());
  EXPECT_NE(check.error().hint.find(R"(MY.User == \"ann\")"), std::string::npos) << check.error().hint;
}

TEST(Limit, ABadExpressionIsRefusedWithThePlace) {
  const Result<ExprPtr> parsed = ParseLimitExpr("cost", "MY.Weight * (");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, Code::kBadValue);
  EXPECT_EQ(parsed.error().message, "`cost`: expected an expression here (at byte 13)");
  EXPECT_FALSE(ParseLimitExpr("expr", std::string(bounds::kMaxExpressionBytes + 1, ' ')).ok());
  EXPECT_FALSE(ParseLimitExpr("expr", "").ok());
  EXPECT_FALSE(ParseLimitExpr("expr", "User == \"a\" && time() > 0").ok());
}

TEST(Limit, IsJobOnlyIfNeitherExprNorCostReadsTheWorker) {
  EXPECT_TRUE(IsJobOnly(SomeLimit("MY.User == \"a\" && JOB.Weight > 1", 1, "JOB.Weight")));
  EXPECT_TRUE(IsJobOnly(SomeLimit("true", 1)));
  EXPECT_FALSE(IsJobOnly(SomeLimit("User == \"a\"", 1)));  // may be the worker's as well
  EXPECT_FALSE(IsJobOnly(SomeLimit("TARGET.Site == \"x\"", 1)));
  EXPECT_FALSE(IsJobOnly(SomeLimit("JOB.User == \"a\"", 1, "MACHINE.Slots")));
}

}  // namespace
}  // namespace allot
