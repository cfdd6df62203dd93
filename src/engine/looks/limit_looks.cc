// SPDX-License-Identifier: Apache-2.0
// How limits stand to a job, and what one that is not set yet would apply to.
#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>

#include "base/check.h"
#include "engine/errors.h"
#include "engine/jobs/job_ad.h"
#include "engine/looks/limit_trial.h"
#include "engine/looks/looks.h"
#include "engine/looks/prepared_looks.h"
#include "engine/parts.h"

namespace allot {
namespace {

// What a look at a job costs; and at a group of jobs with one of the workers.
constexpr std::int64_t kTrialJobNanoseconds = 1500;
constexpr std::int64_t kTrialWorkerNanoseconds = 600;
constexpr std::int64_t kTrialPairNanoseconds = 100;
constexpr std::int64_t kTrialEvaluationNanoseconds = 1000;
constexpr std::int64_t kTrialNewNanoseconds = 3000;  // a group, or a user
// What a trial remembers at most: what comes behind it is not looked at.
constexpr std::size_t kTrialMostKept = 1'000'000;
constexpr std::size_t kTrialMostShown = 100;
// After that no more jobs are looked at, and then nothing more at all: whoever asks wants an answer.
constexpr Duration kTrialMostWalking = std::chrono::seconds(3);
constexpr Duration kTrialMostTime = std::chrono::seconds(4);

// Of two that block, the one that ends first; of others, the one that blocks.
bool SaysMore(const LimitStatus& a, const LimitStatus& b) {
  if (a.blocks != b.blocks) return a.blocks;
  if (!a.blocks || !a.payable_at) return false;
  return !b.payable_at || *a.payable_at < *b.payable_at;
}

}  // namespace

// --- Limits that there are.

Result<LimitsOnJob> PreparedLooks::LimitsOn(const Now& now, JobId id, std::optional<WorkerId> only) {
  EngineJob* job = p_.jobs.Find(id);
  if (job == nullptr) return UnknownJob(id);
  LimitsOnJob out;
  std::vector<LimitOnJob>& all = out.all;
  if (Ended(job->state)) return out;
  // One that is not open is in no group: it is in its own for as long as this takes.
  if (job->open) p_.limiting.Group(*job);
  const GroupId group = job->open ? job->group : p_.limits.AddJob([job] { return AdOf(*job); });
  for (LimitStatus& status : p_.limits.looks().StatusesOf(group, std::nullopt, now)) {
    all.push_back({std::move(status), 0, 0, 0, false});
  }
  if (job->cls != kNoClass && !p_.limits.matcher().Terms(group).empty()) {
    struct Like {
      std::uint32_t workers = 0, free = 0;
      LimitTable::WorkerHandle one = 0;
    };
    std::map<LimitProfileId, Like> profiles;
    for (const auto& [worker_id, worker] : p_.workers) {
      if (only && worker_id != *only) continue;
      if (!worker->registered || !p_.classes.kinds().Matches(p_.classes.KindOf(worker->handle), job->cls)) continue;
      Like& like = profiles[p_.limits.waits().ProfileOf(worker->limited, now)];
      ++like.workers;
      if (!worker->draining && !worker->away && worker->leases.size() < worker->slots) ++like.free;
      like.one = worker->limited;
    }
    const std::size_t first = all.size();
    std::unordered_map<std::string, std::size_t> places;
    for (const auto& [profile, like] : profiles) {
      bool blocking = false;
      for (LimitStatus& status : p_.limits.looks().StatusesOf(group, like.one, now)) {
        if (!status.reads_worker) continue;
        const auto [at, fresh] = places.try_emplace(status.limit.uuid, all.size());
        if (fresh) all.push_back({status, 0, 0, 0, false});
        LimitOnJob& on_job = all[at->second];
        on_job.workers += like.workers;
        if (status.blocks) {
          on_job.workers_blocked += like.workers;
          on_job.free_blocked += like.free;
          blocking = blocking || !status.monitor;
        }
        if (SaysMore(status, on_job.limit)) on_job.limit = std::move(status);
      }
      out.free += like.free;
      if (blocking) out.free_blocked += like.free;
    }
    std::stable_sort(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
                     [](const LimitOnJob& a, const LimitOnJob& b) { return a.workers_blocked > b.workers_blocked; });
  }
  if (!job->open) p_.limits.DropJob(group, now);
  for (LimitOnJob& on_job : all) {
    if (!on_job.limit.never) continue;
    const std::vector<LimitView> views = p_.limits.looks().List({std::nullopt, on_job.limit.limit.uuid}, now);
    on_job.stops = !views.empty() && views[0].spec.count == 0;
  }
  return out;
}

// --- One that might be.

struct LimitTrial::State {
  struct Count {
    std::uint64_t jobs = 0, tasks = 0;
  };
  // Waiting jobs that look alike to the limit, and may run on the same workers.
  struct Alike {
    GroupId group;
    ClassId cls;
    std::uint64_t serial;  // of the class
    std::unordered_map<std::uint32_t, Count> users;
  };
  // Workers that look alike to it, and may run the same jobs.
  struct Workers {
    LimitProfileId profile;
    KindId kind;
    bool matched = false;
  };

