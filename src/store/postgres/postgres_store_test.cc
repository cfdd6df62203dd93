// SPDX-License-Identifier: Apache-2.0
// What is special about queues in a database: who may write, what becomes of a commit whose answer is lost, databases
// that are away, too new, not to be relied on, or without rights; and backups that move between kinds of stores.
#include "store/postgres/postgres_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "store/postgres/loader.h"
#include "store/postgres/postgres_catalogue.h"
#include "store/postgres/queues.h"
#include "store/postgres/schema.h"
#include "store/store_fixture.h"

namespace allot {
namespace {

using namespace std::chrono_literals;
using postgres::TestCluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Where a store's commit ends up, tried again as the server does.
Result<void> CommitSurely(Store& store, const Batch& batch) {
  for (int tries = 0;; ++tries) {
    const Result<void> done = store.Commit({&batch, 1});
    if (done.ok() || done.error().code != Code::kUnavailable || tries == 400) return done;
    std::this_thread::sleep_for(50ms);
  }
}

class PostgresStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = TestCluster::Missing()) GTEST_SKIP() << *missing;
    harness_ = std::make_unique<PostgresHarness>();
    store_ = Open(harness_->database());
  }
  void TearDown() override {
    if (!harness_) return;
    cluster().Sql("ALTER SYSTEM RESET ALL");
    cluster().Sql("SELECT pg_reload_conf()");
  }
  static TestCluster& cluster() { return TestCluster::Shared(); }
  std::unique_ptr<Store> Open(const std::shared_ptr<PostgresDatabase>& database) {
    auto store = PostgresStore::Open(database, harness_->name());
    EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
    if (!store.ok()) return nullptr;
    loaded_ = LoadFrom(**store);
    return std::move(*store);
  }
  static std::shared_ptr<PostgresDatabase> DatabaseWith(const std::function<void(PostgresOptions&)>& change,
                                                        const std::string& user = "allot",
                                                        const std::string& name = "postgres") {
    PostgresOptions options = PostgresHarness::Options(cluster().Url(user, name));
    change(options);
    auto database = PostgresDatabase::Open(options);
    EXPECT_TRUE(database.ok()) << (database.ok() ? "" : database.error().message);
    return database.ok() ? *database : nullptr;
  }
  static Error WhyNot(PostgresOptions options) {
    auto database = PostgresDatabase::Open(std::move(options));
    return database.ok() ? Error{Code::kInternal, "it opened", ""} : database.error();
  }
  std::string Number() const {
    return cluster().Sql("SELECT number FROM allotter.queues WHERE name = '" + harness_->name() + "'");
  }
  std::string Count(const std::string& table) const {
    return cluster().Sql("SELECT count(*) FROM allotter." + table + " WHERE queue = " + Number());
  }
  // What pg_stat_activity knows the owner's connection by.
  std::string Backend() const { return "application_name LIKE 'allotter queue " + Number() + " by %'"; }
  void EndBackend() const {
    cluster().Sql("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE " + Backend());
  }
  void WaitFor(const std::string& condition) const {
    for (int i = 0; i < 2000; ++i) {
      if (cluster().Sql("SELECT count(*) FROM pg_stat_activity WHERE " + condition) != "0") return;
      std::this_thread::sleep_for(5ms);
    }
    FAIL() << "never: " << condition;
  }
  // Commits wait for a standby that there is not, or not any more.
  void SetStandby(const std::string& name) const {
    cluster().Sql("ALTER SYSTEM SET synchronous_standby_names = '" + name + "'");
    cluster().Sql("SELECT pg_reload_conf()");
    for (int i = 0; cluster().Sql("SHOW synchronous_standby_names") != name && i < 1000; ++i)
      std::this_thread::sleep_for(5ms);
  }

  std::unique_ptr<PostgresHarness> harness_;
  std::unique_ptr<Store> store_;
  Loaded loaded_;  // by the last Open()
};

