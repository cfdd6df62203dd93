// SPDX-License-Identifier: Apache-2.0
#include "server/queue/command_box.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <initializer_list>
#include <optional>
#include <thread>
#include <vector>

namespace allot {
namespace {

using namespace std::chrono_literals;
using Brought = CommandBox::Brought;

Command Of(bool light) {
  return Command([](Round&) {}).Light(light);
}

std::vector<Command> Many(std::initializer_list<bool> light) {
  std::vector<Command> commands;
  for (const bool one : light) commands.push_back(Of(one));
  return commands;
}

// An engine thread that takes what there is, and waits for its deadline.
class EngineThread {
 public:
  explicit EngineThread(CommandBox& box) : box_(box), thread_([this] { Loop(); }) {}
  ~EngineThread() {
    box_.Close();
    thread_.join();
  }
  std::atomic<std::size_t> took = 0;
  std::atomic<std::size_t> wakes = 0;

 private:
  void Loop() {
    std::vector<Command> commands;
    while (box_.Take(commands, std::nullopt)) {
      took += commands.size();
      ++wakes;
      commands.clear();
    }
  }
  CommandBox& box_;
  std::thread thread_;
};

template <typename F>
void Await(F f) {
  for (int i = 0; i < 5000 && !f(); ++i) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(f());
}

// As soon as the engine thread waits.
Brought BringWhenIdle(CommandBox& box, std::vector<Command>& commands) {
  for (;;) {
    std::vector<Command> none;
    const Brought brought = box.Bring(none);
    if (brought == Brought::kRun) break;
    std::this_thread::sleep_for(1ms);
  }
  box.Leave(std::nullopt);
  return box.Bring(commands);
}

TEST(CommandBox, UntilTheEngineThreadWaitsNobodyElseRuns) {
  CommandBox box;
  std::vector<Command> commands = Many({true});
  EXPECT_EQ(box.Bring(commands), Brought::kLeft);
  EXPECT_TRUE(commands.empty());
  EngineThread engine(box);
  Await([&] { return engine.took == 1; });
}

TEST(CommandBox, WhoBringsWhatIsLightRunsIt) {
  CommandBox box;
  EngineThread engine(box);
  std::vector<Command> commands = Many({true, true});
  ASSERT_EQ(BringWhenIdle(box, commands), Brought::kRun);
  EXPECT_EQ(commands.size(), 2u);
  // Meanwhile others leave theirs.
  std::vector<Command> others = Many({true});
  EXPECT_EQ(box.Bring(others), Brought::kLeft);
  std::vector<Command> more;
  EXPECT_TRUE(box.TakeMore(more));
  EXPECT_EQ(more.size(), 1u);
  more.clear();
  EXPECT_FALSE(box.TakeMore(more));
  box.Leave(std::nullopt);
  EXPECT_EQ(engine.took, 0u);
}

TEST(CommandBox, WhatIsHeavyIsForTheEngineThreadAndAllBehindIt) {
  CommandBox box;
  EngineThread engine(box);
  std::vector<Command> commands = Many({true, false, true});
  EXPECT_EQ(BringWhenIdle(box, commands), Brought::kLeft);
  Await([&] { return engine.took == 3; });
  // Also when it comes while somebody is at it.
  commands = Many({true});
  ASSERT_EQ(BringWhenIdle(box, commands), Brought::kRun);
  EXPECT_TRUE(box.Push(Of(false)));
  std::vector<Command> more;
  EXPECT_FALSE(box.TakeMore(more));
  box.Leave(std::nullopt);
  Await([&] { return engine.took == 4; });
}

TEST(CommandBox, WhatIsLeftWhenTheTurnEndsIsNotForgotten) {
  CommandBox box;
  EngineThread engine(box);
  std::vector<Command> commands = Many({true});
  ASSERT_EQ(BringWhenIdle(box, commands), Brought::kRun);
  std::vector<Command> others = Many({true, true});
  EXPECT_EQ(box.Bring(others), Brought::kLeft);
  box.Leave(std::nullopt);
  Await([&] { return engine.took == 2; });
}

TEST(CommandBox, ADeadlineThatARoundBringsForwardWakesTheEngineThread) {
  CommandBox box;
  EngineThread engine(box);
  std::vector<Command> commands = Many({true});
  ASSERT_EQ(BringWhenIdle(box, commands), Brought::kRun);
  const std::size_t before = engine.wakes;
  box.Leave(std::chrono::steady_clock::now() + 5ms);
  Await([&] { return engine.wakes > before; });
}

TEST(CommandBox, AnEngineThreadThatIsDueGoesFirst) {
  CommandBox box;
  EngineThread engine(box);
  std::vector<Command> commands = Many({true});
  ASSERT_EQ(BringWhenIdle(box, commands), Brought::kRun);
  box.Leave(CommandBox::Time());
  std::vector<Command> next = Many({true});
  const Brought brought = box.Bring(next);
  // It may have been quick.
  if (brought == Brought::kRun) {
    EXPECT_GE(engine.wakes, 1u);
    box.Leave(std::nullopt);
  } else {
    Await([&] { return engine.took == 1; });
  }
}

TEST(CommandBox, AfterTheEndNothingIsTakenInAndWhatWasThereIsRun) {
  CommandBox box;
  EXPECT_TRUE(box.Push(Of(true)));
  box.Close();
  std::vector<Command> commands = Many({true});
  EXPECT_EQ(box.Bring(commands), Brought::kClosed);
  EXPECT_EQ(commands.size(), 1u);
  EXPECT_FALSE(box.Push(Of(true)));
  std::vector<Command> out;
  EXPECT_TRUE(box.Take(out, std::nullopt));
  EXPECT_EQ(out.size(), 1u);
  out.clear();
  EXPECT_FALSE(box.Take(out, std::nullopt));
}

// Threads that bring commands of both kinds: one thread at a time runs any, and those of each come in its order.
TEST(CommandBox, CommandsOfEachRunInOrderByOneThreadAtATime) {
  constexpr std::uint64_t kThreads = 4, kEach = 20'000;
  CommandBox box;
  // Plain, so that a race detector sees what is not ordered. Which command it is stands where else its asker does.
  std::vector<std::uint64_t> last(kThreads, 0);
  std::uint64_t ran = 0;
  const auto run = [&](std::vector<Command>& commands) {
    for (const Command& command : commands) {
      std::uint64_t& before = last[command.asker() >> 32];
      EXPECT_EQ(before + 1, command.asker() & 0xFFFFFFFF);
      ++before;
      ++ran;
    }
    commands.clear();
  };
  std::thread owner([&] {
    std::vector<Command> commands;
    while (box.Take(commands, std::chrono::steady_clock::now() + 1ms)) run(commands);
  });
  std::vector<std::thread> bringers;
  for (std::uint64_t t = 0; t < kThreads; ++t) {
    bringers.emplace_back([&, t] {
      for (std::uint64_t n = 1; n <= kEach;) {
        std::vector<Command> commands;
        for (int i = 0; i < 3 && n <= kEach; ++i, ++n) {
          commands.push_back(Of(n % 97 != 0).By(t << 32 | n));
        }
        if (box.Bring(commands) != Brought::kRun) continue;
        do {
          run(commands);
        } while (box.TakeMore(commands));
        box.Leave(n % 50 == 0 ? CommandBox::Deadline(CommandBox::Time()) : std::nullopt);
      }
    });
  }
  for (std::thread& bringer : bringers) bringer.join();
  box.Close();
  owner.join();
  EXPECT_EQ(ran, kThreads * kEach);
}

}  // namespace
}  // namespace allot
