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
  if (!dispatcher_->balanced()) EndDealing();
  if (!was && dispatcher_->balanced()) {
    for (const auto& [id, worker] : workers_) Enrol(*worker);
    BeginDealing(Duration(0));
  }
  End();
}

void Engine::Enrol(EngineWorker& worker) {
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
  deal_next_ = JobId{};
}

void Engine::EndDealing() {
  dealing_ = false;
  dispatcher_->SetGathering(false);
}

void Engine::Promise(EngineJob& job) {
  if (!dealing_ || job.id() < deal_next_) dispatcher_->Open(job);
}

bool Engine::StepDispatch(std::size_t& budget) {
  if (!dispatcher_->Step(budget)) return false;
  if (!dealing_ || engine_time_ < deal_at_) return true;
  auto it = std::lower_bound(by_id_.begin(), by_id_.end(), deal_next_,
                             [](const auto& entry, JobId key) { return entry.first < key; });
  for (; it != by_id_.end(); ++it) {
    if (budget == 0) {
      deal_next_ = it->first;
      return false;
    }
    --budget;
    if (EngineJob* job = it->second; job != nullptr && job->open) dispatcher_->Open(*job, budget);
  }
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
    const auto like = std::tuple(worker->waiting_order, worker->waiting_kind, worker->waiting_profile);
    if (in_vain_.contains(like) || Serve(*worker)) continue;
    ++stats_.woken_empty;
    in_vain_.insert(like);
  }
}

}  // namespace allot
