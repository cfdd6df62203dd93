// SPDX-License-Identifier: Apache-2.0
// Limits as people write and read them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "allotter/limits.h"
#include "base/result.h"
#include "cli/text/output.h"

namespace allot::cli {

struct Rate {
  double count = 0;
  std::chrono::milliseconds window{0};
};
// `10/60s`, `0.5/1s`, `10/m`. None for anything else; a window of 0 is the server's to refuse.
std::optional<Rate> ParseRate(std::string_view text);
// `10/1m`.
std::string RateText(const allotter::LimitSpec& spec);
// At most three digits behind the point: `10`, `-2.5`, `3.333`.
std::string TokensText(double tokens);
// `-5 ░░▒▒│████░░░░ 10`: what it owes on the left of 0, what it has on the right.
std::string BucketBar(const allotter::Limit& limit);
// `ann, slowly (agent-7)`, or the tag alone. Not yet Visible().
std::string LimitLabel(const std::string& name, const std::string& tag);

std::string LimitText(const allotter::Limit& limit, std::int64_t now_ms, Style style);
std::string TrialText(const allotter::LimitTrial& trial, Style style);
std::string DemandText(const allotter::Demand& demand, Style style);

}  // namespace allot::cli
