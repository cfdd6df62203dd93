// SPDX-License-Identifier: Apache-2.0
// A command per task: what it is given, and what its end means.
#pragma once

#include <string>
#include <vector>

#include "allotter/types.h"
#include "cli/process.h"

namespace allot::cli {

struct CommandOptions {
  std::vector<std::string> argv;
  std::string queue;
  bool raw = false;          // no newline after the payload
  bool json_result = false;  // stdout is JSON
  bool pass_stderr = true;
  int final_status = 100;  // this exit status fails a task for good
};

// The process for a task: payload on stdin, ids in the environment.
ProcessSpec ProcessFor(const CommandOptions& options, const allotter::Assignment& assignment);
// What to report for its end: exit status 0 is done, and the output its result; anything else failed, with the end of
// stderr.
allotter::Outcome OutcomeOf(const CommandOptions& options, ProcessEnd&& end);

}  // namespace allot::cli
