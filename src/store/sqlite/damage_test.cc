// SPDX-License-Identifier: Apache-2.0
// What got lost or damaged between a stop and the next start, or under a running store, is noticed; what an unclean
// stop leaves is not taken for damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "store/sqlite/check.h"
#include "store/sqlite/file_guard.h"
#include "store/sqlite/log_scan.h"
#include "store/sqlite/mark.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sql.h"
#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/testing_damage.h"
#include "store/store_harness.h"

namespace allot {
namespace {

using ::testing::HasSubstr;
using testing::IsEmpty;

TEST_F(DamageTest, WhatAKilledProcessLeavesOpensWithAllThatWasCommitted) {
  ExpectOpens(KilledAfter(0), 0);
  ExpectOpens(KilledAfter(300), 300);
}

// tests/data/store-3: what the program before it had a journal left when it was killed after thirty submits (format 3).
// Its log is needed then, as far as its mark says.
class OldFormatTest : public DamageTest {
 protected:
  void SetUp() override {
    for (const char* suffix : {"", "-wal", ".mark"}) {
      fs::copy_file(std::string("tests/data/store-3/queue.db") + suffix, file_ + suffix);
      fs::permissions(file_ + suffix, fs::perms::owner_read | fs::perms::owner_write);
    }
    const auto scan = sqlite::ScanLog(file_);
    ASSERT_TRUE(scan.ok());
    ASSERT_GT(scan->frames, 50u);
    scan_ = *scan;
  }
  void ExpectOldRefused(const std::string& file, const std::string& says) {
    const std::string before = AllOf(file);
    const Opened refused = Open(file);
    EXPECT_EQ(refused.error.code, Code::kStoreCorrupt);
    EXPECT_THAT(refused.error.message, HasSubstr(says));
    EXPECT_THAT(refused.error.message, HasSubstr(file));
    EXPECT_THAT(refused.error.hint, HasSubstr("--accept-loss"));
    EXPECT_TRUE(AllOf(file) == before);
  }

  const std::string file_ = directory_ / "old.db";
  sqlite::LogScan scan_;
};

TEST_F(OldFormatTest, IsMigratedWithAllThatIsInItsLog) {
  SqliteOptions options;
  options.file = file_;
  std::string migrated;
  options.on_migrated = [&](const std::string&, std::int64_t from, std::int64_t to) {
    migrated = std::to_string(from) + " to " + std::to_string(to);
  };
  std::uint64_t events = 0;
  {
    auto store = SqliteStore::Open(options);
    ASSERT_TRUE(store.ok()) << store.error().message;
    Store::Loader loader;
    loader.on_record = [](const Record&) -> Result<void> { return {}; };
    loader.on_events = [&](Position, std::string_view) -> Result<void> {
      ++events;
      return {};
    };
    ASSERT_TRUE((*store)->Load(loader, [](JobId) { return true; }).ok());
    EXPECT_TRUE((*store)->GetSetting("engine_key")->has_value());
    committed_ = (*store)->LastPosition();
    Commit(**store, 3);
    // Its log is not needed any more.
    const std::string killed = Killed(file_);
    fs::remove(killed + "-wal");
    const Opened opened = Open(killed);
    ASSERT_TRUE(opened.store != nullptr) << opened.error.message;
    EXPECT_EQ(opened.store->LastPosition(), committed_);
  }
  EXPECT_EQ(migrated, "3 to 4");
  EXPECT_GE(events, 29u);
  migrated.clear();
  ASSERT_TRUE(SqliteStore::Open(options).ok());
  EXPECT_EQ(migrated, "");
}

TEST_F(OldFormatTest, ARemovedLogIsRefused) {
  fs::remove(file_ + "-wal");
  ExpectOldRefused(file_, "is missing");
}

TEST_F(OldFormatTest, ALogThatWasCutAnywhereIsRefused) {
  const std::uint64_t end = scan_.OffsetOf(scan_.frames);
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{20}, std::uint64_t{32}, end / 3, end / 2, end - 1}) {
    SCOPED_TRACE(at);
    const std::string cut = Killed(file_);
    fs::resize_file(cut + "-wal", at);
    ExpectOldRefused(cut, " was cut ");
  }
  const std::string cut = Killed(file_);
  fs::resize_file(cut + "-wal", end / 2);
  const Opened accepted = Open(cut, true);
  ASSERT_TRUE(accepted.store != nullptr) << accepted.error.message;
  EXPECT_THAT(accepted.losses[0], HasSubstr(" was cut at byte " + std::to_string(end / 2)));
  EXPECT_TRUE(fs::exists(cut + "-wal.lost")) << "what is left of it is kept";
}

