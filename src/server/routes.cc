#include "server/routes.h"

#include <utility>

#include "engine/errors.h"
#include "server/call.h"
#include "server/clock.h"
#include "server/context.h"
#include "server/live_views.h"
#include "server/request_json.h"
#include "server/serve_web.h"
#include "server/submit_stream.h"
#include "server/wait_connection.h"
#include "server/worker_connection.h"

namespace allot {
namespace {

constexpr std::string_view kNdjson = "application/x-ndjson";

// The queue of /v1/queues/Q/…, if the token may reach it.
Result<QueuePtr> FindQueue(ServerContext& server, const Request& request) {
  const std::string& name = request.parts[2];
  const Result<void> reachable = RequireQueue(*request.principal, name);
  if (!reachable.ok()) return reachable.error();
  QueuePtr queue = server.queues->Find(name);
  if (queue == nullptr) {
    return Error{Code::kUnknownQueue, "there is no queue " + name, "GET /v1/queues lists them"};
  }
  return queue;
}

// Where a job's id would be: what is done to many.
bool IsManyJobsVerb(std::string_view word) {
  return word == "cancel" || word == "pause" || word == "resume" || word == "retry";
}

bool IsQueuePath(const Request& request) {
  return request.parts.size() >= 3 && request.parts[0] == "v1" && request.parts[1] == "queues";
}

}  // namespace

Error NoSuchPath(const Request& request) {
  return {Code::kNotFound, "there is nothing at " + request.path.substr(0, 200), "see docs/protocol.md"};
}

Error WrongMethod(const Request& request, std::string_view allowed) {
  return {Code::kMethodNotAllowed, request.path.substr(0, 200) + " does not have this method",
          "it has " + std::string(allowed)};
}

Error Crowded() {
  return {Code::kUnavailable, "too many requests of this token or address wait for the queue's attention",
          "ask fewer at a time"};
}

Error Busy(AtOnce::Entry entry, std::string_view others) {
  return {Code::kUnavailable,
          entry == AtOnce::Entry::kOwn ? "this token or address does the same already, as often as it may at a time"
                                       : std::string(others),
          "try again in a few seconds"};
}

Error Stopping() { return {Code::kStopping, "the server is going down", "try again soon"}; }

Result<void> RequireJson(const Request& request) {
  if (request.body.empty() || request.media == kJsonType) return {};
  return Error{Code::kUnsupportedMedia,
               request.media.empty() ? "the body has no Content-Type"
                                     : "a body of the type " + request.media.substr(0, 100) + " is not taken here",
               "send Content-Type: application/json"};
}

Result<JobName> ParseJobName(std::string_view text) {
  if (text == "last") return JobName{};
  const std::optional<std::uint64_t> id = ParseId(text);
  if (!id)
    return Error{Code::kUnknownJob, "there is no job " + std::string(text.substr(0, 100)),
                 "ids are decimal numbers; `last` is the newest job"};
  return JobName{JobId{*id}};
}

Result<JobView> FindJob(Turn& turn, const Call& call, const JobName& name) {
  std::optional<JobId> id = name.id;
  if (!id) {
    id = turn.engine.LastJob(LastOf(call.principal()));
    if (!id) return Error{Code::kUnknownJob, "there is no job yet", ""};
  }
  Result<JobView> view = turn.engine.Describe(*id);
  turn.Tells(*id);
  if (!view.ok()) return UnknownJob(*id);
  const Result<void> seen = RequireSeen(call.principal(), *id, view->user);
  if (!seen.ok()) return seen.error();
  return view;
}

Result<JobView> FindOwnJob(Turn& turn, const Call& call, const JobName& name) {
  Result<JobView> view = FindJob(turn, call, name);
  if (!view.ok()) return view;
  const Result<void> may = RequireChange(call.principal(), view->id, view->user);
  if (!may.ok()) return may.error();
  return view;
}

SpecOptions OptionsOf(const Call& call) {
  SpecOptions options;
  options.now = ReadClock().wall;
  options.default_retention = call.server.config.default_retention;
  options.property_keys = call.queue->property_keys();
  return options;
}

std::optional<Error> RefuseNew(const Turn& turn) {
  if (turn.stopping) return Stopping();
  if (turn.disk_full) {
    return Error{Code::kDiskFull, "the disk is full: nothing new is taken",
                 "free some space; the server recovers by itself"};
  }
  return std::nullopt;
}

namespace {

void Route(ServerContext& server, Call call) {
  const std::vector<std::string>& parts = call.request.parts;
  if (IsWebPath(call.request)) return ServeWeb(std::move(call));
  if (parts.size() >= 2 && parts[0] == "v1" && parts[1] == "strategies") return ServeStrategies(std::move(call));
  if (parts[0] != "v1" || parts.size() < 2 || parts[1] != "queues") return ServeServer(std::move(call));
  const bool winding_up = parts.size() >= 4 && parts[3] == "workers";  // reports are still taken
  if (server.stopping.load(std::memory_order_relaxed) && !winding_up) return call.Fail(Stopping());
  const Result<void> json = RequireJson(call.request);
  if (!json.ok()) return call.Fail(json.error());
  const bool watch = call.request.events && LiveViews::Covers(call.request);
  if (parts.size() == 2) return watch ? server.views->Open(std::move(call)) : ServeQueues(std::move(call));
  Result<QueuePtr> queue = FindQueue(server, call.request);
  if (!queue.ok()) return call.Fail(queue.error());
  if (watch) return server.views->Open(std::move(call));
  call.queue = std::move(*queue);
  if (parts.size() >= 4 && parts[3] == "jobs") {
    if (parts.size() == 5 && IsManyJobsVerb(parts[4])) return ServeManyJobs(std::move(call));
    if (parts.size() == 6 && (parts[5] == "picture" || parts[5] == "errors")) return ServeJobViews(std::move(call));
    if (parts.size() == 8 && parts[5] == "tasks" && parts[7] == "receipt") return ServeReceipts(std::move(call));
    if (parts.size() >= 6 && (parts[5] == "tasks" || parts[5] == "results" || parts[5] == "events"))
      return ServeResults(std::move(call));
    if (parts.size() == 6 && parts[5] == "explain") return ServeExplain(std::move(call));
    return ServeJobs(std::move(call));
  }
  if (parts.size() == 4 && (parts[3] == "overview" || parts[3] == "history")) return ServeOverview(std::move(call));
  if (parts.size() == 4 && parts[3] == "explain") return ServeExplain(std::move(call));
  if (parts.size() == 5 && parts[3] == "strategy" && parts[4] == "try") return ServeTry(std::move(call));
  if (parts.size() >= 4 && parts[3] == "limits") return ServeLimits(std::move(call));
  if (parts.size() == 4 && parts[3] == "demand") return ServeDemand(std::move(call));
  if (parts.size() == 6 && parts[3] == "workers" && parts[5] == "next") return ServeOutlook(std::move(call));
  if (parts.size() == 4 && parts[3] == "users") return ServeUsers(std::move(call));
  if (parts.size() == 4 && parts[3] == "receipts") return ServeReceipts(std::move(call));
  if (parts.size() >= 4 && parts[3] == "workers") return ServeWorkers(std::move(call));
  if (parts.size() == 4 && (parts[3] == "work" || parts[3] == "wait")) {
    return call.Fail({Code::kBadRequest, "this is a WebSocket", "connect to it with an Upgrade"});
  }
  ServeQueues(std::move(call));
}

}  // namespace

void Serve(ServerContext& server, Request request, Reply reply) {
  // Thrown out of, it loses the reply on the way: the answer is `unavailable`.
  server.exceptions.Survives("a request", [&] {
    Route(server, Call{server, std::move(request), std::move(reply), nullptr});
  });
}

Result<std::unique_ptr<BodySink>> OpenSink(ServerContext& server, std::shared_ptr<BodySource> source,
                                           const Request& request) {
  if (request.method != Method::kPost || request.media != kNdjson || !IsQueuePath(request) ||
      request.parts.size() != 4 || request.parts[3] != "jobs") {
    return std::unique_ptr<BodySink>();
  }
  if (server.stopping.load(std::memory_order_relaxed)) return Stopping();
  const Result<void> may = RequireScope(*request.principal, Scope::kSubmit);
  if (!may.ok()) return may.error();
  Result<QueuePtr> queue = FindQueue(server, request);
  if (!queue.ok()) return queue.error();
  return std::unique_ptr<BodySink>(
      SubmitStream::Open(server, std::move(*queue), request.principal, request.peer, std::move(source)));
}

Result<std::shared_ptr<WsConnection>> OpenWebSocket(ServerContext& server, NetThread& net, const Request& request) {
  if (!IsQueuePath(request) || request.parts.size() != 4 ||
      (request.parts[3] != "work" && request.parts[3] != "wait")) {
    return NoSuchPath(request);
  }
  if (request.method != Method::kGet) return WrongMethod(request, "GET");
  if (server.stopping.load(std::memory_order_relaxed)) return Stopping();
  const bool work = request.parts[3] == "work";
  const Result<void> may = RequireScope(*request.principal, work ? Scope::kWork : Scope::kRead);
  if (!may.ok()) return may.error();
  Result<QueuePtr> queue = FindQueue(server, request);
  if (!queue.ok()) return queue.error();
  if (work) {
    return std::shared_ptr<WsConnection>(
        std::make_shared<WorkerConnection>(net, server, std::move(*queue), request.principal, request.peer));
  }
  return std::shared_ptr<WsConnection>(
      std::make_shared<WaitConnection>(net, server, std::move(*queue), request.principal, request.peer));
}

}  // namespace allot
