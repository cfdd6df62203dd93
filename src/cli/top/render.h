// SPDX-License-Identifier: Apache-2.0
// Draws a Model into a Grid.
#pragma once

#include <string>
#include <vector>

#include "cli/top/grid.h"
#include "cli/top/model.h"

namespace allot::cli::top {

// Brings what is chosen into what there is, and what is chosen into sight; tells the model how much fits. To be called
// after every change, before Render().
void Settle(Model& model, Size size);

// The whole screen. Depends on nothing else.
Grid Render(const Model& model, Size size);

// Eight steps, the highest being the largest number; the last `columns` of them.
std::string Sparkline(const std::vector<std::uint64_t>& numbers, std::size_t columns);

// The text of what is laid over, not yet broken into lines of a width.
std::vector<std::string> OverlayText(const Model& model);

}  // namespace allot::cli::top
