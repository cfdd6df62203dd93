// SPDX-License-Identifier: Apache-2.0
// Several servers on one database.
#pragma once

#include "wire/field.h"
#include "wire/words.h"

namespace allot::wire {

inline constexpr Field kNodeQueueFields[] = {
    Text("name", "its name"),
    Time("since_at_ms", "since when this node has it, by the database's clock"),
    Maybe(Text("pinned", "the node on which it is to be")),
};
inline constexpr Object kNodeQueue{"NodeQueue", "A queue that a node has.", kNodeQueueFields};
inline constexpr Field kNodeFields[] = {
    Text("name", "its name"),
    Text("address", "by which other nodes reach it"),
    Text("version", "of the program"),
    Word("state", kNodeState, "alive, draining or dead"),
    Bool("self", "it is the one that answers"),
    Time("started_at_ms", "since when it runs, by the database's clock"),
    Many("queues", kNodeQueue, "that it has"),
};
inline constexpr Object kNode{"Node", "A server that shares the queues of a database.", kNodeFields};
inline constexpr Field kNodesFields[] = {
    Many("nodes", kNode, "all of them; none if this server shares nothing"),
    List(Text("unowned", "queues that no node has at the moment")),
};
inline constexpr Object kNodes{"Nodes", "The nodes of a cluster.", kNodesFields};
inline constexpr Field kDrainedFields[] = {Text("draining", "the node")};
inline constexpr Object kDrained{"Draining", "A node hands over all that it has.", kDrainedFields};
inline constexpr Field kMoveFields[] = {Text("to", "the node; empty: wherever it belongs")};
inline constexpr Object kMove{"Move", "Where a queue is to be.", kMoveFields};
inline constexpr Field kMovedFields[] = {Text("queue", "its name"), Text("to", "the node")};
inline constexpr Object kMoved{"Moving", "A queue goes to a node.", kMovedFields};

}  // namespace allot::wire
