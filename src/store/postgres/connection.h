// SPDX-License-Identifier: Apache-2.0
// A thin skin over libpq: connections that close themselves, statements with binary parameters and results, pipelines,
// and errors with our codes.
//
// Everything but Script() and copying goes through a pipeline: statements up to a Sync are one transaction, which is
// there whole or not at all, and cost one round trip.
//
// Threading: a Connection is used by one thread at a time.
// Errors:    kUnavailable: the database cannot be reached, or asks to try again; kDiskFull; kFenced; kStoreCorrupt;
//            kStoreFailed for all else. No message has a password in it.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace allot::postgres {

// A statement that is used often has a name, under which a connection prepares it.
struct Statement {
  const char* name;
  const char* text;
};

// An array of 8-byte integers or of blobs, as the database takes it.
class Array {
 public:
  static Array OfInts();
  static Array OfBlobs();
  void Add(std::int64_t v);
  void Add(std::string_view v);
  std::uint32_t size() const { return count_; }
  // The whole, for Params.
  std::string_view Bytes();

 private:
  explicit Array(std::uint32_t type);
  std::string bytes_;
  std::uint32_t count_ = 0;
};

// What a statement is given: $1, $2, … in this order. All are binary; blobs, texts and arrays must live until it is
// sent.
class Params {
 public:
  template <typename... Args>
  explicit Params(Args&&... args) {
    (Add(args), ...);
  }
  int size() const { return static_cast<int>(values_.size()); }
  const char* const* values() const { return values_.data(); }
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }

 private:
  void Add(std::int64_t v);
  void Add(int v) { Add(std::int64_t{v}); }
  void Add(std::uint64_t v) { Add(static_cast<std::int64_t>(v)); }
  void Add(std::string_view v);
  void Add(const std::string& v) { Add(std::string_view(v)); }
  void Add(const char* v) { Add(std::string_view(v)); }
  void Add(Array& v) { Add(v.Bytes()); }

  std::deque<std::string> owned_;
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
};

// What a statement gave back.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result) {}
  int size() const { return PQntuples(result_.get()); }
  bool empty() const { return size() == 0; }
  bool IsNull(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
  // Of an integer of any width, or a truth value.
  std::int64_t Int(int row, int column) const;
  std::uint64_t Id(int row, int column) const { return static_cast<std::uint64_t>(Int(row, column)); }
  std::string_view Bytes(int row, int column) const;
  std::uint64_t changed() const;  // rows, of a statement that changes some
  const PGresult* raw() const { return result_.get(); }

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

class Connection {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  static constexpr Deadline kForever = Deadline::max();

  struct Options {
    std::string url;
    std::string application;  // by which pg_stat_activity knows it
    std::string schema;
    std::span<const Statement> prepare;
  };
  static Result<std::unique_ptr<Connection>> Open(const Options& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Puts a statement into the pipeline, which the next Sync() ends.
  void Send(const Statement& statement, const Params& params = Params());
  void Sync();
  // Waits for what was sent up to the Sync().
  enum class Answer {
    kDone,  // all of it was, or nothing: see failure()
    kLate,  // not until `deadline`: goes on, and can be waited for again
    kLost,  // the connection is lost, or the answer cannot be relied on: it may or may not have been done
  };
  Answer Await(Deadline deadline = kForever);
  // After kDone: why nothing was done; none if all was. After kLost: what is known of it.
  const std::optional<Error>& failure() const { return failure_; }
  // After kDone without a failure: what each statement gave, in order.
  const std::vector<Rows>& rows() const { return rows_; }
  std::vector<Rows> TakeRows() { return std::move(rows_); }

  // One statement by itself, done and waited for. A late answer is kUnavailable, and makes the connection unusable.
  Result<Rows> Run(const Statement& statement, const Params& params = Params(), Deadline deadline = kForever);
  Result<Rows> Run(const char* text, const Params& params = Params(), Deadline deadline = kForever) {
    return Run(Statement{nullptr, text}, params, deadline);
  }
  // Several statements without parameters or results, as one transaction unless they say otherwise.
  Result<void> Script(const std::string& text);
  // The rows of `query`, which is written out, one by one: fields by place. Ends with the first error of `row`.
  using Fields = std::vector<std::string_view>;
  Result<void> CopyOut(const std::string& query, const std::function<Result<void>(const Fields&)>& row);
  // `table (columns)` gets the rows that `next` makes: false when there are no more. Integers and blobs as Array has
  // them.
  class Row {
   public:
    void Int4(std::int32_t v);
    void Int8(std::int64_t v);
    void Blob(std::string_view v);

   private:
    friend class Connection;
    std::string bytes_;
    std::uint16_t fields_ = 0;
  };
  Result<void> CopyIn(const std::string& table, const std::function<Result<bool>(Row&)>& next);

  bool usable() const { return usable_; }
  std::int64_t pid() const { return PQbackendPID(connection_); }
  int server_version() const { return PQserverVersion(connection_); }
  // `text` as a literal of a script.
  std::string Quoted(std::string_view text) const;
  // As an identifier.
  static std::string Name(std::string_view text);

 private:
  explicit Connection(PGconn* connection) : connection_(connection) {}
  Result<void> Prepare(const Options& options);
  Error Lost() const;
  static void OnNotice(void* self, const PGresult* notice);
  // Pipelining, or one statement at a time, which copying needs.
  void Pipeline(bool on);
  Answer EndLost();
  Result<void> PutCopied(std::string_view bytes);
  // The command was taken, and rows may go or come; it is not usable until all have.
  Result<void> BeginCopy(const std::string& command, ExecStatusType wanted);

  PGconn* const connection_;
  bool usable_ = true;
  bool warned_ = false;  // a warning came that says that what was done may not last
  std::size_t sent_ = 0;
  std::optional<Error> failure_;
  std::vector<Rows> rows_;
  std::vector<std::string_view> prepared_;
};

// An integer as it stands in a field of CopyOut().
std::int64_t IntOf(std::string_view field);

// `url` without what it holds of secrets.
std::string RedactedUrl(std::string_view url);

}  // namespace allot::postgres
