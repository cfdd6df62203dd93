// SPDX-License-Identifier: Apache-2.0
#include "engine/workers/starts.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>

#include "engine/parts.h"

namespace allot {
namespace {

// `what` may be null: then it is a number that nothing comes of.
void Prefetch(const void* what, std::size_t bytes) {
  const auto at = reinterpret_cast<std::uintptr_t>(what);
  for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(reinterpret_cast<const void*>(at + i));
}

}  // namespace

void Starts::WakeWaiting() {
  ServeNewlyPromised();
  for (const ClassId cls : p_.orders.TakeOpened()) p_.wakes.opened.push_back(cls);
  // Whoever waits for an order that is ready now may find anything in it.
  for (const Orders::Id order : p_.orders.builder().TakeReady()) {
    for (KindId kind = 0; kind < p_.waiting.kinds(order); ++kind) p_.wakes.kinds.push_back(kind);
  }
  if (p_.wakes.opened.empty() && p_.wakes.kinds.empty()) return;
  if (p_.queue.paused || p_.waiting.size() == 0) {
    p_.wakes.opened.clear();
    p_.wakes.kinds.clear();
  } else {
    // Whoever waits found nothing before: only the kinds that may run what opened can find something now.
    std::vector<KindId> kinds = std::exchange(p_.wakes.kinds, {});
    std::vector<ClassId> opened = std::exchange(p_.wakes.opened, {});
    // Kinds that are woken for themselves may find anything: which of them is wanted most is asked of all that is open.
    const bool several = std::any_of(kinds.begin(), kinds.end(), [&](KindId kind) { return kind != kinds.front(); });
    for (const ClassId cls : opened) {
      const auto mask = p_.classes.kinds().Mask(cls);
      for (std::size_t word = 0; word < mask.size(); ++word) {
        for (std::uint64_t bits = mask[word]; bits != 0; bits &= bits - 1) {
          kinds.push_back(static_cast<KindId>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits))));
        }
      }
    }
    if (several) {
      opened.clear();
      for (ClassId cls = 0; cls < p_.classes.class_slots(); ++cls) {
        if (p_.orders.open_classes().Has(cls)) opened.push_back(cls);
      }
    }
    Wake(std::move(kinds), opened);
  }
}

void Starts::Wake(std::vector<KindId> kinds, const std::vector<ClassId>& opened) {
  const bool ranked =
      std::any_of(opened.begin(), opened.end(), [this](ClassId cls) { return p_.classes.HasJobRank(cls); });
  // How much the jobs that opened want a worker of that kind.
  const auto wanted = [&](KindId kind) {
    if (!ranked) return 0.0;
    std::optional<double> best;
    for (const ClassId cls : opened) {
      if (!p_.orders.open_classes().Has(cls) || !p_.classes.kinds().Matches(kind, cls)) continue;
      const double rank = p_.classes.kinds().Of(kind, cls).job_rank;
      best = std::max(best.value_or(rank), rank);
    }
    return best.value_or(0);
  };
  struct Candidate {
    double wanted;
    std::uint64_t sequence;
    Orders::Id order;
    KindId kind;
    LimitProfileId profile;
    bool operator<(const Candidate& other) const {  // the greatest goes first
      return wanted != other.wanted ? wanted < other.wanted : sequence > other.sequence;
    }
  };
  std::priority_queue<Candidate> candidates;
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  for (Orders::Id order = 0; order < p_.waiting.orders(); ++order) {
    for (const KindId kind : kinds) {
      const Waiting::Lists* lists = p_.waiting.Of(order, kind);
      if (lists == nullptr) continue;
      for (const auto& [profile, list] : *lists) {
        candidates.push({wanted(kind), list.begin()->waiting_sequence, order, kind, profile});
      }
    }
  }
  while (!candidates.empty()) {
    const Candidate candidate = candidates.top();
    candidates.pop();
    if (grants_left_ == 0 || asks_left_ == 0 || !p_.orders.updates().MayStart()) {
      p_.wakes.again.push_back(candidate.kind);
      continue;
    }
    EngineWorker* worker = p_.waiting.First(candidate.order, candidate.kind, candidate.profile);
    if (worker == nullptr || !p_.orders.indices().Ready(candidate.order)) continue;
    if (p_.wakes.found_nothing.contains({candidate.order, candidate.kind, candidate.profile})) continue;
    // What wanted it most may be gone meanwhile.
    if (const double now = wanted(candidate.kind); now != candidate.wanted) {
      candidates.push({now, worker->waiting_sequence, candidate.order, candidate.kind, candidate.profile});
      continue;
    }
    bool more = false;
    if (!Serve(*worker, &more)) ++p_.stats.woken_empty;
    // Where it found no more, nobody like it does.
    const EngineWorker* next = more ? p_.waiting.First(candidate.order, candidate.kind, candidate.profile) : nullptr;
    if (next != nullptr)
      candidates.push(
          {wanted(candidate.kind), next->waiting_sequence, candidate.order, candidate.kind, candidate.profile});
  }
}

