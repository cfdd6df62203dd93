// SPDX-License-Identifier: Apache-2.0
// Nobody keeps the engine from others for long: what is large goes in steps. Bounds here are counts of what a command
// does; `LongestCommands` prints times too, at 10^6 jobs with ALLOT_STEPS_JOBS=1000000 ALLOT_STEPS_WORKERS=10000.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/rng.h"
#include "engine/looks/explain.h"
#include "engine/looks/worker_outlook.h"
#include "engine/pace.h"
#include "engine/testing.h"
#include "engine/testing_steps.h"
#include "strategy/index/cell_trees.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineStepsTest : public testing::EngineTest {
 protected:
  void SubmitMany(std::size_t jobs, const JobSpec& spec) {
    while (jobs > 0) {
      const std::size_t some = std::min<std::size_t>(jobs, 1000);
      std::vector<JobId> ids;
      for (std::size_t i = 0; i < some; ++i) ids.push_back(JobId{++last_id_});
      const std::vector<JobSpec> specs(some, spec);
      const auto answers =
          ruler_.Run("submit 1,000", *engine_, [&] { return engine_->jobs().SubmitAll(now_, ids, specs); });
      ASSERT_TRUE(answers.ok());
      Forgotten();
      jobs -= some;
    }
  }
  // Effects are taken and records forgotten.
  Effects Forgotten() {
    auto [position, effects] = engine_->Take();
    while (engine_->looks().UnfoldedEvents() > 0) engine_->records().Fold(1 << 20);
    return std::move(effects);
  }
  // Ticks until nothing is to be done at once; how many, and what followed from each.
  std::vector<Effects> Ticks(std::size_t most = 100'000) {
    std::vector<Effects> all;
    while (all.size() < most) {
      const auto wake = engine_->NextWake(now_);
      if (!wake || *wake > now_.mono) break;
      ruler_.Run("tick", *engine_, [&] { engine_->Tick(now_); });
      all.push_back(Forgotten());
    }
    return all;
  }
  static std::size_t GrantsIn(const Effects& effects) {
    std::size_t grants = 0;
    for (const GrantBatch& batch : effects.grant_batches) grants += batch.grants.size();
    return grants;
  }
  static std::size_t SizeFrom(const char* name, std::size_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  }
  bool Balanced() const { return options_.dispatch.mode == DispatchMode::kBalanced; }

  testing::StepRuler ruler_;
};

TEST_F(EngineStepsTest, AJobForVeryManyWhoWaitIsHandedOutInSteps) {
  constexpr std::size_t kWorkers = 100;
  constexpr std::uint32_t kCredit = 100;
  std::vector<WorkerId> workers;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    workers.push_back(RegisterBy("", {"a"}, kCredit));
    Wait(workers.back(), kCredit);
  }
  Forgotten();
  Submit(Spec(1'000'000));
  std::vector<WorkerId> order;
  std::size_t grants = 0;
  const auto count = [&](const Effects& effects) {
    EXPECT_LE(GrantsIn(effects), kGrantsAtOnce);
    grants += GrantsIn(effects);
    for (const GrantBatch& batch : effects.grant_batches) order.push_back(batch.worker);
  };
  count(Forgotten());
  EXPECT_GT(grants, 0u);
  EXPECT_LT(grants, kWorkers * kCredit);
  for (const Effects& effects : Ticks()) count(effects);
  EXPECT_EQ(grants, kWorkers * kCredit);
  // Who has waited longest comes first, over all steps.
  if (!Balanced()) {
    EXPECT_EQ(order, workers);
  }
}

