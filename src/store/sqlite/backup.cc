#include "store/sqlite/backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "store/sqlite/schema.h"
#include "store/sqlite/sql.h"
#include "store/sqlite/sync_directory.h"

namespace allot::sqlite {
namespace {

constexpr int kPagesPerStep = 1024;

Error SystemError(const std::string& doing, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  return {full ? Code::kDiskFull : Code::kStoreFailed, "cannot " + doing + ": " + std::strerror(error),
          full ? "free some space on that disk" : ""};
}

Error Exists(const std::string& file) {
  return {Code::kStoreFailed, file + " exists", "choose the name of a new file"};
}

Result<void> CopyPages(Database& source, Database& target) {
  // A read transaction holds the source still; otherwise every commit would make the copy begin anew.
  if (Result<void> done = source.Exec("BEGIN; SELECT count(*) FROM state"); !done) return done;
  sqlite3_backup* backup = sqlite3_backup_init(target.get(), "main", source.get(), "main");
  if (backup == nullptr) return target.ErrorOf(sqlite3_errcode(target.get()), "begin the copy");
  int code = SQLITE_OK;
  while (code == SQLITE_OK) code = sqlite3_backup_step(backup, kPagesPerStep);
  const int end = sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE) return target.ErrorOf(code, "write the copy");
  if (end != SQLITE_OK) return target.ErrorOf(end, "end the copy");
  return source.Exec("COMMIT");
}

Result<void> WriteCopy(const std::string& from, const std::string& vfs, const std::string& part) {
  Result<Database> source = Database::Open(from, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, vfs);
  if (!source) return source.error();
  Result<Database> target = Database::Open(part, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "");
  if (!target) return target.error();
  for (Database* db : {&*source, &*target}) {
    if (Result<void> done = db->Exec("PRAGMA cache_size = -1024"); !done) return done;
  }
  // The file has no name yet that anybody trusts: it is synced once, at the end.
  if (Result<void> done = target->Exec("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF"); !done) return done;
  return CopyPages(*source, *target);
}

// `file` as a URI that SQLite opens without making files beside it.
std::string Immutable(const std::string& file) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : file) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.' ||
        c == '-' || c == '_') {
      uri += c;
    } else {
      uri += '%';
      uri += kHex[static_cast<unsigned char>(c) >> 4];
      uri += kHex[static_cast<unsigned char>(c) & 15];
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

Result<void> BackUp(const std::string& from, const std::string& vfs, const std::string& to) {
  static std::atomic<unsigned> serial{0};
  struct stat there {};
  if (lstat(to.c_str(), &there) == 0) return Exists(to);
  const std::string part = to + ".part-" + std::to_string(getpid()) + "-" + std::to_string(++serial);
  const int fd = open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return SystemError("write " + part, errno);
  Result<void> done = WriteCopy(from, vfs, part);
  if (done && fsync(fd) != 0) done = SystemError("sync " + part, errno);
  close(fd);
  // link() and not rename(): it does not replace a file that somebody made meanwhile.
  if (done && link(part.c_str(), to.c_str()) != 0) {
    done = errno == EEXIST ? Exists(to) : SystemError("make " + to, errno);
  }
  unlink(part.c_str());
  if (done) done = SyncDirectoryOf(to);
  return done;
}

Result<void> VerifyBackup(const std::string& file) {
  struct stat there {};
  if (stat(file.c_str(), &there) != 0) return SystemError("read " + file, errno);
  Result<Database> db =
      Database::Open(Immutable(file), SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, "");
  if (!db) return db.error();
  const Result<std::int64_t> version = CheckFile(*db, Migrations());
  if (!version) return version.error();
  if (*version == 0) return Error{Code::kStoreForeign, file + " is empty", "choose a file that allot backup wrote"};
  Result<Statement> check = Statement::Prepare(*db, "PRAGMA integrity_check(1)");
  if (!check) return check.error();
  const int code = check->Step();
  if (code != SQLITE_ROW) return db->ErrorOf(code, "check it");
  if (check->Blob(0) == "ok") return {};
  return Error{Code::kStoreCorrupt, file + " is damaged: " + std::string(check->Blob(0)), "choose another backup"};
}

}  // namespace allot::sqlite
