// SPDX-License-Identifier: Apache-2.0
// Many jobs at once, as the protocol's JSON: the question, and the answer.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "engine/job_sweep.h"

namespace allot {

struct ManyJobs {
  SweepRequest request;  // the action is the caller's
  bool dry_run = false;
};
// `{"state": …, "tag": …, "user": …, "up_to": "id", "dry_run": true, "all": true}`. kBadValue where nothing says which
// jobs, not even that it is all of them.
Result<ManyJobs> ParseManyJobs(std::string_view json);
void AppendSweep(const JobSweep& sweep, bool dry_run, Duration took, std::string& out);

}  // namespace allot
