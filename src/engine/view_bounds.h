// Bounds of looks at the engine that those who ask must know too.
#pragma once

#include <cstddef>

namespace allot {

inline constexpr std::size_t kMaxPictureParts = 1000;

}  // namespace allot
