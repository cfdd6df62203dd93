// SPDX-License-Identifier: Apache-2.0
#include "base/siphash.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

// From the reference implementation: key 00 01 … 0f, input 00 01 … of that length, output as a little-endian number.
TEST(SipHash, GivesTheReferenceValues) {
  const SipKey key{0x0706050403020100ull, 0x0f0e0d0c0b0a0908ull};
  const std::uint64_t words[] = {0x0706050403020100ull, 0x0f0e0d0c0b0a0908ull};
  EXPECT_EQ(SipHash(key, std::span(words).first(0)), 0x726fdb47dd0e0e31ull);
  EXPECT_EQ(SipHash(key, std::span(words).first(1)), 0x93f5f5799a932462ull);
  EXPECT_EQ(SipHash(key, words), 0x3f2acc7f57c29bdbull);
}

TEST(SipHash, DependsOnTheKey) {
  const std::uint64_t words[] = {1, 2};
  EXPECT_NE(SipHash({1, 2}, words), SipHash({1, 3}, words));
  EXPECT_NE(SipHash({1, 2}, words), SipHash({2, 2}, words));
}

}  // namespace
}  // namespace allot
