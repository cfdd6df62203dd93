// A connection that becomes a WebSocket.
#pragma once

#include <boost/beast/http/message.hpp>

#include "server/http_body.h"
#include "server/stream.h"

namespace allot {

struct WsUpgrade {
  Stream stream;
  beast::http::request<ChunkBody> request;
};

}  // namespace allot
