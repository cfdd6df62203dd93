#include "store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "store/sqlite/backup.h"
#include "store/sqlite/checkpointer.h"
#include "store/sqlite/checksum.h"
#include "store/sqlite/file_guard.h"
#include "store/sqlite/packing.h"
#include "store/sqlite/payload_cache.h"
#include "store/sqlite/reader.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sql.h"
#include "store/sqlite/tidier.h"

namespace allot {
namespace sqlite {
namespace {

// Two rows of this length fill a page of the file; an outcome that is longer has a row of its own.
constexpr std::size_t kOutcomeRowBytes = 2000;
constexpr std::size_t kCachedSegmentBytes = 4 * 1024;  // longer ones are not kept when they are written

constexpr std::uint64_t kRemovedAtOnce = 128;  // jobs of one commit: one or two milliseconds

class StoreImpl final : public Store {
 public:
  explicit StoreImpl(const SqliteOptions& options)
      : options_(options),
        guard_({options.file, options.accept_loss, options.on_loss}),
        cache_(options.payload_cache_bytes),
        readers_(options.file, options.vfs, std::max<std::size_t>(options.max_readers, 1)) {}

  ~StoreImpl() override;

  Result<void> Open();
  Result<void> Load(const Loader& loader, const std::function<bool(JobId set)>& live_set) override;
  Position LastPosition() const override { return last_position_; }
  Result<void> Commit(std::span<const Batch> batches) override;
  Result<bool> Tidy() override;
  Result<void> PutSetting(std::string_view name, std::string_view value) override;
  Result<std::optional<std::string>> GetSetting(std::string_view name) override;
  Result<std::optional<std::string>> ReadPayload(JobId set, std::int64_t index) override;
  Result<std::vector<Outcome>> ReadOutcomes(const OutcomeQuery& query) override;
  Result<void> Backup(const std::string& file) override { return BackUp(options_.file, options_.vfs, file); }
  Result<Usage> ReadUsage() override;

 private:
  // What a commit changes in memory once it is durable.
  struct Pending {
    Position floor = 0;
    Position last_position = 0;
    std::uint64_t journal_rows = 0;
    std::uint64_t dropped_rows = 0;
    std::uint64_t garbage = 0;
    std::uint64_t removed = 0;
    std::int64_t next_seq = 0;
    std::vector<std::pair<const PayloadSegment*, std::string>> fresh;
  };

  Result<void> PrepareFile();
  // Before the first write: what is refused until then was not changed.
  Result<void> BeginUse();
  // Whether the log goes into the file, and away, when the last connection closes.
  void MoveLogOnClose(bool move);
  void LengthenLog();
  Result<void> PrepareStatements();
  Result<void> LoadRecords(const Loader& loader);
  Result<void> LoadEvents(const Loader& loader);
  Result<void> DropDeadSets(const std::function<bool(JobId set)>& live_set);

  // Each gives SQLITE_OK or an error of SQLite.
  int Write(std::span<const Batch> batches, Pending& pending);
  int WriteEvents(std::span<const Batch> batches, Pending& pending);
  int WritePayloads(const Batch& batch, Pending& pending);
  int WriteOutcomes(std::span<const Batch> batches, Pending& pending);
  int WriteRecord(const Record& record);
  void Rollback();
  // After each durable commit: the mark, and whether the files are still those that others will find.
  Result<void> Committed();

  const SqliteOptions options_;
  FileGuard guard_;
  Database db_;
  bool in_use_ = false;  // the guard has begun
  Statement begin_, commit_, rollback_;
  Statement put_events_, drop_events_, put_head_, put_segment_, put_loose_, put_outcomes_, put_outcome_index_;
  Statement put_job_, delete_job_, put_page_, delete_page_, put_garbage_, put_floor_;
  Statement put_setting_, get_setting_;
  std::string scratch_;
  std::vector<const Outcome*> outcomes_;

