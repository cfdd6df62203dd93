// SPDX-License-Identifier: Apache-2.0
#include "engine/stages/dealing.h"

#include <algorithm>

#include "engine/parts.h"

namespace allot {

void Dealing::SetOptions(const DispatchOptions& dispatch) {
  const bool was = p_.dispatcher.balanced();
  p_.options.dispatch = dispatch;
  p_.dispatcher.SetOptions(dispatch);
  if (!p_.dispatcher.balanced()) {
    End();
    register_from_.reset();
  }
  if (!was && p_.dispatcher.balanced()) {
    register_from_ = WorkerId{};
    Begin(Duration(0));
  }
}

void Dealing::UpdateRegistration(EngineWorker& worker) {
  MemoryPool::Scope scope(&p_.memory.dispatch);
  if (worker.registered && !worker.draining && !worker.away) {
    p_.dispatcher.Register(worker);
  } else {
    p_.dispatcher.Unregister(worker);
  }
}

void Dealing::Begin(Duration later) {
  if (!p_.dispatcher.balanced()) return;
  dealing_ = true;
  p_.dispatcher.SetGathering(true);
  deal_at_ = p_.clock.time + later;
  dealt_ = {};
}

void Dealing::End() {
  dealing_ = false;
  p_.dispatcher.SetGathering(false);
}

void Dealing::Open(EngineJob& job) {
  MemoryPool::Scope scope(&p_.memory.dispatch);
  if (!dealing_ || job.id() < dealt_.next) p_.dispatcher.Open(job);
}

bool Dealing::Step(std::size_t& budget) {
  MemoryPool::Scope scope(&p_.memory.dispatch);
  constexpr std::size_t kRegisterCost = 4;
  for (auto it = p_.workers.lower_bound(register_from_.value_or(WorkerId{})); register_from_; ++it) {
    if (it == p_.workers.end()) {
      register_from_.reset();
      break;
    }
    register_from_ = it->first;
    if (budget == 0) return false;
    budget -= std::min(budget, kRegisterCost);
    UpdateRegistration(*it->second);
  }
  if (!p_.dispatcher.Step(budget)) return false;
  if (!dealing_ || p_.clock.time < deal_at_) return true;
  const bool all = p_.jobs.Walk(dealt_, [&](EngineJob* job) {
    if (budget == 0) return false;
    --budget;
    if (job != nullptr && job->open) p_.dispatcher.Open(*job, budget);
    return true;
  });
  if (!all) return false;
  End();
  return true;
}

void Dealing::Close(EngineJob& job) { p_.dispatcher.Close(job); }

void Dealing::AfterCommand(std::size_t&) {
  std::size_t few = p_.pace.Part(kSmallBudget / 3);
  if (works() > 0) Step(few);
}

void Dealing::Tick(TickBudget&) {
  if (p_.clock.time - swept_at_ >= kSweepEvery) {
    swept_at_ = p_.clock.time;
    p_.dispatcher.Sweep();
  }
  std::size_t budget = p_.pace.Part(kTickBudget);
  Step(budget);
}

void Dealing::AddWakes(NextTick& next) const {
  if (p_.dispatcher.Busy()) next.AtOnce();
  if (dealing_) next.AtEngineTime(deal_at_);
}

std::size_t Dealing::works() const { return p_.dispatcher.Busy() || dealing_ ? 1 : 0; }

}  // namespace allot
