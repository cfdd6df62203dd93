// POST /v1/queues/Q/strategy/try: what a worker with some strategy would get, without taking it.
//
// The engine thread only looks at jobs, a little at a time; picking has a thread of its own, because it may take long.
// The two hold one another's place: what is told is about as old as the request.
#include <atomic>
#include <memory>
#include <utility>

#include "server/access.h"
#include "server/call.h"
#include "server/clock.h"
#include "server/preview_json.h"
#include "server/request_query.h"

namespace allot {
namespace {

// Of the engine thread at a time, in microseconds.
constexpr std::size_t kStep = 500;
// What is not seen by then is told as missing. Picking has as long again.
constexpr Duration kMostTime = std::chrono::seconds(5);
// Of the server at once: each may hold a hundred bytes and more for every job.
constexpr std::uint32_t kMostAtOnce = 2;

struct Trial {
  Trial(Call c, PreviewRequest request)
      : call(std::move(c)), server(call.server), queue(call.queue), walk(std::move(request)) {}
  ~Trial() { server.trials.fetch_sub(1, std::memory_order_relaxed); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  bool Enough() const {
    return ReadClock().mono - phase >= kMostTime || server.stopping.load(std::memory_order_relaxed);
  }

  Call call;
  ServerContext& server;
  const QueuePtr queue;
  PreviewWalk walk;
  const Instant began = ReadClock().mono;
  Instant phase = began;
};
using TrialPtr = std::shared_ptr<Trial>;

void Finish(Turn& turn, TrialPtr trial) {
  turn.engine.Resolve(trial->walk);
  for (const PreviewWalk::Task& task : trial->walk.tasks()) turn.Tells(task.pick.job);
  NetThread& net = trial->call.reply.net();
  turn.Send(net, [trial = std::move(trial)] {
    std::string out;
    AppendPreview(trial->walk, ReadClock().mono - trial->began, out);
    trial->call.reply.Send(200, out);
  });
}

void Collect(Turn& turn, TrialPtr trial) {
  const Result<bool> all = turn.engine.Collect(turn.now, trial->walk, kStep);
  if (!all.ok()) return AnswerError(turn, std::move(trial->call), all.error());
  // Behind whatever else waits for the engine by now. Where the queue is gone, the answer is that it is.
  if (!*all && !trial->Enough()) {
    trial->queue->Post(Command::Look([trial](Turn& next) { Collect(next, trial); }));
    return;
  }
  trial->server.trying.Post([trial] {
    trial->phase = ReadClock().mono;
    trial->walk.Pick([&t = *trial] { return t.Enough(); });
    trial->queue->Post(Command::Look([trial](Turn& last) { Finish(last, trial); }));
  });
}

}  // namespace

void ServeTry(Call call) {
  if (call.request.method != Method::kPost) return call.Fail(WrongMethod(call.request, "POST"));
  const Result<void> may = RequireScope(call.principal(), Scope::kRead);
  if (!may.ok()) return call.Fail(may.error());
  // Which jobs come first, and why, tells of everyone's.
  if (call.principal().user) {
    return call.Fail({Code::kForbidden, "what a strategy gives tells of all users' jobs, this token only of its own's",
                      "use a token that is not fixed to a user"});
  }
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  Result<PreviewRequest> request = ParsePreview(call.request.body, call.queue->vocabulary());
  if (!request.ok()) return call.Fail(request.error());
  request->seed = static_cast<std::uint64_t>(ReadClock().mono.time_since_epoch().count());
  if (call.server.trials.fetch_add(1, std::memory_order_relaxed) >= kMostAtOnce) {
    call.server.trials.fetch_sub(1, std::memory_order_relaxed);
    return call.Fail({Code::kUnavailable, "others are trying strategies at the moment", "try again in a few seconds"});
  }
  NetThread& net = call.reply.net();
  const QueuePtr queue = call.queue;
  auto trial = std::make_shared<Trial>(std::move(call), std::move(*request));
  net.Tell(queue, Command::Look([trial = std::move(trial)](Turn& turn) { Collect(turn, trial); }));
}

}  // namespace allot
