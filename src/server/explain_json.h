// Why a job does not run, as the protocol's JSON. Each function appends one value to `out`.
#pragma once

#include <string>

#include "base/json.h"
#include "engine/explain.h"
#include "match/explain.h"

namespace allot {

void AppendReason(const Reason& reason, JsonWriter& w);

// `order`: may the reader know of others' jobs? Of a job that is there; a spec stands nowhere.
void AppendExplanation(const JobStanding& standing, const Explanation& explanation, bool order, std::string& out);
void AppendPairExplanation(const JobStanding& standing, const PairExplanation& pair, std::string& out);

}  // namespace allot
