// SPDX-License-Identifier: Apache-2.0
// Cuts the text of an expression into tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "expr/expr.h"
#include "expr/operators.h"

namespace allot::expr {

enum class TokenKind : std::uint8_t {
  kEnd,
  kName,     // keywords, too: what they mean depends on the place
  kInteger,  // up to 2^63, which is valid after a minus only
  kReal,
  kString,
  kOperator,  // `-` and `+` may also stand before an operand
  kNot,
  kBitNot,
  kAssign,
  kQuestion,
  kCoalesce,
  kColon,
  kComma,
  kSemicolon,
  kDot,
  kOpen,
  kClose,
  kOpenList,
  kCloseList,
  kOpenBracket,
  kCloseBracket,
  kBad,  // see error()
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  Op op = Op::kAnd;
  std::size_t offset = 0, end = 0;  // in the text
  std::uint64_t integer = 0;
  double real = 0;
  std::string_view text;  // of a name or string; valid until the next token
};

class Lexer {
 public:
  // REQUIRES: valid UTF-8.
  explicit Lexer(std::string_view text) : text_(text) {}
  Token Next();
  // What is wrong with the last token, if it is kBad.
  const ParseError& error() const { return error_; }

 private:
  Token Number(Token token);
  Token String(Token token);
  bool Escape(std::size_t& at);
  bool Hex4(std::size_t at, std::uint32_t& out) const;
  Token Bad(Token token, std::size_t offset, std::string message);

  std::string_view text_;
  std::size_t at_ = 0;
  std::string decoded_;
  ParseError error_;
};

bool IsNameStart(char c);
bool IsNamePart(char c);
// Can it stand after a dot, and as the name of a field?
bool IsName(std::string_view text);
// The same, or one that begins with a digit: those are written in brackets and quotes.
bool IsAttributeName(std::string_view text);

}  // namespace allot::expr
