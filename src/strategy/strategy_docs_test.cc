// SPDX-License-Identifier: Apache-2.0
// docs/reference/strategies.md: every strategy in it parses, and every order that it draws is what a naive reading of
// its rules gives.
//
// Blocks are told apart by the word after their fence: `strategy` and `policy` (one text a line), `order` (a text and
// the tasks it gives), `backlog`, `words`, `error`. Beside them, whatever stands in back quotes and begins as a block
// does, and whatever follows --policy or --strategy.
#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "base/bounds.h"
#include "base/testing/page.h"
#include "base/text.h"
#include "strategy/preview.h"
#include "strategy/strategy.h"
#include "strategy/testing.h"

namespace allot {
namespace {

using testing::Block;
using testing::Page;
using testing::Words;

Page ReadPage() {
  Page page = testing::ReadPage("docs/reference/strategies.md");
  EXPECT_GT(page.blocks.size(), 20u);
  return page;
}

std::vector<std::string> InBackQuotes(const std::string& line) {
  std::vector<std::string> found;
  static const std::regex quoted("`([^`]+)`");
  for (std::sregex_iterator i(line.begin(), line.end(), quoted), end; i != end; ++i) found.push_back((*i)[1]);
  return found;
}

StrategyPtr ParseEither(const std::string& text) {
  return testing::MustParseStrategy(text, std::regex_search(text, std::regex("\\bworker\\b")));
}

// The page's backlog, and what a naive look at it gives.
struct PageJob : PickJob {
  std::string name, user, mode;
  std::size_t tasks = 0;
};
class Model : public JobKeys {
 public:
  explicit Model(const Block& backlog) {
    const std::vector<std::string> columns = Words(backlog.lines.at(0));
    for (std::size_t i = 1; i < backlog.lines.size(); ++i) {
      const std::vector<std::string> cells = Words(backlog.lines[i]);
      PageJob job;
      job.key.id = JobId{i};
      job.submitted_at = job.key.scheduled_for = FromMillis(++now_);
      for (std::size_t c = 0; c < cells.size(); ++c) {
        const std::string& column = columns.at(c);
        if (column == "job") job.name = cells[c];
        if (column == "user") job.user = cells[c];
        if (column == "mode") job.mode = cells[c];
        if (column == "tasks") job.tasks = std::stoul(cells[c]);
        if (column == "priority" && cells[c] != "-") {
          job.key.no_priority = false;
          job.key.priority = std::stoll(cells[c]);
        }
      }
      job.queued = static_cast<std::uint32_t>(job.tasks);
      jobs_.push_back(job);
    }
  }
  GroupText Get(const PickJob& job, const StrategyKey& key) const override {
    return "s" + (key.name == "user" ? static_cast<const PageJob&>(job).user : static_cast<const PageJob&>(job).mode);
  }
  bool HasTag(const PickJob&, const std::string&) const override { return false; }

  Weights weights;      // `user.ann`
  bool goes_on = true;  // what was picked goes on running

  // The name of the task, or `·` if it gives none while there are any, or nothing if all are gone.
  std::string Pick(const StrategyPtr& strategy) {
    Preview naive({nullptr, strategy, weights, 8});
    for (PageJob& job : jobs_) {
      job.open = job.queued > 0;
      naive.Know(*this, job, 0);
    }
    if (naive.jobs() == 0) return "";
    bool random = false;
    const std::vector<JobId> allowed = naive.Allowed(random);
    EXPECT_FALSE(random);
    if (allowed.empty()) return "·";
    PageJob& job = jobs_.at(allowed.at(0).value - 1);
    ++now_;
    job.picked = Stamp{now_, static_cast<std::uint64_t>(now_)};
    if (goes_on) ++job.running;
    return job.name + std::to_string(job.tasks - job.queued--);
  }

