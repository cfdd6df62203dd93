// SPDX-License-Identifier: Apache-2.0
// Jobs that are submitted together, and stay with whoever does.
#pragma once

#include <cstdint>
#include <span>

#include "base/job.h"
#include "match/traits.h"

namespace allot {

struct JobBatch {
  std::span<const JobSpec> specs;
  std::span<const JobFold> folds = {};  // FoldOf() each, or none
  std::uint64_t stage = 0;              // the engine's
  const JobFold* FoldOf(std::size_t i) const { return folds.empty() ? nullptr : &folds[i]; }
};

// What matching goes by of the job's own expressions. Takes a millisecond where these are long and hostile: whoever
// submits many at a time asks for it on another thread.
JobFold FoldOf(const JobSpec& spec);

}  // namespace allot
