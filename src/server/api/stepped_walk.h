// A walk over all jobs of a queue, a little of its engine thread at a time: others are served between the steps.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/net/call.h"
#include "server/ops/clock.h"

namespace allot {

struct WalkBounds {
  std::size_t step = 500;                                      // of the engine thread at a time, in microseconds
  Duration most_time = std::chrono::seconds(5);                // what is not seen by then is told as missing
  std::uint32_t most_at_once = 4;                              // of one asker; of the server, half as many again
  std::string_view busy = "others do the same at the moment";  // the refusal of more
  bool changes = false;                                        // a command: it waits while the disk is full
};

// `Walk` is something that a command or look of Engine goes on with in steps; `Render` is called with it, the time that
// it took and the body, on the thread for large answers, once it is done.
template <typename Walk, typename Render>
class SteppedWalk : public std::enable_shared_from_this<SteppedWalk<Walk, Render>> {
 public:
  SteppedWalk(Call call, AtOnce& under_way, const WalkBounds& bounds, std::unique_ptr<Walk> walk, Render render)
      : call_(std::move(call)),
        under_way_(under_way),
        bounds_(bounds),
        server_(call_.server),
        queue_(call_.queue),
        asker_(call_.asker()),
        walk_(std::move(walk)),
        render_(std::move(render)) {}
  ~SteppedWalk() { under_way_.Leave(asker_); }
  SteppedWalk(const SteppedWalk&) = delete;
  SteppedWalk& operator=(const SteppedWalk&) = delete;

  void Step(Round& round) {
    round.what = call_.what();
    if (gone_.load(std::memory_order_relaxed)) return Dispose();
    const bool all = GoOn(round);
    if constexpr (requires { walk_->touched(); }) {
      for (const JobId job : walk_->touched()) round.Touch(job);
    }
    const bool stopping = server_.stopping.load(std::memory_order_relaxed);
    // A part of it would be taken for the whole, by those who ask again and again. What was changed is told.
    if (!all && stopping && !bounds_.changes) {
      Dispose();
      return AnswerError(round, std::move(call_), Stopping());
    }
    // What a token began ends with it; that somebody hung up changes nothing of what they asked for.
    const bool enough = stopping || ReadClock().mono - began_ >= bounds_.most_time ||
                        (bounds_.changes && !server_.tokens->StillHolds(call_.principal(), round.now));
    // Behind whatever else waits for the engine by now. Where the queue is gone, the answer is that it is.
    if (!all && !enough) {
      queue_->Post(Next());
      return;
    }
    auto self = this->shared_from_this();
    NetThread& net = call_.reply.net();
    round.Send(net, [self = std::move(self)] {
      RenderLane& lane = self->server_.rendering;
      lane.Post(
          self->asker_,
          [self] {
            auto out = std::make_shared<std::string>();
            self->render_(*self->walk_, ReadClock().mono - self->began_, *out);
            self->walk_.reset();
            self->call_.reply.net().Post(Closure([self, out] { self->call_.reply.Send(200, *out); }));
          },
          RenderLane::Place::kUnbounded);
    });
  }

  // On the network thread, before the first step.
  void EndWithClient() {
    call_.reply.OnAbort([weak = this->weak_from_this()] {
      if (const auto self = weak.lock()) self->gone_.store(true, std::memory_order_relaxed);
    });
  }

  // The command that takes the next step.
  Command Next() {
    auto step = [self = this->shared_from_this()](Round& next) { self->Step(next); };
    return bounds_.changes ? Command(std::move(step)).By(asker_) : Command::Browse(asker_, std::move(step));
  }

 private:
  bool GoOn(Round& round) {
    if constexpr (requires { round.engine.jobs().Sweep(round.now, *walk_, bounds_.step); }) {
      return round.engine.jobs().Sweep(round.now, *walk_, bounds_.step);
    } else if constexpr (requires { round.engine.looks().Collect(round.now, *walk_, bounds_.step); }) {
      return round.engine.looks().Collect(round.now, *walk_, bounds_.step);
    } else {
      return round.engine.prepared_looks().Collect(round.now, *walk_, bounds_.step);
    }
  }
  // What a walk has collected is large: it takes as long to free as to collect, and that is not for the engine thread.
  void Dispose() {
    server_.rendering.Post(
        asker_, [walk = std::shared_ptr<Walk>(std::move(walk_))] {}, RenderLane::Place::kUnbounded);
  }

  Call call_;
  AtOnce& under_way_;
  const WalkBounds bounds_;
  ServerContext& server_;
  const QueuePtr queue_;
  const AskerId asker_;
  std::unique_ptr<Walk> walk_;
  Render render_;
  std::atomic<bool> gone_{false};
  const Instant began_ = ReadClock().mono;
};

// Answers the call with what the walk finds; `unavailable` while as many are under way as may be, of its asker or of
// all. A walk that only looks ends when its client goes away; one that changes, when its token is revoked.
template <typename Walk, typename Render>
void WalkInSteps(Call call, AtOnce& under_way, const WalkBounds& bounds, std::unique_ptr<Walk> walk, Render render) {
  const AtOnce::Entry entry = under_way.Enter(call.asker(), bounds.most_at_once);
  if (entry != AtOnce::Entry::kIn) return call.Fail(Busy(entry, bounds.busy));
  NetThread& net = call.reply.net();
  const QueuePtr queue = call.queue;
  auto stepped = std::make_shared<SteppedWalk<Walk, Render>>(std::move(call), under_way, bounds, std::move(walk),
                                                             std::move(render));
  if (!bounds.changes) stepped->EndWithClient();
  net.Tell(queue, stepped->Next());
}

}  // namespace allot
