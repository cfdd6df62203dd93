// SPDX-License-Identifier: Apache-2.0
// The dashboard's files: the page at `/`, and what it is made of. The documents at `/docs/`.
//
// They are the same for everyone and tell nothing, so they need no token; what the page shows, it asks for with one.
#pragma once

#include "server/net/call.h"

namespace allot {

// A file by its path; below `/docs` a document by its name without `.html`; the dashboard's page itself, which finds its own way, for any other path whose last part has no dot, and for
// all below `/q/`. kNotFound otherwise.
void ServeWeb(Call call);

}  // namespace allot
