// /v1/queues/Q/workers…: workers over plain HTTP, and a look at all of them.
#include <utility>
#include <vector>

#include "base/bounds.h"
#include "server/net/call.h"
#include "server/ops/access.h"
#include "server/ops/log.h"
#include "server/queue/worker_table.h"
#include "server/wire/grants_json.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"

namespace allot {
namespace {

bool IsBalanced(const Call& call) { return call.queue->dispatch() == DispatchMode::kBalanced; }

// Its part {worker}.
Result<WorkerId> WorkerOf(const Call& call) {
  const std::string& text = call.part("worker");
  const std::optional<std::uint64_t> id = ParseId(text);
  if (!id) return Error{Code::kUnknownWorker, "there is no worker " + text.substr(0, 100), ""};
  return WorkerId{*id};
}

}  // namespace

void ListWorkers(Call call) {
  const Result<WorkersQuery> query = ParseWorkersQuery(call.request.query);
  if (!query.ok()) return call.Fail(query.error());
  BrowseEngine(std::move(call), [query = *query](Round& round, Call c) {
    WorkerPage page = round.engine.looks().Workers(query.after, query.limit);
    AnswerApart(round, std::move(c), [page = std::move(page)](const Call& done, std::string& out) {
      const WorkerDetail detail{.balanced = IsBalanced(done)};
      out.append("{\"workers\":[");
      for (const WorkerView& worker : page.workers) {
        if (out.back() != '[') out.push_back(',');
        AppendWorker(worker, detail, out);
      }
      out.append("],\"next\":");
      if (page.more)
        out.append("\"" + ToText(page.workers.back().id) + "\"}");
      else
        out.append("null}");
    });
  });
}

namespace {

void AnswerWorker(Round& round, Call call, WorkerId worker) {
  Result<WorkerView> view = round.engine.looks().DescribeWorker(worker, call.principal().user);
  if (!view.ok()) return AnswerError(round, std::move(call), view.error());
  Answer(round, std::move(call), 200, [view = std::move(*view)](Call& done, std::string& out) {
    // Its queue names jobs and users: for those alone who may list the jobs.
    const bool queue = done.principal().Has(Scope::kRead);
    AppendWorker(view, {.balanced = IsBalanced(done), .tasks = true, .queue = queue}, out);
  });
}

}  // namespace

void ShowWorker(Call call) {
  const Result<WorkerId> worker = WorkerOf(call);
  if (!worker.ok()) return call.Fail(worker.error());
  AskEngine(std::move(call), [worker = *worker](Round& round, Call c) { AnswerWorker(round, std::move(c), worker); });
}

void RegisterWorker(Call call) {
  if (call.server.stopping.load(std::memory_order_relaxed)) return call.Fail(Stopping());
  Result<Hello> hello = ParseHello(call.request.body, false, call.queue->vocabulary());
  if (!hello.ok()) return call.Fail(hello.error());
  OnEngine(std::move(call), [hello = std::move(*hello)](Round& round, Call c) {
    WorkerTable::Origin origin;
    origin.address = c.request.peer;
    origin.user = c.principal().user.value_or("");
    origin.token = c.principal().id;
    Result<RegisterAnswer> answer = round.workers.Register(round, hello, origin, nullptr);
    if (!answer.ok()) return AnswerError(round, std::move(c), answer.error());
    Answer(round, std::move(c), 201, [answer = std::move(*answer)](Call& done, std::string& out) {
      AppendWelcome(answer, done.server.config.heartbeat, out);
    });
  });
}

namespace {

// The one answer to a pull.
class PullLink final : public WorkerLink {
 public:
  PullLink(Call call, WorkerId worker) : WorkerLink(call.reply.net()), call_(std::move(call)), worker_(worker) {}

  Call& call() { return call_; }

  void Deliver(WorkerNews news) override {
    if (news.error) return call_.Fail(*news.error);
    std::vector<TaskRef> tasks;
    for (const Grant& grant : news.grants) tasks.push_back(grant.task);
    if (!call_.reply.alive()) return GiveBack(std::move(tasks));
    std::string out = "{\"stale\":[";
    for (const auto& [task, verdict] : news.stale) {
      if (out.back() != '[') out.push_back(',');
      AppendStale(task, verdict, out);
    }
    out.append("],\"tasks\":[");
    if (!news.grants.empty()) {
      std::vector<DamagedGrant> damaged;
      const Result<std::size_t> end =
          AppendGrants(call_.queue->store(), news.grants, 0, bounds::kMaxBodyBytes, out, damaged);
      if (!end.ok() && end.error().code == Code::kUnavailable) {
        // The database is away: the tasks go back.
        GiveBack(std::move(tasks));
        return call_.Fail(end.error());
      }
      if (!end.ok()) {
        if (!call_.queue->finished()) call_.queue->Fatal(end.error());
        // The queue was deleted, and its file is gone: that ends the request, and nothing else.
        return call_.Fail({Code::kUnknownQueue, "the queue " + call_.queue->name() + " is gone", ""});
      }
      if (!damaged.empty()) {
        call_.reply.net().Tell(call_.queue, [worker = worker_, damaged = std::move(damaged)](Round& round) {
          round.workers.FailDamaged(round, worker, damaged);
        });
      }
      if (*end < tasks.size()) {
        // More than one answer holds: it may ask for the others again.
        GiveBack({tasks.begin() + static_cast<std::ptrdiff_t>(*end), tasks.end()});
        tasks.resize(*end);
      }
    }
    out.append("],\"cancel\":[");
    for (const StopRequest& stop : news.stop_requests) {
      if (out.back() != '[') out.push_back(',');
      AppendCancel(stop, out);
    }
    out.append(news.drain ? "],\"drain\":true" : "],\"drain\":false");
    if (news.set) {
      out.append(",\"set\":");
      AppendWorkerChange(*news.set, out);
    }
    out.push_back('}');
    Closure on_lost;
    if (!tasks.empty()) {
      on_lost = [queue = call_.queue, &net = call_.reply.net(), tasks = std::move(tasks)]() mutable {
        net.Tell(queue, [lost = std::move(tasks)](Round& round) { round.workers.GiveBack(round, lost); });
      };
    }
    call_.reply.Send(200, out, std::move(on_lost));
  }

