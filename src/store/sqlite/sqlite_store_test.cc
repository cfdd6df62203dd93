// SPDX-License-Identifier: Apache-2.0
// What is special about queue files: opening good and bad ones, full disks, backups, space.
#include "store/sqlite/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "base/rng.h"
#include "store/journal/journal.h"
#include "store/sqlite/file_lock.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sql.h"
#include "store/sqlite/testing_powerloss.h"
#include "store/sqlite/tidier.h"
#include "store/store_harness.h"

namespace allot {
namespace {

using sqlite::Database;
using ::testing::HasSubstr;

constexpr int kReadWrite = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;

Error ErrorOf(const Result<std::unique_ptr<Store>>& store) {
  return store.ok() ? Error{Code::kInternal, "it opened", ""} : store.error();
}

class SqliteStoreTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Store>> TryOpen(const std::string& vfs = "") {
    SqliteOptions options;
    options.file = file_;
    options.vfs = vfs;
    return SqliteStore::Open(options);
  }
  static Result<void> Load(Store& store, std::size_t* records = nullptr) {
    Store::Loader loader;
    loader.on_record = [&](const Record&) -> Result<void> {
      if (records != nullptr) ++*records;
      return {};
    };
    loader.on_events = [](Position, std::string_view) -> Result<void> { return {}; };
    return store.Load(loader, [](JobId) { return true; });
  }
  void Open(const std::string& vfs = "") {
    store_.reset();
    auto store = TryOpen(vfs);
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = std::move(*store);
    const Result<void> loaded = Load(*store_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  }
  void Commit(const Batch& batch) {
    const Result<void> done = store_->Commit({&batch, 1});
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  void TidyUp() {
    for (;;) {
      const Result<bool> more = store_->Tidy();
      ASSERT_TRUE(more.ok()) << more.error().message;
      if (!*more) return;
    }
  }
  void Exec(const std::string& text) {
    auto db = Database::Open(file_, kReadWrite, "");
    ASSERT_TRUE(db.ok());
    const Result<void> done = db->Exec(text);
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  static std::int64_t SizeOf(const std::string& file) {
    struct stat there {};
    return stat(file.c_str(), &there) == 0 ? there.st_size : -1;
  }
  // `jobs` jobs of `bytes` each, half of them payload.
  void AddJobs(std::uint64_t first, std::uint64_t jobs, std::size_t bytes) {
    for (std::uint64_t job = first; job < first + jobs;) {
      Batch batch;
      for (int i = 0; i < 100 && job < first + jobs; ++i, ++job) {
        batch.records.push_back({JobId{job}, kJobPage, std::string(bytes / 2, 'r')});
        batch.payloads.push_back({JobId{job}, 0, {std::string(bytes / 2, 'p')}});
      }
      Commit(batch);
    }
  }

  TempDirectory directory_;
  const std::string file_ = directory_ / "queue.db";
  std::unique_ptr<Store> store_;
};

TEST_F(SqliteStoreTest, FilesAreForTheirOwnerOnly) {
  Open();
  AddJobs(1, 1, 100);
  for (const char* suffix : {"", "-wal", "-shm", ".lock", ".mark", ".journal-1"}) {
    struct stat there {};
    ASSERT_EQ(stat((file_ + suffix).c_str(), &there), 0) << suffix;
    EXPECT_EQ(there.st_mode & 0777, 0600u) << suffix;
  }
}

TEST_F(SqliteStoreTest, AQueueThatIsIdleTakesLittleSpaceAndItsJournalHasItsLengthBeforeItIsUsed) {
  const auto bytes = [this] {
    std::int64_t sum = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      sum += static_cast<std::int64_t>(entry.file_size());
    }
    return sum;
  };
  Open();
  TidyUp();
  EXPECT_LE(bytes(), 1'000'000);
  AddJobs(1, 150, 100);
  EXPECT_EQ(SizeOf(file_ + ".journal-1"), static_cast<std::int64_t>(journal::kSmallSegmentBytes));
  // What a load of any kind needed is given back.
  AddJobs(1000, 3000, 2000);
  EXPECT_GT(store_->ReadUsage()->journal_segments, 2u);
  for (std::uint64_t job = 1000; job < 4000; job += 100) {
    Batch batch;
    for (std::uint64_t i = job; i < job + 100; ++i) batch.removals.push_back({JobId{i}, JobId{i}});
    Commit(batch);
  }
  TidyUp();
  EXPECT_LE(store_->ReadUsage()->journal_segments, 2u);
  EXPECT_EQ(store_->ReadUsage()->unapplied_bytes, 0u);
  EXPECT_LE(bytes(), 1'500'000);
  AddJobs(151, 1, 100);
  // As after a crash.
  const std::string copy = directory_ / "copy.db";
  for (const char* suffix : {"", "-wal", ".mark", ".journal-1", ".journal-2"}) {
    if (std::filesystem::exists(file_ + suffix)) WriteFile(copy + suffix, Contents(file_ + suffix));
  }
  SqliteOptions options;
  options.file = copy;
  auto store = SqliteStore::Open(options);
  ASSERT_TRUE(store.ok()) << store.error().message;
  std::size_t records = 0;
  ASSERT_TRUE(Load(**store, &records).ok());
  EXPECT_EQ(records, 151u);
}

TEST_F(SqliteStoreTest, AnEmptyFileIsANewQueue) {
  WriteFile(file_, "");
  Open();
}

TEST_F(SqliteStoreTest, AFileOfANewerProgramIsRefusedAndNotChanged) {
  Open();
  store_.reset();
  Exec("PRAGMA user_version = 99");
  const std::string before = Contents(file_);
  const Error error = ErrorOf(TryOpen());
  EXPECT_EQ(error.code, Code::kStoreNewer);
  EXPECT_THAT(error.message, HasSubstr("99"));
  EXPECT_THAT(error.message, HasSubstr(file_));
  EXPECT_THAT(error.hint, HasSubstr("newer program"));
  EXPECT_EQ(Contents(file_), before);
}

TEST_F(SqliteStoreTest, ADatabaseOfAnotherProgramIsRefusedAndNotChanged) {
  for (const char* script : {"CREATE TABLE t (x)", "PRAGMA application_id = 1234; CREATE TABLE t (x)"}) {
    std::filesystem::remove(file_);
    Exec(script);
    const std::string before = Contents(file_);
    const Error error = ErrorOf(TryOpen());
    EXPECT_EQ(error.code, Code::kStoreForeign) << error.message;
    EXPECT_THAT(error.hint, HasSubstr("another data directory"));
    EXPECT_EQ(Contents(file_), before);
  }
}

TEST_F(SqliteStoreTest, AFileThatIsNoDatabaseIsRefusedAndNotChanged) {
  for (const std::string& contents : {std::string("hello\n"), std::string(100'000, 'x')}) {
    WriteFile(file_, contents);
    const Error error = ErrorOf(TryOpen());
    EXPECT_EQ(error.code, Code::kStoreForeign) << error.message;
    EXPECT_THAT(error.message, HasSubstr(file_));
    EXPECT_EQ(Contents(file_), contents);
  }
}

TEST_F(SqliteStoreTest, DamageIsFoundWhenLoading) {
  Open();
  AddJobs(1, 2000, 400);
  store_.reset();
  std::string contents = Contents(file_);
  for (std::size_t i = 8 * 4096; i < contents.size() / 2; ++i) contents[i] = static_cast<char>(i * 7);
  WriteFile(file_, contents);
  auto store = TryOpen();
  const Result<void> loaded = store.ok() ? Load(**store) : Result<void>(store.error());
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Code::kStoreCorrupt) << loaded.error().message;
  EXPECT_THAT(loaded.error().hint, HasSubstr("allot restore"));
}

TEST_F(SqliteStoreTest, AFileThatWasCutShortIsFoundWhenLoading) {
  Open();
  AddJobs(1, 2000, 400);
  store_.reset();
  std::filesystem::resize_file(file_, 20 * 4096);
  auto store = TryOpen();
  const Result<void> loaded = store.ok() ? Load(**store) : Result<void>(store.error());
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Code::kStoreCorrupt) << loaded.error().message;
}

TEST_F(SqliteStoreTest, TwoServersCannotHaveOneFile) {
  Open();
  const Error error = ErrorOf(TryOpen());
  EXPECT_EQ(error.code, Code::kStoreLocked);
  EXPECT_THAT(error.message, HasSubstr(file_));
  EXPECT_THAT(error.hint, HasSubstr("stop the other server"));
  store_.reset();
  Open();
}

TEST_F(SqliteStoreTest, TheLockEndsWithItsProcess) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto lock = sqlite::FileLock::Take(file_);
    [[maybe_unused]] const auto written = write(ready[1], lock.ok() ? "y" : "n", 1);
    pause();
    _exit(0);
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_EQ(ErrorOf(TryOpen()).code, Code::kStoreLocked);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  Open();
}

// Root may write everywhere; so be somebody else for a while.
class Unprivileged {
 public:
  Unprivileged() : was_root_(geteuid() == 0 && seteuid(65534) == 0) {}
  ~Unprivileged() {
    if (was_root_) CHECK(seteuid(0) == 0);
  }

