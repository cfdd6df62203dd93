// SPDX-License-Identifier: Apache-2.0
#include "store/packed/payload_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/rng.h"

namespace allot::sqlite {
namespace {

std::shared_ptr<const UnpackedPayloads> Segment(const std::vector<std::string>& payloads) {
  std::string packed;
  PackPayloads(payloads, packed);
  return UnpackedPayloads::From(packed);
}

TEST(PayloadCache, FindsWhatASegmentCoversAndNothingElse) {
  PayloadCache cache(1 << 20);
  cache.Put(JobId{5}, 10, Segment({"a", "", "c"}), false);
  cache.Put(JobId{6}, -1, Segment({"common"}), false);
  EXPECT_EQ(cache.Find(JobId{5}, 9), std::nullopt);
  EXPECT_EQ(cache.Find(JobId{5}, 10), "a");
  EXPECT_EQ(cache.Find(JobId{5}, 11), "");
  EXPECT_EQ(cache.Find(JobId{5}, 12), "c");
  EXPECT_EQ(cache.Find(JobId{5}, 13), std::nullopt);
  EXPECT_EQ(cache.Find(JobId{6}, -1), "common");
  EXPECT_EQ(cache.Find(JobId{6}, 0), std::nullopt);
  EXPECT_EQ(cache.Find(JobId{4}, 10), std::nullopt);
  EXPECT_EQ(cache.Find(JobId{7}, 0), std::nullopt);
}

TEST(PayloadCache, TheLeastRecentlyUsedGoFirst) {
  PayloadCache cache(10'000);
  for (std::uint64_t set = 1; set <= 1000; ++set) {
    cache.Put(JobId{set}, 0, Segment({"p"}), false);
    EXPECT_EQ(cache.Find(JobId{1}, 0), "p");  // asked for all the time
    ASSERT_LE(cache.bytes(), 10'000u);
  }
  EXPECT_EQ(cache.Find(JobId{500}, 0), std::nullopt);
  EXPECT_EQ(cache.Find(JobId{1000}, 0), "p");
}

TEST(PayloadCache, ASegmentTooLongForItIsNotKept) {
  PayloadCache cache(10'000);
  cache.Put(JobId{1}, 0, Segment({"small"}), false);
  cache.Put(JobId{2}, 0, Segment({std::string(9'000, 'x')}), false);
  EXPECT_EQ(cache.Find(JobId{1}, 0), "small");
  EXPECT_EQ(cache.Find(JobId{2}, 0), std::nullopt);
}

TEST(PayloadCache, RemovingASetRemovesAllItsSegments) {
  PayloadCache cache(1 << 20);
  for (std::uint64_t set : {1, 2, 3}) {
    for (std::int64_t first : {-1, 0, 50}) cache.Put(JobId{set}, first, Segment({"p"}), false);
  }
  const std::size_t before = cache.bytes();
  cache.Remove(JobId{2});
  cache.Remove(JobId{9});
  for (std::int64_t first : {-1, 0, 50}) {
    EXPECT_EQ(cache.Find(JobId{2}, first), std::nullopt);
    EXPECT_EQ(cache.Find(JobId{1}, first), "p");
    EXPECT_EQ(cache.Find(JobId{3}, first), "p");
  }
  EXPECT_EQ(cache.bytes(), before / 3 * 2);
}

TEST(PayloadCache, ReadsFurtherAheadWhileThatIsOfUse) {
  PayloadCache cache(1 << 20);
  std::uint64_t set = 0;
  std::size_t ahead = 0;
  for (int miss = 0; miss < 10; ++miss) {
    ahead = cache.ReadAhead();
    for (std::size_t i = 0; i < ahead; ++i) cache.Put(JobId{++set}, 0, Segment({"p"}), true);
    for (std::size_t i = 0; i < ahead; ++i) EXPECT_TRUE(cache.Find(JobId{set - i}, 0));
  }
  EXPECT_EQ(ahead, 64u);
  for (int miss = 0; miss < 10; ++miss) ahead = cache.ReadAhead();
  EXPECT_LE(ahead, 4u);
}

TEST(Packing, PayloadsComeBackAsTheyWere) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> payloads(rng.Below(50));
    for (std::string& payload : payloads) payload.assign(rng.Below(rng.Below(10) == 0 ? 5000 : 20), 'p');
    const auto unpacked = Segment(payloads);
    ASSERT_NE(unpacked, nullptr);
    ASSERT_EQ(unpacked->count(), payloads.size());
    for (std::size_t i = 0; i < payloads.size(); ++i) ASSERT_EQ(unpacked->At(i), payloads[i]);
  }
}

TEST(Packing, DamagedBytesAreRefusedOrReadWithinTheirBounds) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int round = 0; round < 5000; ++round) {
    std::string bytes;
    if (rng.Below(2) == 0) PackPayloads(std::vector<std::string>{"abc", "de"}, bytes);
    for (std::uint64_t i = rng.Below(20); i > 0; --i) bytes.push_back(static_cast<char>(rng.Next()));
    if (!bytes.empty()) bytes[rng.Below(bytes.size())] = static_cast<char>(rng.Next());
    if (const auto unpacked = UnpackedPayloads::From(bytes)) {
      for (std::uint64_t i = 0; i < unpacked->count(); ++i) ASSERT_LE(unpacked->At(i).size(), bytes.size());
    }
    std::vector<PackedOutcome> outcomes;
    UnpackOutcomes(3, bytes, outcomes);
    static_cast<void>(
        UnpackEvents(rng.Below(100), bytes, [](Position, std::string_view) -> Result<void> { return {}; }));
  }
}

}  // namespace
}  // namespace allot::sqlite
