// May it start now? All limits of a queue: their buckets, leases and counts, who waits for them, and until when.
//
// How an engine uses it. Each job is in a group (AddJob), each worker has a handle. The claim asks Draw(), which takes
// from every limit that matches the start, or from none of them. A denial blocks: the group, if limits deny that do not
// depend on the worker, else the group on all workers that look like this one. What is blocked is left out of the order
// until TakePayable() gives it back; NextPayable() says when to ask, for one timer over all. Since a denial at cost c
// denies every cost above it as well, what waits for a limit stands in order of cost, and only the cheapest has an
// instant; that is looked at again when it comes, so that a draw costs the limits that it draws from and nothing else.
//
// A limit that is new, or matches anew, applies from the epoch that it begins: REQUIRES that a job is added again (and
// dropped from its old group) before Draw() or CanStart() is asked for it, if epoch() is another than when it was
// added.
//
// Nothing here survives a restart. Time is passed in, and uuids; a limit whose lease has ended is there until Expire().
//
// Threading:  confined to the queue's engine thread.
// Invariants: a start draws from all its limits or from none; what is blocked waits for exactly one limit, which denies
//             it unless its instant has come.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "base/result.h"
#include "limits/group_users.h"
#include "limits/limit.h"
#include "limits/limit_matcher.h"
#include "limits/limit_state.h"
#include "limits/parted_groups.h"

namespace allot {

struct LimitOptions {
  std::size_t max_limits = bounds::kMaxLimits;
  Duration max_expiration = bounds::kDefaultMaxLimitExpiration;
  Duration ban_window = bounds::kDefaultBanWindow;  // see Exclusions()
  Duration summary_interval = std::chrono::seconds(60);
};

class LimitTable {
 public:
  using WorkerHandle = LimitMatcher::WorkerHandle;
  explicit LimitTable(const LimitOptions& options = {}) : options_(options) {}
  LimitTable(const LimitTable&) = delete;
  LimitTable& operator=(const LimitTable&) = delete;

  void SetMaxExpiration(Duration most) { options_.max_expiration = most; }
  // From now on; bans that run already keep their length.
  void SetBanWindow(Duration window) { options_.ban_window = window; }

  // --- Limits. What fails changes nothing. Leases longer than max_expiration are cut to it.

  // A new one, with a full bucket. kBadValue, also for a uuid that is in use; kTooManyLimits.
  Result<LimitLease> Create(std::string_view uuid, LimitSpec spec, const Now& now);
  // Keeps counters and the bucket's level. kBadValue, kUnknownLimit.
  Result<LimitLease> Update(std::string_view uuid, LimitSpec spec, const Now& now);
  // A new lease, as long as the spec's if none is given. kBadValue, kUnknownLimit.
  Result<LimitLease> Renew(std::string_view uuid, std::optional<Duration> expires_in, const Now& now);
  Result<void> Delete(std::string_view uuid, const Now& now);
  // In order of creation.
  struct Filter {
    std::optional<std::string> tag, uuid;
  };
  std::vector<LimitView> List(const Filter& filter, const Now& now) const;
  // The tokens of each, and how many groups wait for it.
  using LevelVisitor = std::function<void(const std::string& uuid, double tokens, std::size_t waiting)>;
  void ForEachLevel(const Now& now, const LevelVisitor& f) const;
  std::size_t size() const { return uuids_.size(); }

  // When the next lease ends, of those that there are.
  std::optional<Instant> NextExpiry() const;
  // Removes those whose lease has ended, and says which.
  std::vector<LimitName> Expire(const Now& now);

  // --- Jobs and workers.

  std::uint64_t epoch() const { return matcher_.epoch(); }
  GroupId AddJob(const std::function<expr::Ad()>& ad) { return matcher_.AddJob(ad); }
  void DropJob(GroupId group, const Now& now);
  WorkerHandle AddWorker(std::shared_ptr<const expr::Ad> ad) { return matcher_.AddWorker(std::move(ad)); }
  void ChangeWorker(WorkerHandle worker, std::shared_ptr<const expr::Ad> ad, const Now& now);
  void DropWorker(WorkerHandle worker, const Now& now);

  // --- Users (limit_ignored.cc). One is ignored by a limit that denied a start of it: while that waits, and for the
  // ban window after. A denial of one job is a denial of all that are in its group by then.

