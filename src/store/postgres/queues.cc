// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/queues.h"

namespace allot::postgres {
namespace {

constexpr char kName[] = "allotter queues";
// What is keyed by a queue's number, but for its head.
constexpr const char* kTables[] = {"journal", "jobs", "pages", "payloads", "loose", "outcomes", "garbage", "settings"};
constexpr int kRowsOfStep = 1000;
constexpr char kMake[] =
    "WITH made AS (INSERT INTO queues (name) VALUES ($1::text) ON CONFLICT (name) WHERE deleted IS NULL DO NOTHING "
    "RETURNING number) INSERT INTO heads (queue, incarnation) SELECT number, $2::text FROM made RETURNING queue";

}  // namespace

Result<std::int64_t> MakeQueue(PostgresDatabase& database, const std::string& name, const std::string& writer) {
  Result<std::unique_ptr<Connection>> db = database.Connect(kName);
  if (!db) return db.error();
  Result<Rows> made = (*db)->Run(kMake, Params(name, writer));
  if (!made) return made.error();
  if (made->empty()) return Error{Code::kQueueExists, "there is a queue " + name + " already", ""};
  return made->Int(0, 0);
}

Result<std::int64_t> NumberOf(PostgresDatabase& database, const std::string& name) {
  Result<std::unique_ptr<Connection>> db = database.Connect(kName);
  if (!db) return db.error();
  const Params params(name);
  const Params nobody(name, "");
  for (int tries = 0; tries < 3; ++tries) {
    Result<Rows> found = (*db)->Run("SELECT number FROM queues WHERE name = $1::text AND deleted IS NULL", params);
    if (!found) return found.error();
    if (!found->empty()) return found->Int(0, 0);
    // Another one may be faster: then it is found.
    Result<Rows> made = (*db)->Run(kMake, nobody);
    if (!made) return made.error();
    if (!made->empty()) return made->Int(0, 0);
  }
  return Error{Code::kUnavailable, "the queue " + name + " is being made and deleted all the time", ""};
}

Result<std::vector<std::string>> ListQueues(PostgresDatabase& database) {
  Result<std::unique_ptr<Connection>> db = database.Connect(kName);
  if (!db) return db.error();
  Result<Rows> rows = (*db)->Run("SELECT name FROM queues WHERE deleted IS NULL ORDER BY name");
  if (!rows) return rows.error();
  std::vector<std::string> names;
  for (int row = 0; row < rows->size(); ++row) names.emplace_back(rows->Bytes(row, 0));
  return names;
}

Result<void> DeleteQueue(PostgresDatabase& database, const std::string& name) {
  Result<std::unique_ptr<Connection>> db = database.Connect(kName);
  if (!db) return db.error();
  // Without its head nobody can commit to it.
  Result<Rows> gone = (*db)->Run(
      "WITH gone AS (UPDATE queues SET deleted = now() WHERE name = $1::text AND deleted IS NULL RETURNING number) "
      "DELETE "
      "FROM heads WHERE queue IN (SELECT number FROM gone)",
      Params(name));
  if (!gone) return gone.error();
  database.unswept() = true;
  return {};
}

Result<bool> SweepDeleted(PostgresDatabase& database) {
  Result<PostgresDatabase::Lease> db = database.Borrow();
  if (!db) return db.error();
  Result<Rows> next = (*db)->Run("SELECT number FROM queues WHERE deleted IS NOT NULL ORDER BY number LIMIT 1");
  if (!next) return next.error();
  if (next->empty()) return false;
  const std::string queue = std::to_string(next->Int(0, 0));
  for (const char* table : kTables) {
    const std::string text = std::string("DELETE FROM ") + table + " WHERE ctid = ANY(ARRAY(SELECT ctid FROM " + table +
                             " WHERE queue = " + queue + " LIMIT " + std::to_string(kRowsOfStep) + "))";
    Result<Rows> gone = (*db)->Run(text.c_str());
    if (!gone) return gone.error();
    if (gone->changed() > 0) return true;
  }
  const std::string text = "DELETE FROM queues WHERE number = " + queue;
  Result<Rows> gone = (*db)->Run(text.c_str());
  if (!gone) return gone.error();
  return true;
}

}  // namespace allot::postgres