TEST_F(OldFormatTest, ALogWithAFlippedBitAnywhereIsRefused) {
  for (const std::uint64_t at :
       {std::uint64_t{0}, std::uint64_t{17}, std::uint64_t{30}, scan_.OffsetOf(0) + 3, scan_.OffsetOf(0) + 17,
        scan_.OffsetOf(1) + 200, scan_.OffsetOf(scan_.frames / 2) + 9, scan_.OffsetOf(scan_.frames - 1) + 1000}) {
    SCOPED_TRACE(at);
    const std::string flipped = Killed(file_);
    Flip(flipped + "-wal", at);
    ExpectOldRefused(flipped, "is damaged");
  }
}

TEST_F(DamageTest, AnEmptyOrMissingFileBesideItsLogIsRefused) {
  for (const bool there : {true, false}) {
    for (const char* beside : {"-wal", ".mark", ".journal-1"}) {
      SCOPED_TRACE(beside);
      const std::string file = KilledAfter(20);
      fs::remove(file);
      if (there) WriteFile(file, "");
      for (const std::string& suffix : Suffixes()) {
        if (!suffix.empty() && suffix != beside) fs::remove(file + suffix);
      }
      ExpectRefused(file, there ? "is empty" : "is missing", 0);
    }
  }
}

TEST_F(DamageTest, AFileThatWasNotClosedIsRefusedWithoutItsMark) {
  const std::string file = KilledAfter(100);
  for (const std::string& suffix : Suffixes()) {
    if (!suffix.empty()) fs::remove(file + suffix);
  }
  ExpectRefused(file, "the file was not closed", 0);
  const std::string other = KilledAfter(100);
  WriteFile(other + ".mark", "scribbled over");
  ExpectRefused(other, ".mark is damaged", 100);
}

// A first start that could not write even that: nothing was promised, and the next one goes on.
TEST_F(DamageTest, AnEmptyMarkWithoutAFileIsANewQueue) {
  const std::string file = directory_ / "never.db";
  for (const std::string& mark : {std::string(), std::string(4160, '\0')}) {
    WriteFile(file + ".mark", mark);
    ExpectOpens(file, 0);
    for (const char* suffix : {"", "-wal", "-shm", ".lock", ".mark"}) fs::remove(file + suffix);
  }
  // But not where there is a file, or a log.
  const std::string killed = KilledAfter(10);
  WriteFile(killed + ".mark", "");
  fs::remove(killed);
  EXPECT_TRUE(Open(killed).store == nullptr);
}

// A loss of power right after a start leaves the mark as of the last stop.
TEST_F(DamageTest, AMissingJournalIsRefusedThoughTheMarkIsOfTheStopBefore) {
  const std::string file = directory_ / "stopped.db";
  {
    Opened opened = Open(file);
    ASSERT_TRUE(opened.store != nullptr);
    Commit(*opened.store, 50);
  }
  const std::string closed = Contents(file + ".mark");
  Opened opened = Open(file);
  ASSERT_TRUE(opened.store != nullptr);
  Commit(*opened.store, 5);
  while (*opened.store->Tidy()) {
  }
  const std::string killed = Killed(file);
  {
    // All of the log is in the file by then, and in_use with it.
    auto db = sqlite::Database::Open(killed, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "");
    ASSERT_TRUE(db.ok());
    ASSERT_EQ(*db->QueryInt("SELECT in_use FROM state"), 1);
    ASSERT_EQ(sqlite3_wal_checkpoint_v2(db->get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr), SQLITE_OK);
  }
  fs::remove(killed + "-wal");
  fs::remove(killed + ".journal-1");
  WriteFile(killed + ".mark", closed);
  ExpectRefused(killed, "is missing", 55);
}

