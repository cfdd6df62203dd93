// SPDX-License-Identifier: Apache-2.0
#include "server/wire/error_groups.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

TEST(ErrorGroups, WhatDiffersFromTaskToTaskIsLeftOut) {
  struct Row {
    const char* error;
    const char* text;
  };
  constexpr Row kRows[] = {
      {"", ""},
      {"exit status 1", "exit status #"},
      {"exit status 127", "exit status #"},
      {"host12.example:8080 refused", "host#.example:# refused"},
      {"took 1.25 s", "took #.# s"},
      {"object 3f2a9c81 is gone", "object # is gone"},
      {"object 3F2A9C81DEADBEEF is gone", "object # is gone"},
      {"at 0x7fff12: bad", "at #: bad"},
      {"request 123e4567-e89b-12d3-a456-426614174000 failed", "request # failed"},
      {"the facade defaced a deadbeef", "the facade defaced a deadbeef"},  // words
      {"12345678 items", "# items"},
      {"a1b2c3", "a#b#c#"},  // too short to be an id
      {"id_3f2a9c81", "id_#f#a#c#"},
      {"3f2a9c81x", "#f#a#c#x"},
      {"naïve 7 × 8", "naïve # × #"},
  };
  for (const Row& row : kRows) EXPECT_EQ(ErrorShape(row.error), row.text) << row.error;
}

TEST(ErrorGroups, LongTextsAreCutBetweenCharacters) {
  std::string text = "x";
  for (int i = 0; i < 5000; ++i) text += "é";
  const std::string cut = ErrorShape(text);
  EXPECT_LE(cut.size(), kMaxGroupText + 3);
  EXPECT_GE(cut.size(), kMaxGroupText);
  EXPECT_EQ(cut.size() % 2, 1u);  // one byte, and pairs
}

TEST(ErrorGroups, TheLargestGroupsComeFirst) {
  ErrorGroups groups;
  groups.Add(1, "lost 5");
  groups.Add(3, "exit 1");
  groups.Add(7, "exit 2");
  groups.Add(9, "late");
  EXPECT_EQ(groups.examined(), 4u);
  const std::vector<ErrorGroup> largest = groups.Largest(2);
  ASSERT_EQ(largest.size(), 2u);
  EXPECT_EQ(largest[0].text, "exit #");
  EXPECT_EQ(largest[0].example, "exit 1");
  EXPECT_EQ(largest[0].tasks, 2u);
  EXPECT_EQ(largest[0].first, 3u);
  EXPECT_EQ(largest[0].last, 7u);
  EXPECT_EQ(largest[1].text, "lost #");  // the first of those with as many
}

}  // namespace
}  // namespace allot
