// SPDX-License-Identifier: Apache-2.0
// What the simulation does: random jobs, random workers, random words of theirs.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "simulation/simulation.h"

namespace allot::simulation {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMaxProcesses = 7;
constexpr std::size_t kMostJobs = 40;

template <typename T>
std::optional<Code> CodeOf(const Result<T>& result) {
  return result.ok() ? std::nullopt : std::optional<Code>(result.error().code);
}

}  // namespace

std::vector<std::string> Simulation::Tags(bool of_worker) {
  static const char* const kTags[] = {"a", "b", "c", "d"};
  std::vector<std::string> tags;
  for (const char* tag : kTags) {
    if (of_worker ? !Chance(3) : Chance(4)) tags.emplace_back(tag);
  }
  return tags;
}

Properties Simulation::SomeProperties() {
  Properties properties;
  for (const char* key : {"gpu", "region"}) {
    if (Chance(2)) properties.emplace_back(key, Chance(3) ? "other" : "usual");
  }
  return properties;
}

std::vector<Properties> Simulation::Constraints() {
  std::vector<Properties> alternatives;
  for (int i = 0; i < 2; ++i) {
    Properties alternative = SomeProperties();
    if (!alternative.empty() && Chance(2)) alternatives.push_back(std::move(alternative));
  }
  return alternatives;
}

Meta Simulation::SomeMeta() {
  Meta meta;
  if (Chance(2)) meta.emplace_back("need", static_cast<std::int64_t>(Between(1, 3)));
  if (Chance(3)) meta.emplace_back("size", Chance(2) ? 1.5 : 2.5);
  return meta;
}

Meta Simulation::Attributes() {
  Meta attributes;
  if (!Chance(3)) attributes.emplace_back("memory", static_cast<std::int64_t>(Between(1, 3)));
  return attributes;
}

// One of those, or none. None reads the time: the model has no second that verdicts are renewed in.
ExprPtr Simulation::Expression(std::initializer_list<const char*> texts) {
  const char* text = texts.begin()[rng_.Below(texts.size())];
  ExprPtr& parsed = parsed_[text];
  if (!parsed) parsed = expr::Expr::Parse(text).expr;
  CHECK(parsed != nullptr);
  return parsed;
}

ExprPtr Simulation::JobRequirements() {
  if (!Chance(3)) return nullptr;
  return Expression({"TARGET.memory >= MY.need", "memory >= 2", "TARGET.gpu == \"usual\" || need > 1",
                     "MACHINE.Slots > JOB.Tasks / 20", "TARGET.memory =?= undefined",
                     "TARGET.memory / (need - 2) > 0"});
}

// Without chance, and without `fair`: a fair group remembers when it was served longer than any job is kept. Both are
// compared with the same naive look in the tests of strategy/.
StrategyPtr Simulation::SomeStrategy(bool policy) {
  static const char* const kOwn[] = {"oldest",
                                     "newest",
                                     "least_recent",
                                     "select_only(user = ann, priority)",
                                     "or_else(select_only(need = 2, oldest), least_recent)",
                                     "prefer_distinct(need, 2, newest)",
                                     "max_simultaneous(user, 3, priority)",
                                     "prefer_distinct(user, 1, max_simultaneous(need, 4, oldest))"};
  static const char* const kPolicies[] = {"max_simultaneous(user, 2, worker)", "max_simultaneous(need, 30%, worker)",
                                          "or_else(select_only(user = bob, worker), oldest)",
                                          "prefer_distinct(tag, 3, max_simultaneous(job, 2, worker))"};
  // None selects a user: a value that is selected is remembered for as long as its key is.
  static const char* const kOwnFair[] = {"fair",
                                         "fair(user, oldest)",
                                         "least_recent",
                                         "prefer_distinct(user, 2, fair(user, newest))",
                                         "max_simultaneous(user, 3, fair(user, priority))",
                                         "or_else(select_only(need = 2, fair(user, oldest)), fair(user, newest))",
                                         "fair(user, max_simultaneous(need, 2, oldest))"};
  static const char* const kPoliciesFair[] = {"fair(user, worker)", "max_simultaneous(user, 4, worker)",
                                              "fair(user, max_simultaneous(need, 3, worker))",
                                              "max_simultaneous(user, 25%, fair(user, worker))",
                                              "fair(user, or_else(select_only(async = false, least_recent), worker))"};
  const auto any = [this](const auto& texts) { return texts[rng_.Below(std::size(texts))]; };
  const char* text = fair_ ? (policy ? any(kPoliciesFair) : any(kOwnFair)) : (policy ? any(kPolicies) : any(kOwn));
  const ParsedStrategy parsed = ParseStrategy(text, policy);
  CHECK(parsed.strategy != nullptr);
  return parsed.strategy;
}

