// SPDX-License-Identifier: Apache-2.0
#include "server/queue/fair_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace allot {
namespace {

constexpr AskerId kAnn = 1, kBob = 2;

// Pops all, each item costing what `cost` says, and tells the order.
std::string Drain(FairQueue<char>& queue, const std::map<char, std::int64_t>& cost) {
  std::string order;
  while (!queue.empty()) {
    const auto [asker, item] = queue.Pop();
    order.push_back(item);
    queue.Charge(asker, cost.at(item));
  }
  return order;
}

TEST(FairQueue, AskersTakeTurnsWhereTheirItemsCostTheSame) {
  FairQueue<char> queue;
  for (int i = 0; i < 4; ++i) queue.Push(kAnn, 'a');
  for (int i = 0; i < 2; ++i) queue.Push(kBob, 'b');
  EXPECT_EQ(Drain(queue, {{'a', 10}, {'b', 10}}), "ababaa");
}

TEST(FairQueue, ItemsOfOneAskerKeepTheirOrder) {
  FairQueue<char> queue;
  for (const char item : std::string("xyz")) queue.Push(kAnn, item);
  EXPECT_EQ(Drain(queue, {{'x', 9}, {'y', 1}, {'z', 5}}), "xyz");
}

TEST(FairQueue, CheapItemsGoWhileADearOneIsPaidOff) {
  FairQueue<char> queue;
  for (int i = 0; i < 3; ++i) queue.Push(kAnn, 'A');
  for (int i = 0; i < 6; ++i) queue.Push(kBob, 'b');
  EXPECT_EQ(Drain(queue, {{'A', 30}, {'b', 10}}), "AbbbAbbbA");
}

TEST(FairQueue, WhoComesLateBeginsWhereTheOthersAre) {
  FairQueue<char> queue;
  for (int i = 0; i < 6; ++i) queue.Push(kAnn, 'a');
  for (int i = 0; i < 3; ++i) queue.Charge(queue.Pop().first, 100);
  for (int i = 0; i < 3; ++i) queue.Push(kBob, 'b');
  // Not all of its own first, for the time that it did not ask.
  EXPECT_EQ(Drain(queue, {{'a', 100}, {'b', 100}}), "ababab");
}

TEST(FairQueue, WhoWaitsIsNotPassedByNewcomersWithoutEnd) {
  FairQueue<char> queue;
  queue.Push(kAnn, 'a');
  queue.Push(kAnn, 'a');
  queue.Charge(queue.Pop().first, 1000);
  int newcomers = 0;
  for (AskerId asker = 10; queue.WaitingOf(kAnn) > 0; ++asker, ++newcomers) {
    ASSERT_LT(newcomers, 100'000);
    queue.Push(asker, 'x');
    queue.Charge(queue.Pop().first, 100);
  }
  EXPECT_LE(newcomers, 30);
}

}  // namespace
}  // namespace allot
