// SPDX-License-Identifier: Apache-2.0
#include "cli/text/limit_text.h"

#include <gtest/gtest.h>

namespace allot::cli {
namespace {

using std::chrono::milliseconds;

TEST(LimitText, RatesAreATokenCountAndAWindow) {
  struct Row {
    const char* text;
    double count;
    std::int64_t window_ms;
  };
  constexpr Row kRows[] = {{"10/60s", 10, 60'000}, {"10/m", 10, 60'000}, {"0.5/1s", 0.5, 1'000},
                           {"0/1s", 0, 1'000},     {"1/250ms", 1, 250},  {"3/1h30m", 3, 5'400'000},
                           {"7/2", 7, 2'000},      {"-1/1s", -1, 1'000}, {"1/0s", 1, 0}};
  for (const Row& row : kRows) {
    const std::optional<Rate> rate = ParseRate(row.text);
    ASSERT_TRUE(rate) << row.text;
    EXPECT_EQ(rate->count, row.count) << row.text;
    EXPECT_EQ(rate->window.count(), row.window_ms) << row.text;
  }
  for (const char* text : {"", "10", "10/", "/60s", "x/60s", "10/x", "10/60s/2", "inf/1s", "nan/1s", "1e999/1s",
                           " 1/1s", "1 /1s", "1/-1s"})
    EXPECT_FALSE(ParseRate(text)) << text;
}

TEST(LimitText, TheBarShowsDebtOnTheLeftAndTokensOnTheRight) {
  allotter::Limit limit;
  limit.spec.count = 10;
  limit.spec.window = milliseconds(60'000);
  const auto bar = [&](double burst, double tokens) {
    limit.spec.burst = burst;
    limit.tokens = tokens;
    return BucketBar(limit);
  };
  const auto times = [](std::size_t n, const std::string& what) {
    std::string out;
    while (n-- > 0) out += what;
    return out;
  };
  EXPECT_EQ(bar(0, 10), "│" + times(32, "█") + " 10");
  EXPECT_EQ(bar(0, 5), "│" + times(16, "█") + times(16, "░") + " 10");
  EXPECT_EQ(bar(0, 0.001), "│█" + times(31, "░") + " 10");
  EXPECT_EQ(bar(0, 0), "│" + times(32, "░") + " 10");
  EXPECT_EQ(bar(10, 10), "-10 " + times(16, "░") + "│" + times(16, "█") + " 10");
  EXPECT_EQ(bar(10, -5), "-10 " + times(8, "░") + times(8, "▒") + "│" + times(16, "░") + " 10");
  EXPECT_EQ(bar(10, -10), "-10 " + times(16, "▒") + "│" + times(16, "░") + " 10");
  EXPECT_EQ(bar(1e12, -1), "-1000000000000 " + times(30, "░") + "▒│░ 10");
  limit.spec.count = 0;
  EXPECT_EQ(bar(0, 0), "│ 0");
  EXPECT_EQ(bar(4, -1), "-4 " + times(24, "░") + times(8, "▒") + "│ 0");
}

TEST(LimitText, NumbersAreShort) {
  EXPECT_EQ(TokensText(10), "10");
  EXPECT_EQ(TokensText(-2.5), "-2.5");
  EXPECT_EQ(TokensText(10.0 / 3), "3.333");
  EXPECT_EQ(TokensText(-0.0001), "-0.0001") << "what is not 0 is not shown as 0";
  EXPECT_EQ(TokensText(0.000001), "0.000001");
  EXPECT_EQ(TokensText(-1e-9), "0");
  EXPECT_EQ(TokensText(1e12), "1000000000000");
}

TEST(LimitText, ShowsWhenTheNextStartCanBePaidOrThatItNeverCan) {
  allotter::Limit limit;
  limit.uuid = "u";
  limit.spec.tag = "agent";
  limit.spec.name = "evil\x1b[31m";
  limit.spec.expr = "true";
  limit.spec.count = 1;
  limit.spec.window = milliseconds(60'000);
  EXPECT_EQ(LimitText(limit, 0, {}).find("next start"), std::string::npos);
  limit.waiting = 2;
  limit.cheapest = 1;
  limit.payable_in_ms = 4'500;
  limit.ignored_users = {"ann", "bob\x1b[0m"};
  const std::string some = LimitText(limit, 0, {});
  EXPECT_NE(some.find("in 4.5s, at a cost of 1"), std::string::npos) << some;
  EXPECT_NE(some.find("2 groups of jobs"), std::string::npos) << some;
  EXPECT_EQ(some.find('\x1b'), std::string::npos);
  EXPECT_LT(some.find("bob"), some.find("ann"));  // the last one first
  limit.payable_in_ms.reset();
  limit.cheapest = 5;
  EXPECT_NE(LimitText(limit, 0, {}).find("never, at a cost of 5: that is more than count and burst together"),
            std::string::npos);
  limit.spec.count = 0;
  EXPECT_NE(LimitText(limit, 0, {}).find("never: its count is 0"), std::string::npos);
  limit.last_ignored_at_ms = 1'000;
  EXPECT_NE(LimitText(limit, 1'200, {}).find("  now\n"), std::string::npos) << LimitText(limit, 1'200, {});
  EXPECT_NE(LimitText(limit, 6'200, {}).find("  5s ago\n"), std::string::npos) << LimitText(limit, 6'200, {});
}

TEST(LimitText, DemandCountsWhatRunsAlsoWhereNothingWaits) {
  allotter::Demand demand;
  EXPECT_EQ(DemandText(demand, {}), "nothing waits\n");
  demand.running = 1'234;
  EXPECT_EQ(DemandText(demand, {}), "nothing waits, 1,234 running\n");
}

}  // namespace
}  // namespace allot::cli
