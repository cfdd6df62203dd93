// SPDX-License-Identifier: Apache-2.0
// May it start now? All limits of a queue: their buckets, leases and counts, who waits for them, and until when.
//
// How an engine uses it. Each job is in a group (AddJob), each worker has a handle. The claim asks Draw(), which takes
// from every limit that matches the start, or from none of them. A denial blocks: the group, if limits deny that do not
// depend on the worker, else the group on all workers that look like this one. What is blocked is left out of the order
// until waits().TakePayable() gives it back; NextPayable() says when to ask, for one timer over all.
//
// A limit that is new, or matches anew, applies from the epoch that it begins: REQUIRES that a job is added again (and
// dropped from its old group) before Draw() or CanStart() is asked for it, if epoch() is another than when it was
// added.
//
// Nothing here survives a restart. Time is passed in, and uuids; a limit whose lease has ended is there until Expire().
//
// It has parts, each with data of its own: what is blocked (waits()), whose starts were denied (users()), what is to be
// said now and then (reports()), and looks at all of it (looks()).
//
// Threading:  confined to the queue's engine thread.
// Invariants: a start draws from all its limits or from none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "base/result.h"
#include "limits/limit.h"
#include "limits/limit_looks.h"
#include "limits/limit_matcher.h"
#include "limits/limit_reports.h"
#include "limits/limit_slots.h"
#include "limits/limit_users.h"
#include "limits/limit_waits.h"

namespace allot {

class LimitTable {
 public:
  using Slot = LimitMatcher::Slot;
  using WorkerHandle = LimitMatcher::WorkerHandle;
  explicit LimitTable(const LimitOptions& options = {}) : limits_(options) {}
  LimitTable(const LimitTable&) = delete;
  LimitTable& operator=(const LimitTable&) = delete;

  LimitWaits& waits() { return waits_; }
  const LimitWaits& waits() const { return waits_; }
  LimitUsers& users() { return users_; }
  LimitLooks& looks() { return looks_; }
  const LimitLooks& looks() const { return looks_; }
  LimitReports& reports() { return reports_; }
  const LimitReports& reports() const { return reports_; }
  const LimitSlots& slots() const { return limits_; }
  const LimitMatcher& matcher() const { return limits_.matcher(); }

  void SetMaxExpiration(Duration most) { limits_.options().max_expiration = most; }
  // From now on; bans that run already keep their length.
  void SetBanWindow(Duration window) { limits_.options().ban_window = window; }

  // --- Limits. What fails changes nothing. Leases longer than max_expiration are cut to it.

  // A new one, with a full bucket. kBadValue, also for a uuid that is in use; kTooManyLimits.
  Result<LimitLease> Create(std::string_view uuid, LimitSpec spec, const Now& now);
  // Keeps counters and the bucket's level. kBadValue, kUnknownLimit.
  Result<LimitLease> Update(std::string_view uuid, LimitSpec spec, const Now& now);
  // A new lease, as long as the spec's if none is given. kBadValue, kUnknownLimit.
  Result<LimitLease> Renew(std::string_view uuid, std::optional<Duration> expires_in, const Now& now);
  Result<void> Delete(std::string_view uuid, const Now& now);
  std::size_t size() const { return uuids_.size(); }

  // When the next lease ends, of those that there are.
  std::optional<Instant> NextExpiry() const;
  // Removes those whose lease has ended, and says which.
  std::vector<LimitName> Expire(const Now& now);

  // --- Jobs and workers.

  std::uint64_t epoch() const { return limits_.matcher().epoch(); }
  GroupId AddJob(const std::function<expr::Ad()>& ad) { return limits_.matcher().AddJob(ad); }
  void DropJob(GroupId group, const Now& now);
  WorkerHandle AddWorker(std::shared_ptr<const expr::Ad> ad) { return limits_.matcher().AddWorker(std::move(ad)); }
  void ChangeWorker(WorkerHandle worker, std::shared_ptr<const expr::Ad> ad, const Now& now);
  void DropWorker(WorkerHandle worker, const Now& now);
  // Is another when workers may have other profiles (LimitWaits::ProfileOf).
  std::uint64_t worker_reads() { return limits_.matcher().worker_reads(); }

  // --- Starts.

  // What a start has drawn, for Refund(). Empty if nothing matched.
  struct Part {
    std::uint64_t serial;  // of the limit
    Bucket::Taking taking;
  };
  using Drawn = boost::container::small_vector<Part, 2>;

  struct Denial {
    std::vector<Slot> limits;  // all that deny; LimitLooks::NameOf() says which they are
    bool any_worker = true;    // the group is blocked; else on workers like this one
    // The first at which it could pay them all, if there are no other draws. None: never, as things are.
    std::optional<Instant> payable_at;
  };
  struct Outcome {
    Drawn drawn;
    std::unique_ptr<Denial> denial;  // null: it may start
    bool allowed() const { return denial == nullptr; }
  };
  // Asks for one start of a job of `user` in `group` on `worker`. Costs the limits that match.
  Outcome Draw(GroupId group, WorkerHandle worker, std::string_view user, const Now& now);
  // As LimitLooks::CanStart(), but what is not allowed is blocked, as if it had been drawn for and no user's.
  bool Probe(GroupId group, WorkerHandle worker, const Now& now);
  // The start never left: gives back what it drew, as far as the buckets have had room, and does not count it.
  void Refund(const Drawn& drawn, const Now& now);

 private:
  using Charge = LimitMatcher::Charge;

  Result<Slot> Find(std::string_view uuid) const;
  Duration Lease(Duration asked) const { return std::min(asked, limits_.options().max_expiration); }
  void SetExpiry(Slot slot, Instant at);
  void Remove(Slot slot, const Now& now);
  // Gives the limit another slot. What waits for it in this one is looked at anew.
  Slot Move(Slot slot, const Now& now);
  Outcome Deny(GroupId group, std::optional<LimitProfileId> profile, std::span<const Charge> charges,
               std::span<const Charge> pair_charges, std::optional<std::string_view> user, const Now& now);

  LimitSlots limits_;
  LimitWaits waits_{limits_};
  LimitUsers users_{limits_, waits_};
  LimitReports reports_{limits_};
  LimitLooks looks_{limits_, waits_, users_};
  std::unordered_map<std::string, Slot> uuids_;
  std::set<std::pair<Instant, Slot>> expiries_;
};

}  // namespace allot
