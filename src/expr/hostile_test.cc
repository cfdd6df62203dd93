// SPDX-License-Identifier: Apache-2.0
// Hostile expressions stay inside the bounds. What is counted here is bytes and steps; the time that these take is
// measured by hostile_bench.cc.
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include "base/bounds.h"
#include "base/sanitizers.h"
#include "expr/arena.h"
#include "expr/evaluator.h"
#include "expr/expr.h"
#include "expr/hostile_cases.h"
#include "expr/patterns.h"

// Sanitizers have an operator new of their own.
#define ALLOT_COUNTS_MEMORY !ALLOT_SANITIZED

#if ALLOT_COUNTS_MEMORY
#include <malloc.h>

// Counts what this test program has allocated, and the most that it had at once.
namespace {
std::atomic<std::size_t> g_bytes{0}, g_most{0};

void* Counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const std::size_t bytes = g_bytes += malloc_usable_size(memory);
  if (bytes > g_most) g_most = bytes;
  return memory;
}
void Uncounted(void* memory) {
  if (memory != nullptr) g_bytes -= malloc_usable_size(memory);
  std::free(memory);
}
}  // namespace

void* operator new(std::size_t size) { return Counted(std::malloc(size == 0 ? 1 : size)); }
void* operator new[](std::size_t size) { return Counted(std::malloc(size == 0 ? 1 : size)); }
void operator delete(void* memory) noexcept { Uncounted(memory); }
void operator delete[](void* memory) noexcept { Uncounted(memory); }
void operator delete(void* memory, std::size_t) noexcept { Uncounted(memory); }
void operator delete[](void* memory, std::size_t) noexcept { Uncounted(memory); }
#endif

