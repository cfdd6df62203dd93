// SPDX-License-Identifier: Apache-2.0
// Until when this node may answer for the queues that it has.
//
// Threading: all methods may be called from any thread.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace allot::cluster {

// A monotonic clock that goes on while the machine sleeps: what was asleep for long has lost what it had.
inline Instant ReadLeaseClock() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return Instant(Duration(std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000));
}

class Lease {
 public:
  bool Valid() const { return ReadLeaseClock().time_since_epoch().count() < until_.load(std::memory_order_acquire); }
  void Extend(Instant until) { until_.store(until.time_since_epoch().count(), std::memory_order_release); }
  void End() { until_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::int64_t> until_{0};
};

}  // namespace allot::cluster
