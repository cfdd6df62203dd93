// SPDX-License-Identifier: Apache-2.0
// How many of several tasks each of several workers gets, so that all end up as level as they can.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace allot {

// What a worker has, and where it stands among those that have as much: less comes first.
struct LevelPlace {
  std::uint64_t load = 0;
  std::uint64_t idle = 0;  // since when, as a sequence number; the longest idle first
  std::uint64_t id = 0;
  double unwanted = 0;  // by the job; before the other two
  // Who comes first among those that have as much.
  bool FirstOf(const LevelPlace& other) const {
    if (unwanted != other.unwanted) return unwanted < other.unwanted;
    return idle != other.idle ? idle < other.idle : id < other.id;
  }
  friend bool operator<(const LevelPlace& a, const LevelPlace& b) {
    return a.load != b.load ? a.load < b.load : a.FirstOf(b);
  }
  friend bool operator==(const LevelPlace&, const LevelPlace&) = default;
};

// What each gets of `tasks`: the same as if they were given away one by one, each to who comes first. `places` is in
// order. In time linear in their number.
inline std::vector<std::uint32_t> Level(const std::vector<LevelPlace>& places, std::uint64_t tasks) {
  std::vector<std::uint32_t> given(places.size());
  if (places.empty()) return given;
  // The lowest are raised to the level of the next ones, as long as there is enough.
  std::size_t raised = 1;
  std::uint64_t level = places.front().load, left = tasks;
  while (raised < places.size()) {
    if (places[raised].load > level) {
      const std::uint64_t step = places[raised].load - level;
      if (step > left / raised) break;
      left -= step * raised;
      level = places[raised].load;
    }
    ++raised;
  }
  level += left / raised;
  for (std::size_t i = 0; i < raised; ++i) given[i] = static_cast<std::uint32_t>(level - places[i].load);
  // Then all of them stand alike, but for who is first among equals.
  if (const std::size_t more = left % raised; more > 0) {
    std::vector<std::uint32_t> candidates(raised);
    std::iota(candidates.begin(), candidates.end(), 0);
    std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(more - 1), candidates.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return places[a].FirstOf(places[b]); });
    for (std::size_t i = 0; i < more; ++i) ++given[candidates[i]];
  }
  return given;
}

}  // namespace allot
