// SPDX-License-Identifier: Apache-2.0
// Batches that are made ready in parts, with other commands between them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/bounds.h"
#include "base/memory_pool.h"
#include "base/rng.h"
#include "engine/pace.h"
#include "engine/testing.h"
#include "expr/expr.h"
#include "expr/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineSubmitTest : public testing::EngineTest {
 protected:
  std::vector<JobId> Ids(std::size_t count) {
    std::vector<JobId> ids;
    for (std::size_t i = 0; i < count; ++i) ids.push_back(JobId{++last_id_});
    return ids;
  }
  // How many parts there were.
  std::size_t StageAll(JobBatch& batch) {
    for (std::size_t parts = 1;; ++parts) {
      const Result<bool> ready = engine_->jobs().Stage(now_, batch);
      EXPECT_TRUE(ready.ok());
      if (!ready.ok() || *ready) return parts;
    }
  }
  std::vector<JobSpec> Different(std::size_t count, const std::string& user = "ann") {
    std::vector<JobSpec> specs(count, Spec(1));
    for (std::size_t i = 0; i < count; ++i) {
      specs[i].user = user;
      specs[i].requirements = testing::MustParse("TARGET.Mem > " + std::to_string(i));
    }
    return specs;
  }
};

TEST_F(EngineSubmitTest, NothingIsThereBeforeAllIs) {
  const WorkerId worker = Register();
  Wait(worker);
  Grants();
  const std::vector<JobSpec> specs(1000, Spec(1));
  JobBatch batch{specs};
  EXPECT_GT(StageAll(batch), 1u);
  EXPECT_EQ(engine_->looks().Stats().submitted_jobs, 0u);
  EXPECT_TRUE(Grants().empty());
  EXPECT_TRUE(last_.events.empty()) << "a crash now would leave some of them";
  const auto answers = engine_->jobs().SubmitAll(now_, Ids(1000), batch);
  ASSERT_TRUE(answers.ok());
  EXPECT_EQ(answers->size(), 1000u);
  EXPECT_EQ(Grants().size(), 1u);
  EXPECT_EQ(engine_->looks().Stats().jobs_active, 1000u);
  Load(30s);
  EXPECT_EQ(engine_->looks().Stats().jobs_active, 1000u);
}

TEST_F(EngineSubmitTest, WhatIsGivenUpLeavesNothing) {
  const auto classes = [this] { return engine_->looks().Stats().classes; };
  const std::vector<JobSpec> specs = Different(1000);
  const std::uint64_t before = classes();
  JobBatch batch{specs};
  ASSERT_TRUE(engine_->jobs().Stage(now_, batch).ok());
  EXPECT_GT(classes(), before);
  engine_->jobs().Unstage(batch);
  engine_->jobs().Unstage(batch);  // again: nothing
  Pass(10ms);
  EXPECT_EQ(classes(), before);
  StageAll(batch);
  ASSERT_TRUE(engine_->jobs().SubmitAll(now_, Ids(1000), batch).ok());
  EXPECT_EQ(classes(), before + 1000);
}

TEST_F(EngineSubmitTest, OfWhatIsGivenUpLessLeavesAtATimeTheMoreKindsOfWorkersThereAre) {
  constexpr std::size_t kWorkers = 400;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    WorkerSpec worker;
    worker.id = WorkerId{1'000'000 + i};
    worker.tags = {"a"};
    worker.attributes = {{"Mem", static_cast<std::int64_t>(i)}};
    ASSERT_TRUE(engine_->workers().Register(now_, worker, std::nullopt).ok());
  }
  const auto classes = [this] { return engine_->looks().Stats().classes; };
  const std::uint64_t before = classes();
  const std::vector<JobSpec> specs = Different(kWorkers);
  JobBatch batch{specs};
  StageAll(batch);
  for (int i = 0; i < 1000; ++i) engine_->Tick(now_);  // until all are judged
  EXPECT_GT(engine_->looks().Stats().kinds, kWorkers / 2);
  engine_->jobs().Unstage(batch);
  std::size_t ticks = 0;
  for (std::uint64_t left = classes(); left > before; ++ticks) {
    ASSERT_LT(ticks, 1000u);
    engine_->Tick(now_);
    // Kinds that are no longer told apart are joined meanwhile.
    EXPECT_LE(left - classes(), 1 + kUnstagedAtOnce / (1 + engine_->looks().Stats().kinds / kKindsPerUnstaged))
        << "in one tick";
    left = classes();
  }
  EXPECT_GT(ticks, 20u);
}

