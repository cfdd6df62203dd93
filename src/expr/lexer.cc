// SPDX-License-Identifier: Apache-2.0
#include "expr/lexer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace allot::expr {
namespace {

struct Spelling {
  std::string_view text;
  TokenKind kind;
  Op op = Op::kAnd;
};

// Longest first, where one begins another.
constexpr Spelling kSpellings[] = {
    {"=?=", TokenKind::kOperator, Op::kIs},
    {"=!=", TokenKind::kOperator, Op::kIsnt},
    {">>>", TokenKind::kOperator, Op::kShiftRightLogical},
    {"||", TokenKind::kOperator, Op::kOr},
    {"&&", TokenKind::kOperator, Op::kAnd},
    {"==", TokenKind::kOperator, Op::kEqual},
    {"!=", TokenKind::kOperator, Op::kNotEqual},
    {"<=", TokenKind::kOperator, Op::kLessEqual},
    {">=", TokenKind::kOperator, Op::kGreaterEqual},
    {"<<", TokenKind::kOperator, Op::kShiftLeft},
    {">>", TokenKind::kOperator, Op::kShiftRight},
    {"?:", TokenKind::kCoalesce},
    {"|", TokenKind::kOperator, Op::kBitOr},
    {"^", TokenKind::kOperator, Op::kBitXor},
    {"&", TokenKind::kOperator, Op::kBitAnd},
    {"<", TokenKind::kOperator, Op::kLess},
    {">", TokenKind::kOperator, Op::kGreater},
    {"+", TokenKind::kOperator, Op::kAdd},
    {"-", TokenKind::kOperator, Op::kSubtract},
    {"*", TokenKind::kOperator, Op::kMultiply},
    {"/", TokenKind::kOperator, Op::kDivide},
    {"%", TokenKind::kOperator, Op::kModulo},
    {"!", TokenKind::kNot},
    {"~", TokenKind::kBitNot},
    {"=", TokenKind::kAssign},
    {"?", TokenKind::kQuestion},
    {":", TokenKind::kColon},
    {",", TokenKind::kComma},
    {";", TokenKind::kSemicolon},
    {".", TokenKind::kDot},
    {"(", TokenKind::kOpen},
    {")", TokenKind::kClose},
    {"{", TokenKind::kOpenList},
    {"}", TokenKind::kCloseList},
    {"[", TokenKind::kOpenBracket},
    {"]", TokenKind::kCloseBracket},
};

void AppendUtf8(std::uint32_t code, std::string& out) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xc0 | code >> 6));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | code >> 12));
    out.push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else {
    out.push_back(static_cast<char>(0xf0 | code >> 18));
    out.push_back(static_cast<char>(0x80 | (code >> 12 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  }
}

}  // namespace

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsAsciiDigit(c); }
bool IsName(std::string_view text) { return IsAttributeName(text) && IsNameStart(text[0]); }
bool IsAttributeName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsNamePart);
}

Token Lexer::Bad(Token token, std::size_t offset, std::string message) {
  token.kind = TokenKind::kBad;
  error_ = {offset, std::move(message)};
  return token;
}

Token Lexer::Next() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
    ++at_;
  Token token;
  token.offset = token.end = at_;
  if (at_ == text_.size()) return token;
  const char c = text_[at_];
  if (IsAsciiDigit(c)) return Number(token);
  if (c == '"') return String(token);
  if (IsNameStart(c)) {
    while (at_ < text_.size() && IsNamePart(text_[at_])) ++at_;
    token.kind = TokenKind::kName;
    token.text = text_.substr(token.offset, at_ - token.offset);
    token.end = at_;
    return token;
  }
  const std::string_view rest = text_.substr(at_);
  for (const Spelling& spelling : kSpellings) {
    if (rest.substr(0, spelling.text.size()) != spelling.text) continue;
    at_ += spelling.text.size();
    token.kind = spelling.kind;
    token.op = spelling.op;
    token.end = at_;
    return token;
  }
  if (c == '\'') return Bad(token, at_, "a text is written in double quotes");
  return Bad(token, at_, "this character has no meaning here");
}

