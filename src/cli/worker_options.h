// SPDX-License-Identifier: Apache-2.0
// What a worker is, from the command line: `allot work`, `allot worker set`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "allotter/types.h"
#include "base/result.h"

namespace allot::cli {

struct WorkerDescription {
  std::vector<std::string> tags, properties, attributes;
  std::string requirements, rank, strategy;
};
void AddWorkerDescription(CLI::App& command, WorkerDescription& options);
// As a change that names what was given. kBadValue names the option; expressions are parsed here, strategies not
// (CheckStrategyText).
Result<allotter::WorkerChange> ToWorkerChange(const WorkerDescription& options);

struct WorkerChangeOptions {
  WorkerDescription to;
  bool no_tags = false, no_properties = false, no_attributes = false, no_requirements = false, no_rank = false,
       no_strategy = false;
};
void AddWorkerChangeOptions(CLI::App& command, WorkerChangeOptions& options);
// kBadValue if nothing is to be changed, or something both set and taken away.
Result<allotter::WorkerChange> ToWorkerChange(const WorkerChangeOptions& options);

}  // namespace allot::cli
