// Commands on jobs: submit, change, cancel, pause, resume, retry.
#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>

#include "base/bounds.h"
#include "base/check.h"
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

// Over every field: jobs that differ in one alone must not pile up under one hash.
std::size_t HashOf(const JobTerms& terms) {
  const std::hash<std::string> text;
  std::size_t hash = text(terms.user);
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ull; };
  for (const std::string& tag : terms.tags) mix(text(tag));
  for (const std::string& tag : terms.constraint_tags) mix(text(tag));
  if (terms.requirements) mix(text(terms.requirements->source()));
  if (terms.rank) mix(text(terms.rank->source()) + 1);
  mix(static_cast<std::uint64_t>(terms.lease.count()));
  mix(static_cast<std::uint64_t>(terms.timeout.count()));
  mix(static_cast<std::uint64_t>(terms.retention.count()));
  mix(terms.max_attempts);
  mix(terms.max_failed_tasks.number);
  mix(std::bit_cast<std::uint64_t>(terms.max_failed_tasks.percent.value_or(-1)));
  mix(static_cast<std::uint64_t>(terms.backoff.first.count()));
  mix(std::bit_cast<std::uint64_t>(terms.backoff.factor));
  mix(static_cast<std::uint64_t>(terms.backoff.max.count()));
  mix(std::bit_cast<std::uint64_t>(terms.backoff.jitter));
  mix(terms.async ? 1 : 0);
  return hash;
}

}  // namespace

std::shared_ptr<const JobTerms> Engine::Share(JobTerms terms) {
  const std::uint64_t hash = Mixed(HashOf(terms));
  std::shared_ptr<const JobTerms> shared;
  const auto same = [&](const std::weak_ptr<const JobTerms>& known) {
    shared = known.lock();
    return shared && *shared == terms;
  };
  if (terms_.Find(hash, same) != nullptr) return shared;
  // What its expressions have comes from elsewhere.
  const std::uint64_t exprs =
      (terms.requirements ? terms.requirements->MemoryBytes() : 0) + (terms.rank ? terms.rank->MemoryBytes() : 0);
  memory_.job_exprs += exprs;
  shared = std::shared_ptr<const JobTerms>(new JobTerms(std::move(terms)), [this, hash, exprs](const JobTerms* gone) {
    memory_.job_exprs -= exprs;
    terms_.Erase(hash, [](const std::weak_ptr<const JobTerms>& known) { return known.expired(); });
    delete gone;
  });
  terms_.Insert(hash, shared);
  return shared;
}

Result<void> Engine::Admit(std::span<const JobSpec> specs, std::span<const JobFold> folds) const {
  if (jobs_.size() + specs.size() > bounds::kMaxJobsPerQueue) {
    return Error{Code::kTooManyJobs, "the queue holds as many jobs as it may",
                 "wait for some to pass their retention, or shorten it"};
  }
  if (memory_budget_ > 0) {
    std::uint64_t bytes = 0;
    for (const JobSpec& spec : specs) bytes += MostBytesOf(spec);
    if (auto admitted = AdmitMemory(bytes, specs.size() == 1 ? "the job" : "the jobs"); !admitted) return admitted;
  }
  // Nearly always there is room for all of them, were each a class of its own.
  const bool room = std::all_of(specs.begin(), specs.end(), [&](const JobSpec& spec) {
    return class_users_.Admits(spec.user, specs.size()) &&
           (spec.token.empty() || class_tokens_.Admits(spec.token, specs.size()));
  });
  if (room && classes_.classes() + specs.size() <= bounds::kMaxClasses) return {};
  std::map<std::string_view, std::size_t> users, tokens;  // new classes of each
  std::set<std::string> fresh;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const JobSpec& spec = specs[i];
    const JobTerms terms = TermsOf(spec);
    const OrderKey key{!spec.priority.has_value(), spec.priority.value_or(0), {}, {}};
    const auto class_terms = ClassTerms(terms, key, spec.count, spec.meta, folds.empty() ? nullptr : &folds[i]);
    if (classes_.Knows(class_terms) || !fresh.insert(class_terms.key()).second) continue;
    auto admitted = AdmitClasses(spec.user, ++users[spec.user], spec.token, ++tokens[spec.token]);
    if (!admitted) return admitted;
  }
  if (!fresh.empty() && classes_.classes() + fresh.size() > bounds::kMaxClasses) return TooManyClasses();
  return {};
}

Result<std::optional<SubmitAnswer>> Engine::Known(const JobSpec& spec) const {
  if (spec.idempotency_key.empty()) return std::optional<SubmitAnswer>();
  const auto found = idempotency_.find(UserKey{spec.user, spec.idempotency_key});
  if (found == idempotency_.end()) return std::optional<SubmitAnswer>();
  const EngineJob* job = *found;
  if (job->extras->content != spec.content) {
    return Error{Code::kIdempotencyConflict,
                 "the idempotency key belongs to job " + ToText(job->id()) + ", which has other content",
                 "use another key for another job"};
  }
  const std::uint32_t workers = job->cls == kNoClass ? 0 : classes_.WorkersFor(job->cls);
  return std::optional<SubmitAnswer>(SubmitAnswer{job->id(), true, workers});
}

