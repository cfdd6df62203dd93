// SPDX-License-Identifier: Apache-2.0
// What orders leave behind goes in small steps, while jobs come and go.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/sanitizers.h"
#include "match/testing.h"
#include "strategy/orders.h"
#include "strategy/preview.h"
#include "strategy/some_strategy.h"
#include "strategy/testing_bounds.h"

namespace allot {
namespace {

struct StepsJob : PickJob {
  std::string user, customer;
};

class StepsKeys : public JobKeys {
 public:
  GroupText Get(const PickJob& picked, const StrategyKey& key) const override {
    const StepsJob& job = static_cast<const StepsJob&>(picked);
    if (key.kind == StrategyKey::Kind::kJob) return "s" + std::to_string(job.id().value);
    return "s" + (key.kind == StrategyKey::Kind::kUser ? job.user : job.customer);
  }
  bool HasTag(const PickJob&, const std::string&) const override { return false; }
};

class StepsWorld : public ClassTable::Listener {
 public:
  StepsWorld() : table(*this), orders(keys, table) { table.BeginCommand(1000); }
  void OnWidth() override { orders.OnWidth(); }
  void OnClass(ClassId cls) override { orders.OnClass(cls); }
  void OnKind(KindId kind) override { orders.OnKind(kind); }
  void OnMoved(KindId) override {}

  StepsJob& Add(Rng& rng) {
    jobs.push_back(std::make_unique<StepsJob>());
    StepsJob& job = *jobs.back();
    job.key.id = JobId{++last_id};
    job.user = "a user with a long name " + std::to_string(rng.Below(40));
    job.customer = "customer " + std::to_string(rng.Below(20));
    job.cls = table.AddJob(testing::SampleJob{}.In(table));
    orders.Know(job);
    orders.SetQueued(job, 1 + static_cast<std::uint32_t>(rng.Below(5)));
    orders.Open(job);
    return job;
  }
  void Drop(std::size_t at) {
    if (jobs[at]->open) orders.Close(*jobs[at]);
    while (jobs[at]->running > 0) orders.Returned(*jobs[at]);
    orders.Forget(*jobs[at]);
    table.DropJob(jobs[at]->cls);
    jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(at));
  }
  // At most so many jobs are told; true: built.
  bool Build(std::size_t most) {
    if (!orders.builder().Building()) return true;
    orders.builder().Begin();
    for (const auto& job : jobs) {
      if (!(orders.builder().built_to() < job->id())) continue;
      if (most-- == 0) return false;
      orders.builder().Add(*job);
    }
    orders.builder().Finish();
    return !orders.builder().Building();
  }

