// SPDX-License-Identifier: Apache-2.0
// From program to text: canonical, with brackets where they are needed and nowhere else.
#pragma once

#include <string>

#include "expr/program.h"

namespace allot::expr {

// The part from `from` down.
std::string Print(const Program& program, NodeId from);

}  // namespace allot::expr
