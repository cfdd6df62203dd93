// SPDX-License-Identifier: Apache-2.0
// /v1/queues/Q/workers…: workers over plain HTTP, and a look at all of them.
#include <memory>
#include <utility>
#include <vector>

#include "base/bounds.h"
#include "base/json.h"
#include "server/flow/places.h"
#include "server/ops/access.h"
#include "server/ops/log.h"
#include "server/queue/worker_table.h"
#include "server/wire/grants_json.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"
#include "wire/workers.h"
#include "wire/writer.h"

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

// As it is in this round, for who asks.
Result<WorkerView> DescribeWorker(Round& round, const Call& call, WorkerId worker) {
  return round.engine.looks().DescribeWorker(worker, call.principal().user);
}

Answer WorkerAnswer(const Call& call, const WorkerView& view) {
  // Its queue names jobs and users: for those alone who may list the jobs.
  const bool queue = call.principal().Has(Scope::kRead);
  std::string out;
  AppendWorker(view, {.balanced = IsBalanced(call), .tasks = true, .queue = queue}, out);
  return Answer(200, std::move(out));
}

}  // namespace

Flow ListWorkers(Call call) {
  CO_TRY(const WorkersQuery query, ParseWorkersQuery(call.request.query));
  RoundHere round = co_await Browse(call);
  const WorkerPage page = round->engine.looks().Workers(query.after, query.limit);
  co_await AfterCommit(round);
  co_await OnRenderLane(call);
  const WorkerDetail detail{.balanced = IsBalanced(call)};
  std::string out;
  {
    JsonWriter json(out);
    wire::Writer<wire::kWorkersPage> w(json);
    w.List("workers", page.workers,
           [&](const WorkerView& worker, std::string& to) { AppendWorker(worker, detail, to); });
    w.IdOrNull("next", page.more ? page.workers.back().id.value : 0);
  }
  co_return Answer(200, std::move(out));
}

Flow ShowWorker(Call call) {
  CO_TRY(const WorkerId worker, WorkerOf(call));
  RoundHere round = co_await Look(call);
  CO_TRY(const WorkerView& view, DescribeWorker(*round, call, worker));
  co_await AfterCommit(round);
  co_return WorkerAnswer(call, view);
}

Flow RegisterWorker(Call call) {
  if (call.server.stopping.load(std::memory_order_relaxed)) co_return Stopping();
  CO_TRY(const Hello& hello, ParseHello(call.request.body, false, call.queue->vocabulary()));
  RoundHere round = co_await OnEngine(call);
  QueueWorkers::Origin origin;
  origin.address = call.request.peer;
  origin.user = call.principal().user.value_or("");
  origin.token = call.principal().id;
  CO_TRY(const RegisterAnswer answer, round->workers.Register(*round, hello, origin, nullptr));
  co_await AfterCommit(round);
  std::string out;
  AppendWelcome(answer, call.server.config.heartbeat, out);
  co_return Answer(201, std::move(out));
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
    std::string out;
    {
      JsonWriter json(out);
      wire::Writer<wire::kPullAnswer> w(json);
      w.List("stale", news.stale, [](const auto& one, std::string& to) { AppendStale(one.first, one.second, to); });
      GrantTexts texts{w.Value("tasks").BeginArray().out()};
      if (!AddTasks(news, tasks, texts)) return;
      json.EndArray();
      w.List("cancel", news.stop_requests, AppendCancel);
      w.Bool("drain", news.drain);
      if (news.set) AppendWorkerChange(*news.set, w.Place("set"));
      if (!texts.headers.empty()) w.Raw("jobs", "[" + texts.headers + "]");
    }
    Closure on_lost;
    if (!tasks.empty()) {
      on_lost = [queue = call_.queue, &net = call_.reply.net(), tasks = std::move(tasks)]() mutable {
        net.Post(queue, [lost = std::move(tasks)](Round& round) { round.workers.GiveBack(round, lost); });
      };
    }
    call_.reply.Send(200, out, std::move(on_lost));
  }

 private:
  // Appends what is to start. Those of `tasks` that find no room are given back. False if the call has ended instead.
  bool AddTasks(const WorkerNews& news, std::vector<TaskRef>& tasks, GrantTexts& out) {
    if (news.grants.empty()) return true;
    const Result<std::size_t> end =
        AppendGrants(call_.queue->store(), {news.grants, news.headers}, 0, bounds::kMaxBodyBytes, out);
    if (!end.ok() && end.error().code == Code::kUnavailable) {
      // The database is away: the tasks go back.
      GiveBack(std::move(tasks));
      call_.Fail(end.error());
      return false;
    }
    if (!end.ok()) {
      if (!call_.queue->finished()) call_.queue->Fatal(end.error());
      // The queue was deleted, and its file is gone: that ends the request, and nothing else.
      call_.Fail({Code::kUnknownQueue, "the queue " + call_.queue->name() + " is gone", ""});
      return false;
    }
    if (!out.damaged.empty()) {
      call_.reply.net().Post(call_.queue, [worker = worker_, damaged = std::move(out.damaged)](Round& round) {
        round.workers.FailDamaged(round, worker, damaged);
      });
    }
    if (*end < tasks.size()) {
      // More than one answer holds: it may ask for the others again.
      GiveBack({tasks.begin() + static_cast<std::ptrdiff_t>(*end), tasks.end()});
      tasks.resize(*end);
    }
    return true;
  }
  void GiveBack(std::vector<TaskRef> tasks) {
    if (tasks.empty()) return;
    call_.reply.net().Post(call_.queue,
                           [tasks = std::move(tasks)](Round& round) { round.workers.GiveBack(round, tasks); });
  }
  Call call_;
  const WorkerId worker_;
};

