// SPDX-License-Identifier: Apache-2.0
// How a queue fared over time: what was submitted, started, done and failed in each second and minute, and how limits
// stood. In memory, of fixed size, since the start of the server.
//
// A queue with nothing to do is not woken for it. The engine stands as the last round left it, so Advance() at the
// beginning of a round knows what was in all the steps that passed since.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "engine/looks/views.h"

namespace allot {

// The last `kept` of what was pushed, oldest first. Grows up to them, and stays.
template <typename T>
class LastOnes {
 public:
  explicit LastOnes(std::size_t kept) : kept_(kept) {}
  void Push(const T& item) {
    if (items_.size() < kept_) {
      items_.push_back(item);
      return;
    }
    items_[begin_] = item;
    begin_ = (begin_ + 1) % kept_;
  }
  std::size_t size() const { return items_.size(); }
  const T& operator[](std::size_t i) const { return items_[(begin_ + i) % items_.size()]; }

 private:
  std::size_t kept_;
  std::size_t begin_ = 0;
  std::vector<T> items_;
};

class QueueHistory {
 public:
  static constexpr std::size_t kSeconds = 600;
  static constexpr std::size_t kMinutes = 1440;
  static constexpr std::size_t kLimitSteps = 120;
  static constexpr milliseconds kLimitStep{5000};
  static constexpr std::size_t kRateSeconds = 10;

  // Of one step: what was counted in it, and what was at its end.
  struct Sample {
    std::uint32_t submitted = 0, started = 0, done = 0, failed = 0;
    std::uint64_t queued = 0, retrying = 0, running = 0;
    std::int64_t oldest_ms = 0;
  };
  // Steps of equal length, one after the other.
  struct Series {
    milliseconds step{0};
    WallTime from{};
    std::vector<Sample> samples;
  };
  // Tasks a second, over the last ten seconds.
  struct Rates {
    double submitted = 0, started = 0, done = 0, failed = 0;
  };
  struct LimitSample {
    float tokens = 0;
    std::uint32_t waiting = 0;
  };
  struct LimitSeries {
    WallTime from{};
    std::vector<LimitSample> samples;
  };

  // True at the beginning of the first round, and of each in which a second is over.
  bool Due(const Now& now) const { return !began_ || now.mono >= next_second_; }
  // REQUIRES: nothing happened since the last round. `now` does not go back.
  void Advance(const Now& now, const EngineStats& stats);

  // The same for limits; asked for while there are any.
  bool LimitsDue(const Now& now) const { return limits_expected_ && now.mono >= next_limits_; }
  struct LimitLevel {
    std::string_view uuid;
    double tokens = 0;
    std::size_t waiting = 0;
  };
  void AdvanceLimits(const Now& now, std::span<const LimitLevel> limits);
  // A limit was made.
  void ExpectLimits() { limits_expected_ = true; }
  // When to look at limits again; none while there are none.
  std::optional<Instant> NextLimits() const;

  // As of the last Advance().
  Series Seconds() const { return SeriesOf(seconds_); }
  Series Minutes() const { return SeriesOf(minutes_); }
  Rates LastRates() const;
  // Empty if that limit was not there at the last step.
  LimitSeries Limit(std::string_view uuid) const;

 private:
  struct Totals {
    std::uint64_t submitted = 0, started = 0, done = 0, failed = 0;
  };
  struct Steps {
    Steps(milliseconds length, std::size_t kept) : step(length), samples(kept) {}
    milliseconds step;
    LastOnes<Sample> samples;
    std::int64_t current = 0;  // the step that is not over, counted from the epoch
    Totals before;             // what had been counted when it began
  };
  struct LimitSteps {
    LastOnes<LimitSample> samples{kLimitSteps};
    bool seen = true;
  };
  static void Advance(Steps& steps, std::int64_t now_ms, const Totals& totals, const EngineStats& stats);
  static Series SeriesOf(const Steps& steps);
  // Milliseconds since the epoch by the clock that does not jump: steps begin with those of people's clocks, as these
  // were at the start.
  std::int64_t At(Instant mono) const { return start_ms_ + ToMillis(mono - start_); }
  Instant When(std::int64_t at_ms) const { return start_ + milliseconds(at_ms - start_ms_); }

  bool began_ = false;
  Instant start_{};
  std::int64_t start_ms_ = 0;
  Instant next_second_{};
  Steps seconds_{milliseconds(1000), kSeconds};
  Steps minutes_{milliseconds(60'000), kMinutes};
  bool limits_expected_ = true;  // after a start there are none, but that is for the first look to find
  Instant next_limits_{};
  std::int64_t limits_end_ = 0;  // of the last step
  std::map<std::string, LimitSteps, std::less<>> limits_;
};

}  // namespace allot
