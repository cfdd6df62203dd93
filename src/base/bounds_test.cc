// SPDX-License-Identifier: Apache-2.0
// The protocol page quotes bounds and error codes: here they are compared with the code, both ways.
#include "base/bounds.h"

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/result.h"

namespace allot {
namespace {

std::string ReadFile(const std::string& below_root) {
  std::ifstream in(below_root);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << below_root;
  return text.str();
}

// The rows of the first table below `heading`, each as its cells.
std::vector<std::vector<std::string>> Table(const std::string& page, const std::string& heading) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream in(page.substr(page.find("\n" + heading + "\n") + 1));
  std::string line;
  bool inside = false;
  while (std::getline(in, line)) {
    if (!inside && !line.starts_with('|')) continue;
    if (inside && !line.starts_with('|')) break;
    inside = true;
    std::vector<std::string> cells;
    std::istringstream cut(line.substr(1));
    for (std::string cell; std::getline(cut, cell, '|');) cells.push_back(cell);
    rows.push_back(cells);
  }
  EXPECT_GT(rows.size(), 2u) << heading;
  rows.erase(rows.begin(), rows.begin() + 2);
  return rows;
}

std::vector<std::string> Matches(const std::string& text, const std::string& pattern) {
  std::vector<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end; ++i) found.push_back((*i)[1]);
  return found;
}

