// SPDX-License-Identifier: Apache-2.0
// Moments at which something is due.
//
// A timer is never taken back: whoever sets one remembers for which moment, and one that no longer holds is recognised,
// and passed over, when it comes up. Where jobs are changed again and again those are too many, and swept out in steps.
//
// Threading:  confined to the queue's engine thread.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <queue>

#include "base/ids.h"
#include "base/time.h"
#include "engine/jobs/job.h"
#include "engine/jobs/job_table.h"

namespace allot {

template <typename Time, typename Id>
struct Timer {
  Time at;
  Id id;
  friend bool operator>(const Timer& a, const Timer& b) { return a.at != b.at ? a.at > b.at : a.id > b.id; }
};

// The earliest first; of those of one moment, the lowest id.
template <typename Time, typename Id>
class Timers {
 public:
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return size_; }
  const Timer<Time, Id>& next() const { return heap_.top(); }  // REQUIRES: not empty
  bool Due(Time now) const { return !heap_.empty() && heap_.top().at <= now; }
  void Set(Time at, Id id) {
    heap_.push({at, id});
    ++size_;
  }
  // REQUIRES: not empty.
  Timer<Time, Id> Take() {
    const Timer<Time, Id> timer = heap_.top();
    heap_.pop();
    --size_;
    return timer;
  }

 private:
  std::priority_queue<Timer<Time, Id>, std::deque<Timer<Time, Id>>, std::greater<>> heap_;
  std::size_t size_ = 0;  // its own, for whoever looks with every command
};

// What jobs wait for, and how many have ended.
class JobTimers {
 public:
  using OfJobs = Timers<WallTime, JobId>;

  // After any change of its state, schedule or next retry. Counts it, if it has ended.
  void Start(EngineJob& job);
  // One that had ended goes on, or is forgotten.
  void Uncount() { --ended_jobs_; }
  std::size_t ended_jobs() const { return ended_jobs_; }

  OfJobs& schedules() { return kept_.schedules; }
  OfJobs& expiries() { return kept_.expiries; }  // ends of retention
  OfJobs& ends() { return kept_.ends; }          // the earliest goes first when too many are kept
  OfJobs& retries() { return retries_; }         // on the steady clock
  const OfJobs& schedules() const { return kept_.schedules; }
  const OfJobs& expiries() const { return kept_.expiries; }
  const OfJobs& retries() const { return retries_; }

  // Are there too many that no longer hold?
  bool ToSweep(const JobTable& jobs) const { return swept_ || kept_.longest() > 1024 + 2 * jobs.size(); }
  // Looks at some jobs.
  void Sweep(const JobTable& jobs);

 private:
  struct Kept {
    OfJobs schedules, expiries, ends;
    void Push(const EngineJob& job);
    std::size_t longest() const { return std::max({schedules.size(), expiries.size(), ends.size()}); }
  };
  Kept kept_;
  std::unique_ptr<Kept> swept_;  // only what holds, as far as the walk has got
  JobCursor sweeping_;
  OfJobs retries_;
  std::size_t ended_jobs_ = 0;
};

}  // namespace allot