TEST_F(EngineSubmitTest, WhatIsStagedKeepsRoomForWhatIsStillToBeMade) {
  if (!MemoryPool::Available()) GTEST_SKIP() << "memory is not counted in this build";
  // Of a job in many orders the least part is made ahead.
  for (int i = 0; i < 40; ++i) {
    WorkerSpec worker;
    worker.id = WorkerId{1'000'000 + static_cast<std::uint64_t>(i)};
    worker.tags = {"other"};
    worker.strategy = ParseStrategy("prefer_distinct(Size, " + std::to_string(i + 1) + ", newest)").strategy;
    ASSERT_NE(worker.strategy, nullptr);
    ASSERT_TRUE(engine_->workers().Register(now_, worker, std::nullopt).ok());
  }
  for (int i = 0; i < 100; ++i) engine_->Tick(now_);
  std::vector<JobSpec> specs(1000, Spec(1));
  for (std::size_t i = 0; i < specs.size(); ++i) specs[i].meta = {{"Size", static_cast<std::int64_t>(i)}};
  const std::uint64_t budget = engine_->looks().Memory().total() + 40 * 1024 * 1024;
  engine_->queue().SetMemoryBudget(budget);
  std::vector<JobBatch> batches;
  for (int i = 0; i < 50; ++i) {
    JobBatch batch{specs};
    Result<bool> ready = engine_->jobs().Stage(now_, batch);
    while (ready.ok() && !*ready) ready = engine_->jobs().Stage(now_, batch);
    if (!ready.ok()) {
      EXPECT_EQ(ready.error().code, Code::kMemoryFull);
      break;
    }
    batches.push_back(batch);
  }
  EXPECT_GE(batches.size(), 1u);
  EXPECT_LT(batches.size(), 50u);
  for (JobBatch& batch : batches) {
    ASSERT_TRUE(engine_->jobs().SubmitAll(now_, Ids(1000), batch).ok());
    for (int i = 0; i < 20; ++i) engine_->Tick(now_);
    EXPECT_LE(engine_->looks().Memory().total(), budget);
  }
}

TEST_F(EngineSubmitTest, ABatchForWhichThereIsNoRoomAnyMoreIsRefusedAsAWhole) {
  // One user may have so many that half of all is left to others.
  const std::vector<JobSpec> specs = Different(1000);
  JobBatch batch{specs};
  ASSERT_TRUE(engine_->jobs().Stage(now_, batch).ok());
  for (std::size_t i = 0; i < bounds::kMaxClasses; ++i) {
    JobSpec spec = Spec(1);
    spec.user = "ann";
    spec.requirements = testing::MustParse("TARGET.Disk > " + std::to_string(i));
    if (!engine_->jobs().Submit(now_, JobId{++last_id_}, spec).ok()) break;
    if (i % 1000 == 0) Grants();
  }
  const std::uint64_t jobs = engine_->looks().Stats().submitted_jobs;
  Result<bool> ready = engine_->jobs().Stage(now_, batch);
  while (ready.ok() && !*ready) ready = engine_->jobs().Stage(now_, batch);
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().code, Code::kTooManyClasses);
  EXPECT_EQ(engine_->looks().Stats().submitted_jobs, jobs);
  // What it had taken is there for somebody else of that user.
  JobSpec other = Spec(1);
  other.user = "ann";
  other.requirements = testing::MustParse("TARGET.Other > 1");
  EXPECT_TRUE(engine_->jobs().Submit(now_, JobId{++last_id_}, other).ok());
}

TEST_F(EngineSubmitTest, ABatchThatIsThereAlreadyIsAnsweredWhereThereIsNoRoomAnyMore) {
  std::vector<JobSpec> specs = Different(1000);
  for (std::size_t i = 0; i < specs.size(); ++i) specs[i].idempotency_key = "k" + std::to_string(i);
  JobBatch first{specs};
  StageAll(first);
  const auto answers = engine_->jobs().SubmitAll(now_, Ids(1000), first);
  ASSERT_TRUE(answers.ok());
  JobSpec spec = Spec(1);
  spec.user = "ann";
  for (std::size_t i = 0; i < bounds::kMaxClasses; ++i) {
    spec.requirements = testing::MustParse("TARGET.Disk > " + std::to_string(i));
    if (!engine_->jobs().Submit(now_, JobId{++last_id_}, spec).ok()) break;
    if (i % 1000 == 0) Grants();
  }
  JobBatch again{specs};
  EXPECT_EQ(StageAll(again), 1u);
  const auto known = engine_->jobs().SubmitAll(now_, Ids(1000), again);
  ASSERT_TRUE(known.ok()) << known.error().message;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    EXPECT_TRUE((*known)[i].existing);
    EXPECT_EQ((*known)[i].job, (*answers)[i].job);
  }
  // One that is new among them is one too many, and one with other content is said at once.
  specs.push_back(spec);
  JobBatch more{specs};
  Result<bool> ready = engine_->jobs().Stage(now_, more);
  while (ready.ok() && !*ready) ready = engine_->jobs().Stage(now_, more);
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().code, Code::kTooManyClasses);
  specs.back().idempotency_key = "k999";
  specs.back().content = ContentHash{1, 2};
  JobBatch other{specs};
  const Result<bool> refused = engine_->jobs().Stage(now_, other);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kIdempotencyConflict);
}

