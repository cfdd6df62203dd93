// SPDX-License-Identifier: Apache-2.0
// Random expressions on random ads: the evaluator agrees with the naive one, printing and parsing are inverse, and a
// flattened expression means what it meant before.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "base/sanitizers.h"
#include "expr/expr.h"
#include "expr/functions.h"
#include "expr/naive/bridge.h"
#include "expr/testing.h"

namespace allot::expr {
namespace {

using naive::Tree;
using naive::Val;
using naive::World;

// ALLOT_SEED repeats a failure; ALLOT_ROUNDS makes more of it.
std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}
std::uint64_t FirstSeed() { return FromEnvironment("ALLOT_SEED", 1); }
std::uint64_t Rounds(std::uint64_t normal) { return FromEnvironment("ALLOT_ROUNDS", allot::Rounds(normal)); }

struct Ads {
  Ad job, machine;
  Side my;
  std::int64_t time;

  explicit Ads(const World& world)
      : job(naive::ToAd(world.job)),
        machine(naive::ToAd(world.machine)),
        my(world.my_is_job ? Side::kJob : Side::kMachine),
        time(world.time) {}
  Sides Both() const { return {.job = &job, .machine = &machine, .my = my, .time = time}; }
};

World RandomWorld(Rng& rng) {
  World world;
  world.job = naive::RandomAd(rng);
  world.machine = naive::RandomAd(rng);
  world.my_is_job = rng.Below(2) == 0;
  world.time = 1'700'000'000 + static_cast<std::int64_t>(rng.Below(1000));
  return world;
}

std::string Show(const World& world) {
  std::string text = world.my_is_job ? "\nMY is the job" : "\nMY is the machine";
  for (const auto& [name, value] : world.job) text += "\njob." + name + " = " + naive::Print(value);
  for (const auto& [name, value] : world.machine) text += "\nmachine." + name + " = " + naive::Print(value);
  return text;
}

TEST(Property, TheNaiveEvaluatorKnowsEveryFunction) {
  Rng rng(1);
  naive::RandomTrees trees(rng);
  std::map<std::string, int> seen;
  for (int i = 0; i < 5'000; ++i) ++seen[trees.Call(1).text];
  for (const Function& function : Functions()) EXPECT_TRUE(seen.contains(std::string(function.name))) << function.name;
  EXPECT_EQ(seen.size(), Functions().size());
}

TEST(Property, EvaluatesAsTheNaiveOneWhicheverBracketsItHas) {
  Evaluator evaluator;
  std::map<Val::Kind, int> kinds;
  for (std::uint64_t seed = FirstSeed(), end = seed + Rounds(30'000); seed < end; ++seed) {
    Rng rng(seed);
    const Tree tree = naive::RandomTrees(rng).Make(static_cast<int>(1 + rng.Below(5)));
    const World world = RandomWorld(rng);
    const Ads ads(world);
    const Val want = naive::Evaluate(tree, world);
    ++kinds[want.kind];
    for (const bool all_brackets : {true, false}) {
      const std::string text = naive::Print(tree, all_brackets);
      const ExprPtr expr = testing::MustParse(text);
      ASSERT_NE(expr, nullptr) << "seed " << seed;
      const Val got = naive::FromValue(evaluator.Evaluate(*expr, ads.Both()));
      ASSERT_TRUE(naive::SameToTheBit(want, got)) << "seed " << seed << ": " << text << "\nis " << naive::Print(got)
                                                  << "\nnot " << naive::Print(want) << Show(world);
      EXPECT_EQ(evaluator.True(*expr, ads.Both()), naive::Same(naive::AsBoolean(want), naive::Bool(true)));
    }
  }
  // It is no test of ERROR alone.
  for (const auto kind : {Val::kUndefined, Val::kError, Val::kBoolean, Val::kInteger, Val::kReal, Val::kString,
                          Val::kList, Val::kRecord}) {
    EXPECT_GT(kinds[kind], static_cast<int>(allot::Rounds(100))) << "of kind " << kind;
  }
}

TEST(Property, FunctionsGiveWhatTheNaiveOnesGive) {
  Evaluator evaluator;
  for (std::uint64_t seed = FirstSeed(), end = seed + Rounds(60'000); seed < end; ++seed) {
    Rng rng(seed);
    const Tree tree = naive::RandomTrees(rng).Call(static_cast<int>(1 + rng.Below(2)));
    const World world = RandomWorld(rng);
    const Ads ads(world);
    const std::string text = naive::Print(tree, false);
    const ExprPtr expr = testing::MustParse(text);
    ASSERT_NE(expr, nullptr) << "seed " << seed;
    const Val want = naive::Evaluate(tree, world), got = naive::FromValue(evaluator.Evaluate(*expr, ads.Both()));
    ASSERT_TRUE(naive::SameToTheBit(want, got)) << "seed " << seed << ": " << text << "\nis " << naive::Print(got)
                                                << "\nnot " << naive::Print(want) << Show(world);
  }
}

TEST(Property, PrintingAndParsingAreInverse) {
  Evaluator evaluator;
  for (std::uint64_t seed = FirstSeed(), end = seed + Rounds(10'000); seed < end; ++seed) {
    Rng rng(seed);
    const Tree tree = naive::RandomTrees(rng).Make(static_cast<int>(1 + rng.Below(6)));
    const ExprPtr bracketed = testing::MustParse(naive::Print(tree, true)),
                  bare = testing::MustParse(naive::Print(tree, false));
    ASSERT_TRUE(bracketed != nullptr && bare != nullptr) << "seed " << seed;
    const std::string printed = bare->Print();
    // Brackets and space that mean nothing leave no trace.
    ASSERT_EQ(bracketed->Print(), printed) << "seed " << seed;
    const ExprPtr again = testing::MustParse(printed);
    ASSERT_NE(again, nullptr) << "seed " << seed;
    ASSERT_EQ(again->Print(), printed) << "seed " << seed;
    ASSERT_EQ(again->References(), bare->References()) << "seed " << seed;
    const World world = RandomWorld(rng);
    const Ads ads(world);
    const Val want = naive::Evaluate(tree, world), got = naive::FromValue(evaluator.Evaluate(*again, ads.Both()));
    ASSERT_TRUE(naive::SameToTheBit(want, got)) << "seed " << seed << ": " << printed << Show(world);
  }
}

TEST(Property, ValuesPrintSoThatTheyParseBackToThemselves) {
  Evaluator evaluator;
  for (std::uint64_t seed = FirstSeed(), end = seed + Rounds(20'000); seed < end; ++seed) {
    Rng rng(seed);
    Val value = naive::RandomValue(rng, true, 4);
    if (rng.Below(4) == 0) {
      const std::uint64_t bits = rng.Next();
      double real = 0;
      std::memcpy(&real, &bits, sizeof real);
      if (std::isfinite(real)) value = naive::Real(real);
    }
    Arena arena;
    const std::string printed = expr::Print(naive::ToValue(value, arena));
    const ExprPtr expr = testing::MustParse(printed);
    ASSERT_NE(expr, nullptr) << "seed " << seed;
    ASSERT_TRUE(expr->Constant().has_value()) << printed;
    const Val back = naive::FromValue(evaluator.Evaluate(*expr, {}));
    ASSERT_TRUE(naive::SameToTheBit(value, back)) << "seed " << seed << ": " << printed;
    ASSERT_EQ(expr->Print(), printed) << "seed " << seed;
  }
}

// The residual of `expr` with one side (or both) known, against the naive value of the whole: with the known side still
// there and with it gone, for other sides that it was not made for.
TEST(Property, AFlattenedExpressionMeansWhatItMeant) {
  Evaluator evaluator;
  std::uint64_t folded = 0, all = 0;
  for (std::uint64_t seed = FirstSeed(), end = seed + Rounds(15'000); seed < end; ++seed) {
    Rng rng(seed);
    const Tree tree = naive::RandomTrees(rng).Make(static_cast<int>(1 + rng.Below(5)));
    const std::string text = naive::Print(tree, false);
    const ExprPtr expr = testing::MustParse(text);
    ASSERT_NE(expr, nullptr);
    World world = RandomWorld(rng);
    const bool job_known = rng.Below(2) == 0, both = rng.Below(8) == 0;
    const Ads known(world);
    Sides given{.my = known.my, .time = known.time};
    if (job_known || both) given.job = &known.job;
    if (!job_known || both) given.machine = &known.machine;
    const ExprPtr residual = Flatten(*expr, given);
    ASSERT_NE(residual, nullptr) << "seed " << seed;
    ++all;
    folded += residual->Print() != expr->Print();
    const ExprPtr reparsed = testing::MustParse(residual->Print());
    ASSERT_NE(reparsed, nullptr) << "seed " << seed << ": " << residual->Print();
    ASSERT_EQ(reparsed->Print(), residual->Print()) << "seed " << seed;
    for (int other = 0; other < 4; ++other) {
      if (!both)
        (job_known ? world.machine : world.job) = other == 3 ? std::map<std::string, Val>() : naive::RandomAd(rng);
      world.time += static_cast<std::int64_t>(rng.Below(100));
      const Ads ads(world);
      const Val want = naive::Evaluate(tree, world);
      Sides gone = ads.Both();
      if (job_known || both) gone.job = nullptr;
      if (!job_known || both) gone.machine = nullptr;
      for (const Sides& sides : {ads.Both(), gone}) {
        for (const ExprPtr& one : {residual, reparsed}) {
          const Val got = naive::FromValue(evaluator.Evaluate(*one, sides));
          ASSERT_TRUE(naive::SameToTheBit(want, got)) << "seed " << seed << ": " << text << "\nflattened with the "
                                                      << (both        ? "both"
                                                          : job_known ? "job"
                                                                      : "machine")
                                                      << " known: " << residual->Print() << "\nis " << naive::Print(got)
                                                      << "\nnot " << naive::Print(want) << Show(world);
        }
      }
    }
  }
  EXPECT_GT(folded * 2, all);
}

// What reads a side, and what does not: a residual of the other side's attributes alone is the same for every ad of it.
TEST(Property, AnExpressionReadsNoMoreThanItSays) {
  Evaluator evaluator;
  for (std::uint64_t seed = FirstSeed(), end = seed + Rounds(5'000); seed < end; ++seed) {
    Rng rng(seed);
    const Tree tree = naive::RandomTrees(rng).Make(3);
    const ExprPtr expr = testing::MustParse(naive::Print(tree, false));
    ASSERT_NE(expr, nullptr);
    World world = RandomWorld(rng);
    const Ads before(world);
    const Val value = naive::FromValue(evaluator.Evaluate(*expr, before.Both()));
    const bool job = rng.Below(2) == 0;
    if (expr->Reads(job ? Side::kJob : Side::kMachine, before.my)) continue;
    (job ? world.job : world.machine) = naive::RandomAd(rng);
    if (!expr->UsesTime()) world.time += 5;
    const Ads after(world);
    ASSERT_TRUE(naive::SameToTheBit(naive::FromValue(evaluator.Evaluate(*expr, after.Both())), value))
        << "seed " << seed << expr->Print();
  }
}

// `&&` joins them again to what it was.
TEST(Property, ClausesTogetherAreTheWhole) {
  for (std::uint64_t seed = FirstSeed(), end = seed + Rounds(3'000); seed < end; ++seed) {
    Rng rng(seed);
    naive::RandomTrees trees(rng);
    Tree tree = trees.Make(2);
    for (int i = 0; i < 3; ++i) tree = Tree{.kind = Tree::kBinary, .text = "&&", .kids = {tree, trees.Make(2)}};
    const ExprPtr expr = testing::MustParse(naive::Print(tree, false));
    ASSERT_NE(expr, nullptr);
    const World world = RandomWorld(rng);
    const Ads ads(world);
    Evaluator evaluator;
    Val joined = naive::Bool(true);
    for (const ExprPtr& clause : expr->Clauses()) {
      joined = naive::Binary("&&", joined, naive::FromValue(evaluator.Evaluate(*clause, ads.Both())));
    }
    ASSERT_TRUE(naive::Same(joined, naive::Evaluate(tree, world))) << "seed " << seed << ": " << expr->Print();
  }
}

}  // namespace
}  // namespace allot::expr
