// SPDX-License-Identifier: Apache-2.0
// Assignments with their payloads, as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/looks/views.h"
#include "engine/types.h"
#include "store/store.h"

namespace allot {

// A grant whose payload is damaged in the store: no worker can run it.
struct DamagedGrant {
  TaskRef task;
  std::string error;
};

// Grants, and the headers of their jobs by the place of the first grant that they go with.
struct GrantList {
  const std::vector<Grant>& grants;
  const std::vector<std::pair<std::size_t, JobHeaderView>>& headers;
};
struct GrantTexts {
  std::string& tasks;     // `{…},{…}`
  std::string headers{};  // the same
  std::vector<DamagedGrant> damaged{};
};
// Appends grants from `begin` on until `out` is longer than `max_bytes`, always at least one. Gives the
// index of the first one left out. Reads payloads: the grants' submits must be durable. Grants
// with a damaged payload are left out, and told in `damaged`; any other error of the store is returned.
Result<std::size_t> AppendGrants(Store& store, const GrantList& list, std::size_t begin, std::size_t max_bytes,
                                 GrantTexts& out);

}  // namespace allot
