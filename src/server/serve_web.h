// The dashboard's files: the page at `/`, and what it is made of.
//
// They are the same for everyone and tell nothing, so they need no token; what the page shows, it asks for with one.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "server/call.h"
#include "server/request.h"

namespace allot {

// Is it for the dashboard? All is, but `/v1…`, `/livez`, `/readyz` and `/metrics`.
bool IsWebPath(const Request& request);

// At a request's head: why it is refused, before its body is taken. None: it may go on.
// REQUIRES: IsWebPath().
std::optional<Error> RefuseWeb(const Request& request, bool has_body);

// A file by its path; the page itself, which finds its own way, for any other path whose last part has no dot, and for
// all below `/q/`. kNotFound otherwise.
void ServeWeb(Call call);

}  // namespace allot
