// SPDX-License-Identifier: Apache-2.0
// The language: what parses and to what, what is refused and where.
#include "strategy/strategy.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/bounds.h"
#include "strategy/testing.h"

namespace allot {
namespace {

using Kind = Strategy::Kind;

// `OFFSET: message`, or `ok`.
std::string Verdict(const std::string& text, bool policy = false, const NamedStrategies& named = {}) {
  const ParsedStrategy parsed = ParseStrategy(text, policy, named);
  if (parsed.strategy != nullptr) return "ok";
  return std::to_string(parsed.error.offset) + ": " + parsed.error.message;
}

// `depth` strategies inside one another.
std::string Nested(std::size_t depth) {
  std::string text;
  for (std::size_t i = 1; i < depth; ++i) text += "fair(user, ";
  return text + "oldest" + std::string(depth - 1, ')');
}

// or_else with `nodes` nodes in all.
std::string Wide(std::size_t nodes) {
  std::string text = "or_else(oldest";
  for (std::size_t i = 2; i < nodes; ++i) text += ", oldest";
  return text + ")";
}

TEST(ParseStrategy, ReadsEveryBlock) {
  struct Row {
    const char* text;
    const char* printed;
  };
  constexpr Row kRows[] = {
      {"random", "random"},
      {"oldest", "oldest"},
      {" \t\r\nnewest\n", "newest"},
      {"priority", "priority"},
      {"least_recent", "least_recent"},
      {"select_only(mode=preview,oldest)", "select_only(mode = \"preview\", oldest)"},
      {"select_only ( mode = preview , oldest ) ", "select_only(mode = \"preview\", oldest)"},
      {"select_only(Mode = preview, oldest)", "select_only(mode = \"preview\", oldest)"},
      {"prefer_distinct(customer, oldest)", "prefer_distinct(customer, 1, oldest)"},
      {"prefer_distinct(customer, 3, oldest)", "prefer_distinct(customer, 3, oldest)"},
      {"max_simultaneous(customer, 4294967295, oldest)", "max_simultaneous(customer, 4294967295, oldest)"},
      {"max_simultaneous(customer, 20%, oldest)", "max_simultaneous(customer, 20%, oldest)"},
      {"max_simultaneous(customer, 100 % ,oldest)", "max_simultaneous(customer, 100%, oldest)"},
      {"prefer_distinct(6, oldest)", "prefer_distinct(6, 1, oldest)"},
      {"max_simultaneous( 6 , 7, select_only(007 = 7, oldest))",
       "max_simultaneous(6, 7, select_only(007 = 7, oldest))"},
      {"fair(6_A, random)", "fair(6_a, random)"},
      {"fair(user,random)", "fair(user, random)"},
      {"or_else(oldest,newest)", "or_else(oldest, newest)"},
      {"or_else(oldest, newest, fair(job, or_else(random, priority)))",
       "or_else(oldest, newest, fair(job, or_else(random, priority)))"},
      // The name, and its place inside others.
      {"fair", "fair(user, or_else(select_only(async = false, least_recent), least_recent))"},
      {"or_else(fair, oldest)",
       "or_else(fair(user, or_else(select_only(async = false, least_recent), least_recent)), oldest)"},
      // Words of the language are keys like any other.
      {"fair(oldest, oldest)", "fair(oldest, oldest)"},
      {"fair(worker, oldest)", "fair(worker, oldest)"},
  };
  for (const Row& row : kRows) EXPECT_EQ(PrintStrategy(*testing::MustParseStrategy(row.text)), row.printed) << row.text;
}

TEST(ParseStrategy, ReadsValuesAsTheyAreWritten) {
  struct Row {
    const char* text;
    MetaValue value;
    const char* printed;
  };
  const Row rows[] = {
      {"mode = preview", std::string("preview"), "mode = \"preview\""},
      {"mode = \"preview\"", std::string("preview"), "mode = \"preview\""},
      {"mode = \"\"", std::string(), "mode = \"\""},
      {"mode = a-b.c/d:e@f+g_1", std::string("a-b.c/d:e@f+g_1"), "mode = \"a-b.c/d:e@f+g_1\""},
      {"mode = oldest", std::string("oldest"), "mode = \"oldest\""},
      {R"(mode = "a\"\\\/\n\u00e9\ud83d\ude00é")", std::string("a\"\\/\né😀é"), R"(mode = "a\"\\/\né😀é")"},
      {"mode = true", true, "mode = true"},
      {"mode = false", false, "mode = false"},
      {"mode = truely", std::string("truely"), "mode = \"truely\""},
      {"mode = 0", std::int64_t{0}, "mode = 0"},
      {"mode = -0", std::int64_t{0}, "mode = 0"},
      {"mode = 42", std::int64_t{42}, "mode = 42"},
      {"mode = 9223372036854775807", std::numeric_limits<std::int64_t>::max(), "mode = 9223372036854775807"},
      {"mode = -9223372036854775808", std::numeric_limits<std::int64_t>::min(), "mode = -9223372036854775808"},
      {"mode = 1.0", 1.0, "mode = 1.0"},
      {"mode = -2.50", -2.5, "mode = -2.5"},
      {"mode = 1e3", 1000.0, "mode = 1000.0"},
      {"mode = 1E+300", 1e300, "mode = 1e+300"},
      {"mode = -0.0", 0.0, "mode = 0.0"},
      {"mode = 1e-999", 0.0, "mode = 0.0"},
      {"user = acme", std::string("acme"), "user = \"acme\""},
      {"USER = \"a b\"", std::string("a b"), "user = \"a b\""},
      {"tag = \"c:gpu=a100\"", std::string("c:gpu=a100"), "tag = \"c:gpu=a100\""},
      {"async = false", false, "async = false"},
      {"priority = -3", std::int64_t{-3}, "priority = -3"},
      {"job = \"7036874417766400\"", std::string("7036874417766400"), "job = \"7036874417766400\""},
      {"job = 7036874417766400", std::string("7036874417766400"), "job = \"7036874417766400\""},
  };
  for (const Row& row : rows) {
    const StrategyPtr strategy = testing::MustParseStrategy("select_only(" + std::string(row.text) + ", oldest)");
    EXPECT_EQ(strategy->value, row.value) << row.text;
    EXPECT_EQ(PrintStrategy(*strategy), "select_only(" + std::string(row.printed) + ", oldest)");
  }
}

