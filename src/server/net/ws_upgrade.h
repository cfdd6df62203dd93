// SPDX-License-Identifier: Apache-2.0
// A connection that becomes a WebSocket.
#pragma once

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <string>

#include "server/net/stream.h"
#include "server/ops/tokens.h"

namespace allot {

struct WsUpgrade {
  Stream stream;
  beast::http::request<beast::http::empty_body> request;
  std::string authorization;  // that header's value, and what it was good for
  TokenBook::Admission admission;
};

}  // namespace allot
