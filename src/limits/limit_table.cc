#include "limits/limit_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"

namespace allot {
namespace {

constexpr std::size_t kMaxUuidBytes = 64;
// Users of jobs, and groups, that are looked at for one list.
constexpr std::size_t kMostLooks = 4096;

bool IsUuid(std::string_view text) {
  return !text.empty() && text.size() <= kMaxUuidBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsAsciiLetter(c) || IsAsciiDigit(c) || c == '-'; });
}

}  // namespace

// --- Limits.

Result<LimitTable::Limit*> LimitTable::Find(std::string_view uuid) const {
  const auto found = uuids_.find(std::string(uuid.substr(0, kMaxUuidBytes + 1)));
  if (found != uuids_.end()) return limits_[found->second].get();
  return Error{Code::kUnknownLimit, IsUuid(uuid) ? fmt::format("there is no limit {}", uuid) : "there is no such limit",
               "it may have expired: set it anew"};
}

void LimitTable::SetExpiry(Slot slot, Instant at) {
  Limit& limit = *limits_[slot];
  expiries_.erase({limit.expires, slot});
  limit.expires = at;
  expiries_.emplace(at, slot);
}

LimitTable::Slot LimitTable::NewSlot() {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<Slot>(limits_.size()));
    limits_.emplace_back();
  }
  const Slot slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

Result<LimitLease> LimitTable::Create(std::string_view uuid, LimitSpec spec, const Now& now) {
  if (const Result<void> check = CheckLimit(spec); !check.ok()) return check.error();
  if (!IsUuid(uuid)) {
    return Error{Code::kBadValue, fmt::format("`uuid`: must be 1 to {} letters, digits or `-`", kMaxUuidBytes), ""};
  }
  if (uuids_.contains(std::string(uuid)))
    return Error{Code::kBadValue, fmt::format("`uuid`: there is a limit {} already", uuid), "update that one"};
  if (uuids_.size() >= options_.max_limits)
    return Error{Code::kTooManyLimits,
                 fmt::format("there are {} limits, which is as many as there may be", uuids_.size()),
                 "delete some, or let them expire"};
  const Slot slot = NewSlot();
  const Duration lease = Lease(*spec.expires_in);
  const bool capped = lease < *spec.expires_in;
  limits_[slot] = std::make_unique<Limit>(uuid, TermsOf(spec), now.mono);
  Limit& limit = *limits_[slot];
  limit.serial = next_serial_++;
  by_serial_.emplace(limit.serial, slot);
  limit.job_only = IsJobOnly(spec);
  limit.version = matcher_.Put(slot, spec.expr, spec.cost);
  limit.spec = std::move(spec);
  uuids_.emplace(limit.uuid, slot);
  SetExpiry(slot, now.mono + lease);
  if (!last_summary_) last_summary_ = now.mono;
  return LimitLease{limit.uuid, lease, capped};
}

Result<LimitLease> LimitTable::Update(std::string_view uuid, LimitSpec spec, const Now& now) {
  if (const Result<void> check = CheckLimit(spec); !check.ok()) return check.error();
  const Result<Limit*> found = Find(uuid);
  if (!found.ok()) return found.error();
  const bool matches_otherwise = !SameExpressions((*found)->spec, spec);
  Slot slot = uuids_.at((*found)->uuid);
  if (matches_otherwise) slot = Rehouse(slot, now);
  Limit& limit = *limits_[slot];
  const Duration lease = Lease(*spec.expires_in);
  const bool capped = lease < *spec.expires_in;
  limit.bucket.Update(TermsOf(spec), now.mono);
  if (matches_otherwise) {
    limit.version = matcher_.Put(slot, spec.expr, spec.cost);
    limit.job_only = IsJobOnly(spec);
    limit.cost_warned = false;
  }
  limit.spec = std::move(spec);
  SetExpiry(slot, now.mono + lease);
  std::size_t budget = kAtOnce;
  Reconsider(slot, now, false, budget);
  return LimitLease{limit.uuid, lease, capped};
}

Result<LimitLease> LimitTable::Renew(std::string_view uuid, std::optional<Duration> expires_in, const Now& now) {
  if (expires_in && *expires_in <= Duration::zero())
    return Error{Code::kBadValue, "`expires_in`: must be more than 0", ""};
  const Result<Limit*> found = Find(uuid);
  if (!found.ok()) return found.error();
  Limit& limit = **found;
  if (expires_in) limit.spec.expires_in = expires_in;
  const Duration lease = Lease(*limit.spec.expires_in);
  SetExpiry(uuids_.at(limit.uuid), now.mono + lease);
  return LimitLease{limit.uuid, lease, lease < *limit.spec.expires_in};
}

Result<void> LimitTable::Delete(std::string_view uuid, const Now& now) {
  const Result<Limit*> found = Find(uuid);
  if (!found.ok()) return found.error();
  Remove(uuids_.at((*found)->uuid), now);
  return {};
}

