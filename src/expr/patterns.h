// SPDX-License-Identifier: Apache-2.0
// Compiled regular expressions, kept for the next use.
//
// RE2 matches in linear time, but not every pattern is cheap to compile: `\pL` alone takes half a millisecond. So the
// size of the program that a pattern becomes is estimated before it is compiled, and what is too large is refused.
// Whoever evaluates pays for compiling and matching by that size, whether or not the pattern is in the cache: what an
// expression gives must not depend on what was evaluated before it.
//
// Threading: a cache is confined to a thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace re2 {
class RE2;
}

namespace allot::expr {

// What the letters of an options argument say, in any case.
struct PatternOptions {
  bool ignore_case = false;      // i
  bool many_lines = false;       // m: ^ and $ also match at the ends of lines
  bool dot_is_anything = false;  // s: . also matches a newline
  bool full = false;             // f: the whole string has to match; where something is put in: with what stays
  bool all = false;              // g: where something is put in: for every match
  friend bool operator==(const PatternOptions&, const PatternOptions&) = default;
};
// None if there is a letter that means nothing.
std::optional<PatternOptions> ParsePatternOptions(std::string_view letters);

// How many instructions the compiled program has, estimated (at worst a quarter and 16 too low): at most 200 ns each to
// compile. Saturates.
// None if it has a Unicode class (`\pL`) or a single byte (`\C`), which are refused whatever their size.
std::optional<std::uint32_t> PatternSize(std::string_view pattern, const PatternOptions& options);
// A pattern of more is refused.
inline constexpr std::uint32_t kMaxPatternSize = 300;

// In steps of 10 ns: compiling, and what comes with it the first time; `groups` if it is to be found out where the
// groups of a match are.
std::int64_t CompileSteps(std::uint32_t size, bool groups);

// What one search costs, or several with one pattern. A search may make a state of the program for every byte that it
// sees, at several times the price of what comes once there are as many as fit into memory.
class MatchSteps {
 public:
  MatchSteps(std::uint32_t size, bool groups) : size_(size), groups_(groups) {}
  // In steps, for the next search through so many bytes.
  std::int64_t Search(std::size_t bytes);

 private:
  std::int64_t size_;
  bool groups_;
  std::size_t new_states_ = 200;
};

struct Pattern {
  std::shared_ptr<const re2::RE2> regexp;  // null if it is not a valid one, or refused
  std::uint32_t size = 0;                  // as above; 0 if it was refused before it was compiled
  std::uint32_t groups = 0;
  std::string error;  // what is wrong with it, for people; empty if nothing
};

// Compiles without a cache. Never logs, never throws.
Pattern CompilePattern(std::string_view pattern, const PatternOptions& options);

class PatternCache {
 public:
  explicit PatternCache(std::size_t max_entries = 64) : max_entries_(max_entries) {}
  PatternCache(const PatternCache&) = delete;
  PatternCache& operator=(const PatternCache&) = delete;

  // Pays for compiling (`groups`: also for finding out where the groups of a match are) from `steps_left`; null if that
  // is not enough. Valid until the next call. Bad patterns are kept as well as good ones; the one that was not asked
  // for longest goes first.
  const Pattern* Get(std::string_view pattern, const PatternOptions& options, bool groups, std::int64_t& steps_left);
  std::size_t size() const { return entries_.size(); }
  std::uint64_t compiled() const { return compiled_; }

 private:
  struct Entry {
    std::string key;
    Pattern pattern;
  };
  std::size_t max_entries_;
  std::uint64_t compiled_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
  std::string key_;  // used again and again
};

}  // namespace allot::expr
