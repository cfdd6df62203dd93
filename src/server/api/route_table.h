// SPDX-License-Identifier: Apache-2.0
// Which routes there are: one row for each method and path of the protocol. What answers, who may ask, and what may be
// watched all come from here. All other paths are the dashboard's (serve_web.h), or nobody's.
//
// Changing it: a new route is a function in its handler's file, and its declaration and row in route_table.cc.
// docs/reference/protocol lists the same routes with the same scopes; route_table_test.cc compares them.
//
// docs/openapi.json is made from it (openapi.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "server/flow/flow.h"
#include "server/net/call.h"
#include "server/net/path_pattern.h"
#include "server/net/request.h"
#include "server/net/ws_connection.h"
#include "server/ops/principal.h"
#include "wire/field.h"

namespace allot {

// What a token needs for a route.
struct ScopeRule {
  enum class Kind : std::uint8_t {
    kNoToken,    // nobody needs one
    kAnyToken,   // any that is valid
    kScope,      // `first`
    kEither,     // `first` or `second`
    kByHandler,  // one of them: the handler knows which
  };
  Kind kind = Kind::kAnyToken;
  Scope first = Scope::kAdmin;
  Scope second = Scope::kAdmin;

  // kForbidden. What the handler decides passes.
  Result<void> Check(const Principal& principal) const;
};

struct Route {
  // Gets a call whose queue is found, where it has one, and whose token satisfies `scope` and may reach that queue.
  using Handler = Flow (*)(Call);
  // A WebSocket. The same holds for who asks.
  using Upgrade = std::shared_ptr<WsConnection> (*)(ServerContext& server, NetThread& net, QueuePtr queue,
                                                    const Request& request);
  // Takes a body of lines (application/x-ndjson) as it comes in. The same holds.
  using LineSink = std::unique_ptr<BodySink> (*)(ServerContext& server, std::shared_ptr<BodySource> source,
                                                 QueuePtr queue, const Request& request);

  // How it differs from most.
  enum Trait : std::uint8_t {
    kUsual = 0,
    kWatched = 1,        // it may be watched as a stream of events (live/live_views.h)
    kWhileStopping = 2,  // it is still served while the server stops
    kSharesPath = 4,     // with other methods, the path is one of the next pattern that takes it
  };

  // What goes over the wire: tables of src/wire/, null where there is nothing.
  struct Objects {
    const wire::Object* query = nullptr;
    const wire::Object* takes = nullptr;
    const wire::Object* gives = nullptr;
    const wire::Object* or_gives = nullptr;  // another one, as the query says
    const wire::Object* first = nullptr;     // what the client's first message is, of a WebSocket
    std::string_view media = "application/json";
    bool creates = false;        // the status is 201
    bool may_be_there = false;   // or 200, where it was there
    bool takes_nothing = false;  // it may come without a body
  };

  Method method = Method::kOther;
  PathPattern path;
  ScopeRule scope;
  Handler serve = nullptr;  // null for a WebSocket
  std::string_view words;   // what it does
  Objects objects = {};
  std::uint8_t traits = kUsual;
  Upgrade upgrade = nullptr;
  LineSink take_lines = nullptr;

  bool Is(Trait trait) const { return (traits & trait) != 0; }
};

// All of them. Rows of one path stand together, and before those of a less specific one.
std::span<const Route> Routes();

// What the table says of a request.
struct RouteMatch {
  const Route* any_method = nullptr;  // the first row of its path, whatever its method; null: there is nothing
  const Route* route = nullptr;       // the row of path and method; null: there is no such method
  // What is checked before anything else, also where nothing is found.
  bool of_queues = false;              // it is `/v1/queues` or below
  const std::string* queue = nullptr;  // its part {queue}, where it has one
};
RouteMatch FindRoute(const Request& request);

// The row that serves the request. kNotFound, kMethodNotAllowed.
Result<const Route*> RequireRoute(const RouteMatch& match, const Request& request);

// The methods of the row's path: `GET, PATCH`.
std::string AllowedMethods(const Route& route);
std::string_view MethodText(Method method);  // empty for kOther

// Does some path begin with this word?
bool BeginsRoute(std::string_view word);

}  // namespace allot
