// The starts' part of LimitTable: draws, refunds, and what waits.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "limits/limit_table.h"

namespace allot {

LimitTable::Limit* LimitTable::Of(const Charge& charge) const {
  Limit* limit = limits_[charge.slot].get();
  return limit != nullptr && limit->version == charge.version ? limit : nullptr;
}

bool LimitTable::Lacks(const Limit& limit, Tokens cost, Instant now) {
  // A count of 0 stops whatever it matches, also what costs nothing.
  return limit.bucket.terms().count == Tokens{} || !limit.bucket.CanPay(cost, now);
}

std::optional<Instant> LimitTable::PayableAt(const Limit& limit, Tokens cost, Instant now) {
  if (limit.spec.monitor) return now;
  if (limit.bucket.terms().count == Tokens{}) return std::nullopt;
  return limit.bucket.CanPayAt(cost, now);
}

LimitTable::Latest LimitTable::LatestDenying(std::span<const Charge> charges, Instant now) const {
  Latest latest;
  for (const Charge& charge : charges) {
    const Limit* limit = Of(charge);
    if (limit == nullptr || !Denies(*limit, charge.cost, now)) continue;
    const std::optional<Instant> at = PayableAt(*limit, charge.cost, now);
    if (latest.charge == nullptr || (latest.at && (!at || *at > *latest.at))) latest = {&charge, at};
  }
  return latest;
}

// --- Jobs and workers.

void LimitTable::DropJob(GroupId group, const Now& now) {
  if (!matcher_.DropJob(group)) return;
  for (auto at = waiting_groups_.lower_bound({group, 0}); at != waiting_groups_.end() && at->first == group;) {
    const LimitProfileId profile = (at++)->second;
    Forget({profile, group}, now.mono);
  }
}

void LimitTable::ChangeWorker(WorkerHandle worker, std::shared_ptr<const expr::Ad> ad, const Now& now) {
  ForgetProfiles(matcher_.ChangeWorker(worker, std::move(ad)), now.mono);
}

void LimitTable::DropWorker(WorkerHandle worker, const Now& now) {
  ForgetProfiles(matcher_.DropWorker(worker), now.mono);
}

LimitProfileId LimitTable::ProfileOf(WorkerHandle worker, const Now& now) {
  std::vector<LimitProfileId> gone;
  const LimitProfileId profile = matcher_.ProfileOf(worker, gone);
  ForgetProfiles(gone, now.mono);
  return profile;
}

void LimitTable::ForgetProfiles(const std::vector<LimitProfileId>& gone, Instant now) {
  if (gone.empty()) return;
  forgetting_.insert(forgetting_.end(), gone.begin(), gone.end());
  std::size_t budget = kAtOnce;
  StepForgetting(budget, now);
}

void LimitTable::StepForgetting(std::size_t& budget, Instant now) {
  for (; !forgetting_.empty(); forgetting_.pop_front()) {
    const LimitProfileId profile = forgetting_.front();
    for (auto at = waiters_.lower_bound({profile, 0}); at != waiters_.end() && at->first.profile == profile;) {
      if (budget == 0) return;
      --budget;
      const WaitKey key = (at++)->first;
      Forget(key, now);
    }
    matcher_.ReleaseProfile(profile);
  }
}

// --- Starts.

LimitTable::Outcome LimitTable::Draw(GroupId group, WorkerHandle worker, std::string_view user, const Now& now) {
  const std::span<const Charge> charges = matcher_.Charges(group);
  std::span<const Charge> pair_charges;
  std::optional<LimitProfileId> profile;
  if (!matcher_.Terms(group).empty()) {
    profile = ProfileOf(worker, now);
    pair_charges = matcher_.PairCharges(group, *profile);
  }
  const auto denies = [&](const Charge& charge) {
    const Limit* limit = Of(charge);
    return limit != nullptr && Denies(*limit, charge.cost, now.mono);
  };
  if (std::any_of(charges.begin(), charges.end(), denies) ||
      std::any_of(pair_charges.begin(), pair_charges.end(), denies)) {
    return Deny(group, profile, charges, pair_charges, user, now);
  }
  Outcome outcome;
  for (const std::span<const Charge> some : {charges, pair_charges}) {
    for (const Charge& charge : some) {
      Limit* limit = Of(charge);
      if (limit == nullptr) continue;
      if (limit->spec.monitor && Lacks(*limit, charge.cost, now.mono)) {
        // It would have been blocked, and taken nothing.
        ++limit->counts.skipped;
        continue;
      }
      const Bucket::Taking taking = limit->bucket.Draw(charge.cost, now.mono);
      ++limit->allowed;
      limit->cost_allowed += taking.amount.number();
      outcome.drawn.push_back({limit->serial, taking});
    }
  }
  return outcome;
}

bool LimitTable::CanStart(GroupId group, WorkerHandle worker, const Now& now) {
  if (LatestDenying(matcher_.Charges(group), now.mono).charge != nullptr) return false;
  if (matcher_.Terms(group).empty()) return true;
  return LatestDenying(matcher_.PairCharges(group, ProfileOf(worker, now)), now.mono).charge == nullptr;
}

LimitTable::BlockState LimitTable::BlockStateOf(GroupId group, std::optional<WorkerHandle> worker, const Now& now) {
  BlockState out;
  std::optional<Instant> longest;
  const auto add = [&](std::span<const Charge> charges) {
    for (const Charge& charge : charges) {
      ++out.asked;
      const Limit* limit = Of(charge);
      if (limit == nullptr || !Denies(*limit, charge.cost, now.mono)) continue;
      const std::optional<Instant> at = PayableAt(*limit, charge.cost, now.mono);
      if (out.limits++ > 0 && (!longest || (at && *at <= *longest))) continue;
      out.longest = charge.slot;
      out.never = !at;
      longest = at;
    }
  };
  add(matcher_.Charges(group));
  if (worker && !matcher_.Terms(group).empty()) add(matcher_.PairCharges(group, ProfileOf(*worker, now)));
  return out;
}

std::vector<LimitMatcher::Charge> LimitTable::ChargesOn(GroupId group, WorkerHandle worker, const Now& now) {
  const std::span<const Charge> charges = matcher_.Charges(group);
  std::vector<Charge> out(charges.begin(), charges.end());
  if (matcher_.Terms(group).empty()) return out;
  const std::span<const Charge> pair = matcher_.PairCharges(group, ProfileOf(worker, now));
  out.insert(out.end(), pair.begin(), pair.end());
  return out;
}

bool LimitTable::Probe(GroupId group, WorkerHandle worker, const Now& now) {
  if (CanStart(group, worker, now)) return true;
  std::optional<LimitProfileId> profile;
  std::span<const Charge> pair_charges;
  if (!matcher_.Terms(group).empty()) {
    profile = ProfileOf(worker, now);
    pair_charges = matcher_.PairCharges(group, *profile);
  }
  Deny(group, profile, matcher_.Charges(group), pair_charges, std::nullopt, now);
  return false;
}

bool LimitTable::Applies(GroupId group) const {
  for (const Charge& charge : matcher_.Charges(group)) {
    if (Of(charge) != nullptr) return true;
  }
  for (const LimitMatcher::Term& term : matcher_.Terms(group)) {
    if (Of({term.slot, term.version, {}}) != nullptr) return true;
  }
  return false;
}

void LimitTable::Refund(const Drawn& drawn, const Now& now) {
  for (const Part& part : drawn) {
    const auto slot = by_serial_.find(part.serial);
    if (slot == by_serial_.end()) continue;
    Limit* limit = limits_[slot->second].get();
    limit->bucket.Refund(part.taking, now.mono);
    --limit->allowed;
    limit->cost_allowed = std::max(0.0, limit->cost_allowed - part.taking.amount.number());
    Arm(slot->second, now.mono);
  }
}

LimitTable::Outcome LimitTable::Deny(GroupId group, std::optional<LimitProfileId> profile,
                                     std::span<const Charge> charges, std::span<const Charge> pair_charges,
                                     std::optional<std::string_view> user, const Now& now) {
  Outcome outcome;
  outcome.denial = std::make_unique<Denial>();
  Denial& denial = *outcome.denial;
  const Latest of_group = LatestDenying(charges, now.mono);
  const Latest of_pair = LatestDenying(pair_charges, now.mono);
  denial.any_worker = of_group.charge != nullptr;
  denial.payable_at = denial.any_worker ? of_group.at : of_pair.at;
  if (denial.any_worker && of_pair.charge != nullptr) {
    denial.payable_at = of_group.at && of_pair.at ? std::optional(std::max(*of_group.at, *of_pair.at)) : std::nullopt;
  }
  const WaitKey key{denial.any_worker ? kAnyProfile : *profile, group};
  const auto [at, fresh] = waiters_.try_emplace(key);
  Waiter& waiter = at->second;
  if (user) {
    waiter.counted = try_;
    waiter.tried = now.mono;
    waiter.tried_at = now.wall;
  }
  if (fresh) {
    waiting_groups_.emplace(group, key.profile);
    Join(key, waiter, denial.any_worker ? *of_group.charge : *of_pair.charge, now.mono);
  }
  for (const std::span<const Charge> some : {charges, pair_charges}) {
    for (const Charge& charge : some) {
      Limit* limit = Of(charge);
      if (limit == nullptr || !Denies(*limit, charge.cost, now.mono)) continue;
      denial.limits.push_back(charge.slot);
      if (fresh) ++limit->counts.skipped;
      if (user) NoteIgnored(*limit, waiter, waiter.slot == charge.slot, *user, now);
    }
  }
  return outcome;
}

// --- What waits.

void LimitTable::Join(const WaitKey& key, Waiter& waiter, const Charge& charge, Instant now) {
  Limit& limit = *limits_[charge.slot];
  waiter.slot = charge.slot;
  waiter.cost = charge.cost;
  const std::optional<Instant> at = PayableAt(limit, charge.cost, now);
  waiter.promised = at.value_or(Instant::max());
  if (limit.waiting.empty()) limit.waiting_since = now;
  limit.waiting.emplace(charge.cost, key);
  for (const std::string& user : waiter.users) ++limit.users.Place(user).waiting;
  if (limit.waiting.begin()->second == key) Arm(charge.slot, now);
}

void LimitTable::Leave(const WaitKey& key, Waiter& waiter, Instant now) {
  Limit& limit = *limits_[waiter.slot];
  CHECK(limit.waiting.erase({waiter.cost, key}) == 1);
  if (limit.waiting.empty() && now > limit.waiting_since) limit.counts.blocked += now - limit.waiting_since;
  for (const std::string& user : waiter.users) {
    IgnoredUser* ignored = limit.users.Find(user);
    if (ignored == nullptr) continue;
    if (ignored->waiting > 0) --ignored->waiting;  // it may have been forgotten in between
    ignored->until = now + options_.ban_window;
  }
  parted_.Expire(now);
  if (waiter.tried == Instant::min() || limit.gone() || !matcher_.Live(key.group)) return;
  parted_.Put(waiter.slot, key.group,
              {matcher_.SerialOf(key.group), waiter.tried, waiter.tried_at, now + options_.ban_window});
}

void LimitTable::Arm(Slot slot, Instant now) {
  Limit& limit = *limits_[slot];
  std::optional<Instant> at;
  if (!limit.waiting.empty() && !limit.gone()) at = PayableAt(limit, limit.waiting.begin()->first, now);
  if (at == limit.timer) return;
  if (limit.timer) timers_.erase({*limit.timer, slot});
  limit.timer = at;
  if (at) timers_.emplace(*at, slot);
}

void LimitTable::Reconsider(Slot slot, const Now& now, bool all, std::size_t& budget) {
  Limit& limit = *limits_[slot];
  while (!limit.waiting.empty() && budget > 0) {
    const auto [cost, key] = *limit.waiting.begin();
    if (!all && Denies(limit, cost, now.mono)) break;
    --budget;
    Waiter& waiter = waiters_.at(key);
    Leave(key, waiter, now.mono);
    const Latest latest = LatestDenying(ChargesOf(key), now.mono);
    if (latest.charge == nullptr) {
      Open(key);
    } else {
      CHECK(latest.charge->slot != slot);
      Join(key, waiter, *latest.charge, now.mono);
    }
  }
  Arm(slot, now.mono);
}

std::span<const LimitTable::Charge> LimitTable::ChargesOf(const WaitKey& key) {
  return key.profile == kAnyProfile ? matcher_.Charges(key.group) : matcher_.PairCharges(key.group, key.profile);
}

void LimitTable::Open(const WaitKey& key) {
  waiters_.erase(key);
  waiting_groups_.erase({key.group, key.profile});
  opened_.push_back({key.group, key.profile == kAnyProfile ? std::nullopt : std::optional(key.profile)});
}

void LimitTable::Forget(const WaitKey& key, Instant now) {
  const auto found = waiters_.find(key);
  const Slot slot = found->second.slot;
  Leave(key, found->second, now);
  waiters_.erase(found);
  waiting_groups_.erase({key.group, key.profile});
  Arm(slot, now);
}

bool LimitTable::Blocked(GroupId group, WorkerHandle worker, const Now& now) {
  if (Blocked(group)) return true;
  return !matcher_.Terms(group).empty() && waiters_.contains({ProfileOf(worker, now), group});
}

std::optional<Instant> LimitTable::NextPayable() const {
  if (!opened_.empty() || !closing_.empty() || !forgetting_.empty()) return Instant::min();
  return timers_.empty() ? std::nullopt : std::optional(timers_.begin()->first);
}

std::vector<LimitTable::Blocking> LimitTable::TakePayable(const Now& now, std::size_t max) {
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

}  // namespace allot
