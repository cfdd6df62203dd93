// SPDX-License-Identifier: Apache-2.0
// A preview is what real pulls then give.
#include <set>

#include "engine/looks/preview_walk.h"
#include "engine/receipts.h"
#include "engine/testing.h"
#include "limits/testing.h"
#include "match/testing.h"
#include "strategy/some_strategy.h"
#include "strategy/testing_steps.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

struct Given {
  std::uint64_t job;
  std::uint32_t index;
  friend bool operator==(const Given&, const Given&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Given& given) {
    return out << given.job << "/" << given.index;
  }
};

class EnginePreview : public testing::EngineTest {
 protected:
  // In steps of `budget`; 0: in one.
  std::unique_ptr<PreviewWalk> Try(PreviewRequest request, std::size_t budget = 0) {
    auto walk = std::make_unique<PreviewWalk>(std::move(request));
    for (;;) {
      const Result<bool> all = engine_->prepared_looks().Collect(now_, *walk, budget == 0 ? 1'000'000 : budget);
      EXPECT_TRUE(all.ok());
      if (!all.ok() || *all) break;
      ++steps_;
    }
    walk->Pick();
    engine_->looks().Resolve(*walk);
    return walk;
  }
  static std::vector<Given> Picks(PreviewWalk& walk) {
    std::vector<Given> picks;
    for (const PreviewWalk::Task& task : walk.tasks())
      picks.push_back({task.pick.job.value, task.index.value_or(9999)});
    return picks;
  }
  std::vector<Given> Pulled(WorkerId worker, std::uint32_t count, const StrategyPtr& strategy) {
    Grants();
    PullOptions options{count, false, 0s};
    options.strategy = strategy;
    EXPECT_TRUE(engine_->workers().Pull(now_, worker, options).ok());
    std::vector<Given> given;
    for (const Grant& grant : Grants()) {
      running_.emplace_back(worker, grant.task);
      given.push_back({grant.task.job.value, grant.task.index});
    }
    return given;
  }
  // What the receipts of the last pulls tell is what the preview said.
  void ExpectReceipts(const PreviewWalk& walk) {
    const std::vector<Receipt> receipts = engine_->looks().Receipts(std::nullopt, walk.tasks().size(), std::nullopt);
    ASSERT_EQ(receipts.size(), walk.tasks().size());
    for (std::size_t i = 0; i < receipts.size(); ++i) {
      const Receipt& receipt = receipts[receipts.size() - 1 - i];
      const PreviewWalk::Task& task = walk.tasks()[i];
      EXPECT_EQ(receipt.job, task.pick.job);
      EXPECT_EQ(receipt.index, task.index);
      EXPECT_EQ(receipt.user, task.user);
      EXPECT_EQ(receipt.strategy, PrintStrategy(*walk.strategy()));
      EXPECT_EQ(receipt.policy, PrintStrategy(*walk.policy()));
      // A preview knows its picks before by number, and whether the worker ranks any job from its beginning.
      std::vector<PreviewStep> recorded = receipt.why, said = task.pick.why;
      for (std::vector<PreviewStep>* steps : {&recorded, &said}) {
        // It does not look at the ranks of what is left out.
        if (i > 0 || walk.blocked_jobs() > 0)
          std::erase_if(*steps, [](const auto& step) { return step.block == Strategy::Kind::kWorker; });
      }
      ASSERT_EQ(testing::StepText(recorded, i == 0), testing::StepText(said, i == 0)) << "pick " << i;
    }
  }

  std::vector<std::pair<WorkerId, TaskRef>> running_;
  std::size_t steps_ = 0;
};

