// SPDX-License-Identifier: Apache-2.0
// Reading payloads and outcomes, beside the store thread: a few read-only connections, lent to whoever asks.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/journal/young.h"
#include "store/packed/payload_cache.h"
#include "store/sqlite/sql.h"
#include "store/store.h"

namespace allot::sqlite {

class LowestOutcomes;

// One connection with its statements.
// Threading: one thread at a time.
class Reader {
 public:
  static Result<std::unique_ptr<Reader>> Open(const std::string& file, const std::string& vfs);

  // From the file; puts what it read, and some sets that follow it, into `cache`.
  Store::PayloadRead ReadPayload(JobId set, std::int64_t index, PayloadCache& cache);
  // With those of `young`, as far as they are not in the file yet.
  Result<std::vector<Outcome>> ReadOutcomes(const Store::OutcomeQuery& query,
                                            const journal::Young::FoundOutcomes& young);
  Database& db() { return db_; }

 private:
  Database db_;
  // If the segment has the task's payload, it is in `found`.
  Result<void> ReadSegment(JobId set, std::int64_t index, PayloadCache& cache, std::optional<PinnedText>& found);
  Result<void> AddOutcomes(const Store::OutcomeQuery& query, LowestOutcomes& lowest);
  Result<void> ReadHeads(JobId set, std::int64_t index, PayloadCache& cache, std::optional<PinnedText>& found);

  Statement segment_;
  Statement heads_;
  Statement outcomes_;
  Statement begin_, end_, applied_;
};

// Threading: all methods may be called from any thread.
class ReaderPool {
 public:
  ReaderPool(std::string file, std::string vfs, std::size_t max)
      : file_(std::move(file)), vfs_(std::move(vfs)), max_(max) {}

  // A reader for the life of the lease.
  class Lease {
   public:
    Lease(ReaderPool* pool, std::unique_ptr<Reader> reader) : pool_(pool), reader_(std::move(reader)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (reader_) pool_->Return(std::move(reader_));
    }
    Reader* operator->() { return reader_.get(); }

   private:
    ReaderPool* pool_;
    std::unique_ptr<Reader> reader_;
  };
  // Waits while `max` are lent.
  Result<Lease> Borrow();

 private:
  void Return(std::unique_ptr<Reader> reader);

  const std::string file_;
  const std::string vfs_;
  const std::size_t max_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Reader>> idle_;  // guarded by mutex_
  std::size_t lent_ = 0;                       // guarded by mutex_
};

}  // namespace allot::sqlite