TEST_F(PostgresStoreTest, WhoeverTookItOverIsNotDisturbedByTheOneBefore) {
  ASSERT_TRUE(CommitSurely(*store_, Events(1, "first")).ok());
  const auto database = DatabaseWith([](PostgresOptions& options) { options.take_over = true; });
  const std::unique_ptr<Store> second = Open(database);
  EXPECT_THAT(loaded_.events, ElementsAre("1:first"));
  ASSERT_TRUE(CommitSurely(*second, Events(2, "second")).ok());

  Batch late = Events(2, "late");
  late.payloads.push_back({JobId{1}, 0, {"late"}});
  late.records.push_back({JobId{1}, kJobPage, "late"});
  EXPECT_EQ(store_->Commit({&late, 1}).error().code, Code::kFenced);
  EXPECT_EQ(store_->PutSetting("late", "late").error().code, Code::kFenced);
  EXPECT_EQ(store_->ReadUsage()->fenced, 2u);
  EXPECT_EQ(Count("payloads") + Count("jobs") + Count("settings"), "000");
  ASSERT_TRUE(CommitSurely(*second, Events(3, "third")).ok());
  store_.reset();  // must not give back what is not its own
  ASSERT_TRUE(CommitSurely(*second, Events(4, "fourth")).ok());
}

TEST_F(PostgresStoreTest, AFencedOwnerWhoseConnectionLivesIsRefusedByTheDatabase) {
  // Nothing but the row tells it.
  cluster().Sql("UPDATE allotter.heads SET epoch = epoch + 1 WHERE queue = " + Number());
  Batch late = Events(1, "late");
  late.outcomes.push_back({JobId{1}, 0, OutcomeKind::kResult, 1, "late"});
  const Result<void> done = store_->Commit({&late, 1});
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::kFenced);
  EXPECT_THAT(done.error().message, HasSubstr(harness_->name()));
  EXPECT_EQ(Count("journal") + Count("outcomes"), "00");
}

TEST_F(PostgresStoreTest, AnOwnerThatIsAliveIsNotRobbed) {
  const auto second = PostgresStore::Open(harness_->database(), harness_->name());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kStoreLocked);
  EXPECT_THAT(second.error().message, HasSubstr("is alive"));
  EXPECT_TRUE(CommitSurely(*store_, Events(1, "mine")).ok());
}

TEST_F(PostgresStoreTest, AnOwnerWhoseConnectionIsGoneMayBeFollowed) {
  ASSERT_TRUE(CommitSurely(*store_, Events(1, "first")).ok());
  EndBackend();
  const std::unique_ptr<Store> second = Open(harness_->database());
  EXPECT_THAT(loaded_.events, ElementsAre("1:first"));
  EXPECT_EQ(CommitSurely(*store_, Events(2, "late")).error().code, Code::kFenced);
  EXPECT_TRUE(CommitSurely(*second, Events(2, "second")).ok());
}

TEST_F(PostgresStoreTest, ALostConnectionIsMadeAnew) {
  ASSERT_TRUE(CommitSurely(*store_, Events(1, "first")).ok());
  const std::uint64_t epoch = store_->ReadUsage()->epoch;
  EndBackend();
  ASSERT_TRUE(CommitSurely(*store_, Events(2, "second")).ok());
  EndBackend();
  ASSERT_TRUE(store_->PutSetting("name", "value").ok());
  EXPECT_GE(store_->ReadUsage()->epoch, epoch + 2);
  store_ = nullptr;
  store_ = Open(harness_->database());
  EXPECT_THAT(loaded_.events, ElementsAre("1:first", "2:second"));
}

TEST_F(PostgresStoreTest, ACommitThatHappenedBeforeItsConnectionWasLostIsNotRepeated) {
  for (const char* end : {"pg_terminate_backend", "pg_cancel_backend"}) {
    SCOPED_TRACE(end);
    const Position position = store_->LastPosition() + 1;
    SetStandby("nobody");
    Result<void> done;
    std::thread committing([&] {
      Batch batch = Events(position, "once");
      batch.outcomes.push_back({JobId{1}, 0, OutcomeKind::kResult, 1, "once"});
      done = CommitSurely(*store_, batch);
    });
    WaitFor("wait_event = 'SyncRep' AND " + Backend());
    // It is done on this one. Whether it would survive nobody knows: the wait for the standby is cut short.
    const std::uint64_t epoch = store_->ReadUsage()->epoch;
    cluster().Sql(std::string("SELECT ") + end + "(pid) FROM pg_stat_activity WHERE " + Backend());
    // The next connection raises the epoch, which waits as well.
    for (int i = 0; i < 2000 && store_->ReadUsage()->doubts == 0; ++i) std::this_thread::sleep_for(5ms);
    WaitFor("wait_event = 'SyncRep' AND " + Backend());
    SetStandby("");
    committing.join();
    EXPECT_TRUE(done.ok()) << done.error().message;
    EXPECT_GT(store_->ReadUsage()->epoch, epoch);
    EXPECT_EQ(store_->LastPosition(), position);
  }
  store_.reset();
  store_ = Open(harness_->database());
  EXPECT_THAT(loaded_.events, ElementsAre("1:once", "2:once"));
  EXPECT_EQ(Count("outcomes"), "2");
}