TEST(ParseStrategy, KnowsOneZero) {
  EXPECT_FALSE(std::signbit(std::get<double>(testing::MustParseStrategy("select_only(x = -0.0, oldest)")->value)));
}

TEST(ParseStrategy, KnowsTheBuiltInKeysInAnyCase) {
  struct Row {
    const char* name;
    StrategyKey::Kind kind;
  };
  constexpr Row kRows[] = {
      {"user", StrategyKey::Kind::kUser},   {"User", StrategyKey::Kind::kUser},
      {"tag", StrategyKey::Kind::kTag},     {"async", StrategyKey::Kind::kAsync},
      {"ASYNC", StrategyKey::Kind::kAsync}, {"priority", StrategyKey::Kind::kPriority},
      {"job", StrategyKey::Kind::kJob},     {"customer", StrategyKey::Kind::kMeta},
      {"users", StrategyKey::Kind::kMeta},  {"_x9", StrategyKey::Kind::kMeta},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(testing::MustParseStrategy("fair(" + std::string(row.name) + ", oldest)")->key.kind, row.kind)
        << row.name;
  }
}

TEST(ParseStrategy, SaysWhereAndWhatIsWrong) {
  struct Row {
    const char* text;
    const char* want;
  };
  constexpr Row kRows[] = {
      {"", "0: expected a strategy here, such as `oldest` or fair(user, oldest)"},
      {"  ", "2: expected a strategy here, such as `oldest` or fair(user, oldest)"},
      {"(oldest)", "0: expected a strategy here, such as `oldest` or fair(user, oldest)"},
      {"oldset", "0: there is no strategy `oldset`: did you mean `oldest`?"},
      {"Oldest", "0: there is no strategy `Oldest`: did you mean `oldest`? Case counts."},
      {"FAIR(user, oldest)", "0: there is no strategy `FAIR`: did you mean `fair`? Case counts."},
      {"SelectOnly(a = b, oldest)", "0: there is no strategy `SelectOnly`: did you mean `select_only`?"},
      {"fifo", "0: there is no strategy `fifo`: did you mean `oldest`?"},
      {"OldestFirst", "0: there is no strategy `OldestFirst`: did you mean `oldest`?"},
      {"quixotic", "0: there is no strategy `quixotic`"},
      {"fair(user, olest)", "11: there is no strategy `olest`: did you mean `oldest`?"},
      {"prefer_distinct(customer, max, oldest)", "26: there is no strategy `max`"},
      {"oldest newest", "7: expected the end here"},
      {"oldest)", "6: expected the end here"},
      {"oldest()", "6: `oldest` has no brackets after it"},
      {"fair(user, oldest))", "18: expected the end here"},
      // Blocks that lack a part.
      {"select_only", "11: expected `(` here, as in select_only(key = value, strategy)"},
      {"or_else oldest", "8: expected `(` here, as in or_else(strategy, strategy)"},
      {"fair()", "5: expected a key here, as in fair(key, strategy)"},
      {"fair(", "5: expected a key here, as in fair(key, strategy)"},
      {"fair(\"user\", oldest)", "5: expected a key here, as in fair(key, strategy)"},
      {"fair(oldest)", "11: expected `,` and the strategy inside here, as in fair(key, strategy)"},
      {"fair(user oldest)", "10: expected `,` and the strategy inside here, as in fair(key, strategy)"},
      {"fair(user, )", "11: expected a strategy here, such as `oldest` or fair(user, oldest)"},
      {"fair(user, oldest", "17: expected `)` here, at the end of `fair`"},
      {"fair(user, oldest, newest)", "17: expected `)` here, at the end of `fair`"},
      {"or_else(oldest)", "14: expected `,` and another strategy here, as in or_else(strategy, strategy)"},
      {"or_else(oldest,)", "15: expected a strategy here, such as `oldest` or fair(user, oldest)"},
      {"or_else(oldest, newest", "22: expected `,` or `)` here"},
      {"max_simultaneous(user, oldest)", "23: expected a whole number from 1 to 4294967295 here"},
      {"max_simultaneous(user)", "21: expected `,` and a maximum here, as in max_simultaneous(key, max, strategy)"},
      {"max_simultaneous(user, 5)",
       "24: expected `,` and the strategy inside here, as in max_simultaneous(key, max, strategy)"},
      // Numbers.
      {"max_simultaneous(user, 0, oldest)", "23: expected a whole number from 1 to 4294967295 here"},
      {"max_simultaneous(user, -1, oldest)", "23: expected a whole number from 1 to 4294967295 here"},
      {"max_simultaneous(user, 05, oldest)", "23: expected a whole number from 1 to 4294967295 here"},
      {"max_simultaneous(user, 1.5, oldest)", "23: expected a whole number from 1 to 4294967295 here"},
      {"max_simultaneous(user, 1e3, oldest)", "23: expected a whole number from 1 to 4294967295 here"},
      {"max_simultaneous(user, 4294967296, oldest)", "23: expected a whole number from 1 to 4294967295 here"},
      {"max_simultaneous(user, 0%, oldest)", "23: expected a whole number from 1 to 4294967295 here"},
      {"max_simultaneous(user, 101%, oldest)", "23: a percentage is from 1% to 100%"},
      {"prefer_distinct(user, 0, oldest)", "22: expected a whole number from 1 to 4294967295 here"},
      {"prefer_distinct(user, 20%, oldest)", "24: only `max_simultaneous` takes a percentage"},
      // Keys.
      {"fair(tags, oldest)", "5: there is no key `tags`: did you mean `tag`?"},
      {"fair(Tasks, oldest)", "5: no job can have the key `Tasks`"},
      {"fair(-lives, oldest)", "5: expected a key here, as in fair(key, strategy)"},
      {"fair(a-b, oldest)", "6: expected `,` and the strategy inside here, as in fair(key, strategy)"},
      // Values.
      {"select_only(mode, oldest)", "16: expected `=` and a value here, as in select_only(key = value, strategy)"},
      {"select_only(mode == x, oldest)", "18: expected a value here: one `=` is enough"},
      {"select_only(mode = , oldest)", "19: expected a value here: a \"text\", a word, a number, true or false"},
      {"select_only(mode = 'x', oldest)", "19: a text is written in double quotes"},
      {"select_only(mode = True, oldest)", "19: did you mean `true`? The text is written \"True\""},
      {"select_only(mode = FALSE, oldest)", "19: did you mean `false`? The text is written \"FALSE\""},
      {"select_only(mode = \"x, oldest)", "19: expected a \" at the end of this text"},
      {"select_only(mode = \"x\\q\", oldest)", "21: there is no such escape; a backslash is written as \\\\"},
      {"select_only(mode = \"\\u0000\", oldest)", "20: a text cannot have \\u0000"},
      {"select_only(mode = 007, oldest)",
       "19: this is no number; a text that begins with a digit or a sign is written in \"quotes\""},
      {"select_only(mode = 2024-01-01, oldest)",
       "19: this is no number; a text that begins with a digit or a sign is written in \"quotes\""},
      {"select_only(mode = -, oldest)",
       "19: this is no number; a text that begins with a digit or a sign is written in \"quotes\""},
      {"select_only(mode = 1., oldest)",
       "19: this is no number; a text that begins with a digit or a sign is written in \"quotes\""},
      {"select_only(mode = 1e, oldest)",
       "19: this is no number; a text that begins with a digit or a sign is written in \"quotes\""},
      {"select_only(mode = 9223372036854775808, oldest)", "19: this number does not fit into 64 bits"},
      {"select_only(mode = 1e999, oldest)", "19: this number is too large"},
      // Values that do not fit their key.
      {"select_only(async = no, oldest)", "20: `async` is true or false"},
      {"select_only(async = 1, oldest)", "20: `async` is true or false"},
      {"select_only(priority = high, oldest)", "23: `priority` is an integer"},
      {"select_only(priority = 1.0, oldest)", "23: `priority` is an integer"},
      {"select_only(user = 7, oldest)", "19: `user` is a text: write it in quotes"},
      {"select_only(user = \"\", oldest)", "19: `user` is not empty: jobs without a user cannot be selected"},
      {"select_only(tag = true, oldest)", "18: `tag` is a text: write it in quotes"},
      {"select_only(tag = \"a b\", oldest)", "18: a tag has letters, digits and `_ . - / : = @ +`"},
      {"select_only(tag = \"\", oldest)", "18: a tag has letters, digits and `_ . - / : = @ +`"},
      {"select_only(job = x, oldest)", "18: `job` is a job's id, a number such as 7036874417766400"},
      {"select_only(job = 0, oldest)", "18: `job` is a job's id, a number such as 7036874417766400"},
      {"select_only(job = true, oldest)", "18: `job` is a job's id, written as a text"},
      // Not a policy.
      {"worker", "0: `worker` belongs in a queue's policy, where it is the asking worker's own"},
      {"fair(user, worker)", "11: `worker` belongs in a queue's policy, where it is the asking worker's own"},
      // Bytes.
      {"oldest\xff", "6: this byte is not UTF-8"},
      {"select_only(mode = \"é\xc3\", oldest)", "22: this byte is not UTF-8"},
  };
  for (const Row& row : kRows) EXPECT_EQ(Verdict(row.text), row.want) << row.text;
}

