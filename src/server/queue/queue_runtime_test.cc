// SPDX-License-Identifier: Apache-2.0
// Rounds of an engine thread: who waits for whom.
#include "server/queue/queue_runtime.h"

#include <gtest/gtest.h>
#include <time.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "expr/expr.h"
#include "server/testing_queue.h"
#include "server/wire/limit_json.h"

namespace allot {
namespace {

constexpr AskerId kAnnAsks = 1, kBobAsks = 2;

// Uses the thread's CPU for so long.
void Spin(std::int64_t microseconds) {
  const auto cpu = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000 + time.tv_nsec / 1000;
  };
  for (const std::int64_t began = cpu(); cpu() - began < microseconds;) {
  }
}

class QueueRuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    queue_ = testing::OpenMemoryQueue(ids_);
    ASSERT_NE(queue_, nullptr);
  }
  // What `post` posts is there as a whole before the thread takes it; all of it has run when this returns. What ran is
  // in ran_, in order. What is posted by what runs counts in `least`: a queue that finishes takes nothing more.
  template <typename Post>
  void RunTogether(Post post, std::size_t least = 0) {
    std::promise<void> stuck, go;
    queue_->Post([&](Round&) {
      stuck.set_value();
      go.get_future().wait();
    });
    stuck.get_future().wait();
    post();
    least_ = least;
    go.set_value();
    if (least > 0) enough_.get_future().wait();
    queue_->Finish();
  }
  void Change(AskerId asker, char name, std::int64_t microseconds = 0) {
    queue_->Post(Command([this, name, microseconds](Round&) { Ran(name, microseconds); }).By(asker));
  }
  void Browse(AskerId asker, char name, std::int64_t microseconds = 0) {
    queue_->Post(Command::Browse(asker, [this, name, microseconds](Round&) { Ran(name, microseconds); }));
  }
  void Ran(char name, std::int64_t microseconds) {
    Spin(microseconds);
    ran_.push_back(name);
    if (ran_.size() == least_) enough_.set_value();
  }

  IdAllocator ids_;
  std::shared_ptr<QueueRuntime> queue_;
  std::string ran_;
  std::size_t least_ = 0;  // after so many
  std::promise<void> enough_;
};

TEST_F(QueueRuntimeTest, ChangesGoBeforeLooksAtMuch) {
  RunTogether([&] {
    for (int i = 0; i < 20; ++i) Browse(kAnnAsks, 'l', 500);
    Change(kBobAsks, 'c');
  });
  EXPECT_EQ(ran_, "c" + std::string(20, 'l'));
}

TEST_F(QueueRuntimeTest, AChangeWaitsForFewLooksHoweverManyWait) {
  RunTogether(
      [&] {
        queue_->Post(Command::Browse(kAnnAsks, [&](Round&) { Change(kBobAsks, 'c'); }));
        for (int i = 0; i < 50; ++i) Browse(kAnnAsks, 'l', 1000);
      },
      51);
  ASSERT_EQ(ran_.size(), 51u);
  // Two milliseconds of looks in a round, and the one that goes beyond.
  EXPECT_LE(ran_.find('c'), 3u) << ran_;
}

TEST_F(QueueRuntimeTest, AskersTakeTurnsInLooking) {
  RunTogether([&] {
    for (int i = 0; i < 50; ++i) Browse(kAnnAsks, 'a', 500);
    Browse(kBobAsks, 'b', 500);
    Browse(kBobAsks, 'b', 500);
  });
  ASSERT_EQ(ran_.size(), 52u);
  EXPECT_LE(ran_.rfind('b'), 4u) << ran_;
}

TEST_F(QueueRuntimeTest, AskersTakeTurnsInChangingOnceARoundIsFull) {
  RunTogether([&] {
    for (int i = 0; i < 50; ++i) Change(kAnnAsks, 'a', 1000);
    Change(kBobAsks, 'b');
  });
  ASSERT_EQ(ran_.size(), 51u);
  EXPECT_LE(ran_.find('b'), 8u) << ran_;
}

TEST_F(QueueRuntimeTest, CommandsOfOneAskerRunInOrderLooksAtMuchAfterWhatWasChangedBefore) {
  RunTogether([&] {
    for (char name = 'A'; name <= 'Z'; ++name) Change(kAnnAsks, name, 700);
    Browse(kAnnAsks, '!');
    for (int i = 0; i < 10; ++i) Change(kBobAsks, '.', 700);
  });
  std::string of_ann;
  for (const char name : ran_) {
    if (name != '.') of_ann.push_back(name);
  }
  EXPECT_EQ(of_ann, "ABCDEFGHIJKLMNOPQRSTUVWXYZ!");
}

TEST_F(QueueRuntimeTest, OfOneAskerOnlySoManyLooksWait) {
  int refused = 0;
  RunTogether([&] {
    for (int i = 0; i < 300; ++i) {
      queue_->Post(Command::Browse(kAnnAsks, [&](Round& round) {
                     if (round.crowded) return void(++refused);
                     ran_.push_back('a');
                   }).OrRefuse());
    }
    // Others have room, and what goes on is not refused.
    queue_->Post(
        Command::Browse(kBobAsks, [&](Round& round) { ran_.push_back(round.crowded ? '-' : 'b'); }).OrRefuse());
    Browse(kAnnAsks, 'c');
  });
  EXPECT_EQ(refused, 300 - 256);
  EXPECT_EQ(ran_.size(), 256u + 2);
  EXPECT_EQ(ran_.find('-'), std::string::npos);
}

