// SPDX-License-Identifier: Apache-2.0
#include "expr/functions.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/bounds.h"
#include "expr/arena.h"
#include "expr/expr.h"
#include "expr/patterns.h"
#include "expr/testing.h"

namespace allot::expr {
namespace {

struct Call {
  const char* text;
  const char* want;
};
template <std::size_t n>
void Check(const Call (&rows)[n]) {
  for (const Call& row : rows) EXPECT_EQ(testing::Evaluated(row.text), row.want) << row.text;
}

TEST(Functions, AreFoundInAnyCaseAndHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Function& function : Functions()) {
    std::string lower(function.name), upper(function.name);
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    for (char& c : upper) c = static_cast<char>(std::toupper(c));
    EXPECT_TRUE(names.insert(lower).second) << lower;
    EXPECT_EQ(FindFunction(lower), &function);
    EXPECT_EQ(FindFunction(upper), &function);
    EXPECT_LE(function.min_arguments, function.max_arguments);
  }
  EXPECT_EQ(names.size(), 63u);
  EXPECT_EQ(FindFunction("no_such"), nullptr);
  EXPECT_EQ(FindFunction(""), nullptr);
}

TEST(Functions, TellTheKindOfAnything) {
  Check({{"isUndefined(undefined)", "true"},
         {"isUndefined(error)", "false"},
         {"isError(error)", "true"},
         {"isError(1 / 0)", "true"},
         {"isError(undefined)", "false"},
         {"isString(\"\")", "true"},
         {"isInteger(1)", "true"},
         {"isInteger(1.0)", "false"},
         {"isReal(1.0)", "true"},
         {"isBoolean(1 < 2)", "true"},
         {"isBoolean(1)", "false"},
         {"isList({})", "true"},
         {"isList([])", "false"}});
}

TEST(Functions, ConvertOnlyWhatIsWhollyANumber) {
  Check({{"int(7.9)", "7"},
         {"int(-7.9)", "-7"},
         {"int(true)", "1"},
         {"int(\"12\")", "12"},
         {"int(\"-12\")", "-12"},
         {"int(\"+12\")", "12"},
         {"int(\"0x1F\")", "31"},
         {"int(\"1e3\")", "1000"},
         {"int(\"1.9\")", "1"},
         {"int(\"-9223372036854775808\")", "-9223372036854775808"},
         {"int(\"9223372036854775808\")", "error"},
         {"int(9223372036854775808.0)", "error"},
         {"int(-9223372036854775808.0)", "-9223372036854775808"},
         {"int(\"\")", "error"},
         {"int(\" 1\")", "error"},
         {"int(\"1 \")", "error"},
         {"int(\"1x\")", "error"},
         {"int(\"-\")", "error"},
         {"int(\"--1\")", "error"},
         {"int(\"0x\")", "error"},
         {"int({1})", "error"},
         {"real(\".5\")", "error"},
         {"real(\"5.\")", "error"},
         {"real(\"inf\")", "error"},
         {"real(\"nan\")", "error"},
         {"real(\"1e400\")", "error"},
         {"real(\"1e-400\")", "0.0"},
         {"real(\"1e\")", "error"},
         {"real(\"1\")", "1.0"},
         {"real(2)", "2.0"},
         {"real(false)", "0.0"},
         {"bool(\"TRUE\")", "true"},
         {"bool(\"False\")", "false"},
         {"bool(\"yes\")", "error"},
         {"bool(0.0)", "false"},
         {"bool(-3)", "true"},
         {"bool({})", "error"},
         {"string(\"a\")", "\"a\""},
         {"string(1.0)", "\"1.0\""},
         {"string({1, \"a\"})", "\"{1, \\\"a\\\"}\""},
         {"string([a = undefined])", "\"[a = undefined]\""},
         {"string(undefined)", "undefined"},
         {"string(error)", "error"}});
}

TEST(Functions, ChooseAndTellTheTime) {
  Check({{"ifThenElse(1 < 2, \"a\", error)", "\"a\""},
         {"ifThenElse(false, error, 2)", "2"},
         {"ifThenElse(undefined, 1, 2)", "undefined"},
         {"ifThenElse(\"x\", 1, 2)", "error"},
         {"time()", "1700000000"}});
}

TEST(Functions, Calculate) {
  Check({{"floor(-1.5)", "-2"},
         {"ceiling(-1.5)", "-1"},
         {"round(2.5)", "2"},
         {"round(-2.5)", "-2"},
         {"round(0.49999999999999994)", "0"},
         {"floor(7)", "7"},
         {"floor(true)", "1"},
         {"floor(\"1\")", "1"},
         {"floor(1e300)", "error"},
         {"pow(2, 62)", "4611686018427387904"},
         {"pow(2, 63)", "error"},
         {"pow(-2, 63)", "-9223372036854775808"},
         {"pow(0, 0)", "1"},
         {"pow(1, 9223372036854775807)", "1"},
         {"pow(-1, 9223372036854775807)", "-1"},
         {"pow(10, 9223372036854775807)", "error"},
         {"pow(2, -1)", "0.5"},
         {"pow(0, -1)", "error"},
         {"pow(-8, 0.5)", "error"},
         {"pow(2.0, 3)", "8.0"},
         {"quantize(3, 8)", "8"},
         {"quantize(8, 8)", "8"},
         {"quantize(-3, 8)", "0"},
         {"quantize(-9, 8)", "-8"},
         {"quantize(3, 2.5)", "5.0"},
         {"quantize(3, 0)", "3"},
         {"quantize(3, -1)", "error"},
         {"quantize(9223372036854775807, 2)", "error"},
         {"quantize(5, {1, 4, 16})", "16"},
         {"quantize(40, {1, 4, 16})", "48"},
         {"quantize(1, {})", "1"},
         {"quantize(1, {\"x\"})", "error"},
         {"quantize(1, {undefined, 2})", "undefined"},
         {"quantize(undefined, 2)", "undefined"}});
}

TEST(Functions, SummariseLists) {
  Check({{"min({3, 1, 2})", "1"},
         {"max({3, 1.5})", "3.0"},
         {"min({})", "undefined"},
         {"max({})", "undefined"},
         {"avg({})", "undefined"},
         {"sum({})", "undefined"},
         {"sum({1, true, 2})", "4"},
         {"sum({1, 0.5})", "1.5"},
         {"sum({9223372036854775807, 1})", "error"},
         {"sum({9223372036854775807, 1, -5})", "error"},
         {"sum({1e308, 1e308})", "error"},
         {"avg({1, 2})", "1.5"},
         {"sum({1, undefined})", "undefined"},
         {"sum({undefined, \"a\"})", "error"},
         {"sum({undefined, error})", "error"},
         {"sum(1)", "error"},
         {"max({9007199254740992.0, 9007199254740993}) == 9007199254740992.0", "true"}});
}

TEST(Functions, LookIntoLists) {
  Check({{"size({1, 2})", "2"},
         {"size(\"\\u00e9\")", "2"},
         {"size([a = 1])", "1"},
         {"size(1)", "error"},
         {"size(undefined)", "undefined"},
         {"member(\"A\", {\"b\", \"a\"})", "true"},
         {"member(1, {\"1\", 1.0})", "true"},
         {"member(1, {\"1\", undefined, error})", "false"},
         {"member(undefined, {1})", "undefined"},
         {"member({1}, {{1}})", "error"},
         {"member(1, 1)", "error"},
         {"identicalMember(\"A\", {\"b\", \"a\"})", "false"},
         {"identicalMember(undefined, {1, undefined})", "true"},
         {"identicalMember(error, {error})", "true"},
         {"identicalMember({1}, {{1}})", "error"},
         {"identicalMember(1, undefined)", "undefined"},
         {"identicalMember(1, 2)", "error"},
         {"anyCompare(\">\", {1, \"x\", 5}, 4)", "true"},
         {"allCompare(\">\", {5, 6}, 4)", "true"},
         {"allCompare(\">\", {5, \"x\"}, 4)", "false"},
         {"anyCompare(\"is\", {1, undefined}, undefined)", "true"},
         {"allCompare(\"isnt\", {1, 2}, undefined)", "true"},
         {"anyCompare(\"<\", {}, 1)", "false"},
         {"allCompare(\"<\", {}, 1)", "true"},
         {"anyCompare(\"<\", {1}, undefined)", "undefined"},
         {"anyCompare(\"=\", {1}, 1)", "error"},
         {"anyCompare(\"<\", 1, 1)", "error"}});
}

TEST(Functions, PutStringsTogetherAndCutThem) {
  Check({{"strcat(\"a\", 1, 2.0, true, {1})", "\"a12.0true{1}\""},
         {"strcat(\"a\", undefined)", "undefined"},
         {"strcat(undefined, error)", "error"},
         {"join(\"-\", {1, \"b\"})", "\"1-b\""},
         {"join(\"-\", {})", "\"\""},
         {"join(\"-\", 1, \"b\")", "\"1-b\""},
         {"join(\"-\", {1}, {2})", "\"{1}-{2}\""},
         {"join(\"-\", {1, undefined})", "undefined"},
         {"join(1, {1})", "\"1\""},
         {"substr(\"abcde\", 1)", "\"bcde\""},
         {"substr(\"abcde\", -2)", "\"de\""},
         {"substr(\"abcde\", 1, 2)", "\"bc\""},
         {"substr(\"abcde\", 1, -1)", "\"bcd\""},
         {"substr(\"abcde\", 9)", "\"\""},
         {"substr(\"abcde\", -9, 2)", "\"ab\""},
         {"substr(\"abcde\", 3, -4)", "\"\""},
         {"substr(\"abcde\", -9223372036854775808, 9223372036854775807)", "\"abcde\""},
         {"substr(\"abcde\", 1, -9223372036854775808)", "\"\""},
         {"substr(\"a\\u00e9b\", 0, 2)", "\"a\""},
         {"substr(\"a\\u00e9b\", 2)", "\"b\""},
         {"substr(\"\\u00e9\", 1, 1)", "\"\""},
         {"substr(\"abc\", 1.0)", "error"},
         {"strcmp(\"a\", \"B\")", "1"},
         {"stricmp(\"a\", \"B\")", "-1"},
         {"strcmp(\"a\", \"a\")", "0"},
         {"strcmp(1, 1)", "0"},
         {"toUpper(\"a\\u00e9z\")", "\"A\xC3\xA9Z\""},
         {"toLower(\"AZ\")", "\"az\""},
         {"split(\"a, b,,c\")", "{\"a\", \"b\", \"c\"}"},
         {"split(\"a:b c\", \":\")", "{\"a\", \"b c\"}"},
         {"split(\"abc\", \"\")", "{\"abc\"}"},
         {"split(\"\")", "{}"},
         {"split(\"a\\u00e9b\", \"\\u00e9\")", "error"}});
}

TEST(Functions, FindAndReplacePatterns) {
  Check({{"regexp(\"^node[0-9]+$\", \"node12\")", "true"},
         {"regexp(\"b\", \"abc\")", "true"},
         {"regexp(\"b\", \"abc\", \"f\")", "false"},
         {"regexp(\"B\", \"abc\")", "false"},
         {"regexp(\"B\", \"abc\", \"I\")", "true"},
         {"regexp(\"^b\", \"a\\nb\")", "false"},
         {"regexp(\"^b\", \"a\\nb\", \"m\")", "true"},
         {"regexp(\"a.b\", \"a\\nb\")", "false"},
         {"regexp(\"a.b\", \"a\\nb\", \"s\")", "true"},
         {"regexp(\"^.$\", \"\\u00e9\")", "true"},
         {"regexp(strcat(\"(\", \"\"), \"a\")", "error"},
         {"regexp(\"a\", \"a\", strcat(\"x\", \"\"))", "error"},
         {"regexp(undefined, \"a\")", "undefined"},
         {"regexp(1, \"a\")", "error"},
         {"regexps(\"([a-z]+)([0-9]+)\", \"node12\", \"\\\\2-\\\\1\")", "\"12-node\""},
         {"regexps(\"x\", \"node12\", \"y\")", "\"\""},
         {"regexps(\"(a)|(b)\", \"b\", \"<\\\\1\\\\2>\")", "\"<b>\""},
         {"regexps(\"a\", \"a\", \"\\\\1\")", "error"},
         {"regexps(\"a\", \"a\", \"\\\\x\")", "error"},
         {"regexps(\"a\", \"a\", \"\\\\\")", "error"},
         {"regexps(\"a\", \"a\", \"\\\\\\\\\")", "\"\\\\\""},
         {"regexpMember(\"^b\", {\"ab\", 1, \"bc\"})", "error"},
         {"regexpMember(\"^b\", {\"ab\", undefined})", "undefined"},
         {"regexpMember(\"^b\", \"b\")", "error"},
         {"replace(\"[0-9]\", \"a1b2\", \"_\")", "\"a_b2\""},
         {"replaceAll(\"[0-9]\", \"a1b2\", \"<\\\\0>\")", "\"a<1>b<2>\""},
         {"replaceAll(\"x*\", \"abc\", \"-\")", "\"-a-b-c-\""},
         {"replaceAll(\"b*\", \"abbc\", \"-\")", "\"-a-c-\""},
         {"replaceAll(\"\", \"\\u00e9\", \"-\")", "\"-\xC3\xA9-\""},
         {"replaceAll(\"^a\", \"aaa\", \"b\")", "\"baa\""},
         {"replaceAll(\"x\", \"abc\", \"y\")", "\"abc\""},
         {"replaceAll(\"a+\", \"aaa\", \"b\", \"f\")", "\"b\""},
         {"replaceAll(\"a\", \"aaa\", \"b\", \"f\")", "\"bbb\""}});
}

TEST(Functions, ReadListsOutOfStrings) {
  Check({{"stringListMember(\"b\", \"a, b\")", "true"},
         {"stringListMember(\"B\", \"a, b\")", "false"},
         {"stringListIMember(\"B\", \"a, b\")", "true"},
         {"stringListMember(\"\", \"a,,b\")", "false"},
         {"stringListMember(\"a b\", \"a b;c\", \";\")", "true"},
         {"stringListSubsetMatch(\"a,b\", \"b,c,a\")", "true"},
         {"stringListSubsetMatch(\"a,d\", \"b,c,a\")", "false"},
         {"stringListSubsetMatch(\"\", \"a\")", "true"},
         {"stringListsIntersect(\"a,d\", \"b,a\")", "true"},
         {"stringListsIntersect(\"\", \"\")", "false"},
         {"stringListMember(1, \"1\")", "error"},
         {"stringListMember(undefined, \"1\")", "undefined"}});
}

TEST(Functions, CompareVersions) {
  Check({{"versioncmp(\"1.9\", \"1.10\")", "-1"},
         {"versioncmp(\"1.10\", \"1.9\")", "1"},
         {"versioncmp(\"1.01\", \"1.1\")", "0"},
         {"versioncmp(\"1.0\", \"1\")", "1"},
         {"versioncmp(\"1.0\", \"1.0-rc1\")", "-1"},
         {"versioncmp(\"\", \"\")", "0"},
         {"versioncmp(\"a10b\", \"a9c\")", "1"},
         {"versioncmp(\"9\", \"a\")", "-1"},
         {"versioncmp(\"99999999999999999999999999\", \"100000000000000000000000000\")", "-1"},
         {"versionEQ(\"2.00\", \"2.0\")", "true"},
         {"versionLT(\"2.0\", \"2.0.1\")", "true"},
         {"versionLE(\"2.0\", \"2.0\")", "true"},
         {"versionGT(\"2.10\", \"2.9\")", "true"},
         {"versionGE(\"2.9\", \"2.10\")", "false"},
         {"versionInRange(\"1.5\", \"1.2\", \"1.10\")", "true"},
         {"versionInRange(\"1.11\", \"1.2\", \"1.10\")", "false"},
         {"versionLT(1, 2)", "error"}});
}

// Each function on each number of arguments that it takes, of every kind, with as good as no steps and no memory: ERROR
// or a value, but it ends and stays inside.
TEST(Functions, StayInsideTheirStepsAndMemory) {
  const std::string long_text(5'000, 'a');
  const Value many[] = {Value::Integer(1), Value::String("a,b"), Value::Real(2.5), Value::Undefined()};
  const Value kinds[] = {Value::Undefined(), Value::Error(),    Value::Boolean(true),
                         Value::Integer(-3), Value::Real(0.5),  Value::String("a|b"),
                         Value::String(""),  Value::List(many), Value::String(long_text)};
  PatternCache patterns;
  for (const Function& function : Functions()) {
    const std::size_t most = function.max_arguments == kAnyNumber ? 4 : function.max_arguments;
    for (std::size_t count = function.min_arguments; count <= most; ++count) {
      std::size_t combinations = 1;
      for (std::size_t i = 0; i < count; ++i) combinations *= std::size(kinds);
      for (std::size_t n = 0; n < combinations; ++n) {
        std::vector<Value> arguments;
        for (std::size_t i = 0, rest = n; i < count; ++i, rest /= std::size(kinds)) {
          arguments.push_back(kinds[rest % std::size(kinds)]);
        }
        for (const std::int64_t steps : {0, 20, 1'000}) {
          Arena arena(64);
          CallContext context{arena, patterns, 0, steps};
          const Value value = function.run(context, arguments);
          ASSERT_LE(arena.used(), 64u) << function.name;
          // Whoever overdraws gets nothing.
          ASSERT_TRUE(context.steps_left >= 0 || value.is(Type::kError)) << function.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace allot::expr