  // An open job of that user is in the group from now on, or is no more.
  void CountUser(GroupId group, std::string_view user, const Now& now) { group_users_.Add(group, user, now.mono); }
  void UncountUser(GroupId group, std::string_view user, const Now& now);
  // A worker asks. Until the next one, a group that is denied to it counts once.
  void BeginTry() { ++try_; }
  // It may run jobs of that group, which were left out because they are blocked.
  void NoteTry(GroupId group, WorkerHandle worker, const Now& now);

  // --- Starts.

  // What a start has drawn, for Refund(). Empty if nothing matched.
  struct Part {
    std::uint64_t serial;  // of the limit
    Bucket::Taking taking;
  };
  using Drawn = boost::container::small_vector<Part, 2>;

  struct Denial {
    std::vector<LimitMatcher::Slot> limits;  // all that deny; NameOf() says which they are
    bool any_worker = true;                  // the group is blocked; else on workers like this one
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
  // REQUIRES: no limit is gone since the denial.
  LimitName NameOf(LimitMatcher::Slot slot) const { return limits_[slot]->Name(); }
  // Would it be allowed? Neither counts nor blocks.
  bool CanStart(GroupId group, WorkerHandle worker, const Now& now);
  // What blocks it now: on that worker or, without one, whatever the worker. Neither counts nor blocks.
  struct BlockState {
    std::uint32_t limits = 0;        // that do
    LimitMatcher::Slot longest = 0;  // of these, the one that does so longest
    bool never = false;              // that one for ever
    std::size_t asked = 0;           // limits that were looked at
  };
  BlockState BlockStateOf(GroupId group, std::optional<WorkerHandle> worker, const Now& now);
  // All limits that apply to a start of the group on that worker, and what it costs.
  std::vector<LimitMatcher::Charge> ChargesOn(GroupId group, WorkerHandle worker, const Now& now);
  // As CanStart(), but what is not allowed is blocked, as if it had been drawn for and no user's.
  bool Probe(GroupId group, WorkerHandle worker, const Now& now);
  // The start never left: gives back what it drew, as far as the buckets have had room, and does not count it.
  void Refund(const Drawn& drawn, const Now& now);

  // --- What is blocked.

  struct Blocking {
    GroupId group = 0;
    std::optional<LimitProfileId> profile;  // none: on any worker
  };
  bool Blocked(GroupId group) const { return waiters_.contains({kAnyProfile, group}); }
  bool Blocked(GroupId group, WorkerHandle worker, const Now& now);
  // Is there a limit that applies to starts of the group, or may, depending on the worker?
  bool Applies(GroupId group) const;
  bool BlockedAnywhere(GroupId group) const {
    const auto at = waiting_groups_.lower_bound({group, 0});
    return at != waiting_groups_.end() && at->first == group;
  }
  // Workers that look alike to limits have one profile. All may have others when worker_reads() is another.
  LimitProfileId ProfileOf(WorkerHandle worker, const Now& now);
  std::uint64_t worker_reads() { return matcher_.worker_reads(); }
  std::size_t blocked() const { return waiters_.size(); }
  // When to ask TakePayable(): not later than anything opens, and at once if something has. None: nothing will.
  std::optional<Instant> NextPayable() const;
  // Opens what can pay now, and gives what has opened since it was last asked, be it by time, refund, or a change of
  // limits: at most `max`, and the others the next time. Some may be of groups or profiles that are gone by now, or
  // blocked again.
  std::vector<Blocking> TakePayable(const Now& now, std::size_t max = static_cast<std::size_t>(-1));

  // --- For demand, explain and the log.

  // How many starts of the group the limits that do not depend on the worker pay for within the horizon. The largest
  // number if none is in the way.
  std::uint64_t PayableWithin(GroupId group, Duration horizon, const Now& now) const;
  // Of limits that depend on the worker, what is left of them for this group, if they block or have blocked
  // within the ban window a start of that user. Workers for which one is true are of no use. One of which only the cost
  // depends on the worker excludes none: others may be cheaper.
  struct Exclusion {
    LimitName limit;
    ExprPtr expr;
  };
  std::vector<Exclusion> Exclusions(GroupId group, const std::string& user, const Now& now) const;
  // Every limit that matches; without a worker, those that do not depend on one.
  std::vector<LimitStatus> StatusesOf(GroupId group, std::optional<WorkerHandle> worker, const Now& now);
  // Limits of which a cost could not be evaluated: each once, until its cost changes.
  std::vector<LimitName> TakeCostWarnings();
  // When TakeSummaries() has something, if it has. Summaries are at least an interval apart.
  std::optional<Instant> NextSummary() const;
  // Of limits that were in the way since the last time; also of those that are gone since. Empty before its time.
  std::vector<LimitSummary> TakeSummaries(const Now& now);