 private:
  const bool was_root_;
};

TEST_F(SqliteStoreTest, ADirectoryThatCannotBeWrittenIsAClearError) {
  ASSERT_EQ(chmod(directory_.path().c_str(), 0555), 0);
  Error error;
  {
    const Unprivileged user;
    error = ErrorOf(TryOpen());
  }
  chmod(directory_.path().c_str(), 0755);
  EXPECT_EQ(error.code, Code::kStoreFailed);
  EXPECT_THAT(error.message, HasSubstr(directory_.path()));
  EXPECT_THAT(error.message, HasSubstr("Permission denied"));
  EXPECT_THAT(error.hint, HasSubstr("writable"));
}

TEST_F(SqliteStoreTest, AFileThatCannotBeWrittenIsAClearError) {
  Open();
  store_.reset();
  ASSERT_EQ(chmod(directory_.path().c_str(), 0777), 0);
  ASSERT_EQ(chmod(file_.c_str(), 0444), 0);
  ASSERT_EQ(chmod((file_ + ".lock").c_str(), 0666), 0);
  Error error;
  {
    const Unprivileged user;
    error = ErrorOf(TryOpen());
  }
  EXPECT_EQ(error.code, Code::kStoreFailed) << error.message;
  EXPECT_THAT(error.message, HasSubstr(file_));
  EXPECT_THAT(error.hint, HasSubstr("writable"));
}

TEST_F(SqliteStoreTest, AMissingDirectoryIsAClearError) {
  SqliteOptions options;
  options.file = directory_ / "not/there/queue.db";
  const Error error = ErrorOf(SqliteStore::Open(options));
  EXPECT_EQ(error.code, Code::kStoreFailed);
  EXPECT_THAT(error.message, HasSubstr("No such file or directory"));
  EXPECT_THAT(error.hint, HasSubstr("make the directory"));
}

TEST_F(SqliteStoreTest, AFullDiskStopsCommitsButNotReadsAndAllGoesOnWithSpace) {
  PowerLoss::Register();
  PowerLoss::SetChance(0, 1);
  Open(kPowerLossVfs);
  AddJobs(1, 100, 400);
  PowerLoss::SetDiskFull(true);
  Batch batch;
  batch.position = 1;
  batch.events = "e";
  for (std::uint64_t job = 1000; job < 3000; ++job)
    batch.records.push_back({JobId{job}, kJobPage, std::string(400, 'r')});
  for (int i = 0; i < 5; ++i) {
    const Result<void> done = store_->Commit({&batch, 1});
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, Code::kDiskFull) << done.error().message;
    const Result<bool> tidied = store_->Tidy();
    EXPECT_TRUE(tidied.ok() || tidied.error().code == Code::kDiskFull);
    EXPECT_EQ(*store_->ReadPayload(JobId{50}, 0), std::string(200, 'p'));
  }
  PowerLoss::SetDiskFull(false);
  Commit(batch);
  TidyUp();
  store_.reset();
  auto store = TryOpen(kPowerLossVfs);
  ASSERT_TRUE(store.ok());
  std::size_t records = 0;
  ASSERT_TRUE(Load(**store, &records).ok());
  EXPECT_EQ(records, 2100u);
}

TEST_F(SqliteStoreTest, WhereSqliteHasNoSpaceCommitsGoOnAsLongAsTheJournalHas) {
  PowerLoss::Register();
  PowerLoss::SetChance(0, 1);
  Open(kPowerLossVfs);
  AddJobs(1, 1, 400);
  TidyUp();
  PowerLoss::SetDiskFull(true);
  std::uint64_t committed = 0;
  Result<void> done;
  while (committed < 1000) {
    Batch batch;
    batch.position = committed + 1;
    batch.events = std::string(3000, 'e');
    batch.payloads.push_back({JobId{100 + committed}, 0, {"payload"}});
    done = store_->Commit({&batch, 1});
    if (!done) break;
    ++committed;
  }
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::kDiskFull) << done.error().message;
  EXPECT_GT(committed, 10u);
  for (int i = 0; i < 3; ++i) {
    const Result<bool> tidied = store_->Tidy();
    EXPECT_TRUE(tidied.ok() || tidied.error().code == Code::kDiskFull);
  }
  EXPECT_EQ(store_->LastPosition(), committed);
  EXPECT_EQ(*store_->ReadPayload(JobId{99 + committed}, 0), "payload");
  EXPECT_FALSE(store_->ReadPayload(JobId{100 + committed}, 0)->has_value());
  const std::string copy = directory_ / "copy";
  EXPECT_TRUE(store_->Backup(copy).ok()) << "to another disk";
  // Stopped and started without space: what was answered is still there.
  store_.reset();
  PowerLoss::SetDiskFull(false);
  Open(kPowerLossVfs);
  EXPECT_EQ(store_->LastPosition(), committed);
  EXPECT_EQ(*store_->ReadPayload(JobId{99 + committed}, 0), "payload");
  SqliteOptions options;
  options.file = copy;
  auto backup = SqliteStore::Open(options);
  ASSERT_TRUE(backup.ok());
  ASSERT_TRUE(Load(**backup).ok());
  EXPECT_EQ((*backup)->LastPosition(), committed);
}

