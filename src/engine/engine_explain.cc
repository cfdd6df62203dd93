// What explanations are made from.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "engine/errors.h"
#include "engine/explain.h"
#include "engine/worker_outlook.h"
#include "strategy/trace.h"

namespace allot {
namespace {

// Workers that differ in strategy, kind or in what limits read of them (with balanced dispatch: all), and are each
// asked what comes first for them; until that took so many units of about a microsecond.
constexpr std::size_t kMostAsked = 16;
constexpr std::size_t kMostWork = 500;
// At jobs, for one of each class.
constexpr std::size_t kMostLooks = 2000;

bool Free(const EngineWorker& worker) { return worker.leases.size() < worker.slots; }

}  // namespace

EngineJob* Engine::Peek(EngineWorker& worker, bool& known) {
  const Orders::Id order = worker.Pulls();
  // What is held is put aside when a pick meets it; a draw that came after would be another one.
  known = orders_.Ready(order) && (limits_.blocked() == 0 || !orders_.index(order).rules().random);
  if (!known) return nullptr;
  // Chance is as before, and whoever is looked at has not asked for anything: else those who do not are not found out.
  const Rng before = rng_;
  const std::uint64_t takes = worker.queue ? worker.queue->takes : 0;
  gate_.worker = worker.limited;
  auto* found = static_cast<EngineJob*>(dispatcher_->Pick(worker, order, limits_.blocked() > 0 ? &gate_ : nullptr));
  rng_ = before;
  if (worker.queue) worker.queue->takes = takes;
  if (found == nullptr) {
    known = !dispatcher_->unfinished();
    return nullptr;
  }
  // What limits do not let start would be passed over by a pull, which then marks it; a look does not.
  known = Grouped(*found) && (found->group == kFreeGroup || limits_.CanStart(found->group, worker.limited, now_));
  return known ? found : nullptr;
}

std::optional<OrderStanding> Engine::OrderOf(EngineJob& job, std::optional<WorkerId> only) {
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
  std::size_t work = 0;
  OrderStanding out;
  const auto end = only ? workers_.upper_bound(*only) : workers_.end();
  for (auto it = only ? workers_.lower_bound(*only) : workers_.begin(); it != end; ++it) {
    EngineWorker& worker = *it->second;
    if (!worker.registered || worker.draining || worker.away) continue;
    const KindId kind = classes_.KindOf(worker.handle);
    if (!classes_.Matches(kind, job.cls)) continue;
    const Orders::Id order = worker.Pulls();
    Like& like = strategies[order];
    if (like.workers++ == 0 && orders_.Ready(order)) like.standing = StandingOfJob(order, job);
    const bool free = Free(worker);
    if (like.one == nullptr || (free && !Free(*like.one))) like.one = &worker;
    if (!like.given()) continue;
    ++out.giving;
    if (free) ++out.giving_free;
    if (!free || paused_ || out.first_for.value != 0 || !out.asked_all) continue;
    const WorkerId own = dispatcher_->balanced() ? worker.id : WorkerId{};
    if (!asked.emplace(order, kind, limits_.ProfileOf(worker.limited, now_), own).second) continue;
    if (asked.size() > kMostAsked || work > kMostWork) {
      out.asked_all = false;
      continue;
    }
    dispatcher_->BeginTurn();
    bool known = false;
    const EngineJob* first = Peek(worker, known);
    work += dispatcher_->work();
    if (!known) out.asked_all = false;
    if (first != &job) continue;
    out.first_for = worker.id;
    out.chance = dispatcher_->random_task();
  }
  if (strategies.empty()) return std::nullopt;
  const auto most = std::max_element(strategies.begin(), strategies.end(), [](const auto& a, const auto& b) {
    const auto key = [](const Like& like) { return std::tuple(like.given(), Free(*like.one), like.workers); };
    return key(a.second) < key(b.second);
  });
  const Like& like = most->second;
  const Orders::Id order = most->first;
  out.policy = orders_.Ready(order) ? orders_.index(order).strategies()->policy : orders_.policy();
  out.strategy = orders_.strategy(order);
  out.workers = like.workers;
  out.like = like.one->id;
  out.like_free = Free(*like.one);
  if (out.giving == 0) {
    out.unselected = true;
    for (const auto& [id, each] : strategies) {
      if (!each.standing) continue;
      out.unselected = out.unselected && each.standing->unselected;
      for (const Ceiling& ceiling : each.standing->ceilings) {
        // What a strategy that is for others allows does not matter.
        if (ceiling.own && each.standing->unselected) continue;
        if (std::find(out.ceilings.begin(), out.ceilings.end(), ceiling) == out.ceilings.end()) {
          out.ceilings.push_back(ceiling);
        }
      }
    }
    return out;
  }
  dispatcher_->BeginTurn();
  bool known = false;
  const EngineJob* first = Peek(*like.one, known);
  if (first != nullptr && first != &job) {
    out.others_first = !dispatcher_->random_task();
    out.first = first->id();
    out.first_user = first->terms->user;
    out.first_why = WhyNow(*like.one, *first, *dispatcher_->leaf());
  }
  // What blocks would look at for the job, if it were picked now.
  if (like.standing) out.own_why = WhyNow(*like.one, job, *like.standing->leaf);
  return out;
}

std::vector<PreviewStep> Engine::WhyNow(const EngineWorker& worker, const EngineJob& job,
                                        const order::Plan& leaf) const {
  const StrategyIndex& index = orders_.index(worker.Pulls());
  const KindId kind = classes_.KindOf(worker.handle);
  const TracedPick pick{index.rules(), leaf, job, kind, worker.rank != nullptr, job.ready};
  std::string trace(kMostTraceBytes, '\0');
  const char* const end = WriteTrace(pick, trace.data(), trace.data() + trace.size());
  if (end == nullptr) return {};
  trace.resize(static_cast<std::size_t>(end - trace.data()));
  return ReadTrace(*index.strategies(), trace, now_.wall);
}

Standing Engine::StandingOfJob(Orders::Id order, const EngineJob& job) const {
  // What the index was made of: a new policy is in force only once its own is built.
  const StrategyPair& strategies = *orders_.index(order).strategies();
  return allot::StandingOf(orders_.index(order).rules(), *strategies.policy, *strategies.worker, job);
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
    out.task = *view;
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
  out.order = OrderOf(*job, only);
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
