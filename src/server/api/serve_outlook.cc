// SPDX-License-Identifier: Apache-2.0
// GET /v1/queues/Q/workers/ID/next: what a worker would get next, and why not the others.
#include <utility>

#include "base/json.h"
#include "engine/looks/worker_outlook.h"
#include "server/api/preview_run.h"
#include "server/ops/clock.h"
#include "server/wire/explain_json.h"
#include "server/wire/preview_json.h"
#include "server/wire/request_query.h"
#include "wire/decisions.h"
#include "wire/writer.h"

namespace allot {
namespace {

constexpr std::uint32_t kDefaultPicks = 10;
constexpr std::uint32_t kMostPicks = 50;
// Of the engine thread in all, for looking at jobs; and of the network thread, for looking at conditions.
constexpr Duration kMostLooking = milliseconds(200);
constexpr Duration kMostTime = milliseconds(50);

void AppendOthers(const OutlookSnapshot& snapshot, const PreviewWalk& walk, JsonWriter& json) {
  std::vector<WorkerOther> others =
      WhyNotOthers(snapshot, [until = ReadClock().mono + kMostTime] { return ReadClock().mono >= until; });
  if (walk.blocked_jobs() > 0) {
    others.push_back({"limits", 0, walk.blocked_tasks(), walk.one_blocked(), "limits hold them back on this worker"});
  }
  json.BeginArray();
  for (const WorkerOther& other : others) {
    wire::Writer<wire::kOthers> w(json);
    w.Text("stage", other.stage);
    w.Count("classes", other.classes);
    w.Count("tasks", other.tasks);
    w.IdOrNull("job", other.job ? other.job->value : 0);
    w.Text("message", other.message);
  }
  json.EndArray();
}

void Render(const OutlookSnapshot& snapshot, const PreviewWalk& walk, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kWorkerNext> w(json);
  w.Id("worker", snapshot.worker.value);
  w.Text("name", snapshot.name);
  AppendReason(OutlookVerdict(snapshot, walk), w.Value("verdict"));
  w.Text("strategy", PrintStrategy(*walk.strategy()));
  w.Text("policy", PrintStrategy(*walk.policy()));
  w.Bool("complete", walk.complete());
  AppendPicks(walk, w.Value("picks"));
  AppendOthers(snapshot, walk, w.Value("others"));
}

}  // namespace

Flow ShowOutlook(Call call) {
  if (call.principal().user) {
    co_return Error{Code::kForbidden, "what a worker gets tells of all users' jobs, this token only of its own's",
                    "use a token that is not fixed to a user"};
  }
  const std::string& text = call.part("worker");
  const std::optional<std::uint64_t> id = ParseId(text);
  if (!id) {
    co_return Error{Code::kUnknownWorker, "there is no worker " + text.substr(0, 100), "ids are decimal numbers"};
  }
  constexpr std::string_view kKnown[] = {"count"};
  static_assert(wire::SameNames(wire::kNextQuery, kKnown));
  CO_TRY(const Query query, Query::Parse(call.request.query, kKnown));
  CO_TRY(const std::optional<std::uint64_t> count, query.Number("count", 1, kMostPicks));
  RoundHere round = co_await Browse(call);
  CO_TRY(const OutlookSnapshot& snapshot, round->engine.looks().OutlookOf(round->now, WorkerId{*id}));
  const Admission::Entry place = call.server.explanations.Enter(call.asker());
  if (!place) {
    co_return Error{Code::kUnavailable, "others look ahead at the moment", "try again in a few seconds"};
  }
  PreviewRequest request;
  request.strategy = snapshot.strategy;
  request.worker = snapshot.worker;
  request.count = static_cast<std::uint32_t>(count.value_or(kDefaultPicks));
  request.by_limits = true;
  request.seed = static_cast<std::uint64_t>(round->now.mono.time_since_epoch().count());
  PreviewWalk walk(std::move(request));
  const Result<void> seen = co_await RunPreview(call, round, call.server.looking, walk, kMostLooking);
  // Conditions are looked at on the network thread.
  co_await AfterCommit(round);
  CO_TRY_OK(seen);
  std::string out;
  Render(snapshot, walk, out);
  co_return Answer(200, std::move(out));
}

}  // namespace allot
