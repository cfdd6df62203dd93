// SPDX-License-Identifier: Apache-2.0
// The worst that strangers can do. The bars: 10 ms to parse, 100 µs to evaluate.
#include <benchmark/benchmark.h>

#include "expr/expr.h"
#include "expr/hostile_cases.h"

namespace allot::expr {
namespace {

void ParseCase(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(Expr::Parse(text));
}

// `cold`: with an evaluator that has seen no pattern yet.
void EvaluateCase(benchmark::State& state, const std::string& text, bool cold) {
  const ExprPtr expr = Expr::Parse(text).expr;
  if (expr == nullptr) {
    state.SkipWithError("does not parse");
    return;
  }
  const Ad job = hostile::LargeAd(), machine = hostile::LargeAd();
  const Sides sides{.job = &job, .machine = &machine};
  auto evaluator = std::make_unique<Evaluator>();
  for (auto _ : state) {
    if (cold) {
      state.PauseTiming();
      evaluator = std::make_unique<Evaluator>();
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(evaluator->Evaluate(*expr, sides));
  }
  state.SetLabel(std::string(TypeText(evaluator->Evaluate(*expr, sides).type())));
}

void FlattenIt(benchmark::State& state, const std::string& text) {
  const ExprPtr expr = Expr::Parse(text).expr;
  if (expr == nullptr) {
    state.SkipWithError("does not parse");
    return;
  }
  const Ad job = hostile::LargeAd();
  for (auto _ : state) benchmark::DoNotOptimize(Flatten(*expr, {.job = &job}));
}

const bool kRegistered = [] {
  for (const hostile::Case& one : hostile::ToParse()) {
    benchmark::RegisterBenchmark(("Hostile/Parse/" + one.name).c_str(), ParseCase, one.text)
        ->Unit(benchmark::kMicrosecond);
  }
  for (const hostile::Case& one : hostile::ToEvaluate()) {
    const bool patterns = one.text.find("regexp") != std::string::npos || one.text.find("replace") != std::string::npos;
    benchmark::RegisterBenchmark(("Hostile/Evaluate/" + one.name).c_str(), EvaluateCase, one.text, patterns)
        ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(("Hostile/Flatten/" + one.name).c_str(), FlattenIt, one.text)
        ->Unit(benchmark::kMicrosecond);
  }
  return true;
}();

}  // namespace
}  // namespace allot::expr
