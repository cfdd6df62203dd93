// SPDX-License-Identifier: Apache-2.0
#include "server/queue/wait_table.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace allot {

Result<void> WaitTable::Admit(const Round& round, JobId job) const {
  constexpr std::string_view kHint = "wait for fewer at a time, or ask for their states in lists";
  const auto own = by_asker_.find(round.asker);
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
  if (of_job == by_job_.end()) return {};
  const auto same = of_job->second.by_asker.find(round.asker);
  if (same != of_job->second.by_asker.end() && same->second >= kMaxWaitsForOneJob) {
    return Error{
        Code::kTooManyWaits,
        "this token or address waits for the job " + ToText(job) + " " + FormatCount(same->second) + " times already",
        "wait for it once"};
  }
  if (of_job->second.all.size() >= kMaxWaitsForOneJobOfAll) {
    return Error{
        Code::kTooManyWaits,
        "clients wait for the job " + ToText(job) + " " + FormatCount(of_job->second.all.size()) + " times already",
        "ask for its state from time to time"};
  }
  return {};
}

void WaitTable::Add(Round& round, JobId job, Owner owner, std::unique_ptr<JobWatcher> watcher, bool wants_progress) {
  const Id id = next_++;
  Wait wait;
  wait.job = job;
  wait.owner = owner;
  wait.asker = round.asker;
  wait.deadline = watcher->deadline();
  wait.wants_progress = wants_progress && round.engine.jobs().Watch(job).ok();
  wait.watcher = std::move(watcher);
  if (wait.deadline) deadlines_.emplace(*wait.deadline, id);
  OfJob& of_job = by_job_[job];
  of_job.all.insert(id);
  if (wait.wants_progress) of_job.watching.insert(id);
  ++of_job.by_asker[round.asker];
  by_owner_[owner].insert(id);
  ++by_asker_[round.asker];
  waits_.emplace(id, std::move(wait));
}

void WaitTable::Remove(Engine& engine, Id id) {
  const auto it = waits_.find(id);
  if (it == waits_.end()) return;
  const Wait& wait = it->second;
  if (wait.deadline) deadlines_.erase({*wait.deadline, id});
  if (wait.wants_progress) engine.jobs().Unwatch(wait.job);
  if (const auto of_job = by_job_.find(wait.job); of_job != by_job_.end()) {
    of_job->second.all.erase(id);
    of_job->second.watching.erase(id);
    const auto same = of_job->second.by_asker.find(wait.asker);
    if (--same->second == 0) of_job->second.by_asker.erase(same);
    if (of_job->second.all.empty()) by_job_.erase(of_job);
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

void WaitTable::LookAt(Round& round, Id id, JobWatcher::News news) {
  const auto it = waits_.find(id);
  if (it == waits_.end()) return;
  Wait& wait = it->second;
  round.DependsOn(wait.job);
  if (wait.watcher->Look(round, wait.job, news) == JobWatcher::Next::kGo) return Remove(round.engine, id);
  const std::optional<Instant> deadline = wait.watcher->deadline();
  if (deadline == wait.deadline) return;
  if (wait.deadline) deadlines_.erase({*wait.deadline, id});
  wait.deadline = deadline;
  if (deadline) deadlines_.emplace(*deadline, id);
}

std::optional<WaitTable::Id> WaitTable::Notify(Round& round, JobId job, JobWatcher::News news, Id after) {
  for (;;) {
    // Whoever looks may go, and with the last one the job.
    const auto of_job = by_job_.find(job);
    if (of_job == by_job_.end()) return std::nullopt;
    const std::set<Id>& ids = news == JobWatcher::News::kProgress ? of_job->second.watching : of_job->second.all;
    const auto next = ids.upper_bound(after);
    if (next == ids.end()) return std::nullopt;
    if (round.looks >= kMaxLooks) return after;
    ++round.looks;
    after = *next;
    LookAt(round, after, news);
  }
}

void WaitTable::OnEnded(Round& round, JobId job) {
  if (const std::optional<Id> after = Notify(round, job, JobWatcher::News::kEnded, 0)) {
    rest_.push_back({job, JobWatcher::News::kEnded, *after});
  }
}

void WaitTable::OnProgress(Round& round, JobId job) {
  const auto of_job = by_job_.find(job);
  if (of_job == by_job_.end()) return;
  if (of_job->second.to_notify) {
    of_job->second.again = true;
    return;
  }
  const std::optional<Id> after = Notify(round, job, JobWatcher::News::kProgress, 0);
  if (!after) return;
  by_job_.find(job)->second.to_notify = true;  // it is there: somebody is still to be notified
  rest_.push_back({job, JobWatcher::News::kProgress, *after});
}

void WaitTable::NotifyRest(Round& round) {
  while (!rest_.empty() && round.looks < kMaxLooks) {
    Rest rest = rest_.front();
    rest_.pop_front();
    if (rest.news == JobWatcher::News::kEnded) {
      // One that was taken up again meanwhile is waited for again.
      const Result<JobView> view = round.engine.looks().Describe(rest.job);
      if (view.ok() && !Ended(view->state)) continue;
    }
    if (const std::optional<Id> after = Notify(round, rest.job, rest.news, rest.after)) {
      rest.after = *after;
      rest_.push_front(rest);
      return;
    }
    if (rest.news != JobWatcher::News::kProgress) continue;
    const auto of_job = by_job_.find(rest.job);
    if (of_job == by_job_.end()) continue;
    of_job->second.to_notify = std::exchange(of_job->second.again, false);
    if (of_job->second.to_notify) rest_.push_back({rest.job, JobWatcher::News::kProgress, 0});
  }
}

void WaitTable::OnTime(Round& round) {
  NotifyRest(round);
  while (!deadlines_.empty() && deadlines_.begin()->first <= round.now.mono && round.looks < kMaxLooks) {
    const auto [at, id] = *deadlines_.begin();
    ++round.looks;
    LookAt(round, id, JobWatcher::News::kDeadline);
    // A watcher that asks for a time that is over must not hold the thread.
    if (!deadlines_.empty() && *deadlines_.begin() == std::pair(at, id)) break;
  }
}

std::vector<WaitTable::Id> WaitTable::All() const {
  std::vector<Id> ids;
  ids.reserve(waits_.size());
  for (const auto& [id, wait] : waits_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

void WaitTable::OnStop(Round& round) {
  for (const Id id : All()) {
    LookAt(round, id, JobWatcher::News::kDeadline);
    Remove(round.engine, id);
  }
  rest_.clear();
}

void WaitTable::OnQueueGone(Round& round, const Error& why) {
  for (const Id id : All()) {
    waits_.find(id)->second.watcher->OnQueueGone(round, why);
    Remove(round.engine, id);
  }
  rest_.clear();
}

void WaitTable::Clear() {
  waits_.clear();
  by_job_.clear();
  rest_.clear();
  by_owner_.clear();
  by_asker_.clear();
  deadlines_.clear();
}

std::optional<Instant> WaitTable::NextDeadline() const {
  if (!rest_.empty()) return Instant{};
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

}  // namespace allot
