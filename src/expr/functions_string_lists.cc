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

// The last argument, if there are three.
std::optional<Separators> SeparatorsOf(Arguments arguments) {
  return Separators::From(arguments.size() > 2 ? arguments[2].string() : Separators::kDefault);
}

Value IsMember(CallContext& context, Arguments arguments, bool ignore_case) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  const auto separators = SeparatorsOf(arguments);
  if (!separators || !ChargePieces(context, arguments[1].string())) return Value::Error();
  return Value::Boolean(Contains(arguments[1].string(), *separators, arguments[0].string(), ignore_case));
}
Value StringListMember(CallContext& context, Arguments arguments) { return IsMember(context, arguments, false); }
Value StringListIMember(CallContext& context, Arguments arguments) { return IsMember(context, arguments, true); }

// Is there a piece of the first that is in the second list (`wanted`), or is not in it?
Value FindPiece(CallContext& context, Arguments arguments, bool wanted) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  const auto separators = SeparatorsOf(arguments);
  if (!separators || !ChargePieces(context, arguments[0].string())) return Value::Error();
  for (std::string_view rest = arguments[0].string();;) {
    const std::string_view piece = separators->Next(rest);
    if (piece.empty()) return Value::Boolean(false);
    if (!ChargePieces(context, arguments[1].string())) return Value::Error();
    if (Contains(arguments[1].string(), *separators, piece, false) == wanted) return Value::Boolean(true);
  }
}
Value StringListSubsetMatch(CallContext& context, Arguments arguments) {
  const Value outside = FindPiece(context, arguments, false);
  return outside.is(Type::kBoolean) ? Value::Boolean(!outside.boolean()) : outside;
}
Value StringListsIntersect(CallContext& context, Arguments arguments) { return FindPiece(context, arguments, true); }

constexpr Function kFunctions[] = {
    {"stringListMember", 2, 3, StringListMember},
    {"stringListIMember", 2, 3, StringListIMember},
    {"stringListSubsetMatch", 2, 3, StringListSubsetMatch},
    {"stringListsIntersect", 2, 3, StringListsIntersect},
};

}  // namespace

std::span<const Function> StringListFunctions() { return kFunctions; }

}  // namespace allot::expr