TEST(ParseStrategy, APolicySaysOnceWhereTheWorkersOwnBelongs) {
  const std::string missing =
      "0: a policy has the word `worker` where the worker's own strategy belongs, as in fair(user, worker)";
  EXPECT_EQ(Verdict("worker", true), "ok");
  EXPECT_EQ(Verdict("max_simultaneous(customer, 20, fair(user, worker))", true), "ok");
  EXPECT_EQ(Verdict("or_else(select_only(urgent = true, priority), worker)", true), "ok");
  EXPECT_EQ(Verdict("oldest", true), missing);
  EXPECT_EQ(Verdict("fair(worker, oldest)", true), missing);
  EXPECT_EQ(Verdict("or_else(worker, worker)", true), "16: `worker` stands in a policy once");
  EXPECT_EQ(Verdict("worker()", true), "6: `worker` has no brackets after it");
}

TEST(ParseStrategy, NamesStandForWhatTheyWereGiven) {
  const NamedStrategies named = {
      {"previews", testing::MustParseStrategy("or_else(select_only(mode = preview, oldest), oldest)")},
      {"capped", testing::MustParseStrategy("max_simultaneous(customer, 5, worker)", true)},
      {"oldest", testing::MustParseStrategy("newest")},  // a word of the language stays what it is
      {"deep", testing::MustParseStrategy(Nested(bounds::kMaxStrategyDepth - 1))},
      {"wide", testing::MustParseStrategy(Wide(bounds::kMaxStrategyNodes - 1))},
  };
  EXPECT_EQ(PrintStrategy(*testing::MustParseStrategy("fair(user, previews)", false, named)),
            "fair(user, or_else(select_only(mode = \"preview\", oldest), oldest))");
  EXPECT_EQ(PrintStrategy(*testing::MustParseStrategy("oldest", false, named)), "oldest");
  EXPECT_EQ(PrintStrategy(*testing::MustParseStrategy("fair(user, capped)", true, named)),
            "fair(user, max_simultaneous(customer, 5, worker))");
  EXPECT_EQ(Verdict("fair(user, capped)", false, named),
            "11: `worker` belongs in a queue's policy, where it is the asking worker's own");
  EXPECT_EQ(Verdict("or_else(capped, worker)", true, named), "16: `worker` stands in a policy once");
  EXPECT_EQ(Verdict("preview", false, named), "0: there is no strategy `preview`: did you mean `previews`?");
  EXPECT_EQ(Verdict("previews(user)", false, named), "8: `previews` has no brackets after it");
  EXPECT_EQ(Verdict("Previews", false, named),
            "0: there is no strategy `Previews`: did you mean `previews`? Case counts.");
  // What a name stands for counts.
  EXPECT_EQ(Verdict("fair(user, deep)", false, named), "ok");
  EXPECT_EQ(Verdict("fair(user, fair(user, deep))", false, named),
            "22: more than 16 strategies inside one another: make it flatter");
  EXPECT_EQ(Verdict("fair(user, wide)", false, named), "ok");
  EXPECT_EQ(Verdict("or_else(oldest, wide)", false, named), "16: more than 64 parts: make it shorter");
}

