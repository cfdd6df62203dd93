// SPDX-License-Identifier: Apache-2.0
// Jobs and tasks, one by one and page by page.
#include <algorithm>

#include "base/bounds.h"
#include "engine/errors.h"
#include "engine/jobs/job_ad.h"
#include "engine/looks/looks.h"
#include "engine/looks/view_bounds.h"
#include "engine/parts.h"

namespace allot {
namespace {

// What a page may cost.
constexpr std::int64_t kPageNanoseconds =
    JobLists::kJobNanoseconds * static_cast<std::int64_t>(bounds::kMaxJobsScannedPerPage);
constexpr std::size_t kMostLooksOfPage = 100'000;  // at sorts of workers and limits, for a page

}  // namespace

JobView Looks::View(const EngineJob& job) const {
  JobView view;
  view.id = job.id();
  view.state = job.state;
  view.paused = job.state == JobState::kPaused;
  const std::shared_ptr<const JobTerms> terms = job.terms->View();
  view.tags = {terms, terms->tags};
  view.constraints = {terms, terms->constraints};
  view.constraint_tags = {terms, terms->constraint_tags};
  view.requirements = job.terms->requirements;
  view.rank = job.terms->rank;
  if (!job.key.no_priority) view.priority = job.key.priority;
  view.user = job.terms->user;
  view.async = job.terms->async;
  view.payload = PayloadRef{job.payload_set, job.payload_common, job.payload_per_task};
  if (job.extras) {
    view.meta = job.extras->meta;
    static_cast<JobDetails&>(view) = *job.extras;
  }
  const JobTasks& tasks = job.tasks;
  view.count = tasks.count();
  view.running = tasks.out();
  view.done = tasks.done();
  view.failed = tasks.failed();
  if (Ended(job.state)) {
    view.skipped = tasks.queued() + tasks.retrying();
  } else {
    view.queued = tasks.queued();
    view.retrying = tasks.retrying();
    view.next_retry_at = tasks.NextDue();
    view.progress = p_.progress.SumOf(job.id());
    if (job.promises) view.promised = job.promises->promised;
  }
  view.max_attempts = job.terms->max_attempts;
  view.max_failed_tasks = job.terms->max_failed_tasks.For(tasks.count());
  view.backoff = job.terms->backoff;
  view.lease = job.terms->lease;
  view.timeout = job.terms->timeout;
  view.retention = job.terms->retention;
  view.submitted_at = job.submitted_at;
  view.scheduled_for = job.key.scheduled_for;
  if (job.started_at != WallTime{}) view.started_at = job.started_at;
  if (job.ended_at != WallTime{}) view.ended_at = job.ended_at;
  if (job.reason == JobReason::kTooManyFailed) view.reason = "more tasks failed than max_failed_tasks allows";
  view.wait_reason = p_.tallies.WaitReasonOf(job);
  return view;
}

Result<JobView> Looks::Describe(JobId id) const {
  const EngineJob* job = p_.jobs.Find(id);
  if (job == nullptr) return UnknownJob(id);
  return View(*job);
}

TaskView Looks::ViewTask(const EngineJob& job, TaskIndex index) const {
  TaskView view;
  view.index = index;
  view.state = job.tasks.State(index);
  if (view.state == TaskState::kQueued || view.state == TaskState::kRetrying) {
    view.attempts = job.tasks.AttemptsUsed(index);
    if (Ended(job.state)) {
      view.state = TaskState::kSkipped;
    } else if (view.state == TaskState::kRetrying) {
      view.retry_at = job.tasks.DueOf(index);
    }
  }
  return view;
}

Result<TaskPage> Looks::Tasks(const TaskQuery& query) const {
  const EngineJob* job = p_.jobs.Find(query.job);
  if (job == nullptr) return UnknownJob(query.job);
  TaskPage page;
  const bool ended = Ended(job->state);
  std::uint64_t index = query.from;
  const std::uint64_t count = job->tasks.count();
  const auto next_in = [&](TaskState state, std::uint64_t from) -> std::uint64_t {
    const auto found = job->tasks.FirstInState(state, static_cast<TaskIndex>(from));
    return found ? *found : count;
  };
  while (index < count && page.tasks.size() < query.limit) {
    if (query.state) {
      switch (*query.state) {
        case TaskState::kSkipped:
          index = ended ? std::min(next_in(TaskState::kQueued, index), next_in(TaskState::kRetrying, index)) : count;
          break;
        case TaskState::kQueued:
        case TaskState::kRetrying:
          index = ended ? count : next_in(*query.state, index);
          break;
        default:
          index = next_in(*query.state, index);
      }
      if (index >= count) break;
    }
    page.tasks.push_back(ViewTask(*job, static_cast<TaskIndex>(index)));
    ++index;
  }
  if (index < count) page.next = static_cast<TaskIndex>(index);
  // Who holds those that are running: one look at the job's leases for the whole page.
  for (const Lease& lease : job->leases) {
    const auto place = std::lower_bound(page.tasks.begin(), page.tasks.end(), lease.task.index,
                                        [](const TaskView& view, TaskIndex key) { return view.index < key; });
    if (place == page.tasks.end() || place->index != lease.task.index) continue;
    place->worker = lease.worker;
    place->started_at = lease.granted_at;
    place->attempts = lease.attempt;
    if (const TaskProgress* progress = p_.progress.Find(lease.task.lease.serial)) place->progress = *progress;
  }
  return page;
}

Result<TaskPicture> Looks::Picture(JobId id, TaskIndex from, TaskIndex to, std::size_t parts) const {
  const EngineJob* job = p_.jobs.Find(id);
  if (job == nullptr) return UnknownJob(id);
  const std::uint32_t count = job->tasks.count();
  if (to == 0 || to > count) to = count;
  if (from > to || (count > 0 && from == to)) {
    return Error{Code::kBadValue,
                 "there are no tasks from " + std::to_string(from) + " to before " + std::to_string(to),
                 "its tasks are numbered from 0; it has " + std::to_string(count)};
  }
  const JobTasks::Parts counted = job->tasks.Picture(from, to, std::clamp<std::size_t>(parts, 1, kMaxPictureParts));
  TaskPicture picture;
  picture.count = count;
  picture.from = counted.from;
  picture.to = counted.to;
  picture.width = counted.width;
  picture.parts.reserve(counted.parts.size());
  const bool ended = Ended(job->state);
  for (const JobTasks::Counts& part : counted.parts) {
    TaskPicture::Part& shown =
        picture.parts.emplace_back(TaskPicture::Part{part.queued, part.out, part.retrying, part.done, part.failed, 0});
    if (!ended) continue;
    shown.skipped = part.queued + part.retrying;
    shown.queued = shown.retrying = 0;
  }
  return picture;
}

Result<TaskState> Looks::StateOf(JobId id, TaskIndex index) const {
  const EngineJob* job = p_.jobs.Find(id);
  if (job == nullptr) return UnknownJob(id);
  if (index >= job->tasks.count()) {
    return Error{Code::kUnknownTask, "job " + ToText(id) + " has no task " + std::to_string(index),
                 "its tasks are numbered from 0; it has " + std::to_string(job->tasks.count())};
  }
  return ViewTask(*job, index).state;
}

Result<TaskView> Looks::Task(JobId id, TaskIndex index) const {
  if (const Result<TaskState> state = StateOf(id, index); !state.ok()) return state.error();
  auto page = Tasks(TaskQuery{id, index, 1, std::nullopt});
  return page->tasks.front();
}

std::optional<JobId> Looks::LastJob(std::string_view user) const {
  JobFilter filter(std::nullopt, {}, user);
  std::optional<JobId> last;
  std::int64_t nanoseconds = kPageNanoseconds;
  p_.lists.Descend(filter, 0, p_.jobs.places(), nanoseconds, [&](const EngineJob& job) {
    last = job.id();
    return false;
  });
  return last;
}

JobPage Looks::List(const JobQuery& query) const {
  JobFilter filter(query.state, query.tag, query.user);
  JobPage page;
  const std::size_t limit = std::max<std::size_t>(1, query.limit);
  std::int64_t nanoseconds = kPageNanoseconds;
  std::size_t looked = 0;
  const std::size_t place =
      p_.lists.Descend(filter, 0, query.before ? p_.jobs.PlaceOf(*query.before) : p_.jobs.places(), nanoseconds,
                       [&](const EngineJob& job) {
                         const std::size_t looks = p_.blocked.looks();
                         page.jobs.push_back(View(job));
                         // Where many limits apply to each, the page is shorter.
                         looked += p_.blocked.looks() - looks;
                         return page.jobs.size() < limit && looked < kMostLooksOfPage;
                       });
  if (place > 0) page.next = p_.jobs.IdAt(place);
  return page;
}

MatchSnapshot Looks::SnapshotOf(const JobTerms& terms, const OrderKey& key, std::uint32_t count, const Meta& meta,
                                std::optional<WorkerId> only) const {
  MatchSnapshot snapshot;
  for (const std::string& tag : terms.tags) {
    MatchSnapshot::Tag& entry = snapshot.tags.emplace_back(MatchSnapshot::Tag{tag, std::nullopt});
    entry.last_seen = p_.workers.LastSeen(tag);
  }
  snapshot.constraints = terms.constraints;
  snapshot.constraint_tags = terms.constraint_tags;
  snapshot.requirements = terms.requirements;
  snapshot.rank = terms.rank;
  snapshot.ad = std::make_shared<const expr::Ad>(AdOf(terms, key, count, meta));
  snapshot.queue_paused = p_.queue.paused;
  snapshot.now = p_.clock.now.wall;
  if (!only) {
    const WorkerTable::Crew& crew = p_.workers.CrewNow(p_.classes);
    snapshot.workers = crew.rows;
    snapshot.kept = crew.kept;
  } else if (const EngineWorker* worker = p_.workers.Find(*only); worker != nullptr && worker->registered) {
    snapshot.workers.push_back({*only, p_.classes.TraitsOf(worker->handle), worker->slots,
                                static_cast<std::uint32_t>(worker->leases.size()), worker->draining, worker->away});
  }
  return snapshot;
}

Result<MatchSnapshot> Looks::Snapshot(JobId id) const {
  const EngineJob* job = p_.jobs.Find(id);
  if (job == nullptr) return UnknownJob(id);
  MatchSnapshot snapshot = SnapshotOf(*job->terms, job->key, job->tasks.count(), MetaOf(*job));
  snapshot.job = id;
  snapshot.state = job->state;
  snapshot.unsettled = job->cls != kNoClass && p_.classes.Unsettled(job->cls);
  snapshot.running = job->tasks.out();
  if (Ended(job->state)) return snapshot;
  snapshot.queued = job->tasks.queued();
  snapshot.retrying = job->tasks.retrying();
  if (job->state == JobState::kScheduled) snapshot.scheduled_for = job->key.scheduled_for;
  snapshot.next_retry_at = job->tasks.NextDue();
  return snapshot;
}

MatchSnapshot Looks::Snapshot(const JobSpec& spec) const {
  const OrderKey key{!spec.priority.has_value(), spec.priority.value_or(0), {}, {}};
  MatchSnapshot snapshot = SnapshotOf(TermsOf(spec), key, spec.count, spec.meta);
  snapshot.queued = spec.count;
  const WallTime at =
      spec.scheduled_for.value_or(p_.clock.now.wall + std::chrono::duration_cast<milliseconds>(spec.delay));
  if (at > p_.clock.now.wall) {
    snapshot.state = JobState::kScheduled;
    snapshot.scheduled_for = at;
  }
  return snapshot;
}

}  // namespace allot
