// SPDX-License-Identifier: Apache-2.0
// All workers of a queue: those that are registered, and those of which only the leases are known.
//
// Threading:  confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/jobs/job.h"
#include "match/explain.h"

namespace allot {

class WorkerTable {
 public:
  using Map = std::map<WorkerId, std::unique_ptr<EngineWorker>>;

  WorkerTable() = default;
  WorkerTable(const WorkerTable&) = delete;
  WorkerTable& operator=(const WorkerTable&) = delete;

  // Null: there is none.
  EngineWorker* Find(WorkerId worker) const {
    const auto found = all_.find(worker);
    return found == all_.end() ? nullptr : found->second.get();
  }
  // Null also for one that is not registered.
  EngineWorker* FindRegistered(WorkerId worker) const {
    EngineWorker* found = Find(worker);
    return found != nullptr && found->registered ? found : nullptr;
  }
  // That one; if it is not there, it is made, as one that is away.
  EngineWorker& Stub(WorkerId worker);
  // REQUIRES: it is not registered.
  void Erase(EngineWorker& worker);

  std::size_t size() const { return all_.size(); }
  bool empty() const { return all_.empty(); }
  // In order of id.
  Map::const_iterator begin() const { return all_.begin(); }
  Map::const_iterator end() const { return all_.end(); }
  Map::const_iterator lower_bound(WorkerId worker) const { return all_.lower_bound(worker); }
  Map::const_iterator upper_bound(WorkerId worker) const { return all_.upper_bound(worker); }

  // Counted as they change.
  void SetAway(EngineWorker& worker, bool away);
  void SetDraining(EngineWorker& worker, bool draining);
  // With so many slots now.
  void SetRegistered(EngineWorker& worker, std::uint32_t slots);
  void SetUnregistered(EngineWorker& worker);
  std::size_t registered() const { return registered_; }
  std::size_t away() const { return away_; }
  std::size_t draining() const { return draining_; }
  std::uint64_t slots() const { return slots_; }  // of all that are registered

  // That a worker had its tags until now.
  void RememberTags(const EngineWorker& worker, WallTime now);
  std::optional<WallTime> LastSeen(const std::string& tag) const;

  // All registered workers as explanations see them: made anew when one came, changed or left, and otherwise brought
  // up to date in place.
  struct Crew {
    std::vector<const EngineWorker*> workers;
    std::vector<MatchSnapshot::Worker> rows;
    std::shared_ptr<const void> kept;  // their traits
    bool current = false;              // else one came, changed or left
  };
  const Crew& CrewNow(const ClassTable& classes) const;
  void CrewChanged() { crew_.current = false; }

 private:
  Map all_;
  std::size_t registered_ = 0, away_ = 0, draining_ = 0;
  std::uint64_t slots_ = 0;
  std::unordered_map<std::string, WallTime> seen_tags_;  // of workers that are gone or changed
  mutable Crew crew_;
};

}  // namespace allot
