// SPDX-License-Identifier: Apache-2.0
// What the tables look like, and how old ones become new ones.
//
// Changing it: add migrations/NNNN_name.sql with the next number; never edit one that was released. Programs of the
// version before may still be at work on the same tables while it runs: first add what is new, and take away what is
// old in a later version, raising `compatible` of the table `cluster` there. What goes into blobs in a new form waits
// for `feature_level`, which is raised when all programs can read it.
#pragma once

#include <span>
#include <string>

#include "store/postgres/connection.h"

namespace allot::postgres {

struct Migration {
  const char* name;  // NNNN_name
  const char* text;
};
// Numbered from 1, in order.
std::span<const Migration> Migrations();

inline constexpr int kFeatureLevel = 1;  // that this program writes and reads

// Whether the database can be relied on, and is spoken to directly. `warn` gets what merely should not be so.
struct ServerChecks {
  bool allow_no_standby = false;
  std::function<void(const std::string& what)> warn;
};
Result<void> CheckServer(Connection& db, const ServerChecks& checks);

// Makes the schema, or what it lacks. kStoreNewer if a newer program made it and took away what this one needs;
// kStoreForeign if something else has its name; kStoreFailed, with what to grant, without the rights for it.
Result<void> Migrate(Connection& db, const std::string& schema, std::span<const Migration> migrations);

}  // namespace allot::postgres
