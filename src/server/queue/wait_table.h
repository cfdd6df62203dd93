// SPDX-License-Identifier: Apache-2.0
// Who waits for which job: requests that wait for its end, results to come, and those who watch.
//
// Threading:  confined to the queue's engine thread.
// Invariants: news of a job reaches its own watchers only; the engine is asked to watch a job exactly while someone
// here
//             wants its progress.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "server/queue/round.h"

namespace allot {

class JobWatcher {
 public:
  enum class News {
    kProgress,  // a task of it ended, or its state changed
    kEnded,
    kDeadline,  // the time that it asked for has come
  };
  enum class Next { kStay, kGo };
  virtual ~JobWatcher() = default;
  // Notifies whoever it stands for. After kGo it is destroyed.
  virtual Next Look(Round& round, JobId job, News news) = 0;
  // The queue was deleted: nothing more will come. It is destroyed after this.
  virtual void OnQueueGone(Round& /*turn*/, const Error& /*why*/) {}
  // Asked after Look() and at the beginning: when to look again, whatever happens.
  virtual std::optional<Instant> deadline() const { return std::nullopt; }
};

class WaitTable {
 public:
  using Owner = std::uint64_t;  // a connection

  // A queue has so many waits, one asker so many of them, and so many for the same job.
  static constexpr std::size_t kMaxWaits = 500'000;
  static constexpr std::size_t kMaxWaitsOfOne = 100'000;
  static constexpr std::size_t kMaxWaitsForOneJob = 1000;
  // For one job of all askers together.
  static constexpr std::size_t kMaxWaitsForOneJobOfAll = 20'000;
  // So many look in one round; the others follow with OnTime().
  static constexpr std::size_t kMaxLooks = 2000;

  // May whoever asked for the command that runs wait for the job? kTooManyWaits, with what there is already.
  Result<void> Admit(const Round& round, JobId job) const;
  // REQUIRES: Admit(); the job is there, and has not ended.
  void Add(Round& round, JobId job, Owner owner, std::unique_ptr<JobWatcher> watcher, bool wants_progress);
  // At most so many of them; true: that was all.
  bool RemoveOwner(Engine& engine, Owner owner, std::size_t most = SIZE_MAX);
  std::size_t CountOf(Owner owner) const;
  std::size_t size() const { return waits_.size(); }

  void OnProgress(Round& round, JobId job);
  // Also for jobs that are gone altogether.
  void OnEnded(Round& round, JobId job);
  // Goes on with those who are still to be notified, and then with those whose time has come.
  void OnTime(Round& round);
  // Everyone looks as if their time had come, and goes.
  void OnStop(Round& round);
  // The queue was deleted: everyone is notified, and goes.
  void OnQueueGone(Round& round, const Error& why);
  // When to call OnTime(): at once, while there are some to be notified.
  std::optional<Instant> NextDeadline() const;
  // Forgets everyone, without a word.
  void Clear();

 private:
  using Id = std::uint64_t;
  struct Wait {
    JobId job;
    Owner owner = 0;
    AskerId asker = 0;
    std::unique_ptr<JobWatcher> watcher;
    std::optional<Instant> deadline;
    bool wants_progress = false;
  };
  struct OfJob {
    std::set<Id> all;
    std::set<Id> watching;  // of those, the ones that want its progress
    std::unordered_map<AskerId, std::size_t> by_asker;
    bool to_notify = false;  // of progress: it is in rest_
    bool again = false;      // there was more of it meanwhile
  };
  // Those who are still to be notified.
  struct Rest {
    JobId job;
    JobWatcher::News news;
    Id after = 0;  // up to here they were
  };
  // Those after `after`. Where it had to stop, if it had to.
  std::optional<Id> Notify(Round& round, JobId job, JobWatcher::News news, Id after);
  void NotifyRest(Round& round);
  std::vector<Id> All() const;
  void LookAt(Round& round, Id id, JobWatcher::News news);
  void Remove(Engine& engine, Id id);

  Id next_ = 1;
  std::unordered_map<Id, Wait> waits_;
  std::unordered_map<JobId, OfJob> by_job_;
  std::deque<Rest> rest_;
  std::unordered_map<AskerId, std::size_t> by_asker_;
  std::unordered_map<Owner, boost::unordered_flat_set<Id>> by_owner_;
  std::set<std::pair<Instant, Id>> deadlines_;
};

}  // namespace allot
