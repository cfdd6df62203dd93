// SPDX-License-Identifier: Apache-2.0
#include "cli/text/output.h"

#include <gtest/gtest.h>

namespace allot::cli {
namespace {

TEST(Visible, TakesControlCharactersOutAndLeavesTheRest) {
  struct Row {
    const char* in;
    const char* out;
  };
  const Row rows[] = {
      {"plain", "plain"},
      {"\x1b[31mred\x1b[0m", "[31mred[0m"},
      {"a\x07\x08z", "az"},
      {"two\nlines\tand a tab\r", "two lines and a tab "},
      {"größe 日本 ✓", "größe 日本 ✓"},
      {"\xC2\x9B"
       "31m",
       "31m"},  // a control sequence's beginning, of one character
      {"abc\xE2\x80\xAE"
       "def",
       "abcdef"},  // right-to-left override
      {"bad \xFF byte", "bad \xEF\xBF\xBD byte"},
      {"cut \xE2\x82", "cut \xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\x7F", ""},
  };
  for (const Row& row : rows) EXPECT_EQ(Visible(row.in), row.out) << row.in;
}

TEST(Visible, KeepsLinesWhereAsked) { EXPECT_EQ(VisibleLines("a\n\tb\x1b[2J\r\n"), "a\n\tb[2J\n"); }

TEST(Table, AlignsByCharactersAndHasNoBlanksAtLineEnds) {
  Table table({{"NAME"}, {"N", true}, {"NOTE"}});
  table.Add({"größe", "7", ""});
  table.Add({"a", "1,000", "x\ny"});
  EXPECT_EQ(table.Text({}), "NAME       N  NOTE\ngröße      7\na      1,000  x y\n");
}

TEST(Table, ColoursStatesOnlyWhereTheStreamShowsThem) {
  Table table({{"STATE"}, {"X"}});
  table.ColourStates(0);
  table.Add({"done", "1"});
  EXPECT_EQ(table.Text({.terminal = true, .colour = false}), "STATE  X\ndone   1\n");
  EXPECT_NE(table.Text({.terminal = true, .colour = true}).find("\x1b[32mdone\x1b[0m"), std::string::npos);
}

TEST(Fields, LeaveOutWhatIsEmpty) {
  EXPECT_EQ(Fields({{"job", "1"}, {"reason", ""}, {"state", "done"}}, {}), "job    1\nstate  done\n");
}

TEST(AgeText, SpeaksInWholeSeconds) {
  EXPECT_EQ(AgeText(1'000, 1'900), "now");
  EXPECT_EQ(AgeText(5'000, 1'000), "now");
  EXPECT_EQ(AgeText(1'000, 6'700), "5s");
}

}  // namespace
}  // namespace allot::cli
