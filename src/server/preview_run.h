// A preview (engine/preview_walk.h) on its way: the engine thread only looks at jobs, a little at a time; picking has a
// thread of its own, because it may take long. What is told is about as old as the request.
#pragma once

#include "engine/preview_walk.h"
#include "server/call.h"
#include "server/closure.h"

namespace allot {

// Called on the engine thread, once: with the finished walk, or with why there is none. Never, if the queue is gone.
using PreviewDone = UniqueFunction<void(Turn&, Result<PreviewWalk*>)>;

// Begins on the engine thread. Looking at jobs takes `most` time at most, and picking as long again: what is not seen
// by then is told as missing.
void RunPreview(ServerContext& server, QueuePtr queue, PreviewRequest request, Duration most, Turn& turn,
                PreviewDone done);

}  // namespace allot
