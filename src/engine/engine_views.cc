// Looking at jobs, tasks and workers, without changing anything.
#include <algorithm>
#include <span>

#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "engine/errors.h"
#include "engine/receipt_log.h"
#include "engine/tallies/hold_reasons.h"
#include "engine/view_bounds.h"

namespace allot {
namespace {

constexpr std::size_t kMaxTasksOfWorkerView = 1000;
constexpr std::size_t kMaxSharesOfWorkerView = 100;
// Of a longer queue, the first of so many: a look must not take long.
constexpr std::size_t kMaxSharesSorted = 10'000;

}  // namespace

JobView Engine::View(const EngineJob& job) const {
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
    view.payload_prefix = job.extras->payload_prefix;
    view.idempotency_key = job.extras->idempotency_key;
    view.trace = job.extras->trace;
  }
  const JobTasks& tasks = job.tasks;
  view.count = tasks.count();
  view.leased = tasks.out();
  view.done = tasks.done();
  view.failed = tasks.failed();
  if (Ended(job.state)) {
    view.skipped = tasks.ready() + tasks.waiting();
  } else {
    view.ready = tasks.ready();
    view.waiting = tasks.waiting();
    view.next_retry_at = tasks.NextDue();
    if (job.holding) view.promised = job.holding->promised;
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
  view.held = HeldBy(job);
  return view;
}

Result<JobView> Engine::Describe(JobId id) const {
  const EngineJob* job = FindJob(id);
  if (job == nullptr) return UnknownJob(id);
  return View(*job);
}

TaskView Engine::ViewTask(const EngineJob& job, TaskIndex index) const {
  TaskView view;
  view.index = index;
  view.state = job.tasks.State(index);
  if (view.state == TaskState::kReady || view.state == TaskState::kWaiting) {
    view.attempts = job.tasks.AttemptsUsed(index);
    if (Ended(job.state)) view.state = TaskState::kSkipped;
  }
  return view;
}

Result<TaskPage> Engine::Tasks(const TaskQuery& query) const {
  const EngineJob* job = FindJob(query.job);
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
          index = ended ? std::min(next_in(TaskState::kReady, index), next_in(TaskState::kWaiting, index)) : count;
          break;
        case TaskState::kReady:
        case TaskState::kWaiting:
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
  // Who holds those that are leased: one look at the job's leases for the whole page.
  for (const Lease& lease : job->leases) {
    const auto place = std::lower_bound(page.tasks.begin(), page.tasks.end(), lease.task.index,
                                        [](const TaskView& view, TaskIndex key) { return view.index < key; });
    if (place == page.tasks.end() || place->index != lease.task.index) continue;
    place->worker = lease.worker;
    place->leased_at = lease.granted_at;
    place->attempts = lease.attempt;
  }
  return page;
}

Result<TaskPicture> Engine::Picture(JobId id, TaskIndex from, TaskIndex to, std::size_t parts) const {
  const EngineJob* job = FindJob(id);
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
        picture.parts.emplace_back(TaskPicture::Part{part.ready, part.out, part.waiting, part.done, part.failed, 0});
    if (!ended) continue;
    shown.skipped = part.ready + part.waiting;
    shown.ready = shown.waiting = 0;
  }
  return picture;
}

Result<TaskState> Engine::StateOf(JobId id, TaskIndex index) const {
  const EngineJob* job = FindJob(id);
  if (job == nullptr) return UnknownJob(id);
  if (index >= job->tasks.count()) {
    return Error{Code::kUnknownTask, "job " + ToText(id) + " has no task " + std::to_string(index),
                 "its tasks are numbered from 0; it has " + std::to_string(job->tasks.count())};
  }
  return ViewTask(*job, index).state;
}

Result<TaskView> Engine::Task(JobId id, TaskIndex index) const {
  if (const Result<TaskState> state = StateOf(id, index); !state.ok()) return state.error();
  auto page = Tasks(TaskQuery{id, index, 1, std::nullopt});
  return page->tasks.front();
}

namespace {

// About as many as its view has on the wire.
std::size_t BytesOf(const EngineWorker& worker) {
  std::size_t bytes = 500;
  for (const std::string& tag : worker.tags) bytes += tag.size() + 3;
  for (const auto& [key, value] : worker.properties) bytes += key.size() + value.size() + 6;
  for (const auto& [name, value] : worker.attributes) {
    const auto* const text = std::get_if<std::string>(&value);
    bytes += name.size() + (text == nullptr ? 16 : text->size()) + 6;
  }
  return bytes;
}

}  // namespace

WorkerView Engine::View(const EngineWorker& worker) const {
  WorkerView view;
  view.id = worker.id;
  view.name = worker.name;
  view.tags = worker.tags;
  view.properties = worker.properties;
  view.attributes = worker.attributes;
  view.requirements = worker.requirements;
  view.rank = worker.rank;
  view.strategy = worker.strategy;
  view.slots = worker.slots;
  view.leased = static_cast<std::uint32_t>(worker.leases.size());
  view.credit = worker.credit;
  view.draining = worker.draining;
  view.connected = worker.connected;
  view.away = worker.away;
  view.address = worker.address;
  view.user = worker.user;
  view.registered_at = worker.registered_at;
  view.last_seen = worker.last_seen_at;
  if (worker.queue) {
    view.promised = worker.queue->promised;
    view.promised_jobs = worker.queue->shares.size();
  }
  return view;
}

