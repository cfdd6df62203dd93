// SPDX-License-Identifier: Apache-2.0
// Whose starts were denied: the part of the table (limits/limit_table.h) that knows users.
//
// One is ignored by a limit that denied a start of it: while that waits, and for the ban window after. A denial of one
// job is a denial of all that are in its group by then.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "limits/group_users.h"
#include "limits/limit_slots.h"
#include "limits/limit_waits.h"

namespace allot {

class LimitUsers {
 public:
  using Slot = LimitMatcher::Slot;
  using WorkerHandle = LimitMatcher::WorkerHandle;

  LimitUsers(LimitSlots& limits, LimitWaits& waits) : limits_(limits), waits_(waits) {}
  LimitUsers(const LimitUsers&) = delete;
  LimitUsers& operator=(const LimitUsers&) = delete;

  // An open job of that user is in the group from now on, or is no more.
  void Count(GroupId group, std::string_view user, const Now& now) { group_users_.Add(group, user, now.mono); }
  void Uncount(GroupId group, std::string_view user, const Now& now);
  // A worker asks. Until the next one, a group that is denied to it counts once.
  void BeginTry() { ++try_; }
  // It may run jobs of that group, which were left out because they are blocked.
  void NoteTry(GroupId group, WorkerHandle worker, const Now& now);

  // --- For the other parts of the table.

  // A start of that user was denied by this limit; `waits_here`: the waiter waits for it.
  void NoteDenied(LimitState& limit, LimitWaiter& waiter, bool waits_here, std::string_view user, const Now& now);
  // The waiter was tried now.
  void Stamp(LimitWaiter& waiter, const Now& now) const;
  // Has it denied a start of that user, or of another in the group, and does that still count?
  bool Ignores(Slot slot, GroupId group, const std::string& user, Instant now) const;
  // Takes what it looks at from `looks`.
  std::vector<IgnoredView> IgnoredBy(Slot slot, Instant now, std::size_t& looks) const;

 private:
  LimitSlots& limits_;
  LimitWaits& waits_;
  GroupUsers group_users_;
  std::uint64_t try_ = 1;
};

}  // namespace allot
