#include "simulation/ceilings.h"

#include <algorithm>

#include "base/check.h"

namespace allot::simulation {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kStart = 1'800'000'000'000;
constexpr std::size_t kWorkers = 64;

StrategyPtr Parse(const std::string& text, bool policy = false) {
  const ParsedStrategy parsed = ParseStrategy(text, policy);
  CHECK(parsed.strategy != nullptr);
  return parsed.strategy;
}

const std::vector<StrategyPtr>& Policies() {
  static const std::vector<StrategyPtr> policies = {
      Parse("worker", true),
      Parse("max_simultaneous(customer, 4, worker)", true),
      Parse("max_simultaneous(customer, 6, max_simultaneous(user, 3, worker))", true),
      Parse("fair(user, max_simultaneous(customer, 2%, worker))", true),
      Parse("max_simultaneous(job, 5, fair(customer, worker))", true),
      Parse("max_simultaneous(user, 3%, prefer_distinct(customer, 2, max_simultaneous(customer, 9, worker)))", true)};
  return policies;
}

}  // namespace

Ceilings::Ceilings(std::uint64_t seed) : rng_(seed) {
  options_.key = SipKey{seed, ~seed};
  options_.seed = seed;
  options_.worker_grace = 4s;
  options_.idle_worker = 8s;
  options_.max_finished_jobs = 20;
  options_.policy = Policies()[1 + rng_.Below(Policies().size() - 1)];
  now_ = Now{Instant(5s), FromMillis(kStart)};
  for (std::size_t i = 0; i < kWorkers; ++i) {
    Worker& worker = workers_.emplace_back();
    worker.id = WorkerId{++last_id_};
    worker.slots = static_cast<std::uint32_t>(Between(1, 16));
    worker.connected = !Chance(4);
    worker.tags = Chance(2) ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"};
  }
  Load(3s);
  for (Worker& worker : workers_) ComeBack(worker);
}

StrategyPtr Ceilings::SomeStrategy() {
  static const std::vector<StrategyPtr> strategies = {
      Parse("priority"),
      Parse("max_simultaneous(customer, 3, oldest)"),
      Parse("max_simultaneous(user, 2, fair)"),
      Parse("max_simultaneous(customer, 5, max_simultaneous(user, 3, random))"),
      Parse("max_simultaneous(customer, 2%, priority)"),
      Parse("fair(customer, max_simultaneous(user, 4, newest))"),
      Parse("prefer_distinct(user, 2, max_simultaneous(customer, 4, least_recent))"),
      Parse("or_else(select_only(customer = c1, max_simultaneous(user, 2, oldest)), max_simultaneous(customer, 2, "
            "newest))")};
  return strategies[rng_.Below(strategies.size())];
}

void Ceilings::Wrong(const std::string& what) {
  if (wrong_.empty()) wrong_ = "step " + std::to_string(steps_) + ": " + what;
}

// --- Books.

void Ceilings::Count(const Held& held, int by) {
  const auto add = [&](const std::string& name) {
    std::uint64_t& count = running_[name];
    count += static_cast<std::uint64_t>(by);
    if (count == 0) running_.erase(name);
  };
  const Values& values = values_.at(held.task.job);
  if (values.customer) add("customer." + *values.customer);
  if (values.user) add("user." + *values.user);
  add("job." + std::to_string(held.task.job.value));
}

