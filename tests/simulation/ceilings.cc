// SPDX-License-Identifier: Apache-2.0
#include "simulation/ceilings.h"

#include <algorithm>

#include "base/check.h"

namespace allot::simulation {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kCeilingWorkers = 64;

const std::vector<StrategyPtr>& Policies() {
  static const std::vector<StrategyPtr> policies = {
      ParseKnown("worker", true),
      ParseKnown("max_simultaneous(customer, 4, worker)", true),
      ParseKnown("max_simultaneous(customer, 6, max_simultaneous(user, 3, worker))", true),
      ParseKnown("fair(user, max_simultaneous(customer, 2%, worker))", true),
      ParseKnown("max_simultaneous(job, 5, fair(customer, worker))", true),
      ParseKnown("max_simultaneous(user, 3%, prefer_distinct(customer, 2, max_simultaneous(customer, 9, worker)))",
                 true)};
  return policies;
}

}  // namespace

Ceilings::Ceilings(std::uint64_t seed) : World(seed) {
  options_.policy = Policies()[1 + rng_.Below(Policies().size() - 1)];
  AddWorkers(kCeilingWorkers);
  Load(3s);
  for (Worker& worker : workers_) ComeBack(worker);
}

StrategyPtr Ceilings::SomeStrategy() {
  static const std::vector<StrategyPtr> strategies = {
      ParseKnown("priority"),
      ParseKnown("max_simultaneous(customer, 3, oldest)"),
      ParseKnown("max_simultaneous(user, 2, fair)"),
      ParseKnown("max_simultaneous(customer, 5, max_simultaneous(user, 3, random))"),
      ParseKnown("max_simultaneous(customer, 2%, priority)"),
      ParseKnown("fair(customer, max_simultaneous(user, 4, newest))"),
      ParseKnown("prefer_distinct(user, 2, max_simultaneous(customer, 4, least_recent))"),
      ParseKnown("or_else(select_only(customer = c1, max_simultaneous(user, 2, oldest)), max_simultaneous(customer, 2, "
                 "newest))")};
  return strategies[rng_.Below(strategies.size())];
}

// --- Books.

void Ceilings::Count(const Running& lease, int by) {
  const auto add = [&](const std::string& name) {
    std::uint64_t& count = running_[name];
    count += static_cast<std::uint64_t>(by);
    if (count == 0) running_.erase(name);
  };
  const Values& values = values_.at(lease.task.job);
  if (values.customer) add("customer." + *values.customer);
  if (values.user) add("user." + *values.user);
  add("job." + std::to_string(lease.task.job.value));
}

std::uint64_t Ceilings::RunningOf(const StrategyKey& key, JobId job) const {
  const Values& values = values_.at(job);
  std::string name = key.name + ".";
  if (key.kind == StrategyKey::Kind::kJob) {
    name += std::to_string(job.value);
  } else {
    const auto& value = key.kind == StrategyKey::Kind::kUser ? values.user : values.customer;
    if (!value) return 0;
    name += *value;
  }
  const auto found = running_.find(name);
  return found == running_.end() ? 0 : found->second;
}

bool Ceilings::MayStart(const Strategy& strategy, const Strategy& worker, JobId job) const {
  const auto inner = [&](const StrategyPtr& below) { return MayStart(*below, worker, job); };
  switch (strategy.kind) {
    case Strategy::Kind::kWorker:
      return MayStart(worker, worker, job);
    case Strategy::Kind::kOrElse:
      return std::any_of(strategy.inner.begin(), strategy.inner.end(), inner);
    case Strategy::Kind::kSelectOnly:
      return (strategy.key.kind == StrategyKey::Kind::kAsync
                  ? values_.at(job).async == std::get<bool>(strategy.value)
                  : values_.at(job).customer == std::get<std::string>(strategy.value)) &&
             inner(strategy.inner[0]);
    case Strategy::Kind::kMaxSimultaneous: {
      std::uint64_t max = strategy.max;
      if (strategy.percent) {
        std::uint64_t slots = 0;
        for (const Worker& one : workers_) slots += one.registered ? one.slots : 0;
        max = std::max<std::uint64_t>(1, slots * max / 100);
      }
      return RunningOf(strategy.key, job) < max && inner(strategy.inner[0]);
    }
    case Strategy::Kind::kPreferDistinct:
    case Strategy::Kind::kFair:
      return inner(strategy.inner[0]);
    default:
      return true;
  }
}

