// SPDX-License-Identifier: Apache-2.0
// Every operator over every pair of values of every kind, against the naive evaluator.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "expr/expr.h"
#include "expr/naive/bridge.h"

namespace allot::expr {
namespace {

using naive::Val;

// Several of each kind, extremes included.
std::vector<Val> Values() {
  using namespace naive;
  return {Undefined(),
          Error(),
          Bool(false),
          Bool(true),
          Int(0),
          Int(1),
          Int(-1),
          Int(2),
          Int(-7),
          Int(62),
          Int(63),
          Int(64),
          Int(INT64_MAX),
          Int(INT64_MAX - 1),
          Int(INT64_MIN),
          Int(INT64_MIN + 1),
          Int(4611686018427387904),
          Int(-4611686018427387904),
          Int(4294967296),
          Int(9007199254740992),
          Int(9007199254740993),
          Real(0.0),
          Real(-0.0),
          Real(1.0),
          Real(-1.0),
          Real(0.5),
          Real(-7.25),
          Real(1.7976931348623157e308),
          Real(-1.7976931348623157e308),
          Real(2.2250738585072014e-308),
          Real(5e-324),
          Real(9007199254740992.0),
          Real(9223372036854775807.0),
          Real(-9223372036854775808.0),
          Real(9223372036854774784.0),
          Real(4611686018427387904.0),
          Str(""),
          Str("a"),
          Str("A"),
          Str("ab"),
          Str("b"),
          Str("Z"),
          Str("1"),
          Str("true"),
          Str("\xC3\xA9"),
          Str("\xC3\x89"),
          Str("[\\]\"\n"),
          List({}),
          List({Int(1)}),
          List({Real(1.0)}),
          List({Int(1), Str("a")}),
          List({Int(1), Str("A")}),
          List({Undefined()}),
          List({Error()}),
          List({List({Int(1)})}),
          Record({}, {}),
          Record({"x"}, {Int(1)}),
          Record({"X"}, {Int(1)}),
          Record({"x", "y"}, {Int(1), Str("a")}),
          Record({"Y", "X"}, {Str("a"), Int(1)}),
          Record({"x"}, {Undefined()})};
}

Val ValueOf(const std::string& text) {
  static Evaluator evaluator;
  const Parsed parsed = Expr::Parse(text);
  if (parsed.expr == nullptr) {
    ADD_FAILURE() << PointAt("", text, parsed.error);
    return {};
  }
  return naive::FromValue(evaluator.Evaluate(*parsed.expr, {}));
}

// `attributes`: operands come from ads, one from each side, instead of standing in the text.
Val ValueOnAttributes(const std::string& text, const Val& a, const Val& b) {
  static Evaluator evaluator;
  const Ad job = naive::ToAd({{"a", a}}), machine = naive::ToAd({{"b", b}});
  const Parsed parsed = Expr::Parse(text);
  return naive::FromValue(evaluator.Evaluate(*parsed.expr, {.job = &job, .machine = &machine}));
}

TEST(TruthTable, EveryBinaryOperatorOverEveryPairOfValues) {
  const auto values = Values();
  std::size_t checked = 0;
  for (const char* op : naive::kBinaryOperators) {
    for (const Val& a : values) {
      for (const Val& b : values) {
        const std::string text = "(" + naive::Print(a) + ") " + op + " (" + naive::Print(b) + ")";
        const Val want = naive::Binary(op, a, b), got = ValueOf(text);
        ASSERT_TRUE(naive::SameToTheBit(want, got))
            << text << " is " << naive::Print(got) << ", not " << naive::Print(want);
        ++checked;
        if (a.kind == Val::kError || b.kind == Val::kError) continue;  // not in ads
        if (naive::Print(a).find("error") != std::string::npos || naive::Print(b).find("error") != std::string::npos)
          continue;
        const Val of_ads = ValueOnAttributes(std::string("MY.a ") + op + " TARGET.b", a, b);
        ASSERT_TRUE(naive::SameToTheBit(want, of_ads)) << text << " on attributes is " << naive::Print(of_ads);
      }
    }
  }
  EXPECT_EQ(checked, std::size(naive::kBinaryOperators) * values.size() * values.size());
}

TEST(TruthTable, EveryUnaryOperatorOverEveryValue) {
  for (const char* op : {"-", "+", "~", "!"}) {
    for (const Val& a : Values()) {
      const std::string text = op + ("(" + naive::Print(a) + ")");
      const Val want = naive::Unary(op, a), got = ValueOf(text);
      EXPECT_TRUE(naive::SameToTheBit(want, got))
          << text << " is " << naive::Print(got) << ", not " << naive::Print(want);
    }
  }
}

TEST(TruthTable, EveryPairInConditionalCoalesceAndIndex) {
  for (const Val& a : Values()) {
    for (const Val& b : Values()) {
      const std::string x = "(" + naive::Print(a) + ")", y = "(" + naive::Print(b) + ")";
      const Val condition = naive::AsBoolean(a);
      const Val chosen = condition.kind != Val::kBoolean ? condition : condition.boolean ? b : naive::Str("other");
      EXPECT_TRUE(naive::SameToTheBit(ValueOf(x + " ? " + y + " : \"other\""), chosen)) << x << " ? " << y;
      EXPECT_TRUE(naive::SameToTheBit(ValueOf("ifThenElse(" + x + ", " + y + ", \"other\")"), chosen)) << x << y;
      EXPECT_TRUE(naive::SameToTheBit(ValueOf(x + " ?: " + y), a.kind == Val::kUndefined ? b : a)) << x << " ?: " << y;
      EXPECT_TRUE(naive::SameToTheBit(ValueOf(x + "[" + y + "]"), naive::Index(a, b))) << x << "[" << y << "]";
    }
    EXPECT_TRUE(naive::SameToTheBit(ValueOf("(" + naive::Print(a) + ").x"), naive::Select(a, "x"))) << naive::Print(a);
  }
}

// The rows of the design, word for word: should both evaluators agree on something else, this does not.
TEST(TruthTable, WhatTheDesignSays) {
  struct Row {
    const char* text;
    const char* want;
  };
  constexpr Row kRows[] = {
      {"false && error", "false"},
      {"undefined && false", "false"},
      {"false && undefined", "false"},
      {"undefined || true", "true"},
      {"error && false", "error"},
      {"error || true", "error"},
      {"undefined && error", "error"},
      {"undefined || error", "error"},
      {"true && undefined", "undefined"},
      {"undefined && true", "undefined"},
      {"true || error", "true"},
      {"1 && 2", "true"},
      {"0.0 || 0", "false"},
      {"true && \"x\"", "error"},
      {"\"x\" || true", "error"},
      {"false && \"x\"", "false"},
      {"undefined && \"x\"", "error"},
      {"!undefined", "undefined"},
      {"!\"x\"", "error"},
      {"!3", "false"},
      {"\"Linux\" == \"LINUX\"", "true"},
      {"\"Linux\" =?= \"LINUX\"", "false"},
      {"\"a\" < \"B\"", "true"},
      {"undefined =?= undefined", "true"},
      {"undefined == undefined", "undefined"},
      {"error =?= error", "true"},
      {"error == undefined", "error"},
      {"undefined + error", "error"},
      {"1 =?= 1.0", "false"},
      {"1 == 1.0", "true"},
      {"true == 1", "true"},
      {"\"1\" == 1", "error"},
      {"7 / 2", "3"},
      {"-7 / 2", "-3"},
      {"-7 % 2", "-1"},
      {"1 / 0", "error"},
      {"1.0 / 0", "error"},
      {"1 % 0", "error"},
      {"7.5 % 2", "error"},
      {"9223372036854775807 + 1", "error"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"-9223372036854775808 / -1", "error"},
      {"-9223372036854775808 % -1", "0"},
      {"9007199254740993 == 9007199254740992.0", "false"},
      {"9007199254740993 > 9007199254740992.0", "true"},
      {"1e308 * 10", "error"},
      {"true + true", "2"},
      {"true & 1", "error"},
      {"1 << 62", "4611686018427387904"},
      {"1 << 63", "error"},
      {"-1 << 63", "-9223372036854775808"},
      {"-1 >> 63", "-1"},
      {"-1 >>> 63", "1"},
      {"1 << 64", "error"},
      {"1 << -1", "error"},
      {"undefined ? 1 : 2", "undefined"},
      {"error ? 1 : 2", "error"},
      {"true ? 1 : error", "1"},
      {"undefined ?: 3", "3"},
      {"error ?: 3", "error"},
      {"{1, 2}[1]", "2"},
      {"{1, 2}[2]", "error"},
      {"{1, 2}[-1]", "error"},
      {"[a = 1].A", "1"},
      {"[a = 1].b", "undefined"},
      {"[a = 1][\"A\"]", "1"},
      {"undefined.x", "undefined"},
      {"{1}.x", "{error}"},
      {"{1} == {1}", "error"},
      {"{1} =?= {1}", "true"},
      {"[a = 1; b = 2] =?= [B = 2; A = 1]", "true"},
      {"0.0 =?= -0.0", "true"},
  };
  for (const Row& row : kRows) EXPECT_EQ(naive::Print(ValueOf(row.text)), row.want) << row.text;
}

}  // namespace
}  // namespace allot::expr
