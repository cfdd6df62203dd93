// Who holds a ready task: everybody who may run it, or one of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace allot {

enum class DispatchMode : std::uint8_t {
  kFanout,    // whoever asks first gets it
  kBalanced,  // it is promised to one worker when it becomes ready
};

// Whom a ready task is promised to.
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

// The words of configuration, wire and command line, by their number.
inline constexpr std::array<std::string_view, 2> kDispatchWords = {"fanout", "balanced"};
inline constexpr std::array<std::string_view, 3> kBalanceWords = {"least_queue", "round_robin", "random"};

inline std::string_view Text(DispatchMode mode) { return kDispatchWords[static_cast<std::size_t>(mode)]; }
inline std::string_view Text(Balance balance) { return kBalanceWords[static_cast<std::size_t>(balance)]; }

// None for any other word.
inline std::optional<DispatchMode> ParseDispatchMode(std::string_view text) {
  for (std::size_t i = 0; i < kDispatchWords.size(); ++i) {
    if (text == kDispatchWords[i]) return static_cast<DispatchMode>(i);
  }
  return std::nullopt;
}
inline std::optional<Balance> ParseBalance(std::string_view text) {
  for (std::size_t i = 0; i < kBalanceWords.size(); ++i) {
    if (text == kBalanceWords[i]) return static_cast<Balance>(i);
  }
  return std::nullopt;
}

}  // namespace allot
