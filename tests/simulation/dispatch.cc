// SPDX-License-Identifier: Apache-2.0
#include "simulation/dispatch.h"

#include <algorithm>

#include "base/check.h"
#include "dispatch/testing.h"
#include "engine/parts.h"
#include "strategy/some_strategy.h"

namespace allot {

// Looks into an engine for whoever knows what its dispatcher must be like.
class EngineCheck {
 public:
  static std::string Find(const Engine& engine) {
    return DispatcherCheck::Find(engine.p_.dispatcher, Jobs(engine), Workers(engine));
  }
  static std::string FindSettled(const Engine& engine) {
    return DispatcherCheck::FindSettled(engine.p_.dispatcher, Jobs(engine));
  }
  // Are there jobs that the dispatcher is still to be told of?
  static bool Gathering(const Engine& engine) { return engine.p_.dealing.dealing(); }

 private:
  static std::vector<const DispatchJob*> Jobs(const Engine& engine) {
    std::vector<const DispatchJob*> jobs;
    engine.p_.jobs.ForEach([&](const EngineJob& job) { jobs.push_back(&job); });
    return jobs;
  }
  static std::vector<const DispatchWorker*> Workers(const Engine& engine) {
    std::vector<const DispatchWorker*> workers;
    for (const auto& [id, worker] : engine.p_.workers) workers.push_back(worker.get());
    return workers;
  }
};

}  // namespace allot

namespace allot::simulation {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kPromisedWorkers = 16;

}  // namespace

Dispatch::Dispatch(std::uint64_t seed) : World(seed), plain_(seed % 2 == 0) {
  policies_ = {ParseKnown("worker", true), ParseKnown("worker", true)};
  while (strategies_.size() < 6 || policies_.size() < 4) {
    bool worker = false;
    const StrategyPtr strategy = ParseKnown(testing::SomeStrategy(rng_, 2, worker));
    if (strategies_.size() < 6 && !(plain_ && MayBlock(*strategy))) strategies_.push_back(strategy);
    const StrategyPtr policy = ParseKnown(testing::SomePolicy(rng_, 2), true);
    if (policies_.size() < 4 && !(plain_ && MayBlock(*policy))) policies_.push_back(policy);
  }
  options_.policy = policies_[0];
  options_.dispatch = {DispatchMode::kBalanced, static_cast<Balance>(rng_.Below(3))};
  AddWorkers(kPromisedWorkers);
  LoadEngine(3s);
  for (Worker& worker : workers_) {
    ComeBack(worker);
    Settle();
  }
}

// --- Books.

void Dispatch::End(std::uint64_t serial) {
  const auto found = books_.find(serial);
  if (found == books_.end()) return;
  running_.erase({found->second.task.job, found->second.task.index});
  books_.erase(found);
}

void Dispatch::EndWhere(const std::function<bool(const Running&)>& which) {
  std::vector<std::uint64_t> ended;
  for (const auto& [serial, lease] : books_) {
    if (which(lease)) ended.push_back(serial);
  }
  for (const std::uint64_t serial : ended) End(serial);
}

std::vector<TaskRef> Dispatch::RunningOn(WorkerId id) const {
  std::vector<TaskRef> refs;
  for (const auto& [serial, lease] : books_) {
    if (lease.worker == id) refs.push_back(lease.task);
  }
  return refs;
}

void Dispatch::Grant(const Worker& worker, const allot::Grant& grant) {
  const TaskRef& task = grant.task;
  const std::string name = "task " + std::to_string(task.index) + " of job " + ToText(task.job);
  Job& job = jobs_.at(task.job);
  if (!running_.insert({task.job, task.index}).second) Wrong(name + " runs twice");
  if (job.done.contains(task.index)) Wrong(name + " was done, and starts again");
  if (!MayRun(worker, job)) Wrong(name + " starts on a worker that may not run it");
  for (const auto& [uuid, user] : limits_) {
    if (user == job.user) Wrong(name + " starts in spite of a limit");
  }
  if (worker.draining || worker.away || !worker.registered) Wrong(name + " starts on a worker that takes nothing");
  if (!books_.emplace(task.lease.serial, Running{task, worker.id}).second) Wrong("a serial twice");
  ++tally_[options_.dispatch.mode == DispatchMode::kBalanced ? "grant of a promise" : "grant to the first"];
}

