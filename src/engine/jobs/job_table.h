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
  EngineJob* At(std::size_t place) const { return by_id_[place].job(); }  // null: it is gone
  JobId IdAt(std::size_t place) const { return by_id_[place].id(); }
  std::size_t PlaceOf(JobId from) const;  // of the first that is not below it
  JobId newest() const { return by_id_.empty() ? JobId{} : by_id_.back().id(); }

  // Calls `visit` with the jobs from the cursor on, with null for one that is gone, until it says false: the walk goes
  // on with that one then. True: that was all for now. `visit` neither adds nor removes jobs.
  template <typename Visit>
  bool Walk(JobCursor& cursor, Visit visit) const {
    for (std::size_t place = PlaceOf(cursor.next); place < by_id_.size(); ++place) {
      cursor.next = by_id_[place].id();
      if (!visit(by_id_[place].job())) return false;
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
  TermsPtr Intern(JobTerms terms);
  // Nobody has them any more.
  void Forget(const InternedTerms& terms);
  std::uint64_t expr_bytes() const { return expr_bytes_; }  // of their expressions
  std::size_t terms() const { return terms_.size(); }

  // Of its own tables, about.
  std::size_t MemoryBytes() const { return by_id_.size() * sizeof(by_id_[0]) + jobs_.size() * 16; }

 private:
  // A job; or where it is gone, its id. One word for both: ids have 63 bits, and addresses of jobs are even.
  class Place {
   public:
    explicit Place(EngineJob& job) : word_(reinterpret_cast<std::uintptr_t>(&job)) {}
    EngineJob* job() const { return (word_ & 1) != 0 ? nullptr : reinterpret_cast<EngineJob*>(word_); }
    JobId id() const { return (word_ & 1) != 0 ? JobId{word_ >> 1} : job()->id(); }
    void Leave() { word_ = job()->id().value << 1 | 1; }

   private:
    std::uintptr_t word_;
  };
  static_assert(sizeof(std::uintptr_t) == 8 && alignof(EngineJob) > 1);

  std::uint64_t expr_bytes_ = 0;
  ShardedSet<std::shared_ptr<InternedTerms>> terms_;  // before the jobs: each goes with its last one
  JobMap jobs_;
  std::deque<Place> by_id_;
  std::size_t holes_ = 0;
  JobsByKey by_key_;
  std::unordered_set<JobId> streamed_sets_;
};

}  // namespace allot
