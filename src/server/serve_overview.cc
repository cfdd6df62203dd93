// /v1/queues/Q/overview and /history: how the queue stands, and how it fared.
#include <utility>

#include "server/access.h"
#include "server/call.h"
#include "server/overview_json.h"
#include "server/request_query.h"

namespace allot {
namespace {

void Overview(Call call) {
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  BrowseEngine(std::move(call), [](Turn& turn, Call c) {
    OverviewFacts facts{turn.engine.Stats(), c.queue->history().LastRates(), turn.engine.Reasons(), turn.disk_full};
    Return(turn, std::move(c), [facts = std::move(facts)](Call done) {
      std::string queue;
      const Result<void> appended = AppendQueueView(done.principal(), *done.queue, facts.stats, queue);
      if (!appended.ok()) return done.Fail(appended.error());
      std::string out;
      AppendOverview(facts, queue, !done.principal().user, out);
      done.reply.Send(200, out);
    });
  });
}

void History(Call call) {
  const Result<HistoryStep> step = ParseHistoryQuery(call.request.query);
  if (!step.ok()) return call.Fail(step.error());
  BrowseEngine(std::move(call), [step = *step](Turn& turn, Call c) {
    const QueueHistory& history = c.queue->history();
    QueueHistory::Series series = step == HistoryStep::kSecond ? history.Seconds() : history.Minutes();
    AnswerApart(turn, std::move(c),
                [series = std::move(series)](const Call&, std::string& out) { AppendHistory(series, out); });
  });
}

}  // namespace

void ServeOverview(Call call) {
  if (call.request.method != Method::kGet) return call.Fail(WrongMethod(call.request, "GET"));
  const Result<void> may = RequireScope(call.principal(), Scope::kRead);
  if (!may.ok()) return call.Fail(may.error());
  call.request.parts[3] == "overview" ? Overview(std::move(call)) : History(std::move(call));
}

}  // namespace allot
