// SPDX-License-Identifier: Apache-2.0
#include "server/api/preview_run.h"

#include "server/ops/clock.h"

namespace allot {
namespace {

// Of the engine thread at a time, in microseconds.
constexpr std::size_t kStep = 500;

}  // namespace

Step<Result<void>> RunPreview(Call& call, RoundHere round, SlowLane& lane, PreviewWalk& walk, Duration most) {
  Instant began = ReadClock().mono;
  const auto enough = [&began, most, &server = call.server] {
    return ReadClock().mono - began >= most || server.stopping.load(std::memory_order_relaxed);
  };
  for (;;) {
    CO_TRY(const bool all, round->engine.prepared_looks().Collect(round->now, walk, kStep));
    if (all || enough()) break;
    round = co_await BrowseOn(call);  // behind whatever else waits for the engine by now
  }
  co_await OnLane(lane);
  began = ReadClock().mono;
  walk.Pick(enough);
  round = co_await BrowseOn(call);
  round->engine.looks().Resolve(walk);
  for (const PreviewWalk::Task& task : walk.tasks()) round->DependsOn(task.pick.job);
  co_return Result<void>();
}

}  // namespace allot
