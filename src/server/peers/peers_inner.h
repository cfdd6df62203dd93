// SPDX-License-Identifier: Apache-2.0
// What the sources of Peers share. Inner header.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <chrono>
#include <memory>
#include <string_view>

#include "server/peers/peers.h"

namespace allot {

inline constexpr auto kParkTime = std::chrono::milliseconds(6000);
inline constexpr auto kAwayTime = std::chrono::milliseconds(1000);
inline constexpr std::uint64_t kMaxParked = 4096;
inline constexpr auto kConnectPatience = std::chrono::milliseconds(1000);
inline constexpr std::size_t kMaxUnsent = 256 * 1024;

struct Peers::Running {
  explicit Running(Peers& peers) : peers_(peers) { peers_.running_.fetch_add(1); }
  ~Running() { peers_.running_.fetch_sub(1); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Peers& peers_;
};

std::string_view MethodText(const Request& request);
// What a node says that has not done anything, since it lets the queue go, or ends.
bool SaysStopping(int status, std::string_view body);

}  // namespace allot
