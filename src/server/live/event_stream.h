// SPDX-License-Identifier: Apache-2.0
// Server-sent events of one job: /v1/queues/Q/jobs/ID/events.
#pragma once

#include "server/flow/flow.h"

namespace allot {

Flow ServeEvents(Call call);

}  // namespace allot
