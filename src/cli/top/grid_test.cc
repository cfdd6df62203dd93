// SPDX-License-Identifier: Apache-2.0
#include "cli/top/grid.h"

#include <gtest/gtest.h>

#include "cli/top/testing.h"

namespace allot::cli::top {
namespace {

class GridTest : public ::testing::Test {
  void SetUp() override { UseUtf8(); }
};

TEST_F(GridTest, TextsAreCutAndNeverLeaveTheScreen) {
  struct Row {
    int row, column;
    const char* text;
    int columns;
    const char* want;
  };
  const Row rows[] = {
      {0, 0, "abc", 99, "abc"},
      {0, 0, "abcdefgh", 99, "abcde…"},
      {0, 4, "abc", 99, "    a…"},
      {0, 5, "abc", 99, "     …"},
      {0, 6, "abc", 99, ""},
      {0, 0, "abc", 2, "a…"},
      {0, 0, "abc", 0, ""},
      {-1, 0, "abc", 99, ""},
      {1, 0, "abc", 99, ""},
      {0, -3, "abc", 99, ""},
      {0, 0, "名前名前", 99, "名前…"},
      {0, 0, "名前名", 99, "名前名"},
      {0, 5, "名", 99, "     …"},
      {0, 0, "e\u0301a", 99, "e\u0301a"},
  };
  for (const Row& row : rows) {
    Grid grid(6, 1, true);
    grid.Put(row.row, row.column, row.text, {}, row.columns);
    EXPECT_EQ(grid.Row(0), row.want) << row.text << " at " << row.column;
  }
}

TEST_F(GridTest, WhatStrangersSendStaysText) {
  Grid grid(60, 1, true);
  grid.Put(0, 0,
           "a\x1b[31mb\x1b]0;title\x07"
           "c\rd\ne\u202Ef\u009B2Jg\u200Dh\x00i");
  EXPECT_EQ(grid.Row(0), "a[31mb]0;titlec d ef2Jgh");
}

TEST_F(GridTest, BytesThatAreNoTextTakeOneColumnEach) {
  Grid grid(20, 1, true);
  EXPECT_EQ(grid.Put(0, 0, "a\xFF\xC3z\xED\xA0\x80"), 5);
  EXPECT_EQ(grid.Row(0), "a\uFFFD\uFFFDz\uFFFD");
}

TEST_F(GridTest, MarksAreBounded) {
  std::string tower = "x";
  for (int i = 0; i < 1000; ++i) tower += "\u0301";
  Grid grid(10, 1, true);
  EXPECT_EQ(grid.Put(0, 0, tower + "y"), 2);
  EXPECT_LE(grid.At(0, 0).text.size(), 4u);
}

TEST_F(GridTest, HalfOfAWideCharacterIsNeverLeft) {
  Grid grid(6, 1, true);
  grid.Put(0, 0, "名前名");
  grid.Put(0, 1, "x");
  EXPECT_EQ(grid.Row(0), " x前名");
  grid.Put(0, 2, "y");
  EXPECT_EQ(grid.Row(0), " xy 名");
}

TEST_F(GridTest, WithoutUtf8AllIsAscii) {
  Grid grid(20, 1, false);
  grid.Put(0, 0, "█░▁ 名é─… plain");
  EXPECT_EQ(grid.Row(0), "#._ ?\?-~ plain");
}

TEST_F(GridTest, LooksBecomeEscapesOnlyWhereAsked) {
  Grid grid(5, 1, true);
  grid.Put(0, 0, "ab", {.ink = Ink::kRed, .bold = true});
  grid.Put(0, 2, "c");
  EXPECT_EQ(grid.Row(0), "abc");
  EXPECT_EQ(grid.Row(0, true), "\x1b[0;1;31mab\x1b[0mc");
}

}  // namespace
}  // namespace allot::cli::top
