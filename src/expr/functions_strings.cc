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
  if (!arguments[0].is(Type::kString)) return Value::Error();
  Arguments items = arguments.subspan(1);
  if (items.size() == 1 && items[0].is(Type::kList)) {
    items = items[0].list();
    if (!context.Charge(static_cast<std::int64_t>(items.size()))) return Value::Error();
    if (const auto unusable = Unusable(items)) return *unusable;
  }
  return Concatenated(context, arguments[0].string(), items);
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

Value Strcmp(CallContext& context, Arguments arguments) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  const std::string_view a = arguments[0].string(), b = arguments[1].string();
  if (!ChargeCopy(context, std::min(a.size(), b.size()))) return Value::Error();
  const int sign = a.compare(b);
  return Value::Integer(sign < 0 ? -1 : sign > 0);
}

Value Stricmp(CallContext& context, Arguments arguments) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  const std::string_view a = arguments[0].string(), b = arguments[1].string();
  if (!ChargeBytes(context, std::min(a.size(), b.size()))) return Value::Error();
  return Value::Integer(CompareText(a, b));
}

template <typename Map>
Value Mapped(CallContext& context, Arguments arguments, Map map) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  const std::string_view text = arguments[0].string();
  if (text.empty()) return arguments[0];
  if (!ChargeBytes(context, text.size())) return Value::Error();
  char* const result = static_cast<char*>(context.arena.Allocate(text.size()));
  if (result == nullptr) return Value::Error();
  std::transform(text.begin(), text.end(), result, map);
  return Value::String({result, text.size()});
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

constexpr Function kFunctions[] = {
    {"strcat", 1, kAnyNumber, Strcat}, {"join", 2, kAnyNumber, Join}, {"substr", 2, 3, Substr},
    {"strcmp", 2, 2, Strcmp},          {"stricmp", 2, 2, Stricmp},    {"toUpper", 1, 1, ToUpper},
    {"toLower", 1, 1, ToLower},        {"split", 1, 2, Split},
};

}  // namespace

std::span<const Function> StringFunctions() { return kFunctions; }

}  // namespace allot::expr
