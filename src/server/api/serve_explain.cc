// SPDX-License-Identifier: Apache-2.0
// /v1/queues/Q/jobs/ID/explain and /v1/queues/Q/explain: why a job does not run, or would not.
//
// The engine thread only takes a snapshot; all looking at workers happens on the thread for large answers, within a
// bound of time.
#include <optional>
#include <utility>

#include "base/bounds.h"
#include "engine/looks/explain.h"
#include "server/api/preview_run.h"
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

// On the thread for large answers.
Answer Explained(const Call& call, const JobSnapshot& snapshot) {
  ExplainOptions options;
  options.show_workers = EyesOf(call).workers;
  options.enough = [until = ReadClock().mono + kMostExplaining] { return ReadClock().mono >= until; };
  std::string out;
  AppendExplanation(snapshot, Explain(snapshot.match, options), EyesOf(call), out);
  return Answer(200, std::move(out));
}

Result<Answer> PairExplained(const JobSnapshot& snapshot, WorkerId worker) {
  const std::optional<PairExplanation> pair = ExplainPair(snapshot.match, worker);
  if (!pair) {
    return Error{Code::kUnknownWorker, "there is no worker " + ToText(worker), "GET …/workers lists them"};
  }
  std::string out;
  AppendPairExplanation(snapshot, *pair, out);
  return Answer(200, std::move(out));
}

// What shows where the job stands among the others.
PreviewRequest Others(const JobSnapshot& snapshot) {
  PreviewRequest request;
  request.strategy = snapshot.order->strategy;
  request.policy = snapshot.order->policy;
  request.worker = snapshot.order->like;
  request.count = kMostPlaces;
  request.by_limits = true;
  request.focus = snapshot.match.job;
  return request;
}

// The worker that the query names.
Result<std::optional<WorkerId>> AskedWorker(const Call& call, const Query& query) {
  const std::optional<std::string_view> text = query.Get("worker");
  if (!text) return std::optional<WorkerId>();
  TRY_OK(RequireScope(call.principal(), Scope::kRead));
  const std::optional<std::uint64_t> id = ParseId(*text);
  if (!id) {
    return Error{Code::kUnknownWorker, "there is no worker " + std::string(text->substr(0, 100)),
                 "ids are decimal numbers"};
  }
  return std::optional<WorkerId>(WorkerId{*id});
}

}  // namespace

// GET …/jobs/ID/explain?worker=&task=
Flow ExplainJob(Call call) {
  CO_TRY(const JobName name, ParseJobName(call.part("job")));
  constexpr std::string_view kKnown[] = {"worker", "task"};
  static_assert(wire::SameNames(wire::kExplainQuery, kKnown));
  CO_TRY(const Query query, Query::Parse(call.request.query, kKnown));
  CO_TRY(const std::optional<WorkerId> worker, AskedWorker(call, query));
  CO_TRY(const std::optional<std::uint64_t> index, query.Number("task", 0, bounds::kMaxTasksPerJob));
  std::optional<TaskIndex> task;
  if (index) task = static_cast<TaskIndex>(*index);
  RoundHere round = co_await Browse(call);
  CO_TRY(const JobView& found, FindJob(*round, call, name));
  CO_TRY(JobSnapshot snapshot, round->engine.prepared_looks().SnapshotOf(round->now, found.id, task, worker));
  // Where it stands among the others, if it may be told and there is time for it; the rest is known.
  const bool may_see = !worker && !call.principal().user && call.principal().Has(Scope::kRead);
  Admission::Entry place;
  if (may_see && snapshot.order && snapshot.order->giving > 0) place = call.server.explanations.Enter(call.asker());
  std::optional<PreviewWalk> walk;
  if (place) {
    walk.emplace(Others(snapshot));
    const Result<void> seen = co_await RunPreview(call, round, call.server.looking, *walk, kMostPlacing);
    // A worker that is gone meanwhile leaves the place unknown.
    if (seen.ok()) ApplyWalk(*walk, *snapshot.match.job, *snapshot.order);
  }
  Hide(EyesOf(call), snapshot);
  co_await AfterCommit(round);
  if (worker) co_return PairExplained(snapshot, *worker);
  co_await OnRenderLane(call);
  co_return Explained(call, snapshot);
}

// POST …/explain with a job spec: the same, of a job that is not submitted.
Flow ExplainSpec(Call call) {
  CO_TRY_OK(ParseNoQuery(call.request.query));
  CO_TRY(JobRequest request, ParseJobSpec(call.request.body, OptionsOf(call)));
  CO_TRY_OK(ClaimUser(call.principal(), request));
  RoundHere round = co_await Browse(call);
  JobSnapshot snapshot;
  snapshot.match = round->engine.looks().Snapshot(request.spec);
  snapshot.match.now = round->now.wall;
  Hide(EyesOf(call), snapshot);
  co_await AfterCommit(round);
  co_await OnRenderLane(call);
  co_return Explained(call, snapshot);
}

}  // namespace allot
