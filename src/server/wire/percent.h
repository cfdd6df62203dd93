// SPDX-License-Identifier: Apache-2.0
// Percent-encoding, as in URLs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"

namespace allot {

// `%41` → `A`. None for a broken escape, a NUL, or what is not UTF-8 afterwards. `+` is a blank only in a query.
inline std::optional<std::string> PercentDecode(std::string_view text, bool in_query) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && in_query) {
      c = ' ';
    } else if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return std::nullopt;
    out.push_back(c);
  }
  if (!IsUtf8(out)) return std::nullopt;
  return out;
}

}  // namespace allot
