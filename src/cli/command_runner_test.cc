// SPDX-License-Identifier: Apache-2.0
#include "cli/command_runner.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "cli/text/payload_text.h"

namespace allot::cli {
namespace {

using Kind = allotter::Outcome::Kind;

TEST(ProcessFor, PayloadIsFollowedByANewlineUnlessRaw) {
  allotter::Assignment task;
  task.payload = "\"12\"";
  CommandOptions options;
  options.argv = {"cat"};
  EXPECT_EQ(ProcessFor(options, task).input, "12\n");
  options.raw = true;
  EXPECT_EQ(ProcessFor(options, task).input, "12");
}

TEST(ProcessFor, IdsAreInTheEnvironment) {
  allotter::Assignment task;
  task.task = {"77", 5, "a-b"};
  task.attempt = 2;
  task.count = 10;
  task.trace = "00-x";
  CommandOptions options;
  options.argv = {"cat"};
  options.queue = "q";
  const auto variables = ProcessFor(options, task).variables;
  for (const char* want : {"ALLOT_JOB=77", "ALLOT_INDEX=5", "ALLOT_LEASE=a-b", "ALLOT_ATTEMPT=2", "ALLOT_COUNT=10",
                           "ALLOT_QUEUE=q", "ALLOT_TRACEPARENT=00-x", "TRACEPARENT=00-x"}) {
    EXPECT_NE(std::find(variables.begin(), variables.end(), want), variables.end()) << want;
  }
}

TEST(ProcessFor, NothingFromOutsideCanSmuggleAVariableIn) {
  allotter::Assignment task;
  task.trace = std::string("x\0Y=1", 5);
  CommandOptions options;
  options.argv = {"cat"};
  for (const std::string& variable : ProcessFor(options, task).variables)
    EXPECT_EQ(variable.find('\0'), std::string::npos);
}

struct Exit {
  const char* name;
  int status;
  int signal;
  std::string output, error;
  bool json;
  Kind kind;
  std::string text;
};

TEST(OutcomeOf, ExitStatusDecides) {
  const Exit rows[] = {
      {"done", 0, 0, "144\n", "", false, Kind::kDone, "\"144\""},
      {"one newline is cut", 0, 0, "a\n\n", "", false, Kind::kDone, "\"a\\n\""},
      {"no output", 0, 0, "", "", false, Kind::kDone, ""},
      {"an empty line", 0, 0, "\n", "", false, Kind::kDone, ""},
      {"bytes", 0, 0, "\xFF", "", false, Kind::kDone, "{\"$base64\":\"/w==\"}"},
      {"json", 0, 0, "{\"a\": 1}\n", "", true, Kind::kDone, "{\"a\": 1}"},
      {"not json", 0, 0, "a", "", true, Kind::kFailed, "the output is not JSON"},
      {"failed", 1, 0, "x", "oh no\n", false, Kind::kFailed, "exit status 1: oh no"},
      {"failed for good", 100, 0, "", "", false, Kind::kRejected, "exit status 100"},
      {"killed", 0, SIGKILL, "", "", false, Kind::kFailed, "killed by signal 9 (SIGKILL)"},
  };
  for (const Exit& row : rows) {
    CommandOptions options;
    options.json_result = row.json;
    ProcessEnd end;
    end.status = row.status;
    end.signal = row.signal;
    end.output = row.output;
    end.error_tail = row.error;
    const allotter::Outcome outcome = OutcomeOf(options, std::move(end));
    EXPECT_EQ(outcome.kind, row.kind) << row.name;
    EXPECT_EQ(outcome.text, row.text) << row.name;
  }
}

TEST(OutcomeOf, OutputOverTheBoundIsNoResult) {
  ProcessEnd end;
  end.output = "x";
  end.output_cut = true;
  EXPECT_EQ(OutcomeOf({}, std::move(end)).kind, Kind::kRejected);
}

}  // namespace
}  // namespace allot::cli
