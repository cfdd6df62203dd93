// SPDX-License-Identifier: Apache-2.0
// A job and a worker inside the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/intrusive/set.hpp>

#include "backlog/job_tasks.h"
#include "base/interned.h"
#include "base/job.h"
#include "base/record.h"
#include "dispatch/lease_table.h"
#include "dispatch/worker_queue.h"
#include "engine/tallies/class_reasons.h"
#include "engine/tallies/user_table.h"
#include "limits/limit_table.h"
#include "match/class_table.h"
#include "strategy/orders.h"

namespace allot {

class JobTable;

// What many jobs have in common, kept once for all of them (JobTable::Intern).
//
// Jobs hold them through pointers that are for the engine thread alone (TermsPtr): with the last of these they leave
// the table. What is looked at elsewhere, and later, is held through View(), which any thread may let go of.
struct JobTerms : std::enable_shared_from_this<JobTerms> {
  std::shared_ptr<const JobTerms> View() const { return shared_from_this(); }

  TagList tags;
  std::vector<Properties> constraints;
  TagList constraint_tags;  // follow from the constraints
  ExprPtr requirements, rank;
  std::string user;
  bool async = true;
  std::uint32_t max_attempts = 5;
  Backoff backoff;
  milliseconds lease{0};
  milliseconds timeout{0};
  Allowance max_failed_tasks;
  milliseconds retention{0};
  friend bool operator==(const JobTerms& a, const JobTerms& b);
};

// Terms as the table has them.
struct InternedTerms : JobTerms {
  explicit InternedTerms(JobTerms terms) : JobTerms(std::move(terms)) {}
  JobTable* table = nullptr;
  std::uint64_t hash = 0;
  std::uint64_t expr_bytes = 0;          // of its expressions
  mutable std::uint32_t references = 0;  // of jobs, and whoever else has them on the engine thread
};

// Keeps interned terms in their table. For the thread of the table alone, which it must not outlive.
class TermsPtr {
 public:
  TermsPtr() = default;
  explicit TermsPtr(const InternedTerms& terms) : terms_(&terms) { ++terms.references; }
  TermsPtr(const TermsPtr& other) : terms_(other.terms_) {
    if (terms_ != nullptr) ++terms_->references;
  }
  TermsPtr(TermsPtr&& other) noexcept : terms_(std::exchange(other.terms_, nullptr)) {}
  TermsPtr& operator=(TermsPtr other) noexcept {
    std::swap(terms_, other.terms_);
    return *this;
  }
  ~TermsPtr() {
    if (terms_ != nullptr && --terms_->references == 0) Forget(*terms_);
  }

  void reset() { *this = TermsPtr(); }
  const JobTerms* get() const { return terms_; }
  const JobTerms& operator*() const { return *terms_; }
  const JobTerms* operator->() const { return terms_; }
  explicit operator bool() const { return terms_ != nullptr; }
  friend bool operator==(const TermsPtr&, const TermsPtr&) = default;

 private:
  static void Forget(const InternedTerms& terms);
  const InternedTerms* terms_ = nullptr;
};

// What few jobs have at all.
struct JobExtras : JobDetails {
  Interned<Meta> meta;
  ContentHash content{};
  JobId payload_set{};  // where its payloads are, if not under the job's own id
  // Is there nothing that was said of the job?
  bool empty() const { return meta->empty() && !AnyGiven(kJobDetails, *this); }
};

// What a job has from the moment on that something happens to it: it starts, ends, or somebody waits for it.
struct JobCourse {
  JobLeases leases;
  WallTime started_at{};                   // 0: no task was granted yet
  WallTime ended_at{};                     // 0: has not ended
  WallTime retry_timer = WallTime::max();  // the earliest due time for which a timer runs
  std::uint32_t revive_from = 0;           // pages from here on are still to be revived, while `reviving`
  std::uint32_t watchers = 0;
};

// Why a job failed. Persisted: add at the end.
enum class JobReason : std::uint8_t { kNone, kTooManyFailed };

struct EngineJob : DispatchJob {
  EngineJob(JobId job, std::uint32_t count) : tasks(count) { key.id = job; }
  JobTasks tasks;
  TermsPtr terms;
  std::unique_ptr<JobExtras> extras;
  std::unique_ptr<JobCourse> course;
  UserTable::Entry* user = nullptr;    // while it has not ended, or something of it runs; not while loading
  std::uint32_t counted_queued = 0;    // what the queue's totals hold for it
  std::uint32_t counted_retrying = 0;  //
  mutable std::uint32_t block = 0;     // of lists, in which it was found last
  std::uint32_t limit_epoch = 0;       // of the limits that its group is of; 0: it is in none
  std::uint32_t cell = 0;              // of BlockedReasons, while it is counted as open; 0: it is in none
  JobState state = JobState::kActive;
  JobReason reason = JobReason::kNone;
  bool payload_common : 1 = false;
  bool payload_per_task : 1 = false;
  bool payload_own : 1 = false;  // its payloads are under its own id
  bool dirty : 1 = false;
  bool reviving : 1 = false;
  bool progressed : 1 = false;
  bool known : 1 = false;                     // to the orders: not while loading
  bool opening : 1 = false;                   // is to open with one of the next ticks
  bool counted_open : 1 = false;              // what totals hold for it, too
  std::uint8_t counted_state : 2 = kNoState;  // of those that have not ended
  static constexpr std::uint8_t kNoState = 3;

