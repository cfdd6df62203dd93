// SPDX-License-Identifier: Apache-2.0
// All jobs by id, in many small tables, so that none of them takes long when it grows.
//
// Ownership: it owns the jobs. A table has their addresses alone: an id is looked for in the job itself.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
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
  JobMap() = default;
  JobMap(const JobMap&) = delete;
  JobMap& operator=(const JobMap&) = delete;
  ~JobMap() {
    ForEach([](EngineJob& job) { delete &job; });
  }

  std::size_t size() const { return size_; }

  // Null: it is not there.
  EngineJob* Find(JobId id) const {
    const Shard& shard = shards_[PlaceOf(id)];
    const auto found = shard.find(id);
    return found == shard.end() ? nullptr : *found;
  }
  // REQUIRES: it is not there.
  void Insert(std::unique_ptr<EngineJob> job) {
    if (size_ == kMost && shards_.size() == 1) Spread();
    shards_[PlaceOf(job->id())].insert(job.get());
    job.release();
    ++size_;
  }
  // REQUIRES: it is there.
  void Erase(EngineJob& job) {
    shards_[PlaceOf(job.id())].erase(&job);
    delete &job;
    --size_;
  }

  template <typename F>
  void ForEach(F f) const {
    for (const Shard& shard : shards_) {
      for (EngineJob* job : shard) f(*job);
    }
  }

 private:
  static constexpr std::size_t kShards = 256;
  static constexpr std::size_t kMost = 2048;  // in one table, before there are more
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(JobId id) const { return std::hash<JobId>()(id); }
    std::size_t operator()(const EngineJob* job) const { return (*this)(job->id()); }
  };
  struct Same {
    using is_transparent = void;
    bool operator()(const EngineJob* a, const EngineJob* b) const { return a == b; }
    bool operator()(JobId id, const EngineJob* job) const { return job->id() == id; }
    bool operator()(const EngineJob* job, JobId id) const { return job->id() == id; }
  };
  using Shard = boost::unordered_flat_set<EngineJob*, Hash, Same>;

  std::size_t PlaceOf(JobId id) const { return shards_.size() == 1 ? 0 : std::hash<JobId>()(id) >> 56; }
  void Spread() {
    std::vector<Shard> before = std::exchange(shards_, std::vector<Shard>(kShards));
    for (EngineJob* job : before[0]) shards_[PlaceOf(job->id())].insert(job);
  }

  std::vector<Shard> shards_ = std::vector<Shard>(1);
  std::size_t size_ = 0;
};

}  // namespace allot
