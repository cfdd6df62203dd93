// SPDX-License-Identifier: Apache-2.0
#include "server/ops/supervisor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <utility>
#include <vector>

#include "server/testing_queue.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

// Hears what the service manager would.
class Ear {
 public:
  void Hear(const std::string& lines) {
    std::lock_guard lock(mutex_);
    heard_.push_back(lines);
    changed_.notify_all();
  }
  auto Listener() {
    return [this](const std::string& lines) { Hear(lines); };
  }
  std::size_t Count(const std::string& lines) {
    std::lock_guard lock(mutex_);
    return CountLocked(lines);
  }
  // False if it was not heard so often within ten seconds.
  bool Wait(const std::string& lines, std::size_t times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 10s, [&] { return CountLocked(lines) >= times; });
  }
  std::vector<std::string> all() {
    std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  std::size_t CountLocked(const std::string& lines) const {
    return static_cast<std::size_t>(std::count(heard_.begin(), heard_.end(), lines));
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> heard_;
};

TEST(Supervisor, SaysWhatItDoesInOrder) {
  Ear ear;
  {
    Supervisor supervisor({.ask = [](const Supervisor::Answer&) {},
                           .status = [] { return std::string("fine"); },
                           .notify = ear.Listener(),
                           .watchdog = 1h});
    supervisor.Loading("loading");
    supervisor.Ready();
    EXPECT_TRUE(ear.Wait("WATCHDOG=1", 1));
    supervisor.Stopping();
    supervisor.Stopping();
  }
  const std::vector<std::string> want = {"STATUS=loading", "READY=1\nSTATUS=fine", "WATCHDOG=1",
                                         "STOPPING=1\nSTATUS=stopping"};
  EXPECT_EQ(ear.all(), want);
}

TEST(Supervisor, AStatusIsToldWhenItChanges) {
  Ear ear;
  std::atomic<bool> full = false;
  Supervisor supervisor({.ask = [](const Supervisor::Answer&) {},
                         .status = [&full] { return std::string(full ? "full" : "fine"); },
                         .notify = ear.Listener(),
                         .watchdog = 2ms});
  supervisor.Ready();
  EXPECT_TRUE(ear.Wait("WATCHDOG=1", 3));
  EXPECT_EQ(ear.Count("STATUS=fine"), 0u);
  full = true;
  EXPECT_TRUE(ear.Wait("STATUS=full", 1));
  EXPECT_TRUE(ear.Wait("WATCHDOG=1", ear.Count("WATCHDOG=1") + 3));
  EXPECT_EQ(ear.Count("STATUS=full"), 1u);
}

TEST(Supervisor, WithoutAWatchdogThereAreNoSignsOfLife) {
  Ear ear;
  std::promise<void> asked;
  Supervisor supervisor({.ask = [&asked](const Supervisor::Answer&) { asked.set_value(); },
                         .status = [] { return std::string("fine"); },
                         .notify = ear.Listener()});
  supervisor.Ready();
  ASSERT_EQ(asked.get_future().wait_for(10s), std::future_status::ready);
  supervisor.Stopping();
  EXPECT_EQ(ear.Count("WATCHDOG=1"), 0u);
}

TEST(Supervisor, OneWhoHoldsOnToTheQuestionKeepsItSilent) {
  Ear ear;
  std::promise<Supervisor::Answer> kept;
  std::atomic<int> asked = 0;
  Supervisor supervisor({.ask =
                             [&](const Supervisor::Answer& answer) {
                               if (asked.fetch_add(1) == 0) kept.set_value(answer);
                             },
                         .status = [] { return std::string("fine"); },
                         .notify = ear.Listener(),
                         .watchdog = 1ms});
  supervisor.Ready();
  Supervisor::Answer answer = kept.get_future().get();
  std::this_thread::sleep_for(50ms);  // as long as a hundred signs would take
  EXPECT_EQ(ear.Count("WATCHDOG=1"), 0u);
  answer.reset();
  EXPECT_TRUE(ear.Wait("WATCHDOG=1", 2));
  EXPECT_GE(asked.load(), 2);
}

TEST(Supervisor, ItCanStopWhileSomebodyIsStuck) {
  Supervisor::Answer answer;
  {
    Ear ear;
    std::promise<void> asked;
    Supervisor supervisor({.ask =
                               [&](const Supervisor::Answer& a) {
                                 answer = a;
                                 asked.set_value();
                               },
                           .status = [] { return std::string("fine"); },
                           .notify = ear.Listener(),
                           .watchdog = 1ms});
    supervisor.Ready();
    asked.get_future().get();
    supervisor.Stopping();
  }
  answer.reset();  // nobody waits for it any more
}

TEST(Supervisor, AStuckEngineThreadIsNotSpokenFor) {
  IdAllocator ids;
  const std::shared_ptr<QueueRuntime> queue = testing::OpenMemoryQueue(ids);
  ASSERT_NE(queue, nullptr);
  Ear ear;
  Supervisor supervisor(
      {.ask = [&](const Supervisor::Answer& answer) { queue->Post(Command::Look([answer](Round&) {})); },
       .status = [] { return std::string("fine"); },
       .notify = ear.Listener(),
       .watchdog = 2ms});
  supervisor.Ready();
  ASSERT_TRUE(ear.Wait("WATCHDOG=1", 3));

  std::promise<void> stuck, go;
  queue->Post([&](Round&) {
    stuck.set_value();
    go.get_future().wait();
  });
  stuck.get_future().wait();
  std::this_thread::sleep_for(20ms);  // a sign that was under way
  const std::size_t before = ear.Count("WATCHDOG=1");
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(ear.Count("WATCHDOG=1"), before);
  go.set_value();
  EXPECT_TRUE(ear.Wait("WATCHDOG=1", before + 3));

  // A queue that has ended is not waited for.
  queue->Finish();
  EXPECT_TRUE(ear.Wait("WATCHDOG=1", ear.Count("WATCHDOG=1") + 3));
}

}  // namespace
}  // namespace allot
