// SPDX-License-Identifier: Apache-2.0
// Whose requests count together where time and room are shared out: those of one token, or, where there are no tokens,
// of one address.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "server/ops/principal.h"
#include "server/queue/fair_queue.h"

namespace allot {

// For people, and as a key. `peer` is ADDRESS:PORT.
inline std::string WhoAsks(const Principal& principal, std::string_view peer) {
  if (!principal.id.empty()) return "token " + principal.id;
  return "address " + std::string(peer.substr(0, peer.rfind(':')));
}

// The same as a number; two that happen to be equal share.
inline AskerId AskerOf(const Principal& principal, std::string_view peer) {
  const std::string_view text = principal.id.empty() ? peer.substr(0, peer.rfind(':')) : principal.id;
  const AskerId id = std::hash<std::string_view>()(text);
  return id == 0 ? 1 : id;
}

}  // namespace allot
