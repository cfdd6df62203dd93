// SPDX-License-Identifier: Apache-2.0
// Strings: put together, cut, compared.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/bounds.h"
#include "expr/function_support.h"
#include "expr/operators.h"

namespace allot::expr {
namespace {

using Arguments = std::span<const Value>;

// The texts of all items with `separator` between them. REQUIRES: no item is UNDEFINED or ERROR.
Value Concatenated(CallContext& context, std::string_view separator, Arguments items) {
  if (!context.Charge(2 * static_cast<std::int64_t>(items.size()))) return Value::Error();
  const auto texts = context.arena.Values(items.size());
  if (texts.size() != items.size()) return Value::Error();
  std::size_t bytes = items.empty() ? 0 : separator.size() * (items.size() - 1);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto text = AsText(context, items[i]);
    if (!text) return Value::Error();
    texts[i] = Value::String(*text);
    bytes += text->size();
    if (bytes > bounds::kMaxEvaluationBytes) return TooLarge(context);
  }
  if (bytes == 0) return Value::String("");
  char* const result = ChargeCopy(context, bytes) ? static_cast<char*>(context.arena.Allocate(bytes)) : nullptr;
  if (result == nullptr) return Value::Error();
  char* at = result;
  const auto append = [&at](std::string_view text) {
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    at += text.size();
  };
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) append(separator);
    append(texts[i].string());
  }
  return Value::String({result, bytes});
}

Value Strcat(CallContext& context, Arguments arguments) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  return Concatenated(context, "", arguments);
}

Value Join(CallContext& context, Arguments arguments) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  // With one argument there is no separator.
  Arguments items = arguments.size() == 1 ? arguments : arguments.subspan(1);
  const auto separator = arguments.size() == 1 ? std::string_view() : AsText(context, arguments[0]);
  if (!separator) return Value::Error();
  if (items.size() == 1 && items[0].is(Type::kList)) {
    items = items[0].list();
    if (!context.Charge(static_cast<std::int64_t>(items.size()))) return Value::Error();
    if (const auto unusable = Unusable(items)) return *unusable;
  } else if (arguments.size() == 1) {
    return Value::Error();
  }
  return Concatenated(context, *separator, items);
}

bool InsideCharacter(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

Value Substr(CallContext&, Arguments arguments) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  if (!arguments[0].is(Type::kString) || !arguments[1].is(Type::kInteger)) return Value::Error();
  const std::string_view text = arguments[0].string();
  const auto size = static_cast<std::int64_t>(text.size());
  const std::int64_t offset = arguments[1].integer();
  const std::int64_t from = offset >= 0 ? std::min(offset, size) : std::max(offset, -size) + (offset < 0 ? size : 0);
  std::int64_t to = size;
  if (arguments.size() == 3) {
    if (!arguments[2].is(Type::kInteger)) return Value::Error();
    const std::int64_t length = arguments[2].integer();
    to = length >= 0 ? from + std::min(length, size - from) : size + std::max(length, -size);
  }
  auto begin = static_cast<std::size_t>(from), end = static_cast<std::size_t>(std::max(from, to));
  // No half characters: strings are UTF-8, always.
  while (InsideCharacter(text, begin)) ++begin;
  while (end > begin && InsideCharacter(text, end)) --end;
  return Value::String(text.substr(begin, std::max(begin, end) - begin));
}

// Both as string() gives them.
Value Strcmp(CallContext& context, Arguments arguments) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  const auto a = AsText(context, arguments[0]), b = AsText(context, arguments[1]);
  if (!a || !b || !ChargeCopy(context, std::min(a->size(), b->size()))) return Value::Error();
  const int sign = a->compare(*b);
  return Value::Integer(sign < 0 ? -1 : sign > 0);
}

Value Stricmp(CallContext& context, Arguments arguments) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  const auto a = AsText(context, arguments[0]), b = AsText(context, arguments[1]);
  if (!a || !b || !ChargeBytes(context, std::min(a->size(), b->size()))) return Value::Error();
  return Value::Integer(CompareText(*a, *b));
}

template <typename Map>
Value Mapped(CallContext& context, Arguments arguments, Map map) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  const auto text = AsText(context, arguments[0]);
  if (!text) return Value::Error();
  if (text->empty()) return Value::String("");
  if (!ChargeBytes(context, text->size())) return Value::Error();
  char* const result = static_cast<char*>(context.arena.Allocate(text->size()));
  if (result == nullptr) return Value::Error();
  std::transform(text->begin(), text->end(), result, map);
  return Value::String({result, text->size()});
}
Value ToUpper(CallContext& context, Arguments arguments) {
  return Mapped(context, arguments, [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
}
Value ToLower(CallContext& context, Arguments arguments) {
  return Mapped(context, arguments, [](char c) { return LowerCase(c); });
}

Value Split(CallContext& context, Arguments arguments) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  const auto separators = Separators::From(arguments.size() > 1 ? arguments[1].string() : Separators::kDefault);
  const std::string_view text = arguments[0].string();
  if (!separators || !ChargeBytes(context, 3 * text.size())) return Value::Error();
  std::size_t count = 0;
  for (std::string_view rest = text; !separators->Next(rest).empty();) ++count;
  const auto pieces = context.arena.Values(count);
  if (pieces.size() != count || !context.Charge(static_cast<std::int64_t>(count))) return Value::Error();
  std::string_view rest = text;
  for (Value& piece : pieces) piece = Value::String(separators->Next(rest));
  return Value::List(pieces);
}

// What stands before the first `@`, and what after it. Without one, all of it is the `whole` part: 0 or 1.
Value SplitName(CallContext& context, Arguments arguments, std::size_t whole) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  const std::string_view text = arguments[0].string();
  const auto parts = context.arena.Values(2);
  if (parts.empty() || !ChargeBytes(context, text.size())) return Value::Error();
  const std::size_t at = text.find('@');
  parts[0] = parts[1] = Value::String("");
  if (at == std::string_view::npos) {
    parts[whole] = arguments[0];
  } else {
    parts[0] = Value::String(text.substr(0, at));
    parts[1] = Value::String(text.substr(at + 1));
  }
  return Value::List(parts);
}
Value SplitUserName(CallContext& context, Arguments arguments) { return SplitName(context, arguments, 0); }
Value SplitSlotName(CallContext& context, Arguments arguments) { return SplitName(context, arguments, 1); }

constexpr Function kStringFunctions[] = {
    {"strcat", 1, kAnyNumber, Strcat},
    {"join", 1, kAnyNumber, Join},
    {"substr", 2, 3, Substr},
    {"strcmp", 2, 2, Strcmp},
    {"stricmp", 2, 2, Stricmp},
    {"toUpper", 1, 1, ToUpper},
    {"toLower", 1, 1, ToLower},
    {"split", 1, 2, Split},
    {"splitUserName", 1, 1, SplitUserName},
    {"splitSlotName", 1, 1, SplitSlotName},
};

}  // namespace

std::span<const Function> StringFunctions() { return kStringFunctions; }

}  // namespace allot::expr
