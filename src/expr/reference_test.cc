// SPDX-License-Identifier: Apache-2.0
// docs/reference/expressions.md says what holds: every example in it is run, and every function has one.
//
// Blocks by their language: `ads` gives the attributes, `expr` has lines `EXPRESSION → VALUE` (`expr worker`: MY is the
// worker), `flatten` with the job known and `refs` likewise, `error` what is printed for people.
#include <cctype>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/bounds.h"
#include "base/text.h"
#include "expr/expr.h"
#include "expr/functions.h"
#include "expr/parser.h"

namespace allot::expr {
namespace {

struct Block {
  std::string language;
  int line = 0;  // of the first one inside
  std::vector<std::string> lines;
};

struct Document {
  std::vector<Block> blocks;
  std::vector<std::string> lines;

  Document() {
    std::ifstream in("docs/reference/expressions.md");
    EXPECT_TRUE(in.is_open()) << "run in the folder of the project";
    Block* open = nullptr;
    for (std::string line; std::getline(in, line);) {
      lines.push_back(line);
      if (line.starts_with("```")) {
        if (open == nullptr) {
          blocks.push_back({line.substr(3), static_cast<int>(lines.size()) + 1, {}});
          open = &blocks.back();
        } else {
          open = nullptr;
        }
      } else if (open != nullptr) {
        open->lines.push_back(line);
      }
    }
    EXPECT_EQ(open, nullptr) << "a block is not closed";
  }
};

std::string Trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(' ');
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

struct Example {
  std::string text, want, place;
};

std::vector<Example> Examples(const Document& document, const std::string& language) {
  const std::string arrow = "→";
  std::vector<Example> examples;
  for (const Block& block : document.blocks) {
    if (block.language != language) continue;
    for (std::size_t i = 0; i < block.lines.size(); ++i) {
      const auto at = block.lines[i].rfind(arrow);
      const std::string place = "docs/reference/expressions.md:" + std::to_string(block.line + static_cast<int>(i));
      if (at == std::string::npos) {
        ADD_FAILURE() << place << " has no arrow";
        continue;
      }
      examples.push_back(
          {Trimmed(block.lines[i].substr(0, at)), Trimmed(block.lines[i].substr(at + arrow.size())), place});
    }
  }
  EXPECT_FALSE(examples.empty()) << language;
  return examples;
}

ExprPtr Parse(const std::string& text, const std::string& place) {
  Parsed parsed = Expr::Parse(text);
  EXPECT_NE(parsed.expr, nullptr) << place << "\n" << PointAt("", text, parsed.error);
  return parsed.expr;
}

// The ads that the examples read.
struct PageAds {
  Ad job, machine;

  explicit PageAds(const Document& document) {
    for (const Block& block : document.blocks) {
      if (block.language != "ads") continue;
      for (const std::string& line : block.lines) {
        const bool is_job = line.starts_with("job ");
        EXPECT_TRUE(is_job || line.starts_with("worker ")) << line;
        const ExprPtr expr = Parse(line.substr(line.find('[')), line);
        if (expr == nullptr || !expr->Constant()) continue;
        const Value record = *expr->Constant();
        for (const Field& field : record.record()) (is_job ? job : machine).Set(field.name, field.value);
      }
    }
    EXPECT_FALSE(job.empty() || machine.empty());
  }
  Sides Seen(Side my) const { return {.job = &job, .machine = &machine, .my = my, .time = 1'700'000'000}; }
};

TEST(Reference, EveryExampleHasTheValueThatItSays) {
  const Document document;
  const PageAds ads(document);
  Evaluator evaluator;
  int count = 0;
  for (const auto& [language, my] : {std::pair("expr", Side::kJob), std::pair("expr worker", Side::kMachine)}) {
    for (const Example& example : Examples(document, language)) {
      const ExprPtr expr = Parse(example.text, example.place);
      if (expr == nullptr) continue;
      EXPECT_EQ(Print(evaluator.Evaluate(*expr, ads.Seen(my))), example.want) << example.place << ": " << example.text;
      ++count;
    }
  }
  EXPECT_GT(count, 100);
}

TEST(Reference, EveryResidualAndReferenceIsWhatItSays) {
  const Document document;
  const PageAds ads(document);
  for (const Example& example : Examples(document, "flatten")) {
    const ExprPtr expr = Parse(example.text, example.place);
    ASSERT_NE(expr, nullptr);
    EXPECT_EQ(Flatten(*expr, {.job = &ads.job})->Print(), example.want) << example.place;
  }
  for (const Example& example : Examples(document, "refs")) {
    const ExprPtr expr = Parse(example.text, example.place);
    ASSERT_NE(expr, nullptr);
    std::string got;
    for (const Reference& reference : expr->References()) {
      if (!got.empty()) got += ", ";
      if (reference.scope != Scope::kNone) got += std::string(ScopeText(reference.scope)) + ".";
      got += reference.name;
    }
    EXPECT_EQ(got, example.want) << example.place;
  }
}

TEST(Reference, EveryErrorIsShownAsItSays) {
  int count = 0;
  for (const Block& block : Document().blocks) {
    if (block.language != "error") continue;
    ASSERT_EQ(block.lines.size(), 2u);
    const auto colon = block.lines[0].find(": ");
    const std::string label = block.lines[0].substr(0, colon), text = block.lines[0].substr(colon + 2);
    const Parsed parsed = Expr::Parse(text);
    ASSERT_EQ(parsed.expr, nullptr) << text;
    std::string shown = PointAt(label, text, parsed.error);
    while (shown.ends_with('\n')) shown.pop_back();
    EXPECT_EQ(shown, block.lines[0] + "\n" + block.lines[1]) << "docs/reference/expressions.md:" << block.line;
    ++count;
  }
  EXPECT_GE(count, 3);
}

TEST(Reference, EveryFunctionIsDescribedAndHasAnExample) {
  const Document document;
  std::set<std::string> called, described;
  const auto collect = [](const std::string& text, std::set<std::string>& names) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '(') continue;
      std::size_t begin = i;
      const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
      while (begin > 0 && in_name(text[begin - 1])) --begin;
      if (begin < i) names.insert(text.substr(begin, i - begin));
    }
  };
  for (const Example& example : Examples(document, "expr")) collect(example.text, called);
  for (const std::string& line : document.lines) {
    if (line.starts_with("| `")) collect(line, described);
  }
  for (const Function& function : Functions()) {
    EXPECT_TRUE(called.contains(std::string(function.name))) << function.name << " has no example";
    EXPECT_TRUE(described.contains(std::string(function.name))) << function.name << " stands in no table";
  }
}

TEST(Reference, BoundsAreThoseOfTheProgram) {
  const std::pair<const char*, std::size_t> bounds[] = {
      {"kMaxExpressionBytes", bounds::kMaxExpressionBytes}, {"kMaxExpressionDepth", bounds::kMaxExpressionDepth},
      {"kMaxExpressionNodes", bounds::kMaxExpressionNodes}, {"kMaxPatternBytes", bounds::kMaxPatternBytes},
      {"kMaxEvaluationSteps", bounds::kMaxEvaluationSteps}, {"kMaxEvaluationBytes", bounds::kMaxEvaluationBytes}};
  const Document document;
  for (const auto& [name, value] : bounds) {
    const std::string begin = "| `" + std::string(name) + "` ", end = "| " + FormatCount(value) + " |";
    bool found = false;
    for (const std::string& line : document.lines) found |= line.starts_with(begin) && line.ends_with(end);
    EXPECT_TRUE(found) << name << " is " << FormatCount(value);
  }
}

}  // namespace
}  // namespace allot::expr
