// SPDX-License-Identifier: Apache-2.0
// The program's version, as the build names it.
#pragma once

#include <string_view>

namespace allot {
std::string_view Version();
}  // namespace allot
