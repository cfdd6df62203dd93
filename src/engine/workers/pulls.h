// SPDX-License-Identifier: Apache-2.0
// Workers that wait for something to start: among whom, for how long, and whom to look after next.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "engine/jobs/job.h"
#include "engine/workers/waiting.h"

namespace allot {

struct EngineParts;

// Who may find something that was not there before. Collected while a command goes on, and followed at its end
// (Starts).
struct Wakes {
  std::vector<ClassId> opened;  // classes that got work in this command, or match more workers now
  std::vector<KindId> kinds;    // that may run more now
  std::vector<KindId> again;    // whose look met too much that is blocked: it goes on with the next tick
  // Lists of waiting workers that were looked after in this command, and for whom there is nothing.
  std::set<std::tuple<Orders::Id, KindId, LimitProfileId>> found_nothing;

  void Opened(ClassId cls) {
    if (opened.empty() || opened.back() != cls) opened.push_back(cls);
  }
};

class Pulls {
 public:
  explicit Pulls(EngineParts& parts) : p_(parts) {}

  // Waits from now on, behind all others.
  void Park(EngineWorker& worker);
  void Unpark(EngineWorker& worker);
  // It wants nothing more, and the strategy of that pull is over.
  void End(EngineWorker& worker);
  // Those that wait do so among their like.
  void MoveAmong(EngineWorker& worker, KindId kind);
  // Workers that wait among those of that kind, and are of another now, go there.
  void MoveWaiting(KindId from);

 private:
  void WaitAmong(EngineWorker& worker, KindId kind);

  EngineParts& p_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace allot