void Ceilings::End(std::uint64_t serial) {
  const auto found = books_.find(serial);
  if (found == books_.end()) return;
  Count(found->second, -1);
  books_.erase(found);
  next_.ended.push_back(serial);
}

void Ceilings::EndWhere(const std::function<bool(const Running&)>& which) {
  std::vector<std::uint64_t> ended;
  for (const auto& [serial, lease] : books_) {
    if (which(lease)) ended.push_back(serial);
  }
  for (const std::uint64_t serial : ended) End(serial);
}

void Ceilings::Grant(const Worker& worker, const allot::Grant& grant) {
  const Strategy& own = worker.pull.strategy ? *worker.pull.strategy : *worker.strategy;
  const JobId job = grant.task.job;
  const bool may = MayStart(*options_.policy, own, job) || (old_policy_ && MayStart(*old_policy_, own, job));
  if (!may) {
    Wrong("a task of job " + ToText(job) + " started beyond a maximum of " + PrintStrategy(*options_.policy) +
          " with " + PrintStrategy(own));
  }
  const Running lease{grant.task, worker.id};
  if (!books_.emplace(grant.task.lease.serial, lease).second) Wrong("a serial twice");
  Count(lease, 1);
  next_.granted.push_back(lease);
  ++tally_["grant"];
}

void Ceilings::Settle() {
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
    next_.removed.push_back(removal.job);
    ++tally_["removed"];
  }
  if (strangers_until_ && now_.mono >= *strangers_until_) {
    strangers_until_.reset();
    EndWhere([this](const Running& lease) { return !Find(lease.worker)->registered; });
  }
  decisions_.Note(effects);
  for (const GrantBatch& given : effects.grant_batches) {
    for (const allot::Grant& grant : given.grants) Grant(*Find(given.worker), grant);
  }
  next_.position = effects.events.empty() ? 0 : position;
  next_.events = std::move(effects.events);
  pending_.push_back(std::exchange(next_, {}));
  const EngineStats stats = engine_->looks().Stats();
  if (stats.tasks_running != books_.size()) {
    Wrong(std::to_string(stats.tasks_running) + " leases, " + std::to_string(books_.size()) + " in the books");
  }
  if (stats.woken_empty - found_nothing_ > stats.kinds * stats.strategies) Wrong("a herd of waiting workers");
  found_nothing_ = stats.woken_empty;
}

void Ceilings::CheckBooks() {
  std::map<JobId, std::uint32_t> running;
  for (const auto& [serial, lease] : books_) ++running[lease.task.job];
  JobQuery query;
  query.limit = 1000;
  for (const JobView& view : engine_->looks().List(query).jobs) {
    if (view.running != running[view.id])
      Wrong("job " + ToText(view.id) + " has another number of leases in the books");
  }
}

// Nobody waits who would be served if he asked, nor whom a look at all jobs would serve.
void Ceilings::CheckWaiting() {
  const std::size_t from = rng_.Below(workers_.size());
  const bool look = Chance(10);
  std::vector<JobView> open;
  if (look) {
    JobQuery query;
    query.limit = 1000;
    query.state = JobState::kActive;
    open = engine_->looks().List(query).jobs;
    std::erase_if(open, [](const JobView& view) { return view.queued == 0; });
  }
  for (std::size_t i = 0, asked = 0; i < workers_.size() && (look || asked < 2); ++i) {
    Worker& worker = workers_[(from + i) % workers_.size()];
    if (!worker.registered || worker.away) continue;
    const auto view = engine_->looks().DescribeWorker(worker.id);
    if (view->credit == 0) continue;
    for (const JobView& job : open) {
      if (!std::includes(worker.tags.begin(), worker.tags.end(), job.tags->begin(), job.tags->end())) continue;
      const Strategy& own = worker.pull.strategy ? *worker.pull.strategy : *worker.strategy;
      if (MayStart(*options_.policy, own, job.id)) {
        return Wrong("a worker with " + PrintStrategy(own) + " waits, and job " + ToText(job.id) + " could start");
      }
    }
    if (++asked > 2) continue;
    worker.pull.credit = view->credit;
    const std::uint64_t before = engine_->looks().Stats().granted;
    CHECK(engine_->workers().Pull(now_, worker.id, worker.pull).ok());
    if (engine_->looks().Stats().granted != before) Wrong("a worker waited that could be served");
    Settle();
    ++tally_["asked again"];
  }
}

