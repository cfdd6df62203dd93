// SPDX-License-Identifier: Apache-2.0
// What was answered and is in the journal alone is there at the next start, or it refuses and says which file is to
// blame; whichever bit is damaged.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "base/rng.h"
#include "store/journal/journal.h"
#include "store/journal/scan.h"
#include "store/sqlite/mark.h"
#include "store/sqlite/testing_damage.h"

namespace allot {
namespace {

using journal::kBlockBytes;
using journal::Scan;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JournalDamageTest : public DamageTest {
 protected:
  static Scan ScanOf(const std::string& file) {
    auto scan = journal::ScanJournal(file, {});
    EXPECT_TRUE(scan.ok());
    return *scan;
  }
  static std::uint64_t SaltOf(const std::string& file) { return sqlite::Mark::Read(file)->content->store; }
  // What a start would say.
  static std::optional<std::string> GapOf(const std::string& file, const Scan& scan) {
    const auto mark = sqlite::Mark::Read(file)->content;
    return journal::FindGap(scan, mark->store, 0, mark->sequence, mark->segments);
  }
};

TEST_F(JournalDamageTest, TheLogOfSqliteIsNotNeededAsLongAsTheJournalHasWhatIsInIt) {
  const std::string file = directory_ / "queue.db";
  Opened opened = Open(file);
  Commit(*opened.store, 20);
  while (*opened.store->Tidy()) {
  }
  Commit(*opened.store, 5);
  const std::string killed = Killed(file);
  for (const bool there : {true, false}) {
    const std::string copy = Killed(killed);
    if (there) WriteFile(copy + "-wal", "scribbled over");
    if (!there) fs::remove(copy + "-wal");
    ExpectOpens(copy, 25);
  }
}

TEST_F(JournalDamageTest, ALogThatHasWhatTheJournalGaveUpIsNeeded) {
  const std::string file = directory_ / "queue.db";
  Opened opened = Open(file);
  // Round and round, so that the first are written over.
  for (int i = 0; i < 40; ++i) {
    Commit(*opened.store, 10);
    while (*opened.store->Tidy()) {
    }
  }
  const std::string killed = Killed(file);
  ASSERT_GT(ScanOf(killed).groups.front().sequence, 2u);
  ExpectOpens(Killed(killed), 400);
  fs::remove(killed + "-wal");
  ExpectRefused(killed, "-wal, was cut, damaged or replaced by an older one", 0);
}

TEST_F(JournalDamageTest, AMissingSegmentIsRefused) {
  const std::string file = KilledAfter(100);
  const Scan scan = ScanOf(file);
  ASSERT_GE(scan.files.size(), 2u);
  for (std::uint32_t n = 1; n <= scan.files.size(); ++n) {
    const std::string copy = Killed(file);
    const auto in_it = static_cast<std::uint64_t>(std::count_if(
        scan.groups.begin(), scan.groups.end(), [&](const Scan::Found& group) { return group.segment < n; }));
    fs::remove(journal::SegmentName(copy, n));
    ExpectRefused(copy, ".journal-" + std::to_string(n) + " is missing", in_it);
  }
}

TEST_F(JournalDamageTest, ASegmentThatWasCutIsRefused) {
  const std::string file = KilledAfter(20);
  const std::string segment = ".journal-1";
  const std::uint64_t end = ScanOf(file).groups.back().end();
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{20}, std::uint64_t{4096}, end / 2, end - 4097, end,
                                 end + 4096, std::uint64_t{journal::kSmallSegmentBytes - 1}}) {
    SCOPED_TRACE(at);
    const std::string cut = Killed(file);
    fs::resize_file(cut + segment, at);
    const std::string before = AllOf(cut);
    const Opened refused = Open(cut);
    EXPECT_EQ(refused.error.code, Code::kStoreCorrupt);
    EXPECT_THAT(refused.error.message, HasSubstr(cut + segment));
    EXPECT_TRUE(AllOf(cut) == before);
  }
  fs::resize_file(file + segment, 10 * 4096);
  ExpectRefused(file, ".journal-1 was cut at byte 40960", 10);
  EXPECT_TRUE(fs::exists(file + segment + ".lost")) << "what is left of it is kept";
}

