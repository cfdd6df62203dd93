// POST /v1/queues/Q/strategy/try: what a worker with some strategy would get, without taking it.
#include <atomic>
#include <memory>
#include <utility>

#include "server/api/preview_run.h"
#include "server/net/call.h"
#include "server/ops/clock.h"
#include "server/wire/preview_json.h"
#include "server/wire/request_query.h"

namespace allot {
namespace {

// What is not seen by then is told as missing. Picking has as long again.
constexpr Duration kMostTrying = std::chrono::seconds(5);
// Of one asker at once: each may hold a hundred bytes and more for every job.
constexpr std::uint32_t kMostAtOnce = 2;

struct Trial {
  explicit Trial(Call c) : call(std::move(c)), server(call.server), asker(call.asker()) {}
  ~Trial() { server.trials.Leave(asker); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  Call call;
  ServerContext& server;
  const AskerId asker;
  const Instant began = ReadClock().mono;
};

void Answer(Round& round, std::shared_ptr<Trial> trial, const Result<WalkPtr>& walk) {
  if (!walk.ok()) return AnswerError(round, std::move(trial->call), walk.error());
  NetThread& net = trial->call.reply.net();
  round.Send(net, [trial = std::move(trial), walk = *walk] {
    std::string out;
    AppendPreview(*walk, ReadClock().mono - trial->began, out);
    trial->call.reply.Send(200, out);
  });
}

}  // namespace

void TryStrategy(Call call) {
  // Which jobs come first, and why, tells of everyone's.
  if (call.principal().user) {
    return call.Fail({Code::kForbidden, "what a strategy gives tells of all users' jobs, this token only of its own's",
                      "use a token that is not fixed to a user"});
  }
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  Result<PreviewRequest> request = ParsePreview(call.request.body, call.queue->vocabulary());
  if (!request.ok()) return call.Fail(request.error());
  request->by_limits = true;
  request->seed = static_cast<std::uint64_t>(ReadClock().mono.time_since_epoch().count());
  const AtOnce::Entry entry = call.server.trials.Enter(call.asker(), kMostAtOnce);
  if (entry != AtOnce::Entry::kIn) return call.Fail(Busy(entry, "others are trying strategies at the moment"));
  NetThread& net = call.reply.net();
  const QueuePtr queue = call.queue;
  auto trial = std::make_shared<Trial>(std::move(call));
  const AskerId asker = trial->asker;
  net.Tell(queue, Command::Browse(
                      asker, [trial = std::move(trial), queue, request = std::move(*request)](Round& round) mutable {
                        ServerContext& server = trial->server;
                        RunPreview(server, server.trying, queue, std::move(request), kMostTrying, round,
                                   [trial = std::move(trial)](Round& last, const Result<WalkPtr>& walk) mutable {
                                     Answer(last, std::move(trial), walk);
                                   });
                      }));
}

}  // namespace allot
