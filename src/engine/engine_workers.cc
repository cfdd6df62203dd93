// Commands of workers: register, pull, report, extend, leave; and what becomes of their leases.
#include <algorithm>
#include <cmath>

#include "base/bounds.h"
#include "base/check.h"
#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "engine/errors.h"
#include "engine/pace.h"
#include "engine/tallies/hold_reasons.h"

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

bool Engine::KnowsKey(WorkerId worker, std::uint64_t key) const { return leases_.WorkerKey(worker) == key; }

Result<RegisterAnswer> Engine::Register(const Now& now, const WorkerSpec& spec, std::optional<std::uint64_t> key) {
  Begin(now);
  CHECK(spec.id);
  EngineWorker* worker = FindWorker(spec.id);
  if (key && !KnowsKey(spec.id, *key)) return UnknownWorker(spec.id);
  CHECK(key || worker == nullptr);
  // Everything that can fail comes first, so that who is refused is not known afterwards.
  if (worker == nullptr && workers_.size() >= bounds::kMaxWorkers) {
    return Error{Code::kTooManyWorkers, "the queue has as many workers as it may", "use more slots on fewer workers"};
  }
  if (spec.requirements || spec.rank) {
    EngineWorker as;
    as.name = spec.name;
    as.attributes = spec.attributes;
    as.properties = spec.properties;
    as.requirements = spec.requirements;
    as.rank = spec.rank;
    if (auto admitted = AdmitReads(TraitsOf(as)); !admitted) return admitted.error();
  }
  constexpr std::uint64_t kWorkerBytes = 4096;  // or so, with what it shows
  // Not as soon as the budget is used up: workers are what works it off.
  if (worker == nullptr && !LooksFit()) return AdmitMemory(kWorkerBytes, "another worker").error();
  const StrategyPtr strategy = spec.strategy ? spec.strategy : DefaultStrategy();
  const std::string charged_to = !spec.user.empty()    ? "user " + spec.user
                                 : !spec.token.empty() ? "token " + spec.token
                                                       : std::string();
  auto order = UseStrategy(strategy, charged_to);
  if (!order) return order.error();
  std::optional<MemoryPool::Scope> scope(std::in_place, &memory_.workers);
  if (worker == nullptr) worker = &Stub(spec.id);
  EndPull(*worker);
  if (worker->registered) UnuseOrder(worker->order);
  worker->charged_to = charged_to;
  worker->strategy = strategy;
  worker->order = *order;
  if (worker->away) {
    worker->away = worker->left = false;
    --away_workers_;
  }
  worker->name = spec.name;
  if (worker->tags != spec.tags) RememberTags(*worker);
  worker->tags = spec.tags;
  worker->properties = spec.properties;
  worker->attributes = spec.attributes;
  worker->requirements = spec.requirements;
  worker->rank = spec.rank;
  if (worker->registered) slots_ -= worker->slots;
  slots_ += spec.slots;
  orders_.SetSlots(slots_);
  worker->slots = spec.slots;
  worker->connected = spec.connected;
  worker->address = spec.address;
  worker->user = spec.user;
  // An order to drain outlives a lost connection, and is repeated: it may have been lost with it.
  if (worker->draining) journal_.effects().drains.push_back(spec.id);
  crew_.current = false;
  if (worker->registered) {
    const WorkerTraits traits = TraitsOf(*worker);
    limits_.ChangeWorker(worker->limited, traits.ad, now_);
    MemoryPool::Scope classes(&memory_.classes);
    classes_.ChangeWorker(worker->handle, traits);
  } else {
    worker->registered = true;
    worker->registered_at = now_.wall;
    ++registered_workers_;
    const WorkerTraits traits = TraitsOf(*worker);
    worker->limited = limits_.AddWorker(traits.ad);
    MemoryPool::Scope classes(&memory_.classes);
    worker->handle = classes_.AddWorker(traits);
  }
  scope.reset();
  Seen(*worker);

  RegisterAnswer answer;
  answer.worker = spec.id;
  answer.key = leases_.WorkerKey(spec.id);
  std::unordered_set<std::uint64_t> kept;
  for (const TaskRef& task : spec.resume) {
    const Lease* lease = leases_.Find(task);
    const bool own = lease != nullptr && lease->worker == spec.id;
    if (own) kept.insert(task.lease.serial);
    (own ? answer.resumed : answer.lost).push_back(task);
  }
  std::vector<Lease*> unlisted;
  for (Lease& lease : worker->leases) {
    if (!kept.contains(lease.task.lease.serial)) unlisted.push_back(&lease);
  }
  // What was granted since the last Take() went to the connection before, and with it: it must not reach the new one.
  std::erase_if(journal_.effects().assignments, [&](const Assignment& assignment) {
    if (assignment.worker != spec.id) return false;
    for (const Grant& grant : assignment.grants) {
      if (const Lease* lease = leases_.Find(grant.task)) Refund(*lease);
    }
    return true;
  });
  holds_->OnWorkers();
  Recount(*worker);
  for (Lease* lease : unlisted) GiveBack(*lease, false, "");
  for (Lease& lease : worker->leases) {
    const JobState state = lease.job->state;
    if (Ended(state)) journal_.effects().cancels.push_back(CancelOrder{spec.id, lease.task, StopReason(state)});
  }
  Arm(*worker, NextCheck(*worker));
  Enrol(*worker);
  End();
  return answer;
}

