// Commands on jobs that are there: change, cancel, pause, resume, retry. How they come in is in engine_submit.cc.
#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>

#include "base/bounds.h"
#include "base/check.h"
#include "base/memory_pool.h"
#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "engine/errors.h"
#include "engine/pace.h"
#include "match/constraints.h"

namespace allot {
namespace {

Error AlreadyEnded(JobId job, JobState state) {
  return {Code::kJobEnded, "job " + ToText(job) + " has ended (" + std::string(StateText(state)) + ")",
          "`allot retry` runs its failed and skipped tasks again"};
}

}  // namespace

void Engine::JobTimers::Push(const EngineJob& job) {
  if (job.state == JobState::kScheduled) schedules.push({job.key.scheduled_for, job.id()});
  if (!Ended(job.state)) return;
  expiries.push({job.ended_at + job.terms->retention, job.id()});
  finished.push({job.ended_at, job.id()});
}

// Some jobs with each command.
void Engine::SweepTimers() {
  constexpr std::size_t kJobs = 500;
  MemoryPool::Scope scope(&memory_.jobs);
  if (!swept_timers_) {
    swept_timers_ = std::make_unique<JobTimers>();
    sweep_timers_from_ = {};
  }
  auto it = std::lower_bound(by_id_.begin(), by_id_.end(), sweep_timers_from_,
                             [](const auto& entry, JobId key) { return entry.first < key; });
  for (std::size_t jobs = 0; jobs < kJobs && it != by_id_.end(); ++jobs, ++it) {
    if (it->second != nullptr) swept_timers_->Push(*it->second);
  }
  if (it != by_id_.end()) {
    sweep_timers_from_ = it->first;
    return;
  }
  timers_ = std::move(*swept_timers_);
  swept_timers_.reset();
}

void Engine::StartTimers(EngineJob& job) {
  timers_.Push(job);
  if (swept_timers_) swept_timers_->Push(job);
  if (Ended(job.state)) ++finished_jobs_;
  if (const auto due = job.tasks.NextDue(); due && *due < job.retry_timer) {
    job.retry_timer = *due;
    retries_.push({*due, job.id()});
  }
}

void Engine::SetState(EngineJob& job, JobState state) {
  --jobs_in_state_[static_cast<std::size_t>(job.state)];
  ++jobs_in_state_[static_cast<std::size_t>(state)];
  CountState(job, state);
  job.state = state;
}

void Engine::LogState(EngineJob& job) {
  ByteWriter event = Event(EventType::kState);
  event.Varint(job.id().value);
  event.U8(static_cast<std::uint8_t>(job.state));
  event.U8(static_cast<std::uint8_t>(job.reason));
  event.Varint(static_cast<std::uint64_t>(ToMillis(job.ended_at)));
  event.U8(job.reviving ? 1 : 0);
  event.Varint(job.revive_from);
  MarkJob(job);
  Progress(job);
}

void Engine::LogHeader(EngineJob& job) {
  ByteWriter event = Event(EventType::kHeader);
  event.Varint(job.id().value);
  EncodeHeader(job, event);
  MarkJob(job);
  Progress(job);
}

void Engine::Settle(EngineJob& job) {
  if (Ended(job.state) || job.reviving) return;
  const JobTasks& tasks = job.tasks;
  if (tasks.failed() > job.terms->max_failed_tasks.For(tasks.count())) {
    EndJob(job, JobState::kFailed, JobReason::kTooManyFailed);
  } else if (tasks.done() + tasks.failed() == tasks.count()) {
    EndJob(job, JobState::kDone, JobReason::kNone);
  }
}

void Engine::EndJob(EngineJob& job, JobState state, JobReason reason) {
  SetState(job, state);
  job.reason = reason;
  job.ended_at = now_.wall;
  LogState(job);
  StartTimers(job);
  effects_.ended.push_back(job.id());
  OrderStop(job);
  Refresh(job);
  Leave(job);
}

std::string_view Engine::StopReason(JobState state) {
  return state == JobState::kCancelled ? "cancelled" : "job_failed";
}

void Engine::OrderStop(EngineJob& job) {
  if (job.leases.empty()) return;
  stops_.emplace_back(job.id(), job.tasks.out());
  std::size_t budget = stops_.size() == 1 ? kLeasesAtOnce : 0;
  StepStops(budget);
}

bool Engine::StepStops(std::size_t& budget) {
  for (; !stops_.empty(); stops_.pop_front()) {
    auto& [id, left] = stops_.front();
    EngineJob* job = FindJob(id);
    if (job == nullptr || !Ended(job->state)) continue;  // it was retried meanwhile
    for (; left > 0 && !job->leases.empty(); --left) {
      if (budget == 0) return false;
      --budget;
      Lease& lease = job->leases.front();
      job->leases.splice(job->leases.end(), job->leases, job->leases.begin());
      if (lease.told) continue;
      lease.told = true;
      effects_.cancels.push_back(CancelOrder{lease.worker, lease.task, StopReason(job->state)});
    }
  }
  return true;
}

Result<void> Engine::Change(const Now& now, JobId id, const JobChange& change) {
  Begin(now);
  EngineJob* job = FindJob(id);
  if (job == nullptr) return UnknownJob(id);
  if (Ended(job->state)) return AlreadyEnded(id, job->state);
  OrderKey key = job->key;
  if (change.priority) {
    key.no_priority = !change.priority->has_value();
    key.priority = change.priority->value_or(0);
  }
  if (change.scheduled_for) key.scheduled_for = *change.scheduled_for;
  if (change.delay) key.scheduled_for = now_.wall + std::chrono::duration_cast<milliseconds>(*change.delay);
  JobTerms terms = *job->terms;
  if (change.tags) terms.tags = *change.tags;
  if (change.constraints) {
    terms.constraints = *change.constraints;
    terms.constraint_tags = ConstraintTags(terms.constraints);
  }
  if (change.requirements) terms.requirements = *change.requirements;
  if (change.rank) terms.rank = *change.rank;
  const Meta none;
  const Meta& meta = change.meta ? *change.meta : job->extras ? job->extras->meta : none;
  auto class_terms = ClassTerms(terms, key, job->tasks.count(), meta);
  if (auto admitted = AdmitClass(class_terms, terms.user, TokenOf(job->cls)); !admitted) return admitted.error();

  MemoryPool::Scope scope(&memory_.jobs);
  if (job->open) {
    dispatcher_->Close(*job);
    orders_.Close(*job);
    Ungroup(*job);
  }
  CountClosed(*job);
  orders_.Forget(*job);
  job->key = key;
  job->terms = Share(std::move(terms));
  const ClassId cls = JoinClass(std::move(class_terms), job->terms->user, TokenOf(job->cls));
  LeaveClass(job->cls);
  job->cls = cls;
  if (change.meta) {
    if (!job->extras) job->extras = std::make_unique<JobExtras>();
    job->extras->meta = change.meta->empty() ? Shared<Meta>() : Shared<Meta>(*change.meta);
    if (job->extras->empty()) job->extras.reset();
  }
  orders_.Know(*job);
  if (change.tags) NoteKeys(*job);
  if (job->state != JobState::kPaused) {
    SetState(*job, job->key.scheduled_for > now_.wall ? JobState::kScheduled : JobState::kActive);
  }
  StartTimers(*job);
  LogHeader(*job);
  Refresh(*job);
  End();
  return {};
}

Result<void> Engine::Cancel(const Now& now, JobId id) {
  Begin(now);
  EngineJob* job = FindJob(id);
  if (job == nullptr) return UnknownJob(id);
  if (!Ended(job->state)) {
    job->reviving = false;
    EndJob(*job, JobState::kCancelled, JobReason::kNone);
  }
  End();
  return {};
}

Result<void> Engine::Pause(const Now& now, JobId id) {
  Begin(now);
  EngineJob* job = FindJob(id);
  if (job == nullptr) return UnknownJob(id);
  if (Ended(job->state)) return AlreadyEnded(id, job->state);
  if (job->state != JobState::kPaused) {
    SetState(*job, JobState::kPaused);
    LogState(*job);
    Refresh(*job);
  }
  End();
  return {};
}

Result<void> Engine::Resume(const Now& now, JobId id) {
  Begin(now);
  EngineJob* job = FindJob(id);
  if (job == nullptr) return UnknownJob(id);
  if (Ended(job->state)) return AlreadyEnded(id, job->state);
  if (job->state == JobState::kPaused) {
    SetState(*job, job->key.scheduled_for > now_.wall ? JobState::kScheduled : JobState::kActive);
    StartTimers(*job);
    LogState(*job);
    Refresh(*job);
  }
  End();
  return {};
}

Result<std::uint32_t> Engine::Retry(const Now& now, JobId id) {
  Begin(now);
  EngineJob* job = FindJob(id);
  if (job == nullptr) return UnknownJob(id);
  if (!Ended(job->state)) {
    return Error{Code::kJobActive, "job " + ToText(id) + " has not ended (" + std::string(StateText(job->state)) + ")",
                 "its failed tasks can be retried once it has; `allot cancel` ends it"};
  }
  const std::uint32_t again = job->tasks.count() - job->tasks.done();
  if (again > 0) {
    const Meta none;
    const auto terms = ClassTerms(*job->terms, job->key, job->tasks.count(), job->extras ? job->extras->meta : none);
    if (auto admitted = AdmitClass(terms, job->terms->user); !admitted) return admitted.error();
    MemoryPool::Scope scope(&memory_.jobs);
    Enter(*job);
    SetState(*job, job->key.scheduled_for > now_.wall ? JobState::kScheduled : JobState::kActive);
    --finished_jobs_;
    job->reason = JobReason::kNone;
    job->ended_at = WallTime{};
    job->reviving = true;
    job->revive_from = 0;
    revivals_.push_back(id);
    LogState(*job);
    Refresh(*job);
    StartTimers(*job);
    std::size_t budget = 64;  // small jobs are ready at once, large ones by and by
    StepRevivals(budget);
  }
  End();
  return again;
}

void Engine::Forget(EngineJob& job) {
  const JobId id = job.id();
  CHECK(Ended(job.state));
  Event(EventType::kRemoved).Varint(id.value);
  MarkQueue();
  effects_.removed.push_back(Removal{id, job.payload_set});
  --jobs_in_state_[static_cast<std::size_t>(job.state)];
  --finished_jobs_;
  Drop(job);
}

void Engine::RememberKey(const EngineJob& job) {
  if (job.extras && !job.extras->idempotency_key.empty()) idempotency_.insert(&job);
}

void Engine::ForgetKey(const EngineJob& job) {
  if (!job.extras || job.extras->idempotency_key.empty()) return;
  // In a replay a later job may have the key already.
  const auto found = idempotency_.find(KeyOf(job));
  if (found != idempotency_.end() && *found == &job) idempotency_.erase(found);
}

void Engine::Drop(EngineJob& job) {
  const JobId id = job.id();
  CHECK(!job.open);
  while (!job.leases.empty()) EndLease(job.leases.front());
  if (job.known) {
    Recount(job);
    orders_.Forget(job);
    blocks_.Remove(id, job.state, job.block);
  }
  ForgetKey(job);
  if (job.payload_set && job.payload_set != id) streamed_sets_.erase(job.payload_set);
  Leave(job);
  const auto place = std::lower_bound(by_id_.begin(), by_id_.end(), id,
                                      [](const auto& entry, JobId key) { return entry.first < key; });
  CHECK(place != by_id_.end() && place->second == &job);
  place->second = nullptr;
  if (++holes_ > 1024 && holes_ > by_id_.size() / 2) {
    std::erase_if(by_id_, [](const auto& entry) { return entry.second == nullptr; });
    if (job.known) blocks_.Compact();
    listed_.reset();
    holes_ = 0;
    oldest_block_ = 0;
  }
  jobs_.Erase(id);
}

}  // namespace allot
