// /v1/queues/Q/jobs/ID/explain and /v1/queues/Q/explain: why a job does not run, or would not.
//
// The engine thread only takes a snapshot; all looking at workers happens on the network thread, within a bound of
// time.
#include <memory>
#include <optional>
#include <utility>

#include "server/access.h"
#include "server/call.h"
#include "server/clock.h"
#include "server/explain_json.h"
#include "server/request_json.h"
#include "server/request_query.h"

namespace allot {
namespace {

// A network thread has others to serve: what is not seen by then is told as not looked at.
constexpr Duration kMostTime = milliseconds(50);

void AnswerAll(Turn& turn, Call call, MatchSnapshot snapshot, JobLimits limits) {
  Answer(turn, std::move(call), 200,
         [held = std::make_shared<const MatchSnapshot>(std::move(snapshot)), limits = std::move(limits)](
             Call& done, std::string& out) {
           ExplainOptions options;
           options.show_workers = done.principal().Has(Scope::kRead);  // as GET workers does
           options.enough = [until = ReadClock().mono + kMostTime] { return ReadClock().mono >= until; };
           AppendExplanation(*held, Explain(*held, options), limits, out);
         });
}

void AnswerPair(Turn& turn, Call call, MatchSnapshot snapshot, JobLimits limits, WorkerId worker) {
  Return(
      turn, std::move(call),
      [held = std::make_shared<const MatchSnapshot>(std::move(snapshot)), limits = std::move(limits),
       worker](Call done) {
        const std::optional<PairExplanation> pair = ExplainPair(*held, worker);
        if (!pair) {
          return done.Fail({Code::kUnknownWorker, "there is no worker " + ToText(worker), "GET …/workers lists them"});
        }
        std::string out;
        AppendPairExplanation(*held, *pair, limits, out);
        done.reply.Send(200, out);
      });
}

// GET …/jobs/ID/explain?worker=
void ExplainJob(Call call) {
  if (call.request.method != Method::kGet) return call.Fail(WrongMethod(call.request, "GET"));
  const Result<JobName> name = ParseJobName(call.request.parts[4]);
  if (!name.ok()) return call.Fail(name.error());
  constexpr std::string_view kKnown[] = {"worker"};
  const Result<Query> query = Query::Parse(call.request.query, kKnown);
  if (!query.ok()) return call.Fail(query.error());
  std::optional<WorkerId> worker;
  if (const std::optional<std::string_view> text = query->Get("worker")) {
    const Result<void> may_see = RequireScope(call.principal(), Scope::kRead);
    if (!may_see.ok()) return call.Fail(may_see.error());
    const std::optional<std::uint64_t> id = ParseId(*text);
    if (!id) {
      return call.Fail(
          {Code::kUnknownWorker, "there is no worker " + std::string(text->substr(0, 100)), "ids are decimal numbers"});
    }
    worker = WorkerId{*id};
  }
  AskEngine(std::move(call), [name = *name, worker](Turn& turn, Call c) {
    const Result<JobView> found = FindJob(turn, c, name);
    if (!found.ok()) return AnswerError(turn, std::move(c), found.error());
    Result<MatchSnapshot> snapshot = turn.engine.Snapshot(found->id);
    if (!snapshot.ok()) return AnswerError(turn, std::move(c), snapshot.error());
    snapshot->now = turn.now.wall;
    JobLimits limits{{}, turn.now.mono};
    if (Result<LimitHolds> on = turn.engine.LimitsOn(turn.now, found->id, worker); on.ok())
      limits = {std::move(on->holds), turn.now.mono, on->free, on->free_held};
    if (worker) return AnswerPair(turn, std::move(c), std::move(*snapshot), std::move(limits), *worker);
    AnswerAll(turn, std::move(c), std::move(*snapshot), std::move(limits));
  });
}

// POST …/explain with a job spec: the same, of a job that is not submitted.
void ExplainSpec(Call call) {
  if (call.request.method != Method::kPost) return call.Fail(WrongMethod(call.request, "POST"));
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  Result<JobRequest> request = ParseJobSpec(call.request.body, OptionsOf(call));
  if (!request.ok()) return call.Fail(request.error());
  const Result<void> claimed = ClaimUser(call.principal(), *request);
  if (!claimed.ok()) return call.Fail(claimed.error());
  AskEngine(std::move(call), [spec = std::move(request->spec)](Turn& turn, Call c) {
    MatchSnapshot snapshot = turn.engine.Snapshot(spec);
    snapshot.now = turn.now.wall;
    AnswerAll(turn, std::move(c), std::move(snapshot), {});
  });
}

}  // namespace

void ServeExplain(Call call) {
  const Result<void> may = RequireEither(call.principal(), Scope::kRead, Scope::kSubmit);
  if (!may.ok()) return call.Fail(may.error());
  call.request.parts.size() == 4 ? ExplainSpec(std::move(call)) : ExplainJob(std::move(call));
}

}  // namespace allot
