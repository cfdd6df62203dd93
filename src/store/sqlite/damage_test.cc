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
#include "store/store_harness.h"

namespace allot {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::IsEmpty;

void Flip(const std::string& file, std::uint64_t at) {
  std::string contents = Contents(file);
  ASSERT_LT(at, contents.size());
  contents[at] = static_cast<char>(contents[at] ^ 0x40);
  WriteFile(file, contents);
}

class DamageTest : public ::testing::Test {
 protected:
  struct Opened {
    std::unique_ptr<Store> store;
    Error error;
    std::uint64_t records = 0;
    std::vector<std::string> losses;
  };
  // Opens and loads.
  Opened Open(const std::string& file, bool accept_loss = false) {
    Opened opened;
    SqliteOptions options;
    options.file = file;
    options.accept_loss = accept_loss;
    options.log_pages = log_pages_;
    options.on_loss = [&opened](const std::string& what) { opened.losses.push_back(what); };
    auto store = SqliteStore::Open(options);
    if (!store) {
      opened.error = store.error();
      return opened;
    }
    Store::Loader loader;
    loader.on_record = [&](const Record&) -> Result<void> {
      ++opened.records;
      return {};
    };
    loader.on_events = [](Position, std::string_view) -> Result<void> { return {}; };
    if (Result<void> done = (*store)->Load(loader, [](JobId) { return true; }); !done) {
      opened.error = done.error();
      return opened;
    }
    opened.store = std::move(*store);
    return opened;
  }
  // `n` commits of an event and a job each.
  void Commit(Store& store, std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      Batch batch;
      batch.position = ++committed_;
      batch.events = "event " + std::to_string(committed_);
      batch.records.push_back({JobId{committed_}, kJobPage, "record of a job"});
      const Result<void> done = store.Commit({&batch, 1});
      ASSERT_TRUE(done.ok()) << done.error().message;
    }
  }
  // What a process that is killed now leaves.
  std::string Killed(const std::string& file) {
    const std::string copy = directory_ / ("killed-" + std::to_string(++copies_) + ".db");
    for (const char* suffix : {"", "-wal", ".mark"}) {
      if (fs::exists(file + suffix)) fs::copy_file(file + suffix, copy + suffix);
    }
    return copy;
  }
  // A store with `n` commits that was killed.
  std::string KilledAfter(std::uint64_t n) {
    committed_ = 0;
    const std::string file = directory_ / ("store-" + std::to_string(++copies_) + ".db");
    Opened opened = Open(file);
    EXPECT_TRUE(opened.store != nullptr) << opened.error.message;
    Commit(*opened.store, n);
    return Killed(file);
  }
  static std::string AllOf(const std::string& file) {
    return Contents(file) + "|" + Contents(file + "-wal") + "|" + Contents(file + ".mark");
  }
  // It does not open, says what to do, and changes nothing; with the loss accepted it opens, and says what was lost.
  void ExpectRefused(const std::string& file, const std::string& says, std::uint64_t records_left) {
    const std::string before = AllOf(file);
    const Opened refused = Open(file);
    ASSERT_TRUE(refused.store == nullptr) << "it opened";
    EXPECT_EQ(refused.error.code, Code::kStoreCorrupt);
    EXPECT_THAT(refused.error.message, HasSubstr(says));
    EXPECT_THAT(refused.error.message, HasSubstr(file));
    EXPECT_THAT(refused.error.hint, HasSubstr("--accept-loss"));
    EXPECT_THAT(refused.error.hint, HasSubstr("allot restore"));
    EXPECT_TRUE(AllOf(file) == before) << "the files were changed";
    {
      const Opened accepted = Open(file, true);
      ASSERT_TRUE(accepted.store != nullptr) << accepted.error.message;
      ASSERT_FALSE(accepted.losses.empty());
      EXPECT_THAT(accepted.losses[0], HasSubstr(says));
      EXPECT_EQ(accepted.records, records_left);
    }
    const Opened again = Open(file);
    EXPECT_TRUE(again.store != nullptr) << "once accepted, it is accepted: " << again.error.message;
  }
  void ExpectOpens(const std::string& file, std::uint64_t records) {
    const Opened opened = Open(file);
    ASSERT_TRUE(opened.store != nullptr) << opened.error.message;
    EXPECT_EQ(opened.records, records);
    EXPECT_THAT(opened.losses, IsEmpty());
  }