 private:
  std::vector<PageJob> jobs_;
  std::int64_t now_ = 0;
};

TEST(StrategiesPage, EveryStrategyParses) {
  const Page page = ReadPage();
  int count = 0;
  for (const Block& block : page.blocks) {
    const std::string mark = block.marks.empty() ? "" : block.marks[0];
    if (mark != "strategy" && mark != "policy") continue;
    for (const std::string& line : block.lines) {
      const StrategyPtr strategy = testing::MustParseStrategy(line, mark == "policy");
      ASSERT_NE(strategy, nullptr) << line;
      EXPECT_FALSE(DescribeStrategy(*strategy).empty());
      ++count;
    }
  }
  static const std::regex call("^(select_only|prefer_distinct|max_simultaneous|fair|or_else) *\\(");
  static const std::regex flag("--(strategy|policy) '?([^' ][^']*[^' ])'?");
  for (const std::string& line : page.prose) {
    for (const std::string& text : InBackQuotes(line)) {
      std::smatch match;
      if (std::regex_search(text, call)) {
        ASSERT_NE(ParseEither(text), nullptr) << line;
        ++count;
      } else if (std::regex_search(text, match, flag)) {
        ASSERT_NE(testing::MustParseStrategy(match[2], match[1] == "policy"), nullptr) << line;
        ++count;
      }
    }
  }
  EXPECT_GT(count, 30);
}

TEST(StrategiesPage, EveryOrderIsAsDrawn) {
  const Page page = ReadPage();
  const auto backlog =
      std::find_if(page.blocks.begin(), page.blocks.end(), [](const Block& b) { return b.marks[0] == "backlog"; });
  ASSERT_NE(backlog, page.blocks.end());
  int count = 0;
  for (const Block& block : page.blocks) {
    if (block.marks[0] != "order") continue;
    for (const std::string& line : block.lines) {
      const std::size_t gap = line.find("  ");
      ASSERT_NE(gap, std::string::npos) << line;
      const StrategyPtr strategy = testing::MustParseStrategy(line.substr(0, gap), false);
      ASSERT_NE(strategy, nullptr);
      Model model(*backlog);
      model.goes_on = std::find(block.marks.begin(), block.marks.end(), "done") == block.marks.end();
      if (block.marks.size() > 2 && block.marks[1] == "weights") {
        const std::string& weight = block.marks[2];
        model.weights[weight.substr(0, weight.find('='))] =
            static_cast<std::uint32_t>(std::stoul(weight.substr(weight.find('=') + 1)));
      }
      std::vector<std::string> got;
      for (std::string task = model.Pick(strategy); !task.empty(); task = model.Pick(strategy)) {
        got.push_back(task);
        if (task == "·") break;
      }
      EXPECT_EQ(got, Words(line.substr(gap))) << line;
      ++count;
    }
  }
  EXPECT_GT(count, 15);
}

TEST(StrategiesPage, EveryJsonIsThatOfItsText) {
  const auto minified = [](const std::string& json) {
    std::string out(json.size(), '\0');
    std::size_t length = 0;
    EXPECT_EQ(simdjson::minify(json.data(), json.size(), out.data(), length), simdjson::SUCCESS);
    return out.substr(0, length);
  };
  int count = 0;
  for (const std::string& line : ReadPage().prose) {
    const std::vector<std::string> cells = InBackQuotes(line);
    if (line.rfind("| `", 0) != 0 || cells.size() != 2 || (cells[1][0] != '{' && cells[1][0] != '"')) continue;
    const StrategyPtr strategy = ParseEither(cells[0]);
    ASSERT_NE(strategy, nullptr) << line;
    std::string json;
    AppendStrategyJson(*strategy, json);
    EXPECT_EQ(json, minified(cells[1]));
    ++count;
  }
  EXPECT_EQ(count, 8);
}

TEST(StrategiesPage, WordsAndErrorsAreAsShown) {
  int words = 0, errors = 0;
  for (const Block& block : ReadPage().blocks) {
    std::string shown;
    for (std::size_t i = 1; i < block.lines.size(); ++i) shown += block.lines[i] + "\n";
    if (block.marks[0] == "words") {
      const StrategyPtr strategy = ParseEither(block.lines[0]);
      ASSERT_NE(strategy, nullptr);
      EXPECT_EQ(DescribeStrategy(*strategy), shown);
      ++words;
    }
    if (block.marks[0] == "error") {
      const std::string label = "strategy: ";
      ASSERT_EQ(block.lines[0].rfind(label, 0), 0u);
      const std::string text = block.lines[0].substr(label.size());
      const ParsedStrategy parsed = ParseStrategy(text);
      EXPECT_EQ(parsed.strategy, nullptr);
      EXPECT_EQ(expr::PointAt("strategy", text, parsed.error) + "\n", block.lines[0] + "\n" + shown);
      ++errors;
    }
  }
  EXPECT_EQ(words, 1);
  EXPECT_EQ(errors, 3);
}

TEST(StrategiesPage, QuotesTheBounds) {
  const std::map<std::string, std::string> bounds = {
      {"kMaxStrategyBytes", std::to_string(bounds::kMaxStrategyBytes / 1024) + " KiB"},
      {"kMaxStrategyNodes", std::to_string(bounds::kMaxStrategyNodes)},
      {"kMaxStrategyDepth", std::to_string(bounds::kMaxStrategyDepth)},
      {"kMaxStrategies", std::to_string(bounds::kMaxStrategies)},
      {"kMaxStrategyBlocks", FormatCount(bounds::kMaxStrategyBlocks)},
      {"kMaxNamedStrategies", std::to_string(bounds::kMaxNamedStrategies)},
      {"kMaxWeights", FormatCount(bounds::kMaxWeights)},
      {"kMaxWeight", FormatCount(bounds::kMaxWeight)},
  };
  std::map<std::string, std::string> quoted;
  static const std::regex row("^\\| `(kMax\\w+)`.*\\| ([^|]*) \\|$");
  for (const std::string& line : ReadPage().prose) {
    std::smatch match;
    if (std::regex_match(line, match, row)) quoted[match[1]] = match[2];
  }
  EXPECT_EQ(quoted, bounds);
}

}  // namespace
}  // namespace allot
