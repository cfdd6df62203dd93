// SPDX-License-Identifier: Apache-2.0
#include "base/sharded_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/rng.h"

namespace allot {
namespace {

TEST(ShardedMap, IsAMapAlsoWhereOneTableBecomesMany) {
  ShardedMap<std::string, int> map;
  std::map<std::string, int> naive;
  Rng rng(7);
  int* const first = map.Insert("first", -1).first;
  naive["first"] = -1;
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = "k" + std::to_string(rng.Below(8000));
    if (rng.Below(4) == 0) {
      map.Erase(key);
      naive.erase(key);
    } else {
      const auto [value, fresh] = map.Insert(key, i);
      const auto [want, is_new] = naive.emplace(key, i);
      ASSERT_EQ(fresh, is_new);
      ASSERT_EQ(*value, want->second);
    }
    ASSERT_EQ(map.size(), naive.size());
  }
  EXPECT_GT(map.size(), 2048u);
  for (int i = 0; i < 8000; ++i) {
    const std::string key = "k" + std::to_string(i);
    const auto want = naive.find(key);
    const int* const found = map.Find(key);
    ASSERT_EQ(found != nullptr, want != naive.end());
    if (found != nullptr) {
      ASSERT_EQ(*found, want->second);
    }
  }
  EXPECT_EQ(map.Find("first"), first) << "values stay where they are";
}

}  // namespace
}  // namespace allot
