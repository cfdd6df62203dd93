// SPDX-License-Identifier: Apache-2.0
// What expressions cost: evaluated for a pair of job and worker, parsed, and flattened.
#include <benchmark/benchmark.h>

#include <string>

#include "base/bounds.h"
#include "base/check.h"
#include "base/testing/text.h"
#include "expr/expr.h"
#include "expr/testing.h"

namespace allot::expr {
namespace {

Ad JobAd() {
  Ad ad;
  const Value tags[] = {Value::String("render"), Value::String("nightly")};
  ad.Set("User", Value::String("ann"));
  ad.Set("Tags", Value::List(tags));
  ad.Set("Priority", Value::Integer(5));
  ad.Set("Async", Value::Boolean(true));
  ad.Set("Tasks", Value::Integer(1000));
  ad.Set("project", Value::String("apollo"));
  ad.Set("stage", Value::String("final"));
  ad.Set("MinMemory", Value::Integer(4096));
  ad.Set("budget", Value::Real(12.5));
  ad.Set("retriesWanted", Value::Integer(3));
  ad.Set("image", Value::String("registry/render:12"));
  ad.Set("region", Value::String("eu-north"));
  return ad;
}

Ad WorkerAd() {
  Ad ad;
  const Value tags[] = {Value::String("render"), Value::String("c:gpu=a100")};
  ad.Set("Name", Value::String("node-0042"));
  ad.Set("Tags", Value::List(tags));
  ad.Set("Slots", Value::Integer(16));
  ad.Set("Memory", Value::Integer(65536));
  ad.Set("Disk", Value::Integer(1'000'000));
  ad.Set("Arch", Value::String("x86_64"));
  ad.Set("OpSys", Value::String("LINUX"));
  ad.Set("gpu", Value::String("a100"));
  ad.Set("LoadAvg", Value::Real(0.25));
  ad.Set("version", Value::String("2.14.3"));
  ad.Set("region", Value::String("eu-north"));
  ad.Set("spot", Value::Boolean(false));
  return ad;
}

void Evaluate(benchmark::State& state, const char* text) {
  const ExprPtr expr = testing::MustParse(text);
  const Ad job = JobAd(), worker = WorkerAd();
  Evaluator evaluator;
  const Sides sides{&job, &worker, Side::kJob, 1'700'000'000};
  CHECK(evaluator.True(*expr, sides));
  for (auto _ : state) benchmark::DoNotOptimize(evaluator.True(*expr, sides));
}
BENCHMARK_CAPTURE(Evaluate, two_clauses, "TARGET.Memory >= 4096 && TARGET.Arch == \"x86_64\"");
BENCHMARK_CAPTURE(Evaluate, other_case, "TARGET.memory >= 4096 && TARGET.ARCH == \"X86_64\"");
BENCHMARK_CAPTURE(Evaluate, unscoped, "Memory >= MinMemory && Arch == \"x86_64\"");
BENCHMARK_CAPTURE(Evaluate, four_clauses,
                  "TARGET.Memory >= MY.MinMemory * 2 && TARGET.Arch == \"x86_64\" && TARGET.LoadAvg < 0.5 && "
                  "(TARGET.gpu ?: \"none\") != \"none\"");
BENCHMARK_CAPTURE(Evaluate, member, "member(\"render\", TARGET.Tags) && TARGET.Slots > 1");
BENCHMARK_CAPTURE(Evaluate, regexp, "regexp(\"^node-[0-9]+$\", TARGET.Name)");

void Parse(benchmark::State& state, const char* text) {
  const std::string_view view = text;
  for (auto _ : state) benchmark::DoNotOptimize(Expr::Parse(view));
  state.counters["bytes"] = static_cast<double>(testing::MustParse(view)->MemoryBytes());
}
BENCHMARK_CAPTURE(Parse, two_clauses, "TARGET.Memory >= 4096 && TARGET.Arch == \"x86_64\"");

void FlattenJob(benchmark::State& state) {
  const ExprPtr expr =
      testing::MustParse("TARGET.Memory >= MY.MinMemory * 2 && TARGET.region == MY.region && MY.Tasks > 10");
  const Ad job = JobAd();
  for (auto _ : state) benchmark::DoNotOptimize(Flatten(*expr, {&job, nullptr, Side::kJob, 0}));
}
BENCHMARK(FlattenJob);

// Texts that are as bad as the bounds allow.
std::string Hostile(std::int64_t which) {
  constexpr std::size_t kBytes = bounds::kMaxExpressionBytes;
  switch (which) {
    case 0:  // nothing but names
      return "a" + testing::Repeated("+a", kBytes / 4);
    case 1:  // a long list
      return "size({1" + testing::Repeated(",1", 4000) + "})";
    case 2:  // brackets
      return testing::Repeated("(", 120) + "1" + testing::Repeated(")", 120);
    case 3:  // regular expressions, each another one
    {
      std::string out = "false";
      for (int i = 0; out.size() < kBytes - 60; ++i)
        out += " || regexp(\"(a|b){1,9}x" + std::to_string(i) + "\", MY.image)";
      return out;
    }
    case 4:  // names that differ
    {
      std::string out = "x";
      for (int i = 0; out.size() < kBytes - 10; ++i) out += "+x" + std::to_string(i);
      return out;
    }
    case 5:  // strings that grow
      return "size(" + testing::Repeated("strcat(MY.image,", 60) + "\"\"" + testing::Repeated(",MY.image)", 60) + ")";
    case 6:  // records that are compared in the wrong order
    {
      std::string a, b;
      for (int i = 0; i < 700; ++i) {
        a += "f" + std::to_string(i) + "=1;";
        b += "f" + std::to_string(699 - i) + "=1;";
      }
      return "[" + a + "] is [" + b + "]";
    }
    case 7:  // long strings, compared again and again
    {
      const std::string big = "\"" + std::string(5000, 'a') + "\"";
      return "anyCompare(\"<\", split(replaceAll(\"a\", " + big + ", \"a \"))," + big + ")";
    }
    default:
      return "1";
  }
}
constexpr std::int64_t kHostile = 8;

void ParseHostile(benchmark::State& state) {
  const std::string text = Hostile(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(Expr::Parse(text));
  const Parsed parsed = Expr::Parse(text);
  state.SetLabel(parsed.expr == nullptr ? parsed.error.message : "parses");
  if (parsed.expr != nullptr) state.counters["bytes"] = static_cast<double>(parsed.expr->MemoryBytes());
}
BENCHMARK(ParseHostile)->DenseRange(0, kHostile - 1)->Unit(benchmark::kMicrosecond);

void EvaluateHostile(benchmark::State& state) {
  const Parsed parsed = Expr::Parse(Hostile(state.range(0)));
  if (parsed.expr == nullptr) return state.SkipWithError("does not parse");
  const Ad job = JobAd(), worker = WorkerAd();
  Evaluator evaluator;
  const Sides sides{&job, &worker, Side::kJob, 0};
  for (auto _ : state) benchmark::DoNotOptimize(evaluator.Evaluate(*parsed.expr, sides));
  state.SetLabel(Print(evaluator.Evaluate(*parsed.expr, sides)));
}
BENCHMARK(EvaluateHostile)->DenseRange(0, kHostile - 1)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace allot::expr