  StepsKeys keys;
  ClassTable table;
  Orders orders;
  std::vector<std::unique_ptr<StepsJob>> jobs;
  std::uint64_t last_id = 0;
};

TEST(OrdersInSteps, WhatNobodyUsesGoesWhileJobsComeAndGo) {
  static const char* const kTexts[] = {
      "oldest",
      "random",
      "fair(user, least_recent)",
      "max_simultaneous(job, 1, newest)",
      "fair(customer, fair(user, or_else(select_only(user = nobody, oldest), random)))",
      "prefer_distinct(customer, 1, max_simultaneous(user, 20, fair(job, priority)))",
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    StepsWorld world;
    const KindId kind = world.table.KindOf(world.table.AddWorker(testing::SampleWorker{}.Traits()));
    for (int i = 0; i < 600; ++i) world.Add(rng);
    const std::size_t nothing = world.orders.indices().MemoryBytes();
    std::uint64_t serial = 0;
    for (const char* text : kTexts) {
      const ParsedStrategy parsed = ParseStrategy(text);
      ASSERT_NE(parsed.strategy, nullptr) << text;
      const Orders::Id id = world.orders.Use(parsed.strategy);
      // Jobs come and go in front of the walk, and behind it.
      const auto churn = [&] {
        world.Drop(rng.Below(world.jobs.size()));
        world.Add(rng);
      };
      while (!world.Build(7)) churn();
      ASSERT_TRUE(world.orders.indices().Ready(id));
      for (int i = 0; i < 60; ++i) {
        std::uint64_t gave_up = 0;
        PickJob* picked = testing::PickToTheEnd(world.orders, id, kind, nullptr, rng, gave_up);
        ASSERT_NE(picked, nullptr) << text;
        ASSERT_TRUE(picked->open);
        world.orders.Started(*picked, Stamp{1000, ++serial});
        if (picked->queued == 1) {
          world.orders.Close(*picked);
          picked->queued = 0;
        } else {
          world.orders.SetQueued(*picked, picked->queued - 1);
        }
        if (rng.Below(4) != 0) world.orders.Returned(*picked);
        churn();
      }
      world.orders.Unuse(id);
      EXPECT_TRUE(world.orders.builder().Cleaning());
      int steps = 0;
      for (bool gone = false; !gone; ++steps) {
        std::size_t budget = 5;
        gone = world.orders.builder().Clean(budget);
        if (steps % 4 == 0) churn();
      }
      EXPECT_EQ(world.orders.indices().MemoryBytes(), nothing) << text;
    }
    while (!world.jobs.empty()) world.Drop(world.jobs.size() - 1);
  }
}

// Strategies come and go, policies change in the midst of a walk, leases begin and end on both sides of it: whenever
// nothing is being built, every pick is that of a naive look.
class Stepwise {
 public:
  explicit Stepwise(std::uint64_t seed) : rng_(seed) {
    kind_ = world_.table.KindOf(world_.table.AddWorker(testing::SampleWorker{}.Traits()));
    world_.orders.SetSlots(slots_);
    for (int i = 0; i < 15; ++i) world_.Add(rng_);
  }

  // False: a pick differs.
  bool Step() {
    while (world_.jobs.size() < 3) world_.Add(rng_);
    StepsJob& job = *world_.jobs[rng_.Below(world_.jobs.size())];
    switch (rng_.Below(12)) {
      case 0:
        if (used_.size() < 4) Use();
        break;
      case 1:
        if (used_.size() > 1 && rng_.Below(2) == 0) Unuse(rng_.Below(used_.size()));
        break;
      case 2:
        if (world_.jobs.size() < 30) world_.Add(rng_);
        break;
      case 3:
        if (rng_.Below(2) == 0) world_.Drop(rng_.Below(world_.jobs.size()));
        break;
      case 4:
      case 5:
        if (job.running > 0) world_.orders.Returned(job);
        break;
      case 6:
        if (rng_.Below(8) > 0) break;
        policy_ = ParseStrategy(testing::SomePolicy(rng_, 2, false), true).strategy;
        world_.orders.SetPolicy(policy_);
        break;
      case 7: {
        world_.Build(rng_.Below(20));
        std::size_t budget = rng_.Below(10);
        world_.orders.builder().Clean(budget);
        break;
      }
      case 8:
        slots_ = 4 + rng_.Below(10);
        world_.orders.SetSlots(slots_);
        break;
      case 9:
        if (job.open) Lease(job);
        break;
      default:
        return used_.empty() || Pick(used_[rng_.Below(used_.size())]);
    }
    return true;
  }
  std::uint64_t picks() const { return picks_; }

