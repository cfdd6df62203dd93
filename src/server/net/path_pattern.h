// SPDX-License-Identifier: Apache-2.0
// The pattern of a path: `/v1/queues/{queue}/jobs/{job}`. A part in braces has a name and takes any word, the empty one
// too; any other part takes itself alone.
//
// A pattern that is malformed is our own mistake: where it is a constant, it does not compile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace allot {

class PathPattern {
 public:
  static constexpr std::size_t kMaxParts = 8;
  static constexpr std::size_t kMaxBytes = 255;

  // REQUIRES: IsValid(text), and that `text` stays.
  constexpr explicit PathPattern(std::string_view text) : text_(text) {
    CHECK(IsValid(text));
    for (std::string_view rest = text; !rest.empty();) {
      Part& part = parts_[size_++];
      std::string_view word = TakeWord(rest);
      const std::size_t begin = text.size() - rest.size() - word.size();
      part.named = word.front() == '{';
      const std::size_t brace = part.named ? 1 : 0;
      part.begin = static_cast<std::uint8_t>(begin + brace);
      part.size = static_cast<std::uint8_t>(word.size() - 2 * brace);
    }
  }

  // It begins with `/`; no part is empty; braces enclose a part as a whole; no name is there twice.
  static constexpr bool IsValid(std::string_view text) {
    if (text.empty() || text.size() > kMaxBytes) return false;
    std::array<std::string_view, kMaxParts> names{};
    for (std::size_t i = 0; !text.empty(); ++i) {
      if (i == kMaxParts || text.front() != '/') return false;
      const std::string_view word = TakeWord(text);
      if (word.empty()) return false;
      const bool named = word.size() > 2 && word.front() == '{' && word.back() == '}';
      const std::string_view inner = named ? word.substr(1, word.size() - 2) : word;
      if (inner.find_first_of("{}") != std::string_view::npos) return false;
      if (!named) continue;
      for (const std::string_view before : names) {
        if (before == inner) return false;
      }
      names[i] = inner;
    }
    return true;
  }

  constexpr std::string_view text() const { return text_; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool named(std::size_t i) const { return parts_[i].named; }
  // Without braces.
  constexpr std::string_view word(std::size_t i) const { return text_.substr(parts_[i].begin, parts_[i].size); }

  // Is it the pattern of these parts?
  bool Matches(const std::vector<std::string>& parts) const {
    if (parts.size() != size_) return false;
    // From the end, where patterns differ most.
    for (std::size_t i = size_; i-- > 0;) {
      if (!Takes(i, parts[i])) return false;
    }
    return true;
  }

  // Is it the pattern of these parts, or of the first of them?
  bool MatchesBelow(const std::vector<std::string>& parts) const {
    if (parts.size() < size_) return false;
    for (std::size_t i = 0; i < size_; ++i) {
      if (!Takes(i, parts[i])) return false;
    }
    return true;
  }

  // Are there parts that both match?
  constexpr bool Overlaps(const PathPattern& other) const {
    if (size_ != other.size_) return false;
    for (std::size_t i = 0; i < size_; ++i) {
      if (!parts_[i].named && !other.parts_[i].named && word(i) != other.word(i)) return false;
    }
    return true;
  }

  // Where the part of that name is. REQUIRES: there is one.
  constexpr std::size_t IndexOf(std::string_view name) const {
    std::size_t i = 0;
    while (i < size_ && !(parts_[i].named && word(i) == name)) ++i;
    CHECK(i < size_);
    return i;
  }

 private:
  struct Part {
    std::uint8_t begin = 0, size = 0;  // in the text, without braces
    bool named = false;
  };

  bool Takes(std::size_t i, std::string_view given) const { return parts_[i].named || word(i) == given; }

  // Takes `/word` off the text.
  static constexpr std::string_view TakeWord(std::string_view& text) {
    text.remove_prefix(1);
    const std::string_view word = text.substr(0, text.find('/'));
    text.remove_prefix(word.size());
    return word;
  }

  std::string_view text_;
  std::array<Part, kMaxParts> parts_{};
  std::uint8_t size_ = 0;
};

}  // namespace allot
