// SPDX-License-Identifier: Apache-2.0
// Bounds of looks at the engine that those who ask must know too.
#pragma once

#include <cstddef>

namespace allot {

inline constexpr std::size_t kMaxPictureParts = 1000;
// A page of jobs or workers ends with the one that makes it as large, on the wire or about.
inline constexpr std::size_t kMaxPageBytes = 1024 * 1024;

}  // namespace allot