TEST_F(SqliteStoreTest, AStoreOpensOnAFullDiskAndCommitsOnceThereIsSpace) {
  PowerLoss::Register();
  PowerLoss::SetChance(0, 1);
  Open(kPowerLossVfs);
  AddJobs(1, 100, 400);
  store_.reset();
  PowerLoss::SetDiskFull(true);
  Open(kPowerLossVfs);
  EXPECT_EQ(*store_->ReadPayload(JobId{50}, 0), std::string(200, 'p'));
  Batch batch;
  batch.records.push_back({JobId{1000}, kJobPage, "r"});
  for (int i = 0; i < 3; ++i) {
    const Result<void> done = store_->Commit({&batch, 1});
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, Code::kDiskFull) << done.error().message;
  }
  PowerLoss::SetDiskFull(false);
  Commit(batch);
}

TEST_F(SqliteStoreTest, ARemovedJobsSpaceIsGivenBack) {
  Open();
  AddJobs(1, 5000, 4000);
  TidyUp();
  EXPECT_GT(store_->ReadUsage()->file_bytes, 20'000'000u);
  for (std::uint64_t job = 1; job <= 4950; job += 50) {
    Batch batch;
    for (std::uint64_t i = job; i < job + 50 && i <= 4950; ++i) batch.removals.push_back({JobId{i}, JobId{i}});
    Commit(batch);
    ASSERT_TRUE(store_->Tidy().ok());
  }
  TidyUp();
  EXPECT_LT(SizeOf(file_), 6'000'000);
  EXPECT_LE(SizeOf(file_ + "-wal"), sqlite::kLogFileBytes);
  EXPECT_EQ(*store_->ReadPayload(JobId{5000}, 0), std::string(2000, 'p'));
}

