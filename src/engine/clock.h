// SPDX-License-Identifier: Apache-2.0
// The engine's time: what came with commands, and the same without the time for which the server stood still.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/time.h"
#include "engine/pace.h"

namespace allot {

struct EngineClock {
  Now now, boot;
  Instant time{};       // monotonic time without stalls: every deadline is in it
  Duration stalled{0};  // what was taken out
  bool begun = false;

  // Wall time that no step of the clock moves.
  WallTime Steady() const {
    return boot.wall + std::chrono::duration_cast<std::chrono::milliseconds>(now.mono - boot.mono);
  }
};

// The earliest moment at which a tick has something to do.
class NextTick {
 public:
  NextTick(const EngineClock& clock, const Now& now) : clock_(clock), now_(now) {}

  const Now& now() const { return now_; }
  void AtOnce() { At(now_.mono); }
  void At(Instant at) {
    at = std::max(at, now_.mono);
    if (!next_ || at < *next_) next_ = at;
  }
  void AtEngineTime(Instant at) { At(at + clock_.stalled); }
  // Wall clocks may step, so what depends on one is looked at once a tick at least.
  void AtWall(WallTime at) {
    At(at <= now_.wall ? now_.mono : std::min(now_.mono + kTickEvery, now_.mono + Duration(at - now_.wall)));
  }
  void AtSteady(WallTime at) { At(clock_.boot.mono + Duration(at - clock_.boot.wall)); }
  std::optional<Instant> value() const { return next_; }

 private:
  const EngineClock& clock_;
  const Now now_;
  std::optional<Instant> next_;
};

}  // namespace allot
