#include "simulation/model.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace allot::simulation {
namespace {

constexpr Duration kTickEvery = std::chrono::seconds(1);

// The order `priority`: priority descending, none last, then scheduled_for, then id.
bool Before(const Model::Job& a, const Model::Job& b) {
  if (a.spec.priority != b.spec.priority) {
    if (!a.spec.priority || !b.spec.priority) return a.spec.priority.has_value();
    return *a.spec.priority > *b.spec.priority;
  }
  if (a.scheduled_for != b.scheduled_for) return a.scheduled_for < b.scheduled_for;
  return a.id < b.id;
}

bool MayRun(const Model::Worker& worker, const Model::Job& job) {
  return std::includes(worker.tags.begin(), worker.tags.end(), job.tags.begin(), job.tags.end());
}

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

std::string ToText(const Fact& fact) {
  static constexpr const char* kNames[] = {"grant", "nothing", "cancel", "drain", "gone", "ended", "error", "removed"};
  std::string text = kNames[static_cast<int>(fact.kind)];
  const auto add = [&text](const char* name, std::uint64_t value) {
    if (value != 0) text += std::string(" ") + name + "=" + std::to_string(value);
  };
  add("worker", fact.worker);
  add("job", fact.job);
  add("index", fact.index);
  add("attempt", fact.attempt);
  add("serial", fact.serial);
  if (!fact.why.empty()) text += " \"" + std::string(fact.why) + "\"";
  return text;
}

// --- What all commands share.

void Model::Begin(const Now& at) {
  if (!begun_) {
    begun_ = true;
    now_ = boot_ = at;
    time_ = at.mono;
    return;
  }
  // A tick comes every second while anyone is there; one that comes more than `late_tick` after that shows a stall.
  const Duration step = at.mono - now_.mono;
  if (!workers.empty() && step > kTickEvery + options.late_tick) stalled_ += step - kTickEvery;
  now_ = at;
  time_ = at.mono - stalled_;
}

WallTime Model::Steady() const { return boot_.wall + std::chrono::duration_cast<milliseconds>(now_.mono - boot_.mono); }

Model::Job* Model::FindJob(JobId id) {
  const auto found = jobs.find(id);
  return found == jobs.end() ? nullptr : &found->second;
}

Model::Worker* Model::FindRegistered(WorkerId id) {
  const auto found = workers.find(id);
  return found == workers.end() || !found->second.registered ? nullptr : &found->second;
}

Model::Lease* Model::FindLease(const TaskRef& ref, bool genuine) {
  const auto found = leases.find(ref.lease.serial);
  if (!genuine || found == leases.end()) return nullptr;
  CHECK(found->second.task.job == ref.job && found->second.task.index == ref.index);
  return &found->second;
}

bool Model::Holds(WorkerId id) const {
  return std::any_of(leases.begin(), leases.end(), [id](const auto& entry) { return entry.second.worker == id; });
}

void Model::Set(Job& job, TaskIndex index, TaskState state, std::uint32_t used) {
  Task& task = job.tasks[index];
  --job.in_state[static_cast<int>(task.state)];
  ++job.in_state[static_cast<int>(state)];
  task = Task{state, used, WallTime{}, false};
}

void Model::ByClock(Job& job) { job.state = job.scheduled_for > now_.wall ? JobState::kScheduled : JobState::kActive; }

// --- Handing out.

Model::Job* Model::FirstJob(const Worker& worker) {
  Job* first = nullptr;
  for (auto& [id, job] : jobs) {
    if (job.state != JobState::kActive || job.in_state[static_cast<int>(TaskState::kReady)] == 0) continue;
    if (MayRun(worker, job) && (first == nullptr || Before(job, *first))) first = &job;
  }
  return first;
}

bool Model::Serve(Worker& worker) {
  if (paused || worker.draining || worker.away) return false;
  bool any = false;
  while (worker.credit > 0) {
    Job* job = FirstJob(worker);
    if (job == nullptr) break;
    Grant(worker, *job);
    --worker.credit;
    any = true;
  }
  if (!any) return false;
  if (worker.once) worker.credit = 0;
  if (worker.credit == 0) StopWaiting(worker);
  // Whoever just got something waits anew: others come first now.
  if (worker.waiting) worker.turn = next_turn++;
  return true;
}

void Model::Grant(Worker& worker, Job& job) {
  TaskIndex index = 0;
  while (job.tasks[index].state != TaskState::kReady) ++index;
  const std::uint64_t serial = next_serial++;
  const std::uint32_t attempt = job.tasks[index].used + 1;
  Set(job, index, TaskState::kLeased, attempt);
  leases[serial] = Lease{TaskRef{job.id, index, LeaseId{serial, 0}}, worker.id, attempt, false, time_, now_.wall};
  if (job.started_at == WallTime{}) job.started_at = now_.wall;
  ++stats.granted;
  assigned_.push_back({Fact::Kind::kGrant, worker.id.value, job.id.value, index, attempt, serial, {}});
}

void Model::Wake() {
  while (!paused) {
    Worker* longest = nullptr;
    for (auto& [id, worker] : workers) {
      if (worker.waiting && (longest == nullptr || worker.turn < longest->turn) && FirstJob(worker) != nullptr) {
        longest = &worker;
      }
    }
    if (longest == nullptr) return;
    CHECK(Serve(*longest));
  }
}

// --- Jobs.

std::uint32_t Model::WorkersFor(const Job& job) const {
  std::uint32_t n = 0;
  for (const auto& [id, worker] : workers) n += worker.registered && MayRun(worker, job) ? 1 : 0;
  return n;
}

Model::Failure Model::Submit(const Now& at, const std::vector<JobId>& ids, const std::vector<JobSpec>& specs,
                             std::vector<SubmitAnswer>& answers) {
  Begin(at);
  const auto known = [this](const std::string& key) -> const Job* {
    if (key.empty()) return nullptr;
    for (const auto& [id, job] : jobs) {
      if (job.spec.idempotency_key == key) return &job;
    }
    return nullptr;
  };
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Job* job = known(specs[i].idempotency_key);
    if (job != nullptr && job->spec.content != specs[i].content) return Code::kIdempotencyConflict;
    for (std::size_t j = 0; j < i && !specs[i].idempotency_key.empty(); ++j) {
      if (specs[i].idempotency_key == specs[j].idempotency_key && specs[i].content != specs[j].content) {
        return Code::kIdempotencyConflict;
      }
    }
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const JobSpec& spec = specs[i];
    if (const Job* job = known(spec.idempotency_key)) {
      answers.push_back({job->id, true, WorkersFor(*job)});
      continue;
    }
    Job& job = jobs[ids[i]];
    job.id = ids[i];
    job.spec = spec;
    job.tags = {spec.tags.begin(), spec.tags.end()};
    job.submitted_at = now_.wall;
    job.scheduled_for = spec.scheduled_for.value_or(now_.wall + std::chrono::duration_cast<milliseconds>(spec.delay));
    job.tasks.resize(spec.count);
    job.in_state[static_cast<int>(TaskState::kReady)] = spec.count;
    ByClock(job);
    if (spec.count == 0) End(job, JobState::kDone);
    ++stats.submitted_jobs;
    stats.submitted_tasks += spec.count;
    answers.push_back({job.id, false, WorkersFor(job)});
  }
  Wake();
  return {};
}

