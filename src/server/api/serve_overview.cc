// SPDX-License-Identifier: Apache-2.0
// /v1/queues/Q/overview and /history: how the queue stands, and how it fared.
#include <utility>

#include "server/api/overview_json.h"
#include "server/api/queue_view.h"
#include "server/flow/places.h"
#include "server/wire/request_query.h"

namespace allot {

Flow ShowOverview(Call call) {
  CO_TRY_OK(ParseNoQuery(call.request.query));
  RoundHere round = co_await Browse(call);
  const OverviewFacts facts{round->engine.looks().Stats(), call.queue->history().LastRates(),
                            round->engine.looks().Reasons(), round->stall};
  co_await AfterCommit(round);
  std::string queue;
  CO_TRY_OK(AppendQueueView(call.principal(), *call.queue, facts.stats, queue));
  std::string out;
  AppendOverview(facts, queue, !call.principal().user, out);
  co_return Answer(200, std::move(out));
}

Flow ShowHistory(Call call) {
  CO_TRY(const HistoryStep step, ParseHistoryQuery(call.request.query));
  RoundHere round = co_await Browse(call);
  const QueueHistory& history = call.queue->history();
  const QueueHistory::Series series = step == HistoryStep::kSecond ? history.Seconds() : history.Minutes();
  co_await AfterCommit(round);
  co_await OnRenderLane(call);
  std::string out;
  AppendHistory(series, out);
  co_return Answer(200, std::move(out));
}

}  // namespace allot
