// SPDX-License-Identifier: Apache-2.0
// The files stay in proportion to what is alive, however long and without a pause the load goes on. Counted, not timed.
#include <gtest/gtest.h>

#include <deque>

#include "store/sqlite/check.h"
#include "store/sqlite/sql.h"
#include "store/sqlite/sqlite_store.h"
#include "store/store_harness.h"

namespace allot {
namespace {

constexpr std::uint64_t kSlack = 32 << 20;

// A queue whose jobs end and go at once, committed without a pause, as the committer does it.
class Load {
 public:
  explicit Load(Store& store) : store_(store) {}

  // `jobs` new ones of `bytes` of payload and as many of result; the oldest go until `keep` are left.
  void Commit(std::uint64_t jobs, std::size_t bytes, std::size_t keep) {
    Batch batch;
    batch.position = ++position_;
    batch.events.assign(100 * jobs, 'e');
    batch.payloads_spoken_for = true;
    for (std::uint64_t i = 0; i < jobs; ++i) {
      const JobId job{++last_job_};
      batch.payloads.push_back({job, 0, {std::string(bytes, 'p')}});
      batch.outcomes.push_back({job, 0, OutcomeKind::kResult, 1, std::string(bytes, 'r')});
      batch.records.push_back({job, kJobPage, std::string(100, 'j')});
      alive_.push_back({job, 2 * bytes + 100});
      live_bytes_ += alive_.back().bytes;
    }
    while (alive_.size() > keep) {
      batch.removals.push_back({alive_.front().job, alive_.front().job});
      live_bytes_ -= alive_.front().bytes;
      alive_.pop_front();
    }
    if (position_ > 20) batch.floor = position_ - 20;
    const Result<void> done = store_.Commit({&batch, 1});
    ASSERT_TRUE(done.ok()) << done.error().message;
    // Under load the committer tidies this often.
    if (position_ % 64 == 0) {
      ASSERT_TRUE(store_.Tidy().ok());
    }
    most_ = std::max(most_, Bytes());
  }
  std::uint64_t Bytes() { return store_.ReadUsage()->file_bytes; }
  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t jobs() const { return last_job_; }
  std::uint64_t TakeMost() { return std::exchange(most_, 0); }

 private:
  struct Alive {
    JobId job;
    std::uint64_t bytes;
  };
  Store& store_;
  Position position_ = 0;
  std::uint64_t last_job_ = 0;
  std::deque<Alive> alive_;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t most_ = 0;
};

class GrowthTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SqliteOptions options;
    options.file = directory_ / "queue.db";
    auto store = SqliteStore::Open(options);
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = std::move(*store);
    Store::Loader loader;
    loader.on_record = [](const Record&) -> Result<void> { return {}; };
    loader.on_events = [](Position, std::string_view) -> Result<void> { return {}; };
    ASSERT_TRUE(store_->Load(loader, [](JobId) { return true; }).ok());
  }

  TempDirectory directory_;
  std::unique_ptr<Store> store_;
};

TEST_F(GrowthTest, JobsThatGoAtOnceLeaveNothingBehindUnderSteadyLoad) {
  Load load(*store_);
  while (load.jobs() < 20'000) load.Commit(20, 2000, 60);
  EXPECT_LE(load.TakeMost(), 2 * load.live_bytes() + kSlack);
  EXPECT_LT(store_->ReadUsage()->garbage_jobs, 100u);
}

// What is written and removed with one commit leaves nothing either.
TEST_F(GrowthTest, JobsThatComeAndGoInOneCommitLeaveNoRow) {
  Load load(*store_);
  for (int i = 0; i < 20; ++i) load.Commit(20, 2000, 5);
  load.Commit(0, 0, 0);
  store_.reset();
  const auto report = sqlite::CheckQueueFile(directory_ / "queue.db");
  ASSERT_TRUE(report.ok()) << report.error().message;
  auto db = sqlite::Database::Open(directory_ / "queue.db", SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, "");
  ASSERT_TRUE(db.ok());
  for (const char* table : {"outcomes", "outcome_index", "payloads", "payload_heads", "garbage"}) {
    EXPECT_EQ(*db->QueryInt(("SELECT count(*) FROM " + std::string(table)).c_str()), 0) << table;
  }
}

TEST_F(GrowthTest, WhatAPeakLeftIsGivenBackUnderTheLoadThatFollows) {
  Load load(*store_);
  for (int i = 0; i < 100; ++i) load.Commit(10, 40'000, 1000);
  ASSERT_GT(load.Bytes(), 80'000'000u);
  // The peak goes, few jobs at a time, while others come and go.
  for (std::size_t keep = 1000; keep > 10; keep -= 10) load.Commit(2, 500, keep);
  for (int i = 0; i < 300; ++i) load.Commit(2, 500, 10);
  EXPECT_LE(load.Bytes(), 2 * load.live_bytes() + kSlack);
}

TEST_F(GrowthTest, LargeJobsThatGoInPiecesDoNotPileUp) {
  Load load(*store_);
  // Each has far more than goes in one piece.
  Position position = 0;
  std::uint64_t most = 0;
  for (std::uint64_t job = 1; job <= 60; ++job) {
    Batch batch;
    batch.position = ++position;
    batch.events = "e";
    for (int segment = 0; segment < 40; ++segment) {
      batch.payloads.push_back({JobId{job}, segment * 10, std::vector<std::string>(10, std::string(2500, 'p'))});
    }
    if (job > 2) batch.removals.push_back({JobId{job - 2}, JobId{job - 2}});
    ASSERT_TRUE(store_->Commit({&batch, 1}).ok());
    for (int i = 0; i < 10; ++i) {
      Batch small;
      small.position = ++position;
      small.events = "e";
      ASSERT_TRUE(store_->Commit({&small, 1}).ok());
    }
    most = std::max(most, load.Bytes());
  }
  EXPECT_LE(most, 2 * std::uint64_t{3 * 1'000'000} + kSlack);
}

}  // namespace
}  // namespace allot