Model::Failure Model::Change(const Now& at, JobId id, const JobChange& change) {
  Begin(at);
  Job* job = FindJob(id);
  if (job == nullptr) return Code::kUnknownJob;
  if (Ended(job->state)) return Code::kJobEnded;
  if (change.tags) {
    job->spec.tags = *change.tags;
    job->tags = {change.tags->begin(), change.tags->end()};
  }
  if (change.priority) job->spec.priority = *change.priority;
  if (change.scheduled_for) job->scheduled_for = *change.scheduled_for;
  if (change.delay) job->scheduled_for = now_.wall + std::chrono::duration_cast<milliseconds>(*change.delay);
  if (change.meta) job->spec.meta = *change.meta;
  if (job->state != JobState::kPaused) ByClock(*job);
  Wake();
  return {};
}

Model::Failure Model::Cancel(const Now& at, JobId id) {
  Begin(at);
  Job* job = FindJob(id);
  if (job == nullptr) return Code::kUnknownJob;
  if (!Ended(job->state)) End(*job, JobState::kCancelled);
  return {};
}

Model::Failure Model::Pause(const Now& at, JobId id) {
  Begin(at);
  Job* job = FindJob(id);
  if (job == nullptr) return Code::kUnknownJob;
  if (Ended(job->state)) return Code::kJobEnded;
  job->state = JobState::kPaused;
  return {};
}

Model::Failure Model::Resume(const Now& at, JobId id) {
  Begin(at);
  Job* job = FindJob(id);
  if (job == nullptr) return Code::kUnknownJob;
  if (Ended(job->state)) return Code::kJobEnded;
  if (job->state == JobState::kPaused) ByClock(*job);
  Wake();
  return {};
}

