// A connection that becomes a WebSocket.
#pragma once

#include <boost/beast/http/message.hpp>
#include <string>

#include "server/http_body.h"
#include "server/stream.h"
#include "server/tokens.h"

namespace allot {

struct WsUpgrade {
  Stream stream;
  beast::http::request<ChunkBody> request;
  std::string authorization;  // that header's value, and what it was good for
  TokenBook::Admission admission;
};

}  // namespace allot
