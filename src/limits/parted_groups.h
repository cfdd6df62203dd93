// SPDX-License-Identifier: Apache-2.0
// Groups of jobs that have waited for a limit within the ban window, and do so no more.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "base/time.h"
#include "limits/limit_matcher.h"

namespace allot {

class PartedGroups {
 public:
  using Slot = LimitMatcher::Slot;
  struct Parted {
    std::uint64_t serial = 0;  // of the group: ids are used again
    Instant tried{};           // the last denied try, and by the wall clock
    WallTime tried_at{};
    Instant until{};  // the end of the ban
  };
  // More than these are not kept: those go first that parted longest ago.
  static constexpr std::size_t kMost = 65'536;

  bool empty() const { return parted_.empty(); }
  void Put(Slot slot, GroupId group, const Parted& parted) {
    if (due_.size() >= kMost) Pop();
    parted_[{slot, group}] = parted;
    due_.emplace_back(parted.until, std::pair(slot, group));
  }
  // Forgets those whose ban is over.
  void Expire(Instant now) {
    while (!due_.empty() && due_.front().first <= now) Pop();
  }
  // Null: it has not waited for that limit of late.
  const Parted* Find(Slot slot, GroupId group, std::uint64_t serial, Instant now) const {
    const auto found = parted_.find({slot, group});
    return found != parted_.end() && now < found->second.until && found->second.serial == serial ? &found->second
                                                                                                 : nullptr;
  }
  // `visit(group, parted)` of that limit until it says false.
  template <typename Visit>
  void ForEach(Slot slot, Visit visit) const {
    for (auto at = parted_.lower_bound({slot, 0}); at != parted_.end() && at->first.first == slot; ++at) {
      if (!visit(at->first.second, at->second)) return;
    }
  }
  // The limit is gone.
  void Drop(Slot slot) { parted_.erase(parted_.lower_bound({slot, 0}), parted_.lower_bound({slot + 1, 0})); }

 private:
  void Pop() {
    const auto found = parted_.find(due_.front().second);
    if (found != parted_.end() && found->second.until <= due_.front().first) parted_.erase(found);
    due_.pop_front();
  }

  std::map<std::pair<Slot, GroupId>, Parted> parted_;
  std::deque<std::pair<Instant, std::pair<Slot, GroupId>>> due_;  // by the end of the ban
};

}  // namespace allot
