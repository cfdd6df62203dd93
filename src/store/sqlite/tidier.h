// SPDX-License-Identifier: Apache-2.0
// Background work of the store thread, in steps of about a millisecond: dropping folded journal rows, sweeping removed
// jobs, giving free pages back to the file system, and moving the write-ahead log into the file.
//
// Nothing of it needs to be durable at once, so its transactions do not wait for the disk: a crash merely repeats them.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>

#include "store/sqlite/checkpointer.h"
#include "store/sqlite/sql.h"
#include "store/store.h"

namespace allot::sqlite {

// A log file that grew longer is cut to this length when it begins anew, and to nothing when little is going on.
inline constexpr std::int64_t kLogFileBytes = 12 << 20;
inline constexpr std::int64_t kIdleLogBytes = 400 << 10;

// What is there to be tidied; readable from any thread.
struct Counters {
  std::atomic<std::uint64_t> journal_rows{0};
  std::atomic<std::uint64_t> garbage_jobs{0};
};

class Tidier {
 public:
  // `db` is the writing connection; all outlive this.
  // A log of `log_pages` pages is moved into the file, beside the commits. What came meanwhile is moved between two of
  // them, when it is little; then the log begins anew. A log two and a half times as long makes commits wait.
  Tidier(Database& db, Checkpointer& checkpointer, Counters& counters, int log_pages)
      : db_(db),
        checkpointer_(checkpointer),
        counters_(counters),
        long_log_(log_pages),
        little_log_(log_pages / 8),
        max_log_(log_pages * 5 / 2) {}
  Tidier(const Tidier&) = delete;
  Tidier& operator=(const Tidier&) = delete;
  Result<void> Prepare();

  // Journal rows up to `floor` may go.
  void SetFloor(Position floor);
  void AddedGarbage() { garbage_pending_ = true; }
  // Within a commit: sweeps a removed job whole, if it is small; else some of it, and `gone` is false.
  int RemoveNow(const Removal& removal, bool& gone);

  // After a commit, of many at once: looks whether the file grows though it need not. `freed`: it may have free pages
  // now.
  void WatchFile(bool freed);
  // It does: Step() should go before the next commit.
  bool behind() const { return behind_; }

  Result<bool> Step();

  // After a commit: keeps the log bounded, even if Step() is never called.
  Result<void> WatchLog();
  // Makes room in the log, as far as possible now.
  Result<void> Checkpoint(int mode = SQLITE_CHECKPOINT_PASSIVE);

 private:
  // A table whose rows of one job, or set, are deleted in pieces.
  struct Sweep {
    Statement find;    // the key of the row behind the piece
    Statement before;  // deletes the rows before it
    Statement rest;    // deletes all
    bool has_index = false;
    Statement index_before, index_rest;
  };
  struct Garbage {
    std::int64_t seq, job, set;
  };

  int DropJournal(bool& more);
  int SweepSome(bool& more);
  int SweepJob(std::int64_t job, std::int64_t set, bool& unfinished);
  int SweepPiece(Sweep& sweep, std::int64_t id, bool& more);
  int VacuumSome(bool& more);
  Result<bool> Vacuum();
  void CountPages();
  bool WantsVacuum();
  Result<bool> Settle();
  // Runs `work` in a transaction that does not wait for the disk, until its time is over.
  template <typename Work>
  Result<bool> InTransaction(const char* doing, Work work);
  int log_pages_to_move() const { return log_pages_ - moved_pages_; }
  Result<void> TakeAnswer();
  // Whether moving the little that is left may let the log begin anew.
  bool CanFinishLog();

  Database& db_;
  Checkpointer& checkpointer_;
  Counters& counters_;
  const int long_log_;    // pages
  const int little_log_;  // pages
  const int max_log_;     // pages
  Position floor_ = 0;
  bool journal_pending_ = false;
  bool garbage_pending_ = false;
  bool vacuuming_ = false;
  bool vacuumed_ = false;  // since the log was last moved
  bool settled_ = true;
  bool behind_ = false;
  std::int64_t file_pages_ = 0;     // of the file, as of the last look
  std::int64_t file_free_ = 0;      // of them
  std::deque<Garbage> garbage_;     // the first rows of the table
  std::uint64_t swept_jobs_ = 0;    // in the running transaction
  std::uint64_t dropped_rows_ = 0;  // in the running transaction
  int log_pages_ = 0;
  int moved_pages_ = 0;               // of them, are in the file
  int tried_pages_ = 0;               // how long it was when it was last moved to its end
  std::uint64_t log_generation_ = 0;  // counts how often it began anew

  Statement begin_, commit_, rollback_;
  Statement drop_journal_, read_garbage_, delete_garbage_, delete_job_, delete_head_, delete_loose_;
  Statement free_pages_, all_pages_, vacuum_;
  Sweep outcomes_, pages_, payloads_;
};

}  // namespace allot::sqlite
