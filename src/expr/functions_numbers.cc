// SPDX-License-Identifier: Apache-2.0
// Rounding, powers, and numbers out of lists of numbers.
#include <cmath>
#include <cstdint>

#include "expr/function_support.h"
#include "expr/operators.h"

namespace allot::expr {
namespace {

using Arguments = std::span<const Value>;

Value Rounded(CallContext& context, Arguments arguments, double (*round)(double)) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  const Value number = NumberOf(context, arguments[0]);
  if (number.is(Type::kError)) return number;
  if (!number.is(Type::kReal)) return Value::Integer(AsInteger(number));
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  const double real = round(number.real());
  return real >= -kLimit && real < kLimit ? Value::Integer(static_cast<std::int64_t>(real)) : Value::Error();
}
Value Floor(CallContext& context, Arguments arguments) { return Rounded(context, arguments, std::floor); }
Value Ceiling(CallContext& context, Arguments arguments) { return Rounded(context, arguments, std::ceil); }
// Halves go to the even neighbour, as nobody here changes the rounding mode.
Value Round(CallContext& context, Arguments arguments) { return Rounded(context, arguments, std::nearbyint); }

Value IntegerPower(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (true) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return Value::Error();
    exponent >>= 1;
    if (exponent == 0) return Value::Integer(result);
    // The square is a factor of the result, for there is a bit left of the exponent.
    if (__builtin_mul_overflow(base, base, &base)) return Value::Error();
  }
}

Value Pow(CallContext& context, Arguments arguments) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  if (!context.Charge(8)) return Value::Error();
  const Value base = NumberOf(context, arguments[0]), exponent = NumberOf(context, arguments[1]);
  if (base.is(Type::kError) || exponent.is(Type::kError)) return Value::Error();
  if (!base.is(Type::kReal) && !exponent.is(Type::kReal) && AsInteger(exponent) >= 0) {
    return IntegerPower(AsInteger(base), AsInteger(exponent));
  }
  return Finite(std::pow(AsReal(base), AsReal(exponent)));
}

// The smallest multiple of `unit` that is not less than `number`; of 0, the number itself.
Value MultipleOf(const Value& unit, const Value& number) {
  if (!number.is(Type::kReal) && !unit.is(Type::kReal)) {
    const std::int64_t a = AsInteger(number), b = AsInteger(unit);
    if (b == 0) return Value::Integer(a);
    if (b < 0) return Value::Error();
    const std::int64_t over = a % b;
    if (over == 0) return Value::Integer(a);
    std::int64_t multiple = a - over;
    if (over > 0 && __builtin_add_overflow(multiple, b, &multiple)) return Value::Error();
    return Value::Integer(multiple);
  }
  const double a = AsReal(number), b = AsReal(unit);
  if (b == 0) return ApplyUnary(UnaryOp::kPlus, number);
  if (b < 0) return Value::Error();
  return Finite(std::ceil(a / b) * b);
}

Value Quantize(CallContext& context, Arguments arguments) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  const Value number = NumberOf(context, arguments[0]);
  if (number.is(Type::kError)) return number;
  Value unit = Value::Integer(0);  // of an empty list
  if (!arguments[1].is(Type::kList)) {
    unit = NumberOf(context, arguments[1]);
    return unit.is(Type::kError) ? unit : MultipleOf(unit, number);
  }
  for (const Value& item : arguments[1].list()) {
    if (!context.Charge(1)) return Value::Error();
    if (item.is(Type::kUndefined)) return item;
    unit = NumberOf(context, item);
    if (unit.is(Type::kError)) return unit;
    if (CompareNumbers(unit, number) >= 0) return ApplyUnary(UnaryOp::kPlus, unit);
  }
  return MultipleOf(unit, number);
}

// The elements of a list of numbers. `unusable` is what the function gives if they cannot be had: an element that is
// ERROR, or no number, makes ERROR, else one that is UNDEFINED makes UNDEFINED.
struct Numbers {
  std::span<const Value> items;
  bool any_real = false;
  std::optional<Value> unusable;

  Numbers(CallContext& context, Arguments arguments) : unusable(Unusable(arguments)) {
    if (unusable) return;
    if (!arguments[0].is(Type::kList)) {
      unusable = Value::Error();
      return;
    }
    items = arguments[0].list();
    if (!context.Charge(static_cast<std::int64_t>(items.size()))) {
      unusable = Value::Error();
      return;
    }
    for (const Value& item : items) {
      if (item.is(Type::kUndefined)) {
        unusable = item;
      } else if (!CountsAsNumber(item)) {
        unusable = Value::Error();
        return;
      }
      any_real |= item.is(Type::kReal);
    }
  }
};

Value Extreme(CallContext& context, Arguments arguments, int sign) {
  const Numbers numbers(context, arguments);
  if (numbers.unusable) return *numbers.unusable;
  if (numbers.items.empty()) return Value::Undefined();
  const Value* best = &numbers.items[0];
  for (const Value& item : numbers.items.subspan(1)) {
    if (CompareNumbers(item, *best) * sign > 0) best = &item;
  }
  return numbers.any_real ? Value::Real(AsReal(*best)) : Value::Integer(AsInteger(*best));
}
double RealSum(std::span<const Value> items) {
  double sum = 0;
  for (const Value& item : items) sum += AsReal(item);
  return sum;
}

}  // namespace

Value Min(CallContext& context, Arguments arguments) { return Extreme(context, arguments, -1); }
Value Max(CallContext& context, Arguments arguments) { return Extreme(context, arguments, 1); }

Value Sum(CallContext& context, Arguments arguments) {
  const Numbers numbers(context, arguments);
  if (numbers.unusable) return *numbers.unusable;
  if (numbers.items.empty()) return Value::Undefined();
  if (numbers.any_real) return Finite(RealSum(numbers.items));
  std::int64_t sum = 0;
  for (const Value& item : numbers.items) {
    if (__builtin_add_overflow(sum, AsInteger(item), &sum)) return Value::Error();
  }
  return Value::Integer(sum);
}

Value Avg(CallContext& context, Arguments arguments) {
  const Numbers numbers(context, arguments);
  if (numbers.unusable) return *numbers.unusable;
  if (numbers.items.empty()) return Value::Undefined();
  return Finite(RealSum(numbers.items) / static_cast<double>(numbers.items.size()));
}

namespace {

constexpr Function kNumberFunctions[] = {
    {"floor", 1, 1, Floor}, {"ceiling", 1, 1, Ceiling},   {"ceil", 1, 1, Ceiling}, {"round", 1, 1, Round},
    {"pow", 2, 2, Pow},     {"quantize", 2, 2, Quantize}, {"min", 1, 1, Min},      {"max", 1, 1, Max},
    {"sum", 1, 1, Sum},     {"avg", 1, 1, Avg},
};

}  // namespace

std::span<const Function> NumberFunctions() { return kNumberFunctions; }

}  // namespace allot::expr
