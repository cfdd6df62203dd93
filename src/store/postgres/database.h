// SPDX-License-Identifier: Apache-2.0
// A database that holds queues, as all queues of a server use it: how to connect, and connections for reading.
//
// Threading: all methods may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/postgres/connection.h"

namespace allot {

struct PostgresOptions {
  std::string url;                  // `postgres://…`, or a list of settings as libpq takes it
  std::string schema = "allotter";  // of the tables; made if it is not there
  std::string node;                 // how others know this server
  bool allow_no_standby = false;    // one copy of the database is enough
  std::function<void(const std::string& what)> warn;

  std::size_t max_readers = 8;                       // connections for reading; made when first needed
  std::size_t payload_cache_bytes = 32 << 20;        // of each queue
  std::chrono::milliseconds claim_patience{20'000};  // how long to wait for an owner that may be dying
  std::chrono::milliseconds commit_patience{1'500};  // before a commit says that it waits
  std::chrono::milliseconds read_patience{2'000};    // before a reading is given up
  bool take_over = false;                            // ends an owner that is alive
};

class PostgresDatabase {
 public:
  // Connects, looks whether the database can be relied on, and brings its tables up to date.
  static Result<std::shared_ptr<PostgresDatabase>> Open(PostgresOptions options);

  const PostgresOptions& options() const { return options_; }
  // For people: where it is, without the password.
  std::string Where() const;

  Result<std::unique_ptr<postgres::Connection>> Connect(const std::string& application,
                                                        std::span<const postgres::Statement> prepare = {}) const;

  // A connection for reading, for the life of the lease. One that is not usable any more is not lent again.
  class Lease {
   public:
    Lease(PostgresDatabase* database, std::unique_ptr<postgres::Connection> connection)
        : database_(database), connection_(std::move(connection)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (connection_) database_->Return(std::move(connection_));
    }
    postgres::Connection* operator->() { return connection_.get(); }

   private:
    PostgresDatabase* database_;
    std::unique_ptr<postgres::Connection> connection_;
  };
  // Waits while as many as there may be are lent. While the database cannot be reached, says so at once.
  Result<Lease> Borrow();
  // A statement on such a connection, tried again on another if it was lost. Reading only.
  Result<postgres::Rows> Read(const postgres::Statement& statement, const postgres::Params& params);
  // How long the last readings took, smoothed.
  std::chrono::nanoseconds read_time() const { return std::chrono::nanoseconds(read_time_.load()); }

  // There may be deleted queues to sweep.
  std::atomic<bool>& unswept() { return unswept_; }

 private:
  explicit PostgresDatabase(PostgresOptions options) : options_(std::move(options)) {}
  void Return(std::unique_ptr<postgres::Connection> connection);

  const PostgresOptions options_;
  std::atomic<std::int64_t> read_time_{0};
  std::atomic<bool> unswept_{true};
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<postgres::Connection>> idle_;  // guarded by mutex_
  std::size_t lent_ = 0;                                     // guarded by mutex_
  std::optional<Error> down_;                                // why it could not be reached; guarded by mutex_
  std::chrono::steady_clock::time_point down_since_;         // guarded by mutex_
};

}  // namespace allot
