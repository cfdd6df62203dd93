// SPDX-License-Identifier: Apache-2.0
#include "engine/workers/pulls.h"

#include <algorithm>

#include "engine/parts.h"

namespace allot {

void Pulls::Park(EngineWorker& worker) {
  if (worker.waiting()) return;
  worker.waiting_sequence = next_sequence_++;
  worker.waiting_since = p_.clock.time;
  p_.dispatcher.SetAsking(worker, worker.waiting_sequence);
  WaitAmong(worker, p_.classes.KindOf(worker.handle));
}

void Pulls::WaitAmong(EngineWorker& worker, KindId kind) {
  p_.waiting.Add(worker, worker.Pulls(), kind, p_.limits.waits().ProfileOf(worker.limited, p_.clock.now));
}

void Pulls::MoveAmong(EngineWorker& worker, KindId kind) {
  p_.waiting.Remove(worker);
  WaitAmong(worker, kind);
  p_.wakes.kinds.push_back(kind);
}

void Pulls::End(EngineWorker& worker) {
  Unpark(worker);
  worker.credit = 0;
  worker.pull_until.reset();
  if (!worker.pull_strategy) return;
  worker.pull_strategy = nullptr;
  p_.strategies.Linger(worker.pull_order);
}

void Pulls::Unpark(EngineWorker& worker) {
  if (!worker.waiting()) return;
  p_.waiting.Remove(worker);
  p_.dispatcher.SetAsking(worker, std::nullopt);
}

void Pulls::MoveWaiting(KindId from) {
  for (Orders::Id order = 0; order < p_.waiting.orders(); ++order) {
    std::vector<EngineWorker*> moved;
    if (const Waiting::Lists* lists = p_.waiting.Of(order, from)) {
      for (const auto& [profile, list] : *lists) {
        for (const EngineWorker& worker : list) {
          if (p_.classes.KindOf(worker.handle) != from) moved.push_back(p_.workers.Find(worker.id));
        }
      }
    }
    for (EngineWorker* worker : moved) MoveAmong(*worker, p_.classes.KindOf(worker->handle));
  }
}

}  // namespace allot
