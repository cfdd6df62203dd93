#include "simulation/simulation.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "base/bounds.h"
#include "base/check.h"

namespace allot::simulation {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kStart = 1'800'000'000'000;
constexpr std::size_t kMaxProcesses = 7;
constexpr std::size_t kMostJobs = 40;

void Mix(std::uint64_t& hash, std::string_view bytes) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
}

template <typename T>
std::optional<Code> CodeOf(const Result<T>& result) {
  return result.ok() ? std::nullopt : std::optional<Code>(result.error().code);
}

std::vector<Fact> FactsOf(const Effects& effects) {
  std::vector<Fact> facts;
  for (const Assignment& assignment : effects.assignments) {
    if (assignment.grants.empty()) facts.push_back({Fact::Kind::kNothing, assignment.worker.value, 0, 0, 0, 0, {}});
    for (const Grant& grant : assignment.grants) {
      facts.push_back({Fact::Kind::kGrant,
                       assignment.worker.value,
                       grant.task.job.value,
                       grant.task.index,
                       grant.attempt,
                       grant.task.lease.serial,
                       {}});
    }
  }
  for (const CancelOrder& order : effects.cancels) {
    facts.push_back({Fact::Kind::kCancel, order.worker.value, order.task.job.value, order.task.index, 0,
                     order.task.lease.serial, order.reason});
  }
  for (const WorkerId id : effects.drains) facts.push_back({Fact::Kind::kDrain, id.value, 0, 0, 0, 0, {}});
  for (const WorkerId id : effects.gone) facts.push_back({Fact::Kind::kGone, id.value, 0, 0, 0, 0, {}});
  for (const JobId id : effects.ended) facts.push_back({Fact::Kind::kEnded, 0, id.value, 0, 0, 0, {}});
  for (const EngineError& error : effects.errors) {
    facts.push_back({Fact::Kind::kError, 0, error.job.value, error.index, error.attempt, 0, error.text});
  }
  std::vector<std::uint64_t> removed;
  for (const Removal& removal : effects.removed) removed.push_back(removal.job.value);
  std::sort(removed.begin(), removed.end());
  for (const std::uint64_t id : removed) facts.push_back({Fact::Kind::kRemoved, 0, id, 0, 0, 0, {}});
  return facts;
}

}  // namespace

Simulation::Simulation(std::uint64_t seed)
    : rng_(seed), look_(seed), disk_(std::make_shared<MemoryDisk>()), model_(options_), durable_(options_) {
  options_.key = SipKey{seed, ~seed};
  options_.worker_grace = Some(1s, 1, 20);
  options_.idle_worker = Some(1s, 5, 30);
  if (Chance(2)) options_.max_finished_jobs = Between(0, 12);
  large_jobs_ = Chance(4);
  model_ = durable_ = Model(options_);
  issued_.emplace_back();
  trace_ = std::getenv("ALLOT_SIM_TRACE") != nullptr;
  now_.mono = Instant(5s);
  now_.wall = FromMillis(kStart);
  wall_offset_ = Duration(milliseconds(kStart)) - now_.mono.time_since_epoch();
  Load(30s);
  model_.Crash(now_, 30s);
  durable_ = model_;
}

void Simulation::Move(Instant to) {
  now_.mono = to;
  now_.wall = FromMillis((now_.mono.time_since_epoch() + wall_offset_) / 1ms);
}

void Simulation::Trace(const std::string& what) const {
  if (!trace_) return;
  std::fprintf(stderr, "%llu %.3fs wall %lld: %s\n", static_cast<unsigned long long>(steps_),
               static_cast<double>(now_.mono.time_since_epoch().count()) / 1e6,
               static_cast<long long>(ToMillis(now_.wall) - kStart), what.c_str());
}

void Simulation::Differ(const std::string& what) {
  if (difference_.empty()) difference_ = "step " + std::to_string(steps_) + ": " + what;
}

template <typename T>
void Simulation::Expect(const T& engine, const T& model, const std::string& what) {
  if (engine == model || !difference_.empty()) return;
  if constexpr (std::is_arithmetic_v<T>) {
    Differ(what + ": engine " + std::to_string(engine) + ", model " + std::to_string(model));
  } else {
    Differ(what);
  }
}

void Simulation::ExpectCode(const std::optional<Code>& engine, const Model::Failure& model, const std::string& what) {
  const auto text = [](const std::optional<Code>& code) { return code ? std::string(CodeText(*code)) : "ok"; };
  if (engine != model) Differ(what + ": engine " + text(engine) + ", model " + text(model));
  ++tally_[what + (engine ? " refused" : "")];
  Trace(what + " " + text(engine));
}

template <typename Do>
auto Simulation::InModel(Do what) {
  operations_.push_back([what](Model& model) { static_cast<void>(what(model)); });
  return what(model_);
}