// --- The store.

void Ceilings::Flush(std::size_t batches) {
  for (; batches > 0 && !pending_.empty(); --batches) {
    Pending& batch = pending_.front();
    if (batch.position != 0) journal_[batch.position] = std::move(batch.events);
    for (const JobId job : batch.removed) DropRecords(job);
    for (const std::uint64_t serial : batch.ended) durable_.erase(serial);
    for (const Running& lease : batch.granted) durable_.emplace(lease.task.lease.serial, lease);
    // One that began and ended in the same batch ends after all.
    for (const std::uint64_t serial : batch.ended) durable_.erase(serial);
    pending_.pop_front();
  }
}

void Ceilings::Fold() {
  Settle();
  Flush(pending_.size());
  FoldSome();
}

void Ceilings::Load(Duration grace) {
  LoadEngine(grace);
  found_nothing_ = 0;
}

void Ceilings::Crash() {
  ++tally_["crash"];
  if (!pending_.empty()) ++tally_["crash that loses"];
  pending_.clear();
  next_ = {};
  books_ = durable_;
  running_.clear();
  for (const auto& [serial, lease] : books_) Count(lease, 1);
  for (Worker& worker : workers_) {
    worker.registered = worker.away = false;
    worker.draining = false;
  }
  const Duration grace = Chance(4) ? 0s : 3s;
  Move(now_.mono + 1s);
  old_policy_ = nullptr;
  strangers_until_ = now_.mono + grace;
  Load(grace);
  Settle();
  CheckBooks();
  for (Worker& worker : workers_) {
    if (Chance(4)) continue;
    ComeBack(worker);
    Settle();
  }
}

// --- Things that happen.

bool Ceilings::Step() {
  ++steps_;
  const std::uint64_t dice = rng_.Below(1000);
  if (dice < 90) {
    Submit();
  } else if (dice < 130) {
    Burst();
  } else if (dice < 330) {
    PullOne();
  } else if (dice < 600) {
    Report();
  } else if (dice < 740) {
    Register();
  } else if (dice < 765) {
    WorkerLeaves();
  } else if (dice < 785) {
    WorkerChanges();
  } else if (dice < 840) {
    JobCommand();
  } else if (dice < 855) {
    ChangeValues();
  } else if (dice < 950) {
    Time(Chance(8) ? 6s : 400ms);
  } else if (dice < 953) {
    SetPolicy();
  } else if (dice < 970) {
    Fold();
  } else if (dice < 996) {
    Flush(Between(1, 200));
  } else {
    Crash();
  }
  Settle();
  CheckWaiting();
  if (Chance(40)) CheckBooks();
  return wrong_.empty();
}

void Ceilings::Pass(Duration time) {
  const Instant end = now_.mono + time;
  for (;;) {
    const auto wake = engine_->NextWake(now_);
    if (!wake || *wake > end) break;
    Move(std::max(*wake, now_.mono));
    engine_->Tick(now_);
    Settle();
  }
  Move(end);
  engine_->Tick(now_);
  Settle();
}

void Ceilings::Time(Duration most) {
  Pass(Duration(static_cast<std::int64_t>(Between(1, static_cast<std::uint64_t>(most.count())))));
}

