// Server-sent events of one job: /v1/queues/Q/jobs/ID/events.
#pragma once

#include "server/net/call.h"

namespace allot {

void ServeEvents(Call call, JobName name);

}  // namespace allot
