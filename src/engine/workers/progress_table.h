// SPDX-License-Identifier: Apache-2.0
// How far running tasks are, as far as their workers say so.
//
// Few workers do, so it stands beside the leases instead of in them. Nothing of it is stored.
//
// Threading:  confined to the queue's engine thread.
// Invariants: an entry lives no longer than its lease; a job's sum is that of its entries, exactly.
#pragma once

#include <cstdint>
#include <optional>

#include <boost/unordered/unordered_flat_map.hpp>

#include "engine/types.h"

namespace allot {

class ProgressTable {
 public:
  // What the lease's worker says; replaces what it said before. REQUIRES: the lease lives.
  void Set(const TaskRef& task, TaskProgress progress);
  // The lease ends.
  void Forget(const TaskRef& task);
  // Null: nothing was said.
  const TaskProgress* Find(std::uint64_t lease) const;
  // What the running tasks of a job have done of themselves, in tasks; none where no worker says how much there is.
  std::optional<double> SumOf(JobId job) const;
  bool empty() const { return by_lease_.empty(); }

 private:
  // In millionths of a task, so that what is added can be taken away again to the last bit.
  struct Sum {
    std::uint64_t parts = 0;
    std::uint32_t tasks = 0;
  };
  static std::optional<std::uint32_t> PartsOf(const TaskProgress& progress);
  void Subtract(JobId job, const TaskProgress& progress);

  boost::unordered_flat_map<std::uint64_t, TaskProgress> by_lease_;
  boost::unordered_flat_map<std::uint64_t, Sum> by_job_;
};

}  // namespace allot
