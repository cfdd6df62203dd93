// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/postgres_catalogue.h"

#include "store/postgres/postgres_store.h"
#include "store/postgres/queues.h"

namespace allot {

Result<void> PostgresCatalogue::Prepare() {
  if (database_) return {};
  Result<std::shared_ptr<PostgresDatabase>> database = PostgresDatabase::Open(options_);
  if (!database) return database.error();
  database_ = std::move(*database);
  return {};
}

Result<std::vector<std::string>> PostgresCatalogue::List() { return postgres::ListQueues(*database_); }

Result<std::unique_ptr<Store>> PostgresCatalogue::Open(const std::string& queue) {
  return PostgresStore::Open(database_, queue);
}

Result<void> PostgresCatalogue::Delete(const std::string& queue) { return postgres::DeleteQueue(*database_, queue); }

}  // namespace allot
