// What a strategy would give, as people read it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "allotter/preview.h"
#include "cli/context.h"
#include "cli/output.h"

namespace allot::cli {

// A line for every block that a pick went through.
std::string TryText(const allotter::StrategyPreview& preview, Style style);

// `allot strategy try`, as one of the family.
void AddTryCommand(CLI::App& family, Context& context);

}  // namespace allot::cli
