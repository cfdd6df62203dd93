// SPDX-License-Identifier: Apache-2.0
// What a round says to those who follow traces.
#pragma once

#include <string>
#include <vector>

#include "engine/types.h"
#include "server/ops/span_exporter.h"
#include "server/queue/round.h"

namespace allot {

// The attempts become spans once what the round decided is durable.
void SendSpans(Round& round, SpanExporter& exporter, const std::string& queue, std::vector<TracedAttempt> attempts);

}  // namespace allot
