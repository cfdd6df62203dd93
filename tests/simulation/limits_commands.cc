// SPDX-License-Identifier: Apache-2.0
// What happens to a queue under limits: jobs, workers, and the limits themselves.
#include <algorithm>

#include "base/check.h"
#include "simulation/limits.h"

namespace allot::simulation {

using namespace std::chrono_literals;

namespace {

ExprPtr Parse(const std::string& text) {
  if (text.empty()) return nullptr;
  const Result<ExprPtr> parsed = ParseLimitExpr("expr", text);
  CHECK(parsed.ok());
  return *parsed;
}

}  // namespace

// --- Jobs.

Meta Limits::SomeMeta(bool distinct) {
  Meta meta;
  if (Chance(2)) meta.emplace_back("Site", Chance(2) ? "x" : "y");
  if (!Chance(4)) meta.emplace_back("customer", "c" + std::to_string(Between(1, 4)));
  if (distinct) {
    meta.emplace_back("size", static_cast<double>(Between(1, 4000)) / 1000);
  } else if (!Chance(4)) {
    static const std::vector<MetaValue> sizes = {
        std::int64_t{1}, std::int64_t{2}, std::int64_t{5}, std::int64_t{0}, std::int64_t{-2}, 0.5, 1.25, "large"};
    meta.emplace_back("size", OneOf(sizes));
  }
  return meta;
}

void Limits::Submit(bool one_of_many) {
  if (engine_->looks().Stats().jobs_active > (large_ ? 600u : 40u)) return;
  JobSpec spec;
  spec.tags = {Chance(3) ? "b" : "a"};
  spec.count = static_cast<std::uint32_t>(one_of_many || Chance(3) ? 1 : Chance(3) ? Between(10, 60) : Between(2, 5));
  spec.user = "u" + std::to_string(Between(1, 5));
  spec.meta = SomeMeta(one_of_many);
  if (Chance(2)) spec.priority = static_cast<std::int64_t>(Between(0, 2));
  spec.async = !Chance(3);
  spec.lease = milliseconds(Between(1000, 10000));
  if (Chance(4)) spec.timeout = milliseconds(Between(300, 4000));
  spec.max_attempts = static_cast<std::uint32_t>(Between(1, 4));
  spec.backoff.first = milliseconds(Chance(2) ? 0 : Between(1, 2000));
  spec.max_failed_tasks.number = static_cast<std::uint32_t>(Between(0, 20));
  spec.retention = milliseconds(Chance(3) ? Between(0, 500) : Between(500, 5000));
  if (Chance(6)) spec.delay = milliseconds(Between(1, 1500));
  const JobId id{++last_id_};
  jobs_[id] = Job{spec, LooksOf(spec)};
  Remember(id);
  CHECK(engine_->jobs().Submit(now_, id, spec).ok());
  Settle();
}

void Limits::ChangeJob() {
  const JobId id = AnyJob();
  JobChange change;
  change.meta = SomeMeta(false);
  if (Chance(3)) change.priority = Chance(3) ? std::nullopt : std::optional<std::int64_t>(Between(0, 2));
  if (!engine_->jobs().Change(now_, id, change).ok()) return;
  Job& job = jobs_.at(id);
  job.spec.meta = *change.meta;
  if (change.priority) job.spec.priority = *change.priority;
  job.looks = LooksOf(job.spec);
  ++tally_["change"];
}

// --- Workers.

Meta Limits::SomeAttributes() {
  Meta attributes;
  if (!Chance(3)) attributes.emplace_back("Site", Chance(3) ? "z" : Chance(2) ? "x" : "y");
  if (!Chance(3)) attributes.emplace_back("Speed", static_cast<std::int64_t>(Between(0, 3)));
  return attributes;
}

void Limits::PullOne() {
  const auto some = Registered();
  if (some.empty()) return;
  Worker& worker = *OneOf(some);
  worker.pull = PullOptions{static_cast<std::uint32_t>(Between(1, 20)), Chance(3), std::nullopt, {}};
  if (Chance(3)) worker.pull.wait = Duration(0);
  if (Chance(5)) worker.pull.wait = Duration(milliseconds(Between(1, 2000)));
  if (Chance(6)) worker.pull.strategy = SomeStrategy();
  // Of a large queue the order of a strategy that is new takes a while, and so does what is due now.
  const bool at_once = Idle() && !(large_ && worker.pull.strategy);
  CHECK(engine_->workers().Pull(now_, worker.id, worker.pull).ok());
  Settle();
  const auto served = static_cast<std::uint32_t>(
      std::count_if(started_.begin(), started_.end(), [&](const auto& start) { return start.first == worker.id; }));
  if (at_once && Idle() && !paused_ && !worker.draining && Plain(worker) && served < worker.pull.credit &&
      Chance(large_ ? 5 : 1)) {
    ++tally_["pull for all there is"];
    if (const auto job = CouldStart(worker, Open())) {
      Wrong("worker " + ToText(worker.id) + " asked for " + std::to_string(worker.pull.credit) + ", got " +
            std::to_string(served) + ", and job " + ToText(*job) + " could start");
    }
  }
  if (Chance(5)) Undeliver();
}

// Part of what has just started never reaches its worker; now, or a while later.
void Limits::Undeliver() {
  std::vector<TaskRef> lost;
  for (const auto& [worker, task] : started_) {
    if (!Chance(3)) lost.push_back(task);
  }
  if (lost.empty()) return;
  if (Chance(3)) Pass(Duration(Between(1, 900'000)));
  if (Chance(3)) {
    UpdateLimit();
    Settle();
  }
  // What has ended meanwhile is over.
  std::vector<TaskRef> live;
  for (const Worker* worker : Registered()) {
    const std::vector<TaskRef> running = engine_->looks().DescribeWorker(worker->id)->tasks;
    for (const TaskRef& task : running) {
      if (std::find(lost.begin(), lost.end(), task) != lost.end()) live.push_back(task);
    }
  }
  engine_->workers().Undelivered(now_, live);
  for (const TaskRef& task : live) {
    for (Limit& limit : limits_) limit.ledger.Refund(task.lease.serial, now_.mono);
    ++tally_["undelivered"];
  }
}

// It is gone before anything was sent, and comes back: nobody ever hears of what it was given.
void Limits::PullAndVanish() {
  const auto some = Registered();
  if (some.empty()) return;
  Worker& worker = *OneOf(some);
  const std::uint64_t before = engine_->looks().Stats().granted;
  CHECK(engine_->workers().Pull(now_, worker.id, PullOptions{10, false, Duration(0), {}}).ok());
  if (engine_->looks().Stats().granted > before) ++tally_["pull and vanish"];
  ComeBack(worker);
}

void Limits::Report() {
  const auto some = Registered();
  if (some.empty()) return;
  const Worker& worker = *OneOf(some);
  std::vector<allot::Report> reports;
  const bool friendly = Chance(2);
  const std::vector<TaskRef> running = engine_->looks().DescribeWorker(worker.id)->tasks;
  for (const TaskRef& task : running) {
    if (!Chance(3)) reports.push_back({task, friendly ? ReportKind::kDone : static_cast<ReportKind>(rng_.Below(4))});
  }
  CHECK(engine_->workers().ReportAll(now_, worker.id, reports).ok());
  tally_["report"] += reports.size();
}

void Limits::Register() {
  Worker& worker = workers_[rng_.Below(workers_.size())];
  if (!worker.registered || worker.away || Chance(10)) ComeBack(worker);
}

void Limits::ComeBack(Worker& worker) {
  WorkerSpec spec;
  spec.id = worker.id;
  spec.tags = worker.tags;
  spec.connected = worker.connected;
  if (Chance(4)) worker.slots = static_cast<std::uint32_t>(Between(1, 16));
  if (Chance(4)) worker.attributes = SomeAttributes();
  spec.slots = worker.slots;
  spec.attributes = worker.attributes;
  spec.strategy = worker.strategy = SomeStrategy();
  if (const auto view = engine_->looks().DescribeWorker(worker.id); view.ok()) {
    // What it was given and never got it cannot name.
    const bool all = Chance(2);
    for (const TaskRef& task : view->tasks) {
      const bool known = !engine_->HasEffects();
      if (known && (all || Chance(2))) spec.resume.push_back(task);
    }
  }
  if (!worker.registered) worker.draining = false;
  worker.looks = LooksOf(worker);
  const auto answer = engine_->workers().Register(
      now_, spec, worker.key == 0 ? std::nullopt : std::optional<std::uint64_t>(worker.key));
  CHECK(answer.ok());
  tally_["resumed"] += answer->resumed.size();
  worker.key = answer->key;
  worker.registered = true;
  worker.away = false;
  worker.pull = {};
}

void Limits::WorkerLeaves() {
  const auto some = Registered();
  if (some.empty()) return;
  Worker& worker = *OneOf(some);
  if (Chance(3)) {
    engine_->workers().Unregister(now_, worker.id);
    worker.registered = false;
    ++tally_["unregister"];
  } else if (Chance(6)) {
    CHECK(engine_->workers().Drain(now_, worker.id).ok());
    worker.draining = true;
    ++tally_["drain"];
  } else {
    engine_->workers().Disconnect(now_, worker.id);
    worker.away = true;
    ++tally_["disconnect"];
  }
}

void Limits::WorkerChanges() {
  const auto some = Registered();
  if (some.empty()) return;
  Worker& worker = *OneOf(some);
  WorkerChange change;
  if (!Chance(4)) {
    change.attributes = worker.attributes = SomeAttributes();
    worker.looks = LooksOf(worker);
  }
  if (Chance(4)) change.strategy = worker.strategy = SomeStrategy();
  if (Chance(4)) {
    worker.tags = Chance(2) ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"};
    change.tags = worker.tags;
  }
  CHECK(engine_->workers().Change(now_, worker.id, change).ok());
  ++tally_["worker changes"];
}

// --- The queue.

// What is refused changes nothing, and nobody waits longer for it.
void Limits::FailedCommand() {
  const WorkerId nobody{++last_id_};
  LimitSpec bad = SomeLimit();
  bad.window = Duration(0);
  switch (rng_.Below(5)) {
    case 0:
      CHECK(!engine_->workers().Heartbeat(now_, nobody).ok());
      break;
    case 1:
      CHECK(!engine_->workers().Pull(now_, nobody, {}).ok());
      break;
    case 2:
      CHECK(!engine_->workers().ReportAll(now_, nobody, {}).ok());
      break;
    case 3:
      CHECK(!engine_->limits().Create(now_, "bad", bad).ok());
      if (!limits_.empty()) CHECK(!engine_->limits().Update(now_, OneOf(limits_).uuid, bad).ok());
      break;
    default:
      CHECK(!engine_->limits().Delete(now_, "nothing").ok());
      CHECK(!engine_->limits().Renew(now_, "nothing", std::nullopt).ok());
      CHECK(!engine_->jobs().Cancel(now_, JobId{1}).ok());
  }
  ++tally_["failed command"];
}

void Limits::SetPolicy() {
  options_.policy = OneOf(policies_);
  engine_->queue().SetPolicy(now_, options_.policy, {});
  ++tally_["policy"];
}

// --- Limits.

void Limits::SomeRate(LimitSpec& spec) {
  static const std::vector<double> counts = {0, 0.5, 1, 2, 3, 5, 10, 40};
  static const std::vector<Duration> windows = {100ms, 500ms, 1s, 2s, 3s, 5s, 10s, 20s, 60s};
  static const std::vector<double> bursts = {0, 0, 0, 1, 2.5, 10};
  static const std::vector<double> caps = {0, 0, 0.75, 1, 3};
  spec.count = OneOf(counts);
  spec.window = OneOf(windows);
  spec.burst = OneOf(bursts);
  spec.max_burst_cost = OneOf(caps);
}

LimitSpec Limits::SomeLimit() {
  static const std::vector<std::string> exprs = {
      // of the job alone
      "true", "User == \"u1\"", "MY.User == \"u2\" || MY.User == \"u3\"", "MY.size > 1", "MY.size", "Tasks == 1",
      "MY.User != \"u1\" && MY.size <= 2", "MY.Priority >= 1", "isUndefined(MY.Site)",
      // of the worker
      "TARGET.Site == \"x\"", "TARGET.Site != \"y\"", "TARGET.Speed >= 2", "TARGET.Slots > 8",
      "isUndefined(TARGET.Site)",
      // of both
      "MY.Site == TARGET.Site", "MY.User == \"u1\" && TARGET.Site == \"x\"", "MY.size > TARGET.Speed", "Site == \"x\"",
      "MY.User == \"u4\" || TARGET.Speed == 0", "isUndefined(MY.Site) ? TARGET.Slots < 4 : false",
      // of nothing
      "false", "MY.nothing > 1", "\"text\""};
  static const std::vector<std::string> costs = {"",
                                                 "",
                                                 "",
                                                 "2",
                                                 "0",
                                                 "-3",
                                                 "0.5",
                                                 "1000",
                                                 "MY.size",
                                                 "MY.size / 4.0",
                                                 "MY.nothing",
                                                 "\"text\"",
                                                 "TARGET.Speed",
                                                 "TARGET.Slots / 8.0",
                                                 "MY.size * TARGET.Speed",
                                                 "MY.Site == TARGET.Site ? 0 : 2",
                                                 "1 / 0"};
  LimitSpec spec;
  spec.tag = "simulated";
  spec.expr = Parse(OneOf(exprs));
  spec.cost = Parse(OneOf(costs));
  SomeRate(spec);
  spec.monitor = Chance(6);
  spec.expires_in = Chance(2) ? milliseconds(Between(100, 3000)) : milliseconds(Between(3000, 15000));
  return spec;
}

void Limits::CreateLimit() {
  if (limits_.size() >= 10) return;
  const LimitSpec spec = SomeLimit();
  // Some have the name of one before.
  std::string uuid = "l" + std::to_string(Chance(3) ? last_uuid_ : ++last_uuid_);
  const bool taken =
      std::any_of(limits_.begin(), limits_.end(), [&](const Limit& limit) { return limit.uuid == uuid; });
  const auto lease = engine_->limits().Create(now_, uuid, spec);
  if (lease.ok() == taken) Wrong("limit " + uuid + (taken ? " is there twice" : " was refused"));
  if (!lease.ok()) return;
  limits_.push_back(
      Limit{uuid, spec, ++last_version_, now_.mono + *spec.expires_in, Chance(2), LimitLedger(spec, now_.mono)});
  ++tally_["limit"];
}

void Limits::UpdateLimit() {
  if (limits_.empty()) return;
  Limit& limit = limits_[rng_.Below(limits_.size())];
  const LimitSpec other = SomeLimit();
  LimitSpec spec = limit.spec;
  switch (rng_.Below(8)) {
    case 0:
      SomeRate(spec);
      break;
    case 1:
      spec.count = other.count;
      break;
    case 2:
      spec.burst = other.burst;
      break;
    case 3:
      spec.max_burst_cost = other.max_burst_cost;
      break;
    case 4:
      spec.expr = other.expr;
      break;
    case 5:
      spec.cost = other.cost;
      break;
    case 6:
      spec.monitor = !spec.monitor;
      break;
    default:
      ++tally_["same terms again"];
  }
  if (Chance(3)) spec.expires_in = other.expires_in;
  if (!engine_->limits().Update(now_, limit.uuid, spec).ok()) return Wrong("limit " + limit.uuid + " was not updated");
  limit.ledger.Update(spec, now_.mono);
  limit.version = ++last_version_;
  limit.spec = spec;
  limit.expires = now_.mono + *spec.expires_in;
  ++tally_["update"];
}

void Limits::EndLimit() {
  if (limits_.empty()) return;
  const std::size_t at = rng_.Below(limits_.size());
  if (!engine_->limits().Delete(now_, limits_[at].uuid).ok()) Wrong("limit " + limits_[at].uuid + " was not deleted");
  Close(at);
  ++tally_["delete"];
}

void Limits::RenewKept() {
  next_renewal_ += 1s;
  for (Limit& limit : limits_) {
    if (!limit.kept || Chance(40)) continue;
    std::optional<Duration> lease;
    if (Chance(8)) limit.spec.expires_in = lease = milliseconds(Between(1200, 5000));
    if (!engine_->limits().Renew(now_, limit.uuid, lease).ok())
      return Wrong("limit " + limit.uuid + " was not renewed");
    limit.expires = now_.mono + *limit.spec.expires_in;
    ++tally_["renewal"];
  }
  Settle();
}

}  // namespace allot::simulation
