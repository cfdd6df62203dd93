// Limits on starts inside the engine: which jobs look alike to them, what they hold back, and what opens with time.
#include <algorithm>
#include <bit>

#include "base/check.h"
#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "engine/errors.h"
#include "engine/pace.h"

namespace allot {

// --- Commands.

Result<LimitLease> Engine::CreateLimit(const Now& now, std::string_view uuid, const LimitSpec& spec) {
  Begin(now);
  if (auto admitted = AdmitLimit(spec); !admitted) return admitted.error();
  std::optional<MemoryPool::Scope> scope(std::in_place, &memory_.limits);
  Result<LimitLease> lease = limits_.Create(uuid, spec, now_);
  scope.reset();
  OnLimits();
  End();
  return lease;
}

Result<LimitLease> Engine::UpdateLimit(const Now& now, std::string_view uuid, const LimitSpec& spec) {
  Begin(now);
  // With other expressions it tells jobs apart anew.
  const std::vector<LimitView> before = limits_.List({std::nullopt, std::string(uuid)}, now_);
  if (!before.empty() && spec.expr && !SameExpressions(before.front().spec, spec)) {
    if (auto admitted = AdmitLimit(spec); !admitted) return admitted.error();
  }
  std::optional<MemoryPool::Scope> scope(std::in_place, &memory_.limits);
  Result<LimitLease> lease = limits_.Update(uuid, spec, now_);
  scope.reset();
  OnLimits();
  End();
  return lease;
}

Result<LimitLease> Engine::RenewLimit(const Now& now, std::string_view uuid, std::optional<Duration> expires_in) {
  Begin(now);
  Result<LimitLease> lease = limits_.Renew(uuid, expires_in, now_);
  End();
  return lease;
}

Result<void> Engine::DeleteLimit(const Now& now, std::string_view uuid) {
  Begin(now);
  std::optional<MemoryPool::Scope> scope(std::in_place, &memory_.limits);
  Result<void> deleted = limits_.Delete(uuid, now_);
  scope.reset();
  OnLimits();
  End();
  return deleted;
}

std::vector<LimitView> Engine::Limits(const Now& now, const LimitTable::Filter& filter) const {
  return limits_.List(filter, now);
}

void Engine::OnLimits() {
  if (limit_reads_ == limits_.worker_reads()) return;
  limit_reads_ = limits_.worker_reads();
  // All have other profiles, be it under the number of one that is gone, with which what it waited for was forgotten.
  std::vector<EngineWorker*> moved;
  waiting_.ForEachList([&](Orders::Id, KindId, LimitProfileId, WaitingWorkers& list) {
    for (EngineWorker& worker : list) moved.push_back(&worker);
  });
  for (EngineWorker* worker : moved) MoveAmong(*worker, worker->waiting_kind);
}

// --- Jobs.

expr::Ad Engine::AdOf(const EngineJob& job) {
  const Meta none;
  return AdOf(*job.terms, job.key, job.tasks.count(), job.extras ? job.extras->meta : none);
}

bool Engine::Grouped(const EngineJob& job) const {
  return job.limit_epoch == static_cast<std::uint32_t>(limits_.epoch());
}

void Engine::Group(EngineJob& job) {
  if (Grouped(job)) return;
  MemoryPool::Scope scope(&memory_.limits);
  job.limit_epoch = static_cast<std::uint32_t>(limits_.epoch());
  const GroupId before = job.group;
  const GroupId group = limits_.AddJob([&job] { return AdOf(job); });
  limits_.CountUser(group, job.terms->user, now_);
  if (group != before) {
    // Who waits for its old group to be able to pay would not hear of the new one.
    const bool waits = job.open && limits_.BlockedAnywhere(before);
    if (waits && (opened_.empty() || opened_.back() != job.cls)) opened_.push_back(job.cls);
    dispatcher_->BeforeGroup(job);
    orders_.SetGroup(job, group);
    dispatcher_->AfterGroup(job);
    Recell(job);
  }
  limits_.UncountUser(before, job.terms->user, now_);
  limits_.DropJob(before, now_);
}

void Engine::Ungroup(EngineJob& job) {
  CHECK(!job.open);
  job.limit_epoch = 0;
  if (job.group == kFreeGroup) return;
  const GroupId before = job.group;
  orders_.SetGroup(job, kFreeGroup);
  MemoryPool::Scope scope(&memory_.limits);
  limits_.UncountUser(before, job.terms->user, now_);
  limits_.DropJob(before, now_);
}

bool Engine::StepGrouping(std::size_t& budget) {
  constexpr std::size_t kGroupCost = 3;
  if (limit_epoch_ == limits_.epoch()) return true;
  if (limit_walk_epoch_ != limits_.epoch()) {
    limit_walk_epoch_ = limits_.epoch();
    grouping_ = {};
  }
  const bool all = jobs_.Walk(grouping_, [&](EngineJob* job) {
    if (budget == 0 || !orders_.MayTell()) return false;
    --budget;
    if (job == nullptr || !job->open || Grouped(*job)) return true;
    const std::uint64_t before = limits_.matcher().evaluations();
    Group(*job);
    const std::size_t shares = job->holding ? job->holding->size() : 0;
    budget -= std::min<std::uint64_t>(budget, kGroupCost + limits_.matcher().evaluations() - before + shares);
    return true;
  });
  if (!all) return false;
  limit_epoch_ = limit_walk_epoch_;
  return true;
}

// --- Starts.

StartGate::Held Engine::Gate::Ask(std::uint32_t group) {
  MemoryPool::Scope scope(&engine_.memory_.limits);  // not that of the order that asks
  const bool everywhere = engine_.limits_.Blocked(group);
  if (!everywhere && !engine_.limits_.Blocked(group, worker, engine_.now_)) return Held::kNo;
  const auto [at, fresh] = engine_.held_at_.insert_or_assign(group, engine_.now_.mono);
  if (fresh) engine_.held_checks_.emplace_back(engine_.now_.mono + kGroupStandsApart, group);
  return everywhere ? Held::kEverywhere : Held::kHere;
}

StartGate::Held Engine::Gate::AskClosely(std::uint32_t group) {
  MemoryPool::Scope scope(&engine_.memory_.limits);
  if (const Held held = Ask(group); held != Held::kNo) return held;
  // Where many open at one moment, what one of them takes is gone for the others.
  return engine_.limits_.Probe(group, worker, engine_.now_) ? Held::kNo : Ask(group);
}

void Engine::NoteTry(const EngineWorker& worker) {
  // Of very many that are blocked some are counted with this try, and others with the next.
  constexpr std::size_t kMostNoted = 64;
  if (limits_.blocked() == 0) return;
  MemoryPool::Scope scope(&memory_.limits);
  for (const GroupId group : orders_.Aside(worker.Pulls(), classes_.KindOf(worker.handle), kMostNoted)) {
    limits_.NoteTry(group, worker.limited, now_);
  }
}

void Engine::KeepDrawn(const Lease& lease, LimitTable::Drawn drawn) {
  const std::uint64_t serial = lease.task.lease.serial;
  if (draws_.size() >= kMaxDraws) {
    // What began long ago has left; now and then half of it is forgotten.
    std::vector<std::uint64_t> serials;
    for (const auto& [of, some] : draws_) serials.push_back(of);
    const auto middle = serials.begin() + static_cast<std::ptrdiff_t>(serials.size() / 2);
    std::nth_element(serials.begin(), middle, serials.end());
    boost::unordered::erase_if(draws_, [&](const auto& entry) { return entry.first < *middle; });
  }
  draws_.emplace(serial, std::move(drawn));
}

void Engine::Refund(const Lease& lease) {
  const auto drawn = draws_.find(lease.task.lease.serial);
  if (drawn == draws_.end()) return;
  limits_.Refund(drawn->second, now_);
  draws_.erase(drawn);
}

void Engine::OpenPayable() {
  const std::optional<Instant> next = limits_.NextPayable();
  if (!next || *next > now_.mono) return;
  // Every pick asks about each that is open and stands apart.
  const std::size_t active = orders_.active_groups();
  if (active >= kMaxOpened) return;
  std::optional<MemoryPool::Scope> scope(std::in_place, &memory_.limits);
  const std::vector<LimitTable::Blocking> opened = limits_.TakePayable(now_, kMaxOpened - active);
  scope.reset();
  std::vector<std::uint64_t> kinds;
  for (const LimitTable::Blocking& group : opened) {
    orders_.OpenGroup(group.group, waiting_.size() > 0 ? &kinds : nullptr);
    if (!limits_.Applies(group.group)) orders_.JoinGroup(group.group);  // and will not be held again
    if (const auto held = held_at_.find(group.group); held != held_at_.end()) held->second = now_.mono;
  }
  for (std::size_t word = 0; word < kinds.size(); ++word) {
    for (std::uint64_t bits = kinds[word]; bits != 0; bits &= bits - 1) {
      woken_.push_back(static_cast<KindId>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
    }
  }
}

bool Engine::StepLimits(std::size_t& budget) {
  for (LimitName& name : limits_.Expire(now_)) {
    journal_.effects().limit_notices.push_back({LimitNotice::Kind::kExpired, std::move(name), {}});
  }
  OnLimits();
  OpenPayable();  // before groups that are open join the others: who waits for them is found by where they stand
  if (const auto next = limits_.NextPayable(); next && *next <= now_.mono && orders_.active_groups() >= kMaxOpened) {
    orders_.JoinActive();  // which makes room for those
  }
  for (LimitName& name : limits_.TakeCostWarnings()) {
    journal_.effects().limit_notices.push_back({LimitNotice::Kind::kCostFailed, std::move(name), {}});
  }
  for (LimitSummary& summary : limits_.TakeSummaries(now_)) {
    journal_.effects().limit_notices.push_back({LimitNotice::Kind::kSummary, summary.limit, std::move(summary)});
  }
  woken_.insert(woken_.end(), look_again_.begin(), look_again_.end());
  look_again_.clear();
  while (!held_checks_.empty() && held_checks_.front().first <= now_.mono) {
    if (budget == 0) return false;
    --budget;
    const GroupId group = held_checks_.front().second;
    held_checks_.pop_front();
    const auto held = held_at_.find(group);
    if (limits_.BlockedAnywhere(group)) held->second = now_.mono;
    if (const Instant due = held->second + kGroupStandsApart; due > now_.mono) {
      held_checks_.emplace_back(due, group);
    } else {
      held_at_.erase(held);
      orders_.JoinGroup(group);
    }
  }
  return StepGrouping(budget) && orders_.StepJoining(budget);
}

}  // namespace allot
