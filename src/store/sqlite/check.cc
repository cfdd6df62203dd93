// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/check.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "base/check.h"
#include "store/packed/checksum.h"
#include "store/packed/packing.h"
#include "store/sqlite/backup.h"
#include "store/sqlite/file_lock.h"
#include "store/sqlite/recovery.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sql.h"

namespace allot::sqlite {
namespace {

constexpr std::size_t kMaxProblems = 100;
constexpr std::int64_t kFirstFormatWithSums = 3;

class Checker {
 public:
  Checker(Database& db, CheckReport& report) : db_(db), report_(report) {}

  void Problem(std::string text) {
    if (report_.problems.size() < kMaxProblems) {
      report_.problems.push_back(std::move(text));
    } else {
      ++report_.more_problems;
    }
  }

  void Structure() {
    Result<Statement> check = Statement::Prepare(db_, "PRAGMA integrity_check(20)");
    if (!check) return Problem(check.error().message);
    int code = SQLITE_ROW;
    while ((code = check->Step()) == SQLITE_ROW) {
      if (check->Blob(0) != "ok") Problem("the file's structure: " + std::string(check->Blob(0)));
    }
    if (code != SQLITE_DONE) Problem(db_.ErrorOf(code, "check its structure").message);
  }

  // Reads every row of `table`. `columns` begin with those of the key, then the blob; `name` names the row for people,
  // and `whole` says whether the blob can be unpacked.
  struct Table {
    const char* name;
    const char* columns;
    int keys;
    std::function<std::string(const Statement&)> row;
    std::function<bool(const Statement&, std::string_view)> whole;
  };
  void Rows(const Table& table) {
    const bool sums = report_.format >= kFirstFormatWithSums;
    CheckReport::Rows rows;
    rows.table = table.name;
    const std::string text =
        std::string("SELECT ") + table.columns + (sums ? ", sum FROM " : ", NULL FROM ") + table.name;
    Result<Statement> statement = Statement::Prepare(db_, text.c_str());
    if (!statement) return Problem(statement.error().message);
    int code = SQLITE_ROW;
    while ((code = statement->Step()) == SQLITE_ROW) {
      ++rows.checked;
      const std::string_view blob = statement->Blob(table.keys);
      if (statement->IsNull(table.keys + 1)) ++rows.without_sum;
      std::uint32_t sum = 0;
      for (int i = 0; i < table.keys; ++i) {
        const auto key = static_cast<std::uint64_t>(statement->Int(i));
        sum = Checksum({reinterpret_cast<const char*>(&key), sizeof key}, sum);
      }
      const auto stated = static_cast<std::int64_t>(static_cast<std::int32_t>(Checksum(blob, sum)));
      if (statement->HasSum(table.keys + 1, stated) && (!table.whole || table.whole(*statement, blob))) continue;
      ++rows.damaged;
      Problem(table.row(*statement) + ": damaged");
    }
    if (code != SQLITE_DONE) Problem(db_.ErrorOf(code, std::string("read the table ") + table.name).message);
    report_.tables.push_back(rows);
  }

  void Settings() {
    CheckReport::Rows rows;
    rows.table = "settings";
    const bool sums = report_.format >= kFirstFormatWithSums;
    Result<Statement> statement = Statement::Prepare(
        db_, sums ? "SELECT name, value, sum FROM settings" : "SELECT name, value, NULL FROM settings");
    if (!statement) return Problem(statement.error().message);
    int code = SQLITE_ROW;
    while ((code = statement->Step()) == SQLITE_ROW) {
      ++rows.checked;
      if (statement->IsNull(2)) ++rows.without_sum;
      const std::string name(statement->Blob(0));
      if (statement->HasSum(2, RowSum({}, name + "=" + std::string(statement->Blob(1))))) continue;
      ++rows.damaged;
      Problem("the setting " + name + ": damaged");
    }
    if (code != SQLITE_DONE) Problem(db_.ErrorOf(code, "read the table settings").message);
    report_.tables.push_back(rows);
  }

  void Everything() {
    Structure();
    const auto number = [](const Statement& row, int column) { return std::to_string(row.Int(column)); };
    Rows({"journal", "pos, events", 1, [=](const Statement& row) { return "events up to " + number(row, 0); },
          [](const Statement& row, std::string_view blob) {
            const auto whole = UnpackEvents(static_cast<Position>(row.Int(0)), blob,
                                            [](Position, std::string_view) -> Result<void> { return {}; });
            return whole.ok() && *whole;
          }});
    Rows({"jobs", "id, record", 1, [=](const Statement& row) { return "the record of job " + number(row, 0); },
          nullptr});
    Rows({"pages", "job, page, record", 2,
          [=](const Statement& row) { return "page " + number(row, 1) + " of job " + number(row, 0); }, nullptr});
    const auto payloads = [=](const Statement& row) {
      return "payloads of set " + number(row, 0) + " from task " + number(row, 1) + " on";
    };
    const auto unpacks = [](const Statement&, std::string_view blob) {
      return UnpackedPayloads::From(std::string(blob)) != nullptr;
    };
    Rows({"payload_heads", "set_id, first, segment", 2, payloads, unpacks});
    Rows({"payloads", "set_id, first, segment", 2, payloads, unpacks});
    Outcomes();
    Settings();
    Positions();
  }

