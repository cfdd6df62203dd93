// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/job_stages.h"

#include <algorithm>

#include "engine/parts.h"

namespace allot {

std::string_view Stopping::ReasonFor(JobState state) {
  return state == JobState::kCancelled ? "cancelled" : "job_failed";
}

void Stopping::Begin(EngineJob& job) {
  if (job.leases().empty()) return;
  stops_.emplace_back(job.id(), job.tasks.out());
  std::size_t budget = stops_.size() == 1 ? kLeasesAtOnce : 0;
  Step(budget);
}

bool Stopping::Step(std::size_t& budget) {
  for (; !stops_.empty(); stops_.pop_front()) {
    auto& [id, left] = stops_.front();
    EngineJob* job = p_.jobs.Find(id);
    if (job == nullptr || !Ended(job->state)) continue;  // it was retried meanwhile
    for (; left > 0 && !job->leases().empty(); --left) {
      if (budget == 0) return false;
      --budget;
      JobLeases& leases = job->course->leases;
      Lease& lease = leases.front();
      leases.splice(leases.end(), leases, leases.begin());
      if (lease.stop_requested) continue;
      lease.stop_requested = true;
      p_.journal.effects().stop_requests.push_back(StopRequest{lease.worker, lease.task, ReasonFor(job->state)});
    }
  }
  return true;
}

// --- Due.

bool DueJobs::StepRetries(std::size_t& budget) {
  MemoryPool::Scope scope(&p_.memory.jobs);
  constexpr std::size_t kPageCost = 8;
  const WallTime steady = p_.clock.Steady();
  while (p_.timers.retries().Due(steady)) {
    if (budget == 0) return false;
    --budget;
    const auto timer = p_.timers.retries().Take();
    EngineJob* job = p_.jobs.Find(timer.id);
    if (job == nullptr || job->retry_timer() != timer.at) continue;
    job->course->retry_timer = WallTime::max();
    if (Ended(job->state)) continue;  // skipped ones stay where they are
    std::size_t pages = 0;
    // Nothing is logged: a task that waits until a moment in the past is queued.
    job->tasks.ReleaseDue(steady, std::max<std::size_t>(1, budget / kPageCost), [&](std::uint32_t) { ++pages; });
    budget -= std::min(budget, pages * kPageCost);
    p_.timers.Start(*job);
    p_.flow.Refresh(*job);
  }
  return true;
}

bool DueJobs::StepSchedules(std::size_t& budget) {
  while (p_.timers.schedules().Due(p_.clock.now.wall)) {
    if (budget == 0) return false;
    --budget;
    const auto timer = p_.timers.schedules().Take();
    EngineJob* job = p_.jobs.Find(timer.id);
    if (job == nullptr || job->state != JobState::kScheduled || job->key.scheduled_for != timer.at) continue;
    // Nothing is logged: a schedule in the past is an active job.
    p_.flow.SetState(*job, JobState::kActive);
    p_.journal.Progress(*job);
    p_.flow.Refresh(*job);
  }
  return true;
}

// --- Back, and gone.

bool Reviving::Step(std::size_t& budget) {
  MemoryPool::Scope scope(&p_.memory.jobs);
  while (!revivals_.empty()) {
    EngineJob* job = p_.jobs.Find(revivals_.front());
    if (job == nullptr || !job->reviving) {
      revivals_.pop_front();
      continue;
    }
    if (budget == 0) return false;
    std::uint32_t& from = job->Course().revive_from;
    while (from < job->tasks.pages() && budget > 0) {
      --budget;
      const std::uint32_t page = from++;
      if (job->tasks.Untouched(page)) continue;
      job->tasks.RevivePage(page);
      ByteWriter event = p_.journal.Event(EventType::kRevive);
      event.Varint(job->id().value);
      event.Varint(page);
      p_.journal.MarkPage(*job, page);
    }
    if (from >= job->tasks.pages()) {
      job->reviving = false;
      revivals_.pop_front();
    }
    p_.flow.LogState(*job);
    p_.flow.Settle(*job);
    p_.flow.Refresh(*job);
  }
  return true;
}

bool Reviving::StepRetention(std::size_t& budget) {
  constexpr std::size_t kForgetCost = 5;
  const auto forget = [&](JobId id, auto still) {
    --budget;
    EngineJob* job = p_.jobs.Find(id);
    if (job == nullptr || !Ended(job->state) || !still(*job)) return;
    budget -= std::min(budget, kForgetCost);
    p_.flow.Forget(*job);
  };
  while (p_.timers.expiries().Due(p_.clock.now.wall)) {
    if (budget == 0) return false;
    const auto timer = p_.timers.expiries().Take();
    forget(timer.id, [&](const EngineJob& job) { return job.ended_at() + job.terms->retention == timer.at; });
  }
  while (p_.timers.ended_jobs() > p_.options.max_finished_jobs && !p_.timers.ends().empty()) {
    if (budget == 0) return false;
    const auto timer = p_.timers.ends().Take();
    forget(timer.id, [&](const EngineJob& job) { return job.ended_at() == timer.at; });
  }
  // What went by its retention is still in the list of ends: drop it there too.
  while (!p_.timers.ends().empty() && budget > 0) {
    const EngineJob* job = p_.jobs.Find(p_.timers.ends().next().id);
    if (job != nullptr && job->ended_at() == p_.timers.ends().next().at) break;
    --budget;
    p_.timers.ends().Take();
  }
  return true;
}

// --- As stages.

void Stopping::Tick(TickBudget&) {
  std::size_t few = kLeasesAtOnce;
  if (!stops_.empty()) Step(few);
}

void Stopping::AddWakes(NextTick& next) const {
  if (!stops_.empty()) next.AtOnce();
}

bool DueJobs::busy() const { return p_.timers.ToSweep(p_.jobs); }

void DueJobs::AfterCommand(std::size_t&) {
  if (!busy()) return;
  MemoryPool::Scope scope(&p_.memory.jobs);
  p_.timers.Sweep(p_.jobs);
}

void DueJobs::Tick(TickBudget& tick) {
  tick.through = tick.through && StepRetries(tick.due) && StepSchedules(tick.due);
}

void DueJobs::AddWakes(NextTick& next) const {
  const JobTimers& timers = p_.timers;
  if (!timers.schedules().empty()) next.AtWall(timers.schedules().next().at);
  if (!timers.retries().empty()) next.AtSteady(timers.retries().next().at);
  if (busy()) next.AtOnce();
}

void Reviving::Tick(TickBudget& tick) {
  if (tick.through && Step(tick.due)) StepRetention(tick.due);
}

void Reviving::AddWakes(NextTick& next) const {
  if (!p_.timers.expiries().empty()) next.AtWall(p_.timers.expiries().next().at);
  if (!revivals_.empty() || p_.timers.ended_jobs() > p_.options.max_finished_jobs) next.AtOnce();
}

}  // namespace allot