TEST_F(DamageTest, AMarkThatWasTornByALossOfPowerStillCounts) {
  for (const std::uint64_t slot : {0, 4096}) {
    const std::string file = KilledAfter(100);
    Flip(file + ".mark", slot + 20);
    ExpectOpens(file, 100);
  }
}

TEST_F(DamageTest, AFileOfAnotherQueueOrOfAnEarlierTimeIsRefused) {
  const std::string file = directory_ / "queue.db";
  {
    Opened opened = Open(file);
    Commit(*opened.store, 10);
  }
  const std::string earlier = Contents(file);
  {
    Opened opened = Open(file);
    Commit(*opened.store, 10);
  }
  ExpectOpens(file, 20);
  const std::string other = KilledAfter(5);
  WriteFile(file, earlier);
  const Opened refused = Open(file);
  EXPECT_EQ(refused.error.code, Code::kStoreCorrupt);
  EXPECT_THAT(refused.error.message, HasSubstr("the last 10 are missing"));
  {
    const Opened accepted = Open(file, true);
    ASSERT_TRUE(accepted.store != nullptr);
    EXPECT_THAT(accepted.losses, ::testing::ElementsAre(HasSubstr("the last 10 are missing")));
  }
  fs::copy_file(file + ".mark", other + ".mark", fs::copy_options::overwrite_existing);
  EXPECT_THAT(Open(other).error.message, HasSubstr(".mark"));
}

TEST_F(DamageTest, AStopInOrderLeavesAFileThatNeedsNothingBesideIt) {
  const std::string file = directory_ / "queue.db";
  {
    Opened opened = Open(file);
    Commit(*opened.store, 30);
  }
  EXPECT_FALSE(fs::exists(file + "-wal"));
  const auto mark = sqlite::Mark::Read(file);
  ASSERT_TRUE(mark.ok() && mark->content);
  EXPECT_EQ(mark->content->state, sqlite::MarkState::kClosed);
  EXPECT_EQ(mark->content->position, 30u);
  ExpectOpens(file, 30);
  const std::string alone = directory_ / "alone.db";
  fs::copy_file(file, alone);
  ExpectOpens(alone, 30);
}

TEST_F(DamageTest, ABackupNeedsNothingBesideIt) {
  const std::string file = directory_ / "queue.db";
  const std::string backup = directory_ / "backup.db";
  Opened opened = Open(file);
  Commit(*opened.store, 30);
  ASSERT_TRUE(opened.store->Backup(backup).ok());
  EXPECT_FALSE(fs::exists(backup + "-wal"));
  ExpectOpens(backup, 30);
}

TEST_F(DamageTest, FilesThatAreRemovedOrReplacedUnderARunningStoreStopItsCommits) {
  struct Row {
    const char* suffix;
    bool replace;
  };
  for (const Row& row : {Row{"", false}, Row{"-wal", false}, Row{"", true}, Row{"-wal", true}, Row{".lock", false},
                         Row{".mark", true}, Row{".journal-1", false}, Row{".journal-1", true}}) {
    SCOPED_TRACE(row.suffix);
    const std::string file = directory_ / ("queue-" + std::to_string(++copies_) + ".db");
    committed_ = 0;
    Opened opened = Open(file);
    Commit(*opened.store, 5);
    if (row.replace) fs::rename(file + row.suffix, file + ".elsewhere");
    if (row.replace) fs::copy_file(file + ".elsewhere", file + row.suffix);
    if (!row.replace) fs::remove(file + row.suffix);
    Result<void> done;
    // It looks a few times a second.
    for (int i = 0; i < 500 && done.ok(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      Batch batch;
      batch.position = ++committed_;
      batch.events = "e";
      done = opened.store->Commit({&batch, 1});
    }
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, Code::kStoreFailed);
    EXPECT_THAT(done.error().message, HasSubstr(row.replace ? "was replaced" : "was removed"));
  }
}

