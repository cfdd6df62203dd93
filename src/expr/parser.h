// SPDX-License-Identifier: Apache-2.0
// From text to program, by recursive descent.
// The grammar is in docs/reference/expressions.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "expr/expr.h"
#include "expr/patterns.h"
#include "expr/program.h"

namespace allot::expr {

// Null, and the first error, if it is not an expression or beyond a bound. Hostile text costs time and memory in
// proportion to its length.
std::unique_ptr<const Program> ParseProgram(std::string_view text, ParseError& error);

// Compiles the regular expressions that are written out in an expression, to see whether they are valid. After so many
// steps (3 ms) it looks no closer: then a bad one shows when it is evaluated.
class PatternChecker {
 public:
  // What is wrong with the pattern of a call of regexp() and its kin, as far as its arguments are constants (null:
  // not); empty if nothing is known to be.
  std::string Fault(const Function& function, std::span<const Value* const> arguments);

 private:
  PatternCache cache_;
  std::int64_t steps_left_ = 300'000;
};

// Is it one of `true` `false` `undefined` `error` `is` `isnt`?
bool IsKeyword(std::string_view name);
// MY, TARGET, JOB, MACHINE; kNone for any other name.
Scope ScopeFromText(std::string_view name);
std::string_view ScopeText(Scope scope);
// As it is written: `name`, `MY.name`, or `MY["6"]`.
void AppendReference(Scope scope, std::string_view name, std::string& out);

}  // namespace allot::expr
