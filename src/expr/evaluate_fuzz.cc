// SPDX-License-Identifier: Apache-2.0
// Any expression on any ads: the value is a sound one, the same every time, and prints so that it parses back.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "expr/expr.h"
#include "expr/fuzz_support.h"

using namespace allot;
using namespace allot::expr;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input = fuzz::Read(data, size);
  const ExprPtr expr = Expr::Parse(input.text).expr;
  if (expr == nullptr) return 0;
  static Evaluator evaluator;
  for (const Side my : {Side::kJob, Side::kMachine}) {
    const Sides sides{.job = &input.job, .machine = &input.machine, .my = my, .time = 1'700'000'000};
    const fuzz::Outcome outcome = fuzz::Run(*expr, sides);
    const Value value = evaluator.Evaluate(*expr, sides);
    if (outcome.beyond) {
      CHECK(value.is(Type::kError));
      continue;
    }
    CHECK(Print(value) == outcome.printed);
    fuzz::CheckPrinted(outcome.printed);
    CHECK(evaluator.True(*expr, sides) == (ToTruth(evaluator.Evaluate(*expr, sides)) == Truth::kTrue));
    const double number = evaluator.Number(*expr, sides);
    CHECK(number - number == 0);
    // What it does not read does not matter.
    if (!expr->Reads(Side::kJob, my))
      CHECK(fuzz::Run(*expr, {.machine = &input.machine, .my = my, .time = sides.time}).printed == outcome.printed);
    if (!expr->Reads(Side::kMachine, my))
      CHECK(fuzz::Run(*expr, {.job = &input.job, .my = my, .time = sides.time}).printed == outcome.printed);
    if (!expr->UsesTime())
      CHECK(fuzz::Run(*expr, {.job = &input.job, .machine = &input.machine, .my = my}).printed == outcome.printed);
  }
  return 0;
}
