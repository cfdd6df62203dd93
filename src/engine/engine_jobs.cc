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

void Engine::SetState(EngineJob& job, JobState state) {
  --jobs_in_state_[static_cast<std::size_t>(job.state)];
  ++jobs_in_state_[static_cast<std::size_t>(state)];
  CountState(job, state);
  job.state = state;
}

void Engine::LogState(EngineJob& job) {
  ByteWriter event = journal_.Event(EventType::kState);
  event.Varint(job.id().value);
  event.U8(static_cast<std::uint8_t>(job.state));
  event.U8(static_cast<std::uint8_t>(job.reason));
  event.Varint(static_cast<std::uint64_t>(ToMillis(job.ended_at)));
  event.U8(job.reviving ? 1 : 0);
  event.Varint(job.revive_from);
  journal_.MarkJob(job);
  journal_.Progress(job);
}

void Engine::LogHeader(EngineJob& job) {
  ByteWriter event = journal_.Event(EventType::kHeader);
  event.Varint(job.id().value);
  PutHeader(job, event);
  journal_.MarkJob(job);
  journal_.Progress(job);
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
  timers_.Start(job);
  journal_.effects().ended.push_back(job.id());
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
      journal_.effects().cancels.push_back(CancelOrder{lease.worker, lease.task, StopReason(job->state)});
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
  job->terms = jobs_.Intern(std::move(terms));
  const ClassId cls = JoinClass(std::move(class_terms), job->terms->user, TokenOf(job->cls));
  LeaveClass(job->cls);
  job->cls = cls;
  if (change.meta) {
    if (!job->extras) job->extras = std::make_unique<JobExtras>();
    job->extras->meta = change.meta->empty() ? Shared<Meta>() : Shared<Meta>(*change.meta);
    if (job->extras->empty()) job->extras.reset();
  }
  orders_.Know(*job);
  if (change.tags) lists_.AddKeys(*job);
  if (job->state != JobState::kPaused) {
    SetState(*job, job->key.scheduled_for > now_.wall ? JobState::kScheduled : JobState::kActive);
  }
  timers_.Start(*job);
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
    timers_.Start(*job);
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
    timers_.Uncount();
    job->reason = JobReason::kNone;
    job->ended_at = WallTime{};
    job->reviving = true;
    job->revive_from = 0;
    revivals_.push_back(id);
    LogState(*job);
    Refresh(*job);
    timers_.Start(*job);
    std::size_t budget = 64;  // small jobs are ready at once, large ones by and by
    StepRevivals(budget);
  }
  End();
  return again;
}

void Engine::Forget(EngineJob& job) {
  const JobId id = job.id();
  CHECK(Ended(job.state));
  journal_.Event(EventType::kRemoved).Varint(id.value);
  journal_.MarkQueue();
  journal_.effects().removed.push_back(Removal{id, job.payload_set});
  --jobs_in_state_[static_cast<std::size_t>(job.state)];
  timers_.Uncount();
  Drop(job);
}

void Engine::Drop(EngineJob& job) {
  CHECK(!job.open);
  while (!job.leases.empty()) EndLease(job.leases.front());
  if (job.known) {
    Recount(job);
    orders_.Forget(job);
    lists_.Remove(job);
  }
  jobs_.ForgetKey(job);
  jobs_.ForgetSet(job);
  Leave(job);
  const bool known = job.known;
  if (jobs_.Remove(job) && known) lists_.Compact();
}

}  // namespace allot
