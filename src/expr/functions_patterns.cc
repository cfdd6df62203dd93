// SPDX-License-Identifier: Apache-2.0
// Regular expressions.
#include <algorithm>
#include <cstdint>
#include <string>

#include <re2/re2.h>

#include "base/bounds.h"
#include "expr/function_support.h"
#include "expr/patterns.h"

namespace allot::expr {
namespace {

using Arguments = std::span<const Value>;

constexpr std::size_t kMaxGroups = 10;  // \0 to \9

// What a pattern has found.
struct Match {
  re2::StringPiece groups[kMaxGroups];
  std::size_t begin(std::string_view text) const { return static_cast<std::size_t>(groups[0].data() - text.data()); }
};

// A compiled pattern with the options of the call.
class Searcher {
 public:
  // `groups`: for what puts something in. Not usable if pattern or options are bad, or cost too much.
  // REQUIRES: both are strings.
  Searcher(CallContext& context, std::string_view pattern, std::string_view options, bool groups)
      : context_(context), groups_(groups) {
    const auto parsed = ParsePatternOptions(options);
    if (!parsed) return;
    pattern_ = context.patterns.Get(pattern, *parsed, groups, context.steps_left);
    options_ = *parsed;
    if (usable()) price_ = MatchSteps(pattern_->size, groups);
  }
  bool usable() const { return pattern_ != nullptr && pattern_->regexp != nullptr; }
  std::size_t groups() const { return pattern_->groups; }
  const PatternOptions& options() const { return options_; }

  enum class Outcome : std::uint8_t { kNone, kFound, kTooMuch };
  // The leftmost match at or after `from`.
  Outcome Find(std::string_view text, std::size_t from, Match& match) {
    if (!context_.Charge(price_.Search(text.size() - from))) return Outcome::kTooMuch;
    const int wanted = groups_ ? static_cast<int>(std::min(groups() + 1, kMaxGroups)) : 0;
    const bool found = pattern_->regexp->Match({text.data(), text.size()}, from, text.size(),
                                               options_.full && !groups_ ? re2::RE2::ANCHOR_BOTH : re2::RE2::UNANCHORED,
                                               wanted > 0 ? match.groups : nullptr, wanted);
    return found ? Outcome::kFound : Outcome::kNone;
  }

 private:
  CallContext& context_;
  const Pattern* pattern_ = nullptr;
  MatchSteps price_{0, false};
  bool groups_;
  PatternOptions options_;
};

std::string_view OptionsOf(Arguments arguments, std::size_t at) {
  return arguments.size() > at ? arguments[at].string() : std::string_view();
}

Value Regexp(CallContext& context, Arguments arguments) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  Searcher searcher(context, arguments[0].string(), OptionsOf(arguments, 2), false);
  if (!searcher.usable()) return Value::Error();
  Match match;
  const auto outcome = searcher.Find(arguments[1].string(), 0, match);
  if (outcome == Searcher::Outcome::kTooMuch) return Value::Error();
  return Value::Boolean(outcome == Searcher::Outcome::kFound);
}

Value RegexpMember(CallContext& context, Arguments arguments) {
  if (const auto unusable = Unusable(arguments)) return *unusable;
  if (!arguments[0].is(Type::kString) || !arguments[1].is(Type::kList)) return Value::Error();
  if (arguments.size() > 2 && !arguments[2].is(Type::kString)) return Value::Error();
  Searcher searcher(context, arguments[0].string(), OptionsOf(arguments, 2), false);
  if (!searcher.usable()) return Value::Error();
  bool undefined = false;
  for (const Value& element : arguments[1].list()) {
    if (!context.Charge(1)) return Value::Error();
    if (element.is(Type::kUndefined)) {
      undefined = true;  // it might have matched
      continue;
    }
    if (!element.is(Type::kString)) return Value::Error();
    Match match;
    const auto outcome = searcher.Find(element.string(), 0, match);
    if (outcome == Searcher::Outcome::kTooMuch) return Value::Error();
    if (outcome == Searcher::Outcome::kFound) return Value::Boolean(true);
  }
  return undefined ? Value::Undefined() : Value::Boolean(false);
}

// The pieces of a string instead of a list's elements; the options come after the separators.
Value StringListRegexpMember(CallContext& context, Arguments arguments) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  const auto separators = Separators::From(arguments.size() > 2 ? arguments[2].string() : Separators::kDefault);
  std::string_view rest = arguments[1].string();
  if (!separators || !ChargeBytes(context, 8 + 4 * rest.size())) return Value::Error();
  Searcher searcher(context, arguments[0].string(), OptionsOf(arguments, 3), false);
  if (!searcher.usable()) return Value::Error();
  while (true) {
    const std::string_view piece = separators->Next(rest);
    if (piece.empty()) return Value::Boolean(false);
    Match match;
    const auto outcome = searcher.Find(piece, 0, match);
    if (outcome == Searcher::Outcome::kTooMuch) return Value::Error();
    if (outcome == Searcher::Outcome::kFound) return Value::Boolean(true);
  }
}

