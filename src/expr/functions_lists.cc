// SPDX-License-Identifier: Apache-2.0
// What is in a list.
#include <algorithm>
#include <cstdint>

#include "expr/function_support.h"
#include "expr/operators.h"

namespace allot::expr {
namespace {

using Arguments = std::span<const Value>;

Value Size(CallContext&, Arguments arguments) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  const auto size = [](std::size_t n) { return Value::Integer(static_cast<std::int64_t>(n)); };
  switch (arguments[0].type()) {
    case Type::kString:
      return size(arguments[0].string().size());
    case Type::kList:
      return size(arguments[0].list().size());
    case Type::kRecord:
      return size(arguments[0].record().size());
    default:
      return Value::Error();
  }
}

// `element op x` for every element, at the price of what is compared; none once the steps are used up.
std::optional<bool> IsTrue(CallContext& context, Op op, const Value& element, const Value& x) {
  if (op == Op::kIs || op == Op::kIsnt) {
    if (!context.Charge(1)) return std::nullopt;
    const bool identical = Identical(element, x, context.steps_left);
    if (context.steps_left < 0) return std::nullopt;
    return identical == (op == Op::kIs);
  }
  std::int64_t steps = 1;
  if (element.is(Type::kString) && x.is(Type::kString)) {
    steps += static_cast<std::int64_t>(std::min(element.string().size(), x.string().size()) / 4);
  }
  if (!context.Charge(steps)) return std::nullopt;
  return ToTruth(ApplyBinary(op, element, x)) == Truth::kTrue;
}

// Is there an element for which `element op x` is (`wanted`: true, else: not true)?
Value Search(CallContext& context, Op op, const Value& list, const Value& x, bool wanted) {
  for (const Value& element : list.list()) {
    const auto is_true = IsTrue(context, op, element, x);
    if (!is_true) return Value::Error();
    if (*is_true == wanted) return Value::Boolean(true);
  }
  return Value::Boolean(false);
}

Value Member(CallContext& context, Arguments arguments) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  const Value &x = arguments[0], &list = arguments[1];
  if (!list.is(Type::kList) || x.is(Type::kList) || x.is(Type::kRecord)) return Value::Error();
  return Search(context, Op::kEqual, list, x, true);
}

Value IdenticalMember(CallContext& context, Arguments arguments) {
  const Value &x = arguments[0], &list = arguments[1];
  if (list.is(Type::kUndefined)) return list;
  if (!list.is(Type::kList) || x.is(Type::kList) || x.is(Type::kRecord)) return Value::Error();
  return Search(context, Op::kIs, list, x, true);
}

Value CompareAll(CallContext& context, Arguments arguments, bool all) {
  const Value &name = arguments[0], &list = arguments[1], &x = arguments[2];
  const auto op = name.is(Type::kString) ? ComparisonFromText(name.string()) : std::nullopt;
  const bool is = op == Op::kIs || op == Op::kIsnt;  // for these, x may be anything
  if (const auto unusable = Unusable(is ? arguments.first(2) : arguments)) return *unusable;
  if (!op || !list.is(Type::kList) || x.is(Type::kList) || x.is(Type::kRecord)) return Value::Error();
  const Value found = Search(context, *op, list, x, !all);
  return all && found.is(Type::kBoolean) ? Value::Boolean(!found.boolean()) : found;
}
Value AnyCompare(CallContext& context, Arguments arguments) { return CompareAll(context, arguments, false); }
Value AllCompare(CallContext& context, Arguments arguments) { return CompareAll(context, arguments, true); }

constexpr Function kListFunctions[] = {
    {"size", 1, 1, Size},
    {"member", 2, 2, Member},
    {"identicalMember", 2, 2, IdenticalMember},
    {"anyCompare", 3, 3, AnyCompare},
    {"allCompare", 3, 3, AllCompare},
};

}  // namespace

std::span<const Function> ListFunctions() { return kListFunctions; }

}  // namespace allot::expr
