// SPDX-License-Identifier: Apache-2.0
#include "store/journal/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/rng.h"
#include "store/journal/young.h"
#include "store/sqlite/testing_powerloss.h"
#include "store/store_harness.h"

namespace allot::journal {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

constexpr std::uint64_t kSalt = 0x5A17;

class JournalTest : public ::testing::TestWithParam<Writing> {
 protected:
  Journal Make(const Disk& disk) {
    return Journal(file_, disk, [this](std::uint32_t count) -> Result<void> {
      counts_.push_back(count);
      return {};
    });
  }
  // The bodies that a start would find behind `applied`.
  std::vector<std::string> Found(std::uint64_t applied, const Disk& disk = {}) {
    const auto scan = ScanJournal(file_, disk);
    EXPECT_TRUE(scan.ok());
    std::vector<std::string> bodies;
    for (const Scan::Found& found : scan->After(kSalt, applied)) {
      std::string bytes(found.body_bytes, '\0');
      auto segment = BlockFile::Open(SegmentName(file_, found.segment), disk);
      EXPECT_TRUE((*segment)->Read(found.offset + kHeaderBytes, bytes).ok());
      bodies.push_back(bytes);
    }
    return bodies;
  }

  TempDirectory directory_;
  const std::string file_ = directory_ / "q.db";
  std::vector<std::uint32_t> counts_;
};

INSTANTIATE_TEST_SUITE_P(Ways, JournalTest, ::testing::Values(Writing::kDirect, Writing::kSynced));

TEST_P(JournalTest, GroupsOfAnySizeAreFoundAgainInOrder) {
  Journal journal = Make({GetParam(), "unix"});
  ASSERT_TRUE(journal.Begin(kSalt, 0).ok());
  std::vector<std::string> want;
  Rng rng(5);
  for (const std::size_t bytes : {0, 1, 4031, 4032, 4033, 100'000, 400'000}) {
    std::string body(bytes, '\0');
    for (char& c : body) c = static_cast<char>(rng.Below(256));
    ASSERT_TRUE(journal.Append(body, 1).ok());
    want.push_back(std::move(body));
  }
  EXPECT_EQ(Found(0), want);
  EXPECT_EQ(Found(5).size(), 2u);
  EXPECT_STREQ(journal.counts().mode, GetParam() == Writing::kDirect ? "direct" : "synced");
  EXPECT_EQ(journal.counts().segments, counts_.back());
  EXPECT_GE(journal.counts().segments, 2u);
}

TEST_P(JournalTest, NothingIsWrittenOverBeforeItIsReleased) {
  Journal journal = Make({GetParam(), "unix"});
  ASSERT_TRUE(journal.Begin(kSalt, 0).ok());
  const std::string body(4000, 'b');
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(journal.Append(body, 1).ok());
  EXPECT_EQ(Found(0).size(), 200u);
  const std::uint64_t bytes = journal.bytes();
  // Half of it may go: so much fits again, and no more.
  journal.Release(100);
  while (journal.HasRoom(body.size())) ASSERT_TRUE(journal.Append(body, 1).ok());
  EXPECT_EQ(journal.bytes(), bytes);
  EXPECT_EQ(Found(100).size(), journal.last() - 100);
  EXPECT_GE(journal.last(), 250u);
}

TEST_P(JournalTest, AnIdleOneIsSmall) {
  Journal journal = Make({GetParam(), "unix"});
  ASSERT_TRUE(journal.Begin(kSalt, 7).ok());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(journal.Append(std::string(20'000, 'b'), 1).ok());
  EXPECT_TRUE(journal.is_large());
  journal.Release(journal.last());
  ASSERT_TRUE(journal.Shrink().ok());
  EXPECT_LE(journal.bytes(), 2 * kSmallSegmentBytes);
  EXPECT_EQ(counts_.back(), journal.counts().segments);
  EXPECT_FALSE(fs::exists(SegmentName(file_, counts_.back() + 1)));
  ASSERT_TRUE(journal.Append("next", 1).ok());
  EXPECT_EQ(journal.last(), 108u);
  EXPECT_THAT(Found(107), ElementsAre("next"));
}

TEST(Journal, ADiskWithoutSpaceForASegmentLeavesNothingAndIsTriedAgain) {
  PowerLoss::Register();
  PowerLoss::SetChance(0, 1);
  TempDirectory directory;
  const Disk disk{Writing::kAuto, kPowerLossVfs};
  Journal journal(directory / "q.db", disk, [](std::uint32_t) -> Result<void> { return {}; });
  ASSERT_TRUE(journal.Begin(kSalt, 0).ok());
  PowerLoss::SetDiskFull(true);
  for (int i = 0; i < 2; ++i) {
    const Result<void> done = journal.Append("body", 1);
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, Code::kDiskFull);
    EXPECT_EQ(journal.last(), 0u);
  }
  PowerLoss::SetDiskFull(false);
  EXPECT_TRUE(journal.Append("body", 1).ok());
  PowerLoss::SetDiskFull(true);
  // What is there already needs no space.
  while (journal.HasRoom(4000)) ASSERT_TRUE(journal.Append(std::string(4000, 'b'), 1).ok());
  EXPECT_EQ(journal.Append(std::string(4000, 'b'), 1).error().code, Code::kDiskFull);
  PowerLoss::SetDiskFull(false);
}

TEST(Young, WhatIsTakenOutIsGoneAndTheRestStays) {
  Young young;
  const auto add = [&](std::uint64_t sequence, const Batch& batch) {
    auto group = std::make_shared<Group>();
    group->sequence = sequence;
    EncodeBatches({&batch, 1}, group->body);
    ASSERT_TRUE(DecodeBody(group->body, group->view));
    young.Add(std::move(group));
  };
  for (std::uint64_t n = 1; n <= 3; ++n) {
    Batch batch;
    batch.position = n;
    batch.events = "e";
    batch.payloads.push_back({JobId{7}, static_cast<std::int64_t>(n) * 10, {"a" + std::to_string(n), "b"}});
    batch.outcomes.push_back({JobId{7}, 5, OutcomeKind::kResult, 1, "r" + std::to_string(n)});
    if (n == 2) batch.removals.push_back({JobId{9}, JobId{9}});
    add(n, batch);
  }
  const Store::OutcomeQuery query{.job = JobId{7}, .end = 10};
  EXPECT_EQ(young.FindPayload(JobId{7}, 10)->text.text(), "a1");
  EXPECT_EQ(young.FindPayload(JobId{7}, 31)->text.text(), "b");
  EXPECT_FALSE(young.FindPayload(JobId{7}, 12));
  EXPECT_FALSE(young.FindPayload(JobId{7}, kCommonPayload));
  EXPECT_FALSE(young.FindPayload(JobId{8}, 10));
  EXPECT_EQ(young.FindOutcomes(query).outcomes.size(), 3u);
  EXPECT_EQ(young.event_rows(), 3u);
  EXPECT_EQ(young.removals(), 1u);
  young.Remove(2);
  EXPECT_FALSE(young.FindPayload(JobId{7}, 10));
  EXPECT_EQ(young.FindPayload(JobId{7}, 30)->text.text(), "a3");
  const Young::FoundOutcomes found = young.FindOutcomes(query);
  ASSERT_EQ(found.outcomes.size(), 1u);
  EXPECT_EQ(found.outcomes[0].outcome.text, "r3");
  EXPECT_EQ(young.removals(), 0u);
  young.Remove(3);
  EXPECT_TRUE(young.empty());
  EXPECT_EQ(found.outcomes[0].outcome.text, "r3") << "who reads keeps it";
}

TEST(Group, OnlyAWholeBodyIsTaken) {
  Batch batch;
  batch.position = 3;
  batch.events = "events";
  batch.payloads.push_back({JobId{1}, kCommonPayload, {"p"}});
  batch.outcomes.push_back({JobId{1}, 2, OutcomeKind::kError, 3, "text"});
  batch.records.push_back({JobId{1}, 4, "record"});
  batch.removals.push_back({JobId{5}, JobId{6}});
  batch.floor = 2;
  std::string body;
  EncodeBatches({&batch, 1}, body);
  GroupView view;
  ASSERT_TRUE(DecodeBody(body, view));
  ASSERT_EQ(view.batches.size(), 1u);
  EXPECT_EQ(view.batches[0].payloads[0].first, kCommonPayload);
  EXPECT_EQ(view.batches[0].outcomes[0].attempt, 3u);
  EXPECT_EQ(view.batches[0].outcomes[0].kind, OutcomeKind::kError);
  EXPECT_EQ(view.batches[0].removals[0].payload_set.value, 6u);
  EXPECT_EQ(view.batches[0].floor, 2u);
  for (std::size_t n = 0; n < body.size(); ++n) {
    GroupView cut;
    EXPECT_FALSE(DecodeBody(std::string_view(body).substr(0, n), cut)) << n;
  }
  GroupView longer;
  EXPECT_FALSE(DecodeBody(body + "x", longer));
}

}  // namespace
}  // namespace allot::journal