// `16 KiB / 16 MiB` → 16384, 16777216; durations in microseconds.
std::vector<std::uint64_t> Values(const std::string& cell) {
  const std::map<std::string, std::uint64_t> units = {
      {"", 1},
      {"KiB", 1024},
      {"MiB", 1024 * 1024},
      {"s", 1'000'000},
      {"min", 60'000'000},
      {"h", 3'600'000'000},
      {"days", 86'400'000'000},
  };
  std::vector<std::uint64_t> values;
  const std::regex regex("([0-9][0-9,]*)(?: (KiB|MiB|s|min|h|days)\\b)?");
  for (std::sregex_iterator i(cell.begin(), cell.end(), regex), end; i != end; ++i) {
    std::string digits = (*i)[1];
    std::erase(digits, ',');
    values.push_back(std::stoull(digits) * units.at((*i)[2]));
  }
  return values;
}

std::uint64_t AsNumber(std::uint64_t value) { return value; }
std::uint64_t AsNumber(Duration value) { return static_cast<std::uint64_t>(value.count()); }

#define BOUND(name) \
  { #name, AsNumber(bounds::name) }
const std::map<std::string, std::uint64_t>& InCode() {
  static const std::map<std::string, std::uint64_t> all = {
      BOUND(kMaxQueues),
      BOUND(kMaxTasksPerJob),
      BOUND(kMaxJobsPerQueue),
      BOUND(kMaxFinishedJobs),
      BOUND(kMaxTagsPerJob),
      BOUND(kMaxTagsPerWorker),
      BOUND(kMaxTagBytes),
      BOUND(kMaxNameBytes),
      BOUND(kMaxUserBytes),
      BOUND(kMaxMetaPairs),
      BOUND(kMaxMetaKeyBytes),
      BOUND(kMaxMetaValueBytes),
      BOUND(kMaxIdempotencyKeyBytes),
      BOUND(kMaxPayloadPrefixBytes),
      BOUND(kMaxTraceBytes),
      BOUND(kMaxAttempts),
      BOUND(kMinLease),
      BOUND(kMaxLease),
      BOUND(kMaxTimeout),
      BOUND(kMaxBackoff),
      BOUND(kMaxRetention),
      BOUND(kMaxDelay),
      BOUND(kMaxClasses),
      BOUND(kDefaultMaxPropertyKeys),
      BOUND(kMaxPropertyKeys),
      BOUND(kMaxPropertyKeyBytes),
      BOUND(kMaxPropertyValueBytes),
      BOUND(kMaxAlternatives),
      BOUND(kMaxAttributePairs),
      BOUND(kMinMemoryBudget),
      BOUND(kMaxExpressionBytes),
      BOUND(kMaxExpressionDepth),
      BOUND(kMaxExpressionNodes),
      BOUND(kMaxEvaluationSteps),
      BOUND(kMaxEvaluationBytes),
      BOUND(kMaxPatternBytes),
      BOUND(kMaxStrategyBytes),
      BOUND(kMaxStrategyNodes),
      BOUND(kMaxStrategyDepth),
      BOUND(kMaxStrategies),
      BOUND(kMaxStrategyBlocks),
      BOUND(kMaxNamedStrategies),
      BOUND(kMaxWeights),
      BOUND(kMaxWeight),
      BOUND(kMaxLimits),
      BOUND(kMaxLimitTokens),
      BOUND(kMaxLimitWindow),
      BOUND(kDefaultMaxLimitExpiration),
      BOUND(kMaxLimitExpiration),
      BOUND(kMaxIgnoredUsers),
      BOUND(kDefaultBanWindow),
      BOUND(kDefaultLookahead),
      BOUND(kMaxDemandWindow),
      BOUND(kMaxDemandRows),
      BOUND(kMaxWorkers),
      BOUND(kMaxSlots),
      BOUND(kMaxCredit),
      BOUND(kMaxWorkerGrace),
      BOUND(kMaxReportsPerMessage),
      BOUND(kMaxErrorBytes),
      BOUND(kMaxProgressNoteBytes),
      BOUND(kMaxFollowsPerConnection),
      BOUND(kMaxRangesPerFollow),
      BOUND(kMaxHeaderBytes),
      BOUND(kMaxBodyBytes),
      BOUND(kMaxMessageBytes),
      BOUND(kMaxPayloadBytes),
      BOUND(kDefaultMaxResultBytes),
      BOUND(kMaxResultBytes),
      BOUND(kMaxJsonDepth),
      BOUND(kMaxBatchJobs),
      BOUND(kMaxPageItems),
      BOUND(kMaxWaitsPerConnection),
      BOUND(kMaxJobsScannedPerPage),
      BOUND(kMaxWait),
  };
  return all;
}

TEST(Bounds, ThisTestKnowsEveryBoundOfTheHeader) {
  std::set<std::string> known;
  for (const auto& [name, value] : InCode()) known.insert(name);
  const auto found = Matches(ReadFile("src/base/bounds.h"), "inline constexpr [\\w:]+ (k\\w+) =");
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), known);
}

TEST(Bounds, TheirPageQuotesThemAll) {
  std::map<std::string, std::uint64_t> quoted;
  for (const auto& row : Table(ReadFile("docs/reference/bounds.md"), "## All bounds")) {
    ASSERT_EQ(row.size(), 2u) << row[0];
    const auto names = Matches(row[0], "`(k\\w+)`");
    const auto values = Values(row[1]);
    ASSERT_FALSE(names.empty()) << row[0];
    ASSERT_TRUE(values.size() == 1 || values.size() == names.size()) << row[0] << row[1];
    for (std::size_t i = 0; i < names.size(); ++i) quoted[names[i]] = values[values.size() == 1 ? 0 : i];
  }
  EXPECT_EQ(quoted, InCode());
}

TEST(Errors, TheirPageHasEveryCodeWithItsStatusAndWhatToDo) {
  std::map<std::string, int> quoted;
  for (const auto& row : Table(ReadFile("docs/reference/errors.md"), "## All codes")) {
    ASSERT_EQ(row.size(), 4u) << row[0];
    EXPECT_GT(row[3].size(), 3u) << row[0] << ": what to do";
    for (const std::string& name : Matches(row[0], "`(\\w+)`")) {
      EXPECT_TRUE(quoted.emplace(name, std::stoi(row[1])).second) << name << " twice";
    }
  }
  std::map<std::string, int> in_code;
  for (int i = 0; i <= static_cast<int>(Code::kFenced); ++i) {
    const Code code = static_cast<Code>(i);
    in_code[std::string(CodeText(code))] = HttpStatus(code);
    EXPECT_EQ(CodeFromText(CodeText(code)), code);
  }
  EXPECT_EQ(quoted, in_code);
  EXPECT_EQ(CodeFromText("no_such_code"), Code::kInternal);
}

}  // namespace
}  // namespace allot
