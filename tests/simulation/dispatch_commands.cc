// SPDX-License-Identifier: Apache-2.0
// What happens to a queue whose tasks are promised: jobs, workers, limits, and the mode itself.
#include <algorithm>

#include "base/check.h"
#include "simulation/dispatch.h"

namespace allot::simulation {

using namespace std::chrono_literals;

// --- Jobs.

ExprPtr Dispatch::Needs(std::int64_t need) {
  static const std::vector<ExprPtr> needs = [] {
    std::vector<ExprPtr> made = {nullptr};
    for (int i = 1; i <= 3; ++i) made.push_back(expr::Expr::Parse("TARGET.Speed >= " + std::to_string(i)).expr);
    return made;
  }();
  return needs[static_cast<std::size_t>(need)];
}

void Dispatch::Submit() {
  if (engine_->looks().Stats().jobs_active > 40) return;
  JobSpec spec;
  Job job;
  spec.tags = job.tags = {Chance(3) ? "b" : "a"};
  if (Chance(3)) job.need = static_cast<std::int64_t>(Between(1, 3));
  spec.requirements = Needs(job.need);
  spec.count = static_cast<std::uint32_t>(Chance(3) ? 1 : Chance(3) ? Between(10, 300) : Between(2, 5));
  spec.user = job.user = "u" + std::to_string(Between(1, 4));
  if (!Chance(4)) spec.meta = {{"customer", "c" + std::to_string(Between(1, 4))}};
  if (Chance(2)) spec.priority = static_cast<std::int64_t>(Between(0, 2));
  spec.async = !Chance(3);
  spec.lease = milliseconds(Between(1000, 8000));
  if (Chance(4)) spec.timeout = milliseconds(Between(300, 4000));
  spec.max_attempts = static_cast<std::uint32_t>(Between(1, 4));
  spec.backoff.first = milliseconds(Chance(2) ? 0 : Between(1, 2000));
  spec.max_failed_tasks.number = static_cast<std::uint32_t>(Between(0, 40));
  spec.retention = milliseconds(Between(500, 5000));
  if (Chance(6)) spec.delay = milliseconds(Between(1, 1500));
  const JobId id{++last_id_};
  jobs_[id] = job;
  Remember(id);
  CHECK(engine_->jobs().Submit(now_, id, spec).ok());
}

void Dispatch::ChangeJob() {
  const JobId id = AnyJob();
  JobChange change;
  if (Chance(2)) change.priority = Chance(3) ? std::nullopt : std::optional<std::int64_t>(Between(0, 2));
  if (Chance(2)) change.meta = Meta{{"customer", "c" + std::to_string(Between(1, 4))}};
  std::optional<std::vector<std::string>> tags;
  if (Chance(2)) change.tags = tags = std::vector<std::string>{Chance(2) ? "b" : "a"};
  Settle();
  // Whoever waits may get it by its new tags at once.
  const auto before = jobs_.find(id);
  if (before == jobs_.end()) return;
  const std::vector<std::string> old = before->second.tags;
  if (tags) before->second.tags = *tags;
  if (engine_->jobs().Change(now_, id, change).ok()) {
    ++tally_["job changes"];
  } else {
    before->second.tags = old;
  }
}

// --- Workers.

Meta Dispatch::SomeAttributes() {
  if (Chance(4)) return {};
  return {{"Speed", static_cast<std::int64_t>(Between(0, 3))}};
}

std::int64_t Dispatch::SpeedOf(const Worker& worker) {
  return worker.attributes.empty() ? -1 : std::get<std::int64_t>(worker.attributes[0].second);
}

void Dispatch::PullOne() {
  const auto some = Registered();
  if (some.empty()) return;
  Worker& worker = *OneOf(some);
  worker.pull = PullOptions{static_cast<std::uint32_t>(Between(1, 12)), Chance(3), std::nullopt, {}};
  if (Chance(3)) worker.pull.wait = Duration(0);
  if (Chance(5)) worker.pull.wait = Duration(milliseconds(Between(1, 2000)));
  if (Chance(8)) worker.pull.strategy = SomeStrategy();
  CHECK(engine_->workers().Pull(now_, worker.id, worker.pull).ok());
  Settle();
  if (Chance(8)) Undeliver();
}

// Part of what has just started never reaches its worker.
void Dispatch::Undeliver() {
  std::vector<TaskRef> lost;
  for (const TaskRef& task : started_) {
    if (!Chance(3)) lost.push_back(task);
  }
  if (lost.empty()) return;
  engine_->workers().Undelivered(now_, lost);
  for (const TaskRef& task : lost) End(task.lease.serial);
  tally_["undelivered"] += lost.size();
}

void Dispatch::Report(bool friendly) {
  const auto some = Registered();
  if (some.empty()) return;
  const Worker& worker = *OneOf(some);
  std::vector<allot::Report> reports;
  for (const TaskRef& task : RunningOn(worker.id)) {
    if (!Chance(3)) reports.push_back({task, friendly ? ReportKind::kDone : static_cast<ReportKind>(rng_.Below(4))});
  }
  const auto verdicts = engine_->workers().ReportAll(now_, worker.id, reports);
  CHECK(verdicts.ok());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const TaskRef& task = reports[i].task;
    if ((*verdicts)[i] == ReportVerdict::kStale) Wrong("a lease in the books was stale");
    if ((*verdicts)[i] == ReportVerdict::kTaken && reports[i].kind == ReportKind::kDone &&
        !jobs_.at(task.job).done.insert(task.index).second) {
      Wrong("a task was done twice");
    }
    End(task.lease.serial);
    ++tally_["report"];
  }
}

