// SPDX-License-Identifier: Apache-2.0
// Any expression with either side known, or both: the residual means what the expression meant, with the known side
// there and with it gone.
#include <cstdint>
#include <string>

#include "base/bounds.h"
#include "base/check.h"
#include "expr/expr.h"
#include "expr/fuzz_support.h"

using namespace allot;
using namespace allot::expr;

namespace {

void CheckSame(const fuzz::Outcome& want, const Expr& residual, const Sides& sides) {
  const fuzz::Outcome got = fuzz::Run(residual, sides);
  // It may take a few steps more where a name became two, no more than that.
  if (got.beyond) {
    CHECK(want.steps > static_cast<std::int64_t>(bounds::kMaxEvaluationSteps) / 4);
    return;
  }
  CHECK(got.printed == want.printed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input = fuzz::Read(data, size);
  const ExprPtr expr = Expr::Parse(input.text).expr;
  if (expr == nullptr) return 0;
  for (const Side my : {Side::kJob, Side::kMachine}) {
    const Sides all{.job = &input.job, .machine = &input.machine, .my = my, .time = 1'700'000'000};
    const fuzz::Outcome want = fuzz::Run(*expr, all);
    for (int known = 1; known <= 3; ++known) {
      Sides given = all, gone = all;
      if ((known & 1) == 0) given.job = nullptr;
      if ((known & 2) == 0) given.machine = nullptr;
      if ((known & 1) != 0) gone.job = nullptr;
      if ((known & 2) != 0) gone.machine = nullptr;
      given.time = 5;  // does not fold
      const ExprPtr residual = Flatten(*expr, given);
      CHECK(residual != nullptr);
      fuzz::CheckPrinted(residual->Print());
      if (want.beyond) continue;
      CheckSame(want, *residual, all);
      CheckSame(want, *residual, gone);
    }
  }
  return 0;
}
