// SPDX-License-Identifier: Apache-2.0
// POST /v1/queues/Q/strategy/try: what a worker with some strategy would get, without taking it.
#include <utility>

#include "server/api/preview_run.h"
#include "server/ops/clock.h"
#include "server/wire/preview_json.h"
#include "server/wire/request_query.h"

namespace allot {
namespace {

// What is not seen by then is told as missing. Picking has as long again.
constexpr Duration kMostTrying = std::chrono::seconds(5);

}  // namespace

Flow TryStrategy(Call call) {
  // Which jobs come first, and why, tells of everyone's.
  if (call.principal().user) {
    co_return Error{Code::kForbidden, "what a strategy gives tells of all users' jobs, this token only of its own's",
                    "use a token that is not fixed to a user"};
  }
  CO_TRY_OK(ParseNoQuery(call.request.query));
  CO_TRY(PreviewRequest request, ParsePreview(call.request.body, call.queue->vocabulary()));
  request.by_limits = true;
  request.seed = static_cast<std::uint64_t>(ReadClock().mono.time_since_epoch().count());
  CO_TRY(const Admission::Entry place, Admit(call.server.trials, call, "others are trying strategies at the moment"));
  const Instant began = ReadClock().mono;
  PreviewWalk walk(std::move(request));
  RoundHere round = co_await BrowseOn(call);
  const Result<void> seen = co_await RunPreview(call, round, call.server.trying, walk, kMostTrying);
  co_await AfterCommit(round);
  CO_TRY_OK(seen);
  std::string out;
  AppendPreview(walk, ReadClock().mono - began, out);
  co_return Answer(200, std::move(out));
}

}  // namespace allot
