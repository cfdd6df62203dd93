// Which of the open jobs limits and ceilings stop: kept up to date in steps.
#include <algorithm>
#include <map>
#include <tuple>

#include "engine/engine.h"
#include "engine/pace.h"
#include "engine/tallies/hold_reasons.h"

namespace allot {
namespace {

// Of so few workers it is always known how they stand; of more, as of the last walk.
constexpr std::size_t kFewWorkers = 64;
// A walk that takes long comes less often: it takes the twentieth part of the time at most.
constexpr int kMostOfTime = 20;

}  // namespace

void Engine::RenewSorts(bool all) const {
  if (holds_->SortsFresh() || (!all && workers_.size() > kFewWorkers)) return;
  std::map<std::tuple<KindId, Orders::Id, LimitProfileId, bool>, LimitTable::WorkerHandle> found;
  for (const auto& [id, worker] : workers_) {
    if (!worker->registered || worker->draining || worker->away) continue;
    found.try_emplace({classes_.KindOf(worker->handle), worker->Pulls(), holds_->ProfileOf(worker->limited, now_),
                       worker->leases.size() < worker->slots},
                      worker->limited);
  }
  std::vector<HoldReasons::Sort> sorts;
  sorts.reserve(found.size());
  for (const auto& [sort, one] : found) {
    const auto& [kind, order, profile, free] = sort;
    sorts.push_back({kind, order, profile, free, one});
  }
  holds_->SetSorts(std::move(sorts));
}

bool Engine::Never(const expr::Expr& requirements, const expr::Ad& ad) {
  const expr::Sides sides{&ad, nullptr, expr::Side::kJob, 0};
  expr::Evaluator evaluator;
  for (const ExprPtr& clause : requirements.Clauses()) {
    if (clause->UsesTime()) continue;
    // What reads the worker may still be the same for every one.
    const ExprPtr left = clause->Reads(expr::Side::kMachine, expr::Side::kJob) ? expr::Flatten(*clause, sides) : clause;
    if (left != clause && !left->Constant()) continue;
    if (!evaluator.True(*left, sides)) return true;
  }
  return false;
}

void Engine::Recell(EngineJob& job) {
  if (!job.counted_open) return;
  if (job.cell != HoldReasons::kNoCell) {
    holds_->Take(std::exchange(job.cell, HoldReasons::kNoCell), job.id(), job.counted_ready);
  }
  if (holds_->active()) PutIntoCell(job, job.counted_ready);
}

void Engine::PutIntoCell(EngineJob& job, std::uint32_t tasks) {
  {
    MemoryPool::Scope scope(&memory_.looks);
    job.cell = holds_->Put(job, tasks);
  }
  if (!holds_->New(job.cell)) return;
  // Who has a free slot changes with every start: that is as of the last look.
  if (!holds_->SortsUsable()) RenewSorts(false);
  holds_->LookAtNew(job.cell, now_);
}

bool Engine::StepCells(std::size_t& budget) {
  if (holds_->TakeStale()) {
    celling_ = true;
    recelling_ = {};
  }
  if (!celling_) return true;
  const bool all = lists_.WalkOpen(recelling_, [&](EngineJob* job) {
    if (budget == 0) return false;
    if (job == nullptr || !job->counted_open || !holds_->Outdated(job->cell)) return true;
    --budget;
    Recell(*job);
    return true;
  });
  if (!all) return false;
  celling_ = false;
  return true;
}

Instant Engine::NextHolds() const {
  return holds_at_ + std::max<Duration>(kReasonsEvery, std::chrono::microseconds(holds_->walk_cost() * kMostOfTime));
}

bool Engine::StepHolds(std::size_t& budget) {
  holds_->Renew();
  if (!StepCells(budget)) return false;
  if (!holds_->Walking()) {
    if (!holds_->Due() || engine_time_ < NextHolds()) return true;
    holds_at_ = engine_time_;
    RenewSorts(true);
    holds_->BeginWalk();
  }
  return holds_->Step(budget, now_);
}

}  // namespace allot
