// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "store/journal/applier.h"
#include "store/journal/scan.h"
#include "store/sqlite/check.h"
#include "store/sqlite/recovery.h"
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

// All of them, which follow each other.
Result<void> ApplyAll(Database& db, journal::Groups groups) {
  journal::Applier applier(db);
  if (Result<void> done = applier.Prepare(); !done) return done;
  while (!groups.empty() && groups.front()->sequence <= applier.applied()) groups = groups.subspan(1);
  while (!groups.empty()) {
    const std::size_t n = journal::CountForOneTransaction(groups, applier.last_position(), SIZE_MAX, SIZE_MAX);
    if (auto done = applier.Apply(groups.first(n)); !done) return done.error();
    groups = groups.subspan(n);
  }
  return {};
}

Result<void> WriteCopy(const std::string& from, const std::string& vfs, const std::string& part,
                       journal::Groups young) {
  Result<Database> source = Database::Open(from, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, vfs);
  if (!source) return source.error();
  Result<Database> target = Database::Open(part, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "");
  if (!target) return target.error();
  for (Database* db : {&*source, &*target}) {
    if (Result<void> done = db->Exec("PRAGMA cache_size = -1024"); !done) return done;
  }
  // The file has no name yet that anybody trusts: it is synced once, at the end.
  if (Result<void> done = target->Exec("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF"); !done) return done;
  if (Result<void> done = CopyPages(*source, *target); !done) return done;
  if (Result<void> done = ApplyAll(*target, young); !done) return done;
  // The copy is nobody's: it needs no mark beside it.
  return target->Exec("UPDATE state SET in_use = 0");
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

Result<void> BackUp(const std::string& from, const std::string& vfs, const std::string& to, journal::Groups young) {
  return MakeNewFile(to, [&](const std::string& part) { return WriteCopy(from, vfs, part, young); });
}

Result<void> MakeNewFile(const std::string& to, const std::function<Result<void>(const std::string& part)>& write) {
  static std::atomic<unsigned> serial{0};
  struct stat there {};
  if (lstat(to.c_str(), &there) == 0) return Exists(to);
  const std::string part = to + ".part-" + std::to_string(getpid()) + "-" + std::to_string(++serial);
  const int fd = open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return SystemError("write " + part, errno);
  Result<void> done = write(part);
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

Result<Database> OpenImmutable(const std::string& file) {
  return Database::Open(Immutable(file), SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, "");
}

Result<void> VerifyBackup(const std::string& file) {
  const Result<CheckReport> report = CheckBackup(file);
  if (!report) return report.error();
  if (report->ok()) return {};
  return Error{Code::kStoreCorrupt, file + " is damaged: " + report->problems[0], "choose another backup"};
}

Result<void> PrepareRestored(const std::string& file, std::span<const std::string_view> forget) {
  Result<Database> db = Database::Open(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "");
  if (!db) return db.error();
  if (Result<void> done = Migrate(*db, Migrations()); !done) return done;
  if (Result<void> done = db->Exec("UPDATE state SET in_use = 0, store = random()"); !done) return done;
  Result<Statement> remove = Statement::Prepare(*db, "DELETE FROM settings WHERE name = CAST(?1 AS TEXT)");
  if (!remove) return remove.error();
  for (const std::string_view name : forget) {
    const int code = remove->Run(name);
    if (code != SQLITE_OK) return db->ErrorOf(code, "forget a setting");
  }
  // Closing would move it as well, and say nothing where it cannot.
  const int code = sqlite3_wal_checkpoint_v2(db->get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  if (code != SQLITE_OK) return db->ErrorOf(code, "move the log into the file");
  return {};
}

namespace {

// Moves journal and log into the file, which then needs nothing beside it. False if the file is too damaged for that.
bool MergeLog(const FileState& state) {
  const std::string& file = state.file;
  Result<Database> db = Database::Open(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "");
  if (!db) return false;
  // A log that cannot be moved stays.
  CHECK(sqlite3_db_config(db->get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr) == SQLITE_OK);
  const Result<std::int64_t> version = CheckFile(*db, Migrations());
  if (!version) return false;
  if (*version >= kFirstFormatWithJournal) {
    const Result<std::int64_t> store = db->QueryInt("SELECT store FROM state");
    const Result<std::int64_t> applied = db->QueryInt("SELECT applied FROM state");
    if (!store || !applied) return false;
    const auto salt = static_cast<std::uint64_t>(*store);
    const auto up_to = static_cast<std::uint64_t>(*applied);
    if (FindJournalLoss(state, salt, false, up_to)) return false;
    const auto groups = journal::ReadGroups(state.journal, state.journal.After(salt, up_to), {});
    if (!groups || !ApplyAll(*db, *groups)) return false;
  }
  if (*version >= 2 && !db->Exec("UPDATE state SET in_use = 0")) return false;
  return sqlite3_wal_checkpoint_v2(db->get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr) == SQLITE_OK;
}

}  // namespace

Result<void> MakeWay(const std::string& file) {
  Result<FileState> state = LookAtFiles(file);
  if (!state) return state.error();
  if (FindLoss(*state) || state->bytes == 0 || !MergeLog(*state)) {
    // It would not start as it is. What is left of its log and its journal must not be taken for the new one's.
    if (Result<std::optional<std::string>> kept = KeepLog(*state, false); !kept) return kept.error();
    if (Result<std::optional<std::string>> kept = journal::KeepJournal(file, {}); !kept) return kept.error();
  }
  for (const char* suffix : {".mark", "-wal", "-shm"}) unlink((file + suffix).c_str());
  if (Result<void> gone = journal::RemoveJournal(file, {}); !gone) return gone;
  return SyncDirectoryOf(file);
}

}  // namespace allot::sqlite
