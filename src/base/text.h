// SPDX-License-Identifier: Apache-2.0
// Durations and sizes as people write them, the nearest of several words, and kinds of characters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"

namespace allot {

// `90s`, `1.5h`, `250ms`, `2d`, `1h30m`; a bare number is seconds. None if it is not a duration, or negative.
std::optional<Duration> ParseDuration(std::string_view text);
// Short, for people: `250ms`, `1.5s`, `2m 05s`, `3h 12m`, `4d 2h`.
std::string FormatDuration(Duration duration);
// `10MB` (10^6), `64KiB` (2^16), `1.5G` (10^9), bare bytes.
std::optional<std::uint64_t> ParseSize(std::string_view text);
// `1.2 MB`.
std::string FormatSize(std::uint64_t bytes);
// `1,234,567`.
std::string FormatCount(std::uint64_t number);
// `1 task`, `1,234 tasks`.
std::string Counted(std::uint64_t number, std::string_view one);
// The candidate that is at most two edits away (one, from a word of up to four letters), for "did you mean"; empty if
// none is.
std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates);
// Whether one is the other with a character too many or too few, with two neighbours swapped, or with another mark
// (`-` for `_`). A letter or digit in place of another is none: `a100` and `h100` are rather two values.
bool IsSlip(std::string_view a, std::string_view b);

constexpr bool IsAsciiDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsAsciiLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr char AsciiLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }
// -1: not one.
constexpr int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
// But for the case of ASCII letters.
bool EqualNoCase(std::string_view a, std::string_view b);
// C0, DEL, and C1 as UTF-8 writes it (C2 80 … C2 9F): terminals obey all of them. REQUIRES: UTF-8.
bool HasControl(std::string_view text);

}  // namespace allot
