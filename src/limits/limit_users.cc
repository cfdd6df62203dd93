// SPDX-License-Identifier: Apache-2.0
#include "limits/limit_users.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace allot {
namespace {

// Of workers that look alike to limits, so many sorts are looked at, where one group waits on more of them.
constexpr std::size_t kMostProfiles = 64;
// Users that a blocked group remembers by name. The others are those who have jobs in it.
constexpr std::size_t kUsersPerWaiter = 16;

}  // namespace

void LimitUsers::NoteDenied(LimitState& limit, LimitWaiter& waiter, bool waits_here, std::string_view user,
                            const Now& now) {
  ++limit.counts.ignored_matches;
  limit.last_ignored = now.wall;
  IgnoredUser& ignored = limit.users.Place(user);
  ignored.at = now.wall;
  ignored.until = now.mono + limits_.options().ban_window;
  if (!waits_here || waiter.users.size() >= kUsersPerWaiter) return;
  if (std::find(waiter.users.begin(), waiter.users.end(), user) != waiter.users.end()) return;
  waiter.users.emplace_back(user);
  ++ignored.waiting;
}

void LimitUsers::Stamp(LimitWaiter& waiter, const Now& now) const {
  waiter.counted = try_;
  waiter.tried = now.mono;
  waiter.tried_at = now.wall;
}

void LimitUsers::NoteTry(GroupId group, WorkerHandle worker, const Now& now) {
  LimitWaitKey key{kAnyProfile, group};
  LimitWaiter* found = waits_.Find(key);
  if (found == nullptr) {
    if (limits_.matcher().Terms(group).empty()) return;
    key.profile = waits_.ProfileOf(worker, now);
    found = waits_.Find(key);
    if (found == nullptr) return;
  }
  LimitWaiter& waiter = *found;
  if (waiter.counted == try_) return;
  Stamp(waiter, now);
  for (const LimitMatcher::Charge& charge : waits_.ChargesOf(key)) {
    LimitState* limit = limits_.Of(charge);
    if (limit == nullptr || !LimitSlots::Denies(*limit, charge.cost, now.mono)) continue;
    ++limit->counts.ignored_matches;
    limit->last_ignored = now.wall;
  }
  // A few are known by name, so that another group of such a user is known to be denied as well.
  if (waiter.users.size() >= kUsersPerWaiter || group_users_.CountOf(group) <= waiter.users.size()) return;
  LimitState& limit = limits_[waiter.slot];
  group_users_.ForEach(group, [&](std::string_view user, Instant) {
    if (std::find(waiter.users.begin(), waiter.users.end(), user) != waiter.users.end()) return true;
    waiter.users.emplace_back(user);
    IgnoredUser& ignored = limit.users.Place(user);
    ++ignored.waiting;
    ignored.at = now.wall;
    return waiter.users.size() < kUsersPerWaiter;
  });
}

void LimitUsers::Uncount(GroupId group, std::string_view user, const Now& now) {
  const std::optional<Instant> since = group_users_.Remove(group, user);
  if (!since) return;
  // What was denied it there is remembered by its name from now on.
  const auto note = [&](Slot slot, WallTime at, Instant until) {
    IgnoredUser& ignored = limits_[slot].users.Place(user);
    ignored.at = std::max(ignored.at, at);
    ignored.until = std::max(ignored.until, until);
  };
  waits_.ForEachOf(group, kMostProfiles, [&](LimitWaiter& waiter) {
    if (const auto named = std::find(waiter.users.begin(), waiter.users.end(), user); named != waiter.users.end()) {
      waiter.users.erase(named);
      IgnoredUser* ignored = limits_[waiter.slot].users.Find(user);
      if (ignored != nullptr && ignored->waiting > 0) --ignored->waiting;
    }
    if (*since <= waiter.tried) note(waiter.slot, waiter.tried_at, now.mono + limits_.options().ban_window);
    return true;
  });
  const PartedGroups& parted_groups = waits_.parted();
  if (parted_groups.empty()) return;
  const auto look = [&](Slot slot, LimitMatcher::Version version) {
    if (limits_.Of({slot, version, {}}) == nullptr) return;
    const auto* parted = parted_groups.Find(slot, group, limits_.matcher().SerialOf(group), now.mono);
    if (parted != nullptr && *since <= parted->tried) note(slot, parted->tried_at, parted->until);
  };
  for (const LimitMatcher::Charge& charge : limits_.matcher().Charges(group)) look(charge.slot, charge.version);
  for (const LimitMatcher::Term& term : limits_.matcher().Terms(group)) look(term.slot, term.version);
}

bool LimitUsers::Ignores(Slot slot, GroupId group, const std::string& user, Instant now) const {
  const IgnoredUser* known = limits_[slot].users.Find(user);
  if (known != nullptr && known->Counts(now)) return true;
  // On some workers the group waits for it, whoever's job it was that was denied; or it has just done so.
  bool waits = false;
  waits_.ForEachOf(group, kMostProfiles, [&](const LimitWaiter& waiter) {
    waits = waiter.slot == slot;
    return !waits;
  });
  if (waits) return true;
  const auto* parted = waits_.parted().Find(slot, group, limits_.matcher().SerialOf(group), now);
  if (parted == nullptr) return false;
  const std::optional<Instant> since = group_users_.Since(group, user);
  return since && *since <= parted->tried;
}

std::vector<IgnoredView> LimitUsers::IgnoredBy(Slot slot, Instant now, std::size_t& looks) const {
  const LimitState& limit = limits_[slot];
  std::vector<IgnoredView> views;  // of one time in the order in which they were denied
  std::unordered_map<std::string, std::size_t> places;
  const auto put = [&](std::string_view user, WallTime at) {
    const auto [place, fresh] = places.try_emplace(std::string(user), views.size());
    if (fresh) views.push_back({std::string(user), at});
    IgnoredView& view = views[place->second];
    view.at = std::max(view.at, at);
  };
  for (const IgnoredUser& user : limit.users.all()) {
    if (user.Counts(now)) put(user.user, user.at);
  }
  const auto add = [&](GroupId group, Instant tried, WallTime at) {
    if (looks > 0) --looks;
    group_users_.ForEach(group, [&](std::string_view user, Instant since) {
      if (since <= tried) put(user, at);
      return looks > 0 && --looks > 0;
    });
  };
  for (auto at = limit.waiting.begin(); at != limit.waiting.end() && looks > 0; ++at) {
    const LimitWaiter& waiter = waits_.At(at->second);
    add(at->second.group, waiter.tried, waiter.tried_at);
  }
  waits_.parted().ForEach(slot, [&](GroupId group, const PartedGroups::Parted& parted) {
    const bool same = parted.serial == limits_.matcher().SerialOf(group);
    if (looks > 0 && same && now < parted.until) add(group, parted.tried, parted.tried_at);
    return looks > 0;
  });
  std::stable_sort(views.begin(), views.end(), [](const IgnoredView& a, const IgnoredView& b) { return a.at < b.at; });
  if (views.size() > bounds::kMaxIgnoredUsers) {
    views.erase(views.begin(), views.end() - static_cast<std::ptrdiff_t>(bounds::kMaxIgnoredUsers));
  }
  return views;
}

}  // namespace allot
