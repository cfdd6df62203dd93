// SPDX-License-Identifier: Apache-2.0
// What is of no queue: /livez, /readyz, /metrics, /v1/server.
#include <utility>
#include <vector>

#include "base/json.h"
#include "server/flow/each_queue.h"
#include "server/ops/clock.h"
#include "server/peers/peers.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_query.h"
#include "wire/server.h"
#include "wire/writer.h"

namespace allot {
namespace {

constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

void UpdateCluster(ServerContext& server) {
  const cluster::Node::Stats node = server.peers->node().stats();
  const Peers::Stats peers = server.peers->stats();
  Metrics::Cluster cluster;
  cluster.taken = node.taken;
  cluster.handed_over = node.handed_over;
  cluster.deaths = node.deaths;
  cluster.missed = node.missed;
  cluster.beat_age = node.beat_age;
  cluster.round_time = node.round_time;
  cluster.forwarded = peers.forwarded;
  cluster.gave_up = peers.gave_up;
  cluster.parked = peers.parked;
  cluster.owned = server.queues->size();
  for (const cluster::NodeRow& row : server.peers->node().picture()->nodes) cluster.nodes += row.dead ? 0 : 1;
  server.metrics.Update(cluster);
}

}  // namespace

Flow ShowAlive(Call /*call*/) { co_return Answer(200, "{\"status\":\"ok\"}"); }

Flow ShowReady(Call call) {
  if (call.server.stopping.load(std::memory_order_relaxed)) co_return Stopping();
  if (call.server.peers != nullptr && !call.server.peers->node().lease().Valid()) {
    co_return Error{Code::kUnavailable, "the database does not take the beats of this node",
                    "is it up? The server recovers by itself"};
  }
  for (const QueuePtr& queue : call.server.queues->All()) {
    if (const Stall stall = queue->stall(); stall != Stall::kNone) {
      // Not 507, the code's own status: whoever asks here looks at the status alone, and 503 means "not now" to all.
      std::string body;
      Error error = ErrorOf(stall);
      error.message =
          (stall == Stall::kDiskFull ? "no space for the queue " : "no database for the queue ") + queue->name();
      AppendError(error, body);
      co_return Answer(503, std::move(body));
    }
  }
  co_return Answer(200, "{\"status\":\"ok\"}");
}

Flow ShowMetrics(Call call) {
  if (call.principal().queue || call.principal().user) {
    co_return Error{Code::kForbidden, "metrics speak of all queues, this token only of its own",
                    "use a token that is fixed to neither queue nor user"};
  }
  std::vector<QueuePtr> queues = call.server.queues->All();
  std::erase_if(queues, [](const QueuePtr& queue) { return queue->metrics() == nullptr; });
  // All of it on the engine thread: that one has ended before a queue's metrics go.
  auto visit = [&queues](Round& round, std::size_t i) {
    QueueRuntime& queue = *queues[i];
    queue.PublishSteps();
    queue.metrics()->Update(round.engine.looks().Stats(), round.engine.looks().Reasons(), round.now.wall);
    const Result<Store::Usage> usage = queue.store().ReadUsage();
    if (usage.ok())
      queue.metrics()->Update(*usage, round.stall == Stall::kDiskFull, round.stall == Stall::kUnavailable);
  };
  co_await BrowseEach(call, queues, visit);
  if (call.server.peers != nullptr) UpdateCluster(call.server);
  co_return Answer(200, call.server.metrics.Render(), kMetricsType);
}

namespace {

void AppendPrincipal(const Principal& you, bool tokens, JsonWriter& json) {
  wire::Writer<wire::kYou> w(json);
  w.Bool("tokens", tokens);
  w.Text("name", you.name);
  w.Text("user", you.user);
  w.Text("queue", you.queue);
  w.Value("scopes").BeginArray();
  for (const Scope scope : kAllScopes) {
    if (you.Has(scope)) json.String(ScopeText(scope));
  }
  json.EndArray();
}

void AppendServer(const Call& call, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kServerInfo> w(json);
  w.Text("name", "allotter");
  w.Text("version", Version());
  w.Int("protocol", kProtocol);
  w.Int("started_at_ms", ToMillis(call.server.started_at));
  w.Int("now_at_ms", ToMillis(ReadClock().wall));
  w.Count("queues", call.server.queues->size());
  AppendPrincipal(call.principal(), call.server.tokens->required(), w.Value("you"));
  AppendFeatures(w.Value("features"));
}

}  // namespace

Flow ShowServer(Call call) {
  std::string out;
  AppendServer(call, out);
  co_return Answer(200, std::move(out));
}

}  // namespace allot
