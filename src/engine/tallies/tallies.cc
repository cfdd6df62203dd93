// SPDX-License-Identifier: Apache-2.0
#include "engine/tallies/tallies.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/check.h"
#include "engine/jobs/job_ad.h"
#include "engine/parts.h"

namespace allot {
namespace {

constexpr auto kActive = static_cast<std::uint8_t>(JobState::kActive);
constexpr auto kScheduled = static_cast<std::uint8_t>(JobState::kScheduled);
constexpr auto kPaused = static_cast<std::uint8_t>(JobState::kPaused);
static_assert(kActive < EngineJob::kNoState && kScheduled < EngineJob::kNoState && kPaused < EngineJob::kNoState);

// Of more paused jobs it is not known since when.
constexpr std::size_t kMostPausedKnown = 100'000;
// Jobs that are looked at for examples of reasons.
constexpr std::size_t kMostTallyLooks = 4096;

std::optional<WallTime> Known(WallTime time) { return time == WallTime{} ? std::nullopt : std::optional(time); }

// Of so few workers it is always known how they stand; of more, as of the last walk.
constexpr std::size_t kFewWorkers = 64;
// A walk that takes long comes less often: it takes the twentieth part of the time at most.
constexpr int kMostOfTime = 20;

}  // namespace

void Tallies::Recount(EngineJob& job) {
  const bool live = !Ended(job.state);
  const std::uint32_t queued = live ? job.tasks.queued() : 0;
  const std::uint32_t retrying = live ? job.tasks.retrying() : 0;
  const std::uint8_t state = live ? static_cast<std::uint8_t>(job.state) : EngineJob::kNoState;
  // Most often a task of an open job was started, or one has ended.
  if (live && state == job.counted_state && job.open == job.counted_open && retrying == job.counted_retrying) {
    if (queued == job.counted_queued) return;
    const std::uint64_t more = std::uint64_t{queued} - job.counted_queued;
    of_state_[state].queued += more;
    job.user->queued += more;
    if (job.open) p_.reasons.CountTasks(job.cls, more);
    if (job.cell != BlockedReasons::kNoCell) p_.blocked.CountTasks(job.cell, more);
    job.counted_queued = queued;
    return;
  }
  const int opened = static_cast<int>(job.open) - static_cast<int>(job.counted_open);
  const std::optional<WallTime> now = loaded_ ? std::optional(p_.clock.now.wall) : std::nullopt;

  if (job.open || job.counted_open) {
    if (opened > 0 && job.terms->requirements && !p_.reasons.Judged(job.cls)) {
      p_.reasons.Judge(job.cls, Never(*job.terms->requirements, AdOf(job)));
    }
    const std::int64_t before = job.counted_open ? job.counted_queued : 0;
    p_.reasons.Count(job.cls, job.id(), (job.open ? std::int64_t{queued} : 0) - before, opened, now);
    if (job.cell != BlockedReasons::kNoCell) {
      if (opened < 0) {
        p_.blocked.Take(std::exchange(job.cell, BlockedReasons::kNoCell), job.id(), job.counted_queued);
      } else {
        p_.blocked.CountTasks(job.cell, std::uint64_t{queued} - job.counted_queued);
      }
    } else if (opened > 0 && p_.blocked.active()) {
      PutIntoCell(job, queued);
    }
    if (opened != 0) p_.lists.SetOpen(job, job.open);
  }

  if (job.user == nullptr && (live || job.running > 0)) {
    job.user = &p_.users.Acquire(job.terms->user);
    p_.users.Resumed(*job.user, job.running);
  }
  if (job.user != nullptr) {
    p_.users.Count(*job.user, std::int64_t{queued} - job.counted_queued, std::int64_t{retrying} - job.counted_retrying,
                   opened);
    if (opened > 0 && job.id() < job.user->oldest_from) job.user->oldest_from = job.id();
  }

  OfState& from = of_state_[job.counted_state];
  OfState& to = of_state_[state];
  from.queued -= job.counted_queued;
  from.retrying -= job.counted_retrying;
  to.queued += queued;
  to.retrying += retrying;
  const bool backed_off = job.counted_state == kActive && job.counted_retrying > 0;
  const bool backs_off = state == kActive && retrying > 0;
  if (backed_off && !backs_off) --backing_off_.jobs;
  if (!backed_off && backs_off && backing_off_.jobs++ == 0) backing_off_.since = now;
  if (state != job.counted_state) {
    const bool lived = job.counted_state != EngineJob::kNoState;
    --from.jobs;
    if (to.jobs++ == 0) to.since = now;
    if (live != lived) {
      CHECK(job.user != nullptr);
      live ? ++job.user->jobs : --job.user->jobs;
    }
  }
  job.counted_queued = queued;
  job.counted_retrying = retrying;
  job.counted_open = job.open;
  job.counted_state = state;
  if (job.user != nullptr && !live && job.running == 0) p_.users.Release(*std::exchange(job.user, nullptr));
}

void Tallies::Closed(EngineJob& job) {
  if (!job.counted_open) return;
  job.counted_open = false;
  p_.reasons.Count(job.cls, job.id(), -std::int64_t{job.counted_queued}, -1, std::nullopt);
  if (job.cell != BlockedReasons::kNoCell) {
    p_.blocked.Take(std::exchange(job.cell, BlockedReasons::kNoCell), job.id(), job.counted_queued);
  }
  p_.users.Count(*job.user, 0, 0, -1);
  p_.lists.SetOpen(job, false);
}

void Tallies::StateChanges(const EngineJob& job, JobState state) {
  if (state == job.state) return;
  --jobs_in_state_[static_cast<std::size_t>(job.state)];
  ++jobs_in_state_[static_cast<std::size_t>(state)];
  p_.lists.SetState(job, state);
  if (job.state == JobState::kPaused) jobs_paused_since_.erase(job.id());
  if (state == JobState::kPaused && jobs_paused_since_.size() < kMostPausedKnown) {
    jobs_paused_since_.emplace(job.id(), p_.clock.now.wall);
  }
}

void Tallies::TaskStarted(EngineJob& job) {
  const milliseconds waited = p_.clock.now.wall - std::max(job.submitted_at, job.key.scheduled_for);
  p_.stats.waited.Add(waited);
  p_.users.Started(*job.user, p_.clock.time, waited);
}

void Tallies::LeaseEnded(const Lease& lease, EngineJob& job) {
  if (job.user == nullptr) return;  // while loading
  p_.blocked.OnLease();
  p_.stats.ran.Add(std::chrono::duration_cast<milliseconds>(p_.clock.time - lease.granted));
  p_.users.Ended(*job.user);
}

void Tallies::Recount(EngineWorker& worker) {
  using Is = ClassReasons::Availability;
  if (!worker.registered) return;
  const Is availability = worker.draining                       ? Is::kDraining
                          : worker.away                         ? Is::kAway
                          : worker.leases.size() < worker.slots ? Is::kFree
                                                                : Is::kBusy;
  p_.reasons.Put(worker, p_.classes.KindOf(worker.handle), availability);
}

bool Tallies::StepReasons(std::size_t& budget) {
  if (!p_.reasons.Walking()) {
    if (!p_.reasons.Due() || p_.clock.time - reasons_at_ < kReasonsEvery) return true;
    reasons_at_ = p_.clock.time;
    p_.reasons.BeginWalk();
  }
  return p_.reasons.Step(budget, p_.clock.now.wall);
}

std::optional<WaitReason> Tallies::WaitReasonOf(const EngineJob& job) const {
  if (Ended(job.state) || job.tasks.queued() + job.tasks.retrying() == 0) return std::nullopt;
  if (job.state == JobState::kScheduled) return WaitReason{ReasonCode::kScheduled, job.submitted_at};
  if (job.state == JobState::kPaused) {
    const auto known = jobs_paused_since_.find(job.id());
    return WaitReason{ReasonCode::kJobPaused,
                      known == jobs_paused_since_.end() ? std::nullopt : std::optional(known->second)};
  }
  if (p_.queue.paused) return WaitReason{ReasonCode::kQueuePaused, p_.queue.paused_since};
  if (job.tasks.queued() == 0) return WaitReason{ReasonCode::kBackoff, std::nullopt};
  const ReasonCode code = p_.reasons.Look(job.cls);
  if (!job.open) return WaitReason{code, std::nullopt};
  if (p_.blocked.active()) {
    RenewSorts(false);
    if (const BlockedReasons::Found found = p_.blocked.Look(job, p_.clock.now); found.blocked) {
      const WallTime since = p_.blocked.SinceOf(job.cell, found.code);
      return WaitReason{found.code, since != WallTime{} ? since : p_.clock.now.wall};
    }
  }
  const ClassReasons::Row& row = p_.reasons.row(job.cls);
  return WaitReason{code, row.code == code ? Known(row.since) : std::optional(p_.clock.now.wall)};
}

const EngineJob* Tallies::OneOf(ClassId cls, std::size_t& looks) const {
  const auto fits = [cls](const EngineJob& job) { return job.open && job.cls == cls; };
  if (const EngineJob* job = p_.jobs.Find(p_.reasons.row(cls).job); job != nullptr && fits(*job)) return job;
  return p_.lists.FirstOpen(looks, fits);
}

void Tallies::Show(const EngineJob& job, ReasonRow& row) const {
  row.job = job.id();
  row.tags = job.terms->tags;
  if (row.code != ReasonCode::kNoMatch && row.code != ReasonCode::kNoWorkers) return;
  row.constraints = job.terms->constraints;
  row.requirements = job.terms->requirements;
  if (row.requirements) row.ad = std::make_shared<const expr::Ad>(AdOf(job));
}

std::vector<ReasonRow> Tallies::Reasons() const {
  struct Sum {
    ReasonRow row;
    ClassId cls = kNoClass;  // with the most tasks
    bool always = false;     // one of them is from before the start
  };
  std::array<Sum, BlockedReasons::kCodes> sums{};
  for (ClassId cls = 0; cls < p_.reasons.slots(); ++cls) {
    const ClassReasons::Row& known = p_.reasons.row(cls);
    const BlockedReasons::OfClass blocked = p_.queue.paused ? BlockedReasons::OfClass{} : p_.blocked.of_class(cls);
    if (known.jobs <= blocked.jobs) continue;  // none, or all of them are blocked by something else
    Sum& sum = sums[static_cast<std::size_t>(p_.queue.paused ? ReasonCode::kQueuePaused : known.code)];
    sum.row.tasks += known.tasks - blocked.tasks;
    sum.row.jobs += known.jobs - blocked.jobs;
    ++sum.row.classes;
    sum.always = sum.always || known.since == WallTime{};
    if (!sum.row.since || known.since < *sum.row.since) sum.row.since = known.since;
    if (sum.cls == kNoClass || known.tasks > p_.reasons.row(sum.cls).tasks) sum.cls = cls;
  }
  std::vector<ReasonRow> rows;
  std::size_t looks = kMostTallyLooks;
  for (std::size_t code = 0; code < sums.size(); ++code) {
    Sum& sum = sums[code];
    if (sum.cls == kNoClass) continue;
    sum.row.code = static_cast<ReasonCode>(code);
    if (sum.always) sum.row.since.reset();
    if (sum.row.code == ReasonCode::kQueuePaused) sum.row.since = p_.queue.paused_since;
    if (const EngineJob* one = OneOf(sum.cls, looks)) Show(*one, sum.row);
    rows.push_back(std::move(sum.row));
  }
  for (std::size_t code = 0; code < BlockedReasons::kCodes && !p_.queue.paused; ++code) {
    const BlockedReasons::Sum& blocked = p_.blocked.sum(code);
    if (blocked.jobs == 0) continue;
    const auto same = std::find_if(rows.begin(), rows.end(),
                                   [&](const ReasonRow& row) { return row.code == static_cast<ReasonCode>(code); });
    const bool fresh = same == rows.end();
    ReasonRow& row = fresh ? rows.emplace_back() : *same;
    row.code = static_cast<ReasonCode>(code);
    row.tasks += blocked.tasks;
    row.jobs += blocked.jobs;
    row.classes += blocked.cells;
    if (fresh) row.since = Known(blocked.since);
    if (const EngineJob* one = p_.jobs.Find(blocked.job); !row.job && one != nullptr && one->open) Show(*one, row);
    if (row.code == ReasonCode::kLimit || row.code == ReasonCode::kLimitNever) row.limits = p_.blocked.limits();
    if (row.code == ReasonCode::kMaxSimultaneous) row.ceilings = p_.blocked.ceilings();
  }
  const auto add = [&rows](ReasonCode code, std::uint64_t tasks, const OfState& blocked) {
    if (tasks > 0) rows.push_back(ReasonRow{code, tasks, blocked.jobs, 0, blocked.since, {}, {}, {}, {}, {}, {}, {}});
  };
  add(ReasonCode::kScheduled, of_state_[kScheduled].queued + of_state_[kScheduled].retrying, of_state_[kScheduled]);
  add(ReasonCode::kJobPaused, of_state_[kPaused].queued + of_state_[kPaused].retrying, of_state_[kPaused]);
  add(ReasonCode::kBackoff, of_state_[kActive].retrying, backing_off_);
  std::stable_sort(rows.begin(), rows.end(), [](const ReasonRow& a, const ReasonRow& b) { return a.tasks > b.tasks; });
  return rows;
}

// --- Which of the open jobs limits and ceilings stop.

void Tallies::RenewSorts(bool all) const {
  if (p_.blocked.SortsFresh() || (!all && p_.workers.size() > kFewWorkers)) return;
  std::map<std::tuple<KindId, Orders::Id, LimitProfileId, bool>, LimitTable::WorkerHandle> found;
  for (const auto& [id, worker] : p_.workers) {
    if (!worker->registered || worker->draining || worker->away) continue;
    found.try_emplace({p_.classes.KindOf(worker->handle), worker->Pulls(),
                       p_.blocked.ProfileOf(worker->limited, p_.clock.now), worker->leases.size() < worker->slots},
                      worker->limited);
  }
  std::vector<BlockedReasons::Sort> sorts;
  sorts.reserve(found.size());
  for (const auto& [sort, one] : found) {
    const auto& [kind, order, profile, free] = sort;
    sorts.push_back({kind, order, profile, free, one});
  }
  p_.blocked.SetSorts(std::move(sorts));
}

void Tallies::Recell(EngineJob& job) {
  if (!job.counted_open) return;
  if (job.cell != BlockedReasons::kNoCell) {
    p_.blocked.Take(std::exchange(job.cell, BlockedReasons::kNoCell), job.id(), job.counted_queued);
  }
  if (p_.blocked.active()) PutIntoCell(job, job.counted_queued);
}

void Tallies::PutIntoCell(EngineJob& job, std::uint32_t tasks) {
  {
    MemoryPool::Scope scope(&p_.memory.looks);
    job.cell = p_.blocked.Put(job, tasks);
  }
  if (!p_.blocked.New(job.cell)) return;
  // Who has a free slot changes with every start: that is as of the last look.
  if (!p_.blocked.SortsUsable()) RenewSorts(false);
  p_.blocked.LookAtNew(job.cell, p_.clock.now);
}

bool Tallies::StepCells(std::size_t& budget) {
  if (p_.blocked.TakeStale()) {
    celling_ = true;
    recelling_ = {};
  }
  if (!celling_) return true;
  constexpr std::size_t kLooksPerUnit = 64;  // at jobs that stay where they are
  std::size_t looks = 0;
  const bool all = p_.lists.WalkOpen(recelling_, [&](EngineJob* job) {
    if (budget == 0) return false;
    if (job == nullptr || !job->counted_open || !p_.blocked.Outdated(job->cell)) {
      if (++looks % kLooksPerUnit == 0) --budget;
      return true;
    }
    --budget;
    Recell(*job);
    return true;
  });
  if (!all) return false;
  celling_ = false;
  return true;
}

Instant Tallies::NextBlocked() const {
  return blocked_at_ +
         std::max<Duration>(kReasonsEvery, std::chrono::microseconds(p_.blocked.walk_cost() * kMostOfTime));
}

bool Tallies::StepBlocked(std::size_t& budget) {
  p_.blocked.Renew();
  if (!StepCells(budget)) return false;
  if (!p_.blocked.Walking()) {
    if (!p_.blocked.Due() || p_.clock.time < NextBlocked()) return true;
    blocked_at_ = p_.clock.time;
    RenewSorts(true);
    p_.blocked.BeginWalk();
  }
  return p_.blocked.Step(budget, p_.clock.now);
}

// --- As a stage.

std::uint64_t Tallies::queued_tasks() const { return of_state_[0].queued + of_state_[1].queued + of_state_[2].queued; }
std::uint64_t Tallies::retrying_tasks() const {
  return of_state_[0].retrying + of_state_[1].retrying + of_state_[2].retrying;
}

void Tallies::AfterCommand(std::size_t&) {
  p_.blocked.Renew();
  std::size_t few = p_.pace.Part(kSmallBudget / 3);
  if (celling_ || p_.blocked.stale()) StepCells(few);
}

void Tallies::Tick(TickBudget&) {
  std::size_t budget = kTickBudget / 10;
  if (StepReasons(budget)) StepBlocked(budget);
}

void Tallies::AddWakes(NextTick& next) const {
  if (p_.reasons.Walking() || celling_ || p_.blocked.Walking()) next.AtOnce();
  if (p_.reasons.Due()) next.AtEngineTime(reasons_at_ + kReasonsEvery);
  if (p_.blocked.Due()) next.AtEngineTime(NextBlocked());
}

std::size_t Tallies::works() const { return celling_ || p_.blocked.stale() ? 1 : 0; }

}  // namespace allot
