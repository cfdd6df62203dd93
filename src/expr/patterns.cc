// SPDX-License-Identifier: Apache-2.0
#include "expr/patterns.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <re2/re2.h>

#include "base/bounds.h"

namespace allot::expr {
namespace {

// For the program, and for the states that matching makes of it. 64 patterns of the largest size are 4 MiB.
constexpr std::int64_t kMaxMemory = 64 * 1024;
constexpr std::uint64_t kHuge = 1'000'000;

// What the parts of a pattern become, as measured and rounded up: a character of UTF-8 that is (almost) any takes 8
// instructions; a range beyond ASCII without regard to case makes RE2 walk through all of Unicode's case foldings,
// and so does a class that is all but something.
constexpr std::uint64_t kAnyCharacter = 12;
constexpr std::uint64_t kFoldedRange = 180;
constexpr std::uint64_t kFoldedComplement = 110;
constexpr std::uint64_t kGroup = 3;

// One pass over the text of a pattern. It understands of the syntax only what makes programs large, and takes the
// larger number where in doubt; whether the pattern is valid is RE2's business.
class SizeScan {
 public:
  SizeScan(std::string_view text, bool ignore_case) : text_(text), ignore_case_(ignore_case) {}

  std::optional<std::uint32_t> Run() {
    groups_.push_back(4);  // every program has these
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      switch (c) {
        case '\\':
          if (!Escape()) return std::nullopt;
          break;
        case '[':
          if (!Class()) return std::nullopt;
          break;
        case '(':
          Open();
          break;
        case ')':
          Close();
          break;
        case '.':
          Atom(kAnyCharacter);
          break;
        case '*':
        case '+':
        case '?':
          Repeat(1, 2);
          break;
        case '{':
          Counted();
          break;
        case '|':
          Atom(2);
          break;
        default:
          Atom(Character(c));
      }
    }
    while (groups_.size() > 1) Close();
    return static_cast<std::uint32_t>(groups_.back());
  }

