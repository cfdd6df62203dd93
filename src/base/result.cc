// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <iterator>

namespace allot {

void ResultMisused() { CheckFailed(__FILE__, __LINE__, "the result has what was asked for"); }

namespace {

struct Row {
  Code code;
  std::string_view text;
  int http_status;
};

constexpr Row kRows[] = {
    {Code::kBadRequest, "bad_request", 400},
    {Code::kBadJson, "bad_json", 400},
    {Code::kUnknownField, "unknown_field", 400},
    {Code::kBadValue, "bad_value", 400},
    {Code::kTooLarge, "too_large", 413},
    {Code::kUnsupportedMedia, "unsupported_media", 415},
    {Code::kUnauthorized, "unauthorized", 401},
    {Code::kForbidden, "forbidden", 403},
    {Code::kForeignOrigin, "foreign_origin", 403},
    {Code::kNotFound, "not_found", 404},
    {Code::kMethodNotAllowed, "method_not_allowed", 405},
    {Code::kUnknownQueue, "unknown_queue", 404},
    {Code::kUnknownJob, "unknown_job", 404},
    {Code::kUnknownTask, "unknown_task", 404},
    {Code::kUnknownWorker, "unknown_worker", 404},
    {Code::kUnknownLimit, "unknown_limit", 404},
    {Code::kUnknownReceipt, "unknown_receipt", 404},
    {Code::kStale, "stale", 409},
    {Code::kIdempotencyConflict, "idempotency_conflict", 409},
    {Code::kJobEnded, "job_ended", 409},
    {Code::kJobActive, "job_active", 409},
    {Code::kQueueExists, "queue_exists", 409},
    {Code::kQueueNotEmpty, "queue_not_empty", 409},
    {Code::kTooManyQueues, "too_many_queues", 429},
    {Code::kTooManyJobs, "too_many_jobs", 429},
    {Code::kTooManyWorkers, "too_many_workers", 429},
    {Code::kTooManyClasses, "too_many_classes", 429},
    {Code::kTooManyWaits, "too_many_waits", 429},
    {Code::kTooManyStrategies, "too_many_strategies", 429},
    {Code::kTooManyLimits, "too_many_limits", 429},
    {Code::kMemoryFull, "memory_full", 429},
    {Code::kTimedOut, "timed_out", 408},
    {Code::kDiskFull, "disk_full", 507},
    {Code::kStopping, "stopping", 503},
    {Code::kUnavailable, "unavailable", 503},
    {Code::kStoreLocked, "store_locked", 500},
    {Code::kStoreForeign, "store_foreign", 500},
    {Code::kStoreNewer, "store_newer", 500},
    {Code::kStoreCorrupt, "store_corrupt", 500},
    {Code::kStoreFailed, "store_failed", 500},
    {Code::kInternal, "internal", 500},
    {Code::kFenced, "fenced", 503},
};

constexpr bool InOrder() {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<std::size_t>(kRows[i].code) != i) return false;
  }
  return true;
}
static_assert(InOrder());

}  // namespace

std::string_view CodeText(Code code) { return kRows[static_cast<std::size_t>(code)].text; }

Code CodeFromText(std::string_view text) {
  for (const Row& row : kRows) {
    if (row.text == text) return row.code;
  }
  return Code::kInternal;
}

int HttpStatus(Code code) { return kRows[static_cast<std::size_t>(code)].http_status; }

}  // namespace allot
