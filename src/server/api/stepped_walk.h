// SPDX-License-Identifier: Apache-2.0
// A walk over all jobs of a queue, a little of its engine thread at a time: others are served between the steps.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "base/time.h"
#include "server/flow/places.h"
#include "server/flow/step.h"
#include "server/net/call.h"
#include "server/ops/clock.h"
#include "server/queue/render_lane.h"

namespace allot {

inline constexpr std::size_t kWalkStep = 500;  // of the engine thread at a time, in microseconds

struct WalkBounds {
  Duration most_time = std::chrono::seconds(5);  // what is not seen by then is missing, and the answer says so
  bool changes = false;                          // a command: it waits while the disk is full
};
inline constexpr WalkBounds kLookAround = {};

// A command or look of Engine that goes on in steps: the next one. True: it is done.
template <typename Walk>
bool TakeStep(Round& round, Walk& walk) {
  if constexpr (requires { round.engine.jobs().Sweep(round.now, walk, kWalkStep); }) {
    const bool all = round.engine.jobs().Sweep(round.now, walk, kWalkStep);
    for (const JobId job : walk.touched()) round.Touch(job);
    return all;
  } else if constexpr (requires { round.engine.looks().Collect(round.now, walk, kWalkStep); }) {
    return round.engine.looks().Collect(round.now, walk, kWalkStep);
  } else {
    return round.engine.prepared_looks().Collect(round.now, walk, kWalkStep);
  }
}

// From the network thread: walks, and goes on where large answers are put into words, with the time that it took. A
// walk that only looks ends when its client goes away; one that changes, when its token is revoked. kStopping.
//
// A walk is large when it is done: it takes as long to free as to collect, and that is not for the engine thread. So
// this never ends there.
template <typename Walk>
Step<Result<Duration>> WalkToAnswer(Call& call, Walk& walk, WalkBounds bounds) {
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  if (!bounds.changes) call.reply.OnAbort([gone] { gone->store(true, std::memory_order_relaxed); });
  const Instant began = ReadClock().mono;
  bool all = false;
  for (;;) {
    // Each step is behind whatever else waits for the engine by then. Where the queue is gone, the answer is that it
    // is.
    EngineHop step = bounds.changes ? OnEngine(call) : BrowseOn(call);
    RoundHere round = co_await step;
    if (gone->load(std::memory_order_relaxed)) break;
    all = TakeStep(*round, walk);
    const bool stopping = call.server.stopping.load(std::memory_order_relaxed);
    // A part of it would be taken for the whole, by those who ask again and again. What was changed is told.
    if (!all && stopping && !bounds.changes) break;
    // What a token began ends with it; that somebody hung up changes nothing of what they asked for.
    const bool enough = stopping || ReadClock().mono - began >= bounds.most_time ||
                        (bounds.changes && !call.server.tokens->StillHolds(call.principal(), round->now));
    if (all || enough) {
      co_await AfterCommit(round);
      co_await OnRenderLane(call, RenderRule::kAnyway);
      co_return ReadClock().mono - began;
    }
  }
  co_await OnRenderLane(call, RenderRule::kAnyway);
  co_return Stopping();
}

}  // namespace allot
