// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/loader.h"

#include <algorithm>

#include "store/packed/checksum.h"
#include "store/packed/packing.h"

namespace allot::postgres {
namespace {

using sqlite::RowSum;
using Fields = Connection::Fields;

std::uint64_t IdOf(std::string_view field) { return static_cast<std::uint64_t>(IntOf(field)); }

class Loading {
 public:
  Loading(Connection& db, std::int64_t queue, const Store::Loader& loader, Found& found)
      : db_(db), queue_(std::to_string(queue)), loader_(loader), found_(found) {}

  Result<void> Begin(Position& pos) {
    if (Result<void> done = db_.Script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"); !done) return done;
    bool any = false;
    Result<void> done = db_.CopyOut("SELECT pos, floor FROM heads WHERE queue = " + queue_, [&](const Fields& row) {
      pos = IdOf(row[0]);
      found_.floor = IdOf(row[1]);
      any = true;
      return Result<void>();
    });
    if (done && !any) return CorruptRow("heads");
    return done;
  }

  Result<void> Garbage() {
    std::vector<std::uint64_t> sets;
    Result<void> done = db_.CopyOut("SELECT seq, job, set_id FROM garbage WHERE queue = " + queue_ + " ORDER BY seq",
                                    [&](const Fields& row) {
                                      found_.garbage.push_back({IntOf(row[0]), IntOf(row[1]), IntOf(row[2])});
                                      return Result<void>();
                                    });
    if (!done) return done;
    for (const postgres::Garbage& gone : found_.garbage) {
      // A payload set that goes alone has no job; a record under that id is the engine's own, and stays.
      if (gone.job != 0) removed_.push_back(static_cast<std::uint64_t>(gone.job));
      if (gone.set != 0) sets.push_back(static_cast<std::uint64_t>(gone.set));
      if (gone.job == 0 && gone.set != 0) found_.broken_off.push_back(static_cast<std::uint64_t>(gone.set));
    }
    std::sort(removed_.begin(), removed_.end());
    std::sort(sets.begin(), sets.end());
    return db_.CopyOut("SELECT set_id FROM loose WHERE queue = " + queue_ + " ORDER BY set_id", [&](const Fields& row) {
      if (!std::binary_search(sets.begin(), sets.end(), IdOf(row[0]))) found_.loose.push_back(IdOf(row[0]));
      return Result<void>();
    });
  }

  Result<void> Records() {
    Record record;
    const auto hand_over = [&](const char* table, bool whole) -> Result<void> {
      if (std::binary_search(removed_.begin(), removed_.end(), record.job.value)) return {};
      if (!whole) return CorruptRow(table);
      return loader_.on_record(record);
    };
    Result<void> done = db_.CopyOut("SELECT id, record, sum FROM jobs WHERE queue = " + queue_ + " ORDER BY id",
                                    [&](const Fields& row) {
                                      record.job.value = IdOf(row[0]);
                                      record.blob = row[1];
                                      return hand_over("jobs", IntOf(row[2]) == RowSum({record.job.value}, row[1]));
                                    });
    if (!done) return done;
    return db_.CopyOut("SELECT job, page, record, sum FROM pages WHERE queue = " + queue_ + " ORDER BY job, page",
                       [&](const Fields& row) {
                         record.job.value = IdOf(row[0]);
                         record.page = static_cast<std::uint32_t>(IdOf(row[1]));
                         record.blob = row[2];
                         return hand_over("pages", IntOf(row[3]) == RowSum({record.job.value, record.page}, row[2]));
                       });
  }

  // Those behind `after`.
  Result<void> Events(Position after) {
    return db_.CopyOut("SELECT pos, events, sum FROM journal WHERE queue = " + queue_ + " AND pos > " +
                           std::to_string(after) + " ORDER BY pos",
                       [&](const Fields& row) -> Result<void> {
                         const Position last = IdOf(row[0]);
                         if (IntOf(row[2]) != RowSum({last}, row[1])) return CorruptRow("journal");
                         ++found_.journal_rows;
                         const Result<bool> whole = sqlite::UnpackEvents(
                             last, row[1], [&](Position position, std::string_view events) -> Result<void> {
                               if (position <= after) return {};
                               return loader_.on_events(position, events);
                             });
                         if (!whole) return whole.error();
                         if (!*whole) return CorruptRow("journal");
                         found_.position = last;
                         return {};
                       });
  }

  // Those that are folded, and wait to be dropped.
  Result<void> CountFolded() {
    return db_.CopyOut(
        "SELECT count(*) FROM journal WHERE queue = " + queue_ + " AND pos <= " + std::to_string(found_.floor),
        [&](const Fields& row) {
          found_.journal_rows += IdOf(row[0]);
          return Result<void>();
        });
  }

 private:
  Connection& db_;
  const std::string queue_;
  const Store::Loader& loader_;
  Found& found_;
  std::vector<std::uint64_t> removed_;  // in order
};

}  // namespace

Error CorruptRow(const char* table) {
  return {Code::kStoreCorrupt, std::string("a row of the database's table ") + table + " is damaged",
          "restore a backup: allot restore"};
}

Result<Found> LoadSnapshot(PostgresDatabase& database, std::int64_t queue, const Store::Loader& loader) {
  Result<std::unique_ptr<Connection>> db = database.Connect("allotter load");
  if (!db) return db.error();
  Found found;
  Loading loading(**db, queue, loader, found);
  Position pos = 0;
  Result<void> done = loading.Begin(pos);
  if (done) done = loading.Garbage();
  if (done) done = loading.Records();
  found.position = found.floor;
  if (done) done = loading.Events(found.floor);
  if (done) done = loading.CountFolded();
  if (!done) return done.error();
  found.position = std::max(found.position, pos);
  return found;
}

Result<void> LoadTail(PostgresDatabase& database, std::int64_t queue, const Store::Loader& loader, Found& found) {
  Result<std::unique_ptr<Connection>> db = database.Connect("allotter load");
  if (!db) return db.error();
  const Position after = found.position;
  Found now;
  Loading loading(**db, queue, loader, now);
  Position pos = 0;
  if (Result<void> done = loading.Begin(pos); !done) return done;
  if (now.floor > after || pos < after) {
    return Error{Code::kUnavailable, "the owner before has folded what was to be loaded", "load it again"};
  }
  if (Result<void> done = loading.Garbage(); !done) return done;
  now.position = after;
  if (Result<void> done = loading.Events(after); !done) return done;
  now.journal_rows = 0;
  if (Result<void> done = db->get()->CopyOut("SELECT count(*) FROM journal WHERE queue = " + std::to_string(queue),
                                             [&](const Fields& row) {
                                               now.journal_rows = IdOf(row[0]);
                                               return Result<void>();
                                             });
      !done) {
    return done;
  }
  found = std::move(now);
  return {};
}

}  // namespace allot::postgres
