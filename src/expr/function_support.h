// SPDX-License-Identifier: Apache-2.0
// What the functions of the language have in common. Of use to functions*.cc alone.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "expr/arena.h"
#include "expr/functions.h"
#include "expr/value.h"

namespace allot::expr {

// The functions of each theme, in the order of the reference.
std::span<const Function> TypeFunctions();
std::span<const Function> NumberFunctions();
std::span<const Function> ListFunctions();
std::span<const Function> StringFunctions();
std::span<const Function> PatternFunctions();
std::span<const Function> StringListFunctions();
std::span<const Function> VersionFunctions();

// ERROR if one of them is, else UNDEFINED if one of them is; none if they are all values to work with.
inline std::optional<Value> Unusable(std::span<const Value> arguments) {
  bool undefined = false;
  for (const Value& argument : arguments) {
    if (argument.is(Type::kError)) return Value::Error();
    undefined |= argument.is(Type::kUndefined);
  }
  if (undefined) return Value::Undefined();
  return std::nullopt;
}
// The same, and ERROR unless all are strings.
inline std::optional<Value> UnusableAsStrings(std::span<const Value> arguments) {
  if (auto unusable = Unusable(arguments)) return unusable;
  for (const Value& argument : arguments) {
    if (!argument.is(Type::kString)) return Value::Error();
  }
  return std::nullopt;
}

// The value as a number, where a function wants one: a string counts as what real() makes of it. ERROR if it is none,
// or once the steps are used up.
Value NumberOf(CallContext& context, const Value& value);
// A number as it is written in an expression, with or without a sign before it, and nothing else; else ERROR.
Value ParseNumber(std::string_view text);

// Those of a list of numbers.
Value Sum(CallContext& context, std::span<const Value> arguments);
Value Avg(CallContext& context, std::span<const Value> arguments);
Value Min(CallContext& context, std::span<const Value> arguments);
Value Max(CallContext& context, std::span<const Value> arguments);

// For what would become larger than an evaluation may be: ERROR, and that of the whole evaluation.
inline Value TooLarge(CallContext& context) {
  context.steps_left = -1;
  return Value::Error();
}

// Pays for work on so many bytes: copying them, or looking at each (which takes much longer).
inline bool ChargeCopy(CallContext& context, std::size_t bytes) {
  return context.Charge(static_cast<std::int64_t>(bytes / 64));
}
inline bool ChargeBytes(CallContext& context, std::size_t bytes) {
  return context.Charge(static_cast<std::int64_t>(bytes / 8));
}

// As string() gives it; none once a bound is reached. REQUIRES: neither UNDEFINED nor ERROR.
std::optional<std::string_view> AsText(CallContext& context, const Value& value);
// A string of its own in the arena.
Value NewString(CallContext& context, std::string_view text);

// ASCII characters that separate; white space around what stands between them does not belong to it, and pieces are
// never empty.
class Separators {
 public:
  static constexpr std::string_view kDefault = " ,";
  // None if there is something else than ASCII among them: a character of several bytes is no separator.
  static std::optional<Separators> From(std::string_view characters);

  bool Has(char c) const {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 128 && (bits_[byte / 64] >> (byte % 64) & 1) != 0;
  }
  // Takes the next piece off `text`, up to its separator; empty if there is none left.
  std::string_view Next(std::string_view& text) const;

 private:
  std::uint64_t bits_[2] = {0, 0};
};

}  // namespace allot::expr