void LimitTable::Remove(Slot slot, const Now& now) {
  Limit& limit = *limits_[slot];
  const LimitCounts counts = CountsOf(limit, now.mono);
  if (counts != limit.reported && partings_.size() < options_.max_limits) {
    partings_.push_back({limit.Name(), counts.skipped - limit.reported.skipped,
                         counts.ignored_matches - limit.reported.ignored_matches,
                         counts.blocked - limit.reported.blocked, limit.users.all().size()});
  }
  expiries_.erase({limit.expires, slot});
  uuids_.erase(limit.uuid);
  by_serial_.erase(limit.serial);
  Close(slot, now);
}

LimitTable::Slot LimitTable::Rehouse(Slot slot, const Now& now) {
  const Slot next = NewSlot();
  Limit& limit = *(limits_[next] = std::move(limits_[slot]));
  // What is left behind has what waits, and nothing else of it.
  limits_[slot] = std::make_unique<Limit>(limit.uuid, limit.bucket.terms(), now.mono);
  limits_[slot]->waiting = std::exchange(limit.waiting, {});
  if (limit.timer) timers_.erase({*limit.timer, slot});
  limit.timer.reset();
  if (!limits_[slot]->waiting.empty() && now.mono > limit.waiting_since) {
    limit.counts.blocked += now.mono - limit.waiting_since;
  }
  limit.users.EndWaiting(now.mono + options_.ban_window);
  expiries_.erase({limit.expires, slot});
  expiries_.emplace(limit.expires, next);
  uuids_[limit.uuid] = next;
  by_serial_[limit.serial] = next;
  Close(slot, now);
  return next;
}

void LimitTable::Close(Slot slot, const Now& now) {
  Limit& limit = *limits_[slot];
  limit.version = 0;
  matcher_.Remove(slot);
  parted_.Drop(slot);
  closing_.push_back(slot);
  std::size_t budget = kAtOnce;
  StepClosing(now, budget);
}

void LimitTable::StepClosing(const Now& now, std::size_t& budget) {
  while (!closing_.empty() && budget > 0) {
    const Slot slot = closing_.front();
    Reconsider(slot, now, true, budget);
    if (!limits_[slot]->waiting.empty()) return;
    closing_.pop_front();
    CHECK(!limits_[slot]->timer);
    limits_[slot] = nullptr;
    free_slots_.push_back(slot);
  }
}

std::optional<Instant> LimitTable::NextExpiry() const {
  return expiries_.empty() ? std::nullopt : std::optional(expiries_.begin()->first);
}

std::vector<LimitName> LimitTable::Expire(const Now& now) {
  std::vector<LimitName> gone;
  while (!expiries_.empty() && expiries_.begin()->first <= now.mono) {
    const Slot slot = expiries_.begin()->second;
    gone.push_back(limits_[slot]->Name());
    Remove(slot, now);
  }
  return gone;
}

// --- Views.

LimitCounts LimitTable::CountsOf(const Limit& limit, Instant now) const {
  LimitCounts counts = limit.counts;
  if (!limit.waiting.empty() && now > limit.waiting_since) counts.blocked += now - limit.waiting_since;
  return counts;
}

LimitView LimitTable::ViewOf(const Limit& limit, Instant now, std::size_t& looks) const {
  LimitView view;
  view.uuid = limit.uuid;
  view.spec = limit.spec;
  view.job_only = limit.job_only;
  view.expires_in = std::max(Duration::zero(), limit.expires - now);
  view.tokens = limit.bucket.Level(now);
  view.allowed = limit.allowed;
  view.cost_allowed = limit.cost_allowed;
  const LimitCounts counts = CountsOf(limit, now);
  view.skipped = counts.skipped;
  view.ignored_matches = counts.ignored_matches;
  view.last_ignored = limit.last_ignored;
  view.ignored_users = IgnoredBy(uuids_.at(limit.uuid), now, looks);
  view.blocked = counts.blocked;
  view.waiting = limit.waiting.size();
  if (!limit.waiting.empty()) {
    view.cheapest = limit.waiting.begin()->first;
    view.payable_at = PayableAt(limit, *view.cheapest, now);
  }
  constexpr std::size_t kMost = 1000;
  for (auto at = limit.waiting.rbegin(); at != limit.waiting.rend() && view.waiting_forever < kMost; ++at) {
    if (limit.bucket.CanEverPay(at->first) && limit.bucket.terms().count > Tokens{}) break;
    ++view.waiting_forever;
  }
  view.cost_failed = matcher_.CostFailed(uuids_.at(limit.uuid));
  return view;
}