EngineJob* Starts::Next(EngineWorker& worker, LimitTable::Drawn& drawn, std::size_t& work) {
  constexpr std::size_t kMostWork = 256;
  for (;;) {
    auto* job = static_cast<EngineJob*>(p_.dispatcher.Pick(worker, worker.Pulls(), p_.limiting.GateOf(worker.limited)));
    work += p_.dispatcher.last_pick().moved;
    asks_left_ -= std::min(asks_left_, p_.dispatcher.last_pick().asked);
    if (job == nullptr && !p_.dispatcher.last_pick().unfinished) return nullptr;
    if (job == nullptr || work > kMostWork) {
      p_.wakes.again.push_back(p_.classes.KindOf(worker.handle));
      return nullptr;
    }
    if (!p_.limiting.Grouped(*job)) {
      const std::uint64_t before = p_.limits.matcher().evaluations();
      p_.limiting.Group(*job);
      work += 1 + p_.limits.matcher().evaluations() - before + (job->promises ? job->promises->size() : 0) +
              p_.orders.updates().cost();
    }
    if (job->group == kFreeGroup) return job;
    // If it is denied, its group is blocked, and the next look passes it by.
    LimitTable::Outcome outcome = p_.limiting.Draw(*job, worker.limited);
    if (outcome.allowed()) {
      drawn = std::move(outcome.drawn);
      return job;
    }
    ++p_.stats.limit_denials;
    ++work;
    if (asks_left_ == 0) {
      p_.wakes.again.push_back(p_.classes.KindOf(worker.handle));
      return nullptr;
    }
  }
}

bool Starts::Serve(EngineWorker& worker, bool* more) {
  constexpr std::uint32_t kGrantsExpected = 64;  // that room is made for
  if (p_.queue.paused || worker.draining || worker.away || !worker.registered) return false;
  std::vector<Grant> grants;
  if (!p_.orders.indices().Ready(worker.Pulls())) return false;
  std::size_t work = 0;
  p_.limits.users().BeginTry();
  while (worker.credit > 0) {
    if (grants_left_ == 0 || (asks_left_ == 0 && !grants.empty()) || !p_.orders.updates().MayStart()) {
      p_.wakes.again.push_back(p_.classes.KindOf(worker.handle));
      break;
    }
    LimitTable::Drawn drawn;
    EngineJob* next = Next(worker, drawn, work);
    if (next == nullptr) {
      p_.limiting.NoteTry(worker);
      break;
    }
    EngineJob& job = *next;
    ++pops_;
    // One of a million is far away: all of it is on its way before the first part is looked at.
    Prefetch(&job, sizeof(job));
    const bool random = p_.dispatcher.last_pick().random_task;
    if (random) p_.orders.index(worker.Pulls()).Prefetch(job);
    const TaskIndex index = random ? job.tasks.RandomQueued(p_.rng) : *job.tasks.FirstQueued();
    Prefetch(job.terms.get(), sizeof(JobTerms));
    Prefetch(job.extras.get(), sizeof(JobExtras));
    Prefetch(job.user, sizeof(UserTable::Entry));
    if (grants.empty()) grants.reserve(std::min(worker.credit, kGrantsExpected));
    const Lease& lease = GrantOne(worker, job, index, drawn.size(), grants);
    if (!drawn.empty()) p_.limiting.KeepDrawn(lease, std::move(drawn));
    --worker.credit;
    --grants_left_;
  }
  if (grants.empty()) return false;
  if (more != nullptr) *more = worker.credit == 0;
  if (worker.once) worker.credit = 0;
  if (worker.credit == 0) {
    p_.pulls.End(worker);
  } else if (worker.waiting()) {
    // It waits anew, behind those that have got nothing meanwhile.
    p_.pulls.Unpark(worker);
    p_.pulls.Park(worker);
  }
  p_.stats.granted += grants.size();
  p_.journal.effects().grant_batches.push_back(GrantBatch{worker.id, std::move(grants)});
  return true;
}

