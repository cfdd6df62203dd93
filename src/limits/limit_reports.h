// SPDX-License-Identifier: Apache-2.0
// What is to be said of limits now and then: the part of the table (limits/limit_table.h) for the log.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limits/limit.h"
#include "limits/limit_slots.h"

namespace allot {

class LimitReports {
 public:
  explicit LimitReports(LimitSlots& limits) : limits_(limits) {}
  LimitReports(const LimitReports&) = delete;
  LimitReports& operator=(const LimitReports&) = delete;

  // There is a limit from now on; or one goes, and had a part in what comes next.
  void OnCreated(const Now& now);
  void OnGone(const LimitState& limit, const Now& now);

  // Limits of which a cost could not be evaluated: each once, until its cost changes.
  std::vector<LimitName> TakeCostWarnings();
  // When TakeSummaries() has something, if it has. Summaries are at least an interval apart.
  std::optional<Instant> NextSummary() const;
  // Of limits that were in the way since the last time; also of those that are gone since. Empty before its time.
  std::vector<LimitSummary> TakeSummaries(const Now& now);

 private:
  LimitSlots& limits_;
  std::uint64_t cost_failures_reported_ = 0;
  std::optional<Instant> last_summary_;
  std::vector<LimitSummary> partings_;  // of limits that are gone
};

}  // namespace allot
