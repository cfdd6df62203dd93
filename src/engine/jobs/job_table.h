// SPDX-License-Identifier: Apache-2.0
// All jobs of a queue: by id, in order of their ids, by idempotency key; and what they have in common.
//
// Threading:  confined to the queue's engine thread.
// Invariants: places are in order of id. One whose job is gone stays empty until Remove() closes all such places.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/ids.h"
#include "base/sharded_set.h"
#include "engine/jobs/job.h"
#include "engine/jobs/job_map.h"

namespace allot {

// Where a walk over all jobs, in order of their ids, goes on. Jobs may come and go between its steps.
struct JobCursor {
  JobId next;  // no job before this one
  static JobCursor After(JobId id) { return {JobId{id.value + 1}}; }
};

class JobTable {
 public:
  JobTable() = default;
  JobTable(const JobTable&) = delete;
  JobTable& operator=(const JobTable&) = delete;

  // Null: there is none.
  EngineJob* Find(JobId id) const { return jobs_.Find(id); }
  std::size_t size() const { return jobs_.size(); }
  template <typename F>
  void ForEach(F f) const {
    jobs_.ForEach(f);
  }
  // A new one. REQUIRES: there is none of that id. Those above it must be few, or this takes long.
  EngineJob& Add(JobId id, std::uint32_t count);
  // True: empty places were closed, so that jobs are at others now.
  bool Remove(EngineJob& job);
  // Closes all empty places.
  void Compact();

  // --- Places: jobs in order of id.
  std::size_t places() const { return by_id_.size(); }
  EngineJob* At(std::size_t place) const { return by_id_[place].second; }  // null: it is gone
  JobId IdAt(std::size_t place) const { return by_id_[place].first; }
  std::size_t PlaceOf(JobId from) const;  // of the first that is not below it
  JobId newest() const { return by_id_.empty() ? JobId{} : by_id_.back().first; }

  // Calls `visit` with the jobs from the cursor on, with null for one that is gone, until it says false: the walk goes
  // on with that one then. True: that was all for now. `visit` neither adds nor removes jobs.
  template <typename Visit>
  bool Walk(JobCursor& cursor, Visit visit) const {
    for (std::size_t place = PlaceOf(cursor.next); place < by_id_.size(); ++place) {
      cursor.next = by_id_[place].first;
      if (!visit(by_id_[place].second)) return false;
    }
    cursor = JobCursor::After(newest());
    return true;
  }

  // --- Idempotency keys. Those of jobs that were remembered, until they are forgotten.
  const EngineJob* FindKey(std::string_view user, std::string_view key) const;
  void RememberKey(const EngineJob& job);
  void ForgetKey(const EngineJob& job);

  // --- Payload sets whose id is not their job's, as those of streamed submits.
  void RememberSet(const EngineJob& job);
  void ForgetSet(const EngineJob& job);
  // Is a set of that id used by a job?
  bool UsesPayloadSet(JobId set) const;

  // Terms that many jobs have in common are kept once, as long as any of them lives. The pointer is for the thread of
  // the table, and must not outlive it; JobTerms::View() may.
  std::shared_ptr<const JobTerms> Intern(JobTerms terms);
  std::uint64_t expr_bytes() const { return expr_bytes_; }  // of their expressions
  std::size_t terms() const { return terms_.size(); }

  // Of its own tables, about.
  std::size_t MemoryBytes() const { return by_id_.size() * sizeof(by_id_[0]) + jobs_.size() * 24; }

 private:
  std::uint64_t expr_bytes_ = 0;
  ShardedSet<std::weak_ptr<const JobTerms>> terms_;  // before the jobs: each goes with its last one
  JobMap jobs_;
  std::deque<std::pair<JobId, EngineJob*>> by_id_;
  std::size_t holes_ = 0;
  JobsByKey by_key_;
  std::unordered_set<JobId> streamed_sets_;
};

}  // namespace allot
