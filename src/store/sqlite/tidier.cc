// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/tidier.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace allot::sqlite {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kStep = 1ms;
// A step does at least so much, however slow the machine is: otherwise what keeps up on one would not on another.
constexpr int kLeastUnits = 4;
constexpr std::uint64_t kGarbageRows = 64;  // read at once

// Free pages are used again sooner or later; only many of them are worth the work of moving others into their place.
std::int64_t PagesWorthVacuuming(std::int64_t all) { return 1024 + all / 8; }
std::int64_t PagesLeftFree(std::int64_t all) { return 128 + all / 32; }
// From here on they take more room than what is in use, and some: then commits wait for it.
bool TooManyFree(std::int64_t free, std::int64_t all) { return free > (all - free) + 2048; }
constexpr std::uint64_t kMuchGarbage = 4096;  // jobs

}  // namespace

Result<void> Tidier::Prepare() {
  sqlite3_wal_hook(
      db_.get(),
      [](void* self, sqlite3*, const char*, int pages) {
        auto* tidier = static_cast<Tidier*>(self);
        if (pages < tidier->log_pages_) {
          ++tidier->log_generation_;
          tidier->moved_pages_ = tidier->tried_pages_ = 0;
        }
        tidier->log_pages_ = pages;
        return SQLITE_OK;
      },
      this);
  outcomes_.has_index = true;
  return PrepareAll(
      db_,
      {{&begin_, "BEGIN IMMEDIATE"},
       {&commit_, "COMMIT"},
       {&rollback_, "ROLLBACK"},
       {&drop_journal_,
        "DELETE FROM journal WHERE pos IN (SELECT pos FROM journal WHERE pos <= ?1 ORDER BY pos LIMIT 16)"},
       {&read_garbage_, "SELECT seq, job, set_id FROM garbage ORDER BY seq LIMIT ?1"},
       {&delete_garbage_, "DELETE FROM garbage WHERE seq = ?1"},
       {&delete_job_, "DELETE FROM jobs WHERE id = ?1"},
       {&delete_head_, "DELETE FROM payload_heads WHERE set_id = ?1"},
       {&delete_loose_, "DELETE FROM loose WHERE set_id = ?1"},
       {&free_pages_, "PRAGMA freelist_count"},
       {&all_pages_, "PRAGMA page_count"},
       {&vacuum_, "PRAGMA incremental_vacuum(32)"},
       {&outcomes_.find, "SELECT slice, seq FROM outcome_index WHERE job = ?1 ORDER BY slice, seq LIMIT 1 OFFSET 16"},
       {&outcomes_.before,
        "DELETE FROM outcomes WHERE seq IN (SELECT seq FROM outcome_index WHERE job = ?1 AND (slice, seq) < (?2, ?3))"},
       {&outcomes_.rest, "DELETE FROM outcomes WHERE seq IN (SELECT seq FROM outcome_index WHERE job = ?1)"},
       {&outcomes_.index_before, "DELETE FROM outcome_index WHERE job = ?1 AND (slice, seq) < (?2, ?3)"},
       {&outcomes_.index_rest, "DELETE FROM outcome_index WHERE job = ?1"},
       {&pages_.find, "SELECT page, 0 FROM pages WHERE job = ?1 ORDER BY page LIMIT 1 OFFSET 64"},
       {&pages_.before, "DELETE FROM pages WHERE job = ?1 AND page < ?2 + ?3"},
       {&pages_.rest, "DELETE FROM pages WHERE job = ?1"},
       {&payloads_.find, "SELECT first, 0 FROM payloads WHERE set_id = ?1 ORDER BY first LIMIT 1 OFFSET 16"},
       {&payloads_.before, "DELETE FROM payloads WHERE set_id = ?1 AND first < ?2 + ?3"},
       {&payloads_.rest, "DELETE FROM payloads WHERE set_id = ?1"}});
}

void Tidier::SetFloor(Position floor) {
  if (floor > floor_) journal_pending_ = true;
  floor_ = floor;
}

template <typename Work>
Result<bool> Tidier::InTransaction(const char* doing, Work work) {
  const auto end = Clock::now() + kStep;
  swept_jobs_ = dropped_rows_ = 0;
  bool more = true;
  int code = begin_.Run();
  for (int units = 0; code == SQLITE_OK && more && (units < kLeastUnits || Clock::now() < end); ++units) {
    code = work(more);
  }
  if (code == SQLITE_OK) code = commit_.Run();
  std::optional<Error> error;
  if (code != SQLITE_OK) {
    error = db_.ErrorOf(code, doing);
    garbage_.clear();
    if (sqlite3_get_autocommit(db_.get()) == 0) rollback_.Run();
  } else {
    counters_.garbage_jobs -= swept_jobs_;
    counters_.journal_rows -= dropped_rows_;
    settled_ = false;
  }
  if (error) return *error;
  return more;
}