void Dispatch::Settle() {
  auto [position, effects] = engine_->Take();
  // In one command all that ends does so before anything starts.
  for (const StopRequest& stop : effects.stop_requests) {
    if (stop.reason != "expired" && stop.reason != "timeout") continue;
    End(stop.task.lease.serial);
    ++tally_[std::string(stop.reason)];
  }
  for (const WorkerId id : effects.gone) {
    EndWhere([id](const Running& lease) { return lease.worker == id; });
    Find(id)->registered = false;
    ++tally_["gone"];
  }
  for (const Removal& removal : effects.removed) {
    EndWhere([&](const Running& lease) { return lease.task.job == removal.job; });
    DropRecords(removal.job);
    ++tally_["removed"];
  }
  if (strangers_until_ && now_.mono >= *strangers_until_) {
    strangers_until_.reset();
    EndWhere([this](const Running& lease) { return !Find(lease.worker)->registered; });
  }
  started_.clear();
  decisions_.Note(effects);
  for (const GrantBatch& given : effects.grant_batches) {
    for (const allot::Grant& grant : given.grants) {
      Grant(*Find(given.worker), grant);
      started_.push_back(grant.task);
    }
  }
  if (!effects.events.empty()) journal_[position] = std::move(effects.events);
  if (const EngineStats stats = engine_->looks().Stats(); stats.tasks_running != books_.size()) {
    Wrong(std::to_string(stats.tasks_running) + " leases, " + std::to_string(books_.size()) + " in the books");
  }
  CheckPromises();
}

void Dispatch::CheckPromises() {
  if (const std::string wrong = EngineCheck::Find(*engine_); !wrong.empty()) Wrong(wrong);
  std::uint64_t promised = 0;
  const WorkerPage all = engine_->looks().Workers(std::nullopt, 1000);
  for (const WorkerView& view : all.workers) {
    promised += view.promised;
    if ((view.draining || view.away) && view.promised > 0) Wrong("a worker that takes nothing was promised something");
  }
  const EngineStats stats = engine_->looks().Stats();
  // What was promised to those that are gone is as good as open, until it is dealt anew.
  if (promised > stats.tasks_promised) Wrong("workers were promised more than there is");
  if (stats.tasks_promised > stats.tasks_queued) Wrong("more is promised than is queued");
  if (promised > 0) ++tally_["look at promises"];
  if (!Idle()) return;
  if (promised != stats.tasks_promised) Wrong("something is promised to nobody");
  if (!EngineCheck::Gathering(*engine_)) {
    if (const std::string wrong = EngineCheck::FindSettled(*engine_); !wrong.empty()) Wrong("settled, but " + wrong);
    ++tally_["look at what is settled"];
  }
}

void Dispatch::CheckBooks() {
  JobQuery query;
  query.limit = 1000;
  for (const JobView& view : engine_->looks().List(query).jobs) {
    const Job& job = jobs_.at(view.id);
    if (view.done != job.done.size()) {
      Wrong("job " + ToText(view.id) + " has " + std::to_string(view.done) + " done, " +
            std::to_string(job.done.size()) + " in the books");
    }
    if (view.promised > view.queued) Wrong("job " + ToText(view.id) + " has more promised than queued");
  }
}

// --- Who waits.

bool Dispatch::MayRun(const Worker& worker, const Job& job) const {
  return std::includes(worker.tags.begin(), worker.tags.end(), job.tags.begin(), job.tags.end()) &&
         (job.need == 0 || SpeedOf(worker) >= job.need);
}

void Dispatch::CheckWaiting() {
  if (paused_ || !Idle()) return;
  JobQuery query;
  query.limit = 1000;
  query.state = JobState::kActive;
  const std::vector<JobView> open = engine_->looks().List(query).jobs;
  std::vector<Worker*> waiting;
  for (Worker* worker : Registered()) {
    const std::uint32_t credit = engine_->looks().DescribeWorker(worker->id)->credit;
    if (worker->draining || credit == 0) continue;
    worker->pull.credit = credit;
    waiting.push_back(worker);
    const Strategy& own = worker->pull.strategy ? *worker->pull.strategy : *worker->strategy;
    if (MayBlock(own) || MayBlock(*options_.policy)) continue;
    ++tally_["waits"];
    for (const JobView& view : open) {
      const Job& job = jobs_.at(view.id);
      const bool blocked =
          std::any_of(limits_.begin(), limits_.end(), [&](const auto& limit) { return limit.second == job.user; });
      if (view.queued == 0 || blocked || !MayRun(*worker, job)) continue;
      return Wrong("worker " + ToText(worker->id) + " waits, and job " + ToText(view.id) + " could start");
    }
  }
  for (std::size_t i = 0; i < 2 && !waiting.empty(); ++i) {
    Worker& worker = *OneOf(waiting);
    worker.pull.credit = engine_->looks().DescribeWorker(worker.id)->credit;
    if (worker.pull.credit == 0) continue;
    CHECK(engine_->workers().Pull(now_, worker.id, worker.pull).ok());
    Settle();
    if (!started_.empty()) {
      const Strategy& own = worker.pull.strategy ? *worker.pull.strategy : *worker.strategy;
      return Wrong("worker " + ToText(worker.id) + " waited with " + PrintStrategy(own) + " in " +
                   PrintStrategy(*options_.policy) + ", and when it asks again job " + ToText(started_[0].job) +
                   " starts");
    }
    ++tally_["asked again"];
  }
}

// --- Time.

