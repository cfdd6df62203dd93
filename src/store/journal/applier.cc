// SPDX-License-Identifier: Apache-2.0
#include "store/journal/applier.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "store/packed/checksum.h"
#include "store/packed/packing.h"

namespace allot::journal {
namespace {

using sqlite::RowSum;

// Two rows of this length fill a page of the file; an outcome that is longer has a row of its own.
constexpr std::size_t kOutcomeRowBytes = 2000;
constexpr std::uint64_t kRemovedAtOnce = 128;  // jobs of one transaction: one or two milliseconds

}  // namespace

std::int64_t SettingSum(std::string_view name, std::string_view value) {
  return RowSum({}, std::string(name) + "=" + std::string(value));
}

Result<void> Applier::Prepare() {
  sqlite::Statement state;
  const Result<void> prepared =
      sqlite::PrepareAll(db_, {{&state,
                                "SELECT applied, floor, (SELECT ifnull(max(pos), 0) FROM journal),"
                                " (SELECT ifnull(max(seq), 0) FROM outcomes) FROM state"},
                               {&begin_, "BEGIN IMMEDIATE"},
                               {&commit_, "COMMIT"},
                               {&rollback_, "ROLLBACK"},
                               {&put_events_, "INSERT INTO journal VALUES (?1, ?2, ?3)"},
                               {&drop_events_, "DELETE FROM journal WHERE pos <= ?1"},
                               {&put_head_, "INSERT OR IGNORE INTO payload_heads VALUES (?1, ?2, ?3, ?4)"},
                               {&put_segment_, "INSERT OR REPLACE INTO payloads VALUES (?1, ?2, ?3, ?4)"},
                               {&put_loose_, "INSERT OR IGNORE INTO loose VALUES (?1)"},
                               {&put_outcomes_, "INSERT INTO outcomes VALUES (?1, ?2, ?3)"},
                               {&put_outcome_index_, "INSERT INTO outcome_index VALUES (?1, ?2, ?3, ?4, ?5)"},
                               {&put_job_, "INSERT OR REPLACE INTO jobs VALUES (?1, ?2, ?3)"},
                               {&delete_job_, "DELETE FROM jobs WHERE id = ?1"},
                               {&put_page_, "INSERT OR REPLACE INTO pages VALUES (?1, ?2, ?3, ?4)"},
                               {&delete_page_, "DELETE FROM pages WHERE job = ?1 AND page = ?2"},
                               {&put_garbage_, "INSERT INTO garbage (job, set_id) VALUES (?1, ?2)"},
                               {&put_state_, "UPDATE state SET floor = ?1, applied = ?2"},
                               {&put_setting_, "INSERT OR REPLACE INTO settings VALUES (CAST(?1 AS TEXT), ?2, ?3)"}});
  if (!prepared) return prepared;
  const int code = state.Step();
  if (code == SQLITE_DONE) {
    return Error{Code::kStoreCorrupt,
                 std::string(sqlite3_db_filename(db_.get(), "main")) + ": a row of the table state is damaged",
                 "restore a backup: allot restore"};
  }
  if (code != SQLITE_ROW) return db_.ErrorOf(code, "read its state");
  at_.applied = static_cast<std::uint64_t>(state.Int(0));
  at_.floor = static_cast<Position>(state.Int(1));
  at_.last_position = std::max(at_.floor, static_cast<Position>(state.Int(2)));
  at_.next_seq = state.Int(3) + 1;
  return {};
}

Result<Applier::Done> Applier::Apply(Groups groups) {
  while (!groups.empty() && groups.front()->sequence <= at_.applied) groups = groups.subspan(1);
  Done done;
  if (groups.empty()) return done;
  At at = at_;
  int code = begin_.Run();
  if (code == SQLITE_OK) code = Write(groups, at, done);
  if (code == SQLITE_OK) code = commit_.Run();
  if (code != SQLITE_OK) {
    const Error error = db_.ErrorOf(code, "write");
    // Some errors have rolled back already.
    if (sqlite3_get_autocommit(db_.get()) == 0) rollback_.Run();
    return error;
  }
  at_ = at;
  return done;
}

int Applier::Write(Groups groups, At& at, Done& done) {
  CHECK(groups.front()->sequence == at.applied + 1);
  int code = WriteEvents(groups, at, done);
  // Before removals: what a job had goes with it, also what came in the same transaction.
  if (code == SQLITE_OK) code = WriteOutcomes(groups, at);
  for (const auto& group : groups) {
    CHECK(group->sequence == at.applied + 1);
    for (const auto& [name, value] : group->view.settings) {
      if (code == SQLITE_OK) code = put_setting_.Run(name, value, SettingSum(name, value));
    }
    for (const BatchView& batch : group->view.batches) {
      if (code == SQLITE_OK) code = WriteBatch(batch, at, done);
    }
    at.applied = group->sequence;
  }
  at.last_position = std::max(at.last_position, at.floor);
  if (code == SQLITE_OK) code = put_state_.Run(at.floor, at.applied);
  return code;
}

int Applier::WriteBatch(const BatchView& batch, At& at, Done& done) {
  int code = WritePayloads(batch);
  for (const RecordView& record : batch.records) {
    if (code == SQLITE_OK) code = WriteRecord(record);
  }
  for (const Removal& removal : batch.removals) {
    // A small job goes at once, which costs less than to remember it; large ones, and many at once, go in steps.
    bool gone = false;
    if (code == SQLITE_OK && remove_now_ && done.removed < kRemovedAtOnce) code = remove_now_(removal, gone);
    done.removed += gone ? 1 : kRemovedAtOnce;
    if (gone) continue;
    if (code == SQLITE_OK) code = put_garbage_.Run(removal.job.value, removal.payload_set.value);
    ++done.garbage;
  }
  at.floor = std::max(at.floor, batch.floor);
  return code;
}

int Applier::WriteEvents(Groups groups, At& at, Done& done) {
  Position last = 0;
  std::size_t bytes = 0;
  for (const auto& group : groups) {
    for (const BatchView& batch : group->view.batches) {
      if (batch.events.empty()) continue;
      if (last == 0 && batch.position <= at.last_position && at.last_position <= at.floor) {
        // Everything was folded, and numbering began anew: what is left of the old must not stand behind the new.
        const int code = drop_events_.Run(at.last_position);
        if (code != SQLITE_OK) return code;
        done.dropped_rows = static_cast<std::uint64_t>(sqlite3_changes(db_.get()));
        at.floor = at.last_position = 0;
      }
      CHECK(batch.position > std::max(last, at.last_position));
      last = batch.position;
      bytes += batch.events.size() + 16;
    }
  }
  if (last == 0) return SQLITE_OK;
  scratch_.clear();
  scratch_.reserve(bytes);
  for (const auto& group : groups) {
    for (const BatchView& batch : group->view.batches) {
      if (!batch.events.empty()) sqlite::PackEvents(last, batch.position, batch.events, scratch_);
    }
  }
  at.last_position = last;
  done.journal_rows = 1;
  return put_events_.Run(last, scratch_, RowSum({last}, scratch_));
}

int Applier::WritePayloads(const BatchView& batch) {
  JobId loose;
  for (const SegmentView& segment : batch.payloads) {
    if (ByteReader(segment.packed).Varint() == 0) continue;  // none at all
    const std::int64_t sum = RowSum({segment.set.value, static_cast<std::uint64_t>(segment.first)}, segment.packed);
    int code = SQLITE_OK;
    bool stored = false;
    if (segment.first <= 0) {
      code = put_head_.Run(segment.set.value, segment.first, segment.packed, sum);
      stored = code == SQLITE_OK && sqlite3_changes(db_.get()) > 0;
    }
    if (code == SQLITE_OK && !stored) code = put_segment_.Run(segment.set.value, segment.first, segment.packed, sum);
    if (code == SQLITE_OK && !batch.payloads_spoken_for && segment.set != loose) {
      loose = segment.set;
      code = put_loose_.Run(segment.set.value);
    }
    if (code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

int Applier::WriteOutcomes(Groups groups, At& at) {
  using sqlite::kSliceTasks;
  outcomes_.clear();
  for (const auto& group : groups) {
    for (const BatchView& batch : group->view.batches) {
      for (const OutcomeView& outcome : batch.outcomes) outcomes_.push_back(&outcome);
    }
  }
  // Stable: of two for one task, the later one stays the later one.
  std::stable_sort(outcomes_.begin(), outcomes_.end(), [](const OutcomeView* a, const OutcomeView* b) {
    return std::pair(a->job, a->index / kSliceTasks) < std::pair(b->job, b->index / kSliceTasks);
  });
  for (std::size_t i = 0; i < outcomes_.size();) {
    const JobId job = outcomes_[i]->job;
    const std::uint32_t slice = outcomes_[i]->index / kSliceTasks;
    TaskIndex lowest = outcomes_[i]->index;
    TaskIndex highest = lowest;
    scratch_.clear();
    for (; i < outcomes_.size(); ++i) {
      const OutcomeView& outcome = *outcomes_[i];
      if (outcome.job != job || outcome.index / kSliceTasks != slice) break;
      if (!scratch_.empty() && scratch_.size() + outcome.text.size() > kOutcomeRowBytes) break;
      lowest = std::min(lowest, outcome.index);
      highest = std::max(highest, outcome.index);
      sqlite::PackOutcome({outcome.index, outcome.kind, outcome.attempt, outcome.text}, scratch_);
    }
    const std::int64_t seq = at.next_seq++;
    int code = put_outcomes_.Run(seq, scratch_, RowSum({job.value, slice, static_cast<std::uint64_t>(seq)}, scratch_));
    if (code == SQLITE_OK) code = put_outcome_index_.Run(job.value, slice, seq, lowest, highest);
    if (code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

int Applier::WriteRecord(const RecordView& record) {
  if (record.page == kJobPage) {
    if (record.blob.empty()) return delete_job_.Run(record.job.value);
    return put_job_.Run(record.job.value, record.blob, RowSum({record.job.value}, record.blob));
  }
  if (record.blob.empty()) return delete_page_.Run(record.job.value, record.page);
  return put_page_.Run(record.job.value, record.page, record.blob,
                       RowSum({record.job.value, record.page}, record.blob));
}

}  // namespace allot::journal
