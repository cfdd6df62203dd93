// SPDX-License-Identifier: Apache-2.0
// A queue in a PostgreSQL database, which may hold many: shared tables, keyed by the queue's number.
//
// Opening: makes the queue this server's, and fails with kStoreLocked while another one has it that is alive,
//          kUnavailable if the database cannot be reached.
// In use:  a commit is one transaction and one round trip. kUnavailable means that the database cannot be reached, or
// has
//          not answered yet: the same commit is to be tried again, and will tell what became of it. kFenced: another
//          server has the queue, and nothing of the commit is there.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "store/postgres/database.h"
#include "store/postgres/writer.h"
#include "store/store.h"

namespace allot {

class PostgresStore {
 public:
  // Makes the queue if it is not there.
  static Result<std::unique_ptr<Store>> Open(std::shared_ptr<PostgresDatabase> database, const std::string& queue);
  // As a node of a cluster: as Writer::Take().
  static Result<std::unique_ptr<Store>> Take(std::shared_ptr<PostgresDatabase> database, const std::string& queue,
                                             std::int64_t number, const postgres::Ticket& ticket);
};

}  // namespace allot
