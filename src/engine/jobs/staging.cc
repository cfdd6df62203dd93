// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/staging.h"

#include <algorithm>

#include "base/bounds.h"
#include "base/check.h"
#include "engine/errors.h"
#include "engine/jobs/job_ad.h"
#include "engine/jobs/job_record.h"
#include "engine/parts.h"

namespace allot {
namespace {

// About as many as the event of its submit has, or some more.
std::size_t EventBytes(const JobSpec& spec) {
  constexpr std::size_t kUsual = 250, kValue = 10;
  std::size_t bytes = kUsual + TextBytes(kJobDetails, spec);
  for (const std::string& tag : spec.tags) bytes += tag.size() + 1;
  for (const ExprPtr& expr : {spec.requirements, spec.rank}) bytes += expr ? expr->source().size() : 0;
  for (const auto& [key, value] : spec.meta) {
    const auto* text = std::get_if<std::string>(&value);
    bytes += key.size() + kValue + (text == nullptr ? 0 : text->size());
  }
  return bytes;
}

}  // namespace

Result<void> Staging::AdmitJobs(std::span<const JobSpec> specs) const {
  if (p_.jobs.size() + staged_jobs_ + specs.size() > bounds::kMaxJobsPerQueue) {
    return Error{Code::kTooManyJobs, "the queue holds as many jobs as it may",
                 "wait for some to pass their retention, or shorten it"};
  }
  if (p_.budget.any()) {
    std::uint64_t bytes = 0;
    for (const JobSpec& spec : specs) bytes += p_.budget.MostBytesOf(spec);
    if (auto admitted = p_.budget.Admit(bytes, specs.size() == 1 ? "the job" : "the jobs"); !admitted) return admitted;
  }
  return {};
}

Result<std::optional<SubmitAnswer>> Staging::Known(const JobSpec& spec) const {
  if (spec.idempotency_key.empty()) return std::optional<SubmitAnswer>();
  const EngineJob* job = p_.jobs.FindKey(spec.user, spec.idempotency_key);
  if (job == nullptr) return std::optional<SubmitAnswer>();
  if (job->extras->content != spec.content) {
    return Error{Code::kIdempotencyConflict,
                 "the idempotency key belongs to job " + ToText(job->id()) + ", which has other content",
                 "use another key for another job"};
  }
  const std::uint32_t workers = job->cls == kNoClass ? 0 : p_.classes.kinds().WorkersFor(job->cls);
  return std::optional<SubmitAnswer>(SubmitAnswer{job->id(), true, workers});
}

// --- Jobs of a batch are made ready in parts: their terms, what they bring along, their classes. What cannot wait,
// because all of them are there or none, is the rest.

Staging::StagedJob Staging::Prepare(const JobSpec& spec, const JobFold* fold) {
  MemoryPool::Scope scope(&p_.memory.jobs);
  StagedJob job;
  job.terms = p_.jobs.Intern(TermsOf(spec));
  if (!spec.meta.empty() || AnyGiven(kJobDetails, spec)) {
    job.extras = std::make_unique<JobExtras>(
        JobExtras{spec, spec.meta.empty() ? Interned<Meta>() : Interned<Meta>(spec.meta), spec.content});
  }
  const OrderKey key{!spec.priority.has_value(), spec.priority.value_or(0), {}, {}};
  if (spec.count > 0) job.cls = p_.matching.Enter(*job.terms, key, spec.count, spec.meta, spec.token, fold);
  return job;
}

void Staging::Unstage(JobBatch& batch) {
  const auto found = staged_.find(std::exchange(batch.stage, 0));
  if (found == staged_.end()) return;
  Staged& staged = found->second;
  for (const StagedJob& job : staged.jobs) {
    if (job.cls != kNoClass) unstaged_.push_back(job.cls);
  }
  promised_ -= staged.promised;
  staged_jobs_ -= batch.specs.size();
  staged_.erase(found);
}

bool Staging::StepUnstaged(std::size_t& budget) {
  // The last of a class is told to all kinds of workers.
  const std::size_t cost = 1 + p_.classes.kinds().size() / kKindsPerUnstaged;
  for (; !unstaged_.empty(); unstaged_.pop_front()) {
    if (budget == 0) return false;
    budget -= std::min(budget, cost);
    p_.matching.LeaveClass(unstaged_.front());
  }
  return true;
}

Result<bool> Staging::StageSome(JobBatch& batch) {
  constexpr std::size_t kAtOnce = 200;
  if (batch.stage == 0) {
    const Result<bool> fresh = AnyFresh(batch);
    if (!fresh) return fresh.error();
    if (!*fresh) return true;  // there is nothing to make
    if (auto admitted = AdmitJobs(batch.specs); !admitted) return admitted.error();
    batch.stage = ++last_stage_;
    Staged& made = staged_[batch.stage];
    made.jobs.reserve(batch.specs.size());
    for (const JobSpec& spec : batch.specs) made.promised += p_.budget.MostBytesOf(spec);
    promised_ += made.promised;
    staged_jobs_ += batch.specs.size();
  }
  Staged& staged = staged_.at(batch.stage);
  const std::size_t from = staged.jobs.size();
  const std::size_t some = std::min(batch.specs.size() - from, kAtOnce);
  // Others may have come between.
  const auto folds = batch.folds.empty() ? batch.folds : batch.folds.subspan(from, some);
  if (auto admitted = p_.matching.AdmitClasses(batch.specs.subspan(from, some), folds); !admitted) {
    Unstage(batch);
    return admitted.error();
  }
  const std::uint64_t before = p_.budget.Use().total();
  for (std::size_t i = from; i < from + some; ++i) {
    // Those that are there already are not made twice.
    const auto known = Known(batch.specs[i]);
    const bool fresh = known && !known->has_value();
    staged.jobs.push_back(fresh ? Prepare(batch.specs[i], batch.FoldOf(i)) : StagedJob{});
  }
  // What was made counts as what it is; the rest of each job, and its place in every order, are still to come.
  const std::uint64_t after = p_.budget.Use().total();
  const std::uint64_t made = std::min(staged.promised, after > before ? after - before : 0);
  staged.promised -= made;
  promised_ -= made;
  // What is left is enough for another command, unless it is little.
  return from + some == batch.specs.size() && (from == 0 || some == 0);
}

Result<std::vector<SubmitAnswer>> Staging::SubmitAll(std::span<const JobId> ids, JobBatch& batch) {
  CHECK(ids.size() == batch.specs.size() && (batch.folds.empty() || batch.folds.size() == batch.specs.size()));
  // Everything that can fail comes first, so that all are taken or none.
  if (auto may = MaySubmit(batch); !may) {
    Unstage(batch);
    return may.error();
  }
  if (batch.specs.size() > 1) {
    std::size_t bytes = 0;
    for (const JobSpec& spec : batch.specs) bytes += EventBytes(spec);
    p_.journal.Reserve(bytes);
  }
  const auto found = staged_.find(batch.stage);
  std::vector<SubmitAnswer> answers;
  answers.reserve(batch.specs.size());
  for (std::size_t i = 0; i < batch.specs.size(); ++i) {
    const JobSpec& spec = batch.specs[i];
    StagedJob none;
    StagedJob& staged = found != staged_.end() && i < found->second.jobs.size() ? found->second.jobs[i] : none;
    const auto known = Known(spec);
    answers.push_back(*known ? **known : Insert(ids[i], spec, batch.FoldOf(i), staged));
  }
  Unstage(batch);  // what was made in vain
  return answers;
}

Result<void> Staging::MaySubmit(const JobBatch& batch) const {
  const Result<bool> fresh = AnyFresh(batch);
  if (!fresh) return fresh.error();
  // What is there already is answered at the bounds too; what was staged was admitted.
  if (!*fresh || batch.stage != 0) return {};
  if (auto admitted = AdmitJobs(batch.specs); !admitted) return admitted;
  return p_.matching.AdmitClasses(batch.specs, batch.folds);
}

Result<bool> Staging::AnyFresh(const JobBatch& batch) const {
  std::unordered_map<UserKey, const JobSpec*, UserKeyHash> keys;
  bool any = false;
  for (const JobSpec& spec : batch.specs) {
    const auto known = Known(spec);
    if (!known) return known.error();
    if (*known) continue;
    any = true;
    if (spec.idempotency_key.empty()) continue;
    const auto [it, first] = keys.emplace(UserKey{spec.user, spec.idempotency_key}, &spec);
    if (!first && it->second->content != spec.content) {
      return Error{Code::kIdempotencyConflict,
                   "two jobs of one user in the batch have the same idempotency key and other content", ""};
    }
  }
  return any;
}

SubmitAnswer Staging::Insert(JobId id, const JobSpec& spec, const JobFold* fold, StagedJob& staged) {
  CHECK(p_.jobs.newest() < id);
  MemoryPool::Scope scope(&p_.memory.jobs);
  EngineJob& job = p_.jobs.Add(id, spec.count);
  p_.queue.highest_id = std::max({p_.queue.highest_id, id.value, spec.payload.set.value});

  if (!staged.terms) staged = Prepare(spec, fold);
  job.terms = std::move(staged.terms);
  job.extras = std::move(staged.extras);
  job.cls = std::exchange(staged.cls, kNoClass);
  p_.jobs.RememberKey(job);
  job.SetPayload(spec.payload);
  p_.jobs.RememberSet(job);
  job.key.no_priority = !spec.priority.has_value();
  job.key.priority = spec.priority.value_or(0);
  job.submitted_at = p_.clock.now.wall;
  job.key.scheduled_for =
      spec.scheduled_for.value_or(p_.clock.now.wall + std::chrono::duration_cast<milliseconds>(spec.delay));
  job.state = job.key.scheduled_for > p_.clock.now.wall ? JobState::kScheduled : JobState::kActive;
  if (spec.count == 0) {
    job.state = JobState::kDone;
    job.Course().ended_at = p_.clock.now.wall;
    p_.journal.effects().ended.push_back(id);
  } else if (p_.classes.Outdated(job.cls)) {
    p_.matching.RegroupFrom(id);  // since it was staged, somebody reads more of jobs
  }
  p_.orders.Know(job);
  job.known = true;
  p_.tallies.Came(job);
  p_.lists.Append(job, p_.jobs.places() - 1);
  ++p_.stats.submitted_jobs;
  p_.stats.submitted_tasks += spec.count;

  ByteWriter event = p_.journal.Event(EventType::kSubmit);
  event.Varint(id.value);
  event.Varint(spec.count);
  PutHeader(job, event);
  p_.journal.MarkJob(job);
  p_.timers.Start(job);
  p_.flow.Refresh(job);
  return SubmitAnswer{id, false, job.cls == kNoClass ? 0 : p_.classes.kinds().WorkersFor(job.cls)};
}

void Staging::AfterCommand(std::size_t&) {
  std::size_t few = kUnstagedAtOnce;
  if (busy()) StepUnstaged(few);
}

void Staging::AddWakes(NextTick& next) const {
  if (busy()) next.AtOnce();
}

}  // namespace allot