int Tidier::DropJournal(bool& more) {
  const int code = drop_journal_.Run(floor_);
  if (code != SQLITE_OK) return code;
  const int dropped = sqlite3_changes(db_.get());
  dropped_rows_ += static_cast<std::uint64_t>(dropped);
  more = dropped > 0;
  return SQLITE_OK;
}

int Tidier::SweepPiece(Sweep& sweep, std::int64_t id, bool& more) {
  sweep.find.Start(id);
  const int found = sweep.find.Step();
  if (found != SQLITE_ROW && found != SQLITE_DONE) return found;
  const std::int64_t key1 = found == SQLITE_ROW ? sweep.find.Int(0) : 0;
  const std::int64_t key2 = found == SQLITE_ROW ? sweep.find.Int(1) : 0;
  sweep.find.Reset();
  more = found == SQLITE_ROW;
  int code = more ? sweep.before.Run(id, key1, key2) : sweep.rest.Run(id);
  if (code == SQLITE_OK && sweep.has_index)
    code = more ? sweep.index_before.Run(id, key1, key2) : sweep.index_rest.Run(id);
  return code;
}

int Tidier::SweepJob(std::int64_t job, std::int64_t set, bool& unfinished) {
  int code = SQLITE_OK;
  if (job != 0) code = SweepPiece(outcomes_, job, unfinished);
  if (code == SQLITE_OK && !unfinished && set != 0) code = SweepPiece(payloads_, set, unfinished);
  if (code == SQLITE_OK && !unfinished && job != 0) code = SweepPiece(pages_, job, unfinished);
  if (code != SQLITE_OK || unfinished) return code;
  if (job != 0) code = delete_job_.Run(job);
  if (code == SQLITE_OK && set != 0) code = delete_head_.Run(set);
  if (code == SQLITE_OK && set != 0) code = delete_loose_.Run(set);
  return code;
}

int Tidier::RemoveNow(const Removal& removal, bool& gone) {
  bool unfinished = false;
  const int code = SweepJob(static_cast<std::int64_t>(removal.job.value),
                            static_cast<std::int64_t>(removal.payload_set.value), unfinished);
  gone = code == SQLITE_OK && !unfinished;
  return code;
}

int Tidier::SweepSome(bool& more) {
  if (garbage_.empty()) {
    read_garbage_.Start(kGarbageRows);
    int code = SQLITE_ROW;
    while ((code = read_garbage_.Step()) == SQLITE_ROW) {
      garbage_.push_back({read_garbage_.Int(0), read_garbage_.Int(1), read_garbage_.Int(2)});
    }
    read_garbage_.Reset();
    if (code != SQLITE_DONE) return code;
    if (garbage_.empty()) {
      more = false;
      return SQLITE_OK;
    }
  }
  const Garbage next = garbage_.front();
  bool unfinished = false;
  int code = SweepJob(next.job, next.set, unfinished);
  if (code != SQLITE_OK || unfinished) return code;
  code = delete_garbage_.Run(next.seq);
  if (code != SQLITE_OK) return code;
  garbage_.pop_front();
  ++swept_jobs_;
  return SQLITE_OK;
}

int Tidier::VacuumSome(bool& more) {
  const int code = vacuum_.Run();
  more = code == SQLITE_OK && WantsVacuum();
  return code;
}

void Tidier::CountPages() {
  const auto read = [](Statement& statement) {
    const ResetAtEnd reset(statement);
    return statement.Step() == SQLITE_ROW ? statement.Int(0) : 0;
  };
  file_free_ = read(free_pages_);
  file_pages_ = read(all_pages_);
}

bool Tidier::WantsVacuum() {
  CountPages();
  if (file_free_ > PagesWorthVacuuming(file_pages_)) vacuuming_ = true;
  if (file_free_ <= PagesLeftFree(file_pages_)) vacuuming_ = false;
  return vacuuming_;
}

void Tidier::WatchFile(bool freed) {
  if (freed) settled_ = false;
  const std::int64_t before = file_pages_;
  CountPages();
  behind_ = (garbage_pending_ && (file_pages_ > before || counters_.garbage_jobs > kMuchGarbage)) ||
            TooManyFree(file_free_, file_pages_);
}

Result<bool> Tidier::Vacuum() {
  vacuumed_ = true;
  return InTransaction("give space back", [this](bool& m) { return VacuumSome(m); });
}

