// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/sql.h"

#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace allot::sqlite {
namespace {

bool IsOutOfSpace(int system_error) { return system_error == ENOSPC || system_error == EDQUOT; }

}  // namespace

void Database::Closer::operator()(sqlite3* db) const {
  // Only statements that outlive their connection can make this fail.
  CHECK(sqlite3_close(db) == SQLITE_OK);
}

Result<Database> Database::Open(const std::string& file, int flags, const std::string& vfs) {
  Database database;
  database.file_ = file;
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &db, flags, vfs.empty() ? nullptr : vfs.c_str());
  database.db_.reset(db);
  if (code != SQLITE_OK) return database.ErrorOf(code, "open it");
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, kBusyMs);
  return database;
}

Result<void> Database::Exec(const std::string& text) {
  const int code = sqlite3_exec(get(), text.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return ErrorOf(code, "run '" + text.substr(0, 60) + "'");
  return {};
}

Result<std::int64_t> Database::QueryInt(const std::string& text) {
  Result<Statement> statement = Statement::Prepare(*this, text.c_str());
  if (!statement) return statement.error();
  const int code = statement->Step();
  if (code == SQLITE_ROW) return statement->Int(0);
  if (code == SQLITE_DONE) return 0;
  return ErrorOf(code, "run '" + text.substr(0, 60) + "'");
}

Error Database::ErrorOf(int code, std::string_view doing) const {
  const int primary = code & 0xff;
  std::string message = file_ + ": cannot " + std::string(doing) + ": ";
  message += db_ ? sqlite3_errmsg(get()) : sqlite3_errstr(code);
  if (primary == SQLITE_FULL) return {Code::kDiskFull, std::move(message), "free some space on this disk"};
  if (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) {
    const int system_error = db_ ? sqlite3_system_errno(get()) : 0;
    if (system_error != 0) message += std::string(" (") + std::strerror(system_error) + ")";
    if (IsOutOfSpace(system_error)) return {Code::kDiskFull, std::move(message), "free some space on this disk"};
  }
  switch (primary) {
    case SQLITE_CORRUPT:
      return {Code::kStoreCorrupt, std::move(message), "restore a backup: allot restore"};
    case SQLITE_NOTADB:
      return {Code::kStoreForeign, std::move(message), "move the file away, or use another data directory"};
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {Code::kStoreFailed, std::move(message), "make the file and its directory writable for this user"};
    default:
      return {Code::kStoreFailed, std::move(message), ""};
  }
}

Result<Statement> Statement::Prepare(Database& db, const char* text) {
  Statement statement;
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(db.get(), text, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  statement.statement_.reset(raw);
  if (code != SQLITE_OK) return db.ErrorOf(code, std::string("prepare '") + text + "'");
  return statement;
}

std::string_view Statement::Blob(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

Result<void> PrepareAll(Database& db, std::initializer_list<ToPrepare> list) {
  for (const ToPrepare& entry : list) {
    Result<Statement> statement = Statement::Prepare(db, entry.text);
    if (!statement) return statement.error();
    *entry.statement = std::move(*statement);
  }
  return {};
}

}  // namespace allot::sqlite
