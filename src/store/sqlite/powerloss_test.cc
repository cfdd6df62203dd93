// SPDX-License-Identifier: Apache-2.0
// Every acknowledged commit survives a power cut, whole; and no commit is there in part.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/rng.h"
#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/testing_powerloss.h"
#include "store/store_harness.h"

namespace allot {
namespace {

constexpr std::uint64_t kKept = 20;  // commits back, after which a job is removed and its event folded

std::string TextOf(std::uint64_t n) {
  return std::to_string(n) + std::string(static_cast<std::size_t>(Rng(n).Below(n % 7 == 0 ? 9000 : 50)), 'x');
}

// Commit n touches every table: its event, a record that is always overwritten, a job, its payload and outcome; and it
// removes an old one.
Batch CommitNumber(std::uint64_t n) {
  Batch batch;
  batch.position = n;
  batch.events = TextOf(n);
  batch.records.push_back({JobId{1'000'000}, kJobPage, std::to_string(n)});
  batch.records.push_back({JobId{n}, kJobPage, TextOf(n)});
  batch.records.push_back({JobId{n}, 3, TextOf(n)});
  batch.payloads.push_back({JobId{n}, 0, {TextOf(n)}});
  batch.outcomes.push_back({JobId{n}, 0, OutcomeKind::kResult, 1, TextOf(n)});
  if (n > kKept) {
    batch.removals.push_back({JobId{n - kKept}, JobId{n - kKept}});
    batch.floor = n - kKept;
  }
  return batch;
}

class PowerLossRun {
 public:
  explicit PowerLossRun(std::uint64_t seed) : rng_(seed) { PowerLoss::Register(); }

  // Opens, checks that all is there, and commits until the power goes.
  void Life() {
    PowerLoss::SetChance(rng_.Below(3) == 0 ? 0 : rng_.Unit(), rng_.Next());
    PowerLoss::CutAfter(1 + rng_.Below(rng_.Below(4) == 0 ? 20 : 800));
    SqliteOptions options;
    options.file = directory_ / "queue.db";
    options.vfs = kPowerLossVfs;
    options.log_pages = rng_.Below(2) == 0 ? 2048 : 24;  // so that it often begins anew
    {
      auto store = SqliteStore::Open(options);
      if (store) {
        Use(**store);
      } else {
        EXPECT_TRUE(PowerLoss::IsCut()) << store.error().message;
      }
    }
    PowerLoss::Restore();
  }
  std::uint64_t acknowledged() const { return acknowledged_; }

 private:
  void Use(Store& store) {
    if (!Check(store)) return;
    const std::uint64_t commits = rng_.Below(150);
    for (std::uint64_t i = 0; i < commits; ++i) {
      std::vector<Batch> batches;
      const std::uint64_t first = written_ + 1;
      for (std::uint64_t k = rng_.Below(3) + 1; k > 0; --k) batches.push_back(CommitNumber(++written_));
      allowed_.insert(written_);
      const Result<void> done = store.Commit(batches);
      if (!done) {
        EXPECT_TRUE(PowerLoss::IsCut()) << done.error().message;
        EXPECT_NE(done.error().code, Code::kDiskFull);
        return;
      }
      acknowledged_ = written_;
      allowed_ = {written_};
      EXPECT_GE(acknowledged_, first);
      if (rng_.Below(2) == 0) {
        const Result<bool> tidied = store.Tidy();
        if (!tidied) {
          EXPECT_TRUE(PowerLoss::IsCut()) << tidied.error().message;
          return;
        }
      }
    }
    // Sometimes the store is closed in peace before the power goes.
  }

