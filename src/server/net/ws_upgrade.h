// SPDX-License-Identifier: Apache-2.0
// A connection that becomes a WebSocket (RFC 6455, 4.2).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "server/net/http_head.h"
#include "server/net/socket.h"
#include "server/ops/tokens.h"

namespace allot {

struct WsUpgrade {
  std::unique_ptr<Socket> socket;
  std::string ahead;          // read already, behind the request
  std::string key;            // of the request
  std::string authorization;  // that header's value, and what it was good for
  TokenBook::Admission admission;
};

// What a WebSocket begins with. REQUIRES: `Upgrade` names it.
Result<void> CheckHandshake(const RequestHead& head);
// The answer to it.
std::string AcceptHandshake(std::string_view key);

}  // namespace allot
