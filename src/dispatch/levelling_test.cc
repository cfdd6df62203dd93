// SPDX-License-Identifier: Apache-2.0
#include "dispatch/levelling.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/rng.h"

namespace allot {
namespace {

// One task after the other, each to who comes first.
std::vector<std::uint32_t> OneByOne(std::vector<LevelPlace> places, std::uint64_t tasks) {
  std::vector<std::uint32_t> given(places.size());
  for (; tasks > 0 && !places.empty(); --tasks) {
    const auto least = std::min_element(places.begin(), places.end());
    ++least->load;
    ++given[static_cast<std::size_t>(least - places.begin())];
  }
  return given;
}

std::vector<LevelPlace> SomePlaces(Rng& rng, std::uint64_t base) {
  const bool ranked = rng.Below(2) == 0;
  const std::uint64_t loads = 1 + rng.Below(rng.Below(2) == 0 ? 4 : 60), idles = 1 + rng.Below(10);
  std::vector<LevelPlace> places(rng.Below(rng.Below(2) == 0 ? 6 : 50));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool busy = rng.Below(3) == 0;
    const double unwanted = ranked ? static_cast<double>(rng.Below(3)) - 1 : 0;
    places[i] = {base + rng.Below(loads), busy ? ~std::uint64_t{0} : rng.Below(idles), i + 1, unwanted};
  }
  for (std::size_t i = places.size(); i > 1; --i) std::swap(places[i - 1].id, places[rng.Below(i)].id);
  std::sort(places.begin(), places.end());
  return places;
}

TEST(Levelling, GivesWhatSingleChoicesOfTheLeastLoadedGive) {
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const std::uint64_t base = rng.Below(2) == 0 ? 0 : rng.Below(std::uint64_t{1} << 62);
    const std::vector<LevelPlace> places = SomePlaces(rng, base);
    const std::uint64_t tasks = rng.Below(rng.Below(2) == 0 ? 10 : 1000);
    ASSERT_EQ(Level(places, tasks), OneByOne(places, tasks));
  }
}

TEST(Levelling, GivesNobodyAnythingOfNothing) {
  EXPECT_TRUE(Level({}, 0).empty());
  EXPECT_TRUE(Level({}, 7).empty());
  EXPECT_EQ(Level({{3, 0, 1}, {4, 0, 2}}, 0), (std::vector<std::uint32_t>{0, 0}));
}

TEST(Levelling, HoldsForAsManyTasksAsAJobMayHave) {
  // So many are checked by what single choices lead to: nobody who got something is more than one above anybody.
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::vector<LevelPlace> places = SomePlaces(rng, 0);
    if (places.empty()) places.push_back({5, 0, 1});
    for (LevelPlace& place : places) place.load = rng.Below(3) == 0 ? 0 : rng.Below(std::uint64_t{1} << 33);
    std::sort(places.begin(), places.end());
    const std::uint64_t tasks = rng.Below(std::uint64_t{1} << 32);
    const std::vector<std::uint32_t> given = Level(places, tasks);
    ASSERT_EQ(std::accumulate(given.begin(), given.end(), std::uint64_t{0}), tasks);
    std::uint64_t least = ~std::uint64_t{0};
    for (std::size_t i = 0; i < places.size(); ++i) least = std::min(least, places[i].load + given[i]);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (given[i] > 0) {
        ASSERT_LE(places[i].load + given[i], least + 1);
      }
      for (std::size_t j = 0; j < places.size(); ++j) {
        // Of two that stand alike without the last one, it goes to who is first.
        if (given[i] == 0 || places[i].load + given[i] != least + 1 || places[j].load + given[j] != least) continue;
        ASSERT_TRUE(places[i].FirstOf(places[j])) << i << " got one more than " << j;
      }
    }
  }
}

}  // namespace
}  // namespace allot
