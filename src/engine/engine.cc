#include "engine/engine.h"

#include <algorithm>

#include "base/check.h"
#include "engine/jobs/job_record.h"
#include "engine/parts.h"

namespace allot {

Engine::Engine(const EngineOptions& options)
    : parts_(std::make_unique<EngineParts>(options)), p_(*parts_), looks_(p_), prepared_looks_(p_) {}

Engine::~Engine() = default;

void Engine::Begin(const Now& now) {
  p_.starts.Begin();
  if (!p_.clock.begun) {
    p_.clock.begun = true;
    p_.clock.boot = p_.clock.now = now;
    p_.clock.time = now.mono;
    p_.classes.BeginCommand(ToMillis(p_.clock.now.wall) / 1000);
    p_.dispatcher.BeginCommand();
    return;
  }
  const Instant mono = std::max(now.mono, p_.clock.now.mono);
  const Duration step = mono - p_.clock.now.mono;
  // While anyone is registered a tick comes every kTickEvery. One that is much later means that the server stood still,
  // not that its workers did: that time does not count.
  if (!p_.workers.empty() && step > kTickEvery + p_.options.late_tick) p_.clock.stalled += step - kTickEvery;
  p_.clock.now = Now{mono, now.wall};
  p_.clock.time = mono - p_.clock.stalled;
  p_.pace.works = 0;
  p_.ForEachStage([this](const auto& stage) { p_.pace.works += stage.works(); });
  p_.classes.BeginCommand(ToMillis(p_.clock.now.wall) / 1000);
  p_.orders.BeginCommand();
  p_.dispatcher.BeginCommand();
  p_.receipts.BeginCommand();
  p_.wakes.found_nothing.clear();
  p_.limiting.OpenPayable();
}

void Engine::End() {
  std::size_t budget = p_.pace.Part(kSmallBudget);
  p_.ForEachStage([&](auto& stage) { stage.AfterCommand(budget); });
  p_.starts.WakeWaiting();
}

bool Engine::HasEffects() const { return !p_.journal.effects().empty(); }

std::pair<Position, Effects> Engine::Take() {
  for (const JobId id : p_.journal.effects().progressed) {
    if (EngineJob* job = p_.jobs.Find(id)) job->progressed = false;
  }
  return p_.journal.Take();
}

void Engine::SetPolicy(const Now& now, const StrategyPtr& policy, const Weights& weights) {
  Begin(now);
  p_.orders.SetPolicy(policy ? policy : DefaultPolicy());
  p_.orders.SetWeights({weights.begin(), weights.end()});
  p_.users.SetWeights(weights);
  End();
}

void Engine::PauseQueue(const Now& now) {
  Begin(now);
  if (!p_.queue.paused) {
    p_.queue.paused = true;
    p_.queue.paused_since = p_.clock.now.wall;
    p_.journal.Event(EventType::kQueuePaused).U8(1);
    p_.journal.MarkQueue();
  }
  End();
}

void Engine::ResumeQueue(const Now& now) {
  Begin(now);
  if (p_.queue.paused) {
    p_.queue.paused = false;
    p_.queue.paused_since.reset();
    p_.journal.Event(EventType::kQueuePaused).U8(0);
    p_.journal.MarkQueue();
    std::vector<KindId> kinds;
    for (KindId kind = 0; kind < p_.classes.kind_slots(); ++kind) kinds.push_back(kind);
    std::vector<ClassId> all;
    for (ClassId cls = 0; cls < p_.classes.class_slots(); ++cls) all.push_back(cls);
    p_.starts.Wake(std::move(kinds), all);
  }
  End();
}

void Engine::Tick(const Now& now) {
  Begin(now);
  TickBudget budget;
  p_.ForEachStage([&](auto& stage) { stage.Tick(budget); });
  End();
  p_.pace.commands = 0;
}

std::optional<Instant> Engine::NextWake(const Now& now) const {
  NextTick next(p_.clock, now);
  std::as_const(p_).ForEachStage([&](const auto& stage) { stage.AddWakes(next); });
  // Opened by a look at something else, or by a command that was refused.
  if (!p_.wakes.opened.empty() || !p_.wakes.kinds.empty()) next.AtOnce();
  return next.value();
}

Result<LimitLease> Engine::CreateLimit(const Now& now, std::string_view uuid, const LimitSpec& spec) {
  Begin(now);
  if (auto admitted = p_.limiting.Admit(spec); !admitted) return admitted.error();
  std::optional<MemoryPool::Scope> scope(std::in_place, &p_.memory.limits);
  Result<LimitLease> lease = p_.limits.Create(uuid, spec, p_.clock.now);
  scope.reset();
  p_.limiting.OnLimits();
  End();
  return lease;
}

Result<LimitLease> Engine::UpdateLimit(const Now& now, std::string_view uuid, const LimitSpec& spec) {
  Begin(now);
  // With other expressions it tells jobs apart anew.
  const std::vector<LimitView> before = p_.limits.List({std::nullopt, std::string(uuid)}, p_.clock.now);
  if (!before.empty() && spec.expr && !SameExpressions(before.front().spec, spec)) {
    if (auto admitted = p_.limiting.Admit(spec); !admitted) return admitted.error();
  }
  std::optional<MemoryPool::Scope> scope(std::in_place, &p_.memory.limits);
  Result<LimitLease> lease = p_.limits.Update(uuid, spec, p_.clock.now);
  scope.reset();
  p_.limiting.OnLimits();
  End();
  return lease;
}

Result<LimitLease> Engine::RenewLimit(const Now& now, std::string_view uuid, std::optional<Duration> expires_in) {
  Begin(now);
  Result<LimitLease> lease = p_.limits.Renew(uuid, expires_in, p_.clock.now);
  End();
  return lease;
}

Result<void> Engine::DeleteLimit(const Now& now, std::string_view uuid) {
  Begin(now);
  std::optional<MemoryPool::Scope> scope(std::in_place, &p_.memory.limits);
  Result<void> deleted = p_.limits.Delete(uuid, p_.clock.now);
  scope.reset();
  p_.limiting.OnLimits();
  End();
  return deleted;
}

FoldStep Engine::Fold(std::size_t max_bytes) {
  CHECK(p_.journal.effects().events.empty());
  FoldStep step;
  std::size_t bytes = 0;
  while (step.records.empty() || bytes < max_bytes) {
    const std::optional<Journal::Dirty> next = p_.journal.TakeDirty();
    if (!next) break;
    if (next->job == kQueueRecord) {
      const QueueRecord queue{p_.queue.paused, p_.leases.next_serial(), p_.queue.highest_id};
      step.records.push_back(Record{kQueueRecord, kJobPage, ToRecord(queue, p_.journal.stored())});
    } else {
      EngineJob* job = p_.jobs.Find(next->job);
      if (job == nullptr) continue;  // removed since, with all that was stored
      const bool whole = next->page == kJobPage;
      if (whole) job->dirty = false;
      step.records.push_back(
          Record{next->job, next->page,
                 whole ? JobRecord(*job, p_.journal.stored()) : PageRecord(*job, next->page, p_.journal.stored())});
    }
    bytes += step.records.back().blob.size() + 16;
  }
  step.floor = p_.journal.Floor();
  return step;
}

Result<void> Engine::LoadRecord(JobId job, std::uint32_t page, std::string_view blob) {
  return p_.loader.Load(job, page, blob);
}

Result<void> Engine::Replay(Position position, std::string_view events) { return p_.loader.Replay(position, events); }

void Engine::FinishLoad(const Now& now, Duration grace) {
  Begin(now);
  p_.loader.Finish(grace);
}

void Engine::Configure(Duration worker_grace, std::size_t max_finished_jobs) {
  p_.options.worker_grace = worker_grace;
  p_.options.max_finished_jobs = max_finished_jobs;
}

void Engine::SetMaxLimitExpiration(Duration most) { p_.limits.SetMaxExpiration(most); }
void Engine::SetLimitBanWindow(Duration window) { p_.limits.SetBanWindow(window); }
void Engine::SetMemoryBudget(std::uint64_t bytes) { p_.budget.Set(bytes); }

void Engine::SetDispatch(const Now& now, const DispatchOptions& dispatch) {
  Begin(now);
  p_.dealing.SetOptions(dispatch);
  End();
}

}  // namespace allot
