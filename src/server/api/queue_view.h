// SPDX-License-Identifier: Apache-2.0
// A queue as the protocol shows it: its numbers, settings and use of the disk.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/looks/views.h"
#include "server/ops/principal.h"
#include "server/queue/queue_runtime.h"

namespace allot {

// A Queue, as this principal may see it. Reads files: cheap ones, on the network thread.
Result<void> AppendQueueView(const Principal& principal, QueueRuntime& queue, const EngineStats& stats,
                             std::string& out);

}  // namespace allot
