// SPDX-License-Identifier: Apache-2.0
#include "match/start_command.h"

#include <gtest/gtest.h>

#include "match/testing.h"

namespace allot {
namespace {

using testing::MustParse;

TEST(StartCommand, NamesAllThatAWorkerNeedsInOneCommandAndTheRestInWords) {
  struct Row {
    std::vector<std::string> tags;
    std::vector<Properties> constraints;
    const char* requirements;
    const char* want;
  };
  const Row rows[] = {
      {{}, {}, "", "allot work -- COMMAND"},
      {{"square"}, {}, "", "allot work --tag square -- COMMAND"},
      {{"eu", "it's"}, {}, "", "allot work --tag eu --tag 'it'\\''s' -- COMMAND"},
      {{"t"},
       {{{"gpu", "a100"}, {"mem", "80 GB"}}},
       "",
       "allot work --tag t --property gpu=a100 --property 'mem=80 GB' -- COMMAND"},
      // Of alternatives one will do.
      {{}, {{{"gpu", "a100"}}, {{"gpu", "h100"}}}, "", "allot work --property gpu=a100 -- COMMAND"},
      {{"square"},
       {{{"gpu", "a100"}}},
       "TARGET.memory >= 4096",
       "allot work --tag square --property gpu=a100 --attribute memory=4096 -- COMMAND"},
      // Each operator has a value for which it is true.
      {{},
       {},
       "TARGET.a > 4 && TARGET.b < 2 && MACHINE.c == 1.5 && TARGET.d <= -1 && 7 <= TARGET.e",
       "allot work --attribute a=5 --attribute b=1 --attribute c=1.5 --attribute d=-1 --attribute e=7 -- COMMAND"},
      // Texts that look like something else are put into quotes.
      {{},
       {},
       "TARGET.os == \"linux\" && TARGET.zip =?= \"01234\" && TARGET.x == \"true\"",
       "allot work --attribute os=linux --attribute 'zip=\"01234\"' --attribute 'x=\"true\"' -- COMMAND"},
      // What the job shows is a constant.
      {{}, {}, "TARGET.memory >= MY.need", "allot work --attribute memory=512 -- COMMAND"},
      {{}, {}, "MY.need == 512", "allot work -- COMMAND"},
      {{}, {}, "TARGET.Slots >= 4", "allot work -j 4 -- COMMAND"},
      // One value for several clauses, where there is one.
      {{}, {}, "TARGET.m >= 4 && TARGET.m <= 8", "allot work --attribute m=4 -- COMMAND"},
      {{},
       {},
       "TARGET.m <= 8 && TARGET.m != 8 && TARGET.n >= 1",
       "allot work --attribute m=8 --attribute n=1 -- COMMAND, on a machine for which this is true: `TARGET.m != 8`"},
      {{"t"},
       {},
       "regexp(\"^x\", TARGET.Name) && TARGET.m >= 1",
       "allot work --tag t --attribute m=1 -- COMMAND, on a machine for which this is true: "
       "`regexp(\"^x\", TARGET.Name)`"},
      // A property is what it is.
      {{},
       {{{"gpu", "a100"}}},
       "TARGET.gpu == \"h100\"",
       "allot work --property gpu=a100 -- COMMAND, on a machine for which this is true: `TARGET.gpu == \"h100\"`"},
  };
  expr::Ad job;
  job.Set("need", expr::Value::Integer(512));
  for (const Row& row : rows) {
    const ExprPtr requirements = *row.requirements == '\0' ? nullptr : MustParse(row.requirements);
    EXPECT_EQ(StartCommand({row.tags, row.constraints, requirements, &job}), row.want);
  }
}

TEST(StartCommand, IsShortHoweverMuchIsAskedFor) {
  std::string text = "TARGET.a0 >= 1";
  for (int i = 1; i < 60; ++i) text += " && TARGET.a" + std::to_string(i) + " >= 1";
  const std::string command = StartCommand({{"t"}, {}, MustParse(text), nullptr});
  EXPECT_NE(command.find("--attribute a7=1 -- COMMAND"), std::string::npos) << command;
  EXPECT_LT(command.size(), 400u) << command;
}

}  // namespace
}  // namespace allot