  // False if the power went meanwhile.
  bool Check(Store& store) {
    std::set<std::uint64_t> jobs;
    std::set<std::uint64_t> pages;
    std::uint64_t newest = 0;
    std::vector<std::uint64_t> events;
    Store::Loader loader;
    loader.on_record = [&](const Record& record) -> Result<void> {
      if (record.job.value == 1'000'000) {
        newest = std::stoull(record.blob);
        return {};
      }
      EXPECT_EQ(record.blob, TextOf(record.job.value));
      (record.page == kJobPage ? jobs : pages).insert(record.job.value);
      return {};
    };
    loader.on_events = [&](Position position, std::string_view text) -> Result<void> {
      EXPECT_EQ(text, TextOf(position));
      events.push_back(position);
      return {};
    };
    const Result<void> loaded = store.Load(loader, [](JobId) { return true; });
    if (!loaded) {
      EXPECT_TRUE(PowerLoss::IsCut()) << loaded.error().message;
      return false;
    }
    EXPECT_TRUE(allowed_.contains(newest)) << newest << " is there, " << acknowledged_ << " was acknowledged";
    std::vector<std::uint64_t> want;
    for (std::uint64_t n = newest > kKept ? newest - kKept + 1 : 1; n <= newest; ++n) want.push_back(n);
    EXPECT_EQ(events, want);
    EXPECT_EQ(jobs, std::set<std::uint64_t>(want.begin(), want.end()));
    EXPECT_EQ(pages, jobs);
    for (const std::uint64_t n : want) {
      const auto payload = store.ReadPayload(JobId{n}, 0);
      const auto outcomes = store.ReadOutcomes({.job = JobId{n}, .end = 1});
      if (!payload || !outcomes) {
        EXPECT_TRUE(PowerLoss::IsCut());
        return false;
      }
      EXPECT_EQ(payload->value_or(""), TextOf(n));
      EXPECT_EQ(outcomes->size(), 1u);
      EXPECT_EQ(outcomes->empty() ? "" : outcomes->front().text, TextOf(n));
    }
    // One that was in flight and is there is there for good.
    acknowledged_ = written_ = newest;
    allowed_ = {newest};
    return true;
  }

  Rng rng_;
  TempDirectory directory_;
  std::uint64_t written_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::set<std::uint64_t> allowed_ = {0};  // which commit may be the last one there
};

TEST(PowerLoss, EveryAcknowledgedCommitSurvivesWholeAndNoneInPart) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::uint64_t commits = 0;
  for (std::uint64_t run = 0; run < 20; ++run) {
    PowerLossRun power(seed + run);
    for (int life = 0; life < 20 && !::testing::Test::HasFailure(); ++life) power.Life();
    commits += power.acknowledged();
  }
  EXPECT_GT(commits, 1000u) << "the power went before anything was done";
}

TEST(PowerLoss, WhatWasNotSyncedIsGone) {
  TempDirectory directory;
  PowerLoss::Register();
  PowerLoss::SetChance(0, 1);
  SqliteOptions options;
  options.file = directory / "queue.db";
  options.vfs = kPowerLossVfs;
  const auto count = [&](bool commit) -> std::size_t {
    auto store = SqliteStore::Open(options);
    EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
    std::size_t records = 0;
    Store::Loader loader;
    loader.on_record = [&](const Record&) -> Result<void> {
      ++records;
      return {};
    };
    loader.on_events = [](Position, std::string_view) -> Result<void> { return {}; };
    EXPECT_TRUE((*store)->Load(loader, [](JobId) { return true; }).ok());
    if (!commit) return records;
    Batch batch;
    batch.records.push_back({JobId{1}, kJobPage, "first"});
    EXPECT_TRUE((*store)->Commit({&batch, 1}).ok());
    PowerLoss::CutAfter(1);
    batch.records[0].job = JobId{2};
    EXPECT_FALSE((*store)->Commit({&batch, 1}).ok());
    EXPECT_TRUE(PowerLoss::IsCut());
    return records;
  };
  EXPECT_EQ(count(true), 0u);
  PowerLoss::Restore();
  EXPECT_EQ(count(false), 1u);
}

}  // namespace
}  // namespace allot
