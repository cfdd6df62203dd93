// SPDX-License-Identifier: Apache-2.0
// Expressions from text, for tests and benchmarks.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/check.h"
#include "expr/evaluator.h"
#include "expr/expr.h"

namespace allot::testing {

// None for an empty text.
inline expr::ExprPtr MustParse(std::string_view text) {
  if (text.empty()) return nullptr;
  const expr::Parsed parsed = expr::Expr::Parse(text);
  if (parsed.expr == nullptr) std::fprintf(stderr, "%s: %s\n", std::string(text).c_str(), parsed.error.message.c_str());
  CHECK(parsed.expr != nullptr);
  return parsed.expr;
}

// How the value of `text` prints, without a job and a worker.
inline std::string Evaluated(std::string_view text) {
  static expr::Evaluator evaluator;
  const expr::Parsed parsed = expr::Expr::Parse(text);
  if (parsed.expr == nullptr) return "does not parse: " + parsed.error.message;
  return expr::Print(evaluator.Evaluate(*parsed.expr, {.time = 1'700'000'000}));
}

}  // namespace allot::testing
