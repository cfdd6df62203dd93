// SPDX-License-Identifier: Apache-2.0
#include "engine/looks/worker_outlook.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/looks/preview_walk.h"
#include "strategy/blocks/block.h"

namespace allot {
namespace {

std::string Tasks(std::uint64_t n) { return n == 1 ? std::string("1 task") : FormatCount(n) + " tasks"; }

bool HasMaximum(const Strategy& strategy) {
  return BlockOf(strategy).traits().passes == Passes::kBelowMax ||
         std::any_of(strategy.inner.begin(), strategy.inner.end(),
                     [](const StrategyPtr& inner) { return HasMaximum(*inner); });
}

}  // namespace

std::vector<WorkerOther> WhyNotOthers(const OutlookSnapshot& snapshot, const std::function<bool()>& enough) {
  std::map<Stage, WorkerOther> by_stage;
  WorkerOther rest{"others", snapshot.more_classes, snapshot.more_tasks, std::nullopt, "not looked at: there are many"};
  WorkerOther settling{std::string(ReasonText(ReasonCode::kBeingMatched)), 0, 0, std::nullopt,
                       "the queue is still working out whether it may run them"};
  bool stopped = false;
  for (const OutlookSnapshot::Class& cls : snapshot.classes) {
    stopped = stopped || (enough && enough());
    const std::optional<PairExplanation> pair = stopped ? std::nullopt : ExplainPair(cls.job, snapshot.worker);
    const Condition* first = nullptr;
    if (!pair) {
      ++rest.classes;
      rest.tasks += cls.tasks;
      continue;
    }
    // Whether the worker is there and free is the same for all: that is its verdict.
    for (const Condition& condition : pair->conditions) {
      if (condition.holds() || condition.stage == Stage::kAvailable || condition.stage == Stage::kFreeSlot) continue;
      first = &condition;
      break;
    }
    if (first == nullptr) {
      if (settling.classes++ == 0) settling.job = cls.job.job;
      settling.tasks += cls.tasks;
      continue;
    }
    const auto [at, fresh] = by_stage.try_emplace(first->stage);
    WorkerOther& other = at->second;
    if (fresh) {
      // The classes come with the most tasks first.
      other.stage = StageText(first->stage);
      other.job = cls.job.job;
      other.message = first->message;
    }
    ++other.classes;
    other.tasks += cls.tasks;
  }
  std::vector<WorkerOther> out;
  out.reserve(by_stage.size() + 2);
  for (auto& [stage, other] : by_stage) out.push_back(std::move(other));
  if (settling.classes > 0) out.push_back(std::move(settling));
  if (rest.classes > 0) out.push_back(std::move(rest));
  return out;
}

Reason OutlookVerdict(const OutlookSnapshot& snapshot, const PreviewWalk& walk) {
  const bool any = !walk.tasks().empty();
  if (snapshot.queue_paused) {
    return {Advice::kOperator, ReasonCode::kQueuePaused, "the queue is paused: it gets nothing", "allot queue resume"};
  }
  if (snapshot.draining) {
    return {Advice::kOperator, ReasonCode::kWorkersDraining, "it is draining: it takes nothing new", ""};
  }
  if (snapshot.away) {
    return {Advice::kWait, ReasonCode::kWorkersAway, "it lost its connection, and may come back", ""};
  }
  if (any && snapshot.running >= snapshot.slots) {
    return {Advice::kWait, ReasonCode::kAllBusy,
            fmt::format("it is busy ({} of {} slots); then it gets a task of job {}", FormatCount(snapshot.running),
                        FormatCount(snapshot.slots), ToText(walk.tasks().front().pick.job)),
            ""};
  }
  if (any) {
    const PreviewWalk::Task& first = walk.tasks().front();
    return {Advice::kWait, ReasonCode::kCanStart,
            first.pick.random ? fmt::format("it would get any queued task, of {}", Tasks(walk.queued_tasks()))
            : first.index     ? fmt::format("it would get task {} of job {} next", *first.index, ToText(first.pick.job))
                              : fmt::format("it would get a task of job {} next", ToText(first.pick.job)),
            ""};
  }
  if (!walk.complete()) {
    return {Advice::kWait, ReasonCode::kEmpty, "nothing was found for it among the jobs that were looked at", ""};
  }
  if (walk.jobs() > 0) {
    // A strategy that selects and sets no maximum blocks for good.
    const bool maximum = HasMaximum(*walk.policy()) || HasMaximum(*walk.strategy());
    return {maximum ? Advice::kWait : Advice::kOperator,
            maximum ? ReasonCode::kMaxSimultaneous : ReasonCode::kNotSelected,
            fmt::format("policy and strategy block all {} that it may run", Tasks(walk.queued_tasks())),
            "allot explain JOB tells what does"};
  }
  if (walk.blocked_jobs() > 0) {
    return {Advice::kWait, ReasonCode::kLimit,
            fmt::format("limits block all {} that it may run", Tasks(walk.blocked_tasks())),
            "allot explain " + ToText(walk.one_blocked())};
  }
  return {Advice::kWait, ReasonCode::kEmpty, "nothing waits that it may run", ""};
}

}  // namespace allot
