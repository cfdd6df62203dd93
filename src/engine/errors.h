// What the engine says of ids that it does not know.
#pragma once

#include "base/ids.h"
#include "base/result.h"

namespace allot {

inline Error UnknownJob(JobId job) {
  return {Code::kUnknownJob, "there is no job " + ToText(job),
          "it may be past its retention; `allot jobs` lists those that are kept"};
}

}  // namespace allot
