// SPDX-License-Identifier: Apache-2.0
#include "simulation/model.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "strategy/preview.h"

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

expr::Value Shown(const MetaValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return expr::Value::String(*text);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return expr::Value::Integer(*number);
  if (const auto* real = std::get_if<double>(&value)) return expr::Value::Real(*real);
  return expr::Value::Boolean(std::get<bool>(value));
}

expr::Ad AdOf(const Model::Job& job) {
  expr::Ad ad;
  for (const auto& [name, value] : job.spec.meta) ad.Set(name, Shown(value));
  ad.Set("User", expr::Value::String(job.spec.user));
  if (job.spec.priority) ad.Set("Priority", expr::Value::Integer(*job.spec.priority));
  ad.Set("Async", expr::Value::Boolean(job.spec.async));
  ad.Set("Tasks", expr::Value::Integer(job.spec.count));
  return ad;
}

expr::Ad AdOf(const Model::Worker& worker) {
  expr::Ad ad;
  for (const auto& [name, value] : worker.spec.attributes) ad.Set(name, Shown(value));
  for (const auto& [name, value] : worker.spec.properties) ad.Set(name, expr::Value::String(value));
  ad.Set("Slots", expr::Value::Integer(worker.spec.slots));
  return ad;
}

// One constraint after another, without tags.
bool HasAll(const Properties& properties, const Properties& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& pair) {
    return std::find(properties.begin(), properties.end(), pair) != properties.end();
  });
}

bool Open(const Model::Job& job) {
  return job.state == JobState::kActive && job.in_state[static_cast<int>(TaskState::kQueued)] > 0;
}

}  // namespace

Model::Match Model::Judge(const Worker& worker, const Job& job) {
  if (!std::includes(worker.tags.begin(), worker.tags.end(), job.tags.begin(), job.tags.end())) return {};
  const auto& constraints = job.spec.constraints;
  if (!constraints.empty() && std::none_of(constraints.begin(), constraints.end(), [&](const Properties& alternative) {
        return HasAll(worker.spec.properties, alternative);
      })) {
    return {};
  }
  if (!job.spec.requirements && !worker.spec.requirements && !job.spec.rank && !worker.spec.rank) return {true, 0, 0};
  if (!job.ad) job.ad = std::make_shared<const expr::Ad>(AdOf(job));
  if (!worker.ad) worker.ad = std::make_shared<const expr::Ad>(AdOf(worker));
  thread_local expr::Evaluator evaluator;
  const expr::Sides from_job{job.ad.get(), worker.ad.get(), expr::Side::kJob, 0};
  const expr::Sides from_worker{job.ad.get(), worker.ad.get(), expr::Side::kMachine, 0};
  if (job.spec.requirements && !evaluator.True(*job.spec.requirements, from_job)) return {};
  if (worker.spec.requirements && !evaluator.True(*worker.spec.requirements, from_worker)) return {};
  Match match{true, 0, 0};
  if (job.spec.rank) match.job_rank = evaluator.Number(*job.spec.rank, from_job);
  if (worker.spec.rank) match.worker_rank = evaluator.Number(*worker.spec.rank, from_worker);
  return match;
}

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

