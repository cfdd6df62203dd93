// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "store/journal/applier.h"
#include "store/journal/journal.h"
#include "store/journal/young.h"
#include "store/packed/checksum.h"
#include "store/packed/packing.h"
#include "store/packed/payload_cache.h"
#include "store/sqlite/backup.h"
#include "store/sqlite/checkpointer.h"
#include "store/sqlite/file_guard.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sql.h"
#include "store/sqlite/tidier.h"

namespace allot {
namespace sqlite {
namespace {

constexpr std::size_t kCachedSegmentBytes = 4 * 1024;  // longer ones are not kept when they are written

// SQLite takes so much at once, or so many removals.
constexpr std::size_t kApplyBytes = 256 * 1024;
constexpr std::size_t kApplyRemovals = 128;
// Where SQLite cannot take anything, commits go on until there is so much.
constexpr std::uint64_t kMaxYoungBytes = 4 << 20;
constexpr std::size_t kSmallCommitBytes = 16 * 1024;

class StoreImpl final : public Store {
 public:
  explicit StoreImpl(const SqliteOptions& options)
      : options_(options),
        guard_({options.file, DiskOf(options), options.accept_loss, options.on_loss}),
        journal_(options.file, DiskOf(options), [this](std::uint32_t count) { return guard_.SetSegments(count); }),
        cache_(options.payload_cache_bytes),
        readers_(options.file, options.vfs, std::max<std::size_t>(options.max_readers, 1)) {}

  ~StoreImpl() override;

  Result<void> Open();
  Result<void> Load(const Loader& loader, const std::function<bool(JobId set)>& live_set) override;
  Position LastPosition() const override { return last_position_; }
  Result<void> Commit(std::span<const Batch> batches) override;
  Result<bool> Tidy() override {
    Result<bool> done = TidySome();
    // Whatever failed: if the files are gone, that is why.
    if (!done && done.error().code == Code::kStoreFailed) {
      if (Result<void> there = guard_.CheckFilesNow(); !there) return there.error();
    }
    return done;
  }
  bool CommitsAtOnce() const override;
  Result<void> PutSetting(std::string_view name, std::string_view value) override;
  Result<std::optional<std::string>> GetSetting(std::string_view name) override;
  Result<std::optional<std::string>> ReadPayload(JobId set, std::int64_t index) override;
  std::vector<PayloadRead> ReadPayloads(std::span<const PayloadKey> keys, std::size_t max_bytes) override;
  Result<std::vector<Outcome>> ReadOutcomes(const OutcomeQuery& query) override;
  Result<void> Backup(const std::string& file) override {
    return BackUp(options_.file, options_.vfs, file, young_.All());
  }
  Result<Usage> ReadUsage() override;

 private:
  PayloadRead FindPayload(const PayloadKey& key);
  Result<void> PrepareFile();
  // Before the first write: what is refused until then was not changed.
  Result<void> BeginUse();
  // Whether the log goes into the file, and away, when the last connection closes.
  void MoveLogOnClose(bool move);
  Result<void> PrepareStatements();
  Result<void> LoadRecords(const Loader& loader);
  Result<void> LoadEvents(const Loader& loader);
  Result<void> DropDeadSets(const std::function<bool(JobId set)>& live_set);

  static journal::Disk DiskOf(const SqliteOptions& options) { return {options.writing, options.vfs}; }
  // What an earlier life left in the journal.
  Result<void> Recover();
  struct Positions {
    Position floor = 0;
    Position last = 0;
  };
  // Where they go with these batches.
  Positions Advance(std::span<const Batch> batches) const;
  // Durable on return, or none of it is there.
  Result<void> Append(std::string body, Position position);
  Result<void> MakeRoom(std::size_t body_bytes);
  // SQLite takes some of what only the journal has, or all of it.
  Result<void> ApplySome();
  Result<void> ApplyAll();
  // SQLite has durably what it took: here and now, or as far as the other thread has come.
  Result<void> SyncApplied();
  Result<void> TakeSynced();
  Result<bool> TidySome();
  Result<bool> Settle();

