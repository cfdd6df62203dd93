// SPDX-License-Identifier: Apache-2.0
// How long an engine thread's steps take, in CPU time of that thread: what others wait for at most, whatever else the
// machine does.
//
// Reading a thread's CPU time is a system call, and most steps take a microsecond: short ones are measured by the
// monotonic clock. That a step was interrupted does not make it long: it counts with the CPU time that has passed since
// that was last read, at most half a millisecond before.
//
// Threading: confined to the engine thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot {

// Labels of metrics: see kStepWords.
enum class StepKind : std::uint8_t {
  kCommand,  // one that changes something, or looks at one thing
  kLook,     // one that looks at many
  kTick,     // what is due, and a piece of larger work
  kEffects,  // what follows from commands, for workers and those who wait
  kFold,     // records for the store
  kRound,    // all of these, until what they decided is on its way
};
inline constexpr std::array<std::string_view, 6> kStepWords = {"command", "look", "tick", "effects", "fold", "round"};

// Seconds, as the bounds of a histogram's buckets.
inline constexpr std::array<double, 12> kStepBounds = {0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.002,
                                                       0.005,   0.01,    0.02,   0.05,   0.2,   1};

struct StepTotals {
  std::array<std::uint64_t, kStepBounds.size() + 1> counts{};
  std::int64_t sum = 0;      // nanoseconds
  std::int64_t longest = 0;  // nanoseconds
};

class StepMeter {
 public:
  using Totals = std::array<StepTotals, kStepWords.size()>;

  void BeginRound();
  // A step ends that began with the end of the one before, or with the round. Its length in nanoseconds.
  std::int64_t End(StepKind kind);
  void EndRound();
  // What has passed of the round, in nanoseconds of the monotonic clock.
  std::int64_t SinceBegin() const { return wall_ - round_wall_; }

  // What there was since the last time.
  bool any() const { return any_; }
  Totals Take();

 private:
  void Note(StepKind kind, std::int64_t nanoseconds);

  std::int64_t wall_ = 0;      // of the last end
  std::int64_t cpu_ = 0;       // as last read,
  std::int64_t cpu_wall_ = 0;  // at that time
  std::int64_t round_wall_ = 0;
  std::int64_t round_cpu_ = 0;
  bool any_ = false;
  Totals totals_{};
};

}  // namespace allot
