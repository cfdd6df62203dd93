// SPDX-License-Identifier: Apache-2.0
// Limits on starts as the protocol's JSON: the questions, and the answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/looks/limit_trial.h"
#include "limits/limit.h"
#include "limits/limit_table.h"

namespace allot {

// `{"tag": …, "name": …, "expr": …, "cost": …, "count": 10, "window_ms": 60000, "burst": 0, "max_burst_cost": 0,
// "monitor": false, "expires_in_ms": 300000}`. As in request_json.h; what comes out passes CheckLimit().
Result<LimitSpec> ParseLimit(std::string_view json);
// `{"expires_in_ms": …}`, or nothing.
Result<std::optional<Duration>> ParseLimitRenewal(std::string_view json);
// `{"expr": …, "cost": …}`.
struct LimitQuestion {
  ExprPtr expr, cost;
};
Result<LimitQuestion> ParseLimitTry(std::string_view json);
// tag, uuid.
Result<LimitLooks::Filter> ParseLimitQuery(std::string_view query);

// Do they ask for the same? Leases apart: those end by themselves.
bool SameTerms(const LimitSpec& a, const LimitSpec& b);

// An amount of tokens: whole ones without a point.
void AppendTokens(double tokens, JsonWriter& w);
// How long until `at`, in whole milliseconds that are not too few; null: never.
void AppendFromNow(std::optional<Instant> at, Instant now, JsonWriter& w);

// `{"uuid": …, "expires_in_ms": …, "capped": false}`; with `created`, that too.
void AppendLease(const LimitLease& lease, std::optional<bool> created, std::string& out);
void AppendLimit(const LimitView& limit, Instant now, std::string& out);
void AppendLimits(const std::vector<LimitView>& limits, Instant now, std::string& out);
void AppendTrial(const LimitTrial& trial, Duration took, std::string& out);

}  // namespace allot
