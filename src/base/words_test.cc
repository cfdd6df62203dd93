// SPDX-License-Identifier: Apache-2.0
#include "base/words.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

enum class Colour { kRed, kDarkBlue };
constexpr std::string_view kColours[] = {"red", "dark_blue"};

TEST(Words, AreReadToTheLetter) {
  EXPECT_EQ(ParseWord<Colour>("red", kColours), Colour::kRed);
  EXPECT_EQ(ParseWord<Colour>("dark_blue", kColours), Colour::kDarkBlue);
  for (const char* other : {"", "Red", "red ", "dark", "dark_blue_"}) {
    EXPECT_EQ(ParseWord<Colour>(other, kColours), std::nullopt) << other;
  }
  EXPECT_EQ(MustBeOneOf(kColours), "must be one of red, dark_blue");
}

TEST(Words, TheNearestIsProposedInWhateverCase) {
  EXPECT_EQ(MeantWord("DARK-BLUE", kColours), "did you mean `dark_blue`?");
  EXPECT_EQ(MeantWord("Red", kColours), "did you mean `red`?");
  EXPECT_EQ(MeantWord("", kColours), "");
  EXPECT_EQ(MeantWord("green", kColours), "");
  EXPECT_EQ(MeantWord(std::string(1'000'000, 'd'), kColours), "");
}

}  // namespace
}  // namespace allot