Lease& Starts::GrantOne(EngineWorker& worker, EngineJob& job, TaskIndex index, std::size_t limits_met,
                        std::vector<Grant>& grants) {
  const TakenFrom from = p_.dispatcher.Take(worker, job);
  std::optional<MemoryPool::Scope> scope(std::in_place, &p_.memory.jobs);
  const std::uint32_t used = job.tasks.Claim(index);
  Lease& lease = p_.leases.Grant(job.id(), index);
  JobCourse& course = job.Course();
  scope.reset();
  lease.job = &job;
  lease.worker = worker.id;
  lease.lessee = &worker;
  lease.attempt = used + 1;
  lease.granted = p_.clock.time;
  lease.granted_at = p_.clock.now.wall;
  lease.ttl = job.terms->lease;
  lease.timeout = job.terms->timeout;
  worker.leases.push_back(lease);
  course.leases.push_back(lease);
  p_.dispatcher.Started(worker);
  p_.leasing.Arm(worker, p_.clock.time + (lease.timeout.count() > 0 ? std::min(lease.ttl, lease.timeout) : lease.ttl));
  if (course.started_at == WallTime{}) {
    course.started_at = p_.clock.now.wall;
    p_.journal.MarkJob(job);
    p_.journal.Progress(job);
  }
  p_.journal.TaskEvent(EventType::kGrant, job, index, lease.task.lease.serial, worker.id.value, lease.attempt,
                       ToMillis(p_.clock.now.wall));
  p_.journal.MarkQueue();
  NoteStart(worker, job, lease, from, limits_met);
  p_.orders.Started(job, Stamp{ToMillis(p_.clock.now.wall), lease.task.lease.serial});
  p_.journal.MarkJob(job);  // when it was picked is in its own record
  p_.tallies.TaskStarted(job);
  p_.flow.Refresh(job);
  if (worker.leases.size() == worker.slots) p_.tallies.Recount(worker);

  Grant& grant = grants.emplace_back();
  grant.task = lease.task;
  grant.attempt = lease.attempt;
  grant.lease = job.terms->lease;
  grant.timeout = job.terms->timeout;
  grant.count = job.tasks.count();
  grant.payload = job.payload();
  if (job.extras) {
    if (!job.extras->payload_prefix.empty()) grant.payload_prefix = job.extras->payload_prefix;
    if (!job.extras->trace.empty()) grant.trace = job.extras->trace;
    if (lease.attempt == 1)
      p_.leasing.Trace(lease, TracedAttempt::Step::kStarted, std::max(job.submitted_at, job.key.scheduled_for));
  }
  return lease;
}

void Starts::ServeNewlyPromised() {
  const std::vector<WorkerId> ids = p_.dispatcher.TakeNewlyPromised();
  if (ids.empty()) return;
  std::vector<EngineWorker*> newly_promised;
  for (const WorkerId id : ids) {
    if (EngineWorker* worker = p_.workers.Find(id); worker != nullptr && worker->waiting())
      newly_promised.push_back(worker);
  }
  if (p_.queue.paused) return;
  std::sort(newly_promised.begin(), newly_promised.end(),
            [](const EngineWorker* a, const EngineWorker* b) { return *a < *b; });
  // Where one finds nothing, neither in its queue nor in those of others, nobody like it does.
  for (EngineWorker* worker : newly_promised) {
    if (!worker->waiting()) continue;
    if (grants_left_ == 0 || asks_left_ == 0) {
      p_.wakes.again.push_back(worker->waiting_kind);
      continue;
    }
    const auto like = std::tuple(worker->waiting_order, worker->waiting_kind, worker->waiting_profile);
    if (p_.wakes.found_nothing.contains(like) || Serve(*worker)) continue;
    ++p_.stats.woken_empty;
    p_.wakes.found_nothing.insert(like);
  }
}

void Starts::NoteStart(const EngineWorker& worker, const EngineJob& job, const Lease& lease, TakenFrom from,
                       std::size_t limits_met) {
  const StrategyIndex& index = p_.orders.index(worker.Pulls());
  ReceiptLog& log = p_.receipts;
  const ReceiptLog::Common& common = log.common();
  bool begun = common.worker == worker.id.value && common.version == p_.orders.open_classes().version() &&
               common.strategies == index.strategies().get() && common.blocked_by_limits == p_.limits.waits().size();
  for (;; begun = false) {
    if (!begun) BeginStarts(worker, index);
    const TracedPick pick{index.rules(), *p_.dispatcher.last_pick().leaf,     job, common.kind,
                          common.ranked, p_.dispatcher.last_pick().candidates};
    if (log.Add(job, lease, from, limits_met, pick)) return;
    log.NewPiece();
  }
}

void Starts::BeginStarts(const EngineWorker& worker, const StrategyIndex& index) {
  OpenClasses& open = p_.orders.open_classes();
  ReceiptLog::Common common;
  common.worker = worker.id.value;
  common.kind = p_.classes.KindOf(worker.handle);
  const OpenClasses::Seen& seen = open.By(common.kind);
  common.version = open.version();
  common.strategies = index.strategies().get();
  common.classes_open = open.count();
  common.classes_matched = seen.matched;
  common.ranked = seen.ranked;
  common.blocked_by_limits = static_cast<std::uint32_t>(p_.limits.waits().size());
  common.mode = p_.dispatcher.options().mode;
  common.at = ToMillis(p_.clock.now.wall);
  p_.receipts.Begin(common, index.strategies(), worker.name);
}

void Starts::Begin() {
  grants_left_ = kGrantsAtOnce;
  asks_left_ = kAsksAtOnce;
}

}  // namespace allot