EngineWorker& Engine::Stub(WorkerId id) {
  auto [it, fresh] = workers_.try_emplace(id);
  if (fresh) {
    MemoryPool::Scope scope(&memory_.workers);
    it->second = std::make_unique<EngineWorker>();
    it->second->id = id;
    it->second->away = true;
    ++away_workers_;
    highest_id_ = std::max(highest_id_, id.value);
  }
  return *it->second;
}

void Engine::Seen(EngineWorker& worker) {
  worker.last_seen = engine_time_;
  worker.last_seen_at = now_.wall;
}

Result<void> Engine::Heartbeat(const Now& now, WorkerId id) {
  Begin(now);
  EngineWorker* worker = FindWorker(id);
  if (worker == nullptr || !worker->registered) return UnknownWorker(id);
  Seen(*worker);
  End();
  return {};
}

Result<void> Engine::Pull(const Now& now, WorkerId id, const PullOptions& options) {
  Begin(now);
  EngineWorker* worker = FindWorker(id);
  if (worker == nullptr || !worker->registered) return UnknownWorker(id);
  Seen(*worker);
  std::optional<Orders::Id> order;
  if (options.strategy) {
    auto used = UseStrategy(options.strategy, worker->charged_to);
    if (!used) return used.error();
    order = *used;
  }
  // Who waits keeps its turn, unless it asks for something else.
  if (order || worker->pull_strategy) EndPull(*worker);
  worker->pull_until.reset();
  // What it holds counts in its credit, so that one worker cannot lease without end.
  const std::size_t held = std::min<std::size_t>(worker->leases.size(), bounds::kMaxCredit);
  worker->credit = std::min(options.credit, static_cast<std::uint32_t>(bounds::kMaxCredit - held));
  worker->once = options.once;
  if (order) {
    worker->pull_strategy = options.strategy;
    worker->pull_order = *order;
  }
  if (options.wait) worker->pull_until = engine_time_ + *options.wait;
  Enrol(*worker);  // it may have been passed over
  // Whoever does not wait for the rest gets all of it now, or what many orders can be told of at once.
  if (options.once || (options.wait && options.wait->count() <= 0)) grants_left_ = bounds::kMaxCredit;
  const bool served = worker->credit > 0 && Serve(*worker);
  if (worker->credit == 0) {
    EndPull(*worker);
    if (!served && options.once) journal_.effects().assignments.push_back(Assignment{id, {}});
  } else if (worker->draining || worker->away || (options.wait && options.wait->count() <= 0)) {
    EndPull(*worker);
    if (options.once) journal_.effects().assignments.push_back(Assignment{id, {}});
  } else {
    Park(*worker);
    if (worker->pull_until) Arm(*worker, *worker->pull_until);
  }
  ArmIdle(*worker);
  End();
  return {};
}

void Engine::Park(EngineWorker& worker) {
  if (worker.waiting()) return;
  worker.waiting_turn = next_turn_++;
  worker.waiting_since = engine_time_;
  dispatcher_->SetHungry(worker, worker.waiting_turn);
  WaitAmong(worker, classes_.KindOf(worker.handle));
}

void Engine::WaitAmong(EngineWorker& worker, KindId kind) {
  waiting_.Add(worker, worker.Pulls(), kind, limits_.ProfileOf(worker.limited, now_));
}

