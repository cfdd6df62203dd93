// SPDX-License-Identifier: Apache-2.0
#include "expr/patterns.h"

#include <string>

#include <gtest/gtest.h>
#include <re2/re2.h>

#include "base/bounds.h"
#include "base/rng.h"
#include "base/sanitizers.h"

namespace allot::expr {
namespace {

constexpr std::int64_t kPlenty = 1'000'000;

const Pattern* Get(PatternCache& cache, std::string_view pattern, PatternOptions options = {}) {
  std::int64_t steps = kPlenty;
  return cache.Get(pattern, options, false, steps);
}

bool Refused(const std::string& pattern, PatternOptions options = {}) {
  const Pattern compiled = CompilePattern(pattern, options);
  EXPECT_EQ(compiled.regexp == nullptr, !compiled.error.empty());
  return compiled.regexp == nullptr && compiled.size == 0;
}

TEST(Patterns, WhatPeopleWriteIsTaken) {
  for (const char* pattern : {"^node[0-9]+\\.cluster$", "(foo|bar|baz)+",
                              "^(\\d{1,3})\\.(\\d{1,3})\\.(\\d{1,3})\\.(\\d{1,3})$", "^[^,]{1,16}$", "(?i)^linux-.*",
                              "\\bgpu\\b", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}",
                              "(?P<year>\\d+)", "\\Qa.b\\E", "[[:alpha:]_][[:alnum:]_]*", "x86_64|aarch64", ""}) {
    EXPECT_EQ(CompilePattern(pattern, {}).error, "") << pattern;
    EXPECT_EQ(CompilePattern(pattern, {.many_lines = true, .dot_is_anything = true}).error, "") << pattern;
  }
  EXPECT_EQ(CompilePattern("^[a-z]+_[a-z]+$", {.ignore_case = true}).error, "");
}

TEST(Patterns, WhatWouldTakeLongIsRefusedBeforeItIsCompiled) {
  EXPECT_TRUE(Refused("\\pL"));
  EXPECT_TRUE(Refused("[\\PL]"));
  EXPECT_TRUE(Refused("\\C"));  // would cut characters in two
  EXPECT_TRUE(Refused("a{1000}"));
  EXPECT_TRUE(Refused("((a{10}){10}){10}"));
  EXPECT_TRUE(Refused("(.{10}){10}"));
  EXPECT_TRUE(Refused("[[:^alpha:]]{50}"));
  EXPECT_TRUE(Refused("a(?i){400}"));
  EXPECT_TRUE(Refused("\xF0\x90\x90\x80{100}"));
  EXPECT_TRUE(Refused("\\W\\W\\W", {.ignore_case = true}));
  EXPECT_TRUE(Refused("[\xC4\x80-\xF4\x8F\xBF\xBF][\xC4\x80-\xF4\x8F\xBF\xBF]", {.ignore_case = true}));
  EXPECT_TRUE(Refused(std::string(bounds::kMaxPatternBytes + 1, 'a')));
  EXPECT_FALSE(Refused(std::string(bounds::kMaxPatternBytes, 'a')));
  EXPECT_FALSE(Refused("\\\\pL"));  // a backslash, and two letters
  EXPECT_FALSE(Refused("\\Q{1000}\\E"));
}

TEST(Patterns, InvalidOnesSayWhy) {
  for (const char* pattern : {"(", ")", "[a", "a**b{2}{3}", "*", "\\", "(?z)", "(?P<a", "a{2}{2}"}) {
    const Pattern compiled = CompilePattern(pattern, {});
    if (compiled.regexp != nullptr) continue;  // RE2 takes some of them
    EXPECT_NE(compiled.error.find("invalid regular expression"), std::string::npos)
        << pattern << ": " << compiled.error;
  }
  EXPECT_EQ(CompilePattern("(", {}).regexp, nullptr);
}

// The estimate is what the promise rests on: no program is larger than it says, whatever the pattern.
TEST(Patterns, NoProgramIsMuchLargerThanItsEstimate) {
  const std::vector<std::string> parts = {"a",
                                          "k",
                                          "S",
                                          "\xC3\xA9",
                                          "\xE1\xBA\x9E",
                                          "\xF0\x90\x90\x80",
                                          ".",
                                          "\\w",
                                          "\\W",
                                          "\\d",
                                          "\\D",
                                          "\\s",
                                          "\\S",
                                          "\\b",
                                          "^",
                                          "$",
                                          "\\A",
                                          "\\z",
                                          "[a-z]",
                                          "[^a]",
                                          "[^k-s]",
                                          "[[:^alpha:]]",
                                          "[[:word:]]",
                                          "[\\W]",
                                          "[\xC4\x80-\xF4\x8F\xBF\xBF]",
                                          "[\\x{80}-\\x{10ffff}]",
                                          "[ks\xC3\xA9]",
                                          "[^\\D]",
                                          "[\\x41-\\x{2fff}]",
                                          "[a-\xE2\x84\xAA]",
                                          "[]a]",
                                          "[^]a]",
                                          "[a-]",
                                          "[\\]]",
                                          "(",
                                          "(",
                                          ")",
                                          ")",
                                          "(?:",
                                          "(?P<n>",
                                          "|",
                                          "*",
                                          "+",
                                          "?",
                                          "*?",
                                          "{2}",
                                          "{3,}",
                                          "{0,5}",
                                          "{50}",
                                          "{9}",
                                          "{",
                                          "}",
                                          "{a}",
                                          "(?i)",
                                          "(?i:",
                                          "(?-i:",
                                          "(?s)",
                                          "\\Q",
                                          "\\E",
                                          "\\x{1ff}",
                                          "\\x41",
                                          "\\101",
                                          "\\."};
  std::size_t compiled = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= Rounds(20'000); ++seed) {
    Rng rng(seed);
    std::vector<std::string> some;
    some.reserve(6);
    for (int i = 0; i < 6; ++i) some.push_back(parts[rng.Below(parts.size())]);
    std::string pattern;
    for (auto n = 1 + rng.Below(rng.Below(4) == 0 ? 100 : 12); n > 0; --n) pattern += some[rng.Below(some.size())];
    for (int open = static_cast<int>(rng.Below(2)) * 50, depth = 0; open > 0; open = 0) {  // half of them balanced
      for (const char c : pattern) depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (depth > 0) pattern.append(static_cast<std::size_t>(depth), ')');
    }
    const PatternOptions options{.ignore_case = rng.Below(3) == 0, .dot_is_anything = rng.Below(4) == 0};
    const Pattern result = CompilePattern(pattern, options);
    if (result.regexp == nullptr) {
      ++refused;
      continue;
    }
    ++compiled;
    ASSERT_LE(result.size, kMaxPatternSize);
    ASSERT_LE(result.regexp->ProgramSize(), static_cast<int>(result.size + result.size / 4 + 16))
        << "seed " << seed << ": " << pattern;
  }
  EXPECT_GT(compiled, Rounds(2'000));
  EXPECT_GT(refused, Rounds(2'000));
}

TEST(PatternOptions, AreLettersInAnyCase) {
  EXPECT_EQ(ParsePatternOptions(""), PatternOptions{});
  EXPECT_EQ(ParsePatternOptions("iMsF"), (PatternOptions{true, true, true, true, false}));
  EXPECT_EQ(ParsePatternOptions("g"), (PatternOptions{false, false, false, false, true}));
  EXPECT_EQ(ParsePatternOptions("x"), std::nullopt);
  EXPECT_EQ(ParsePatternOptions("i i"), std::nullopt);
}

TEST(PatternCache, CompilesOnceAndKeepsWhatIsUsed) {
  PatternCache cache(3);
  Get(cache, "a");
  Get(cache, "b");
  Get(cache, "(");  // bad ones, too
  Get(cache, "(");
  Get(cache, "a");
  EXPECT_EQ(cache.compiled(), 3u);
  Get(cache, "c");  // `b` goes
  EXPECT_EQ(cache.size(), 3u);
  Get(cache, "a");
  Get(cache, "(");
  EXPECT_EQ(cache.compiled(), 4u);
  Get(cache, "b");
  EXPECT_EQ(cache.compiled(), 5u);
  EXPECT_EQ(cache.size(), 3u);
}

TEST(PatternCache, TellsOptionsApart) {
  PatternCache cache;
  EXPECT_FALSE(re2::RE2::FullMatch("A", *Get(cache, "a")->regexp));
  EXPECT_TRUE(re2::RE2::FullMatch("A", *Get(cache, "a", {.ignore_case = true})->regexp));
  EXPECT_FALSE(re2::RE2::FullMatch("\n", *Get(cache, ".")->regexp));
  EXPECT_TRUE(re2::RE2::FullMatch("\n", *Get(cache, ".", {.dot_is_anything = true})->regexp));
  EXPECT_EQ(cache.compiled(), 4u);
  // The whole string or a part: the same program.
  Get(cache, "a", {.full = true});
  EXPECT_EQ(cache.compiled(), 4u);
}

TEST(PatternCache, CostsTheSameWhetherItIsThereOrNot) {
  PatternCache cache;
  for (const char* pattern : {"^node[0-9]+$", "(", "\\pL", "a{1000}"}) {
    std::int64_t first = kPlenty, second = kPlenty;
    cache.Get(pattern, {}, false, first);
    cache.Get(pattern, {}, false, second);
    EXPECT_EQ(first, second) << pattern;
    EXPECT_LT(first, kPlenty) << pattern;
  }
  std::int64_t none = 10;
  EXPECT_EQ(cache.Get("^node[0-9]+$", {}, false, none), nullptr);
  const auto compiled = cache.compiled();
  none = 10;
  EXPECT_EQ(cache.Get("^other[0-9]+$", {}, false, none), nullptr);
  EXPECT_EQ(cache.compiled(), compiled);  // who cannot pay does not cost
}

TEST(PatternCache, HoldsABoundedNumberWhateverIsAsked) {
  PatternCache cache;
  for (int i = 0; i < 10'000; ++i) Get(cache, "a" + std::to_string(i));
  EXPECT_EQ(cache.size(), 64u);
}

}  // namespace
}  // namespace allot::expr
