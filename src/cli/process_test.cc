// SPDX-License-Identifier: Apache-2.0
#include "cli/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace allot::cli {
namespace {

using namespace std::chrono_literals;

ProcessSpec Shell(const std::string& script) {
  ProcessSpec spec;
  spec.argv = {"sh", "-c", script};
  spec.pass_stderr = false;
  return spec;
}

ProcessEnd RunToEnd(ProcessSpec spec, const std::function<void(Process&)>& meanwhile = {}) {
  boost::asio::io_context context(1);
  ProcessEnd end;
  bool called = false;
  auto process = Process::Start(context, std::move(spec), [&](ProcessEnd&& ended) {
    EXPECT_FALSE(called);
    called = true;
    end = std::move(ended);
  });
  EXPECT_TRUE(process);
  if (process && meanwhile) meanwhile(**process);
  context.run_for(20s);
  EXPECT_TRUE(called);
  return end;
}

TEST(Process, GivesInputAndTakesOutput) {
  ProcessSpec spec = Shell("read n; echo $((n * n)); echo note >&2");
  spec.input = "12\n";
  const ProcessEnd end = RunToEnd(std::move(spec));
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(end.output, "144\n");
  EXPECT_EQ(end.error_tail, "note\n");
}

TEST(Process, InputAndOutputMayBeLargerThanAPipe) {
  ProcessSpec spec = Shell("cat");
  spec.input = std::string(900'000, 'x');
  const ProcessEnd end = RunToEnd(std::move(spec));
  EXPECT_EQ(end.output.size(), 900'000u);
  EXPECT_FALSE(end.output_cut);
}

TEST(Process, OutputIsCutAtItsBoundAndTheChildStillEnds) {
  ProcessSpec spec = Shell("head -c 500000 /dev/zero");
  spec.max_output = 1000;
  const ProcessEnd end = RunToEnd(std::move(spec));
  EXPECT_EQ(end.output.size(), 1000u);
  EXPECT_TRUE(end.output_cut);
  EXPECT_EQ(end.status, 0);
}

TEST(Process, AChildThatDoesNotReadItsInputIsNoError) {
  ProcessSpec spec = Shell("exit 3");
  spec.input = std::string(900'000, 'x');
  ::signal(SIGPIPE, SIG_IGN);  // as the program does
  EXPECT_EQ(RunToEnd(std::move(spec)).status, 3);
}

TEST(Process, OnlyTheEndOfStderrIsKept) {
  ProcessSpec spec = Shell("i=0; while [ $i -lt 500 ]; do echo line-$i >&2; i=$((i+1)); done");
  spec.max_error_tail = 50;
  const ProcessEnd end = RunToEnd(std::move(spec));
  EXPECT_EQ(end.error_tail.size(), 50u);
  EXPECT_TRUE(end.error_tail.ends_with("line-499\n"));
}

TEST(Process, VariablesReplaceThoseOfThisProcess) {
  ::setenv("ALLOT_JOB", "outer", 1);
  ProcessSpec spec = Shell("echo $ALLOT_JOB $ALLOT_INDEX; env | grep -c ^ALLOT_JOB=");
  spec.variables = {"ALLOT_JOB=7", "ALLOT_INDEX=3"};
  EXPECT_EQ(RunToEnd(std::move(spec)).output, "7 3\n1\n");
}

// Not even those that lack the flag, such as a socket that a library has just made.
TEST(Process, AChildInheritsItsThreeStreamsOnly) {
  const int leak = ::open("/dev/null", O_RDONLY);
  ASSERT_GE(leak, 0);
  const ProcessEnd end = RunToEnd(Shell("ls /proc/$$/fd"));
  ::close(leak);
  EXPECT_EQ(end.output, "0\n1\n2\n");
}

TEST(Process, StopReachesTheWholeGroup) {
  const auto begun = std::chrono::steady_clock::now();
  const ProcessEnd end = RunToEnd(Shell("sleep 15 & sleep 15; echo no"), [](Process& process) { process.Stop(5s); });
  EXPECT_EQ(end.signal, SIGTERM);
  EXPECT_EQ(end.output, "");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
}

TEST(Process, StopKillsWhatDoesNotListen) {
  boost::asio::io_context context(1);
  ProcessEnd end;
  auto process = Process::Start(context, Shell("trap '' TERM; while :; do sleep 0.05; done"),
                                [&](ProcessEnd&& ended) { end = std::move(ended); });
  ASSERT_TRUE(process);
  boost::asio::steady_timer timer(context, 500ms);  // time for the shell to set its trap
  timer.async_wait([&](const boost::system::error_code&) { (*process)->Stop(200ms); });
  context.run_for(20s);
  EXPECT_EQ(end.signal, SIGKILL);
}

TEST(Process, WhatAStoppedChildLeavesBehindEndsWithIt) {
  boost::asio::io_context context(1);
  ProcessEnd end;
  auto process = Process::Start(context, Shell("trap '' TERM; sleep 30 & trap - TERM; echo $!; wait"),
                                [&](ProcessEnd&& ended) { end = std::move(ended); });
  ASSERT_TRUE(process);
  boost::asio::steady_timer timer(context, 500ms);  // time for the shell to set its trap
  timer.async_wait([&](const boost::system::error_code&) { (*process)->Stop(10s); });
  context.run_for(9s);
  EXPECT_EQ(end.signal, SIGTERM);
  const std::string left = end.output.substr(0, end.output.find('\n'));
  ASSERT_FALSE(left.empty());
  const auto gone = [&] {
    std::ifstream file("/proc/" + left + "/stat");
    std::string stat;
    std::getline(file, stat);
    return stat.empty() || stat.find(") Z") != std::string::npos;
  };
  for (int i = 0; i < 500 && !gone(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(gone());
}

TEST(Process, ALeftOverProcessDoesNotHoldTheTaskUp) {
  const auto begun = std::chrono::steady_clock::now();
  const ProcessEnd end = RunToEnd(Shell("echo out; sleep 4 & exit 0"));
  EXPECT_EQ(end.output, "out\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 3s);
}

TEST(Process, AProgramThatIsNotThereCannotBeStarted) {
  boost::asio::io_context context(1);
  ProcessSpec spec;
  spec.argv = {"/no/such/program"};
  EXPECT_FALSE(Process::Start(context, spec, [](ProcessEnd&&) { FAIL(); }));
  EXPECT_EQ(FindProgram("/no/such/program"), "");
  EXPECT_EQ(FindProgram("no-such-program-anywhere"), "");
  EXPECT_NE(FindProgram("sh"), "");
}

TEST(Process, ManyRunAtOnce) {
  boost::asio::io_context context(1);
  int ended = 0;
  std::vector<std::shared_ptr<Process>> processes;
  for (int i = 0; i < 64; ++i) {
    auto process = Process::Start(context, Shell("echo x"), [&](ProcessEnd&& end) { ended += end.output == "x\n"; });
    ASSERT_TRUE(process);
    processes.push_back(*process);
  }
  context.run_for(20s);
  EXPECT_EQ(ended, 64);
}

}  // namespace
}  // namespace allot::cli
