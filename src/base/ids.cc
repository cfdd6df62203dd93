// SPDX-License-Identifier: Apache-2.0
#include "base/ids.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"

namespace allot {
namespace {

constexpr std::int64_t kEpochMs = 1704067200000;  // 2024-01-01T00:00:00Z
constexpr int kNodeBits = 10;
constexpr int kSequenceBits = 12;
constexpr std::uint64_t kSequenceMask = (1u << kSequenceBits) - 1;

std::optional<std::uint64_t> ParseHex(std::string_view text) {
  std::uint64_t value = 0;
  if (text.empty() || text.size() > 16) return std::nullopt;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

void AppendText(LeaseId lease, std::string& out) {
  char buffer[34];
  char* end = std::to_chars(buffer, buffer + 16, lease.serial, 16).ptr;
  *end++ = '-';
  end = std::to_chars(end, buffer + sizeof buffer, lease.mac, 16).ptr;
  out.append(buffer, end);
}

std::string ToText(LeaseId lease) {
  std::string out;
  AppendText(lease, out);
  return out;
}

std::optional<LeaseId> ParseLeaseId(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto serial = ParseHex(text.substr(0, dash));
  const auto mac = ParseHex(text.substr(dash + 1));
  if (!serial || !mac) return std::nullopt;
  return LeaseId{*serial, *mac};
}

std::optional<std::uint64_t> ParseId(std::string_view text) {
  std::uint64_t value = 0;
  if (text.empty() || text.size() > 19 || text[0] < '1' || text[0] > '9') return std::nullopt;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || (value >> 63) != 0) return std::nullopt;
  return value;
}

IdAllocator::IdAllocator(std::uint32_t node) : node_bits_(std::uint64_t{node} << kSequenceBits) {
  CHECK(node < (1u << kNodeBits));
}

void IdAllocator::NeverBelow(std::uint64_t id) {
  std::uint64_t last = last_.load();
  while (last < id && !last_.compare_exchange_weak(last, id)) {
  }
}

std::uint64_t IdAllocator::Next(WallTime now) {
  const std::uint64_t ms = static_cast<std::uint64_t>(std::max<std::int64_t>(ToMillis(now) - kEpochMs, 1));
  const std::uint64_t fresh = (ms << (kNodeBits + kSequenceBits)) | node_bits_;
  std::uint64_t last = last_.load();
  for (;;) {
    std::uint64_t next = fresh;
    if (next <= last) {
      // The same millisecond, or a clock that went back: count on, and borrow a millisecond when the sequence is used
      // up.
      const std::uint64_t last_ms = last >> (kNodeBits + kSequenceBits);
      const std::uint64_t sequence = (last & kSequenceMask) + 1;
      next = sequence <= kSequenceMask ? (last_ms << (kNodeBits + kSequenceBits)) | node_bits_ | sequence
                                       : ((last_ms + 1) << (kNodeBits + kSequenceBits)) | node_bits_;
      if (next <= last) next = ((last_ms + 1) << (kNodeBits + kSequenceBits)) | node_bits_;
    }
    if (last_.compare_exchange_weak(last, next)) return next;
  }
}

WallTime SnowflakeTime(std::uint64_t id) {
  return FromMillis(static_cast<std::int64_t>(id >> (kNodeBits + kSequenceBits)) + kEpochMs);
}

}  // namespace allot
