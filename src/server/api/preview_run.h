// SPDX-License-Identifier: Apache-2.0
// A preview (engine/looks/preview_walk.h) on its way: the engine thread only looks at jobs, a little at a time; picking
// has a thread of its own, because it may take long. What is told is about as old as the request.
#pragma once

#include "engine/looks/preview_walk.h"
#include "server/flow/places.h"
#include "server/flow/step.h"
#include "server/net/call.h"

namespace allot {

// Begins and ends on the engine thread, in another round. Looking at jobs takes `most` time at most, and picking, in
// `lane`, as long again: what is not seen by then is missing, and the walk says so. Fails as looking at jobs does.
Step<Result<void>> RunPreview(Call& call, RoundHere round, SlowLane& lane, PreviewWalk& walk, Duration most);

}  // namespace allot