ExprPtr Simulation::JobRank() {
  // Whom a job ranks highest is asked of what opened; where gates block jobs, the model does not know what that is.
  if (strategies_ || !Chance(5)) return nullptr;
  return Expression({"TARGET.memory", "-TARGET.Slots", "MY.size * TARGET.memory", "TARGET.gpu == \"other\" ? 5 : 1"});
}

ExprPtr Simulation::WorkerRequirements() {
  if (!Chance(5)) return nullptr;
  return Expression({"TARGET.User == \"ann\"", "TARGET.need <= MY.memory", "TARGET.Priority >= 0", "Tasks < 50"});
}

ExprPtr Simulation::WorkerRank() {
  if (!Chance(5)) return nullptr;
  return Expression(
      {"TARGET.size", "TARGET.need", "TARGET.Tasks > 10", "TARGET.User =?= \"bob\" ? 2 : TARGET.Priority"});
}

JobSpec Simulation::Spec() {
  JobSpec spec;
  spec.tags = Tags(false);
  if (Chance(4)) spec.constraints = Constraints();
  spec.requirements = JobRequirements();
  spec.rank = JobRank();
  spec.meta = SomeMeta();
  if (!Chance(3)) spec.priority = static_cast<std::int64_t>(Between(0, 4)) - 2;
  if (Chance(3)) spec.user = Chance(2) ? "ann" : "bob";
  if (fair_ && Chance(2)) spec.user = Chance(2) ? "cy" : "dee";
  spec.async = !Chance(4);
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
  const auto of = [this](const Process& p) { return p.running[rng_.Below(p.running.size())]; };
  TaskRef ref;
  if (!process.running.empty() && !Chance(4)) {
    ref = of(process);
  } else if (const Process& other = AnyProcess(); !other.running.empty() && Chance(3)) {
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

// Every other one in parts.
Result<std::vector<SubmitAnswer>> Simulation::SubmitBatch(const std::vector<JobId>& ids,
                                                          const std::vector<JobSpec>& specs) {
  JobBatch batch{specs};
  for (bool ready = last_id_ % 2 == 0; !ready;) {
    const Result<bool> more = engine_->jobs().Stage(now_, batch);
    if (!more.ok()) return more.error();
    ready = *more;
  }
  return engine_->jobs().SubmitAll(now_, ids, batch);
}

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
    const Result<SubmitAnswer> one = engine_->jobs().Submit(now_, ids[0], specs[0]);
    if (!one.ok()) return one.error();
    return std::vector<SubmitAnswer>{*one};
  }()
      : SubmitBatch(ids, specs);
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
  if (Chance(4)) change.meta = Chance(2) ? SomeMeta() : Meta{{"customer", true}};
  if (Chance(4)) change.constraints = Constraints();
  if (Chance(4)) change.requirements = JobRequirements();
  if (Chance(4)) change.rank = JobRank();
  const JobId job = AnyJob();
  const auto result = engine_->jobs().Change(now_, job, change);
  Trace("job " + allot::ToText(job));
  ExpectCode(CodeOf(result), InModel([=, now = now_](Model& m) { return m.Change(now, job, change); }), "change");
}

