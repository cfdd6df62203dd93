// SPDX-License-Identifier: Apache-2.0
#include "strategy/weights.h"

#include <gtest/gtest.h>

#include "base/bounds.h"

namespace allot {
namespace {

TEST(Weights, AreNamedByKeyAndValue) {
  EXPECT_EQ(WeightName(MakeStrategyKey("Customer"), "Acme"), "customer.Acme");
  EXPECT_EQ(*CheckWeightName("USER.acme.com"), "user.acme.com");
  EXPECT_EQ(*CheckWeightName("user.Zoë=1"), "user.Zoë=1");
  const auto parsed = ParseWeight("user.a=b=3");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->first, "user.a=b");
  EXPECT_EQ(parsed->second, 3u);
  EXPECT_EQ(PrintWeights({{"user.a", 1}, {"user.b", 20}}), "user.a=1, user.b=20");
  EXPECT_EQ(PrintWeights({}), "");
}

TEST(Weights, OthersAreRefused) {
  for (const char* name : {"", "user", ".acme", "user.", "us er.x", "user.a\nb", "user.\xff"}) {
    const auto refused = CheckWeightName(name);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code, Code::kBadValue);
    EXPECT_NE(refused.error().hint.find("user.acme"), std::string::npos);
  }
  EXPECT_FALSE(CheckWeightName("user." + std::string(bounds::kMaxMetaValueBytes + 1, 'x')).ok());
  for (const char* text : {"", "user.acme", "user.acme=", "user.acme=0", "user.acme=-1", "user.acme=1.5", "user.acme=x",
                           "user.acme=1000001", "user.acme=99999999999999999999", "=3", "user=3"}) {
    EXPECT_FALSE(ParseWeight(text).ok()) << text;
  }
  EXPECT_TRUE(ParseWeight("user.acme=1000000").ok());
}

}  // namespace
}  // namespace allot
