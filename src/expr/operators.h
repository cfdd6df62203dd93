// SPDX-License-Identifier: Apache-2.0
// What the operators make of values: shared by the evaluator, by functions that compare, and by flatten.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "expr/value.h"

namespace allot::expr {

// In the order of how tightly they bind, loosest first; see BindingLevel().
enum class Op : std::uint8_t {
  kOr,
  kAnd,
  kBitOr,
  kBitXor,
  kBitAnd,
  kEqual,
  kNotEqual,
  kIs,
  kIsnt,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kShiftLeft,
  kShiftRight,
  kShiftRightLogical,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
};
enum class UnaryOp : std::uint8_t { kNegate, kPlus, kBitNot, kNot };

// As it prints: `&&`, `=?=`.
std::string_view OpText(Op op);
std::string_view OpText(UnaryOp op);
// Those that compare, as anyCompare() names them: `<` `<=` `>` `>=` `==` `!=` `is` `isnt` `=?=` `=!=`.
std::optional<Op> ComparisonFromText(std::string_view text);
constexpr bool IsComparison(Op op) { return op >= Op::kEqual && op <= Op::kGreaterEqual; }
// The operator that says the same with its operands exchanged: `<` for `>`. REQUIRES: a comparison.
Op Turned(Op op);

// Operators of one level associate to the left among each other. From 0, loosest first.
int BindingLevel(Op op);
inline constexpr int kBindingLevels = 10;

// The value of `a op b`. Costs what it looks at: short for numbers, the length of strings, the size of lists (`is`).
Value ApplyBinary(Op op, const Value& a, const Value& b);
Value ApplyUnary(UnaryOp op, const Value& a);
// `record.name`. REQUIRES: a record.
Value FieldOf(const Value& record, std::string_view name);
// `base[index]`.
Value SelectIndex(const Value& base, const Value& index);

// What a value is where a boolean is wanted: numbers are true unless 0; strings, lists and records are ERROR.
enum class Truth : std::uint8_t { kFalse, kTrue, kUndefined, kError };
inline Truth ToTruth(const Value& value) {
  switch (value.type()) {
    case Type::kUndefined:
      return Truth::kUndefined;
    case Type::kBoolean:
      return value.boolean() ? Truth::kTrue : Truth::kFalse;
    case Type::kInteger:
      return value.integer() != 0 ? Truth::kTrue : Truth::kFalse;
    case Type::kReal:
      return value.real() != 0 ? Truth::kTrue : Truth::kFalse;
    default:
      return Truth::kError;
  }
}
constexpr Value FromTruth(Truth truth) {
  switch (truth) {
    case Truth::kFalse:
      return Value::Boolean(false);
    case Truth::kTrue:
      return Value::Boolean(true);
    case Truth::kUndefined:
      return Value::Undefined();
    case Truth::kError:
      break;
  }
  return Value::Error();
}

// Integers, reals and booleans: what arithmetic takes.
inline bool CountsAsNumber(const Value& value) { return value.IsNumber() || value.is(Type::kBoolean); }
// REQUIRES: an integer or a boolean.
inline std::int64_t AsInteger(const Value& value) {
  return value.is(Type::kBoolean) ? value.boolean() : value.integer();
}
// REQUIRES: CountsAsNumber().
inline double AsReal(const Value& value) {
  return value.is(Type::kReal) ? value.real() : static_cast<double>(AsInteger(value));
}
// What arithmetic makes: ERROR for infinities and NaN.
inline Value Finite(double real) { return std::isfinite(real) ? Value::Real(real) : Value::Error(); }

// Numbers and booleans by their exact value: -1, 0 or 1. REQUIRES: each is an integer, a real or a boolean.
int CompareNumbers(const Value& a, const Value& b);

// Text without regard to the case of ASCII letters.
constexpr char LowerCase(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
bool EqualText(std::string_view a, std::string_view b);
int CompareText(std::string_view a, std::string_view b);  // -1, 0 or 1; by bytes

}  // namespace allot::expr
