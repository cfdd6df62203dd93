// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/tidier.h"

#include <algorithm>
#include <utility>

#include "store/postgres/queues.h"
#include "store/postgres/statements.h"

namespace allot::postgres {
namespace {

// Of one step: a few milliseconds of the database's time, and one wait for its disk.
constexpr std::int64_t kEventRows = 512;
constexpr std::int64_t kSweptRows = 2000;  // of each table
constexpr std::size_t kLeastJobs = 64, kMostJobs = 1024;

}  // namespace

void Tidier::Loaded(const Found& found) {
  garbage_ = found.garbage;
  garbage_jobs_ = garbage_.size();
  journal_rows_ = found.journal_rows;
  events_pending_ = found.journal_rows > 0;
}

void Tidier::AddedEvents(std::uint64_t rows) { journal_rows_ += rows; }

void Tidier::DroppedEvents() {
  journal_rows_ = 0;
  dropped_until_ = 0;
}

void Tidier::AddedGarbage(std::vector<Garbage> garbage) {
  garbage_.insert(garbage_.end(), garbage.begin(), garbage.end());
  garbage_jobs_ += garbage.size();
}

Result<bool> Tidier::Step() {
  if (events_pending_) return DropEvents();
  if (!garbage_.empty()) return Sweep();
  if (database_.unswept()) return SweepDeletedQueues();
  return false;
}

Result<bool> Tidier::DropEvents() {
  const Position floor = writer_.head().floor;
  if (dropped_until_ >= floor) {
    events_pending_ = false;
    return true;
  }
  std::vector<Rows> rows;
  const Result<void> done = writer_.Commit(
      Writer::kSmallWork,
      [&](Connection& db, Head&) {
        db.Send(kDropSomeEvents, Params(writer_.queue(), dropped_until_, floor, kEventRows));
      },
      &rows);
  if (!done) return done.error();
  if (rows.empty()) return true;  // it happened, as it turned out later: once more, for the counters
  const std::uint64_t count = rows[0].Id(0, 0);
  journal_rows_ -= std::min<std::uint64_t>(count, journal_rows_);
  writer_.AddBytes(-rows[0].Int(0, 1));
  if (count == static_cast<std::uint64_t>(kEventRows)) {
    dropped_until_ = rows[0].Id(0, 2);
    return true;
  }
  dropped_until_ = floor;
  events_pending_ = false;
  return true;
}

Result<bool> Tidier::Sweep() {
  const std::size_t count = std::min(garbage_.size(), std::clamp(garbage_.size() / 8, kLeastJobs, kMostJobs));
  std::vector<Rows> rows;
  const Result<void> done = writer_.Commit(
      Writer::kSmallWork,
      [&](Connection& db, Head&) {
        Array seqs = Array::OfInts(), jobs = Array::OfInts(), sets = Array::OfInts();
        for (std::size_t i = 0; i < count; ++i) {
          seqs.Add(garbage_[i].seq);
          if (garbage_[i].job != 0) jobs.Add(garbage_[i].job);
          if (garbage_[i].set != 0) sets.Add(garbage_[i].set);
        }
        db.Send(kSweepOutcomes, Params(writer_.queue(), jobs, kSweptRows));
        db.Send(kSweepPayloads, Params(writer_.queue(), sets, kSweptRows));
        db.Send(kSweepPages, Params(writer_.queue(), jobs, kSweptRows));
        db.Send(kDeleteJobs, Params(writer_.queue(), jobs));
        db.Send(kSweepLoose, Params(writer_.queue(), sets));
        db.Send(kDropGarbage, Params(writer_.queue(), seqs, jobs, sets));
      },
      &rows);
  if (!done) return done.error();
  if (rows.empty()) return true;
  bool whole = true;
  std::int64_t bytes = rows[3].Int(0, 0);
  for (int table = 0; table < 3; ++table) {
    whole = whole && rows[static_cast<std::size_t>(table)].Int(0, 0) < kSweptRows;
    bytes += rows[static_cast<std::size_t>(table)].Int(0, 1);
  }
  writer_.AddBytes(-bytes);
  if (!whole) return true;
  garbage_.erase(garbage_.begin(), garbage_.begin() + static_cast<std::ptrdiff_t>(count));
  garbage_jobs_ -= count;
  return true;
}

Result<bool> Tidier::SweepDeletedQueues() {
  // Cleared first: one that is deleted meanwhile sets it again.
  database_.unswept() = false;
  Result<bool> more = SweepDeleted(database_);
  if (!more || *more) database_.unswept() = true;
  return more;
}

}  // namespace allot::postgres