TEST_F(SqliteStoreTest, TheLogStaysBoundedEvenIfNobodyTidies) {
  Open();
  std::int64_t longest = 0;
  for (std::uint64_t i = 0; i < 50; ++i) {
    Batch batch;
    batch.position = i + 1;
    batch.events.assign(2'000'000, 'e');
    Commit(batch);
    longest = std::max(longest, SizeOf(file_ + "-wal"));
  }
  EXPECT_LE(longest, (3 * SqliteOptions().log_pages + 1000) * 4120);
  Batch fold;
  fold.floor = 50;
  Commit(fold);
  TidyUp();
  EXPECT_LE(SizeOf(file_ + "-wal"), sqlite::kLogFileBytes);
  EXPECT_LT(SizeOf(file_), 10'000'000);
}

TEST_F(SqliteStoreTest, ABackupMadeDuringCommitsIsWhole) {
  Open();
  AddJobs(1, 3000, 1000);
  const std::string copy = directory_ / "copy";
  std::thread backup([&] {
    const Result<void> done = store_->Backup(copy);
    EXPECT_TRUE(done.ok()) << done.error().message;
  });
  for (std::uint64_t n = 0; n < 50; ++n) AddJobs(10'000 + n * 100, 100, 1000);
  backup.join();
  const Result<void> verified = SqliteStore::VerifyBackup(copy);
  EXPECT_TRUE(verified.ok()) << verified.error().message;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("queue.db.journal-")) names.push_back(name);
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("queue.db", "queue.db-wal", "queue.db-shm", "queue.db.lock",
                                                     "queue.db.mark", "copy"));
  SqliteOptions options;
  options.file = copy;
  auto store = SqliteStore::Open(options);
  ASSERT_TRUE(store.ok()) << store.error().message;
  std::size_t records = 0;
  ASSERT_TRUE(Load(**store, &records).ok());
  EXPECT_GE(records, 3000u);
  EXPECT_EQ(records % 100, 0u) << "half a commit";
}