Model::Failure Model::Retry(const Now& at, JobId id, std::uint32_t& again) {
  Begin(at);
  Job* job = FindJob(id);
  if (job == nullptr) return Code::kUnknownJob;
  if (!Ended(job->state)) return Code::kJobActive;
  again = job->spec.count - job->in_state[static_cast<int>(TaskState::kDone)];
  if (again == 0) return {};
  ByClock(*job);
  job->failed_by_tasks = false;
  job->ended_at = WallTime{};
  for (TaskIndex i = 0; i < job->tasks.size(); ++i) {
    const TaskState state = job->tasks[i].state;
    if (state != TaskState::kLeased && state != TaskState::kDone) Set(*job, i, TaskState::kReady, 0);
  }
  unknown_due.erase(id);
  Wake();
  return {};
}

void Model::PauseQueue(const Now& at, bool pause) {
  Begin(at);
  paused = pause;
  Wake();
}

void Model::Settle(Job& job) {
  if (Ended(job.state)) return;
  const std::uint32_t failed = job.in_state[static_cast<int>(TaskState::kFailed)];
  if (failed > job.spec.max_failed_tasks.For(job.spec.count)) {
    End(job, JobState::kFailed);
  } else if (failed + job.in_state[static_cast<int>(TaskState::kDone)] == job.spec.count) {
    End(job, JobState::kDone);
  }
}

void Model::End(Job& job, JobState state) {
  job.state = state;
  job.failed_by_tasks = state == JobState::kFailed;
  job.ended_at = now_.wall;
  ended_.push_back({Fact::Kind::kEnded, 0, job.id.value, 0, 0, 0, {}});
  for (auto& [serial, lease] : leases) {
    if (lease.task.job != job.id || lease.told) continue;
    lease.told = true;
    cancels_.push_back({Fact::Kind::kCancel, lease.worker.value, job.id.value, lease.task.index, 0, serial,
                        state == JobState::kCancelled ? "cancelled" : "job_failed"});
  }
}

void Model::Forget(JobId id) {
  std::erase_if(leases, [id](const auto& entry) { return entry.second.task.job == id; });
  unknown_due.erase(id);
  jobs.erase(id);
  removed_.push_back({Fact::Kind::kRemoved, 0, id.value, 0, 0, 0, {}});
}

// --- Workers.

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
  worker.away = false;
  worker.credit = 0;
  Seen(worker);
  // An order to drain outlives a lost connection, and is repeated: it may have been lost with it.
  if (worker.draining) drains_.push_back({Fact::Kind::kDrain, spec.id.value, 0, 0, 0, 0, {}});
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
  if (worker.once) assigned_.push_back({Fact::Kind::kNothing, worker.id.value, 0, 0, 0, 0, {}});
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
  if (!worker->waiting) worker->turn = next_turn++;
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
    const bool free = job != nullptr && index < job->spec.count && !Ended(job->state) &&
                      (job->tasks[index].state == TaskState::kReady || job->tasks[index].state == TaskState::kWaiting);
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
    if (lease.told) {
      // Its worker was told to stop, and then the job was retried: fresh attempts, for this task too.
      leases.erase(serial);
      Set(job, lease.task.index, TaskState::kReady, 0);
      return;
    }
    if (counted) {
      errors_.push_back({Fact::Kind::kError, 0, job.id.value, lease.task.index, lease.attempt, 0, why});
      if (lease.attempt >= job.spec.max_attempts) return AttemptFailed(serial, true);
    }
  }
  leases.erase(serial);
  Set(job, lease.task.index, TaskState::kReady, counted ? lease.attempt : lease.attempt - 1);
}

