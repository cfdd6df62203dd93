// SPDX-License-Identifier: Apache-2.0
#include "expr/value.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <vector>

#include "expr/arena.h"
#include "expr/expr.h"

namespace allot::expr {
namespace {

TEST(Value, PrintsSoThatItParsesBack) {
  const Value items[] = {Value::Integer(1), Value::String("x"), Value::Undefined(), Value::Error(), Value::List({})};
  const Field fields[] = {{"a", Value::Integer(1)}, {"B", Value::List(items)}, {"is", Value::Record({})}};
  struct Row {
    Value value;
    const char* want;
  };
  const Row rows[] = {
      {Value::Undefined(), "undefined"},
      {Value::Error(), "error"},
      {Value::Boolean(true), "true"},
      {Value::Boolean(false), "false"},
      {Value::Integer(0), "0"},
      {Value::Integer(INT64_MAX), "9223372036854775807"},
      {Value::Integer(INT64_MIN), "-9223372036854775808"},
      {Value::Real(1), "1.0"},
      {Value::Real(-0.0), "-0.0"},
      {Value::Real(0.1), "0.1"},
      {Value::Real(1e300), "1e+300"},
      {Value::Real(-DBL_MAX), "-1.7976931348623157e+308"},
      {Value::Real(5e-324), "5e-324"},
      {Value::Real(9007199254740993.0), "9007199254740992.0"},
      {Value::String(""), "\"\""},
      {Value::String("a\"b\\c\n\t\r\b\f\x01/é😀"), "\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001/é😀\""},
      {Value::String("\x7f\u0080\u009b\u009f\u00a0é"), "\"\\u007f\\u0080\\u009b\\u009f\u00a0é\""},
      {Value::List({}), "{}"},
      {Value::List(items), "{1, \"x\", undefined, error, {}}"},
      {Value::Record({}), "[]"},
      {Value::Record(fields), "[a = 1; B = {1, \"x\", undefined, error, {}}; is = []]"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Print(row.value), row.want);
    const Parsed parsed = Expr::Parse(row.want);
    ASSERT_NE(parsed.expr, nullptr) << row.want << ": " << parsed.error.message;
    ASSERT_TRUE(parsed.expr->Constant().has_value()) << row.want;
    EXPECT_TRUE(Identical(*parsed.expr->Constant(), row.value)) << row.want;
  }
}

TEST(Value, IdenticalMeansSameTypeAndSameValueWithCase) {
  struct Row {
    const char* a;
    const char* b;
    bool want;
  };
  constexpr Row kRows[] = {
      {"1", "1", true},
      {"1", "1.0", false},
      {"1", "true", false},
      {"0.0", "-0.0", true},
      {"\"a\"", "\"A\"", false},
      {"undefined", "undefined", true},
      {"error", "error", true},
      {"undefined", "error", false},
      {"{1, 2}", "{1, 2}", true},
      {"{1, 2}", "{2, 1}", false},
      {"{1, 2}", "{1}", false},
      {"[a = 1; b = 2; c = 3]", "[C = 3; A = 1; B = 2]", true},
      {"[a = 1; b = 2]", "[a = 1; c = 2]", false},
      {"[a = 1]", "[a = \"1\"]", false},
      {"[a = 1]", "[]", false},
  };
  for (const Row& row : kRows) {
    const Parsed a = Expr::Parse(row.a), b = Expr::Parse(row.b);
    EXPECT_EQ(Identical(*a.expr->Constant(), *b.expr->Constant()), row.want) << row.a << " is " << row.b;
    EXPECT_EQ(Identical(*b.expr->Constant(), *a.expr->Constant()), row.want) << row.b << " is " << row.a;
  }
}

TEST(Value, ComparingStopsWhenItsStepsAreSpent) {
  const std::vector<Value> many(1000, Value::Integer(1));
  std::int64_t steps = 100;
  EXPECT_FALSE(Identical(Value::List(many), Value::List(many), steps));
  EXPECT_LT(steps, 0);
  steps = 2000;
  EXPECT_TRUE(Identical(Value::List(many), Value::List(many), steps));
  EXPECT_EQ(steps, 1000);
}

TEST(Arena, CopiesDeeplyAndRefusesBeyondItsBound) {
  Arena arena(1000);
  {
    const std::string text(50, 'x');
    const Value items[] = {Value::String(text), Value::Integer(1)};
    const Field fields[] = {{"name", Value::List(items)}};
    const Value copy = arena.Copy(Value::Record(fields));
    ASSERT_TRUE(copy.is(Type::kRecord));
    EXPECT_NE(copy.record()[0].value.list()[0].string().data(), text.data());
    EXPECT_TRUE(Identical(copy, Value::Record(fields)));
  }
  EXPECT_FALSE(arena.exhausted());
  EXPECT_TRUE(arena.Copy(Value::String(std::string(2000, 'x'))).is(Type::kError));
  EXPECT_TRUE(arena.exhausted());
  EXPECT_TRUE(arena.Values(100).empty());
  arena.Clear();
  EXPECT_FALSE(arena.exhausted());
  EXPECT_EQ(arena.used(), 0u);
}

TEST(Arena, KeepsItsMemoryForTheNextTime) {
  Arena arena(64 * 1024);
  const auto fill = [&] {
    for (int i = 0; i < 1000; ++i) ASSERT_NE(arena.Allocate(40), nullptr);
  };
  fill();
  const std::size_t used = arena.MemoryBytes();
  for (int i = 0; i < 10; ++i) {
    arena.Clear();
    fill();
  }
  EXPECT_EQ(arena.MemoryBytes(), used);
}

}  // namespace
}  // namespace allot::expr
