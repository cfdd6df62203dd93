// SPDX-License-Identifier: Apache-2.0
#include "cli/spec_options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "cli/worker_options.h"

namespace allot::cli {
namespace {

using std::chrono::milliseconds;

TEST(ParseMeta, TypesAreThoseThatTheTextLooksLike) {
  const auto value = [](const char* text) { return ParseMeta(text)->second; };
  EXPECT_EQ(value("a=12"), allotter::MetaValue(std::int64_t{12}));
  EXPECT_EQ(value("a=-3"), allotter::MetaValue(std::int64_t{-3}));
  EXPECT_EQ(value("a=1.5"), allotter::MetaValue(1.5));
  EXPECT_EQ(value("a=1e3"), allotter::MetaValue(1000.0));
  EXPECT_EQ(value("a=true"), allotter::MetaValue(true));
  EXPECT_EQ(value("a=\"true\""), allotter::MetaValue(std::string("true")));
  EXPECT_EQ(value("a=\"12\""), allotter::MetaValue(std::string("12")));
  EXPECT_EQ(value("a=acme=x"), allotter::MetaValue(std::string("acme=x")));
  EXPECT_EQ(value("a="), allotter::MetaValue(std::string()));
  EXPECT_EQ(value("a=1.2.3"), allotter::MetaValue(std::string("1.2.3")));
  EXPECT_EQ(value("a=inf"), allotter::MetaValue(std::string("inf")));
  EXPECT_EQ(value("a=e"), allotter::MetaValue(std::string("e")));
  EXPECT_FALSE(ParseMeta("a"));
  EXPECT_FALSE(ParseMeta("=1"));
}

TEST(ParseTime, UnderstandsWhatPeopleWrite) {
  ::setenv("TZ", "Europe/Berlin", 1);
  ::tzset();
  const std::int64_t now = 1'769'940'000'000;  // 2026-02-01 10:00:00Z, 11:00 in Berlin
  struct Row {
    const char* text;
    std::int64_t seconds;  // after now
  };
  const Row rows[] = {
      {"2026-02-01T10:00Z", 0},   {"2026-02-01T11:00", 0},
      {"2026-02-01 11:00:05", 5}, {"11:30", 1800},
      {"10:30", 84'600},          {"10:30Z", 1800},
      {"@1769940007", 7},         {"2026-02-02", 46'800},
      {"11:00", 86'400},          {"2026-02-01T10:00:01Z", 1},
  };
  for (const Row& row : rows) {
    const auto at = ParseTime(row.text, now);
    ASSERT_TRUE(at) << row.text;
    EXPECT_EQ(*at, now + row.seconds * 1000) << row.text;
  }
  for (const char* text : {"", "soon", "25:00", "2026-13-01", "@", "@-5", "2026-02-01T10:00+01", "10:00 tomorrow"}) {
    EXPECT_FALSE(ParseTime(text, now)) << text;
  }
}

TEST(ToSpec, DurationsAreReadAndWhatIsNotGivenIsNotSent) {
  SpecOptions options;
  options.delay = "10m";
  options.lease = "1.5s";
  options.backoff_first = "250ms";
  const auto spec = ToSpec(options);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->delay, milliseconds(600'000));
  EXPECT_EQ(spec->lease, milliseconds(1500));
  EXPECT_EQ(spec->backoff.first, milliseconds(250));
  EXPECT_FALSE(spec->timeout);
  EXPECT_FALSE(spec->retention);
  EXPECT_TRUE(spec->async);
}

TEST(ToSpec, ABadValueNamesItsOption) {
  SpecOptions options;
  options.lease = "soon";
  const auto spec = ToSpec(options);
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().code, Code::kBadValue);
  EXPECT_NE(spec.error().message.find("--lease"), std::string::npos);
}

TEST(ToSpec, DelayAndTimeExcludeEachOther) {
  SpecOptions options;
  options.delay = "1s";
  options.at = "10:00";
  EXPECT_FALSE(ToSpec(options));
}

TEST(ToConstraints, ConstraintsHoldForEveryAlternative) {
  using All = std::vector<allotter::Properties>;
  EXPECT_EQ(*ToConstraints({}, {}), All{});
  EXPECT_EQ(*ToConstraints({"gpu=a100", "mem=high"}, {}), (All{{{"gpu", "a100"}, {"mem", "high"}}}));
  EXPECT_EQ(*ToConstraints({}, {"gpu=a100,mem=high", "gpu=h100"}),
            (All{{{"gpu", "a100"}, {"mem", "high"}}, {{"gpu", "h100"}}}));
  EXPECT_EQ(*ToConstraints({"region=eu"}, {"gpu=a100", "gpu=h100"}),
            (All{{{"region", "eu"}, {"gpu", "a100"}}, {{"region", "eu"}, {"gpu", "h100"}}}));
  // A constraint's value is as it stands; those of alternatives are encoded, since commas part them.
  EXPECT_EQ(*ToConstraints({"a=1,5%=x"}, {}), (All{{{"a", "1,5%=x"}}}));
  EXPECT_EQ(*ToConstraints({}, {"a=1%2c5%25,b==x"}), (All{{{"a", "1,5%"}, {"b", "=x"}}}));
  for (const char* text : {"", "gpu", "=a", "gpu=", "gpu=a,", ",gpu=a", "gpu=a,,mem=b", "gpu=%", "gpu=%2", "gpu=%zz"}) {
    EXPECT_FALSE(ToConstraints({}, {text})) << text;
  }
  for (const char* text : {"", "gpu", "=a", "gpu="}) EXPECT_FALSE(ToConstraints({text}, {})) << text;
}

TEST(CheckExpression, PointsAtThePlace) {
  EXPECT_TRUE(CheckExpression("rank", ""));
  EXPECT_TRUE(CheckExpression("rank", "TARGET.memory * 2"));
  SpecOptions options;
  options.spec.requirements = "MACHINE.Memory >= 4096 && (";
  const auto spec = ToSpec(options);
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().code, Code::kBadValue);
  EXPECT_EQ(spec.error().message,
            "requirements: MACHINE.Memory >= 4096 && (\n"
            "                                         ^ expected an expression here");
}

TEST(MetaText, PairsCouldBeGivenAgain) {
  EXPECT_EQ(MetaText({{"a", std::string("x")}, {"b", std::int64_t{12}}, {"c", 2.0}, {"d", true}}),
            "a=x, b=12, c=2.0, d=true");
  EXPECT_EQ(MetaText({{"a", std::string("12")}, {"b", std::string("true")}, {"c", std::string("x y")}}),
            "a=\"12\", b=\"true\", c=\"x y\"");
}

TEST(ToWorkerChange, NamesWhatIsGivenAndTakesAwayWhatIsNot) {
  WorkerChangeOptions options;
  options.to.properties = {"gpu=12"};
  options.to.attributes = {"memory=4096", "zone=eu"};
  options.no_rank = true;
  const auto change = ToWorkerChange(options);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->properties, (allotter::Properties{{"gpu", "12"}}));  // a text, whatever it looks like
  EXPECT_EQ(change->attributes, (allotter::Meta{{"memory", std::int64_t{4096}}, {"zone", std::string("eu")}}));
  EXPECT_EQ(change->rank, "");
  EXPECT_FALSE(change->tags || change->requirements);
  EXPECT_FALSE(ToWorkerChange(WorkerChangeOptions()));
  options.no_properties = true;
  EXPECT_FALSE(ToWorkerChange(options));
  options = {};
  options.to.rank = "1 +";
  EXPECT_FALSE(ToWorkerChange(options));
}

TEST(ToChange, WhatMatchesCanBeTakenAway) {
  ChangeOptions options;
  options.no_constraints = options.no_requirements = true;
  options.rank = "2";
  auto change = ToChange(options);
  ASSERT_TRUE(change);
  EXPECT_TRUE(change->constraints && change->constraints->empty());
  EXPECT_EQ(change->requirements, "");
  EXPECT_EQ(change->rank, "2");
  options.no_rank = true;
  EXPECT_FALSE(ToChange(options));
}

TEST(ToChange, NothingNamedIsAnError) { EXPECT_FALSE(ToChange({})); }

TEST(ToChange, PriorityCanBeTakenAway) {
  ChangeOptions options;
  options.priority = "none";
  const auto change = ToChange(options);
  ASSERT_TRUE(change);
  ASSERT_TRUE(change->priority.has_value());
  EXPECT_FALSE(change->priority->has_value());
  options.priority = "high";
  EXPECT_FALSE(ToChange(options));
}

}  // namespace
}  // namespace allot::cli