void Dispatch::Register() {
  Worker& worker = workers_[rng_.Below(workers_.size())];
  if (!worker.registered || worker.away || Chance(10)) ComeBack(worker);
}

void Dispatch::ComeBack(Worker& worker) {
  WorkerSpec spec;
  spec.id = worker.id;
  spec.tags = worker.tags;
  spec.connected = worker.connected;
  if (Chance(4)) worker.attributes = SomeAttributes();
  spec.slots = worker.slots;
  spec.attributes = worker.attributes;
  spec.strategy = worker.strategy = SomeStrategy();
  const bool all = Chance(2);
  for (const TaskRef& task : RunningOn(worker.id)) {
    if (all || Chance(2)) spec.resume.push_back(task);
  }
  if (!worker.registered) worker.draining = false;
  const auto answer = engine_->workers().Register(
      now_, spec, worker.key == 0 ? std::nullopt : std::optional<std::uint64_t>(worker.key));
  CHECK(answer.ok());
  if (answer->resumed.size() != spec.resume.size()) Wrong("a lease in the books was not its worker's");
  tally_["resumed"] += answer->resumed.size();
  EndWhere([&](const Running& lease) {
    return lease.worker == worker.id &&
           std::find(spec.resume.begin(), spec.resume.end(), lease.task) == spec.resume.end();
  });
  worker.key = answer->key;
  worker.registered = true;
  worker.away = false;
  worker.pull = {};
}

void Dispatch::WorkerLeaves() {
  const auto some = Registered();
  if (some.empty()) return;
  Worker& worker = *OneOf(some);
  if (Chance(3)) {
    engine_->workers().Unregister(now_, worker.id);
    EndWhere([&](const Running& lease) { return lease.worker == worker.id; });
    worker.registered = false;
    ++tally_["unregister"];
  } else if (Chance(4)) {
    CHECK(engine_->workers().Drain(now_, worker.id).ok());
    worker.draining = true;
    ++tally_["drain"];
  } else {
    engine_->workers().Disconnect(now_, worker.id);
    worker.away = true;
    ++tally_["disconnect"];
  }
}

void Dispatch::WorkerChanges() {
  const auto some = Registered();
  if (some.empty()) return;
  Worker& worker = *OneOf(some);
  WorkerChange change;
  if (Chance(2)) change.attributes = worker.attributes = SomeAttributes();
  if (Chance(3)) change.strategy = worker.strategy = SomeStrategy();
  if (Chance(2)) {
    worker.tags = Chance(2) ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"};
    change.tags = worker.tags;
  }
  CHECK(engine_->workers().Change(now_, worker.id, change).ok());
  ++tally_["worker changes"];
}

// --- The queue.

void Dispatch::SetPolicy() {
  options_.policy = OneOf(policies_);
  engine_->queue().SetPolicy(now_, options_.policy, {});
  ++tally_["policy"];
}

void Dispatch::SwitchDispatch() {
  const DispatchOptions before = options_.dispatch;
  options_.dispatch.mode = Chance(3) ? DispatchMode::kFanout : DispatchMode::kBalanced;
  options_.dispatch.balance = static_cast<Balance>(rng_.Below(3));
  engine_->queue().SetDispatch(now_, options_.dispatch);
  if (before.mode != options_.dispatch.mode) {
    ++tally_[before.mode == DispatchMode::kFanout ? "fanout to balanced" : "balanced to fanout"];
  } else if (before.balance != options_.dispatch.balance) {
    ++tally_["another balance"];
  }
}

// A limit that blocks all starts of one user comes or goes.
void Dispatch::LimitCommand() {
  const std::string user = "u" + std::to_string(Between(1, 4));
  const std::string uuid = "hold-" + user;
  if (limits_.contains(uuid)) {
    CHECK(engine_->limits().Delete(now_, uuid).ok());
    limits_.erase(uuid);
    return;
  }
  if (limits_.size() >= 2) return;
  LimitSpec spec;
  spec.tag = "simulated";
  spec.expr = *ParseLimitExpr("expr", "User == \"" + user + "\"");
  spec.count = 0;
  spec.window = 60s;
  spec.expires_in = 86'400s;
  Settle();
  CHECK(engine_->limits().Create(now_, uuid, spec).ok());
  limits_[uuid] = user;
  ++tally_["limit"];
}

}  // namespace allot::simulation