TEST_F(PostgresStoreTest, ACommitThatDidNotHappenIsDoneAgain) {
  auto locker = postgres::Connection::Open(
      {.url = cluster().Url(), .application = "locker", .schema = "allotter", .prepare = {}});
  ASSERT_TRUE(locker.ok());
  ASSERT_TRUE((*locker)->Script("BEGIN; SELECT * FROM heads WHERE queue = " + Number() + " FOR UPDATE").ok());
  Result<void> done;
  std::thread committing([&] { done = CommitSurely(*store_, Events(1, "once")); });
  WaitFor("wait_event_type = 'Lock' AND " + Backend());
  EndBackend();
  WaitFor("wait_event_type = 'Lock' AND " + Backend());  // the next connection
  ASSERT_TRUE((*locker)->Script("COMMIT").ok());
  committing.join();
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_GE(store_->ReadUsage()->doubts, 1u);
  store_.reset();
  store_ = Open(harness_->database());
  EXPECT_THAT(loaded_.events, ElementsAre("1:once"));
}

TEST_F(PostgresStoreTest, ASlowCommitSaysThatItWaitsAndGoesOn) {
  const auto database = DatabaseWith([](PostgresOptions& options) { options.commit_patience = 50ms; });
  store_.reset();
  store_ = Open(database);
  SetStandby("nobody");
  const Batch batch = Events(1, "slow");
  for (int i = 0; i < 3; ++i) {
    const Result<void> done = store_->Commit({&batch, 1});
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, Code::kUnavailable);
  }
  SetStandby("");
  EXPECT_TRUE(CommitSurely(*store_, batch).ok());
  EXPECT_EQ(store_->ReadUsage()->doubts, 0u);
  EXPECT_EQ(Count("journal"), "1");
}

TEST_F(PostgresStoreTest, NothingIsLostOrDoneTwiceWhenTheDatabaseIsRestartedDuringCommits) {
  std::atomic<bool> stop{false};
  std::atomic<Position> last{0};
  std::thread committing([&] {
    while (!stop) {
      Batch batch = Events(last + 1, std::to_string(last + 1));
      batch.outcomes.push_back({JobId{1}, static_cast<TaskIndex>(last), OutcomeKind::kResult, 1, "r"});
      const Result<void> done = CommitSurely(*store_, batch);
      ASSERT_TRUE(done.ok()) << done.error().message;
      ++last;
    }
  });
  for (int round = 0; round < 4; ++round) {
    const Position before = last;
    for (int i = 0; i < 2000 && last < before + 5; ++i) std::this_thread::sleep_for(5ms);
    if (round % 2 == 0) {
      cluster().Kill();
    } else {
      cluster().Stop();
    }
    cluster().Start();
  }
  const Position before = last;
  for (int i = 0; i < 2000 && last < before + 5; ++i) std::this_thread::sleep_for(5ms);
  stop = true;
  committing.join();
  store_.reset();
  store_ = Open(harness_->database());
  std::vector<std::string> want;
  for (Position position = 1; position <= last; ++position)
    want.push_back(std::to_string(position) + ":" + std::to_string(position));
  EXPECT_EQ(loaded_.events, want);
  EXPECT_EQ(Count("outcomes"), std::to_string(last));
}