void Ceilings::SetPolicy() {
  Settle();
  old_policy_ = options_.policy;
  options_.policy = Policies()[rng_.Below(Policies().size())];
  engine_->queue().SetPolicy(now_, options_.policy, {});
  Settle();
  // Until its index is ready the old one holds.
  for (int i = 0; engine_->NextWake(now_) == now_.mono; ++i) {
    if (i > 1000) return Wrong("a new policy never takes over");
    engine_->Tick(now_);
    Settle();
  }
  old_policy_ = nullptr;
  ++tally_["policy"];
}

// --- The end.

bool Ceilings::Finish() {
  steps_ += 1;
  // Both keys were there all the time, or are built anew by now: either way what they count must be right.
  old_policy_ = options_.policy;
  options_.policy = ParseKnown("max_simultaneous(customer, 3, max_simultaneous(user, 5, worker))", true);
  engine_->queue().SetPolicy(now_, options_.policy, {});
  engine_->queue().SetDispatch(now_, {});  // what one worker then gets of all jobs is known where it sees all of them
  Settle();
  while (engine_->NextWake(now_) == now_.mono) {
    engine_->Tick(now_);
    Settle();
  }
  old_policy_ = nullptr;
  for (Worker* worker : Registered()) {
    PullOptions none;
    none.credit = 0;
    CHECK(engine_->workers().Pull(now_, worker->id, none).ok());
    if (Chance(2)) engine_->workers().Disconnect(now_, worker->id);
    Settle();
  }
  for (const JobId job : recent_) {
    static_cast<void>(engine_->jobs().Cancel(now_, job));
    Settle();
  }
  Pass(30s);
  if (!books_.empty()) Wrong("something runs for ever");
  JobQuery query;
  query.limit = 1000;
  for (const JobView& view : engine_->looks().List(query).jobs)
    static_cast<void>(engine_->jobs().Cancel(now_, view.id));

  Worker& worker = workers_.emplace_back();
  worker.id = WorkerId{++last_id_};
  worker.tags = {"a"};
  worker.strategy = ParseKnown("oldest");
  WorkerSpec spec;
  spec.id = worker.id;
  spec.tags = worker.tags;
  spec.connected = true;
  spec.strategy = worker.strategy;
  worker.key = engine_->workers().Register(now_, spec, std::nullopt)->key;
  worker.registered = true;
  const auto submit = [this](std::optional<std::string> customer, std::optional<std::string> user) {
    JobSpec job;
    job.tags = {"a"};
    job.count = 20;
    if (customer) job.meta = {{"customer", *customer}};
    if (user) job.user = *user;
    const JobId id{++last_id_};
    values_[id] = Values{customer, user, true};
    CHECK(engine_->jobs().Submit(now_, id, job).ok());
  };
  for (int i = 0; i < 7; ++i) submit("c" + std::to_string(i), {});
  for (int i = 0; i < 6; ++i) submit({}, "u" + std::to_string(i));
  submit({}, {});
  // And where both hold: two customers of one user, who has 5 in all; two users of one customer, who has 3.
  submit("d0", "v0");
  submit("d1", "v0");
  submit("d2", "v1");
  submit("d2", "v2");
  worker.pull = PullOptions{1000, false, Duration(0), {}};
  CHECK(engine_->workers().Pull(now_, worker.id, worker.pull).ok());
  Settle();
  std::map<std::string, std::uint64_t> expected;
  for (int i = 0; i < 7; ++i) expected["customer.c" + std::to_string(i)] = 3;
  for (int i = 0; i < 6; ++i) expected["user.u" + std::to_string(i)] = 5;
  expected["customer.d0"] = 3;
  expected["customer.d1"] = 2;
  expected["user.v0"] = 5;
  expected["customer.d2"] = 3;
  expected["user.v1"] = 3;
  for (const auto& [name, count] : expected) {
    const auto found = running_.find(name);
    const std::uint64_t running = found == running_.end() ? 0 : found->second;
    if (running != count) Wrong("at the end " + name + " has " + std::to_string(running) + " running");
  }
  if (books_.size() != 7 * 3 + 6 * 5 + 20 + 5 + 3) Wrong("at the end " + std::to_string(books_.size()) + " run");
  return wrong_.empty();
}

}  // namespace allot::simulation
