// SPDX-License-Identifier: Apache-2.0
#include "server/wire/percent.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

TEST(PercentDecode, Table) {
  struct Row {
    std::string_view text;
    bool in_query;
    std::optional<std::string> want;
  };
  using namespace std::string_view_literals;
  const Row rows[] = {
      {"", false, ""},        {"a%41%2f", false, "aA/"}, {"a+b", false, "a+b"}, {"a+b", true, "a b"},
      {"%c3%a4", false, "ä"}, {"%", false, {}},          {"%4", false, {}},     {"%4g", false, {}},
      {"%00", false, {}},     {"a\0b"sv, false, {}},     {"%ff", false, {}},    {"%25", true, "%"},
      {"%c3", false, {}},     {"%%41", false, {}},
  };
  for (const Row& row : rows) EXPECT_EQ(PercentDecode(row.text, row.in_query), row.want) << row.text;
}

}  // namespace
}  // namespace allot
