// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.h"

namespace allot::cli {

ExitCode ExitCodeOf(Code code) {
  switch (code) {
    case Code::kBadRequest:
    case Code::kBadJson:
    case Code::kUnknownField:
    case Code::kBadValue:
    case Code::kTooLarge:
    case Code::kUnsupportedMedia:
    case Code::kMethodNotAllowed:
      return ExitCode::kUsage;
    case Code::kUnauthorized:
    case Code::kForbidden:
    case Code::kForeignOrigin:
      return ExitCode::kRefused;
    case Code::kNotFound:
    case Code::kUnknownQueue:
    case Code::kUnknownJob:
    case Code::kUnknownTask:
    case Code::kUnknownWorker:
    case Code::kUnknownLimit:
    case Code::kUnknownReceipt:
      return ExitCode::kNotFound;
    case Code::kStale:
    case Code::kIdempotencyConflict:
    case Code::kJobEnded:
    case Code::kJobActive:
    case Code::kQueueExists:
    case Code::kQueueNotEmpty:
    case Code::kTooManyQueues:
    case Code::kTooManyJobs:
    case Code::kTooManyWorkers:
    case Code::kTooManyClasses:
    case Code::kTooManyWaits:
    case Code::kTooManyStrategies:
    case Code::kTooManyLimits:
    case Code::kMemoryFull:
    case Code::kStoreLocked:
      return ExitCode::kConflict;
    case Code::kTimedOut:
    case Code::kDiskFull:
    case Code::kStopping:
    case Code::kUnavailable:
    case Code::kFenced:
      return ExitCode::kUnreachable;
    case Code::kStoreForeign:
    case Code::kStoreNewer:
    case Code::kStoreCorrupt:
    case Code::kStoreFailed:
    case Code::kInternal:
      return ExitCode::kServer;
  }
  return ExitCode::kFailed;
}

}  // namespace allot::cli
