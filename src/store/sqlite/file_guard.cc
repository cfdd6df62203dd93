#include "store/sqlite/file_guard.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "store/sqlite/sync_directory.h"

namespace allot::sqlite {
namespace {

namespace fs = std::filesystem;

Result<void> RemoveAll(const std::string& file) {
  std::error_code ec;
  // The mark last: as long as it is there, it says that the others are to go.
  for (const char* suffix : {"", "-wal", "-shm", ".lock", ".mark"}) {
    fs::remove(file + suffix, ec);
    if (ec) return Error{Code::kStoreFailed, "cannot remove " + file + suffix + ": " + ec.message(), ""};
  }
  return SyncDirectoryOf(file);
}

}  // namespace

FileGuard::~FileGuard() {
  if (log_fd_ >= 0) close(log_fd_);
}

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
  Result<FileState> found = LookAtFiles(file);
  if (!found) return found.error();
  found_ = std::move(*found);
  if (const std::optional<Error> loss = FindLoss(found_)) {
    if (Result<void> done = Refuse(*loss); !done) return done;
    const Result<std::optional<std::string>> kept = KeepLog(found_, found_.bytes > 0);
    if (!kept) return kept.error();
    if (*kept && options_.on_loss) options_.on_loss("what is left of the log is kept as " + **kept);
    if (found_.bytes == 0) {
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
  const auto loss = FindMismatch(found_, static_cast<std::uint64_t>(*store), *in_use != 0);
  if (loss) return Refuse(*loss);
  return {};
}

Result<void> FileGuard::Begin(Database& db, const std::function<int()>& log_pages) {
  const std::string& file = options_.file;
  const Result<std::int64_t> store = db.QueryInt("SELECT store FROM state");
  if (!store) return store.error();
  // What the mark demands stays demanded until the first commit.
  MarkContent content = found_.mark.content.value_or(MarkContent{});
  if (content.state == MarkState::kNew) content.position = 0;
  if (loaded_) content.position = *loaded_;
  content.store = static_cast<std::uint64_t>(*store);
  if (options_.accept_loss) content.log = {};
  Result<Mark> mark = Mark::Open(file, content);
  if (!mark) return mark.error();
  mark_ = std::move(*mark);
  if (Result<void> done = db.Exec("UPDATE state SET in_use = 1"); !done) return done;
  if (log_fd_ < 0) log_fd_ = open((file + "-wal").c_str(), O_RDONLY | O_CLOEXEC);
  if (log_fd_ < 0) {
    return Error{Code::kStoreFailed, "cannot read " + file + "-wal: " + std::strerror(errno),
                 "make the file and its directory writable for this user"};
  }
  Committed(content.position, log_pages());
  // Once for each start: from here on a loss of power cannot leave a mark that demands no log.
  if (Result<void> done = mark_.Sync(); !done) return done;
  return watch_.Begin({file, file + "-wal", file + ".lock", MarkOf(file)});
}

Result<void> FileGuard::Loaded(Position position) {
  if (const std::optional<Error> loss = FindLostEvents(found_, position)) {
    if (Result<void> done = Refuse(*loss); !done) return done;
  }
  loaded_ = position;
  if (!mark_.open()) return {};
  // It may be less than the mark demands, if that loss was accepted: what is there now counts from here on.
  MarkContent content = mark_.content();
  content.position = position;
  return mark_.Write(content);
}

void FileGuard::Committed(Position position, int log_pages) {
  MarkContent content = mark_.content();
  content.state = MarkState::kOpen;
  if (loaded_) content.position = position;
  content.log = ReadLogPlace(log_fd_, static_cast<std::uint32_t>(std::max(log_pages, 0)));
  // A mark that cannot be written now is merely older.
  static_cast<void>(mark_.Write(content));
}

Result<void> FileGuard::ForgetLog() {
  MarkContent content = mark_.content();
  content.log = {};
  if (Result<void> done = mark_.Write(content); !done) return done;
  return mark_.Sync();
}

bool FileGuard::End(Database& db, const std::function<int()>& log_pages) {
  if (!watch_.Check()) return false;
  if (!db.Exec("UPDATE state SET in_use = 0")) return false;
  MarkContent content = mark_.content();
  Committed(content.position, log_pages());
  int log = 0;
  int moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(db.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &log, &moved);
  if (code != SQLITE_OK || log != moved) return false;
  content.state = MarkState::kClosed;
  content.log = {};
  return mark_.Write(content).ok() && mark_.Sync().ok();
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