  Position floor_ = 0;
  Position last_position_ = 0;
  std::int64_t next_seq_ = 0;
  std::uint64_t log_commits_ = 0;  // as of the last mark
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
  tidier_ = std::make_unique<Tidier>(db_, *checkpointer_, guard_, counters_, options_.log_pages);
  return tidier_->Prepare();
}

Result<void> StoreImpl::BeginUse() {
  if (in_use_) return {};
  if (options_.vfs.empty()) LengthenLog();
  if (Result<void> done = guard_.Begin(db_, [this] { return tidier_->log_pages(); }); !done) return done;
  in_use_ = true;
  // That it is in use must be in the file itself, in case its log goes.
  return tidier_->Checkpoint();
}

StoreImpl::~StoreImpl() {
  if (!in_use_) {
    // Refused: a log that was there stays as it is; an empty one of our own goes.
    if (db_.get() != nullptr && !guard_.found_log()) MoveLogOnClose(true);
    return;
  }
  checkpointer_->Wait(std::chrono::minutes(1));
  if (guard_.End(db_, [this] { return tidier_->log_pages(); })) MoveLogOnClose(true);
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
      "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -4096; PRAGMA journal_size_limit "
      "= " +
      std::to_string(kLogFileBytes));
  if (!set) return set;
  return Migrate(db_, Migrations());
}

// A sync after overwriting a file writes its data; one after appending writes its length too, and takes half as long
// again. So the log gets its length before it is used. What SQLite finds behind its last frame does not matter: frames
// carry salts and checksums. A disk without space for it merely stays slower.
void StoreImpl::LengthenLog() {
  const int fd = open((options_.file + "-wal").c_str(), O_WRONLY | O_CLOEXEC);
  struct stat info {};
  if (fd < 0) return;
  if (fstat(fd, &info) == 0 && info.st_size < kLogFileBytes) {
    const std::string zeros(1 << 20, '\0');
    off_t end = info.st_size;
    while (end < kLogFileBytes) {
      const auto n = pwrite(fd, zeros.data(),
                            std::min<std::size_t>(zeros.size(), static_cast<std::size_t>(kLogFileBytes - end)), end);
      if (n <= 0) break;
      end += n;
    }
    if (end < kLogFileBytes || fsync(fd) != 0) static_cast<void>(!ftruncate(fd, info.st_size));
  }
  close(fd);
}

Result<void> StoreImpl::PrepareStatements() {
  return PrepareAll(db_, {{&begin_, "BEGIN IMMEDIATE"},
                          {&commit_, "COMMIT"},
                          {&rollback_, "ROLLBACK"},
                          {&put_events_, "INSERT INTO journal VALUES (?1, ?2, ?3)"},
                          {&drop_events_, "DELETE FROM journal WHERE pos <= ?1"},
                          {&put_head_, "INSERT OR IGNORE INTO payload_heads VALUES (?1, ?2, ?3, ?4)"},
                          {&put_segment_, "INSERT OR REPLACE INTO payloads VALUES (?1, ?2, ?3, ?4)"},
                          {&put_loose_, "INSERT OR IGNORE INTO loose VALUES (?1)"},
                          {&put_outcomes_, "INSERT INTO outcomes VALUES (?1, ?2, ?3)"},
                          {&put_outcome_index_, "INSERT INTO outcome_index VALUES (?1, ?2, ?3, ?4, ?5)"},
                          {&put_job_, "INSERT OR REPLACE INTO jobs VALUES (?1, ?2, ?3)"},
                          {&delete_job_, "DELETE FROM jobs WHERE id = ?1"},
                          {&put_page_, "INSERT OR REPLACE INTO pages VALUES (?1, ?2, ?3, ?4)"},
                          {&delete_page_, "DELETE FROM pages WHERE job = ?1 AND page = ?2"},
                          {&put_garbage_, "INSERT INTO garbage (job, set_id) VALUES (?1, ?2)"},
                          {&put_floor_, "UPDATE state SET floor = ?1"},
                          {&put_setting_, "INSERT OR REPLACE INTO settings VALUES (CAST(?1 AS TEXT), ?2, ?3)"},
                          {&get_setting_, "SELECT value, sum FROM settings WHERE name = CAST(?1 AS TEXT)"}});
}

Result<void> StoreImpl::Load(const Loader& loader, const std::function<bool(JobId set)>& live_set) {
  Result<Statement> state =
      Statement::Prepare(db_, "SELECT floor, (SELECT ifnull(max(seq), 0) FROM outcomes) FROM state");
  if (!state) return state.error();
  const int code = state->Step();
  if (code == SQLITE_DONE) return CorruptRow(options_.file, "state");
  if (code != SQLITE_ROW) return db_.ErrorOf(code, "read its state");
  floor_ = last_position_ = static_cast<Position>(state->Int(0));
  next_seq_ = state->Int(1) + 1;
  state->Reset();
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
  int code = begin_.Run();
  for (std::size_t i = 0; code == SQLITE_OK && i < dead.size(); ++i) code = put_garbage_.Run(std::int64_t{0}, dead[i]);
  if (code == SQLITE_OK) code = sqlite3_exec(db_.get(), "DELETE FROM loose", nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) code = commit_.Run();
  if (code != SQLITE_OK) {
    const Error error = db_.ErrorOf(code, "drop payloads of broken uploads");
    Rollback();
    if (error.code == Code::kDiskFull) return {};
    return error;
  }
  counters_.garbage_jobs += dead.size();
  return Committed();
}

Result<void> StoreImpl::Commit(std::span<const Batch> batches) {
  if (Result<void> done = BeginUse(); !done) return done;
  // What comes in faster than it can be cleared away waits for that, so that the file stays in proportion.
  if (tidier_->behind()) {
    const Result<bool> more = tidier_->Step();
    if (!more && more.error().code != Code::kDiskFull) return more.error();
  }
  Pending pending;
  pending.floor = floor_;
  pending.last_position = last_position_;
  pending.next_seq = next_seq_;
  int code = begin_.Run();
  if (code == SQLITE_OK) code = Write(batches, pending);
  if (code == SQLITE_OK) code = commit_.Run();
  if (code != SQLITE_OK) {
    const Error error = db_.ErrorOf(code, "write");
    Rollback();
    // An empty log has room, if the file itself need not grow.
    if (error.code == Code::kDiskFull) static_cast<void>(tidier_->Checkpoint());
    return error;
  }
  floor_ = pending.floor;
  last_position_ = pending.last_position;
  next_seq_ = pending.next_seq;
  counters_.journal_rows += pending.journal_rows;
  counters_.journal_rows -= pending.dropped_rows;
  counters_.garbage_jobs += pending.garbage;
  tidier_->SetFloor(floor_);
  if (pending.garbage > 0) tidier_->AddedGarbage();
  tidier_->WatchFile(pending.removed > 0);
  for (auto& [segment, packed] : pending.fresh) {
    cache_.Put(segment->set, segment->first, UnpackedPayloads::From(std::move(packed)), false);
  }
  for (const Batch& batch : batches) {
    for (const Removal& removal : batch.removals) {
      if (removal.payload_set) cache_.Remove(removal.payload_set);
    }
  }
  if (Result<void> done = Committed(); !done) return done;
  // It is durable; a log that cannot be moved just now stays longer.
  const Result<void> bounded = tidier_->WatchLog();
  if (!bounded && bounded.error().code != Code::kDiskFull) return bounded;
  return {};
}

Result<void> StoreImpl::Committed() {
  // One that changed nothing wrote nothing, and waited for nothing: what the tidier wrote before is no more durable.
  if (std::exchange(log_commits_, tidier_->log_commits()) != tidier_->log_commits()) {
    guard_.Committed(last_position_, tidier_->log_pages());
    tidier_->Synced();
  }
  return guard_.CheckFiles();
}

Result<bool> StoreImpl::Tidy() {
  if (Result<void> done = BeginUse(); !done) return done.error();
  if (Result<void> done = guard_.CheckFiles(); !done) return done.error();
  return tidier_->Step();
}

int StoreImpl::Write(std::span<const Batch> batches, Pending& pending) {
  int code = WriteEvents(batches, pending);
  // Before removals: what a job had goes with it, also what came in the same commit.
  if (code == SQLITE_OK) code = WriteOutcomes(batches, pending);
  for (const Batch& batch : batches) {
    if (code == SQLITE_OK) code = WritePayloads(batch, pending);
    for (const Record& record : batch.records) {
      if (code == SQLITE_OK) code = WriteRecord(record);
    }
    for (const Removal& removal : batch.removals) {
      // A small job goes at once, which costs less than to remember it; large ones, and many at once, go in steps.
      bool gone = false;
      if (code == SQLITE_OK && pending.removed < kRemovedAtOnce) code = tidier_->RemoveNow(removal, gone);
      pending.removed += gone ? 1 : kRemovedAtOnce;
      if (gone) continue;
      if (code == SQLITE_OK) code = put_garbage_.Run(removal.job.value, removal.payload_set.value);
      ++pending.garbage;
    }
    pending.floor = std::max(pending.floor, batch.floor);
  }
  pending.last_position = std::max(pending.last_position, pending.floor);
  if (code == SQLITE_OK && pending.floor != floor_) code = put_floor_.Run(pending.floor);
  return code;
}

int StoreImpl::WriteEvents(std::span<const Batch> batches, Pending& pending) {
  Position last = 0;
  for (const Batch& batch : batches) {
    if (batch.events.empty()) continue;
    if (last == 0 && batch.position <= last_position_ && last_position_ <= floor_) {
      // Everything was folded, and numbering began anew: what is left of the old must not stand behind the new.
      const int code = drop_events_.Run(last_position_);
      if (code != SQLITE_OK) return code;
      pending.dropped_rows = static_cast<std::uint64_t>(sqlite3_changes(db_.get()));
      pending.floor = pending.last_position = 0;
    }
    CHECK(batch.position > std::max(last, pending.last_position));
    last = batch.position;
  }
  if (last == 0) return SQLITE_OK;
  scratch_.clear();
  for (const Batch& batch : batches) {
    if (!batch.events.empty()) PackEvents(last, batch, scratch_);
  }
  pending.last_position = last;
  pending.journal_rows = 1;
  return put_events_.Run(last, scratch_, RowSum({last}, scratch_));
}

int StoreImpl::WritePayloads(const Batch& batch, Pending& pending) {
  JobId loose;
  for (const PayloadSegment& segment : batch.payloads) {
    if (segment.payloads.empty()) continue;
    std::string packed;
    PackPayloads(segment.payloads, packed);
    const std::int64_t sum = RowSum({segment.set.value, static_cast<std::uint64_t>(segment.first)}, packed);
    int code = SQLITE_OK;
    bool stored = false;
    if (segment.first <= 0) {
      code = put_head_.Run(segment.set.value, segment.first, packed, sum);
      stored = code == SQLITE_OK && sqlite3_changes(db_.get()) > 0;
    }
    if (code == SQLITE_OK && !stored) code = put_segment_.Run(segment.set.value, segment.first, packed, sum);
    if (code == SQLITE_OK && !batch.payloads_spoken_for && segment.set != loose) {
      loose = segment.set;
      code = put_loose_.Run(segment.set.value);
    }
    if (code != SQLITE_OK) return code;
    if (packed.size() <= kCachedSegmentBytes) pending.fresh.emplace_back(&segment, std::move(packed));
  }
  return SQLITE_OK;
}

int StoreImpl::WriteOutcomes(std::span<const Batch> batches, Pending& pending) {
  outcomes_.clear();
  for (const Batch& batch : batches) {
    for (const Outcome& outcome : batch.outcomes) outcomes_.push_back(&outcome);
  }
  // Stable: of two for one task, the later one stays the later one.
  std::stable_sort(outcomes_.begin(), outcomes_.end(), [](const Outcome* a, const Outcome* b) {
    return std::pair(a->job, a->index / kSliceTasks) < std::pair(b->job, b->index / kSliceTasks);
  });
  for (std::size_t i = 0; i < outcomes_.size();) {
    const JobId job = outcomes_[i]->job;
    const std::uint32_t slice = outcomes_[i]->index / kSliceTasks;
    TaskIndex lowest = outcomes_[i]->index;
    TaskIndex highest = lowest;
    scratch_.clear();
    for (; i < outcomes_.size(); ++i) {
      const Outcome& outcome = *outcomes_[i];
      if (outcome.job != job || outcome.index / kSliceTasks != slice) break;
      if (!scratch_.empty() && scratch_.size() + outcome.text.size() > kOutcomeRowBytes) break;
      lowest = std::min(lowest, outcome.index);
      highest = std::max(highest, outcome.index);
      PackOutcome(outcome, scratch_);
    }
    const std::int64_t seq = pending.next_seq++;
    int code = put_outcomes_.Run(seq, scratch_, RowSum({job.value, slice, static_cast<std::uint64_t>(seq)}, scratch_));
    if (code == SQLITE_OK) code = put_outcome_index_.Run(job.value, slice, seq, lowest, highest);
    if (code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

int StoreImpl::WriteRecord(const Record& record) {
  if (record.page == kJobPage) {
    if (record.blob.empty()) return delete_job_.Run(record.job.value);
    return put_job_.Run(record.job.value, record.blob, RowSum({record.job.value}, record.blob));
  }
  if (record.blob.empty()) return delete_page_.Run(record.job.value, record.page);
  return put_page_.Run(record.job.value, record.page, record.blob,
                       RowSum({record.job.value, record.page}, record.blob));
}

void StoreImpl::Rollback() {
  // Some errors have rolled back already.
  if (sqlite3_get_autocommit(db_.get()) == 0) rollback_.Run();
}

Result<void> StoreImpl::PutSetting(std::string_view name, std::string_view value) {
  if (Result<void> done = BeginUse(); !done) return done;
  const int code = put_setting_.Run(name, value, RowSum({}, std::string(name) + "=" + std::string(value)));
  if (code != SQLITE_OK) return db_.ErrorOf(code, "write a setting");
  return Committed();
}

Result<std::optional<std::string>> StoreImpl::GetSetting(std::string_view name) {
  const ResetAtEnd reset(get_setting_);
  get_setting_.Start(name);
  const int code = get_setting_.Step();
  if (code == SQLITE_DONE) return std::optional<std::string>();
  if (code != SQLITE_ROW) return db_.ErrorOf(code, "read a setting");
  std::string value(get_setting_.Blob(0));
  if (!get_setting_.HasSum(1, RowSum({}, std::string(name) + "=" + value)))
    return CorruptRow(options_.file, "settings");
  return std::optional<std::string>(std::move(value));
}

Result<std::optional<std::string>> StoreImpl::ReadPayload(JobId set, std::int64_t index) {
  if (std::optional<std::string> payload = cache_.Find(set, index)) return payload;
  Result<ReaderPool::Lease> reader = readers_.Borrow();
  if (!reader) return reader.error();
  return (*reader)->ReadPayload(set, index, cache_);
}

Result<std::vector<Outcome>> StoreImpl::ReadOutcomes(const OutcomeQuery& query) {
  Result<ReaderPool::Lease> reader = readers_.Borrow();
  if (!reader) return reader.error();
  return (*reader)->ReadOutcomes(query);
}

Result<Store::Usage> StoreImpl::ReadUsage() {
  Usage usage;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat file {};
    if (stat((options_.file + suffix).c_str(), &file) == 0) {
      usage.file_bytes += static_cast<std::uint64_t>(file.st_size);
    }
  }
  usage.journal_rows = counters_.journal_rows;
  usage.garbage_jobs = counters_.garbage_jobs;
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
