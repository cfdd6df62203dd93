// SPDX-License-Identifier: Apache-2.0
// Settings whose values are a few words, numbered as those of an enumeration.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace allot {

// None for any other word.
template <typename E>
std::optional<E> ParseWord(std::string_view text, std::span<const std::string_view> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == text) return static_cast<E>(i);
  }
  return std::nullopt;
}

// Why another one is refused: `must be one of fanout, balanced`.
std::string MustBeOneOf(std::span<const std::string_view> words);
// Which one may have been meant, in whatever case: `did you mean `fanout`?`; empty if none is near.
std::string MeantWord(std::string_view text, std::span<const std::string_view> words);

}  // namespace allot
