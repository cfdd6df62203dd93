// SPDX-License-Identifier: Apache-2.0
#include "server/wire/error_groups.h"

#include <algorithm>

#include "base/text.h"

namespace allot {
namespace {

constexpr std::size_t kMaxExampleBytes = 2000;
constexpr std::size_t kRandomIdDigits = 8;

bool IsHex(char c) { return IsAsciiDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsWord(char c) { return IsAsciiDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::size_t HexRun(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && IsHex(text[end])) ++end;
  return end - at;
}

// The length of an id at the beginning of a word, or 0.
std::size_t IdAt(std::string_view text, std::size_t at) {
  const bool prefixed = text.substr(at, 2) == "0x" && HexRun(text, at + 2) > 0;
  if (prefixed) return 2 + HexRun(text, at + 2);
  std::size_t length = HexRun(text, at);
  if (length < kRandomIdDigits) return 0;
  // A UUID goes on in groups of four, and ends with twelve.
  std::size_t groups = 0;
  std::size_t end = at + length;
  for (const std::size_t digits : {4, 4, 4, 12}) {
    if (length != kRandomIdDigits || end >= text.size() || text[end] != '-' || HexRun(text, end + 1) != digits) break;
    end += 1 + digits;
    ++groups;
  }
  if (groups == 4) length = end - at;
  if (at + length < text.size() && IsWord(text[at + length])) return 0;
  // Words are no ids, though some of them look like it.
  const std::string_view id = text.substr(at, length);
  return std::any_of(id.begin(), id.end(), IsAsciiDigit) ? length : 0;
}

// The beginning of UTF-8, without a broken character at its end.
std::string_view Beginning(std::string_view text, std::size_t max) {
  if (text.size() <= max) return text;
  while (max > 0 && (static_cast<unsigned char>(text[max]) & 0xC0) == 0x80) --max;
  return text.substr(0, max);
}

}  // namespace

std::string ErrorShape(std::string_view error) {
  error = Beginning(error, 2 * kMaxGroupText);
  std::string out;
  for (std::size_t i = 0; i < error.size() && out.size() < kMaxGroupText;) {
    if (i == 0 || !IsWord(error[i - 1])) {
      if (const std::size_t id = IdAt(error, i); id > 0) {
        out.push_back('#');
        i += id;
        continue;
      }
    }
    if (IsAsciiDigit(error[i])) {
      while (i < error.size() && IsAsciiDigit(error[i])) ++i;
      out.push_back('#');
      continue;
    }
    // Whole characters.
    out.push_back(error[i++]);
    while (i < error.size() && (static_cast<unsigned char>(error[i]) & 0xC0) == 0x80) out.push_back(error[i++]);
  }
  return out;
}

void ErrorGroups::Add(TaskIndex index, std::string_view error) {
  ++examined_;
  std::string text = ErrorShape(error);
  auto [at, fresh] = groups_.try_emplace(text);
  ErrorGroup& group = at->second;
  if (fresh) {
    group.text = std::move(text);
    group.example = Beginning(error, kMaxExampleBytes);
    group.first = index;
  }
  ++group.tasks;
  group.last = index;
}

std::vector<ErrorGroup> ErrorGroups::Largest(std::size_t max) const {
  std::vector<ErrorGroup> all;
  all.reserve(groups_.size());
  for (const auto& [text, group] : groups_) all.push_back(group);
  std::sort(all.begin(), all.end(), [](const ErrorGroup& a, const ErrorGroup& b) {
    return a.tasks != b.tasks ? a.tasks > b.tasks : a.first < b.first;
  });
  if (all.size() > max) all.resize(max);
  return all;
}

}  // namespace allot
