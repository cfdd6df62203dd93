// SPDX-License-Identifier: Apache-2.0
// An expression that was kept, and that this version of the language does not read any more.
#pragma once

#include <string>

#include "expr/expr.h"

namespace allot::expr {

// ERROR whatever the sides are, so that requirements match nothing and ranks are 0; and with the text as its source, so
// that it is shown, told as the reason why nothing matches, and kept as it is for a version that reads it.
ExprPtr Unreadable(std::string source);

}  // namespace allot::expr
