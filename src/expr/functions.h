// SPDX-License-Identifier: Apache-2.0
// The functions of the language, by name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "expr/value.h"

namespace allot::expr {

class Arena;
class PatternCache;

// What a function may use besides its arguments.
struct CallContext {
  Arena& arena;            // for what the result points to; may refuse
  PatternCache& patterns;  // compiled regular expressions
  std::int64_t time = 0;   // what time() gives
  std::int64_t steps_left = 0;
  // Pays for work beyond the call itself; false: out of steps, and the result is ERROR.
  bool Charge(std::int64_t steps) { return (steps_left -= steps) >= 0; }
};

struct Function {
  std::string_view name;  // as documented
  std::uint8_t min_arguments, max_arguments;
  // Arguments are values, UNDEFINED and ERROR included: each function says what it makes of them.
  Value (*run)(CallContext& context, std::span<const Value> arguments);
  // Where its options stand, if its first argument is a regular expression; else 0.
  std::uint8_t pattern_options = 0;
};

inline constexpr std::uint8_t kAnyNumber = 255;

// Null if there is none of that name, in any case.
const Function* FindFunction(std::string_view name);
// All of them, in the order of the reference.
std::span<const Function> Functions();

}  // namespace allot::expr
