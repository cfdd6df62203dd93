// SPDX-License-Identifier: Apache-2.0
// Versions: text in which runs of digits compare as numbers.
#include <algorithm>
#include <cstdint>

#include "base/text.h"
#include "expr/function_support.h"

namespace allot::expr {
namespace {

using Arguments = std::span<const Value>;

// Takes the digits off the front of `text`, and leaves out zeros at their beginning: longer is larger, then.
std::string_view TakeNumber(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && IsAsciiDigit(text[end])) ++end;
  std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  while (number.starts_with('0')) number.remove_prefix(1);
  return number;
}

int CompareVersions(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (IsAsciiDigit(a[0]) && IsAsciiDigit(b[0])) {
      const std::string_view x = TakeNumber(a), y = TakeNumber(b);
      if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
      if (const int sign = x.compare(y); sign != 0) return sign < 0 ? -1 : 1;
      continue;
    }
    const auto x = static_cast<unsigned char>(a[0]), y = static_cast<unsigned char>(b[0]);
    if (x != y) return x < y ? -1 : 1;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return b.empty() ? !a.empty() : -1;
}

// None once the steps are used up.
std::optional<int> Compared(CallContext& context, const Value& a, const Value& b) {
  if (!ChargeBytes(context, 2 * std::min(a.string().size(), b.string().size()))) return std::nullopt;
  return CompareVersions(a.string(), b.string());
}

Value Versioncmp(CallContext& context, Arguments arguments) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  const auto sign = Compared(context, arguments[0], arguments[1]);
  return sign ? Value::Integer(*sign) : Value::Error();
}

template <bool (*holds)(int)>
Value VersionIs(CallContext& context, Arguments arguments) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  const auto sign = Compared(context, arguments[0], arguments[1]);
  return sign ? Value::Boolean(holds(*sign)) : Value::Error();
}
bool Equal(int sign) { return sign == 0; }
bool Less(int sign) { return sign < 0; }
bool LessEqual(int sign) { return sign <= 0; }
bool Greater(int sign) { return sign > 0; }
bool GreaterEqual(int sign) { return sign >= 0; }

Value VersionInRange(CallContext& context, Arguments arguments) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  const auto low = Compared(context, arguments[0], arguments[1]), high = Compared(context, arguments[0], arguments[2]);
  return low && high ? Value::Boolean(*low >= 0 && *high <= 0) : Value::Error();
}

constexpr Function kVersionFunctions[] = {
    {"versioncmp", 2, 2, Versioncmp},         {"versionEQ", 2, 2, VersionIs<Equal>},
    {"versionLT", 2, 2, VersionIs<Less>},     {"versionLE", 2, 2, VersionIs<LessEqual>},
    {"versionGT", 2, 2, VersionIs<Greater>},  {"versionGE", 2, 2, VersionIs<GreaterEqual>},
    {"versionInRange", 3, 3, VersionInRange}, {"version_in_range", 3, 3, VersionInRange},
};

}  // namespace

std::span<const Function> VersionFunctions() { return kVersionFunctions; }

}  // namespace allot::expr