Result<SubmitAnswer> Engine::Submit(const Now& now, JobId id, const JobSpec& spec) {
  auto answers = SubmitAll(now, std::span(&id, 1), std::span(&spec, 1));
  if (!answers) return answers.error();
  return answers->front();
}

Result<std::vector<SubmitAnswer>> Engine::SubmitAll(const Now& now, std::span<const JobId> ids,
                                                    std::span<const JobSpec> specs, std::span<const JobFold> folds) {
  CHECK(ids.size() == specs.size() && (folds.empty() || folds.size() == specs.size()));
  Begin(now);
  std::vector<SubmitAnswer> answers;
  answers.reserve(specs.size());
  // Everything that can fail comes first, so that all are taken or none.
  std::unordered_map<UserKey, const JobSpec*, UserKeyHash> keys;
  bool all_known = true;
  for (const JobSpec& spec : specs) {
    const auto known = Known(spec);
    if (!known) return known.error();
    all_known = all_known && known->has_value();
    if (!spec.idempotency_key.empty() && !*known) {
      const auto [it, fresh] = keys.emplace(UserKey{spec.user, spec.idempotency_key}, &spec);
      if (!fresh && it->second->content != spec.content) {
        return Error{Code::kIdempotencyConflict,
                     "two jobs of one user in the batch have the same idempotency key and other content", ""};
      }
    }
  }
  // What is there already is answered at the bounds too.
  if (!all_known) {
    if (auto admitted = Admit(specs, folds); !admitted) return admitted.error();
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    auto known = Known(specs[i]);
    answers.push_back(*known ? **known : Insert(ids[i], specs[i], folds.empty() ? nullptr : &folds[i]));
  }
  End();
  return answers;
}

SubmitAnswer Engine::Insert(JobId id, const JobSpec& spec, const JobFold* fold) {
  CHECK(id.value > 0 && (by_id_.empty() || by_id_.back().first < id));
  MemoryPool::Scope scope(&memory_.jobs);
  auto owned = std::make_unique<EngineJob>(id, spec.count);
  EngineJob& job = *owned;
  jobs_.emplace(id, std::move(owned));
  by_id_.emplace_back(id, &job);
  highest_id_ = std::max({highest_id_, id.value, spec.payload.set.value});

  job.terms = Share(TermsOf(spec));
  JobExtras extras{spec.meta.empty() ? Shared<Meta>() : Shared<Meta>(spec.meta), spec.payload_prefix,
                   spec.idempotency_key, spec.trace, spec.content};
  if (!extras.empty()) {
    job.extras = std::make_unique<JobExtras>(std::move(extras));
    RememberKey(job);
  }
  job.payload_set = spec.payload.set;
  job.payload_common = spec.payload.common;
  job.payload_per_task = spec.payload.per_task;
  if (job.payload_set && job.payload_set != id) streamed_sets_.insert(job.payload_set);
  job.key.no_priority = !spec.priority.has_value();
  job.key.priority = spec.priority.value_or(0);
  job.submitted_at = now_.wall;
  job.key.scheduled_for = spec.scheduled_for.value_or(now_.wall + std::chrono::duration_cast<milliseconds>(spec.delay));
  job.state = job.key.scheduled_for > now_.wall ? JobState::kScheduled : JobState::kActive;
  if (spec.count == 0) {
    job.state = JobState::kDone;
    job.ended_at = now_.wall;
    effects_.ended.push_back(id);
  } else {
    Enter(job, spec.token, fold);
  }
  orders_.Know(job);
  job.known = true;
  ++jobs_in_state_[static_cast<std::size_t>(job.state)];
  ListJob(job, by_id_.size() - 1);
  ++stats_.submitted_jobs;
  stats_.submitted_tasks += spec.count;

  ByteWriter event = Event(EventType::kSubmit);
  event.Varint(id.value);
  event.Varint(spec.count);
  EncodeHeader(job, event);
  MarkJob(job);
  StartTimers(job);
  Refresh(job);
  return SubmitAnswer{id, false, job.cls == kNoClass ? 0 : classes_.WorkersFor(job.cls)};
}

void Engine::SweepTimers() {
  const auto most = 1024 + 2 * jobs_.size();
  if (schedules_.size() <= most && expiries_.size() <= most && finished_.size() <= most) return;
  schedules_ = {};
  expiries_ = {};
  finished_ = {};
  for (const auto& [id, job] : by_id_) {
    if (job == nullptr) continue;
    if (job->state == JobState::kScheduled) schedules_.push({job->key.scheduled_for, id});
    if (!Ended(job->state)) continue;
    expiries_.push({job->ended_at + job->terms->retention, id});
    finished_.push({job->ended_at, id});
  }
}

void Engine::StartTimers(EngineJob& job) {
  if (job.state == JobState::kScheduled) schedules_.push({job.key.scheduled_for, job.id()});
  if (Ended(job.state)) {
    ++finished_jobs_;
    expiries_.push({job.ended_at + job.terms->retention, job.id()});
    finished_.push({job.ended_at, job.id()});
  }
  if (const auto due = job.tasks.NextDue(); due && *due < job.retry_timer) {
    job.retry_timer = *due;
    retries_.push({*due, job.id()});
  }
  SweepTimers();
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
  jobs_.erase(id);
}

}  // namespace allot