// Its answer comes with what there is for the worker.
void BeginPull(Call call, WorkerId worker, const WorkerMessage& message, WorkerInput input) {
  const QueuePtr queue = call.queue;
  NetThread& net = call.reply.net();
  const AskerId asker = call.asker();
  const std::uint64_t key = message.key.value_or(0);
  // The request may wait for minutes; its reports do not.
  call.request.body = {};
  InflightBudget::Share body = call.reply.TakeBody();
  const auto link = std::make_shared<PullLink>(std::move(call), worker);
  const std::weak_ptr<PullLink> weak = link;
  link->call().reply.OnAbort([queue, &net, worker, weak, asker] {
    const std::shared_ptr<PullLink> gone = weak.lock();
    if (gone == nullptr) return;
    net.Post(queue,
             Command([worker, gone](Round& round) { round.workers.OnGone(round, worker, gone.get(), {}); }).By(asker));
  });
  net.Post(queue, Command([worker, key, wait = message.wait, input = std::move(input), link,
                           body = std::move(body)](Round& round) mutable {
                    round.workers.OnPull(round, worker, key, wait, std::move(input), std::move(link));
                  }).By(asker));
}

}  // namespace

// It may wait for minutes. What becomes of it is up to the table of workers.
Flow PullTasks(Call call) {
  CO_TRY(const WorkerId worker, WorkerOf(call));
  MessageOptions options;
  options.http = true;
  options.max_result_bytes = call.queue->max_result_bytes();
  options.vocabulary = call.queue->vocabulary();
  WorkerMessage message;
  CO_TRY_OK(ParseWorkerMessage(call.request.body, options, message));
  WorkerInput input = ToInput(message);
  BeginPull(std::move(call), worker, message, std::move(input));
  co_return kAnswered;
}

Flow UnregisterWorker(Call call) {
  CO_TRY(const WorkerId worker, WorkerOf(call));
  CO_TRY(const std::uint64_t key, ParseKeyBody(call.request.body));
  RoundHere round = co_await OnEngine(call);
  CO_TRY_OK(round->workers.Unregister(*round, worker, key));
  co_await AfterCommit(round);
  co_return Answer(200, "{}");
}

Flow DrainWorker(Call call) {
  CO_TRY(const WorkerId worker, WorkerOf(call));
  CO_TRY_OK(ParseEmptyBody(call.request.body));
  RoundHere round = co_await OnEngine(call);
  CO_TRY_OK(round->engine.workers().Drain(round->now, worker));
  const Result<WorkerView> view = DescribeWorker(*round, call, worker);
  co_await AfterCommit(round);
  Audit(call.principal(), "worker.drain", call.queue->name() + "/" + ToText(worker));
  if (!view.ok()) co_return view.error();
  co_return WorkerAnswer(call, *view);
}

// By the worker itself, which proves it by its key, or by an operator.
Flow ChangeWorker(Call call) {
  CO_TRY_OK(RequireEither(call.principal(), Scope::kWork, Scope::kOperate));
  CO_TRY(const WorkerId worker, WorkerOf(call));
  CO_TRY(const WorkerPatch& patch, ParseWorkerPatch(call.request.body, call.queue->vocabulary()));
  CO_TRY_OK(RequireScope(call.principal(), patch.key ? Scope::kWork : Scope::kOperate));
  RoundHere round = co_await OnEngine(call);
  CO_TRY_OK(round->workers.Change(*round, worker, patch.key, patch.change));
  const Result<WorkerView> view = DescribeWorker(*round, call, worker);
  co_await AfterCommit(round);
  if (!patch.key) Audit(call.principal(), "worker.set", call.queue->name() + "/" + ToText(worker));
  if (!view.ok()) co_return view.error();
  co_return WorkerAnswer(call, *view);
}

}  // namespace allot
