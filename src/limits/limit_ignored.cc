// The users' part of LimitTable: whose starts were denied, and when.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "limits/limit_table.h"

namespace allot {
namespace {

// Of workers that look alike to limits, so many sorts are looked at, where one group waits on more of them.
constexpr int kMostProfiles = 64;
// Users that a blocked group remembers by name. The others are those who have jobs in it.
constexpr std::size_t kUsersPerWaiter = 16;

}  // namespace

void LimitTable::NoteIgnored(Limit& limit, Waiter& waiter, bool waits_here, std::string_view user, const Now& now) {
  ++limit.counts.ignored_matches;
  limit.last_ignored = now.wall;
  IgnoredUser& ignored = limit.users.Place(user);
  ignored.at = now.wall;
  ignored.until = now.mono + options_.ban_window;
  if (!waits_here || waiter.users.size() >= kUsersPerWaiter) return;
  if (std::find(waiter.users.begin(), waiter.users.end(), user) != waiter.users.end()) return;
  waiter.users.emplace_back(user);
  ++ignored.waiting;
}

void LimitTable::NoteTry(GroupId group, WorkerHandle worker, const Now& now) {
  auto at = waiters_.find({kAnyProfile, group});
  if (at == waiters_.end()) {
    if (matcher_.Terms(group).empty()) return;
    at = waiters_.find({ProfileOf(worker, now), group});
    if (at == waiters_.end()) return;
  }
  Waiter& waiter = at->second;
  if (waiter.counted == try_) return;
  waiter.counted = try_;
  waiter.tried = now.mono;
  waiter.tried_at = now.wall;
  for (const Charge& charge : ChargesOf(at->first)) {
    Limit* limit = Of(charge);
    if (limit == nullptr || !Denies(*limit, charge.cost, now.mono)) continue;
    ++limit->counts.ignored_matches;
    limit->last_ignored = now.wall;
  }
  // A few are known by name, so that another group of such a user is known to be denied as well.
  if (waiter.users.size() >= kUsersPerWaiter || group_users_.CountOf(group) <= waiter.users.size()) return;
  Limit& limit = *limits_[waiter.slot];
  group_users_.ForEach(group, [&](std::string_view user, Instant) {
    if (std::find(waiter.users.begin(), waiter.users.end(), user) != waiter.users.end()) return true;
    waiter.users.emplace_back(user);
    IgnoredUser& ignored = limit.users.Place(user);
    ++ignored.waiting;
    ignored.at = now.wall;
    return waiter.users.size() < kUsersPerWaiter;
  });
}

void LimitTable::UncountUser(GroupId group, std::string_view user, const Now& now) {
  const std::optional<Instant> since = group_users_.Remove(group, user);
  if (!since) return;
  // What was denied it there is remembered by its name from now on.
  const auto note = [&](Slot slot, WallTime at, Instant until) {
    IgnoredUser& ignored = limits_[slot]->users.Place(user);
    ignored.at = std::max(ignored.at, at);
    ignored.until = std::max(ignored.until, until);
  };
  int left = kMostProfiles;
  for (auto at = waiting_groups_.lower_bound({group, 0});
       at != waiting_groups_.end() && at->first == group && left-- > 0; ++at) {
    Waiter& waiter = waiters_.at({at->second, group});
    if (const auto named = std::find(waiter.users.begin(), waiter.users.end(), user); named != waiter.users.end()) {
      waiter.users.erase(named);
      IgnoredUser* ignored = limits_[waiter.slot]->users.Find(user);
      if (ignored != nullptr && ignored->waiting > 0) --ignored->waiting;
    }
    if (*since <= waiter.tried) note(waiter.slot, waiter.tried_at, now.mono + options_.ban_window);
  }
  if (parted_.empty()) return;
  const auto look = [&](Slot slot, LimitMatcher::Version version) {
    if (Of({slot, version, {}}) == nullptr) return;
    const auto* parted = parted_.Find(slot, group, matcher_.SerialOf(group), now.mono);
    if (parted != nullptr && *since <= parted->tried) note(slot, parted->tried_at, parted->until);
  };
  for (const Charge& charge : matcher_.Charges(group)) look(charge.slot, charge.version);
  for (const LimitMatcher::Term& term : matcher_.Terms(group)) look(term.slot, term.version);
}

bool LimitTable::Ignores(Slot slot, GroupId group, const std::string& user, Instant now) const {
  const IgnoredUser* known = limits_[slot]->users.Find(user);
  if (known != nullptr && known->Counts(now)) return true;
  // On some workers the group waits for it, whoever's job it was that was denied; or it has just done so.
  int left = kMostProfiles;
  for (auto at = waiting_groups_.lower_bound({group, 0});
       at != waiting_groups_.end() && at->first == group && left-- > 0; ++at) {
    if (waiters_.at({at->second, group}).slot == slot) return true;
  }
  const auto* parted = parted_.Find(slot, group, matcher_.SerialOf(group), now);
  if (parted == nullptr) return false;
  const std::optional<Instant> since = group_users_.Since(group, user);
  return since && *since <= parted->tried;
}

std::vector<IgnoredView> LimitTable::IgnoredBy(Slot slot, Instant now, std::size_t& looks) const {
  const Limit& limit = *limits_[slot];
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
    const Waiter& waiter = waiters_.at(at->second);
    add(at->second.group, waiter.tried, waiter.tried_at);
  }
  parted_.ForEach(slot, [&](GroupId group, const PartedGroups::Parted& parted) {
    const bool same = parted.serial == matcher_.SerialOf(group);
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
