// SPDX-License-Identifier: Apache-2.0
// What time brings, and what a crash takes.
#include <algorithm>

#include "simulation/model.h"

namespace allot::simulation {

std::optional<Instant> Model::DueOf(const Worker& worker) const {
  std::optional<Instant> due;
  const auto sooner = [&due](Instant at) { due = due ? std::min(*due, at) : at; };
  if (worker.away) sooner(worker.away_until);
  // Not seen since a restart: its leases are kept for the grace time, whatever their own says.
  if (!worker.registered) return due;
  if (worker.pull_until) sooner(*worker.pull_until);
  bool has_leases = false;
  for (const auto& [serial, lease] : leases) {
    if (lease.worker != worker.id) continue;
    has_leases = true;
    const JobSpec& spec = jobs.at(lease.task.job).spec;
    sooner(std::max(worker.last_seen, lease.granted) + spec.lease);
    if (spec.timeout.count() > 0) sooner(lease.granted + spec.timeout);
  }
  if (!worker.spec.connected && !worker.away && !worker.waiting && !has_leases) {
    sooner(worker.last_seen + options.idle_worker);
  }
  return due;
}

void Model::Check(Worker& worker) {
  const WorkerId id = worker.id;
  if (worker.pull_until && *worker.pull_until <= time_) {
    StopWaiting(worker);
    Nothing(worker);
  }
  if (worker.away && worker.away_until <= time_) {
    std::vector<std::uint64_t> running;
    for (const auto& [serial, lease] : leases) {
      if (lease.worker == id) running.push_back(serial);
    }
    for (const std::uint64_t serial : running) GiveBack(serial, true, "its worker did not come back");
    if (worker.registered) gone_.push_back({Fact::Kind::kGone, id.value, 0, 0, 0, 0, {}});
    workers.erase(id);
    return;
  }
  std::vector<std::uint64_t> timed_out, expired;
  for (const auto& [serial, lease] : leases) {
    if (lease.worker != id) continue;
    const JobSpec& spec = jobs.at(lease.task.job).spec;
    if (spec.timeout.count() > 0 && lease.granted + spec.timeout <= time_) {
      timed_out.push_back(serial);
    } else if (std::max(worker.last_seen, lease.granted) + spec.lease <= time_) {
      expired.push_back(serial);
    }
  }
  for (const bool timeout : {true, false}) {
    for (const std::uint64_t serial : timeout ? timed_out : expired) {
      const Lease lease = leases.at(serial);
      Job& job = *FindJob(lease.task.job);
      cancels_.push_back(
          {Fact::Kind::kCancel, id.value, job.id.value, lease.task.index, 0, serial, timeout ? "timeout" : "expired"});
      ++stats.expired;
      if (!timeout) {
        GiveBack(serial, true, "its worker gave no sign of life for as long as the lease");
      } else if (Ended(job.state) || lease.stop_requested) {
        GiveBack(serial, false, "");
      } else {
        errors_.push_back({Fact::Kind::kError, 0, job.id.value, lease.task.index, lease.attempt, 0,
                           "the attempt took longer than its timeout"});
        AttemptFailed(serial, false);
      }
    }
  }
  if (!worker.spec.connected && !worker.away && !worker.waiting && !HasLeases(id) &&
      worker.last_seen + options.idle_worker <= time_) {
    gone_.push_back({Fact::Kind::kGone, id.value, 0, 0, 0, 0, {}});
    workers.erase(id);
  }
}

void Model::Tick(const Now& at) {
  Begin(at);
  // Workers, the one with the earliest deadline first.
  for (;;) {
    Worker* next = nullptr;
    std::optional<Instant> earliest;
    for (auto& [id, worker] : workers) {
      const std::optional<Instant> due = DueOf(worker);
      if (!due || *due > time_ || (earliest && *due >= *earliest)) continue;
      earliest = due;
      next = &worker;
    }
    if (next == nullptr) break;
    Check(*next);
  }
  for (auto& [id, job] : jobs) {
    if (job.state == JobState::kScheduled && job.scheduled_for <= now_.wall) job.state = JobState::kActive;
    if (Ended(job.state) || job.in_state[static_cast<int>(TaskState::kRetrying)] == 0) continue;
    for (TaskIndex i = 0; i < job.tasks.size(); ++i) {
      const Task task = job.tasks[i];
      if (task.state != TaskState::kRetrying || task.due > Steady() || unknown_due.contains(id)) continue;
      Set(job, i, TaskState::kQueued, task.used);
      job.tasks[i].due = task.due;
      job.tasks[i].promoted = true;
    }
  }
  std::vector<std::pair<WallTime, JobId>> finished;
  std::vector<JobId> over;
  for (const auto& [id, job] : jobs) {
    if (!Ended(job.state)) continue;
    if (job.ended_at + job.spec.retention <= now_.wall) {
      over.push_back(id);
    } else {
      finished.emplace_back(job.ended_at, id);
    }
  }
  std::sort(finished.begin(), finished.end());
  for (std::size_t i = 0; i + options.max_finished_jobs < finished.size(); ++i) over.push_back(finished[i].second);
  for (const JobId id : over) Forget(id);
  Wake();
}

std::optional<Instant> Model::NextEvent(const Now& at) const {
  std::optional<Instant> next;
  const auto sooner = [&next](Instant event) { next = next ? std::min(*next, event) : event; };
  for (const auto& [id, worker] : workers) {
    if (const auto due = DueOf(worker)) sooner(*due + stalled_);
  }
  for (const auto& [id, job] : jobs) {
    if (job.state == JobState::kScheduled) sooner(at.mono + Duration(job.scheduled_for - at.wall));
    if (Ended(job.state)) {
      sooner(at.mono + Duration(job.ended_at + job.spec.retention - at.wall));
    } else if (job.in_state[static_cast<int>(TaskState::kRetrying)] > 0) {
      for (const Task& task : job.tasks) {
        if (task.state == TaskState::kRetrying) sooner(boot_.mono + Duration(task.due - boot_.wall));
      }
    }
  }
  return next;
}

void Model::Crash(const Now& at, Duration grace) {
  TakeFacts();
  workers.clear();
  unknown_due.clear();
  stats = {};
  now_ = boot_ = at;
  time_ = at.mono;
  stalled_ = Duration(0);
  begun_ = true;
  served_at.clear();
  for (auto& [id, job] : jobs) {
    if (job.state == JobState::kScheduled && job.scheduled_for <= at.wall) job.state = JobState::kActive;
    if (job.picked.serial > served_at[job.spec.user].serial) served_at[job.spec.user] = job.picked;
  }
  for (auto& [serial, lease] : leases) {
    lease.granted = time_ - std::max<Duration>(Duration(0), at.wall - lease.granted_at);
    lease.stop_requested = Ended(jobs.at(lease.task.job).state);
    Worker& worker = workers[lease.worker];
    worker.id = lease.worker;
    worker.away = true;
    worker.last_seen = time_;
    worker.away_until = time_ + grace;
  }
  if (grace.count() > 0) return;
  while (!workers.empty()) Check(workers.begin()->second);
}

void Model::AdoptDue(JobId id, WallTime due) {
  for (Task& task : jobs.at(id).tasks) {
    if (task.state == TaskState::kRetrying) task.due = due;
  }
  unknown_due.erase(id);
}

void Model::AdoptScheduled(JobId id) { jobs.at(id).state = JobState::kScheduled; }

void Model::AdoptRetrying(JobId id, TaskIndex index) {
  Job& job = jobs.at(id);
  const Task task = job.tasks[index];
  Set(job, index, TaskState::kRetrying, task.used);
  job.tasks[index].due = task.due;
}

}  // namespace allot::simulation
