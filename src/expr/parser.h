// From text to program, by recursive descent. docs/expressions.md has the grammar.
#pragma once

#include <memory>
#include <string_view>

#include "expr/expr.h"
#include "expr/program.h"

namespace allot::expr {

// Null, and the first error, if it is not an expression or beyond a bound. Hostile text costs time and memory in
// proportion to its length.
std::unique_ptr<const Program> ParseProgram(std::string_view text, ParseError& error);

// What is wrong with the pattern of a call of regexp() and its kin, as far as its arguments are constants (null: not);
// empty if nothing. Takes the patterns' sizes off `budget`, and looks no closer once that is spent.
std::string PatternFault(const Function& function, std::span<const Value* const> arguments, std::int64_t& budget);

// Is it one of `true` `false` `undefined` `error` `is` `isnt`?
bool IsKeyword(std::string_view name);
// MY, TARGET, JOB, MACHINE; kNone for any other name.
Scope ScopeFromText(std::string_view name);
std::string_view ScopeText(Scope scope);

}  // namespace allot::expr