  const SqliteOptions options_;
  FileGuard guard_;
  Database db_;
  bool in_use_ = false;  // the guard has begun
  Statement put_garbage_, get_setting_;

  journal::Journal journal_;
  journal::Young young_;
  std::unique_ptr<journal::Applier> applier_;
  Position floor_ = 0;
  Position last_position_ = 0;
  bool committed_since_tidy_ = false;
  Counters counters_;
  std::unique_ptr<Checkpointer> checkpointer_;
  std::unique_ptr<Tidier> tidier_;

  PayloadCache cache_;
  ReaderPool readers_;
};

Error CorruptRow(const std::string& file, const char* table) {
  return {Code::kStoreCorrupt, file + ": a row of the table " + table + " is damaged",
          "restore a backup: allot restore"};
}

Result<void> StoreImpl::Open() {
  if (Result<void> done = guard_.Take(); !done) return done;
  Result<Database> db =
      Database::Open(options_.file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, options_.vfs);
  if (!db) return db.error();
  db_ = std::move(*db);
  // What is refused stays as it is.
  MoveLogOnClose(false);
  if (Result<void> done = PrepareFile(); !done) return done;
  if (Result<void> done = PrepareStatements(); !done) return done;
  checkpointer_ = std::make_unique<Checkpointer>(options_.file, options_.vfs, [this] { return guard_.Sync(); });
  tidier_ = std::make_unique<Tidier>(db_, *checkpointer_, counters_, options_.log_pages);
  if (Result<void> done = tidier_->Prepare(); !done) return done;
  applier_ = std::make_unique<journal::Applier>(
      db_, [this](const Removal& removal, bool& gone) { return tidier_->RemoveNow(removal, gone); });
  if (Result<void> done = applier_->Prepare(); !done) return done;
  return Recover();
}

Result<void> StoreImpl::Recover() {
  const auto groups = guard_.Recover(applier_->applied());
  if (!groups) return groups.error();
  last_position_ = applier_->last_position();
  for (const auto& group : *groups) {
    last_position_ = std::max(last_position_, group->position);
    young_.Add(group);
  }
  return guard_.CheckPosition(last_position_);
}

Result<void> StoreImpl::BeginUse() {
  if (in_use_) return {};
  if (Result<void> done = guard_.Begin(db_); !done) return done;
  // What is in the journal only, and may be behind a loss, is in the file before the journal is written over.
  if (Result<void> done = ApplyAll(); !done) return done;
  // That it is in use must be in the file itself, in case its log goes.
  if (Result<void> done = tidier_->Checkpoint(); !done) return done;
  if (Result<void> done = SyncLogOf(db_); !done) return done;
  const Result<std::uint64_t> salt = guard_.BeginJournal(db_);
  if (!salt) return salt.error();
  if (Result<void> done = journal_.Begin(*salt, applier_->applied()); !done) return done;
  guard_.Committed(last_position_, journal_.last());
  in_use_ = true;
  return {};
}

StoreImpl::~StoreImpl() {
  if (!in_use_) {
    // Refused: a log that was there stays as it is; an empty one of our own goes.
    if (db_.get() != nullptr && !guard_.found_log()) MoveLogOnClose(true);
    return;
  }
  checkpointer_->Wait(std::chrono::minutes(1));
  if (!ApplyAll()) return;  // it is in the journal
  journal_.Close();
  if (guard_.End(db_)) MoveLogOnClose(true);
}

void StoreImpl::MoveLogOnClose(bool move) {
  CHECK(sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, move ? 0 : 1, nullptr) == SQLITE_OK);
}

Result<void> StoreImpl::PrepareFile() {
  const Result<std::int64_t> version = CheckFile(db_, Migrations());
  if (!version) return version.error();
  if (sqlite3_db_readonly(db_.get(), "main") == 1) {
    return Error{Code::kStoreFailed, options_.file + " cannot be written",
                 "make the file and its directory writable for this user"};
  }
  if (Result<void> done = guard_.Admit(db_, *version); !done) return done;
  // Free pages can be given back only if the file was made for it, before its first table.
  if (*version == 0) {
    if (Result<void> done = db_.Exec("PRAGMA auto_vacuum = INCREMENTAL"); !done) return done;
  }
  Result<Statement> wal = Statement::Prepare(db_, "PRAGMA journal_mode = WAL");
  if (!wal) return wal.error();
  const int code = wal->Step();
  if (code != SQLITE_ROW) return db_.ErrorOf(code, "begin a write-ahead log");
  if (wal->Blob(0) != "wal") {
    return Error{Code::kStoreFailed, options_.file + ": its file system cannot hold a write-ahead log",
                 "use a data directory on a local disk"};
  }
  wal->Reset();
  // The log is moved into the file by Tidy(), not by whichever commit happens to fill it.
  const Result<void> set = db_.Exec(
      "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -4096; PRAGMA "
      "journal_size_limit "
      "= " +
      std::to_string(kLogFileBytes));
  if (!set) return set;
  if (Result<void> done = Migrate(db_, Migrations()); !done) return done;
  const auto today = static_cast<std::int64_t>(Migrations().size());
  if (*version > 0 && *version < today && options_.on_migrated) options_.on_migrated(options_.file, *version, today);
  return {};
}

Result<void> StoreImpl::PrepareStatements() {
  return PrepareAll(db_, {{&put_garbage_, "INSERT INTO garbage (job, set_id) VALUES (?1, ?2)"},
                          {&get_setting_, "SELECT value, sum FROM settings WHERE name = CAST(?1 AS TEXT)"}});
}

Result<void> StoreImpl::Load(const Loader& loader, const std::function<bool(JobId set)>& live_set) {
  // What only the journal has is read as rows, too.
  if (!young_.empty()) {
    if (Result<void> done = BeginUse(); !done) return done;
    if (Result<void> done = ApplyAll(); !done) return done;
  }
  floor_ = last_position_ = applier_->floor();
  counters_.garbage_jobs = 0;
  if (Result<void> done = LoadRecords(loader); !done) return done;
  if (Result<void> done = LoadEvents(loader); !done) return done;
  if (Result<void> done = guard_.Loaded(last_position_); !done) return done;
  // Without space it can be read all the same; the first commit tries again.
  if (Result<void> done = BeginUse(); !done && done.error().code != Code::kDiskFull) return done;
  if (Result<void> done = DropDeadSets(live_set); !done) return done;
  tidier_->SetFloor(floor_);
  if (counters_.garbage_jobs > 0) tidier_->AddedGarbage();
  return {};
}

Result<void> StoreImpl::LoadRecords(const Loader& loader) {
  // Removed jobs are in the tables until they are swept.
  std::vector<std::uint64_t> removed;
  Result<Statement> garbage = Statement::Prepare(db_, "SELECT job FROM garbage");
  if (!garbage) return garbage.error();
  int code = SQLITE_ROW;
  while ((code = garbage->Step()) == SQLITE_ROW) {
    ++counters_.garbage_jobs;
    // A payload set that goes alone has no job; a record under that id is the engine's own, and stays.
    if (garbage->Int(0) != 0) removed.push_back(static_cast<std::uint64_t>(garbage->Int(0)));
  }
  if (code != SQLITE_DONE) return db_.ErrorOf(code, "read removed jobs");
  std::sort(removed.begin(), removed.end());

  Record record;
  const auto is_removed = [&] { return std::binary_search(removed.begin(), removed.end(), record.job.value); };
  Result<Statement> jobs = Statement::Prepare(db_, "SELECT id, record, sum FROM jobs ORDER BY id");
  if (!jobs) return jobs.error();
  while ((code = jobs->Step()) == SQLITE_ROW) {
    record.job.value = static_cast<std::uint64_t>(jobs->Int(0));
    if (is_removed()) continue;
    record.blob = jobs->Blob(1);
    if (!jobs->HasSum(2, RowSum({record.job.value}, record.blob))) return CorruptRow(options_.file, "jobs");
    if (Result<void> done = loader.on_record(record); !done) return done;
  }
  if (code != SQLITE_DONE) return db_.ErrorOf(code, "read jobs");

  Result<Statement> pages = Statement::Prepare(db_, "SELECT job, page, record, sum FROM pages ORDER BY job, page");
  if (!pages) return pages.error();
  while ((code = pages->Step()) == SQLITE_ROW) {
    record.job.value = static_cast<std::uint64_t>(pages->Int(0));
    if (is_removed()) continue;
    record.page = static_cast<std::uint32_t>(pages->Int(1));
    record.blob = pages->Blob(2);
    if (!pages->HasSum(3, RowSum({record.job.value, record.page}, record.blob))) {
      return CorruptRow(options_.file, "pages");
    }
    if (Result<void> done = loader.on_record(record); !done) return done;
  }
  if (code != SQLITE_DONE) return db_.ErrorOf(code, "read pages of tasks");
  return {};
}

Result<void> StoreImpl::LoadEvents(const Loader& loader) {
  Result<Statement> journal = Statement::Prepare(db_, "SELECT pos, events, sum FROM journal ORDER BY pos");
  if (!journal) return journal.error();
  int code = SQLITE_ROW;
  std::uint64_t rows = 0;
  while ((code = journal->Step()) == SQLITE_ROW) {
    ++rows;
    const auto row = static_cast<Position>(journal->Int(0));
    if (row <= floor_) continue;
    if (!journal->HasSum(2, RowSum({row}, journal->Blob(1)))) return CorruptRow(options_.file, "journal");
    const Result<bool> whole =
        UnpackEvents(row, journal->Blob(1), [&](Position position, std::string_view events) -> Result<void> {
          if (position <= floor_) return {};
          return loader.on_events(position, events);
        });
    if (!whole) return whole.error();
    if (!*whole) return CorruptRow(options_.file, "journal");
    last_position_ = row;
  }
  if (code != SQLITE_DONE) return db_.ErrorOf(code, "read events");
  counters_.journal_rows = rows;
  return {};
}

Result<void> StoreImpl::DropDeadSets(const std::function<bool(JobId set)>& live_set) {
  std::vector<std::uint64_t> dead;
  bool any = false;
  {
    // Those that are removed already are asked about as well, whatever the answer: ids must go on above them.
    Result<Statement> loose =
        Statement::Prepare(db_,
                           "SELECT set_id, 0 FROM loose WHERE set_id NOT IN (SELECT set_id FROM garbage) UNION ALL "
                           "SELECT set_id, 1 FROM garbage WHERE job = 0 AND set_id != 0 ORDER BY 1");
    if (!loose) return loose.error();
    int code = SQLITE_ROW;
    while ((code = loose->Step()) == SQLITE_ROW) {
      const JobId set{static_cast<std::uint64_t>(loose->Int(0))};
      const bool live = live_set(set);
      if (loose->Int(1) != 0) continue;
      any = true;
      if (!live) dead.push_back(set.value);
    }
    if (code != SQLITE_DONE) return db_.ErrorOf(code, "read payload sets");
  }
  // Without space they are asked about again at the next start.
  if (!any || !in_use_) return {};
  // A set that a job speaks of goes by the removal of that job alone, so it need not be asked about again.
  const auto exec = [this](const char* text) { return sqlite3_exec(db_.get(), text, nullptr, nullptr, nullptr); };
  int code = exec("BEGIN IMMEDIATE");
  for (std::size_t i = 0; code == SQLITE_OK && i < dead.size(); ++i) code = put_garbage_.Run(std::int64_t{0}, dead[i]);
  if (code == SQLITE_OK) code = exec("DELETE FROM loose");
  if (code == SQLITE_OK) code = exec("COMMIT");
  if (code != SQLITE_OK) {
    const Error error = db_.ErrorOf(code, "drop payloads of broken uploads");
    // Some errors have rolled back already.
    if (sqlite3_get_autocommit(db_.get()) == 0) exec("ROLLBACK");
    if (error.code == Code::kDiskFull) return {};
    return error;
  }
  counters_.garbage_jobs += dead.size();
  return guard_.CheckFiles();
}

StoreImpl::Positions StoreImpl::Advance(std::span<const Batch> batches) const {
  Positions to{floor_, last_position_};
  Position last = 0;
  for (const Batch& batch : batches) {
    if (batch.events.empty()) continue;
    // Numbering may begin anew once everything is folded.
    if (last == 0 && batch.position <= last_position_ && last_position_ <= floor_) to = {};
    CHECK(batch.position > std::max(last, to.last));
    last = batch.position;
  }
  for (const Batch& batch : batches) to.floor = std::max(to.floor, batch.floor);
  to.last = std::max({to.last, last, to.floor});
  return to;
}

Result<void> StoreImpl::Commit(std::span<const Batch> batches) {
  if (Result<void> done = BeginUse(); !done) return done;
  committed_since_tidy_ = true;
  // What comes in faster than it can be cleared away waits for that, so that the file stays in proportion.
  if (tidier_->behind()) {
    const Result<bool> more = tidier_->Step();
    if (!more && more.error().code != Code::kDiskFull) return more.error();
  }
  if (young_.bytes() >= kApplyBytes || young_.removals() >= kApplyRemovals) {
    const Result<void> applied = ApplySome();
    if (!applied && (applied.error().code != Code::kDiskFull || young_.bytes() >= kMaxYoungBytes)) return applied;
  }
  const bool anything = std::any_of(batches.begin(), batches.end(), [](const Batch& batch) {
    return !batch.events.empty() || !batch.payloads.empty() || !batch.outcomes.empty() || !batch.records.empty() ||
           !batch.removals.empty() || batch.floor != 0;
  });
  if (!anything) return guard_.CheckFiles();
  const Positions to = Advance(batches);
  std::string body;
  journal::EncodeBatches(batches, body);
  if (Result<void> done = Append(std::move(body), to.last); !done) return done;
  floor_ = to.floor;
  last_position_ = to.last;
  for (const Batch& batch : batches) {
    for (const Removal& removal : batch.removals) {
      if (removal.payload_set) cache_.Remove(removal.payload_set);
    }
  }
  return guard_.CheckFiles();
}

bool StoreImpl::CommitsAtOnce() const {
  return in_use_ && !tidier_->behind() && young_.bytes() < kApplyBytes && young_.removals() < kApplyRemovals &&
         journal_.HasRoom(kSmallCommitBytes);
}

Result<void> StoreImpl::Append(std::string body, Position position) {
  if (Result<void> done = MakeRoom(body.size()); !done) return done;
  Result<void> done = journal_.Append(body, position);
  // No space for another segment: there is one, perhaps, once SQLite has taken all.
  if (!done && done.error().code == Code::kDiskFull) {
    Result<void> taken = ApplyAll();
    if (taken) taken = SyncApplied();
    // A sync that failed once proves nothing when it is tried again.
    if (!taken && taken.error().code != Code::kDiskFull) return taken;
    if (taken) done = journal_.Append(body, position);
  }
  if (!done) return done;
  guard_.Committed(position, journal_.last());
  auto group = std::make_shared<journal::Group>();
  group->sequence = journal_.last();
  group->position = position;
  group->body = std::move(body);
  CHECK(journal::DecodeBody(group->body, group->view));
  young_.Add(std::move(group));
  return {};
}

Result<void> StoreImpl::MakeRoom(std::size_t body_bytes) {
  if (journal_.HasRoom(body_bytes)) return {};
  if (Result<void> done = TakeSynced(); !done) return done;
  if (journal_.HasRoom(body_bytes) || journal_.bytes() < journal::kMaxJournalBytes) return {};
  // SQLite, or the disk below it, does not keep up: from here on the commits wait for it.
  if (Result<void> done = ApplyAll(); !done) return done;
  return SyncApplied();
}

Result<void> StoreImpl::ApplySome() {
  const std::vector<std::shared_ptr<const journal::Group>> young = young_.All();
  const std::size_t n = journal::CountForOneTransaction(young, applier_->last_position(), kApplyBytes, kApplyRemovals);
  const journal::Groups groups = journal::Groups(young).first(n);
  if (groups.empty()) return {};
  const Result<journal::Applier::Done> done = applier_->Apply(groups);
  if (!done) {
    // An empty log has room, if the file itself need not grow.
    if (done.error().code == Code::kDiskFull) static_cast<void>(tidier_->Checkpoint());
    return done.error();
  }
  // What is likely to be asked for soon stays in memory.
  for (const auto& group : groups) {
    for (const journal::BatchView& batch : group->view.batches) {
      for (const journal::SegmentView& segment : batch.payloads) {
        if (segment.packed.size() > kCachedSegmentBytes) continue;
        cache_.Put(segment.set, segment.first, UnpackedPayloads::From(std::string(segment.packed)), false);
      }
      for (const Removal& removal : batch.removals) {
        if (removal.payload_set) cache_.Remove(removal.payload_set);
      }
    }
  }
  counters_.journal_rows += done->journal_rows;
  counters_.journal_rows -= done->dropped_rows;
  counters_.garbage_jobs += done->garbage;
  young_.Remove(applier_->applied());
  tidier_->SetFloor(applier_->floor());
  if (done->garbage > 0) tidier_->AddedGarbage();
  tidier_->WatchFile(done->removed > 0);
  if (in_use_ && journal_.WantsRelease()) checkpointer_->RequestSync(applier_->applied());
  // A log that cannot be moved just now stays longer.
  const Result<void> bounded = tidier_->WatchLog();
  if (!bounded && bounded.error().code != Code::kDiskFull) return bounded;
  return {};
}

Result<void> StoreImpl::ApplyAll() {
  while (!young_.empty()) {
    if (Result<void> done = ApplySome(); !done) return done;
  }
  return {};
}

Result<void> StoreImpl::SyncApplied() {
  if (Result<void> done = SyncLogOf(db_); !done) return done;
  journal_.Release(applier_->applied());
  return {};
}

Result<void> StoreImpl::TakeSynced() {
  const Result<std::uint64_t> synced = checkpointer_->synced();
  if (!synced) return synced.error();
  if (*synced > journal_.released()) journal_.Release(*synced);
  return {};
}

Result<bool> StoreImpl::TidySome() {
  if (Result<void> done = BeginUse(); !done) return done.error();
  if (Result<void> done = guard_.CheckFiles(); !done) return done.error();
  if (Result<void> done = TakeSynced(); !done) return done.error();
  // Between commits that follow each other SQLite takes what is worth a transaction; else when nothing else is to do.
  const bool idle = !std::exchange(committed_since_tidy_, false);
  if (young_.bytes() >= (idle ? 1 : kApplyBytes / 4)) {
    if (Result<void> done = ApplySome(); !done) return done.error();
    return true;
  }
  const Result<bool> more = tidier_->Step();
  if (!more || *more || !young_.empty()) return more.ok() ? Result<bool>(true) : more;
  return Settle();
}

// Nothing is left to do: the journal becomes small.
Result<bool> StoreImpl::Settle() {
  if (!journal_.is_large()) return false;
  if (Result<void> done = SyncApplied(); !done) return done.error();
  if (Result<void> done = journal_.Shrink(); !done) return done.error();
  return false;
}

Result<void> StoreImpl::PutSetting(std::string_view name, std::string_view value) {
  if (Result<void> done = BeginUse(); !done) return done;
  committed_since_tidy_ = true;
  std::string body;
  journal::EncodeSetting(name, value, body);
  if (Result<void> done = Append(std::move(body), last_position_); !done) return done;
  return guard_.CheckFiles();
}

Result<std::optional<std::string>> StoreImpl::GetSetting(std::string_view name) {
  if (std::optional<std::string> young = young_.FindSetting(name)) return young;
  const ResetAtEnd reset(get_setting_);
  get_setting_.Start(name);
  const int code = get_setting_.Step();
  if (code == SQLITE_DONE) return std::optional<std::string>();
  if (code != SQLITE_ROW) return db_.ErrorOf(code, "read a setting");
  std::string value(get_setting_.Blob(0));
  if (!get_setting_.HasSum(1, journal::SettingSum(name, value))) return CorruptRow(options_.file, "settings");
  return std::optional<std::string>(std::move(value));
}

Result<std::optional<std::string>> StoreImpl::ReadPayload(JobId set, std::int64_t index) {
  const PayloadRead payload = FindPayload({set, index});
  if (!payload) return payload.error();
  if (!payload->has_value()) return std::optional<std::string>();
  return std::optional<std::string>((*payload)->text());
}

std::vector<Store::PayloadRead> StoreImpl::ReadPayloads(std::span<const PayloadKey> keys, std::size_t max_bytes) {
  // Neighbours are mostly of one segment.
  JobId set;
  std::optional<PayloadCache::Found> near;
  return ReadOneByOne(keys, max_bytes, [&](const PayloadKey& key) {
    if (!near || set != key.set || !near->Covers(key.index)) {
      set = key.set;
      near = cache_.FindSegment(key.set, key.index);
      if (!near) return FindPayload(key);
    }
    return PayloadRead(PinnedText(near->At(key.index), near->segment));
  });
}

Store::PayloadRead StoreImpl::FindPayload(const PayloadKey& key) {
  if (const std::optional<PayloadCache::Found> found = cache_.FindSegment(key.set, key.index)) {
    return PayloadRead(PinnedText(found->At(key.index), found->segment));
  }
  if (std::optional<journal::Young::Payload> young = young_.FindPayload(key.set, key.index)) {
    if (young->unpacked) cache_.Put(key.set, young->first, std::move(young->unpacked), false);
    return PayloadRead(std::move(young->text));
  }
  Result<ReaderPool::Lease> reader = readers_.Borrow();
  if (!reader) return reader.error();
  return (*reader)->ReadPayload(key.set, key.index, cache_);
}

Result<std::vector<Outcome>> StoreImpl::ReadOutcomes(const OutcomeQuery& query) {
  // First: what is taken from here meanwhile, SQLite has.
  const journal::Young::FoundOutcomes young = young_.FindOutcomes(query);
  Result<ReaderPool::Lease> reader = readers_.Borrow();
  if (!reader) return reader.error();
  return (*reader)->ReadOutcomes(query, young);
}

Result<Store::Usage> StoreImpl::ReadUsage() {
  Usage usage;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat file {};
    if (stat((options_.file + suffix).c_str(), &file) == 0) {
      usage.file_bytes += static_cast<std::uint64_t>(file.st_size);
    }
  }
  const journal::Journal::Counts journal = journal_.counts();
  usage.file_bytes += journal.bytes;
  usage.journal_rows = counters_.journal_rows + young_.event_rows();
  usage.garbage_jobs = counters_.garbage_jobs + young_.removals();
  usage.unapplied_bytes = young_.bytes();
  usage.journal_segments = journal.segments;
  usage.journal_writing = journal.mode;
  return usage;
}

}  // namespace
}  // namespace sqlite

Result<std::unique_ptr<Store>> SqliteStore::Open(const SqliteOptions& options) {
  auto store = std::make_unique<sqlite::StoreImpl>(options);
  if (Result<void> done = store->Open(); !done) return done.error();
  return std::unique_ptr<Store>(std::move(store));
}

Result<void> SqliteStore::VerifyBackup(const std::string& file) { return sqlite::VerifyBackup(file); }

Result<void> SqliteStore::MakeWay(const std::string& file) { return sqlite::MakeWay(file); }

Result<void> SqliteStore::PrepareRestored(const std::string& copy, std::span<const std::string_view> forget_settings) {
  return sqlite::PrepareRestored(copy, forget_settings);
}

}  // namespace allot
