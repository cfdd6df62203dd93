// SPDX-License-Identifier: Apache-2.0
// What is blocked, by which limit, and until when: the part of the table (limits/limit_table.h) that waits.
//
// Since a denial at cost c denies every cost above it as well, what waits for a limit stands in order of cost, and only
// the cheapest has an instant; that is looked at again when it comes, so that a draw costs the limits that it draws
// from and nothing else.
//
// Threading:  confined to the queue's engine thread.
// Invariants: what is blocked waits for exactly one limit, which denies it unless its instant has come.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "limits/limit_slots.h"
#include "limits/limit_state.h"
#include "limits/parted_groups.h"

namespace allot {

class LimitWaits {
 public:
  using Slot = LimitMatcher::Slot;
  using Charge = LimitMatcher::Charge;
  using WorkerHandle = LimitMatcher::WorkerHandle;

  explicit LimitWaits(LimitSlots& limits) : limits_(limits) {}
  LimitWaits(const LimitWaits&) = delete;
  LimitWaits& operator=(const LimitWaits&) = delete;

  // --- What is blocked.

  bool Blocked(GroupId group) const { return waiters_.contains({kAnyProfile, group}); }
  bool Blocked(GroupId group, WorkerHandle worker, const Now& now);
  bool BlockedAnywhere(GroupId group) const {
    const auto at = groups_.lower_bound({group, 0});
    return at != groups_.end() && at->first == group;
  }
  std::size_t size() const { return waiters_.size(); }
  // Workers that look alike to limits have one profile. All may have others when worker_reads() is another.
  LimitProfileId ProfileOf(WorkerHandle worker, const Now& now);

  struct Blocking {
    GroupId group = 0;
    std::optional<LimitProfileId> profile;  // none: on any worker
  };
  // When to ask TakePayable(): not later than anything opens, and at once if something has. None: nothing will.
  std::optional<Instant> NextPayable() const {
    if (!opened_.empty() || !closing_.empty() || !forgetting_.empty()) return Instant::min();
    return timers_.empty() ? std::nullopt : std::optional(timers_.begin()->first);
  }
  // Opens what can pay now, and gives what has opened since it was last asked, be it by time, refund, or a change of
  // limits: at most `max`, and the others the next time. Some may be of groups or profiles that are gone by now, or
  // blocked again.
  std::vector<Blocking> TakePayable(const Now& now, std::size_t max = static_cast<std::size_t>(-1));

  // --- For the other parts of the table.

  // Blocked from now on, if it was not: waits for the limit of that charge. Says whether that is new.
  std::pair<LimitWaiter&, bool> Block(const LimitWaitKey& key, const Charge& charge, Instant now);
  LimitWaiter* Find(const LimitWaitKey& key) {
    const auto found = waiters_.find(key);
    return found == waiters_.end() ? nullptr : &found->second;
  }
  // REQUIRES: it waits.
  const LimitWaiter& At(const LimitWaitKey& key) const { return waiters_.at(key); }
  // What blocks it.
  std::span<const Charge> ChargesOf(const LimitWaitKey& key);
  // Calls f(waiter) with those of the group, so many at most, while it says true.
  template <typename F>
  void ForEachOf(GroupId group, std::size_t most, F f) {
    for (auto at = groups_.lower_bound({group, 0}); at != groups_.end() && at->first == group && most-- > 0; ++at) {
      if (!f(waiters_.at({at->second, group}))) return;
    }
  }
  // Groups that waited for a limit until lately.
  const PartedGroups& parted() const { return parted_; }

  // There is no job of that group any more, or no worker of those profiles.
  void ForgetGroup(GroupId group, Instant now);
  void ForgetProfiles(const std::vector<LimitProfileId>& gone, Instant now);
  // The level of the bucket, or its terms, are others. Those that need not wait any more open, or wait for another.
  void Arm(Slot slot, Instant now);
  void Reconsider(Slot slot, const Now& now);
  // The limit has another slot: what waited for it in the one before is looked at anew.
  void OnMove(Slot from, Slot to, const Now& now);
  // From now on nothing is charged for the slot; what waits there opens in steps.
  void Close(Slot slot, const Now& now);

 private:
  using WaitKey = LimitWaitKey;
  using Waiter = LimitWaiter;

  // Puts the waiter to the limit, or takes it away from it.
  void Join(const WaitKey& key, Waiter& waiter, const Charge& charge, Instant now);
  void Leave(const WaitKey& key, Waiter& waiter, Instant now);
  void Reconsider(Slot slot, const Now& now, bool all, std::size_t& budget);
  void Open(const WaitKey& key);
  void Forget(const WaitKey& key, Instant now);
  void StepClosing(const Now& now, std::size_t& budget);
  void StepForgetting(std::size_t& budget, Instant now);
  // What is done at once where limits change or workers go; the rest follows with TakePayable().
  static constexpr std::size_t kAtOnce = 1024;

  LimitSlots& limits_;
  PartedGroups parted_;
  std::map<WaitKey, Waiter> waiters_;
  std::set<std::pair<GroupId, LimitProfileId>> groups_;  // the same, by group
  std::set<std::pair<Instant, Slot>> timers_;            // of limits that something waits for
  std::vector<Blocking> opened_;
  std::deque<Slot> closing_;               // of limits that are gone
  std::deque<LimitProfileId> forgetting_;  // profiles that are gone
};

}  // namespace allot
