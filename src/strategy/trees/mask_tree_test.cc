// SPDX-License-Identifier: Apache-2.0
#include "strategy/trees/mask_tree.h"

#include <gtest/gtest.h>

#include <map>

#include "base/rng.h"

namespace allot {
namespace {

TEST(MaskTree, FirstIsThatOfAPlainMapAfterAnyMixtureOfChanges) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const std::size_t width = 1 + rng.Below(3);
    MaskTree<std::uint64_t, std::uint64_t> tree(width);
    std::map<std::uint64_t, std::vector<std::uint64_t>> model;
    const auto random_mask = [&] {
      std::vector<std::uint64_t> mask(width);
      const std::size_t bits = rng.Below(4);
      for (std::size_t i = 0; i < bits; ++i) {
        const std::uint64_t bit = rng.Below(width * 64);
        mask[bit / 64] |= std::uint64_t{1} << (bit % 64);
      }
      return mask;
    };
    const std::size_t most = 1 + rng.Below(3000);
    for (int step = 0; step < 12'000; ++step) {
      const std::uint64_t key = rng.Below(2 * most);
      const auto found = model.find(key);
      switch (rng.Below(8)) {
        case 0:
        case 1:
        case 2:
          if (found == model.end()) {
            const auto mask = random_mask();
            tree.Insert(key, key * 3, mask);
            model[key] = mask;
          }
          break;
        case 3:
        case 4:
          if (found != model.end()) {
            tree.Erase(key);
            model.erase(found);
          }
          break;
        case 5:
          if (found != model.end()) {
            found->second = random_mask();
            tree.SetMask(key, found->second);
          }
          break;
        case 6:
          // The front goes, as heads do.
          if (!model.empty()) {
            tree.Erase(model.begin()->first);
            model.erase(model.begin());
          }
          break;
        default:
          if (rng.Below(50) == 0) {
            const auto bit = static_cast<std::uint32_t>(rng.Below(width * 64));
            const std::uint64_t every = 1 + rng.Below(5);
            tree.SetBit(bit, [&](std::uint64_t item) { return item / 3 % every == 0; });
            for (auto& [k, mask] : model) {
              const std::uint64_t flag = std::uint64_t{1} << (bit % 64);
              mask[bit / 64] = k % every == 0 ? mask[bit / 64] | flag : mask[bit / 64] & ~flag;
            }
          }
      }
      ASSERT_EQ(tree.size(), model.size());
      if (step % 16 != 0) continue;
      const auto bit = static_cast<std::uint32_t>(rng.Below(width * 64));
      const auto has = [&](const auto& entry) { return (entry.second[bit / 64] >> (bit % 64) & 1) != 0; };
      const auto want = std::find_if(model.begin(), model.end(), has);
      const std::uint64_t* item = tree.First(bit);
      ASSERT_EQ(item != nullptr, want != model.end());
      if (item != nullptr) {
        ASSERT_EQ(*item, want->first * 3);
      }
    }
    while (!model.empty()) {
      tree.Erase(model.begin()->first);
      model.erase(model.begin());
    }
    EXPECT_EQ(tree.First(0), nullptr);
  }
}

TEST(MaskTree, FindsNothingForABitThatItIsTooNarrowFor) {
  MaskTree<int, int> tree;
  const std::uint64_t all[] = {~std::uint64_t{0}};
  tree.Insert(1, 1, all);
  EXPECT_NE(tree.First(63), nullptr);
  EXPECT_EQ(tree.First(64), nullptr);
}

}  // namespace
}  // namespace allot
