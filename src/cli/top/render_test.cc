// SPDX-License-Identifier: Apache-2.0
#include "cli/top/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/top/tables.h"
#include "cli/top/testing.h"

namespace allot::cli::top {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Screen(Model model, Size size) {
  Settle(model, size);
  return Render(model, size).Text();
}

int RowOf(const Grid& grid, std::string_view part) {
  for (int row = 0; row < grid.height(); ++row) {
    if (grid.Row(row).find(part) != std::string::npos) return row;
  }
  return -1;
}

class RenderTest : public ::testing::Test {
  void SetUp() override { UseUtf8(); }
};

TEST_F(RenderTest, ShowsTheQueueIn80By24) {
  const std::string screen = Screen(TestModel(), {80, 24});
  for (const char* part : {"allot top  queue default",
                           "http://127.0.0.1:7420",
                           "live",
                           "10.0/s ▂▃▄▅▆▇█",
                           "1,200",
                           "retrying",
                           "oldest waits",
                           "2m 05s",
                           "11/16",
                           "4 1 away",
                           "11  ",
                           "! no worker can run 1 job",
                           " 1 Jobs ",
                           "103",
                           "active",
                           "ann",
                           "render",
                           "50%",
                           "50.0/s",
                           "10s",
                           "q quit"}) {
    EXPECT_THAT(screen, HasSubstr(part));
  }
}

TEST_F(RenderTest, WideHasAllColumns) {
  const std::string screen = Screen(TestModel(), {140, 40});
  for (const char* part : {"ID", "STATE", "USER", "TAGS", "TASKS", "PROGRESS", "RATE", "LEFT", "WAIT REASON",
                           "all busy 1m 05s", "job paused", "submitted", "failed jobs"}) {
    EXPECT_THAT(screen, HasSubstr(part));
  }
}

TEST_F(RenderTest, SmallHasWhatMattersMost) {
  const std::string screen = Screen(TestModel(), {40, 12});
  for (const char* part : {"allot top", "done 10.0/s", "queued 1,200", "1 Jobs", "103", "PROGRESS", "active"})
    EXPECT_THAT(screen, HasSubstr(part));
  EXPECT_THAT(screen, Not(HasSubstr("WAIT REASON")));
}

// Every tab, overlay and state of mind, on every screen: it is what Render() says it is, and nothing falls over.
TEST_F(RenderTest, NoSizeIsTooStrange) {
  for (const bool unicode : {true, false}) {
    for (const int width : {1, 2, 7, 20, 40, 79, 80, 200, 400}) {
      for (const int height : {1, 2, 3, 5, 8, 12, 24, 100}) {
        for (std::size_t tab = 0; tab < kTabs; ++tab) {
          for (const Overlay overlay :
               {Overlay::kNone, Overlay::kHelp, Overlay::kJob, Overlay::kWorker, Overlay::kQueues}) {
            Model model = TestModel();
            model.unicode = unicode;
            model.tab = static_cast<Tab>(tab);
            model.overlay = overlay;
            model.worker = model.workers->workers[0];
            Settle(model, {width, height});
            const Grid grid = Render(model, {width, height});
            ASSERT_EQ(grid.width(), width);
            ASSERT_EQ(grid.height(), height);
            if (unicode) continue;
            for (const char c : grid.Text()) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7F)) << int(c);
          }
        }
      }
    }
  }
}

TEST_F(RenderTest, IdsAreNeverCut) {
  Model model = TestModel();
  model.jobs->jobs[0].id = "380711418204258304";
  for (const int width : {30, 40, 60, 80, 200}) {
    EXPECT_THAT(Screen(model, {width, 16}), HasSubstr("380711418204258304")) << width;
  }
}

TEST_F(RenderTest, EveryTabShowsItsOwn) {
  Model model = TestModel();
  const auto shows = [&](Tab tab, std::initializer_list<const char*> parts) {
    model.tab = tab;
    const std::string screen = Screen(model, {160, 30});
    for (const char* part : parts) EXPECT_THAT(screen, HasSubstr(part));
  };
  shows(Tab::kWorkers, {"host-1", "connected", "3/4", "draining", "PROMISED", "12", "priority"});
  shows(Tab::kReasons, {"all busy", "1,204", "ask the operator", "no match", "1m 05s", "start", "gpu,big"});
  model.overview->reasons[0].limits = {{"u-1", "agent", "slow", 1000}, {"u-2", "agent", "", 204}};
  shows(Tab::kReasons, {"limit slow, …", "gpu,big"});
  model.overview->reasons[0].limits.clear();
  model.overview->reasons[0].ceilings = {{"policy", "user", "\"ann\"", 2, 2, 1204}};
  shows(Tab::kReasons, {"user=\"ann\": 2 of 2"});
  shows(Tab::kUsers, {"ann", "25%", "75%", "1,000"});
  shows(Tab::kLimits, {"ann, slowly (agent-7)", "10/1m", "2.5", "3s", "MY.User == \"ann\""});
}