bool Model::HasLeases(WorkerId id) const {
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

namespace {

// A job of the model as strategies see it.
struct SeenJob : PickJob {
  const Model::Job* job = nullptr;
};

class Keys : public JobKeys {
 public:
  GroupText Get(const PickJob& seen, const StrategyKey& key) const override {
    const JobSpec& spec = static_cast<const SeenJob&>(seen).job->spec;
    switch (key.kind) {
      case StrategyKey::Kind::kUser:
        return spec.user.empty() ? std::nullopt : GroupText("s" + spec.user);
      case StrategyKey::Kind::kAsync:
        return TextOf(spec.async);
      case StrategyKey::Kind::kPriority:
        return spec.priority ? TextOf(*spec.priority) : std::nullopt;
      case StrategyKey::Kind::kJob:
        return "s" + std::to_string(seen.id().value);
      case StrategyKey::Kind::kTag: {
        if (spec.tags.empty()) return std::nullopt;
        std::string text = "s";
        for (const std::string& tag : spec.tags) text += (text.size() > 1 ? "," : "") + tag;
        return text;
      }
      case StrategyKey::Kind::kMeta:
        for (const auto& [name, value] : spec.meta) {
          if (name == key.name) return TextOf(value);
        }
    }
    return std::nullopt;
  }
  bool HasTag(const PickJob& seen, const std::string& tag) const override {
    return static_cast<const SeenJob&>(seen).job->tags.contains(tag);
  }
};

}  // namespace

std::uint64_t Model::AllSlots() const {
  std::uint64_t slots = 0;
  for (const auto& [id, worker] : workers) slots += worker.registered ? worker.spec.slots : 0;
  return slots;
}

Model::Job* Model::FirstByStrategy(const Worker& worker) {
  const StrategyPtr own = worker.pull_strategy   ? worker.pull_strategy
                          : worker.spec.strategy ? worker.spec.strategy
                                                 : DefaultStrategy();
  const StrategyPtr policy = options.policy ? options.policy : DefaultPolicy();
  const Keys keys;
  Preview naive({policy, own, options.weights, AllSlots()});
  std::map<JobId, std::uint32_t> running;
  for (const auto& [serial, lease] : leases) ++running[lease.task.job];
  for (auto& [id, job] : jobs) {
    SeenJob seen;
    seen.job = &job;
    seen.key = OrderKey{!job.spec.priority.has_value(), job.spec.priority.value_or(0), job.scheduled_for, id};
    seen.queued = job.in_state[static_cast<int>(TaskState::kQueued)];
    seen.running = running[id];
    seen.picked = job.picked;
    seen.submitted_at = job.submitted_at;
    seen.open = Open(job);
    std::optional<double> rank;
    if (seen.open) {
      const Match match = Judge(worker, job);
      if (match.may) rank = match.worker_rank;
    }
    naive.Know(keys, seen, rank);
  }
  for (const auto& [user, stamp] : served_at) {
    Job gone;
    gone.spec.user = user;
    SeenJob seen;
    seen.job = &gone;
    seen.picked = stamp;
    naive.Know(keys, seen, std::nullopt);
  }
  bool random = false;
  const std::vector<JobId> found = naive.Allowed(random);
  CHECK(!random);
  return found.empty() ? nullptr : &jobs.at(found[0]);
}

void Model::SetPolicy(const Now& at, const StrategyPtr& policy, const Weights& weights) {
  Begin(at);
  options.policy = policy;
  options.weights = weights;
  Wake();
}

Model::Job* Model::FirstJob(const Worker& worker) {
  if (options.policy || worker.pull_strategy || worker.spec.strategy) return FirstByStrategy(worker);
  Job* first = nullptr;
  double rank = 0;
  for (auto& [id, job] : jobs) {
    if (!Open(job)) continue;
    const Match match = Judge(worker, job);
    if (!match.may) continue;
    const bool better =
        first == nullptr || match.worker_rank > rank || (match.worker_rank == rank && Before(job, *first));
    if (!better) continue;
    first = &job;
    rank = match.worker_rank;
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
  if (worker.waiting) worker.sequence = next_sequence++;
  return true;
}

void Model::Grant(Worker& worker, Job& job) {
  TaskIndex index = 0;
  while (job.tasks[index].state != TaskState::kQueued) ++index;
  const std::uint64_t serial = next_serial++;
  const std::uint32_t attempt = job.tasks[index].used + 1;
  Set(job, index, TaskState::kRunning, attempt);
  leases[serial] = Lease{TaskRef{job.id, index, LeaseId{serial, 0}}, worker.id, attempt, false, time_, now_.wall};
  if (job.started_at == WallTime{}) job.started_at = now_.wall;
  const std::int64_t before = job.picked.serial != 0 ? job.picked.ms : ToMillis(job.submitted_at);
  job.picked = served_at[job.spec.user] = Stamp{std::max(ToMillis(now_.wall), before), serial};
  ++stats.granted;
  granted_.push_back({Fact::Kind::kGrant, worker.id.value, job.id.value, index, attempt, serial, {}});
}

void Model::Wake() {
  while (!paused) {
    // Whom any waiting job wants most, then the longest waiting.
    Worker* next = nullptr;
    double wanted = 0;
    for (auto& [id, worker] : workers) {
      if (!worker.waiting) continue;
      std::optional<double> best;
      for (auto& [job_id, job] : jobs) {
        if (!Open(job)) continue;
        if (const Match match = Judge(worker, job); match.may)
          best = std::max(best.value_or(match.job_rank), match.job_rank);
      }
      if (!best || FirstJob(worker) == nullptr) continue;
      if (next == nullptr || *best > wanted || (*best == wanted && worker.sequence < next->sequence)) {
        next = &worker;
        wanted = *best;
      }
    }
    if (next == nullptr) return;
    CHECK(Serve(*next));
  }
}

// --- Jobs.

std::uint32_t Model::WorkersFor(const Job& job) const {
  std::uint32_t n = 0;
  if (Ended(job.state)) return 0;
  for (const auto& [id, worker] : workers) n += worker.registered && Judge(worker, job).may ? 1 : 0;
  return n;
}

Model::Failure Model::Submit(const Now& at, const std::vector<JobId>& ids, const std::vector<JobSpec>& specs,
                             std::vector<SubmitAnswer>& answers) {
  Begin(at);
  const auto known = [this](const JobSpec& spec) -> const Job* {
    if (spec.idempotency_key.empty()) return nullptr;
    for (const auto& [id, job] : jobs) {
      if (job.spec.idempotency_key == spec.idempotency_key && job.spec.user == spec.user) return &job;
    }
    return nullptr;
  };
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const Job* job = known(specs[i]);
    if (job != nullptr && job->spec.content != specs[i].content) return Code::kIdempotencyConflict;
    for (std::size_t j = 0; j < i && !specs[i].idempotency_key.empty(); ++j) {
      if (specs[i].idempotency_key == specs[j].idempotency_key && specs[i].user == specs[j].user &&
          specs[i].content != specs[j].content) {
        return Code::kIdempotencyConflict;
      }
    }
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const JobSpec& spec = specs[i];
    if (const Job* job = known(spec)) {
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
    job.in_state[static_cast<int>(TaskState::kQueued)] = spec.count;
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
  if (change.constraints) job->spec.constraints = *change.constraints;
  if (change.requirements) job->spec.requirements = *change.requirements;
  if (change.rank) job->spec.rank = *change.rank;
  if (change.priority) job->spec.priority = *change.priority;
  if (change.scheduled_for) job->scheduled_for = *change.scheduled_for;
  if (change.delay) job->scheduled_for = now_.wall + std::chrono::duration_cast<milliseconds>(*change.delay);
  if (change.meta) job->spec.meta = *change.meta;
  if (LastOfUser(*job)) served_at[job->spec.user] = job->picked;  // it is counted anew
  job->ad = nullptr;
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
    if (state != TaskState::kRunning && state != TaskState::kDone) Set(*job, i, TaskState::kQueued, 0);
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
    if (lease.task.job != job.id || lease.stop_requested) continue;
    lease.stop_requested = true;
    cancels_.push_back({Fact::Kind::kCancel, lease.worker.value, job.id.value, lease.task.index, 0, serial,
                        state == JobState::kCancelled ? "cancelled" : "job_failed"});
  }
}

bool Model::LastOfUser(const Job& job) const {
  // Those without a user are a group that does not end.
  return !job.spec.user.empty() && std::none_of(jobs.begin(), jobs.end(), [&](const auto& entry) {
    return entry.first != job.id && entry.second.spec.user == job.spec.user;
  });
}

void Model::Forget(JobId id) {
  std::erase_if(leases, [id](const auto& entry) { return entry.second.task.job == id; });
  unknown_due.erase(id);
  if (LastOfUser(jobs.at(id))) served_at.erase(jobs.at(id).spec.user);
  jobs.erase(id);
  removed_.push_back({Fact::Kind::kRemoved, 0, id.value, 0, 0, 0, {}});
}

bool Model::CountsAddUp() const {
  std::set<std::pair<JobId, TaskIndex>> running;
  for (const auto& [serial, lease] : leases) {
    if (!running.insert({lease.task.job, lease.task.index}).second) return false;
    if (jobs.at(lease.task.job).tasks[lease.task.index].state != TaskState::kRunning) return false;
  }
  std::size_t out = 0;
  for (const auto& [id, job] : jobs) {
    std::uint32_t in_state[5] = {};
    for (const Task& task : job.tasks) ++in_state[static_cast<int>(task.state)];
    if (!std::equal(in_state, in_state + 5, job.in_state)) return false;
    out += in_state[static_cast<int>(TaskState::kRunning)];
  }
  return out == leases.size();
}

std::vector<Fact> Model::TakeFacts() {
  std::vector<Fact> all;
  for (std::vector<Fact>* facts : {&granted_, &cancels_, &drains_, &gone_, &ended_, &errors_}) {
    all.insert(all.end(), facts->begin(), facts->end());
    facts->clear();
  }
  std::sort(removed_.begin(), removed_.end(), [](const Fact& a, const Fact& b) { return a.job < b.job; });
  all.insert(all.end(), removed_.begin(), removed_.end());
  removed_.clear();
  return all;
}

}  // namespace allot::simulation