TEST_F(DamageTest, ADeletionThatWasCutShortIsFinished) {
  for (const char* gone : {"", "-wal", ".lock", ".journal-1"}) {
    const std::string file = KilledAfter(10);
    {
      sqlite::MarkContent deleted;
      deleted.state = sqlite::MarkState::kDeleted;
      ASSERT_TRUE(sqlite::Mark::Open(file, deleted).ok());
    }
    fs::remove(file + gone);
    const auto finished = sqlite::FinishDeletion(file);
    ASSERT_TRUE(finished.ok());
    EXPECT_TRUE(*finished);
    for (const char* suffix : {"", "-wal", "-shm", ".lock", ".mark", ".journal-1"}) {
      EXPECT_FALSE(fs::exists(file + suffix)) << suffix;
    }
    ExpectOpens(file, 0);
  }
  const std::string file = KilledAfter(10);
  EXPECT_FALSE(*sqlite::FinishDeletion(file));
  ExpectOpens(file, 10);
  ASSERT_TRUE(sqlite::DeleteFiles(file).ok());
  EXPECT_FALSE(fs::exists(file));
  EXPECT_FALSE(fs::exists(file + ".mark"));
}

// tests/data/store-1.db was written by the program before it had marks and checksums (format 1): six jobs, the first of
// them removed, events up to 2 folded.
TEST_F(DamageTest, AFileOfTheFirstFormatOpensAndGetsChecksumsAsItIsWritten) {
  const std::string file = directory_ / "queue.db";
  fs::copy_file("tests/data/store-1.db", file);
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_TRUE(sqlite::CheckBackup(file)->ok());
  {
    Opened opened = Open(file);
    ASSERT_TRUE(opened.store != nullptr) << opened.error.message;
    EXPECT_EQ(opened.records, 10u) << "a record and a page of each";
    EXPECT_EQ(opened.store->LastPosition(), 6u);
    EXPECT_EQ(opened.store->ReadPayload(JobId{4}, 0)->value_or(""), "\"payload 4\"");
    EXPECT_EQ(opened.store->ReadPayload(JobId{4}, 2)->value_or(""), "\"third\"");
    EXPECT_EQ(opened.store->ReadOutcomes({.job = JobId{5}, .end = 1})->at(0).text, "\"result 5\"");
    EXPECT_EQ(opened.store->GetSetting("word")->value_or(""), "old");
    committed_ = 100;
    Commit(*opened.store, 3);
  }
  const auto report = sqlite::CheckQueueFile(file);
  ASSERT_TRUE(report.ok() && report->ok());
  EXPECT_EQ(report->format, 4);
  for (const auto& table : report->tables) {
    if (std::string(table.table) != "jobs") continue;
    EXPECT_EQ(table.checked - table.without_sum, 3u);
    EXPECT_GE(table.without_sum, 5u);
  }
}