Result<void> Tidier::Checkpoint(int mode) {
  int log = 0;
  int moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(db_.get(), nullptr, mode, &log, &moved);
  if (log >= 0 && (code == SQLITE_OK || code == SQLITE_BUSY)) {
    log_pages_ = tried_pages_ = log;
    moved_pages_ = moved;
  }
  if (code == SQLITE_OK || code == SQLITE_BUSY) return {};
  return db_.ErrorOf(code, "move the log into the file");
}

Result<void> Tidier::TakeAnswer() {
  const std::optional<Checkpointer::Answer> answer = checkpointer_.TakeAnswer();
  if (!answer) return {};
  if (answer->error) return *answer->error;
  if (answer->generation == log_generation_) moved_pages_ = std::max(moved_pages_, answer->moved_pages);
  return {};
}

bool Tidier::CanFinishLog() {
  // While a backup reads, the log cannot begin anew; trying at every step would only cost syncs.
  return log_pages_ >= long_log_ && log_pages_to_move() <= little_log_ && log_pages_ - tried_pages_ >= little_log_ &&
         !checkpointer_.busy();
}

Result<void> Tidier::WatchLog() {
  // What was freed in the middle is given back with the file's end, which goes when all of the log is in the file.
  if (vacuumed_ && !behind_ && !checkpointer_.busy()) {
    if (Result<void> done = TakeAnswer(); !done) return done;
    if (log_pages_to_move() > little_log_) {
      checkpointer_.Request(log_generation_);
      return {};
    }
    vacuumed_ = false;
    return Checkpoint();
  }
  if (log_pages_ < long_log_) return {};
  if (Result<void> done = TakeAnswer(); !done) return done;
  if (log_pages_ >= max_log_ && log_pages_ - tried_pages_ >= long_log_) {
    // The disk does not keep up: from here on the commits wait for it.
    checkpointer_.Wait(std::chrono::minutes(1));
    return Checkpoint();
  }
  if (log_pages_ >= 2 * long_log_ && CanFinishLog()) return Checkpoint();
  if (log_pages_to_move() > little_log_) checkpointer_.Request(log_generation_);
  return {};
}

Result<bool> Tidier::Settle() {
  if (settled_) return false;
  if (WantsVacuum()) {
    Result<bool> more = Vacuum();
    if (!more) return more;
    return true;
  }
  if (checkpointer_.busy()) {
    checkpointer_.Wait(kStep);
    return true;
  }
  if (log_pages_to_move() > little_log_) {
    checkpointer_.Request(log_generation_);
    return true;
  }
  settled_ = true;
  // The file itself becomes shorter when all of the log has been moved into it.
  if (vacuumed_ || log_pages_ >= long_log_) {
    vacuumed_ = false;
    if (Result<void> done = Checkpoint(); !done) return done.error();
  }
  const char* file = sqlite3_db_filename(db_.get(), "main");
  struct stat log {};
  if (stat((std::string(file) + "-wal").c_str(), &log) == 0 && log.st_size > kIdleLogBytes) {
    // Who reads just now keeps it from happening; then it happens another time.
    sqlite3_busy_timeout(db_.get(), 0);
    const Result<void> done = Checkpoint(SQLITE_CHECKPOINT_TRUNCATE);
    sqlite3_busy_timeout(db_.get(), kBusyMs);
    if (!done) return done.error();
  }
  return false;
}

Result<bool> Tidier::Step() {
  if (Result<void> done = TakeAnswer(); !done) return done.error();
  if (CanFinishLog()) {
    if (Result<void> done = Checkpoint(); !done) return done.error();
    return true;
  }
  if (log_pages_ >= long_log_ && log_pages_to_move() > little_log_) checkpointer_.Request(log_generation_);
  // Under load there is always something else to do; but not before too much space lies idle.
  if (TooManyFree(file_free_, file_pages_)) {
    Result<bool> more = Vacuum();
    if (!more) return more;
    CountPages();
    behind_ = TooManyFree(file_free_, file_pages_);
    return true;
  }
  behind_ = false;
  if (journal_pending_) {
    Result<bool> more = InTransaction("drop old events", [this](bool& m) { return DropJournal(m); });
    if (!more) return more;
    journal_pending_ = *more;
    return true;
  }
  if (garbage_pending_) {
    Result<bool> more = InTransaction("remove old jobs", [this](bool& m) { return SweepSome(m); });
    if (!more) return more;
    garbage_pending_ = *more;
    return true;
  }
  return Settle();
}

}  // namespace allot::sqlite
