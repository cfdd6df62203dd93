// SPDX-License-Identifier: Apache-2.0
// Watches over a queue's files where SQLite does not: keeps a second server off, refuses what was damaged while nobody
// looked, notices what happens to the files while they are in use, and keeps the mark up to date.
//
// Threading: the store thread, but Sync() any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/journal/group.h"
#include "store/journal/scan.h"
#include "store/sqlite/file_lock.h"
#include "store/sqlite/files_watch.h"
#include "store/sqlite/mark.h"
#include "store/sqlite/recovery.h"
#include "store/sqlite/sql.h"

namespace allot::sqlite {

class FileGuard {
 public:
  struct Options {
    std::string file;
    journal::Disk disk;                                    // of the journal
    bool accept_loss = false;                              // goes on where it would refuse
    std::function<void(const std::string& what)> on_loss;  // told what that costs; may be null
  };
  explicit FileGuard(Options options) : options_(std::move(options)) {}
  FileGuard(const FileGuard&) = delete;
  FileGuard& operator=(const FileGuard&) = delete;

  // In this order. Each fails with kStoreCorrupt where something that was promised is missing.
  //
  // Takes the lock and looks at the files; finishes a deletion that was cut short. Makes the file, if it is new.
  Result<void> Take();
  // The file is open, and can be read.
  Result<void> Admit(Database& db, std::int64_t version);
  // What the journal has that the file, which has groups up to `applied`, has not: in order, without a gap. Where a
  // loss was accepted, only what is before it.
  Result<std::vector<std::shared_ptr<const journal::Group>>> Recover(std::uint64_t applied);
  // Before anything is changed: whether the file, with what was recovered, ends where it should.
  Result<void> CheckPosition(Position position);
  // Everything was read, up to `position`.
  Result<void> Loaded(Position position);
  // From here on it is in use, and changes. A new file may begin before it is read.
  Result<void> Begin(Database& db);
  // The file has durably what was recovered. What is left of a journal of which a loss was accepted is put aside. Gives
  // the salt of the groups to come.
  Result<std::uint64_t> BeginJournal(Database& db);
  // There was a log to begin with.
  bool found_log() const { return found_.log.there; }

  // After a commit that is durable, with the journal's group `sequence`.
  void Committed(Position position, std::uint64_t sequence);
  // The journal has so many files now; it is durable on return.
  Result<void> SetSegments(std::uint32_t count);
  // kStoreFailed once a file was removed or replaced; within a quarter of a second.
  Result<void> CheckFiles() { return watch_.CheckSometimes(); }
  Result<void> CheckFilesNow() const { return watch_.Check(); }
  // Makes the mark durable. On any thread, after Begin().
  Result<void> Sync() { return mark_.Sync(); }
  // Everything goes into the file, which is closed from here on. False: it stays in use as it is, with its log and its
  // journal, as after a crash. REQUIRES: the file has all of the journal.
  bool End(Database& db);

 private:
  Result<void> Refuse(const Error& loss);
  bool in_use() const { return mark_.open() && mark_.content().state == MarkState::kOpen; }

  const Options options_;
  FileLock lock_;
  FileState found_;
  std::optional<Position> loaded_;
  std::uint64_t salt_ = 0;     // of the groups that were found
  bool lost_journal_ = false;  // of which a loss was accepted
  Mark mark_;
  FilesWatch watch_;
};

// Deletes a queue's files, surely: a deletion that is cut short is finished by the next FinishDeletion() or start.
Result<void> DeleteFiles(const std::string& file);
// Whether the queue was deleted; if so, what is left of its files goes.
Result<bool> FinishDeletion(const std::string& file);

}  // namespace allot::sqlite
