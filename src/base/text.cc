// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <vector>

#include <fmt/format.h>

namespace allot {
namespace {

using std::chrono::microseconds;

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// Largest first: the parts of a duration come in this order.
constexpr Unit kDurations[] = {
    {"w", 604'800'000'000},
    {"d", 86'400'000'000},
    {"h", 3'600'000'000},
    {"m", 60'000'000},
    {"s", 1'000'000},
    {"ms", 1'000},
    {"us", 1},
};
constexpr Unit kSizes[] = {
    {"", 1},
    {"b", 1},
    {"k", 1'000},
    {"kb", 1'000},
    {"kib", 1ull << 10},
    {"m", 1'000'000},
    {"mb", 1'000'000},
    {"mib", 1ull << 20},
    {"g", 1'000'000'000},
    {"gb", 1'000'000'000},
    {"gib", 1ull << 30},
    {"t", 1'000'000'000'000},
    {"tb", 1'000'000'000'000},
    {"tib", 1ull << 40},
};

constexpr std::size_t kShortWord = 4;
constexpr std::uint64_t kMaxAmount = 9'000'000'000'000'000'000ull;  // below 2^63

bool IsMark(char c) { return c >= ' ' && c < 0x7f && !IsAsciiDigit(c) && !IsAsciiLetter(c); }

void SkipBlanks(std::string_view& text) {
  while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
}

// A number without sign or exponent, taken off the front of `text` as digits and digits after the point.
struct Decimal {
  std::uint64_t whole = 0;
  double fraction = 0;
};
std::optional<Decimal> TakeDecimal(std::string_view& text) {
  Decimal number;
  const char* const end = text.data() + text.size();
  const auto [point, error] = std::from_chars(text.data(), end, number.whole);
  if (error != std::errc()) return std::nullopt;
  const char* after = point;
  if (after != end && *after == '.') {
    ++after;
    double place = 0.1;
    if (after == end || !IsAsciiDigit(*after)) return std::nullopt;
    for (; after != end && IsAsciiDigit(*after); ++after, place /= 10) number.fraction += place * (*after - '0');
  }
  text.remove_prefix(static_cast<std::size_t>(after - text.data()));
  return number;
}

std::string_view TakeLetters(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && IsAsciiLetter(text[n])) ++n;
  const std::string_view letters = text.substr(0, n);
  text.remove_prefix(n);
  return letters;
}

std::optional<std::uint64_t> Times(const Decimal& number, std::uint64_t factor) {
  if (number.whole > kMaxAmount / factor) return std::nullopt;
  return number.whole * factor +
         static_cast<std::uint64_t>(std::llround(number.fraction * static_cast<double>(factor)));
}

}  // namespace

std::optional<Duration> ParseDuration(std::string_view text) {
  std::uint64_t total = 0;
  const Unit* next = std::begin(kDurations);  // units still allowed: each once, in order
  bool first = true;
  SkipBlanks(text);
  do {
    const auto number = TakeDecimal(text);
    if (!number) return std::nullopt;
    std::string_view unit = TakeLetters(text);
    if (first && unit.empty() && text.empty()) unit = "s";
    const Unit* found = std::find_if(next, std::end(kDurations), [&](const Unit& u) { return u.name == unit; });
    if (found == std::end(kDurations)) return std::nullopt;
    const auto part = Times(*number, found->factor);
    if (!part || total > kMaxAmount - std::min(*part, kMaxAmount)) return std::nullopt;
    total += *part;
    next = found + 1;
    first = false;
    SkipBlanks(text);
  } while (!text.empty());
  if (total > kMaxAmount) return std::nullopt;
  return Duration(static_cast<std::int64_t>(total));
}

std::string FormatDuration(Duration duration) {
  const std::int64_t us = duration.count();
  if (us < 0) return us == INT64_MIN ? "-" : "-" + FormatDuration(-duration);
  if (us == 0) return "0s";
  if (us < 1'000) return fmt::format("{}us", us);
  // What would round up to a whole second is shown as one.
  if (us < 999'500) return fmt::format("{}ms", (us + 500) / 1'000);
  if (us < 59'950'000) {
    const std::int64_t tenths = (us + 50'000) / 100'000;
    return tenths % 10 == 0 ? fmt::format("{}s", tenths / 10) : fmt::format("{}.{}s", tenths / 10, tenths % 10);
  }
  const std::int64_t seconds = (us + 500'000) / 1'000'000;
  if (seconds < 3'600) return fmt::format("{}m {:02}s", seconds / 60, seconds % 60);
  if (seconds < 86'400) return fmt::format("{}h {:02}m", seconds / 3'600, seconds / 60 % 60);
  return fmt::format("{}d {}h", seconds / 86'400, seconds / 3'600 % 24);
}

std::optional<std::uint64_t> ParseSize(std::string_view text) {
  SkipBlanks(text);
  const auto number = TakeDecimal(text);
  if (!number) return std::nullopt;
  SkipBlanks(text);
  std::string unit(TakeLetters(text));
  SkipBlanks(text);
  if (!text.empty()) return std::nullopt;
  for (char& c : unit) c = static_cast<char>(c | 0x20);
  for (const Unit& known : kSizes) {
    if (known.name != unit) continue;
    if (known.factor == 1 && number->fraction != 0) return std::nullopt;
    return Times(*number, known.factor);
  }
  return std::nullopt;
}

std::string FormatSize(std::uint64_t bytes) {
  if (bytes < 1'000) return fmt::format("{} B", bytes);
  constexpr std::string_view kNames[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  double amount = static_cast<double>(bytes) / 1'000;
  std::size_t i = 0;
  // 999.95 would be printed as 1000.0.
  while (amount >= 999.95 && i + 1 < std::size(kNames)) {
    amount /= 1'000;
    ++i;
  }
  return fmt::format("{:.1f} {}", amount, kNames[i]);
}

bool EqualNoCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return AsciiLower(x) == AsciiLower(y); });
}

std::string FormatCount(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out.push_back(',');
    out.push_back(digits[i]);
  }
  return out;
}

std::string Counted(std::uint64_t number, std::string_view one) {
  return FormatCount(number).append(" ").append(one).append(number == 1 ? "" : "s");
}

namespace {

// Insertions, deletions, changes and swaps of neighbours that turn one word into the other.
std::size_t Edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

bool IsSlip(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (a.size() < 2 || b.size() - a.size() > 1) return false;
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin());
  if (a.size() != b.size()) return std::equal(x, a.end(), y + 1, b.end());
  if (x == a.end()) return false;
  if (IsMark(*x) && IsMark(*y)) return std::equal(x + 1, a.end(), y + 1);
  return x + 1 != a.end() && x[0] == y[1] && x[1] == y[0] && std::equal(x + 2, a.end(), y + 2);
}

std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_edits = 3;
  for (const std::string_view candidate : candidates) {
    const std::size_t shorter = std::min(word.size(), candidate.size());
    // Also keeps long hostile words from costing anything.
    if (std::max(word.size(), candidate.size()) - shorter > 2) continue;
    const std::size_t edits = Edits(word, candidate);
    // A word of which no letter is left is not near, and two edits make any short word out of any other.
    if (edits < best_edits && edits < shorter && (edits < 2 || word.size() > kShortWord)) {
      best = candidate;
      best_edits = edits;
    }
  }
  return best;
}

bool HasControl(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return true;
    if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

}  // namespace allot
