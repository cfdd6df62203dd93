// SPDX-License-Identifier: Apache-2.0
// docs/reference/limits.md and demand.md: what they draw and count is what a bucket does, and they quote the bounds.
//
// Blocks are told apart by the word after their fence. `draws RATE burst B cap C`: below a line of headings, one line
// for each moment, with the bar of the level before, the level, how many draws if more than one, the cost of each, the
// answer to all of them and the level left. `payable RATE`: an emptied bucket; a horizon and what it pays in it.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/bounds.h"
#include "base/testing/page.h"
#include "base/text.h"
#include "limits/bucket.h"

namespace allot {
namespace {

using std::chrono::seconds;

using testing::Block;
using testing::Page;
using testing::ReadPage;
using testing::Words;
bool Is(const Block& block, const char* mark) { return !block.marks.empty() && block.marks[0] == mark; }

// `1/60s burst 2 cap 2`
BucketTerms TermsOf(const std::vector<std::string>& marks) {
  BucketTerms terms;
  std::smatch rate;
  static const std::regex kRate("(\\d+)/(\\d+)s");
  EXPECT_TRUE(marks.size() >= 2 && std::regex_match(marks[1], rate, kRate));
  if (rate.empty()) return terms;
  terms.count = Tokens::Of(std::stod(rate[1]));
  terms.window = seconds(std::stol(rate[2]));
  for (std::size_t i = 2; i + 1 < marks.size(); i += 2) {
    EXPECT_TRUE(marks[i] == "burst" || marks[i] == "cap") << marks[i];
    (marks[i] == "burst" ? terms.burst : terms.max_burst_cost) = Tokens::Of(std::stod(marks[i + 1]));
  }
  return terms;
}

std::string Number(double tokens) {
  std::string text = fmt::format("{:.3f}", tokens);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// Of 24 columns; whatever there is, has one.
std::string Bar(const BucketTerms& terms, double level) {
  const double count = terms.count.number(), burst = terms.burst.number();
  const long below = std::lround(24 * burst / (count + burst)), above = 24 - below;
  const auto columns = [](double part, double whole, long all) {
    return part <= 0 ? 0L : std::clamp(std::lround(part / whole * static_cast<double>(all)), 1L, all);
  };
  const long owed = columns(-level, burst, below), had = columns(level, count, above);
  std::string bar;
  for (long i = 0; i < below; ++i) bar += i < below - owed ? "░" : "▒";
  bar += "│";
  for (long i = 0; i < above; ++i) bar += i < had ? "█" : "░";
  return bar;
}

Instant At(const std::string& at) { return Instant(std::chrono::microseconds(std::llround(std::stod(at) * 1e6))); }

TEST(LimitsPage, EveryDrawIsAsDrawn) {
  int tables = 0, draws = 0;
  for (const Block& block : ReadPage("docs/reference/limits.md").blocks) {
    if (!Is(block, "draws")) continue;
    ++tables;
    const BucketTerms terms = TermsOf(block.marks);
    Bucket bucket(terms, At("0"));
    for (std::size_t i = 1; i < block.lines.size(); ++i) {
      const std::string& line = block.lines[i];
      std::vector<std::string> words = Words(line);
      int times = 1;
      if (words.size() == 8) {  // ×15
        ASSERT_EQ(words[4].rfind("×", 0), 0u) << line;
        times = std::stoi(words[4].substr(std::string("×").size()));
        words.erase(words.begin() + 4);
      }
      ASSERT_EQ(words.size(), 7u) << line;
      ASSERT_EQ(words[1], "s") << line;
      const Instant now = At(words[0]);
      EXPECT_EQ(words[2], Bar(terms, bucket.Level(now))) << line;
      EXPECT_EQ(words[3], Number(bucket.Level(now))) << line;
      const Tokens cost = Tokens::Of(std::stod(words[4]));
      ASSERT_TRUE(words[5] == "allowed" || words[5] == "denied") << line;
      for (int n = 0; n < times; ++n, ++draws) {
        const bool allowed = bucket.CanPay(cost, now);
        ASSERT_EQ(allowed, words[5] == "allowed") << line << ", draw " << n + 1;
        if (allowed) bucket.Draw(cost, now);
      }
      EXPECT_EQ(words[6], Number(bucket.Level(now))) << line;
    }
  }
  EXPECT_EQ(tables, 2);
  EXPECT_GT(draws, 40);
}

TEST(LimitsPage, WhatAnEmptiedBucketPaysIsAsCounted) {
  int count = 0;
  for (const Block& block : ReadPage("docs/reference/demand.md").blocks) {
    if (!Is(block, "payable")) continue;
    Bucket bucket(TermsOf(block.marks), At("0"));
    while (bucket.CanPay(Tokens::Of(1.0), At("0"))) bucket.Draw(Tokens::Of(1.0), At("0"));
    for (const std::string& line : block.lines) {
      std::smatch match;
      ASSERT_TRUE(std::regex_match(line, match, std::regex("within +(\\d+) s +(\\d+)( .*)?"))) << line;
      EXPECT_EQ(bucket.PayableWithin(seconds(std::stol(match[1])), Tokens::Of(1.0), At("0")), std::stoul(match[2]))
          << line;
      ++count;
    }
  }
  EXPECT_GE(count, 3);
}

TEST(LimitsPage, QuotesTheBounds) {
  using std::chrono::duration_cast, std::chrono::hours, std::chrono::minutes;
  const auto days = [](Duration time) { return std::to_string(duration_cast<hours>(time).count() / 24) + " days"; };
  const std::map<std::string, std::string> bounds = {
      {"kMaxLimits", FormatCount(bounds::kMaxLimits)},
      {"kMaxLimitTokens", FormatCount(bounds::kMaxLimitTokens)},
      {"kMaxLimitWindow", days(bounds::kMaxLimitWindow)},
      {"kDefaultMaxLimitExpiration",
       std::to_string(duration_cast<minutes>(bounds::kDefaultMaxLimitExpiration).count()) + " min"},
      {"kMaxLimitExpiration", std::to_string(duration_cast<hours>(bounds::kMaxLimitExpiration).count()) + " h"},
      {"kMaxIgnoredUsers", FormatCount(bounds::kMaxIgnoredUsers)},
      {"kDefaultBanWindow",
       std::to_string(duration_cast<std::chrono::seconds>(bounds::kDefaultBanWindow).count()) + " s"},
      {"kMaxDemandRows", FormatCount(bounds::kMaxDemandRows)},
  };
  std::map<std::string, std::string> quoted;
  static const std::regex kRow("^\\| `(k\\w+)`.*\\| ([^|]*) \\|$");
  for (const char* path : {"docs/reference/limits.md", "docs/reference/demand.md"}) {
    for (const std::string& line : ReadPage(path).prose) {
      std::smatch match;
      if (std::regex_match(line, match, kRow)) quoted[match[1]] = match[2];
    }
  }
  EXPECT_EQ(quoted, bounds);
}

}  // namespace
}  // namespace allot
