// SPDX-License-Identifier: Apache-2.0
#include "base/quota_pool.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

std::size_t TakeAll(QuotaPool& pool, const std::string& owner) {
  std::size_t taken = 0;
  for (; pool.Admits(owner); ++taken) pool.Take(owner);
  return taken;
}

TEST(QuotaPool, WhoeverComesLaterFindsSome) {
  QuotaPool pool(1024);
  EXPECT_EQ(TakeAll(pool, "ann"), 768u);
  EXPECT_EQ(TakeAll(pool, "bob"), 192u);
  EXPECT_EQ(TakeAll(pool, "cat"), 48u);
  EXPECT_EQ(TakeAll(pool, "dan"), 12u);
  EXPECT_EQ(TakeAll(pool, "ann"), 0u);
  EXPECT_EQ(TakeAll(pool, "eve"), 3u);
  EXPECT_EQ(TakeAll(pool, ""), 1u);
  EXPECT_EQ(pool.used(), 1024u);
  EXPECT_FALSE(pool.Admits("fay"));
}

TEST(QuotaPool, WhatIsGivenBackIsFreeForAll) {
  QuotaPool pool(8);
  QuotaPool::Owner& ann = pool.Take("ann", 6);
  EXPECT_FALSE(pool.Admits("ann"));
  EXPECT_TRUE(pool.Admits("ann", 1, 1));  // one for another
  EXPECT_TRUE(pool.Admits("bob"));
  EXPECT_FALSE(pool.Admits("bob", 3));
  pool.Give(ann, 6);
  EXPECT_EQ(pool.used(), 0u);
  EXPECT_EQ(pool.Of("ann"), 0u);
  EXPECT_TRUE(pool.Admits("bob", 6));
}

}  // namespace
}  // namespace allot
