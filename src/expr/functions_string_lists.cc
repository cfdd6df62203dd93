// SPDX-License-Identifier: Apache-2.0
// Lists that are written as one string: "a, b, c".
#include <cstdint>

#include "expr/function_support.h"
#include "expr/operators.h"

namespace allot::expr {
namespace {

using Arguments = std::span<const Value>;

// Pays for looking at every byte of `text` and at every piece of it.
bool ChargePieces(CallContext& context, std::string_view text) { return ChargeBytes(context, 8 + 4 * text.size()); }

bool Contains(std::string_view list, const Separators& separators, std::string_view wanted, bool ignore_case) {
  while (true) {
    const std::string_view piece = separators.Next(list);
    if (piece.empty()) return false;
    if (ignore_case ? EqualText(piece, wanted) : piece == wanted) return true;
  }
}

// The argument at that place, if there are so many.
std::optional<Separators> SeparatorsOf(Arguments arguments, std::size_t at) {
  return Separators::From(arguments.size() > at ? arguments[at].string() : Separators::kDefault);
}

Value IsMember(CallContext& context, Arguments arguments, bool ignore_case) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  const auto separators = SeparatorsOf(arguments, 2);
  if (!separators || !ChargePieces(context, arguments[1].string())) return Value::Error();
  return Value::Boolean(Contains(arguments[1].string(), *separators, arguments[0].string(), ignore_case));
}
Value StringListMember(CallContext& context, Arguments arguments) { return IsMember(context, arguments, false); }
Value StringListIMember(CallContext& context, Arguments arguments) { return IsMember(context, arguments, true); }

// Is there a piece of the first that is in the second list (`wanted`), or is not in it?
Value FindPiece(CallContext& context, Arguments arguments, bool wanted, bool ignore_case) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  const auto separators = SeparatorsOf(arguments, 2);
  if (!separators || !ChargePieces(context, arguments[0].string())) return Value::Error();
  for (std::string_view rest = arguments[0].string();;) {
    const std::string_view piece = separators->Next(rest);
    if (piece.empty()) return Value::Boolean(false);
    if (!ChargePieces(context, arguments[1].string())) return Value::Error();
    if (Contains(arguments[1].string(), *separators, piece, ignore_case) == wanted) return Value::Boolean(true);
  }
}
Value IsSubset(CallContext& context, Arguments arguments, bool ignore_case) {
  const Value outside = FindPiece(context, arguments, false, ignore_case);
  return outside.is(Type::kBoolean) ? Value::Boolean(!outside.boolean()) : outside;
}
Value StringListSubsetMatch(CallContext& context, Arguments arguments) { return IsSubset(context, arguments, false); }
Value StringListISubsetMatch(CallContext& context, Arguments arguments) { return IsSubset(context, arguments, true); }
Value StringListsIntersect(CallContext& context, Arguments arguments) {
  return FindPiece(context, arguments, true, false);
}

Value StringListSize(CallContext& context, Arguments arguments) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  const auto separators = SeparatorsOf(arguments, 1);
  std::string_view rest = arguments[0].string();
  if (!separators || !ChargePieces(context, rest)) return Value::Error();
  std::int64_t count = 0;
  while (!separators->Next(rest).empty()) ++count;
  return Value::Integer(count);
}

// The pieces as a list of numbers, to `function`; `of_nothing` if there is no piece.
Value OfNumbers(CallContext& context, Arguments arguments, Value (*function)(CallContext&, Arguments),
                const Value& of_nothing) {
  const Value size = StringListSize(context, arguments);
  if (!size.is(Type::kInteger)) return size;
  if (size.integer() == 0) return of_nothing;
  const auto numbers = context.arena.Values(static_cast<std::size_t>(size.integer()));
  std::string_view rest = arguments[0].string();
  if (numbers.empty() || !ChargePieces(context, rest)) return Value::Error();
  const auto separators = SeparatorsOf(arguments, 1);
  for (Value& number : numbers) number = ParseNumber(separators->Next(rest));
  const Value list = Value::List(numbers);
  return function(context, {&list, 1});
}
Value StringListSum(CallContext& context, Arguments arguments) {
  return OfNumbers(context, arguments, Sum, Value::Real(0));
}
Value StringListAvg(CallContext& context, Arguments arguments) {
  return OfNumbers(context, arguments, Avg, Value::Real(0));
}
Value StringListMin(CallContext& context, Arguments arguments) {
  return OfNumbers(context, arguments, Min, Value::Undefined());
}
Value StringListMax(CallContext& context, Arguments arguments) {
  return OfNumbers(context, arguments, Max, Value::Undefined());
}

constexpr Function kStringListFunctions[] = {
    {"stringListMember", 2, 3, StringListMember},
    {"stringListIMember", 2, 3, StringListIMember},
    {"stringListSubsetMatch", 2, 3, StringListSubsetMatch},
    {"stringListISubsetMatch", 2, 3, StringListISubsetMatch},
    {"stringListsIntersect", 2, 3, StringListsIntersect},
    {"stringListSize", 1, 2, StringListSize},
    {"stringListSum", 1, 2, StringListSum},
    {"stringListAvg", 1, 2, StringListAvg},
    {"stringListMin", 1, 2, StringListMin},
    {"stringListMax", 1, 2, StringListMax},
};

}  // namespace

std::span<const Function> StringListFunctions() { return kStringListFunctions; }

}  // namespace allot::expr
