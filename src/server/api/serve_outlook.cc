// GET /v1/queues/Q/workers/ID/next: what a worker would get next, and why not the others.
#include <memory>
#include <utility>

#include "base/json.h"
#include "engine/looks/worker_outlook.h"
#include "server/api/preview_run.h"
#include "server/net/call.h"
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

using OutlookAhead = LookAhead<OutlookSnapshot>;

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

void Finish(Round& round, std::shared_ptr<OutlookAhead> looking, const Result<WalkPtr>& walk) {
  if (!walk.ok()) return AnswerError(round, std::move(looking->call), walk.error());
  // Conditions are looked at on the network thread.
  NetThread& net = looking->call.reply.net();
  round.Send(net, [looking = std::move(looking), walk = *walk] {
    std::string out;
    Render(looking->known, *walk, out);
    looking->call.reply.Send(200, out);
  });
}

}  // namespace

void ShowOutlook(Call call) {
  if (call.principal().user) {
    return call.Fail({Code::kForbidden, "what a worker gets tells of all users' jobs, this token only of its own's",
                      "use a token that is not fixed to a user"});
  }
  const std::string& text = call.part("worker");
  const std::optional<std::uint64_t> id = ParseId(text);
  if (!id) {
    return call.Fail({Code::kUnknownWorker, "there is no worker " + text.substr(0, 100), "ids are decimal numbers"});
  }
  constexpr std::string_view kKnown[] = {"count"};
  static_assert(wire::SameNames(wire::kNextQuery, kKnown));
  const Result<Query> query = Query::Parse(call.request.query, kKnown);
  if (!query.ok()) return call.Fail(query.error());
  const Result<std::optional<std::uint64_t>> count = query->Number("count", 1, kMostPicks);
  if (!count.ok()) return call.Fail(count.error());
  BrowseEngine(std::move(call), [id = *id, count = count->value_or(kDefaultPicks)](Round& round, Call c) {
    Result<OutlookSnapshot> snapshot = round.engine.looks().OutlookOf(round.now, WorkerId{id});
    if (!snapshot.ok()) return AnswerError(round, std::move(c), snapshot.error());
    ServerContext& server = c.server;
    if (!OutlookAhead::Room(c)) {
      return AnswerError(round, std::move(c),
                         {Code::kUnavailable, "others look ahead at the moment", "try again in a few seconds"});
    }
    PreviewRequest request;
    request.strategy = snapshot->strategy;
    request.worker = snapshot->worker;
    request.count = static_cast<std::uint32_t>(count);
    request.by_limits = true;
    request.seed = static_cast<std::uint64_t>(round.now.mono.time_since_epoch().count());
    const QueuePtr queue = c.queue;
    auto looking = std::make_shared<OutlookAhead>(std::move(c), std::move(*snapshot));
    RunPreview(
        server, server.looking, queue, std::move(request), kMostLooking, round,
        [looking = std::move(looking)](Round& last, const Result<WalkPtr>& walk) { Finish(last, looking, walk); });
  });
}

}  // namespace allot
