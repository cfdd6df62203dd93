// SPDX-License-Identifier: Apache-2.0
#include "match/class_masks.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "base/rng.h"

namespace allot {
namespace {

TEST(ClassMasksTest, BitsStayWhereTheyAreWhileThereAreMoreRowsAndMoreBits) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    ClassMasks masks;
    std::set<std::pair<std::size_t, std::size_t>> on;
    std::size_t bits = 1;
    for (int step = 0; step < 3000; ++step) {
      const std::size_t words = masks.words();
      switch (rng.Below(4)) {
        case 0:
          for (std::size_t more = rng.Below(8); more > 0; --more) masks.Add();
          break;
        case 1: {
          const bool widened = masks.Widen(++bits);
          EXPECT_EQ(widened, masks.words() != words);
        } break;
        default:
          if (masks.size() == 0) break;
          const std::size_t row = rng.Below(masks.size()), bit = rng.Below(bits);
          const bool set = rng.Below(3) > 0;
          masks.Set(row, bit, set);
          if (set)
            on.insert({row, bit});
          else
            on.erase({row, bit});
      }
      ASSERT_LE(bits, 64 * masks.words());
    }
    ASSERT_GT(masks.words(), 4u);
    std::size_t found = 0;
    for (std::size_t row = 0; row < masks.size(); ++row) {
      ASSERT_EQ(masks[row].size(), masks.words());
      for (std::size_t bit = 0; bit < 64 * masks.words(); ++bit) {
        const bool is = masks.Has(row, bit);
        ASSERT_EQ(is, (masks[row][bit / 64] >> (bit % 64) & 1) != 0);
        ASSERT_EQ(is, on.contains({row, bit})) << row << " " << bit;
        found += is ? 1 : 0;
      }
    }
    EXPECT_EQ(found, on.size());
  }
}

}  // namespace
}  // namespace allot