void Dispatch::Pass(Duration time) {
  const Instant end = now_.mono + time;
  int at_once = 0;
  while (wrong_.empty()) {
    const auto wake = engine_->NextWake(now_);
    if (!wake || *wake > end) break;
    at_once = *wake > now_.mono ? 0 : at_once + 1;
    if (at_once > 2000) return Wrong("it wants a tick again and again");
    Move(std::max(*wake, now_.mono));
    engine_->Tick(now_);
    Settle();
    if (Chance(20)) CheckWaiting();
  }
  Move(end);
  engine_->Tick(now_);
  Settle();
}

// --- Things that happen.

void Dispatch::Crash() {
  ++tally_["crash"];
  for (Worker& worker : workers_) worker.registered = worker.away = worker.draining = false;
  limits_.clear();
  const Duration grace = Chance(4) ? 0s : 3s;
  Move(now_.mono + 1s);
  strangers_until_ = now_.mono + grace;
  LoadEngine(grace);
  Settle();
  CheckBooks();
  for (Worker& worker : workers_) {
    if (Chance(4)) continue;
    ComeBack(worker);
    Settle();
  }
}

bool Dispatch::Step() {
  ++steps_;
  const std::uint64_t dice = rng_.Below(1000);
  if (dice < 110) {
    Submit();
  } else if (dice < 300) {
    PullOne();
  } else if (dice < 480) {
    Report(Chance(2));
  } else if (dice < 580) {
    Register();
  } else if (dice < 620) {
    WorkerLeaves();
  } else if (dice < 660) {
    WorkerChanges();
  } else if (dice < 710) {
    JobCommand();
  } else if (dice < 740) {
    ChangeJob();
  } else if (dice < 750) {
    PauseOrResume();
  } else if (dice < 755) {
    SetPolicy();
  } else if (dice < 775) {
    SwitchDispatch();
  } else if (dice < 800) {
    LimitCommand();
  } else if (dice < 970) {
    Pass(Duration(static_cast<std::int64_t>(Between(1, Chance(8) ? 6'000'000 : 400'000))));
  } else if (dice < 996) {
    FoldSome();
  } else {
    Crash();
  }
  Settle();
  if (wrong_.empty() && Chance(2)) CheckWaiting();
  if (wrong_.empty() && Chance(40)) CheckBooks();
  return wrong_.empty();
}

bool Dispatch::Finish() {
  ++steps_;
  if (paused_) engine_->queue().Resume(now_);
  paused_ = false;
  while (!limits_.empty()) {
    CHECK(engine_->limits().Delete(now_, limits_.begin()->first).ok());
    limits_.erase(limits_.begin());
  }
  Settle();
  Pass(30s);
  // Who comes back may run anything.
  for (Worker& worker : workers_) {
    if (worker.registered) engine_->workers().Unregister(now_, worker.id);
    EndWhere([&](const Running& lease) { return lease.worker == worker.id; });
    worker.registered = worker.away = worker.draining = false;
    Settle();
    worker.tags = {"a", "b"};
    worker.attributes = {{"Speed", std::int64_t{3}}};
    worker.connected = true;
    ComeBack(worker);
    Settle();
  }
  options_.policy = policies_[0];
  engine_->queue().SetPolicy(now_, options_.policy, {});
  const StrategyPtr plain = ParseKnown("oldest");
  for (Worker& worker : workers_) {
    WorkerChange change;
    change.strategy = worker.strategy = plain;
    CHECK(engine_->workers().Change(now_, worker.id, change).ok());
  }
  JobQuery query;
  query.limit = 1000;
  for (const JobView& view : engine_->looks().List(query).jobs)
    static_cast<void>(engine_->jobs().Resume(now_, view.id));
  Settle();
  for (int round = 0; wrong_.empty() && engine_->looks().Stats().jobs_active > 0; ++round) {
    if (round > 3000) {
      Wrong("not all is done");
      break;
    }
    for (Worker& worker : workers_) {
      CHECK(engine_->workers().Pull(now_, worker.id, PullOptions{4, false, {}, {}}).ok());
      Settle();
      std::vector<allot::Report> reports;
      for (const TaskRef& task : RunningOn(worker.id)) reports.push_back({task, ReportKind::kDone});
      const auto verdicts = engine_->workers().ReportAll(now_, worker.id, reports);
      CHECK(verdicts.ok());
      for (std::size_t i = 0; i < reports.size(); ++i) {
        if ((*verdicts)[i] == ReportVerdict::kTaken &&
            !jobs_.at(reports[i].task.job).done.insert(reports[i].task.index).second) {
          Wrong("a task was done twice");
        }
        End(reports[i].task.lease.serial);
      }
      Settle();
    }
    CheckBooks();
    Pass(200ms);
  }
  const EngineStats stats = engine_->looks().Stats();
  if (wrong_.empty() && (stats.tasks_promised != 0 || !books_.empty())) Wrong("something is left at the end");
  return wrong_.empty();
}

}  // namespace allot::simulation
