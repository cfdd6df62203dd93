// SPDX-License-Identifier: Apache-2.0
// What was probably meant. Inside of explain.
#pragma once

#include <vector>

#include "match/explain.h"
#include "match/explain_conditions.h"

namespace allot {

// Adds suggestions for what no worker has: tags never seen, property values, and, in those of the job's clauses that
// `doubtful` names by index, attributes and texts that they are compared with. REQUIRES: tags and constraints are
// counted over all workers.
void Suggest(const MatchSnapshot& snapshot, const Conditions& conditions, const std::vector<std::size_t>& doubtful,
             const ExplainOptions& options, Explanation& explanation);

}  // namespace allot