TEST_F(SqliteStoreTest, ABackupReplacesNothing) {
  Open();
  const std::string copy = directory_ / "copy";
  WriteFile(copy, "precious");
  const Result<void> done = store_->Backup(copy);
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr("exists"));
  EXPECT_EQ(Contents(copy), "precious");
  EXPECT_FALSE(store_->Backup(directory_ / "not/there").ok());
}

TEST_F(SqliteStoreTest, OnlyWholeBackupsOfThisProgramAreVerified) {
  Open();
  AddJobs(1, 500, 1000);
  const std::string copy = directory_ / "a copy?with #odd%20 name";
  ASSERT_TRUE(store_->Backup(copy).ok());
  EXPECT_TRUE(SqliteStore::VerifyBackup(copy).ok());
  const std::string good = Contents(copy);
  const auto code_of = [&](const std::string& contents) {
    WriteFile(copy, contents);
    const Result<void> done = SqliteStore::VerifyBackup(copy);
    return done.ok() ? Code::kInternal : done.error().code;
  };
  EXPECT_EQ(code_of(""), Code::kStoreForeign);
  EXPECT_EQ(code_of("some text"), Code::kStoreForeign);
  EXPECT_EQ(code_of(good.substr(0, good.size() / 2)), Code::kStoreCorrupt);
  std::string damaged = good;
  for (std::size_t i = damaged.size() / 2; i < damaged.size() / 2 + 8192; ++i) damaged[i] = '\x5a';
  EXPECT_EQ(code_of(damaged), Code::kStoreCorrupt);
  WriteFile(copy, good);
  {
    auto db = Database::Open(copy, kReadWrite, "");
    ASSERT_TRUE(db->Exec("PRAGMA user_version = 99").ok());
  }
  EXPECT_EQ(SqliteStore::VerifyBackup(copy).error().code, Code::kStoreNewer);
  EXPECT_EQ(SqliteStore::VerifyBackup(directory_ / "nowhere").error().code, Code::kStoreFailed);
}

class KilledTest : public SqliteStoreTest, public ::testing::WithParamInterface<journal::Writing> {};
INSTANTIATE_TEST_SUITE_P(Ways, KilledTest, ::testing::Values(journal::Writing::kDirect, journal::Writing::kSynced));

