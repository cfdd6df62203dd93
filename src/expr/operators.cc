// SPDX-License-Identifier: Apache-2.0
#include "expr/operators.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "expr/ad.h"

namespace allot::expr {
namespace {

constexpr std::string_view kTexts[] = {"||", "&&", "|",  "^",  "&",   "==", "!=", "=?=", "=!=", "<", "<=",
                                       ">",  ">=", "<<", ">>", ">>>", "+",  "-",  "*",   "/",   "%"};
constexpr std::uint8_t kLevels[] = {0, 1, 2, 3, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 8, 8, 9, 9, 9};
static_assert(std::size(kTexts) == static_cast<std::size_t>(Op::kModulo) + 1);
static_assert(std::size(kLevels) == std::size(kTexts));
static_assert(kLevels[std::size(kLevels) - 1] + 1 == kBindingLevels);

int Sign(std::int64_t a, std::int64_t b) { return a < b ? -1 : a > b; }

// An integer against a real, without rounding the integer.
int CompareExactly(std::int64_t integer, double real) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (real >= kLimit) return -1;
  if (real < -kLimit) return 1;
  const double whole = std::trunc(real);
  if (const int sign = Sign(integer, static_cast<std::int64_t>(whole)); sign != 0) return sign;
  return whole < real ? -1 : whole > real;
}

Value Compared(Op op, int sign) {
  switch (op) {
    case Op::kEqual:
      return Value::Boolean(sign == 0);
    case Op::kNotEqual:
      return Value::Boolean(sign != 0);
    case Op::kLess:
      return Value::Boolean(sign < 0);
    case Op::kLessEqual:
      return Value::Boolean(sign <= 0);
    case Op::kGreater:
      return Value::Boolean(sign > 0);
    case Op::kGreaterEqual:
      return Value::Boolean(sign >= 0);
    default:
      return Value::Error();
  }
}

Value Compare(Op op, const Value& a, const Value& b) {
  if (a.is(Type::kInteger) && b.is(Type::kInteger)) return Compared(op, Sign(a.integer(), b.integer()));
  if (a.is(Type::kString) && b.is(Type::kString)) {
    if (op == Op::kEqual) return Value::Boolean(EqualText(a.string(), b.string()));
    if (op == Op::kNotEqual) return Value::Boolean(!EqualText(a.string(), b.string()));
    return Compared(op, CompareText(a.string(), b.string()));
  }
  if (CountsAsNumber(a) && CountsAsNumber(b)) return Compared(op, CompareNumbers(a, b));
  return Value::Error();
}

Value Calculate(Op op, const Value& a, const Value& b) {
  if (!CountsAsNumber(a) || !CountsAsNumber(b)) return Value::Error();
  if (a.is(Type::kReal) || b.is(Type::kReal)) {
    const double x = AsReal(a), y = AsReal(b);
    switch (op) {
      case Op::kAdd:
        return Finite(x + y);
      case Op::kSubtract:
        return Finite(x - y);
      case Op::kMultiply:
        return Finite(x * y);
      case Op::kDivide:
        return y == 0 ? Value::Error() : Finite(x / y);
      default:
        return Value::Error();
    }
  }
  const std::int64_t x = AsInteger(a), y = AsInteger(b);
  std::int64_t out = 0;
  switch (op) {
    case Op::kAdd:
      return __builtin_add_overflow(x, y, &out) ? Value::Error() : Value::Integer(out);
    case Op::kSubtract:
      return __builtin_sub_overflow(x, y, &out) ? Value::Error() : Value::Integer(out);
    case Op::kMultiply:
      return __builtin_mul_overflow(x, y, &out) ? Value::Error() : Value::Integer(out);
    case Op::kDivide:
      if (y == 0 || (x == INT64_MIN && y == -1)) return Value::Error();
      return Value::Integer(x / y);
    case Op::kModulo:
      if (y == 0) return Value::Error();
      return Value::Integer(y == -1 ? 0 : x % y);
    default:
      return Value::Error();
  }
}

Value Bits(Op op, const Value& a, const Value& b) {
  if (!a.is(Type::kInteger) || !b.is(Type::kInteger)) return Value::Error();
  const std::int64_t x = a.integer(), y = b.integer();
  const auto bits = static_cast<std::uint64_t>(x);
  switch (op) {
    case Op::kBitAnd:
      return Value::Integer(x & y);
    case Op::kBitOr:
      return Value::Integer(x | y);
    case Op::kBitXor:
      return Value::Integer(x ^ y);
    default:
      break;
  }
  if (y < 0 || y > 63) return Value::Error();
  if (op == Op::kShiftRight) return Value::Integer(x >> y);
  if (op == Op::kShiftRightLogical) return Value::Integer(static_cast<std::int64_t>(bits >> y));
  const auto shifted = static_cast<std::int64_t>(bits << y);
  return shifted >> y == x ? Value::Integer(shifted) : Value::Error();
}

// `&&` and `||`: the first operand that is `decides` or ERROR decides; else UNDEFINED, if there is one.
Value Join(Truth decides, const Value& a, const Value& b) {
  const Truth left = ToTruth(a);
  if (left == decides || left == Truth::kError) return FromTruth(left);
  const Truth right = ToTruth(b);
  if (right == decides || right == Truth::kError) return FromTruth(right);
  return FromTruth(left == Truth::kUndefined ? left : right);
}

}  // namespace

