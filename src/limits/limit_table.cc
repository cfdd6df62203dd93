// SPDX-License-Identifier: Apache-2.0
#include "limits/limit_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace allot {
namespace {

constexpr std::size_t kMaxUuidBytes = 64;

bool IsUuid(std::string_view text) {
  return !text.empty() && text.size() <= kMaxUuidBytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsAsciiLetter(c) || IsAsciiDigit(c) || c == '-'; });
}

}  // namespace

// --- Limits.

Result<LimitTable::Slot> LimitTable::Find(std::string_view uuid) const {
  const auto found = uuids_.find(std::string(uuid.substr(0, kMaxUuidBytes + 1)));
  if (found != uuids_.end()) return found->second;
  return Error{Code::kUnknownLimit, IsUuid(uuid) ? fmt::format("there is no limit {}", uuid) : "there is no such limit",
               "it may have expired: set it anew"};
}

void LimitTable::SetExpiry(Slot slot, Instant at) {
  LimitState& limit = limits_[slot];
  expiries_.erase({limit.expires, slot});
  limit.expires = at;
  expiries_.emplace(at, slot);
}

Result<LimitLease> LimitTable::Create(std::string_view uuid, LimitSpec spec, const Now& now) {
  if (const Result<void> check = CheckLimit(spec); !check.ok()) return check.error();
  if (!IsUuid(uuid)) {
    return Error{Code::kBadValue, fmt::format("`uuid`: must be 1 to {} letters, digits or `-`", kMaxUuidBytes), ""};
  }
  if (uuids_.contains(std::string(uuid)))
    return Error{Code::kBadValue, fmt::format("`uuid`: there is a limit {} already", uuid), "update that one"};
  if (uuids_.size() >= limits_.options().max_limits)
    return Error{Code::kTooManyLimits,
                 fmt::format("there are {} limits, which is as many as there may be", uuids_.size()),
                 "delete some, or let them expire"};
  const Slot slot = limits_.Add();
  const Duration lease = Lease(*spec.expires_in);
  const bool capped = lease < *spec.expires_in;
  LimitState& limit = limits_.Put(slot, std::make_unique<LimitState>(uuid, TermsOf(spec), now.mono));
  limit.job_only = IsJobOnly(spec);
  limit.version = limits_.matcher().Put(slot, spec.expr, spec.cost);
  limit.spec = std::move(spec);
  uuids_.emplace(limit.uuid, slot);
  SetExpiry(slot, now.mono + lease);
  reports_.OnCreated(now);
  return LimitLease{limit.uuid, lease, capped};
}

Result<LimitLease> LimitTable::Update(std::string_view uuid, LimitSpec spec, const Now& now) {
  if (const Result<void> check = CheckLimit(spec); !check.ok()) return check.error();
  const Result<Slot> found = Find(uuid);
  if (!found.ok()) return found.error();
  const bool matches_otherwise = !SameExpressions(limits_[*found].spec, spec);
  Slot slot = *found;
  if (matches_otherwise) slot = Move(slot, now);
  LimitState& limit = limits_[slot];
  const Duration lease = Lease(*spec.expires_in);
  const bool capped = lease < *spec.expires_in;
  limit.bucket.Update(TermsOf(spec), now.mono);
  if (matches_otherwise) {
    limit.version = limits_.matcher().Put(slot, spec.expr, spec.cost);
    limit.job_only = IsJobOnly(spec);
    limit.cost_warned = false;
  }
  limit.spec = std::move(spec);
  SetExpiry(slot, now.mono + lease);
  waits_.Reconsider(slot, now);
  return LimitLease{limit.uuid, lease, capped};
}

Result<LimitLease> LimitTable::Renew(std::string_view uuid, std::optional<Duration> expires_in, const Now& now) {
  if (expires_in && *expires_in <= Duration::zero())
    return Error{Code::kBadValue, "`expires_in`: must be more than 0", ""};
  const Result<Slot> found = Find(uuid);
  if (!found.ok()) return found.error();
  LimitState& limit = limits_[*found];
  if (expires_in) limit.spec.expires_in = expires_in;
  const Duration lease = Lease(*limit.spec.expires_in);
  SetExpiry(*found, now.mono + lease);
  return LimitLease{limit.uuid, lease, lease < *limit.spec.expires_in};
}

Result<void> LimitTable::Delete(std::string_view uuid, const Now& now) {
  const Result<Slot> found = Find(uuid);
  if (!found.ok()) return found.error();
  Remove(*found, now);
  return {};
}

void LimitTable::Remove(Slot slot, const Now& now) {
  const LimitState& limit = limits_[slot];
  reports_.OnGone(limit, now);
  expiries_.erase({limit.expires, slot});
  uuids_.erase(limit.uuid);
  limits_.Retire(slot);
  waits_.Close(slot, now);
}

LimitTable::Slot LimitTable::Move(Slot slot, const Now& now) {
  const Slot next = limits_.Move(slot, now.mono);
  const LimitState& limit = limits_[next];
  expiries_.erase({limit.expires, slot});
  expiries_.emplace(limit.expires, next);
  uuids_[limit.uuid] = next;
  waits_.OnMove(slot, next, now);
  return next;
}

std::optional<Instant> LimitTable::NextExpiry() const {
  return expiries_.empty() ? std::nullopt : std::optional(expiries_.begin()->first);
}

std::vector<LimitName> LimitTable::Expire(const Now& now) {
  std::vector<LimitName> gone;
  while (!expiries_.empty() && expiries_.begin()->first <= now.mono) {
    const Slot slot = expiries_.begin()->second;
    gone.push_back(limits_[slot].Name());
    Remove(slot, now);
  }
  return gone;
}

// --- Jobs and workers.

void LimitTable::DropJob(GroupId group, const Now& now) {
  if (limits_.matcher().DropJob(group)) waits_.ForgetGroup(group, now.mono);
}

void LimitTable::ChangeWorker(WorkerHandle worker, std::shared_ptr<const expr::Ad> ad, const Now& now) {
  waits_.ForgetProfiles(limits_.matcher().ChangeWorker(worker, std::move(ad)), now.mono);
}

void LimitTable::DropWorker(WorkerHandle worker, const Now& now) {
  waits_.ForgetProfiles(limits_.matcher().DropWorker(worker), now.mono);
}

}  // namespace allot
