// SPDX-License-Identifier: Apache-2.0
#include "cli/top/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/top/testing.h"

namespace allot::cli::top {
namespace {

using Kind = Key::Kind;
using ::testing::HasSubstr;
using testing::IsEmpty;

class KeysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    UseUtf8();
    Settle(model, kSize);
  }
  std::vector<Command> Press(Key key) {
    auto commands = OnKey(model, key);
    Settle(model, kSize);
    return commands;
  }
  // Each letter a key; what the last one ordered.
  std::vector<Command> Type(std::u32string_view text) {
    std::vector<Command> commands;
    for (const char32_t c : text) commands = Press({Kind::kChar, c});
    return commands;
  }
  static constexpr Size kSize{80, 24};
  Model model = TestModel();
};

TEST_F(KeysTest, Moves) {
  EXPECT_EQ(model.state().selected, "103");
  Type(U"j");
  EXPECT_EQ(model.state().selected, "102");
  Press({Kind::kDown});
  Press({Kind::kDown});  // there is no more
  EXPECT_EQ(model.state().selected, "101");
  Press({Kind::kUp});
  Type(U"k");
  Type(U"k");
  EXPECT_EQ(model.state().selected, "103");
  Press({Kind::kEnd});
  EXPECT_EQ(model.state().selected, "101");
  Press({Kind::kPageUp});
  EXPECT_EQ(model.state().selected, "103");
}

TEST_F(KeysTest, Quits) {
  ASSERT_EQ(Type(U"q").size(), 1u);
  Type(U"?");
  EXPECT_EQ(Type(U"q")[0].kind, CommandKind::kQuit);
}

TEST_F(KeysTest, TurnsTabs) {
  Type(U"3");
  EXPECT_EQ(model.tab, Tab::kReasons);
  Press({Kind::kTab});
  EXPECT_EQ(model.tab, Tab::kUsers);
  Press({Kind::kTab});
  Press({Kind::kTab});
  EXPECT_EQ(model.tab, Tab::kJobs);
  Press({Kind::kBackTab});
  EXPECT_EQ(model.tab, Tab::kLimits);
}

TEST_F(KeysTest, PausesAndResumes) {
  auto commands = Type(U"p");
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].kind, CommandKind::kPauseJob);
  EXPECT_EQ(commands[0].id, "103");
  Press({Kind::kEnd});
  EXPECT_EQ(Type(U"p")[0].kind, CommandKind::kResumeJob);
  Press({Kind::kUp});  // is done
  EXPECT_THAT(Type(U"p"), IsEmpty());
  EXPECT_THAT(model.status, HasSubstr("has ended"));
  EXPECT_TRUE(model.status_bad);
}

TEST_F(KeysTest, CancelsOnlyWhenTheAnswerIsYes) {
  EXPECT_THAT(Type(U"c"), IsEmpty());
  EXPECT_EQ(model.question, "cancel job 103?");
  EXPECT_THAT(Render(model, kSize).Row(23), HasSubstr("cancel job 103? y/N"));
  EXPECT_THAT(Type(U"n"), IsEmpty());
  EXPECT_FALSE(model.confirm);
  Type(U"c");
  EXPECT_THAT(Press({Kind::kEnter}), IsEmpty());  // N is what it is if nothing is said
  Type(U"c");
  EXPECT_THAT(Type(U"q"), IsEmpty());  // no more than a no
  auto commands = Type(U"cy");
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].kind, CommandKind::kCancelJob);
  EXPECT_EQ(commands[0].id, "103");
  EXPECT_EQ(commands[0].queue, "default");
}

TEST_F(KeysTest, ACancelIsOfTheJobThatWasAskedAbout) {
  Type(U"c");
  std::erase_if(model.jobs->jobs, [](const allotter::Job& job) { return job.id == "103"; });
  Settle(model, kSize);
  EXPECT_EQ(Type(U"y")[0].id, "103");
}

TEST_F(KeysTest, CancelsAllThatTheFilterFindsAfterCounting) {
  EXPECT_THAT(Type(U"C"), IsEmpty());
  EXPECT_TRUE(model.status_bad);
  Type(U"/state:active user:ann");
  Press({Kind::kEnter});
  auto commands = Type(U"C");
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].kind, CommandKind::kCountMany);
  EXPECT_TRUE(commands[0].many.dry_run);
  EXPECT_EQ(commands[0].many.user, "ann");
  Outcome outcome{.command = commands[0]};
  outcome.many.emplace();
  outcome.many->matching = 12;
  outcome.many->tasks = 1204;
  outcome.many->up_to = "103";
  Apply(model, outcome);
  EXPECT_EQ(model.question, "cancel 12 jobs with 1,204 unfinished tasks?");
  commands = Type(U"y");
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].kind, CommandKind::kCancelMany);
  EXPECT_EQ(commands[0].many.up_to, "103");
  EXPECT_FALSE(commands[0].many.dry_run);
  // What is shown must not be less than what would go.
  for (const char32_t* text : {U"/state:active render", U"/tag:a tag:b"}) {
    Type(U"/");
    Press({Kind::kChar, 0x15});
    Type(std::u32string_view(text).substr(1));
    Press({Kind::kEnter});
    EXPECT_THAT(Type(U"C"), IsEmpty());
    EXPECT_TRUE(model.status_bad);
  }
}

