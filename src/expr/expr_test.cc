// SPDX-License-Identifier: Apache-2.0
#include "expr/expr.h"

#include <gtest/gtest.h>

#include <string>

#include "expr/parser.h"
#include "expr/testing.h"
#include "expr/unreadable.h"

namespace allot::expr {
namespace {

std::string ReferencesOf(std::string_view text) {
  std::string out;
  const ExprPtr expr = testing::MustParse(text);
  for (const Reference& reference : expr->References()) {
    if (!out.empty()) out += ' ';
    if (reference.scope != Scope::kNone) out += std::string(ScopeText(reference.scope)) + ".";
    out += reference.name;
  }
  return out;
}

TEST(Expr, ReferencesAreNamedOncePerScopeInOrderOfAppearance) {
  struct Row {
    const char* text;
    const char* want;
  };
  constexpr Row kRows[] = {
      {"1 + 2", ""},
      {"b + a", "b a"},
      {"MY.a + target.B + job.c + MACHINE.d + e", "MY.a TARGET.B JOB.c MACHINE.d e"},
      {"Memory > 1 && MEMORY < 9 && MY.memory > 2", "Memory MY.Memory"},
      {"x ? {a, [f = b].f} : size(c[d.e])", "x a b c d"},
      {"false && a || !b ?: c", "a b c"},
      {"(a && b) && c", "a b c"},
  };
  for (const Row& row : kRows) EXPECT_EQ(ReferencesOf(row.text), row.want) << row.text;
}

TEST(Expr, ReadsSaysWhichSideCounts) {
  struct Row {
    const char* text;
    Side my;
    bool job, machine;
  };
  constexpr Row kRows[] = {
      {"1", Side::kJob, false, false},
      {"MY.a", Side::kJob, true, false},
      {"MY.a", Side::kMachine, false, true},
      {"TARGET.a", Side::kJob, false, true},
      {"TARGET.a", Side::kMachine, true, false},
      {"JOB.a", Side::kMachine, true, false},
      {"MACHINE.a", Side::kJob, false, true},
      {"a", Side::kJob, true, true},
      {"JOB.a + MACHINE.b", Side::kJob, true, true},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(testing::MustParse(row.text)->Reads(Side::kJob, row.my), row.job) << row.text;
    EXPECT_EQ(testing::MustParse(row.text)->Reads(Side::kMachine, row.my), row.machine) << row.text;
  }
}

TEST(Expr, TimeIsSeenWhereverItStands) {
  EXPECT_TRUE(testing::MustParse("a && {1, TIME()}[0] > 3")->UsesTime());
  EXPECT_FALSE(testing::MustParse("time > 3")->UsesTime());
}

TEST(Expr, ConstantIsAValueAsItStands) {
  ASSERT_TRUE(testing::MustParse("{1, {2}}")->Constant().has_value());
  EXPECT_EQ(testing::MustParse("-3")->Constant()->integer(), -3);
  EXPECT_FALSE(testing::MustParse("1 + 1")->Constant().has_value());
  EXPECT_FALSE(testing::MustParse("a")->Constant().has_value());
}

TEST(Expr, ClausesAreWhatAndJoins) {
  struct Row {
    const char* text;
    const char* want;
  };
  constexpr Row kRows[] = {
      {"a", "a"},
      {"a && b", "a | b"},
      {"a > 1 && (b && (c || d)) && !(e && f)", "a > 1 | b | c || d | !(e && f)"},
      {"a || b && c", "a || b && c"},
      {"a && b ? c : d", "a && b ? c : d"},
  };
  for (const Row& row : kRows) {
    std::string got;
    for (const ExprPtr& clause : testing::MustParse(row.text)->Clauses()) {
      if (!got.empty()) got += " | ";
      got += clause->source();
      EXPECT_EQ(clause->source(), clause->Print());
    }
    EXPECT_EQ(got, row.want) << row.text;
  }
}

TEST(Expr, ComparisonsOfAnAttributeWithAConstant) {
  struct Row {
    const char* text;
    const char* want;
  };
  constexpr Row kRows[] = {
      {"TARGET.Memory >= 4096", "TARGET.Memory >= 4096"},
      {"4096 <= TARGET.Memory", "TARGET.Memory >= 4096"},
      {"-1 > x", "x < -1"},
      {"\"a\" == MY.b", "MY.b == \"a\""},
      {"x isnt {1}", "x =!= {1}"},
      {"x + 1 > 2", "-"},
      {"x > y", "-"},
      {"1 > 2", "-"},
      {"x == 1 == true", "-"},
      {"x && 1", "-"},
      {"x + 1", "-"},
  };
  for (const Row& row : kRows) {
    const ExprPtr expr = testing::MustParse(row.text);
    const auto comparison = expr->AsComparison();
    std::string got = "-";
    if (comparison) {
      const std::string_view scope = ScopeText(comparison->attribute.scope);
      got = scope.empty() ? "" : std::string(scope) + ".";
      got += comparison->attribute.name + " " + std::string(comparison->op) + " " + Print(comparison->constant);
    }
    EXPECT_EQ(got, row.want) << row.text;
  }
}

TEST(Expr, SourceStaysAsWritten) {
  EXPECT_EQ(testing::MustParse(" ( a&&b ) ")->source(), " ( a&&b ) ");
  EXPECT_EQ(testing::MustParse(" ( a&&b ) ")->Print(), "a && b");
}

TEST(Unreadable, IsErrorAndKeepsItsText) {
  const ExprPtr expr = Unreadable("no (( longer");
  EXPECT_EQ(expr->source(), "no (( longer");
  EXPECT_EQ(expr->Print(), "error");
  Evaluator evaluator;
  EXPECT_TRUE(evaluator.Evaluate(*expr, {}).is(Type::kError));
  EXPECT_FALSE(evaluator.True(*expr, {}));
  EXPECT_EQ(evaluator.Number(*expr, {}), 0);
  ASSERT_EQ(expr->Clauses().size(), 1u);
  EXPECT_EQ(expr->Clauses()[0]->source(), "no (( longer");
  EXPECT_EQ(Flatten(*expr, {})->Print(), "error");
}

}  // namespace
}  // namespace allot::expr
