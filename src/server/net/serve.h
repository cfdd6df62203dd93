// SPDX-License-Identifier: Apache-2.0
// From a request to the one who serves it. Declared here, since connections and live views ask; what it does is in
// api/routes.cc by the table of api/route_table.cc and, for the dashboard, in api/serve_web.cc.
//
// Threading: on the connection's network thread.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "server/net/net_thread.h"
#include "server/net/request.h"
#include "server/net/ws_connection.h"

namespace allot {

struct ServerContext;

// A complete request.
void Serve(ServerContext& server, Request request, Reply reply);

// At a request's head: who takes the body as it comes; null if it is to be collected.
Result<std::unique_ptr<BodySink>> OpenSink(ServerContext& server, std::shared_ptr<BodySource> source,
                                           const Request& request);

// At a request's head: who takes the connection over.
Result<std::shared_ptr<UpgradeTarget>> OpenWebSocket(ServerContext& server, NetThread& net, const Request& request);

// May anybody ask, without a token? By the path alone, whatever the method. Not for the dashboard's.
bool NeedsNoToken(const Request& request);

// Is it for the dashboard? All is, but `/v1…`, other versions of it, and what begins as a route does.
bool IsWebPath(const Request& request);

// At a request's head: why it is refused, before its body is taken. None: it may go on.
// REQUIRES: IsWebPath().
std::optional<Error> RefuseWeb(const Request& request, bool has_body);

}  // namespace allot
