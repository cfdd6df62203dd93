// SPDX-License-Identifier: Apache-2.0
// How a start was decided: which stages the task went through, what each of them set aside, which branch of the
// strategy gave it, and which key won. Kept for the last starts of a queue (receipt_log.h), in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "dispatch/dispatch_mode.h"
#include "strategy/preview.h"

namespace allot {

struct Receipt {
  std::uint64_t serial = 0;  // of the start; increasing
  JobId job;
  TaskIndex index = 0;
  std::uint32_t attempt = 1;
  WorkerId worker;
  std::string worker_name;
  std::string user;  // of the job
  WallTime at{};
  milliseconds waited{0};  // since the job could run

  // The stages, each with what it set aside for this start.
  std::uint32_t classes_open = 0;       // ways of matching among the jobs with queued tasks,
  std::uint32_t classes_matched = 0;    // and those that this worker may run; of more than 64, as of a moment ago
  std::uint32_t limits_met = 0;         // limits that apply to this start, and paid
  std::uint32_t blocked_by_limits = 0;  // groups of jobs that limits blocked then, from all workers or from some
  DispatchMode mode = DispatchMode::kFanout;
  TakenFrom from = TakenFrom::kShared;

  std::string strategy, policy;  // canonical texts
  // The blocks on the way, from the outside in, with what they looked at when it was decided; as in a preview.
  std::vector<PreviewStep> why;
};

// So many, but no more than fit into 16 MB: that is fewer where strategies go by many long values.
inline constexpr std::size_t kReceiptsKept = 10'000;

}  // namespace allot
