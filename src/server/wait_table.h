// Who waits for which job: requests that wait for its end, results to come, and those who watch.
//
// Threading:  confined to the queue's engine thread.
// Invariants: news of a job reaches its own watchers only; the engine is asked to watch a job exactly while someone
// here
//             wants its progress.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "server/turn.h"

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
  // Tells whoever it stands for. After kGo it is destroyed.
  virtual Next Look(Turn& turn, JobId job, News news) = 0;
  // Asked after Look() and at the beginning: when to look again, whatever happens.
  virtual std::optional<Instant> deadline() const { return std::nullopt; }
};

class WaitTable {
 public:
  using Owner = std::uint64_t;  // a connection

  // A queue has so many waits, and one asker so many of them, and so many for the same job: what ends with it is one
  // step.
  static constexpr std::size_t kMaxWaits = 500'000;
  static constexpr std::size_t kMaxWaitsOfOne = 100'000;
  static constexpr std::size_t kMaxWaitsForOneJob = 1000;

  // May whoever asked for the command that runs wait for the job? kTooManyWaits, with what there is already.
  Result<void> Admit(const Turn& turn, JobId job) const;
  // REQUIRES: Admit(); the job is there, and has not ended.
  void Add(Turn& turn, JobId job, Owner owner, std::unique_ptr<JobWatcher> watcher, bool wants_progress);
  // At most so many of them; true: that was all.
  bool RemoveOwner(Engine& engine, Owner owner, std::size_t most = SIZE_MAX);
  std::size_t CountOf(Owner owner) const;
  std::size_t size() const { return waits_.size(); }

  void OnProgress(Turn& turn, JobId job) { Tell(turn, job, JobWatcher::News::kProgress); }
  // Also for jobs that are gone altogether.
  void OnEnded(Turn& turn, JobId job) { Tell(turn, job, JobWatcher::News::kEnded); }
  void OnTime(Turn& turn);
  // Everyone looks as if their time had come, and goes.
  void OnStop(Turn& turn);
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
  void Tell(Turn& turn, JobId job, JobWatcher::News news);
  void LookAt(Turn& turn, Id id, JobWatcher::News news);
  void Remove(Engine& engine, Id id);

  Id next_ = 1;
  std::unordered_map<Id, Wait> waits_;
  std::unordered_map<JobId, std::set<Id>> by_job_;
  std::unordered_map<AskerId, std::size_t> by_asker_;
  std::unordered_map<Owner, boost::unordered_flat_set<Id>> by_owner_;
  std::set<std::pair<Instant, Id>> deadlines_;
};

}  // namespace allot
