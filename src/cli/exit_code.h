// SPDX-License-Identifier: Apache-2.0
// Exit codes.
//
// Changing it: scripts depend on them. Add, never renumber.
// docs/reference/cli.md lists them.
#pragma once

#include "base/result.h"

namespace allot::cli {

enum class ExitCode : int {
  kOk = 0,
  kFailed = 1,       // the job failed or was cancelled; or something else went wrong
  kUsage = 2,        // the command line, or a value in it, is wrong
  kUnreachable = 3,  // no server there, or it cannot take this now: try again
  kNotFound = 4,     // no such queue, job, task or worker
  kRefused = 5,      // no token, or it does not have the right
  kConflict = 6,     // not in the present state (job ended, queue exists), or at a bound
  kServer = 7,       // a defect of the server or its store
  kInterrupted = 130,
};

// The exit code of an error.
ExitCode ExitCodeOf(Code code);

}  // namespace allot::cli
