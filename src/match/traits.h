// SPDX-License-Identifier: Apache-2.0
// What jobs and workers bring to matching, and what comes of it for a pair.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/job.h"
#include "expr/expr.h"

namespace allot {

using ClassId = std::uint32_t;
using KindId = std::uint32_t;
using TagList = std::vector<std::string>;  // sorted, without duplicates
inline constexpr ClassId kNoClass = 0xFFFFFFFF;

// A job's expressions with its own attributes folded in, and as they print. Follows from the job alone, so that whoever
// has many of them can do it where there is time.
struct JobFold {
  ExprPtr requirements, rank;
  std::string requirements_text, rank_text;
  std::optional<bool> never;  // where that was looked at: no worker whatever could meet the requirements
};

// What a job brings to matching. Refers to what its owner holds.
struct JobTraits {
  const TagList& tags;
  const TagList& constraint_tags;
  const ExprPtr& requirements;
  const ExprPtr& rank;
  const std::function<expr::Ad()>& ad;  // all that the job shows; asked for only where something reads it
  const JobFold* fold = nullptr;        // where that is known already
};
JobFold FoldJob(const JobTraits& job);

struct WorkerTraits {
  TagList tags;
  Properties properties;
  TagList constraint_tags;  // follow from the properties
  ExprPtr requirements;
  ExprPtr rank;
  std::shared_ptr<const expr::Ad> ad;  // all that it shows
};

// Of a class and a profile.
struct Verdict {
  bool match = false;
  double job_rank = 0;     // seen from the job; 0 where it does not match
  double worker_rank = 0;  // seen from the worker
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

}  // namespace allot
