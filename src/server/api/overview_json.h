// SPDX-License-Identifier: Apache-2.0
// How a queue stands, and why what waits does not run, as the protocol's JSON. Each function appends one value to
// `out`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/looks/views.h"
#include "server/queue/queue_history.h"
#include "server/queue/stall.h"

namespace allot {

struct OverviewFacts {
  EngineStats stats;
  QueueHistory::Rates rates;
  std::vector<ReasonRow> reasons;
  Stall stall = Stall::kNone;
};
inline constexpr std::size_t kMaxReasons = 20;

// `queue` is the Queue object, as text. Without `names` nothing tells of single jobs.
void AppendOverview(const OverviewFacts& facts, std::string_view queue, bool names, std::string& out);

// `step=second`, the default, or `minute`.
enum class HistoryStep : std::uint8_t { kSecond, kMinute };
Result<HistoryStep> ParseHistoryQuery(std::string_view query);
void AppendHistory(const QueueHistory::Series& series, std::string& out);
void AppendLimitHistory(const QueueHistory::LimitSeries& series, std::string& out);

}  // namespace allot
