// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

using namespace std::chrono_literals;

TEST(ParseDuration, TakesWhatPeopleWrite) {
  struct Row {
    const char* text;
    Duration want;
  };
  const Row rows[] = {
      {"90s", 90s},   {"1.5h", 90min},     {"250ms", 250ms},
      {"2d", 48h},    {"1h30m", 90min},    {"7", 7s},
      {"0", 0s},      {"0.25", 250ms},     {"1w", 168h},
      {"15us", 15us}, {"2m 05s", 125s},    {"1d 2h 3m 4s 5ms", 26h + 3min + 4s + 5ms},
      {" 3s ", 3s},   {"0.0015s", 1500us}, {"100000d", 2'400'000h},
  };
  for (const Row& row : rows) {
    const auto got = ParseDuration(row.text);
    ASSERT_TRUE(got) << row.text;
    EXPECT_EQ(got->count(), Duration(row.want).count()) << row.text;
  }
}

TEST(ParseDuration, RefusesEverythingElse) {
  for (const char* text : {"",
                           " ",
                           "s",
                           "-1s",
                           "+1s",
                           "1x",
                           "1 s 2",
                           "1s2",
                           "1s1s",
                           "1m2h",
                           "1.s",
                           ".5s",
                           "1e3s",
                           "1S",
                           "inf",
                           "nan",
                           "99999999999999999999",
                           "9999999999999d",
                           "9000000000000s 9000000000000ms 1us 1",
                           "1h,30m",
                           "1\n"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

TEST(FormatDuration, IsShort) {
  struct Row {
    Duration duration;
    const char* want;
  };
  const Row rows[] = {
      {0s, "0s"},          {250ms, "250ms"},     {1500ms, "1.5s"},       {2s, "2s"},           {125s, "2m 05s"},
      {192min, "3h 12m"},  {98h, "4d 2h"},       {7us, "7us"},           {999'499us, "999ms"}, {999'500us, "1s"},
      {59'949ms, "59.9s"}, {59'950ms, "1m 00s"}, {3599'500ms, "1h 00m"}, {-5s, "-5s"},
  };
  for (const Row& row : rows) EXPECT_EQ(FormatDuration(row.duration), row.want);
}

TEST(ParseSize, KnowsDecimalAndBinaryUnits) {
  struct Row {
    const char* text;
    std::uint64_t want;
  };
  const Row rows[] = {
      {"10MB", 10'000'000},  {"64KiB", 65'536}, {"1.5G", 1'500'000'000}, {"0", 0},        {"123", 123}, {"12B", 12},
      {"1.2 MB", 1'200'000}, {"1kb", 1'000},    {"2tib", 2ull << 40},    {"0.5KiB", 512},
  };
  for (const Row& row : rows) EXPECT_EQ(ParseSize(row.text), row.want) << row.text;
  for (const char* text :
       {"", "MB", "-1", "1.5", "1.5B", "1XB", "1 2", "1KiBx", "99999999999TB", "18446744073709551616"}) {
    EXPECT_FALSE(ParseSize(text)) << text;
  }
}

TEST(FormatSize, HasOneDecimal) {
  EXPECT_EQ(FormatSize(0), "0 B");
  EXPECT_EQ(FormatSize(999), "999 B");
  EXPECT_EQ(FormatSize(1'234'567), "1.2 MB");
  EXPECT_EQ(FormatSize(999'999), "1.0 MB");
  EXPECT_EQ(FormatSize(UINT64_MAX), "18.4 EB");
}

TEST(FormatCount, GroupsByThree) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1'000), "1,000");
  EXPECT_EQ(FormatCount(1'234'567), "1,234,567");
  EXPECT_EQ(FormatCount(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(Nearest, FindsTypos) {
  const std::string_view words[] = {"count", "payload", "payloads", "tag", "tags", "lease_ms"};
  EXPECT_EQ(Nearest("cuont", words), "count");
  EXPECT_EQ(Nearest("paylod", words), "payload");
  EXPECT_EQ(Nearest("payload", words), "payload");
  EXPECT_EQ(Nearest("tga", words), "tag");
  EXPECT_EQ(Nearest("lease", words), "");
  EXPECT_EQ(Nearest("leasems", words), "lease_ms");
  EXPECT_EQ(Nearest("x", words), "");
  EXPECT_EQ(Nearest("xyz", words), "");
  EXPECT_EQ(Nearest("", words), "");
  EXPECT_EQ(Nearest(std::string(1'000'000, 'a'), words), "");
  EXPECT_EQ(Nearest("tag", {}), "");
}

TEST(Nearest, AllowsShortWordsOneEditAlone) {
  const std::string_view words[] = {"arch", "zone", "memory"};
  EXPECT_EQ(Nearest("arhc", words), "arch");
  EXPECT_EQ(Nearest("zon", words), "zone");
  EXPECT_EQ(Nearest("rank", words), "");
  EXPECT_EQ(Nearest("done", words), "zone");
  EXPECT_EQ(Nearest("node", words), "");
  EXPECT_EQ(Nearest("memroi", words), "memory");
}

TEST(IsSlip, TakesNoOtherCharacterForOne) {
  for (const auto& [a, b] : {std::pair("a100", "a10"),
                             {"a10", "a100"},
                             {"linux", "liunx"},
                             {"linux", "linuxx"},
                             {"linux", "inux"},
                             {"ab", "ba"},
                             {"x86-64", "x86_64"}})
    EXPECT_TRUE(IsSlip(a, b)) << a << " " << b;
  for (const auto& [a, b] : {std::pair("a100", "h100"),
                             {"a100", "a101"},
                             {"a100", "a100"},
                             {"linux", "lin"},
                             {"linux", "lixnu"},
                             {"abcd", "badc"},
                             {"", ""},
                             {"a", "b"},
                             {"", "ab"},
                             {"", "a"},
                             {"8", "80"},
                             {"x86-64", "x86_46"},
                             {"x86-64", "x86064"},
                             {"ö1", "ü1"}})
    EXPECT_FALSE(IsSlip(a, b)) << a << " " << b;
}

TEST(HasControl, FindsAllThatTerminalsObey) {
  for (const char* text : {"a\n", "\x1b[31m", "\x7f", "a\u0080", "\u009b31m", "\u009f"})
    EXPECT_TRUE(HasControl(text)) << text;
  for (const char* text : {"", "plain", "größe", "\u00a0", "日本 ✓"}) EXPECT_FALSE(HasControl(text)) << text;
}

}  // namespace
}  // namespace allot
