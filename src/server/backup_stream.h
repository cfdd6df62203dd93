// GET /v1/queues/Q/backup: a copy of the queue's file, made beside it and sent piece by piece.
#pragma once

#include "server/call.h"

namespace allot {

void ServeBackup(Call call);

}  // namespace allot