TEST_F(DamageTest, AFileOfTheFirstFormatThatWasKilledOpensWithItsLogAndWithoutAMark) {
  const std::string file = directory_ / "old.db";
  auto db = sqlite::Database::Open(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
  ASSERT_TRUE(db.ok());
  ASSERT_TRUE(db->Exec("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL").ok());
  ASSERT_TRUE(sqlite::Migrate(*db, sqlite::Migrations().first(1)).ok());
  ASSERT_TRUE(db->Exec("INSERT INTO jobs VALUES (5, 'five')").ok());
  const std::string killed = Killed(file);
  ExpectOpens(killed, 1);
  EXPECT_TRUE(fs::exists(killed + ".mark"));
}

// A store with one of everything, closed: each blob has a text of its own, to be found in the file.
class SumTest : public DamageTest {
 protected:
  void SetUp() override {
    Opened opened = Open(file_);
    ASSERT_TRUE(opened.store != nullptr);
    Batch batch;
    batch.position = 1;
    batch.events = "the-event-" + std::string(50, 'e');
    batch.records.push_back({JobId{7}, kJobPage, "the-record-" + std::string(50, 'r')});
    batch.records.push_back({JobId{7}, 3, "the-page-" + std::string(50, 'g')});
    batch.payloads.push_back({JobId{7}, 0, {"\"the-head-" + std::string(50, 'h') + "\""}});
    batch.payloads.push_back({JobId{7}, 1, {"\"the-segment-" + std::string(50, 's') + "\"", "\"another\""}});
    batch.payloads.push_back({JobId{8}, 0, {"\"neighbour\""}});
    batch.outcomes.push_back({JobId{7}, 0, OutcomeKind::kResult, 1, "\"the-result-" + std::string(3000, 'o') + "\""});
    batch.outcomes.push_back({JobId{7}, 1, OutcomeKind::kResult, 1, "\"other\""});
    ASSERT_TRUE(opened.store->Commit({&batch, 1}).ok());
    ASSERT_TRUE(opened.store->PutSetting("word", "the-setting").ok());
  }
  void FlipWhere(const std::string& text) {
    const std::size_t at = Contents(file_).find(text);
    ASSERT_NE(at, std::string::npos) << text;
    Flip(file_, at + text.size() - 2);
  }
  std::vector<std::string> Problems() {
    const auto report = sqlite::CheckQueueFile(file_);
    EXPECT_TRUE(report.ok()) << report.error().message;
    return report->problems;
  }

  const std::string file_ = directory_ / "queue.db";
};

TEST_F(SumTest, ADamagedPayloadIsAnErrorOfItsOwnAndOthersAreRead) {
  FlipWhere("the-head");
  FlipWhere("the-segment");
  Opened opened = Open(file_);
  ASSERT_TRUE(opened.store != nullptr) << opened.error.message;
  for (const int index : {0, 1, 2}) {
    const auto payload = opened.store->ReadPayload(JobId{7}, index);
    ASSERT_FALSE(payload.ok());
    EXPECT_EQ(payload.error().code, Code::kStoreCorrupt);
    EXPECT_THAT(payload.error().message, HasSubstr("of set 7 are damaged"));
  }
  EXPECT_EQ(opened.store->ReadPayload(JobId{8}, 0)->value_or(""), "\"neighbour\"");
  opened.store.reset();
  EXPECT_THAT(Problems(), ::testing::UnorderedElementsAre("payloads of set 7 from task 0 on: damaged",
                                                          "payloads of set 7 from task 1 on: damaged"));
}

TEST_F(SumTest, ADamagedResultIsAnErrorAndOthersAreRead) {
  FlipWhere("the-result");
  Opened opened = Open(file_);
  ASSERT_TRUE(opened.store != nullptr) << opened.error.message;
  const auto damaged = opened.store->ReadOutcomes({.job = JobId{7}, .end = 2});
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.error().code, Code::kStoreCorrupt);
  EXPECT_THAT(damaged.error().message, HasSubstr("results of tasks 0 to 0 of job 7 are damaged"));
  const auto behind = opened.store->ReadOutcomes({.job = JobId{7}, .from = 1, .end = 2});
  ASSERT_TRUE(behind.ok());
  EXPECT_EQ(behind->at(0).text, "\"other\"");
  opened.store.reset();
  EXPECT_THAT(Problems(), ::testing::ElementsAre("results of job 7 in the slice from task 0 on: damaged"));
}

TEST_F(SumTest, ADamagedEventRecordOrPageIsRefused) {
  struct Row {
    const char* text;
    const char* table;
    const char* problem;
  };
  const std::string whole = Contents(file_);
  for (const Row& row :
       {Row{"the-event", "journal", "events up to 1"}, Row{"the-record", "jobs", "the record of job 7"},
        Row{"the-page", "pages", "page 3 of job 7"}}) {
    SCOPED_TRACE(row.table);
    WriteFile(file_, whole);
    FlipWhere(row.text);
    EXPECT_THAT(Problems(), ::testing::ElementsAre(std::string(row.problem) + ": damaged"));
    const Opened refused = Open(file_);
    EXPECT_EQ(refused.error.code, Code::kStoreCorrupt);
    EXPECT_THAT(refused.error.message, HasSubstr(std::string("the table ") + row.table));
  }
}

TEST_F(SumTest, ADamagedSettingIsRefused) {
  FlipWhere("the-setting");
  EXPECT_THAT(Problems(), ::testing::ElementsAre("the setting word: damaged"));
  Opened opened = Open(file_);
  ASSERT_TRUE(opened.store != nullptr);
  EXPECT_EQ(opened.store->GetSetting("word").error().code, Code::kStoreCorrupt);
}

