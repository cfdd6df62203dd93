// SPDX-License-Identifier: Apache-2.0
// Which values have changed lately (their leases, when they were served, their weights): for those who look at few
// values now and then, and would not be told of each change of any. Of long ago nothing is known.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "strategy/index/value_table.h"

namespace allot {

class ValueLog {
 public:
  using Entry = std::pair<KeyId, ValueId>;
  static constexpr std::size_t kKept = 16'384;

  // Nobody reads it until it is kept.
  void Keep(bool keep) {
    entries_.clear();
    entries_.resize(keep ? kKept : 0);
    begin_ = end_;
  }
  void Add(const Entry& entry) {
    if (entries_.empty()) return;
    entries_[end_++ % kKept] = entry;
    if (end_ - begin_ > kKept) ++begin_;
  }
  // The position behind the last change; positions only grow.
  std::uint64_t end() const { return end_; }
  // Is all known that has changed from that position on?
  bool Knows(std::uint64_t position) const { return position >= begin_; }
  // REQUIRES: it is known.
  const Entry& At(std::uint64_t position) const { return entries_[position % kKept]; }

 private:
  std::vector<Entry> entries_;
  std::uint64_t begin_ = 0, end_ = 0;
};

}  // namespace allot
