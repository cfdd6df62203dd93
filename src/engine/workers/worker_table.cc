// SPDX-License-Identifier: Apache-2.0
#include "engine/workers/worker_table.h"

#include <algorithm>

#include "base/check.h"

namespace allot {

EngineWorker& WorkerTable::Stub(WorkerId id) {
  auto [it, fresh] = all_.try_emplace(id);
  if (fresh) {
    it->second = std::make_unique<EngineWorker>();
    it->second->id = id;
    SetAway(*it->second, true);
  }
  return *it->second;
}

void WorkerTable::Erase(EngineWorker& worker) {
  CHECK(!worker.registered);
  SetAway(worker, false);
  all_.erase(worker.id);
}

void WorkerTable::SetAway(EngineWorker& worker, bool away) {
  if (worker.away == away) return;
  worker.away = away;
  away ? ++away_ : --away_;
}

void WorkerTable::SetDraining(EngineWorker& worker, bool draining) {
  if (worker.draining == draining) return;
  worker.draining = draining;
  draining ? ++draining_ : --draining_;
}

void WorkerTable::SetRegistered(EngineWorker& worker, std::uint32_t slots) {
  crew_.current = false;
  if (worker.registered) {
    slots_ -= worker.slots;
  } else {
    ++registered_;
  }
  worker.registered = true;
  worker.slots = slots;
  slots_ += slots;
}

void WorkerTable::SetUnregistered(EngineWorker& worker) {
  CHECK(worker.registered);
  crew_.current = false;
  SetDraining(worker, false);
  slots_ -= worker.slots;
  --registered_;
  worker.registered = worker.connected = false;
}

void WorkerTable::RememberTags(const EngineWorker& worker, WallTime now) {
  constexpr std::size_t kMostTagsRemembered = 10'000;
  for (const std::string& tag : worker.tags) seen_tags_[tag] = now;
  if (seen_tags_.size() <= kMostTagsRemembered) return;
  // The older half is forgotten, so that this happens seldom.
  std::vector<WallTime> times;
  for (const auto& [tag, time] : seen_tags_) times.push_back(time);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  std::erase_if(seen_tags_, [&](const auto& entry) { return entry.second < *middle; });
  if (seen_tags_.size() > kMostTagsRemembered) seen_tags_.clear();  // all at one moment
}

std::optional<WallTime> WorkerTable::LastSeen(const std::string& tag) const {
  const auto found = seen_tags_.find(tag);
  return found == seen_tags_.end() ? std::nullopt : std::optional(found->second);
}

const WorkerTable::Crew& WorkerTable::CrewNow(const ClassTable& classes) const {
  if (!crew_.current) {
    auto kept = std::make_shared<std::vector<std::shared_ptr<const WorkerTraits>>>();
    kept->reserve(registered_);
    crew_.workers.clear();
    crew_.rows.clear();
    for (const auto& [id, worker] : all_) {
      if (!worker->registered) continue;
      kept->push_back(classes.TraitsOf(worker->handle));
      crew_.workers.push_back(worker.get());
      // Without an owner: `kept` is that of all.
      crew_.rows.push_back({id, {std::shared_ptr<const WorkerTraits>(), kept->back().get()}});
    }
    crew_.kept = std::move(kept);
    crew_.current = true;
  }
  for (std::size_t i = 0; i < crew_.rows.size(); ++i) {
    const EngineWorker& worker = *crew_.workers[i];
    MatchSnapshot::Worker& row = crew_.rows[i];
    row.slots = worker.slots;
    row.running = static_cast<std::uint32_t>(worker.leases.size());
    row.draining = worker.draining;
    row.away = worker.away;
  }
  return crew_;
}

}  // namespace allot