TEST_P(KilledTest, WhatAKilledProcessCommittedIsThere) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    SqliteOptions options;
    options.file = file_;
    options.writing = GetParam();
    auto store = SqliteStore::Open(options);
    if (!store.ok() || !Load(**store).ok()) _exit(1);
    for (std::uint64_t n = 1; n <= 100; ++n) {
      Batch batch;
      batch.records.push_back({JobId{n}, kJobPage, "r"});
      if (!(*store)->Commit({&batch, 1}).ok()) _exit(2);
    }
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  auto store = TryOpen();
  ASSERT_TRUE(store.ok());
  std::size_t records = 0;
  ASSERT_TRUE(Load(**store, &records).ok());
  EXPECT_EQ(records, 100u);
}

TEST_F(SqliteStoreTest, TheIdOfABrokenUploadIsToldUntilItsPayloadsAreSwept) {
  Open();
  Batch batch;
  batch.payloads.push_back({JobId{77}, 0, {"p"}});
  Commit(batch);
  // Nothing speaks of it: it is dropped, but not swept yet. Its id must not be given to another.
  for (int start = 0; start < 3; ++start) {
    store_.reset();
    auto store = TryOpen();
    ASSERT_TRUE(store.ok());
    std::vector<std::uint64_t> asked;
    Store::Loader loader;
    loader.on_record = [](const Record&) -> Result<void> { return {}; };
    loader.on_events = [](Position, std::string_view) -> Result<void> { return {}; };
    ASSERT_TRUE((*store)
                    ->Load(loader,
                           [&](JobId set) {
                             asked.push_back(set.value);
                             return false;
                           })
                    .ok());
    EXPECT_THAT(asked, ::testing::ElementsAre(77u));
    store_ = std::move(*store);
  }
  TidyUp();
  EXPECT_FALSE(store_->ReadPayload(JobId{77}, 0)->has_value());
}

TEST(Schema, MigrationsAreAppliedInOrderAndOnlyOnce) {
  TempDirectory directory;
  const std::string file = directory / "m.db";
  const sqlite::Migration all[] = {{"0001_a", "CREATE TABLE a (x); INSERT INTO a VALUES (1)"},
                                   {"0002_b", "INSERT INTO a VALUES (2)"},
                                   {"0003_c", "INSERT INTO a VALUES (3)"}};
  const std::span<const sqlite::Migration> list(all);
  auto db = Database::Open(file, kReadWrite, "");
  ASSERT_TRUE(sqlite::Migrate(*db, list.first(1)).ok());
  EXPECT_EQ(*db->QueryInt("PRAGMA user_version"), 1);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(sqlite::Migrate(*db, list).ok());
    EXPECT_EQ(*db->QueryInt("PRAGMA user_version"), 3);
    EXPECT_EQ(*db->QueryInt("SELECT group_concat(x, '') FROM a"), 123);
  }
  const Result<void> older = sqlite::Migrate(*db, list.first(2));
  ASSERT_FALSE(older.ok());
  EXPECT_EQ(older.error().code, Code::kStoreNewer);
}

TEST(Schema, AMigrationThatFailsChangesNothing) {
  TempDirectory directory;
  const sqlite::Migration all[] = {{"0001_a", "CREATE TABLE a (x)"},
                                   {"0002_b", "INSERT INTO a VALUES (2); INSERT INTO missing VALUES (1)"}};
  auto db = Database::Open(directory / "m.db", kReadWrite, "");
  const Result<void> done = sqlite::Migrate(*db, all);
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().message, HasSubstr("0002_b"));
  EXPECT_EQ(*db->QueryInt("PRAGMA user_version"), 1);
  EXPECT_EQ(*db->QueryInt("SELECT count(*) FROM a"), 0);
}

TEST(Schema, MigrationsAreNumberedFromOne) {
  int number = 0;
  for (const sqlite::Migration& migration : sqlite::Migrations()) {
    EXPECT_EQ(std::stoi(std::string(migration.name).substr(0, 4)), ++number);
  }
  EXPECT_GE(number, 1);
}

}  // namespace
}  // namespace allot
