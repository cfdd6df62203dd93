// SPDX-License-Identifier: Apache-2.0
#include "server/net/net_thread.h"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <future>
#include <stdexcept>

#include "server/net/inflight.h"
#include "server/ops/metrics.h"

namespace allot {
namespace {

class Thrower final : public Connection {
 public:
  using Connection::Connection;
  void Sweep(Instant) override { throw std::runtime_error("in a sweep"); }
  void Flush() override { throw std::length_error("in a write"); }
  void Abort() override {
    ended = true;
    net().Disown(*this);
    throw std::bad_alloc();
  }
  bool ended = false;
};

class NetThreadTest : public ::testing::Test {
 protected:
  void SetUp() override { net_.Start(); }
  void TearDown() override { net_.Stop(); }
  // Runs it there, and waits.
  template <typename F>
  void OnThread(F f) {
    std::promise<void> done;
    net_.Post(Closure([&] {
      f();
      done.set_value();
    }));
    done.get_future().get();
  }
  bool Counted(int errors) const {
    return metrics_.Render().find("\nallotter_connection_errors_total " + std::to_string(errors) + "\n") !=
           std::string::npos;
  }

  Metrics metrics_{"test"};
  ExceptionLog exceptions_{metrics_};
  NetThread net_{exceptions_};
};

TEST_F(NetThreadTest, AnExceptionEndsItsConnectionAndNothingElse) {
  std::shared_ptr<Thrower> thrower;
  OnThread([&] {
    thrower = std::make_shared<Thrower>(net_);
    net_.Adopt(thrower);
    net_.MarkDirty(*thrower);  // Flush() throws, and so does the end of the connection
  });
  OnThread([&] {});
  EXPECT_TRUE(thrower->ended);
  EXPECT_TRUE(Counted(2)) << metrics_.Render();
}

TEST_F(NetThreadTest, AnExceptionOfAClosureOrAHandlerLeavesTheThreadAtWork) {
  net_.Post(Closure([] { throw std::runtime_error("in a closure"); }));
  asio::post(net_.io(), [] { throw 7; });
  bool ran = false;
  OnThread([&] { ran = true; });
  EXPECT_TRUE(ran);
  OnThread([&] {});
  EXPECT_TRUE(Counted(2)) << metrics_.Render();
}

TEST(InflightBudget, IsSharedAndOneTokenCannotHaveAllOfIt) {
  InflightBudget budget;
  constexpr std::size_t kMegabyte = 1024 * 1024;
  InflightBudget::Share a(budget), b(budget), c(budget), none(budget);
  EXPECT_TRUE(none.Grow("x", InflightBudget::kFreeBytes));
  EXPECT_EQ(budget.bytes(), 0u);
  EXPECT_TRUE(a.Grow("x", 100 * kMegabyte));
  EXPECT_TRUE(a.Grow("x", 50 * kMegabyte));  // it does not shrink
  EXPECT_EQ(budget.bytes(), 100 * kMegabyte);
  EXPECT_FALSE(b.Grow("x", 29 * kMegabyte));
  EXPECT_TRUE(b.Grow("x", 28 * kMegabyte));
  // Half of what the others leave: two together never have all of it.
  EXPECT_FALSE(c.Grow("y", 65 * kMegabyte));
  EXPECT_TRUE(c.Grow("y", 64 * kMegabyte));
  InflightBudget::Share d(budget);
  EXPECT_FALSE(d.Grow("z", 33 * kMegabyte));
  EXPECT_TRUE(d.Grow("z", 32 * kMegabyte));
  // What was the first one's is for those who come.
  a.Shrink(20 * kMegabyte);
  EXPECT_EQ(budget.bytes(), (20 + 28 + 64 + 32) * kMegabyte);
  EXPECT_TRUE(d.Grow("z", 80 * kMegabyte / 2));
  // It can be handed on.
  InflightBudget::Share e = std::move(a);
  a.Clear();
  EXPECT_EQ(budget.bytes(), (20 + 28 + 64 + 40) * kMegabyte);
  e = InflightBudget::Share();
  EXPECT_EQ(budget.bytes(), (28 + 64 + 40) * kMegabyte);
  EXPECT_TRUE(a.Grow("x", kMegabyte));
  a.Clear();
  b.Clear();
  c.Clear();
  d.Clear();
  EXPECT_EQ(budget.bytes(), 0u);
}

}  // namespace
}  // namespace allot
