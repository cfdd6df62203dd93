// SPDX-License-Identifier: Apache-2.0
// The two clocks of the design, as types that cannot be mixed up. Nothing here reads a clock: time is passed in.
#pragma once

#include <chrono>
#include <cstdint>

namespace allot {

using Duration = std::chrono::microseconds;
using std::chrono::milliseconds;

// Monotonic time: leases, backoff, buckets. Means nothing across restarts.
struct MonotonicClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<MonotonicClock>;
  static constexpr bool is_steady = true;
};
using Instant = MonotonicClock::time_point;

// Wall time in milliseconds since 1970: schedules, retention, ids, and whatever is persisted.
struct WallClock {
  using rep = milliseconds::rep;
  using period = milliseconds::period;
  using duration = milliseconds;
  using time_point = std::chrono::time_point<WallClock>;
  static constexpr bool is_steady = false;
};
using WallTime = WallClock::time_point;

// The moment of a command, on both clocks.
struct Now {
  Instant mono{};
  WallTime wall{};
};

inline std::int64_t ToMillis(WallTime t) { return t.time_since_epoch().count(); }
inline WallTime FromMillis(std::int64_t ms) { return WallTime(milliseconds(ms)); }
inline std::int64_t ToMillis(Duration d) { return std::chrono::duration_cast<milliseconds>(d).count(); }

}  // namespace allot