TEST_F(QueueRuntimeTest, OnceItIsFinishedItsEngineIsGoneWhoeverHoldsIt) {
  std::weak_ptr<const expr::Expr> kept;
  std::promise<void> submitted;
  queue_->Post([&](Round& round) {
    JobSpec spec;
    spec.requirements = expr::Expr::Parse("TARGET.a == 1").expr;
    kept = spec.requirements;
    EXPECT_TRUE(round.engine.jobs().Submit(round.now, JobId{1}, spec).ok());
    submitted.set_value();
  });
  submitted.get_future().wait();
  EXPECT_FALSE(kept.expired());
  queue_->FinishDeleted();
  EXPECT_TRUE(kept.expired());
  // Those who come late are dropped.
  EXPECT_FALSE(queue_->Post([](Round&) { FAIL(); }));
  EXPECT_FALSE(queue_->PostWork({}));
  EXPECT_EQ(queue_->WhyFinished().code, Code::kUnknownQueue);
}

TEST_F(QueueRuntimeTest, LevelsOfLimitsAreThoseOfTheirViews) {
  RunTogether([&] {
    queue_->Post([](Round& round) {
      for (const char* uuid : {"a", "b"}) {
        Result<LimitSpec> spec =
            ParseLimit(R"({"tag":"t","expr":"true","count":10,"window_ms":60000,"expires_in_ms":60000})");
        ASSERT_TRUE(spec.ok()) << spec.error().message;
        ASSERT_TRUE(round.engine.limits().Create(round.now, uuid, *spec).ok());
      }
      ASSERT_TRUE(round.engine.limits().Delete(round.now, "a").ok());
      std::vector<std::string> levels, views;
      round.engine.looks().ForEachLimit(round.now, [&](const std::string& uuid, double tokens, std::size_t waiting) {
        levels.push_back(uuid + " " + std::to_string(tokens) + " " + std::to_string(waiting));
      });
      for (const LimitView& view : round.engine.looks().Limits(round.now, {})) {
        views.push_back(view.uuid + " " + std::to_string(view.tokens) + " " + std::to_string(view.waiting));
      }
      EXPECT_EQ(levels, views);
      EXPECT_EQ(levels.size(), 1u);
    });
  });
}

TEST_F(QueueRuntimeTest, ACommandKnowsWhoAsked) {
  AskerId seen = 0;
  RunTogether([&] { queue_->Post(Command([&](Round& round) { seen = round.asker; }).By(kBobAsks)); });
  EXPECT_EQ(seen, kBobAsks);
}

// As a network thread does.
class Bringer {
 public:
  explicit Bringer(std::shared_ptr<QueueRuntime> queue) : queue_(std::move(queue)) {}
  bool Bring(std::function<void(Round&)> run, bool light = true) {
    std::vector<Command> commands;
    commands.push_back(Command([run = std::move(run)](Round& round) { run(round); }).Light(light));
    return queue_->Bring(commands, [] {});
  }
  // The thread that ran it.
  std::thread::id Run(bool light = true) {
    std::promise<std::thread::id> by;
    EXPECT_TRUE(Bring([&](Round&) { by.set_value(std::this_thread::get_id()); }, light));
    return by.get_future().get();
  }
  // As soon as the engine thread sleeps.
  bool RunsHere() {
    for (int i = 0; i < 1000; ++i) {
      if (Run() == std::this_thread::get_id()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

 private:
  std::shared_ptr<QueueRuntime> queue_;
};

TEST_F(QueueRuntimeTest, WhoBringsALightCommandRunsItAndTheEngineThreadAllElse) {
  Bringer bringer(queue_);
  EXPECT_TRUE(bringer.RunsHere());
  EXPECT_NE(bringer.Run(false), std::this_thread::get_id());
  EXPECT_TRUE(bringer.RunsHere());
}

TEST_F(QueueRuntimeTest, CommandsOfManyBringersRunInTheirOrder) {
  constexpr int kThreads = 3, kEach = 5000;
  std::vector<int> last(kThreads, 0);  // plain: one thread at a time
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Bringer bringer(queue_);
      for (int n = 1; n <= kEach; ++n) {
        bringer.Bring(
            [&last, t, n](Round&) {
              EXPECT_EQ(last[static_cast<std::size_t>(t)] + 1, n);
              last[static_cast<std::size_t>(t)] = n;
            },
            n % 101 != 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  queue_->Finish();
  EXPECT_EQ(last, std::vector<int>(kThreads, kEach));
  EXPECT_FALSE(Bringer(queue_).Bring([](Round&) { FAIL(); }));
}

TEST_F(QueueRuntimeTest, ADeadlineThatABroughtCommandSetsIsKept) {
  // Whoever waits for a time is served by the engine thread, which slept.
  class Once final : public JobWatcher {
   public:
    Once(Instant at, std::promise<void>& looked) : at_(at), looked_(looked) {}
    Next Look(Round&, JobId, News news) override {
      EXPECT_EQ(news, News::kDeadline);
      looked_.set_value();
      return Next::kGo;
    }
    std::optional<Instant> deadline() const override { return at_; }

   private:
    const Instant at_;
    std::promise<void>& looked_;
  };
  Bringer bringer(queue_);
  ASSERT_TRUE(bringer.RunsHere());
  std::promise<void> looked;
  bringer.Bring([&](Round& round) {
    round.waits.Add(round, JobId{1}, 1, std::make_unique<Once>(round.now.mono + Duration(20'000), looked), false);
  });
  looked.get_future().wait();
}

}  // namespace
}  // namespace allot
