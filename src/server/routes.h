// From a request to the one who serves it.
//
// Threading: on the connection's network thread.
#pragma once

#include <memory>

#include "base/result.h"
#include "server/net_thread.h"
#include "server/request.h"
#include "server/ws_connection.h"

namespace allot {

struct ServerContext;

// A complete request.
void Serve(ServerContext& server, Request request, Reply reply);

// At a request's head: who takes the body as it comes; null if it is to be collected.
Result<std::unique_ptr<BodySink>> OpenSink(ServerContext& server, std::shared_ptr<BodySource> source,
                                           const Request& request);

// At a request's head: who takes the connection over.
Result<std::shared_ptr<WsConnection>> OpenWebSocket(ServerContext& server, NetThread& net, const Request& request);

}  // namespace allot
