// SPDX-License-Identifier: Apache-2.0
#include "limits/limit_looks.h"

#include <algorithm>
#include <utility>

namespace allot {
namespace {

// Users of jobs, and groups, that are looked at for one list.
constexpr std::size_t kMostLooks = 4096;

}  // namespace

LimitView LimitLooks::ViewOf(Slot slot, const LimitState& limit, Instant now, std::size_t& looks) const {
  LimitView view;
  view.uuid = limit.uuid;
  view.spec = limit.spec;
  view.job_only = limit.job_only;
  view.expires_in = std::max(Duration::zero(), limit.expires - now);
  view.tokens = limit.bucket.Level(now);
  view.allowed = limit.allowed;
  view.cost_allowed = limit.cost_allowed;
  const LimitCounts counts = limit.CountsUntil(now);
  view.skipped = counts.skipped;
  view.ignored_matches = counts.ignored_matches;
  view.last_ignored = limit.last_ignored;
  view.ignored_users = users_.IgnoredBy(slot, now, looks);
  view.blocked = counts.blocked;
  view.waiting = limit.waiting.size();
  if (!limit.waiting.empty()) {
    view.cheapest = limit.waiting.begin()->first;
    view.payable_at = LimitSlots::PayableAt(limit, *view.cheapest, now);
  }
  constexpr std::size_t kMost = 1000;
  for (auto at = limit.waiting.rbegin(); at != limit.waiting.rend() && view.waiting_forever < kMost; ++at) {
    if (limit.bucket.CanEverPay(at->first) && limit.bucket.terms().count > Tokens{}) break;
    ++view.waiting_forever;
  }
  view.cost_failed = limits_.matcher().CostFailed(slot);
  return view;
}

std::vector<LimitView> LimitLooks::List(const Filter& filter, const Now& now) const {
  std::vector<std::pair<Slot, const LimitState*>> found;
  limits_.ForEach([&](Slot slot, const LimitState& limit) {
    if ((!filter.tag || *filter.tag == limit.spec.tag) && (!filter.uuid || *filter.uuid == limit.uuid)) {
      found.emplace_back(slot, &limit);
    }
  });
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.second->serial < b.second->serial; });
  std::vector<LimitView> views;
  views.reserve(found.size());
  std::size_t looks = kMostLooks;
  for (const auto& [slot, limit] : found) views.push_back(ViewOf(slot, *limit, now.mono, looks));
  return views;
}

void LimitLooks::ForEachLevel(const Now& now, const LevelVisitor& f) const {
  limits_.ForEach(
      [&](Slot, const LimitState& limit) { f(limit.uuid, limit.bucket.Level(now.mono), limit.waiting.size()); });
}

bool LimitLooks::Applies(GroupId group) const {
  for (const Charge& charge : limits_.matcher().Charges(group)) {
    if (limits_.Of(charge) != nullptr) return true;
  }
  for (const LimitMatcher::Term& term : limits_.matcher().Terms(group)) {
    if (limits_.Of({term.slot, term.version, {}}) != nullptr) return true;
  }
  return false;
}

bool LimitLooks::CanStart(GroupId group, WorkerHandle worker, const Now& now) {
  if (limits_.LatestDenying(limits_.matcher().Charges(group), now.mono).charge != nullptr) return false;
  if (limits_.matcher().Terms(group).empty()) return true;
  return limits_.LatestDenying(limits_.matcher().PairCharges(group, waits_.ProfileOf(worker, now)), now.mono).charge ==
         nullptr;
}

