// SPDX-License-Identifier: Apache-2.0
#include "base/words.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace allot {

std::string MustBeOneOf(std::span<const std::string_view> words) {
  return fmt::format("must be one of {}", fmt::join(words, ", "));
}

std::string MeantWord(std::string_view text, std::span<const std::string_view> words) {
  std::size_t longest = 0;
  for (const std::string_view word : words) longest = std::max(longest, word.size());
  if (text.size() > 2 * longest) return "";  // not near to any, and not worth a copy
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), AsciiLower);
  const std::string_view nearest = Nearest(lower, words);
  return nearest.empty() ? "" : fmt::format("did you mean `{}`?", nearest);
}

}  // namespace allot
