// Why a job does not run, as the protocol's JSON. Each function appends one value to `out`.
#pragma once

#include <string>

#include "match/explain.h"
#include "server/explain_limits.h"

namespace allot {

// `limits`: of a job that is there; a spec has none.
void AppendExplanation(const MatchSnapshot& snapshot, const Explanation& explanation, const JobLimits& limits,
                       std::string& out);
void AppendPairExplanation(const MatchSnapshot& snapshot, const PairExplanation& pair, const JobLimits& limits,
                           std::string& out);

}  // namespace allot
