// What lists, pages and metrics know without looking at jobs: counts by state, user and class, and why classes do not
// run.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "engine/pace.h"
#include "engine/tallies/hold_reasons.h"

namespace allot {
namespace {

constexpr auto kActive = static_cast<std::uint8_t>(JobState::kActive);
constexpr auto kScheduled = static_cast<std::uint8_t>(JobState::kScheduled);
constexpr auto kPaused = static_cast<std::uint8_t>(JobState::kPaused);
static_assert(kActive < EngineJob::kNoState && kScheduled < EngineJob::kNoState && kPaused < EngineJob::kNoState);

// Of more paused jobs it is not known since when.
constexpr std::size_t kMostPausedKnown = 100'000;
// Jobs that are looked at for examples of reasons.
constexpr std::size_t kMostLooks = 4096;

std::optional<WallTime> Told(WallTime time) { return time == WallTime{} ? std::nullopt : std::optional(time); }

}  // namespace

void Engine::Recount(EngineJob& job) {
  const bool live = !Ended(job.state);
  const std::uint32_t ready = live ? job.tasks.ready() : 0;
  const std::uint32_t waiting = live ? job.tasks.waiting() : 0;
  const std::uint8_t state = live ? static_cast<std::uint8_t>(job.state) : EngineJob::kNoState;
  // Most often a task of an open job was started, or one has ended.
  if (live && state == job.counted_state && job.open == job.counted_open && waiting == job.counted_waiting) {
    if (ready == job.counted_ready) return;
    const std::uint64_t more = std::uint64_t{ready} - job.counted_ready;
    held_[state].ready += more;
    job.user->ready += more;
    if (job.open) reasons_.CountTasks(job.cls, more);
    if (job.cell != HoldReasons::kNoCell) holds_->CountTasks(job.cell, more);
    job.counted_ready = ready;
    return;
  }
  const int opened = static_cast<int>(job.open) - static_cast<int>(job.counted_open);
  const std::optional<WallTime> now = loaded_ ? std::optional(now_.wall) : std::nullopt;

  if (job.open || job.counted_open) {
    if (opened > 0 && job.terms->requirements && !reasons_.Judged(job.cls)) {
      reasons_.Judge(job.cls, Never(*job.terms->requirements, AdOf(job)));
    }
    const std::int64_t before = job.counted_open ? job.counted_ready : 0;
    reasons_.Count(job.cls, job.id(), (job.open ? std::int64_t{ready} : 0) - before, opened, now);
    if (job.cell != HoldReasons::kNoCell) {
      if (opened < 0) {
        holds_->Take(std::exchange(job.cell, HoldReasons::kNoCell), job.id(), job.counted_ready);
      } else {
        holds_->CountTasks(job.cell, std::uint64_t{ready} - job.counted_ready);
      }
    } else if (opened > 0 && holds_->active()) {
      PutIntoCell(job, ready);
    }
    if (opened != 0) lists_.SetOpen(job, job.open);
  }

  if (job.user == nullptr && (live || job.leased > 0)) {
    job.user = &users_.Hold(job.terms->user);
    users_.Resumed(*job.user, job.leased);
  }
  if (job.user != nullptr) {
    users_.Count(*job.user, std::int64_t{ready} - job.counted_ready, std::int64_t{waiting} - job.counted_waiting,
                 opened);
    if (opened > 0 && job.id() < job.user->oldest_from) job.user->oldest_from = job.id();
  }

  Held& from = held_[job.counted_state];
  Held& to = held_[state];
  from.ready -= job.counted_ready;
  from.waiting -= job.counted_waiting;
  to.ready += ready;
  to.waiting += waiting;
  const bool backed_off = job.counted_state == kActive && job.counted_waiting > 0;
  const bool backs_off = state == kActive && waiting > 0;
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
  job.counted_ready = ready;
  job.counted_waiting = waiting;
  job.counted_open = job.open;
  job.counted_state = state;
  if (job.user != nullptr && !live && job.leased == 0) users_.Release(*std::exchange(job.user, nullptr));
}

void Engine::CountClosed(EngineJob& job) {
  if (!job.counted_open) return;
  job.counted_open = false;
  reasons_.Count(job.cls, job.id(), -std::int64_t{job.counted_ready}, -1, std::nullopt);
  if (job.cell != HoldReasons::kNoCell) {
    holds_->Take(std::exchange(job.cell, HoldReasons::kNoCell), job.id(), job.counted_ready);
  }
  users_.Count(*job.user, 0, 0, -1);
  lists_.SetOpen(job, false);
}

void Engine::CountState(const EngineJob& job, JobState state) {
  if (state == job.state) return;
  lists_.SetState(job, state);
  if (job.state == JobState::kPaused) jobs_paused_since_.erase(job.id());
  if (state == JobState::kPaused && jobs_paused_since_.size() < kMostPausedKnown) {
    jobs_paused_since_.emplace(job.id(), now_.wall);
  }
}

void Engine::CountStart(EngineJob& job) {
  const milliseconds waited = now_.wall - std::max(job.submitted_at, job.key.scheduled_for);
  stats_.waited.Add(waited);
  users_.Started(*job.user, engine_time_, waited);
}

void Engine::CountEnd(const Lease& lease, EngineJob& job) {
  if (job.user == nullptr) return;  // while loading
  holds_->OnLease();
  stats_.ran.Add(std::chrono::duration_cast<milliseconds>(engine_time_ - lease.granted));
  users_.Ended(*job.user);
}

void Engine::Recount(EngineWorker& worker) {
  using Is = ClassReasons::Standing;
  if (!worker.registered) return;
  const Is standing = worker.draining                       ? Is::kDraining
                      : worker.away                         ? Is::kAway
                      : worker.leases.size() < worker.slots ? Is::kFree
                                                            : Is::kBusy;
  reasons_.Put(worker, classes_.KindOf(worker.handle), standing);
}

bool Engine::StepReasons(std::size_t& budget) {
  if (!reasons_.Walking()) {
    if (!reasons_.Due() || engine_time_ - reasons_at_ < kReasonsEvery) return true;
    reasons_at_ = engine_time_;
    reasons_.BeginWalk();
  }
  return reasons_.Step(budget, now_.wall);
}

std::optional<HeldView> Engine::HeldBy(const EngineJob& job) const {
  if (Ended(job.state) || job.tasks.ready() + job.tasks.waiting() == 0) return std::nullopt;
  if (job.state == JobState::kScheduled) return HeldView{ReasonCode::kScheduled, job.submitted_at};
  if (job.state == JobState::kPaused) {
    const auto known = jobs_paused_since_.find(job.id());
    return HeldView{ReasonCode::kJobPaused,
                    known == jobs_paused_since_.end() ? std::nullopt : std::optional(known->second)};
  }
  if (paused_) return HeldView{ReasonCode::kQueuePaused, paused_since_};
  if (job.tasks.ready() == 0) return HeldView{ReasonCode::kBackoff, std::nullopt};
  const ReasonCode code = reasons_.Look(job.cls);
  if (!job.open) return HeldView{code, std::nullopt};
  if (holds_->active()) {
    RenewSorts(false);
    if (const HoldReasons::Found found = holds_->Look(job, now_); found.held) {
      const WallTime since = holds_->SinceOf(job.cell, found.code);
      return HeldView{found.code, since != WallTime{} ? since : now_.wall};
    }
  }
  const ClassReasons::Row& row = reasons_.row(job.cls);
  return HeldView{code, row.code == code ? Told(row.since) : std::optional(now_.wall)};
}

const EngineJob* Engine::OneOf(ClassId cls, std::size_t& looks) const {
  const auto fits = [cls](const EngineJob& job) { return job.open && job.cls == cls; };
  if (const EngineJob* job = FindJob(reasons_.row(cls).job); job != nullptr && fits(*job)) return job;
  return lists_.FirstOpen(looks, fits);
}

void Engine::Show(const EngineJob& job, ReasonRow& row) const {
  row.job = job.id();
  row.tags = job.terms->tags;
  if (row.code != ReasonCode::kNoMatch && row.code != ReasonCode::kNoWorkers) return;
  row.constraints = job.terms->constraints;
  row.requirements = job.terms->requirements;
  if (row.requirements) row.ad = std::make_shared<const expr::Ad>(AdOf(job));
}

std::vector<ReasonRow> Engine::Reasons() const {
  struct Sum {
    ReasonRow row;
    ClassId cls = kNoClass;  // with the most tasks
    bool always = false;     // one of them is from before the start
  };
  std::array<Sum, HoldReasons::kCodes> sums{};
  for (ClassId cls = 0; cls < reasons_.slots(); ++cls) {
    const ClassReasons::Row& known = reasons_.row(cls);
    const HoldReasons::OfClass held = paused_ ? HoldReasons::OfClass{} : holds_->of_class(cls);
    if (known.jobs <= held.jobs) continue;  // none, or all of them are held by something else
    Sum& sum = sums[static_cast<std::size_t>(paused_ ? ReasonCode::kQueuePaused : known.code)];
    sum.row.tasks += known.tasks - held.tasks;
    sum.row.jobs += known.jobs - held.jobs;
    ++sum.row.classes;
    sum.always = sum.always || known.since == WallTime{};
    if (!sum.row.since || known.since < *sum.row.since) sum.row.since = known.since;
    if (sum.cls == kNoClass || known.tasks > reasons_.row(sum.cls).tasks) sum.cls = cls;
  }
  std::vector<ReasonRow> rows;
  std::size_t looks = kMostLooks;
  for (std::size_t code = 0; code < sums.size(); ++code) {
    Sum& sum = sums[code];
    if (sum.cls == kNoClass) continue;
    sum.row.code = static_cast<ReasonCode>(code);
    if (sum.always) sum.row.since.reset();
    if (sum.row.code == ReasonCode::kQueuePaused) sum.row.since = paused_since_;
    if (const EngineJob* one = OneOf(sum.cls, looks)) Show(*one, sum.row);
    rows.push_back(std::move(sum.row));
  }
  for (std::size_t code = 0; code < HoldReasons::kCodes && !paused_; ++code) {
    const HoldReasons::Sum& held = holds_->sum(code);
    if (held.jobs == 0) continue;
    const auto same = std::find_if(rows.begin(), rows.end(),
                                   [&](const ReasonRow& row) { return row.code == static_cast<ReasonCode>(code); });
    const bool fresh = same == rows.end();
    ReasonRow& row = fresh ? rows.emplace_back() : *same;
    row.code = static_cast<ReasonCode>(code);
    row.tasks += held.tasks;
    row.jobs += held.jobs;
    row.classes += held.cells;
    if (fresh) row.since = Told(held.since);
    if (const EngineJob* one = FindJob(held.job); !row.job && one != nullptr && one->open) Show(*one, row);
    if (row.code == ReasonCode::kLimit || row.code == ReasonCode::kLimitNever) row.limits = holds_->limits();
    if (row.code == ReasonCode::kMaxSimultaneous) row.ceilings = holds_->ceilings();
  }
  const auto add = [&rows](ReasonCode code, std::uint64_t tasks, const Held& held) {
    if (tasks > 0) rows.push_back(ReasonRow{code, tasks, held.jobs, 0, held.since, {}, {}, {}, {}, {}, {}, {}});
  };
  add(ReasonCode::kScheduled, held_[kScheduled].ready + held_[kScheduled].waiting, held_[kScheduled]);
  add(ReasonCode::kJobPaused, held_[kPaused].ready + held_[kPaused].waiting, held_[kPaused]);
  add(ReasonCode::kBackoff, held_[kActive].waiting, backing_off_);
  std::stable_sort(rows.begin(), rows.end(), [](const ReasonRow& a, const ReasonRow& b) { return a.tasks > b.tasks; });
  return rows;
}

}  // namespace allot
