// GET /v1/queues/Q/demand: what could start if workers were there, for those who start and stop workers.
#include <memory>
#include <utility>

#include "engine/looks/demand_walk.h"
#include "server/api/stepped_walk.h"
#include "server/net/call.h"
#include "server/ops/access.h"
#include "server/wire/demand_json.h"

namespace allot {
namespace {

constexpr WalkBounds kDemandBounds{.busy = "others are asking for the demand at the moment"};

}  // namespace

void ShowDemand(Call call) {
  Result<DemandQuery> query = ParseDemandQuery(call.request.query);
  if (!query.ok()) return call.Fail(query.error());
  // As a list of jobs is.
  JobQuery seen;
  seen.user = query->request.user.value_or("");
  const Result<void> narrowed = NarrowToSeen(call.principal(), seen);
  if (!narrowed.ok()) return call.Fail(narrowed.error());
  if (call.principal().user) query->request.user = call.principal().user;
  query->request.lookahead = call.queue->settings().demand_lookahead;
  auto& under_way = call.server.demand_walks;
  WalkInSteps(std::move(call), under_way, kDemandBounds, std::make_unique<DemandWalk>(std::move(query->request)),
              [limit = query->limit](const DemandWalk& walk, Duration took, std::string& out) {
                AppendDemand(walk, limit, ReadClock().wall, took, out);
              });
}

}  // namespace allot
