// SPDX-License-Identifier: Apache-2.0
#include "simulation/world.h"

#include <algorithm>

#include "base/check.h"

namespace allot::simulation {

using namespace std::chrono_literals;

namespace {

constexpr Instant kBegin(5s);

}  // namespace

StrategyPtr ParseKnown(const std::string& text, bool policy) {
  const ParsedStrategy parsed = ParseStrategy(text, policy);
  CHECK(parsed.strategy != nullptr);
  return parsed.strategy;
}

bool MayBlock(const Strategy& strategy) {
  return strategy.kind == Strategy::Kind::kSelectOnly || strategy.kind == Strategy::Kind::kMaxSimultaneous ||
         std::any_of(strategy.inner.begin(), strategy.inner.end(),
                     [](const StrategyPtr& inner) { return MayBlock(*inner); });
}

World::World(std::uint64_t seed) : rng_(seed), now_{kBegin, FromMillis(kStart)} {
  options_.key = SipKey{seed, ~seed};
  options_.seed = seed;
  options_.worker_grace = 4s;
  options_.idle_worker = 8s;
  options_.max_finished_jobs = 20;
  // Whatever holds does so in both modes.
  if (seed % 2 == 0) options_.dispatch = {DispatchMode::kBalanced, static_cast<Balance>(seed / 2 % 3)};
}

void World::Wrong(const std::string& what) {
  if (wrong_.empty()) wrong_ = "step " + std::to_string(steps_) + ": " + what;
}

// --- Time.

void World::Move(Instant to) {
  now_.mono = to;
  now_.wall = FromMillis(kStart + (now_.mono - kBegin) / 1ms);
}

bool World::Idle() const {
  const std::optional<Instant> wake = engine_->NextWake(now_);
  return !wake || *wake > now_.mono;
}

// --- The store.

void World::LoadEngine(Duration grace) {
  engine_ = std::make_unique<Engine>(options_);
  for (const auto& [key, blob] : records_) {
    CHECK(engine_->records().Load(JobId{key.first}, key.second - 1, blob).ok());
  }
  for (const auto& [position, events] : journal_) {
    if (position > floor_) CHECK(engine_->records().Replay(position, events).ok());
  }
  engine_->records().FinishLoad(now_, grace);
}

void World::FoldSome() {
  for (std::uint64_t steps = Between(1, 40); steps > 0 && engine_->looks().UnfoldedEvents() > 0; --steps) {
    const FoldStep step = engine_->records().Fold(1);
    for (const Record& record : step.records) records_[{record.job.value, record.page + 1}] = record.blob;
    floor_ = step.floor;
  }
  std::erase_if(journal_, [this](const auto& entry) { return entry.first <= floor_; });
}

void World::DropRecords(JobId job) {
  std::erase_if(records_, [job](const auto& entry) { return entry.first.first == job.value; });
}

void World::PauseOrResume() {
  if (paused_) {
    engine_->queue().Resume(now_);
  } else if (Chance(3)) {
    engine_->queue().Pause(now_);
    ++tally_["queue paused"];
  } else {
    return;
  }
  paused_ = !paused_;
}

// --- Jobs and workers.

void World::AddWorkers(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Worker& worker = workers_.emplace_back();
    worker.id = WorkerId{++last_id_};
    worker.slots = static_cast<std::uint32_t>(Between(1, 16));
    worker.connected = !Chance(4);
    worker.tags = Chance(2) ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"};
  }
}

World::Worker* World::Find(WorkerId id) {
  const auto found = std::find_if(workers_.begin(), workers_.end(), [id](const Worker& w) { return w.id == id; });
  CHECK(found != workers_.end());
  return &*found;
}

std::vector<World::Worker*> World::Registered() {
  std::vector<Worker*> some;
  for (Worker& worker : workers_) {
    if (worker.registered && !worker.away) some.push_back(&worker);
  }
  return some;
}

void World::Remember(JobId job) {
  recent_.push_back(job);
  if (recent_.size() > 60) recent_.erase(recent_.begin());
}

JobId World::AnyJob() { return recent_.empty() ? JobId{1} : OneOf(recent_); }

JobId World::EndedOr(JobId job) {
  for (const JobId ended : recent_) {
    const auto view = engine_->looks().Describe(ended);
    if (view.ok() && Ended(view->state) && Chance(3)) job = ended;
  }
  return job;
}

void World::JobCommand() {
  const JobId job = AnyJob();
  switch (rng_.Below(6)) {
    case 0:
      tally_["cancel"] += engine_->jobs().Cancel(now_, job).ok() ? 1 : 0;
      break;
    case 1:
      tally_["pause"] += engine_->jobs().Pause(now_, job).ok() ? 1 : 0;
      break;
    case 2:
      tally_["retry"] += engine_->jobs().Retry(now_, EndedOr(job)).ok() ? 1 : 0;
      break;
    default:
      static_cast<void>(engine_->jobs().Resume(now_, job));
  }
}

}  // namespace allot::simulation
