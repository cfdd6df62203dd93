// SPDX-License-Identifier: Apache-2.0
// What a strategy would give, as people read it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "allotter/preview.h"
#include "cli/context.h"
#include "cli/text/output.h"

namespace allot::cli {

// A line for every block that a pick went through.
// A table of picks with their reasons.
std::string PicksText(const std::vector<allotter::StrategyPreview::Pick>& picks, Style style);
std::string TryText(const allotter::StrategyPreview& preview, Style style);

// `allot strategy try`, as one of the family.
void AddTryCommand(CLI::App& family, Context& context);

}  // namespace allot::cli