TEST_F(EngineSubmitTest, ItIsAsIfAllCameAtOnceWhateverHappensMeanwhile) {
  options_.dispatch = {};  // what is promised to whom depends on when a class was judged
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SetUp();
    records_.clear();
    journal_.clear();
    floor_ = 0;
    std::unique_ptr<Engine> staged = std::move(engine_);
    SetUp();
    std::unique_ptr<Engine> whole = std::move(engine_);
    Rng rng(seed);
    const auto both = [&](auto&& f) {
      f(*staged);
      f(*whole);
    };
    std::vector<JobSpec> specs(300 + rng.Below(700), Spec(1));
    for (std::size_t i = 0; i < specs.size(); ++i) {
      specs[i].count = static_cast<std::uint32_t>(rng.Below(3));
      specs[i].user = "u" + std::to_string(rng.Below(3));
      specs[i].meta = {{"Need", static_cast<std::int64_t>(rng.Below(4))}, {"Size", static_cast<std::int64_t>(i)}};
      if (rng.Below(3) == 0) specs[i].requirements = testing::MustParse("TARGET.Mem >= MY.Need");
      if (rng.Below(4) == 0) specs[i].priority = static_cast<std::int32_t>(rng.Below(5));
      if (rng.Below(5) == 0) specs[i].idempotency_key = "key" + std::to_string(i);
    }
    std::uint64_t worker_id = 1'000'000;
    const auto others = [&] {
      switch (rng.Below(4)) {
        case 0: {  // reads more of jobs: classes are made anew
          WorkerSpec spec;
          spec.id = WorkerId{++worker_id};
          spec.tags = {"a"};
          spec.slots = 2;
          spec.attributes = {{"Mem", static_cast<std::int64_t>(rng.Below(4))}};
          spec.requirements = testing::MustParse(rng.Below(2) == 0 ? "TARGET.Need != 2" : "TARGET.Size % 7 != 3");
          both([&](Engine& engine) { EXPECT_TRUE(engine.workers().Register(now_, spec, std::nullopt).ok()); });
          break;
        }
        case 1: {  // the same key, by somebody who is quicker
          const JobSpec& spec = specs[rng.Below(specs.size())];
          const JobId id{++last_id_};
          both([&](Engine& engine) { EXPECT_TRUE(engine.jobs().Submit(now_, id, spec).ok()); });
          break;
        }
        case 2:
          both([&](Engine& engine) { engine.Tick(now_); });
          break;
        default:
          Move(now_.mono + 10ms);
      }
    };
    JobBatch batch{specs};
    for (bool ready = false; !ready;) {
      others();
      const Result<bool> more = staged->jobs().Stage(now_, batch);
      ASSERT_TRUE(more.ok());
      ready = *more;
    }
    others();
    const std::vector<JobId> ids = Ids(specs.size());
    const auto in_parts = staged->jobs().SubmitAll(now_, ids, batch);
    const auto at_once = whole->jobs().SubmitAll(now_, ids, specs);
    ASSERT_TRUE(in_parts.ok() && at_once.ok());
    for (int i = 0; i < 50; ++i) both([&](Engine& engine) { engine.Tick(now_); });
    for (std::size_t i = 0; i < specs.size(); ++i) {
      ASSERT_EQ((*in_parts)[i].job, (*at_once)[i].job);
      ASSERT_EQ((*in_parts)[i].existing, (*at_once)[i].existing);
      const JobId job = (*in_parts)[i].job;
      ASSERT_EQ(staged->looks().Describe(job)->meta->size(), whole->looks().Describe(job)->meta->size());
    }
    EXPECT_EQ(staged->looks().Stats().classes, whole->looks().Stats().classes) << seed;
    // And they start in the same order.
    for (std::uint64_t id = 1'000'001; id <= worker_id; ++id) {
      const auto grants = [&](Engine& engine) {
        EXPECT_TRUE(engine.workers().Pull(now_, WorkerId{id}, PullOptions{20, false, 0s}).ok());
        std::vector<std::pair<JobId, TaskIndex>> tasks;
        for (const GrantBatch& given : engine.Take().second.grant_batches) {
          for (const Grant& grant : given.grants) tasks.emplace_back(grant.task.job, grant.task.index);
        }
        return tasks;
      };
      EXPECT_EQ(grants(*staged), grants(*whole)) << seed;
    }
  }
}

}  // namespace
}  // namespace allot
