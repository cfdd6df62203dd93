#include "server/api/preview_run.h"

#include <memory>
#include <string_view>
#include <utility>

#include "server/ops/clock.h"

namespace allot {
namespace {

// Of the engine thread at a time, in microseconds.
constexpr std::size_t kStep = 500;

struct Run {
  Run(ServerContext& s, SlowLane& l, QueuePtr q, PreviewRequest request, Duration m, PreviewDone d)
      : server(s), lane(l), queue(std::move(q)), walk(std::move(request)), most(m), done(std::move(d)) {}

  bool Enough() const { return ReadClock().mono - phase >= most || server.stopping.load(std::memory_order_relaxed); }

  ServerContext& server;
  SlowLane& lane;
  const QueuePtr queue;
  PreviewWalk walk;
  const Duration most;
  PreviewDone done;
  Instant phase = ReadClock().mono;
  std::string_view what{};
};
using RunPtr = std::shared_ptr<Run>;

void Finish(Round& round, const RunPtr& run) {
  round.what = run->what;
  round.engine.looks().Resolve(run->walk);
  for (const PreviewWalk::Task& task : run->walk.tasks()) round.DependsOn(task.pick.job);
  run->done(round, WalkPtr(run, &run->walk));
}

void Collect(Round& round, const RunPtr& run) {
  round.what = run->what;
  const Result<bool> all = round.engine.prepared_looks().Collect(round.now, run->walk, kStep);
  if (!all.ok()) return run->done(round, all.error());
  // Behind whatever else waits for the engine by now.
  if (!*all && !run->Enough()) {
    run->queue->Post(Command::Browse(round.asker, [run](Round& next) { Collect(next, run); }));
    return;
  }
  run->lane.Post([run, asker = round.asker] {
    run->phase = ReadClock().mono;
    run->walk.Pick([&r = *run] { return r.Enough(); });
    run->queue->Post(Command::Browse(asker, [run](Round& last) { Finish(last, run); }));
  });
}

}  // namespace

void RunPreview(ServerContext& server, SlowLane& lane, QueuePtr queue, PreviewRequest request, Duration most,
                Round& round, PreviewDone done) {
  const auto run = std::make_shared<Run>(server, lane, std::move(queue), std::move(request), most, std::move(done));
  run->what = round.what;
  Collect(round, run);
}

}  // namespace allot
