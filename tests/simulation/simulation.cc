// SPDX-License-Identifier: Apache-2.0
#include "simulation/simulation.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/bounds.h"
#include "base/check.h"

namespace allot::simulation {

using namespace std::chrono_literals;

namespace {

void Mix(std::uint64_t& hash, std::string_view bytes) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
}

std::vector<Fact> FactsOf(const Effects& effects) {
  std::vector<Fact> facts;
  for (const GrantBatch& given : effects.grant_batches) {
    if (given.grants.empty()) facts.push_back({Fact::Kind::kNothing, given.worker.value, 0, 0, 0, 0, {}});
    for (const Grant& grant : given.grants) {
      facts.push_back({Fact::Kind::kGrant,
                       given.worker.value,
                       grant.task.job.value,
                       grant.task.index,
                       grant.attempt,
                       grant.task.lease.serial,
                       {}});
    }
  }
  for (const StopRequest& stop : effects.stop_requests) {
    facts.push_back({Fact::Kind::kCancel, stop.worker.value, stop.task.job.value, stop.task.index, 0,
                     stop.task.lease.serial, stop.reason});
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
  strategies_ = Chance(2);
  // When a user was served last is known for as long as a strategy names users: here one always does.
  fair_ = strategies_ && Chance(2);
  if (fair_) options_.policy = SomeStrategy(true);
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

void Simulation::ExpectCode(const std::optional<Code>& engine, const Model::Failure& model, const std::string& what) {
  const auto text = [](const std::optional<Code>& code) { return code ? std::string(CodeText(*code)) : "ok"; };
  if (engine != model) Differ(what + ": engine " + text(engine) + ", model " + text(model));
  ++tally_[what + (engine ? " refused" : "")];
  Trace(what + " " + text(engine));
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
    const auto view = engine_->looks().Describe(id);
    if (Ended(job.state) || job.in_state[static_cast<int>(TaskState::kRetrying)] == 0) {
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
  decisions_.Note(effects);
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
  for (const GrantBatch& given : effects.grant_batches) {
    for (const Grant& grant : given.grants) {
      Mix(effects_hash_, allot::ToText(grant.task.lease));
      // Those that were withdrawn before anybody heard of them leave gaps.
      if (grant.task.lease.serial < issued_.size()) return Differ("a lease serial out of its order");
      issued_.resize(grant.task.lease.serial);
      issued_.push_back(grant.task);
      pending_.back().granted.push_back(grant.task.lease.serial);
      for (Process& process : processes_) {
        if (process.id == given.worker) process.running.push_back(grant.task);
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
    FoldStep step = engine_->records().Fold(Chance(4) ? 100'000 : Between(1, 3'000));
    if (step.records.empty() && engine_->looks().UnfoldedEvents() == 0) break;
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
  loader.on_record = [this](const Record& r) { return engine_->records().Load(r.job, r.page, r.blob); };
  loader.on_events = [this](Position p, std::string_view events) { return engine_->records().Replay(p, events); };
  const auto loaded = store_->Load(loader, [this](JobId set) { return engine_->looks().UsesPayloadSet(set); });
  if (!loaded.ok()) return Differ("load: " + loaded.error().message);
  engine_->records().FinishLoad(now_, grace);
}

void Simulation::DoCrash() {
  ++tally_["crash"];
  if (Chance(3)) Commit(Between(0, 20));
  tally_["batches lost"] += pending_.size();
  pending_.clear();
  operations_.clear();
  // The policy is the queue's setting, not the journal's.
  durable_.options.policy = options_.policy;
  durable_.options.weights = options_.weights;
  model_ = durable_;
  issued_.resize(model_.next_serial);
  for (Process& process : processes_) {
    std::erase_if(process.running, [this](const TaskRef& ref) { return !Genuine(ref); });
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
  if (engine_->looks().HighestId() < highest_durable_job_) Differ("an id that was used is forgotten");
  last_id_ = std::max(engine_->looks().HighestId(), highest_durable_job_);
  for (const Process& process : processes_) last_id_ = std::max(last_id_, process.id.value);
  highest_taken_job_ = highest_durable_job_;
  AdoptAfterCrash();
  CompareAll();
}

// What passed without a word in the journal (a schedule, a due time) may have to pass again, if the clock went back.
void Simulation::AdoptAfterCrash() {
  for (auto& [id, job] : model_.jobs) {
    const auto view = engine_->looks().Describe(id);
    if (!view.ok()) return Differ("job " + std::to_string(id.value) + " is lost");
    if (job.state == JobState::kActive && view->state == JobState::kScheduled && job.scheduled_for > now_.wall) {
      operations_.push_back([id = id](Model& m) { m.AdoptScheduled(id); });
      model_.AdoptScheduled(id);
    }
    for (TaskIndex i = 0; i < job.tasks.size(); ++i) {
      const Model::Task& task = job.tasks[i];
      if (!task.promoted || Ended(job.state)) continue;
      const auto real = engine_->looks().Task(id, i);
      if (!real.ok() || real->state != TaskState::kRetrying) continue;
      operations_.push_back([id = id, i](Model& m) { m.AdoptRetrying(id, i); });
      model_.AdoptRetrying(id, i);
    }
  }
}

}  // namespace allot::simulation
