#include "server/wait_table.h"

#include <algorithm>

namespace allot {

void WaitTable::Add(Engine& engine, JobId job, Owner owner, std::unique_ptr<JobWatcher> watcher, bool wants_progress) {
  const Id id = next_++;
  Wait wait;
  wait.job = job;
  wait.owner = owner;
  wait.deadline = watcher->deadline();
  wait.wants_progress = wants_progress && engine.Watch(job).ok();
  wait.watcher = std::move(watcher);
  if (wait.deadline) deadlines_.emplace(*wait.deadline, id);
  by_job_[job].push_back(id);
  by_owner_[owner].insert(id);
  waits_.emplace(id, std::move(wait));
}

void WaitTable::Remove(Engine& engine, Id id) {
  const auto it = waits_.find(id);
  if (it == waits_.end()) return;
  const Wait& wait = it->second;
  if (wait.deadline) deadlines_.erase({*wait.deadline, id});
  if (wait.wants_progress) engine.Unwatch(wait.job);
  if (const auto of_job = by_job_.find(wait.job); of_job != by_job_.end()) {
    std::vector<Id>& ids = of_job->second;
    // In order, as they came.
    if (const auto at = std::lower_bound(ids.begin(), ids.end(), id); at != ids.end() && *at == id) ids.erase(at);
    if (ids.empty()) by_job_.erase(of_job);
  }
  if (const auto of_owner = by_owner_.find(wait.owner); of_owner != by_owner_.end()) {
    of_owner->second.erase(id);
    if (of_owner->second.empty()) by_owner_.erase(of_owner);
  }
  waits_.erase(it);
}

void WaitTable::RemoveOwner(Engine& engine, Owner owner) {
  const auto it = by_owner_.find(owner);
  if (it == by_owner_.end()) return;
  const std::vector<Id> ids(it->second.begin(), it->second.end());
  for (const Id id : ids) Remove(engine, id);
}

std::size_t WaitTable::CountOf(Owner owner) const {
  const auto it = by_owner_.find(owner);
  return it == by_owner_.end() ? 0 : it->second.size();
}

void WaitTable::LookAt(Turn& turn, Id id, JobWatcher::News news) {
  const auto it = waits_.find(id);
  if (it == waits_.end()) return;
  Wait& wait = it->second;
  turn.Tells(wait.job);
  if (wait.watcher->Look(turn, wait.job, news) == JobWatcher::Next::kGo) return Remove(turn.engine, id);
  const std::optional<Instant> deadline = wait.watcher->deadline();
  if (deadline == wait.deadline) return;
  if (wait.deadline) deadlines_.erase({*wait.deadline, id});
  wait.deadline = deadline;
  if (deadline) deadlines_.emplace(*deadline, id);
}

void WaitTable::Tell(Turn& turn, JobId job, JobWatcher::News news) {
  const auto it = by_job_.find(job);
  if (it == by_job_.end()) return;
  if (news == JobWatcher::News::kEnded && it->second.size() > 16) {
    // Everyone goes: taking each out of a long list would be quadratic.
    std::vector<Id> ids = std::move(it->second);
    it->second.clear();
    for (const Id id : ids) LookAt(turn, id, news);
    std::vector<Id> left;
    for (const Id id : ids) {
      if (waits_.count(id) != 0) left.push_back(id);
    }
    if (!left.empty())
      by_job_[job] = std::move(left);
    else
      by_job_.erase(job);
    return;
  }
  const std::vector<Id> ids = it->second;
  for (const Id id : ids) {
    const auto wait = waits_.find(id);
    const bool wanted = news != JobWatcher::News::kProgress || (wait != waits_.end() && wait->second.wants_progress);
    if (wanted) LookAt(turn, id, news);
  }
}

void WaitTable::OnTime(Turn& turn) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= turn.now.mono) {
    const auto [at, id] = *deadlines_.begin();
    LookAt(turn, id, JobWatcher::News::kDeadline);
    // A watcher that asks for a time that is over must not hold the thread.
    if (!deadlines_.empty() && *deadlines_.begin() == std::pair(at, id)) break;
  }
}

void WaitTable::OnStop(Turn& turn) {
  std::vector<Id> ids;
  for (const auto& [id, wait] : waits_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (const Id id : ids) {
    LookAt(turn, id, JobWatcher::News::kDeadline);
    Remove(turn.engine, id);
  }
}

void WaitTable::Clear() {
  waits_.clear();
  by_job_.clear();
  by_owner_.clear();
  deadlines_.clear();
}

std::optional<Instant> WaitTable::NextDeadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

}  // namespace allot