TEST_F(EnginePreview, IsWhatRealPullsThenGive) {
  // What is promised comes first, which one that is only described has not.
  const bool balanced = options_.dispatch.mode == DispatchMode::kBalanced;
  std::size_t picks = 0, previews = 0, ran_out = 0, blocked = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Rng rng(seed);
    records_.clear();
    journal_.clear();
    running_.clear();
    Load(0s);
    const std::string policy = rng.Below(2) == 0 ? "worker" : testing::SomePolicy(rng, 2, false);
    Weights weights;
    if (rng.Below(2) == 0) weights = {{"user.u1", 3}, {"customer.c1", 2}};
    engine_->queue().SetPolicy(now_, Strategy(policy, true), weights);
    std::vector<WorkerSpec> specs;
    for (int i = 0; i < 4; ++i) {
      static const char* const kRanks[] = {"", "", "TARGET.Tasks", "TARGET.customer == \"c1\" ? 2 : 1"};
      static const char* const kRequirements[] = {"", "", "TARGET.User == \"u1\"", "TARGET.Tasks < 4"};
      WorkerSpec spec;
      spec.id = WorkerId{++last_id_};
      spec.tags = rng.Below(4) == 0 ? std::vector<std::string>{"a"} : std::vector<std::string>{"a", "b"};
      spec.connected = true;
      spec.slots = 1 + static_cast<std::uint32_t>(rng.Below(4));
      spec.rank = testing::MustParse(kRanks[rng.Below(4)]);
      spec.requirements = testing::MustParse(kRequirements[rng.Below(4)]);
      ASSERT_TRUE(engine_->workers().Register(now_, spec, std::nullopt).ok());
      specs.push_back(spec);
    }
    // Half of the worlds have limits: on all starts, on a user's, at several costs, on some workers.
    for (std::uint64_t n = seed % 2 == 0 ? 0 : 1 + rng.Below(3); n > 0; --n) {
      static const char* const kOf[] = {"MY.User == \"u1\"", "true", "MY.Tasks > 2", "MACHINE.Slots > 2",
                                        "MACHINE.Slots < 3 && MY.User != \"u2\""};
      LimitSpec spec = testing::SomeLimit(kOf[rng.Below(5)], static_cast<double>(rng.Below(6)));
      if (rng.Below(3) == 0) spec.cost = testing::MustParse("MY.Tasks");
      if (rng.Below(3) == 0) spec.burst = 2;
      ASSERT_TRUE(engine_->limits().Create(now_, "l-" + std::to_string(n), spec).ok());
    }
    std::vector<JobId> jobs;
    for (int step = 0; step < 60; ++step) {
      if (rng.Below(2) == 0) Pass(std::chrono::milliseconds(rng.Below(5)));
      switch (rng.Below(8)) {
        case 0:
        case 1:
        case 2: {
          JobSpec spec = Spec(1 + static_cast<std::uint32_t>(rng.Below(5)), {});
          if (rng.Below(3) == 0) spec.tags.emplace_back("a");
          if (rng.Below(3) == 0) spec.tags.emplace_back("b");
          if (rng.Below(5) > 0) spec.user = "u" + std::to_string(rng.Below(4));
          if (rng.Below(4) > 0) spec.meta.emplace_back("customer", "c" + std::to_string(rng.Below(3)));
          if (rng.Below(2) == 0) spec.priority = static_cast<std::int64_t>(rng.Below(3));
          if (rng.Below(6) == 0) spec.delay = 50ms;
          spec.async = rng.Below(2) == 0;
          jobs.push_back(Submit(spec));
          break;
        }
        case 3:
          if (jobs.empty()) break;
          if (rng.Below(3) == 0) {
            ASSERT_TRUE(engine_->jobs().Cancel(now_, jobs[rng.Below(jobs.size())]).ok());
          } else {
            (void)engine_->jobs().Pause(now_, jobs[rng.Below(jobs.size())]);
          }
          break;
        case 4:
        case 5:
          if (running_.empty()) break;
          Say(running_.back().first, running_.back().second, static_cast<ReportKind>(rng.Below(4)));
          running_.pop_back();
          break;
        default: {
          bool none = false;
          const std::string text = testing::SomeStrategy(rng, 3, none, false);
          const StrategyPtr strategy = Strategy(text);
          const WorkerSpec& worker = specs[rng.Below(specs.size())];
          SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step) + ", policy " + policy +
                       ", strategy " + text);
          PreviewRequest request{strategy, nullptr, worker.id, std::nullopt, 6};
          request.by_limits = true;
          const auto walk = Try(request, rng.Below(3));
          // One that is only described, as it is or with more to read than any, is given the same.
          PreviewRequest like{strategy, nullptr, std::nullopt, worker, 6};
          like.by_limits = true;
          if (!like.like->requirements) like.like->requirements = testing::MustParse("TARGET.Unknown =?= undefined");
          if (!balanced) {
            EXPECT_EQ(Picks(*Try(like)), Picks(*walk));
          }
          EXPECT_TRUE(walk->complete());
          ASSERT_EQ(Pulled(worker.id, 6, strategy), Picks(*walk));
          ASSERT_NO_FATAL_FAILURE(ExpectReceipts(*walk));
          picks += walk->tasks().size();
          ++previews;
          ran_out += walk->ran_out() ? 1 : 0;
          blocked += walk->blocked_tasks();
        }
      }
    }
  }
  EXPECT_GT(previews, 1500u);
  EXPECT_GT(picks, 2000u);
  EXPECT_GT(steps_, 300u);  // of walks in several steps
  EXPECT_GT(ran_out, 200u);
  EXPECT_GT(blocked, 200u);
}

TEST_F(EnginePreview, TakesNothingAndTakesNoIndex) {
  Submit(Spec(3));
  const WorkerId worker = Register();
  Grants();
  const EngineStats before = engine_->looks().Stats();
  const std::size_t bytes = engine_->looks().OrderBytes();
  const auto walk = Try({Strategy("fair(user, newest)"), nullptr, worker, std::nullopt, 20});
  EXPECT_EQ(walk->tasks().size(), 3u);
  EXPECT_EQ(walk->jobs(), 1u);
  EXPECT_EQ(walk->queued_tasks(), 3u);
  EXPECT_FALSE(engine_->HasEffects());
  EXPECT_EQ(engine_->looks().Stats().tasks_queued, before.tasks_queued);
  EXPECT_EQ(engine_->looks().Stats().strategies, before.strategies);
  EXPECT_EQ(engine_->looks().OrderBytes(), bytes);
}

