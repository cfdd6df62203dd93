// SPDX-License-Identifier: Apache-2.0
// The one place that reads the two clocks. Engine threads call it once a round.
#pragma once

#include <chrono>

#include "base/time.h"

namespace allot {

inline Instant ReadMonotonic() {
  return Instant(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
}
inline Now ReadClock() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return {ReadMonotonic(), WallTime(std::chrono::duration_cast<milliseconds>(wall))};
}
inline std::chrono::steady_clock::time_point ToSteady(Instant t) {
  return std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(t.time_since_epoch()));
}

}  // namespace allot