void Simulation::DoJobCommand() {
  JobId job = AnyJob();
  const Now now = now_;
  Trace("job " + allot::ToText(job));
  switch (rng_.Below(4)) {
    case 0:
      ExpectCode(CodeOf(engine_->jobs().Cancel(now, job)), InModel([=](Model& m) { return m.Cancel(now, job); }),
                 "cancel");
      break;
    case 1:
      ExpectCode(CodeOf(engine_->jobs().Pause(now, job)), InModel([=](Model& m) { return m.Pause(now, job); }),
                 "pause");
      break;
    case 2:
      ExpectCode(CodeOf(engine_->jobs().Resume(now, job)), InModel([=](Model& m) { return m.Resume(now, job); }),
                 "resume");
      break;
    default: {
      if (!Chance(4)) job = AnyEndedJob();
      const auto retried = engine_->jobs().Retry(now, job);
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
  if (strategies_ && Chance(2)) {
    if (!fair_) {
      options_.policy = Chance(2) ? nullptr : SomeStrategy(true);
    } else if (Chance(2)) {  // otherwise weights alone
      options_.policy = SomeStrategy(true);
    }
    options_.weights.clear();
    if (fair_ && Chance(2)) options_.weights["user.ann"] = static_cast<std::uint32_t>(Between(1, 4));
    if (fair_ && Chance(3)) options_.weights["user.bob"] = static_cast<std::uint32_t>(Between(1, 4));
    engine_->queue().SetPolicy(now_, options_.policy, options_.weights);
    operations_.push_back([now = now_, policy = options_.policy, weights = options_.weights](Model& m) {
      m.SetPolicy(now, policy, weights);
    });
    model_.SetPolicy(now_, options_.policy, options_.weights);
    ++tally_["policy"];
    return;
  }
  const bool pause = Chance(2) && !model_.paused;
  if (pause) {
    engine_->queue().Pause(now_);
  } else {
    engine_->queue().Resume(now_);
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
  spec.properties = SomeProperties();
  spec.attributes = Attributes();
  spec.requirements = WorkerRequirements();
  spec.rank = WorkerRank();
  if (strategies_ && !Chance(3)) spec.strategy = SomeStrategy(false);
  spec.slots = static_cast<std::uint32_t>(Between(1, 8));
  spec.connected = process.connected;
  const bool right_key = fresh || !Chance(10);
  std::optional<std::uint64_t> key;
  if (!fresh) key = right_key ? process.key : process.key + 1;
  if (!fresh && process.key == 0) return;
  const std::uint64_t part = rng_.Below(3);
  for (const TaskRef& ref : process.running) {
    if (part == 0 || (part == 1 && Chance(2))) spec.resume.push_back(ref);
  }
  if (Chance(3)) spec.resume.push_back(AnyRef(process));
  const std::vector<bool> genuine = Genuine(spec.resume);
  const auto answer = engine_->workers().Register(now_, spec, key);
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
  Expect(engine_->looks().KnowsKey(spec.id, answer->key), true, "register: key");
  process.key = answer->key;
  if (right_key) process.running = answer->resumed;
}

void Simulation::DoPull() {
  const Process& process = AnyProcess();
  PullOptions pull;
  pull.credit = static_cast<std::uint32_t>(Chance(10) ? 0 : Chance(10) ? Between(10, 40) : Between(1, 4));
  pull.once = Chance(3);
  if (!Chance(3)) pull.wait = (Chance(3) ? Duration(0) : Some(1ms, 1, 8000));
  if (strategies_ && Chance(6)) pull.strategy = SomeStrategy(false);
  const WorkerId id = process.id;
  const auto result = engine_->workers().Pull(now_, id, pull);
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
  const auto verdicts = engine_->workers().ReportAll(now_, id, reports);
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
    std::erase(process.running, reports[i].task);
  }
}

void Simulation::DoWorkerCommand() {
  Process& process = AnyProcess();
  const WorkerId id = process.id;
  const Now now = now_;
  const std::uint64_t dice = rng_.Below(14);
  if (dice >= 10) {
    WorkerChange change;
    if (Chance(3)) change.tags = Tags(true);
    if (Chance(2)) change.properties = SomeProperties();
    if (Chance(2)) change.attributes = Attributes();
    if (Chance(3)) change.requirements = WorkerRequirements();
    if (Chance(3)) change.rank = WorkerRank();
    if (strategies_ && Chance(3)) change.strategy = Chance(3) ? nullptr : SomeStrategy(false);
    ExpectCode(CodeOf(engine_->workers().Change(now, id, change)),
               InModel([=](Model& m) { return m.ChangeWorker(now, id, change); }), "change worker");
  } else if (dice < 3) {
    ExpectCode(CodeOf(engine_->workers().Heartbeat(now, id)), InModel([=](Model& m) { return m.Heartbeat(now, id); }),
               "heartbeat");
  } else if (dice < 6) {
    std::vector<TaskRef> refs = process.running;
    refs.push_back(AnyRef(process));
    const std::vector<bool> genuine = Genuine(refs);
    const auto result = engine_->workers().Extend(now, id, refs);
    std::vector<bool> own;
    const auto failure = model_.Extend(now, id, refs, genuine, own);
    operations_.push_back([=](Model& m) {
      std::vector<bool> unused;
      static_cast<void>(m.Extend(now, id, refs, genuine, unused));
    });
    ExpectCode(CodeOf(result), failure, "extend");
    if (result.ok()) Expect(*result, own, "extend: its own");
  } else if (dice < 7) {
    ExpectCode(CodeOf(engine_->workers().Drain(now, id)), InModel([=](Model& m) { return m.Drain(now, id); }), "drain");
  } else if (dice < 9) {
    engine_->workers().Disconnect(now, id);
    operations_.push_back([=](Model& m) { m.Disconnect(now, id); });
    model_.Disconnect(now, id);
  } else {
    engine_->workers().Unregister(now, id);
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
  engine_->workers().Undelivered(now_, refs);
  operations_.push_back([=, now = now_](Model& m) { m.Undelivered(now, refs, genuine); });
  model_.Undelivered(now_, refs, genuine);
}

}  // namespace allot::simulation
