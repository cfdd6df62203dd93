// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/database.h"

#include <utility>

#include "store/postgres/reads.h"
#include "store/postgres/schema.h"

namespace allot {

using namespace std::chrono_literals;
using postgres::Connection;

namespace {

// So long nobody tries again after the database could not be reached: each try may take seconds.
constexpr auto kDownPause = 500ms;
constexpr char kReaderName[] = "allotter reader";

}  // namespace

Result<std::shared_ptr<PostgresDatabase>> PostgresDatabase::Open(PostgresOptions options) {
  std::shared_ptr<PostgresDatabase> database(new PostgresDatabase(std::move(options)));
  const PostgresOptions& with = database->options_;
  Result<std::unique_ptr<Connection>> db =
      Connection::Open({.url = with.url, .application = "allotter start", .schema = "", .prepare = {}});
  if (!db) return db.error();
  if (Result<void> done = postgres::CheckServer(**db, {with.allow_no_standby, with.warn}); !done) return done.error();
  if (Result<void> done = postgres::Migrate(**db, with.schema, postgres::Migrations()); !done) return done.error();
  return database;
}

std::string PostgresDatabase::Where() const { return postgres::RedactedUrl(options_.url); }

Result<std::unique_ptr<Connection>> PostgresDatabase::Connect(const std::string& application,
                                                              std::span<const postgres::Statement> prepare) const {
  return Connection::Open(
      {.url = options_.url, .application = application, .schema = options_.schema, .prepare = prepare});
}

Result<PostgresDatabase::Lease> PostgresDatabase::Borrow() {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [this] { return !idle_.empty() || lent_ < options_.max_readers; });
  if (idle_.empty() && down_ && std::chrono::steady_clock::now() < down_since_ + kDownPause) return *down_;
  ++lent_;
  if (!idle_.empty()) {
    std::unique_ptr<Connection> connection = std::move(idle_.back());
    idle_.pop_back();
    return Lease(this, std::move(connection));
  }
  lock.unlock();
  Result<std::unique_ptr<Connection>> connection = Connect(kReaderName, postgres::ReadStatements());
  lock.lock();
  if (connection) {
    down_.reset();
    return Lease(this, std::move(*connection));
  }
  --lent_;
  down_ = connection.error();
  down_since_ = std::chrono::steady_clock::now();
  returned_.notify_one();
  return connection.error();
}

void PostgresDatabase::Return(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    --lent_;
    if (connection->usable()) idle_.push_back(std::move(connection));
  }
  returned_.notify_one();
}

Result<postgres::Rows> PostgresDatabase::Read(const postgres::Statement& statement, const postgres::Params& params) {
  for (int tries = 0;; ++tries) {
    Result<Lease> reader = Borrow();
    if (!reader) return reader.error();
    const auto began = std::chrono::steady_clock::now();
    Result<postgres::Rows> rows = (*reader)->Run(statement, params, began + options_.read_patience);
    if (rows) {
      const auto took = (std::chrono::steady_clock::now() - began).count();
      const std::int64_t before = read_time_.load(std::memory_order_relaxed);
      read_time_.store(before == 0 ? took : before + (took - before) / 8, std::memory_order_relaxed);
      return rows;
    }
    // It may have been lost long ago, while nobody used it; all that lay idle may be.
    const bool late = std::chrono::steady_clock::now() - began >= options_.read_patience;
    if ((*reader)->usable() || late || tries >= 2) return rows;
    const std::lock_guard lock(mutex_);
    idle_.clear();
  }
}

}  // namespace allot