  bool one_page() const { return tasks.pages() <= 1; }

  // Made where it is not there, in the memory of whose scope is open: that of jobs.
  JobCourse& Course() {
    if (!course) course = std::make_unique<JobCourse>();
    return *course;
  }
  const JobLeases& leases() const {
    static const JobLeases none;
    return course ? course->leases : none;
  }
  WallTime started_at() const { return course ? course->started_at : WallTime{}; }
  WallTime ended_at() const { return course ? course->ended_at : WallTime{}; }
  WallTime retry_timer() const { return course ? course->retry_timer : WallTime::max(); }
  std::uint32_t revive_from() const { return course ? course->revive_from : 0; }

  PayloadRef payload() const { return {payload_set(), payload_common, payload_per_task}; }
  JobId payload_set() const { return payload_own ? id() : extras ? extras->payload_set : JobId{}; }
  void SetPayload(const PayloadRef& payload) {
    payload_common = payload.common;
    payload_per_task = payload.per_task;
    payload_own = payload.set && payload.set == id();
    const JobId other = payload_own ? JobId{} : payload.set;
    if (other && !extras) extras = std::make_unique<JobExtras>();
    if (extras) extras->payload_set = other;
  }

  // While loading, where nothing is counted yet: events up to here are in the job's own record.
  Position stored() const { return Position{counted_retrying} << 32 | counted_queued; }
  void SetStored(Position position) {
    counted_queued = static_cast<std::uint32_t>(position);
    counted_retrying = static_cast<std::uint32_t>(position >> 32);
  }
};
static_assert(sizeof(EngineJob) <= 192);  // a million of them may wait

// Idempotency keys belong to users: what one of them uses says nothing to another. Jobs without a user have one in
// common.
struct UserKey {
  std::string_view user, key;
  friend bool operator==(const UserKey&, const UserKey&) = default;
};
// REQUIRES: it has extras, with a key.
inline UserKey KeyOf(const EngineJob& job) { return {job.terms->user, job.extras->idempotency_key}; }
struct UserKeyHash {
  using is_transparent = void;
  std::size_t operator()(const UserKey& key) const {
    const std::hash<std::string_view> text;
    return text(key.user) * 0x9E3779B97F4A7C15ull ^ text(key.key);
  }
  std::size_t operator()(const EngineJob* job) const { return (*this)(KeyOf(*job)); }
};
struct UserKeyEqual {
  using is_transparent = void;
  static const UserKey& Of(const UserKey& key) { return key; }
  static UserKey Of(const EngineJob* job) { return KeyOf(*job); }
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return Of(a) == Of(b);
  }
};
using JobsByKey = std::unordered_set<const EngineJob*, UserKeyHash, UserKeyEqual>;

struct EngineWorker : boost::intrusive::set_base_hook<>, DispatchWorker, ClassReasons::Member {
  std::string name;
  TagList tags;
  Properties properties;
  Meta attributes;
  ExprPtr requirements, rank;
  StrategyPtr strategy;                  // its own
  LimitTable::WorkerHandle limited = 0;  // while registered: the same for limits
  Orders::Id order = 0;                  // that it gives, while registered
  StrategyPtr pull_strategy;             // of the present pull, where it has one
  Orders::Id pull_order = 0;             // then
  std::uint32_t slots = 1;
  std::uint32_t credit = 0;
  bool once = false;
  bool connected = false;
  bool away = false;        // lost its connection, or not seen since a restart
  bool registered = false;  // false: only its leases are known, from before a restart; has no kind
  bool draining = false;
  bool left = false;  // unregistered, and so many leases that they are given back in steps
  Instant away_until{};
  Instant last_seen{};
  WallTime last_seen_at{};
  WallTime registered_at{};
  Instant waiting_since{};
  std::uint64_t waiting_sequence = 0;  // order among those that wait
  KindId waiting_kind = 0;             // among whom it waits
  Orders::Id waiting_order = 0;        //
  LimitProfileId waiting_profile = 0;  //
  std::optional<Instant> pull_until;
  Instant timer = Instant::max();  // the earliest moment for which a timer runs
  WorkerLeases leases;
  std::string address;
  std::string user;
  std::string charged_to;  // what its strategies count for: `user ann`, `token 0123`, or nothing

  bool waiting() const { return set_base_hook::is_linked(); }
  // What it pulls by.
  Orders::Id Pulls() const { return pull_strategy ? pull_order : order; }
  friend bool operator<(const EngineWorker& a, const EngineWorker& b) {
    return a.waiting_sequence < b.waiting_sequence;
  }
};

// Longest waiting first.
using WaitingWorkers = boost::intrusive::set<EngineWorker, boost::intrusive::constant_time_size<false>>;

}  // namespace allot