void Model::AttemptFailed(std::uint64_t serial, bool final) {
  const Lease lease = leases.at(serial);
  Job& job = *FindJob(lease.task.job);
  const TaskIndex index = lease.task.index;
  if (lease.told) return GiveBack(serial, false, "");
  leases.erase(serial);
  ++stats.failed_attempts;
  const milliseconds wait = BackoffOf(job.spec.backoff, lease.attempt);
  if (final || lease.attempt >= job.spec.max_attempts) {
    ++stats.failed_tasks;
    Set(job, index, TaskState::kFailed, 0);
  } else if (wait.count() > 0) {
    Set(job, index, TaskState::kWaiting, lease.attempt);
    job.tasks[index].due = Rounded(Steady() + wait, wait);
    if (job.spec.backoff.jitter > 0) unknown_due.insert(job.id);
  } else {
    Set(job, index, TaskState::kReady, lease.attempt);
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
  std::vector<std::uint64_t> held;
  for (const auto& [serial, lease] : leases) {
    if (lease.worker == id) held.push_back(serial);
  }
  for (const std::uint64_t serial : held) GiveBack(serial, true, "its worker left without a word about it");
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

// --- Time.

std::optional<Instant> Model::DueOf(const Worker& worker) const {
  std::optional<Instant> due;
  const auto sooner = [&due](Instant at) { due = due ? std::min(*due, at) : at; };
  if (worker.away) sooner(worker.away_until);
  // Not seen since a restart: its leases are kept for the grace time, whatever their own says.
  if (!worker.registered) return due;
  if (worker.pull_until) sooner(*worker.pull_until);
  bool holds = false;
  for (const auto& [serial, lease] : leases) {
    if (lease.worker != worker.id) continue;
    holds = true;
    const JobSpec& spec = jobs.at(lease.task.job).spec;
    sooner(std::max(worker.last_seen, lease.granted) + spec.lease);
    if (spec.timeout.count() > 0) sooner(lease.granted + spec.timeout);
  }
  if (!worker.spec.connected && !worker.away && !worker.waiting && !holds) {
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
    std::vector<std::uint64_t> held;
    for (const auto& [serial, lease] : leases) {
      if (lease.worker == id) held.push_back(serial);
    }
    for (const std::uint64_t serial : held) GiveBack(serial, true, "its worker did not come back");
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
      } else if (Ended(job.state) || lease.told) {
        GiveBack(serial, false, "");
      } else {
        errors_.push_back({Fact::Kind::kError, 0, job.id.value, lease.task.index, lease.attempt, 0,
                           "the attempt took longer than its timeout"});
        AttemptFailed(serial, false);
      }
    }
  }
  if (!worker.spec.connected && !worker.away && !worker.waiting && !Holds(id) &&
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
    if (Ended(job.state) || job.in_state[static_cast<int>(TaskState::kWaiting)] == 0) continue;
    for (TaskIndex i = 0; i < job.tasks.size(); ++i) {
      const Task task = job.tasks[i];
      if (task.state != TaskState::kWaiting || task.due > Steady() || unknown_due.contains(id)) continue;
      Set(job, i, TaskState::kReady, task.used);
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
    } else if (job.in_state[static_cast<int>(TaskState::kWaiting)] > 0) {
      for (const Task& task : job.tasks) {
        if (task.state == TaskState::kWaiting) sooner(boot_.mono + Duration(task.due - boot_.wall));
      }
    }
  }
  return next;
}

// --- Crashes.

void Model::Crash(const Now& at, Duration grace) {
  TakeFacts();
  workers.clear();
  unknown_due.clear();
  stats = {};
  now_ = boot_ = at;
  time_ = at.mono;
  stalled_ = Duration(0);
  begun_ = true;
  for (auto& [id, job] : jobs) {
    if (job.state == JobState::kScheduled && job.scheduled_for <= at.wall) job.state = JobState::kActive;
  }
  for (auto& [serial, lease] : leases) {
    lease.granted = time_ - std::max<Duration>(Duration(0), at.wall - lease.granted_at);
    lease.told = Ended(jobs.at(lease.task.job).state);
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
    if (task.state == TaskState::kWaiting) task.due = due;
  }
  unknown_due.erase(id);
}

void Model::AdoptScheduled(JobId id) { jobs.at(id).state = JobState::kScheduled; }

void Model::AdoptWaiting(JobId id, TaskIndex index) {
  Job& job = jobs.at(id);
  const Task task = job.tasks[index];
  Set(job, index, TaskState::kWaiting, task.used);
  job.tasks[index].due = task.due;
}

bool Model::CountsAddUp() const {
  std::set<std::pair<JobId, TaskIndex>> leased;
  for (const auto& [serial, lease] : leases) {
    if (!leased.insert({lease.task.job, lease.task.index}).second) return false;
    if (jobs.at(lease.task.job).tasks[lease.task.index].state != TaskState::kLeased) return false;
  }
  std::size_t out = 0;
  for (const auto& [id, job] : jobs) {
    std::uint32_t in_state[5] = {};
    for (const Task& task : job.tasks) ++in_state[static_cast<int>(task.state)];
    if (!std::equal(in_state, in_state + 5, job.in_state)) return false;
    out += in_state[static_cast<int>(TaskState::kLeased)];
  }
  return out == leases.size();
}

std::vector<Fact> Model::TakeFacts() {
  std::vector<Fact> all;
  for (std::vector<Fact>* facts : {&assigned_, &cancels_, &drains_, &gone_, &ended_, &errors_}) {
    all.insert(all.end(), facts->begin(), facts->end());
    facts->clear();
  }
  std::sort(removed_.begin(), removed_.end(), [](const Fact& a, const Fact& b) { return a.job < b.job; });
  all.insert(all.end(), removed_.begin(), removed_.end());
  removed_.clear();
  return all;
}

}  // namespace allot::simulation
