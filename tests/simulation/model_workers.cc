// SPDX-License-Identifier: Apache-2.0
// Workers, and what becomes of their leases.
#include <algorithm>
#include <cmath>

#include "simulation/model.h"

namespace allot::simulation {
namespace {

milliseconds BackoffOf(const Backoff& backoff, std::uint32_t attempt) {
  double wait = static_cast<double>(backoff.first.count());
  for (std::uint32_t i = 1; i < attempt; ++i) wait = std::min(wait * backoff.factor, 1e15);
  return milliseconds(std::llround(std::min(wait, static_cast<double>(backoff.max.count()))));
}

// Due times are rounded up to a power of two milliseconds that is more than 1/32 and at most 1/16 of the wait.
WallTime Rounded(WallTime due, milliseconds wait) {
  std::int64_t grain = 1;
  while (grain <= wait.count() / 32) grain *= 2;
  return FromMillis((ToMillis(due) + grain - 1) / grain * grain);
}

}  // namespace

Model::Failure Model::Register(const Now& at, const WorkerSpec& spec, bool right_key, const std::vector<bool>& genuine,
                               RegisterAnswer& answer) {
  Begin(at);
  if (!right_key) return Code::kUnknownWorker;
  Worker& worker = workers[spec.id];
  StopWaiting(worker);
  if (!worker.registered) worker.registered_at = now_.wall;
  worker.registered = true;
  worker.id = spec.id;
  worker.spec = spec;
  worker.tags = {spec.tags.begin(), spec.tags.end()};
  worker.ad = nullptr;
  worker.pull_strategy = nullptr;
  worker.away = false;
  worker.credit = 0;
  Seen(worker);
  // An order to drain outlives a lost connection, and is repeated: it may have been lost with it.
  if (worker.draining) drains_.push_back({Fact::Kind::kDrain, spec.id.value, 0, 0, 0, 0, {}});
  // What nobody has been told yet was meant for the connection before.
  std::erase_if(granted_, [&spec](const Fact& fact) { return fact.worker == spec.id.value; });
  answer.worker = spec.id;
  std::set<std::uint64_t> kept;
  for (std::size_t i = 0; i < spec.resume.size(); ++i) {
    const Lease* lease = FindLease(spec.resume[i], genuine[i]);
    const bool own = lease != nullptr && lease->worker == spec.id;
    if (own) kept.insert(spec.resume[i].lease.serial);
    (own ? answer.resumed : answer.lost).push_back(spec.resume[i]);
  }
  std::vector<std::uint64_t> unlisted;
  for (const auto& [serial, lease] : leases) {
    if (lease.worker == spec.id && !kept.contains(serial)) unlisted.push_back(serial);
  }
  for (const std::uint64_t serial : unlisted) GiveBack(serial, false, "");
  for (const auto& [serial, lease] : leases) {
    const Job& job = *FindJob(lease.task.job);
    if (lease.worker != spec.id || !Ended(job.state)) continue;
    cancels_.push_back({Fact::Kind::kCancel, spec.id.value, job.id.value, lease.task.index, 0, serial,
                        job.state == JobState::kCancelled ? "cancelled" : "job_failed"});
  }
  Wake();
  return {};
}

void Model::Seen(Worker& worker) { worker.last_seen = time_; }

void Model::StopWaiting(Worker& worker) {
  worker.waiting = false;
  worker.credit = 0;
  worker.pull_until.reset();
}

void Model::Nothing(const Worker& worker) {
  if (worker.once) granted_.push_back({Fact::Kind::kNothing, worker.id.value, 0, 0, 0, 0, {}});
}

Model::Failure Model::ChangeWorker(const Now& at, WorkerId id, const WorkerChange& change) {
  Begin(at);
  Worker* worker = FindRegistered(id);
  if (worker == nullptr) return Code::kUnknownWorker;
  if (change.tags) {
    worker->spec.tags = *change.tags;
    worker->tags = {change.tags->begin(), change.tags->end()};
  }
  if (change.properties) worker->spec.properties = *change.properties;
  if (change.attributes) worker->spec.attributes = *change.attributes;
  if (change.requirements) worker->spec.requirements = *change.requirements;
  if (change.rank) worker->spec.rank = *change.rank;
  if (change.strategy) worker->spec.strategy = *change.strategy;
  worker->ad = nullptr;
  Wake();
  return {};
}

Model::Failure Model::Heartbeat(const Now& at, WorkerId id) {
  Begin(at);
  Worker* worker = FindRegistered(id);
  if (worker == nullptr) return Code::kUnknownWorker;
  Seen(*worker);
  return {};
}

Model::Failure Model::Pull(const Now& at, WorkerId id, const PullOptions& pull) {
  Begin(at);
  Worker* worker = FindRegistered(id);
  if (worker == nullptr) return Code::kUnknownWorker;
  Seen(*worker);
  worker->credit = pull.credit;
  worker->once = pull.once;
  // It waits by the strategy of its last pull, and anew where that is another.
  if (pull.strategy || worker->pull_strategy) worker->waiting = false;
  worker->pull_strategy = pull.strategy;
  worker->pull_until.reset();
  const bool served = pull.credit > 0 && Serve(*worker);
  if (served && worker->credit == 0) return {};
  const bool patient = !pull.wait || pull.wait->count() > 0;
  if (worker->credit == 0 || worker->draining || worker->away || !patient) {
    StopWaiting(*worker);
    Nothing(*worker);
    return {};
  }
  if (pull.wait) worker->pull_until = time_ + *pull.wait;
  if (!worker->waiting) worker->sequence = next_sequence++;
  worker->waiting = true;
  return {};
}

Model::Failure Model::ReportAll(const Now& at, WorkerId id, const std::vector<Report>& reports,
                                const std::vector<bool>& genuine, std::vector<ReportVerdict>& verdicts) {
  Begin(at);
  Worker* worker = FindRegistered(id);
  if (worker == nullptr) return Code::kUnknownWorker;
  Seen(*worker);
  for (std::size_t i = 0; i < reports.size(); ++i) verdicts.push_back(ReportOne(reports[i], genuine[i]));
  Wake();
  return {};
}

ReportVerdict Model::ReportOne(const Report& report, bool genuine) {
  Job* job = FindJob(report.task.job);
  const Lease* lease = FindLease(report.task, genuine);
  const TaskIndex index = report.task.index;
  if (lease == nullptr) {
    // Late, and yet welcome: done, while nobody runs it.
    const bool free =
        job != nullptr && index < job->spec.count && !Ended(job->state) &&
        (job->tasks[index].state == TaskState::kQueued || job->tasks[index].state == TaskState::kRetrying);
    if (!free || !genuine || report.kind != ReportKind::kDone) {
      ++stats.stale;
      return ReportVerdict::kStale;
    }
  } else if (Ended(job->state)) {
    GiveBack(report.task.lease.serial, false, "");
    return ReportVerdict::kCancelled;
  }
  switch (report.kind) {
    case ReportKind::kDone:
      Set(*job, index, TaskState::kDone, 0);
      leases.erase(report.task.lease.serial);
      ++stats.done;
      Settle(*job);
      break;
    case ReportKind::kFailed:
    case ReportKind::kRejected:
      AttemptFailed(report.task.lease.serial, report.kind == ReportKind::kRejected);
      break;
    case ReportKind::kReleased:
      GiveBack(report.task.lease.serial, false, "");
      break;
  }
  return ReportVerdict::kTaken;
}

// The lease is over without an outcome.
void Model::GiveBack(std::uint64_t serial, bool counted, std::string_view why) {
  const Lease lease = leases.at(serial);
  Job& job = *FindJob(lease.task.job);
  if (!Ended(job.state)) {
    if (lease.stop_requested) {
      // Its worker was told to stop, and then the job was retried: fresh attempts, for this task too.
      leases.erase(serial);
      Set(job, lease.task.index, TaskState::kQueued, 0);
      return;
    }
    if (counted) {
      errors_.push_back({Fact::Kind::kError, 0, job.id.value, lease.task.index, lease.attempt, 0, why});
      if (lease.attempt >= job.spec.max_attempts) return AttemptFailed(serial, true);
    }
  }
  leases.erase(serial);
  Set(job, lease.task.index, TaskState::kQueued, counted ? lease.attempt : lease.attempt - 1);
}

void Model::AttemptFailed(std::uint64_t serial, bool final) {
  const Lease lease = leases.at(serial);
  Job& job = *FindJob(lease.task.job);
  const TaskIndex index = lease.task.index;
  if (lease.stop_requested) return GiveBack(serial, false, "");
  leases.erase(serial);
  ++stats.failed_attempts;
  const milliseconds wait = BackoffOf(job.spec.backoff, lease.attempt);
  if (final || lease.attempt >= job.spec.max_attempts) {
    ++stats.failed_tasks;
    Set(job, index, TaskState::kFailed, 0);
  } else if (wait.count() > 0) {
    Set(job, index, TaskState::kRetrying, lease.attempt);
    job.tasks[index].due = Rounded(Steady() + wait, wait);
    if (job.spec.backoff.jitter > 0) unknown_due.insert(job.id);
  } else {
    Set(job, index, TaskState::kQueued, lease.attempt);
  }
  Settle(job);
}

Model::Failure Model::Extend(const Now& at, WorkerId id, const std::vector<TaskRef>& refs,
                             const std::vector<bool>& genuine, std::vector<bool>& own) {
  Begin(at);
  Worker* worker = FindRegistered(id);
  if (worker == nullptr) return Code::kUnknownWorker;
  Seen(*worker);
  for (std::size_t i = 0; i < refs.size(); ++i) {
    const Lease* lease = FindLease(refs[i], genuine[i]);
    own.push_back(lease != nullptr && lease->worker == id);
  }
  return {};
}

Model::Failure Model::Drain(const Now& at, WorkerId id) {
  Begin(at);
  Worker* worker = FindRegistered(id);
  if (worker == nullptr) return Code::kUnknownWorker;
  if (!worker->draining) {
    worker->draining = true;
    if (worker->waiting) Nothing(*worker);
    StopWaiting(*worker);
    drains_.push_back({Fact::Kind::kDrain, id.value, 0, 0, 0, 0, {}});
  }
  return {};
}

void Model::Disconnect(const Now& at, WorkerId id) {
  Begin(at);
  Worker* worker = FindRegistered(id);
  if (worker == nullptr || worker->away) return;
  StopWaiting(*worker);
  worker->away = true;
  worker->spec.connected = false;
  worker->away_until = time_ + options.worker_grace;
}

void Model::Unregister(const Now& at, WorkerId id) {
  Begin(at);
  if (FindRegistered(id) == nullptr) return;
  std::vector<std::uint64_t> running;
  for (const auto& [serial, lease] : leases) {
    if (lease.worker == id) running.push_back(serial);
  }
  for (const std::uint64_t serial : running) GiveBack(serial, true, "its worker left without a word about it");
  workers.erase(id);
  Wake();
}

void Model::Undelivered(const Now& at, const std::vector<TaskRef>& refs, const std::vector<bool>& genuine) {
  Begin(at);
  for (std::size_t i = 0; i < refs.size(); ++i) {
    if (FindLease(refs[i], genuine[i]) != nullptr) GiveBack(refs[i].lease.serial, false, "");
  }
  Wake();
}

}  // namespace allot::simulation
