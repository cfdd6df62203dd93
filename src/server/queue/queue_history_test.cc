// SPDX-License-Identifier: Apache-2.0
#include "server/queue/queue_history.h"

#include <gtest/gtest.h>

#include "server/testing.h"
#include "server/testing_tokens.h"

namespace allot::testing {
namespace {

// An engine's counts, moved by hand.
class HistoryTest : public ::testing::Test {
 protected:
  // A moment of both clocks, `ms` after a start at 20 ms past a full minute.
  static Now At(std::int64_t ms) {
    return {Instant(std::chrono::duration_cast<Duration>(milliseconds(5000 + ms))), FromMillis(600'020 + ms)};
  }
  void Round(std::int64_t ms) {
    const Now now = At(ms);
    if (history_.Due(now)) history_.Advance(now, stats_);
  }
  static std::string Started(const QueueHistory::Series& series) {
    std::string out;
    for (const QueueHistory::Sample& sample : series.samples) out += std::to_string(sample.started) + " ";
    return out;
  }
  QueueHistory history_;
  EngineStats stats_;
};

TEST_F(HistoryTest, WhatARoundDidIsCountedInItsSecond) {
  stats_.granted = 100;  // before it began
  Round(0);
  stats_.granted += 3;
  Round(500);
  stats_.granted += 2;
  Round(980);  // the next second begins here
  EXPECT_EQ(Started(history_.Seconds()), "5 ");
  EXPECT_EQ(ToMillis(history_.Seconds().from), 600'000);
  stats_.granted += 7;
  Round(1979);
  EXPECT_EQ(Started(history_.Seconds()), "5 ");
  Round(1980);
  EXPECT_EQ(Started(history_.Seconds()), "5 7 ");
}

TEST_F(HistoryTest, AQueueThatSleptHasSecondsInWhichNothingHappened) {
  Round(0);
  stats_.granted = 4;
  stats_.tasks_queued = 9;
  stats_.oldest_waiting = JobId{1};
  stats_.oldest_waiting_since = FromMillis(600'000);
  Round(4000);
  const QueueHistory::Series series = history_.Seconds();
  EXPECT_EQ(Started(series), "4 0 0 0 ");
  EXPECT_EQ(series.samples[2].queued, 9u);
  EXPECT_EQ(series.samples[0].oldest_ms, 1000);
  EXPECT_EQ(series.samples[3].oldest_ms, 4000);
  EXPECT_EQ(ToMillis(series.from), 600'000);
}

TEST_F(HistoryTest, ItKeepsTenMinutesOfSecondsAndADayOfMinutes) {
  Round(0);
  constexpr std::int64_t kDays = 3 * 86'400'000ll;
  stats_.done = 5;
  Round(kDays);
  stats_.done += 2;
  Round(kDays + 1000);
  const QueueHistory::Series seconds = history_.Seconds();
  EXPECT_EQ(seconds.samples.size(), QueueHistory::kSeconds);
  EXPECT_EQ(seconds.samples.back().done, 2u);
  EXPECT_EQ(ToMillis(seconds.from), 600'000 + kDays + 1000 - 600'000);
  EXPECT_EQ(history_.Minutes().samples.size(), QueueHistory::kMinutes);
  Round(kDays + 60'000);
  const QueueHistory::Series minutes = history_.Minutes();
  EXPECT_EQ(minutes.samples.size(), QueueHistory::kMinutes);
  EXPECT_EQ(minutes.samples.back().done, 2u);
  EXPECT_EQ(minutes.step, milliseconds(60'000));
}

TEST_F(HistoryTest, RatesAreOfTheLastTenSeconds) {
  Round(0);
  EXPECT_EQ(history_.LastRates().done, 0);
  for (int i = 1; i <= 4; ++i) {
    stats_.done += 10;
    stats_.failed_attempts += 1;
    Round(i * 1000);
  }
  EXPECT_DOUBLE_EQ(history_.LastRates().done, 10);  // of those that there were
  Round(10'000);
  EXPECT_DOUBLE_EQ(history_.LastRates().done, 4);
  EXPECT_DOUBLE_EQ(history_.LastRates().failed, 0.4);
  Round(20'000);
  EXPECT_DOUBLE_EQ(history_.LastRates().done, 0);
}

TEST_F(HistoryTest, LimitsAreKeptWhileTheyAreThere) {
  const auto limit = [](const char* uuid, double tokens) { return QueueHistory::LimitLevel{uuid, tokens, 2}; };
  Round(0);
  ASSERT_TRUE(history_.LimitsDue(At(0)));
  history_.AdvanceLimits(At(0), {});
  EXPECT_FALSE(history_.NextLimits());  // none: nobody is woken
  history_.ExpectLimits();
  EXPECT_EQ(history_.NextLimits(), At(4980).mono);
  EXPECT_FALSE(history_.LimitsDue(At(4979)));
  const std::vector<QueueHistory::LimitLevel> both = {limit("a", 10), limit("b", 3.5)};
  history_.AdvanceLimits(At(4980), both);
  const std::vector<QueueHistory::LimitLevel> one = {limit("b", 1)};
  history_.AdvanceLimits(At(15'000), one);  // late by a step
  EXPECT_TRUE(history_.Limit("a").samples.empty());
  const QueueHistory::LimitSeries series = history_.Limit("b");
  ASSERT_EQ(series.samples.size(), 3u);
  EXPECT_EQ(series.samples[0].tokens, 3.5f);
  EXPECT_EQ(series.samples[1].tokens, 1.0f);
  EXPECT_EQ(series.samples[2].waiting, 2u);
  EXPECT_EQ(ToMillis(series.from), 600'000);
  for (int i = 1; i < 200; ++i) history_.AdvanceLimits(At(15'000 + i * 5000), one);
  EXPECT_EQ(history_.Limit("b").samples.size(), QueueHistory::kLimitSteps);
}

class OverviewTest : public ServerTest {
 protected:
  const std::string queue_ = "/v1/queues/default";
};

TEST_F(OverviewTest, AQueueTellsHowItStands) {
  HttpClient http = Http();
  WsClient worker = Worker();
  Greet(worker);
  Submit(http, R"({"tag":"t","count":3})");
  worker.Send(R"({"pull":2})");
  worker.ReadUntil("tasks");
  const Json overview = http.Get(queue_ + "/overview").json;
  EXPECT_EQ(overview["queue"]["name"].str(), "default");
  EXPECT_EQ(overview["queue"]["tasks"]["queued"].num(), 1);
  EXPECT_EQ(overview["workers"]["registered"].num(), 1);
  EXPECT_EQ(overview["workers"]["busy"].num(), 2);
  EXPECT_TRUE(overview["rates"]["started"].there());
  EXPECT_EQ(http.Get(queue_ + "/overview?x=1").code(), "unknown_field");
  EXPECT_EQ(http.Post(queue_ + "/overview").code(), "method_not_allowed");
}

TEST_F(OverviewTest, APausedQueueIsABanner) {
  HttpClient http = Http();
  http.Post(queue_ + "/pause");
  EXPECT_EQ(http.Get(queue_ + "/overview").json["banners"].text(),
            R"([{"level":"info","code":"queue_paused","message":"the queue is paused","hint":"allot queue resume"}])");
  Submit(http, R"({"tag":"t","count":1200})");
  const Json banner = http.Get(queue_ + "/overview").json["banners"][0];
  EXPECT_EQ(banner["level"].str(), "warning");
  EXPECT_EQ(banner["message"].str(), "the queue is paused, and 1,200 tasks wait");
}

TEST_F(OverviewTest, WhatHappenedIsInTheHistory) {
  HttpClient http = Http();
  Submit(http, R"({"tag":"t","count":5})");
  Json history;
  for (int i = 0; i < 300; ++i) {
    history = http.Get(queue_ + "/history").json;
    if (history["submitted"].size() > 1) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(history["step_ms"].num(), 1000);
  std::int64_t submitted = 0;
  for (std::size_t i = 0; i < history["submitted"].size(); ++i) submitted += history["submitted"][i].num();
  EXPECT_EQ(submitted, 5);
  EXPECT_EQ(history["queued"][history["queued"].size() - 1].num(), 5);
  EXPECT_EQ(http.Get(queue_ + "/history?step=minute").json["step_ms"].num(), 60'000);
  EXPECT_EQ(http.Get(queue_ + "/history?step=hour").code(), "bad_value");
}

TEST_F(OverviewTest, ALimitHasAHistory) {
  HttpClient http = Http();
  const Answer made =
      http.Post(queue_ + "/limits", R"({"tag":"x","expr":"true","count":10,"window_ms":1000,"expires_in_ms":60000})");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string path = queue_ + "/limits/" + made.json["uuid"].str() + "/history";
  EXPECT_EQ(http.Get(path).json["step_ms"].num(), 5000);
  EXPECT_EQ(http.Get(queue_ + "/limits/none/history").code(), "unknown_limit");
}

TEST_F(OverviewTest, AnOverviewIsWatched) {
  HttpClient http = Http();
  HttpClient watcher = Http();
  watcher.Watch(queue_ + "/overview");
  EXPECT_EQ(watcher.NextEvent().second["banners"].size(), 0u);
  http.Post(queue_ + "/pause");
  EXPECT_EQ(watcher.NextEvent().second["banners"].size(), 1u);
}

TEST_F(OverviewTest, ATokenNeedsToRead) {
  Stop();
  const std::string submit = MakeToken(config_, "submit", {Scope::kSubmit});
  const std::string ann = MakeToken(config_, "ann", {Scope::kRead}, "ann");
  Start();
  HttpClient http = Http();
  http.token = submit;
  EXPECT_EQ(http.Get(queue_ + "/overview").status, 403);
  EXPECT_EQ(http.Get(queue_ + "/history").status, 403);
  http.token = ann;
  EXPECT_EQ(http.Get(queue_ + "/overview").status, 200);
  EXPECT_EQ(http.Get(queue_ + "/limits/x/history").status, 403);
}

}  // namespace
}  // namespace allot::testing
