// SPDX-License-Identifier: Apache-2.0
#include "base/ids.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace allot {
namespace {

constexpr std::int64_t kStart = 1'800'000'000'000;

TEST(ParseId, TakesOnlyPlainNumbersFromOneTo63Bits) {
  EXPECT_EQ(ParseId("1"), 1u);
  EXPECT_EQ(ParseId("9223372036854775807"), 9223372036854775807u);
  for (const char* text : {"", "0", "01", "-1", "+1", " 1", "1 ", "1x", "0x1", "9223372036854775808",
                           "18446744073709551616", "99999999999999999999", "1.0", "1e3"}) {
    EXPECT_FALSE(ParseId(text)) << text;
  }
}

TEST(LeaseId, TextReadsBack) {
  EXPECT_TRUE(rc::check([](std::uint64_t serial, std::uint64_t mac) {
    const LeaseId lease{serial, mac};
    RC_ASSERT(ParseLeaseId(ToText(lease)) == lease);
  }));
  EXPECT_EQ(ToText(LeaseId{UINT64_MAX, UINT64_MAX}), "ffffffffffffffff-ffffffffffffffff");
  EXPECT_EQ(ToText(LeaseId{1, 0xab}), "1-ab");
}

TEST(LeaseId, OtherTextIsRefused) {
  for (const char* text :
       {"", "-", "1", "1-", "-1", "g-1", "1-g", "1-2-3", "0x1-2", " 1-2", "1-2 ", "11111111111111111-1", "--1"}) {
    EXPECT_FALSE(ParseLeaseId(text)) << text;
  }
}

TEST(IdAllocator, IdsIncreaseAlsoWhenTheClockGoesBack) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint16_t>& steps) {
    IdAllocator ids(*rc::gen::inRange<std::uint32_t>(0, 1024));
    std::uint64_t last = 0;
    for (const std::uint16_t step : steps) {
      const std::uint64_t id = ids.Next(FromMillis(kStart + step));
      RC_ASSERT(id > last);
      RC_ASSERT((id >> 63) == 0u);
      last = id;
    }
  }));
}

TEST(IdAllocator, AUsedUpMillisecondBorrowsTheNext) {
  IdAllocator ids(5);
  std::uint64_t last = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t id = ids.Next(FromMillis(kStart));
    ASSERT_GT(id, last);
    ASSERT_EQ((id >> 12) & 1023, 5u);  // the node stays its own
    last = id;
  }
  EXPECT_EQ(ToMillis(SnowflakeTime(last)), kStart + 2);
}

TEST(IdAllocator, GoesOnAboveWhatIsStored) {
  IdAllocator ids;
  const std::uint64_t stored = ids.Next(FromMillis(kStart + 1'000'000));
  IdAllocator later;
  later.NeverBelow(stored);
  later.NeverBelow(1);
  EXPECT_GT(later.Next(FromMillis(kStart)), stored);
}

TEST(IdAllocator, ThreadsNeverGetTheSame) {
  IdAllocator ids;
  std::vector<std::vector<std::uint64_t>> got(4);
  std::vector<std::thread> threads;
  threads.reserve(got.size());
  for (auto& mine : got) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) mine.push_back(ids.Next(FromMillis(kStart)));
    });
  }
  for (auto& thread : threads) thread.join();
  std::vector<std::uint64_t> all;
  for (const auto& mine : got) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(IdAllocator, AClockBeforeTheEpochStillGivesIds) {
  IdAllocator ids;
  EXPECT_GT(ids.Next(FromMillis(0)), 0u);
}

}  // namespace
}  // namespace allot
