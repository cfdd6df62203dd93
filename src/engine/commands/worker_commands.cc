// SPDX-License-Identifier: Apache-2.0
#include "engine/commands/worker_commands.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/bounds.h"
#include "base/check.h"
#include "engine/errors.h"
#include "engine/jobs/job_ad.h"
#include "engine/parts.h"

namespace allot {

Result<RegisterAnswer> WorkerCommands::Register(const Now& now, const WorkerSpec& spec,
                                                std::optional<std::uint64_t> key) {
  p_.Begin(now);
  CHECK(spec.id);
  EngineWorker* worker = p_.workers.Find(spec.id);
  if (key && p_.leases.WorkerKey(spec.id) != *key) return UnknownWorker(spec.id);
  CHECK(key || worker == nullptr);
  // Everything that can fail comes first, so that who is refused is not known afterwards.
  if (worker == nullptr && p_.workers.size() >= bounds::kMaxWorkers) {
    return Error{Code::kTooManyWorkers, "the queue has as many workers as it may", "use more slots on fewer workers"};
  }
  if (spec.requirements || spec.rank) {
    EngineWorker as;
    as.name = spec.name;
    as.attributes = spec.attributes;
    as.properties = spec.properties;
    as.requirements = spec.requirements;
    as.rank = spec.rank;
    if (auto admitted = p_.matching.AdmitReads(TraitsOf(as)); !admitted) return admitted.error();
  }
  constexpr std::uint64_t kWorkerBytes = 4096;  // or so, with what it shows
  // Not as soon as the budget is used up: workers are what works it off.
  if (worker == nullptr && !p_.budget.LooksFit()) return p_.budget.Admit(kWorkerBytes, "another worker").error();
  const StrategyPtr strategy = spec.strategy ? spec.strategy : DefaultStrategy();
  const std::string charged_to = !spec.user.empty()    ? "user " + spec.user
                                 : !spec.token.empty() ? "token " + spec.token
                                                       : std::string();
  auto order = p_.strategies.Use(strategy, charged_to);
  if (!order) return order.error();
  std::optional<MemoryPool::Scope> scope(std::in_place, &p_.memory.workers);
  if (worker == nullptr) {
    worker = &p_.workers.Stub(spec.id);
    p_.queue.SawId(spec.id.value);
  }
  p_.pulls.End(*worker);
  const bool known = worker->registered;
  if (known) p_.strategies.Unuse(worker->order);
  worker->charged_to = charged_to;
  worker->strategy = strategy;
  worker->order = *order;
  if (worker->away) worker->left = false;
  p_.workers.SetAway(*worker, false);
  worker->name = spec.name;
  if (worker->tags != spec.tags) p_.workers.RememberTags(*worker, p_.clock.now.wall);
  worker->tags = spec.tags;
  worker->properties = spec.properties;
  worker->attributes = spec.attributes;
  worker->requirements = spec.requirements;
  worker->rank = spec.rank;
  p_.workers.SetRegistered(*worker, spec.slots);
  p_.orders.SetSlots(p_.workers.slots());
  worker->connected = spec.connected;
  worker->address = spec.address;
  worker->user = spec.user;
  // An order to drain outlives a lost connection, and is repeated: it may have been lost with it.
  if (worker->draining) p_.journal.effects().drains.push_back(spec.id);
  if (known) {
    const WorkerTraits traits = TraitsOf(*worker);
    p_.limits.ChangeWorker(worker->limited, traits.ad, p_.clock.now);
    MemoryPool::Scope classes(&p_.memory.classes);
    p_.classes.ChangeWorker(worker->handle, traits);
  } else {
    worker->registered_at = p_.clock.now.wall;
    const WorkerTraits traits = TraitsOf(*worker);
    worker->limited = p_.limits.AddWorker(traits.ad);
    MemoryPool::Scope classes(&p_.memory.classes);
    worker->handle = p_.classes.AddWorker(traits);
  }
  scope.reset();
  p_.leasing.Seen(*worker);

  RegisterAnswer answer;
  answer.worker = spec.id;
  answer.key = p_.leases.WorkerKey(spec.id);
  std::unordered_set<std::uint64_t> kept;
  for (const TaskRef& task : spec.resume) {
    const Lease* lease = p_.leases.Find(task);
    const bool own = lease != nullptr && lease->worker == spec.id;
    if (own) kept.insert(task.lease.serial);
    (own ? answer.resumed : answer.lost).push_back(task);
  }
  std::vector<Lease*> unlisted;
  for (Lease& lease : worker->leases) {
    if (!kept.contains(lease.task.lease.serial)) unlisted.push_back(&lease);
  }
  // What was granted since the last Take() went to the connection before, and with it: it must not reach the new one.
  std::erase_if(p_.journal.effects().grant_batches, [&](const GrantBatch& batch) {
    if (batch.worker != spec.id) return false;
    for (const Grant& grant : batch.grants) {
      if (const Lease* lease = p_.leases.Find(grant.task)) p_.limiting.Refund(*lease);
    }
    return true;
  });
  p_.blocked.OnWorkers();
  p_.tallies.Recount(*worker);
  for (Lease* lease : unlisted) p_.leasing.GiveBack(*lease, false, "");
  for (Lease& lease : worker->leases) {
    const JobState state = lease.job->state;
    if (Ended(state))
      p_.journal.effects().stop_requests.push_back(StopRequest{spec.id, lease.task, Stopping::ReasonFor(state)});
  }
  p_.leasing.ArmNext(*worker);
  p_.dealing.UpdateRegistration(*worker);
  p_.End();
  return answer;
}

Result<void> WorkerCommands::Heartbeat(const Now& now, WorkerId id) {
  p_.Begin(now);
  EngineWorker* worker = p_.workers.FindRegistered(id);
  if (worker == nullptr) return UnknownWorker(id);
  p_.leasing.Seen(*worker);
  p_.End();
  return {};
}

Result<void> WorkerCommands::Pull(const Now& now, WorkerId id, const PullOptions& options) {
  p_.Begin(now);
  EngineWorker* worker = p_.workers.FindRegistered(id);
  if (worker == nullptr) return UnknownWorker(id);
  p_.leasing.Seen(*worker);
  std::optional<Orders::Id> order;
  if (options.strategy) {
    auto used = p_.strategies.Use(options.strategy, worker->charged_to);
    if (!used) return used.error();
    order = *used;
  }
  // Who waits keeps its place, unless it asks for something else.
  if (order || worker->pull_strategy) p_.pulls.End(*worker);
  worker->pull_until.reset();
  // What it holds counts in its credit, so that one worker cannot lease without end.
  const std::size_t running = std::min<std::size_t>(worker->leases.size(), bounds::kMaxCredit);
  worker->credit = std::min(options.credit, static_cast<std::uint32_t>(bounds::kMaxCredit - running));
  worker->once = options.once;
  if (order) {
    worker->pull_strategy = options.strategy;
    worker->pull_order = *order;
  }
  if (options.wait) worker->pull_until = p_.clock.time + *options.wait;
  p_.dealing.UpdateRegistration(*worker);  // it may have been passed over
  // Whoever does not wait for the rest gets all of it now, or what many orders can be updated by at once.
  if (options.once || (options.wait && options.wait->count() <= 0)) p_.starts.Allow(bounds::kMaxCredit);
  const bool served = worker->credit > 0 && p_.starts.Serve(*worker);
  if (worker->credit == 0) {
    p_.pulls.End(*worker);
    if (!served && options.once) p_.journal.effects().grant_batches.push_back(GrantBatch{id, {}});
  } else if (worker->draining || worker->away || (options.wait && options.wait->count() <= 0)) {
    p_.pulls.End(*worker);
    if (options.once) p_.journal.effects().grant_batches.push_back(GrantBatch{id, {}});
  } else {
    p_.pulls.Park(*worker);
    if (worker->pull_until) p_.leasing.Arm(*worker, *worker->pull_until);
  }
  p_.leasing.ArmIdle(*worker);
  p_.End();
  return {};
}

Result<std::vector<ReportVerdict>> WorkerCommands::ReportAll(const Now& now, WorkerId id,
                                                             std::span<const Report> reports) {
  p_.Begin(now);
  EngineWorker* worker = p_.workers.FindRegistered(id);
  if (worker == nullptr) return UnknownWorker(id);
  p_.leasing.Seen(*worker);
  std::vector<ReportVerdict> verdicts;
  verdicts.reserve(reports.size());
  for (const Report& report : reports) verdicts.push_back(p_.leasing.ReportOne(report));
  p_.End();
  return verdicts;
}

Result<std::vector<bool>> WorkerCommands::Extend(const Now& now, WorkerId id, std::span<const TaskRef> tasks) {
  p_.Begin(now);
  EngineWorker* worker = p_.workers.FindRegistered(id);
  if (worker == nullptr) return UnknownWorker(id);
  p_.leasing.Seen(*worker);
  std::vector<bool> own;
  own.reserve(tasks.size());
  for (const TaskRef& task : tasks) {
    const Lease* lease = p_.leases.Find(task);
    own.push_back(lease != nullptr && lease->worker == id);
  }
  p_.End();
  return own;
}

Result<void> WorkerCommands::NoteProgress(const Now& now, WorkerId id, std::span<ProgressReport> reports) {
  p_.Begin(now);
  EngineWorker* worker = p_.workers.FindRegistered(id);
  if (worker == nullptr) return UnknownWorker(id);
  p_.leasing.Seen(*worker);
  {
    MemoryPool::Scope scope(&p_.memory.jobs);
    for (ProgressReport& report : reports) {
      const Lease* lease = p_.leases.Find(report.task);
      if (lease != nullptr && lease->worker == id) p_.progress.Set(report.task, std::move(report.progress));
    }
  }
  p_.End();
  return {};
}

Result<void> WorkerCommands::Drain(const Now& now, WorkerId id) {
  p_.Begin(now);
  EngineWorker* worker = p_.workers.FindRegistered(id);
  if (worker == nullptr) return UnknownWorker(id);
  if (!worker->draining) {
    p_.workers.SetDraining(*worker, true);
    p_.tallies.Recount(*worker);
    if (worker->waiting() && worker->once) p_.journal.effects().grant_batches.push_back(GrantBatch{id, {}});
    p_.pulls.End(*worker);
    p_.journal.effects().drains.push_back(id);
    p_.dealing.UpdateRegistration(*worker);
    p_.leasing.ArmIdle(*worker);
  }
  p_.End();
  return {};
}

void WorkerCommands::Disconnect(const Now& now, WorkerId id) {
  p_.Begin(now);
  EngineWorker* worker = p_.workers.Find(id);
  if (worker != nullptr && worker->registered && !worker->away) {
    p_.pulls.End(*worker);
    worker->connected = false;
    p_.workers.SetAway(*worker, true);
    p_.tallies.Recount(*worker);
    p_.dealing.UpdateRegistration(*worker);
    worker->away_until = p_.clock.time + p_.options.worker_grace;
    p_.leasing.Arm(*worker, worker->away_until);
  }
  p_.End();
}

void WorkerCommands::Unregister(const Now& now, WorkerId id) {
  p_.Begin(now);
  if (EngineWorker* worker = p_.workers.FindRegistered(id)) p_.leasing.Unregister(*worker);
  p_.End();
}

void WorkerCommands::Undelivered(const Now& now, std::span<const TaskRef> tasks) {
  p_.Begin(now);
  for (const TaskRef& task : tasks) {
    if (Lease* lease = p_.leases.Find(task)) {
      p_.limiting.Refund(*lease);
      p_.leasing.GiveBack(*lease, false, "");
    }
  }
  p_.End();
}

Result<void> WorkerCommands::Change(const Now& now, WorkerId id, const WorkerChange& change) {
  p_.Begin(now);
  EngineWorker* worker = p_.workers.FindRegistered(id);
  if (worker == nullptr) return UnknownWorker(id);
  if (change.requirements || change.rank) {
    WorkerTraits traits = *p_.classes.TraitsOf(worker->handle);
    if (change.requirements) traits.requirements = *change.requirements;
    if (change.rank) traits.rank = *change.rank;
    if (auto admitted = p_.matching.AdmitReads(traits); !admitted) return admitted.error();
  }
  StrategyPtr strategy;
  if (change.strategy) strategy = *change.strategy ? *change.strategy : DefaultStrategy();
  std::optional<Orders::Id> order;
  if (strategy) {
    auto used = p_.strategies.Use(strategy, worker->charged_to);
    if (!used) return used.error();
    order = *used;
  }
  if (change.tags) {
    p_.workers.RememberTags(*worker, p_.clock.now.wall);
    worker->tags = *change.tags;
  }
  if (change.properties) worker->properties = *change.properties;
  if (change.attributes) worker->attributes = *change.attributes;
  if (change.requirements) worker->requirements = *change.requirements;
  if (change.rank) worker->rank = *change.rank;
  if (order) {
    const bool waits = worker->waiting() && !worker->pull_strategy;
    const Orders::Id before = worker->order;
    worker->strategy = strategy;
    worker->order = *order;
    if (waits) p_.pulls.MoveAmong(*worker, worker->waiting_kind);
    p_.strategies.Unuse(before);
  }
  p_.workers.CrewChanged();
  const WorkerTraits traits = TraitsOf(*worker);
  p_.limits.ChangeWorker(worker->limited, traits.ad, p_.clock.now);
  MemoryPool::Scope scope(&p_.memory.classes);
  p_.classes.ChangeWorker(worker->handle, traits);
  p_.blocked.OnWorkers();
  p_.tallies.Recount(*worker);
  if (worker->waiting()) p_.pulls.MoveAmong(*worker, worker->waiting_kind);
  p_.End();
  return {};
}

}  // namespace allot