Token Lexer::Number(Token token) {
  const char* const begin = text_.data() + at_;
  const char* const end = text_.data() + text_.size();
  const char* at = begin;
  const auto out_of_range = [&] { return Bad(token, token.offset, "this number does not fit into 64 bits"); };
  if (*at == '0' && at + 1 < end && (at[1] == 'x' || at[1] == 'X')) {
    const auto [stop, error] = std::from_chars(at + 2, end, token.integer, 16);
    if (stop == at + 2) return Bad(token, token.offset, "expected hexadecimal digits after 0x");
    if (error != std::errc()) return out_of_range();
    at = stop;
    token.kind = TokenKind::kInteger;
  } else {
    while (at < end && IsAsciiDigit(*at)) ++at;
    bool real = false;
    if (at + 1 < end && *at == '.' && IsAsciiDigit(at[1])) {
      real = true;
      ++at;
      while (at < end && IsAsciiDigit(*at)) ++at;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
      const char* digits = at + 1;
      if (digits < end && (*digits == '+' || *digits == '-')) ++digits;
      if (digits < end && IsAsciiDigit(*digits)) {
        real = true;
        at = digits;
        while (at < end && IsAsciiDigit(*at)) ++at;
      }
    }
    if (real) {
      token.kind = TokenKind::kReal;
      const auto result = std::from_chars(begin, at, token.real);
      // Too small is 0; from_chars tells it from too large by nothing but the text, so strtod decides.
      if (result.ec != std::errc()) token.real = std::strtod(std::string(begin, at).c_str(), nullptr);
      if (!std::isfinite(token.real)) return Bad(token, token.offset, "this number is too large");
    } else {
      token.kind = TokenKind::kInteger;
      if (std::from_chars(begin, at, token.integer).ec != std::errc()) return out_of_range();
    }
  }
  if (token.kind == TokenKind::kInteger && token.integer > std::uint64_t{1} << 63) return out_of_range();
  at_ = static_cast<std::size_t>(at - text_.data());
  token.end = at_;
  if (at < end && IsNamePart(*at)) return Bad(token, at_, "expected an operator between the number and what follows");
  return token;
}

bool Lexer::Hex4(std::size_t at, std::uint32_t& out) const {
  if (at + 4 > text_.size()) return false;
  const char* const begin = text_.data() + at;
  return std::from_chars(begin, begin + 4, out, 16).ptr == begin + 4;
}

// What stands after the backslash at `at`, which moves behind it.
bool Lexer::Escape(std::size_t& at) {
  const std::size_t start = at;
  if (++at == text_.size()) {
    error_ = {start, "expected a character after the backslash"};
    return false;
  }
  static constexpr std::pair<char, char> kEscapes[] = {{'"', '"'},  {'\\', '\\'}, {'/', '/'},  {'n', '\n'},
                                                       {'t', '\t'}, {'r', '\r'},  {'b', '\b'}, {'f', '\f'}};
  const char c = text_[at++];
  for (const auto& [letter, meaning] : kEscapes) {
    if (c != letter) continue;
    decoded_.push_back(meaning);
    return true;
  }
  std::uint32_t code = 0;
  if (c != 'u') {
    error_ = {start, "there is no such escape; a backslash is written as \\\\"};
    return false;
  }
  if (!Hex4(at, code)) {
    error_ = {start, "expected four hexadecimal digits after \\u"};
    return false;
  }
  at += 4;
  if (code >= 0xd800 && code < 0xdc00) {
    std::uint32_t low = 0;
    if (text_.substr(at, 2) == "\\u" && Hex4(at + 2, low) && low >= 0xdc00 && low < 0xe000) {
      at += 6;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
  }
  if (code == 0 || (code >= 0xd800 && code < 0xe000)) {
    error_ = {start, code == 0 ? "a text cannot have \\u0000" : "this is half of a character: a pair of \\u is needed"};
    return false;
  }
  AppendUtf8(code, decoded_);
  return true;
}

Token Lexer::String(Token token) {
  token.kind = TokenKind::kString;
  std::size_t at = token.offset + 1;
  const std::size_t begin = at;
  bool escaped = false;
  decoded_.clear();
  for (;;) {
    if (at == text_.size()) return Bad(token, token.offset, "expected a \" at the end of this text");
    const char c = text_[at];
    if (c == '"') break;
    if (static_cast<unsigned char>(c) < 0x20)
      return Bad(token, at, "a control character in a text is written as an escape, such as \\n or \\t");
    if (c == '\\') {
      if (!escaped) decoded_.assign(text_.substr(begin, at - begin));
      escaped = true;
      if (!Escape(at)) {
        token.kind = TokenKind::kBad;
        return token;
      }
      continue;
    }
    if (escaped) decoded_.push_back(c);
    ++at;
  }
  token.text = escaped ? std::string_view(decoded_) : text_.substr(begin, at - begin);
  at_ = at + 1;
  token.end = at_;
  return token;
}

}  // namespace allot::expr
