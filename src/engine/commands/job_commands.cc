// SPDX-License-Identifier: Apache-2.0
#include "engine/commands/job_commands.h"

#include <algorithm>

#include "engine/errors.h"
#include "engine/job_sweep.h"
#include "engine/jobs/job_ad.h"
#include "engine/parts.h"
#include "match/constraints.h"

namespace allot {
namespace {

Error AlreadyEnded(JobId job, JobState state) {
  return {Code::kJobEnded, "job " + ToText(job) + " has ended (" + std::string(StateText(state)) + ")",
          "`allot retry` runs its failed and skipped tasks again"};
}

// What it costs to do something with a job.
constexpr std::int64_t kActionNanoseconds = 5000;
constexpr std::int64_t kLeaseNanoseconds = 500;
// And what it may cost while there is larger work in steps, of which each command does some.
constexpr std::int64_t kBusyNanoseconds = 2'000'000;

}  // namespace

Result<SubmitAnswer> JobCommands::Submit(const Now& now, JobId id, const JobSpec& spec) {
  auto answers = SubmitAll(now, std::span(&id, 1), std::span(&spec, 1));
  if (!answers) return answers.error();
  return answers->front();
}

Result<std::vector<SubmitAnswer>> JobCommands::SubmitAll(const Now& now, std::span<const JobId> ids,
                                                         std::span<const JobSpec> specs,
                                                         std::span<const JobFold> folds) {
  JobBatch batch{specs, folds};
  return SubmitAll(now, ids, batch);
}

Result<std::vector<SubmitAnswer>> JobCommands::SubmitAll(const Now& now, std::span<const JobId> ids, JobBatch& batch) {
  p_.Begin(now);
  auto answers = p_.staging.SubmitAll(ids, batch);
  if (answers.ok()) p_.End();
  return answers;
}

Result<bool> JobCommands::Stage(const Now& now, JobBatch& batch) {
  p_.Begin(now);
  const Result<bool> staged = p_.staging.StageSome(batch);
  p_.End();
  return staged;
}

void JobCommands::Unstage(JobBatch& batch) { p_.staging.Unstage(batch); }

Result<void> JobCommands::Change(const Now& now, JobId id, const JobChange& change) {
  p_.Begin(now);
  EngineJob* job = p_.jobs.Find(id);
  if (job == nullptr) return UnknownJob(id);
  if (Ended(job->state)) return AlreadyEnded(id, job->state);
  OrderKey key = job->key;
  if (change.priority) {
    key.no_priority = !change.priority->has_value();
    key.priority = change.priority->value_or(0);
  }
  if (change.scheduled_for) key.scheduled_for = *change.scheduled_for;
  if (change.delay) key.scheduled_for = p_.clock.now.wall + std::chrono::duration_cast<milliseconds>(*change.delay);
  JobTerms terms = *job->terms;
  if (change.tags) terms.tags = *change.tags;
  if (change.constraints) {
    terms.constraints = *change.constraints;
    terms.constraint_tags = ConstraintTags(terms.constraints);
  }
  if (change.requirements) terms.requirements = *change.requirements;
  if (change.rank) terms.rank = *change.rank;
  const Meta& meta = change.meta ? *change.meta : MetaOf(*job);
  auto class_terms = p_.matching.ClassTerms(terms, key, job->tasks.count(), meta);
  if (auto admitted = p_.matching.AdmitClass(class_terms, terms.user, p_.matching.TokenOf(job->cls)); !admitted)
    return admitted.error();

  MemoryPool::Scope scope(&p_.memory.jobs);
  if (job->open) p_.flow.Close(*job, JobFlow::Grouping::kAnew);
  p_.tallies.Closed(*job);
  p_.orders.Forget(*job);
  job->key = key;
  job->terms = p_.jobs.Intern(std::move(terms));
  const ClassId cls = p_.matching.JoinClass(std::move(class_terms), job->terms->user, p_.matching.TokenOf(job->cls));
  p_.matching.LeaveClass(job->cls);
  job->cls = cls;
  if (change.meta) {
    if (!job->extras) job->extras = std::make_unique<JobExtras>();
    job->extras->meta = change.meta->empty() ? Interned<Meta>() : Interned<Meta>(*change.meta);
    if (job->extras->empty() && !job->extras->payload_set) job->extras.reset();
  }
  p_.orders.Know(*job);
  if (change.tags) p_.lists.AddKeys(*job);
  if (job->state != JobState::kPaused) {
    p_.flow.SetState(*job, job->key.scheduled_for > p_.clock.now.wall ? JobState::kScheduled : JobState::kActive);
  }
  p_.timers.Start(*job);
  p_.flow.LogHeader(*job);
  p_.flow.Refresh(*job);
  p_.End();
  return {};
}

Result<void> JobCommands::Cancel(const Now& now, JobId id) {
  p_.Begin(now);
  EngineJob* job = p_.jobs.Find(id);
  if (job == nullptr) return UnknownJob(id);
  if (!Ended(job->state)) {
    job->reviving = false;
    p_.flow.End(*job, JobState::kCancelled, JobReason::kNone);
  }
  p_.End();
  return {};
}

Result<void> JobCommands::Pause(const Now& now, JobId id) {
  p_.Begin(now);
  EngineJob* job = p_.jobs.Find(id);
  if (job == nullptr) return UnknownJob(id);
  if (Ended(job->state)) return AlreadyEnded(id, job->state);
  if (job->state != JobState::kPaused) {
    p_.flow.SetState(*job, JobState::kPaused);
    p_.flow.LogState(*job);
    p_.flow.Refresh(*job);
  }
  p_.End();
  return {};
}

Result<void> JobCommands::Resume(const Now& now, JobId id) {
  p_.Begin(now);
  EngineJob* job = p_.jobs.Find(id);
  if (job == nullptr) return UnknownJob(id);
  if (Ended(job->state)) return AlreadyEnded(id, job->state);
  if (job->state == JobState::kPaused) {
    p_.flow.SetState(*job, job->key.scheduled_for > p_.clock.now.wall ? JobState::kScheduled : JobState::kActive);
    p_.timers.Start(*job);
    p_.flow.LogState(*job);
    p_.flow.Refresh(*job);
  }
  p_.End();
  return {};
}

Result<std::uint32_t> JobCommands::Retry(const Now& now, JobId id) {
  p_.Begin(now);
  EngineJob* job = p_.jobs.Find(id);
  if (job == nullptr) return UnknownJob(id);
  if (!Ended(job->state)) {
    return Error{Code::kJobActive, "job " + ToText(id) + " has not ended (" + std::string(StateText(job->state)) + ")",
                 "its failed tasks can be retried once it has; `allot cancel` ends it"};
  }
  const std::uint32_t again = job->tasks.count() - job->tasks.done();
  if (again > 0) {
    const auto terms = p_.matching.ClassTerms(*job->terms, job->key, job->tasks.count(), MetaOf(*job));
    if (auto admitted = p_.matching.AdmitClass(terms, job->terms->user); !admitted) return admitted.error();
    MemoryPool::Scope scope(&p_.memory.jobs);
    p_.matching.Enter(*job);
    p_.flow.SetState(*job, job->key.scheduled_for > p_.clock.now.wall ? JobState::kScheduled : JobState::kActive);
    p_.timers.Uncount();
    job->reason = JobReason::kNone;
    job->Course().ended_at = WallTime{};
    job->reviving = true;
    job->Course().revive_from = 0;
    p_.reviving.Add(*job);
    p_.flow.LogState(*job);
    p_.flow.Refresh(*job);
    p_.timers.Start(*job);
    std::size_t budget = 64;  // small jobs are ready at once, large ones by and by
    p_.reviving.Step(budget);
  }
  p_.End();
  return again;
}

Result<void> JobCommands::Watch(JobId id) {
  EngineJob* job = p_.jobs.Find(id);
  if (job == nullptr) return UnknownJob(id);
  MemoryPool::Scope scope(&p_.memory.jobs);
  ++job->Course().watchers;
  return {};
}

void JobCommands::Unwatch(JobId id) {
  EngineJob* job = p_.jobs.Find(id);
  if (job != nullptr && job->course && job->course->watchers > 0) --job->course->watchers;
}

bool JobCommands::Act(const Now& now, EngineJob& job, SweepAction action, std::int64_t& nanoseconds) {
  const JobId id = job.id();
  bool acted = false;
  switch (action) {
    case SweepAction::kCount:
      return false;
    case SweepAction::kCancel:
      if (Ended(job.state)) return false;
      nanoseconds -= kLeaseNanoseconds * job.running;
      acted = Cancel(now, id).ok();
      break;
    case SweepAction::kPause:
      if (Ended(job.state) || job.state == JobState::kPaused) return false;
      acted = Pause(now, id).ok();
      break;
    case SweepAction::kResume:
      if (job.state != JobState::kPaused) return false;
      acted = Resume(now, id).ok();
      break;
    case SweepAction::kRetry: {
      if (!Ended(job.state)) return false;
      const Result<std::uint32_t> retried = Retry(now, id);
      acted = retried.ok() && *retried > 0;
      break;
    }
  }
  nanoseconds -= kActionNanoseconds + kOrderNanoseconds * static_cast<std::int64_t>(p_.orders.updates().cost());
  bool busy = false;
  p_.ForEachStage([&busy](const auto& stage) { busy = busy || stage.busy(); });
  if (busy) nanoseconds -= kBusyNanoseconds;
  return acted;
}

bool JobCommands::Sweep(const Now& now, JobSweep& sweep, std::size_t budget) {
  const SweepRequest& request = sweep.request_;
  sweep.touched_.clear();
  if (!sweep.begun_) {
    sweep.begun_ = true;
    const JobId newest = p_.jobs.newest();
    sweep.up_to_ = request.up_to.value_or(newest);
    // Whatever comes later is left alone, also where the caller names an id that nobody has yet.
    sweep.last_ = std::min(sweep.up_to_, newest);
  }
  if (sweep.complete_) return true;
  JobFilter filter(request.state, request.tag, request.user);
  auto nanoseconds = static_cast<std::int64_t>(budget) * 1000;
  const std::size_t to = p_.jobs.PlaceOf(JobId{sweep.last_.value + 1});
  // No command takes a job out of the vector, or puts one in.
  const std::size_t place =
      p_.lists.Ascend(filter, p_.jobs.PlaceOf(JobId{sweep.seen_to_.value + 1}), to, nanoseconds, [&](EngineJob& job) {
        ++sweep.matching_;
        const JobTasks& tasks = job.tasks;
        sweep.tasks_ += Ended(job.state) ? tasks.out() : tasks.count() - tasks.done() - tasks.failed();
        if (Act(now, job, request.action, nanoseconds)) {
          ++sweep.changed_;
          sweep.touched_.push_back(job.id());
        }
        return nanoseconds > 0;
      });
  sweep.complete_ = place >= to;
  if (place > 0) sweep.seen_to_ = p_.jobs.IdAt(place - 1);
  return sweep.complete_;
}

}  // namespace allot
