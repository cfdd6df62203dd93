// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/reader.h"

#include <algorithm>

#include "store/packed/checksum.h"
#include "store/packed/lowest_outcomes.h"
#include "store/packed/packing.h"

namespace allot::sqlite {
namespace {

constexpr std::size_t kSmallSegment = 4096;      // reading on behind larger ones is no gain
constexpr std::size_t kAheadBytes = 128 * 1024;  // of one read

constexpr char kDamageHint[] = "restore a backup, or submit the job again; allot check finds all that is damaged";

// What a row of payloads holds: its first index, the segment and the sum are in `column` and the two behind it. None if
// it is damaged.
std::shared_ptr<const UnpackedPayloads> SegmentOf(const Statement& row, std::uint64_t set, int column) {
  const std::string_view segment = row.Blob(column + 1);
  if (!row.HasSum(column + 2, RowSum({set, static_cast<std::uint64_t>(row.Int(column))}, segment))) return nullptr;
  return UnpackedPayloads::From(std::string(segment));
}

// The task's payload, if it is in this segment, which goes into the cache.
Result<void> Pick(JobId set, const Statement& row, int column, std::int64_t index, PayloadCache& cache,
                  std::optional<PinnedText>& found) {
  const std::int64_t first = row.Int(column);
  std::shared_ptr<const UnpackedPayloads> unpacked = SegmentOf(row, set.value, column);
  if (!unpacked) {
    const std::string whose = first == kCommonPayload ? "the payload of all tasks"
                                                      : "the payloads of tasks from " + std::to_string(first) + " on";
    return Error{Code::kStoreCorrupt,
                 whose + " of set " + std::to_string(set.value) + " are damaged in the queue's file", kDamageHint};
  }
  const auto nth = static_cast<std::uint64_t>(index - first);
  if (index < first || nth >= unpacked->count()) return {};
  found.emplace(unpacked->At(nth), unpacked);
  cache.Put(set, first, std::move(unpacked), false);
  return {};
}

}  // namespace

Result<std::unique_ptr<Reader>> Reader::Open(const std::string& file, const std::string& vfs) {
  auto reader = std::make_unique<Reader>();
  Result<Database> db = Database::Open(file, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, vfs);
  if (!db) return db.error();
  reader->db_ = std::move(*db);
  if (Result<void> done = reader->db_.Exec("PRAGMA cache_size = -1024"); !done) return done.error();
  const Result<void> prepared = PrepareAll(
      reader->db_,
      {{&reader->heads_,
        "SELECT set_id, first, segment, sum FROM payload_heads WHERE set_id >= ?1 ORDER BY set_id LIMIT ?2"},
       {&reader->segment_,
        "SELECT first, segment, sum FROM payloads WHERE set_id = ?1 AND first BETWEEN ?2 AND ?3 ORDER BY first "
        "DESC LIMIT 1"},
       {&reader->begin_, "BEGIN"},
       {&reader->end_, "COMMIT"},
       {&reader->applied_, "SELECT applied FROM state"},
       {&reader->outcomes_,
        "SELECT slice, lowest, packed, sum, seq, highest FROM outcome_index CROSS JOIN outcomes USING (seq)"
        " WHERE job = ?1 AND slice BETWEEN ?2 AND ?3 AND highest >= ?4 AND lowest < ?5 ORDER BY slice, seq"}});
  if (!prepared) return prepared.error();
  return reader;
}

Store::PayloadRead Reader::ReadPayload(JobId set, std::int64_t index, PayloadCache& cache) {
  std::optional<PinnedText> found;
  // Either table may have it; the likely one first.
  if (index > 0) {
    if (Result<void> done = ReadSegment(set, index, cache, found); !done) return done.error();
  }
  if (!found) {
    if (Result<void> done = ReadHeads(set, index, cache, found); !done) return done.error();
  }
  if (!found && index <= 0) {
    if (Result<void> done = ReadSegment(set, index, cache, found); !done) return done.error();
  }
  return found;
}

Result<void> Reader::ReadSegment(JobId set, std::int64_t index, PayloadCache& cache, std::optional<PinnedText>& found) {
  const ResetAtEnd reset(segment_);
  segment_.Start(set.value, std::min<std::int64_t>(index, 0), index);
  const int code = segment_.Step();
  if (code == SQLITE_DONE) return {};
  if (code != SQLITE_ROW) return db_.ErrorOf(code, "read payloads");
  return Pick(set, segment_, 0, index, cache, found);
}

Result<void> Reader::ReadHeads(JobId set, std::int64_t index, PayloadCache& cache, std::optional<PinnedText>& found) {
  const ResetAtEnd reset(heads_);
  heads_.Start(set.value, std::uint64_t{cache.ReadAhead()});
  int code = heads_.Step();
  if (code == SQLITE_ROW && heads_.Int(0) == static_cast<std::int64_t>(set.value)) {
    if (Result<void> done = Pick(set, heads_, 1, index, cache, found); !done) return done;
    // Jobs of one task are mostly taken in the order of their ids: the next ones will be asked for soon.
    std::size_t bytes = heads_.Blob(2).size();
    while (found && bytes < kAheadBytes && (code = heads_.Step()) == SQLITE_ROW) {
      const std::string_view segment = heads_.Blob(2);
      if (segment.size() > kSmallSegment) break;
      bytes += segment.size();
      const JobId next{static_cast<std::uint64_t>(heads_.Int(0))};
      std::shared_ptr<const UnpackedPayloads> unpacked = SegmentOf(heads_, next.value, 1);
      if (!unpacked) break;  // whoever asks for it will learn
      cache.Put(next, heads_.Int(1), std::move(unpacked), true);
    }
  }
  if (code != SQLITE_ROW && code != SQLITE_DONE) return db_.ErrorOf(code, "read payloads");
  return {};
}

Result<std::vector<Outcome>> Reader::ReadOutcomes(const Store::OutcomeQuery& query,
                                                  const journal::Young::FoundOutcomes& young) {
  LowestOutcomes lowest(query);
  if (query.end <= query.from || query.max == 0) return lowest.Take();
  if (young.outcomes.empty()) {
    if (Result<void> done = AddOutcomes(query, lowest); !done) return done.error();
    return lowest.Take();
  }
  // What SQLite took meanwhile, and what came after that, is seen in one state of the file.
  if (const int code = begin_.Run(); code != SQLITE_OK) return db_.ErrorOf(code, "begin to read");
  applied_.Start();
  Result<void> done;
  std::uint64_t applied = 0;
  if (const int code = applied_.Step(); code == SQLITE_ROW) {
    applied = static_cast<std::uint64_t>(applied_.Int(0));
    done = AddOutcomes(query, lowest);
  } else {
    done = db_.ErrorOf(code, "read its state");
  }
  applied_.Reset();
  end_.Run();
  if (!done) return done.error();
  for (const auto& [sequence, outcome] : young.outcomes) {
    if (sequence > applied) lowest.Add(query.job, {outcome.index, outcome.kind, outcome.attempt, outcome.text});
  }
  return lowest.Take();
}

Result<void> Reader::AddOutcomes(const Store::OutcomeQuery& query, LowestOutcomes& lowest) {
  const ResetAtEnd reset(outcomes_);
  const std::uint64_t last = std::min<std::uint64_t>(query.end - 1, 0xFFFFFFFF);
  outcomes_.Start(query.job.value, query.from / kSliceTasks, last / kSliceTasks, query.from, last + 1);
  std::vector<PackedOutcome> unpacked;
  std::int64_t current = -1;
  for (;;) {
    const int code = outcomes_.Step();
    if (code == SQLITE_DONE) break;
    if (code != SQLITE_ROW) return db_.ErrorOf(code, "read outcomes");
    const std::int64_t slice = outcomes_.Int(0);
    if (slice != current && lowest.full()) {
      lowest.EndAt(static_cast<std::uint64_t>(slice) * kSliceTasks);
      break;
    }
    current = slice;
    // What cannot be part of the answer is not unpacked, nor are its overflow pages read.
    if (static_cast<std::uint64_t>(outcomes_.Int(1)) >= lowest.end()) continue;
    const std::int64_t sum =
        RowSum({query.job.value, static_cast<std::uint64_t>(slice), static_cast<std::uint64_t>(outcomes_.Int(4))},
               outcomes_.Blob(2));
    if (!outcomes_.HasSum(3, sum) || !UnpackOutcomes(static_cast<std::uint32_t>(slice), outcomes_.Blob(2), unpacked)) {
      return Error{Code::kStoreCorrupt,
                   "results of tasks " + std::to_string(outcomes_.Int(1)) + " to " + std::to_string(outcomes_.Int(5)) +
                       " of job " + std::to_string(query.job.value) + " are damaged in the queue's file",
                   "restore a backup, or go on behind them; allot check finds all that is damaged"};
    }
    for (const PackedOutcome& packed : unpacked) lowest.Add(query.job, packed);
  }
  return {};
}

Result<ReaderPool::Lease> ReaderPool::Borrow() {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [this] { return !idle_.empty() || lent_ < max_; });
  ++lent_;
  if (!idle_.empty()) {
    std::unique_ptr<Reader> reader = std::move(idle_.back());
    idle_.pop_back();
    return Lease(this, std::move(reader));
  }
  lock.unlock();
  Result<std::unique_ptr<Reader>> reader = Reader::Open(file_, vfs_);
  if (reader) return Lease(this, std::move(*reader));
  lock.lock();
  --lent_;
  returned_.notify_one();
  return reader.error();
}

void ReaderPool::Return(std::unique_ptr<Reader> reader) {
  {
    const std::lock_guard lock(mutex_);
    --lent_;
    idle_.push_back(std::move(reader));
  }
  returned_.notify_one();
}

}  // namespace allot::sqlite