TEST_F(EngineStepsTest, APullForVeryManyIsServedInSteps) {
  Submit(Spec(1'000'000));
  const WorkerId worker = RegisterBy("", {"a"}, 10'000);
  Forgotten();
  Wait(worker, 10'000);
  std::size_t grants = GrantsIn(Forgotten());
  EXPECT_GT(grants, 0u);
  EXPECT_LE(grants, kGrantsAtOnce);
  for (const Effects& effects : Ticks()) {
    EXPECT_LE(GrantsIn(effects), kGrantsAtOnce);
    grants += GrantsIn(effects);
  }
  EXPECT_EQ(grants, 10'000u);
}

TEST_F(EngineStepsTest, AWorkerThatLeavesWithVeryManyLeasesGivesThemBackInSteps) {
  const JobId job = Submit(Spec(100'000));
  const WorkerId worker = RegisterBy("", {"a"}, 10'000);
  Wait(worker, 10'000);
  Ticks();
  ASSERT_EQ(View(job).running, 10'000u);
  engine_->workers().Unregister(now_, worker);
  EXPECT_EQ(engine_->looks().Stats().workers, 0u);
  EXPECT_EQ(engine_->looks().DescribeWorker(worker).error().code, Code::kUnknownWorker);
  std::size_t errors = Forgotten().errors.size();
  EXPECT_LE(errors, kLeasesAtOnce);
  EXPECT_GE(View(job).running, 10'000u - kLeasesAtOnce);
  for (const Effects& effects : Ticks()) {
    EXPECT_LE(effects.errors.size(), kLeasesAtOnce);
    errors += effects.errors.size();
    for (const EngineError& error : effects.errors) EXPECT_EQ(error.text, "its worker left without a word about it");
    EXPECT_TRUE(effects.gone.empty());
  }
  EXPECT_EQ(errors, 10'000u);
  EXPECT_EQ(View(job).running, 0u);
  EXPECT_EQ(View(job).queued, 100'000u);
}

TEST_F(EngineStepsTest, AWorkerThatDoesNotComeBackGivesVeryManyLeasesBackInSteps) {
  const JobId job = Submit(Spec(100'000));
  const WorkerId worker = RegisterBy("", {"a"}, 10'000);
  Wait(worker, 10'000);
  Ticks();
  engine_->workers().Disconnect(now_, worker);
  Pass(options_.worker_grace - 1ms);
  Forgotten();
  Move(now_.mono + 2ms);
  std::size_t errors = 0, gone = 0;
  for (const Effects& effects : Ticks()) {
    EXPECT_LE(effects.errors.size(), kLeasesAtOnce);
    errors += effects.errors.size();
    gone += effects.gone.size();
  }
  EXPECT_EQ(errors, 10'000u);
  EXPECT_EQ(gone, 1u);
  EXPECT_EQ(View(job).running, 0u);
}

TEST_F(EngineStepsTest, WorkersOfAJobWithVeryManyLeasesAreToldToStopInSteps) {
  const JobId job = Submit(Spec(100'000));
  const WorkerId worker = RegisterBy("", {"a"}, 10'000);
  Wait(worker, 10'000);
  Ticks();
  ASSERT_TRUE(engine_->jobs().Cancel(now_, job).ok());
  std::size_t requests = Forgotten().stop_requests.size();
  EXPECT_EQ(requests, kLeasesAtOnce);
  for (const Effects& effects : Ticks()) {
    EXPECT_LE(effects.stop_requests.size(), kLeasesAtOnce);
    requests += effects.stop_requests.size();
  }
  EXPECT_EQ(requests, 10'000u);
}

TEST_F(EngineStepsTest, AValueWithVeryManyCellsFlipsInSteps) {
  SubmitMany(20'000, Spec(3));
  const WorkerId worker = RegisterBy("max_simultaneous(async, 2, fair(job, oldest))", {"a"}, 10);
  Ticks();
  // Full, and open again, time after time: each command moves a bounded number of cells, and none is started too many.
  std::size_t starts = 0;
  for (int round = 0; round < 5; ++round) {
    ruler_.Run("pull", *engine_, [&] { Wait(worker, 10); });
    std::vector<Grant> grants = Grants();
    for (const Effects& effects : Ticks()) {
      for (const GrantBatch& each : effects.grant_batches) {
        grants.insert(grants.end(), each.grants.begin(), each.grants.end());
      }
    }
    starts += grants.size();
    EXPECT_EQ(grants.size(), 2u);
    std::vector<Report> reports;
    for (const Grant& grant : grants) reports.push_back({grant.task, ReportKind::kDone});
    ruler_.Run("report", *engine_, [&] { EXPECT_TRUE(engine_->workers().ReportAll(now_, worker, reports).ok()); });
    // What the report opened goes to the worker that waits, at once or in steps: it is given back.
    std::vector<Grant> more = Grants();
    for (const Effects& effects : Ticks()) {
      for (const GrantBatch& each : effects.grant_batches)
        more.insert(more.end(), each.grants.begin(), each.grants.end());
    }
    EXPECT_LE(more.size(), 2u);
    reports.clear();
    ASSERT_TRUE(engine_->workers().Pull(now_, worker, PullOptions{0, false, 0s}).ok());
    for (const Grant& grant : more) reports.push_back({grant.task, ReportKind::kReleased});
    EXPECT_TRUE(engine_->workers().ReportAll(now_, worker, reports).ok());
    Ticks();
  }
  EXPECT_EQ(starts, 10u);
  for (const auto& [name, row] : ruler_.rows()) EXPECT_LE(row.cells, 8 * StrategyIndex::moved_at_once) << name;
}

TEST_F(EngineStepsTest, AnExplanationOwnsAllWorkersByOnePointer) {
  const JobId job = Submit(Spec(1, {"b"}));
  std::vector<WorkerId> workers;
  for (int i = 0; i < 100; ++i) workers.push_back(Register({"a"}));
  const Result<JobSnapshot> before = engine_->prepared_looks().SnapshotOf(now_, job);
  ASSERT_TRUE(before.ok());
  ASSERT_EQ(before->match.workers.size(), 100u);
  EXPECT_NE(before->match.kept, nullptr);
  for (const MatchSnapshot::Worker& worker : before->match.workers) EXPECT_EQ(worker.traits.use_count(), 0);
  // A second one has the same, and one behind a change the new ones, while the first is as it was.
  EXPECT_EQ(engine_->prepared_looks().SnapshotOf(now_, job)->match.kept, before->match.kept);
  WorkerChange change;
  change.tags = TagList{"b"};
  ASSERT_TRUE(engine_->workers().Change(now_, workers[7], change).ok());
  engine_->workers().Unregister(now_, workers[8]);
  const Result<JobSnapshot> after = engine_->prepared_looks().SnapshotOf(now_, job);
  ASSERT_EQ(after->match.workers.size(), 99u);
  EXPECT_EQ(after->match.workers[7].traits->tags, TagList{"b"});
  EXPECT_EQ(before->match.workers[7].traits->tags, TagList{"a"});
  EXPECT_EQ(before->match.workers[8].traits->tags, TagList{"a"});
  // What changes without a new registration is as of now.
  engine_->workers().Disconnect(now_, workers[9]);
  EXPECT_TRUE(engine_->prepared_looks().SnapshotOf(now_, job)->match.workers[8].away);
}

TEST_F(EngineStepsTest, SchedulesHoldWhileTimersThatNoLongerDoAreSwept) {
  constexpr int kJobs = 2000;
  std::vector<JobId> jobs;
  for (int i = 0; i < kJobs; ++i) {
    JobSpec spec = Spec(1);
    spec.delay = std::chrono::seconds(1000 + i);
    jobs.push_back(Submit(spec));
  }
  // Far more timers than jobs, so that they are swept several times, each time over many commands; the last sweep is
  // still under way.
  Rng rng(7);
  for (int i = 0; i < 50'000; ++i) {
    JobChange change;
    const auto job = rng.Below(kJobs / 2);
    change.delay = std::chrono::seconds(5000 + job);
    ASSERT_TRUE(engine_->jobs().Change(now_, jobs[job], change).ok());
    if (i % 1000 == 0) Forgotten();
  }
  // Those that were never touched, then those that were: each with its own second.
  const auto active = [&] { return engine_->looks().Stats().jobs_active; };
  Pass(1000s + std::chrono::seconds(kJobs / 2) - 1ms);
  EXPECT_EQ(active(), 0u);
  Pass(500s);
  EXPECT_EQ(active(), 500u);
  Pass(2000s);
  EXPECT_EQ(active(), 1000u);
  Pass(1000s);
  EXPECT_EQ(active(), 1500u);
  Pass(500s);
  EXPECT_EQ(active(), 2000u);
}

TEST_F(EngineStepsTest, LongestCommands) {
  const std::size_t jobs = SizeFrom("ALLOT_STEPS_JOBS", 20'000), workers = SizeFrom("ALLOT_STEPS_WORKERS", 1000);
  JobSpec spec = Spec(3);
  for (std::size_t user = 0; user < 10; ++user) {
    spec.user = "user " + std::to_string(user);
    SubmitMany(jobs / 10, spec);
  }
  const JobId one = Submit(spec);
  std::vector<WorkerId> all;
  const auto add = [&](const WorkerSpec& like) {
    WorkerSpec worker = like;
    worker.id = WorkerId{++last_id_};
    worker.connected = true;
    ruler_.Run("register", *engine_,
               [&] { ASSERT_TRUE(engine_->workers().Register(now_, worker, std::nullopt).ok()); });
    Forgotten();
    all.push_back(worker.id);
  };
  WorkerSpec like;
  like.tags = {"a"};
  like.slots = 4;
  for (std::size_t i = 0; i < workers; ++i) {
    like.name = "worker " + std::to_string(i);
    like.attributes = {{"number", static_cast<std::int64_t>(i)}};
    add(like);
  }
  const auto each = [&](const char* name, auto f) {
    ruler_.Run(name, *engine_, f);
    Forgotten();
    ruler_.Run(std::string(name) + ", again", *engine_, f);
    Forgotten();
    Ticks();
  };
  each("explain a job", [&] { ASSERT_TRUE(engine_->prepared_looks().SnapshotOf(now_, one).ok()); });
  each("explain a spec", [&] { EXPECT_EQ(engine_->looks().Snapshot(spec).workers.size(), all.size()); });
  each("a worker's next", [&] { ASSERT_TRUE(engine_->looks().OutlookOf(now_, all[0]).ok()); });
  each("list workers", [&] { engine_->looks().Workers(std::nullopt, 1000); });
  // A value with very many cells.
  like.strategy = Strategy("max_simultaneous(async, 2, fair(job, oldest))");
  add(like);
  const WorkerId gate = all.back();
  Ticks();
  std::vector<Grant> running;
  for (int i = 0; i < 3; ++i) {
    ruler_.Run("pull by a value with all cells", *engine_, [&] { Wait(gate, 4); });
    std::vector<Effects> effects = Ticks();
    for (Effects& some : effects) {
      for (GrantBatch& batch : some.grant_batches) {
        running.insert(running.end(), batch.grants.begin(), batch.grants.end());
      }
    }
    std::vector<Report> reports;
    for (const Grant& grant : std::exchange(running, {})) reports.push_back({grant.task, ReportKind::kDone});
    ruler_.Run("report that opens it", *engine_,
               [&] { EXPECT_TRUE(engine_->workers().ReportAll(now_, gate, reports).ok()); });
    for (GrantBatch& batch : Forgotten().grant_batches) {
      running.insert(running.end(), batch.grants.begin(), batch.grants.end());
    }
  }
  Ticks();
  // Another kind of worker, and one that all are told apart by.
  like.tags = {"a", "b"};
  add(like);
  ruler_.Run("submit a class for some", *engine_, [&] { Submit(Spec(1, {"b"})); });
  Ticks();
  JobSpec ranked = Spec(1);
  ranked.rank = expr::Expr::Parse("TARGET.number").expr;
  ruler_.Run("submit a rank that differs for all", *engine_, [&] { Submit(ranked); });
  Ticks();
  const JobId last{last_id_};
  ruler_.Run("cancel it", *engine_, [&] { ASSERT_TRUE(engine_->jobs().Cancel(now_, last).ok()); });
  Ticks();
  DispatchOptions balanced;
  balanced.mode = DispatchMode::kBalanced;
  ruler_.Run("switch to balanced", *engine_, [&] { engine_->queue().SetDispatch(now_, balanced); });
  Forgotten();
  Ticks();
  ruler_.Run("switch back", *engine_, [&] { engine_->queue().SetDispatch(now_, DispatchOptions{}); });
  Forgotten();
  Ticks();
  engine_->queue().SetDispatch(now_, balanced);
  for (int i = 0; i < 20; ++i) engine_->Tick(now_);
  ruler_.Run("switch back halfway", *engine_, [&] { engine_->queue().SetDispatch(now_, DispatchOptions{}); });
  Forgotten();
  Ticks();
  ruler_.Run("set a policy", *engine_, [&] { SetPolicy("fair(user, worker)"); });
  Forgotten();
  Ticks();
  // The largest messages.
  const WorkerId large = RegisterBy("", {"a"}, 10'000);
  ruler_.Run("pull 10,000", *engine_, [&] { Wait(large, 10'000); });
  std::vector<Report> reports;
  const auto note = [&](const Effects& effects) {
    for (const GrantBatch& batch : effects.grant_batches) {
      for (const Grant& grant : batch.grants) reports.push_back({grant.task, ReportKind::kDone});
    }
  };
  note(Forgotten());
  for (const Effects& effects : Ticks()) note(effects);
  std::vector<TaskRef> tasks;
  for (const Report& report : reports) tasks.push_back(report.task);
  ruler_.Run("extend 10,000", *engine_, [&] { EXPECT_TRUE(engine_->workers().Extend(now_, large, tasks).ok()); });
  ruler_.Run("report 10,000", *engine_, [&] { EXPECT_TRUE(engine_->workers().ReportAll(now_, large, reports).ok()); });
  Forgotten();
  ruler_.Print();
  for (const auto& [name, row] : ruler_.rows()) EXPECT_LE(row.cells, 8 * StrategyIndex::moved_at_once) << name;
}

}  // namespace
}  // namespace allot
