// SPDX-License-Identifier: Apache-2.0
#include "limits/limit_reports.h"

#include <utility>

namespace allot {
namespace {

// What happened to it since it was reported.
LimitSummary SummaryOf(const LimitState& limit, const LimitCounts& counts) {
  return {limit.Name(), counts.skipped - limit.reported.skipped,
          counts.ignored_matches - limit.reported.ignored_matches, counts.blocked - limit.reported.blocked,
          limit.users.all().size()};
}

}  // namespace

void LimitReports::OnCreated(const Now& now) {
  if (!last_summary_) last_summary_ = now.mono;
}

void LimitReports::OnGone(const LimitState& limit, const Now& now) {
  const LimitCounts counts = limit.CountsUntil(now.mono);
  if (counts != limit.reported && partings_.size() < limits_.options().max_limits) {
    partings_.push_back(SummaryOf(limit, counts));
  }
}

std::vector<LimitName> LimitReports::TakeCostWarnings() {
  std::vector<LimitName> names;
  if (cost_failures_reported_ == limits_.matcher().cost_failures()) return names;
  cost_failures_reported_ = limits_.matcher().cost_failures();
  limits_.ForEach([&](LimitMatcher::Slot slot, LimitState& limit) {
    if (limit.cost_warned || !limits_.matcher().CostFailed(slot)) return;
    limit.cost_warned = true;
    names.push_back(limit.Name());
  });
  return names;
}

std::optional<Instant> LimitReports::NextSummary() const {
  if (!last_summary_ || (limits_.live() == 0 && partings_.empty())) return std::nullopt;
  return *last_summary_ + limits_.options().summary_interval;
}

std::vector<LimitSummary> LimitReports::TakeSummaries(const Now& now) {
  const std::optional<Instant> next = NextSummary();
  if (!next || now.mono < *next) return {};
  last_summary_ = now.mono;
  std::vector<LimitSummary> summaries = std::exchange(partings_, {});
  limits_.ForEach([&](LimitMatcher::Slot, LimitState& limit) {
    const LimitCounts counts = limit.CountsUntil(now.mono);
    if (counts == limit.reported) return;
    summaries.push_back(SummaryOf(limit, counts));
    limit.reported = counts;
  });
  return summaries;
}

}  // namespace allot
