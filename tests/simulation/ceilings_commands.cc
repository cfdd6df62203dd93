// SPDX-License-Identifier: Apache-2.0
// What happens to the crowd, and by it.
#include <algorithm>

#include "base/check.h"
#include "simulation/ceilings.h"

namespace allot::simulation {

using namespace std::chrono_literals;

void Ceilings::Submit() {
  if (engine_->looks().Stats().jobs_active > 40) return;
  JobSpec spec;
  Values values;
  spec.tags = {Chance(3) ? "b" : "a"};
  spec.count = static_cast<std::uint32_t>(Chance(3) ? Between(10, 60) : Between(1, 5));
  if (!Chance(5)) {
    values.customer = "c" + std::to_string(rng_.Below(6));
    spec.meta = {{"customer", *values.customer}};
  }
  if (!Chance(5)) spec.user = *(values.user = "u" + std::to_string(rng_.Below(5)));
  spec.async = values.async = !Chance(3);
  spec.lease = milliseconds(Between(500, 6000));
  if (Chance(4)) spec.timeout = milliseconds(Between(300, 4000));
  spec.max_attempts = static_cast<std::uint32_t>(Between(1, 4));
  spec.backoff.first = milliseconds(Chance(2) ? 0 : Between(1, 2000));
  spec.max_failed_tasks.number = static_cast<std::uint32_t>(Between(0, 20));
  spec.retention = milliseconds(Chance(3) ? Between(0, 500) : Between(500, 5000));
  if (Chance(6)) spec.delay = milliseconds(Between(1, 1500));
  const JobId id{++last_id_};
  values_[id] = values;
  Remember(id);
  CHECK(engine_->jobs().Submit(now_, id, spec).ok());
}

std::vector<TaskRef> Ceilings::RunningOn(WorkerId id) const {
  std::vector<TaskRef> refs;
  for (const auto& [serial, lease] : books_) {
    if (lease.worker == id) refs.push_back(lease.task);
  }
  return refs;
}

// Everybody at once, before anyone has heard of anything.
void Ceilings::Burst() {
  for (Worker* worker : Registered()) {
    worker->pull = PullOptions{static_cast<std::uint32_t>(Between(1, 16)), Chance(3), std::nullopt, {}};
    if (Chance(2)) worker->pull.wait = Duration(milliseconds(Chance(2) ? 0 : Between(1, 2000)));
    CHECK(engine_->workers().Pull(now_, worker->id, worker->pull).ok());
    ++tally_["pull at once"];
  }
  ++tally_["burst"];
}

void Ceilings::PullOne() {
  const auto some = Registered();
  if (some.empty()) return;
  Worker& worker = *some[rng_.Below(some.size())];
  worker.pull = PullOptions{static_cast<std::uint32_t>(Between(0, 16)), Chance(3), std::nullopt, {}};
  if (Chance(2)) worker.pull.wait = Duration(milliseconds(Between(0, 2000)));
  if (Chance(5)) worker.pull.strategy = SomeStrategy();
  CHECK(engine_->workers().Pull(now_, worker.id, worker.pull).ok());
  if (!Chance(8)) return;
  // What it got never reaches it.
  Settle();
  const auto running = RunningOn(worker.id);
  if (running.empty()) return;
  const std::vector<TaskRef> some_refs(running.begin() + static_cast<std::ptrdiff_t>(rng_.Below(running.size())),
                                       running.end());
  engine_->workers().Undelivered(now_, some_refs);
  for (const TaskRef& task : some_refs) End(task.lease.serial);
  ++tally_["undelivered"];
}

void Ceilings::Report() {
  const auto some = Registered();
  if (some.empty()) return;
  const Worker& worker = *some[rng_.Below(some.size())];
  std::vector<allot::Report> reports;
  const bool friendly = Chance(2);
  for (const TaskRef& task : RunningOn(worker.id)) {
    if (!Chance(3)) reports.push_back({task, friendly ? ReportKind::kDone : static_cast<ReportKind>(rng_.Below(4))});
  }
  const auto verdicts = engine_->workers().ReportAll(now_, worker.id, reports);
  CHECK(verdicts.ok());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if ((*verdicts)[i] == ReportVerdict::kStale) Wrong("a lease in the books was stale");
    End(reports[i].task.lease.serial);
    ++tally_["report"];
  }
}

void Ceilings::Register() {
  Worker& worker = workers_[rng_.Below(workers_.size())];
  if (!worker.registered || worker.away || Chance(10)) ComeBack(worker);
}

void Ceilings::ComeBack(Worker& worker) {
  WorkerSpec spec;
  spec.id = worker.id;
  spec.tags = worker.tags;
  spec.connected = worker.connected;
  spec.slots = Chance(4) ? static_cast<std::uint32_t>(Between(1, 16)) : worker.slots;
  spec.strategy = worker.strategy = SomeStrategy();
  const bool all = Chance(2);
  for (const TaskRef& task : RunningOn(worker.id)) {
    if (all || Chance(2)) spec.resume.push_back(task);
  }
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
  worker.slots = spec.slots;
  worker.pull = {};
}

void Ceilings::WorkerLeaves() {
  const auto some = Registered();
  if (some.empty()) return;
  Worker& worker = *some[rng_.Below(some.size())];
  if (Chance(3)) {
    engine_->workers().Unregister(now_, worker.id);
    EndWhere([&](const Running& lease) { return lease.worker == worker.id; });
    worker.registered = false;
    ++tally_["unregister"];
  } else {
    engine_->workers().Disconnect(now_, worker.id);
    worker.away = true;
    ++tally_["disconnect"];
  }
}

void Ceilings::WorkerChanges() {
  const auto some = Registered();
  if (some.empty()) return;
  Worker& worker = *some[rng_.Below(some.size())];
  WorkerChange change;
  worker.strategy = SomeStrategy();
  change.strategy = worker.strategy;
  CHECK(engine_->workers().Change(now_, worker.id, change).ok());
}

void Ceilings::ChangeValues() {
  const JobId job = AnyJob();
  JobChange change;
  std::optional<std::string> customer;
  if (!Chance(4)) customer = "c" + std::to_string(rng_.Below(6));
  change.meta = customer ? Meta{{"customer", *customer}} : Meta{};
  // The books are kept by the job's present value: they change hands before anything starts.
  if (!engine_->looks().Describe(job).ok() || Ended(engine_->looks().Describe(job)->state)) return;
  Settle();
  for (const int by : {-1, 1}) {
    for (const auto& [serial, lease] : books_) {
      if (lease.task.job == job) Count(lease, by);
    }
    values_.at(job).customer = customer;
  }
  CHECK(engine_->jobs().Change(now_, job, change).ok());
  Settle();
  Flush(pending_.size());
  ++tally_["change"];
}

}  // namespace allot::simulation
