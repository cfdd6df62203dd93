// SPDX-License-Identifier: Apache-2.0
#include "server/net/path_pattern.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace allot {
namespace {

using Parts = std::vector<std::string>;

constexpr PathPattern kTask("/v1/queues/{queue}/jobs/{job}/tasks/{index}");

TEST(PathPattern, MalformedOnesAreNone) {
  for (const char* text : {"/a", "/a/b", "/{a}", "/a/{b}/c/{d}", "/1/2/3/4/5/6/7/8"}) {
    EXPECT_TRUE(PathPattern::IsValid(text)) << text;
  }
  for (const char* text : {"", "/", "a", "a/b", "/a/", "//a", "/a//b", "/{}", "/{a", "/a}", "/x{a}", "/{a}x", "/{{a}}",
                           "/{", "/}", "/{a}/{a}", "/1/2/3/4/5/6/7/8/9"}) {
    EXPECT_FALSE(PathPattern::IsValid(text)) << text;
  }
  EXPECT_FALSE(PathPattern::IsValid("/" + std::string(PathPattern::kMaxBytes, 'a')));
}

TEST(PathPattern, HasWordsAndNames) {
  EXPECT_EQ(kTask.text(), "/v1/queues/{queue}/jobs/{job}/tasks/{index}");
  ASSERT_EQ(kTask.size(), 7u);
  const char* const words[] = {"v1", "queues", "queue", "jobs", "job", "tasks", "index"};
  for (std::size_t i = 0; i < kTask.size(); ++i) {
    EXPECT_EQ(kTask.word(i), words[i]);
    EXPECT_EQ(kTask.named(i), i == 2 || i == 4 || i == 6) << i;
  }
  EXPECT_EQ(kTask.IndexOf("queue"), 2u);
  EXPECT_EQ(kTask.IndexOf("index"), 6u);
  EXPECT_DEATH(kTask.IndexOf("jobs"), "");  // a word is no name
}

TEST(PathPattern, NamesTakeAnyWordAndWordsThemselves) {
  EXPECT_TRUE(kTask.Matches({"v1", "queues", "q", "jobs", "7", "tasks", "0"}));
  EXPECT_TRUE(kTask.Matches({"v1", "queues", "", "jobs", "tasks", "tasks", "jobs"}));
  for (const Parts& parts :
       {Parts{}, Parts{"v1", "queues", "q", "jobs", "7", "tasks"},
        Parts{"v1", "queues", "q", "jobs", "7", "tasks", "0", ""}, Parts{"v1", "queues", "q", "jobs", "7", "task", "0"},
        Parts{"v2", "queues", "q", "jobs", "7", "tasks", "0"}}) {
    EXPECT_FALSE(kTask.Matches(parts));
  }
}

TEST(PathPattern, WhatIsBelowBeginsWithIt) {
  constexpr PathPattern queue("/v1/queues/{queue}");
  EXPECT_TRUE(queue.MatchesBelow({"v1", "queues", "q"}));
  EXPECT_TRUE(queue.MatchesBelow({"v1", "queues", "q", "x", "y", "z", "a", "b", "c"}));
  EXPECT_FALSE(queue.MatchesBelow({"v1", "queues"}));
  EXPECT_FALSE(queue.MatchesBelow({"v1", "queue", "q"}));
}

TEST(PathPattern, OverlapWhereOneCannotTellThemApart) {
  struct Row {
    const char *one, *other;
    bool overlap;
  };
  constexpr Row kRows[] = {
      {"/a/b", "/a/b", true},  {"/a/{x}", "/a/b", true},      {"/a/{x}", "/a/{y}", true},    {"/{x}/b", "/a/{y}", true},
      {"/a/b", "/a/c", false}, {"/a/{x}/c", "/a/b/d", false}, {"/a/{x}", "/a/{x}/b", false},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(PathPattern(row.one).Overlaps(PathPattern(row.other)), row.overlap) << row.one << " " << row.other;
    EXPECT_EQ(PathPattern(row.other).Overlaps(PathPattern(row.one)), row.overlap) << row.one << " " << row.other;
  }
}

}  // namespace
}  // namespace allot
