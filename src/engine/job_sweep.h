// SPDX-License-Identifier: Apache-2.0
// All jobs that a filter finds: counted, and cancelled, paused, resumed or retried where that is wanted. A walk in
// steps between which others are served.
//
// Use:       JobCommands::Sweep() until it says that it is through, or until that is enough. A sweep that does
// something is
//            a command: what follows from each step is taken and stored as ever.
// Threading: Sweep() on the engine thread, the counts on any, one at a time; it holds nothing of the engine between
//            the steps, so jobs may come and go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/types.h"

namespace allot {

enum class SweepAction : std::uint8_t { kCount, kCancel, kPause, kResume, kRetry };

struct SweepRequest {
  SweepAction action = SweepAction::kCount;
  std::optional<JobState> state;  // none: any
  std::string tag, user;          // empty: any
  std::optional<JobId> up_to;     // no newer ones; none: those that are there when it begins
};

class JobSweep {
 public:
  explicit JobSweep(SweepRequest request) : request_(std::move(request)) {}

  const SweepRequest& request() const { return request_; }
  std::uint64_t matching() const { return matching_; }  // jobs that the filter finds
  std::uint64_t tasks() const { return tasks_; }        // of those, tasks that have not ended
  std::uint64_t changed() const { return changed_; }    // jobs for which the action did something
  JobId up_to() const { return up_to_; }                // the newest that was looked at, or would have been
  bool complete() const { return complete_; }           // all jobs were looked at
  // Jobs that the last step changed; for whoever tells what is not durable yet.
  const std::vector<JobId>& touched() const { return touched_; }

 private:
  friend class JobCommands;
  SweepRequest request_;
  bool begun_ = false;
  JobId seen_to_, up_to_, last_;
  std::uint64_t matching_ = 0, tasks_ = 0, changed_ = 0;
  bool complete_ = false;
  std::vector<JobId> touched_;
};

}  // namespace allot
