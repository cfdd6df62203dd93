// Why a job does not run, as the protocol's JSON. Each function appends one value to `out`.
#pragma once

#include <string>

#include "match/explain.h"

namespace allot {

void AppendExplanation(const MatchSnapshot& snapshot, const Explanation& explanation, std::string& out);
void AppendPairExplanation(const MatchSnapshot& snapshot, const PairExplanation& pair, std::string& out);

}  // namespace allot
