// How jobs come in: what they share with others, whether there is room, idempotency keys; one, many, and many in parts.
#include <algorithm>
#include <map>
#include <set>

#include "base/bounds.h"
#include "base/check.h"
#include "base/memory_pool.h"
#include "engine/engine.h"
#include "engine/errors.h"
#include "engine/pace.h"

namespace allot {
namespace {

// About as many as the event of its submit has, or some more.
std::size_t EventBytes(const JobSpec& spec) {
  constexpr std::size_t kUsual = 250, kValue = 10;
  std::size_t bytes = kUsual + spec.payload_prefix.size() + spec.trace.size() + spec.idempotency_key.size();
  for (const std::string& tag : spec.tags) bytes += tag.size() + 1;
  for (const ExprPtr& expr : {spec.requirements, spec.rank}) bytes += expr ? expr->source().size() : 0;
  for (const auto& [key, value] : spec.meta) {
    const auto* text = std::get_if<std::string>(&value);
    bytes += key.size() + kValue + (text == nullptr ? 0 : text->size());
  }
  return bytes;
}

}  // namespace

Result<void> Engine::AdmitJobs(std::span<const JobSpec> specs) const {
  if (jobs_.size() + staged_jobs_ + specs.size() > bounds::kMaxJobsPerQueue) {
    return Error{Code::kTooManyJobs, "the queue holds as many jobs as it may",
                 "wait for some to pass their retention, or shorten it"};
  }
  if (memory_budget_ > 0) {
    std::uint64_t bytes = 0;
    for (const JobSpec& spec : specs) bytes += MostBytesOf(spec);
    if (auto admitted = AdmitMemory(bytes, specs.size() == 1 ? "the job" : "the jobs"); !admitted) return admitted;
  }
  return {};
}

Result<void> Engine::AdmitClasses(std::span<const JobSpec> specs, std::span<const JobFold> folds) const {
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
  const EngineJob* job = jobs_.FindKey(spec.user, spec.idempotency_key);
  if (job == nullptr) return std::optional<SubmitAnswer>();
  if (job->extras->content != spec.content) {
    return Error{Code::kIdempotencyConflict,
                 "the idempotency key belongs to job " + ToText(job->id()) + ", which has other content",
                 "use another key for another job"};
  }
  const std::uint32_t workers = job->cls == kNoClass ? 0 : classes_.WorkersFor(job->cls);
  return std::optional<SubmitAnswer>(SubmitAnswer{job->id(), true, workers});
}

// --- Jobs of a batch are made ready in parts: their terms, what they bring along, their classes. What cannot wait,
// because all of them are there or none, is the rest.

Engine::StagedJob Engine::Prepare(const JobSpec& spec, const JobFold* fold) {
  MemoryPool::Scope scope(&memory_.jobs);
  StagedJob job;
  job.terms = jobs_.Intern(TermsOf(spec));
  JobExtras extras{spec.meta.empty() ? Shared<Meta>() : Shared<Meta>(spec.meta), spec.payload_prefix,
                   spec.idempotency_key, spec.trace, spec.content};
  if (!extras.empty()) job.extras = std::make_unique<JobExtras>(std::move(extras));
  const OrderKey key{!spec.priority.has_value(), spec.priority.value_or(0), {}, {}};
  if (spec.count > 0) job.cls = Enter(*job.terms, key, spec.count, spec.meta, spec.token, fold);
  return job;
}

void Engine::Unstage(JobBatch& batch) {
  const auto found = staged_.find(std::exchange(batch.stage, 0));
  if (found == staged_.end()) return;
  Staged& staged = found->second;
  for (const StagedJob& job : staged.jobs) {
    if (job.cls != kNoClass) unstaged_.push_back(job.cls);
  }
  promised_to_staged_ -= staged.promised;
  staged_jobs_ -= batch.specs.size();
  staged_.erase(found);
}

bool Engine::StepUnstaged(std::size_t& budget) {
  // The last of a class is told to all kinds of workers.
  const std::size_t cost = 1 + classes_.kinds() / kKindsPerUnstaged;
  for (; !unstaged_.empty(); unstaged_.pop_front()) {
    if (budget == 0) return false;
    budget -= std::min(budget, cost);
    LeaveClass(unstaged_.front());
  }
  return true;
}

Result<bool> Engine::Stage(const Now& now, JobBatch& batch) {
  constexpr std::size_t kAtOnce = 200;
  Begin(now);
  if (batch.stage == 0) {
    const Result<bool> fresh = AnyFresh(batch);
    if (!fresh) return fresh.error();
    if (!*fresh) return true;  // there is nothing to make
    if (auto admitted = AdmitJobs(batch.specs); !admitted) return admitted.error();
    batch.stage = ++last_stage_;
    Staged& made = staged_[batch.stage];
    made.jobs.reserve(batch.specs.size());
    for (const JobSpec& spec : batch.specs) made.promised += MostBytesOf(spec);
    promised_to_staged_ += made.promised;
    staged_jobs_ += batch.specs.size();
  }
  Staged& staged = staged_.at(batch.stage);
  const std::size_t from = staged.jobs.size();
  const std::size_t some = std::min(batch.specs.size() - from, kAtOnce);
  // Others may have come between.
  const auto folds = batch.folds.empty() ? batch.folds : batch.folds.subspan(from, some);
  if (auto admitted = AdmitClasses(batch.specs.subspan(from, some), folds); !admitted) {
    Unstage(batch);
    End();
    return admitted.error();
  }
  const std::uint64_t before = Memory().total();
  for (std::size_t i = from; i < from + some; ++i) {
    // Those that are there already are not made twice.
    const auto known = Known(batch.specs[i]);
    const bool fresh = known && !known->has_value();
    staged.jobs.push_back(fresh ? Prepare(batch.specs[i], batch.FoldOf(i)) : StagedJob{});
  }
  // What was made counts as what it is; the rest of each job, and its place in every order, are still to come.
  const std::uint64_t after = Memory().total();
  const std::uint64_t made = std::min(staged.promised, after > before ? after - before : 0);
  staged.promised -= made;
  promised_to_staged_ -= made;
  End();
  // What is left is enough for another command, unless it is little.
  return from + some == batch.specs.size() && (from == 0 || some == 0);
}

Result<SubmitAnswer> Engine::Submit(const Now& now, JobId id, const JobSpec& spec) {
  auto answers = SubmitAll(now, std::span(&id, 1), std::span(&spec, 1));
  if (!answers) return answers.error();
  return answers->front();
}

Result<std::vector<SubmitAnswer>> Engine::SubmitAll(const Now& now, std::span<const JobId> ids,
                                                    std::span<const JobSpec> specs, std::span<const JobFold> folds) {
  JobBatch batch{specs, folds};
  return SubmitAll(now, ids, batch);
}

Result<std::vector<SubmitAnswer>> Engine::SubmitAll(const Now& now, std::span<const JobId> ids, JobBatch& batch) {
  CHECK(ids.size() == batch.specs.size() && (batch.folds.empty() || batch.folds.size() == batch.specs.size()));
  Begin(now);
  // Everything that can fail comes first, so that all are taken or none.
  if (auto may = MaySubmit(batch); !may) {
    Unstage(batch);
    return may.error();
  }
  if (batch.specs.size() > 1) {
    std::size_t bytes = 0;
    for (const JobSpec& spec : batch.specs) bytes += EventBytes(spec);
    journal_.Reserve(bytes);
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
  End();
  return answers;
}

Result<void> Engine::MaySubmit(const JobBatch& batch) const {
  const Result<bool> fresh = AnyFresh(batch);
  if (!fresh) return fresh.error();
  // What is there already is answered at the bounds too; what was staged was admitted.
  if (!*fresh || batch.stage != 0) return {};
  if (auto admitted = AdmitJobs(batch.specs); !admitted) return admitted;
  return AdmitClasses(batch.specs, batch.folds);
}

Result<bool> Engine::AnyFresh(const JobBatch& batch) const {
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

SubmitAnswer Engine::Insert(JobId id, const JobSpec& spec, const JobFold* fold, StagedJob& staged) {
  CHECK(jobs_.newest() < id);
  MemoryPool::Scope scope(&memory_.jobs);
  EngineJob& job = jobs_.Add(id, spec.count);
  highest_id_ = std::max({highest_id_, id.value, spec.payload.set.value});

  if (staged.terms == nullptr) staged = Prepare(spec, fold);
  job.terms = std::move(staged.terms);
  job.extras = std::move(staged.extras);
  job.cls = std::exchange(staged.cls, kNoClass);
  jobs_.RememberKey(job);
  job.payload_set = spec.payload.set;
  job.payload_common = spec.payload.common;
  job.payload_per_task = spec.payload.per_task;
  jobs_.RememberSet(job);
  job.key.no_priority = !spec.priority.has_value();
  job.key.priority = spec.priority.value_or(0);
  job.submitted_at = now_.wall;
  job.key.scheduled_for = spec.scheduled_for.value_or(now_.wall + std::chrono::duration_cast<milliseconds>(spec.delay));
  job.state = job.key.scheduled_for > now_.wall ? JobState::kScheduled : JobState::kActive;
  if (spec.count == 0) {
    job.state = JobState::kDone;
    job.ended_at = now_.wall;
    journal_.effects().ended.push_back(id);
  } else if (classes_.Outdated(job.cls) && grouped_epoch_ == classes_.epoch()) {
    // Since it was staged, somebody reads more of jobs, and all others have been put into new classes.
    regroup_epoch_ = grouped_epoch_;
    regrouping_ = {id};
    grouped_epoch_ = 0;
  }
  orders_.Know(job);
  job.known = true;
  ++jobs_in_state_[static_cast<std::size_t>(job.state)];
  lists_.Append(job, jobs_.places() - 1);
  ++stats_.submitted_jobs;
  stats_.submitted_tasks += spec.count;

  ByteWriter event = journal_.Event(EventType::kSubmit);
  event.Varint(id.value);
  event.Varint(spec.count);
  PutHeader(job, event);
  journal_.MarkJob(job);
  timers_.Start(job);
  Refresh(job);
  return SubmitAnswer{id, false, job.cls == kNoClass ? 0 : classes_.WorkersFor(job.cls)};
}

}  // namespace allot