  TempDirectory directory_;
  std::uint64_t committed_ = 0;
  int copies_ = 0;
  int log_pages_ = 2048;
};

TEST_F(DamageTest, WhatAKilledProcessLeavesOpensWithAllThatWasCommitted) {
  ExpectOpens(KilledAfter(0), 0);
  ExpectOpens(KilledAfter(300), 300);
}

TEST_F(DamageTest, ARemovedLogIsRefused) {
  const std::string file = KilledAfter(300);
  fs::remove(file + "-wal");
  ExpectRefused(file, "is missing", 0);
}

TEST_F(DamageTest, ALogThatWasCutAnywhereIsRefused) {
  const std::string file = KilledAfter(100);
  const auto scan = sqlite::ScanLog(file);
  ASSERT_TRUE(scan.ok());
  ASSERT_GT(scan->frames, 100u);
  const std::uint64_t end = scan->OffsetOf(scan->frames);
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{20}, std::uint64_t{32}, end / 3, end / 2, end - 1}) {
    SCOPED_TRACE(at);
    const std::string cut = Killed(file);
    fs::resize_file(cut + "-wal", at);
    const std::string before = AllOf(cut);
    const Opened refused = Open(cut);
    EXPECT_EQ(refused.error.code, Code::kStoreCorrupt);
    EXPECT_THAT(refused.error.message, HasSubstr(" was cut "));
    EXPECT_TRUE(AllOf(cut) == before);
  }
  fs::resize_file(file + "-wal", end / 2);
  ExpectRefused(file, " was cut at byte " + std::to_string(end / 2), 49);
  EXPECT_TRUE(fs::exists(file + "-wal.lost")) << "what is left of it is kept";
}

TEST_F(DamageTest, ALogWithAFlippedBitAnywhereIsRefused) {
  const std::string file = KilledAfter(100);
  const auto scan = sqlite::ScanLog(file);
  ASSERT_TRUE(scan.ok());
  for (const std::uint64_t at :
       {std::uint64_t{0}, std::uint64_t{17}, std::uint64_t{30}, scan->OffsetOf(0) + 3, scan->OffsetOf(0) + 17,
        scan->OffsetOf(1) + 200, scan->OffsetOf(scan->frames / 2) + 9, scan->OffsetOf(scan->frames - 1) + 1000}) {
    SCOPED_TRACE(at);
    const std::string flipped = Killed(file);
    Flip(flipped + "-wal", at);
    const Opened refused = Open(flipped);
    EXPECT_EQ(refused.error.code, Code::kStoreCorrupt);
    EXPECT_THAT(refused.error.message, HasSubstr("is damaged"));
  }
  Flip(file + "-wal", scan->OffsetOf(scan->frames / 2) + 500);
  ExpectRefused(file, "is damaged at byte " + std::to_string(scan->OffsetOf(scan->frames / 2)), 50);
}