std::uint64_t Ceilings::Running(const StrategyKey& key, JobId job) const {
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
      return Running(strategy.key, job) < max && inner(strategy.inner[0]);
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

void Ceilings::EndWhere(const std::function<bool(const Held&)>& which) {
  std::vector<std::uint64_t> ended;
  for (const auto& [serial, held] : books_) {
    if (which(held)) ended.push_back(serial);
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
  const Held held{grant.task, worker.id};
  if (!books_.emplace(grant.task.lease.serial, held).second) Wrong("a serial twice");
  Count(held, 1);
  next_.granted.push_back(held);
  ++tally_["grant"];
}

void Ceilings::Settle() {
  auto [position, effects] = engine_->Take();
  // In one command all that ends does so before anything starts.
  for (const CancelOrder& order : effects.cancels) {
    if (order.reason != "expired" && order.reason != "timeout") continue;
    End(order.task.lease.serial);
    ++tally_[std::string(order.reason)];
  }
  for (const WorkerId id : effects.gone) {
    EndWhere([id](const Held& held) { return held.worker == id; });
    Find(id)->registered = false;
    ++tally_["gone"];
  }
  for (const Removal& removal : effects.removed) {
    EndWhere([&](const Held& held) { return held.task.job == removal.job; });
    next_.removed.push_back(removal.job);
    ++tally_["removed"];
  }
  if (strangers_until_ && now_.mono >= *strangers_until_) {
    strangers_until_.reset();
    EndWhere([this](const Held& held) { return !Find(held.worker)->registered; });
  }
  for (const Assignment& assignment : effects.assignments) {
    for (const allot::Grant& grant : assignment.grants) Grant(*Find(assignment.worker), grant);
  }
  next_.position = effects.events.empty() ? 0 : position;
  next_.events = std::move(effects.events);
  pending_.push_back(std::exchange(next_, {}));
  const EngineStats stats = engine_->Stats();
  if (stats.tasks_leased != books_.size()) {
    Wrong(std::to_string(stats.tasks_leased) + " leases, " + std::to_string(books_.size()) + " in the books");
  }
  if (stats.woken_empty - looked_in_vain_ > stats.kinds * stats.strategies) Wrong("a herd of waiting workers");
  looked_in_vain_ = stats.woken_empty;
}

void Ceilings::CheckBooks() {
  std::map<JobId, std::uint32_t> leased;
  for (const auto& [serial, held] : books_) ++leased[held.task.job];
  JobQuery query;
  query.limit = 1000;
  for (const JobView& view : engine_->List(query).jobs) {
    if (view.leased != leased[view.id]) Wrong("job " + ToText(view.id) + " has another number of leases in the books");
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
    open = engine_->List(query).jobs;
    std::erase_if(open, [](const JobView& view) { return view.ready == 0; });
  }
  for (std::size_t i = 0, asked = 0; i < workers_.size() && (look || asked < 2); ++i) {
    Worker& worker = workers_[(from + i) % workers_.size()];
    if (!worker.registered || worker.away) continue;
    const auto view = engine_->DescribeWorker(worker.id);
    if (view->credit == 0) continue;
    for (const JobView& job : open) {
      if (!std::includes(worker.tags.begin(), worker.tags.end(), job.tags.begin(), job.tags.end())) continue;
      const Strategy& own = worker.pull.strategy ? *worker.pull.strategy : *worker.strategy;
      if (MayStart(*options_.policy, own, job.id)) {
        return Wrong("a worker with " + PrintStrategy(own) + " waits, and job " + ToText(job.id) + " could start");
      }
    }
    if (++asked > 2) continue;
    worker.pull.credit = view->credit;
    const std::uint64_t before = engine_->Stats().granted;
    CHECK(engine_->Pull(now_, worker.id, worker.pull).ok());
    if (engine_->Stats().granted != before) Wrong("a worker waited that could be served");
    Settle();
    ++tally_["asked again"];
  }
}

// --- The store.

void Ceilings::Flush(std::size_t batches) {
  for (; batches > 0 && !pending_.empty(); --batches) {
    Pending& batch = pending_.front();
    if (batch.position != 0) journal_[batch.position] = std::move(batch.events);
    for (const JobId job : batch.removed) {
      std::erase_if(records_, [job](const auto& entry) { return entry.first.first == job.value; });
    }
    for (const std::uint64_t serial : batch.ended) durable_.erase(serial);
    for (const Held& held : batch.granted) durable_.emplace(held.task.lease.serial, held);
    // One that began and ended in the same batch ends after all.
    for (const std::uint64_t serial : batch.ended) durable_.erase(serial);
    pending_.pop_front();
  }
}

void Ceilings::Fold() {
  Settle();
  Flush(pending_.size());
  for (std::uint64_t steps = Between(1, 40); steps > 0 && engine_->UnfoldedEvents() > 0; --steps) {
    const FoldStep step = engine_->Fold(1);
    for (const Record& record : step.records) records_[{record.job.value, record.page + 1}] = record.blob;
    floor_ = step.floor;
  }
  std::erase_if(journal_, [this](const auto& entry) { return entry.first <= floor_; });
}

void Ceilings::Load(Duration grace) {
  engine_ = std::make_unique<Engine>(options_);
  for (const auto& [key, blob] : records_) {
    CHECK(engine_->LoadRecord(JobId{key.first}, key.second - 1, blob).ok());
  }
  for (const auto& [position, events] : journal_) {
    if (position > floor_) CHECK(engine_->Replay(position, events).ok());
  }
  engine_->FinishLoad(now_, grace);
  looked_in_vain_ = 0;
}

void Ceilings::Crash() {
  ++tally_["crash"];
  if (!pending_.empty()) ++tally_["crash that loses"];
  pending_.clear();
  next_ = {};
  books_ = durable_;
  running_.clear();
  for (const auto& [serial, held] : books_) Count(held, 1);
  for (Worker& worker : workers_) {
    worker.registered = worker.away = false;
    worker.draining = false;
  }
  const Duration grace = Chance(4) ? 0s : 3s;
  now_.mono += 1s;
  now_.wall += 1000ms;
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
  const auto move = [this](Instant to) {
    now_.mono = to;
    now_.wall = FromMillis(kStart + (now_.mono.time_since_epoch() - Duration(5s)) / 1ms);
  };
  for (;;) {
    const auto wake = engine_->NextWake(now_);
    if (!wake || *wake > end) break;
    move(std::max(*wake, now_.mono));
    engine_->Tick(now_);
    Settle();
  }
  move(end);
  engine_->Tick(now_);
  Settle();
}

void Ceilings::Time(Duration most) {
  Pass(Duration(static_cast<std::int64_t>(Between(1, static_cast<std::uint64_t>(most.count())))));
}

void Ceilings::Submit() {
  if (engine_->Stats().jobs_active > 40) return;
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
  jobs_.push_back(id);
  if (jobs_.size() > 60) jobs_.erase(jobs_.begin());
  CHECK(engine_->Submit(now_, id, spec).ok());
}

JobId Ceilings::AnyJob() { return jobs_.empty() ? JobId{1} : jobs_[rng_.Below(jobs_.size())]; }

Ceilings::Worker* Ceilings::Find(WorkerId id) {
  const auto found = std::find_if(workers_.begin(), workers_.end(), [id](const Worker& w) { return w.id == id; });
  CHECK(found != workers_.end());
  return &*found;
}

std::vector<Ceilings::Worker*> Ceilings::Registered() {
  std::vector<Worker*> some;
  for (Worker& worker : workers_) {
    if (worker.registered && !worker.away) some.push_back(&worker);
  }
  return some;
}

std::vector<TaskRef> Ceilings::HeldBy(WorkerId id) const {
  std::vector<TaskRef> refs;
  for (const auto& [serial, held] : books_) {
    if (held.worker == id) refs.push_back(held.task);
  }
  return refs;
}

// Everybody at once, before anyone has heard of anything.
void Ceilings::Burst() {
  for (Worker* worker : Registered()) {
    worker->pull = PullOptions{static_cast<std::uint32_t>(Between(1, 16)), Chance(3), std::nullopt, {}};
    if (Chance(2)) worker->pull.wait = Duration(milliseconds(Chance(2) ? 0 : Between(1, 2000)));
    CHECK(engine_->Pull(now_, worker->id, worker->pull).ok());
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
  CHECK(engine_->Pull(now_, worker.id, worker.pull).ok());
  if (!Chance(8)) return;
  // What it got never reaches it.
  Settle();
  const auto held = HeldBy(worker.id);
  if (held.empty()) return;
  const std::vector<TaskRef> some_refs(held.begin() + static_cast<std::ptrdiff_t>(rng_.Below(held.size())), held.end());
  engine_->Undelivered(now_, some_refs);
  for (const TaskRef& task : some_refs) End(task.lease.serial);
  ++tally_["undelivered"];
}

void Ceilings::Report() {
  const auto some = Registered();
  if (some.empty()) return;
  const Worker& worker = *some[rng_.Below(some.size())];
  std::vector<allot::Report> reports;
  const bool friendly = Chance(2);
  for (const TaskRef& task : HeldBy(worker.id)) {
    if (!Chance(3)) reports.push_back({task, friendly ? ReportKind::kDone : static_cast<ReportKind>(rng_.Below(4))});
  }
  const auto verdicts = engine_->ReportAll(now_, worker.id, reports);
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
  for (const TaskRef& task : HeldBy(worker.id)) {
    if (all || Chance(2)) spec.resume.push_back(task);
  }
  const auto answer =
      engine_->Register(now_, spec, worker.key == 0 ? std::nullopt : std::optional<std::uint64_t>(worker.key));
  CHECK(answer.ok());
  if (answer->resumed.size() != spec.resume.size()) Wrong("a lease in the books was not its worker's");
  tally_["resumed"] += answer->resumed.size();
  EndWhere([&](const Held& held) {
    return held.worker == worker.id &&
           std::find(spec.resume.begin(), spec.resume.end(), held.task) == spec.resume.end();
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
    engine_->Unregister(now_, worker.id);
    EndWhere([&](const Held& held) { return held.worker == worker.id; });
    worker.registered = false;
    ++tally_["unregister"];
  } else {
    engine_->Disconnect(now_, worker.id);
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
  CHECK(engine_->ChangeWorker(now_, worker.id, change).ok());
}

void Ceilings::JobCommand() {
  JobId job = AnyJob();
  switch (rng_.Below(5)) {
    case 0:
      tally_["cancel"] += engine_->Cancel(now_, job).ok() ? 1 : 0;
      break;
    case 1:
      static_cast<void>(engine_->Pause(now_, job));
      break;
    case 2:
      for (const JobId ended : jobs_) {
        const auto view = engine_->Describe(ended);
        if (view.ok() && Ended(view->state) && Chance(3)) job = ended;
      }
      tally_["retry"] += engine_->Retry(now_, job).ok() ? 1 : 0;
      break;
    default:
      static_cast<void>(engine_->Resume(now_, job));
  }
}

void Ceilings::ChangeValues() {
  const JobId job = AnyJob();
  JobChange change;
  std::optional<std::string> customer;
  if (!Chance(4)) customer = "c" + std::to_string(rng_.Below(6));
  change.meta = customer ? Meta{{"customer", *customer}} : Meta{};
  // The books are kept by the job's present value: they change hands before anything starts.
  if (!engine_->Describe(job).ok() || Ended(engine_->Describe(job)->state)) return;
  Settle();
  for (const int by : {-1, 1}) {
    for (const auto& [serial, held] : books_) {
      if (held.task.job == job) Count(held, by);
    }
    values_.at(job).customer = customer;
  }
  CHECK(engine_->Change(now_, job, change).ok());
  Settle();
  Flush(pending_.size());
  ++tally_["change"];
}

void Ceilings::SetPolicy() {
  Settle();
  old_policy_ = options_.policy;
  options_.policy = Policies()[rng_.Below(Policies().size())];
  engine_->SetPolicy(now_, options_.policy, {});
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
  options_.policy = Parse("max_simultaneous(customer, 3, max_simultaneous(user, 5, worker))", true);
  engine_->SetPolicy(now_, options_.policy, {});
  while (engine_->NextWake(now_) == now_.mono) engine_->Tick(now_);
  Settle();
  old_policy_ = nullptr;
  for (Worker* worker : Registered()) {
    PullOptions none;
    none.credit = 0;
    CHECK(engine_->Pull(now_, worker->id, none).ok());
    if (Chance(2)) engine_->Disconnect(now_, worker->id);
  }
  for (const JobId job : jobs_) static_cast<void>(engine_->Cancel(now_, job));
  Settle();
  Pass(30s);
  if (!books_.empty()) Wrong("something runs for ever");
  JobQuery query;
  query.limit = 1000;
  for (const JobView& view : engine_->List(query).jobs) static_cast<void>(engine_->Cancel(now_, view.id));

  Worker& worker = workers_.emplace_back();
  worker.id = WorkerId{++last_id_};
  worker.tags = {"a"};
  worker.strategy = Parse("oldest");
  WorkerSpec spec;
  spec.id = worker.id;
  spec.tags = worker.tags;
  spec.connected = true;
  spec.strategy = worker.strategy;
  worker.key = engine_->Register(now_, spec, std::nullopt)->key;
  worker.registered = true;
  const auto submit = [this](std::optional<std::string> customer, std::optional<std::string> user) {
    JobSpec job;
    job.tags = {"a"};
    job.count = 20;
    if (customer) job.meta = {{"customer", *customer}};
    if (user) job.user = *user;
    const JobId id{++last_id_};
    values_[id] = Values{customer, user, true};
    CHECK(engine_->Submit(now_, id, job).ok());
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
  CHECK(engine_->Pull(now_, worker.id, worker.pull).ok());
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