TEST_F(RenderTest, BarsAreAsLongAsTheirPartsSay) {
  struct Row {
    std::vector<double> parts;
    int columns;
    const char* want;
  };
  const Row rows[] = {
      {{5, 0, 0, 5}, 10, "█████░░░░░"}, {{999, 1, 0, 0}, 10, "█████████▓"},
      {{1, 1, 1, 1e9}, 5, "█▓▒░░"},     {{0, 0, 0, 0}, 5, ""},
      {{1, 0, 0, 0}, 3, "███"},         {{1, 1, 1, 1}, 2, "▒░"},
  };
  for (const Row& row : rows) {
    Field field;
    constexpr const char* kGlyphs[] = {"█", "▓", "▒", "░"};
    for (std::size_t i = 0; i < 4; ++i) field.bar.push_back({row.parts[i], kGlyphs[i], {}});
    Grid grid(20, 1, true);
    PutBar(grid, 0, 0, row.columns, field, {});
    EXPECT_EQ(ColumnsOf(grid.Row(0), true), ColumnsOf(row.want, true));
    if (row.columns > 2) {
      EXPECT_EQ(grid.Row(0), row.want);
    }
  }
}

TEST_F(RenderTest, SparklinesEndWithTheNewest) {
  EXPECT_EQ(Sparkline({}, 8), "");
  EXPECT_EQ(Sparkline({0, 0}, 8), "▁▁");
  EXPECT_EQ(Sparkline({9, 9, 9, 0, 7}, 2), "▁█");
  EXPECT_EQ(Sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 8), "▁▂▃▄▅▆▇█");
}

TEST_F(RenderTest, SortsByWhatIsChosen) {
  Model model = TestModel();
  const auto order = [&](int sort, bool reverse) {
    model.state().sort = sort;
    model.state().reverse = reverse;
    std::string ids;
    for (const Line& line : BuildTable(model).lines) ids += line.id + " ";
    return ids;
  };
  EXPECT_EQ(order(-1, false), "103 102 101 ");
  EXPECT_EQ(order(-1, true), "101 102 103 ");
  EXPECT_EQ(order(0, true), "101 102 103 ");   // id
  EXPECT_EQ(order(1, false), "103 102 101 ");  // state: active done paused
  EXPECT_EQ(order(5, false), "102 103 101 ");  // progress, the furthest first
  EXPECT_EQ(order(5, true), "101 103 102 ");
  model.state().sort = 5;
  EXPECT_THAT(Screen(model, {140, 30}), HasSubstr("PROGRESS▲"));
}

TEST_F(RenderTest, FiltersByFieldsAndWords) {
  Model model = TestModel();
  const auto found = [&](std::string_view text) {
    model.state().filter = ParseFilter(text);
    std::string ids;
    for (const Line& line : BuildTable(model).lines) ids += line.id + " ";
    return ids;
  };
  EXPECT_EQ(found(""), "103 102 101 ");
  EXPECT_EQ(found("state:active"), "103 ");
  EXPECT_EQ(found("tag:big"), "101 ");
  EXPECT_EQ(found("tag:big tag:gpu"), "101 ");
  EXPECT_EQ(found("tag:big user:ann"), "");
  EXPECT_EQ(found("user:bob"), "102 ");
  EXPECT_EQ(found("BUSY"), "103 ");
  EXPECT_EQ(found("busy mail"), "");
  EXPECT_EQ(found("10"), "103 102 101 ");
  EXPECT_EQ(found("state:"), "");  // a word like any other
  EXPECT_THAT(Screen(model, {80, 24}), HasSubstr("none that the filter finds"));
}

