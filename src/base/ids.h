// SPDX-License-Identifier: Apache-2.0
// Ids. A job or worker id is a 63-bit snowflake: 41 bits of milliseconds since 2024-01-01, 10 bits of node, 12 bits of
// sequence. On the wire it is a decimal string.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace allot {

// A number that can only be mixed up with others of its own tag.
template <typename Tag>
struct StrongId {
  std::uint64_t value = 0;
  friend auto operator<=>(StrongId, StrongId) = default;
  explicit operator bool() const { return value != 0; }
};

using JobId = StrongId<struct JobTag>;
using WorkerId = StrongId<struct WorkerTag>;
using TaskIndex = std::uint32_t;

// A lease: a serial number, never reused in its queue, and a keyed hash over it and its task, so that none can be made
// up. On the wire `SERIAL-HASH`, both in lower-case hexadecimal.
struct LeaseId {
  std::uint64_t serial = 0;
  std::uint64_t mac = 0;
  friend auto operator<=>(const LeaseId&, const LeaseId&) = default;
};

// One task in one worker's hands.
struct TaskRef {
  JobId job;
  TaskIndex index = 0;
  LeaseId lease;
  friend bool operator==(const TaskRef&, const TaskRef&) = default;
};

std::string ToText(LeaseId lease);
void AppendText(LeaseId lease, std::string& out);
std::optional<LeaseId> ParseLeaseId(std::string_view text);

template <typename Tag>
std::string ToText(StrongId<Tag> id) {
  return std::to_string(id.value);
}
// A decimal number from 1 to 2^63-1, without sign or leading zeros.
std::optional<std::uint64_t> ParseId(std::string_view text);

// Hands out snowflakes, increasing, also when the wall clock steps back.
// Threading: all methods may be called from any thread.
class IdAllocator {
 public:
  // REQUIRES: node < 1024.
  explicit IdAllocator(std::uint32_t node = 0);
  // The next id is above `id`. For ids found in a store.
  void NeverBelow(std::uint64_t id);
  std::uint64_t Next(WallTime now);

 private:
  const std::uint64_t node_bits_;
  std::atomic<std::uint64_t> last_{0};
};

// When a snowflake was made.
WallTime SnowflakeTime(std::uint64_t id);

}  // namespace allot

template <typename Tag>
struct std::hash<allot::StrongId<Tag>> {
  std::size_t operator()(allot::StrongId<Tag> id) const noexcept {
    return static_cast<std::size_t>((id.value ^ (id.value >> 29)) * 0x9E3779B97F4A7C15ull);
  }
};