TEST(ParseStrategy, StaysInsideItsBounds) {
  EXPECT_EQ(Verdict(Nested(bounds::kMaxStrategyDepth)), "ok");
  EXPECT_EQ(Verdict(Nested(bounds::kMaxStrategyDepth + 1)),
            "176: more than 16 strategies inside one another: make it flatter");
  EXPECT_EQ(Verdict(Wide(bounds::kMaxStrategyNodes)), "ok");
  EXPECT_EQ(Verdict(Wide(bounds::kMaxStrategyNodes + 1)), "512: more than 64 parts: make it shorter");

  EXPECT_EQ(Verdict("oldest" + std::string(bounds::kMaxStrategyBytes - 6, ' ')), "ok");
  EXPECT_EQ(Verdict("oldest" + std::string(bounds::kMaxStrategyBytes - 5, ' ')),
            "4096: longer than 4,096 bytes: make it shorter");
  EXPECT_EQ(Verdict(std::string(100'000, '(')), "4096: longer than 4,096 bytes: make it shorter");
  EXPECT_EQ(Verdict(std::string(4'096, '(')), "0: expected a strategy here, such as `oldest` or fair(user, oldest)");
  std::string tower;
  for (int i = 0; i < 300; ++i) tower += "fair(user, ";
  EXPECT_EQ(Verdict(tower), "176: more than 16 strategies inside one another: make it flatter");

  const auto select = [](const std::string& key, const std::string& value) {
    return Verdict("select_only(" + key + " = \"" + value + "\", oldest)");
  };
  EXPECT_EQ(select("mode", std::string(bounds::kMaxMetaValueBytes, 'x')), "ok");
  EXPECT_EQ(select("mode", std::string(bounds::kMaxMetaValueBytes + 1, 'x')),
            "19: a value of `mode` has at most 1,024 bytes");
  EXPECT_EQ(select("user", std::string(bounds::kMaxUserBytes, 'x')), "ok");
  EXPECT_EQ(select("user", std::string(bounds::kMaxUserBytes + 1, 'x')), "19: a value of `user` has at most 128 bytes");
  EXPECT_EQ(select("tag", std::string(bounds::kMaxTagBytes + 1, 'x')), "18: a value of `tag` has at most 128 bytes");
  EXPECT_EQ(select(std::string(bounds::kMaxMetaKeyBytes, 'k'), "x"), "ok");
  EXPECT_EQ(select(std::string(bounds::kMaxMetaKeyBytes + 1, 'k'), "x"), "12: a key has at most 64 bytes");
  // Short as it is given, long as it prints.
  std::string bells;
  for (int i = 0; i < 700; ++i) bells += "\\b";
  EXPECT_EQ(Verdict("select_only(a = \"" + bells + "\", select_only(b = \"" + bells + "\", oldest))"),
            "0: more than 4,096 bytes when written out: make it shorter");
  EXPECT_EQ(Verdict(std::string(300, 'x')), "0: there is no strategy `" + std::string(64, 'x') + "…`");
}

TEST(CheckStrategy, RefusesWhatNoTextCouldSay) {
  const auto with = [](const char* text, auto change) {
    Strategy strategy = *testing::MustParseStrategy(text);
    change(strategy);
    return CheckStrategy(strategy, false);
  };
  EXPECT_EQ(with("fair(user, oldest)", [](Strategy&) {}), "");
  EXPECT_EQ(with("fair(user, oldest)", [](Strategy& s) { s.inner.clear(); }), "`fair` needs one strategy inside");
  EXPECT_EQ(with("fair(user, oldest)", [](Strategy& s) { s.inner = {nullptr}; }), "`fair` lacks a strategy inside");
  EXPECT_EQ(with("oldest", [](Strategy& s) { s.inner = {DefaultStrategy()}; }), "`oldest` has no strategy inside");
  EXPECT_EQ(with("or_else(oldest, newest)", [](Strategy& s) { s.inner.pop_back(); }),
            "`or_else` needs two strategies or more");
  EXPECT_EQ(with("fair(user, oldest)", [](Strategy& s) { s.key = MakeStrategyKey("a b"); }),
            "`fair`: a key has letters, digits and `_`");
  EXPECT_EQ(with("prefer_distinct(a, 2, oldest)", [](Strategy& s) { s.max = 0; }),
            "`prefer_distinct`: its maximum is at least 1");
  EXPECT_EQ(with("prefer_distinct(a, 2, oldest)", [](Strategy& s) { s.percent = true; }),
            "`prefer_distinct`: only `max_simultaneous` takes a percentage");
  EXPECT_EQ(with("max_simultaneous(a, 2%, oldest)", [](Strategy& s) { s.max = 101; }),
            "`max_simultaneous`: a percentage is at most 100%");
  EXPECT_EQ(with("select_only(a = 1, oldest)", [](Strategy& s) { s.value = std::numeric_limits<double>::infinity(); }),
            "`select_only`: a number is finite");
  EXPECT_EQ(with("select_only(a = 1, oldest)", [](Strategy& s) { s.value = std::string("\xff"); }),
            "`select_only`: a text is UTF-8, without \\u0000");
  EXPECT_EQ(with("select_only(job = 1, oldest)", [](Strategy& s) { s.value = std::int64_t{1}; }),
            "`select_only`: `job` is a job's id, written as a text");
  EXPECT_EQ(with("or_else(oldest, newest)", [](Strategy& s) { s.inner.resize(64, s.inner[0]); }),
            "more than 64 parts: make it shorter");

  // Far beyond the bounds it still answers at once: each level doubles.
  StrategyPtr tree = DefaultStrategy();
  for (int i = 0; i < 5'000; ++i) {
    Strategy next;
    next.kind = Kind::kOrElse;
    next.inner = {tree, tree};
    tree = std::make_shared<const Strategy>(std::move(next));
  }
  EXPECT_EQ(CheckStrategy(*tree, false), "more than 16 strategies inside one another: make it flatter");
  // Taken apart by hand: the pointers alone would do it level by level, on the stack.
  std::vector<StrategyPtr> levels;
  for (StrategyPtr at = tree; at != nullptr; at = at->inner.empty() ? nullptr : at->inner[0]) levels.push_back(at);
  tree.reset();
  for (StrategyPtr& level : levels) level.reset();
}

TEST(CheckStrategy, StopsCountingBeyondTheBound) {
  StrategyPtr tree = DefaultStrategy();  // 20^15 nodes, shared
  for (std::size_t i = 1; i < bounds::kMaxStrategyDepth; ++i) {
    Strategy next;
    next.kind = Kind::kOrElse;
    next.inner.assign(20, tree);
    tree = std::make_shared<const Strategy>(std::move(next));
  }
  EXPECT_EQ(CheckStrategy(*tree, false), "more than 64 parts: make it shorter");
}

TEST(Strategy, IsEqualIfAllThatItsKindReadsIs) {
  const char* const different[] = {
      "oldest",
      "newest",
      "select_only(a = 1, oldest)",
      "select_only(a = 1.0, oldest)",
      "select_only(a = \"1\", oldest)",
      "select_only(a = true, oldest)",
      "select_only(a = x, oldest)",
      "select_only(a = X, oldest)",
      "select_only(b = 1, oldest)",
      "select_only(a = 1, newest)",
      "prefer_distinct(a, 1, oldest)",
      "prefer_distinct(a, 2, oldest)",
      "max_simultaneous(a, 2, oldest)",
      "max_simultaneous(a, 2%, oldest)",
      "fair(user, oldest)",
      "fair(job, oldest)",
      "or_else(oldest, newest)",
      "or_else(newest, oldest)",
      "or_else(oldest, newest, oldest)",
  };
  for (const char* a : different) {
    for (const char* b : different)
      EXPECT_EQ(*testing::MustParseStrategy(a) == *testing::MustParseStrategy(b), a == b) << a << " " << b;
  }
  EXPECT_EQ(*testing::MustParseStrategy("fair(Customer, oldest)"),
            *testing::MustParseStrategy("fair(CUSTOMER, oldest)"));
  Strategy oldest = *testing::MustParseStrategy("oldest");
  oldest.max = 7;  // which it does not read
  EXPECT_EQ(oldest, *testing::MustParseStrategy("oldest"));
}

TEST(CheckStrategyName, RefusesWordsOfTheLanguage) {
  EXPECT_EQ(CheckStrategyName("previews"), "");
  EXPECT_EQ(CheckStrategyName("_p2"), "");
  for (const char* word : {"random", "oldest", "newest", "priority", "least_recent", "select_only", "prefer_distinct",
                           "max_simultaneous", "fair", "or_else", "worker"}) {
    EXPECT_EQ(CheckStrategyName(word), "`" + std::string(word) + "` is a word of the language");
  }
  for (const char* word : {"", "2nd", "a-b", "a b", "é"}) {
    EXPECT_EQ(CheckStrategyName(word),
              "a name has 1 to 128 letters, digits or `_`, and begins with none of the digits");
  }
}

// As a strategy it leaves no room for a worker's own; as a policy it does.
TEST(FairByName, InAPolicyHasRoomForTheWorkersOwn) {
  const std::string rule = "fair(user, or_else(select_only(async = false, least_recent), worker))";
  const struct {
    const char* text;
    std::string want;
  } rows[] = {
      {"fair", rule},
      {"max_simultaneous(customer, 20, fair)", "max_simultaneous(customer, 20, " + rule + ")"},
      {"mine", rule},
      {"or_else(fair, worker)",
       "or_else(fair(user, or_else(select_only(async = false, least_recent), least_recent)), worker)"},
      {"worker", "worker"},
  };
  for (const auto& row : rows) {
    const ParsedStrategy parsed = ParseStrategy(row.text, true, {{"mine", FairStrategy()}});
    ASSERT_NE(parsed.strategy, nullptr) << row.text << ": " << parsed.error.message;
    EXPECT_EQ(PrintStrategy(*parsed.strategy), row.want) << row.text;
    EXPECT_EQ(CheckStrategy(*parsed.strategy, true), "") << row.text;
  }
  // Two places, or none, are no policy.
  for (const char* text : {"or_else(fair, fair)", "oldest", "fair(user, oldest)"}) {
    const ParsedStrategy parsed = ParseStrategy(text, true);
    EXPECT_EQ(parsed.strategy, nullptr) << text;
    EXPECT_FALSE(parsed.unknown_name) << text;
  }
  EXPECT_TRUE(ParseStrategy("fair(user, urgent)", true).unknown_name);
  EXPECT_TRUE(ParseStrategy("urgent").unknown_name);
  EXPECT_FALSE(ParseStrategy("fair(user").unknown_name);
}

TEST(StrategyFromWord, GivesWhatNeedsNoArguments) {
  for (const char* word : {"random", "oldest", "newest", "priority", "least_recent", "worker"}) {
    const StrategyPtr strategy = StrategyFromWord(word);
    ASSERT_NE(strategy, nullptr) << word;
    EXPECT_EQ(StrategyWord(strategy->kind), word);
  }
  EXPECT_EQ(*StrategyFromWord("fair"), *testing::MustParseStrategy("fair"));
  EXPECT_EQ(StrategyFromWord("mine", {{"mine", FairStrategy()}}), FairStrategy());
  for (const char* word : {"", "or_else", "select_only", "OLDEST", "fair(user, oldest)"}) {
    EXPECT_EQ(StrategyFromWord(word), nullptr) << word;
  }
}

TEST(Compose, PutsTheWorkersOwnInItsPlace) {
  const StrategyPtr worker = testing::MustParseStrategy("or_else(newest, random)");
  EXPECT_EQ(Compose(DefaultPolicy(), worker), worker);
  const StrategyPtr policy = testing::MustParseStrategy(
      "or_else(select_only(urgent = true, priority), max_simultaneous(customer, 20, fair(user, worker)))", true);
  const StrategyPtr composed = Compose(policy, worker);
  EXPECT_EQ(PrintStrategy(*composed),
            "or_else(select_only(urgent = true, priority), max_simultaneous(customer, 20, fair(user, or_else(newest, "
            "random))))");
  EXPECT_EQ(composed->inner[1]->inner[0]->inner[0], worker);
  EXPECT_EQ(composed->inner[0], policy->inner[0]) << "what does not change is shared";
}

TEST(Compose, TakesTwoStrategiesAtTheirBounds) {
  std::string text = Nested(bounds::kMaxStrategyDepth);
  text.replace(text.find("oldest"), 6, "worker");
  const StrategyPtr composed =
      Compose(testing::MustParseStrategy(text, true), testing::MustParseStrategy(Nested(bounds::kMaxStrategyDepth)));
  EXPECT_EQ(PrintStrategy(*composed), Nested(2 * bounds::kMaxStrategyDepth - 1));
}

TEST(Defaults, ArePriorityAndTheWorkersOwn) {
  EXPECT_EQ(PrintStrategy(*DefaultStrategy()), "priority");
  EXPECT_EQ(PrintStrategy(*DefaultPolicy()), "worker");
  EXPECT_EQ(CheckStrategy(*DefaultStrategy(), false) + CheckStrategy(*DefaultPolicy(), true), "");
  EXPECT_EQ(CheckStrategy(*FairStrategy(), false), "");
}

TEST(DescribeStrategy, TellsEveryStep) {
  EXPECT_EQ(DescribeStrategy(*testing::MustParseStrategy("oldest")), "1. the oldest job first, its tasks in order\n");
  EXPECT_EQ(
      DescribeStrategy(*testing::MustParseStrategy("max_simultaneous(customer, 5, fair)")),
      R"(1. nothing of a value of `customer` that has 5 running tasks already; jobs without `customer` are not held
2. of the rest: shares between users: the one with the fewest running tasks for its weight first, of equals the one served longest ago; jobs without a user are one group
3. of its jobs: the first of these that has a task:
   first choice
     1. only jobs that a person waits for (`async` is false)
     2. of those: the job picked from longest ago first; one never picked from counts from its submission
   if there is none
     1. the job picked from longest ago first; one never picked from counts from its submission
)");
  EXPECT_EQ(DescribeStrategy(
                *testing::MustParseStrategy("max_simultaneous(job, 20%, prefer_distinct(Customer, 3, worker))", true)),
            R"(1. nothing of a job whose running tasks take 20 % of all slots (rounded down, at least 1)
2. of the rest: values of `Customer` by their running tasks, in steps of 3: up to 2 first, then up to 5, and so on; jobs without `Customer` count as 0
3. among equals: the worker's own rank and strategy
)");
}

TEST(AppendStrategyJson, HasOneFormPerBlock) {
  struct Row {
    const char* text;
    const char* json;
  };
  constexpr Row kRows[] = {
      {"least_recent", R"("least_recent")"},
      {"select_only(Mode = preview, oldest)", R"({"select_only":{"key":"mode","value":"preview","inner":"oldest"}})"},
      {"select_only(job = 12, oldest)", R"({"select_only":{"key":"job","value":"12","inner":"oldest"}})"},
      {"select_only(x = 1.0, oldest)", R"({"select_only":{"key":"x","value":1.0,"inner":"oldest"}})"},
      {"select_only(async = false, oldest)", R"({"select_only":{"key":"async","value":false,"inner":"oldest"}})"},
      {"prefer_distinct(a, random)", R"({"prefer_distinct":{"key":"a","max":1,"inner":"random"}})"},
      {"max_simultaneous(a, 5, random)", R"({"max_simultaneous":{"key":"a","max":5,"inner":"random"}})"},
      {"max_simultaneous(a, 5%, random)", R"({"max_simultaneous":{"key":"a","max":"5%","inner":"random"}})"},
      {"fair(user, or_else(oldest, newest))", R"({"fair":{"key":"user","inner":{"or_else":["oldest","newest"]}}})"},
  };
  for (const Row& row : kRows) EXPECT_EQ(testing::JsonOf(*testing::MustParseStrategy(row.text)), row.json) << row.text;
  EXPECT_EQ(testing::JsonOf(*DefaultPolicy()), R"("worker")");
}

}  // namespace
}  // namespace allot