 private:
  void GiveBack(std::vector<TaskRef> tasks) {
    if (tasks.empty()) return;
    call_.reply.net().Tell(call_.queue,
                           [tasks = std::move(tasks)](Round& round) { round.workers.GiveBack(round, tasks); });
  }
  Call call_;
  const WorkerId worker_;
};

}  // namespace

void PullTasks(Call call) {
  const Result<WorkerId> named = WorkerOf(call);
  if (!named.ok()) return call.Fail(named.error());
  const WorkerId worker = *named;
  MessageOptions options;
  options.http = true;
  options.max_result_bytes = call.queue->max_result_bytes();
  options.vocabulary = call.queue->vocabulary();
  WorkerMessage message;
  const Result<void> parsed = ParseWorkerMessage(call.request.body, options, message);
  if (!parsed.ok()) return call.Fail(parsed.error());
  const QueuePtr queue = call.queue;
  NetThread& net = call.reply.net();
  const AskerId asker = call.asker();
  const std::uint64_t key = message.key.value_or(0);
  WorkerInput input = ToInput(message);
  // The request may wait for minutes; its reports do not.
  call.request.body = {};
  InflightBudget::Share body = call.reply.TakeBody();
  const auto link = std::make_shared<PullLink>(std::move(call), worker);
  const std::weak_ptr<PullLink> weak = link;
  link->call().reply.OnAbort([queue, &net, worker, weak, asker] {
    const std::shared_ptr<PullLink> gone = weak.lock();
    if (gone == nullptr) return;
    net.Tell(queue,
             Command([worker, gone](Round& round) { round.workers.OnGone(round, worker, gone.get(), {}); }).By(asker));
  });
  net.Tell(queue, Command([worker, key, wait = message.wait, input = std::move(input), link,
                           body = std::move(body)](Round& round) mutable {
                    round.workers.OnPull(round, worker, key, wait, std::move(input), std::move(link));
                  }).By(asker));
}

void UnregisterWorker(Call call) {
  const Result<WorkerId> worker = WorkerOf(call);
  if (!worker.ok()) return call.Fail(worker.error());
  const Result<std::uint64_t> key = ParseKeyBody(call.request.body);
  if (!key.ok()) return call.Fail(key.error());
  OnEngine(std::move(call), [worker = *worker, key = *key](Round& round, Call c) {
    const Result<void> left = round.workers.Unregister(round, worker, key);
    if (!left.ok()) return AnswerError(round, std::move(c), left.error());
    Answer(round, std::move(c), 200, [](Call&, std::string& out) { out.append("{}"); });
  });
}

void DrainWorker(Call call) {
  const Result<WorkerId> worker = WorkerOf(call);
  if (!worker.ok()) return call.Fail(worker.error());
  const Result<void> empty = ParseEmptyBody(call.request.body);
  if (!empty.ok()) return call.Fail(empty.error());
  OnEngine(std::move(call), [worker = *worker](Round& round, Call c) {
    const Result<void> drained = round.engine.Drain(round.now, worker);
    if (!drained.ok()) return AnswerError(round, std::move(c), drained.error());
    AuditLater(round, c, "worker.drain", c.queue->name() + "/" + ToText(worker));
    AnswerWorker(round, std::move(c), worker);
  });
}

// By the worker itself, which proves it by its key, or by an operator.
void ChangeWorker(Call call) {
  const Result<void> may_either = RequireEither(call.principal(), Scope::kWork, Scope::kOperate);
  if (!may_either.ok()) return call.Fail(may_either.error());
  const Result<WorkerId> worker = WorkerOf(call);
  if (!worker.ok()) return call.Fail(worker.error());
  Result<WorkerPatch> patch = ParseWorkerPatch(call.request.body, call.queue->vocabulary());
  if (!patch.ok()) return call.Fail(patch.error());
  const Result<void> may = RequireScope(call.principal(), patch->key ? Scope::kWork : Scope::kOperate);
  if (!may.ok()) return call.Fail(may.error());
  OnEngine(std::move(call), [worker = *worker, patch = std::move(*patch)](Round& round, Call c) {
    const Result<void> changed = round.workers.Change(round, worker, patch.key, patch.change);
    if (!changed.ok()) return AnswerError(round, std::move(c), changed.error());
    if (!patch.key) AuditLater(round, c, "worker.set", c.queue->name() + "/" + ToText(worker));
    AnswerWorker(round, std::move(c), worker);
  });
}

}  // namespace allot
