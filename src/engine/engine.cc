#include "engine/engine.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "dispatch/dispatcher.h"
#include "engine/pace.h"
#include "engine/receipt_log.h"
#include "engine/tallies/hold_reasons.h"

namespace allot {
namespace {

// `what` may be null: then it is a number that nothing comes of.
void Prefetch(const void* what, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(what);
  for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(reinterpret_cast<const void*>(at + i));
}

LimitOptions LimitsOf(const EngineOptions& options) {
  LimitOptions limits;
  limits.max_expiration = options.max_limit_expiration;
  limits.ban_window = options.limit_ban_window;
  return limits;
}

}  // namespace

Engine::Engine(const EngineOptions& options)
    : options_(options),
      rng_(options.seed),
      limits_(LimitsOf(options)),
      holds_(std::make_unique<HoldReasons>(classes_, reasons_, orders_, limits_)),
      leases_(options.key),
      dispatcher_(std::make_unique<Dispatcher>(orders_, classes_, rng_)),
      receipts_(std::make_unique<ReceiptLog>()) {
  memory_budget_ = options_.memory_budget;
  if (options_.policy) orders_.SetPolicy(options_.policy);
  orders_.SetWeights({options_.weights.begin(), options_.weights.end()});
  users_.SetWeights(options_.weights);
  dispatcher_->SetOptions(options_.dispatch);
  default_order_ = orders_.Use(DefaultStrategy());
  orders_.BeginBuild();
  orders_.Built();
  orders_.TakeReady();
}

Engine::~Engine() = default;

void Engine::Begin(const Now& now) {
  grants_left_ = kGrantsAtOnce;
  asks_left_ = kAsksAtOnce;
  if (!begun_) {
    begun_ = true;
    boot_ = now_ = now;
    engine_time_ = now.mono;
    classes_.BeginTurn(ToMillis(now_.wall) / 1000);
    dispatcher_->BeginTurn();
    return;
  }
  const Instant mono = std::max(now.mono, now_.mono);
  const Duration step = mono - now_.mono;
  // While anyone is registered a tick comes every kTickEvery. One that is much later means that the server stood still,
  // not that its workers did: that time does not count.
  if (!workers_.empty() && step > kTickEvery + options_.late_tick) stalled_ += step - kTickEvery;
  now_ = Now{mono, now.wall};
  engine_time_ = mono - stalled_;
  works_ = LargeWorks();
  classes_.BeginTurn(ToMillis(now_.wall) / 1000);
  orders_.BeginTurn();
  dispatcher_->BeginTurn();
  receipts_->BeginTurn();
  in_vain_.clear();
  OpenPayable();
}

void Engine::End() {
  std::size_t budget = Part(kSmallBudget);
  if (grouped_epoch_ != classes_.epoch()) StepRegrouping(budget);
  OpenPayable();  // before jobs change groups: who waits for what opens is found by where it stands
  if (std::size_t few = Part(kSmallBudget / 3); limit_epoch_ != limits_.epoch()) StepGrouping(few);
  ++commands_;
  if (orders_.Building() || orders_.Cleaning()) {
    if (!SmallBuild()) budget = std::min(budget, kBuildBesides);
    StepOrders(budget);
  }
  if (timers_.ToSweep(jobs_)) {
    MemoryPool::Scope scope(&memory_.jobs);
    timers_.Sweep(jobs_);
  }
  if (std::size_t few = kUnstagedAtOnce; !unstaged_.empty()) StepUnstaged(few);
  holds_->Renew();
  if (std::size_t few = Part(kSmallBudget / 3); celling_ || holds_->stale()) StepCells(few);
  if (std::size_t few = Part(kSmallBudget / 3); dispatcher_->Busy() || dealing_) StepDispatch(few);
  WakeWaiting();
}

WallTime Engine::Steady() const {
  return boot_.wall + std::chrono::duration_cast<milliseconds>(now_.mono - boot_.mono);
}

EngineJob* Engine::FindJob(JobId job) const { return jobs_.Find(job); }

EngineWorker* Engine::FindWorker(WorkerId worker) const {
  const auto found = workers_.find(worker);
  return found == workers_.end() ? nullptr : found->second.get();
}

void Engine::Refresh(EngineJob& job) {
  const bool open = job.state == JobState::kActive && !job.reviving && job.tasks.ready() > 0;
  if (!open && job.open) {
    dispatcher_->Close(job);
    orders_.Close(job);
    Ungroup(job);
  }
  orders_.SetReady(job, job.tasks.ready());
  if (open && job.open) dispatcher_->SetReady(job);
  if (open && !job.open && !orders_.MayTell()) {
    if (!job.opening) openings_.push_back(job.id());
    job.opening = true;
  } else if (open && !job.open) {
    job.opening = false;
    Group(job);
    orders_.Open(job);
    Promise(job);
    if (opened_.empty() || opened_.back() != job.cls) opened_.push_back(job.cls);
  }
  Recount(job);
}

void Engine::WakeWaiting() {
  ServeFed();
  for (const ClassId cls : orders_.TakeOpened()) opened_.push_back(cls);
  // Whoever waits for an order that is ready now may find anything in it.
  for (const Orders::Id order : orders_.TakeReady()) {
    for (KindId kind = 0; kind < waiting_.kinds(order); ++kind) woken_.push_back(kind);
  }
  if (opened_.empty() && woken_.empty()) return;
  if (paused_ || waiting_.size() == 0) {
    opened_.clear();
    woken_.clear();
  } else {
    // Whoever waits found nothing before: only the kinds that may run what opened can find something now.
    std::vector<KindId> kinds = std::exchange(woken_, {});
    std::vector<ClassId> opened = std::exchange(opened_, {});
    // Kinds that are woken for themselves may find anything: which of them is wanted most is asked of all that is open.
    const bool several = std::any_of(kinds.begin(), kinds.end(), [&](KindId kind) { return kind != kinds.front(); });
    for (const ClassId cls : opened) {
      const auto mask = classes_.Mask(cls);
      for (std::size_t word = 0; word < mask.size(); ++word) {
        for (std::uint64_t bits = mask[word]; bits != 0; bits &= bits - 1) {
          kinds.push_back(static_cast<KindId>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
        }
      }
    }
    if (several) {
      opened.clear();
      for (ClassId cls = 0; cls < classes_.class_slots(); ++cls) {
        if (orders_.HasOpen(cls)) opened.push_back(cls);
      }
    }
    Wake(std::move(kinds), opened);
  }
}

void Engine::Wake(std::vector<KindId> kinds, const std::vector<ClassId>& opened) {
  const bool ranked =
      std::any_of(opened.begin(), opened.end(), [this](ClassId cls) { return classes_.HasJobRank(cls); });
  // How much the jobs that opened want a worker of that kind.
  const auto wanted = [&](KindId kind) {
    if (!ranked) return 0.0;
    std::optional<double> best;
    for (const ClassId cls : opened) {
      if (!orders_.HasOpen(cls) || !classes_.Matches(kind, cls)) continue;
      const double rank = classes_.JobRank(kind, cls);
      best = std::max(best.value_or(rank), rank);
    }
    return best.value_or(0);
  };
  struct Turn {
    double wanted;
    std::uint64_t turn;
    Orders::Id order;
    KindId kind;
    LimitProfileId profile;
    bool operator<(const Turn& other) const {  // the greatest goes first
      return wanted != other.wanted ? wanted < other.wanted : turn > other.turn;
    }
  };
  std::priority_queue<Turn> turns;
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  for (Orders::Id order = 0; order < waiting_.orders(); ++order) {
    for (const KindId kind : kinds) {
      const Waiting::Lists* lists = waiting_.Of(order, kind);
      if (lists == nullptr) continue;
      for (const auto& [profile, list] : *lists) {
        turns.push({wanted(kind), list.begin()->waiting_turn, order, kind, profile});
      }
    }
  }
  while (!turns.empty()) {
    const Turn turn = turns.top();
    turns.pop();
    if (grants_left_ == 0 || asks_left_ == 0 || !orders_.MayStart()) {
      look_again_.push_back(turn.kind);
      continue;
    }
    EngineWorker* worker = waiting_.First(turn.order, turn.kind, turn.profile);
    if (worker == nullptr || !orders_.Ready(turn.order)) continue;
    if (in_vain_.contains({turn.order, turn.kind, turn.profile})) continue;
    // What wanted it most may be gone meanwhile.
    if (const double now = wanted(turn.kind); now != turn.wanted) {
      turns.push({now, worker->waiting_turn, turn.order, turn.kind, turn.profile});
      continue;
    }
    bool more = false;
    if (!Serve(*worker, &more)) ++stats_.woken_empty;
    // Where it found no more, nobody like it does.
    const EngineWorker* next = more ? waiting_.First(turn.order, turn.kind, turn.profile) : nullptr;
    if (next != nullptr) turns.push({wanted(turn.kind), next->waiting_turn, turn.order, turn.kind, turn.profile});
  }
}

EngineJob* Engine::Next(EngineWorker& worker, LimitTable::Drawn& drawn, std::size_t& work) {
  constexpr std::size_t kMostWork = 256;
  gate_.worker = worker.limited;
  for (;;) {
    auto* job =
        static_cast<EngineJob*>(dispatcher_->Pick(worker, worker.Pulls(), limits_.blocked() > 0 ? &gate_ : nullptr));
    work += dispatcher_->work();
    asks_left_ -= std::min(asks_left_, dispatcher_->asked());
    if (job == nullptr && !dispatcher_->unfinished()) return nullptr;
    if (job == nullptr || work > kMostWork) {
      look_again_.push_back(classes_.KindOf(worker.handle));
      return nullptr;
    }
    if (!Grouped(*job)) {
      const std::uint64_t before = limits_.matcher().evaluations();
      Group(*job);
      work += 1 + limits_.matcher().evaluations() - before + (job->holding ? job->holding->size() : 0) + orders_.cost();
    }
    if (job->group == kFreeGroup) return job;
    // If it is denied, its group is blocked, and the next look passes it by.
    LimitTable::Outcome outcome = limits_.Draw(job->group, worker.limited, job->terms->user, now_);
    if (outcome.allowed()) {
      drawn = std::move(outcome.drawn);
      return job;
    }
    ++stats_.limit_denials;
    ++work;
  }
}

bool Engine::Serve(EngineWorker& worker, bool* more) {
  constexpr std::uint32_t kGrantsExpected = 64;  // that room is made for
  if (paused_ || worker.draining || worker.away || !worker.registered) return false;
  std::vector<Grant> grants;
  if (!orders_.Ready(worker.Pulls())) return false;
  std::size_t work = 0;
  limits_.BeginTry();
  while (worker.credit > 0) {
    if (grants_left_ == 0 || (asks_left_ == 0 && !grants.empty()) || !orders_.MayStart()) {
      look_again_.push_back(classes_.KindOf(worker.handle));
      break;
    }
    LimitTable::Drawn drawn;
    EngineJob* next = Next(worker, drawn, work);
    if (next == nullptr) {
      NoteTry(worker);
      break;
    }
    EngineJob& job = *next;
    ++pops_;
    // One of a million is far away: all of it is on its way before the first part is looked at.
    Prefetch(&job, sizeof(job));
    const bool random = dispatcher_->random_task();
    const TaskIndex index = random ? job.tasks.RandomReady(rng_) : *job.tasks.FirstReady();
    Prefetch(job.terms.get(), sizeof(JobTerms));
    Prefetch(job.extras.get(), sizeof(JobExtras));
    if (grants.empty()) grants.reserve(std::min(worker.credit, kGrantsExpected));
    const Lease& lease = GrantOne(worker, job, index, drawn.size(), grants);
    if (!drawn.empty()) KeepDrawn(lease, std::move(drawn));
    --worker.credit;
    --grants_left_;
  }
  if (grants.empty()) return false;
  if (more != nullptr) *more = worker.credit == 0;
  if (worker.once) worker.credit = 0;
  if (worker.credit == 0) {
    EndPull(worker);
  } else if (worker.waiting()) {
    // It waits anew, behind those that have got nothing meanwhile.
    Unpark(worker);
    Park(worker);
  }
  stats_.granted += grants.size();
  journal_.effects().assignments.push_back(Assignment{worker.id, std::move(grants)});
  return true;
}

Lease& Engine::GrantOne(EngineWorker& worker, EngineJob& job, TaskIndex index, std::size_t limits_met,
                        std::vector<Grant>& grants) {
  const TakenFrom from = dispatcher_->Take(worker, job);
  std::optional<MemoryPool::Scope> scope(std::in_place, &memory_.jobs);
  const std::uint32_t used = job.tasks.Claim(index);
  Lease& lease = leases_.Grant(job.id(), index);
  scope.reset();
  lease.job = &job;
  lease.worker = worker.id;
  lease.attempt = used + 1;
  lease.granted = engine_time_;
  lease.granted_at = now_.wall;
  lease.ttl = job.terms->lease;
  lease.timeout = job.terms->timeout;
  worker.leases.push_back(lease);
  job.leases.push_back(lease);
  dispatcher_->Assigned(worker);
  Arm(worker, engine_time_ + (lease.timeout.count() > 0 ? std::min(lease.ttl, lease.timeout) : lease.ttl));
  if (job.started_at == WallTime{}) {
    job.started_at = now_.wall;
    journal_.MarkJob(job);
    journal_.Progress(job);
  }
  ByteWriter event = journal_.TaskEvent(EventType::kGrant, job, index, lease.task.lease.serial);
  event.Varint(worker.id.value);
  event.Varint(lease.attempt);
  event.Varint(static_cast<std::uint64_t>(ToMillis(now_.wall)));
  journal_.MarkQueue();
  NoteStart(worker, job, lease, from, limits_met);
  orders_.Leased(job, Stamp{ToMillis(now_.wall), lease.task.lease.serial});
  journal_.MarkJob(job);  // when it was picked is in its own record
  CountStart(job);
  Refresh(job);
  if (worker.leases.size() == worker.slots) Recount(worker);

  Grant grant;
  grant.task = lease.task;
  grant.attempt = lease.attempt;
  grant.lease = job.terms->lease;
  grant.timeout = job.terms->timeout;
  grant.count = job.tasks.count();
  grant.payload = PayloadRef{job.payload_set, job.payload_common, job.payload_per_task};
  if (job.extras) {
    grant.payload_prefix = job.extras->payload_prefix;
    grant.trace = job.extras->trace;
  }
  grants.push_back(std::move(grant));
  return lease;
}

bool Engine::HasEffects() const { return !journal_.effects().empty(); }

std::pair<Position, Effects> Engine::Take() {
  for (const JobId id : journal_.effects().progressed) {
    if (EngineJob* job = FindJob(id)) job->progressed = false;
  }
  return journal_.Take();
}

void Engine::SetPolicy(const Now& now, const StrategyPtr& policy, const Weights& weights) {
  Begin(now);
  orders_.SetPolicy(policy ? policy : DefaultPolicy());
  orders_.SetWeights({weights.begin(), weights.end()});
  users_.SetWeights(weights);
  End();
}

void Engine::PauseQueue(const Now& now) {
  Begin(now);
  if (!paused_) {
    paused_ = true;
    paused_since_ = now_.wall;
    journal_.Event(EventType::kQueuePaused).U8(1);
    journal_.MarkQueue();
  }
  End();
}

void Engine::ResumeQueue(const Now& now) {
  Begin(now);
  if (paused_) {
    paused_ = false;
    paused_since_.reset();
    journal_.Event(EventType::kQueuePaused).U8(0);
    journal_.MarkQueue();
    std::vector<KindId> kinds;
    for (KindId kind = 0; kind < classes_.kind_slots(); ++kind) kinds.push_back(kind);
    std::vector<ClassId> all;
    for (ClassId cls = 0; cls < classes_.class_slots(); ++cls) all.push_back(cls);
    Wake(std::move(kinds), all);
  }
  End();
}

}  // namespace allot