LimitLooks::BlockState LimitLooks::BlockStateOf(GroupId group, std::optional<WorkerHandle> worker, const Now& now) {
  BlockState out;
  std::optional<Instant> longest;
  const auto add = [&](std::span<const Charge> charges) {
    for (const Charge& charge : charges) {
      ++out.asked;
      const LimitState* limit = limits_.Of(charge);
      if (limit == nullptr || !LimitSlots::Denies(*limit, charge.cost, now.mono)) continue;
      const std::optional<Instant> at = LimitSlots::PayableAt(*limit, charge.cost, now.mono);
      if (out.limits++ > 0 && (!longest || (at && *at <= *longest))) continue;
      out.longest = charge.slot;
      out.never = !at;
      longest = at;
    }
  };
  add(limits_.matcher().Charges(group));
  if (worker && !limits_.matcher().Terms(group).empty())
    add(limits_.matcher().PairCharges(group, waits_.ProfileOf(*worker, now)));
  return out;
}

std::vector<LimitMatcher::Charge> LimitLooks::ChargesOn(GroupId group, WorkerHandle worker, const Now& now) {
  const std::span<const Charge> charges = limits_.matcher().Charges(group);
  std::vector<Charge> out(charges.begin(), charges.end());
  if (limits_.matcher().Terms(group).empty()) return out;
  const std::span<const Charge> pair = limits_.matcher().PairCharges(group, waits_.ProfileOf(worker, now));
  out.insert(out.end(), pair.begin(), pair.end());
  return out;
}

std::uint64_t LimitLooks::PayableWithin(GroupId group, Duration horizon, const Now& now) const {
  std::uint64_t least = static_cast<std::uint64_t>(-1);
  for (const Charge& charge : limits_.matcher().Charges(group)) {
    const LimitState* limit = limits_.Of(charge);
    if (limit == nullptr || limit->spec.monitor) continue;
    const bool stopped = limit->bucket.terms().count == Tokens{};
    least = std::min(least, stopped ? 0 : limit->bucket.PayableWithin(horizon, charge.cost, now.mono));
  }
  return least;
}

std::vector<LimitLooks::Exclusion> LimitLooks::Exclusions(GroupId group, const std::string& user,
                                                          const Now& now) const {
  std::vector<Exclusion> exclusions;
  for (const LimitMatcher::Term& term : limits_.matcher().Terms(group)) {
    const LimitState* limit = limits_.Of({term.slot, term.version, {}});
    // What needs the job's own attributes means nothing to others.
    if (limit == nullptr || limit->spec.monitor || term.job_part) continue;
    if (!term.expr->Reads(expr::Side::kMachine, expr::Side::kJob)) continue;
    if (users_.Ignores(term.slot, group, user, now.mono)) exclusions.push_back({limit->Name(), term.expr});
  }
  return exclusions;
}

std::vector<LimitStatus> LimitLooks::StatusesOf(GroupId group, std::optional<WorkerHandle> worker, const Now& now) {
  std::vector<LimitStatus> statuses;
  const auto add = [&](std::span<const Charge> charges, const LimitWaitKey& key, bool reads_worker) {
    const LimitWaiter* waiter = waits_.Find(key);
    for (const Charge& charge : charges) {
      const LimitState* limit = limits_.Of(charge);
      if (limit == nullptr) continue;
      LimitStatus status{
          limit->Name(), limit->spec.monitor, reads_worker, limit->bucket.Level(now.mono), charge.cost, false,
          false,         std::nullopt,        false};
      status.blocks = LimitSlots::Denies(*limit, charge.cost, now.mono);
      status.never = limit->bucket.terms().count == Tokens{} || !limit->bucket.CanEverPay(charge.cost);
      if (status.blocks) status.payable_at = LimitSlots::PayableAt(*limit, charge.cost, now.mono);
      status.overtaken = status.blocks && !status.never && waiter != nullptr && waiter->slot == charge.slot &&
                         waiter->promised <= now.mono;
      statuses.push_back(std::move(status));
    }
  };
  add(limits_.matcher().Charges(group), {kAnyProfile, group}, false);
  if (worker && !limits_.matcher().Terms(group).empty()) {
    const LimitProfileId profile = waits_.ProfileOf(*worker, now);
    add(limits_.matcher().PairCharges(group, profile), {profile, group}, true);
  }
  return statuses;
}

}  // namespace allot
