// SPDX-License-Identifier: Apache-2.0
// Random strategies: printing and parsing are inverse, and whatever a text has become, it parses or is told where it
// does not.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/rng.h"
#include "base/sanitizers.h"
#include "strategy/strategy.h"
#include "strategy/testing.h"

namespace allot {
namespace {

using Kind = Strategy::Kind;

// Random trees within the bounds.
class RandomStrategies {
 public:
  explicit RandomStrategies(Rng& rng) : rng_(rng) {}

  StrategyPtr Make(std::size_t depth) {
    Strategy node;
    ++nodes_;
    node.kind = static_cast<Kind>(rng_.Below(depth <= 1 || nodes_ > 40 ? 5 : 10));
    if (node.keyed()) node.key = MakeStrategyKey(Key());
    if (node.kind == Kind::kSelectOnly) node.value = Value(node.key.kind);
    if (node.kind == Kind::kPreferDistinct || node.kind == Kind::kMaxSimultaneous) {
      node.percent = node.kind == Kind::kMaxSimultaneous && rng_.Below(2) == 0;
      node.max = static_cast<std::uint32_t>(1 + rng_.Below(node.percent ? 100 : rng_.Below(2) == 0 ? 5 : 4294967295u));
    }
    const std::size_t inner = node.leaf() ? 0 : node.kind == Kind::kOrElse ? 2 + rng_.Below(3) : 1;
    for (std::size_t i = 0; i < inner; ++i) node.inner.push_back(Make(depth - 1));
    return std::make_shared<const Strategy>(std::move(node));
  }

 private:
  std::string Key() {
    static constexpr const char* kKeys[] = {"user",     "tag",      "async", "priority", "job",
                                            "customer", "Customer", "_",     "z9"};
    return kKeys[rng_.Below(std::size(kKeys))];
  }
  std::string Text() {
    static constexpr const char* kParts[] = {"a",    "Z", "0", "_", "\"", "\\", "\n", "\x01",
                                             "\x7f", "é", "😀", " ", ",",  ")",  "="};
    std::string text;
    for (std::uint64_t n = rng_.Below(6); n > 0; --n) text += kParts[rng_.Below(std::size(kParts))];
    return text;
  }
  MetaValue Value(StrategyKey::Kind kind) {
    const auto integer = [&] { return static_cast<std::int64_t>(rng_.Next() >> rng_.Below(64)); };
    switch (kind) {
      case StrategyKey::Kind::kUser:
        return "u" + Text();
      case StrategyKey::Kind::kTag:
        return "t" + std::to_string(rng_.Below(5)) + "=x";
      case StrategyKey::Kind::kAsync:
        return rng_.Below(2) == 0;
      case StrategyKey::Kind::kPriority:
        return integer();
      case StrategyKey::Kind::kJob:
        return std::to_string(1 + rng_.Below(std::uint64_t{1} << 62));
      case StrategyKey::Kind::kMeta:
        break;
    }
    switch (rng_.Below(5)) {
      case 0:
        return integer();
      case 1:
        return rng_.Below(2) == 0 ? -0.0
                                  : (rng_.Unit() - 0.5) * std::pow(10.0, static_cast<double>(rng_.Below(600)) - 300);
      case 2:
        return static_cast<double>(rng_.Below(3));  // not the integer
      case 3:
        return rng_.Below(2) == 0;
      default:
        return rng_.Below(4) == 0 ? "true" : Text();
    }
  }

  Rng& rng_;
  std::size_t nodes_ = 0;
};

std::uint64_t FirstSeed() {
  const char* text = std::getenv("ALLOT_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

// The same text with other space, case of keys, and optional parts.
std::string Respaced(const std::string& text, Rng& rng) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    const bool mark = !quoted && std::string_view("(),=%").find(c) != std::string_view::npos;
    if (!quoted && c == ' ') continue;
    if (mark) out.append(rng.Below(3), ' ');
    out.push_back(c);
    if (mark) out.append(rng.Below(3), '\n');
  }
  return out;
}

TEST(StrategyProperty, PrintingAndParsingAreInverse) {
  std::set<Kind> seen;
  for (std::uint64_t seed = FirstSeed(), end = seed + Rounds(20'000); seed < end; ++seed) {
    Rng rng(seed);
    const StrategyPtr strategy = RandomStrategies(rng).Make(1 + rng.Below(7));
    const std::string printed = PrintStrategy(*strategy);
    SCOPED_TRACE("ALLOT_SEED=" + std::to_string(seed) + " " + printed);
    ASSERT_EQ(CheckStrategy(*strategy, false), "");
    const ParsedStrategy again = ParseStrategy(printed);
    ASSERT_NE(again.strategy, nullptr) << expr::PointAt("", printed, again.error);
    ASSERT_EQ(*again.strategy, *strategy);
    ASSERT_EQ(PrintStrategy(*again.strategy), printed);
    ASSERT_EQ(testing::JsonOf(*again.strategy), testing::JsonOf(*strategy));
    ASSERT_TRUE(IsUtf8(DescribeStrategy(*strategy)));
    if (printed.find('\\') == std::string::npos) {
      const std::string respaced = Respaced(printed, rng);
      ASSERT_EQ(PrintStrategy(*testing::MustParseStrategy(respaced)), printed) << respaced;
    }
    seen.insert(strategy->kind);
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST(StrategyProperty, StrategiesAreEqualExactlyIfTheyPrintAlike) {
  int equal = 0;
  for (std::uint64_t seed = FirstSeed(), end = seed + Rounds(20'000); seed < end; ++seed) {
    Rng rng(seed);
    const StrategyPtr a = RandomStrategies(rng).Make(2), b = RandomStrategies(rng).Make(2);
    const bool same = *a == *b;
    equal += same;
    ASSERT_EQ(same, PrintStrategy(*a) == PrintStrategy(*b))
        << "ALLOT_SEED=" << seed << " " << PrintStrategy(*a) << " " << PrintStrategy(*b);
  }
  EXPECT_GT(equal, static_cast<int>(Rounds(50)));
}

TEST(StrategyProperty, ATextThatIsCutOrChangedIsToldWhereOrParses) {
  for (std::uint64_t seed = FirstSeed(), end = seed + Rounds(20'000); seed < end; ++seed) {
    Rng rng(seed);
    std::string text = PrintStrategy(*RandomStrategies(rng).Make(1 + rng.Below(4)));
    for (std::uint64_t n = 1 + rng.Below(3); n > 0; --n) {
      const std::size_t at = rng.Below(text.size() + 1);
      switch (rng.Below(3)) {
        case 0:
          text.resize(at);
          break;
        case 1:
          text.insert(at, 1, "(),=\"%-0aW \xc3"[rng.Below(12)]);
          break;
        default:
          if (at < text.size()) text.erase(at, 1);
      }
    }
    const ParsedStrategy parsed = ParseStrategy(text);
    SCOPED_TRACE("ALLOT_SEED=" + std::to_string(seed) + " " + text);
    if (parsed.strategy != nullptr) {
      ASSERT_EQ(*testing::MustParseStrategy(PrintStrategy(*parsed.strategy)), *parsed.strategy);
    } else {
      ASSERT_LE(parsed.error.offset, text.size());
      ASSERT_FALSE(parsed.error.message.empty());
      ASSERT_TRUE(IsUtf8(parsed.error.message));
    }
  }
}

}  // namespace
}  // namespace allot
