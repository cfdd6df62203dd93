// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/transfer.h"

#include <algorithm>
#include <functional>

#include "store/packed/checksum.h"
#include "store/postgres/writer.h"
#include "store/sqlite/backup.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sql.h"

namespace allot::postgres {
namespace {

using sqlite::RowSum;
using Fields = Connection::Fields;
using File = sqlite::Database;
using FileStatement = sqlite::Statement;

constexpr char kSnapshot[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

// Writes a queue's rows into a new file.
class BackupFile {
 public:
  Result<void> Make(const std::string& part) {
    Result<File> file = File::Open(part, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "");
    if (!file) return file.error();
    file_ = std::move(*file);
    // Nobody trusts it before it is whole: it is synced once, at the end. Space can be given back later only if it is
    // said before the first table.
    if (Result<void> done = file_.Exec("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; PRAGMA auto_vacuum = "
                                       "INCREMENTAL");
        !done) {
      return done;
    }
    if (Result<void> done = sqlite::Migrate(file_, sqlite::Migrations()); !done) return done;
    if (Result<void> done = sqlite::PrepareAll(
            file_,
            {{&events_, "INSERT INTO journal (pos, events, sum) VALUES (?1, ?2, ?3)"},
             {&job_, "INSERT INTO jobs (id, record, sum) VALUES (?1, ?2, ?3)"},
             {&page_, "INSERT INTO pages (job, page, record, sum) VALUES (?1, ?2, ?3, ?4)"},
             {&head_, "INSERT OR IGNORE INTO payload_heads (set_id, first, segment, sum) VALUES (?1, ?2, ?3, ?4)"},
             {&segment_, "INSERT INTO payloads (set_id, first, segment, sum) VALUES (?1, ?2, ?3, ?4)"},
             {&loose_, "INSERT INTO loose VALUES (?1)"},
             {&outcomes_, "INSERT INTO outcomes (seq, packed, sum) VALUES (?1, ?2, ?3)"},
             {&index_, "INSERT INTO outcome_index VALUES (?1, ?2, ?3, ?4, ?5)"},
             {&garbage_, "INSERT INTO garbage (seq, job, set_id) VALUES (?1, ?2, ?3)"},
             {&setting_, "INSERT INTO settings (name, value, sum) VALUES (CAST(?1 AS TEXT), ?2, ?3)"},
             {&floor_, "UPDATE state SET floor = ?1, in_use = 0"}});
        !done) {
      return done;
    }
    return file_.Exec("BEGIN");
  }

  Result<void> CopyAll(Connection& db, const std::string& queue) {
    const auto copy = [&](const std::string& query, const std::function<int(const Fields&)>& put) {
      return db.CopyOut(query, [&](const Fields& row) -> Result<void> {
        const int code = put(row);
        if (code != SQLITE_OK) return file_.ErrorOf(code, "write the backup");
        return {};
      });
    };
    const std::string of = " WHERE queue = " + queue;
    Result<void> done =
        copy("SELECT floor FROM heads" + of, [&](const Fields& row) { return floor_.Run(IntOf(row[0])); });
    if (done) {
      done = copy("SELECT pos, events, sum FROM journal" + of + " ORDER BY pos",
                  [&](const Fields& row) { return events_.Run(IntOf(row[0]), row[1], IntOf(row[2])); });
    }
    if (done) {
      done = copy("SELECT id, record, sum FROM jobs" + of + " ORDER BY id",
                  [&](const Fields& row) { return job_.Run(IntOf(row[0]), row[1], IntOf(row[2])); });
    }
    if (done) {
      done = copy("SELECT job, page, record, sum FROM pages" + of + " ORDER BY job, page",
                  [&](const Fields& row) { return page_.Run(IntOf(row[0]), IntOf(row[1]), row[2], IntOf(row[3])); });
    }
    if (done) {
      done = copy("SELECT set_id, first, segment, sum FROM payloads" + of + " ORDER BY set_id, first",
                  [&](const Fields& row) { return PutSegment(row); });
    }
    if (done) {
      done = copy("SELECT set_id FROM loose" + of + " ORDER BY set_id",
                  [&](const Fields& row) { return loose_.Run(IntOf(row[0])); });
    }
    if (done) {
      done = copy("SELECT job, slice, seq, lowest, highest, packed, sum FROM outcomes" + of, [&](const Fields& row) {
        const int code = outcomes_.Run(IntOf(row[2]), row[5], IntOf(row[6]));
        if (code != SQLITE_OK) return code;
        return index_.Run(IntOf(row[0]), IntOf(row[1]), IntOf(row[2]), IntOf(row[3]), IntOf(row[4]));
      });
    }
    if (done) {
      done = copy("SELECT seq, job, set_id FROM garbage" + of + " ORDER BY seq",
                  [&](const Fields& row) { return garbage_.Run(IntOf(row[0]), IntOf(row[1]), IntOf(row[2])); });
    }
    if (done) {
      done = copy("SELECT name, value, sum FROM settings" + of,
                  [&](const Fields& row) { return setting_.Run(row[0], row[1], IntOf(row[2])); });
    }
    if (!done) return done;
    return file_.Exec("COMMIT");
  }

 private:
  // The first of a set is its head, if it begins with the first task or is for all.
  int PutSegment(const Fields& row) {
    const std::int64_t set = IntOf(row[0]), first = IntOf(row[1]), sum = IntOf(row[3]);
    if (first <= 0) {
      const int code = head_.Run(set, first, row[2], sum);
      if (code != SQLITE_OK || sqlite3_changes(file_.get()) > 0) return code;
    }
    return segment_.Run(set, first, row[2], sum);
  }

  File file_;
  FileStatement events_, job_, page_, head_, segment_, loose_, outcomes_, index_, garbage_, setting_, floor_;
};

// Reads a file's rows into a queue, within one transaction of `db`.
class Restoring {
 public:
  Restoring(Connection& db, File& file, std::int64_t queue) : db_(db), file_(file), queue_(queue) {}

  Result<void> All() {
    Result<void> done = Table("journal (queue, pos, events, sum)", "SELECT pos, events, sum FROM journal", 1, 1);
    if (done) done = Table("jobs (queue, id, record, sum)", "SELECT id, record, sum FROM jobs", 1, 1);
    if (done) done = Table("pages (queue, job, page, record, sum)", "SELECT job, page, record, sum FROM pages", 2, 2);
    if (done) {
      done = Table("payloads (queue, set_id, first, segment, sum)",
                   "SELECT set_id, first, segment, sum FROM payload_heads UNION ALL SELECT set_id, first, segment, sum "
                   "FROM payloads",
                   2, 2);
    }
    if (done) {
      done = Table("outcomes (queue, job, slice, seq, lowest, highest, packed, sum)",
                   "SELECT job, slice, seq, lowest, highest, packed, sum FROM outcome_index CROSS JOIN outcomes USING "
                   "(seq)",
                   5, 3);
    }
    if (done) done = Table("loose (queue, set_id)", "SELECT set_id FROM loose", 1, 0);
    if (done) done = Table("garbage (queue, seq, job, set_id)", "SELECT seq, job, set_id FROM garbage", 3, 0);
    if (done) done = Settings();
    if (done) done = Head();
    return done;
  }

 private:
  // Rows of so many integers; then, with a `key` of the first of them, a blob and its sum.
  Result<void> Table(const std::string& table, const char* query, int integers, int key) {
    Result<FileStatement> rows = FileStatement::Prepare(file_, query);
    if (!rows) return rows.error();
    return db_.CopyIn(table, [&](Connection::Row& row) -> Result<bool> {
      const int code = rows->Step();
      if (code == SQLITE_DONE) return false;
      if (code != SQLITE_ROW) return file_.ErrorOf(code, "read the backup");
      row.Int4(static_cast<std::int32_t>(queue_));
      for (int i = 0; i < integers; ++i) row.Int8(rows->Int(i));
      if (key == 0) return true;
      const std::string_view blob = rows->Blob(integers);
      const auto part = [&](int i) { return static_cast<std::uint64_t>(rows->Int(i)); };
      const std::int64_t sum = key == 1   ? RowSum({part(0)}, blob)
                               : key == 2 ? RowSum({part(0), part(1)}, blob)
                                          : RowSum({part(0), part(1), part(2)}, blob);
      if (!rows->HasSum(integers + 1, sum)) return Damaged(table);
      bytes_ += static_cast<std::int64_t>(blob.size());
      row.Blob(blob);
      row.Int4(static_cast<std::int32_t>(sum));
      return true;
    });
  }

  Result<void> Settings() {
    Result<FileStatement> rows = FileStatement::Prepare(file_, "SELECT name, value, sum FROM settings");
    if (!rows) return rows.error();
    return db_.CopyIn("settings (queue, name, value, sum)", [&](Connection::Row& row) -> Result<bool> {
      const int code = rows->Step();
      if (code == SQLITE_DONE) return false;
      if (code != SQLITE_ROW) return file_.ErrorOf(code, "read the backup");
      const std::string name(rows->Blob(0)), value(rows->Blob(1));
      const std::int64_t sum = RowSum({}, name + "=" + value);
      if (!rows->HasSum(2, sum)) return Damaged("settings");
      row.Int4(static_cast<std::int32_t>(queue_));
      row.Blob(name);
      row.Blob(value);
      row.Int4(static_cast<std::int32_t>(sum));
      return true;
    });
  }

  Result<void> Head() {
    Result<std::int64_t> floor = file_.QueryInt("SELECT floor FROM state");
    if (!floor) return floor.error();
    Result<std::int64_t> pos = file_.QueryInt("SELECT ifnull(max(pos), 0) FROM journal");
    if (!pos) return pos.error();
    Result<std::int64_t> seq = file_.QueryInt(
        "SELECT max(ifnull((SELECT max(seq) FROM outcomes), 0), ifnull((SELECT max(seq) FROM garbage), 0))");
    if (!seq) return seq.error();
    Result<Rows> put = db_.Run(
        "INSERT INTO heads (queue, pos, floor, next_seq, bytes) VALUES ($1::bigint, $2::bigint, $3::bigint, "
        "$4::bigint, "
        "$5::bigint)",
        Params(queue_, std::max(*pos, *floor), *floor, *seq + 1, bytes_));
    if (!put) return put.error();
    return {};
  }

  static Error Damaged(const std::string& table) {
    return {Code::kStoreCorrupt, "the backup is damaged: a row of " + table.substr(0, table.find(' ')),
            "choose another backup"};
  }

  Connection& db_;
  File& file_;
  const std::int64_t queue_;
  std::int64_t bytes_ = 0;
};

}  // namespace

Result<void> BackUpQueue(PostgresDatabase& database, std::int64_t queue, const std::string& to) {
  return sqlite::MakeNewFile(to, [&](const std::string& part) -> Result<void> {
    Result<std::unique_ptr<Connection>> db = database.Connect("allotter backup");
    if (!db) return db.error();
    BackupFile file;
    if (Result<void> done = file.Make(part); !done) return done;
    if (Result<void> done = (*db)->Script(kSnapshot); !done) return done;
    return file.CopyAll(**db, std::to_string(queue));
  });
}

}  // namespace allot::postgres

namespace allot {

using postgres::Connection;
using postgres::Params;
using postgres::Rows;

namespace {

Result<void> RestoreWithin(Connection& db, sqlite::Database& file, const RestoreOptions& options) {
  Result<Rows> there = db.Run(
      "SELECT h.queue, h.owner, (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
      "application_name = 'allotter queue ' || h.queue || ' by ' || h.incarnation) FROM heads h JOIN queues q ON "
      "q.number = h.queue WHERE q.name = $1::text AND q.deleted IS NULL FOR UPDATE",
      Params(options.queue));
  if (!there) return there.error();
  if (!there->empty()) {
    if (!there->Bytes(0, 1).empty() && there->Int(0, 2) > 0) {
      return Error{Code::kStoreLocked,
                   "the queue " + options.queue + " is in use by the server " + std::string(there->Bytes(0, 1)),
                   "stop it first; a queue is restored offline"};
    }
    if (!options.replace) {
      return Error{Code::kQueueExists, "the queue `" + options.queue + "` is there already",
                   "--force replaces it; --queue names another"};
    }
    const std::int64_t old = there->Int(0, 0);
    Result<Rows> gone = db.Run("DELETE FROM heads WHERE queue = $1::bigint", Params(old));
    if (gone) gone = db.Run("UPDATE queues SET deleted = now() WHERE number = $1::bigint", Params(old));
    if (!gone) return gone.error();
  }
  Result<Rows> made = db.Run("INSERT INTO queues (name) VALUES ($1::text) RETURNING number", Params(options.queue));
  if (!made) return made.error();
  const std::int64_t number = made->Int(0, 0);
  if (Result<void> done = postgres::Restoring(db, file, number).All(); !done) return done;
  return db.Script("COMMIT");
}

}  // namespace

Result<void> RestoreIntoPostgres(PostgresDatabase& database, const RestoreOptions& options) {
  Result<sqlite::Database> file = sqlite::OpenImmutable(options.file);
  if (!file) return file.error();
  Result<std::unique_ptr<Connection>> db = database.Connect("allotter restore");
  if (!db) return db.error();
  if (Result<void> done = (*db)->Script("BEGIN"); !done) return done;
  Result<void> done = RestoreWithin(**db, *file, options);
  if (!done && (*db)->usable()) static_cast<void>((*db)->Script("ROLLBACK"));
  if (done) database.unswept() = true;
  return done;
}

}  // namespace allot