std::string_view OpText(Op op) { return kTexts[static_cast<std::size_t>(op)]; }

std::string_view OpText(UnaryOp op) {
  constexpr std::string_view kUnary[] = {"-", "+", "~", "!"};
  return kUnary[static_cast<std::size_t>(op)];
}

int BindingLevel(Op op) { return kLevels[static_cast<std::size_t>(op)]; }

std::optional<Op> ComparisonFromText(std::string_view text) {
  for (auto op = Op::kEqual; op <= Op::kGreaterEqual; op = static_cast<Op>(static_cast<int>(op) + 1)) {
    if (OpText(op) == text) return op;
  }
  if (EqualText(text, "is")) return Op::kIs;
  if (EqualText(text, "isnt")) return Op::kIsnt;
  return std::nullopt;
}

Op Turned(Op op) {
  switch (op) {
    case Op::kLess:
      return Op::kGreater;
    case Op::kLessEqual:
      return Op::kGreaterEqual;
    case Op::kGreater:
      return Op::kLess;
    case Op::kGreaterEqual:
      return Op::kLessEqual;
    default:
      return op;
  }
}

Value ApplyBinary(Op op, const Value& a, const Value& b) {
  switch (op) {
    case Op::kAnd:
      return Join(Truth::kFalse, a, b);
    case Op::kOr:
      return Join(Truth::kTrue, a, b);
    case Op::kIs:
      return Value::Boolean(Identical(a, b));
    case Op::kIsnt:
      return Value::Boolean(!Identical(a, b));
    default:
      break;
  }
  static_assert(Type::kUndefined < Type::kBoolean && Type::kError < Type::kBoolean);
  if (std::min(a.type(), b.type()) < Type::kBoolean) [[unlikely]] {
    return a.is(Type::kError) || b.is(Type::kError) ? Value::Error() : Value::Undefined();
  }
  if (IsComparison(op)) return Compare(op, a, b);
  if (op >= Op::kAdd) return Calculate(op, a, b);
  return Bits(op, a, b);
}

Value ApplyUnary(UnaryOp op, const Value& a) {
  if (op == UnaryOp::kNot) {
    const Truth truth = ToTruth(a);
    if (truth == Truth::kTrue) return Value::Boolean(false);
    return truth == Truth::kFalse ? Value::Boolean(true) : FromTruth(truth);
  }
  if (a.is(Type::kError) || a.is(Type::kUndefined)) return a;
  if (op == UnaryOp::kBitNot) return a.is(Type::kInteger) ? Value::Integer(~a.integer()) : Value::Error();
  if (!CountsAsNumber(a)) return Value::Error();
  if (a.is(Type::kReal)) return op == UnaryOp::kPlus ? a : Value::Real(-a.real());
  return Calculate(op == UnaryOp::kPlus ? Op::kAdd : Op::kSubtract, Value::Integer(0), a);
}

Value FieldOf(const Value& record, std::string_view name) {
  for (const Field& field : record.record()) {
    if (SameName(field.name, name)) return field.value;
  }
  return Value::Undefined();
}

Value SelectIndex(const Value& base, const Value& index) {
  if (base.is(Type::kError) || index.is(Type::kError)) return Value::Error();
  if (base.is(Type::kUndefined) || index.is(Type::kUndefined)) return Value::Undefined();
  if (base.is(Type::kRecord) && index.is(Type::kString)) return FieldOf(base, index.string());
  if (!base.is(Type::kList) || !index.is(Type::kInteger)) return Value::Error();
  const auto items = base.list();
  if (index.integer() < 0 || static_cast<std::uint64_t>(index.integer()) >= items.size()) return Value::Error();
  return items[static_cast<std::size_t>(index.integer())];
}

int CompareNumbers(const Value& a, const Value& b) {
  if (a.is(Type::kReal)) {
    if (!b.is(Type::kReal)) return -CompareExactly(AsInteger(b), a.real());
    return a.real() < b.real() ? -1 : a.real() > b.real();
  }
  if (b.is(Type::kReal)) return CompareExactly(AsInteger(a), b.real());
  return Sign(AsInteger(a), AsInteger(b));
}

bool EqualText(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  // Most texts that are equal are so to the byte.
  if (a == b) return true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (LowerCase(a[i]) != LowerCase(b[i])) return false;
  }
  return true;
}

int CompareText(std::string_view a, std::string_view b) {
  const std::size_t shared = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < shared; ++i) {
    const auto x = static_cast<unsigned char>(LowerCase(a[i])), y = static_cast<unsigned char>(LowerCase(b[i]));
    if (x != y) return x < y ? -1 : 1;
  }
  return a.size() < b.size() ? -1 : a.size() > b.size();
}

}  // namespace allot::expr
