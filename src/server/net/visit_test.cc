// SPDX-License-Identifier: Apache-2.0
// A network thread that has something for another one which sleeps delivers it itself.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include "server/net/net_thread.h"
#include "server/ops/metrics.h"
#include "server/testing_queue.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class VisitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    queue_ = testing::OpenMemoryQueue(ids_);
    ASSERT_NE(queue_, nullptr);
  }
  void TearDown() override {
    for (NetThread& net : nets_) net.Stop();
    queue_->Finish();
  }
  void Start(bool visits) {
    for (NetThread& net : nets_) {
      if (visits) net.AllowVisits();
      net.Start();
    }
    for (std::size_t i = 0; i < nets_.size(); ++i) {
      std::promise<std::thread::id> id;
      nets_[i].Post(Closure([&id] { id.set_value(std::this_thread::get_id()); }));
      ids_of_[i] = id.get_future().get();
    }
  }
  // Thread `from` brings a command, and what comes of it is for thread `to`.
  void Bring(std::size_t from, std::size_t to, std::function<void()> deliver) {
    NetThread& net = nets_[from];
    net.Post(Closure([this, &net, to, deliver = std::move(deliver)]() mutable {
      net.Post(queue_, Command::Look([this, to, deliver = std::move(deliver)](Round& round) mutable {
                         round.Send(nets_[to], [deliver = std::move(deliver)] { deliver(); });
                       }).Light(true));
    }));
  }
  // Who delivers it.
  std::thread::id Deliverer(std::size_t from, std::size_t to) {
    std::promise<std::thread::id> by;
    Bring(from, to, [&by] { by.set_value(std::this_thread::get_id()); });
    return by.get_future().get();
  }
  // As soon as the engine thread, and the one that is visited, sleep.
  bool IsVisited() {
    for (int i = 0; i < 1000; ++i) {
      if (Deliverer(0, 1) == ids_of_[0]) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }

  Metrics metrics_{"test"};
  ExceptionLog exceptions_{metrics_};
  IdAllocator ids_;
  std::shared_ptr<QueueRuntime> queue_;
  std::array<NetThread, 2> nets_{NetThread(exceptions_), NetThread(exceptions_)};
  std::array<std::thread::id, 2> ids_of_;
};

TEST_F(VisitTest, OneThatSleepsIsVisited) {
  Start(true);
  EXPECT_TRUE(IsVisited());
}

TEST_F(VisitTest, OneThatIsAtWorkIsNotWaitedFor) {
  Start(true);
  ASSERT_TRUE(IsVisited());
  std::promise<void> busy, go;
  nets_[1].Post(Closure([&] {
    busy.set_value();
    go.get_future().wait();
  }));
  busy.get_future().wait();
  std::promise<std::thread::id> by;
  Bring(0, 1, [&by] { by.set_value(std::this_thread::get_id()); });
  // The first thread goes on meanwhile.
  EXPECT_EQ(Deliverer(0, 0), ids_of_[0]);
  std::future<std::thread::id> delivered = by.get_future();
  EXPECT_EQ(delivered.wait_for(0s), std::future_status::timeout);
  go.set_value();
  EXPECT_EQ(delivered.get(), ids_of_[1]);
  EXPECT_TRUE(IsVisited());
}

TEST_F(VisitTest, WithoutLeaveEachDeliversItsOwn) {
  Start(false);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Deliverer(0, 1), ids_of_[1]);
}

TEST_F(VisitTest, WhatAVisitBringsIsBroughtByTheVisited) {
  Start(true);
  ASSERT_TRUE(IsVisited());
  std::promise<void> brought;
  Bring(0, 1, [&] { nets_[1].Post(queue_, Command::Look([&](Round&) { brought.set_value(); }).Light(true)); });
  EXPECT_EQ(brought.get_future().wait_for(10s), std::future_status::ready);
}

TEST_F(VisitTest, DeliveriesKeepTheirOrderAndAreMadeOneAtATime) {
  Start(true);
  constexpr int kEach = 3000;
  // Plain numbers: whoever delivers has the turn of that thread.
  std::array<std::array<int, 2>, 2> last{};
  std::array<int, 2> delivered{};
  std::array<std::promise<void>, 2> all;
  for (int n = 1; n <= kEach; ++n) {
    for (std::size_t from = 0; from < 2; ++from) {
      for (std::size_t to = 0; to < 2; ++to) {
        Bring(from, to, [&, n, from, to] {
          EXPECT_EQ(last[to][from] + 1, n);
          last[to][from] = n;
          if (++delivered[to] == 2 * kEach) all[to].set_value();
        });
      }
    }
    if (n % 64 == 0) std::this_thread::sleep_for(200us);
  }
  for (std::promise<void>& done : all) EXPECT_EQ(done.get_future().wait_for(60s), std::future_status::ready);
}

}  // namespace
}  // namespace allot
