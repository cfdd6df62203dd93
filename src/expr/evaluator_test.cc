// SPDX-License-Identifier: Apache-2.0
#include "expr/evaluator.h"

#include <gtest/gtest.h>

#include <string>

#include "base/bounds.h"
#include "base/testing/text.h"
#include "expr/expr.h"

namespace allot::expr {
namespace {

class Sample {
 public:
  Sample() {
    const Value tags[] = {Value::String("gpu"), Value::String("Fast")};
    const Value inner[] = {Value::Integer(7), Value::Integer(8)};
    const Field disk[] = {{"Size", Value::Integer(500)}, {"parts", Value::List(inner)}};
    job.Set("User", Value::String("ann"));
    job.Set("N", Value::Integer(5));
    job.Set("both", Value::String("job"));
    worker.Set("Memory", Value::Integer(8192));
    worker.Set("Arch", Value::String("x86_64"));
    worker.Set("Tags", Value::List(tags));
    worker.Set("disk", Value::Record(disk));
    worker.Set("load", Value::Real(0.5));
    worker.Set("both", Value::String("worker"));
  }

  std::string Evaluate(std::string_view text, Side my = Side::kJob) {
    const Parsed parsed = Expr::Parse(text);
    if (parsed.expr == nullptr) return "does not parse: " + parsed.error.message;
    return Print(evaluator.Evaluate(*parsed.expr, {&job, &worker, my, 1'700'000'000}));
  }

  Ad job, worker;
  Evaluator evaluator;
};

TEST(Evaluator, GivesWhatTheReferenceSays) {
  struct Row {
    const char* text;
    const char* want;
  };
  constexpr Row kRows[] = {
      {"TARGET.Memory >= 4096 && TARGET.Arch == \"X86_64\"", "true"},
      {"1 + 2 * 3 - 4 / 3", "6"},
      {"10 - 3 - 2", "5"},
      {"7 / 2", "3"},
      {"-7 / 2", "-3"},
      {"-7 % 2", "-1"},
      {"7 / 2.0", "3.5"},
      {"1 / 0", "error"},
      {"1 / 0.0", "error"},
      {"9223372036854775807 + 1", "error"},
      {"-9223372036854775808 / -1", "error"},
      {"-9223372036854775808 % -1", "0"},
      {"1e308 * 10", "error"},
      {"true + true", "2"},
      {"1 << 62", "4611686018427387904"},
      {"1 << 63", "error"},
      {"-1 << 63", "-9223372036854775808"},
      {"1 << 64", "error"},
      {"-8 >> 1", "-4"},
      {"-1 >>> 63", "1"},
      {"6 & 3 | 8 ^ 1", "11"},
      {"true & 1", "error"},
      {"9007199254740993 == 9007199254740992.0", "false"},
      {"9007199254740993 > 9007199254740992.0", "true"},
      {"9223372036854775807 < 9223372036854775808.0", "true"},
      {"\"abc\" < \"ABD\"", "true"},
      {"\"a\" == 1", "error"},
      {"\"a\" is \"A\"", "false"},
      {"undefined == 1", "undefined"},
      {"undefined == error", "error"},
      {"undefined is undefined", "true"},
      {"error isnt 1", "true"},
      {"2 && 3", "true"},
      {"0.0 || 0", "false"},
      {"\"x\" && false", "error"},
      {"false && \"x\"", "false"},
      {"undefined && false", "false"},
      {"undefined && true", "undefined"},
      {"undefined && \"x\"", "error"},
      {"undefined && error && false", "error"},
      {"undefined && false && error", "false"},
      {"undefined || true", "true"},
      {"error || true", "error"},
      {"!undefined", "undefined"},
      {"!\"x\"", "error"},
      {"!3", "false"},
      {"undefined ? 1 : 2", "undefined"},
      {"\"x\" ? 1 : 2", "error"},
      {"0 ? error : 2", "2"},
      {"undefined ?: 3", "3"},
      {"error ?: 3", "error"},
      {"missing ?: -1 + 2", "1"},
      {"Memory", "8192"},
      {"both", "\"job\""},
      {"TARGET.both", "\"worker\""},
      {"MACHINE.both", "\"worker\""},
      {"JOB.both", "\"job\""},
      {"MY.Memory", "undefined"},
      {"disk.size", "500"},
      {"disk[\"PARTS\"][1]", "8"},
      {"disk.none", "undefined"},
      {"disk.none.deeper", "undefined"},
      {"Tags.name", "{error, error}"},
      {"Tags[2]", "error"},
      {"Tags[-1]", "error"},
      {"Tags[0.0]", "error"},
      {"Tags[undefined]", "undefined"},
      {"undefined[error]", "error"},
      {"N.x", "error"},
      {"{N, N + 1, {missing}}", "{5, 6, {undefined}}"},
      {"[a = N; b = a].b", "undefined"},
      {"[a = N; b = 2].A", "5"},
      {"time()", "1700000000"},
      {"member(\"FAST\", Tags)", "true"},
      {"strcat(\"a\", N, {1})", "\"a5{1}\""},
  };
  Sample sample;
  for (const Row& row : kRows) EXPECT_EQ(sample.Evaluate(row.text), row.want) << row.text;
}

TEST(Evaluator, MyIsTheOwnersSide) {
  Sample sample;
  EXPECT_EQ(sample.Evaluate("MY.both", Side::kMachine), "\"worker\"");
  EXPECT_EQ(sample.Evaluate("both", Side::kMachine), "\"worker\"");
  EXPECT_EQ(sample.Evaluate("TARGET.N", Side::kMachine), "5");
  EXPECT_EQ(sample.Evaluate("JOB.both", Side::kMachine), "\"job\"");
}

TEST(Evaluator, WithoutAdsAllIsUndefined) {
  Evaluator evaluator;
  for (const char* text : {"x", "MY.x", "TARGET.x", "JOB.x", "MACHINE.x"})
    EXPECT_EQ(Print(evaluator.Evaluate(*Expr::Parse(text).expr, {})), "undefined") << text;
}

TEST(Evaluator, TrueAndNumber) {
  Evaluator evaluator;
  struct Row {
    const char* text;
    bool is_true;
    double number;
  };
  constexpr Row kRows[] = {{"true", true, 0},   {"3", true, 3},          {"0", false, 0},     {"-0.5", true, -0.5},
                           {"\"x\"", false, 0}, {"undefined", false, 0}, {"error", false, 0}, {"{1}", false, 0},
                           {"1 == 1", true, 0}, {"2 * 1.5", true, 3}};
  for (const Row& row : kRows) {
    EXPECT_EQ(evaluator.True(*Expr::Parse(row.text).expr, {}), row.is_true) << row.text;
    EXPECT_EQ(evaluator.Number(*Expr::Parse(row.text).expr, {}), row.number) << row.text;
  }
}

TEST(Evaluator, BeyondItsBoundsIsError) {
  Evaluator evaluator;
  Ad ad;
  const std::vector<Value> many(9000, Value::Integer(1));
  ad.Set("many", Value::List(many));
  ad.Set("text", Value::String(std::string(60'000, 'x')));
  struct Row {
    std::string text;
    const char* want;
  };
  const Row rows[] = {
      {"many is many", "true"},
      {"many is many && many is many", "error"},           // steps
      {"isError(many is many && many is many)", "error"},  // nothing makes up for it
      {"true || many is many && many is many", "true"},    // what is not looked at costs nothing
      {"text == text", "true"},
      {"text == text" + testing::Repeated(" && text == text", 11), "error"},
      {"size(strcat(text, \"x\"))", "60001"},
      {"isError(strcat(text, text))", "error"},  // memory
  };
  for (const Row& row : rows)
    EXPECT_EQ(Print(evaluator.Evaluate(*Expr::Parse(row.text).expr, {&ad, nullptr})), row.want) << row.text;
  // And the next one begins anew.
  EXPECT_EQ(Print(evaluator.Evaluate(*Expr::Parse("1 + 1").expr, {})), "2");
}

}  // namespace
}  // namespace allot::expr