bool Simulation::Step() {
  ++steps_;
  const std::uint64_t dice = rng_.Below(1000);
  if (dice < 60) {
    DoSubmit();
  } else if (dice < 75) {
    DoChange();
  } else if (dice < 105) {
    DoJobCommand();
  } else if (dice < 110) {
    DoQueue();
  } else if (dice < 150) {
    DoRegister();
  } else if (dice < 400) {
    DoPull();
  } else if (dice < 720) {
    DoReport();
  } else if (dice < 770) {
    DoWorkerCommand();
  } else if (dice < 785) {
    DoUndelivered();
  } else if (dice < 930) {
    DoTime();
  } else if (dice < 960) {
    DoFold();
  } else if (dice < 997) {
    Commit(Chance(3) ? Between(1, 5) : Between(1, 60));
    if (Chance(4)) CHECK(store_->Tidy().ok());
  } else {
    DoCrash();
  }
  AdoptJitter();
  if (!Chance(5)) Take();
  if (Chance(100) || trace_) CompareAll();
  return difference_.empty();
}

// --- Choices.

std::vector<std::string> Simulation::Tags(bool of_worker) {
  static const char* const kTags[] = {"a", "b", "c", "d"};
  std::vector<std::string> tags;
  for (const char* tag : kTags) {
    if (of_worker ? !Chance(3) : Chance(4)) tags.emplace_back(tag);
  }
  return tags;
}