 private:
  void Outcomes() {
    // The key is in the index, the blob beside it.
    Rows({"outcome_index JOIN outcomes USING (seq)", "job, slice, seq, packed", 3,
          [=](const Statement& row) {
            return "results of job " + std::to_string(row.Int(0)) + " in the slice from task " +
                   std::to_string(row.Int(1) * kSliceTasks) + " on";
          },
          [](const Statement& row, std::string_view blob) {
            std::vector<PackedOutcome> unpacked;
            return UnpackOutcomes(static_cast<std::uint32_t>(row.Int(1)), blob, unpacked);
          }});
    report_.tables.back().table = "outcomes";
    const Result<std::int64_t> alone =
        db_.QueryInt("SELECT count(*) FROM outcome_index WHERE seq NOT IN (SELECT seq FROM outcomes)");
    if (!alone) return Problem(alone.error().message);
    if (*alone > 0) Problem(std::to_string(*alone) + " rows of results are missing");
  }

  void Positions() {
    const Result<std::int64_t> position =
        db_.QueryInt("SELECT max(floor, ifnull((SELECT max(pos) FROM journal), 0)) FROM state");
    if (!position) return Problem(position.error().message);
    report_.position = std::max(report_.position, static_cast<std::uint64_t>(*position));
  }

  Database& db_;
  CheckReport& report_;
};

// What a start would refuse is a problem, without what to do about it.
void Note(const std::optional<Error>& loss, Checker& checker) {
  if (loss) checker.Problem(loss->message);
}

// What the file does not have yet.
void CheckJournal(const FileState& state, Database& db, std::uint64_t store, bool in_use, Checker& checker,
                  CheckReport& report) {
  const Result<std::int64_t> applied = db.QueryInt("SELECT applied FROM state");
  if (!applied) return checker.Problem(applied.error().message);
  const auto up_to = static_cast<std::uint64_t>(*applied);
  Note(FindJournalLoss(state, store, in_use, up_to), checker);
  const auto groups = journal::ReadGroups(state.journal, state.journal.After(store, up_to), {});
  if (!groups) return checker.Problem(groups.error().message);
  report.journal_commits = groups->size();
  if (!groups->empty()) report.position = groups->back()->position;
}

// Whether the error says that there is nothing of ours to check.
bool IsNoDamage(Code code) {
  return code == Code::kStoreForeign || code == Code::kStoreNewer || code == Code::kStoreFailed;
}

}  // namespace

Result<CheckReport> CheckQueueFile(const std::string& file) {
  struct stat info {};
  const std::string lock_name = file + ".lock";
  const bool had_lock = stat(lock_name.c_str(), &info) == 0;
  const bool had_index = stat((file + "-shm").c_str(), &info) == 0;
  const bool had_log = stat((file + "-wal").c_str(), &info) == 0;
  Result<FileLock> lock = FileLock::Take(file);
  if (!lock) return lock.error();
  CheckReport report;
  // What the look itself makes goes again, whichever way it ends.
  const auto tidy = [&](void*) {
    std::error_code ignored;
    if (!had_index) std::filesystem::remove(file + "-shm", ignored);
    if (!had_log) std::filesystem::remove(file + "-wal", ignored);
    if (!had_lock) std::filesystem::remove(lock_name, ignored);
  };
  const std::unique_ptr<void, decltype(tidy)> tidied(&report, tidy);
  Result<FileState> state = LookAtFiles(file);
  if (!state) return state.error();
  report.file_bytes = state->bytes + state->log.bytes + state->journal.bytes();
  report.log_pages = state->log.committed;
  report.closed = !state->mark.content || state->mark.content->state != MarkState::kOpen;
  if (const std::optional<Error> loss = FindLoss(*state)) report.problems.push_back(loss->message);
  if (state->bytes == 0) {
    if (report.ok() && !state->is_new()) report.problems.push_back(file + " is empty");
    return report;
  }
  {
    Result<Database> db = Database::Open(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "");
    if (!db) return db.error();
    // The log stays as it is.
    CHECK(sqlite3_db_config(db->get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr) == SQLITE_OK);
    Checker checker(*db, report);
    const Result<std::int64_t> version = CheckFile(*db, Migrations());
    if (!version) {
      if (IsNoDamage(version.error().code)) return version.error();
      checker.Problem(version.error().message);
    } else if (*version > 0) {
      report.format = *version;
      if (*version >= 2) {
        const Result<std::int64_t> store = db->QueryInt("SELECT store FROM state");
        const Result<std::int64_t> in_use = db->QueryInt("SELECT in_use FROM state");
        if (store && in_use) {
          report.closed = report.closed && *in_use == 0;
          Note(FindMismatch(*state, static_cast<std::uint64_t>(*store), *in_use != 0), checker);
        }
        if (store && in_use && *version >= kFirstFormatWithJournal) {
          CheckJournal(*state, *db, static_cast<std::uint64_t>(*store), *in_use != 0, checker, report);
        }
      }
      checker.Everything();
      Note(FindLostEvents(*state, report.position), checker);
    }
  }
  return report;
}

Result<CheckReport> CheckBackup(const std::string& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) {
    return Error{Code::kStoreFailed, "cannot read " + file + ": " + std::strerror(errno), ""};
  }
  CheckReport report;
  report.file_bytes = static_cast<std::uint64_t>(info.st_size);
  Result<Database> db = OpenImmutable(file);
  if (!db) return db.error();
  Checker checker(*db, report);
  const Result<std::int64_t> version = CheckFile(*db, Migrations());
  if (!version) {
    if (IsNoDamage(version.error().code)) return version.error();
    checker.Problem(version.error().message);
    return report;
  }
  if (*version == 0) return Error{Code::kStoreForeign, file + " is empty", "choose a file that allot backup wrote"};
  report.format = *version;
  checker.Everything();
  return report;
}

}  // namespace allot::sqlite
