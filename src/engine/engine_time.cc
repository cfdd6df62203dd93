// What time brings: schedules, retries, leases and pulls that end, retention; and larger work in small steps.
#include <algorithm>

#include "base/check.h"
#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "engine/pace.h"
#include "engine/tallies/hold_reasons.h"

namespace allot {

void Engine::Tick(const Now& now) {
  Begin(now);
  std::size_t budget = kTickBudget;
  DropLingering();
  RetryOrders();
  if (std::size_t few = kLeasesAtOnce; !stops_.empty()) StepStops(few);
  StepTold();
  // Leases first: who holds a task matters more than what could be held.
  if (StepWorkers(budget) && StepRetries(budget) && StepSchedules(budget) && StepRenewal(budget) &&
      (StepRegrouping(budget) || budget > 0)) {
    // Orders of large queues take long: who asks for something meanwhile has most of the time.
    std::size_t share = SmallBuild() ? kTickBudget : commands_ == 0 ? kBuildAtRest : kBuildBesides * commands_;
    share = std::min(share, Part(kTickBudget));
    StepOrders(share);
    if (StepRevivals(budget)) StepRetention(budget);
  }
  // Apart: limits that change again and again keep nothing else waiting.
  budget = Part(kTickBudget / 2);
  StepLimits(budget);
  if (engine_time_ - swept_at_ >= kSweepEvery) {
    swept_at_ = engine_time_;
    dispatcher_->Sweep();
  }
  budget = kTickBudget / 10;
  if (StepReasons(budget)) StepHolds(budget);
  budget = Part(kTickBudget);
  StepDispatch(budget);
  End();
  commands_ = 0;
}

std::size_t Engine::LargeWorks() const {
  std::size_t works = 0;
  for (const bool under_way :
       {grouped_epoch_ != classes_.epoch(), !classes_.Settled(), orders_.Building() || orders_.Cleaning(),
        limit_epoch_ != limits_.epoch(), celling_ || holds_->stale(), dispatcher_->Busy() || dealing_,
        !openings_.empty() || !returns_.empty(), !revivals_.empty()}) {
    works += under_way ? 1 : 0;
  }
  return works;
}

// Each step takes what it did from the budget and is true if nothing is left to do now.

bool Engine::StepWorkers(std::size_t& budget) {
  while (checks_.Due(engine_time_)) {
    if (budget == 0) return false;
    --budget;
    const auto timer = checks_.Take();
    EngineWorker* worker = FindWorker(timer.id);
    if (worker == nullptr || worker->timer != timer.at) continue;
    budget -= std::min(budget, worker->leases.size());
    if (const Instant due = NextCheck(*worker); due > timer.at) {
      // Seen since: its turn comes when it is really due, so that the earliest deadline always goes first.
      worker->timer = Instant::max();
      Arm(*worker, due);
      continue;
    }
    CheckWorker(*worker);
  }
  return true;
}

void Engine::StepTold() {
  const auto each = [this](std::deque<JobId>& ids, auto tell) {
    while (!ids.empty() && orders_.MayTell()) {
      EngineJob* job = FindJob(ids.front());
      ids.pop_front();
      if (job != nullptr) tell(*job);
    }
  };
  each(returns_, [this](EngineJob& job) {
    if (job.untold > 0) orders_.TellReturned(job);
  });
  each(openings_, [this](EngineJob& job) {
    if (!job.opening) return;
    job.opening = false;
    Refresh(job);
  });
}

bool Engine::StepRetries(std::size_t& budget) {
  MemoryPool::Scope scope(&memory_.jobs);
  constexpr std::size_t kPageCost = 8;
  const WallTime steady = Steady();
  while (timers_.retries().Due(steady)) {
    if (budget == 0) return false;
    --budget;
    const auto timer = timers_.retries().Take();
    EngineJob* job = FindJob(timer.id);
    if (job == nullptr || job->retry_timer != timer.at) continue;
    job->retry_timer = WallTime::max();
    if (Ended(job->state)) continue;  // skipped ones stay where they are
    std::size_t pages = 0;
    // Nothing is logged: a task that waits until a moment in the past is ready.
    job->tasks.ReleaseDue(steady, std::max<std::size_t>(1, budget / kPageCost), [&](std::uint32_t) { ++pages; });
    budget -= std::min(budget, pages * kPageCost);
    timers_.Start(*job);
    Refresh(*job);
  }
  return true;
}

bool Engine::StepSchedules(std::size_t& budget) {
  while (timers_.schedules().Due(now_.wall)) {
    if (budget == 0) return false;
    --budget;
    const auto timer = timers_.schedules().Take();
    EngineJob* job = FindJob(timer.id);
    if (job == nullptr || job->state != JobState::kScheduled || job->key.scheduled_for != timer.at) continue;
    // Nothing is logged: a schedule in the past is an active job.
    SetState(*job, JobState::kActive);
    journal_.Progress(*job);
    Refresh(*job);
  }
  return true;
}

bool Engine::StepRevivals(std::size_t& budget) {
  MemoryPool::Scope scope(&memory_.jobs);
  while (!revivals_.empty()) {
    EngineJob* job = FindJob(revivals_.front());
    if (job == nullptr || !job->reviving) {
      revivals_.pop_front();
      continue;
    }
    if (budget == 0) return false;
    while (job->revive_from < job->tasks.pages() && budget > 0) {
      --budget;
      const std::uint32_t page = job->revive_from++;
      if (job->tasks.Untouched(page)) continue;
      job->tasks.RevivePage(page);
      ByteWriter event = journal_.Event(EventType::kRevive);
      event.Varint(job->id().value);
      event.Varint(page);
      journal_.MarkPage(*job, page);
    }
    if (job->revive_from >= job->tasks.pages()) {
      job->reviving = false;
      revivals_.pop_front();
    }
    LogState(*job);
    Settle(*job);
    Refresh(*job);
  }
  return true;
}

bool Engine::StepRetention(std::size_t& budget) {
  constexpr std::size_t kForgetCost = 5;
  const auto forget = [&](JobId id, auto still) {
    --budget;
    EngineJob* job = FindJob(id);
    if (job == nullptr || !Ended(job->state) || !still(*job)) return;
    budget -= std::min(budget, kForgetCost);
    Forget(*job);
  };
  while (timers_.expiries().Due(now_.wall)) {
    if (budget == 0) return false;
    const auto timer = timers_.expiries().Take();
    forget(timer.id, [&](const EngineJob& job) { return job.ended_at + job.terms->retention == timer.at; });
  }
  while (timers_.ended_jobs() > options_.max_finished_jobs && !timers_.ends().empty()) {
    if (budget == 0) return false;
    const auto timer = timers_.ends().Take();
    forget(timer.id, [&](const EngineJob& job) { return job.ended_at == timer.at; });
  }
  // What went by its retention is still in the list of ends: drop it there too.
  while (!timers_.ends().empty() && budget > 0) {
    const EngineJob* job = FindJob(timers_.ends().next().id);
    if (job != nullptr && job->ended_at == timers_.ends().next().at) break;
    --budget;
    timers_.ends().Take();
  }
  return true;
}

std::optional<Instant> Engine::NextWake(const Now& now) const {
  std::optional<Instant> next;
  const auto sooner = [&next](Instant at) {
    if (!next || at < *next) next = at;
  };
  const Instant tick = now.mono + kTickEvery;
  // Wall clocks may step, so what depends on one is looked at once a tick at least.
  const auto wall = [&](WallTime at) {
    sooner(at <= now.wall ? now.mono : std::min(tick, now.mono + Duration(at - now.wall)));
  };
  if (!workers_.empty()) sooner(tick);
  if (!lingering_.empty()) sooner(std::max(now.mono, lingering_.front().until + stalled_));
  if (!checks_.empty()) sooner(std::max(now.mono, checks_.next().at + stalled_));
  if (!timers_.schedules().empty()) wall(timers_.schedules().next().at);
  if (!timers_.expiries().empty()) wall(timers_.expiries().next().at);
  if (const auto& retries = timers_.retries(); !retries.empty()) {
    sooner(std::max(now.mono, boot_.mono + Duration(retries.next().at - boot_.wall)));
  }
  if (orders_.Building() || orders_.Cleaning() || !classes_.Settled() || grouped_epoch_ != classes_.epoch()) {
    sooner(now.mono);
  }
  // Opened by a look at something else, or by a command that was refused.
  if (!opened_.empty() || !woken_.empty()) sooner(now.mono);
  if (limit_epoch_ != limits_.epoch() || orders_.Joining() || !look_again_.empty()) sooner(now.mono);
  if (dispatcher_->Busy()) sooner(now.mono);
  if (dealing_) sooner(std::max(now.mono, deal_at_ + stalled_));
  for (const std::optional<Instant>& at : {limits_.NextExpiry(), limits_.NextPayable(), limits_.NextSummary()}) {
    if (at) sooner(std::max(now.mono, *at));
  }
  if (!held_checks_.empty()) sooner(std::max(now.mono, held_checks_.front().first));
  if (classes_.Timed()) sooner(now.mono + milliseconds(1000 - ToMillis(now.wall) % 1000));
  if (reasons_.Walking()) sooner(now.mono);
  if (reasons_.Due()) sooner(std::max(now.mono, reasons_at_ + kReasonsEvery + stalled_));
  if (celling_ || holds_->Walking()) sooner(now.mono);
  if (holds_->Due()) sooner(std::max(now.mono, NextHolds() + stalled_));
  if (!stops_.empty() || !returns_.empty() || !openings_.empty()) sooner(now.mono);
  if (!unstaged_.empty() || timers_.ToSweep(jobs_)) sooner(now.mono);
  if (!revivals_.empty() || timers_.ended_jobs() > options_.max_finished_jobs) sooner(now.mono);
  return next;
}

}  // namespace allot
