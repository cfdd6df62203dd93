// What explanations are made from.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/bounds.h"
#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "engine/errors.h"
#include "engine/explain.h"
#include "engine/worker_outlook.h"
#include "strategy/trace.h"

namespace allot {
namespace {

// Workers that differ in strategy, kind or in what limits read of them, and are each asked what comes first for them.
constexpr std::size_t kMostAsked = 32;
// What a look meets that limits hold back, before it gives up.
constexpr int kMostHeldMet = 64;

// At jobs, for one of each class.
constexpr std::size_t kMostLooks = 2000;

// Bytes that how a pick came about takes at most.
constexpr std::size_t kMostTrace = 2 * (bounds::kMaxStrategyDepth + 1) * (kMostTracedText + 64) + 2048;

bool Free(const EngineWorker& worker) { return worker.leases.size() < worker.slots; }

}  // namespace

EngineJob* Engine::Peek(EngineWorker& worker) {
  const Orders::Id order = worker.Pulls();
  if (paused_ || !orders_.Ready(order)) return nullptr;
  // Looking leaves no trace, also where chance decides.
  const Rng before = rng_;
  gate_.worker = worker.limited;
  EngineJob* found = nullptr;
  for (int met = 0; met < kMostHeldMet; ++met) {
    found = static_cast<EngineJob*>(dispatcher_->Pick(worker, order, limits_.blocked() > 0 ? &gate_ : nullptr));
    if (found == nullptr) {
      if (dispatcher_->unfinished()) continue;
      break;
    }
    Group(*found);
    if (found->group == kFreeGroup || limits_.Probe(found->group, worker.limited, now_)) break;
    found = nullptr;
  }
  rng_ = before;
  return found;
}

std::optional<OrderStanding> Engine::OrderOf(EngineJob& job) {
  if (!job.open) return std::nullopt;
  struct Like {
    std::uint32_t workers = 0;
    EngineWorker* one = nullptr;       // with a free slot, if one has
    std::optional<Standing> standing;  // none: its order is being built
    bool given() const { return !standing || standing->given(); }
  };
  std::map<Orders::Id, Like> strategies;
  // Those alike are given the same, unless each has a queue of its own.
  std::set<std::tuple<Orders::Id, KindId, LimitProfileId, WorkerId>> asked;
  OrderStanding out;
  out.policy = orders_.policy();
  for (const auto& [id, worker] : workers_) {
    if (!worker->registered || worker->draining || worker->away) continue;
    const KindId kind = classes_.KindOf(worker->handle);
    if (!classes_.Matches(kind, job.cls)) continue;
    const Orders::Id order = worker->Pulls();
    Like& like = strategies[order];
    if (like.workers++ == 0 && orders_.Ready(order)) {
      like.standing = StandingOfJob(order, job);
    }
    const bool free = Free(*worker);
    if (like.one == nullptr || (free && !Free(*like.one))) like.one = worker.get();
    if (!like.given()) continue;
    ++out.giving;
    if (free) ++out.giving_free;
    if (!free || out.first_for.value != 0 || !like.standing) continue;
    const WorkerId own = dispatcher_->balanced() ? id : WorkerId{};
    if (!asked.emplace(order, kind, limits_.ProfileOf(worker->limited, now_), own).second) continue;
    if (asked.size() > kMostAsked) {
      out.asked_all = false;
      continue;
    }
    if (Peek(*worker) != &job) continue;
    out.first_for = id;
    out.chance = dispatcher_->random_task();
  }
  if (strategies.empty()) return std::nullopt;
  const auto most = std::max_element(strategies.begin(), strategies.end(), [](const auto& a, const auto& b) {
    const auto key = [](const Like& like) { return std::tuple(like.given(), Free(*like.one), like.workers); };
    return key(a.second) < key(b.second);
  });
  const Like& like = most->second;
  out.strategy = orders_.strategy(most->first);
  out.workers = like.workers;
  out.like = like.one->id;
  out.like_free = Free(*like.one);
  if (out.giving == 0) {
    for (const auto& [order, each] : strategies) {
      if (!each.standing) continue;
      out.unselected = out.unselected || each.standing->unselected;
      for (const Ceiling& ceiling : each.standing->ceilings) {
        if (std::find(out.ceilings.begin(), out.ceilings.end(), ceiling) == out.ceilings.end()) {
          out.ceilings.push_back(ceiling);
        }
      }
    }
  }
  // What blocks would look at for both, if they were picked now.
  const auto why = [&](const EngineJob& one, const order::Plan* leaf) {
    return leaf == nullptr ? std::vector<PreviewStep>() : WhyNow(*like.one, one, *leaf);
  };
  const EngineJob* first = Peek(*like.one);
  if (first != nullptr && first != &job) {
    out.first = first->id();
    out.first_user = first->terms->user;
    out.first_why = why(*first, dispatcher_->leaf());
  }
  if (like.standing) out.own_why = why(job, like.standing->leaf);
  return out;
}

std::vector<PreviewStep> Engine::WhyNow(const EngineWorker& worker, const EngineJob& job,
                                        const order::Plan& leaf) const {
  const StrategyIndex& index = orders_.index(worker.Pulls());
  const KindId kind = classes_.KindOf(worker.handle);
  const TracedPick pick{index.rules(), leaf, job, kind, worker.rank != nullptr, job.ready};
  std::string trace(kMostTrace, '\0');
  const char* const end = WriteTrace(pick, trace.data(), trace.data() + trace.size());
  if (end == nullptr) return {};
  trace.resize(static_cast<std::size_t>(end - trace.data()));
  return ReadTrace(*index.strategies(), trace, now_.wall);
}

Standing Engine::StandingOfJob(Orders::Id order, const EngineJob& job) const {
  return allot::StandingOf(orders_.index(order).rules(), *orders_.policy(), *orders_.strategy(order), job);
}

std::optional<PromisedStanding> Engine::PromisedOf(const EngineJob& job) const {
  if (!dispatcher_->balanced() || !job.open) return std::nullopt;
  PromisedStanding out;
  out.open = job.tasks.ready();
  if (!job.holding) return out;
  out.tasks = job.holding->promised;
  out.open = job.holding->open;
  job.holding->ForEach([&](const struct Share& share) {
    if (share.queue->worker == nullptr) return;
    const auto& worker = static_cast<const EngineWorker&>(*share.queue->worker);
    ++out.workers;
    if (!Free(worker)) ++out.busy;
    if (share.count <= out.longest_tasks) return;
    out.longest = worker.id;
    out.longest_name = worker.name;
    out.longest_tasks = share.count;
    out.longest_queue = share.queue->promised;
  });
  return out;
}

Result<JobStanding> Engine::StandingOf(const Now& now, JobId id, std::optional<TaskIndex> task,
                                       std::optional<WorkerId> only) {
  EngineJob* job = FindJob(id);
  if (job == nullptr) return UnknownJob(id);
  JobStanding out;
  if (task) {
    Result<TaskView> view = Task(id, *task);
    if (!view.ok()) return view.error();
    out.task = std::move(*view);
    if (const EngineWorker* worker = FindWorker(out.task->worker)) out.task_worker = worker->name;
    if (out.task->state == TaskState::kWaiting) out.task_due = job->tasks.NextDue();
  }
  Result<MatchSnapshot> match = Snapshot(id);
  if (!match.ok()) return match.error();
  out.match = std::move(*match);
  out.match.now = now.wall;
  out.now = now.mono;
  if (Result<LimitHolds> holds = LimitsOn(now, id, only); holds.ok()) out.limits = std::move(*holds);
  out.held = View(*job).held;
  if (!only) out.order = OrderOf(*job);
  out.promised = PromisedOf(*job);
  return out;
}

Result<OutlookSnapshot> Engine::OutlookOf(const Now& now, WorkerId id) const {
  const EngineWorker* worker = FindWorker(id);
  if (worker == nullptr || !worker->registered) return UnknownWorker(id);
  OutlookSnapshot out;
  out.worker = id;
  out.name = worker->name;
  out.strategy = orders_.strategy(worker->Pulls());
  out.slots = worker->slots;
  out.leased = static_cast<std::uint32_t>(worker->leases.size());
  out.draining = worker->draining;
  out.away = worker->away;
  out.queue_paused = paused_;
  const KindId kind = classes_.KindOf(worker->handle);
  std::vector<std::pair<std::uint64_t, ClassId>> others;  // by their ready tasks
  for (ClassId cls = 0; cls < reasons_.slots(); ++cls) {
    const ClassReasons::Row& row = reasons_.row(cls);
    if (row.jobs > 0 && !classes_.Matches(kind, cls)) others.emplace_back(row.tasks, cls);
  }
  const std::size_t shown = std::min(others.size(), OutlookSnapshot::kMostClasses);
  std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(shown), others.end(),
                    std::greater<>());
  std::size_t looks = kMostLooks;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const auto& [tasks, cls] = others[i];
    const EngineJob* job = i < shown ? OneOf(cls, looks) : nullptr;
    if (job == nullptr) {
      ++out.more_classes;
      out.more_tasks += tasks;
      continue;
    }
    const Meta none;
    MatchSnapshot match =
        SnapshotOf(*job->terms, job->key, job->tasks.count(), job->extras ? job->extras->meta : none, id);
    match.job = job->id();
    match.now = now.wall;
    match.ready = job->tasks.ready();
    out.classes.push_back({tasks, std::move(match)});
  }
  return out;
}

}  // namespace allot
