// SPDX-License-Identifier: Apache-2.0
#include "server/queue/wait_table.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "base/rng.h"
#include "server/queue/worker_table.h"

namespace allot {
namespace {

using News = JobWatcher::News;

struct Seen {
  int watcher;
  News news;
  friend bool operator==(const Seen&, const Seen&) = default;
};

class Recorder final : public JobWatcher {
 public:
  Recorder(std::vector<Seen>& seen, int name, std::optional<Instant> at) : seen_(seen), name_(name), at_(at) {}
  Next Look(Round&, JobId, News news) override {
    seen_.push_back({name_, news});
    return news == News::kProgress ? Next::kStay : Next::kGo;
  }
  std::optional<Instant> deadline() const override { return at_; }

 private:
  std::vector<Seen>& seen_;
  const int name_;
  const std::optional<Instant> at_;
};

class WaitTableTest : public ::testing::Test {
 protected:
  WaitTableTest() {
    for (std::uint64_t id = 1; id <= 8; ++id) {
      JobSpec spec;
      EXPECT_TRUE(engine_.jobs().Submit(Now{}, JobId{id}, spec).ok());
    }
    engine_.Take();
  }
  Round At(std::int64_t ms) {
    Round round{engine_, ids_, table_, workers_};
    round.now.mono = Instant(milliseconds(ms));
    return round;
  }
  void Add(int name, std::uint64_t job, WaitTable::Owner owner, std::optional<std::int64_t> at_ms = {},
           bool progress = false) {
    std::optional<Instant> at;
    if (at_ms) at = Instant(milliseconds(*at_ms));
    Round round = At(0);
    table_.Add(round, JobId{job}, owner, std::make_unique<Recorder>(seen_, name, at), progress);
  }
  Engine engine_{EngineOptions{}};
  IdAllocator ids_;
  WaitTable table_;
  QueueWorkers workers_;
  std::vector<Seen> seen_;
};

TEST_F(WaitTableTest, OnlyTheEndedJobsWaitersWake) {
  Add(1, 1, 10);
  Add(2, 2, 10);
  Add(3, 1, 11);
  Round round = At(0);
  table_.OnEnded(round, JobId{1});
  EXPECT_EQ(seen_, (std::vector<Seen>{{1, News::kEnded}, {3, News::kEnded}}));
  EXPECT_EQ(table_.size(), 1u);
  EXPECT_EQ(table_.CountOf(10), 1u);
  EXPECT_EQ(table_.CountOf(11), 0u);
}

TEST_F(WaitTableTest, DeadlinesComeInTheirOrder) {
  Add(1, 1, 1, 200);
  Add(2, 2, 2, 100);
  Add(3, 3, 3);
  EXPECT_EQ(table_.NextDeadline(), Instant(milliseconds(100)));
  Round early = At(99);
  table_.OnTime(early);
  EXPECT_TRUE(seen_.empty());
  Round late = At(200);
  table_.OnTime(late);
  EXPECT_EQ(seen_, (std::vector<Seen>{{2, News::kDeadline}, {1, News::kDeadline}}));
  EXPECT_EQ(table_.NextDeadline(), std::nullopt);
}

TEST_F(WaitTableTest, WhoGoesAwayHearsNothing) {
  Add(1, 1, 10, 50);
  Add(2, 1, 11);
  table_.RemoveOwner(engine_, 10);
  EXPECT_EQ(table_.NextDeadline(), std::nullopt);
  Round round = At(100);
  table_.OnTime(round);
  table_.OnEnded(round, JobId{1});
  EXPECT_EQ(seen_, (std::vector<Seen>{{2, News::kEnded}}));
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(WaitTableTest, AStopLetsEveryoneLookOnceMore) {
  Add(1, 1, 1);
  Add(2, 2, 2, 500, true);
  Round round = At(0);
  table_.OnStop(round);
  EXPECT_EQ(seen_.size(), 2u);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(WaitTableTest, OneAskerLeavesRoomForOthersAndIsToldWhatItUses) {
  Round ann = At(0), bob = At(0);
  ann.asker = 1;
  bob.asker = 2;
  const auto wait = [&](Round& round, std::uint64_t job) {
    table_.Add(round, JobId{job}, round.asker, std::make_unique<Recorder>(seen_, 0, std::nullopt), false);
  };
  // For one job no more than fit into a step; others may wait for it all the same.
  for (std::size_t i = 0; i < WaitTable::kMaxWaitsForOneJob; ++i) {
    ASSERT_TRUE(table_.Admit(ann, JobId{1}).ok());
    wait(ann, 1);
  }
  EXPECT_EQ(table_.Admit(ann, JobId{1}).error().code, Code::kTooManyWaits);
  EXPECT_TRUE(table_.Admit(ann, JobId{2}).ok());
  EXPECT_TRUE(table_.Admit(bob, JobId{1}).ok());
  for (std::size_t i = WaitTable::kMaxWaitsForOneJob; i < WaitTable::kMaxWaitsOfOne; ++i) wait(ann, 2 + i % 7);
  EXPECT_EQ(table_.Admit(ann, JobId{9}).error().message,
            "this token or address waits for 100,000 jobs of this queue already");
  EXPECT_TRUE(table_.Admit(bob, JobId{1}).ok());
  EXPECT_FALSE(table_.RemoveOwner(engine_, ann.asker, 1));
  EXPECT_TRUE(table_.Admit(ann, JobId{9}).ok());
  EXPECT_TRUE(table_.RemoveOwner(engine_, ann.asker));
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(WaitTableTest, OneJobHasABoundForAllTogether) {
  std::size_t admitted = 0;
  for (AskerId asker = 1; asker <= 30; ++asker) {
    for (int i = 0; i < 1000; ++i) {
      Round round = At(0);
      round.asker = asker;
      if (!table_.Admit(round, JobId{1}).ok()) continue;
      ++admitted;
      table_.Add(round, JobId{1}, asker, std::make_unique<Recorder>(seen_, 0, std::nullopt), false);
    }
  }
  EXPECT_EQ(admitted, WaitTable::kMaxWaitsForOneJobOfAll);
  Round other = At(0);
  other.asker = 31;
  EXPECT_EQ(table_.Admit(other, JobId{1}).error().code, Code::kTooManyWaits);
  EXPECT_TRUE(table_.Admit(other, JobId{2}).ok());
  EXPECT_TRUE(table_.RemoveOwner(engine_, 1));
  EXPECT_TRUE(table_.Admit(other, JobId{1}).ok());
}

TEST_F(WaitTableTest, ManyAreToldInSteps) {
  constexpr std::size_t kStep = WaitTable::kMaxLooks;
  for (std::size_t i = 0; i < 2 * kStep + 500; ++i) Add(static_cast<int>(i), 1, i);
  Add(-1, 2, 1);
  ASSERT_TRUE(engine_.jobs().Cancel(Now{}, JobId{1}).ok());
  ASSERT_TRUE(engine_.jobs().Cancel(Now{}, JobId{2}).ok());
  Round first = At(0);
  table_.OnEnded(first, JobId{1});
  EXPECT_EQ(seen_.size(), kStep);
  table_.OnEnded(first, JobId{2});  // behind the others
  EXPECT_EQ(seen_.size(), kStep);
  ASSERT_TRUE(table_.NextDeadline());
  EXPECT_LE(*table_.NextDeadline(), first.now.mono);
  table_.RemoveOwner(engine_, kStep + 7);
  Round second = At(1);
  table_.OnTime(second);
  EXPECT_EQ(seen_.size(), 2 * kStep);
  Round third = At(2);
  table_.OnTime(third);
  EXPECT_EQ(seen_.size(), 2 * kStep + 500);  // but the one that left, and the one of the second job
  EXPECT_EQ(seen_.back().watcher, -1);
  EXPECT_EQ(table_.NextDeadline(), std::nullopt);
  EXPECT_EQ(table_.size(), 0u);
}

TEST_F(WaitTableTest, ProgressInBetweenIsToldToAllAgain) {
  constexpr std::size_t kStep = WaitTable::kMaxLooks;
  for (std::size_t i = 0; i < kStep + 10; ++i) Add(static_cast<int>(i), 1, i, {}, true);
  Round first = At(0);
  table_.OnProgress(first, JobId{1});
  EXPECT_EQ(seen_.size(), kStep);
  Round second = At(1);
  table_.OnProgress(second, JobId{1});  // those told already are to be told again
  EXPECT_EQ(seen_.size(), kStep);
  table_.OnTime(second);
  EXPECT_EQ(seen_.size(), 2 * kStep);
  Round third = At(2);
  table_.OnTime(third);
  EXPECT_EQ(seen_.size(), 2 * kStep + 20);
  EXPECT_EQ(table_.NextDeadline(), std::nullopt);
}

TEST_F(WaitTableTest, TimesThatComeTogetherAreToldInSteps) {
  constexpr std::size_t kStep = WaitTable::kMaxLooks;
  for (std::size_t i = 0; i < kStep + 10; ++i) Add(static_cast<int>(i), 1, i, 100);
  Round first = At(100);
  table_.OnTime(first);
  EXPECT_EQ(seen_.size(), kStep);
  Round second = At(100);
  table_.OnTime(second);
  EXPECT_EQ(seen_.size(), kStep + 10);
}

// Against a plain list of who waits for what.
TEST_F(WaitTableTest, IsAsAPlainListWouldBe) {
  const std::uint64_t seed = 20260;
  SCOPED_TRACE(seed);
  Rng rng(seed);
  struct Plain {
    std::uint64_t job, owner;
    bool wants_progress;
  };
  std::map<int, Plain> model;
  int next = 0;
  for (int step = 0; step < 20'000; ++step) {
    seen_.clear();
    Round round = At(step);
    switch (rng.Below(10)) {
      case 0: {
        const std::uint64_t job = 1 + rng.Below(8);
        std::vector<Seen> want;
        for (auto it = model.begin(); it != model.end();) {
          if (it->second.job == job) {
            want.push_back({it->first, News::kEnded});
            it = model.erase(it);
          } else {
            ++it;
          }
        }
        table_.OnEnded(round, JobId{job});
        ASSERT_EQ(seen_, want);
        break;
      }
      case 1: {
        const std::uint64_t owner = rng.Below(5);
        table_.RemoveOwner(engine_, owner);
        for (auto it = model.begin(); it != model.end();)
          it = it->second.owner == owner ? model.erase(it) : std::next(it);
        break;
      }
      case 2: {
        const std::uint64_t job = 1 + rng.Below(8);
        std::vector<Seen> want;
        for (const auto& [name, plain] : model) {
          if (plain.job == job && plain.wants_progress) want.push_back({name, News::kProgress});
        }
        table_.OnProgress(round, JobId{job});
        ASSERT_EQ(seen_, want);
        break;
      }
      default: {
        const Plain plain{1 + rng.Below(8), rng.Below(5), rng.Below(2) == 0};
        Add(next, plain.job, plain.owner, {}, plain.wants_progress);
        model.emplace(next++, plain);
      }
    }
    ASSERT_EQ(table_.size(), model.size());
  }
}

}  // namespace
}  // namespace allot
