// SPDX-License-Identifier: Apache-2.0
// The objects of the protocol, as values: all of them.
//
// What is optional and not set is not sent: the server's default holds. Fields named `json` hold an object as the
// server sent it, with whatever fields a newer server adds. Payloads and results are JSON text everywhere; empty means
// none.
#pragma once

#include "allotter/jobs.h"
#include "allotter/queues.h"
#include "allotter/tasks.h"
#include "allotter/values.h"
#include "allotter/workers.h"
