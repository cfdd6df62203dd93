// SPDX-License-Identifier: Apache-2.0
// What there is in each stretch of up to 64 jobs, in the order of their ids: how many in which state, how many open,
// and which users and tags may occur. So that whoever looks for few among many jobs passes by the others.
//
// The owner has the jobs in a vector in that order, with holes where some are gone. A block knows where in it its jobs
// begin.
//
// Cost:       less than 2 bytes a job. A change of one job is a lookup of its block among those, and mostly none: the
//             last one is tried first.
// Invariants: counts are exact; keys that a job has are always found, others seldom (about one block in a hundred,
// where
//             all 64 users differ). Keys of jobs that are gone stay until Renew().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/job.h"

namespace allot {

class JobBlocks {
 public:
  static constexpr std::size_t kBlockJobs = 64;

  // A user or a tag.
  using Key = std::uint64_t;
  static Key UserKey(std::string_view user);
  static Key TagKey(std::string_view tag);

  // What somebody looks for.
  struct Want {
    std::optional<JobState> state;
    bool open = false;  // those alone
    std::vector<Key> keys;
  };

  // The job at `place` of the owner's vector, which is its end. REQUIRES: its id is above all before.
  void Append(JobId id, std::size_t place, JobState state, std::span<const Key> keys);
  // Does the one at that place begin a block?
  bool Full(std::size_t place) const { return begin_.empty() || place - begin_.back() >= kBlockJobs; }
  // `near`, here and below, is kept with the job: where it was found last, so that it is found at once the next time.
  void AddKeys(JobId id, std::span<const Key> keys, std::uint32_t& near);
  void SetState(JobId id, JobState from, JobState to, std::uint32_t& near);
  // Gives its block.
  std::size_t SetOpen(JobId id, bool open, std::uint32_t& near);
  // It is gone, and leaves a hole. REQUIRES: it is not open.
  void Remove(JobId id, JobState state, std::uint32_t& near);
  // All holes are gone from the owner's vector.
  void Compact();

  std::size_t size() const { return first_.size(); }
  // The block that the job in that place is in; and where it begins.
  std::size_t BlockAt(std::size_t place) const;
  std::size_t begin(std::size_t block) const { return begin_[block]; }
  // May it have a job that is looked for? Of states and open ones that is certain.
  bool May(std::size_t block, const Want& want) const {
    if (want.open && open_[block] == 0) return false;
    if (want.state && states_[block][static_cast<std::size_t>(*want.state)] == 0) return false;
    for (const Key key : want.keys) {
      if (!Has(filters_[block], key)) return false;
    }
    return true;
  }
  // The first block at or after `from` that has an open job; size() if there is none.
  std::size_t NextOpen(std::size_t from) const;
  // Keys of jobs that are gone may be among its keys.
  bool stale(std::size_t block) const { return stale_[block]; }
  // Its keys are these and no others; anyone may find out who has looked at all of its jobs.
  void Renew(std::size_t block, std::span<const Key> keys);

  std::size_t MemoryBytes() const;

 private:
  static constexpr std::size_t kStates = 6;
  static constexpr std::size_t kWords = 12;
  static constexpr int kProbes = 4;
  using Filter = std::array<std::uint64_t, kWords>;
  using Counts = std::array<std::uint8_t, kStates>;

  static std::uint32_t Bit(Key key, int probe) {
    const auto mixed =
        static_cast<std::uint32_t>(key) + static_cast<std::uint32_t>(probe) * static_cast<std::uint32_t>(key >> 32 | 1);
    return static_cast<std::uint32_t>(std::uint64_t{mixed} * (kWords * 64) >> 32);
  }
  static bool Has(const Filter& filter, Key key) {
    for (int i = 0; i < kProbes; ++i) {
      const std::uint32_t bit = Bit(key, i);
      if ((filter[bit / 64] >> (bit % 64) & 1) == 0) return false;
    }
    return true;
  }
  static void Add(Filter& filter, std::span<const Key> keys);
  std::size_t Find(JobId id, std::uint32_t& near) const;

  std::vector<JobId> first_;  // no job of the block is below it, all of the next are above
  std::vector<std::uint32_t> begin_;
  std::vector<Counts> states_;
  std::vector<std::uint8_t> open_;
  std::vector<bool> stale_;
  std::vector<Filter> filters_;
};

}  // namespace allot