class JournalDamageInBothModesTest : public JournalDamageTest,
                                     public ::testing::WithParamInterface<journal::Writing> {};

INSTANTIATE_TEST_SUITE_P(Journal, JournalDamageInBothModesTest,
                         ::testing::Values(journal::Writing::kDirect, journal::Writing::kSynced), [](const auto& mode) {
                           return std::string(mode.param == journal::Writing::kDirect ? "Direct" : "Synced");
                         });

// The scan alone, since a whole start takes its time; some of the bytes with a start as well.
TEST_P(JournalDamageInBothModesTest, ABitInAnyByteOfTheLastBlocksDoesNotMatterOrIsRefused) {
  writing_ = GetParam();
  const std::string file = directory_ / "queue.db";
  Opened opened = Open(file);
  if (!opened.store && writing_ == journal::Writing::kDirect) GTEST_SKIP() << opened.error.message;
  Commit(*opened.store, 5);
  Batch large;
  large.position = ++committed_;
  large.events = std::string(9000, 'e');
  large.records.push_back({JobId{committed_}, kJobPage, "record of a job"});
  ASSERT_TRUE(opened.store->Commit({&large, 1}).ok());
  Commit(*opened.store, 2);
  EXPECT_STREQ(opened.store->ReadUsage()->journal_writing, writing_ == journal::Writing::kDirect ? "direct" : "synced");
  const std::string killed = Killed(file);
  const std::string segment = journal::SegmentName(killed, 1);
  const Scan whole = ScanOf(killed);
  const std::vector<Scan::Found> groups = whole.After(SaltOf(killed), 0);
  ASSERT_EQ(groups.size(), 8u);
  ASSERT_EQ(GapOf(killed, whole), std::nullopt);
  const std::string contents = Contents(segment);
  // With a block of nothing behind the last one.
  const std::uint64_t begin = groups[4].offset;
  const std::uint64_t end = groups.back().end() + kBlockBytes;
  std::uint64_t refused = 0;
  Rng rng(17);
  std::string damaged = contents;
  const int fd = open(segment.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  const auto write = [&](std::uint64_t at) { ASSERT_EQ(pwrite(fd, &damaged[at], 1, static_cast<off_t>(at)), 1); };
  const auto in_a_group = [&](std::uint64_t at) {
    return std::any_of(groups.begin(), groups.end(), [&](const Scan::Found& group) {
      return at >= group.offset && at < group.offset + journal::kHeaderBytes + group.body_bytes;
    });
  };
  for (std::uint64_t at = begin; at < end; ++at) {
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << rng.Below(8)));
    write(at);
    const Scan scan = ScanOf(killed);
    const std::optional<std::string> gap = GapOf(killed, scan);
    ASSERT_EQ(gap.has_value(), in_a_group(at)) << "at byte " << at;
    if (gap) {
      ++refused;
      ASSERT_THAT(*gap, HasSubstr(segment + " is damaged at byte")) << "at byte " << at;
    } else {
      ASSERT_EQ(scan.After(SaltOf(killed), 0).size(), groups.size()) << "at byte " << at;
    }
    if (at % 499 == 0) {
      const std::string copy = Killed(killed);
      const Opened started = Open(copy);
      EXPECT_EQ(started.store == nullptr, gap.has_value()) << "at byte " << at;
      EXPECT_EQ(started.records, gap ? 0u : 8u);
      EXPECT_EQ(started.error.hint.find("--accept-loss") != std::string::npos, gap.has_value());
    }
    damaged[at] = contents[at];
    write(at);
  }
  close(fd);
  EXPECT_GT(refused, 9000u);
  // In the middle, and it goes on without the rest.
  damaged[groups[5].offset + 5000] ^= 1;
  WriteFile(segment, damaged);
  ExpectRefused(killed, ".journal-1 is damaged at byte " + std::to_string(groups[5].offset), 5);
}

