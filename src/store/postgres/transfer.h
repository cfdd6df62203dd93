// SPDX-License-Identifier: Apache-2.0
// A queue of a database as a file and back: the same file that a queue in SQLite is, or is backed up to. So a backup
// moves a queue from either kind of store to either.
//
// Threading: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "store/postgres/database.h"

namespace allot {

namespace postgres {

// The queue as it is at one moment, while it is in use, as the new file `to`.
Result<void> BackUpQueue(PostgresDatabase& database, std::int64_t queue, const std::string& to);

}  // namespace postgres

struct RestoreOptions {
  std::string file;   // as SqliteStore::PrepareRestored() leaves it
  std::string queue;  // that it becomes
  bool replace = false;
};
// Whole or not at all. kQueueExists if there is such a queue and it is not to be replaced; kStoreLocked while a server
// has it.
Result<void> RestoreIntoPostgres(PostgresDatabase& database, const RestoreOptions& options);

}  // namespace allot