void Engine::MoveAmong(EngineWorker& worker, KindId kind) {
  waiting_.Remove(worker);
  WaitAmong(worker, kind);
  woken_.push_back(kind);
}

void Engine::EndPull(EngineWorker& worker) {
  Unpark(worker);
  worker.credit = 0;
  worker.pull_until.reset();
  if (!worker.pull_strategy) return;
  worker.pull_strategy = nullptr;
  // The next pull may well ask for the same, and a large queue's order takes a while to build.
  const auto same = std::find_if(lingering_.begin(), lingering_.end(),
                                 [&](const Lingering& old) { return old.order == worker.pull_order; });
  if (same != lingering_.end()) {
    UnuseOrder(same->order);
    lingering_.erase(same);
  }
  lingering_.push_back({worker.pull_order, engine_time_ + kOrderLingers});
  DropLingering();
}

void Engine::DropLingering() {
  while (!lingering_.empty() && (lingering_.size() > kMaxLingering || lingering_.front().until <= engine_time_)) {
    UnuseOrder(lingering_.front().order);
    lingering_.pop_front();
  }
}

void Engine::Unpark(EngineWorker& worker) {
  if (!worker.waiting()) return;
  waiting_.Remove(worker);
  dispatcher_->SetHungry(worker, std::nullopt);
}

Result<std::vector<ReportVerdict>> Engine::ReportAll(const Now& now, WorkerId id, std::span<const Report> reports) {
  Begin(now);
  EngineWorker* worker = FindWorker(id);
  if (worker == nullptr || !worker->registered) return UnknownWorker(id);
  Seen(*worker);
  std::vector<ReportVerdict> verdicts;
  verdicts.reserve(reports.size());
  for (const Report& report : reports) verdicts.push_back(ReportOne(report));
  End();
  return verdicts;
}

