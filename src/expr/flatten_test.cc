// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "base/bounds.h"
#include "expr/expr.h"

namespace allot::expr {
namespace {

Ad Job() {
  Ad ad;
  const Value items[] = {Value::Integer(1), Value::Integer(2)};
  ad.Set("N", Value::Integer(5));
  ad.Set("S", Value::String("text"));
  ad.Set("L", Value::List(items));
  ad.Set("bad", Value::String("("));
  return ad;
}

std::string Residual(std::string_view text, const Sides& sides) {
  const Parsed parsed = Expr::Parse(text);
  if (parsed.expr == nullptr) return "does not parse: " + parsed.error.message;
  const ExprPtr residual = Flatten(*parsed.expr, sides);
  EXPECT_EQ(residual->source(), residual->Print());
  return residual->source();
}

TEST(Flatten, FoldsWhatTheKnownSideDecides) {
  struct Row {
    const char* text;
    const char* want;
  };
  constexpr Row kRows[] = {
      // References.
      {"MY.N", "5"},
      {"JOB.N", "5"},
      {"N", "5"},
      {"TARGET.N", "TARGET.N"},
      {"MACHINE.N", "MACHINE.N"},
      {"MY.missing", "MY.missing"},
      {"missing", "missing"},
      // Operators that are strict.
      {"MY.N * 2 + 1", "11"},
      {"1 + 2 + x + 3", "3 + x + 3"},
      {"x + 1 + 2", "x + 1 + 2"},
      {"x + error", "error"},
      {"x + error == 3", "error"},
      {"x + error is error", "true"},
      {"x is error", "x =?= error"},
      {"x + undefined", "x + undefined"},
      {"x * 0", "x * 0"},
      {"-MY.N", "-5"},
      {"!x", "!x"},
      // && and ||.
      {"x > 1 && MY.N == 5", "x > 1"},
      {"MY.N == 5 && x", "true && x"},  // x may be a number
      {"MY.N && x && y", "x && y"},
      {"MY.N == 6 && x", "false"},
      {"x && MY.N == 6", "x && false"},  // x may be ERROR
      {"x is 1 && MY.N == 6", "false"},
      {"!isUndefined(x) && (x is 1 || x is 2) && false", "false"},
      {"x && MY.S && y", "x && error"},
      {"MY.S && x", "error"},
      {"undefined && x", "undefined && x"},
      {"undefined && x && undefined", "undefined && x"},
      {"undefined && x && false", "x && false"},
      {"undefined && false && x", "false"},
      {"undefined && true", "undefined"},
      {"a && (b && MY.N && c)", "a && b && c"},
      {"MY.N == 6 || x", "false || x"},
      {"MY.N == 6 || x == 1", "x == 1"},
      {"MY.N == 5 || x", "true"},
      {"x || MY.N == 5", "x || true"},
      {"x || (y || MY.N == 6)", "x || y"},
      {"member(x, L) && true", "member(x, {1, 2})"},
      // Choices.
      {"MY.N > 3 ? a : b", "a"},
      {"MY.N > 9 ? a : b", "b"},
      {"undefined ? a : b", "undefined"},
      {"MY.S ? a : b", "error"},
      {"x ? MY.N : MY.N", "x ? 5 : 5"},
      {"ifThenElse(MY.N > 3, a, b)", "a"},
      {"ifThenElse(x, N + 1, b)", "ifThenElse(x, 6, b)"},
      {"MY.N ?: x", "5"},
      {"undefined ?: x", "x"},
      {"error ?: x", "error"},
      {"x ?: MY.N ?: y", "x ?: 5"},
      {"x ?: undefined", "x"},
      // Lists, records, functions.
      {"{1, N, x}", "{1, 5, x}"},
      {"{1, N}[1] + x", "5 + x"},
      {"[a = N; b = x]", "[a = 5; b = x]"},
      {"[a = N].a", "5"},
      {"L[x]", "{1, 2}[x]"},
      {"x[error]", "error"},
      {"size(L) + size(S)", "6"},
      {"strcat(S, x)", "strcat(\"text\", x)"},
      {"time() - N", "time() - 5"},
      {"regexp(\"t+\", S) && x == 1", "x == 1"},
      {"regexp(bad, S)", "error"},
      {"regexp(bad, x)", "regexp(strcat(\"(\"), x)"},  // UNDEFINED if x is
  };
  const Ad job = Job();
  for (const Row& row : kRows) {
    EXPECT_EQ(Residual(row.text, {&job, nullptr, Side::kJob, 1000}), row.want) << row.text;
    EXPECT_EQ(Residual(row.want, {&job, nullptr, Side::kJob, 1000}), row.want) << "flattened again: " << row.text;
  }
}

TEST(Flatten, SidesAreByOwner) {
  struct Row {
    const char* text;
    const char* want;
  };
  // The job is known, and the worker owns the expression.
  constexpr Row kRows[] = {
      {"TARGET.N", "5"},
      {"JOB.N", "5"},
      {"MY.N", "MY.N"},
      {"MACHINE.N", "MACHINE.N"},
      {"N", "MY.N ?: 5"},  // MY comes first
      {"N == 5", "MY.N ?: 5 == 5"},
      {"-N", "-MY.N ?: 5"},
      {"(N).x", "(MY.N ?: 5).x"},
      {"N ?: 7", "MY.N ?: 5"},
      {"missing", "missing"},
  };
  const Ad job = Job();
  for (const Row& row : kRows) EXPECT_EQ(Residual(row.text, {&job, nullptr, Side::kMachine, 0}), row.want) << row.text;
}

TEST(Flatten, WithBothSidesKnownOnlyTheMissingAndTimeStay) {
  const Ad job = Job();
  Ad worker;
  worker.Set("N", Value::Integer(6));
  worker.Set("M", Value::Integer(1));
  const Sides sides{&job, &worker, Side::kMachine, 0};
  EXPECT_EQ(Residual("N + M + S", sides), "error");
  EXPECT_EQ(Residual("{N, S, TARGET.N, missing}", sides), "{6, \"text\", 5, missing}");
  EXPECT_EQ(Residual("time() > N", sides), "time() > 6");
}

TEST(Flatten, WhatDoesNotFitIntoATextStaysAReference) {
  Ad job;
  job.Set("big", Value::String(std::string(bounds::kMaxExpressionBytes, 'x')));
  job.Set("half", Value::String(std::string(bounds::kMaxExpressionBytes / 2 + 100, 'y')));
  job.Set("raw", Value::String("\xff"));
  job.Set("nul", Value::String(std::string_view("a\0b", 3)));
  const Field fields[] = {{"not a name", Value::Integer(1)}};
  job.Set("rec", Value::Record(fields));
  const Sides sides{&job, nullptr, Side::kJob, 0};
  for (const char* text : {"MY.big == x", "MY.raw == x", "MY.nul == x", "MY.rec.x", "{big, x}"}) {
    if (std::string_view(text) == "MY.rec.x") continue;
    EXPECT_EQ(Residual(text, sides), text);
  }
  EXPECT_EQ(Residual("strcat(MY.rec, x)", sides), "strcat(MY.rec, x)");
  EXPECT_EQ(Residual("size(MY.big) + x", sides), "16384 + x");
  // The first of two fits.
  const std::string residual = Residual("{MY.half, MY.half, x}", sides);
  EXPECT_NE(residual.find("y\", MY.half, x}"), std::string::npos);
  EXPECT_LE(residual.size(), bounds::kMaxExpressionBytes);
}

TEST(Flatten, WhatExceedsTheBoundsOfEvaluationStaysACall) {
  Ad job;
  job.Set("text", Value::String(std::string(50'000, 'x')));
  EXPECT_EQ(Residual("size(strcat(MY.text, MY.text)) > x", {&job, nullptr, Side::kJob, 0}),
            "size(strcat(MY.text, MY.text)) > x");
}

TEST(Flatten, ConstantsDeepInsideStayWithinTheBounds) {
  // An ad's value is deeper than an expression may be.
  Value value = Value::Integer(1);
  std::vector<std::vector<Value>> levels(bounds::kMaxExpressionDepth + 10);
  for (auto& level : levels) {
    level.push_back(value);
    value = Value::List(level);
  }
  Ad job;
  job.Set("deep", value);
  const ExprPtr residual = Flatten(*Expr::Parse("{MY.deep, x}").expr, {&job, nullptr, Side::kJob, 0});
  EXPECT_NE(Expr::Parse(residual->source()).expr, nullptr);
  EXPECT_EQ(residual->source(), "{MY.deep, x}");
}

}  // namespace
}  // namespace allot::expr
