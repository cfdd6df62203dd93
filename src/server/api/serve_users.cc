// SPDX-License-Identifier: Apache-2.0
// GET /v1/queues/Q/users: who has jobs, and how they fare.
#include <utility>

#include "server/flow/places.h"
#include "server/ops/access.h"
#include "server/wire/users_json.h"

namespace allot {

Flow ListUsers(Call call) {
  CO_TRY(UserQuery query, ParseUserQuery(call.request.query));
  // As a list of their jobs is.
  JobQuery seen;
  seen.user = query.only.value_or("");
  CO_TRY_OK(NarrowToSeen(call.principal(), seen));
  if (call.principal().user) query.only = call.principal().user;
  RoundHere round = co_await Browse(call);
  const UserPage page = round->engine.looks().Users(query);
  co_await AfterCommit(round);
  co_await OnRenderLane(call);
  std::string out;
  AppendUsers(page, out);
  co_return Answer(200, std::move(out));
}

}  // namespace allot