// Text that grows to what an evaluation may use, and no further.
class Output {
 public:
  bool Append(std::string_view text) {
    if (text.size() > bounds::kMaxEvaluationBytes - text_.size()) return false;
    text_.append(text);
    return true;
  }
  std::string_view text() const { return text_; }

 private:
  std::string text_;
};

// Is every `\` of the substitute followed by the number of a group that the pattern has, or by another `\`?
bool IsSubstitute(std::string_view substitute, std::size_t groups) {
  for (std::size_t i = 0; i < substitute.size(); ++i) {
    if (substitute[i] != '\\') continue;
    if (++i == substitute.size()) return false;
    const char c = substitute[i];
    if (c != '\\' && !(c >= '0' && c <= '9' && static_cast<std::size_t>(c - '0') <= groups)) return false;
  }
  return true;
}

// REQUIRES: IsSubstitute().
bool AppendSubstitute(CallContext& context, std::string_view substitute, const Match& match, Output& out) {
  if (!ChargeBytes(context, 8 + substitute.size())) return false;
  while (!substitute.empty()) {
    const std::size_t plain = std::min(substitute.find('\\'), substitute.size());
    if (!out.Append(substitute.substr(0, plain))) return false;
    substitute.remove_prefix(plain);
    if (substitute.empty()) break;
    std::string_view piece = substitute.substr(1, 1);
    if (piece[0] != '\\') {
      const re2::StringPiece& group = match.groups[piece[0] - '0'];
      piece = {group.data(), group.size()};
    }
    if (!ChargeCopy(context, piece.size()) || !out.Append(piece)) return false;
    substitute.remove_prefix(2);
  }
  return true;
}

// The text with a substitute for the first match, or for every one (`all`); without `rest`, the substitutes alone.
struct Replacing {
  bool all = false;
  bool rest = false;
};

Value Replaced(CallContext& context, Arguments arguments, Replacing how) {
  if (const auto unusable = UnusableAsStrings(arguments)) return *unusable;
  const std::string_view text = arguments[1].string(), substitute = arguments[2].string();
  Searcher searcher(context, arguments[0].string(), OptionsOf(arguments, 3), true);
  if (!searcher.usable() || !ChargeBytes(context, substitute.size())) return Value::Error();
  if (!IsSubstitute(substitute, searcher.groups())) return Value::Error();
  how.all |= searcher.options().all;
  how.rest |= searcher.options().full;
  Output out;
  std::size_t copied = 0;  // of the text: all before has been put out
  bool any = false;
  for (std::size_t from = 0; from <= text.size();) {
    Match match;
    const auto outcome = searcher.Find(text, from, match);
    if (outcome == Searcher::Outcome::kTooMuch) return Value::Error();
    if (outcome == Searcher::Outcome::kNone) break;
    const std::size_t begin = match.begin(text), end = begin + match.groups[0].size();
    // Nothing is not found again at the very end of the match before it.
    if (!any || begin != end || begin != copied) {
      if (how.rest && !out.Append(text.substr(copied, begin - copied))) return TooLarge(context);
      if (!AppendSubstitute(context, substitute, match, out)) return TooLarge(context);
      copied = end;
      any = true;
      if (!how.all) break;
    }
    from = end;
    if (begin == end) {
      do ++from;
      while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80);
    }
  }
  if (!any) return how.rest ? arguments[1] : Value::String("");
  if (how.rest && !out.Append(text.substr(copied))) return TooLarge(context);
  return NewString(context, out.text());
}
Value Regexps(CallContext& context, Arguments arguments) { return Replaced(context, arguments, {}); }
Value Replace(CallContext& context, Arguments arguments) { return Replaced(context, arguments, {.rest = true}); }
Value ReplaceAll(CallContext& context, Arguments arguments) {
  return Replaced(context, arguments, {.all = true, .rest = true});
}

constexpr Function kPatternFunctions[] = {
    {"regexp", 2, 3, Regexp, 2},
    {"regexps", 3, 4, Regexps, 3},
    {"regexpMember", 2, 3, RegexpMember, 2},
    {"replace", 3, 4, Replace, 3},
    {"replaceAll", 3, 4, ReplaceAll, 3},
    {"stringList_regexpMember", 2, 4, StringListRegexpMember, 3},
};

}  // namespace

std::span<const Function> PatternFunctions() { return kPatternFunctions; }

}  // namespace allot::expr
