// SPDX-License-Identifier: Apache-2.0
// Assignments with their payloads, as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/types.h"
#include "store/store.h"

namespace allot {

// A grant whose payload is damaged in the store: no worker can run it.
struct DamagedGrant {
  TaskRef task;
  std::string error;
};

// Appends `{…},{…}` for grants from `begin` on until `out` is longer than `max_bytes`, always at least one. Gives the
// index of the first one left out. Reads payloads: the grants' submits must be durable. Grants
// with a damaged payload are left out, and told in `damaged`; any other error of the store is returned.
Result<std::size_t> AppendGrants(Store& store, const std::vector<Grant>& grants, std::size_t begin,
                                 std::size_t max_bytes, std::string& out, std::vector<DamagedGrant>& damaged);

}  // namespace allot
