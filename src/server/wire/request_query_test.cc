// SPDX-License-Identifier: Apache-2.0
#include "server/wire/request_query.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

using namespace std::chrono_literals;

TEST(SplitPath, DecodesEachPartOnItsOwn) {
  EXPECT_EQ(*SplitPath("/v1/queues/a%2Fb"), (std::vector<std::string>{"v1", "queues", "a/b"}));
  EXPECT_EQ(*SplitPath("/"), std::vector<std::string>{""});
  EXPECT_EQ(*SplitPath("/a//b/"), (std::vector<std::string>{"a", "", "b", ""}));
  EXPECT_FALSE(SplitPath("").ok());
  EXPECT_FALSE(SplitPath("v1").ok());
  EXPECT_EQ(SplitPath("/%zz").error().code, Code::kBadRequest);
}

TEST(Query, JobLists) {
  const auto got = ParseJobQuery("state=done&tag=a%2Fb&user=ann+b&before=12&limit=1000");
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->state, JobState::kDone);
  EXPECT_EQ(got->tag, "a/b");
  EXPECT_EQ(got->user, "ann b");
  EXPECT_EQ(got->before, JobId{12});
  EXPECT_EQ(got->limit, 1000u);
  const auto empty = ParseJobQuery("state=&tag=&&limit");
  ASSERT_TRUE(empty.ok());
  EXPECT_FALSE(empty->state);
  EXPECT_EQ(empty->limit, kDefaultPageItems);
}

TEST(Query, WrongParametersAreNamed) {
  struct Row {
    const char* query;
    Code code;
    const char* message;
    const char* hint;
  };
  const Row rows[] = {
      {"stat=done", Code::kUnknownField, "`stat`", "`state`"},
      {"xyz=1", Code::kUnknownField, "`xyz`", "state, tag, user, before, limit"},
      {"state=queued", Code::kBadValue, "`state` must be scheduled", ""},
      {"limit=0", Code::kBadValue, "from 1 to 1,000", ""},
      {"limit=1001", Code::kBadValue, "from 1 to 1,000", ""},
      {"limit=-1", Code::kBadValue, "`limit`", ""},
      {"limit=1x", Code::kBadValue, "`limit`", ""},
      {"limit=99999999999999999999", Code::kBadValue, "`limit`", ""},
      {"limit=1&limit=2", Code::kBadValue, "`limit` is there twice", ""},
      {"before=x", Code::kBadValue, "`before`", ""},
      {"tag=a%20b", Code::kBadValue, "`tag`", ""},
      {"user=%01", Code::kBadValue, "`user`", ""},
      {"user=%zz", Code::kBadRequest, "percent", ""},
  };
  for (const Row& row : rows) {
    const auto got = ParseJobQuery(row.query);
    ASSERT_FALSE(got.ok()) << row.query;
    EXPECT_EQ(got.error().code, row.code) << row.query;
    EXPECT_NE(got.error().message.find(row.message), std::string::npos) << got.error().message;
    EXPECT_NE(got.error().hint.find(row.hint), std::string::npos) << got.error().hint;
  }
}

TEST(Query, AFormerWordForATasksStateIsRefusedAndTheNewOneNamed) {
  const std::pair<const char*, const char*> kRows[] = {
      {"ready", "queued"}, {"leased", "running"}, {"waiting", "retrying"}};
  for (const auto& [former, now] : kRows) {
    const auto got = ParseTaskQuery(std::string("state=") + former);
    ASSERT_FALSE(got.ok()) << former;
    EXPECT_EQ(got.error().code, Code::kBadValue);
    EXPECT_EQ(got.error().hint, "`" + std::string(former) + "` is called `" + now + "` now");
    EXPECT_EQ(StateText(*ParseTaskQuery(std::string("state=") + now)->state), now);
  }
}

TEST(Query, TheOtherLists) {
  EXPECT_EQ(ParseTaskQuery("state=skipped&from=7")->state, TaskState::kSkipped);
  EXPECT_EQ(ParseTaskQuery("from=4294967295")->from, 4294967295u);
  EXPECT_FALSE(ParseTaskQuery("from=4294967296").ok());
  EXPECT_FALSE(ParseTaskQuery("state=active").ok());
  EXPECT_EQ(ParseResultsQuery("from=1&limit=2&wait_ms=300000")->wait, 5min);
  EXPECT_FALSE(ParseResultsQuery("wait_ms=300001").ok());
  EXPECT_EQ(ParseWorkersQuery("after=3")->after, WorkerId{3});
  EXPECT_EQ(ParseShowQuery("")->wait, 0ms);
  EXPECT_EQ(ParseShowQuery("wait_ms=5")->wait, 5ms);
  EXPECT_FALSE(ParseShowQuery("")->payload);
  EXPECT_TRUE(ParseShowQuery("payload=true")->payload);
  EXPECT_TRUE(*ParseForceQuery("force=true"));
  EXPECT_FALSE(*ParseForceQuery(""));
  EXPECT_FALSE(ParseForceQuery("force=1").ok());
  EXPECT_TRUE(ParseNoQuery("").ok());
  EXPECT_FALSE(ParseNoQuery("x=1").ok());
}

}  // namespace
}  // namespace allot