std::vector<LimitView> LimitTable::List(const Filter& filter, const Now& now) const {
  std::vector<const Limit*> found;
  for (const auto& limit : limits_) {
    if (limit && !limit->gone() && (!filter.tag || *filter.tag == limit->spec.tag) &&
        (!filter.uuid || *filter.uuid == limit->uuid))
      found.push_back(limit.get());
  }
  std::sort(found.begin(), found.end(), [](const Limit* a, const Limit* b) { return a->serial < b->serial; });
  std::vector<LimitView> views;
  views.reserve(found.size());
  std::size_t looks = kMostLooks;
  for (const Limit* limit : found) views.push_back(ViewOf(*limit, now.mono, looks));
  return views;
}

void LimitTable::ForEachLevel(const Now& now, const LevelVisitor& f) const {
  for (const auto& limit : limits_) {
    if (limit && !limit->gone()) f(limit->uuid, limit->bucket.Level(now.mono), limit->waiting.size());
  }
}

std::vector<LimitName> LimitTable::TakeCostWarnings() {
  std::vector<LimitName> names;
  if (cost_failures_reported_ == matcher_.cost_failures()) return names;
  cost_failures_reported_ = matcher_.cost_failures();
  for (Slot slot = 0; slot < limits_.size(); ++slot) {
    if (!limits_[slot] || limits_[slot]->gone() || limits_[slot]->cost_warned || !matcher_.CostFailed(slot)) continue;
    limits_[slot]->cost_warned = true;
    names.push_back(limits_[slot]->Name());
  }
  return names;
}

std::optional<Instant> LimitTable::NextSummary() const {
  if (!last_summary_ || (uuids_.empty() && partings_.empty())) return std::nullopt;
  return *last_summary_ + options_.summary_interval;
}

std::vector<LimitSummary> LimitTable::TakeSummaries(const Now& now) {
  const std::optional<Instant> next = NextSummary();
  if (!next || now.mono < *next) return {};
  last_summary_ = now.mono;
  std::vector<LimitSummary> summaries = std::move(partings_);
  partings_.clear();
  for (const auto& limit : limits_) {
    if (!limit || limit->gone()) continue;
    const LimitCounts counts = CountsOf(*limit, now.mono);
    if (counts == limit->reported) continue;
    summaries.push_back({limit->Name(), counts.skipped - limit->reported.skipped,
                         counts.ignored_matches - limit->reported.ignored_matches,
                         counts.blocked - limit->reported.blocked, limit->users.all().size()});
    limit->reported = counts;
  }
  return summaries;
}

std::uint64_t LimitTable::PayableWithin(GroupId group, Duration horizon, const Now& now) const {
  std::uint64_t least = static_cast<std::uint64_t>(-1);
  for (const Charge& charge : matcher_.Charges(group)) {
    const Limit* limit = Of(charge);
    if (limit == nullptr || limit->spec.monitor) continue;
    const bool stopped = limit->bucket.terms().count == Tokens{};
    least = std::min(least, stopped ? 0 : limit->bucket.PayableWithin(horizon, charge.cost, now.mono));
  }
  return least;
}

std::vector<LimitTable::Exclusion> LimitTable::Exclusions(GroupId group, const std::string& user,
                                                          const Now& now) const {
  std::vector<Exclusion> exclusions;
  for (const LimitMatcher::Term& term : matcher_.Terms(group)) {
    const Limit* limit = Of({term.slot, term.version, {}});
    // What needs the job's own attributes means nothing to others.
    if (limit == nullptr || limit->spec.monitor || term.job_part) continue;
    if (!term.expr->Reads(expr::Side::kMachine, expr::Side::kJob)) continue;
    if (Ignores(term.slot, group, user, now.mono)) exclusions.push_back({limit->Name(), term.expr});
  }
  return exclusions;
}

std::vector<LimitStatus> LimitTable::StatusesOf(GroupId group, std::optional<WorkerHandle> worker, const Now& now) {
  std::vector<LimitStatus> statuses;
  const auto add = [&](std::span<const Charge> charges, const WaitKey& key, bool reads_worker) {
    const auto waiter = waiters_.find(key);
    for (const Charge& charge : charges) {
      const Limit* limit = Of(charge);
      if (limit == nullptr) continue;
      LimitStatus status{
          limit->Name(), limit->spec.monitor, reads_worker, limit->bucket.Level(now.mono), charge.cost, false,
          false,         std::nullopt,        false};
      status.blocks = Denies(*limit, charge.cost, now.mono);
      status.never = limit->bucket.terms().count == Tokens{} || !limit->bucket.CanEverPay(charge.cost);
      if (status.blocks) status.payable_at = PayableAt(*limit, charge.cost, now.mono);
      status.overtaken = status.blocks && !status.never && waiter != waiters_.end() &&
                         waiter->second.slot == charge.slot && waiter->second.promised <= now.mono;
      statuses.push_back(std::move(status));
    }
  };
  add(matcher_.Charges(group), {kAnyProfile, group}, false);
  if (worker && !matcher_.Terms(group).empty()) {
    const LimitProfileId profile = ProfileOf(*worker, now);
    add(matcher_.PairCharges(group, profile), {profile, group}, true);
  }
  return statuses;
}

}  // namespace allot
