// SPDX-License-Identifier: Apache-2.0
#include "crash/ledger.h"

#include <algorithm>
#include <cstdlib>

namespace allot::testing {
namespace {

// Of the newest jobs, in a look that is not complete: in a long run there are too many to look at all every time.
constexpr int kPagesAtATime = 5;

}  // namespace

std::string Ledger::Name(TaskKey task) { return "task " + std::to_string(task.job) + "/" + std::to_string(task.index); }

void Ledger::Complain(const std::string& text) {
  if (violations_.size() < 50) violations_.push_back(text);
}

void Ledger::Complain(TaskKey task, const std::string& text) {
  Complain(Name(task) + " " + text + "\n  its history: " + tasks_[task].history);
}

void Ledger::Note(Task& task, const std::string& what, const std::string& lease, int life) {
  const auto at = std::chrono::duration_cast<milliseconds>(SteadyNow() - begun_).count();
  task.history += "\n    " + std::to_string(at) + " ms: " + what + " " + lease.substr(0, lease.find('-'));
  if (life != 0) task.history += " by worker " + std::to_string(life);
}

void Ledger::Violation(const std::string& text) {
  const std::lock_guard lock(mutex_);
  Complain(text);
}

void Ledger::Submitted(const LedgerJob& job) {
  const std::lock_guard lock(mutex_);
  const auto [known, fresh] = keys_.emplace(job.key, job.id);
  if (!fresh) {
    if (known->second != job.id) Complain("key " + job.key + " gave two jobs");
    return;
  }
  if (!jobs_.emplace(job.id, job).second) Complain("id " + std::to_string(job.id) + " was given twice");
  order_.push_back(job.id);
  // Its tasks may have been worked off before the answer to the submit arrived.
  for (auto task = tasks_.lower_bound({job.id, 0}); task != tasks_.end() && task->first.job == job.id; ++task) {
    if (!task->second.done_lease.empty()) ++jobs_.at(job.id).done;
    if (task->second.final_taken) ++jobs_.at(job.id).failed;
  }
  ++totals_.jobs;
  totals_.tasks += job.count;
}

void Ledger::CancelSent(std::uint64_t job) {
  const std::lock_guard lock(mutex_);
  jobs_.at(job).cancel_sent = true;
}

void Ledger::CancelAcknowledged(std::uint64_t job, const std::string& state) {
  const std::lock_guard lock(mutex_);
  LedgerJob& known = jobs_.at(job);
  if (state != "cancelled" && state != "done" && state != "failed") {
    Complain("job " + std::to_string(job) + " is " + state + " after a cancel");
  }
  if (known.cancelled && state != "cancelled")
    Complain("job " + std::to_string(job) + " was cancelled, and is " + state);
  if (state == "cancelled" && !known.cancelled) {
    known.cancelled = true;
    known.cancelled_at = SteadyNow();
    ++totals_.cancelled;
  }
}

std::optional<std::uint64_t> Ledger::AnyJob(std::uint64_t choice) const {
  const std::lock_guard lock(mutex_);
  if (order_.empty()) return std::nullopt;
  // One of the latest: the others have ended.
  const std::size_t window = std::min<std::size_t>(order_.size(), 20);
  return order_[order_.size() - 1 - choice % window];
}

void Ledger::EndHold(Task& task, const std::string& lease) {
  std::erase_if(task.holds, [&](const Hold& hold) { return hold.lease == lease; });
}

void Ledger::Granted(const LifePtr& life, TaskKey key, const std::string& lease, std::uint32_t attempt,
                     SteadyTime connected_at) {
  const std::lock_guard lock(mutex_);
  const SteadyTime now = SteadyNow();
  ++totals_.grants;
  if (!leases_.insert(lease).second) Complain(key, "came twice with the same lease " + lease);
  // The job may not be known yet: a grant can overtake the answer to the submit.
  if (const auto job = jobs_.find(key.job); job != jobs_.end()) {
    if (key.index >= job->second.count) Complain(key, "does not exist");
    if (job->second.cancelled && connected_at > job->second.cancelled_at) {
      Complain(key, "was handed out although its job was cancelled");
    }
  }
  Task& task = tasks_[key];
  Note(task, "attempt " + std::to_string(attempt) + " granted with lease", lease, life->number);
  if (!task.done_lease.empty()) Complain(key, "was handed out although it was done");
  if (task.final_taken) Complain(key, "was handed out although it had failed for good");
  if (attempt <= task.failures) {
    Complain(key, "came as attempt " + std::to_string(attempt) + " after " + std::to_string(task.failures) +
                      " acknowledged failures");
  }
  // A worker that was itself silent for long may be reading a message whose lease is over.
  if (!Alive(*life, now)) return;
  for (const Hold& hold : task.holds) {
    if (Alive(*hold.life, now)) {
      Complain(key, "was given to worker " + std::to_string(life->number) + " (lease " + lease + ") while worker " +
                        std::to_string(hold.life->number) + " with lease " + hold.lease);
    } else {
      ++totals_.expired;
    }
  }
  task.holds.clear();
  task.holds.push_back({lease, life, now});
}

void Ledger::ReportSent(TaskKey key, const std::string& lease, ReportKind kind, const std::string& result) {
  const std::lock_guard lock(mutex_);
  Task& task = tasks_[key];
  EndHold(task, lease);
  constexpr const char* kNames[] = {"done", "failed", "failed for good", "released"};
  Note(task, std::string(kNames[static_cast<int>(kind)]) + " sent for lease", lease);
  if (kind == ReportKind::kFinal) task.final_sent = true;
  if (kind != ReportKind::kDone) return;
  const bool again =
      std::any_of(task.done_sent.begin(), task.done_sent.end(), [&](const Sent& sent) { return sent.lease == lease; });
  if (!again) task.done_sent.push_back({lease, result});
}

void Ledger::ReportTaken(TaskKey key, const std::string& lease, ReportKind kind, SteadyTime sent_at) {
  const std::lock_guard lock(mutex_);
  Task& task = tasks_[key];
  Note(task, "report taken for lease", lease);
  const auto job = jobs_.find(key.job);
  if (job != jobs_.end() && job->second.cancelled && sent_at > job->second.cancelled_at &&
      kind != ReportKind::kReleased) {
    Complain(key, "a report was taken although its job was cancelled");
  }
  switch (kind) {
    case ReportKind::kDone:
      if (!task.done_lease.empty() && task.done_lease != lease) Complain(key, "was taken as done twice");
      if (task.final_taken) Complain(key, "was taken as done after it had failed for good");
      if (task.done_lease.empty()) {
        ++totals_.done;
        if (job != jobs_.end()) ++job->second.done;
      }
      if (task.done_lease.empty()) task.done_at = SteadyNow();
      task.done_lease = lease;
      if (violations_.empty()) {
        // Little can happen to it any more, and a long run has millions.
        task.history = std::string();
        Note(task, "done with lease", lease);
      }
      break;
    case ReportKind::kFailed:
    case ReportKind::kFinal:
      ++totals_.failed;
      ++task.failures;
      // Acknowledgements on two connections may overtake each other.
      if (!task.done_lease.empty() && sent_at > task.done_at) Complain(key, "was taken as failed after it was done");
      if (kind == ReportKind::kFinal && !task.final_taken) {
        task.final_taken = true;
        if (job != jobs_.end()) ++job->second.failed;
      }
      break;
    case ReportKind::kReleased:
      ++totals_.released;
      break;
  }
}

void Ledger::ReportRefused(TaskKey key, const std::string& lease, const std::string& code, bool maybe) {
  const std::lock_guard lock(mutex_);
  ++totals_.refused;
  if (code != "stale" && code != "job_ended") Complain(key, "a report was refused with code '" + code + "'");
  Task& task = tasks_[key];
  Note(task, "report refused as " + code + " for lease", lease);
  for (Sent& sent : task.done_sent) {
    if (sent.lease == lease && !maybe) sent.refused = true;
  }
}

void Ledger::Dropped(TaskKey key, const std::string& lease, const char* how) {
  const std::lock_guard lock(mutex_);
  Note(tasks_[key], how + std::string(": lease"), lease);
  EndHold(tasks_[key], lease);
}

void Ledger::Resumed(TaskKey key, const std::string& lease, bool after_restart) {
  const std::lock_guard lock(mutex_);
  ++totals_.resumed;
  if (after_restart) ++totals_.resumed_later;
  Task& task = tasks_[key];
  Note(task, "resumed: lease", lease);
  if (task.done_lease == lease) Complain(key, "was done, and runs again under lease " + lease);
}

void Ledger::Lost(const LifePtr& life, TaskKey key, const std::string& lease, bool reported, SteadyTime silent_since) {
  const std::lock_guard lock(mutex_);
  EndHold(tasks_[key], lease);
  Note(tasks_[key], "lost: lease", lease, life->number);
  if (reported) return;
  const auto job = jobs_.find(key.job);
  if (job == jobs_.end() || job->second.cancel_sent || job->second.may_fail) return;
  if (SteadyNow() - silent_since < hold_) {
    Complain(key,
             "worker " + std::to_string(life->number) + " had lease " + lease + ", came back in time, and it was lost");
  }
}

void Ledger::SaidExpired(const LifePtr& life, TaskKey key, const std::string& lease, SteadyTime running_since) {
  const std::lock_guard lock(mutex_);
  EndHold(tasks_[key], lease);
  Note(tasks_[key], "expired: lease", lease, life->number);
  if (life->last_gap.load() < running_since && Alive(*life, SteadyNow())) {
    Complain(key,
             "lease " + lease + " expired although worker " + std::to_string(life->number) + " showed signs of life");
  }
}

void Ledger::CheckOneJob(const LedgerJob& known, const Json& job) {
  const std::string name = "job " + std::to_string(known.id);
  const std::int64_t sum = job.Int("/queued") + job.Int("/running") + job.Int("/retrying") + job.Int("/done") +
                           job.Int("/failed") + job.Int("/skipped");
  const std::string state = job.Text("/state");
  if (job.Int("/count") != known.count || sum != known.count) Complain(name + ": counts do not add up: " + job.Dump());
  if (job.Text("/idempotency_key") != known.key) Complain(name + " has another key: " + job.Dump());
  if (job.Int("/done") < known.done) {
    Complain(name + ": " + std::to_string(known.done) + " tasks were acknowledged as done: " + job.Dump());
  }
  if (job.Int("/failed") < known.failed) {
    Complain(name + ": " + std::to_string(known.failed) + " tasks were acknowledged as failed: " + job.Dump());
  }
  if (known.cancelled && state != "cancelled") Complain(name + " was cancelled: " + job.Dump());
  if (!known.cancel_sent && state == "cancelled") Complain(name + " is cancelled, and nobody did it");
  if (!known.may_fail && state == "failed") Complain(name + " failed, and may not: " + job.Dump());
}

void Ledger::CheckJobs(std::uint16_t port, bool complete) {
  std::map<std::uint64_t, LedgerJob> known;
  {
    const std::lock_guard lock(mutex_);
    known = jobs_;
  }
  std::set<std::uint64_t> seen;
  std::set<std::string> keys;
  Http http(port);
  std::string before;
  for (int pages = 1;; ++pages) {
    const Answer answer = http.Get("/v1/queues/default/jobs?limit=1000" + (before.empty() ? "" : "&before=" + before));
    if (answer.status != 200) return Violation("the list of jobs answers " + std::to_string(answer.status));
    const Document page(answer.body);
    const std::lock_guard lock(mutex_);
    page.ForEach("/jobs", [&](const Json& job) {
      const std::uint64_t id = std::strtoull(job.Text("/id").c_str(), nullptr, 10);
      if (!seen.insert(id).second) Complain("job " + std::to_string(id) + " is listed twice");
      if (!keys.insert(job.Text("/idempotency_key")).second)
        Complain("two jobs with key " + job.Text("/idempotency_key"));
      const auto at = known.find(id);
      if (at != known.end()) {
        // A cancel may have been sent after the copy was made; whatever was acknowledged counts as of the copy.
        at->second.cancel_sent |= jobs_.at(id).cancel_sent;
        CheckOneJob(at->second, job);
      } else if (complete) {
        Complain("job " + std::to_string(id) + " was never acknowledged: " + job.Dump());
      }
    });
    before = page.Text("/next");
    if (before.empty()) break;
    if (!complete && pages == kPagesAtATime) break;
  }
  const std::lock_guard lock(mutex_);
  const std::uint64_t oldest = before.empty() || seen.empty() ? 0 : *seen.begin();
  for (const auto& [id, job] : known) {
    if (id >= oldest && seen.count(id) == 0) Complain("job " + std::to_string(id) + " was acknowledged, and is gone");
  }
}

void Ledger::CheckTaskResult(const LedgerJob& job, TaskKey key, const Json& result) {
  const std::string state = result.Text("/state");
  const auto at = tasks_.find(key);
  const Task none;
  const Task& task = at == tasks_.end() ? none : at->second;
  if (!task.done_lease.empty() && state != "done") Complain(key, "was acknowledged as done: " + result.Dump());
  if (task.final_taken && state != "failed") Complain(key, "was acknowledged as failed: " + result.Dump());
  if (state == "done") {
    const std::string text = result.Text("/result");
    bool reported = false;
    for (const Sent& sent : task.done_sent) {
      if (sent.result != text) continue;
      reported = !sent.refused && (task.done_lease.empty() || task.done_lease == sent.lease);
    }
    if (!reported) Complain(key, "has a result that nobody reported: " + result.Dump());
  } else if (state == "failed") {
    if (!task.final_sent && job.max_attempts >= 100) Complain(key, "failed by itself: " + result.Dump());
  } else if (state == "skipped") {
    if (!job.cancel_sent && !job.may_fail) Complain(key, "was skipped: " + result.Dump());
  } else {
    Complain(key, "has not ended: " + result.Dump());
  }
}

void Ledger::CheckResults(std::uint16_t port) {
  Http http(port);
  for (const LedgerJob& job : Jobs()) {
    std::uint32_t next = 0;
    while (next < job.count) {
      const Answer answer = http.Get("/v1/queues/default/jobs/" + std::to_string(job.id) +
                                     "/results?limit=1000&from=" + std::to_string(next));
      if (answer.status != 200) return Violation("results answer " + std::to_string(answer.status) + answer.body);
      const Document page(answer.body);
      const std::lock_guard lock(mutex_);
      const std::uint32_t before = next;
      page.ForEach("/results", [&](const Json& result) {
        if (result.Int("/index") != next) Complain("job " + std::to_string(job.id) + ": results leave a gap");
        CheckTaskResult(job, {job.id, next}, result);
        ++next;
      });
      if (next == before) {
        Complain("job " + std::to_string(job.id) + ": results end at " + std::to_string(next) + ": " + answer.body);
        break;
      }
      if (page.IsNull("/next") != (next == job.count)) Complain("job " + std::to_string(job.id) + ": wrong next");
    }
  }
}

std::vector<LedgerJob> Ledger::Jobs() const {
  const std::lock_guard lock(mutex_);
  std::vector<LedgerJob> jobs;
  for (const auto& [id, job] : jobs_) jobs.push_back(job);
  return jobs;
}

std::vector<Ledger::DoneLease> Ledger::SomeDone(std::size_t max) const {
  const std::lock_guard lock(mutex_);
  std::vector<DoneLease> done;
  for (const auto& [key, task] : tasks_) {
    if (done.size() == max) break;
    if (!task.done_lease.empty()) done.push_back({key, task.done_lease});
  }
  return done;
}

std::vector<std::string> Ledger::violations() const {
  const std::lock_guard lock(mutex_);
  return violations_;
}

LedgerTotals Ledger::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

}  // namespace allot::testing