ReportVerdict Engine::ReportOne(const Report& report) {
  MemoryPool::Scope scope(&memory_.jobs);  // of pages of tasks
  const TaskRef task = report.task;
  Lease* lease = leases_.Find(task);
  EngineJob* job = lease != nullptr ? lease->job : FindJob(task.job);
  if (job == nullptr || task.index >= job->tasks.count()) {
    ++stats_.stale;
    return ReportVerdict::kStale;
  }
  if (lease == nullptr) {
    // A late `done` is worth more than running the task again, as long as nobody does.
    const TaskState state = job->tasks.State(task.index);
    const bool free = !Ended(job->state) && (state == TaskState::kReady || state == TaskState::kWaiting);
    if (report.kind != ReportKind::kDone || !free || !leases_.Issued(task)) {
      ++stats_.stale;
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
      journal_.TaskEvent(EventType::kDone, *job, task.index, lease != nullptr ? task.lease.serial : 0);
      if (lease != nullptr) EndLease(*lease);
      ++stats_.done;
      journal_.Progress(*job);
      Settle(*job);
      Refresh(*job);
      break;
    }
    case ReportKind::kFailed:
      AttemptFailed(*lease, false);
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

void Engine::EndLease(Lease& lease) {
  EngineWorker* worker = FindWorker(lease.worker);
  EngineJob* job = lease.job;
  CHECK(worker != nullptr && job != nullptr);
  if (!draws_.empty()) draws_.erase(lease.task.lease.serial);
  CountEnd(lease, *job);
  leases_.End(lease, &worker->leases, &job->leases);
  if (worker->leases.size() + 1 == worker->slots) Recount(*worker);
  dispatcher_->Finished(*worker);
  if (!job->known) {
    --job->leased;
  } else if (orders_.MayTell()) {
    orders_.Returned(*job);
  } else {
    orders_.ReturnLater(*job);
    if (job->untold == 1) returns_.push_back(job->id());
  }
  ArmIdle(*worker);
}

bool Engine::Stopped(const Lease& lease, const EngineJob& job) { return lease.told && !Ended(job.state); }

void Engine::AttemptFailed(Lease& lease, bool final) {
  MemoryPool::Scope scope(&memory_.jobs);
  EngineJob& job = *lease.job;
  if (Stopped(lease, job)) return GiveBack(lease, false, "");
  const TaskIndex index = lease.task.index;
  const std::uint32_t attempt = lease.attempt;
  ++stats_.failed_attempts;
  const std::uint64_t serial = lease.task.lease.serial;
  if (final || attempt >= job.terms->max_attempts) {
    job.tasks.Fail(index);
    ++stats_.failed_tasks;
    journal_.TaskEvent(EventType::kFailed, job, index, serial);
  } else if (const milliseconds wait = BackoffAfter(job.terms->backoff, attempt, rng_); wait.count() > 0) {
    const WallTime due = RoundUp(Steady() + wait, wait);
    job.tasks.Wait(index, attempt, due);
    ByteWriter event = journal_.TaskEvent(EventType::kWait, job, index, serial);
    event.Varint(attempt);
    event.Varint(static_cast<std::uint64_t>(ToMillis(due)));
    timers_.Start(job);
  } else {
    job.tasks.Release(index, attempt);
    journal_.TaskEvent(EventType::kRelease, job, index, serial).Varint(attempt);
  }
  EndLease(lease);
  journal_.Progress(job);
  Settle(job);
  Refresh(job);
}

void Engine::GiveBack(Lease& lease, bool counted, std::string_view why) {
  MemoryPool::Scope scope(&memory_.jobs);
  EngineJob& job = *lease.job;
  const TaskIndex index = lease.task.index;
  const bool stopped = Stopped(lease, job);
  if (counted && !stopped && !Ended(job.state)) {
    journal_.effects().errors.push_back(EngineError{job.id(), index, lease.attempt, why});
    if (lease.attempt >= job.terms->max_attempts) {
      AttemptFailed(lease, true);
      return;
    }
  }
  const std::uint32_t used = stopped ? 0 : counted ? lease.attempt : lease.attempt - 1;
  job.tasks.Release(index, used);
  journal_.TaskEvent(EventType::kRelease, job, index, lease.task.lease.serial).Varint(used);
  EndLease(lease);
  Refresh(job);
}

Result<std::vector<bool>> Engine::Extend(const Now& now, WorkerId id, std::span<const TaskRef> tasks) {
  Begin(now);
  EngineWorker* worker = FindWorker(id);
  if (worker == nullptr || !worker->registered) return UnknownWorker(id);
  Seen(*worker);
  std::vector<bool> own;
  own.reserve(tasks.size());
  for (const TaskRef& task : tasks) {
    const Lease* lease = leases_.Find(task);
    own.push_back(lease != nullptr && lease->worker == id);
  }
  End();
  return own;
}

Result<void> Engine::Drain(const Now& now, WorkerId id) {
  Begin(now);
  EngineWorker* worker = FindWorker(id);
  if (worker == nullptr || !worker->registered) return UnknownWorker(id);
  if (!worker->draining) {
    worker->draining = true;
    ++draining_workers_;
    Recount(*worker);
    if (worker->waiting() && worker->once) journal_.effects().assignments.push_back(Assignment{id, {}});
    EndPull(*worker);
    journal_.effects().drains.push_back(id);
    Enrol(*worker);
    ArmIdle(*worker);
  }
  End();
  return {};
}

void Engine::Disconnect(const Now& now, WorkerId id) {
  Begin(now);
  EngineWorker* worker = FindWorker(id);
  if (worker != nullptr && worker->registered && !worker->away) {
    EndPull(*worker);
    worker->connected = false;
    worker->away = true;
    ++away_workers_;
    Recount(*worker);
    Enrol(*worker);
    worker->away_until = engine_time_ + options_.worker_grace;
    Arm(*worker, worker->away_until);
  }
  End();
}

void Engine::Unregister(const Now& now, WorkerId id) {
  Begin(now);
  EngineWorker* worker = FindWorker(id);
  if (worker != nullptr && worker->registered) {
    if (GiveAllBack(*worker, kLeasesAtOnce, kLeft)) {
      Remove(*worker);
    } else {
      // The others follow with the next ticks, as those of one that does not come back.
      Deregister(*worker);
      worker->left = true;
      if (!std::exchange(worker->away, true)) ++away_workers_;
      worker->away_until = engine_time_;
      Arm(*worker, engine_time_);
    }
  }
  End();
}

void Engine::Undelivered(const Now& now, std::span<const TaskRef> tasks) {
  Begin(now);
  for (const TaskRef& task : tasks) {
    if (Lease* lease = leases_.Find(task)) {
      Refund(*lease);
      GiveBack(*lease, false, "");
    }
  }
  End();
}

bool Engine::GiveAllBack(EngineWorker& worker, std::size_t most, std::string_view why) {
  for (; !worker.leases.empty() && most > 0; --most) GiveBack(worker.leases.front(), true, why);
  return worker.leases.empty();
}

void Engine::Remove(EngineWorker& worker) {
  CHECK(worker.leases.empty());
  Deregister(worker);
  if (worker.away) --away_workers_;
  workers_.erase(worker.id);
}

void Engine::Deregister(EngineWorker& worker) {
  EndPull(worker);
  dispatcher_->Unregister(worker);
  if (worker.registered) {
    crew_.current = false;
    RememberTags(worker);
    UnuseOrder(worker.order);
    slots_ -= worker.slots;
    orders_.SetSlots(slots_);
    if (worker.draining) --draining_workers_;
    reasons_.Remove(worker);
    holds_->OnWorkers();
    classes_.DropWorker(worker.handle);
    limits_.DropWorker(worker.limited, now_);
    --registered_workers_;
    worker.registered = worker.draining = worker.connected = false;
  }
}

void Engine::Arm(EngineWorker& worker, Instant at) {
  if (at >= worker.timer) return;
  worker.timer = at;
  checks_.Set(at, worker.id);
}

bool Engine::Idle(const EngineWorker& worker) const {
  return worker.registered && !worker.connected && !worker.away && !worker.waiting() && worker.leases.empty();
}

void Engine::ArmIdle(EngineWorker& worker) {
  if (Idle(worker)) Arm(worker, worker.last_seen + options_.idle_worker);
}

Instant Engine::Deadline(const EngineWorker& worker, const Lease& lease) {
  // A grant is a sign of life too: whoever waited in silence has the whole time before it.
  return std::max(worker.last_seen, lease.granted) + lease.ttl;
}

Instant Engine::NextCheck(const EngineWorker& worker) const {
  Instant next = worker.away ? worker.away_until : Instant::max();
  // Not seen since a restart: what it holds is kept for the grace time, whatever else was agreed on.
  if (!worker.registered) return next;
  if (worker.pull_until) next = std::min(next, *worker.pull_until);
  if (Idle(worker)) next = std::min(next, worker.last_seen + options_.idle_worker);
  for (const Lease& lease : worker.leases) {
    next = std::min(next, Deadline(worker, lease));
    if (lease.timeout.count() > 0) next = std::min(next, lease.granted + lease.timeout);
  }
  return next;
}

void Engine::CheckWorker(EngineWorker& worker) {
  worker.timer = Instant::max();
  if (worker.pull_until && *worker.pull_until <= engine_time_) {
    EndPull(worker);
    if (worker.once) journal_.effects().assignments.push_back(Assignment{worker.id, {}});
  }
  if (worker.away && worker.away_until <= engine_time_) {
    const bool known = worker.registered;
    if (!GiveAllBack(worker, kLeasesAtOnce, worker.left ? kLeft : kNotBack)) {
      Arm(worker, engine_time_);
      return;
    }
    if (known) journal_.effects().gone.push_back(worker.id);
    Remove(worker);
    return;
  }
  std::vector<Lease*> timed_out;
  std::vector<Lease*> expired;
  for (Lease& lease : worker.leases) {
    if (timed_out.size() + expired.size() == kLeasesAtOnce) break;  // the others at once after this
    if (lease.timeout.count() > 0 && lease.granted + lease.timeout <= engine_time_) {
      timed_out.push_back(&lease);
    } else if (Deadline(worker, lease) <= engine_time_) {
      expired.push_back(&lease);
    }
  }
  // Settling a job never ends leases, so these stay valid one after another.
  for (Lease* lease : timed_out) {
    journal_.effects().cancels.push_back(CancelOrder{worker.id, lease->task, "timeout"});
    ++stats_.expired;
    if (lease->told) {
      GiveBack(*lease, false, "");
    } else {
      journal_.effects().errors.push_back(
          EngineError{lease->task.job, lease->task.index, lease->attempt, "the attempt took longer than its timeout"});
      AttemptFailed(*lease, false);
    }
  }
  for (Lease* lease : expired) {
    journal_.effects().cancels.push_back(CancelOrder{worker.id, lease->task, "expired"});
    ++stats_.expired;
    GiveBack(*lease, true, "its worker gave no sign of life for as long as the lease");
  }
  if (Idle(worker) && worker.last_seen + options_.idle_worker <= engine_time_) {
    journal_.effects().gone.push_back(worker.id);
    Remove(worker);
    return;
  }
  Arm(worker, NextCheck(worker));
}

}  // namespace allot
