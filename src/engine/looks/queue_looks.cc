// SPDX-License-Identifier: Apache-2.0
// The queue as a whole: counts, memory, reasons, users, receipts, limits.
#include <algorithm>
#include <span>

#include "engine/looks/looks.h"
#include "engine/parts.h"
#include "engine/receipts.h"

namespace allot {
namespace {

constexpr std::int64_t kUsersNanoseconds = 500'000;

// The oldest open job of one user.
const EngineJob* Oldest(const EngineParts& p, UserTable::Entry& user, std::int64_t& nanoseconds) {
  if (user.open == 0) return nullptr;
  const EngineJob* oldest = nullptr;
  JobFilter filter = JobFilter::OpenOf(user);
  const std::size_t place =
      p.lists.Ascend(filter, p.jobs.PlaceOf(user.oldest_from), p.jobs.places(), nanoseconds, [&](const EngineJob& job) {
        oldest = &job;
        return false;
      });
  if (oldest != nullptr) {
    user.oldest_from = oldest->id();
  } else if (place < p.jobs.places()) {
    user.oldest_from = p.jobs.IdAt(place);  // the next look goes on there
  }
  return oldest;
}

}  // namespace

EngineStats Looks::Stats() const {
  EngineStats stats = p_.stats;
  const Tallies& tallies = p_.tallies;
  stats.jobs_scheduled = tallies.jobs_in(JobState::kScheduled);
  stats.jobs_active = tallies.jobs_in(JobState::kActive);
  stats.jobs_paused = tallies.jobs_in(JobState::kPaused);
  stats.jobs_done = tallies.jobs_in(JobState::kDone);
  stats.jobs_failed = tallies.jobs_in(JobState::kFailed);
  stats.jobs_cancelled = tallies.jobs_in(JobState::kCancelled);
  stats.tasks_queued = tallies.queued_tasks();
  stats.tasks_retrying = tallies.retrying_tasks();
  stats.tasks_running = p_.leases.size();
  stats.workers = p_.workers.registered();
  stats.workers_waiting = p_.waiting.size();
  stats.limits = p_.limits.size();
  stats.limits_waiting = p_.limits.waits().size();
  stats.workers_away = p_.workers.away();
  stats.workers_draining = p_.workers.draining();
  stats.slots = p_.workers.slots();
  stats.classes = p_.classes.classes();
  stats.kinds = p_.classes.kinds().size();
  stats.strategies = p_.orders.uses().size();
  stats.dispatch = p_.dispatcher.options().mode;
  stats.tasks_promised = p_.dispatcher.counts().promised;
  stats.longest_queue = p_.dispatcher.longest();
  stats.dispatch_moves = p_.dispatcher.counts().moves;
  stats.dispatch_steals = p_.dispatcher.counts().steals;
  stats.wasted_pops = p_.starts.pops() - stats.granted;
  stats.unfolded_events = UnfoldedEvents();
  stats.dirty_records = p_.journal.dirty();
  stats.memory = p_.budget.Use();
  stats.paused = p_.queue.paused;
  stats.paused_since = p_.queue.paused_since;
  if (const EngineJob* oldest = p_.lists.Oldest()) {
    stats.oldest_waiting = oldest->id();
    stats.oldest_waiting_since = std::max(oldest->submitted_at, oldest->key.scheduled_for);
  }
  return stats;
}

Result<void> Looks::AdmitStrategies(std::initializer_list<StrategyPtr> strategies,
                                    std::optional<WorkerId> worker) const {
  const EngineWorker* known = worker ? p_.workers.Find(*worker) : nullptr;
  return p_.strategies.Admit(strategies,
                             known == nullptr ? std::nullopt : std::optional<std::string_view>(known->charged_to));
}

UserPage Looks::Users(const UserQuery& query) const {
  UserPage page;
  page.active = p_.users.active();
  page.weights = p_.users.weights();
  page.running = p_.users.running();
  page.recent = p_.users.Rate(p_.users.recent(), p_.clock.time);
  std::int64_t nanoseconds = kUsersNanoseconds;
  const auto add = [&](UserTable::Entry& user) {
    UserView& view = page.users.emplace_back();
    view.user = user.name;
    view.weight = user.weight;
    view.jobs = user.jobs;
    view.queued = user.queued;
    view.retrying = user.retrying;
    view.running = user.running;
    view.started = user.started;
    view.recent = p_.users.Rate(user.recent, p_.clock.time);
    if (const EngineJob* oldest = Oldest(p_, user, nanoseconds)) {
      view.oldest = std::max(oldest->submitted_at, oldest->key.scheduled_for);
    }
    if (user.waited) view.waited = *user.waited;
  };
  if (query.only) {
    if (UserTable::Entry* user = p_.users.Find(*query.only)) add(*user);
    return page;
  }
  p_.users.ForEach(query.after, [&](UserTable::Entry& user) {
    // A page does not end with the user without a name: to go on after that is to begin.
    if (page.users.size() >= query.limit && !page.users.empty() && !page.users.back().user.empty()) {
      page.next = page.users.back().user;
      return false;
    }
    add(user);
    return true;
  });
  return page;
}

std::optional<Receipt> Looks::ReceiptOf(JobId job, TaskIndex index) const { return p_.receipts.Find(job, index); }

std::vector<Receipt> Looks::Receipts(std::optional<std::uint64_t> before, std::size_t limit,
                                     std::optional<std::string_view> user) const {
  return p_.receipts.List(before, limit, user);
}

std::vector<LimitView> Looks::Limits(const Now& now, const LimitLooks::Filter& filter) const {
  return p_.limits.looks().List(filter, now);
}

std::size_t Looks::MemoryBytes() const {
  std::size_t bytes = p_.jobs.MemoryBytes() + p_.lists.MemoryBytes() + p_.users.MemoryBytes() +
                      p_.reasons.MemoryBytes() + p_.blocked.MemoryBytes() + p_.receipts.MemoryBytes();
  p_.jobs.ForEach([&](const EngineJob& job) {
    bytes += sizeof(EngineJob) + job.tasks.MemoryBytes() + (job.extras ? sizeof(JobExtras) : 0) +
             (job.course ? sizeof(JobCourse) : 0) + (job.promises ? sizeof(JobPromises) : 0);
  });
  return bytes + p_.leases.size() * (sizeof(Lease) + 24) + MatchingBytes() + OrderBytes() + p_.dispatcher.MemoryBytes();
}

std::uint64_t Looks::UnfoldedEvents() const { return p_.journal.Unfolded(); }

std::uint64_t Looks::HighestId() const { return p_.queue.highest_id; }

bool Looks::UsesPayloadSet(JobId set) const { return p_.jobs.UsesPayloadSet(set); }

MemoryUse Looks::Memory() const { return p_.budget.Use(); }
std::vector<ReasonRow> Looks::Reasons() const { return p_.tallies.Reasons(); }
void Looks::ForEachLimit(const Now& now, const LimitLooks::LevelVisitor& f) const {
  p_.limits.looks().ForEachLevel(now, f);
}
std::size_t Looks::MatchingBytes() const { return p_.classes.MemoryBytes(); }
std::size_t Looks::OrderBytes() const { return p_.orders.indices().MemoryBytes(); }

}  // namespace allot