TEST_F(SumTest, CheckFindsNothingInWhatIsWholeAndChangesNothing) {
  const std::string before = AllOf(file_);
  const auto report = sqlite::CheckQueueFile(file_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_THAT(report->problems, IsEmpty());
  EXPECT_TRUE(report->closed);
  EXPECT_EQ(report->position, 1u);
  std::string rows;
  for (const auto& table : report->tables) {
    rows += std::string(table.table) + "=" + std::to_string(table.checked) + " ";
    EXPECT_EQ(table.without_sum, 0u) << table.table;
  }
  EXPECT_EQ(rows, "journal=1 jobs=1 pages=1 payload_heads=2 payloads=1 outcomes=2 settings=1 ");
  EXPECT_TRUE(AllOf(file_) == before);
  EXPECT_FALSE(fs::exists(file_ + "-wal"));

  // With its log, as a kill leaves it.
  const std::string killed = KilledAfter(50);
  const std::string left = AllOf(killed);
  const auto unclosed = sqlite::CheckQueueFile(killed);
  ASSERT_TRUE(unclosed.ok());
  EXPECT_THAT(unclosed->problems, IsEmpty());
  EXPECT_FALSE(unclosed->closed);
  EXPECT_GT(unclosed->log_pages, 0u);
  EXPECT_EQ(unclosed->position, 50u);
  EXPECT_TRUE(AllOf(killed) == left);
  EXPECT_GT(unclosed->journal_commits, 0u);
  fs::remove(killed + ".journal-1");
  EXPECT_THAT(sqlite::CheckQueueFile(killed)->problems, ::testing::Contains(HasSubstr(".journal-1 is missing")));
}

TEST_F(SumTest, CheckReadsBackupsAndLeavesFilesInUseAlone) {
  const std::string backup = directory_ / "backup";
  Opened opened = Open(file_);
  ASSERT_TRUE(opened.store->Backup(backup).ok());
  EXPECT_EQ(sqlite::CheckQueueFile(file_).error().code, Code::kStoreLocked);
  EXPECT_TRUE(sqlite::CheckBackup(backup)->ok());
  EXPECT_TRUE(SqliteStore::VerifyBackup(backup).ok());
  const std::size_t at = Contents(backup).find("the-head");
  ASSERT_NE(at, std::string::npos);
  Flip(backup, at);
  EXPECT_THAT(sqlite::CheckBackup(backup)->problems, ::testing::ElementsAre(HasSubstr("payloads of set 7")));
  EXPECT_EQ(SqliteStore::VerifyBackup(backup).error().code, Code::kStoreCorrupt);
}

TEST_F(SumTest, ARestoredCopyIsAStoreOfItsOwnAndTheOldOneIsWholeUntilItComes) {
  const std::string copy = directory_ / "copy";
  {
    Opened opened = Open(file_);
    ASSERT_TRUE(opened.store->Backup(copy).ok());
  }
  constexpr std::string_view kForget[] = {"word"};
  ASSERT_TRUE(SqliteStore::PrepareRestored(copy, kForget).ok());
  EXPECT_FALSE(fs::exists(copy + "-wal"));
  const std::string killed = KilledAfter(50);
  ASSERT_TRUE(SqliteStore::MakeWay(killed).ok());
  // Cut short here: the old one.
  const std::string old = Killed(killed);
  ExpectOpens(old, 50);
  // One that is no use any more makes way as well.
  const std::string broken = KilledAfter(20);
  WriteFile(broken, std::string(20'000, 'x'));
  const Result<void> made = SqliteStore::MakeWay(broken);
  EXPECT_TRUE(made.ok()) << made.error().message;
  EXPECT_FALSE(fs::exists(broken + "-wal"));
  fs::rename(copy, killed);
  Opened opened = Open(killed);
  ASSERT_TRUE(opened.store != nullptr) << opened.error.message;
  EXPECT_EQ(opened.records, 2u);
  EXPECT_FALSE(opened.store->GetSetting("word")->has_value());
}

}  // namespace
}  // namespace allot
