// SPDX-License-Identifier: Apache-2.0
// What the fuzzers of this room share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bounds.h"
#include "base/check.h"
#include "base/json.h"
#include "expr/arena.h"
#include "expr/evaluator.h"
#include "expr/expr.h"
#include "expr/patterns.h"

namespace allot::expr::fuzz {

// What a fuzzer that evaluates is given: an expression, and on lines of their own the ads of job and machine, written
// as records of constants. What is no such record is an empty ad.
struct Input {
  std::string text;
  Ad job, machine;
};

// Ads have no ERROR in them.
inline bool HasError(const Value& value) {
  switch (value.type()) {
    case Type::kError:
      return true;
    case Type::kList:
      for (const Value& item : value.list()) {
        if (HasError(item)) return true;
      }
      return false;
    case Type::kRecord:
      for (const Field& field : value.record()) {
        if (HasError(field.value)) return true;
      }
      return false;
    default:
      return false;
  }
}

inline Ad AdFromText(std::string_view text) {
  Ad ad;
  const Parsed parsed = Expr::Parse(text);
  if (parsed.expr == nullptr) return ad;
  const auto value = parsed.expr->Constant();
  if (!value || !value->is(Type::kRecord)) return ad;
  for (const Field& field : value->record()) {
    if (!HasError(field.value)) ad.Set(field.name, field.value);
  }
  return ad;
}

inline Input Read(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto line = [&rest] {
    const std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    return text;
  };
  Input input;
  input.text = line();
  input.job = AdFromText(line());
  input.machine = AdFromText(line());
  return input;
}

// Strings are UTF-8, reals are finite, names of fields are unique.
inline void CheckValue(const Value& value) {
  switch (value.type()) {
    case Type::kReal:
      CHECK(value.real() - value.real() == 0);
      break;
    case Type::kString:
      CHECK(IsUtf8(value.string()));
      break;
    case Type::kList:
      for (const Value& item : value.list()) CheckValue(item);
      break;
    case Type::kRecord:
      for (const Field& field : value.record()) CheckValue(field.value);
      break;
    default:
      break;
  }
}

// A value, and whether it is ERROR because a bound was reached.
struct Outcome {
  std::string printed;
  bool beyond = false;
  std::int64_t steps = 0;
};

inline Outcome Run(const Expr& expr, const Sides& sides) {
  Arena arena(bounds::kMaxEvaluationBytes);
  static PatternCache patterns;
  CallContext context{arena, patterns, sides.time, bounds::kMaxEvaluationSteps};
  const Value value = Evaluation(expr.program(), sides, context).Run(expr.program().root());
  Outcome outcome;
  outcome.beyond = context.steps_left < 0 || arena.exhausted();
  outcome.steps = static_cast<std::int64_t>(bounds::kMaxEvaluationSteps) - context.steps_left;
  CHECK(arena.used() <= bounds::kMaxEvaluationBytes);
  if (outcome.beyond) return outcome;
  CheckValue(value);
  outcome.printed = Print(value);
  return outcome;
}

// What prints parses back to the same, unless it has grown beyond the bounds of a text.
inline void CheckPrinted(const std::string& printed) {
  const Parsed parsed = Expr::Parse(printed);
  if (parsed.expr == nullptr) {
    const bool bound = parsed.error.message.find("make it ") != std::string::npos;
    CHECK(bound);
    return;
  }
  CHECK(parsed.expr->Print() == printed);
}

}  // namespace allot::expr::fuzz