TEST_F(JournalDamageTest, ATornCommitBehindTheLastAnswerDoesNotMatter) {
  const std::string file = KilledAfter(10);
  const std::string segment = ".journal-1";
  const Scan scan = ScanOf(file);
  const std::uint64_t end = scan.groups.back().end();
  const std::string contents = Contents(file + segment);
  journal::GroupHeader header;
  header.salt = SaltOf(file);
  header.sequence = 11;
  header.position = 11;
  header.file_blocks = static_cast<std::uint32_t>(contents.size() / kBlockBytes);
  header.begins_block = static_cast<std::uint32_t>(end / kBlockBytes);
  std::string body;
  Batch batch;
  batch.position = 11;
  batch.events = std::string(9000, 'e');
  batch.records.push_back({JobId{11}, kJobPage, "r"});
  journal::EncodeBatches({&batch, 1}, body);
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  std::string group(journal::RoundUpToBlocks(journal::kHeaderBytes + body.size()), '\0');
  journal::PutGroup(header, body, group.data());
  ASSERT_EQ(group.size(), 3 * kBlockBytes);
  const auto with = [&](const std::string& tail) {
    const std::string copy = Killed(file);
    WriteFile(copy + segment, contents.substr(0, end) + tail + contents.substr(end + tail.size()));
    return copy;
  };
  // Some of its blocks or sectors reached the disk.
  ExpectOpens(with(group.substr(0, kBlockBytes)), 10);
  ExpectOpens(with(group.substr(0, kBlockBytes) + std::string(kBlockBytes, '\0') + group.substr(2 * kBlockBytes)), 10);
  ExpectOpens(with(std::string(kBlockBytes, 'x') + group.substr(kBlockBytes)), 10);
  ExpectOpens(with(group.substr(0, 512)), 10);
  // All of it, and nobody was told: it is there.
  ExpectOpens(with(group), 11);
}

TEST_F(JournalDamageTest, WhatIsOfAnotherTimeOrQueueIsNotTakenForItsOwn) {
  const std::string other = KilledAfter(12);
  const std::string file = KilledAfter(8);
  const std::string segment = ".journal-1";
  // The other queue's groups 9 to 12, whole, behind the own last one.
  const std::string own = Contents(file + segment);
  const std::string foreign = Contents(other + segment);
  const std::uint64_t end = ScanOf(file).groups.back().end();
  ASSERT_EQ(end, 8 * kBlockBytes);
  const std::string copy = Killed(file);
  WriteFile(copy + segment, own.substr(0, end) + foreign.substr(end));
  ExpectOpens(copy, 8);
  WriteFile(file + segment, foreign);
  ExpectRefused(file, ".journal-1 is damaged at byte 0", 0);
}

TEST_F(JournalDamageTest, AnOlderSegmentInPlaceOfTheLastIsRefused) {
  const std::string file = directory_ / "queue.db";
  Opened opened = Open(file);
  Commit(*opened.store, 10);
  const std::string old = Contents(file + ".journal-1");
  Commit(*opened.store, 10);
  const std::string killed = Killed(file);
  WriteFile(killed + ".journal-1", old);
  ExpectRefused(killed, ".journal-1 is damaged at byte 40960: commits 11 to 20 are", 10);
}

TEST_F(JournalDamageTest, WhatWasDroppedWithALossNeverComesBack) {
  const std::string file = KilledAfter(20);
  Flip(file + ".journal-1", 10 * kBlockBytes + 70);
  {
    const Opened accepted = Open(file, true);
    ASSERT_TRUE(accepted.store != nullptr);
    EXPECT_EQ(accepted.records, 10u);
    committed_ = accepted.store->LastPosition();
    EXPECT_EQ(committed_, 10u);
    // Commits of the same numbers, and a kill with groups 12 and on of before whole in their places, had they stayed.
    Commit(*accepted.store, 1);
    const std::string killed = Killed(file);
    ExpectOpens(killed, 11);
  }
}

}  // namespace
}  // namespace allot
