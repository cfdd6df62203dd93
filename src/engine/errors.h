// SPDX-License-Identifier: Apache-2.0
// What the engine says of ids that it does not know, and of its bounds.
#pragma once

#include "base/ids.h"
#include "base/result.h"

namespace allot {

inline Error UnknownJob(JobId job) {
  return {Code::kUnknownJob, "there is no job " + ToText(job),
          "it may be past its retention; `allot jobs` lists those that are kept"};
}

inline Error UnknownWorker(WorkerId worker) {
  return {Code::kUnknownWorker, "there is no worker " + ToText(worker),
          "register again; it was silent for too long, or never there"};
}

inline Error TooManyClasses() {
  return {
      Code::kTooManyClasses, "the queue's jobs differ in too many ways that decide on their workers",
      "leave to meta what does not decide which worker may run a job, and put few different values into requirements"};
}

}  // namespace allot