  LimitMatcher matcher;  // of this limit alone
  std::optional<Instant> began;
  JobCursor cursor;
  bool seen = false, seen_all = false, through = false;
  std::size_t kept = 0;
  std::unordered_map<std::string, std::uint32_t> user_ids;
  std::vector<User> users;  // with what it applies to
  std::map<std::pair<GroupId, std::uint64_t>, std::size_t> places;
  std::deque<Alike> alike;
  std::vector<Workers> workers;
  std::vector<std::pair<WorkerId, std::uint32_t>> worker_ids;  // with the place among those
  bool costs = false;
  std::size_t next = 0, next_workers = 0;  // of `alike`, and of the workers with that one
  bool applies = false;                    // the limit, to that one on some worker before
};

LimitTrial::LimitTrial(ExprPtr expr, ExprPtr cost) : state_(std::make_unique<State>()) {
  CHECK(expr);
  LimitSpec spec;
  spec.expr = expr;
  spec.cost = cost;
  job_only_ = IsJobOnly(spec);
  state_->matcher.Put(0, std::move(expr), std::move(cost));
}

LimitTrial::~LimitTrial() = default;

std::vector<LimitTrial::User> LimitTrial::users() const {
  std::vector<User> shown(std::min(kTrialMostShown, state_->users.size()));
  const auto end = std::partial_sort_copy(
      state_->users.begin(), state_->users.end(), shown.begin(), shown.end(),
      [](const User& a, const User& b) { return a.tasks != b.tasks ? a.tasks > b.tasks : a.user < b.user; });
  shown.erase(end, shown.end());
  std::erase_if(shown, [](const User& user) { return user.jobs == 0; });
  return shown;
}

bool Looks::Collect(const Now& now, LimitTrial& trial, std::size_t budget) const {
  MemoryPool::Scope scope(&p_.memory.looks);
  using State = LimitTrial::State;
  State& state = *trial.state_;
  if (state.through) return true;
  auto left = static_cast<std::int64_t>(budget) * 1000;
  if (!state.began) state.began = now.mono;
  const Duration took = now.mono - *state.began;

  // The jobs.
  const auto enough = [&] { return state.kept >= kTrialMostKept || took >= kTrialMostWalking; };
  const auto visit = [&](const EngineJob* job) {
    if (left <= 0 || enough()) return false;
    left -= job != nullptr && job->open ? kTrialJobNanoseconds : kTrialPairNanoseconds;
    if (job == nullptr) return true;
    ++trial.jobs_seen_;
    if (!job->open) return true;
    const std::uint64_t evaluations = state.matcher.evaluations();
    const GroupId group = state.matcher.AddJob([job] { return AdOf(*job); });
    left -= static_cast<std::int64_t>(state.matcher.evaluations() - evaluations) * kTrialEvaluationNanoseconds;
    if (group == kFreeGroup) return true;
    const std::uint64_t serial = p_.classes.SerialOf(job->cls);
    const auto [at, fresh] = state.places.try_emplace({group, serial}, state.alike.size());
    if (fresh) state.alike.push_back({group, job->cls, serial, {}});
    const std::string& user = job->terms->user;
    const auto [user_at, new_user] = state.user_ids.try_emplace(user, static_cast<std::uint32_t>(state.users.size()));
    if (new_user) state.users.push_back({user, 0, 0});
    const auto [count, other] = state.alike[at->second].users.try_emplace(user_at->second);
    ++count->second.jobs;
    count->second.tasks += job->queued;
    const std::size_t added = (fresh ? 1 : 0) + (new_user ? 1 : 0) + (other ? 1 : 0);
    left -= static_cast<std::int64_t>(added) * kTrialNewNanoseconds;
    state.kept += added;
    return true;
  };
  if (!state.seen) {
    state.seen_all = p_.jobs.Walk(state.cursor, visit);
    if (!state.seen_all && !enough()) return false;
    state.seen = true;
    // The workers, as they are now.
    std::map<std::pair<LimitProfileId, KindId>, std::uint32_t> places;
    std::vector<LimitProfileId> gone;
    for (const auto& [id, worker] : p_.workers) {
      if (!worker->registered) continue;
      left -= kTrialWorkerNanoseconds;
      const auto handle = state.matcher.AddWorker(p_.classes.TraitsOf(worker->handle)->ad);
      const LimitProfileId profile = state.matcher.ProfileOf(handle, gone);
      const KindId kind = p_.classes.KindOf(worker->handle);
      const auto [at, fresh] = places.try_emplace({profile, kind}, static_cast<std::uint32_t>(state.workers.size()));
      if (fresh) state.workers.push_back({profile, kind, false});
      state.worker_ids.emplace_back(id, at->second);
    }
  }

  // Each with each. Classes and kinds may be others by now, if there was a step in between: then they do not match.
  const auto count = [&](std::span<const LimitMatcher::Charge> charges) {
    for (const LimitMatcher::Charge& charge : charges) {
      const double cost = charge.cost.number();
      trial.least_cost_ = state.costs ? std::min(trial.least_cost_, cost) : cost;
      trial.most_cost_ = state.costs ? std::max(trial.most_cost_, cost) : cost;
      state.costs = true;
    }
    state.applies = state.applies || !charges.empty();
  };
  for (; state.next < state.alike.size() && took < kTrialMostTime; ++state.next) {
    const State::Alike& alike = state.alike[state.next];
    const bool any_worker = !state.matcher.Charges(alike.group).empty();
    if (left <= 0) return false;
    left -= kTrialPairNanoseconds;
    if (state.next_workers == 0) {
      state.applies = false;
      count(state.matcher.Charges(alike.group));
    }
    const bool same_class = alike.cls < p_.classes.class_slots() && p_.classes.SerialOf(alike.cls) == alike.serial;
    for (; same_class && state.next_workers < state.workers.size(); ++state.next_workers) {
      if (left <= 0) return false;
      left -= kTrialPairNanoseconds;
      State::Workers& workers = state.workers[state.next_workers];
      if (!p_.classes.kinds().Live(workers.kind) || !p_.classes.kinds().Matches(workers.kind, alike.cls)) continue;
      const std::size_t evaluations = state.matcher.evaluations();
      const auto charges =
          any_worker ? state.matcher.Charges(alike.group) : state.matcher.PairCharges(alike.group, workers.profile);
      left -= static_cast<std::int64_t>(state.matcher.evaluations() - evaluations) * kTrialEvaluationNanoseconds;
      count(charges);
      workers.matched = workers.matched || !charges.empty();
    }
    state.next_workers = 0;
    if (!state.applies) continue;
    for (const auto& [user, some] : alike.users) {
      trial.jobs_ += some.jobs;
      trial.tasks_ += some.tasks;
      state.users[user].jobs += some.jobs;
      state.users[user].tasks += some.tasks;
    }
    left -= static_cast<std::int64_t>(alike.users.size()) * kTrialPairNanoseconds;
  }

  for (const auto& [id, place] : state.worker_ids) {
    const EngineWorker* worker = state.workers[place].matched ? p_.workers.Find(id) : nullptr;
    if (worker == nullptr || !worker->registered) continue;
    if (trial.worker_count_++ < kTrialMostShown) trial.workers_.push_back({id, worker->name});
  }
  trial.cost_failed_ = state.matcher.CostFailed(0);
  trial.complete_ = state.seen_all && state.next == state.alike.size();
  state.through = true;
  return true;
}

}  // namespace allot
