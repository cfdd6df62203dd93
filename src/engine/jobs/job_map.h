// SPDX-License-Identifier: Apache-2.0
// All jobs by id, in many small tables, so that none of them takes long when it grows.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "engine/jobs/job.h"

namespace allot {

class JobMap {
 public:
  std::size_t size() const { return size_; }

  // Null: it is not there.
  EngineJob* Find(JobId id) const {
    const Shard& shard = shards_[PlaceOf(id)];
    const auto found = shard.find(id);
    return found == shard.end() ? nullptr : found->second.get();
  }
  // REQUIRES: it is not there.
  void Insert(JobId id, std::unique_ptr<EngineJob> job) {
    if (size_ == kMost && shards_.size() == 1) Spread();
    shards_[PlaceOf(id)].emplace(id, std::move(job));
    ++size_;
  }
  void Erase(JobId id) { size_ -= shards_[PlaceOf(id)].erase(id); }

  template <typename F>
  void ForEach(F f) const {
    for (const Shard& shard : shards_) {
      for (const auto& [id, job] : shard) f(*job);
    }
  }

 private:
  static constexpr std::size_t kShards = 256;
  static constexpr std::size_t kMost = 2048;  // in one table, before there are more
  using Shard = boost::unordered_flat_map<JobId, std::unique_ptr<EngineJob>, std::hash<JobId>>;

  std::size_t PlaceOf(JobId id) const { return shards_.size() == 1 ? 0 : std::hash<JobId>()(id) >> 56; }
  void Spread() {
    std::vector<Shard> before = std::exchange(shards_, std::vector<Shard>(kShards));
    for (auto& [id, job] : before[0]) shards_[PlaceOf(id)].emplace(id, std::move(job));
  }

  std::vector<Shard> shards_ = std::vector<Shard>(1);
  std::size_t size_ = 0;
};

}  // namespace allot
