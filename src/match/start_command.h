// SPDX-License-Identifier: Apache-2.0
// The command that starts a worker which could run a job, for hints.
#pragma once

#include <string>
#include <vector>

#include "base/job.h"
#include "expr/expr.h"

namespace allot {

// What a job needs of a worker.
struct WorkerNeeds {
  std::vector<std::string> tags;
  std::vector<Properties> constraints;  // alternatives
  ExprPtr requirements;
  const expr::Ad* job = nullptr;  // what the job shows; null: nothing
};

// `allot work --tag square --property gpu=a100 --attribute memory=4096 -- COMMAND`, to be typed as it is but for the
// last word. It names the tags, the first alternative of the constraints, and an attribute for each comparison with a
// constant among the requirements. Clauses that such a worker would not meet follow in words.
std::string StartCommand(const WorkerNeeds& needs);

}  // namespace allot
