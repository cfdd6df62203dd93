// Who holds what is ready: workers and jobs are told to the dispatcher, and workers that were promised something get
// it.
#include <algorithm>
#include <tuple>

#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "engine/pace.h"

namespace allot {

void Engine::SetDispatch(const Now& now, const DispatchOptions& dispatch) {
  Begin(now);
  const bool was = dispatcher_->balanced();
  options_.dispatch = dispatch;
  dispatcher_->SetOptions(dispatch);
  if (!dispatcher_->balanced()) {
    EndDealing();
    enrol_from_.reset();
  }
  if (!was && dispatcher_->balanced()) {
    enrol_from_ = WorkerId{};
    BeginDealing(Duration(0));
  }
  End();
}

void Engine::Enrol(EngineWorker& worker) {
  MemoryPool::Scope scope(&memory_.dispatch);
  if (worker.registered && !worker.draining && !worker.away) {
    dispatcher_->Register(worker);
  } else {
    dispatcher_->Unregister(worker);
  }
}

void Engine::BeginDealing(Duration later) {
  if (!dispatcher_->balanced()) return;
  dealing_ = true;
  dispatcher_->SetGathering(true);
  deal_at_ = engine_time_ + later;
  dealt_ = {};
}

void Engine::EndDealing() {
  dealing_ = false;
  dispatcher_->SetGathering(false);
}

void Engine::Promise(EngineJob& job) {
  MemoryPool::Scope scope(&memory_.dispatch);
  if (!dealing_ || job.id() < dealt_.next) dispatcher_->Open(job);
}

bool Engine::StepDispatch(std::size_t& budget) {
  MemoryPool::Scope scope(&memory_.dispatch);
  constexpr std::size_t kEnrolCost = 4;
  for (auto it = workers_.lower_bound(enrol_from_.value_or(WorkerId{})); enrol_from_; ++it) {
    if (it == workers_.end()) {
      enrol_from_.reset();
      break;
    }
    enrol_from_ = it->first;
    if (budget == 0) return false;
    budget -= std::min(budget, kEnrolCost);
    Enrol(*it->second);
  }
  if (!dispatcher_->Step(budget)) return false;
  if (!dealing_ || engine_time_ < deal_at_) return true;
  const bool all = jobs_.Walk(dealt_, [&](EngineJob* job) {
    if (budget == 0) return false;
    --budget;
    if (job != nullptr && job->open) dispatcher_->Open(*job, budget);
    return true;
  });
  if (!all) return false;
  EndDealing();
  return true;
}

void Engine::ServeFed() {
  std::vector<EngineWorker*> fed;
  for (const WorkerId id : dispatcher_->TakeFed()) {
    if (EngineWorker* worker = FindWorker(id); worker != nullptr && worker->waiting()) fed.push_back(worker);
  }
  if (paused_) return;
  std::sort(fed.begin(), fed.end(), [](const EngineWorker* a, const EngineWorker* b) { return *a < *b; });
  // Where one finds nothing, neither in its queue nor in those of others, nobody like it does.
  for (EngineWorker* worker : fed) {
    if (!worker->waiting()) continue;
    if (grants_left_ == 0) {
      look_again_.push_back(worker->waiting_kind);
      continue;
    }
    const auto like = std::tuple(worker->waiting_order, worker->waiting_kind, worker->waiting_profile);
    if (in_vain_.contains(like) || Serve(*worker)) continue;
    ++stats_.woken_empty;
    in_vain_.insert(like);
  }
}

}  // namespace allot
