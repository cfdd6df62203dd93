// SPDX-License-Identifier: Apache-2.0
// Indices as ranges that do not touch: what mostly comes in order takes few of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace allotter {

class IndexRanges {
 public:
  // False: it was there before.
  bool Add(std::uint64_t index) {
    const auto after = ranges_.upper_bound(index);
    const bool joins_after = after != ranges_.end() && after->first == index + 1;
    if (after != ranges_.begin()) {
      const auto before = std::prev(after);
      if (index < before->second) return false;
      if (index == before->second) {
        before->second = joins_after ? after->second : index + 1;
        if (joins_after) ranges_.erase(after);
        return true;
      }
    }
    const std::uint64_t end = joins_after ? after->second : index + 1;
    if (joins_after) ranges_.erase(after);
    ranges_.emplace(index, end);
    return true;
  }
  // From the first to the first behind it.
  const std::map<std::uint64_t, std::uint64_t>& all() const { return ranges_; }

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;
};

}  // namespace allotter