TEST_F(DamageTest, WhatLiesBehindTheLastAnswerDoesNotMatter) {
  const std::string file = KilledAfter(100);
  const auto scan = sqlite::ScanLog(file);
  ASSERT_TRUE(scan.ok());
  // A commit that was under way: the beginning of a frame, or noise, or a whole frame without its end.
  const std::uint64_t end = scan->OffsetOf(scan->frames);
  const std::string log = Contents(file + "-wal");
  for (const std::string& tail : {std::string(10, 'x'), std::string(30'000, 'x'), log.substr(32, 2 * 4120)}) {
    const std::string torn = Killed(file);
    WriteFile(torn + "-wal", log.substr(0, end) + tail);
    ExpectOpens(torn, 100);
  }
}

TEST_F(DamageTest, AnOlderLogInPlaceOfTheLastIsRefused) {
  const std::string file = directory_ / "queue.db";
  log_pages_ = 24;
  Opened opened = Open(file);
  Commit(*opened.store, 10);
  const std::string old = Contents(file + "-wal");
  const std::uint32_t salt = sqlite::ScanLog(file)->salt1;
  for (int i = 0; i < 1000 && sqlite::ScanLog(file)->salt1 == salt; ++i) {
    Commit(*opened.store, 10);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the checkpointer has a thread of its own
  }
  ASSERT_NE(sqlite::ScanLog(file)->salt1, salt) << "it never began anew";
  const std::string killed = Killed(file);
  ExpectOpens(killed, committed_);
  const std::string replaced = Killed(file);
  WriteFile(replaced + "-wal", old);
  const Opened refused = Open(replaced);
  EXPECT_EQ(refused.error.code, Code::kStoreCorrupt);
  EXPECT_THAT(refused.error.message, HasSubstr("is not the log that was written last"));
}

TEST_F(DamageTest, AnEmptyOrMissingFileBesideItsLogIsRefused) {
  for (const bool there : {true, false}) {
    for (const char* beside : {"-wal", ".mark"}) {
      SCOPED_TRACE(beside);
      const std::string file = KilledAfter(20);
      fs::remove(file);
      if (there) WriteFile(file, "");
      fs::remove(file + (std::string(beside) == "-wal" ? ".mark" : "-wal"));
      ExpectRefused(file, there ? "is empty" : "is missing", 0);
    }
  }
}

TEST_F(DamageTest, AFileThatWasNotClosedIsRefusedWithoutItsMark) {
  const std::string file = KilledAfter(100);
  fs::remove(file + ".mark");
  fs::remove(file + "-wal");
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
TEST_F(DamageTest, AMissingLogIsRefusedThoughTheMarkIsOfTheStopBefore) {
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
  opened.store->Tidy().ok();
  const std::string killed = Killed(file);
  {
    // All of the log is in the file by then, and in_use with it.
    auto db = sqlite::Database::Open(killed, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "");
    ASSERT_TRUE(db.ok());
    ASSERT_EQ(*db->QueryInt("SELECT in_use FROM state"), 1);
    ASSERT_EQ(sqlite3_wal_checkpoint_v2(db->get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr), SQLITE_OK);
  }
  fs::remove(killed + "-wal");
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
  EXPECT_THAT(refused.error.message, HasSubstr("10 are missing"));
  {
    const Opened accepted = Open(file, true);
    ASSERT_TRUE(accepted.store != nullptr);
    EXPECT_THAT(accepted.losses, ::testing::ElementsAre(HasSubstr("10 are missing")));
  }
  fs::copy_file(file + ".mark", other + ".mark", fs::copy_options::overwrite_existing);
  EXPECT_THAT(Open(other).error.message, HasSubstr(".mark"));
}

TEST_F(DamageTest, AfterALossOfPowerAHoleIsDamageIfMoreIsWholeBehindItThanWasUnsynced) {
  const std::string file = directory_ / "queue.db";
  Opened opened = Open(file);
  Commit(*opened.store, 20);
  const std::string old_mark = Contents(file + ".mark");
  Commit(*opened.store, 30);
  const std::string few = Killed(file);
  WriteFile(few + ".mark", old_mark);
  Commit(*opened.store, 60);
  const std::string many = Killed(file);
  WriteFile(many + ".mark", old_mark);
  const auto scan = sqlite::ScanLog(few);
  ASSERT_TRUE(scan.ok());
  const std::uint64_t hole = scan->OffsetOf(scan->frames * 2 / 3) + 100;
  // Few commits behind it may be what the tidier did not wait for.
  Flip(few + "-wal", hole);
  EXPECT_TRUE(Open(few).store != nullptr);
  Flip(many + "-wal", hole);
  const Opened refused = Open(many);
  EXPECT_EQ(refused.error.code, Code::kStoreCorrupt);
  EXPECT_THAT(refused.error.message, HasSubstr("has a hole at byte"));
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
                         Row{".mark", true}}) {
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
  for (const char* gone : {"", "-wal", ".lock"}) {
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
    for (const char* suffix : {"", "-wal", "-shm", ".lock", ".mark"}) EXPECT_FALSE(fs::exists(file + suffix)) << suffix;
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
  EXPECT_EQ(report->format, 3);
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
  fs::remove(killed + "-wal");
  EXPECT_THAT(sqlite::CheckQueueFile(killed)->problems, ::testing::Contains(HasSubstr("-wal is missing")));
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