 private:
  struct Used {
    StrategyPtr strategy;
    Orders::Id id;
  };
  void Use() {
    bool none = false;
    const StrategyPtr strategy = ParseStrategy(testing::SomeStrategy(rng_, 3, none, false)).strategy;
    used_.push_back({strategy, world_.orders.Use(strategy)});
  }
  void Unuse(std::size_t at) {
    world_.orders.Unuse(used_[at].id);
    used_.erase(used_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  void Lease(PickJob& job) {
    world_.orders.Started(job, Stamp{1'000'000, ++serial_});
    if (job.queued > 1) return world_.orders.SetQueued(job, job.queued - 1);
    world_.orders.Close(job);
    job.queued = 0;
  }
  bool Pick(const Used& used) {
    if (world_.orders.builder().Building() || !world_.orders.indices().Ready(used.id)) return true;
    Preview::Options options;
    options.policy = policy_;
    options.worker = used.strategy;
    options.slots = slots_;
    Preview naive(options);
    for (const auto& job : world_.jobs) {
      naive.Know(world_.keys, *job, job->open ? std::optional<double>(0) : std::nullopt,
                 &world_.orders.indices().values());
    }
    bool random = false;
    const std::vector<JobId> wanted = naive.Allowed(random);
    PickJob* got = testing::PickToTheEnd(world_.orders, used.id, kind_, nullptr, rng_, gave_up_);
    ++picks_;
    const bool same = got == nullptr ? wanted.empty() : wanted.size() == 1 && wanted[0] == got->id();
    EXPECT_TRUE(same) << PrintStrategy(*used.strategy) << " below " << PrintStrategy(*policy_) << ": got "
                      << (got == nullptr ? 0 : got->id().value) << ", wanted " << (wanted.empty() ? 0 : wanted[0].value)
                      << ", of " << slots_ << " slots";
    if (got != nullptr) Lease(*got);
    return same;
  }

  Rng rng_;
  StepsWorld world_;
  KindId kind_ = 0;
  std::uint64_t slots_ = 8;
  StrategyPtr policy_ = DefaultPolicy();
  std::vector<Used> used_;
  std::uint64_t serial_ = 0;
  std::uint64_t picks_ = 0, gave_up_ = 0;
};

// Where the budget is used up by one part, the next must not take it for without end.
TEST(OrdersInSteps, WhatNobodyUsesGoesInStepsOfEverySize) {
  for (std::size_t most = 1; most <= 40; ++most) {
    Rng rng(most);
    StepsWorld world;
    for (int i = 0; i < 2000; ++i) world.Add(rng);
    const Orders::Id id = world.orders.Use(ParseStrategy("fair(user, oldest)").strategy);
    while (!world.Build(1000)) {
    }
    world.orders.Unuse(id);
    std::size_t steps = 0;
    for (bool clean = false; !clean; ++steps) {
      std::size_t budget = most;
      clean = world.orders.builder().Clean(budget);
      ASSERT_LE(budget, most);
    }
    EXPECT_GE(steps * most, 40u);
  }
}

TEST(OrdersInSteps, WhatIsBuiltWhileEverythingChangesIsWhatANaiveLookSees) {
  std::uint64_t picks = 0;
  for (std::uint64_t seed = 1; seed <= Rounds(3000); ++seed) {
    const testing::SmallSteps small(seed % 2 == 0);
    Stepwise steps(seed);
    for (int i = 0; i < 400; ++i) ASSERT_TRUE(steps.Step()) << "seed " << seed << ", step " << i;
    picks += steps.picks();
  }
  EXPECT_GT(picks, Rounds(5'000));
}

// A world of jobs that are all of one value, a cell each.
class OneValue {
 public:
  static constexpr std::size_t kJobs = 20'000;
  explicit OneValue(const char* strategy) {
    handle_ = world.table.AddWorker(testing::SampleWorker{}.Traits());
    for (std::size_t i = 0; i < kJobs; ++i) {
      StepsJob& job = world.Add(rng);
      job.customer = "one";
      job.submitted_at = FromMillis(static_cast<std::int64_t>(i));
    }
    id = world.orders.Use(ParseStrategy(strategy).strategy);
    while (!world.Build(SIZE_MAX)) {
    }
  }
  KindId kind() const { return world.table.KindOf(handle_); }
  PickJob* Pick() {
    PickJob* picked = world.orders.index(id).Pick(kind(), nullptr, &rng);
    if (picked == nullptr) return nullptr;
    world.orders.Started(*picked, Stamp{1000, ++serial});
    return picked;
  }
  // Until nothing is left to be done in steps; how many there were, each of 256 cells.
  std::size_t Finish() {
    for (std::size_t steps = 1;; ++steps) {
      std::size_t budget = 256;
      if (world.orders.groups().Step(budget)) return steps;
    }
  }
  // Cells that were moved by it.
  template <typename F>
  std::uint64_t Moved(F f) {
    const std::uint64_t before = world.orders.indices().cells_moved();
    f();
    return world.orders.indices().cells_moved() - before;
  }

  Rng rng{1};
  StepsWorld world;
  Orders::Id id = 0;
  std::uint64_t serial = 0;

 private:
  ClassTable::Handle handle_ = 0;
};

constexpr const char* kOneGate = "max_simultaneous(tag, 2, fair(job, oldest))";

TEST(OrdersInSteps, AValueWithManyCellsThatIsFullIsLeftInSteps) {
  OneValue some(kOneGate);
  Orders& orders = some.world.orders;
  PickJob* first = some.Pick();
  PickJob* second = some.Pick();
  ASSERT_TRUE(first != nullptr && second != nullptr && first != second);
  // It is full: a pick meets all others, gives up after a few, and what is left goes in steps.
  ASSERT_EQ(some.Pick(), nullptr);
  EXPECT_TRUE(orders.index(some.id).last_pick().unfinished);
  EXPECT_LE(orders.index(some.id).last_pick().moved, order::CellTrees::most_moved);
  EXPECT_GE(some.Finish(), OneValue::kJobs / 256 / 2);
  ASSERT_EQ(some.Pick(), nullptr);
  EXPECT_FALSE(orders.index(some.id).last_pick().unfinished);
}

TEST(OrdersInSteps, AValueWithManyCellsOpensInSteps) {
  OneValue some(kOneGate);
  Orders& orders = some.world.orders;
  PickJob* first = some.Pick();
  PickJob* second = some.Pick();
  while (some.Pick() == nullptr && orders.index(some.id).last_pick().unfinished) {
  }
  const std::uint64_t moved = some.Moved([&] { orders.Returned(*second); });
  EXPECT_GT(moved, 0u);
  EXPECT_LE(moved, StrategyIndex::moved_at_once);
  EXPECT_TRUE(orders.groups().Joining());
  // Until all stand where they belong nobody is given what does not come first.
  ASSERT_EQ(some.Pick(), nullptr);
  EXPECT_TRUE(orders.index(some.id).last_pick().unfinished);
  EXPECT_GE(some.Finish(), OneValue::kJobs / 256 / 2);
  // `second` was served last, so that the third is the first of those that were never served.
  PickJob* third = some.Pick();
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(third, some.world.jobs[2].get());
  EXPECT_NE(third, first);
}

TEST(OrdersInSteps, ALevelWithManyCellsChangesInSteps) {
  OneValue some("prefer_distinct(tag, 1, fair(job, oldest))");
  Orders& orders = some.world.orders;
  PickJob* first = some.Pick();
  ASSERT_NE(first, nullptr);
  ASSERT_EQ(some.Pick(), nullptr);
  EXPECT_TRUE(orders.index(some.id).last_pick().unfinished);
  some.Finish();
  PickJob* second = some.Pick();
  ASSERT_EQ(second, some.world.jobs[1].get());
  some.Finish();
  EXPECT_LE(some.Moved([&] { orders.Returned(*second); }), StrategyIndex::moved_at_once);
  some.Finish();
  EXPECT_EQ(some.Pick(), some.world.jobs[2].get());
}

TEST(OrdersInSteps, APercentageThatLetsMoreRunOpensInSteps) {
  OneValue some("max_simultaneous(tag, 10%, fair(job, oldest))");
  Orders& orders = some.world.orders;
  orders.SetSlots(10);
  ASSERT_NE(some.Pick(), nullptr);
  while (some.Pick() == nullptr && orders.index(some.id).last_pick().unfinished) {
  }
  const std::uint64_t moved = some.Moved([&] { orders.SetSlots(20); });
  EXPECT_GT(moved, 0u);
  EXPECT_LE(moved, StrategyIndex::moved_at_once);
  some.Finish();
  EXPECT_EQ(some.Pick(), some.world.jobs[1].get());
}

TEST(OrdersInSteps, AKindThatIsNewIsToldToManyCellsInSteps) {
  const testing::SmallSteps small(false);
  OneValue some("fair(job, oldest)");
  Orders& orders = some.world.orders;
  orders.updates().BeginCommand();
  UpdateBudget::looks_at_once = 1000;
  orders.updates().BeginCommand();
  testing::SampleWorker other;
  other.tags = {"other"};
  StepsJob& job = *some.world.jobs[7];
  orders.Close(job);
  some.world.table.DropJob(job.cls);
  testing::SampleJob sample;
  sample.tags = {"other"};
  job.cls = some.world.table.AddJob(sample.In(some.world.table));
  orders.Open(job);
  ClassTable::Handle made = 0;
  EXPECT_LE(some.Moved([&] { made = some.world.table.AddWorker(other.Traits()); }), StrategyIndex::moved_at_once);
  const KindId kind = some.world.table.KindOf(made);
  ASSERT_NE(kind, some.kind());
  ASSERT_EQ(orders.index(some.id).Pick(kind, nullptr, &some.rng), nullptr);
  EXPECT_TRUE(orders.index(some.id).last_pick().unfinished);
  // Those that were there before do not wait for it.
  EXPECT_EQ(some.Pick(), some.world.jobs[0].get());
  some.Finish();
  PickJob* picked = orders.index(some.id).Pick(kind, nullptr, &some.rng);
  EXPECT_EQ(picked, some.world.jobs[1].get());
}

TEST(OrdersInSteps, MoreKindsThanFitAreToldToManyCellsInSteps) {
  OneValue some("fair(job, oldest)");
  Orders& orders = some.world.orders;
  ClassTable& table = some.world.table;
  // As many jobs with a tag of their own, so that workers differ.
  std::vector<ClassTable::Handle> handles;
  std::uint64_t moved = 0;
  for (std::size_t i = 0; i < 80; ++i) {
    const std::string tag = "tag " + std::to_string(i);
    StepsJob& job = *some.world.jobs[1000 + i];
    orders.Close(job);
    table.DropJob(job.cls);
    testing::SampleJob sample;
    sample.tags = {tag};
    job.cls = table.AddJob(sample.In(table));
    orders.Open(job);
    testing::SampleWorker worker;
    worker.tags = {tag};
    moved = std::max(moved, some.Moved([&] { handles.push_back(table.AddWorker(worker.Traits())); }));
    some.Finish();
  }
  EXPECT_LE(moved, StrategyIndex::moved_at_once);
  EXPECT_EQ(table.kinds().mask_words(), 2u);
  EXPECT_TRUE(orders.builder().Building());
  // Who was there before goes on, the last of the new ones waits until wider trees are built.
  EXPECT_EQ(some.Pick(), some.world.jobs[0].get());
  const KindId last = table.KindOf(handles.back());
  ASSERT_GE(last, 64u);
  ASSERT_EQ(orders.index(some.id).Pick(last, nullptr, &some.rng), nullptr);
  EXPECT_TRUE(orders.index(some.id).last_pick().unfinished);
  while (!some.world.Build(1000)) {
  }
  some.Finish();
  for (std::size_t i = 0; i < 80; ++i) {
    std::uint64_t gave_up = 0;
    PickJob* picked = testing::PickToTheEnd(orders, some.id, table.KindOf(handles[i]), nullptr, some.rng, gave_up);
    ASSERT_NE(picked, nullptr) << i;
    orders.Started(*picked, Stamp{1000, ++some.serial});
  }
}

}  // namespace
}  // namespace allot
