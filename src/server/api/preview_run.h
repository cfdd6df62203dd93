// A preview (engine/looks/preview_walk.h) on its way: the engine thread only looks at jobs, a little at a time; picking
// has a thread of its own, because it may take long. What is told is about as old as the request.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "engine/looks/preview_walk.h"
#include "server/net/call.h"
#include "server/queue/closure.h"

namespace allot {

// Called on the engine thread, once: with the finished walk, or with why there is none. Never, if the queue is gone.
using WalkPtr = std::shared_ptr<const PreviewWalk>;
using PreviewDone = UniqueFunction<void(Round&, Result<WalkPtr>)>;

// Begins on the engine thread. Looking at jobs takes `most` time at most, and picking, in `lane`, as long again: what
// is not seen by then is told as missing.
void RunPreview(ServerContext& server, SlowLane& lane, QueuePtr queue, PreviewRequest request, Duration most,
                Round& round, PreviewDone done);

// A request that looks ahead to answer better, with what it knows already. Few do so at a time.
template <typename Known>
class LookAhead {
 public:
  static bool Room(const Call& call) {
    return call.server.explanations.Enter(call.asker(), kMostAtOnce) == AtOnce::Entry::kIn;
  }
  // REQUIRES: Room() was true.
  LookAhead(Call c, Known k) : call(std::move(c)), known(std::move(k)), server_(call.server), asker_(call.asker()) {}
  ~LookAhead() { server_.explanations.Leave(asker_); }
  LookAhead(const LookAhead&) = delete;
  LookAhead& operator=(const LookAhead&) = delete;

  Call call;
  Known known;

 private:
  static constexpr std::uint32_t kMostAtOnce = 4;
  ServerContext& server_;
  const AskerId asker_;
};

}  // namespace allot