TEST_F(EnginePreview, WhoMayRunEverythingIsGivenEverything) {
  JobSpec spec = Spec(1, {"rare"});
  spec.requirements = testing::MustParse("TARGET.Memory > 5");
  const JobId job = Submit(spec);
  EXPECT_EQ(Picks(*Try({nullptr, nullptr, std::nullopt, std::nullopt, 5})), (std::vector<Given>{{job.value, 0}}));
  WorkerSpec like;
  like.tags = {"rare"};
  EXPECT_TRUE(Try({nullptr, nullptr, std::nullopt, like, 5})->tasks().empty());
  like.attributes = {{"Memory", std::int64_t{8}}};
  EXPECT_EQ(Try({nullptr, nullptr, std::nullopt, like, 5})->tasks().size(), 1u);
}

TEST_F(EnginePreview, SaysThatTheQueueIsPausedAndTheWorkerUnknown) {
  Submit(Spec(1));
  engine_->queue().Pause(now_);
  const auto walk = Try({nullptr, nullptr, std::nullopt, std::nullopt, 5});
  EXPECT_TRUE(walk->paused());
  EXPECT_EQ(walk->tasks().size(), 1u);
  PreviewWalk unknown({nullptr, nullptr, WorkerId{4}, std::nullopt, 5});
  const Result<bool> collected = engine_->prepared_looks().Collect(now_, unknown, 100);
  ASSERT_FALSE(collected.ok());
  EXPECT_EQ(collected.error().code, Code::kUnknownWorker);
}

TEST_F(EnginePreview, OutlivesJobsAndWorkersThatGoBetweenItsSteps) {
  std::vector<JobId> jobs;
  for (int i = 0; i < 300; ++i) {
    JobSpec spec = Spec(1);
    spec.retention = 0ms;
    spec.user = "u" + std::to_string(i % 7);
    jobs.push_back(Submit(spec));
  }
  const WorkerId worker = Register();
  PreviewWalk walk({Strategy("fair(user, random)"), nullptr, worker, std::nullopt, 100});
  for (std::size_t i = 0;; ++i) {
    const Result<bool> all = engine_->prepared_looks().Collect(now_, walk, 1);
    ASSERT_TRUE(all.ok());
    if (*all) break;
    if (i == 3) engine_->workers().Unregister(now_, worker);
    if (i < 40) (void)engine_->jobs().Cancel(now_, jobs[i * 7]);
    Pass(1s);
  }
  ASSERT_TRUE(engine_->jobs().Cancel(now_, jobs[299]).ok());
  Pass(10s);
  walk.Pick();
  engine_->looks().Resolve(walk);
  EXPECT_EQ(walk.tasks().size(), 100u);
  for (const PreviewWalk::Task& task : walk.tasks())
    EXPECT_EQ(task.index.has_value(), engine_->looks().Describe(task.pick.job).ok());
}

TEST_F(EnginePreview, KnowsWhoWasServedByJobsThatAreGone) {
  const StrategyPtr strategy = Strategy("fair(user, oldest)");
  WorkerSpec worker;
  worker.id = WorkerId{++last_id_};
  worker.tags = {"a"};
  worker.connected = true;
  worker.strategy = strategy;
  ASSERT_TRUE(engine_->workers().Register(now_, worker, std::nullopt).ok());
  JobSpec spec = Spec(1);
  spec.user = "ann";
  spec.retention = 1ms;
  const JobId gone = Submit(spec);
  const JobId anns = Submit(spec);
  Pass(5ms);
  spec.user = "bob";
  const JobId bobs = Submit(spec);
  Pass(5ms);
  ASSERT_EQ(Pulled(worker.id, 1, nullptr), (std::vector<Given>{{gone.value, 0}}));
  Say(worker.id, running_[0].second, ReportKind::kDone);
  Pass(1s);
  ASSERT_FALSE(engine_->looks().Describe(gone).ok());
  const auto walk = Try({strategy, nullptr, worker.id, std::nullopt, 5});
  EXPECT_EQ(Picks(*walk), (std::vector<Given>{{bobs.value, 0}, {anns.value, 0}}));
  EXPECT_EQ(Pulled(worker.id, 5, nullptr), Picks(*walk));
}

TEST_F(EnginePreview, TasksOfAJobAreThoseThatItWouldGive) {
  const JobId job = Submit(Spec(6));
  const WorkerId worker = Register();
  const std::vector<Grant> grants = Pull(worker, 3);
  Say(worker, grants[1].task, ReportKind::kReleased);
  EXPECT_EQ(Picks(*Try({nullptr, nullptr, worker, std::nullopt, 20})),
            (std::vector<Given>{{job.value, 1}, {job.value, 3}, {job.value, 4}, {job.value, 5}}));
  // At random any, each once.
  std::set<std::uint32_t> some;
  for (const Given& given : Picks(*Try({Strategy("random"), nullptr, worker, std::nullopt, 20})))
    some.insert(given.index);
  EXPECT_EQ(some, (std::set<std::uint32_t>{1, 3, 4, 5}));
}

}  // namespace
}  // namespace allot