TEST_F(RenderTest, WhatIsChosenStaysChosenAndInSight) {
  Model model = TestModel();
  for (int i = 0; i < 90; ++i) model.jobs->jobs.push_back(TestJob(std::to_string(99 - i), "active", "", {}));
  Settle(model, {80, 24});
  EXPECT_EQ(model.state().selected, "103");
  model.state().selected = "20";
  Settle(model, {80, 24});
  Grid grid = Render(model, {80, 24});
  const int row = RowOf(grid, "20     active");
  ASSERT_GT(row, 0);
  EXPECT_TRUE(grid.At(row, 0).look.reverse);
  // A job that came moves it; one that is gone leaves its place to the next.
  model.jobs->jobs.insert(model.jobs->jobs.begin(), TestJob("104", "active", "", {}));
  Settle(model, {80, 24});
  EXPECT_EQ(model.state().selected, "20");
  std::erase_if(model.jobs->jobs, [](const allotter::Job& job) { return job.id == "20"; });
  Settle(model, {80, 24});
  EXPECT_EQ(model.state().selected, "19");
}

TEST_F(RenderTest, ALostConnectionDimsWhatIsOld) {
  Model model = TestModel();
  model.connection = Connection::kLost;
  model.lost_why = "cannot reach the server";
  model.Say("job 103 is paused");
  Settle(model, {80, 24});
  const Grid grid = Render(model, {80, 24});
  EXPECT_THAT(grid.Row(0), HasSubstr("no connection"));
  EXPECT_THAT(grid.Row(23), HasSubstr("cannot reach the server; trying again"));
  const int row = RowOf(grid, "103");
  ASSERT_GT(row, 0);
  EXPECT_TRUE(grid.At(row, 2).look.dim);
}

TEST_F(RenderTest, HostileNamesStayTextEverywhere) {
  Model model = TestModel();
  const std::string evil = "\x1b[2J\x1b]0;owned\x07\u202Eevil\n\r\tx";
  model.jobs->jobs[0].user = model.jobs->jobs[0].tags[0] = model.jobs->jobs[0].wait_reason->code = evil;
  model.workers->workers[0].name = model.workers->workers[0].strategy = evil;
  model.users->users[0].user = evil;
  (*model.limits)[0].spec.name = evil;
  model.overview->banners[0].message = model.overview->reasons[0].code = evil;
  model.queues[0].name = model.overview->queue.name = model.queue = evil;
  model.explanation.emplace().verdict.message = evil;
  model.worker = model.workers->workers[0];
  model.status = evil;
  for (std::size_t tab = 0; tab < kTabs; ++tab) {
    for (const Overlay overlay : {Overlay::kNone, Overlay::kJob, Overlay::kWorker, Overlay::kQueues}) {
      model.tab = static_cast<Tab>(tab);
      model.overlay = overlay;
      Settle(model, {160, 40});
      const Grid grid = Render(model, {160, 40});
      for (int row = 0; row < grid.height(); ++row) {
        for (int column = 0; column < grid.width(); ++column) {
          for (const char32_t c : grid.At(row, column).text)
            ASSERT_TRUE(c >= 0x20 && !(c >= 0x7F && c < 0xA0) && c != 0x202E) << row << " " << column;
        }
      }
    }
  }
}

TEST_F(RenderTest, ExplainsAndScrolls) {
  Model model = TestModel();
  model.overlay = Overlay::kJob;
  model.overlay_id = "103";
  EXPECT_THAT(Screen(model, {80, 24}), HasSubstr("…"));
  allotter::Explanation& e = model.explanation.emplace();
  e.job = "103";
  e.state = "active";
  e.queued = 5;
  e.verdict = {"wait", "all_busy", "workers could run it, and none has a free slot", "wait", kTestNow - 65'000};
  e.reasons = {e.verdict};
  e.funnel = {{"total", 4}, {"available", 4}, {"tags", 3}, {"free_slot", 0}};
  e.workers = 4;
  allotter::OrderPlace& order = e.order.emplace();
  order.place = 12;
  order.strategy = "priority";
  order.policy = "fair(user, worker)";
  order.workers = 3;
  order.first_job = "90";
  order.first_user = "bob";
  order.first_why = {"shares between users: bob has 0 running tasks"};
  const std::string screen = Screen(model, {80, 40});
  for (const char* part : {" job 103 ", "verdict: workers could run it", "with its tags", "   12  this one",
                           "1  job 90 of bob", "bob has 0 running tasks"}) {
    EXPECT_THAT(screen, HasSubstr(part));
  }
  model.overlay_top = 1000;
  Settle(model, {80, 16});
  EXPECT_LT(model.overlay_top, 100u);
  EXPECT_THAT(Render(model, {80, 16}).Text(), HasSubstr("bob has 0 running tasks"));
}

}  // namespace
}  // namespace allot::cli::top
