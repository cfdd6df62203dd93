// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/schema.h"

#include <string>

namespace allot::sqlite {
namespace {

constexpr Migration kMigrations[] = {
#include "store_migrations.inc"
};

std::string FileName(const Database& db) {
  const char* name = sqlite3_db_filename(db.get(), "main");
  return name == nullptr ? "" : name;
}

}  // namespace

std::span<const Migration> Migrations() { return kMigrations; }

Result<std::int64_t> CheckFile(Database& db, std::span<const Migration> migrations) {
  const Result<std::int64_t> application = db.QueryInt("PRAGMA application_id");
  if (!application) return application.error();
  const Result<std::int64_t> tables = db.QueryInt("SELECT count(*) FROM sqlite_schema");
  if (!tables) return tables.error();
  // A start that was cut short leaves an empty database: as good as none.
  if (*application == 0 && *tables == 0) return 0;
  if (*application != kApplicationId) {
    return Error{Code::kStoreForeign, FileName(db) + " is a database of another program",
                 "move the file away, or use another data directory"};
  }
  const Result<std::int64_t> version = db.QueryInt("PRAGMA user_version");
  if (!version) return version.error();
  if (*version > static_cast<std::int64_t>(migrations.size())) {
    return Error{Code::kStoreNewer,
                 FileName(db) + " was written by a newer program: its format is " + std::to_string(*version) +
                     ", this program knows " + std::to_string(migrations.size()),
                 "run the newer program, or restore a backup made by this one"};
  }
  return *version;
}

Result<void> Migrate(Database& db, std::span<const Migration> migrations) {
  const Result<std::int64_t> version = CheckFile(db, migrations);
  if (!version) return version.error();
  for (std::size_t i = static_cast<std::size_t>(*version); i < migrations.size(); ++i) {
    const std::string script = "BEGIN IMMEDIATE;" + std::string(migrations[i].text) +
                               ";PRAGMA application_id = " + std::to_string(kApplicationId) +
                               ";PRAGMA user_version = " + std::to_string(i + 1) + ";COMMIT;";
    const Result<void> done = db.Exec(script);
    if (done) continue;
    if (sqlite3_get_autocommit(db.get()) == 0) sqlite3_exec(db.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    Error error = done.error();
    error.message = FileName(db) + ": migration " + migrations[i].name + " failed: " + error.message;
    return error;
  }
  return {};
}

}  // namespace allot::sqlite
