// SPDX-License-Identifier: Apache-2.0
// Jobs by filter, and the oldest that is open, without looking at every job.
//
// Whoever changes a job's state, tags or whether it is open says so here (job_blocks.h keeps what there is in each
// stretch of 64 jobs). Whoever looks passes by the stretches that have nothing for it.
//
// Threading:  confined to the queue's engine thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "engine/jobs/job_blocks.h"
#include "engine/jobs/job_table.h"

namespace allot {

// Which jobs somebody looks for. Refers to texts of whoever asks.
class JobFilter {
 public:
  JobFilter(std::optional<JobState> state, std::string_view tag, std::string_view user, bool open = false);
  // The open jobs of one user, the one without a name too.
  static JobFilter OpenOf(const UserTable::Entry& user);
  const JobBlocks::Want& want() const { return want_; }
  bool Finds(const EngineJob& job);

 private:
  std::string_view tag_, user_;
  const UserTable::Entry* entry_ = nullptr;
  JobBlocks::Want want_;
  const JobTerms* seen_ = nullptr;  // many jobs have their terms in common
  bool found_ = false;
};

class JobLists {
 public:
  // What it costs to pass a block by, and to look at a job.
  static constexpr std::int64_t kBlockNanoseconds = 10;
  static constexpr std::int64_t kJobNanoseconds = 100;

  explicit JobLists(const JobTable& jobs) : jobs_(jobs) {}

  // The job at that place, which is the last.
  void Append(const EngineJob& job, std::size_t place);
  // After a change of its tags.
  void AddKeys(const EngineJob& job);
  // Before its state changes.
  void SetState(const EngineJob& job, JobState state) { blocks_.SetState(job.id(), job.state, state, job.block); }
  void SetOpen(const EngineJob& job, bool open);
  void Remove(const EngineJob& job) { blocks_.Remove(job.id(), job.state, job.block); }
  // After JobTable::Remove() has closed all empty places.
  void Compact();

  // Calls `visit` with those at places from `from` to before `to` that the filter finds, in order of id or from the
  // end, until it says false or that took about so long. Where it goes on then: `to` or `from`, if it is through.
  template <typename Visit>
  std::size_t Ascend(JobFilter& filter, std::size_t from, std::size_t to, std::int64_t& nanoseconds, Visit visit) const;
  template <typename Visit>
  std::size_t Descend(JobFilter& filter, std::size_t from, std::size_t to, std::int64_t& nanoseconds,
                      Visit visit) const;
  // As JobTable::Walk(), through stretches that have an open job alone.
  template <typename Visit>
  bool WalkOpen(JobCursor& cursor, Visit visit) const;

  // The oldest job in stretches that have an open one that `fits(job)`, where that is found by so few looks; null: none
  // was.
  template <typename Fits>
  const EngineJob* FirstOpen(std::size_t& looks, Fits fits) const;
  // The oldest open job; null: there is none.
  const EngineJob* Oldest() const;
  std::size_t MemoryBytes() const { return blocks_.MemoryBytes(); }

 private:
  std::size_t EndOf(std::size_t block) const {
    return block + 1 < blocks_.size() ? blocks_.begin(block + 1) : jobs_.places();
  }
  // All of the block was looked at, and nothing found: only what is there is to be found from now on.
  void Renew(std::size_t block) const;

  const JobTable& jobs_;
  mutable JobBlocks blocks_;              // whoever looks at all of a block may say better what is in it
  mutable TermsPtr listed_;               // terms of the last one, whose keys the last block has
  mutable std::size_t oldest_block_ = 0;  // none before it has an open job
};

template <typename Visit>
std::size_t JobLists::Ascend(JobFilter& filter, std::size_t from, std::size_t to, std::int64_t& nanoseconds,
                             Visit visit) const {
  std::size_t place = from;
  for (std::size_t block = place < to ? blocks_.BlockAt(place) : 0; place < to; ++block) {
    if (nanoseconds <= 0) return place;
    const std::size_t end = EndOf(block);
    nanoseconds -= kBlockNanoseconds;
    if (!blocks_.May(block, filter.want())) {
      place = std::min(end, to);
      continue;
    }
    const bool whole = place == blocks_.begin(block) && end <= to;
    bool found = false;
    for (; place < std::min(end, to); ++place) {
      EngineJob* job = jobs_.At(place);
      nanoseconds -= kJobNanoseconds;
      if (job == nullptr || !filter.Finds(*job)) continue;
      found = true;
      if (!visit(*job)) return place + 1;
    }
    if (whole && !found && blocks_.stale(block)) Renew(block);
  }
  return place;
}

template <typename Visit>
std::size_t JobLists::Descend(JobFilter& filter, std::size_t from, std::size_t to, std::int64_t& nanoseconds,
                              Visit visit) const {
  std::size_t place = to;
  for (std::size_t block = place > from ? blocks_.BlockAt(place - 1) : 0; place > from; --block) {
    if (nanoseconds <= 0) return place;
    const std::size_t begin = blocks_.begin(block);
    nanoseconds -= kBlockNanoseconds;
    if (!blocks_.May(block, filter.want())) {
      place = std::max(begin, from);
      continue;
    }
    const bool whole = place == EndOf(block) && begin >= from;
    bool found = false;
    while (place > std::max(begin, from)) {
      EngineJob* job = jobs_.At(--place);
      nanoseconds -= kJobNanoseconds;
      if (job == nullptr || !filter.Finds(*job)) continue;
      found = true;
      if (!visit(*job)) return place;
    }
    if (whole && !found && blocks_.stale(block)) Renew(block);
  }
  return place;
}

template <typename Visit>
bool JobLists::WalkOpen(JobCursor& cursor, Visit visit) const {
  std::size_t place = jobs_.PlaceOf(cursor.next);
  std::size_t block = place < jobs_.places() ? blocks_.BlockAt(place) : blocks_.size();
  for (; (block = blocks_.NextOpen(block)) < blocks_.size(); ++block) {
    for (place = std::max(place, blocks_.begin(block)); place < EndOf(block); ++place) {
      cursor.next = jobs_.IdAt(place);
      if (!visit(jobs_.At(place))) return false;
    }
  }
  cursor = JobCursor::After(jobs_.newest());
  return true;
}

template <typename Fits>
const EngineJob* JobLists::FirstOpen(std::size_t& looks, Fits fits) const {
  for (std::size_t block = blocks_.NextOpen(oldest_block_); block < blocks_.size();
       block = blocks_.NextOpen(block + 1)) {
    for (std::size_t place = blocks_.begin(block); place < EndOf(block); ++place) {
      if (looks == 0) return nullptr;
      --looks;
      if (const EngineJob* job = jobs_.At(place); job != nullptr && fits(*job)) return job;
    }
  }
  return nullptr;
}

}  // namespace allot
