// /v1/queues/Q/overview and /history: how the queue stands, and how it fared.
#include <utility>

#include "server/api/overview_json.h"
#include "server/api/queue_view.h"
#include "server/net/call.h"
#include "server/wire/request_query.h"

namespace allot {

void ShowOverview(Call call) {
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  BrowseEngine(std::move(call), [](Round& round, Call c) {
    OverviewFacts facts{round.engine.looks().Stats(), c.queue->history().LastRates(), round.engine.looks().Reasons(),
                        round.stall};
    Return(round, std::move(c), [facts = std::move(facts)](Call done) {
      std::string queue;
      const Result<void> appended = AppendQueueView(done.principal(), *done.queue, facts.stats, queue);
      if (!appended.ok()) return done.Fail(appended.error());
      std::string out;
      AppendOverview(facts, queue, !done.principal().user, out);
      done.reply.Send(200, out);
    });
  });
}

void ShowHistory(Call call) {
  const Result<HistoryStep> step = ParseHistoryQuery(call.request.query);
  if (!step.ok()) return call.Fail(step.error());
  BrowseEngine(std::move(call), [step = *step](Round& round, Call c) {
    const QueueHistory& history = c.queue->history();
    QueueHistory::Series series = step == HistoryStep::kSecond ? history.Seconds() : history.Minutes();
    AnswerApart(round, std::move(c),
                [series = std::move(series)](const Call&, std::string& out) { AppendHistory(series, out); });
  });
}

}  // namespace allot
