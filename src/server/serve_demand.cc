// GET /v1/queues/Q/demand: what could start if workers were there, for those who start and stop workers.
#include <memory>
#include <utility>

#include "engine/demand_walk.h"
#include "server/access.h"
#include "server/call.h"
#include "server/demand_json.h"
#include "server/stepped_walk.h"

namespace allot {
namespace {

constexpr WalkBounds kBounds{.busy = "others are asking for the demand at the moment"};

}  // namespace

void ServeDemand(Call call) {
  if (call.request.method != Method::kGet) return call.Fail(WrongMethod(call.request, "GET"));
  const Result<void> may = RequireScope(call.principal(), Scope::kRead);
  if (!may.ok()) return call.Fail(may.error());
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
  WalkInSteps(std::move(call), under_way, kBounds, std::make_unique<DemandWalk>(std::move(query->request)),
              [limit = query->limit](const DemandWalk& walk, Duration took, std::string& out) {
                AppendDemand(walk, limit, ReadClock().wall, took, out);
              });
}

}  // namespace allot
