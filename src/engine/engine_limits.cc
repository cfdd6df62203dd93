// Limits on starts inside the engine: which jobs look alike to them, what they hold back, and what opens with time.
#include <algorithm>

#include "base/check.h"
#include "engine/engine.h"
#include "engine/errors.h"
#include "engine/pace.h"

namespace allot {

// --- Commands.

Result<LimitLease> Engine::CreateLimit(const Now& now, std::string_view uuid, const LimitSpec& spec) {
  Begin(now);
  Result<LimitLease> lease = limits_.Create(uuid, spec, now_);
  End();
  return lease;
}

Result<LimitLease> Engine::UpdateLimit(const Now& now, std::string_view uuid, const LimitSpec& spec) {
  Begin(now);
  Result<LimitLease> lease = limits_.Update(uuid, spec, now_);
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
  Result<void> deleted = limits_.Delete(uuid, now_);
  End();
  return deleted;
}

std::vector<LimitView> Engine::Limits(const Now& now, const LimitTable::Filter& filter) const {
  return limits_.List(filter, now);
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
  job.limit_epoch = static_cast<std::uint32_t>(limits_.epoch());
  const GroupId before = job.group;
  const GroupId group = limits_.AddJob([&job] { return AdOf(job); });
  if (group != before) orders_.SetGroup(job, group);
  limits_.DropJob(before, now_);
}

void Engine::Ungroup(EngineJob& job) {
  CHECK(!job.open);
  job.limit_epoch = 0;
  if (job.group == kFreeGroup) return;
  const GroupId before = job.group;
  orders_.SetGroup(job, kFreeGroup);
  limits_.DropJob(before, now_);
}

bool Engine::StepGrouping(std::size_t& budget) {
  constexpr std::size_t kGroupCost = 2;
  if (limit_epoch_ == limits_.epoch()) return true;
  if (limit_walk_epoch_ != limits_.epoch()) {
    limit_walk_epoch_ = limits_.epoch();
    limit_walk_from_ = JobId{};
  }
  auto it = std::lower_bound(by_id_.begin(), by_id_.end(), limit_walk_from_,
                             [](const auto& entry, JobId key) { return entry.first < key; });
  for (; it != by_id_.end(); ++it) {
    if (budget == 0) {
      limit_walk_from_ = it->first;
      return false;
    }
    --budget;
    EngineJob* job = it->second;
    if (job == nullptr || !job->open || Grouped(*job)) continue;
    budget -= std::min(budget, kGroupCost);
    Group(*job);
  }
  limit_epoch_ = limit_walk_epoch_;
  return true;
}

}  // namespace allot