namespace allot::expr {
namespace {

constexpr std::size_t kMiB = 1024 * 1024;

TEST(Hostile, NothingTakesMoreThanAMegabyteToParse) {
  // What is made once and stays, such as the table of functions.
  (void)Expr::Parse("regexp(\"a\", b)");
  for (const hostile::Case& one : hostile::ToParse()) {
#if ALLOT_COUNTS_MEMORY
    g_most = g_bytes.load();
    const std::size_t before = g_bytes;
#endif
    const Parsed parsed = Expr::Parse(one.text);
#if ALLOT_COUNTS_MEMORY
    EXPECT_LE(g_most - before, kMiB) << one.name;
#endif
    ASSERT_EQ(parsed.expr == nullptr, !parsed.error.message.empty()) << one.name;
    if (parsed.expr == nullptr) {
      EXPECT_LE(parsed.error.offset, one.text.size()) << one.name;
      // For people: of a long text, the part around the place.
      EXPECT_LT(PointAt("requirements", one.text, parsed.error).size(), 1'000u) << one.name;
    } else {
      EXPECT_LE(parsed.expr->MemoryBytes(), kMiB) << one.name;
    }
  }
}

TEST(Hostile, WhatIsTooMuchIsRefusedWithItsBound) {
  struct Row {
    const char* what;
    std::string text;
    const char* message;
  };
  const Row rows[] = {
      {"length", std::string(bounds::kMaxExpressionBytes, ' ') + "1", "longer than 16384 bytes"},
      {"brackets", hostile::Nested("(", "1", ")", 200), "levels inside one another"},
      {"lists", hostile::Nested("{", "1", "}", 200), "levels inside one another"},
      {"minuses", std::string(200, '-') + "a", "levels inside one another"},
      {"calls", hostile::Nested("int(", "1", ")", 200), "levels inside one another"},
      {"indexes", hostile::Nested("a[", "1", "]", 200), "levels inside one another"},
      {"conditionals", hostile::Repeat("a?b:", 200) + "c", "levels inside one another"},
      {"nodes", hostile::Repeat("a+", 5'000) + "a", "more than 4096 parts"},
      {"a pattern", "regexp(\"" + std::string(300, 'a') + "\", a)", "at most 256 bytes"},
      {"a large pattern", "regexp(\"a{1000}\", a)", "too large"},
  };
  for (const Row& row : rows) {
    const Parsed parsed = Expr::Parse(row.text);
    ASSERT_EQ(parsed.expr, nullptr) << row.what;
    EXPECT_NE(parsed.error.message.find(row.message), std::string::npos) << row.what << ": " << parsed.error.message;
  }
}

TEST(Hostile, LongButFlatIsFine) {
  Evaluator evaluator;
  for (const char* op : {"&&", "+"}) {
    const Parsed parsed = Expr::Parse(hostile::Repeat(std::string("1") + op, 500) + "1");
    ASSERT_NE(parsed.expr, nullptr) << parsed.error.message;
    EXPECT_FALSE(evaluator.Evaluate(*parsed.expr, {}).is(Type::kError));
  }
}

TEST(Hostile, EveryEvaluationStaysInsideItsStepsAndBytes) {
  const Ad job = hostile::LargeAd(), machine = hostile::LargeAd();
  const Sides sides{.job = &job, .machine = &machine};
  Evaluator evaluator;
  int errors = 0;
  for (const hostile::Case& one : hostile::ToEvaluate()) {
    const Parsed parsed = Expr::Parse(one.text);
    ASSERT_NE(parsed.expr, nullptr) << one.name << ": " << parsed.error.message;
    const Program& program = parsed.expr->program();
    Arena arena(bounds::kMaxEvaluationBytes);
    PatternCache patterns;
    CallContext context{arena, patterns, 0, bounds::kMaxEvaluationSteps};
    Evaluation(program, sides, context).Run(program.root());
    EXPECT_LE(arena.used(), bounds::kMaxEvaluationBytes) << one.name;
    EXPECT_LE(patterns.size(), 64u) << one.name;
    const bool beyond = context.steps_left < 0 || arena.exhausted();
    const Value value = evaluator.Evaluate(*parsed.expr, sides);
    EXPECT_TRUE(!beyond || value.is(Type::kError)) << one.name << " is " << Print(value).substr(0, 100);
    errors += value.is(Type::kError);
    // The same the second time, when all patterns are known.
    EXPECT_EQ(evaluator.Evaluate(*parsed.expr, sides).type(), value.type()) << one.name;
  }
  EXPECT_GT(errors, 20);
}

TEST(Hostile, EvaluatingUsesMemoryOfABoundedSize) {
#if ALLOT_COUNTS_MEMORY
  const Ad job = hostile::LargeAd(), machine = hostile::LargeAd();
  const Sides sides{.job = &job, .machine = &machine};
  for (const hostile::Case& one : hostile::ToEvaluate()) {
    const ExprPtr expr = Expr::Parse(one.text).expr;
    ASSERT_NE(expr, nullptr);
    g_most = g_bytes.load();
    const std::size_t before = g_bytes;
    Evaluator evaluator;
    evaluator.Evaluate(*expr, sides);
    EXPECT_LE(g_most - before, kMiB) << one.name;
  }
#endif
}

// A bound that was reached cannot be explained away: neither isError() nor ?: make a value of it.
TEST(Hostile, NoExpressionCatchesTheEndOfItsSteps) {
  const Ad job = hostile::LargeAd();
  Evaluator evaluator;
  for (const char* text :
       {"isError(strcat(long, long, long, long, long))", "isError(join(text, numbers)) || true",
        "isError(replaceAll(\"\", text, text)) || true",
        "isError(sum({sum(numbers), sum(numbers), sum(numbers), sum(numbers), sum(numbers), sum(numbers), "
        "sum(numbers), sum(numbers), sum(numbers), sum(numbers), sum(numbers)}))"}) {
    const ExprPtr expr = Expr::Parse(text).expr;
    ASSERT_NE(expr, nullptr) << text;
    EXPECT_TRUE(evaluator.Evaluate(*expr, {.job = &job}).is(Type::kError)) << text;
  }
}

TEST(Hostile, FlattenKeepsToTheBoundsOfWhatItIsGiven) {
  const Ad job = hostile::LargeAd(), machine = hostile::LargeAd();
  Evaluator evaluator;
  for (const hostile::Case& one : hostile::ToEvaluate()) {
    const ExprPtr expr = Expr::Parse(one.text).expr;
    ASSERT_NE(expr, nullptr);
#if ALLOT_COUNTS_MEMORY
    g_most = g_bytes.load();
    const std::size_t before = g_bytes;
#endif
    const ExprPtr residual = Flatten(*expr, {.job = &job});
#if ALLOT_COUNTS_MEMORY
    EXPECT_LE(g_most - before, 4 * kMiB) << one.name;
#endif
    ASSERT_NE(residual, nullptr) << one.name;
    EXPECT_LE(residual->MemoryBytes(), 2 * kMiB) << one.name;
    // What did not end in a bound means the same.
    const Sides sides{.job = &job, .machine = &machine};
    const Value value = evaluator.Evaluate(*expr, sides);
    if (value.is(Type::kError)) continue;
    const std::string want = Print(value);
    EXPECT_EQ(Print(evaluator.Evaluate(*residual, sides)), want) << one.name;
  }
}

}  // namespace
}  // namespace allot::expr
