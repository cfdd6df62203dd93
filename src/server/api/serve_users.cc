// GET /v1/queues/Q/users: who has jobs, and how they fare.
#include <utility>

#include "server/net/call.h"
#include "server/ops/access.h"
#include "server/wire/users_json.h"

namespace allot {

void ListUsers(Call call) {
  Result<UserQuery> query = ParseUserQuery(call.request.query);
  if (!query.ok()) return call.Fail(query.error());
  // As a list of their jobs is.
  JobQuery seen;
  seen.user = query->only.value_or("");
  const Result<void> narrowed = NarrowToSeen(call.principal(), seen);
  if (!narrowed.ok()) return call.Fail(narrowed.error());
  if (call.principal().user) query->only = call.principal().user;
  BrowseEngine(std::move(call), [query = std::move(*query)](Round& round, Call c) {
    AnswerApart(round, std::move(c),
                [page = round.engine.looks().Users(query)](const Call&, std::string& out) { AppendUsers(page, out); });
  });
}

}  // namespace allot
