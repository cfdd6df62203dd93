// SPDX-License-Identifier: Apache-2.0
// Background work of an owner, in steps: dropping folded events, sweeping removed jobs, and what deleted queues left.
//
// Threading: the store thread; the counters from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>

#include "store/postgres/loader.h"
#include "store/postgres/writer.h"

namespace allot::postgres {

class Tidier {
 public:
  Tidier(PostgresDatabase& database, Writer& writer) : database_(database), writer_(writer) {}
  Tidier(const Tidier&) = delete;
  Tidier& operator=(const Tidier&) = delete;

  void Loaded(const Found& found);
  // After each commit that did.
  void AddedEvents(std::uint64_t rows);
  void DroppedEvents();
  void AddedGarbage(std::vector<Garbage> garbage);
  void RaisedFloor() { events_pending_ = true; }
  // More comes in than is swept: a step should go before the next commit.
  bool behind() const { return garbage_.size() > kMuchGarbage; }

  // True while there is more to do.
  Result<bool> Step();

  std::uint64_t journal_rows() const { return journal_rows_; }
  std::uint64_t garbage_jobs() const { return garbage_jobs_; }

 private:
  static constexpr std::size_t kMuchGarbage = 16'384;
  Result<bool> DropEvents();
  Result<bool> Sweep();
  Result<bool> SweepDeletedQueues();

  PostgresDatabase& database_;
  Writer& writer_;
  bool events_pending_ = false;
  Position dropped_until_ = 0;
  std::deque<Garbage> garbage_;
  std::atomic<std::uint64_t> journal_rows_{0};
  std::atomic<std::uint64_t> garbage_jobs_{0};
};

}  // namespace allot::postgres
