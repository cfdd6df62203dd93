#include "server/wait_table.h"

#include <algorithm>

#include "base/text.h"

namespace allot {

Result<void> WaitTable::Admit(const Turn& turn, JobId job) const {
  constexpr std::string_view kHint = "wait for fewer at a time, or ask for their states in lists";
  const auto own = by_asker_.find(turn.asker);
  if (own != by_asker_.end() && own->second >= kMaxWaitsOfOne) {
    return Error{Code::kTooManyWaits,
                 "this token or address waits for " + FormatCount(own->second) + " jobs of this queue already",
                 std::string(kHint)};
  }
  if (waits_.size() >= kMaxWaits) {
    return Error{Code::kTooManyWaits,
                 "clients wait for " + FormatCount(waits_.size()) + " jobs of this queue already, this one for " +
                     FormatCount(own == by_asker_.end() ? 0 : own->second),
                 std::string(kHint)};
  }
  const auto of_job = by_job_.find(job);
  if (of_job != by_job_.end() && of_job->second.size() >= kMaxWaitsForOneJob) {
    const auto same = [&](Id other) { return waits_.find(other)->second.asker == turn.asker; };
    const auto count = static_cast<std::size_t>(std::count_if(of_job->second.begin(), of_job->second.end(), same));
    if (count >= kMaxWaitsForOneJob) {
      return Error{
          Code::kTooManyWaits,
          "this token or address waits for the job " + ToText(job) + " " + FormatCount(count) + " times already",
          "wait for it once"};
    }
  }
  return {};
}

void WaitTable::Add(Turn& turn, JobId job, Owner owner, std::unique_ptr<JobWatcher> watcher, bool wants_progress) {
  const Id id = next_++;
  Wait wait;
  wait.job = job;
  wait.owner = owner;
  wait.asker = turn.asker;
  wait.deadline = watcher->deadline();
  wait.wants_progress = wants_progress && turn.engine.Watch(job).ok();
  wait.watcher = std::move(watcher);
  if (wait.deadline) deadlines_.emplace(*wait.deadline, id);
  by_job_[job].insert(id);
  by_owner_[owner].insert(id);
  ++by_asker_[turn.asker];
  waits_.emplace(id, std::move(wait));
}

void WaitTable::Remove(Engine& engine, Id id) {
  const auto it = waits_.find(id);
  if (it == waits_.end()) return;
  const Wait& wait = it->second;
  if (wait.deadline) deadlines_.erase({*wait.deadline, id});
  if (wait.wants_progress) engine.Unwatch(wait.job);
  if (const auto of_job = by_job_.find(wait.job); of_job != by_job_.end()) {
    of_job->second.erase(id);
    if (of_job->second.empty()) by_job_.erase(of_job);
  }
  if (const auto of_owner = by_owner_.find(wait.owner); of_owner != by_owner_.end()) {
    of_owner->second.erase(id);
    if (of_owner->second.empty()) by_owner_.erase(of_owner);
  }
  if (const auto own = by_asker_.find(wait.asker); --own->second == 0) by_asker_.erase(own);
  waits_.erase(it);
}

bool WaitTable::RemoveOwner(Engine& engine, Owner owner, std::size_t most) {
  const auto it = by_owner_.find(owner);
  if (it == by_owner_.end()) return true;
  std::vector<Id> ids;
  for (const Id id : it->second) {
    if (ids.size() >= most) break;
    ids.push_back(id);
  }
  const bool all = ids.size() == it->second.size();
  for (const Id id : ids) Remove(engine, id);
  return all;
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
  const std::vector<Id> ids(it->second.begin(), it->second.end());
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
  by_asker_.clear();
  deadlines_.clear();
}

std::optional<Instant> WaitTable::NextDeadline() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

}  // namespace allot
