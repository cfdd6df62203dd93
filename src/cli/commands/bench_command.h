// SPDX-License-Identifier: Apache-2.0
// allot bench: the load generator, in bench/.
#pragma once

#include "cli/context.h"

namespace allot::cli {

void AddBenchCommand(CLI::App& app, Context& context);

}  // namespace allot::cli
