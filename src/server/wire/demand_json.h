// SPDX-License-Identifier: Apache-2.0
// What could start if workers were there, as the protocol's JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/looks/demand_walk.h"

namespace allot {

struct DemandQuery {
  DemandRequest request;
  std::size_t limit = 1000;  // rows shown; the totals are of all
};
// user, tag, limit.
Result<DemandQuery> ParseDemandQuery(std::string_view query);

void AppendDemand(const DemandWalk& walk, std::size_t limit, WallTime now, Duration took, std::string& out);

}  // namespace allot