JobSpec Simulation::Spec() {
  JobSpec spec;
  spec.tags = Tags(false);
  if (!Chance(3)) spec.priority = static_cast<std::int64_t>(Between(0, 4)) - 2;
  if (Chance(3)) spec.user = Chance(2) ? "ann" : "bob";
  const std::uint64_t size = rng_.Below(100);
  spec.count = static_cast<std::uint32_t>(size < 5 ? 0 : size < 40 ? 1 : size < 80 ? Between(2, 20) : Between(20, 200));
  if (large_jobs_ && Chance(60)) spec.count = static_cast<std::uint32_t>(Between(32'000, 70'000));
  if (Chance(5)) {
    spec.delay = Some(1ms, 0, 20'000);
  } else if (Chance(10)) {
    spec.scheduled_for = now_.wall + milliseconds(static_cast<std::int64_t>(Between(0, 20'000)) - 10'000);
  }
  spec.max_attempts = static_cast<std::uint32_t>(Between(1, 4));
  spec.backoff.first = milliseconds(Chance(3) ? 0 : Between(1, 5'000));
  spec.backoff.factor = Chance(2) ? 1.0 : 3.0;
  spec.backoff.max = milliseconds(Between(0, 20'000));
  spec.backoff.jitter = spec.count == 1 && Chance(2) ? 0.5 : 0.0;
  spec.lease = milliseconds(Between(1'000, 15'000));
  if (Chance(4)) spec.timeout = milliseconds(Between(500, 20'000));
  if (Chance(2)) spec.max_failed_tasks.number = static_cast<std::uint32_t>(Between(0, 10));
  if (Chance(4)) spec.max_failed_tasks = Allowance{0, static_cast<double>(Between(0, 100))};
  spec.retention = milliseconds(Chance(10) ? 0 : Between(1, 60'000));
  if (Chance(4)) {
    spec.idempotency_key = std::string("key") + std::to_string(rng_.Below(6));
    spec.content = ContentHash{rng_.Below(2), 7};
  }
  if (Chance(5)) spec.meta = {{"customer", std::int64_t{7}}, {"name", std::string("x")}};
  if (Chance(6)) spec.trace = "00-trace";
  return spec;
}

JobId Simulation::AnyEndedJob() {
  std::vector<JobId> ended;
  for (const auto& [id, job] : model_.jobs) {
    if (Ended(job.state)) ended.push_back(id);
  }
  return ended.empty() ? AnyJob() : ended[rng_.Below(ended.size())];
}

JobId Simulation::AnyJob() {
  if (model_.jobs.empty() || Chance(30)) return JobId{Between(1, last_id_ + 2)};
  auto it = model_.jobs.begin();
  std::advance(it, rng_.Below(model_.jobs.size()));
  return it->first;
}

Simulation::Process& Simulation::AnyProcess() {
  if (processes_.empty()) processes_.push_back(Process{WorkerId{5}, 0, true, {}, {}});  // known to nobody
  return processes_[rng_.Below(processes_.size())];
}

TaskRef Simulation::AnyRef(const Process& process) {
  const auto of = [this](const Process& p) { return p.held[rng_.Below(p.held.size())]; };
  TaskRef ref;
  if (!process.held.empty() && !Chance(4)) {
    ref = of(process);
  } else if (const Process& other = AnyProcess(); !other.held.empty() && Chance(3)) {
    ref = of(other);
  } else if (issued_.size() > 1) {
    // One of the latest, or any.
    const std::uint64_t back = Chance(2) ? std::min<std::uint64_t>(20, issued_.size() - 1) : issued_.size() - 1;
    ref = issued_[issued_.size() - 1 - rng_.Below(back)];
  }
  if (Chance(25)) {
    switch (rng_.Below(5)) {
      case 0:
        ref.lease.mac ^= 1 + rng_.Below(255);
        break;
      case 1:
        ref.index = static_cast<TaskIndex>(Chance(2) ? rng_.Below(20) : 0xFFFFFFFF - rng_.Below(2));
        break;
      case 2:
        ref.job = AnyJob();
        break;
      case 3:
        ref.lease.serial += 1 + rng_.Below(3);
        break;
      default:
        ref = TaskRef{AnyJob(), static_cast<TaskIndex>(rng_.Below(5)), LeaseId{rng_.Below(100), rng_.Next()}};
    }
  }
  return ref;
}

bool Simulation::Genuine(const TaskRef& ref) const {
  return ref.lease.serial > 0 && ref.lease.serial < issued_.size() && issued_[ref.lease.serial] == ref;
}

std::vector<bool> Simulation::Genuine(const std::vector<TaskRef>& refs) const {
  std::vector<bool> genuine;
  for (const TaskRef& ref : refs) genuine.push_back(Genuine(ref));
  return genuine;
}

// --- Commands on jobs.

void Simulation::DoSubmit() {
  if (model_.jobs.size() >= kMostJobs) return DoJobCommand();
  std::vector<JobId> ids;
  std::vector<JobSpec> specs;
  const std::uint64_t n = Chance(8) ? Between(0, 5) : 1;
  for (std::uint64_t i = 0; i < n; ++i) {
    last_id_ += Between(1, 3);
    ids.push_back(JobId{last_id_});
    specs.push_back(Spec());
  }
  Result<std::vector<SubmitAnswer>> answers = n == 1 ? [&]() -> Result<std::vector<SubmitAnswer>> {
    const Result<SubmitAnswer> one = engine_->Submit(now_, ids[0], specs[0]);
    if (!one.ok()) return one.error();
    return std::vector<SubmitAnswer>{*one};
  }()
      : engine_->SubmitAll(now_, ids, specs);
  std::vector<SubmitAnswer> expected;
  const auto failure = model_.Submit(now_, ids, specs, expected);
  operations_.push_back([now = now_, ids, specs](Model& model) {
    std::vector<SubmitAnswer> unused;
    static_cast<void>(model.Submit(now, ids, specs, unused));
  });
  ExpectCode(CodeOf(answers), failure, "submit");
  if (!answers.ok() || failure) return;
  Expect(answers->size(), expected.size(), "submit: answers");
  for (std::size_t i = 0; i < expected.size() && difference_.empty(); ++i) {
    Trace("job " + allot::ToText(expected[i].job) + " count " + std::to_string(specs[i].count));
    Expect((*answers)[i].job.value, expected[i].job.value, "submit: job");
    Expect((*answers)[i].existing, expected[i].existing, "submit: existing");
    Expect((*answers)[i].matching_workers, expected[i].matching_workers, "submit: matching workers");
    if (expected[i].existing) ++tally_["submit existing"];
    highest_taken_job_ = std::max(highest_taken_job_, expected[i].job.value);
  }
}

void Simulation::DoChange() {
  JobChange change;
  if (Chance(2))
    change.priority = Chance(3) ? std::optional<std::int64_t>() : std::optional<std::int64_t>(Between(0, 3));
  if (Chance(2)) change.tags = Tags(false);
  if (Chance(4)) change.delay = Some(1ms, 0, 10'000);
  if (Chance(6)) change.scheduled_for = now_.wall + milliseconds(static_cast<std::int64_t>(Between(0, 8'000)) - 2'000);
  if (Chance(4)) change.meta = Chance(2) ? Meta{} : Meta{{"customer", true}};
  const JobId job = AnyJob();
  const auto result = engine_->Change(now_, job, change);
  Trace("job " + allot::ToText(job));
  ExpectCode(CodeOf(result), InModel([=, now = now_](Model& m) { return m.Change(now, job, change); }), "change");
}

void Simulation::DoJobCommand() {
  JobId job = AnyJob();
  const Now now = now_;
  Trace("job " + allot::ToText(job));
  switch (rng_.Below(4)) {
    case 0:
      ExpectCode(CodeOf(engine_->Cancel(now, job)), InModel([=](Model& m) { return m.Cancel(now, job); }), "cancel");
      break;
    case 1:
      ExpectCode(CodeOf(engine_->Pause(now, job)), InModel([=](Model& m) { return m.Pause(now, job); }), "pause");
      break;
    case 2:
      ExpectCode(CodeOf(engine_->Resume(now, job)), InModel([=](Model& m) { return m.Resume(now, job); }), "resume");
      break;
    default: {
      if (!Chance(4)) job = AnyEndedJob();
      const auto retried = engine_->Retry(now, job);
      std::uint32_t again = 0;
      const auto failure = model_.Retry(now, job, again);
      operations_.push_back([=](Model& m) {
        std::uint32_t unused = 0;
        static_cast<void>(m.Retry(now, job, unused));
      });
      ExpectCode(CodeOf(retried), failure, "retry");
      if (retried.ok()) Expect(*retried, again, "retry: tasks that run again");
    }
  }
}

void Simulation::DoQueue() {
  const bool pause = Chance(2) && !model_.paused;
  if (pause) {
    engine_->PauseQueue(now_);
  } else {
    engine_->ResumeQueue(now_);
  }
  operations_.push_back([=, now = now_](Model& m) { m.PauseQueue(now, pause); });
  model_.PauseQueue(now_, pause);
}

// --- Commands of workers.

void Simulation::DoRegister() {
  const bool fresh = processes_.size() < 2 || (processes_.size() < kMaxProcesses && Chance(5));
  if (fresh) {
    last_id_ += Between(1, 3);
    processes_.push_back(Process{WorkerId{last_id_}, 0, !Chance(3), Tags(true), {}});
  }
  // Mostly one that the engine does not know (any more).
  std::size_t which = rng_.Below(processes_.size());
  for (std::size_t i = 0; i < processes_.size() && !Chance(4); ++i) {
    const auto known = model_.workers.find(processes_[which].id);
    if (known == model_.workers.end() || !known->second.registered || known->second.away) break;
    which = (which + 1) % processes_.size();
  }
  Process& process = fresh ? processes_.back() : processes_[which];
  if (!fresh && Chance(4)) process.tags = Tags(true);
  WorkerSpec spec;
  spec.id = process.id;
  spec.name = "worker";
  spec.tags = process.tags;
  spec.slots = static_cast<std::uint32_t>(Between(1, 8));
  spec.connected = process.connected;
  const bool right_key = fresh || !Chance(10);
  std::optional<std::uint64_t> key;
  if (!fresh) key = right_key ? process.key : process.key + 1;
  if (!fresh && process.key == 0) return;
  const std::uint64_t part = rng_.Below(3);
  for (const TaskRef& ref : process.held) {
    if (part == 0 || (part == 1 && Chance(2))) spec.resume.push_back(ref);
  }
  if (Chance(3)) spec.resume.push_back(AnyRef(process));
  const std::vector<bool> genuine = Genuine(spec.resume);
  const auto answer = engine_->Register(now_, spec, key);
  RegisterAnswer expected;
  const auto failure = model_.Register(now_, spec, right_key, genuine, expected);
  operations_.push_back([=, now = now_](Model& m) {
    RegisterAnswer unused;
    static_cast<void>(m.Register(now, spec, right_key, genuine, unused));
  });
  ExpectCode(CodeOf(answer), failure, fresh ? "register" : "come back");
  if (!answer.ok()) return;
  Expect(answer->resumed, expected.resumed, "register: resumed");
  Expect(answer->lost, expected.lost, "register: lost");
  tally_["resumed"] += answer->resumed.size();
  tally_["lost"] += answer->lost.size();
  Expect(engine_->KnowsKey(spec.id, answer->key), true, "register: key");
  process.key = answer->key;
  if (right_key) process.held = answer->resumed;
}

void Simulation::DoPull() {
  const Process& process = AnyProcess();
  PullOptions pull;
  pull.credit = static_cast<std::uint32_t>(Chance(10) ? 0 : Chance(10) ? Between(10, 40) : Between(1, 4));
  pull.once = Chance(3);
  if (!Chance(3)) pull.wait = (Chance(3) ? Duration(0) : Some(1ms, 1, 8000));
  const WorkerId id = process.id;
  const auto result = engine_->Pull(now_, id, pull);
  ExpectCode(CodeOf(result), InModel([=, now = now_](Model& m) { return m.Pull(now, id, pull); }), "pull");
}

void Simulation::DoReport() {
  Process& process = AnyProcess();
  std::vector<Report> reports;
  std::vector<bool> genuine;
  const std::uint64_t n = Chance(8) ? Between(0, 12) : 1;
  const bool friendly = Chance(2);
  for (std::uint64_t i = 0; i < n; ++i) {
    const TaskRef ref = AnyRef(process);
    reports.push_back({ref, friendly ? ReportKind::kDone : static_cast<ReportKind>(rng_.Below(4))});
    genuine.push_back(Genuine(ref));
  }
  const WorkerId id = process.id;
  const auto verdicts = engine_->ReportAll(now_, id, reports);
  std::vector<ReportVerdict> expected;
  const auto failure = model_.ReportAll(now_, id, reports, genuine, expected);
  operations_.push_back([=, now = now_](Model& m) {
    std::vector<ReportVerdict> unused;
    static_cast<void>(m.ReportAll(now, id, reports, genuine, unused));
  });
  ExpectCode(CodeOf(verdicts), failure, "report");
  if (!verdicts.ok() || failure) return;
  for (std::size_t i = 0; i < reports.size() && difference_.empty(); ++i) {
    const auto verdict = (*verdicts)[i];
    Expect(static_cast<int>(verdict), static_cast<int>(expected[i]), "report: verdict");
    tally_[verdict == ReportVerdict::kTaken   ? "report taken"
           : verdict == ReportVerdict::kStale ? "report stale"
                                              : "report of an ended job"]++;
    std::erase(process.held, reports[i].task);
  }
}

void Simulation::DoWorkerCommand() {
  Process& process = AnyProcess();
  const WorkerId id = process.id;
  const Now now = now_;
  const std::uint64_t dice = rng_.Below(10);
  if (dice < 3) {
    ExpectCode(CodeOf(engine_->Heartbeat(now, id)), InModel([=](Model& m) { return m.Heartbeat(now, id); }),
               "heartbeat");
  } else if (dice < 6) {
    std::vector<TaskRef> refs = process.held;
    refs.push_back(AnyRef(process));
    const std::vector<bool> genuine = Genuine(refs);
    const auto result = engine_->Extend(now, id, refs);
    std::vector<bool> own;
    const auto failure = model_.Extend(now, id, refs, genuine, own);
    operations_.push_back([=](Model& m) {
      std::vector<bool> unused;
      static_cast<void>(m.Extend(now, id, refs, genuine, unused));
    });
    ExpectCode(CodeOf(result), failure, "extend");
    if (result.ok()) Expect(*result, own, "extend: its own");
  } else if (dice < 7) {
    ExpectCode(CodeOf(engine_->Drain(now, id)), InModel([=](Model& m) { return m.Drain(now, id); }), "drain");
  } else if (dice < 9) {
    engine_->Disconnect(now, id);
    operations_.push_back([=](Model& m) { m.Disconnect(now, id); });
    model_.Disconnect(now, id);
  } else {
    engine_->Unregister(now, id);
    operations_.push_back([=](Model& m) { m.Unregister(now, id); });
    model_.Unregister(now, id);
    // Half of them are gone as processes too, the others may come back with their key.
    if (Chance(2)) processes_.erase(processes_.begin() + (&process - processes_.data()));
  }
}

void Simulation::DoUndelivered() {
  const Process& process = AnyProcess();
  std::vector<TaskRef> refs;
  for (std::uint64_t n = Between(1, 3); n > 0; --n) refs.push_back(AnyRef(process));
  const std::vector<bool> genuine = Genuine(refs);
  engine_->Undelivered(now_, refs);
  operations_.push_back([=, now = now_](Model& m) { m.Undelivered(now, refs, genuine); });
  model_.Undelivered(now_, refs, genuine);
}

// --- Time.

void Simulation::TickBoth() {
  engine_->Tick(now_);
  operations_.push_back([now = now_](Model& m) { m.Tick(now); });
  model_.Tick(now_);
  Trace("tick");
  AdoptJitter();
}

void Simulation::DoTime() {
  static constexpr Duration kSteps[] = {100us, 5ms, 200ms, 1s, 3s, 10s};
  const Duration most = kSteps[rng_.Below(std::size(kSteps))];
  const Instant end = now_.mono + Some(1us, 1, static_cast<std::uint64_t>(most.count()));
  if (Chance(40)) {
    // Somebody set the clock.
    wall_offset_ += Duration(1ms) * (static_cast<std::int64_t>(Between(0, 40'000)) - 20'000);
    ++tally_["clock step"];
  }
  if (Chance(25)) {
    // The server stands still: no tick, and maybe none before the next command either.
    Move(end + (Chance(2) ? Some(1s, 0, 60) : Duration(0)));
    ++tally_["stall"];
    if (Chance(2)) TickBoth();
    return;
  }
  int at_once = 0;
  for (;;) {
    const std::optional<Instant> wake = engine_->NextWake(now_);
    const std::optional<Instant> event = model_.NextEvent(now_);
    if (event && (!wake || *wake > std::max(*event, now_.mono) + 1ms)) {
      return Differ("the engine would wake " +
                    (wake ? std::to_string((*wake - *event).count()) + "us too late" : "never") +
                    " for what is due in " + std::to_string((*event - now_.mono).count()) + "us");
    }
    if (!wake || *wake > end) break;
    at_once = *wake <= now_.mono ? at_once + 1 : 0;
    if (at_once > 20) return Differ("the engine wants to tick for ever");
    Move(std::max(*wake, now_.mono));
    ++steps_;
    TickBoth();
    if (Chance(3)) Take();
    if (!difference_.empty()) return;
  }
  Move(end);
}

// --- What happens to effects.

void Simulation::AdoptJitter() {
  if (model_.unknown_due.empty()) return;
  const std::set<JobId> jobs = model_.unknown_due;
  for (const JobId id : jobs) {
    const Model::Job& job = model_.jobs.at(id);
    const auto view = engine_->Describe(id);
    if (Ended(job.state) || job.in_state[static_cast<int>(TaskState::kWaiting)] == 0) {
      InModel([id](Model& m) { return m.unknown_due.erase(id); });
      continue;
    }
    if (!view.ok() || !view->next_retry_at) return Differ("a task with jitter does not wait");
    const WallTime shortest = job.tasks[0].due;
    const auto wait = static_cast<double>(job.spec.backoff.max.count());
    const auto longest = shortest + milliseconds(static_cast<std::int64_t>(wait * (1 + job.spec.backoff.jitter) * 1.1));
    const WallTime due = *view->next_retry_at;
    // The shortest was rounded up as well, by less than a sixteenth.
    if (due < shortest - milliseconds(job.spec.backoff.max.count() / 16 + 1) || due > longest) {
      return Differ("a due time with jitter is out of its bounds");
    }
    InModel([id, due](Model& m) {
      m.AdoptDue(id, due);
      return 0;
    });
  }
}

void Simulation::Take() {
  if (!engine_->HasEffects()) {
    const std::vector<Fact> expected = model_.TakeFacts();
    if (!expected.empty()) Differ("the engine did nothing, the model " + ToText(expected.front()));
    return;
  }
  auto [position, effects] = engine_->Take();
  const std::vector<Fact> facts = FactsOf(effects);
  const std::vector<Fact> expected = model_.TakeFacts();
  for (std::size_t i = 0; i < std::max(facts.size(), expected.size()); ++i) {
    if (i < facts.size() && i < expected.size() && facts[i] == expected[i]) continue;
    return Differ("effect " + std::to_string(i) + ": engine " + (i < facts.size() ? ToText(facts[i]) : "none") +
                  ", model " + (i < expected.size() ? ToText(expected[i]) : "none"));
  }
  Mix(effects_hash_, effects.events);
  Batch batch;
  batch.events = std::move(effects.events);
  if (!batch.events.empty()) batch.position = position;
  batch.removals = effects.removed;
  Queue(std::move(batch));
  for (const Fact& fact : facts) {
    Trace("  " + ToText(fact));
    static constexpr const char* kNames[] = {"grant", "nothing", "cancel order", "drain order",
                                             "gone",  "ended",   "error",        "removed"};
    ++tally_[kNames[static_cast<int>(fact.kind)]];
  }
  for (const Assignment& assignment : effects.assignments) {
    for (const Grant& grant : assignment.grants) {
      Mix(effects_hash_, allot::ToText(grant.task.lease));
      if (grant.task.lease.serial != issued_.size()) return Differ("a lease serial out of its order");
      issued_.push_back(grant.task);
      pending_.back().granted.push_back(grant.task.lease.serial);
      for (Process& process : processes_) {
        if (process.id == assignment.worker) process.held.push_back(grant.task);
      }
    }
  }
}

void Simulation::Queue(Batch batch) {
  Pending next;
  next.batch = std::move(batch);
  next.operations = std::move(operations_);
  next.highest_job = highest_taken_job_;
  operations_.clear();
  pending_.push_back(std::move(next));
}

void Simulation::Commit(std::size_t batches) {
  std::vector<Batch> commit;
  Trace("commit " + std::to_string(std::min(batches, pending_.size())) + " of " + std::to_string(pending_.size()));
  while (batches-- > 0 && !pending_.empty()) {
    Pending& next = pending_.front();
    for (const Operation& operation : next.operations) operation(durable_);
    static_cast<void>(durable_.TakeFacts());
    for (const std::uint64_t serial : next.granted) {
      if (serial <= highest_durable_serial_) Differ("a lease serial was used twice");
      highest_durable_serial_ = serial;
    }
    highest_durable_job_ = std::max(highest_durable_job_, next.highest_job);
    commit.push_back(std::move(next.batch));
    pending_.pop_front();
  }
  if (Chance(20)) {
    disk_->SetFull(true);
    CHECK(commit.empty() || !store_->Commit(commit).ok());
    disk_->SetFull(false);
  }
  const auto committed = store_->Commit(commit);
  if (!committed.ok()) Differ("commit: " + committed.error().message);
}

void Simulation::DoFold() {
  Take();
  if (!difference_.empty()) return;
  for (std::uint64_t n = Chance(4) ? 50 : Between(1, 4); n > 0; --n) {
    FoldStep step = engine_->Fold(Chance(4) ? 100'000 : Between(1, 3'000));
    if (step.records.empty() && engine_->UnfoldedEvents() == 0) break;
    Batch batch;
    batch.records = std::move(step.records);
    batch.floor = step.floor;
    tally_["records"] += batch.records.size();
    Trace("fold " + std::to_string(batch.records.size()) + " up to " + std::to_string(batch.floor));
    Queue(std::move(batch));
  }
}

// --- Crashes.

void Simulation::Load(Duration grace) {
  store_.reset();
  auto store = MemoryStore::Open(disk_);
  CHECK(store.ok());
  store_ = std::move(*store);
  options_.seed = rng_.Next();
  engine_ = std::make_unique<Engine>(options_);
  Store::Loader loader;
  loader.on_record = [this](const Record& r) { return engine_->LoadRecord(r.job, r.page, r.blob); };
  loader.on_events = [this](Position p, std::string_view events) { return engine_->Replay(p, events); };
  const auto loaded = store_->Load(loader, [this](JobId set) { return engine_->UsesPayloadSet(set); });
  if (!loaded.ok()) return Differ("load: " + loaded.error().message);
  engine_->FinishLoad(now_, grace);
}

void Simulation::DoCrash() {
  ++tally_["crash"];
  if (Chance(3)) Commit(Between(0, 20));
  tally_["batches lost"] += pending_.size();
  pending_.clear();
  operations_.clear();
  model_ = durable_;
  issued_.resize(model_.next_serial);
  for (Process& process : processes_) {
    std::erase_if(process.held, [this](const TaskRef& ref) { return !Genuine(ref); });
  }
  // Another boot: the monotonic clock starts anywhere, and the wall clock may be off.
  if (Chance(2)) wall_offset_ += Duration(1ms) * (static_cast<std::int64_t>(Between(0, 20'000)) - 10'000);
  const Duration jump = Some(1s, 0, 1000);
  wall_offset_ -= jump;
  Move(now_.mono + jump + Some(1ms, 0, 15'000));
  const Duration grace = Chance(4) ? Duration(0) : Some(1s, 1, 20);
  Trace("crash, grace " + std::to_string(grace.count()) + "us");
  Load(grace);
  if (!difference_.empty()) return;
  // For the disk it is an operation like others: what follows from it is not durable yet.
  operations_.push_back([now = now_, grace](Model& m) { m.Crash(now, grace); });
  model_.Crash(now_, grace);
  if (engine_->HighestId() < highest_durable_job_) Differ("an id that was used is forgotten");
  last_id_ = std::max(engine_->HighestId(), highest_durable_job_);
  for (const Process& process : processes_) last_id_ = std::max(last_id_, process.id.value);
  highest_taken_job_ = highest_durable_job_;
  AdoptAfterCrash();
  CompareAll();
}

// What passed without a word in the journal (a schedule, a due time) may have to pass again, if the clock went back.
void Simulation::AdoptAfterCrash() {
  for (auto& [id, job] : model_.jobs) {
    const auto view = engine_->Describe(id);
    if (!view.ok()) return Differ("job " + std::to_string(id.value) + " is lost");
    if (job.state == JobState::kActive && view->state == JobState::kScheduled && job.scheduled_for > now_.wall) {
      operations_.push_back([id = id](Model& m) { m.AdoptScheduled(id); });
      model_.AdoptScheduled(id);
    }
    for (TaskIndex i = 0; i < job.tasks.size(); ++i) {
      const Model::Task& task = job.tasks[i];
      if (!task.promoted || Ended(job.state)) continue;
      const auto real = engine_->Task(id, i);
      if (!real.ok() || real->state != TaskState::kWaiting) continue;
      operations_.push_back([id = id, i](Model& m) { m.AdoptWaiting(id, i); });
      model_.AdoptWaiting(id, i);
    }
  }
}

// --- Views.

void Simulation::CompareAll() {
  if (!difference_.empty()) return;
  if (!model_.CountsAddUp()) return Differ("the model itself is broken");
  for (const auto& [id, job] : model_.jobs) {
    const auto view = engine_->Describe(id);
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
  Expect(view.ready, ended ? 0 : in(TaskState::kReady), name + "ready");
  Expect(view.waiting, ended ? 0 : in(TaskState::kWaiting), name + "waiting");
  Expect(view.skipped, ended ? in(TaskState::kReady) + in(TaskState::kWaiting) : 0, name + "skipped");
  Expect(view.leased, in(TaskState::kLeased), name + "leased");
  Expect(view.done, in(TaskState::kDone), name + "done");
  Expect(view.failed, in(TaskState::kFailed), name + "failed");
  Expect(view.ready + view.waiting + view.skipped + view.leased + view.done + view.failed, view.count, name + "sum");
  Expect(view.tags, job.spec.tags, name + "tags");
  Expect(view.priority, job.spec.priority, name + "priority");
  Expect(view.user, job.spec.user, name + "user");
  Expect(view.meta, job.spec.meta, name + "meta");
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
    if (task.state == TaskState::kWaiting && !ended) due = due ? std::min(*due, task.due) : task.due;
  }
  Expect(ms(view.next_retry_at), ms(due), name + "next_retry_at");
  Expect(!view.reason.empty(), job.failed_by_tasks, name + "reason");
}

void Simulation::CompareTasks(const Model::Job& job) {
  std::map<TaskIndex, const Model::Lease*> held;
  for (const auto& [serial, lease] : model_.leases) {
    if (lease.task.job == job.id) held[lease.task.index] = &lease;
  }
  TaskQuery query{job.id, 0, 1 + look_.Below(100), std::nullopt};
  if (look_.Below(2) == 0) query.state = static_cast<TaskState>(look_.Below(6));
  std::optional<TaskIndex> next = 0;
  TaskIndex index = 0;
  const auto shown = [&job](TaskIndex i) {
    const TaskState state = job.tasks[i].state;
    const bool open = state == TaskState::kReady || state == TaskState::kWaiting;
    return open && Ended(job.state) ? TaskState::kSkipped : state;
  };
  while (next && difference_.empty()) {
    query.from = *next;
    const auto page = engine_->Tasks(query);
    if (!page.ok()) return Differ("tasks: " + page.error().message);
    for (const TaskView& view : page->tasks) {
      const std::string name = "task " + std::to_string(view.index) + " of job " + std::to_string(job.id.value) + ": ";
      while (index < job.spec.count && query.state && shown(index) != *query.state) ++index;
      Expect(view.index, index, name + "order");
      if (index >= job.spec.count) return Differ(name + "is too many");
      Expect(static_cast<int>(view.state), static_cast<int>(shown(index)), name + "state");
      Expect(view.attempts, job.tasks[index].used, name + "attempts");
      const auto lease = held.find(index);
      Expect(view.worker.value, lease == held.end() ? 0 : lease->second->worker.value, name + "worker");
      if (lease != held.end()) Expect(view.leased_at, std::optional(lease->second->granted_at), name + "leased_at");
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
    const auto page = engine_->Workers(after, 3);
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
    Expect(view.slots, worker.spec.slots, name + "slots");
    Expect(view.credit, worker.credit, name + "credit");
    Expect(view.draining, worker.draining, name + "draining");
    Expect(view.connected, worker.spec.connected, name + "connected");
    Expect(view.away, worker.away, name + "away");
    Expect(ToMillis(view.registered_at), ToMillis(worker.registered_at), name + "registered_at");
    const auto one = engine_->DescribeWorker(id);
    if (!one.ok()) return Differ(name + "cannot be described");
    std::vector<std::uint64_t> serials, expected;
    for (const TaskRef& ref : one->tasks) serials.push_back(ref.lease.serial);
    for (const auto& [serial, lease] : model_.leases) {
      if (lease.worker == id) expected.push_back(serial);
    }
    Expect(serials, expected, name + "leases");
    Expect<std::size_t>(view.leased, expected.size(), name + "leased");
  }
  Expect(i, views.size(), "workers");
}

void Simulation::CompareStats() {
  const EngineStats stats = engine_->Stats();
  std::uint64_t states[6] = {}, ready = 0, waiting = 0, registered = 0, parked = 0, away = 0;
  std::set<std::vector<std::string>> classes, kinds;
  for (const auto& [id, job] : model_.jobs) {
    ++states[static_cast<int>(job.state)];
    classes.insert(job.spec.tags);
    if (Ended(job.state)) continue;
    ready += job.in_state[static_cast<int>(TaskState::kReady)];
    waiting += job.in_state[static_cast<int>(TaskState::kWaiting)];
  }
  for (const auto& [id, worker] : model_.workers) {
    registered += worker.registered ? 1 : 0;
    parked += worker.waiting ? 1 : 0;
    away += worker.away ? 1 : 0;
    if (worker.registered) kinds.insert(worker.spec.tags);
  }
  Expect(stats.jobs_scheduled, states[0], "stats: scheduled");
  Expect(stats.jobs_active, states[1], "stats: active");
  Expect(stats.jobs_paused, states[2], "stats: paused");
  Expect(stats.jobs_done, states[3], "stats: done");
  Expect(stats.jobs_failed, states[4], "stats: failed");
  Expect(stats.jobs_cancelled, states[5], "stats: cancelled");
  Expect(stats.tasks_ready, ready, "stats: tasks ready");
  Expect(stats.tasks_waiting, waiting, "stats: tasks waiting");
  Expect<std::uint64_t>(stats.tasks_leased, model_.leases.size(), "stats: tasks leased");
  Expect(stats.workers, registered, "stats: workers");
  Expect(stats.workers_waiting, parked, "stats: workers waiting");
  Expect(stats.workers_away, away, "stats: workers away");
  Expect<std::uint64_t>(stats.classes, classes.size(), "stats: classes");
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
    const JobPage page = engine_->List(query);
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
  const auto last = engine_->LastJob("");
  Expect(last.value_or(JobId{}).value, model_.jobs.empty() ? 0 : model_.jobs.rbegin()->first.value, "last job");
}

}  // namespace allot::simulation
