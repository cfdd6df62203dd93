// SPDX-License-Identifier: Apache-2.0
// To whom a queued task is open: to everybody who may run it, or to one of them, to whom it is promised.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace allot {

enum class DispatchMode : std::uint8_t {
  kFanout,    // whoever asks first gets it
  kBalanced,  // it is promised to one worker when it is queued
};

// Whom a queued task is promised to.
enum class Balance : std::uint8_t {
  kLeastQueue,  // who has the fewest tasks, promised and running
  kRoundRobin,  // one after the other
  kRandom,      // any, each as likely
};

struct DispatchOptions {
  DispatchMode mode = DispatchMode::kFanout;
  Balance balance = Balance::kLeastQueue;
  friend bool operator==(const DispatchOptions&, const DispatchOptions&) = default;
};

// Where a task was taken from.
// Changing it: the words are on the wire. Add, never rename.
enum class TakenFrom : std::uint8_t {
  kShared,   // fanout: the order that all workers share
  kOwn,      // balanced: the worker's own queue
  kOpen,     // balanced: what was promised to nobody yet
  kAnother,  // balanced: another worker's queue, since its own had nothing
};
inline std::string_view TakenFromText(TakenFrom from) {
  constexpr std::array<std::string_view, 4> kWords = {"shared", "own_queue", "open", "another_queue"};
  return kWords[static_cast<std::size_t>(from)];
}

// The words of configuration, wire and command line, by their number (base/words.h reads them).
inline constexpr std::array<std::string_view, 2> kDispatchWords = {"fanout", "balanced"};
inline constexpr std::array<std::string_view, 3> kBalanceWords = {"least_queue", "round_robin", "random"};

inline std::string_view Text(DispatchMode mode) { return kDispatchWords[static_cast<std::size_t>(mode)]; }
inline std::string_view Text(Balance balance) { return kBalanceWords[static_cast<std::size_t>(balance)]; }

}  // namespace allot
