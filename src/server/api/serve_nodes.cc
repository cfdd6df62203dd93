// SPDX-License-Identifier: Apache-2.0
// /v1/nodes…, and where a queue is: several servers on one database.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "server/flow/places.h"
#include "server/ops/access.h"
#include "server/ops/log.h"
#include "server/peers/peers.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"
#include "wire/nodes.h"
#include "wire/writer.h"

namespace allot {
namespace {

Error NoCluster() {
  return {Code::kBadRequest, "this server is no node of a cluster", "see `advertise`: several servers on one database"};
}

void AppendNode(const Call& call, const cluster::Picture& picture, const cluster::NodeRow& node, JsonWriter& json) {
  wire::Writer<wire::kNode> w(json);
  w.Text("name", node.name);
  w.Text("address", node.address);
  w.Text("version", node.version);
  w.Text("state", node.dead ? "dead" : node.draining ? "draining" : "alive");
  w.Bool("self", node.incarnation == picture.incarnation);
  w.Time("started_at_ms", node.started);
  w.Value("queues").BeginArray();
  for (const cluster::QueueRow& queue : picture.queues) {
    const cluster::NodeRow* const owner = picture.OwnerOf(queue);
    if (owner == nullptr || owner->incarnation != node.incarnation) continue;
    if (!RequireQueue(call.principal(), queue.name).ok()) continue;
    wire::Writer<wire::kNodeQueue> q(json);
    q.Text("name", queue.name);
    q.Time("since_at_ms", queue.since);
    if (!queue.pinned.empty()) q.Text("pinned", queue.pinned);
  }
  json.EndArray();
}

// It is there, and alive.
Result<void> RequireNode(const cluster::Picture& picture, const std::string& name) {
  for (const cluster::NodeRow& node : picture.nodes) {
    if (node.name == name && !node.dead) return {};
  }
  return Error{Code::kBadValue, "no node " + name + " is alive", "`allot nodes` lists them"};
}

}  // namespace

Flow ListNodes(Call call) {
  CO_TRY_OK(ParseNoQuery(call.request.query));
  const cluster::PicturePtr picture =
      call.server.peers == nullptr ? std::make_shared<cluster::Picture>() : call.server.peers->node().picture();
  std::string out;
  {
    JsonWriter json(out);
    wire::Writer<wire::kNodes> w(json);
    w.Value("nodes").BeginArray();
    for (const cluster::NodeRow& node : picture->nodes) AppendNode(call, *picture, node, json);
    json.EndArray();
    w.Value("unowned").BeginArray();
    for (const cluster::QueueRow& queue : picture->queues) {
      if (picture->OwnerOf(queue) == nullptr && RequireQueue(call.principal(), queue.name).ok())
        json.String(queue.name);
    }
    json.EndArray();
  }
  co_return Answer(200, std::move(out));
}

namespace {

Flow SetDraining(Call call, bool draining) {
  CO_TRY_OK(ParseEmptyBody(call.request.body));
  if (call.server.peers == nullptr) co_return NoCluster();
  const std::string name = call.part("node");
  cluster::Node& node = call.server.peers->node();
  CO_TRY_OK(RequireNode(*node.picture(), name));
  co_await OnLane(call.server.slow);
  CO_TRY(const bool done, node.table().SetDraining(name, draining));
  node.Hurry();
  co_await OnNetwork(call);
  if (!done) co_return Error{Code::kBadValue, "no node " + name + " is alive", "`allot nodes` lists them"};
  Audit(call.principal(), draining ? "node.drain" : "node.resume", name);
  std::string out;
  {
    JsonWriter json(out);
    wire::Writer<wire::kDrained>(json).Text("draining", draining ? name : "");
  }
  co_return Answer(200, std::move(out));
}

}  // namespace

Flow DrainNode(Call call) { return SetDraining(std::move(call), true); }
Flow ResumeNode(Call call) { return SetDraining(std::move(call), false); }

Flow MoveQueue(Call call) {
  CO_TRY(const std::string to, ParseMove(call.request.body));
  if (call.server.peers == nullptr) co_return NoCluster();
  cluster::Node& node = call.server.peers->node();
  if (!to.empty()) {
    CO_TRY_OK(RequireNode(*node.picture(), to));
  }
  const std::string name = call.queue->name();
  call.queue = nullptr;
  co_await OnLane(call.server.slow);
  CO_TRY(const bool done, node.table().Pin(name, to));
  node.Hurry();
  co_await OnNetwork(call);
  if (!done) co_return Error{Code::kUnknownQueue, "there is no queue " + name, "GET /v1/queues lists them"};
  Audit(call.principal(), "queue.move", name, to);
  std::string out;
  {
    JsonWriter json(out);
    wire::Writer<wire::kMoved> w(json);
    w.Text("queue", name);
    w.Text("to", to);
  }
  co_return Answer(200, std::move(out));
}

}  // namespace allot
