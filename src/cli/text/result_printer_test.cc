// SPDX-License-Identifier: Apache-2.0
#include "cli/text/result_printer.h"

#include <gtest/gtest.h>

#include <sstream>

namespace allot::cli {
namespace {

struct Printed {
  std::string out, errors;
};

Printed PrintAll(Format format, Style style = {}) {
  std::ostringstream out, errors;
  ResultPrinter printer(out, errors, format, style);
  const auto one = [&](std::uint64_t index, const char* state, const char* result, const char* error) {
    allotter::TaskResult task;
    task.index = index;
    task.state = state;
    task.result = result;
    task.error = error;
    task.json = "{\"index\":" + std::to_string(index) + "}";
    printer.Print(task);
  };
  one(0, "done", "\"144\"", "");
  one(1, "failed", "", "exit status 1\n\x1b[31m");
  one(2, "done", "", "");
  one(3, "done", "\"\\u001b[2Jx\\ny\"", "");
  one(4, "done", "{\"a\": 1}", "");
  one(5, "skipped", "", "");
  printer.End();
  return {out.str(), errors.str()};
}

TEST(ResultPrinter, EveryTaskHasItsLineAndFailuresGoToTheOtherStream) {
  const Printed printed = PrintAll(Format::kTable);
  EXPECT_EQ(printed.out, "144\n\n\n\x1b[2Jx\ny\n{\"a\":1}\n\n");
  EXPECT_EQ(printed.errors, "task 1 failed: exit status 1 [31m\n");
}

TEST(ResultPrinter, ATerminalGetsNoControlCharacters) {
  EXPECT_EQ(PrintAll(Format::kTable, {.terminal = true, .colour = false}).out, "144\n\n\n[2Jx\ny\n{\"a\":1}\n\n");
}

TEST(ResultPrinter, JsonIsTheProtocolsOwn) {
  EXPECT_EQ(PrintAll(Format::kNdjson).out,
            "{\"index\":0}\n{\"index\":1}\n{\"index\":2}\n{\"index\":3}\n{\"index\":4}\n{\"index\":5}\n");
  EXPECT_EQ(PrintAll(Format::kJson).out,
            "{\"results\":[\n{\"index\":0},\n{\"index\":1},\n{\"index\":2},\n{\"index\":3},\n{\"index\":4},\n{"
            "\"index\":5}\n]}\n");
  EXPECT_EQ(PrintAll(Format::kId).out, "0\n2\n3\n4\n");
}

TEST(ResultPrinter, NoResultsAreAnEmptyList) {
  std::ostringstream out, errors;
  ResultPrinter(out, errors, Format::kJson, {}).End();
  EXPECT_EQ(out.str(), "{\"results\":[]}\n");
}

}  // namespace
}  // namespace allot::cli
