// SPDX-License-Identifier: Apache-2.0
// Explanations as people read them.
#pragma once

#include <string>

#include "allotter/explanation.h"
#include "cli/context.h"
#include "cli/text/output.h"

namespace allot::cli {

// Funnel, what fails where, the nearest miss, suggestions; the verdict is the last line (or the last but one, with a
// hint). As of `now_ms`.
std::string ExplanationText(const allotter::Explanation& explanation, std::int64_t now_ms, Style style);
// A reason with what to do about it.
std::string ReasonText(const allotter::Reason& reason, std::int64_t now_ms, Style style);
std::string PairText(const allotter::PairExplanation& pair, std::int64_t now_ms, Style style);

// Prints the explanation of a spec that is not submitted. kBadValue for -o id: there is none.
Result<void> ShowDryRun(const Context& context, allotter::Client& client, const allotter::JobSpec& spec);

}  // namespace allot::cli
