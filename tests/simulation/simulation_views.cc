// SPDX-License-Identifier: Apache-2.0
// Whether engine and model show the same, wherever one can look.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "simulation/simulation.h"

namespace allot::simulation {

void Simulation::CompareAll() {
  if (!difference_.empty()) return;
  if (!model_.CountsAddUp()) return Differ("the model itself is broken");
  for (const auto& [id, job] : model_.jobs) {
    const auto view = engine_->looks().Describe(id);
    if (!view.ok()) return Differ("job " + std::to_string(id.value) + " is not there");
    CompareJob(*view, job);
    if (job.spec.count <= 300) CompareTasks(job);
    if (!difference_.empty()) return;
  }
  CompareWorkers();
  CompareStats();
  CompareLists();
}

void Simulation::CompareJob(const JobView& view, const Model::Job& job) {
  const std::string name = "job " + std::to_string(job.id.value) + ": ";
  const auto in = [&job](TaskState state) { return job.in_state[static_cast<int>(state)]; };
  const bool ended = Ended(job.state);
  const auto ms = [](const std::optional<WallTime>& time) { return time ? ToMillis(*time) : 0; };
  Expect(view.id.value, job.id.value, name + "id");
  Expect(static_cast<int>(view.state), static_cast<int>(job.state), name + "state");
  Expect(view.paused, job.state == JobState::kPaused, name + "paused");
  Expect(view.count, job.spec.count, name + "count");
  Expect(view.queued, ended ? 0 : in(TaskState::kQueued), name + "queued");
  Expect(view.retrying, ended ? 0 : in(TaskState::kRetrying), name + "retrying");
  Expect(view.skipped, ended ? in(TaskState::kQueued) + in(TaskState::kRetrying) : 0, name + "skipped");
  Expect(view.running, in(TaskState::kRunning), name + "running");
  Expect(view.done, in(TaskState::kDone), name + "done");
  Expect(view.failed, in(TaskState::kFailed), name + "failed");
  Expect(view.queued + view.retrying + view.skipped + view.running + view.done + view.failed, view.count, name + "sum");
  Expect(*view.tags, job.spec.tags, name + "tags");
  Expect(*view.constraints, job.spec.constraints, name + "constraints");
  Expect(view.requirements ? view.requirements->source() : "",
         job.spec.requirements ? job.spec.requirements->source() : "", name + "requirements");
  Expect(view.rank ? view.rank->source() : "", job.spec.rank ? job.spec.rank->source() : "", name + "rank");
  Expect(view.priority, job.spec.priority, name + "priority");
  Expect(view.user, job.spec.user, name + "user");
  Expect(*view.meta, job.spec.meta, name + "meta");
  Expect(view.trace, job.spec.trace, name + "trace");
  Expect(view.idempotency_key, job.spec.idempotency_key, name + "idempotency key");
  Expect(view.max_attempts, job.spec.max_attempts, name + "max_attempts");
  Expect(view.backoff, job.spec.backoff, name + "backoff");
  Expect(view.lease.count(), job.spec.lease.count(), name + "lease");
  Expect(view.timeout.count(), job.spec.timeout.count(), name + "timeout");
  Expect(view.retention.count(), job.spec.retention.count(), name + "retention");
  Expect(view.max_failed_tasks, job.spec.max_failed_tasks.For(job.spec.count), name + "max_failed_tasks");
  Expect(ToMillis(view.submitted_at), ToMillis(job.submitted_at), name + "submitted_at");
  Expect(ToMillis(view.scheduled_for), ToMillis(job.scheduled_for), name + "scheduled_for");
  Expect(ms(view.started_at), ToMillis(job.started_at), name + "started_at");
  Expect(ms(view.ended_at), ToMillis(job.ended_at), name + "ended_at");
  std::optional<WallTime> due;
  for (const Model::Task& task : job.tasks) {
    if (task.state == TaskState::kRetrying && !ended) due = due ? std::min(*due, task.due) : task.due;
  }
  Expect(ms(view.next_retry_at), ms(due), name + "next_retry_at");
  Expect(!view.reason.empty(), job.failed_by_tasks, name + "reason");
}

void Simulation::CompareTasks(const Model::Job& job) {
  std::map<TaskIndex, const Model::Lease*> running;
  for (const auto& [serial, lease] : model_.leases) {
    if (lease.task.job == job.id) running[lease.task.index] = &lease;
  }
  TaskQuery query{job.id, 0, 1 + look_.Below(100), std::nullopt};
  if (look_.Below(2) == 0) query.state = static_cast<TaskState>(look_.Below(6));
  std::optional<TaskIndex> next = 0;
  TaskIndex index = 0;
  const auto shown = [&job](TaskIndex i) {
    const TaskState state = job.tasks[i].state;
    const bool open = state == TaskState::kQueued || state == TaskState::kRetrying;
    return open && Ended(job.state) ? TaskState::kSkipped : state;
  };
  while (next && difference_.empty()) {
    query.from = *next;
    const auto page = engine_->looks().Tasks(query);
    if (!page.ok()) return Differ("tasks: " + page.error().message);
    for (const TaskView& view : page->tasks) {
      const std::string name = "task " + std::to_string(view.index) + " of job " + std::to_string(job.id.value) + ": ";
      while (index < job.spec.count && query.state && shown(index) != *query.state) ++index;
      Expect(view.index, index, name + "order");
      if (index >= job.spec.count) return Differ(name + "is too many");
      Expect(static_cast<int>(view.state), static_cast<int>(shown(index)), name + "state");
      Expect(view.attempts, job.tasks[index].used, name + "attempts");
      const auto lease = running.find(index);
      Expect(view.worker.value, lease == running.end() ? 0 : lease->second->worker.value, name + "worker");
      if (lease != running.end())
        Expect(view.started_at, std::optional(lease->second->granted_at), name + "started_at");
      ++index;
    }
    if (page->next && *page->next <= *next) return Differ("tasks: a page that does not move on");
    next = page->next;
  }
  while (index < job.spec.count && query.state && shown(index) != *query.state) ++index;
  Expect(index, job.spec.count, "tasks: not all of them");
}

void Simulation::CompareWorkers() {
  std::vector<WorkerView> views;
  std::optional<WorkerId> after;
  for (;;) {
    const auto page = engine_->looks().Workers(after, 3).workers;
    views.insert(views.end(), page.begin(), page.end());
    if (page.size() < 3) break;
    after = page.back().id;
  }
  std::size_t i = 0;
  for (const auto& [id, worker] : model_.workers) {
    if (!worker.registered) continue;
    if (i >= views.size()) return Differ("a worker is missing");
    const WorkerView& view = views[i++];
    const std::string name = "worker " + std::to_string(id.value) + ": ";
    Expect(view.id.value, id.value, name + "id");
    Expect(view.tags, worker.spec.tags, name + "tags");
    Expect(view.properties, worker.spec.properties, name + "properties");
    Expect(view.attributes, worker.spec.attributes, name + "attributes");
    Expect(view.slots, worker.spec.slots, name + "slots");
    Expect(view.credit, worker.credit, name + "credit");
    Expect(view.draining, worker.draining, name + "draining");
    Expect(view.connected, worker.spec.connected, name + "connected");
    Expect(view.away, worker.away, name + "away");
    Expect(ToMillis(view.registered_at), ToMillis(worker.registered_at), name + "registered_at");
    const auto one = engine_->looks().DescribeWorker(id);
    if (!one.ok()) return Differ(name + "cannot be described");
    std::vector<std::uint64_t> serials, expected;
    for (const TaskRef& ref : one->tasks) serials.push_back(ref.lease.serial);
    for (const auto& [serial, lease] : model_.leases) {
      if (lease.worker == id) expected.push_back(serial);
    }
    Expect(serials, expected, name + "leases");
    Expect<std::size_t>(view.running, expected.size(), name + "running");
  }
  Expect(i, views.size(), "workers");
}

void Simulation::CompareStats() {
  const EngineStats stats = engine_->looks().Stats();
  std::uint64_t states[6] = {}, queued = 0, retrying = 0, registered = 0, parked = 0, away = 0;
  std::set<std::vector<Model::Match>> kinds;  // by their verdicts on every job
  for (const auto& [id, job] : model_.jobs) {
    ++states[static_cast<int>(job.state)];
    if (Ended(job.state)) continue;
    queued += job.in_state[static_cast<int>(TaskState::kQueued)];
    retrying += job.in_state[static_cast<int>(TaskState::kRetrying)];
  }
  for (const auto& [id, worker] : model_.workers) {
    registered += worker.registered ? 1 : 0;
    parked += worker.waiting ? 1 : 0;
    away += worker.away ? 1 : 0;
    if (!worker.registered) continue;
    std::vector<Model::Match> verdicts;
    for (const auto& [job_id, job] : model_.jobs) {
      if (!Ended(job.state)) verdicts.push_back(Model::Judge(worker, job));
    }
    kinds.insert(std::move(verdicts));
  }
  Expect(stats.jobs_scheduled, states[0], "stats: scheduled");
  Expect(stats.jobs_active, states[1], "stats: active");
  Expect(stats.jobs_paused, states[2], "stats: paused");
  Expect(stats.jobs_done, states[3], "stats: done");
  Expect(stats.jobs_failed, states[4], "stats: failed");
  Expect(stats.jobs_cancelled, states[5], "stats: cancelled");
  Expect(stats.tasks_queued, queued, "stats: tasks queued");
  Expect(stats.tasks_retrying, retrying, "stats: tasks retrying");
  Expect<std::uint64_t>(stats.tasks_running, model_.leases.size(), "stats: tasks running");
  Expect(stats.workers, registered, "stats: workers");
  Expect(stats.workers_waiting, parked, "stats: workers waiting");
  Expect(stats.workers_away, away, "stats: workers away");
  // Jobs that some worker tells apart cannot be of one class; which others are depends on what workers read.
  std::set<std::vector<Model::Match>> columns;
  std::uint64_t live = 0;
  for (const auto& [job_id, job] : model_.jobs) {
    if (Ended(job.state)) continue;
    ++live;
    std::vector<Model::Match> verdicts;
    for (const auto& [id, worker] : model_.workers) {
      if (worker.registered) verdicts.push_back(Model::Judge(worker, job));
    }
    columns.insert(std::move(verdicts));
  }
  Expect(stats.classes <= live && stats.classes >= columns.size(), true, "stats: classes");
  Expect<std::uint64_t>(stats.kinds, kinds.size(), "stats: kinds");
  Expect(stats.paused, model_.paused, "stats: queue paused");
  Expect(stats.submitted_jobs, model_.stats.submitted_jobs, "stats: submitted jobs");
  Expect(stats.submitted_tasks, model_.stats.submitted_tasks, "stats: submitted tasks");
  Expect(stats.granted, model_.stats.granted, "stats: granted");
  Expect(stats.done, model_.stats.done, "stats: done tasks");
  Expect(stats.failed_attempts, model_.stats.failed_attempts, "stats: failed attempts");
  Expect(stats.failed_tasks, model_.stats.failed_tasks, "stats: failed tasks");
  Expect(stats.expired, model_.stats.expired, "stats: expired");
  Expect(stats.stale, model_.stats.stale, "stats: stale");
}

void Simulation::CompareLists() {
  JobQuery query;
  query.limit = 1 + look_.Below(10);
  if (look_.Below(2) == 0) query.state = static_cast<JobState>(look_.Below(6));
  if (look_.Below(3) == 0) query.tag = "b";
  if (look_.Below(3) == 0) query.user = "ann";
  std::vector<std::uint64_t> listed, expected;
  for (;;) {
    const JobPage page = engine_->looks().List(query);
    if (page.jobs.size() > query.limit) return Differ("list: a page that is too long");
    for (const JobView& view : page.jobs) listed.push_back(view.id.value);
    if (!page.next) break;
    if (query.before && *page.next >= *query.before) return Differ("list: a page that does not move on");
    query.before = page.next;
  }
  for (auto it = model_.jobs.rbegin(); it != model_.jobs.rend(); ++it) {
    const Model::Job& job = it->second;
    if (query.state && job.state != *query.state) continue;
    if (!query.tag.empty() && !job.tags.contains(query.tag)) continue;
    if (!query.user.empty() && job.spec.user != query.user) continue;
    expected.push_back(job.id.value);
  }
  Expect(listed, expected, "list");
  const auto last = engine_->looks().LastJob("");
  Expect(last.value_or(JobId{}).value, model_.jobs.empty() ? 0 : model_.jobs.rbegin()->first.value, "last job");
}

}  // namespace allot::simulation