  const LimitMatcher& matcher() const { return matcher_; }

 private:
  friend class LimitForecast;
  using Slot = LimitMatcher::Slot;
  using Charge = LimitMatcher::Charge;
  using WaitKey = LimitWaitKey;
  using Waiter = LimitWaiter;
  using Limit = LimitState;

  // The limit that a charge is for; null if that is gone, or matches otherwise by now.
  Limit* Of(const Charge& charge) const;
  // Would the bucket deny it, monitor or not?
  static bool Lacks(const Limit& limit, Tokens cost, Instant now);
  static bool Denies(const Limit& limit, Tokens cost, Instant now) {
    return !limit.spec.monitor && Lacks(limit, cost, now);
  }
  static std::optional<Instant> PayableAt(const Limit& limit, Tokens cost, Instant now);
  // Of those that deny, the one that does so longest.
  struct Latest {
    const Charge* charge = nullptr;
    std::optional<Instant> at;
  };
  Latest LatestDenying(std::span<const Charge> charges, Instant now) const;
  std::span<const Charge> ChargesOf(const WaitKey& key);

  Result<Limit*> Find(std::string_view uuid) const;
  Duration Lease(Duration asked) const { return std::min(asked, options_.max_expiration); }
  void SetExpiry(Slot slot, Instant at);
  Slot NewSlot();
  void Remove(Slot slot, const Now& now);
  // Gives the limit another slot. What waits for it in this one is looked at anew.
  Slot Rehouse(Slot slot, const Now& now);
  // From now on nothing is charged for the slot; what waits there opens in steps.
  void Close(Slot slot, const Now& now);
  void StepClosing(const Now& now, std::size_t& budget);
  LimitView ViewOf(const Limit& limit, Instant now, std::size_t& looks) const;
  LimitCounts CountsOf(const Limit& limit, Instant now) const;

  Outcome Deny(GroupId group, std::optional<LimitProfileId> profile, std::span<const Charge> charges,
               std::span<const Charge> pair_charges, std::optional<std::string_view> user, const Now& now);
  void NoteIgnored(Limit& limit, Waiter& waiter, bool waits_here, std::string_view user, const Now& now);
  // Takes what it looks at from `looks`.
  std::vector<IgnoredView> IgnoredBy(Slot slot, Instant now, std::size_t& looks) const;
  // Has it denied a start of that user, or of another in the group, and does that still count?
  bool Ignores(Slot slot, GroupId group, const std::string& user, Instant now) const;
  // Puts the waiter to the limit, or takes it away from it.
  void Join(const WaitKey& key, Waiter& waiter, const Charge& charge, Instant now);
  void Leave(const WaitKey& key, Waiter& waiter, Instant now);
  void Arm(Slot slot, Instant now);
  // Those that do not have to wait for this limit any more open, or wait for another: as many as the budget says.
  void Reconsider(Slot slot, const Now& now, bool all, std::size_t& budget);
  void Open(const WaitKey& key);
  void Forget(const WaitKey& key, Instant now);
  void ForgetProfiles(const std::vector<LimitProfileId>& gone, Instant now);
  void StepForgetting(std::size_t& budget, Instant now);
  // What is done at once where limits change or workers go; the rest follows with TakePayable().
  static constexpr std::size_t kAtOnce = 1024;

  LimitOptions options_;
  LimitMatcher matcher_;
  GroupUsers group_users_;
  std::uint64_t try_ = 1;
  PartedGroups parted_;
  std::vector<std::unique_ptr<Limit>> limits_;  // by slot; null: free
  std::vector<Slot> free_slots_;
  std::deque<Slot> closing_;                 // of limits that are gone
  std::deque<LimitProfileId> forgetting_;    // profiles that are gone
  std::map<std::uint64_t, Slot> by_serial_;  // limits that are not gone
  std::unordered_map<std::string, Slot> uuids_;
  std::uint64_t next_serial_ = 1;
  std::set<std::pair<Instant, Slot>> expiries_;

  std::map<WaitKey, Waiter> waiters_;
  std::set<std::pair<GroupId, LimitProfileId>> waiting_groups_;  // the same, by group
  std::set<std::pair<Instant, Slot>> timers_;                    // of limits that something waits for
  std::vector<Blocking> opened_;

  std::uint64_t cost_failures_reported_ = 0;
  std::optional<Instant> last_summary_;
  std::vector<LimitSummary> partings_;  // of limits that are gone
};

}  // namespace allot
