// SPDX-License-Identifier: Apache-2.0
#include "server/peers/route.h"

namespace allot {

Place PlaceOf(const ServerContext& server, const cluster::Node& node, const std::string& queue, Instant since) {
  if (server.queues->Find(queue) != nullptr) return {.kind = Place::Kind::kHere, .node = {}};
  const Place::Kind otherwise = node.lease().Valid() ? Place::Kind::kNobody : Place::Kind::kAway;
  const cluster::PicturePtr picture = node.picture();
  const cluster::QueueRow* const row = picture->Find(queue);
  if (row == nullptr) {
    const bool known = otherwise == Place::Kind::kNobody && picture->begun > since;
    return {.kind = known ? Place::Kind::kUnknown : otherwise, .node = {}};
  }
  const cluster::NodeRow* const owner = picture->OwnerOf(*row);
  // What is this node's, and not here, is being loaded.
  if (owner == nullptr || owner->incarnation == picture->incarnation) return {.kind = otherwise, .node = {}};
  return {.kind = Place::Kind::kAt, .node = *owner};
}

}  // namespace allot
