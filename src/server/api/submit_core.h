// SPDX-License-Identifier: Apache-2.0
// Submitting, on the engine thread: one job, whatever form it came in.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/job.h"
#include "base/result.h"
#include "engine/looks/views.h"
#include "engine/types.h"
#include "server/flow/flow.h"
#include "server/queue/round.h"
#include "store/store.h"

namespace allot {

// What the answer says.
struct Submitted {
  SubmitAnswer answer;
  JobView view;
};

// The job has payloads, or a stream has stored some for it: they are in that set.
void NameSet(JobSpec& spec, JobId set);
// They leave with this round's events.
void AddPayloads(Round& round, std::vector<PayloadSegment>& segments, JobId set);

// Fails, changing nothing, while nothing new is taken, and as Engine::Submit() does.
Result<Submitted> SubmitWhole(Round& round, JobSpec& spec, std::vector<PayloadSegment>& segments);
// The same, where the payloads are in `set` already. It is dropped where the job is not made of it.
Result<Submitted> SubmitStored(Round& round, JobSpec& spec, JobId set);

// When a submit began, for its span; no time where nobody wants any.
WallTime BeganAt(const ServerContext& server);
// The submit is over, and has made the job.
void EndSubmit(const Call& call, WallTime began, const std::string& trace, const SubmitAnswer& answer);

// On the network thread.
Answer AnswerOf(const Call& call, const Submitted& submitted);

// A stream has come to its end: the job of `spec`, whose payloads are in `set`.
Flow SubmitStreamed(Call call, JobSpec spec, JobId set, WallTime began);

}  // namespace allot
