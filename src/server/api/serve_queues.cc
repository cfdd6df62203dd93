// /v1/queues and /v1/queues/Q…: the queues themselves.
#include <memory>
#include <utility>
#include <vector>

#include "base/json.h"
#include "server/api/queue_view.h"
#include "server/net/call.h"
#include "server/ops/access.h"
#include "server/ops/log.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"
#include "wire/queues.h"
#include "wire/server.h"
#include "wire/writer.h"

namespace allot {
namespace {

void AnswerQueue(Round& round, Call call, int status) {
  Return(round, std::move(call), [stats = round.engine.looks().Stats(), status](Call done) {
    std::string out;
    const Result<void> appended = AppendQueueView(done.principal(), *done.queue, stats, out);
    if (!appended.ok()) return done.Fail(appended.error());
    done.reply.Send(status, out);
  });
}

void Show(Call call, int status) {
  AskEngine(std::move(call), [status](Round& round, Call c) { AnswerQueue(round, std::move(c), status); });
}

// Collects the answers of several engines, on one network thread.
struct Gathering {
  explicit Gathering(Call c) : call(std::move(c)) {}
  Call call;
  std::vector<QueuePtr> queues;
  std::vector<std::optional<EngineStats>> stats;
  std::size_t missing = 0;

  void Finish() {
    std::string out;
    {
      JsonWriter json(out);
      wire::Writer<wire::kQueues> w(json);
      w.Value("queues").BeginArray();
      for (std::size_t i = 0; i < queues.size(); ++i) {
        if (!stats[i]) continue;  // deleted meanwhile
        const Result<void> appended = AppendQueueView(call.principal(), *queues[i], *stats[i], json.Raw({}).out());
        if (!appended.ok()) return call.Fail(appended.error());
      }
      json.EndArray();
    }
    call.reply.Send(200, out);
  }
};

}  // namespace

void ListQueues(Call call) {
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  NetThread& net = call.reply.net();
  const AskerId asker = call.asker();
  const auto gathering = std::make_shared<Gathering>(std::move(call));
  for (const QueuePtr& queue : gathering->call.server.queues->All()) {
    if (RequireQueue(gathering->call.principal(), queue->name()).ok()) gathering->queues.push_back(queue);
  }
  gathering->stats.resize(gathering->queues.size());
  gathering->missing = gathering->queues.size();
  if (gathering->missing == 0) return gathering->Finish();
  for (std::size_t i = 0; i < gathering->queues.size(); ++i) {
    net.Tell(gathering->queues[i], Command::Look([gathering, &net, i](Round& round) {
                                     round.Send(net, [gathering, i, stats = round.engine.looks().Stats()] {
                                       gathering->stats[i] = stats;
                                       if (--gathering->missing == 0) gathering->Finish();
                                     });
                                   }).By(asker));
  }
}

void CreateQueue(Call call) {
  Result<QueueCreate> create = ParseQueueCreate(call.request.body, &call.server.config.strategies);
  if (!create.ok()) return call.Fail(create.error());
  const Result<void> reachable = RequireQueue(call.principal(), create->name);
  if (!reachable.ok()) return call.Fail(reachable.error());
  ServerContext& server = call.server;
  server.slow.Post([held = std::make_shared<Call>(std::move(call)), create = std::move(*create)] {
    Result<QueuePtr> queue = held->server.queues->Create(create.name, create.settings);
    held->reply.net().Post(Closure([held, queue = std::move(queue)]() mutable {
      if (!queue.ok()) return held->Fail(queue.error());
      Audit(held->principal(), "queue.create", (*queue)->name(), held->request.body);
      held->queue = std::move(*queue);
      Show(std::move(*held), 201);
    }));
  });
}

void ShowQueue(Call call) { Show(std::move(call), 200); }

void ChangeQueue(Call call) {
  const Result<QueueSettingsChange> change = ParseQueueChange(call.request.body, &call.server.config.strategies);
  if (!change.ok()) return call.Fail(change.error());
  const QueuePtr queue = call.queue;
  NetThread& net = call.reply.net();
  queue->ChangeSettings(*change, [call = std::move(call), &net](Result<void> changed) mutable {
    net.Post(Closure([c = std::move(call), changed = std::move(changed)]() mutable {
      if (!changed.ok()) return c.Fail(changed.error());
      Audit(c.principal(), "queue.set", c.queue->name(), c.request.body);
      Show(std::move(c), 200);
    }));
  });
}

namespace {

void SetPaused(Call call, bool pause) {
  const Result<void> empty = ParseEmptyBody(call.request.body);
  if (!empty.ok()) return call.Fail(empty.error());
  OnEngine(std::move(call), [pause](Round& round, Call c) {
    if (pause)
      round.engine.queue().Pause(round.now);
    else
      round.engine.queue().Resume(round.now);
    AuditLater(round, c, pause ? "queue.pause" : "queue.resume", c.queue->name());
    AnswerQueue(round, std::move(c), 200);
  });
}

}  // namespace

void PauseQueue(Call call) { SetPaused(std::move(call), true); }
void ResumeQueue(Call call) { SetPaused(std::move(call), false); }

void DeleteQueue(Call call) {
  const Result<bool> force = ParseForceQuery(call.request.query);
  if (!force.ok()) return call.Fail(force.error());
  if (call.queue->name() == "default") {
    return call.Fail({Code::kBadRequest, "the queue default cannot be deleted", ""});
  }
  OnEngine(std::move(call), [force = *force](Round& round, Call c) {
    const EngineStats stats = round.engine.looks().Stats();
    const std::uint64_t live = stats.jobs_scheduled + stats.jobs_active + stats.jobs_paused;
    if (live > 0 && !force) {
      return AnswerError(round, std::move(c),
                         {Code::kQueueNotEmpty, "it has " + std::to_string(live) + " jobs that have not ended",
                          "delete it with force=true to lose them"});
    }
    Return(round, std::move(c), [](Call there) {
      ServerContext& server = there.server;
      server.slow.Post([held = std::make_shared<Call>(std::move(there))] {
        const std::string name = held->queue->name();
        held->queue = nullptr;
        const Result<void> deleted = held->server.queues->Delete(name);
        held->reply.net().Post(Closure([held, name, deleted] {
          if (!deleted.ok()) return held->Fail(deleted.error());
          Audit(held->principal(), "queue.delete", name);
          std::string out;
          JsonWriter json(out);
          wire::Writer<wire::kDeleted>(json).Text("deleted", name);
          held->reply.Send(200, out);
        }));
      });
    });
  });
}

}  // namespace allot
