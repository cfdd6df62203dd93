// SPDX-License-Identifier: Apache-2.0
// What the limits of a queue can pay within a time, shared among all that would like to start.
//
// Whoever comes first takes from every limit that applies to it, whatever the worker, and what is left is for those
// that come later. Limits are taken to stay as they are: one whose lease ends in between is expected to be renewed.
//
// A group under one limit is told exactly what could be drawn. Where several apply to a start, one of them may run over
// while another is waited for, and a start or so may be missing at the end of the time; but what is said to be 0 is 0,
// and the first that is asked is never told 1 for 0.
//
// Threading: none of its own; it holds nothing of the table.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "limits/limit_table.h"

namespace allot {

class LimitForecast {
 public:
  LimitForecast(const LimitTable& table, Duration horizon, const Now& now);

  // What applies to starts of a group: its charges, and whether a limit of which only the cost depends on the worker
  // has a count of 0, and so stops it everywhere.
  struct Group {
    std::shared_ptr<const std::vector<LimitMatcher::Charge>> charges;  // the matcher's own
    std::vector<LimitMatcher::Charge> stops;  // of those that read the worker for the cost alone
  };
  static Group GroupOf(const LimitMatcher& matcher, GroupId group);

  // Is one start paid for, after what earlier calls took? Takes nothing.
  bool CanTake(const Group& group);
  // How many of so many starts are paid for, after what earlier calls took. Takes them.
  std::uint64_t Take(const Group& group, std::uint64_t wanted);
  // The limits that alone would have paid for less than the last Take() wanted.
  const std::vector<LimitMatcher::Slot>& cut() const { return cut_; }
  // REQUIRES: from cut().
  const LimitName& NameOf(LimitMatcher::Slot slot) const { return limits_[slot]->name; }

 private:
  struct Limit {
    LimitName name;
    LimitMatcher::Version version;
    bool stopped;  // nothing that it matches can start
    Bucket::Purse purse;
  };
  // Null if the limit is gone, another by now, or blocks nothing.
  Limit* Of(const LimitMatcher::Charge& charge);

  std::vector<std::optional<Limit>> limits_;  // by slot
  std::vector<LimitMatcher::Slot> cut_;
};

}  // namespace allot
