// Watches over a queue's files where SQLite does not: keeps a second server off, refuses what was damaged while nobody
// looked, notices what happens to the files while they are in use, and keeps the mark up to date.
//
// Threading: the store thread, but Sync() any.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
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
    bool accept_loss = false;                              // goes on where it would refuse
    std::function<void(const std::string& what)> on_loss;  // told what that costs; may be null
  };
  explicit FileGuard(Options options) : options_(std::move(options)) {}
  ~FileGuard();
  FileGuard(const FileGuard&) = delete;
  FileGuard& operator=(const FileGuard&) = delete;

  // In this order. Each fails with kStoreCorrupt where something that was promised is missing.
  //
  // Takes the lock and looks at the files; finishes a deletion that was cut short. Makes the file, if it is new.
  Result<void> Take();
  // The file is open, and can be read.
  Result<void> Admit(Database& db, std::int64_t version);
  // Everything was read, up to `position`.
  Result<void> Loaded(Position position);
  // From here on it is in use, and changes. `log_pages` is asked after a commit. A new file may begin before it is
  // read.
  Result<void> Begin(Database& db, const std::function<int()>& log_pages);
  // There was a log to begin with.
  bool found_log() const { return found_.log.there; }

  // After a commit that is durable.
  void Committed(Position position, int log_pages);
  // kStoreFailed once a file was removed or replaced; within a quarter of a second.
  Result<void> CheckFiles() { return watch_.CheckSometimes(); }
  // All of the log is in the file, and it is about to be cut to nothing.
  Result<void> ForgetLog();
  // Makes the mark durable. On any thread, after Begin().
  Result<void> Sync() { return mark_.Sync(); }
  // Everything goes into the file, which is closed from here on. False: it stays in use as it is, with its log, as
  // after a crash.
  bool End(Database& db, const std::function<int()>& log_pages);

 private:
  Result<void> Refuse(const Error& loss);

  const Options options_;
  FileLock lock_;
  FileState found_;
  std::optional<Position> loaded_;
  Mark mark_;
  FilesWatch watch_;
  int log_fd_ = -1;
};

// Deletes a queue's files, surely: a deletion that is cut short is finished by the next FinishDeletion() or start.
Result<void> DeleteFiles(const std::string& file);
// Whether the queue was deleted; if so, what is left of its files goes.
Result<bool> FinishDeletion(const std::string& file);

}  // namespace allot::sqlite
