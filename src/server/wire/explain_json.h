// SPDX-License-Identifier: Apache-2.0
// Why a job does not run, as the protocol's JSON. Each function appends one value to `out`.
#pragma once

#include <string>

#include "base/json.h"
#include "engine/looks/explain.h"
#include "match/explain.h"

namespace allot {

void AppendReason(const Reason& reason, JsonWriter& w);

// What the reader may know of.
struct ExplainEyes {
  bool workers = true;  // what they are called and have
  bool others = true;   // jobs of others: who comes first, and why
};

// That there are others, and that somebody runs a task, may be told to all; who they are is taken out.
void Hide(const ExplainEyes& eyes, JobSnapshot& job_snapshot);

// Of a job that is there, or of a spec, which stands nowhere. REQUIRES, here and below: Hide().
void AppendExplanation(const JobSnapshot& job_snapshot, const Explanation& explanation, const ExplainEyes& eyes,
                       std::string& out);
void AppendPairExplanation(const JobSnapshot& job_snapshot, const PairExplanation& pair, std::string& out);

}  // namespace allot
