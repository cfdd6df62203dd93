// SPDX-License-Identifier: Apache-2.0
// From a request to its route: what is checked for all of them, in this order, and nothing of single ones.
#include <utility>

#include "base/try.h"
#include "server/api/route_table.h"
#include "server/api/serve_web.h"
#include "server/live/live_views.h"
#include "server/net/call.h"
#include "server/net/context.h"
#include "server/net/serve.h"
#include "server/ops/access.h"
#include "server/peers/peers.h"

namespace allot {
namespace {

constexpr std::string_view kNdjson = "application/x-ndjson";

bool IsStopping(const ServerContext& server) { return server.stopping.load(std::memory_order_relaxed); }

// Is it up to another node of the cluster, or to come here?
bool IsElsewhere(const ServerContext& server, const std::string& queue) {
  return server.peers != nullptr && !IsStopping(server) && server.queues->Find(queue) == nullptr;
}

// The queue of that name, if the token may reach it.
Result<QueuePtr> FindQueue(ServerContext& server, const Principal& principal, const std::string& name) {
  TRY_OK(RequireQueue(principal, name));
  QueuePtr queue = server.queues->Find(name);
  if (queue == nullptr && server.peers != nullptr) return Stopping();  // it has gone to another node
  if (queue == nullptr) {
    return Error{Code::kUnknownQueue, "there is no queue " + name, "GET /v1/queues lists them"};
  }
  return queue;
}

// The same where a connection is taken over, or a body as it comes in: there the scope comes first.
Result<QueuePtr> AdmitToQueue(ServerContext& server, const RouteMatch& match, const Request& request) {
  if (IsStopping(server)) return Stopping();
  TRY_OK(match.route->scope.Check(*request.principal));
  return FindQueue(server, *request.principal, *match.queue);
}

void ServeCall(ServerContext& server, Call call) {
  if (IsWebPath(call.request)) return ServeWeb(std::move(call));
  const RouteMatch match = FindRoute(call.request);
  QueuePtr queue;
  if (match.of_queues) {
    const bool served = match.any_method != nullptr && match.any_method->Is(Route::kWhileStopping);
    if (IsStopping(server) && !served) return call.Fail(Stopping());
    const Result<void> json = RequireJson(call.request);
    if (!json.ok()) return call.Fail(json.error());
  }
  if (match.queue != nullptr) {
    if (IsElsewhere(server, *match.queue)) {
      const Result<void> reach = RequireQueue(call.principal(), *match.queue);
      if (!reach.ok()) return call.Fail(reach.error());
      const std::string name = *match.queue;
      return server.peers->Forward(std::move(call), name);
    }
    Result<QueuePtr> found = FindQueue(server, call.principal(), *match.queue);
    if (!found.ok()) return call.Fail(found.error());
    queue = std::move(*found);
  }
  if (match.any_method != nullptr && match.any_method->upgrade != nullptr) {
    return call.Fail({Code::kBadRequest, "this is a WebSocket", "connect to it with an Upgrade"});
  }
  const Result<const Route*> route = RequireRoute(match, call.request);
  if (!route.ok()) return call.Fail(route.error());
  const Result<void> may = (*route)->scope.Check(call.principal());
  if (!may.ok()) return call.Fail(may.error());
  if (call.request.events && (*route)->Is(Route::kWatched)) return server.views->Open(std::move(call));
  call.queue = std::move(queue);
  call.path = &(*route)->path;
  (*route)->serve(std::move(call)).Start();
}

}  // namespace

void Serve(ServerContext& server, Request request, Reply reply) {
  // Thrown out of, it loses the reply on the way: the answer is `unavailable`.
  server.exceptions.Survives("a request", [&] {
    ServeCall(server, Call{server, std::move(request), std::move(reply), nullptr});
  });
}

Result<std::unique_ptr<BodySink>> OpenSink(ServerContext& server, std::shared_ptr<BodySource> source,
                                           const Request& request) {
  if (request.media != kNdjson) return std::unique_ptr<BodySink>();
  const RouteMatch match = FindRoute(request);
  if (match.route == nullptr || match.route->take_lines == nullptr) return std::unique_ptr<BodySink>();
  if (IsElsewhere(server, *match.queue)) {
    TRY_OK(RequireQueue(*request.principal, *match.queue));
    return server.peers->OpenSink(std::move(source), request, *match.queue);
  }
  Result<QueuePtr> queue = AdmitToQueue(server, match, request);
  if (!queue.ok()) return queue.error();
  return match.route->take_lines(server, std::move(source), std::move(*queue), request);
}

Result<std::shared_ptr<UpgradeTarget>> OpenWebSocket(ServerContext& server, NetThread& net, const Request& request) {
  const RouteMatch match = FindRoute(request);
  if (match.any_method == nullptr || match.any_method->upgrade == nullptr) return NoSuchPath(request);
  const Result<const Route*> route = RequireRoute(match, request);
  if (!route.ok()) return route.error();
  if (IsElsewhere(server, *match.queue)) {
    TRY_OK(RequireQueue(*request.principal, *match.queue));
    return server.peers->OpenWebSocket(net, request, *match.queue);
  }
  Result<QueuePtr> queue = AdmitToQueue(server, match, request);
  if (!queue.ok()) return queue.error();
  return std::shared_ptr<UpgradeTarget>((*route)->upgrade(server, net, std::move(*queue), request));
}

}  // namespace allot
