// SPDX-License-Identifier: Apache-2.0
#include "engine/commands/queue_commands.h"

#include <utility>
#include <vector>

#include "engine/parts.h"

namespace allot {

void QueueCommands::Configure(Duration worker_grace, std::size_t max_finished_jobs) {
  p_.options.worker_grace = worker_grace;
  p_.options.max_finished_jobs = max_finished_jobs;
}

void QueueCommands::SetPolicy(const Now& now, const StrategyPtr& policy, const Weights& weights) {
  p_.Begin(now);
  p_.orders.SetPolicy(policy ? policy : DefaultPolicy());
  p_.orders.SetWeights({weights.begin(), weights.end()});
  p_.users.SetWeights(weights);
  p_.End();
}

void QueueCommands::SetDispatch(const Now& now, const DispatchOptions& dispatch) {
  p_.Begin(now);
  p_.dealing.SetOptions(dispatch);
  p_.End();
}

void QueueCommands::Pause(const Now& now) {
  p_.Begin(now);
  if (!p_.queue.paused) {
    p_.queue.paused = true;
    p_.queue.paused_since = p_.clock.now.wall;
    p_.journal.Event(EventType::kQueuePaused).U8(1);
    p_.journal.MarkQueue();
  }
  p_.End();
}

void QueueCommands::Resume(const Now& now) {
  p_.Begin(now);
  if (p_.queue.paused) {
    p_.queue.paused = false;
    p_.queue.paused_since.reset();
    p_.journal.Event(EventType::kQueuePaused).U8(0);
    p_.journal.MarkQueue();
    std::vector<KindId> kinds;
    for (KindId kind = 0; kind < p_.classes.kinds().slots(); ++kind) kinds.push_back(kind);
    std::vector<ClassId> all;
    for (ClassId cls = 0; cls < p_.classes.class_slots(); ++cls) all.push_back(cls);
    p_.starts.Wake(std::move(kinds), all);
  }
  p_.End();
}

void QueueCommands::SetMaxLimitExpiration(Duration most) { p_.limits.SetMaxExpiration(most); }
void QueueCommands::SetLimitBanWindow(Duration window) { p_.limits.SetBanWindow(window); }
void QueueCommands::SetMemoryBudget(std::uint64_t bytes) { p_.budget.Set(bytes); }

}  // namespace allot
