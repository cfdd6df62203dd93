// SPDX-License-Identifier: Apache-2.0
#include "engine/stages/limiting.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/sampled_kinds.h"
#include "base/sharded_set.h"
#include "engine/jobs/job_ad.h"
#include "engine/parts.h"

namespace allot {

void Limiting::OnLimits() {
  if (limit_reads_ == p_.limits.worker_reads()) return;
  limit_reads_ = p_.limits.worker_reads();
  // All have other profiles, be it under the number of one that is gone, with which what it waited for was forgotten.
  std::vector<EngineWorker*> moved;
  p_.waiting.ForEachList([&](Orders::Id, KindId, LimitProfileId, WaitingWorkers& list) {
    for (EngineWorker& worker : list) moved.push_back(&worker);
  });
  for (EngineWorker* worker : moved) p_.pulls.MoveAmong(*worker, worker->waiting_kind);
}

// --- Jobs.

bool Limiting::Grouped(const EngineJob& job) const {
  return job.limit_epoch == static_cast<std::uint32_t>(p_.limits.epoch());
}

void Limiting::Group(EngineJob& job) {
  if (Grouped(job)) return;
  MemoryPool::Scope scope(&p_.memory.limits);
  job.limit_epoch = static_cast<std::uint32_t>(p_.limits.epoch());
  const GroupId before = job.group;
  const GroupId group = p_.limits.AddJob([&job] { return AdOf(job); });
  p_.limits.users().Count(group, job.terms->user, p_.clock.now);
  if (group != before) {
    // Who waits for its old group to be able to pay would not hear of the new one.
    if (job.open && p_.limits.waits().BlockedAnywhere(before)) p_.wakes.Opened(job.cls);
    p_.dispatcher.BeforeGroup(job);
    p_.orders.SetGroup(job, group);
    p_.dispatcher.AfterGroup(job);
    p_.tallies.Recell(job);
  }
  p_.limits.users().Uncount(before, job.terms->user, p_.clock.now);
  p_.limits.DropJob(before, p_.clock.now);
}

void Limiting::Ungroup(EngineJob& job) {
  CHECK(!job.open);
  job.limit_epoch = 0;
  if (job.group == kFreeGroup) return;
  const GroupId before = job.group;
  p_.orders.SetGroup(job, kFreeGroup);
  MemoryPool::Scope scope(&p_.memory.limits);
  p_.limits.users().Uncount(before, job.terms->user, p_.clock.now);
  p_.limits.DropJob(before, p_.clock.now);
}

bool Limiting::StepGrouping(std::size_t& budget) {
  constexpr std::size_t kGroupCost = 3;
  if (limit_epoch_ == p_.limits.epoch()) return true;
  if (limit_walk_epoch_ != p_.limits.epoch()) {
    limit_walk_epoch_ = p_.limits.epoch();
    grouping_ = {};
  }
  const bool all = p_.jobs.Walk(grouping_, [&](EngineJob* job) {
    if (budget == 0 || !p_.orders.updates().MayUpdate()) return false;
    --budget;
    if (job == nullptr || !job->open || Grouped(*job)) return true;
    const std::uint64_t before = p_.limits.matcher().evaluations();
    Group(*job);
    const std::size_t promises = job->promises ? job->promises->size() : 0;
    budget -= std::min<std::uint64_t>(budget, kGroupCost + p_.limits.matcher().evaluations() - before + promises);
    return true;
  });
  if (!all) return false;
  limit_epoch_ = limit_walk_epoch_;
  return true;
}

// --- Starts.

StartGate* Limiting::GateOf(LimitTable::WorkerHandle worker) {
  gate_.worker = worker;
  return p_.limits.waits().size() > 0 ? &gate_ : nullptr;
}

LimitTable::Outcome Limiting::Draw(const EngineJob& job, LimitTable::WorkerHandle worker) {
  return p_.limits.Draw(job.group, worker, job.terms->user, p_.clock.now);
}

StartGate::Blocked Limiting::Gate::Ask(std::uint32_t group) {
  MemoryPool::Scope scope(&of_.p_.memory.limits);  // not that of the order that asks
  const bool everywhere = of_.p_.limits.waits().Blocked(group);
  if (!everywhere && !of_.p_.limits.waits().Blocked(group, worker, of_.p_.clock.now)) return Blocked::kNo;
  const auto [at, fresh] = of_.blocked_at_.insert_or_assign(group, of_.p_.clock.now.mono);
  if (fresh) of_.blocked_checks_.emplace_back(of_.p_.clock.now.mono + kGroupStandsApart, group);
  return everywhere ? Blocked::kEverywhere : Blocked::kHere;
}

StartGate::Blocked Limiting::Gate::AskClosely(std::uint32_t group) {
  MemoryPool::Scope scope(&of_.p_.memory.limits);
  if (const Blocked blocked = Ask(group); blocked != Blocked::kNo) return blocked;
  // Where many open at one moment, what one of them takes is gone for the others.
  return of_.p_.limits.Probe(group, worker, of_.p_.clock.now) ? Blocked::kNo : Ask(group);
}

void Limiting::NoteTry(const EngineWorker& worker) {
  // Of very many that are blocked some are counted with this try, and others with the next.
  constexpr std::size_t kMostNoted = 64;
  if (p_.limits.waits().size() == 0) return;
  MemoryPool::Scope scope(&p_.memory.limits);
  for (const GroupId group : p_.orders.index(worker.Pulls()).Aside(p_.classes.KindOf(worker.handle), kMostNoted)) {
    p_.limits.users().NoteTry(group, worker.limited, p_.clock.now);
  }
}

void Limiting::KeepDrawn(const Lease& lease, LimitTable::Drawn drawn) {
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

void Limiting::Refund(const Lease& lease) {
  const auto drawn = draws_.find(lease.task.lease.serial);
  if (drawn == draws_.end()) return;
  p_.limits.Refund(drawn->second, p_.clock.now);
  draws_.erase(drawn);
}

void Limiting::OpenPayable() {
  const std::optional<Instant> next = p_.limits.waits().NextPayable();
  if (!next || *next > p_.clock.now.mono) return;
  // Every pick asks about each that is open and stands apart.
  const std::size_t apart = p_.orders.groups().opened();
  if (apart >= kMaxOpened) return;
  std::optional<MemoryPool::Scope> scope(std::in_place, &p_.memory.limits);
  const std::vector<LimitWaits::Blocking> opened = p_.limits.waits().TakePayable(p_.clock.now, kMaxOpened - apart);
  scope.reset();
  std::vector<std::uint64_t> kinds;
  for (const LimitWaits::Blocking& group : opened) {
    p_.orders.groups().Open(group.group, p_.waiting.size() > 0 ? &kinds : nullptr);
    if (!p_.limits.looks().Applies(group.group)) p_.orders.groups().Join(group.group);  // and will not be blocked again
    if (const auto blocked = blocked_at_.find(group.group); blocked != blocked_at_.end())
      blocked->second = p_.clock.now.mono;
  }
  for (std::size_t word = 0; word < kinds.size(); ++word) {
    for (std::uint64_t bits = kinds[word]; bits != 0; bits &= bits - 1) {
      p_.wakes.kinds.push_back(static_cast<KindId>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
    }
  }
}

// --- Memory.

// Limits may come faster than jobs are grouped by them. So the same jobs are looked at until all are: two of them are
// alike if they are alike to each limit that has come since.
Result<void> Limiting::Admit(const LimitSpec& spec) {
  constexpr std::uint64_t kLimitBytes = 16 * 1024;
  constexpr std::size_t kLookedAt = 256;
  if (!spec.expr || !p_.budget.any()) return p_.budget.Admit(kLimitBytes, "another limit");
  LimitSample sample = limit_epoch_ == p_.limits.epoch() ? LimitSample{} : limit_sample_;
  if (sample.jobs.empty()) {
    sample.stride = std::max<std::size_t>(1, p_.jobs.places() / kLookedAt);
    for (std::size_t i = 0; i < p_.jobs.places(); i += sample.stride) {
      const EngineJob* job = p_.jobs.At(i);
      if (job != nullptr && job->open) sample.jobs.emplace_back(job->id(), job->group);
    }
  }
  LimitMatcher matcher;
  matcher.Put(0, spec.expr, spec.cost);
  SampledKinds groups;
  for (auto& [id, seen] : sample.jobs) {
    const EngineJob* job = p_.jobs.Find(id);
    if (job == nullptr) continue;
    seen = Mixed(seen + Mixed(matcher.AddJob([job] { return AdOf(*job); })));
    groups.Add(seen);
  }
  const auto most = static_cast<double>(sample.jobs.size() * sample.stride);
  const auto after = static_cast<std::uint64_t>(std::min(groups.Estimate(), most));
  const std::uint64_t before = p_.limits.matcher().groups();
  sample.bytes = after * (kGroupBytes + (p_.limits.size() + 1) * kChargeBytes) +
                 (after > before ? (after - before) * p_.orders.indices().JobBytes() : 0);
  const std::uint64_t there = p_.memory.limits.bytes() + promised_bytes();
  auto admitted = p_.budget.Admit(kLimitBytes + (sample.bytes > there ? sample.bytes - there : 0), "another limit");
  if (admitted) limit_sample_ = std::move(sample);
  return admitted;
}

std::uint64_t Limiting::promised_bytes() const {
  if (limit_epoch_ == p_.limits.epoch()) return 0;
  const std::uint64_t there = p_.memory.limits.bytes();
  return limit_sample_.bytes > there ? limit_sample_.bytes - there : 0;
}

// --- In steps.

void Limiting::MakeRoom(std::size_t& budget) {
  const std::optional<Instant> next = p_.limits.waits().NextPayable();
  if (!next || *next > p_.clock.now.mono || p_.orders.groups().opened() < kMaxOpened) return;
  p_.orders.groups().JoinOpened();
  std::size_t part = budget / 2;
  budget -= part;
  p_.orders.groups().Step(part);
  budget += part;
}

bool Limiting::Step(std::size_t& budget) {
  for (LimitName& name : p_.limits.Expire(p_.clock.now)) {
    p_.journal.effects().limit_notices.push_back({LimitNotice::Kind::kExpired, std::move(name), {}});
  }
  OnLimits();
  OpenPayable();  // before groups that are open join the others: who waits for them is found by where they stand
  MakeRoom(budget);
  for (LimitName& name : p_.limits.reports().TakeCostWarnings()) {
    p_.journal.effects().limit_notices.push_back({LimitNotice::Kind::kCostFailed, std::move(name), {}});
  }
  for (LimitSummary& summary : p_.limits.reports().TakeSummaries(p_.clock.now)) {
    p_.journal.effects().limit_notices.push_back({LimitNotice::Kind::kSummary, summary.limit, std::move(summary)});
  }
  p_.wakes.kinds.insert(p_.wakes.kinds.end(), p_.wakes.again.begin(), p_.wakes.again.end());
  p_.wakes.again.clear();
  while (!blocked_checks_.empty() && blocked_checks_.front().first <= p_.clock.now.mono) {
    if (budget == 0) return false;
    --budget;
    const GroupId group = blocked_checks_.front().second;
    blocked_checks_.pop_front();
    const auto blocked = blocked_at_.find(group);
    if (p_.limits.waits().BlockedAnywhere(group)) blocked->second = p_.clock.now.mono;
    if (const Instant due = blocked->second + kGroupStandsApart; due > p_.clock.now.mono) {
      blocked_checks_.emplace_back(due, group);
    } else {
      blocked_at_.erase(blocked);
      p_.orders.groups().Join(group);
    }
  }
  return StepGrouping(budget) && p_.orders.groups().Step(budget);
}

void Limiting::AfterCommand(std::size_t&) {
  OpenPayable();  // before jobs change groups: who waits for what opens is found by where it stands
  std::size_t few = p_.pace.Part(kSmallBudget / 3);
  if (works() > 0) StepGrouping(few);
}

std::size_t Limiting::StepBudget() const { return p_.pace.Part(kTickBudget / 2); }

void Limiting::AddWakes(NextTick& next) const {
  if (works() > 0 || p_.orders.groups().Joining() || !p_.wakes.again.empty()) next.AtOnce();
  for (const std::optional<Instant>& at :
       {p_.limits.NextExpiry(), p_.limits.waits().NextPayable(), p_.limits.reports().NextSummary()}) {
    if (at) next.At(*at);
  }
  if (!blocked_checks_.empty()) next.At(blocked_checks_.front().first);
}

std::size_t Limiting::works() const { return limit_epoch_ == p_.limits.epoch() ? 0 : 1; }

}  // namespace allot
