// SPDX-License-Identifier: Apache-2.0
// A thin skin over SQLite's C interface: connections and prepared statements that close themselves, and errors with our
// codes.
//
// Threading: a Database and its statements are used by one thread at a time.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace allot::sqlite {

inline constexpr int kBusyMs = 10'000;  // how long a connection waits for a lock of another

class Database {
 public:
  Database() = default;
  // `flags` as of sqlite3_open_v2(); `vfs` empty: the default one.
  static Result<Database> Open(const std::string& file, int flags, const std::string& vfs);

  sqlite3* get() const { return db_.get(); }
  // One or several statements, results ignored.
  Result<void> Exec(const std::string& text);
  // The first column of the first row, 0 if there is none.
  Result<std::int64_t> QueryInt(const std::string& text);
  // What `code`, returned by a call on this connection, means. `doing` completes "cannot ...".
  Error ErrorOf(int code, std::string_view doing) const;

 private:
  struct Closer {
    void operator()(sqlite3* db) const;
  };
  std::unique_ptr<sqlite3, Closer> db_;
  std::string file_;
};

// Destroy before its Database.
class Statement {
 public:
  Statement() = default;
  // Fails as SQLite does, at preparation.
  static Result<Statement> Prepare(Database& db, const char* text);

  // Begins anew with these parameters. Text must live until the statement is reset.
  template <typename... Args>
  void Start(const Args&... args) {
    Reset();
    [[maybe_unused]] int index = 0;
    (Bind(++index, args), ...);
  }
  // SQLITE_ROW, SQLITE_DONE or an error.
  int Step() { return sqlite3_step(statement_.get()); }
  // Runs to its end. SQLITE_OK or an error.
  template <typename... Args>
  int Run(const Args&... args) {
    Start(args...);
    int code = Step();
    while (code == SQLITE_ROW) code = Step();
    const int end = Reset();
    return code == SQLITE_DONE ? end : code;
  }
  // Gives up locks and parameters.
  int Reset() { return sqlite3_reset(statement_.get()); }

  std::int64_t Int(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  bool IsNull(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }
  // Whether a column `sum` is that of the row, or the row is older than sums.
  bool HasSum(int column, std::int64_t sum) const { return IsNull(column) || Int(column) == sum; }
  // Valid until the next Step() or Reset().
  std::string_view Blob(int column) const;

 private:
  void Bind(int index, std::int64_t value) { sqlite3_bind_int64(statement_.get(), index, value); }
  void Bind(int index, std::uint64_t value) { Bind(index, static_cast<std::int64_t>(value)); }
  void Bind(int index, std::uint32_t value) { Bind(index, static_cast<std::int64_t>(value)); }
  void Bind(int index, std::string_view value) {
    sqlite3_bind_blob64(statement_.get(), index, value.empty() ? "" : value.data(), value.size(), SQLITE_STATIC);
  }
  void Bind(int index, const std::string& value) { Bind(index, std::string_view(value)); }

  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
};

// Resets a statement at the end of a scope, so that its read lock goes.
class ResetAtEnd {
 public:
  explicit ResetAtEnd(Statement& statement) : statement_(statement) {}
  ~ResetAtEnd() { statement_.Reset(); }
  ResetAtEnd(const ResetAtEnd&) = delete;
  ResetAtEnd& operator=(const ResetAtEnd&) = delete;

 private:
  Statement& statement_;
};

// Prepares several: `{&member, "text"}` each.
struct ToPrepare {
  Statement* statement;
  const char* text;
};
Result<void> PrepareAll(Database& db, std::initializer_list<ToPrepare> list);

}  // namespace allot::sqlite
