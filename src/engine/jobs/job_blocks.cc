// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/job_blocks.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/check.h"

namespace allot {
namespace {

JobBlocks::Key Mix(std::string_view text, std::uint64_t salt) {
  std::uint64_t hash = std::hash<std::string_view>()(text) ^ salt;
  hash = (hash ^ (hash >> 31)) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

}  // namespace

JobBlocks::Key JobBlocks::UserKey(std::string_view user) { return Mix(user, 0); }
JobBlocks::Key JobBlocks::TagKey(std::string_view tag) { return Mix(tag, 0xD6E8FEB86659FD93ull); }

void JobBlocks::Add(Filter& filter, std::span<const Key> keys) {
  for (const Key key : keys) {
    for (int i = 0; i < kProbes; ++i) {
      const std::uint32_t bit = Bit(key, i);
      filter[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
  }
}

std::size_t JobBlocks::Find(JobId id, std::uint32_t& near) const {
  if (near < first_.size() && first_[near] <= id && (near + 1 == first_.size() || id < first_[near + 1])) return near;
  const auto above = std::upper_bound(first_.begin(), first_.end(), id);
  CHECK(above != first_.begin());
  return near = static_cast<std::uint32_t>(above - first_.begin()) - 1;
}

void JobBlocks::Append(JobId id, std::size_t place, JobState state, std::span<const Key> keys) {
  if (Full(place)) {
    first_.push_back(id);
    begin_.push_back(static_cast<std::uint32_t>(place));
    states_.push_back({});
    open_.push_back(0);
    stale_.push_back(false);
    filters_.push_back({});
  }
  ++states_.back()[static_cast<std::size_t>(state)];
  Add(filters_.back(), keys);
}

void JobBlocks::AddKeys(JobId id, std::span<const Key> keys, std::uint32_t& near) {
  const std::size_t block = Find(id, near);
  Add(filters_[block], keys);
  stale_[block] = true;
}

void JobBlocks::SetState(JobId id, JobState from, JobState to, std::uint32_t& near) {
  Counts& counts = states_[Find(id, near)];
  --counts[static_cast<std::size_t>(from)];
  ++counts[static_cast<std::size_t>(to)];
}

std::size_t JobBlocks::SetOpen(JobId id, bool open, std::uint32_t& near) {
  const std::size_t block = Find(id, near);
  if (open) {
    ++open_[block];
  } else {
    --open_[block];
  }
  return block;
}

void JobBlocks::Remove(JobId id, JobState state, std::uint32_t& near) {
  const std::size_t block = Find(id, near);
  --states_[block][static_cast<std::size_t>(state)];
  stale_[block] = true;
}

void JobBlocks::Compact() {
  std::size_t blocks = 0;
  std::size_t place = 0, in_last = 0;
  for (std::size_t block = 0; block < first_.size(); ++block) {
    const std::size_t jobs = std::accumulate(states_[block].begin(), states_[block].end(), std::size_t{0});
    if (jobs == 0) continue;
    if (blocks > 0 && in_last + jobs <= kBlockJobs) {
      // Two become one: no job has to be looked at.
      const std::size_t into = blocks - 1;
      for (std::size_t i = 0; i < kStates; ++i) {
        states_[into][i] = static_cast<std::uint8_t>(states_[into][i] + states_[block][i]);
      }
      open_[into] = static_cast<std::uint8_t>(open_[into] + open_[block]);
      for (std::size_t i = 0; i < kWords; ++i) filters_[into][i] |= filters_[block][i];
      stale_[into] = stale_[into] || stale_[block];
      in_last += jobs;
    } else {
      first_[blocks] = first_[block];
      begin_[blocks] = static_cast<std::uint32_t>(place);
      states_[blocks] = states_[block];
      open_[blocks] = open_[block];
      filters_[blocks] = filters_[block];
      stale_[blocks] = stale_[block];
      in_last = jobs;
      ++blocks;
    }
    place += jobs;
  }
  first_.resize(blocks);
  begin_.resize(blocks);
  states_.resize(blocks);
  open_.resize(blocks);
  filters_.resize(blocks);
  stale_.resize(blocks);
}

std::size_t JobBlocks::BlockAt(std::size_t place) const {
  CHECK(!begin_.empty());
  const auto above = std::upper_bound(begin_.begin(), begin_.end(), place);
  return static_cast<std::size_t>(above - begin_.begin()) - 1;
}

std::size_t JobBlocks::NextOpen(std::size_t from) const {
  from = std::min(from, open_.size());
  return static_cast<std::size_t>(std::find_if(open_.begin() + static_cast<std::ptrdiff_t>(from), open_.end(),
                                               [](std::uint8_t n) { return n > 0; }) -
                                  open_.begin());
}

void JobBlocks::Renew(std::size_t block, std::span<const Key> keys) {
  filters_[block] = {};
  Add(filters_[block], keys);
  stale_[block] = false;
}

std::size_t JobBlocks::MemoryBytes() const {
  return first_.capacity() * (sizeof(JobId) + sizeof(std::uint32_t) + sizeof(Counts) + 1 + sizeof(Filter)) +
         stale_.capacity() / 8;
}

}  // namespace allot
