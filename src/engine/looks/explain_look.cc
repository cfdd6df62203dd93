// SPDX-License-Identifier: Apache-2.0
// What explanations are made from.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "engine/errors.h"
#include "engine/looks/explain.h"
#include "engine/looks/looks.h"
#include "engine/looks/prepared_looks.h"
#include "engine/parts.h"
#include "strategy/trace.h"

namespace allot {
namespace {

// Workers that differ in strategy, kind or in what limits read of them (with balanced dispatch: all), and are each
// asked what comes first for them; until that took so many units of about a microsecond.
constexpr std::size_t kMostAsked = 16;
constexpr std::size_t kMostWork = 500;

bool Free(const EngineWorker& worker) { return worker.leases.size() < worker.slots; }

}  // namespace

EngineJob* PreparedLooks::Peek(EngineWorker& worker, bool& known) {
  const Orders::Id order = worker.Pulls();
  // What is blocked is put aside when a pick meets it; a draw that came after would be another one.
  known = p_.orders.indices().Ready(order) && (p_.limits.waits().size() == 0 || !p_.orders.index(order).rules().random);
  if (!known) return nullptr;
  // Chance is as before, and whoever is looked at has not asked for anything: else those who do not are not found out.
  const Rng before = p_.rng;
  const std::uint64_t takes = worker.queue ? worker.queue->takes : 0;
  auto* found = static_cast<EngineJob*>(p_.dispatcher.Pick(worker, order, p_.limiting.GateOf(worker.limited)));
  p_.rng = before;
  if (worker.queue) worker.queue->takes = takes;
  if (found == nullptr) {
    known = !p_.dispatcher.last_pick().unfinished;
    return nullptr;
  }
  // What limits do not let start would be passed over by a pull, which then marks it; a look does not.
  known = p_.limiting.Grouped(*found) &&
          (found->group == kFreeGroup || p_.limits.looks().CanStart(found->group, worker.limited, p_.clock.now));
  return known ? found : nullptr;
}

std::optional<OrderSnapshot> PreparedLooks::OrderOf(EngineJob& job, std::optional<WorkerId> only) {
  if (!job.open) return std::nullopt;
  struct Like {
    std::uint32_t workers = 0;
    EngineWorker* one = nullptr;  // with a free slot, if one has
    std::optional<Offer> offer;   // none: its order is being built
    bool given() const { return !offer || offer->given(); }
  };
  std::map<Orders::Id, Like> strategies;
  // Those alike are given the same, unless each has a queue of its own.
  std::set<std::tuple<Orders::Id, KindId, LimitProfileId, WorkerId>> asked;
  std::size_t work = 0;
  OrderSnapshot out;
  const auto end = only ? p_.workers.upper_bound(*only) : p_.workers.end();
  for (auto it = only ? p_.workers.lower_bound(*only) : p_.workers.begin(); it != end; ++it) {
    EngineWorker& worker = *it->second;
    if (!worker.registered || worker.draining || worker.away) continue;
    const KindId kind = p_.classes.KindOf(worker.handle);
    if (!p_.classes.kinds().Matches(kind, job.cls)) continue;
    const Orders::Id order = worker.Pulls();
    Like& like = strategies[order];
    if (like.workers++ == 0 && p_.orders.indices().Ready(order)) like.offer = OfferOfJob(order, job);
    const bool free = Free(worker);
    if (like.one == nullptr || (free && !Free(*like.one))) like.one = &worker;
    if (!like.given()) continue;
    ++out.giving;
    if (free) ++out.giving_free;
    if (!free || p_.queue.paused || out.first_for.value != 0 || !out.asked_all) continue;
    const WorkerId own = p_.dispatcher.balanced() ? worker.id : WorkerId{};
    if (!asked.emplace(order, kind, p_.limits.waits().ProfileOf(worker.limited, p_.clock.now), own).second) continue;
    if (asked.size() > kMostAsked || work > kMostWork) {
      out.asked_all = false;
      continue;
    }
    p_.dispatcher.BeginCommand();
    bool known = false;
    const EngineJob* first = Peek(worker, known);
    work += p_.dispatcher.last_pick().moved;
    if (!known) out.asked_all = false;
    if (first != &job) continue;
    out.first_for = worker.id;
    out.chance = p_.dispatcher.last_pick().random_task;
  }
  if (strategies.empty()) return std::nullopt;
  const auto most = std::max_element(strategies.begin(), strategies.end(), [](const auto& a, const auto& b) {
    const auto key = [](const Like& like) { return std::tuple(like.given(), Free(*like.one), like.workers); };
    return key(a.second) < key(b.second);
  });
  const Like& like = most->second;
  const Orders::Id order = most->first;
  out.policy =
      p_.orders.indices().Ready(order) ? p_.orders.index(order).strategies()->policy : p_.orders.indices().policy();
  out.strategy = p_.orders.uses().strategy(order);
  out.workers = like.workers;
  out.like = like.one->id;
  out.like_free = Free(*like.one);
  if (out.giving == 0) {
    out.unselected = true;
    for (const auto& [id, each] : strategies) {
      if (!each.offer) continue;
      out.unselected = out.unselected && each.offer->unselected;
      for (const Ceiling& ceiling : each.offer->ceilings) {
        // What a strategy that is for others allows does not matter.
        if (ceiling.own && each.offer->unselected) continue;
        if (std::find(out.ceilings.begin(), out.ceilings.end(), ceiling) == out.ceilings.end()) {
          out.ceilings.push_back(ceiling);
        }
      }
    }
    return out;
  }
  p_.dispatcher.BeginCommand();
  bool known = false;
  const EngineJob* first = Peek(*like.one, known);
  if (first != nullptr && first != &job) {
    out.others_first = !p_.dispatcher.last_pick().random_task;
    out.first = first->id();
    out.first_user = first->terms->user;
    out.first_why = WhyNow(*like.one, *first, *p_.dispatcher.last_pick().leaf);
  }
  // What blocks would look at for the job, if it were picked now.
  if (like.offer) out.own_why = WhyNow(*like.one, job, *like.offer->leaf);
  return out;
}

std::vector<PreviewStep> PreparedLooks::WhyNow(const EngineWorker& worker, const EngineJob& job,
                                               const order::Plan& leaf) const {
  const StrategyIndex& index = p_.orders.index(worker.Pulls());
  const KindId kind = p_.classes.KindOf(worker.handle);
  const TracedPick pick{index.rules(), leaf, job, kind, worker.rank != nullptr, job.queued};
  std::string trace(kMostTraceBytes, '\0');
  const char* const end = WriteTrace(pick, trace.data(), trace.data() + trace.size());
  if (end == nullptr) return {};
  trace.resize(static_cast<std::size_t>(end - trace.data()));
  return ReadTrace(*index.strategies(), trace, p_.clock.now.wall);
}

Offer PreparedLooks::OfferOfJob(Orders::Id order, const EngineJob& job) const {
  // What the index was made of: a new policy is in force only once its own is built.
  const StrategyPair& strategies = *p_.orders.index(order).strategies();
  return allot::OfferOf(p_.orders.index(order).rules(), *strategies.policy, *strategies.worker, job);
}

std::optional<PromiseSnapshot> PreparedLooks::PromisedOf(const EngineJob& job) const {
  if (!p_.dispatcher.balanced() || !job.open) return std::nullopt;
  PromiseSnapshot out;
  out.open = job.tasks.queued();
  if (!job.promises) return out;
  out.tasks = job.promises->promised;
  out.open = job.promises->open;
  job.promises->ForEach([&](const struct Promise& promise) {
    if (promise.queue->worker == nullptr) return;
    const auto& worker = static_cast<const EngineWorker&>(*promise.queue->worker);
    ++out.workers;
    if (!Free(worker)) ++out.busy;
    if (promise.count <= out.longest_tasks) return;
    out.longest = worker.id;
    out.longest_name = worker.name;
    out.longest_tasks = promise.count;
    out.longest_queue = promise.queue->promised;
  });
  return out;
}

Result<JobSnapshot> PreparedLooks::SnapshotOf(const Now& now, JobId id, std::optional<TaskIndex> task,
                                              std::optional<WorkerId> only) {
  EngineJob* job = p_.jobs.Find(id);
  if (job == nullptr) return UnknownJob(id);
  JobSnapshot out;
  if (task) {
    Result<TaskView> view = Looks(p_).Task(id, *task);
    if (!view.ok()) return view.error();
    out.task = *view;
    if (const EngineWorker* worker = p_.workers.Find(out.task->worker)) out.task_worker = worker->name;
  }
  Result<MatchSnapshot> match = Looks(p_).Snapshot(id);
  if (!match.ok()) return match.error();
  out.match = std::move(*match);
  out.match.now = now.wall;
  out.now = now.mono;
  if (Result<LimitsOnJob> all = LimitsOn(now, id, only); all.ok()) out.limits = std::move(*all);
  out.wait_reason = p_.tallies.WaitReasonOf(*job);
  out.order = OrderOf(*job, only);
  out.promised = PromisedOf(*job);
  return out;
}

}  // namespace allot
