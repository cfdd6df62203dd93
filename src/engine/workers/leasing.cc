// SPDX-License-Identifier: Apache-2.0
#include "engine/workers/leasing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "engine/parts.h"

namespace allot {
namespace {

// Before attempt n+1. Rounded up by at most a sixteenth, so that tasks that failed at about the same time share a due
// time, and with it one bitmap.
milliseconds BackoffAfter(const Backoff& backoff, std::uint32_t attempt, Rng& rng) {
  if (backoff.first.count() == 0) return milliseconds(0);  // and not 0 × infinity, after many attempts
  const double grown = static_cast<double>(backoff.first.count()) * std::pow(backoff.factor, attempt - 1.0);
  const double base = std::min(grown, static_cast<double>(backoff.max.count()));
  return milliseconds(static_cast<std::int64_t>(std::llround(base * (1.0 + backoff.jitter * rng.Unit()))));
}

constexpr std::string_view kLeft = "its worker left without a word about it";
constexpr std::string_view kNotBack = "its worker did not come back";

WallTime RoundUp(WallTime due, milliseconds wait) {
  std::int64_t grain = 1;
  while (grain * 32 <= wait.count()) grain *= 2;  // between wait/32 and wait/16
  const std::int64_t ms = ToMillis(due);
  return FromMillis((ms + grain - 1) / grain * grain);
}

}  // namespace

void Leasing::Seen(EngineWorker& worker) {
  worker.last_seen = p_.clock.time;
  worker.last_seen_at = p_.clock.now.wall;
}

ReportVerdict Leasing::ReportOne(const Report& report) {
  MemoryPool::Scope scope(&p_.memory.jobs);  // of pages of tasks
  const TaskRef task = report.task;
  Lease* lease = p_.leases.Find(task);
  EngineJob* job = lease != nullptr ? lease->job : p_.jobs.Find(task.job);
  if (job == nullptr || task.index >= job->tasks.count()) {
    ++p_.stats.stale;
    return ReportVerdict::kStale;
  }
  if (lease == nullptr) {
    // A late `done` is worth more than running the task again, as long as nobody does.
    const TaskState state = job->tasks.State(task.index);
    const bool free = !Ended(job->state) && (state == TaskState::kQueued || state == TaskState::kRetrying);
    if (report.kind != ReportKind::kDone || !free || !p_.leases.Issued(task)) {
      ++p_.stats.stale;
      return ReportVerdict::kStale;
    }
  } else if (Ended(job->state)) {
    GiveBack(*lease, false, "");
    return ReportVerdict::kCancelled;
  }
  switch (report.kind) {
    case ReportKind::kDone: {
      if (lease != nullptr) {
        job->tasks.FinishOut(task.index);
      } else {
        job->tasks.Finish(task.index);
      }
      p_.journal.TaskEvent(EventType::kDone, *job, task.index, lease != nullptr ? task.lease.serial : 0);
      if (lease != nullptr) End(*lease);
      ++p_.stats.done;
      p_.journal.Progress(*job);
      p_.flow.Settle(*job);
      p_.flow.Refresh(*job);
      break;
    }
    case ReportKind::kFailed:
      AttemptFailed(*lease, false, report.retry_in);
      break;
    case ReportKind::kRejected:
      AttemptFailed(*lease, true);
      break;
    case ReportKind::kReleased:
      GiveBack(*lease, false, "");
      break;
  }
  return ReportVerdict::kTaken;
}

void Leasing::End(Lease& lease) {
  EngineWorker* worker = p_.workers.Find(lease.worker);
  EngineJob* job = lease.job;
  CHECK(worker != nullptr && job != nullptr);
  p_.limiting.ForgetDrawn(lease);
  if (!p_.progress.empty()) p_.progress.Forget(lease.task);
  p_.tallies.LeaseEnded(lease, *job);
  p_.leases.End(lease, &worker->leases, &job->leases);
  if (worker->leases.size() + 1 == worker->slots) p_.tallies.Recount(*worker);
  p_.dispatcher.Finished(*worker);
  if (!job->known) {
    --job->running;
  } else if (p_.orders.updates().MayUpdate()) {
    p_.orders.Returned(*job);
  } else {
    p_.order_updates.ReturnLater(*job);
  }
  ArmIdle(*worker);
}

bool Leasing::Stopped(const Lease& lease, const EngineJob& job) { return lease.stop_requested && !Ended(job.state); }

void Leasing::AttemptFailed(Lease& lease, bool final, std::optional<milliseconds> retry_in) {
  MemoryPool::Scope scope(&p_.memory.jobs);
  EngineJob& job = *lease.job;
  if (Stopped(lease, job)) return GiveBack(lease, false, "");
  const TaskIndex index = lease.task.index;
  const std::uint32_t attempt = lease.attempt;
  ++p_.stats.failed_attempts;
  const std::uint64_t serial = lease.task.lease.serial;
  if (final || attempt >= job.terms->max_attempts) {
    job.tasks.Fail(index);
    ++p_.stats.failed_tasks;
    p_.journal.TaskEvent(EventType::kFailed, job, index, serial);
  } else if (const milliseconds wait = retry_in ? *retry_in : BackoffAfter(job.terms->backoff, attempt, p_.rng);
             wait.count() > 0) {
    const WallTime due = RoundUp(p_.clock.Steady() + wait, wait);
    job.tasks.Wait(index, attempt, due);
    ByteWriter event = p_.journal.TaskEvent(EventType::kWait, job, index, serial);
    event.Varint(attempt);
    event.Varint(static_cast<std::uint64_t>(ToMillis(due)));
    p_.timers.Start(job);
  } else {
    job.tasks.Release(index, attempt);
    p_.journal.TaskEvent(EventType::kRelease, job, index, serial).Varint(attempt);
  }
  End(lease);
  p_.journal.Progress(job);
  p_.flow.Settle(job);
  p_.flow.Refresh(job);
}

void Leasing::GiveBack(Lease& lease, bool counted, std::string_view why) {
  MemoryPool::Scope scope(&p_.memory.jobs);
  EngineJob& job = *lease.job;
  const TaskIndex index = lease.task.index;
  const bool stopped = Stopped(lease, job);
  if (counted && !stopped && !Ended(job.state)) {
    p_.journal.effects().errors.push_back(EngineError{job.id(), index, lease.attempt, why});
    if (lease.attempt >= job.terms->max_attempts) {
      AttemptFailed(lease, true);
      return;
    }
  }
  const std::uint32_t used = stopped ? 0 : counted ? lease.attempt : lease.attempt - 1;
  job.tasks.Release(index, used);
  p_.journal.TaskEvent(EventType::kRelease, job, index, lease.task.lease.serial).Varint(used);
  End(lease);
  p_.flow.Refresh(job);
}

bool Leasing::GiveAllBack(EngineWorker& worker, std::size_t most, std::string_view why) {
  for (; !worker.leases.empty() && most > 0; --most) GiveBack(worker.leases.front(), true, why);
  return worker.leases.empty();
}

void Leasing::Unregister(EngineWorker& worker) {
  if (GiveAllBack(worker, kLeasesAtOnce, kLeft)) {
    Remove(worker);
    return;
  }
  // The others follow with the next ticks, as those of one that does not come back.
  Deregister(worker);
  worker.left = true;
  p_.workers.SetAway(worker, true);
  worker.away_until = p_.clock.time;
  Arm(worker, p_.clock.time);
}

void Leasing::Remove(EngineWorker& worker) {
  CHECK(worker.leases.empty());
  Deregister(worker);
  p_.workers.Erase(worker);
}

void Leasing::Deregister(EngineWorker& worker) {
  p_.pulls.End(worker);
  p_.dispatcher.Unregister(worker);
  if (!worker.registered) return;
  p_.workers.RememberTags(worker, p_.clock.now.wall);
  p_.strategies.Unuse(worker.order);
  p_.workers.SetUnregistered(worker);
  p_.orders.SetSlots(p_.workers.slots());
  p_.reasons.Remove(worker);
  p_.blocked.OnWorkers();
  p_.classes.DropWorker(worker.handle);
  p_.limits.DropWorker(worker.limited, p_.clock.now);
}

void Leasing::Arm(EngineWorker& worker, Instant at) {
  if (at >= worker.timer) return;
  worker.timer = at;
  checks_.Set(at, worker.id);
}

bool Leasing::Idle(const EngineWorker& worker) const {
  return worker.registered && !worker.connected && !worker.away && !worker.waiting() && worker.leases.empty();
}

void Leasing::ArmIdle(EngineWorker& worker) {
  if (Idle(worker)) Arm(worker, worker.last_seen + p_.options.idle_worker);
}

Instant Leasing::Deadline(const EngineWorker& worker, const Lease& lease) {
  // A grant is a sign of life too: whoever waited in silence has the whole time before it.
  return std::max(worker.last_seen, lease.granted) + lease.ttl;
}

Instant Leasing::NextCheck(const EngineWorker& worker) const {
  Instant next = worker.away ? worker.away_until : Instant::max();
  // Not seen since a restart: what it holds is kept for the grace time, whatever else was agreed on.
  if (!worker.registered) return next;
  if (worker.pull_until) next = std::min(next, *worker.pull_until);
  if (Idle(worker)) next = std::min(next, worker.last_seen + p_.options.idle_worker);
  for (const Lease& lease : worker.leases) {
    next = std::min(next, Deadline(worker, lease));
    if (lease.timeout.count() > 0) next = std::min(next, lease.granted + lease.timeout);
  }
  return next;
}

void Leasing::Check(EngineWorker& worker) {
  worker.timer = Instant::max();
  if (worker.pull_until && *worker.pull_until <= p_.clock.time) {
    p_.pulls.End(worker);
    if (worker.once) p_.journal.effects().grant_batches.push_back(GrantBatch{worker.id, {}});
  }
  if (worker.away && worker.away_until <= p_.clock.time) {
    const bool known = worker.registered;
    if (!GiveAllBack(worker, kLeasesAtOnce, worker.left ? kLeft : kNotBack)) {
      Arm(worker, p_.clock.time);
      return;
    }
    if (known) p_.journal.effects().gone.push_back(worker.id);
    Remove(worker);
    return;
  }
  std::vector<Lease*> timed_out;
  std::vector<Lease*> expired;
  for (Lease& lease : worker.leases) {
    if (timed_out.size() + expired.size() == kLeasesAtOnce) break;  // the others at once after this
    if (lease.timeout.count() > 0 && lease.granted + lease.timeout <= p_.clock.time) {
      timed_out.push_back(&lease);
    } else if (Deadline(worker, lease) <= p_.clock.time) {
      expired.push_back(&lease);
    }
  }
  // Settling a job never ends leases, so these stay valid one after another.
  for (Lease* lease : timed_out) {
    p_.journal.effects().stop_requests.push_back(StopRequest{worker.id, lease->task, "timeout"});
    ++p_.stats.expired;
    if (lease->stop_requested) {
      GiveBack(*lease, false, "");
    } else {
      p_.journal.effects().errors.push_back(
          EngineError{lease->task.job, lease->task.index, lease->attempt, "the attempt took longer than its timeout"});
      AttemptFailed(*lease, false);
    }
  }
  for (Lease* lease : expired) {
    p_.journal.effects().stop_requests.push_back(StopRequest{worker.id, lease->task, "expired"});
    ++p_.stats.expired;
    GiveBack(*lease, true, "its worker gave no sign of life for as long as the lease");
  }
  if (Idle(worker) && worker.last_seen + p_.options.idle_worker <= p_.clock.time) {
    p_.journal.effects().gone.push_back(worker.id);
    Remove(worker);
    return;
  }
  Arm(worker, NextCheck(worker));
}

bool Leasing::Step(std::size_t& budget) {
  while (checks_.Due(p_.clock.time)) {
    if (budget == 0) return false;
    --budget;
    const auto timer = checks_.Take();
    EngineWorker* worker = p_.workers.Find(timer.id);
    if (worker == nullptr || worker->timer != timer.at) continue;
    budget -= std::min(budget, worker->leases.size());
    if (const Instant due = NextCheck(*worker); due > timer.at) {
      // Seen since: its turn comes when it is really due, so that the earliest deadline always goes first.
      worker->timer = Instant::max();
      Arm(*worker, due);
      continue;
    }
    Check(*worker);
  }
  return true;
}

void Leasing::Tick(TickBudget& tick) { tick.through = tick.through && Step(tick.due); }

void Leasing::AddWakes(NextTick& next) const {
  if (!p_.workers.empty()) next.At(next.now().mono + kTickEvery);
  if (!checks_.empty()) next.AtEngineTime(checks_.next().at);
}

}  // namespace allot