TEST_F(PostgresStoreTest, ADatabaseThatIsAwayIsWaitedForAndReadsSaySo) {
  ASSERT_TRUE(CommitSurely(*store_, Payloads({{JobId{1}, 0, {std::string(50'000, 'p')}}})).ok());
  cluster().Stop();
  const Batch batch = Events(1, "e");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(store_->Commit({&batch, 1}).error().code, Code::kUnavailable);
  const Result<bool> tidied = store_->Tidy();
  EXPECT_TRUE(tidied.ok() || tidied.error().code == Code::kUnavailable);
  EXPECT_EQ(store_->PutSetting("a", "b").error().code, Code::kUnavailable);
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(store_->ReadPayload(JobId{1}, 0).error().code, Code::kUnavailable);
    EXPECT_EQ(store_->ReadOutcomes({.job = JobId{1}, .end = 10}).error().code, Code::kUnavailable);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, 2s);
  cluster().Start();
  EXPECT_TRUE(CommitSurely(*store_, batch).ok());
  for (int i = 0; i < 100 && !store_->ReadPayload(JobId{1}, 0).ok(); ++i) std::this_thread::sleep_for(50ms);
  EXPECT_EQ((*store_->ReadPayload(JobId{1}, 0))->size(), 50'000u);
}

TEST_F(PostgresStoreTest, ADatabaseThatLostCommitsIsNotUsedOn) {
  ASSERT_TRUE(CommitSurely(*store_, Events(1, "a")).ok());
  ASSERT_TRUE(CommitSurely(*store_, Events(2, "b")).ok());
  // As after the failover to a standby that was behind.
  cluster().Sql("UPDATE allotter.heads SET commits = commits - 1, pos = 1 WHERE queue = " + Number());
  EndBackend();
  const Result<void> done = CommitSurely(*store_, Events(3, "c"));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::kStoreCorrupt);
  EXPECT_THAT(done.error().message, HasSubstr("has lost commits"));
}

TEST_F(PostgresStoreTest, DamagedRowsAreNoticed) {
  Batch batch = Records({{JobId{1}, kJobPage, "record"}});
  batch.payloads.push_back({JobId{2}, 0, {std::string(100'000, 'p')}});
  batch.outcomes.push_back({JobId{1}, 5, OutcomeKind::kResult, 1, "result"});
  ASSERT_TRUE(CommitSurely(*store_, batch).ok());
  cluster().Sql("UPDATE allotter.payloads SET segment = set_byte(segment, 20, 65) WHERE queue = " + Number());
  cluster().Sql("UPDATE allotter.outcomes SET packed = set_byte(packed, 4, 65) WHERE queue = " + Number());
  EXPECT_EQ(store_->ReadPayload(JobId{2}, 0).error().code, Code::kStoreCorrupt);
  EXPECT_EQ(store_->ReadOutcomes({.job = JobId{1}, .end = 10}).error().code, Code::kStoreCorrupt);
  cluster().Sql("UPDATE allotter.jobs SET record = 'other' WHERE queue = " + Number());
  store_.reset();
  auto store = PostgresStore::Open(harness_->database(), harness_->name());
  ASSERT_TRUE(store.ok());
  Store::Loader loader{[](const Record&) { return Result<void>(); },
                       [](Position, std::string_view) { return Result<void>(); }};
  EXPECT_EQ((*store)->Load(loader, [](JobId) { return true; }).error().code, Code::kStoreCorrupt);
}

TEST_F(PostgresStoreTest, ASnapshotIsFollowedByTheTail) {
  const std::int64_t number = std::stoll(Number());
  PostgresDatabase& database = *harness_->database();
  Batch first = Events(1, "a");
  first.records.push_back({JobId{1}, kJobPage, "one"});
  ASSERT_TRUE(CommitSurely(*store_, first).ok());
  std::vector<std::string> seen;
  Store::Loader loader{[&](const Record& record) {
                         seen.push_back(Text(record));
                         return Result<void>();
                       },
                       [&](Position position, std::string_view events) {
                         seen.push_back(std::to_string(position) + ":" + std::string(events));
                         return Result<void>();
                       }};
  Result<postgres::Found> found = postgres::LoadSnapshot(database, number, loader);
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(seen, ElementsAre("1=one", "1:a"));
  EXPECT_EQ(found->position, 1u);
  // The owner goes on meanwhile.
  ASSERT_TRUE(store_->Commit(std::vector<Batch>{Events(2, "b"), Events(5, "c"), Remove(1, 1)}).ok());
  ASSERT_TRUE(postgres::LoadTail(database, number, loader, *found).ok());
  EXPECT_THAT(seen, ElementsAre("1=one", "1:a", "2:b", "5:c"));
  EXPECT_EQ(found->position, 5u);
  EXPECT_EQ(found->garbage.size(), 1u);
  ASSERT_TRUE(postgres::LoadTail(database, number, loader, *found).ok());
  EXPECT_EQ(seen.size(), 4u);
  // It must not fold what was not loaded.
  ASSERT_TRUE(store_->Commit(std::vector<Batch>{Events(6, "d"), Floor(6)}).ok());
  EXPECT_EQ(postgres::LoadTail(database, number, loader, *found).error().code, Code::kUnavailable);
}

TEST_F(PostgresStoreTest, ABackupMovesAQueueBetweenKindsOfStores) {
  const TempDirectory directory;
  Batch batch = Events(7, "e");
  batch.records = {{JobId{1}, kJobPage, "own"}, {JobId{1}, 3, "page"}};
  batch.payloads = {{JobId{1}, kCommonPayload, {"all"}}, {JobId{1}, 0, {"a", "b"}}, {JobId{1}, 2, {"c"}}};
  for (TaskIndex i = 0; i < 9000; i += 700) batch.outcomes.push_back({JobId{1}, i, OutcomeKind::kResult, 2, "r"});
  ASSERT_TRUE(store_->Commit(std::vector<Batch>{Events(3, "old"), Floor(3), batch, Remove(9, 9)}).ok());
  ASSERT_TRUE(store_->PutSetting("key", "secret").ok());
  ASSERT_TRUE(store_->PutSetting("kept", "value").ok());
  const auto expect_all = [&](Store& store) {
    const Loaded loaded = LoadFrom(store);
    EXPECT_THAT(loaded.records, ElementsAre("1=own", "1/3=page"));
    EXPECT_THAT(loaded.events, ElementsAre("7:e"));
    EXPECT_EQ(store.LastPosition(), 7u);
    EXPECT_EQ(*store.ReadPayload(JobId{1}, kCommonPayload), "all");
    EXPECT_EQ(*store.ReadPayload(JobId{1}, 1), "b");
    EXPECT_EQ(*store.ReadPayload(JobId{1}, 2), "c");
    EXPECT_EQ(store.ReadOutcomes({.job = JobId{1}, .end = 10'000})->size(), 13u);
    EXPECT_EQ(*store.GetSetting("key"), std::nullopt);
    EXPECT_EQ(*store.GetSetting("kept"), "value");
    EXPECT_TRUE(store.Commit(std::vector<Batch>{Events(8, "more")}).ok());
    EXPECT_TRUE(store.Commit(std::vector<Batch>{Floor(8)}).ok());
  };
  const std::string file = directory / "copy";
  ASSERT_TRUE(store_->Backup(file).ok());
  ASSERT_TRUE(SqliteStore::VerifyBackup(file).ok());
  constexpr std::string_view kForget[] = {"key"};
  ASSERT_TRUE(SqliteStore::PrepareRestored(file, kForget).ok());
  ASSERT_TRUE(RestoreIntoPostgres(*harness_->database(), {.file = file, .queue = "moved"}).ok());
  SqliteOptions options;
  options.file = file;
  auto sqlite = SqliteStore::Open(options);
  ASSERT_TRUE(sqlite.ok()) << sqlite.error().message;
  expect_all(**sqlite);
  auto moved = PostgresStore::Open(harness_->database(), "moved");
  ASSERT_TRUE(moved.ok());
  expect_all(**moved);

  // One that is in use, or there, is not replaced unasked.
  const std::string other = directory / "other";
  ASSERT_TRUE((*sqlite)->Backup(other).ok());
  RestoreOptions again{.file = other, .queue = "moved"};
  EXPECT_EQ(RestoreIntoPostgres(*harness_->database(), again).error().code, Code::kStoreLocked);
  moved->reset();
  EXPECT_EQ(RestoreIntoPostgres(*harness_->database(), again).error().code, Code::kQueueExists);
  again.replace = true;
  ASSERT_TRUE(RestoreIntoPostgres(*harness_->database(), again).ok());
  moved = PostgresStore::Open(harness_->database(), "moved");
  ASSERT_TRUE(moved.ok());
  EXPECT_THAT(LoadFrom(**moved).events, testing::IsEmpty());
  EXPECT_EQ((*moved)->LastPosition(), 8u);
  // What the one before left goes as well; other tests share the database.
  for (int i = 0; i < 1000 && *(*moved)->Tidy(); ++i) {
  }
  EXPECT_EQ(cluster().Sql("SELECT count(*) FROM allotter.queues WHERE deleted IS NOT NULL"), "0");
}

TEST_F(PostgresStoreTest, ADeletedQueueIsGoneAtOnceAndItsRowsByAndBy) {
  PostgresCatalogue catalogue(PostgresHarness::Options(cluster().Url()));
  ASSERT_TRUE(catalogue.Prepare().ok());
  auto doomed = catalogue.Open("doomed");
  ASSERT_TRUE(doomed.ok());
  LoadFrom(**doomed);
  Batch batch = Events(1, "e");
  for (std::uint64_t job = 1; job <= 3000; ++job) batch.records.push_back({JobId{job}, kJobPage, "record"});
  batch.payloads.push_back({JobId{1}, 0, {"p"}});
  ASSERT_TRUE((*doomed)->Commit({&batch, 1}).ok());
  EXPECT_THAT(*catalogue.List(), testing::Contains("doomed"));
  ASSERT_TRUE(catalogue.Delete("doomed").ok());
  EXPECT_THAT(*catalogue.List(), Not(testing::Contains("doomed")));
  const Batch late = Events(2, "late");
  EXPECT_EQ((*doomed)->Commit({&late, 1}).error().code, Code::kFenced);
  auto anew = catalogue.Open("doomed");
  ASSERT_TRUE(anew.ok());
  EXPECT_THAT(LoadFrom(**anew).records, testing::IsEmpty());
  for (int i = 0; i < 1000 && *(*anew)->Tidy(); ++i) {
  }
  EXPECT_EQ(cluster().Sql("SELECT count(*) FROM allotter.queues WHERE deleted IS NOT NULL"), "0");
  EXPECT_EQ(cluster().Sql("SELECT count(*) FROM allotter.jobs j WHERE NOT EXISTS (SELECT FROM allotter.queues q WHERE "
                          "q.number = j.queue)"),
            "0");
}

TEST_F(PostgresStoreTest, ANewerSchemaIsRefusedAndOneThatOnlyAddsIsNot) {
  const PostgresOptions options = PostgresHarness::Options(cluster().Url());
  cluster().Sql("UPDATE allotter.cluster SET version = 99");
  EXPECT_TRUE(PostgresDatabase::Open(options).ok());
  cluster().Sql("UPDATE allotter.cluster SET compatible = 98");
  EXPECT_EQ(WhyNot(options).code, Code::kStoreNewer);
  EXPECT_THAT(WhyNot(options).message, HasSubstr("98 migrations"));
  cluster().Sql("UPDATE allotter.cluster SET compatible = 1, feature_level = 7");
  EXPECT_EQ(WhyNot(options).code, Code::kStoreNewer);
  EXPECT_THAT(WhyNot(options).message, HasSubstr("feature level is 7"));
  cluster().Sql("UPDATE allotter.cluster SET feature_level = 1, version = " +
                std::to_string(postgres::Migrations().size()));
  EXPECT_TRUE(PostgresDatabase::Open(options).ok());
}

TEST_F(PostgresStoreTest, WithoutRightsItSaysWhatToGrant) {
  cluster().Sql("DROP DATABASE IF EXISTS bare");
  cluster().Sql("CREATE DATABASE bare");
  cluster().Sql("DROP ROLE IF EXISTS guest");
  cluster().Sql("CREATE ROLE guest LOGIN");
  const PostgresOptions options = PostgresHarness::Options(cluster().Url("guest", "bare"));
  Error error = WhyNot(options);
  EXPECT_EQ(error.code, Code::kStoreFailed);
  EXPECT_THAT(error.message, HasSubstr("does not let the user guest use the schema allotter"));
  EXPECT_THAT(error.hint, HasSubstr("CREATE SCHEMA allotter AUTHORIZATION \"guest\""));
  // What it says helps.
  cluster().Sql("CREATE SCHEMA allotter AUTHORIZATION \"guest\"", "bare");
  {
    auto database = PostgresDatabase::Open(options);
    ASSERT_TRUE(database.ok()) << database.error().message;
    EXPECT_TRUE(PostgresStore::Open(*database, "q").ok());
  }
  // Somebody else's tables.
  cluster().Sql("CREATE ROLE other LOGIN");
  const PostgresOptions others = PostgresHarness::Options(cluster().Url("other", "bare"));
  EXPECT_THAT(WhyNot(others).hint, HasSubstr("GRANT ALL ON ALL TABLES IN SCHEMA allotter TO \"other\""));
  cluster().Sql("GRANT USAGE ON SCHEMA allotter TO other; GRANT SELECT ON ALL TABLES IN SCHEMA allotter TO other",
                "bare");
  EXPECT_THAT(WhyNot(others).message, HasSubstr("it lacks rights on the table"));
  cluster().Sql("GRANT ALL ON ALL TABLES IN SCHEMA allotter TO other", "bare");
  EXPECT_TRUE(PostgresDatabase::Open(others).ok());
  cluster().Sql("DROP DATABASE bare WITH (FORCE)");
  cluster().Sql("DROP ROLE other");
}

TEST_F(PostgresStoreTest, TablesOfOthersAreLeftAlone) {
  cluster().Sql("DROP DATABASE IF EXISTS taken");
  cluster().Sql("CREATE DATABASE taken");
  cluster().Sql("CREATE SCHEMA allotter; CREATE TABLE allotter.jobs (mine int)", "taken");
  EXPECT_EQ(WhyNot(PostgresHarness::Options(cluster().Url("allot", "taken"))).code, Code::kStoreForeign);
  EXPECT_EQ(cluster().Sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'allotter'", "taken"), "1");
}

TEST_F(PostgresStoreTest, WithoutASynchronousStandbyItWantsToBeToldThatThisIsMeant) {
  PostgresOptions options = PostgresHarness::Options(cluster().Url());
  std::vector<std::string> warnings;
  options.warn = [&](const std::string& what) { warnings.push_back(what); };
  EXPECT_TRUE(PostgresDatabase::Open(options).ok());
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("no synchronous standby")));
  options.allow_no_standby = false;
  EXPECT_EQ(WhyNot(options).code, Code::kStoreFailed);
  EXPECT_THAT(WhyNot(options).hint, HasSubstr("--allow-no-standby"));
}

TEST_F(PostgresStoreTest, ADatabaseThatDoesNotWaitForItsDiskIsRefused) {
  const TestCluster careless({"fsync=off"});
  const Error error = WhyNot(PostgresHarness::Options(careless.Url()));
  EXPECT_EQ(error.code, Code::kStoreFailed);
  EXPECT_THAT(error.message, HasSubstr("fsync is off"));
}

TEST_F(PostgresStoreTest, AnUnreachableDatabaseIsUnavailableAndItsPasswordNotSpokenOf) {
  PostgresOptions options = PostgresHarness::Options("postgres://somebody:tell-nobody@127.0.0.1:1/queues");
  const Error error = WhyNot(options);
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_THAT(error.message + error.hint, Not(HasSubstr("tell-nobody")));
}

TEST(PostgresUrl, SecretsAreLeftOut) {
  struct Row {
    const char *url, *want;
  };
  constexpr Row kRows[] = {
      {"postgres://u:pw@h/db", "postgres://u:***@h/db"},
      {"postgres://u@h/db", "postgres://u@h/db"},
      {"postgres:///db?host=/run", "postgres:///db?host=/run"},
      {"postgres://u:p@ss:w/rd@h:5432,i:5433/db", "postgres://u:***@h:5432,i:5433/db"},
      {"postgres://h/db?user=u&password=pw&sslmode=require", "postgres://h/db?user=u&password=***&sslmode=require"},
      {"postgres://h/db?sslpassword=pw", "postgres://h/db?sslpassword=***"},
      {"host=h password=pw dbname=db", "host=h password=*** dbname=db"},
      {"host=h password = 'p w\\' x' dbname=db", "host=h password = *** dbname=db"},
      {"", ""},
  };
  for (const Row& row : kRows) EXPECT_EQ(postgres::RedactedUrl(row.url), row.want);
}

}  // namespace
}  // namespace allot