 private:
  static bool Ascii(char c) { return (static_cast<unsigned char>(c) & 0x80) == 0; }
  static std::uint64_t Digit(char c) { return static_cast<std::uint64_t>(c - '0'); }
  bool At(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  std::uint64_t Complement() const { return ignore_case_ ? kFoldedComplement : kAnyCharacter; }
  // A character that begins with `c`, the rest of its bytes included; without regard to case it has several spellings.
  std::uint64_t Character(char c) {
    std::uint64_t bytes = 1;
    for (; !Ascii(c) && at_ < text_.size() && (text_[at_] & 0xC0) == 0x80; ++at_) ++bytes;
    if (!ignore_case_) return bytes;
    return Ascii(c) ? (c == 'k' || c == 'K' || c == 's' || c == 'S' ? 6 : 2) : 8 * bytes;
  }

  void Add(std::uint64_t size) { groups_.back() = std::min(kHuge, groups_.back() + size); }
  void Atom(std::uint64_t size) {
    last_ = size;
    Add(size);
  }
  void Repeat(std::uint64_t times, std::uint64_t each) {
    const std::uint64_t larger = std::min(kHuge, times * (last_ + each));
    Add(larger > last_ ? larger - last_ : 0);
    last_ = std::max(larger, last_);
  }

  bool Escape() {
    if (at_ == text_.size()) return true;
    const char c = text_[at_++];
    switch (c) {
      case 'p':
      case 'P':
      case 'C':
        return false;
      case 'Q':
        while (at_ < text_.size() && !At("\\E")) Atom(Character(text_[at_++]));
        at_ = std::min(text_.size(), at_ + 2);
        break;
      case 'D':
      case 'S':
      case 'W':
        Atom(Complement());
        break;
      case 'w':
        Atom(ignore_case_ ? 15 : 6);
        break;
      case 'd':
      case 's':
        Atom(6);
        break;
      case 'x':  // its digits come as characters of their own: more than it takes
        Atom(ignore_case_ ? 12 : 4);
        break;
      default:
        Atom(Character(c) + 1);
    }
    return true;
  }

  bool Class() {
    std::uint64_t size = 3;
    if (At("^")) {
      ++at_;
      size += Complement();
    }
    for (bool first = true; at_ < text_.size() && (first || text_[at_] != ']'); first = false) {
      const char c = text_[at_++];
      if (c == '[' && At(":")) {
        size += At(":^") ? Complement() : ignore_case_ ? 12 : 4;
        const std::size_t end = text_.find(":]", at_ + 1);
        if (end != text_.npos) at_ = end + 2;
        continue;
      }
      if (c == '\\' && at_ < text_.size()) {
        const char escaped = text_[at_++];
        if (escaped == 'p' || escaped == 'P' || escaped == 'C') return false;
        size += escaped == 'D' || escaped == 'S' || escaped == 'W' || escaped == 'x' ? Complement() : 4;
      } else if (!Ascii(c)) {
        size += ignore_case_ ? kFoldedRange / 4 : 4;
      } else {
        size += ignore_case_ ? 5 : 1;
      }
      if (At("-") && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        const char last = text_[++at_];
        if (!Ascii(last) || last == '\\') {
          size += ignore_case_ ? kFoldedRange : kAnyCharacter;
        } else {
          ++at_;
          if (ignore_case_) size += 3;
        }
      }
    }
    ++at_;
    Atom(std::min(kHuge, size));
    return true;
  }

  void Open() {
    if (At("?")) {
      // Flags up to `:` or `)`; from where they say `i`, take it for the rest.
      std::size_t i = at_ + 1;
      for (; i < text_.size() && text_[i] != ':' && text_[i] != ')' && text_[i] != '<'; ++i) {
        if (text_[i] == 'i') ignore_case_ = true;
      }
      if (i < text_.size() && text_[i] == ')') {  // no group: what is repeated next is what stands before it
        at_ = i + 1;
        Add(1);
        return;
      }
    }
    groups_.push_back(kGroup);
  }

  void Close() {
    if (groups_.size() == 1) return;  // not balanced: RE2 will say so
    const std::uint64_t size = groups_.back();
    groups_.pop_back();
    Atom(size);
  }

  // {n}, {n,} or {n,m}; anything else is text.
  void Counted() {
    std::size_t i = at_;
    const auto number = [&](std::uint64_t& n) {
      const std::size_t from = i;
      for (; i < text_.size() && text_[i] >= '0' && text_[i] <= '9'; ++i) n = std::min(kHuge, n * 10 + Digit(text_[i]));
      return i > from;
    };
    std::uint64_t least = 0, most = 0;
    bool is_count = number(least);
    if (is_count && i < text_.size() && text_[i] == ',') {
      ++i;
      if (!number(most)) most = least + 1;
    }
    is_count = is_count && i < text_.size() && text_[i] == '}';
    if (!is_count) {
      Atom(1);
      return;
    }
    at_ = i + 1;
    Repeat(std::max<std::uint64_t>({least, most, 1}), 2);
  }

  std::string_view text_;
  bool ignore_case_;
  std::size_t at_ = 0;
  std::uint64_t last_ = 0;             // what a repetition would repeat
  std::vector<std::uint64_t> groups_;  // the sizes of those that are open, the outermost first
};

// What is refused costs no more than the look at it.
std::uint32_t SizeToPayFor(std::string_view pattern, const PatternOptions& options) {
  if (pattern.size() > bounds::kMaxPatternBytes) return 0;
  const std::uint32_t size = PatternSize(pattern, options).value_or(0);
  return size > kMaxPatternSize ? 0 : size;
}

}  // namespace

std::optional<PatternOptions> ParsePatternOptions(std::string_view letters) {
  PatternOptions options;
  for (const char c : letters) {
    switch (c | 0x20) {
      case 'i':
        options.ignore_case = true;
        break;
      case 'm':
        options.many_lines = true;
        break;
      case 's':
        options.dot_is_anything = true;
        break;
      case 'f':
        options.full = true;
        break;
      case 'g':
        options.all = true;
        break;
      default:
        return std::nullopt;
    }
  }
  return options;
}

std::optional<std::uint32_t> PatternSize(std::string_view pattern, const PatternOptions& options) {
  return SizeScan(pattern, options.ignore_case).Run();
}

std::int64_t CompileSteps(std::uint32_t size, bool groups) {
  return 250 + static_cast<std::int64_t>(size) * (groups ? 30 : 20);
}
std::int64_t MatchSteps::Search(std::size_t bytes) {
  const std::size_t states = std::min(bytes, new_states_);
  new_states_ -= states;
  const auto slow = static_cast<std::int64_t>(states), fast = static_cast<std::int64_t>(bytes - states);
  return 10 + size_ * (groups_ ? 8 * slow + 3 * fast : 6 * slow + 2 * fast) / 10;
}

Pattern CompilePattern(std::string_view pattern, const PatternOptions& options) {
  Pattern result;
  result.size = SizeToPayFor(pattern, options);
  if (pattern.size() > bounds::kMaxPatternBytes) {
    result.error = "a regular expression has at most " + std::to_string(bounds::kMaxPatternBytes) + " bytes";
    return result;
  }
  const auto size = PatternSize(pattern, options);
  if (!size) {
    result.error = "regular expressions have no \\p, \\P and \\C here";
    return result;
  }
  if (*size > kMaxPatternSize) {
    result.error = "this regular expression is too large: fewer or smaller repetitions and classes";
    return result;
  }
  re2::RE2::Options re2_options;
  re2_options.set_log_errors(false);
  re2_options.set_max_mem(kMaxMemory);
  re2_options.set_case_sensitive(!options.ignore_case);
  re2_options.set_dot_nl(options.dot_is_anything);
  auto regexp = options.many_lines
                    ? std::make_shared<re2::RE2>("(?m)" + std::string(pattern), re2_options)
                    : std::make_shared<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), re2_options);
  if (!regexp->ok()) {
    result.error = "invalid regular expression: " + regexp->error();
    return result;
  }
  result.groups = static_cast<std::uint32_t>(regexp->NumberOfCapturingGroups());
  result.regexp = std::move(regexp);
  return result;
}

const Pattern* PatternCache::Get(std::string_view pattern, const PatternOptions& options, bool groups,
                                 std::int64_t& steps_left) {
  const auto pay = [&](std::uint32_t size) { return (steps_left -= CompileSteps(size, groups)) >= 0; };
  key_.assign(1, static_cast<char>('0' + options.ignore_case + 2 * options.many_lines + 4 * options.dot_is_anything));
  key_.append(pattern.substr(0, bounds::kMaxPatternBytes + 1));  // all longer ones are refused alike
  if (const auto found = by_key_.find(key_); found != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return pay(entries_.front().pattern.size) ? &entries_.front().pattern : nullptr;
  }
  if (!pay(SizeToPayFor(pattern, options))) return nullptr;
  ++compiled_;
  if (entries_.size() >= max_entries_) {
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
  entries_.push_front(Entry{key_, CompilePattern(pattern, options)});
  by_key_.emplace(entries_.front().key, entries_.begin());
  return &entries_.front().pattern;
}

}  // namespace allot::expr