TEST_F(KeysTest, FilterGoesToTheServerAsFarAsItKnowsIt) {
  Type(U"/stat");
  EXPECT_THAT(Render(model, kSize).Row(23), HasSubstr("/stat"));
  Type(U"e:active tag:a/b x");
  Press({Kind::kEnter});
  EXPECT_EQ(WatchedOf(model).table, "/v1/queues/default/jobs?state=active&tag=a%2Fb&limit=100");
  Type(U"/");
  EXPECT_EQ(*model.typing, "state:active tag:a/b x");
  Press({Kind::kChar, 0x15});
  Type(U"ü名");
  Press({Kind::kBackspace});
  EXPECT_EQ(*model.typing, "ü");
  Press({Kind::kEscape});
  EXPECT_EQ(model.state().filter.text, "state:active tag:a/b x");
  Type(U"/");
  Press({Kind::kChar, 0x15});
  Type(U"state:runing");
  Press({Kind::kEnter});
  EXPECT_THAT(model.status, HasSubstr("there is no state `runing`"));
  EXPECT_EQ(model.state().filter.text, "state:active tag:a/b x");
}

TEST_F(KeysTest, Pages) {
  Type(U"+");
  EXPECT_EQ(model.status, "that is all");
  model.jobs->next = "101";
  Type(U"+");
  EXPECT_EQ(WatchedOf(model).table, "/v1/queues/default/jobs?before=101&limit=100");
  Type(U"+");  // it has not come yet
  EXPECT_EQ(model.state().pages.size(), 1u);
  Type(U"-");
  EXPECT_EQ(WatchedOf(model).table, "/v1/queues/default/jobs?limit=100");
  Type(U"-");
  EXPECT_EQ(model.status, "that is the first page");
}

TEST_F(KeysTest, ExplainsAJobAWorkerAndAReason) {
  Press({Kind::kEnter});
  EXPECT_EQ(WatchedOf(model).detail, "/v1/queues/default/jobs/103/explain");
  Apply(model, WatchedOf(model).detail,
        R"({"job":"103","verdict":{"kind":"wait","code":"x","message":"so it is","hint":""}})");
  EXPECT_THAT(Render(model, kSize).Text(), HasSubstr("so it is"));
  Press({Kind::kEscape});
  EXPECT_EQ(WatchedOf(model).detail, "");
  auto commands = Type(U"2e");
  EXPECT_EQ(WatchedOf(model).detail, "/v1/queues/default/workers/77");
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].kind, CommandKind::kNextOfWorker);
  Type(U"e3");
  Press({Kind::kDown});
  Type(U"e");
  EXPECT_EQ(WatchedOf(model).detail, "/v1/queues/default/jobs/101/explain");
}

TEST_F(KeysTest, DrainsAWorkerAfterAsking) {
  EXPECT_THAT(Type(U"d"), IsEmpty());
  EXPECT_TRUE(model.status_bad);
  auto commands = Type(U"2dy");
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].kind, CommandKind::kDrainWorker);
  EXPECT_EQ(commands[0].id, "77");
}

TEST_F(KeysTest, AUserLeadsToItsJobs) {
  Type(U"4e");
  EXPECT_EQ(model.tab, Tab::kJobs);
  EXPECT_EQ(WatchedOf(model).table, "/v1/queues/default/jobs?user=ann&limit=100");
}

TEST_F(KeysTest, SwitchesTheQueue) {
  Type(U"Q");
  EXPECT_EQ(WatchedOf(model).detail, "/v1/queues");
  Type(U"j");
  EXPECT_THAT(Render(model, kSize).Text(), HasSubstr("> other"));
  Press({Kind::kEnter});
  EXPECT_EQ(model.queue, "other");
  EXPECT_FALSE(model.jobs);
  EXPECT_EQ(WatchedOf(model).overview, "/v1/queues/other/overview");
  // What comes late of the queue before is not shown.
  Apply(model, "/v1/queues/default/jobs?limit=100", R"({"jobs":[{"id":"7"}],"next":null})");
  EXPECT_FALSE(model.jobs);
}

TEST_F(KeysTest, SortsByOneColumnAfterTheOther) {
  Type(U"s");
  EXPECT_EQ(model.state().sort, 0);
  Type(U"r");
  EXPECT_EQ(model.state().selected, "103");
  EXPECT_EQ(model.state().at, 2u);
  for (int i = 0; i < 10; ++i) Type(U"s");
  EXPECT_EQ(model.state().sort, -1);
}

TEST_F(KeysTest, WhatTheServerRefusesIsSaid) {
  Apply(model, {.command = {.kind = CommandKind::kPauseJob, .queue = "default", .id = "103"},
                .error = allotter::Error{allotter::Code::kForbidden, "the token lacks the scope `operate`", ""}});
  EXPECT_THAT(Render(model, kSize).Row(23), HasSubstr("lacks the scope `operate`"));
  Type(U"5");
  Refuse(model, WatchedOf(model).table, {allotter::Code::kForbidden, "limits are not for you", ""});
  model.limits.reset();
  EXPECT_THAT(Render(model, kSize).Text(), HasSubstr("limits are not for you"));
}

TEST_F(KeysTest, WhatIsSaidGoesAfterAWhile) {
  model.Say("job 103 is paused");
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 1; i < kStatusTicks; ++i) Tick(model, kTestNow, begun);
  EXPECT_EQ(model.status, "job 103 is paused");
  Tick(model, kTestNow, begun);
  EXPECT_EQ(model.status, "");
}

TEST_F(KeysTest, ViewsThatAreNotOfTheProtocolChangeNothing) {
  Apply(model, WatchedOf(model).table, "[1,2");
  EXPECT_EQ(model.jobs->jobs.size(), 3u);
  EXPECT_TRUE(model.status_bad);
}

}  // namespace
}  // namespace allot::cli::top
