// SPDX-License-Identifier: Apache-2.0
// /v1/queues and /v1/queues/Q…: the queues themselves.
#include <simdjson.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "server/api/queue_view.h"
#include "server/flow/each_queue.h"
#include "server/flow/places.h"
#include "server/ops/access.h"
#include "server/ops/log.h"
#include "server/peers/peers.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"
#include "wire/queues.h"
#include "wire/server.h"
#include "wire/writer.h"

namespace allot {
namespace {

Result<Answer> QueueAnswer(const Call& call, const EngineStats& stats, int status) {
  std::string out;
  TRY_OK(AppendQueueView(call.principal(), *call.queue, stats, out));
  return Answer(status, std::move(out));
}

// The store thread changes them; then the network thread.
class SettingsHop final : public HopAwaiter {
 public:
  explicit SettingsHop(const QueueSettingsChange& change) : change_(change) {}
  Result<void> await_resume() { return std::move(changed_); }
  void Leave(FlowPtr flow) override {
    const QueuePtr queue = flow->call().queue;
    flow->Changes();
    queue->ChangeSettings(change_, [this, flow = std::move(flow)](Result<void> changed) mutable {
      changed_ = std::move(changed);
      NetThread& home = flow->home();
      home.Post(FlowState::ToHome(std::move(flow)));
    });
  }

 private:
  const QueueSettingsChange& change_;
  Result<void> changed_;
};

// What other nodes of the cluster say to the same request; then the network thread.
class OthersHop final : public HopAwaiter {
 public:
  std::vector<Peers::NodeAnswer> await_resume() { return std::move(answers_); }
  void Leave(FlowPtr flow) override {
    Call& call = flow->call();
    NetThread& home = flow->home();
    const Request request = call.request;
    call.server.peers->AskAll(home, request,
                              [this, &home, flow = std::move(flow)](std::vector<Peers::NodeAnswer> answers) mutable {
                                answers_ = std::move(answers);
                                home.Post(FlowState::ToHome(std::move(flow)));
                              });
  }

 private:
  std::vector<Peers::NodeAnswer> answers_;
};

// Each queue of such an answer, by name.
void AddQueues(const std::string& body, std::map<std::string, std::string>& queues) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array list;
  if (parser.parse(body).get(root) != simdjson::SUCCESS || root["queues"].get(list) != simdjson::SUCCESS) return;
  for (const simdjson::dom::element queue : list) {
    std::string_view name;
    if (queue["name"].get(name) == simdjson::SUCCESS) queues[std::string(name)] = simdjson::minify(queue);
  }
}

}  // namespace

Flow ListQueues(Call call) {
  CO_TRY_OK(ParseNoQuery(call.request.query));
  std::map<std::string, std::string> listed;
  std::vector<std::string> missing;
  if (call.server.peers != nullptr && call.request.hops == 0) {
    std::vector<Peers::NodeAnswer> answers = co_await OthersHop();
    for (const Peers::NodeAnswer& answer : answers) {
      if (answer.body.empty()) missing.push_back(answer.node);
      AddQueues(answer.body, listed);
    }
  }
  std::vector<QueuePtr> queues = call.server.queues->All();
  std::erase_if(queues, [&](const QueuePtr& queue) { return !RequireQueue(call.principal(), queue->name()).ok(); });
  std::vector<std::optional<EngineStats>> stats(queues.size());
  auto visit = [&stats](Round& round, std::size_t i) { stats[i] = round.engine.looks().Stats(); };
  co_await LookAtEach(call, queues, visit);
  std::string out;
  {
    JsonWriter json(out);
    wire::Writer<wire::kQueues> w(json);
    w.Value("queues").BeginArray();
    for (std::size_t i = 0; i < queues.size(); ++i) {
      if (!stats[i] || !queues[i]->MayAnswer()) continue;  // deleted meanwhile, or another node's
      std::string& text = listed[queues[i]->name()];
      text.clear();
      CO_TRY_OK(AppendQueueView(call.principal(), *queues[i], *stats[i], text));
    }
    for (const auto& [name, text] : listed) json.Raw(text);
    json.EndArray();
    if (!missing.empty()) {
      w.Value("missing").BeginArray();
      for (const std::string& node : missing) json.String(node);
      json.EndArray();
    }
  }
  co_return Answer(200, std::move(out));
}

Flow CreateQueue(Call call) {
  CO_TRY(const QueueCreate create, ParseQueueCreate(call.request.body, &call.server.config.strategies));
  CO_TRY_OK(RequireQueue(call.principal(), create.name));
  co_await OnLane(call.server.slow);
  CO_TRY(QueuePtr queue, call.server.queues->Create(create.name, create.settings));
  co_await OnNetwork(call);
  Audit(call.principal(), "queue.create", queue->name(), call.request.body);
  call.queue = std::move(queue);
  RoundHere round = co_await Look(call);
  const EngineStats stats = round->engine.looks().Stats();
  co_await AfterCommit(round);
  co_return QueueAnswer(call, stats, 201);
}

Flow ShowQueue(Call call) {
  RoundHere round = co_await Look(call);
  const EngineStats stats = round->engine.looks().Stats();
  co_await AfterCommit(round);
  co_return QueueAnswer(call, stats, 200);
}

Flow ChangeQueue(Call call) {
  CO_TRY(const QueueSettingsChange change, ParseQueueChange(call.request.body, &call.server.config.strategies));
  SettingsHop changed(change);
  CO_TRY_OK(co_await changed);
  Audit(call.principal(), "queue.set", call.queue->name(), call.request.body);
  RoundHere round = co_await Look(call);
  const EngineStats stats = round->engine.looks().Stats();
  co_await AfterCommit(round);
  co_return QueueAnswer(call, stats, 200);
}

namespace {

Flow SetPaused(Call call, bool pause) {
  CO_TRY_OK(ParseEmptyBody(call.request.body));
  RoundHere round = co_await OnEngine(call);
  if (pause)
    round->engine.queue().Pause(round->now);
  else
    round->engine.queue().Resume(round->now);
  const EngineStats stats = round->engine.looks().Stats();
  co_await AfterCommit(round);
  Audit(call.principal(), pause ? "queue.pause" : "queue.resume", call.queue->name());
  co_return QueueAnswer(call, stats, 200);
}

}  // namespace

Flow PauseQueue(Call call) { return SetPaused(std::move(call), true); }
Flow ResumeQueue(Call call) { return SetPaused(std::move(call), false); }

Flow DeleteQueue(Call call) {
  CO_TRY(const bool force, ParseForceQuery(call.request.query));
  if (call.queue->name() == "default") {
    co_return Error{Code::kBadRequest, "the queue default cannot be deleted", ""};
  }
  RoundHere round = co_await OnEngine(call);
  const EngineStats stats = round->engine.looks().Stats();
  const std::uint64_t live = stats.jobs_scheduled + stats.jobs_active + stats.jobs_paused;
  if (live > 0 && !force) {
    co_return Error{Code::kQueueNotEmpty, "it has " + std::to_string(live) + " jobs that have not ended",
                    "delete it with force=true to lose them"};
  }
  co_await AfterCommit(round);
  co_await OnLane(call.server.slow);
  const std::string name = call.queue->name();
  call.queue = nullptr;
  CO_TRY_OK(call.server.queues->Delete(name));
  co_await OnNetwork(call);
  Audit(call.principal(), "queue.delete", name);
  std::string out;
  {
    JsonWriter json(out);
    wire::Writer<wire::kDeleted>(json).Text("deleted", name);
  }
  co_return Answer(200, std::move(out));
}

}  // namespace allot
