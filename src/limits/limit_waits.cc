// SPDX-License-Identifier: Apache-2.0
#include "limits/limit_waits.h"

#include <utility>

#include "base/check.h"

namespace allot {

bool LimitWaits::Blocked(GroupId group, WorkerHandle worker, const Now& now) {
  if (Blocked(group)) return true;
  return !limits_.matcher().Terms(group).empty() && waiters_.contains({ProfileOf(worker, now), group});
}

LimitProfileId LimitWaits::ProfileOf(WorkerHandle worker, const Now& now) {
  std::vector<LimitProfileId> gone;
  const LimitProfileId profile = limits_.matcher().ProfileOf(worker, gone);
  ForgetProfiles(gone, now.mono);
  return profile;
}

std::vector<LimitWaits::Blocking> LimitWaits::TakePayable(const Now& now, std::size_t max) {
  std::size_t budget = max;
  StepForgetting(budget, now.mono);
  StepClosing(now, budget);
  while (!timers_.empty() && timers_.begin()->first <= now.mono && budget > 0) {
    Reconsider(timers_.begin()->second, now, false, budget);
  }
  if (opened_.size() <= max) return std::exchange(opened_, {});
  const std::vector<Blocking> some(opened_.end() - static_cast<std::ptrdiff_t>(max), opened_.end());
  opened_.resize(opened_.size() - max);
  return some;
}

std::pair<LimitWaiter&, bool> LimitWaits::Block(const LimitWaitKey& key, const Charge& charge, Instant now) {
  const auto [at, fresh] = waiters_.try_emplace(key);
  if (fresh) {
    groups_.emplace(key.group, key.profile);
    Join(key, at->second, charge, now);
  }
  return {at->second, fresh};
}

std::span<const LimitWaits::Charge> LimitWaits::ChargesOf(const LimitWaitKey& key) {
  return key.profile == kAnyProfile ? limits_.matcher().Charges(key.group)
                                    : limits_.matcher().PairCharges(key.group, key.profile);
}

void LimitWaits::Join(const WaitKey& key, Waiter& waiter, const Charge& charge, Instant now) {
  LimitState& limit = limits_[charge.slot];
  waiter.slot = charge.slot;
  waiter.cost = charge.cost;
  const std::optional<Instant> at = LimitSlots::PayableAt(limit, charge.cost, now);
  waiter.promised = at.value_or(Instant::max());
  if (limit.waiting.empty()) limit.waiting_since = now;
  limit.waiting.emplace(charge.cost, key);
  for (const std::string& user : waiter.users) ++limit.users.Place(user).waiting;
  if (limit.waiting.begin()->second == key) Arm(charge.slot, now);
}

void LimitWaits::Leave(const WaitKey& key, Waiter& waiter, Instant now) {
  LimitState& limit = limits_[waiter.slot];
  CHECK(limit.waiting.erase({waiter.cost, key}) == 1);
  if (limit.waiting.empty() && now > limit.waiting_since) limit.counts.blocked += now - limit.waiting_since;
  for (const std::string& user : waiter.users) {
    IgnoredUser* ignored = limit.users.Find(user);
    if (ignored == nullptr) continue;
    if (ignored->waiting > 0) --ignored->waiting;  // it may have been forgotten in between
    ignored->until = now + limits_.options().ban_window;
  }
  parted_.Expire(now);
  if (waiter.tried == Instant::min() || limit.gone() || !limits_.matcher().Live(key.group)) return;
  parted_.Put(
      waiter.slot, key.group,
      {limits_.matcher().SerialOf(key.group), waiter.tried, waiter.tried_at, now + limits_.options().ban_window});
}

void LimitWaits::Arm(Slot slot, Instant now) {
  LimitState& limit = limits_[slot];
  std::optional<Instant> at;
  if (!limit.waiting.empty() && !limit.gone()) at = LimitSlots::PayableAt(limit, limit.waiting.begin()->first, now);
  if (at == limit.timer) return;
  if (limit.timer) timers_.erase({*limit.timer, slot});
  limit.timer = at;
  if (at) timers_.emplace(*at, slot);
}

void LimitWaits::Reconsider(Slot slot, const Now& now) {
  std::size_t budget = kAtOnce;
  Reconsider(slot, now, false, budget);
}

// As many as the budget says, all of them or those that the bucket does not deny.
void LimitWaits::Reconsider(Slot slot, const Now& now, bool all, std::size_t& budget) {
  LimitState& limit = limits_[slot];
  while (!limit.waiting.empty() && budget > 0) {
    const auto [cost, key] = *limit.waiting.begin();
    if (!all && LimitSlots::Denies(limit, cost, now.mono)) break;
    --budget;
    Waiter& waiter = waiters_.at(key);
    Leave(key, waiter, now.mono);
    const LimitSlots::Latest latest = limits_.LatestDenying(ChargesOf(key), now.mono);
    if (latest.charge == nullptr) {
      Open(key);
    } else {
      CHECK(latest.charge->slot != slot);
      Join(key, waiter, *latest.charge, now.mono);
    }
  }
  Arm(slot, now.mono);
}

void LimitWaits::OnMove(Slot from, Slot to, const Now& now) {
  LimitState& limit = limits_[to];
  LimitState& left = limits_[from];
  left.waiting = std::exchange(limit.waiting, {});
  if (limit.timer) timers_.erase({*limit.timer, from});
  limit.timer.reset();
  if (!left.waiting.empty() && now.mono > limit.waiting_since) limit.counts.blocked += now.mono - limit.waiting_since;
  limit.users.EndWaiting(now.mono + limits_.options().ban_window);
  Close(from, now);
}

void LimitWaits::Close(Slot slot, const Now& now) {
  limits_[slot].version = 0;
  limits_.matcher().Remove(slot);
  parted_.Drop(slot);
  closing_.push_back(slot);
  std::size_t budget = kAtOnce;
  StepClosing(now, budget);
}

void LimitWaits::StepClosing(const Now& now, std::size_t& budget) {
  while (!closing_.empty() && budget > 0) {
    const Slot slot = closing_.front();
    Reconsider(slot, now, true, budget);
    if (!limits_[slot].waiting.empty()) return;
    closing_.pop_front();
    CHECK(!limits_[slot].timer);
    limits_.Free(slot);
  }
}

void LimitWaits::Open(const WaitKey& key) {
  waiters_.erase(key);
  groups_.erase({key.group, key.profile});
  opened_.push_back({key.group, key.profile == kAnyProfile ? std::nullopt : std::optional(key.profile)});
}

void LimitWaits::Forget(const WaitKey& key, Instant now) {
  const auto found = waiters_.find(key);
  const Slot slot = found->second.slot;
  Leave(key, found->second, now);
  waiters_.erase(found);
  groups_.erase({key.group, key.profile});
  Arm(slot, now);
}

void LimitWaits::ForgetGroup(GroupId group, Instant now) {
  for (auto at = groups_.lower_bound({group, 0}); at != groups_.end() && at->first == group;) {
    const LimitProfileId profile = (at++)->second;
    Forget({profile, group}, now);
  }
}

void LimitWaits::ForgetProfiles(const std::vector<LimitProfileId>& gone, Instant now) {
  if (gone.empty()) return;
  forgetting_.insert(forgetting_.end(), gone.begin(), gone.end());
  std::size_t budget = kAtOnce;
  StepForgetting(budget, now);
}

void LimitWaits::StepForgetting(std::size_t& budget, Instant now) {
  for (; !forgetting_.empty(); forgetting_.pop_front()) {
    const LimitProfileId profile = forgetting_.front();
    for (auto at = waiters_.lower_bound({profile, 0}); at != waiters_.end() && at->first.profile == profile;) {
      if (budget == 0) return;
      --budget;
      const WaitKey key = (at++)->first;
      Forget(key, now);
    }
    limits_.matcher().ReleaseProfile(profile);
  }
}

}  // namespace allot
