// SPDX-License-Identifier: Apache-2.0
// Where a queue is, as this node knows it.
//
// Threading: any thread.
#pragma once

#include <string>

#include "base/time.h"
#include "cluster/node.h"
#include "server/net/context.h"

namespace allot {

struct Place {
  enum class Kind {
    kHere,
    kAt,       // another node has it
    kNobody,   // nobody at the moment, or nobody that is known yet: it is to be waited for
    kUnknown,  // there is no such queue
    kAway,     // this node does not know: it has lost the database
  };
  Kind kind = Kind::kNobody;
  cluster::NodeRow node;  // kAt
};

// `since`, of the lease's clock: a queue that was there by then is not unknown.
Place PlaceOf(const ServerContext& server, const cluster::Node& node, const std::string& queue, Instant since);

}  // namespace allot
