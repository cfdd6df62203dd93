// SPDX-License-Identifier: Apache-2.0
// What kind of value something is, from one kind to another, and the two that fit nowhere else.
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/text.h"
#include "expr/function_support.h"
#include "expr/operators.h"

namespace allot::expr {
namespace {

using Arguments = std::span<const Value>;

template <Type type>
Value Is(CallContext&, Arguments arguments) {
  return Value::Boolean(arguments[0].is(type));
}

}  // namespace

Value ParseNumber(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  const char* const end = text.data() + text.size();
  std::uint64_t magnitude = 0;
  const auto whole = std::from_chars(text.data(), end, magnitude, hex ? 16 : 10);
  if (whole.ptr == end && whole.ec == std::errc() && !text.empty()) {
    constexpr auto kLargest = static_cast<std::uint64_t>(INT64_MAX);
    if (magnitude > kLargest + (negative ? 1 : 0)) return Value::Error();
    return Value::Integer(static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude));
  }
  // from_chars() takes more than the language does: `inf`, `.5`, `5.`.
  const auto digits = [&](std::size_t& i) {
    const std::size_t from = i;
    while (i < text.size() && IsAsciiDigit(text[i])) ++i;
    return i > from;
  };
  std::size_t i = 0;
  if (hex || !digits(i)) return Value::Error();
  if (i < text.size() && text[i] == '.' && !digits(++i)) return Value::Error();
  if (i < text.size() && (text[i] | 0x20) == 'e') {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (!digits(i)) return Value::Error();
  }
  if (i != text.size()) return Value::Error();
  bool is_integer = true;
  for (const char c : text) is_integer &= IsAsciiDigit(c);
  if (is_integer) return Value::Error();  // out of range
  double real = 0;
  // One that is too small to be told from 0 is 0, as in an expression; from_chars() does not say which it was.
  if (std::from_chars(text.data(), end, real).ec == std::errc::result_out_of_range) {
    real = std::strtod(std::string(text).c_str(), nullptr);
    if (!std::isfinite(real)) return Value::Error();
  }
  return Value::Real(negative ? -real : real);
}

Value NumberOf(CallContext& context, const Value& value) {
  if (CountsAsNumber(value)) return value;
  if (!value.is(Type::kString) || !ChargeBytes(context, 2 * value.string().size())) return Value::Error();
  const Value number = ParseNumber(value.string());
  return number.is(Type::kError) ? number : Value::Real(AsReal(number));
}

namespace {

Value ToInteger(double real) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  return real >= -kLimit && real < kLimit ? Value::Integer(static_cast<std::int64_t>(real)) : Value::Error();
}

Value Int(CallContext& context, Arguments arguments) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  Value number = arguments[0];
  if (number.is(Type::kString)) {
    if (!ChargeBytes(context, 2 * number.string().size())) return Value::Error();
    number = ParseNumber(number.string());
  }
  if (number.is(Type::kReal)) return ToInteger(number.real());
  return CountsAsNumber(number) ? Value::Integer(AsInteger(number)) : Value::Error();
}

Value Real(CallContext& context, Arguments arguments) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  const Value number = NumberOf(context, arguments[0]);
  return number.is(Type::kError) ? number : Value::Real(AsReal(number));
}

Value Bool(CallContext&, Arguments arguments) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  if (arguments[0].is(Type::kString)) {
    if (EqualText(arguments[0].string(), "true")) return Value::Boolean(true);
    if (EqualText(arguments[0].string(), "false")) return Value::Boolean(false);
    return Value::Error();
  }
  return FromTruth(ToTruth(arguments[0]));
}

Value String(CallContext& context, Arguments arguments) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  const auto text = AsText(context, arguments[0]);
  return text ? Value::String(*text) : Value::Error();
}

Value IfThenElse(CallContext&, Arguments arguments) {
  const Truth truth = ToTruth(arguments[0]);
  if (truth == Truth::kTrue) return arguments[1];
  return truth == Truth::kFalse ? arguments[2] : FromTruth(truth);
}

Value Time(CallContext& context, Arguments) { return Value::Integer(context.time); }

constexpr Function kTypeFunctions[] = {
    {"isUndefined", 1, 1, Is<Type::kUndefined>},
    {"isError", 1, 1, Is<Type::kError>},
    {"isString", 1, 1, Is<Type::kString>},
    {"isInteger", 1, 1, Is<Type::kInteger>},
    {"isReal", 1, 1, Is<Type::kReal>},
    {"isBoolean", 1, 1, Is<Type::kBoolean>},
    {"isList", 1, 1, Is<Type::kList>},
    {"isClassAd", 1, 1, Is<Type::kRecord>},
    {"int", 1, 1, Int},
    {"real", 1, 1, Real},
    {"bool", 1, 1, Bool},
    {"string", 1, 1, String},
    {"ifThenElse", 3, 3, IfThenElse},
    {"time", 0, 0, Time},
};

}  // namespace

std::span<const Function> TypeFunctions() { return kTypeFunctions; }

}  // namespace allot::expr