std::vector<PromisedView> Engine::QueueOf(const EngineWorker& worker, std::optional<std::string_view> user) const {
  std::vector<std::pair<const EngineJob*, std::uint32_t>> shares;
  dispatcher_->ForEachShare(worker, kMaxSharesSorted, [&](const DispatchJob& job, std::uint32_t tasks) {
    const auto& share_of = static_cast<const EngineJob&>(job);
    if (!user || share_of.terms->user == *user) shares.emplace_back(&share_of, tasks);
  });
  const std::size_t shown = std::min(shares.size(), kMaxSharesOfWorkerView);
  std::partial_sort(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(shown), shares.end(),
                    [](const auto& a, const auto& b) { return a.first->key < b.first->key; });
  std::vector<PromisedView> views;
  for (std::size_t i = 0; i < shown; ++i) {
    const EngineJob& job = *shares[i].first;
    PromisedView& view =
        views.emplace_back(PromisedView{job.id(), shares[i].second, {}, job.terms->user, job.terms->tags});
    if (!job.key.no_priority) view.priority = job.key.priority;
  }
  return views;
}

WorkerPage Engine::Workers(std::optional<WorkerId> after, std::size_t limit) const {
  WorkerPage page;
  std::size_t bytes = 0;
  for (auto it = after ? workers_.upper_bound(*after) : workers_.begin(); it != workers_.end(); ++it) {
    const EngineWorker& worker = *it->second;
    if (!worker.registered) continue;
    if (page.workers.size() >= limit || bytes >= kMaxPageBytes) {
      page.more = true;
      break;
    }
    page.workers.push_back(View(worker));
    bytes += BytesOf(worker);
  }
  return page;
}

Result<WorkerView> Engine::DescribeWorker(WorkerId id, std::optional<std::string_view> jobs_of) const {
  const EngineWorker* worker = FindWorker(id);
  if (worker == nullptr || !worker->registered) {
    return Error{Code::kUnknownWorker, "there is no worker " + ToText(id),
                 "`allot workers` lists those that are registered"};
  }
  WorkerView view = View(*worker);
  view.queue = QueueOf(*worker, jobs_of);
  view.constraint_tags = classes_.TraitsOf(worker->handle)->constraint_tags;
  for (const Lease& lease : worker->leases) {
    if (view.tasks.size() >= kMaxTasksOfWorkerView) break;
    if (!jobs_of || lease.job->terms->user == *jobs_of) view.tasks.push_back(lease.task);
  }
  return view;
}

EngineStats Engine::Stats() const {
  EngineStats stats = stats_;
  stats.jobs_scheduled = jobs_in_state_[0];
  stats.jobs_active = jobs_in_state_[1];
  stats.jobs_paused = jobs_in_state_[2];
  stats.jobs_done = jobs_in_state_[3];
  stats.jobs_failed = jobs_in_state_[4];
  stats.jobs_cancelled = jobs_in_state_[5];
  for (const Held& held : std::span(held_, EngineJob::kNoState)) {
    stats.tasks_ready += held.ready;
    stats.tasks_waiting += held.waiting;
  }
  stats.tasks_leased = leases_.size();
  stats.workers = registered_workers_;
  stats.workers_waiting = waiting_.size();
  stats.limits = limits_.size();
  stats.limits_waiting = limits_.blocked();
  stats.workers_away = away_workers_;
  stats.workers_draining = draining_workers_;
  stats.slots = slots_;
  stats.classes = classes_.classes();
  stats.kinds = classes_.kinds();
  stats.strategies = orders_.strategies();
  stats.dispatch = dispatcher_->options().mode;
  stats.tasks_promised = dispatcher_->promised();
  stats.longest_queue = dispatcher_->longest();
  stats.dispatch_moves = dispatcher_->moves();
  stats.dispatch_steals = dispatcher_->steals();
  stats.wasted_pops = pops_ - stats.granted;
  stats.unfolded_events = UnfoldedEvents();
  stats.dirty_records = journal_.dirty();
  stats.memory = Memory();
  stats.paused = paused_;
  stats.paused_since = paused_since_;
  if (const EngineJob* oldest = lists_.Oldest()) {
    stats.oldest_waiting = oldest->id();
    stats.oldest_waiting_since = std::max(oldest->submitted_at, oldest->key.scheduled_for);
  }
  return stats;
}

Result<void> Engine::Watch(JobId id) {
  EngineJob* job = FindJob(id);
  if (job == nullptr) return UnknownJob(id);
  ++job->watchers;
  return {};
}

void Engine::Unwatch(JobId id) {
  EngineJob* job = FindJob(id);
  if (job != nullptr && job->watchers > 0) --job->watchers;
}

std::size_t Engine::MemoryBytes() const {
  std::size_t bytes = jobs_.MemoryBytes() + lists_.MemoryBytes() + users_.MemoryBytes() + reasons_.MemoryBytes() +
                      holds_->MemoryBytes() + receipts_->MemoryBytes();
  jobs_.ForEach([&](const EngineJob& job) {
    bytes += sizeof(EngineJob) + job.tasks.MemoryBytes() + (job.extras ? sizeof(JobExtras) : 0) +
             (job.holding ? sizeof(Holding) : 0);
  });
  return bytes + leases_.size() * (sizeof(Lease) + 24) + MatchingBytes() + OrderBytes() + dispatcher_->MemoryBytes();
}

}  // namespace allot
