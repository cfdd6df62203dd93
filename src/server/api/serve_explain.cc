// /v1/queues/Q/jobs/ID/explain and /v1/queues/Q/explain: why a job does not run, or would not.
//
// The engine thread only takes a snapshot; all looking at workers happens on the thread for large answers, within a
// bound of time.
#include <memory>
#include <optional>
#include <utility>

#include "base/bounds.h"
#include "engine/looks/explain.h"
#include "server/api/preview_run.h"
#include "server/net/call.h"
#include "server/ops/access.h"
#include "server/ops/clock.h"
#include "server/wire/explain_json.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"
#include "wire/jobs.h"

namespace allot {
namespace {

// There are others to serve: what is not seen by then is told as not looked at.
constexpr Duration kMostExplaining = milliseconds(50);

// Nor has the engine thread more for one who wants to know where a job stands among the others.
constexpr Duration kMostPlacing = milliseconds(50);
constexpr std::uint32_t kMostPlaces = 100;

ExplainEyes EyesOf(const Call& call) {
  const bool read = call.principal().Has(Scope::kRead);  // as GET workers does
  return {read, read && !call.principal().user};
}

void AnswerAll(Round& round, Call call, JobSnapshot snapshot) {
  Hide(EyesOf(call), snapshot);
  AnswerApart(round, std::move(call),
              [held = std::make_shared<const JobSnapshot>(std::move(snapshot))](const Call& done, std::string& out) {
                ExplainOptions options;
                options.show_workers = EyesOf(done).workers;
                options.enough = [until = ReadClock().mono + kMostExplaining] { return ReadClock().mono >= until; };
                AppendExplanation(*held, Explain(held->match, options), EyesOf(done), out);
              });
}

void AnswerPair(Round& round, Call call, JobSnapshot snapshot, WorkerId worker) {
  Hide(EyesOf(call), snapshot);
  Return(round, std::move(call), [held = std::make_shared<const JobSnapshot>(std::move(snapshot)), worker](Call done) {
    const std::optional<PairExplanation> pair = ExplainPair(held->match, worker);
    if (!pair) {
      return done.Fail({Code::kUnknownWorker, "there is no worker " + ToText(worker), "GET …/workers lists them"});
    }
    std::string out;
    AppendPairExplanation(*held, *pair, out);
    done.reply.Send(200, out);
  });
}

using Placing = LookAhead<JobSnapshot>;

// Where the job stands among the others, if there is time for it; the rest is known.
void FindPlace(Round& round, Call call, JobSnapshot snapshot) {
  ServerContext& server = call.server;
  const bool given = snapshot.order && snapshot.order->giving > 0;
  if (!given || !Placing::Room(call)) return AnswerAll(round, std::move(call), std::move(snapshot));
  PreviewRequest request;
  request.strategy = snapshot.order->strategy;
  request.policy = snapshot.order->policy;
  request.worker = snapshot.order->like;
  request.count = kMostPlaces;
  request.by_limits = true;
  request.focus = snapshot.match.job;
  const QueuePtr queue = call.queue;
  auto looking = std::make_shared<Placing>(std::move(call), std::move(snapshot));
  RunPreview(server, server.looking, queue, std::move(request), kMostPlacing, round,
             [looking = std::move(looking)](Round& last, const Result<WalkPtr>& walk) {
               // A worker that is gone meanwhile leaves the place unknown.
               if (walk.ok()) ApplyWalk(**walk, *looking->known.match.job, *looking->known.order);
               AnswerAll(last, std::move(looking->call), std::move(looking->known));
             });
}

}  // namespace

// GET …/jobs/ID/explain?worker=&task=
void ExplainJob(Call call) {
  const Result<JobName> name = ParseJobName(call.part("job"));
  if (!name.ok()) return call.Fail(name.error());
  constexpr std::string_view kKnown[] = {"worker", "task"};
  static_assert(wire::SameNames(wire::kExplainQuery, kKnown));
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
  const Result<std::optional<std::uint64_t>> index = query->Number("task", 0, bounds::kMaxTasksPerJob);
  if (!index.ok()) return call.Fail(index.error());
  std::optional<TaskIndex> task;
  if (*index) task = static_cast<TaskIndex>(**index);
  BrowseEngine(std::move(call), [name = *name, worker, task](Round& round, Call c) {
    const Result<JobView> found = FindJob(round, c, name);
    if (!found.ok()) return AnswerError(round, std::move(c), found.error());
    Result<JobSnapshot> snapshot = round.engine.prepared_looks().SnapshotOf(round.now, found->id, task, worker);
    if (!snapshot.ok()) return AnswerError(round, std::move(c), snapshot.error());
    if (worker) return AnswerPair(round, std::move(c), std::move(*snapshot), *worker);
    if (c.principal().user || !c.principal().Has(Scope::kRead)) {
      return AnswerAll(round, std::move(c), std::move(*snapshot));
    }
    FindPlace(round, std::move(c), std::move(*snapshot));
  });
}

// POST …/explain with a job spec: the same, of a job that is not submitted.
void ExplainSpec(Call call) {
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  Result<JobRequest> request = ParseJobSpec(call.request.body, OptionsOf(call));
  if (!request.ok()) return call.Fail(request.error());
  const Result<void> claimed = ClaimUser(call.principal(), *request);
  if (!claimed.ok()) return call.Fail(claimed.error());
  BrowseEngine(std::move(call), [spec = std::move(request->spec)](Round& round, Call c) {
    JobSnapshot snapshot;
    snapshot.match = round.engine.looks().Snapshot(spec);
    snapshot.match.now = round.now.wall;
    AnswerAll(round, std::move(c), std::move(snapshot));
  });
}

}  // namespace allot
