// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/file_guard.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "store/sqlite/sync_directory.h"

namespace allot::sqlite {
namespace {

namespace fs = std::filesystem;

Result<void> RemoveAll(const std::string& file) {
  std::error_code ec;
  if (Result<void> done = journal::RemoveJournal(file, {}); !done) return done;
  // The mark last: as long as it is there, it says that the others are to go.
  for (const char* suffix : {"", "-wal", "-shm", ".lock", ".mark"}) {
    fs::remove(file + suffix, ec);
    if (ec) return Error{Code::kStoreFailed, "cannot remove " + file + suffix + ": " + ec.message(), ""};
  }
  return SyncDirectoryOf(file);
}

// All of the log goes into the file, durably.
bool MoveLog(Database& db) {
  int log = 0;
  int moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(db.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &log, &moved);
  return code == SQLITE_OK && log == moved;
}

}  // namespace

Result<void> FileGuard::Refuse(const Error& loss) {
  if (!options_.accept_loss) return loss;
  if (options_.on_loss) options_.on_loss(loss.message);
  return {};
}

Result<void> FileGuard::Take() {
  const std::string& file = options_.file;
  if (Result<bool> finished = FinishDeletion(file); !finished) return finished.error();
  Result<FileLock> lock = FileLock::Take(file);
  if (!lock) return lock.error();
  lock_ = std::move(*lock);
  Result<FileState> found = LookAtFiles(file, options_.disk);
  if (!found) return found.error();
  found_ = std::move(*found);
  if (const std::optional<Error> loss = FindLoss(found_)) {
    if (Result<void> done = Refuse(*loss); !done) return done;
    const Result<std::optional<std::string>> kept = KeepLog(found_, found_.bytes > 0);
    if (!kept) return kept.error();
    if (*kept && options_.on_loss) options_.on_loss("what is left of the log is kept as " + **kept);
    if (found_.bytes == 0) {
      const auto kept_journal = journal::KeepJournal(file, options_.disk);
      if (!kept_journal) return kept_journal.error();
      if (*kept_journal && options_.on_loss) {
        options_.on_loss("what is left of the journal is kept as " + **kept_journal);
      }
      found_ = FileState();
      found_.file = file;
    }
  }
  if (found_.bytes > 0 || !found_.is_new()) return {};
  // From here on nothing more is demanded than that it can be made.
  Result<Mark> mark = Mark::Open(file, MarkContent{});
  if (!mark) return mark.error();
  mark_ = std::move(*mark);
  // Made here, so that nobody else can read what people submit; SQLite gives its other files the same rights.
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return {};
  close(fd);
  return SyncDirectoryOf(file);
}

Result<void> FileGuard::Admit(Database& db, std::int64_t version) {
  if (version < 2) return {};  // had no mark
  const Result<std::int64_t> store = db.QueryInt("SELECT store FROM state");
  if (!store) return store.error();
  const Result<std::int64_t> in_use = db.QueryInt("SELECT in_use FROM state");
  if (!in_use) return in_use.error();
  const auto id = static_cast<std::uint64_t>(*store);
  if (const auto loss = FindMismatch(found_, id, *in_use != 0)) {
    if (Result<void> done = Refuse(*loss); !done) return done;
  }
  salt_ = id;
  if (version < kFirstFormatWithJournal) return {};
  const Result<std::int64_t> applied = db.QueryInt("SELECT applied FROM state");
  if (!applied) return applied.error();
  const auto loss = FindJournalLoss(found_, id, *in_use != 0, static_cast<std::uint64_t>(*applied));
  if (!loss) return {};
  lost_journal_ = true;
  return Refuse(*loss);
}

Result<std::vector<std::shared_ptr<const journal::Group>>> FileGuard::Recover(std::uint64_t applied) {
  return journal::ReadGroups(found_.journal, found_.journal.After(salt_, applied), options_.disk);
}

Result<void> FileGuard::CheckPosition(Position position) {
  if (lost_journal_) return {};  // it is known that it does not
  if (const std::optional<Error> loss = FindLostEvents(found_, position)) return Refuse(*loss);
  return {};
}

Result<void> FileGuard::Begin(Database& db) {
  const std::string& file = options_.file;
  const Result<std::int64_t> store = db.QueryInt("SELECT store FROM state");
  if (!store) return store.error();
  const Result<std::int64_t> applied = db.QueryInt("SELECT applied FROM state");
  if (!applied) return applied.error();
  // What the mark demands stays demanded until the first commit.
  MarkContent content = found_.mark.content.value_or(MarkContent{});
  // What a mark from before there was a journal demands of the log goes into the file first.
  if (content.log.frames > 0 && !MoveLog(db))
    return Error{Code::kStoreFailed, file + "-wal cannot be moved into it", ""};
  content.log = {};
  if (content.state == MarkState::kNew) content.position = 0;
  if (loaded_) content.position = *loaded_;
  if (options_.accept_loss) content.sequence = static_cast<std::uint64_t>(*applied);
  content.store = static_cast<std::uint64_t>(*store);
  content.state = MarkState::kOpen;
  Result<Mark> mark = Mark::Open(file, content);
  if (!mark) return mark.error();
  mark_ = std::move(*mark);
  // The mark first: so what says that it is in use while its mark says that it is closed has an old mark.
  if (Result<void> done = db.Exec("UPDATE state SET in_use = 1"); !done) return done;
  return watch_.Begin({file, file + "-wal", file + ".lock", MarkOf(file)});
}

Result<std::uint64_t> FileGuard::BeginJournal(Database& db) {
  if (!lost_journal_) {
    const Result<std::int64_t> store = db.QueryInt("SELECT store FROM state");
    if (!store) return store.error();
    return static_cast<std::uint64_t>(*store);
  }
  // What is behind the loss must never be taken for what comes now: it is put aside, and has another salt.
  Result<std::optional<std::string>> kept = journal::KeepJournal(options_.file, options_.disk);
  if (!kept) return kept.error();
  if (*kept && options_.on_loss) options_.on_loss("what is left of the journal is kept as " + **kept);
  if (Result<void> done = db.Exec("UPDATE state SET store = random()"); !done) return done.error();
  if (!MoveLog(db)) return Error{Code::kStoreFailed, options_.file + "-wal cannot be moved into it", ""};
  const Result<std::int64_t> store = db.QueryInt("SELECT store FROM state");
  if (!store) return store.error();
  MarkContent content = mark_.content();
  content.store = static_cast<std::uint64_t>(*store);
  content.segments = 0;
  if (Result<void> done = mark_.Write(content); !done) return done.error();
  if (Result<void> done = mark_.Sync(); !done) return done.error();
  lost_journal_ = false;
  return content.store;
}

Result<void> FileGuard::Loaded(Position position) {
  if (!in_use()) {
    if (const std::optional<Error> loss = FindLostEvents(found_, position); loss && !options_.accept_loss) return *loss;
  }
  loaded_ = position;
  if (!in_use()) return {};
  // It may be less than the mark demands, if that loss was accepted: what is there now counts from here on.
  MarkContent content = mark_.content();
  content.position = position;
  return mark_.Write(content);
}

void FileGuard::Committed(Position position, std::uint64_t sequence) {
  MarkContent content = mark_.content();
  if (loaded_) content.position = position;
  content.sequence = sequence;
  // A mark that cannot be written now is merely older.
  static_cast<void>(mark_.Write(content));
}

Result<void> FileGuard::SetSegments(std::uint32_t count) {
  MarkContent content = mark_.content();
  if (content.segments != count) {
    const std::uint32_t before = std::exchange(content.segments, count);
    if (Result<void> done = mark_.Write(content); !done) return done;
    if (Result<void> done = mark_.Sync(); !done) {
      // Who asked takes the file back, so it must not be demanded.
      content.segments = before;
      static_cast<void>(mark_.Write(content));
      return done;
    }
  }
  if (Result<void> done = watch_.Check(); !done) return done;
  const std::string& file = options_.file;
  std::vector<std::string> names = {file, file + "-wal", file + ".lock", MarkOf(file)};
  for (std::uint32_t n = 1; n <= count; ++n) names.push_back(journal::SegmentName(file, n));
  return watch_.Begin(std::move(names));
}

bool FileGuard::End(Database& db) {
  if (!watch_.Check()) return false;
  if (!db.Exec("UPDATE state SET in_use = 0")) return false;
  if (!MoveLog(db)) return false;
  MarkContent content = mark_.content();
  content.state = MarkState::kClosed;
  content.segments = 0;
  if (!mark_.Write(content).ok() || !mark_.Sync().ok()) return false;
  // One that stays is used again.
  static_cast<void>(journal::RemoveJournal(options_.file, options_.disk));
  return true;
}

Result<void> DeleteFiles(const std::string& file) {
  MarkContent content;
  content.state = MarkState::kDeleted;
  if (Result<Mark> mark = Mark::Open(file, content); !mark) return mark.error();
  return RemoveAll(file);
}

Result<bool> FinishDeletion(const std::string& file) {
  const Result<Mark::Found> mark = Mark::Read(file);
  if (!mark) return mark.error();
  if (!mark->content || mark->content->state != MarkState::kDeleted) return false;
  if (Result<void> done = RemoveAll(file); !done) return done.error();
  return true;
}

}  // namespace allot::sqlite
