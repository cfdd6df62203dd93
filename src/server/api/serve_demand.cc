// SPDX-License-Identifier: Apache-2.0
// GET /v1/queues/Q/demand: what could start if workers were there, for those who start and stop workers.
#include <utility>

#include "engine/looks/demand_walk.h"
#include "server/api/stepped_walk.h"
#include "server/ops/access.h"
#include "server/wire/demand_json.h"

namespace allot {

Flow ShowDemand(Call call) {
  CO_TRY(DemandQuery query, ParseDemandQuery(call.request.query));
  // As a list of jobs is.
  JobQuery seen;
  seen.user = query.request.user.value_or("");
  CO_TRY_OK(NarrowToSeen(call.principal(), seen));
  if (call.principal().user) query.request.user = call.principal().user;
  query.request.lookahead = call.queue->settings().demand_lookahead;
  CO_TRY(const Admission::Entry place,
         Admit(call.server.demand_walks, call, "others are asking for the demand at the moment"));
  DemandWalk walk(std::move(query.request));
  CO_TRY(const Duration took, co_await WalkToAnswer(call, walk, kLookAround));
  std::string out;
  AppendDemand(walk, query.limit, ReadClock().wall, took, out);
  co_return Answer(200, std::move(out));
}

}  // namespace allot
