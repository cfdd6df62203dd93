// SPDX-License-Identifier: Apache-2.0
#include "server/api/route_table.h"

#include <algorithm>
#include <utility>

#include "server/api/submit_stream.h"
#include "server/net/http_text.h"
#include "server/net/serve.h"
#include "server/net/wait_connection.h"
#include "server/net/worker_connection.h"
#include "server/ops/access.h"
#include "wire/decisions.h"
#include "wire/explanation.h"
#include "wire/jobs.h"
#include "wire/limits.h"
#include "wire/nodes.h"
#include "wire/queues.h"
#include "wire/server.h"
#include "wire/workers.h"

namespace allot {

// The handlers, by the file that has them. Nobody else calls them, so they are declared here alone.

// serve_server.cc
Flow ShowAlive(Call call);
Flow ShowReady(Call call);
Flow ShowMetrics(Call call);
Flow ShowServer(Call call);
// openapi.cc
Flow ShowOpenApi(Call call);
// serve_strategies.cc, serve_try.cc
Flow ListStrategies(Call call);
Flow CheckStrategy(Call call);
Flow TryStrategy(Call call);
// serve_queues.cc, serve_backup.cc
Flow ListQueues(Call call);
Flow CreateQueue(Call call);
Flow ShowQueue(Call call);
Flow ChangeQueue(Call call);
Flow DeleteQueue(Call call);
Flow PauseQueue(Call call);
Flow ResumeQueue(Call call);
Flow SendBackup(Call call);
// serve_nodes.cc
Flow ListNodes(Call call);
Flow DrainNode(Call call);
Flow ResumeNode(Call call);
Flow MoveQueue(Call call);
// serve_overview.cc, serve_users.cc, serve_demand.cc, serve_receipts.cc
Flow ShowOverview(Call call);
Flow ShowHistory(Call call);
Flow ListUsers(Call call);
Flow ShowDemand(Call call);
Flow ListReceipts(Call call);
Flow ShowReceipt(Call call);
// serve_jobs.cc
Flow ListJobs(Call call);
Flow SubmitJob(Call call);
Flow SubmitBatch(Call call);
Flow ShowJob(Call call);
Flow ChangeJob(Call call);
Flow CancelJob(Call call);
Flow PauseJob(Call call);
Flow ResumeJob(Call call);
Flow RetryJob(Call call);
// serve_many_jobs.cc
Flow CancelJobs(Call call);
Flow PauseJobs(Call call);
Flow ResumeJobs(Call call);
Flow RetryJobs(Call call);
// serve_explain.cc
Flow ExplainJob(Call call);
Flow ExplainSpec(Call call);
// serve_job_views.cc, serve_results.cc
Flow ShowPicture(Call call);
Flow ListErrors(Call call);
Flow ListTasks(Call call);
Flow ShowTask(Call call);
Flow ListResults(Call call);
Flow FollowJob(Call call);
// serve_limits.cc
Flow ListLimits(Call call);
Flow CreateLimit(Call call);
Flow TryLimit(Call call);
Flow ShowLimit(Call call);
Flow PutLimit(Call call);
Flow DeleteLimit(Call call);
Flow RenewLimit(Call call);
Flow ShowLimitHistory(Call call);
// serve_workers.cc, serve_outlook.cc
Flow ListWorkers(Call call);
Flow RegisterWorker(Call call);
Flow ShowWorker(Call call);
Flow ChangeWorker(Call call);
Flow UnregisterWorker(Call call);
Flow PullTasks(Call call);
Flow DrainWorker(Call call);
Flow ShowOutlook(Call call);

namespace {

using enum Method;
using enum Scope;
using enum Route::Trait;

constexpr PathPattern At(std::string_view text) { return PathPattern(text); }
constexpr ScopeRule NoToken() { return {ScopeRule::Kind::kNoToken}; }
constexpr ScopeRule AnyToken() { return {ScopeRule::Kind::kAnyToken}; }
constexpr ScopeRule Needs(Scope scope) { return {ScopeRule::Kind::kScope, scope, scope}; }
constexpr ScopeRule Either(Scope first, Scope second) { return {ScopeRule::Kind::kEither, first, second}; }
constexpr ScopeRule ByHandler(Scope first, Scope second) { return {ScopeRule::Kind::kByHandler, first, second}; }

template <typename Connection>
std::shared_ptr<WsConnection> Accept(ServerContext& server, NetThread& net, QueuePtr queue, const Request& request) {
  return std::make_shared<Connection>(net, server, std::move(queue), request.principal, request.peer);
}

std::unique_ptr<BodySink> TakeTasks(ServerContext& server, std::shared_ptr<BodySource> source, QueuePtr queue,
                                    const Request& request) {
  return SubmitStream::Open(server, std::move(queue), request.principal, request.peer, std::move(source));
}

constexpr PathPattern kQueues("/v1/queues");
constexpr PathPattern kQueue("/v1/queues/{queue}");

constexpr Route kRoutes[] = {
    // The server.
    {kGet, At("/livez"), NoToken(), ShowAlive, "says that the process runs", {.gives = &wire::kStatus}},
    {kGet, At("/readyz"), NoToken(), ShowReady, "says whether all queues take requests", {.gives = &wire::kStatus}},
    {kGet,
     At("/metrics"),
     Needs(kRead),
     ShowMetrics,
     "shows the metrics of all queues, for Prometheus",
     {.media = "text/plain"}},
    {kGet, At("/v1/openapi.json"), AnyToken(), ShowOpenApi, "describes all of this for programs: OpenAPI", {}},
    {kGet,
     At("/v1/server"),
     AnyToken(),
     ShowServer,
     "shows the server's version, and who asks",
     {.gives = &wire::kServerInfo}},
    {kGet,
     At("/v1/strategies"),
     AnyToken(),
     ListStrategies,
     "lists the strategies that have a name",
     {.gives = &wire::kStrategies}},
    {kPost,
     At("/v1/strategies/check"),
     AnyToken(),
     CheckStrategy,
     "checks a strategy, and describes it in words",
     {.takes = &wire::kStrategyQuestion, .gives = &wire::kStrategyCheck}},

    // Several servers on one database.
    {kGet,
     At("/v1/nodes"),
     Needs(kRead),
     ListNodes,
     "lists the nodes of a cluster, and what each one has",
     {.gives = &wire::kNodes}},
    {kPost,
     At("/v1/nodes/{node}/drain"),
     Needs(kAdmin),
     DrainNode,
     "has a node hand over all its queues, and take none",
     {.gives = &wire::kDrained}},
    {kPost,
     At("/v1/nodes/{node}/resume"),
     Needs(kAdmin),
     ResumeNode,
     "lets a node that was drained take queues again",
     {.gives = &wire::kDrained}},

    // Queues.
    {kGet, At("/v1/queues"), Needs(kRead), ListQueues, "lists the queues", {.gives = &wire::kQueues}, kWatched},
    {kPost,
     At("/v1/queues"),
     Needs(kAdmin),
     CreateQueue,
     "creates a queue",
     {.takes = &wire::kQueueCreate, .gives = &wire::kQueue, .creates = true}},
    {kGet, At("/v1/queues/{queue}"), Needs(kRead), ShowQueue, "shows a queue", {.gives = &wire::kQueue}, kWatched},
    {kPatch,
     At("/v1/queues/{queue}"),
     Needs(kOperate),
     ChangeQueue,
     "changes a queue's settings",
     {.takes = &wire::kQueueChange, .gives = &wire::kQueue}},
    {kDelete,
     At("/v1/queues/{queue}"),
     Needs(kAdmin),
     DeleteQueue,
     "deletes a queue",
     {.query = &wire::kForceQuery, .gives = &wire::kDeleted}},
    {kPost, At("/v1/queues/{queue}/pause"), Needs(kOperate), PauseQueue, "pauses a queue", {.gives = &wire::kQueue}},
    {kPost, At("/v1/queues/{queue}/resume"), Needs(kOperate), ResumeQueue, "resumes a queue", {.gives = &wire::kQueue}},
    {kPost,
     At("/v1/queues/{queue}/move"),
     Needs(kAdmin),
     MoveQueue,
     "has a queue go to a node of the cluster, and stay there",
     {.takes = &wire::kMove, .gives = &wire::kMoved}},
    {kGet,
     At("/v1/queues/{queue}/backup"),
     Needs(kAdmin),
     SendBackup,
     "sends a copy of the queue's file",
     {.media = "application/octet-stream"}},
    {kGet,
     At("/v1/queues/{queue}/overview"),
     Needs(kRead),
     ShowOverview,
     "shows how the queue stands",
     {.gives = &wire::kOverview},
     kWatched},
    {kGet,
     At("/v1/queues/{queue}/history"),
     Needs(kRead),
     ShowHistory,
     "shows the queue's numbers over time",
     {.query = &wire::kHistoryQuery, .gives = &wire::kHistory}},
    {kGet,
     At("/v1/queues/{queue}/users"),
     Needs(kRead),
     ListUsers,
     "lists the users with open jobs",
     {.query = &wire::kUsersQuery, .gives = &wire::kUsersPage},
     kWatched},
    {kGet,
     At("/v1/queues/{queue}/receipts"),
     Needs(kRead),
     ListReceipts,
     "lists how the last starts were decided",
     {.query = &wire::kReceiptsQuery, .gives = &wire::kReceiptsPage},
     kWatched},
    {kGet,
     At("/v1/queues/{queue}/demand"),
     Needs(kRead),
     ShowDemand,
     "shows what could start if workers were there",
     {.query = &wire::kDemandQuery, .gives = &wire::kDemand}},
    {kPost,
     At("/v1/queues/{queue}/explain"),
     Either(kRead, kSubmit),
     ExplainSpec,
     "explains why a job would not run if it were submitted",
     {.takes = &wire::kJobSpec, .gives = &wire::kExplanation}},
    {kPost,
     At("/v1/queues/{queue}/strategy/try"),
     Needs(kRead),
     TryStrategy,
     "shows which tasks a strategy would give a worker",
     {.takes = &wire::kTry, .gives = &wire::kStrategyTry}},

    // Jobs. What is done to many stands where a job's id would be.
    {kGet,
     At("/v1/queues/{queue}/jobs"),
     Needs(kRead),
     ListJobs,
     "lists jobs, the newest first",
     {.query = &wire::kJobsQuery, .gives = &wire::kJobsPage},
     kWatched},
    {kPost,
     At("/v1/queues/{queue}/jobs"),
     Needs(kSubmit),
     SubmitJob,
     "submits a job; its tasks may come as lines",
     {.takes = &wire::kJobSpec, .gives = &wire::kSubmitted, .creates = true, .may_be_there = true},
     kUsual,
     nullptr,
     TakeTasks},
    {kPost,
     At("/v1/queues/{queue}/jobs/batch"),
     Needs(kSubmit),
     SubmitBatch,
     "submits several jobs, all or none",
     {.takes = &wire::kBatch, .gives = &wire::kSubmittedBatch, .creates = true}},
    {kPost,
     At("/v1/queues/{queue}/jobs/cancel"),
     ByHandler(kOperate, kSubmit),
     CancelJobs,
     "cancels all jobs that a filter finds",
     {.takes = &wire::kJobsFilter, .gives = &wire::kBulkAnswer}},
    {kPost,
     At("/v1/queues/{queue}/jobs/pause"),
     ByHandler(kOperate, kSubmit),
     PauseJobs,
     "pauses all jobs that a filter finds",
     {.takes = &wire::kJobsFilter, .gives = &wire::kBulkAnswer}},
    {kPost,
     At("/v1/queues/{queue}/jobs/resume"),
     ByHandler(kOperate, kSubmit),
     ResumeJobs,
     "resumes all jobs that a filter finds",
     {.takes = &wire::kJobsFilter, .gives = &wire::kBulkAnswer}},
    {kPost,
     At("/v1/queues/{queue}/jobs/retry"),
     ByHandler(kOperate, kSubmit),
     RetryJobs,
     "retries all jobs that a filter finds",
     {.takes = &wire::kJobsFilter, .gives = &wire::kBulkAnswer}},
    {kGet,
     At("/v1/queues/{queue}/jobs/{job}"),
     Needs(kRead),
     ShowJob,
     "shows a job, at once or when it has ended",
     {.query = &wire::kShowQuery, .gives = &wire::kJob},
     kWatched},
    {kPatch,
     At("/v1/queues/{queue}/jobs/{job}"),
     Either(kSubmit, kOperate),
     ChangeJob,
     "changes a job",
     {.takes = &wire::kJobChange, .gives = &wire::kJob}},
    {kPost,
     At("/v1/queues/{queue}/jobs/{job}/cancel"),
     Either(kSubmit, kOperate),
     CancelJob,
     "cancels a job",
     {.gives = &wire::kJob}},
    {kPost,
     At("/v1/queues/{queue}/jobs/{job}/pause"),
     Either(kSubmit, kOperate),
     PauseJob,
     "pauses a job",
     {.gives = &wire::kJob}},
    {kPost,
     At("/v1/queues/{queue}/jobs/{job}/resume"),
     Either(kSubmit, kOperate),
     ResumeJob,
     "resumes a job",
     {.gives = &wire::kJob}},
    {kPost,
     At("/v1/queues/{queue}/jobs/{job}/retry"),
     Either(kSubmit, kOperate),
     RetryJob,
     "runs a job's failed and skipped tasks again",
     {.gives = &wire::kRetried}},
    {kGet,
     At("/v1/queues/{queue}/jobs/{job}/explain"),
     Either(kRead, kSubmit),
     ExplainJob,
     "explains why a job does not run",
     {.query = &wire::kExplainQuery, .gives = &wire::kExplanation, .or_gives = &wire::kWorkerExplanation},
     kWatched},
    {kGet,
     At("/v1/queues/{queue}/jobs/{job}/picture"),
     Needs(kRead),
     ShowPicture,
     "counts a job's tasks by state over the range of their indices",
     {.query = &wire::kPictureQuery, .gives = &wire::kPicture},
     kWatched},
    {kGet,
     At("/v1/queues/{queue}/jobs/{job}/errors"),
     Needs(kRead),
     ListErrors,
     "groups the errors of a job's tasks",
     {.query = &wire::kErrorsQuery, .gives = &wire::kErrorsPage}},
    {kGet,
     At("/v1/queues/{queue}/jobs/{job}/events"),
     Needs(kRead),
     FollowJob,
     "streams a job's progress as events, until it ends",
     {.gives = &wire::kJob, .media = kEventsType}},
    {kGet,
     At("/v1/queues/{queue}/jobs/{job}/results"),
     Needs(kRead),
     ListResults,
     "lists results in order, at once or when there are some",
     {.query = &wire::kResultsQuery, .gives = &wire::kResultsPage}},
    {kGet,
     At("/v1/queues/{queue}/jobs/{job}/tasks"),
     Needs(kRead),
     ListTasks,
     "lists a job's tasks",
     {.query = &wire::kTasksQuery, .gives = &wire::kTasksPage},
     kWatched},
    {kGet,
     At("/v1/queues/{queue}/jobs/{job}/tasks/{index}"),
     Needs(kRead),
     ShowTask,
     "shows a task with its payload and result",
     {.gives = &wire::kTask}},
    {kGet,
     At("/v1/queues/{queue}/jobs/{job}/tasks/{index}/receipt"),
     Needs(kRead),
     ShowReceipt,
     "shows how a task's last start was decided",
     {.gives = &wire::kReceipt}},
    {kGet,
     At("/v1/queues/{queue}/wait"),
     Needs(kRead),
     nullptr,
     "WebSocket: tells which of many jobs have ended",
     {.takes = &wire::kWait, .gives = &wire::kWaitNews},
     kUsual,
     Accept<WaitConnection>},

    // Limits. One may be called `try`.
    {kGet,
     At("/v1/queues/{queue}/limits"),
     Needs(kRead),
     ListLimits,
     "lists the limits",
     {.query = &wire::kLimitsQuery, .gives = &wire::kLimits},
     kWatched},
    {kPost,
     At("/v1/queues/{queue}/limits"),
     Needs(kOperate),
     CreateLimit,
     "creates a limit under a new uuid",
     {.takes = &wire::kLimitSpec, .gives = &wire::kLimitAnswer, .creates = true}},
    {kPost,
     At("/v1/queues/{queue}/limits/try"),
     Needs(kRead),
     TryLimit,
     "shows what a limit would apply to",
     {.takes = &wire::kLimitQuestion, .gives = &wire::kLimitTry},
     kSharesPath},
    {kGet, At("/v1/queues/{queue}/limits/{uuid}"), Needs(kRead), ShowLimit, "shows a limit", {.gives = &wire::kLimit}},
    {kPut,
     At("/v1/queues/{queue}/limits/{uuid}"),
     Needs(kOperate),
     PutLimit,
     "creates or replaces a limit",
     {.takes = &wire::kLimitSpec, .gives = &wire::kLimitAnswer, .creates = true, .may_be_there = true}},
    {kDelete,
     At("/v1/queues/{queue}/limits/{uuid}"),
     Needs(kOperate),
     DeleteLimit,
     "deletes a limit",
     {.gives = &wire::kDeleted}},
    {kPost,
     At("/v1/queues/{queue}/limits/{uuid}/renew"),
     Needs(kOperate),
     RenewLimit,
     "renews a limit's lease",
     {.takes = &wire::kRenewal, .gives = &wire::kLimitAnswer, .takes_nothing = true}},
    {kGet,
     At("/v1/queues/{queue}/limits/{uuid}/history"),
     Needs(kRead),
     ShowLimitHistory,
     "shows a limit's level over time",
     {.gives = &wire::kLimitHistory}},

    // Workers. Reports are taken until the end.
    {kGet,
     At("/v1/queues/{queue}/workers"),
     Needs(kRead),
     ListWorkers,
     "lists the workers",
     {.query = &wire::kWorkersQuery, .gives = &wire::kWorkersPage},
     kWatched | kWhileStopping},
    {kPost,
     At("/v1/queues/{queue}/workers"),
     Needs(kWork),
     RegisterWorker,
     "registers a worker",
     {.takes = &wire::kHello, .gives = &wire::kWelcome, .creates = true},
     kWhileStopping},
    {kGet,
     At("/v1/queues/{queue}/workers/{worker}"),
     Needs(kRead),
     ShowWorker,
     "shows a worker and what it runs",
     {.gives = &wire::kWorker},
     kWatched | kWhileStopping},
    {kPatch,
     At("/v1/queues/{queue}/workers/{worker}"),
     ByHandler(kWork, kOperate),
     ChangeWorker,
     "changes a worker: by itself with its key, or by an operator",
     {.takes = &wire::kWorkerPatch, .gives = &wire::kWorker},
     kWhileStopping},
    {kDelete,
     At("/v1/queues/{queue}/workers/{worker}"),
     Needs(kWork),
     UnregisterWorker,
     "unregisters a worker",
     {.takes = &wire::kKeyBody, .gives = &wire::kNothing},
     kWhileStopping},
    {kPost,
     At("/v1/queues/{queue}/workers/{worker}/pull"),
     Needs(kWork),
     PullTasks,
     "reports what is done, and takes the next tasks",
     {.takes = &wire::kPull, .gives = &wire::kPullAnswer},
     kWhileStopping},
    {kPost,
     At("/v1/queues/{queue}/workers/{worker}/drain"),
     Needs(kOperate),
     DrainWorker,
     "gives a worker no further tasks",
     {.gives = &wire::kWorker},
     kWhileStopping},
    {kGet,
     At("/v1/queues/{queue}/workers/{worker}/next"),
     Needs(kRead),
     ShowOutlook,
     "shows what a worker would get next, and why not the others",
     {.query = &wire::kNextQuery, .gives = &wire::kWorkerNext},
     kWhileStopping},
    {kGet,
     At("/v1/queues/{queue}/work"),
     Needs(kWork),
     nullptr,
     "WebSocket: a worker takes tasks and reports",
     {.takes = &wire::kWorkerMessage, .gives = &wire::kWorkerNews, .first = &wire::kFirstMessage},
     kUsual,
     Accept<WorkerConnection>},
};

}  // namespace

Result<void> ScopeRule::Check(const Principal& principal) const {
  switch (kind) {
    case Kind::kScope:
      return RequireScope(principal, first);
    case Kind::kEither:
      return RequireEither(principal, first, second);
    case Kind::kNoToken:
    case Kind::kAnyToken:
    case Kind::kByHandler:
      break;
  }
  return {};
}

std::span<const Route> Routes() { return kRoutes; }

RouteMatch FindRoute(const Request& request) {
  RouteMatch match;
  match.of_queues = kQueues.MatchesBelow(request.parts);
  if (kQueue.MatchesBelow(request.parts)) match.queue = &request.parts[kQueue.IndexOf("queue")];
  for (const Route& route : kRoutes) {
    if (!route.path.Matches(request.parts)) continue;
    if (match.any_method == nullptr) match.any_method = &route;
    // What has a pattern of its own, such as `jobs/batch`, is none of a less specific one, such as `jobs/{job}`.
    if (match.any_method->path.text() != route.path.text() && !match.any_method->Is(kSharesPath)) break;
    if (route.method != request.method) continue;
    match.route = &route;
    break;
  }
  return match;
}

Result<const Route*> RequireRoute(const RouteMatch& match, const Request& request) {
  if (match.any_method == nullptr) return NoSuchPath(request);
  if (match.route == nullptr) return WrongMethod(request, AllowedMethods(*match.any_method));
  return match.route;
}

std::string AllowedMethods(const Route& route) {
  std::string out;
  for (const Route& other : kRoutes) {
    if (other.path.text() != route.path.text()) continue;
    if (!out.empty()) out.append(", ");
    out.append(MethodText(other.method));
  }
  return out;
}

std::string_view MethodText(Method method) {
  switch (method) {
    case kGet:
      return "GET";
    case kPost:
      return "POST";
    case kPut:
      return "PUT";
    case kPatch:
      return "PATCH";
    case kDelete:
      return "DELETE";
    case kOther:
      break;
  }
  return "";
}

bool BeginsRoute(std::string_view word) {
  return std::any_of(std::begin(kRoutes), std::end(kRoutes),
                     [word](const Route& route) { return route.path.word(0) == word; });
}

bool NeedsNoToken(const Request& request) {
  return std::any_of(std::begin(kRoutes), std::end(kRoutes), [&request](const Route& route) {
    return route.scope.kind == ScopeRule::Kind::kNoToken && route.path.text() == request.path;
  });
}

}  // namespace allot
