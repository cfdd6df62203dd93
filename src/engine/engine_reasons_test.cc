// SPDX-License-Identifier: Apache-2.0
// Why what waits does not run, as lists tell it: one code for every class, and since when.
#include <algorithm>
#include <map>

#include "base/rng.h"
#include "engine/testing_limits.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineReasons : public testing::LimitedEngineTest {
 protected:
  std::string Waits(JobId job) {
    const JobView view = View(job);
    return view.wait_reason ? std::string(ReasonText(view.wait_reason->code)) : "none";
  }
  std::optional<WallTime> Since(JobId job) { return View(job).wait_reason->since; }
  // As `all_busy 3 tasks 2 jobs 1 classes`, the most tasks first.
  std::vector<std::string> Rows() {
    std::vector<std::string> rows;
    for (const ReasonRow& row : engine_->looks().Reasons()) {
      rows.push_back(std::string(ReasonText(row.code)) + " " + std::to_string(row.tasks) + " tasks " +
                     std::to_string(row.jobs) + " jobs " + std::to_string(row.classes) + " classes");
    }
    return rows;
  }
  using List = std::vector<std::string>;
};

TEST_F(EngineReasons, OfAClassFollowsItsWorkersAndHasATimeForEachChange) {
  const JobId job = Submit(Spec(3));
  EXPECT_EQ(Waits(job), "no_workers");
  EXPECT_EQ(Since(job), now_.wall);
  EXPECT_EQ(Rows(), List{"no_workers 3 tasks 1 jobs 1 classes"});

  Pass(10s);
  const WorkerId other = Register({"b"});
  EXPECT_EQ(Waits(job), "no_match");  // at once for a job, within a second for all of them
  Pass(2s);
  EXPECT_EQ(Rows(), List{"no_match 3 tasks 1 jobs 1 classes"});
  const WallTime unmatched = *Since(job);
  EXPECT_GE(now_.wall - unmatched, 1s);
  Pass(10s);
  EXPECT_EQ(Since(job), unmatched);

  const WorkerId worker = RegisterBy("", {"a"}, 2);
  Pass(2s);
  EXPECT_EQ(Waits(job), "can_start");
  ASSERT_EQ(Pull(worker).size(), 1u);
  EXPECT_EQ(Waits(job), "can_start");  // it has another slot
  const std::vector<Grant> grants = Pull(worker);
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(Waits(job), "all_busy");
  Pass(2s);
  EXPECT_EQ(Rows(), List{"all_busy 1 tasks 1 jobs 1 classes"});
  const WallTime busy = *Since(job);
  Pass(5s);
  EXPECT_EQ(Since(job), busy);

  engine_->workers().Disconnect(now_, worker);
  EXPECT_EQ(Waits(job), "workers_away");
  ComeBack(worker, {grants[0].task});  // the other lease is given back, and it has one slot
  EXPECT_EQ(Waits(job), "all_busy");
  ASSERT_TRUE(engine_->workers().Drain(now_, worker).ok());
  EXPECT_EQ(Waits(job), "workers_draining");
  engine_->workers().Disconnect(now_, worker);
  EXPECT_EQ(Waits(job), "workers_draining");
  engine_->workers().Unregister(now_, worker);
  EXPECT_EQ(Waits(job), "no_match");
  engine_->workers().Unregister(now_, other);
  EXPECT_EQ(Waits(job), "no_workers");
  Pass(2s);
  EXPECT_EQ(Rows(), List{"no_workers 3 tasks 1 jobs 1 classes"});
}

TEST_F(EngineReasons, OfAJobsOwnStateComesBeforeThatOfItsClass) {
  JobSpec later = Spec(2);
  later.delay = 60s;
  const JobId scheduled = Submit(later);
  EXPECT_EQ(Waits(scheduled), "scheduled");
  const JobId paused = Submit(Spec(4));
  Pass(1s);
  ASSERT_TRUE(engine_->jobs().Pause(now_, paused).ok());
  EXPECT_EQ(Waits(paused), "job_paused");
  EXPECT_EQ(Since(paused), now_.wall);
  JobSpec failing = Spec(1);
  failing.backoff.first = 30s;
  const JobId waits = Submit(failing);
  const WorkerId worker = Register();
  const std::vector<Grant> grants = Pull(worker);
  EXPECT_EQ(Waits(waits), "none");  // what is left of it runs
  Say(worker, grants[0].task, ReportKind::kFailed);
  EXPECT_EQ(Waits(waits), "backoff");
  EXPECT_EQ(Rows(), (List{"job_paused 4 tasks 1 jobs 0 classes", "scheduled 2 tasks 1 jobs 0 classes",
                          "backoff 1 tasks 1 jobs 0 classes"}));
  Submit(Spec(7));
  Submit(Spec(7, {"b"}));
  engine_->queue().Pause(now_);
  EXPECT_EQ(Waits(scheduled), "scheduled");
  EXPECT_EQ(Waits(waits), "queue_paused");
  const std::vector<ReasonRow> rows = engine_->looks().Reasons();
  EXPECT_EQ(Rows()[0], "queue_paused 14 tasks 2 jobs 2 classes");
  EXPECT_EQ(rows[0].since, now_.wall);
  engine_->queue().Resume(now_);
  ASSERT_TRUE(engine_->jobs().Resume(now_, paused).ok());
  EXPECT_EQ(Waits(paused), "can_start");
  ASSERT_TRUE(engine_->jobs().Cancel(now_, paused).ok());
  EXPECT_EQ(Waits(paused), "none");
}

TEST_F(EngineReasons, TellALimitThatHoldsAJobEverywhere) {
  const WorkerId worker = RegisterBy("", {"a"}, 8);
  SetLimit("l", testing::SomeLimit("job.User == \"ann\"", 1));
  const JobId stopped = SubmitOf("ann", 3);
  const JobId other = SubmitOf("bob", 3);
  Pull(worker, 8);
  EXPECT_EQ(Waits(stopped), "limit");
  EXPECT_EQ(Waits(other), "none");
}

TEST_F(EngineReasons, WhatNoWorkerThatThereCouldBeMayRunIsToldApart) {
  JobSpec spec = Spec(3);
  spec.requirements = expr::Expr::Parse("TARGET.Memory > 5 && MY.Need < 3").expr;
  spec.meta = {{"Need", std::int64_t{4}}};
  const JobId never = Submit(spec);
  EXPECT_EQ(Waits(never), "requirements_never_true");
  spec.meta = {{"Need", std::int64_t{2}}};
  const JobId some = Submit(spec);
  EXPECT_EQ(Waits(some), "no_workers");
  Register();
  Pass(2s);
  EXPECT_EQ(Rows(), (List{"requirements_never_true 3 tasks 1 jobs 1 classes", "no_match 3 tasks 1 jobs 1 classes"}));
  JobChange change;
  change.meta = Meta{{"Need", std::int64_t{2}}};
  ASSERT_TRUE(engine_->jobs().Change(now_, never, change).ok());
  EXPECT_EQ(Waits(never), "no_match");
}

TEST_F(EngineReasons, HaveAnExampleWithTheTagsOfTheClassWithTheMostTasks) {
  Submit(Spec(1, {"few"}));
  const JobId first = Submit(Spec(2, {"many"}));
  const JobId last = Submit(Spec(2, {"many"}));
  EXPECT_EQ(engine_->looks().Reasons()[0].job, last);
  EXPECT_EQ(engine_->looks().Reasons()[0].tags, (List{"many"}));
  ASSERT_TRUE(engine_->jobs().Cancel(now_, last).ok());
  EXPECT_EQ(engine_->looks().Reasons()[0].job, first);  // that one is looked for
}

TEST_F(EngineReasons, FromBeforeTheStartHaveNoTime) {
  const JobId job = Submit(Spec(3));
  const JobId paused = Submit(Spec(1));
  ASSERT_TRUE(engine_->jobs().Pause(now_, paused).ok());
  Grants();
  Load(30s);
  EXPECT_EQ(Waits(job), "no_workers");
  EXPECT_EQ(Since(job), std::nullopt);
  EXPECT_EQ(Since(paused), std::nullopt);
  for (const ReasonRow& row : engine_->looks().Reasons()) EXPECT_EQ(row.since, std::nullopt);
  Pass(5s);
  Register({"b"});
  Pass(2s);
  EXPECT_EQ(Waits(job), "no_match");
  EXPECT_NE(Since(job), std::nullopt);
  // What is new since then has one, and the longest of both has none.
  const JobId fresh = Submit(Spec(1, {"c"}));
  EXPECT_EQ(Since(fresh), now_.wall);
}

TEST_F(EngineReasons, StayWithJobsThatAreMatchedAnew) {
  JobSpec spec = Spec(2);
  spec.meta = {{"Size", std::int64_t{3}}};
  const JobId job = Submit(spec);
  Register({"b"});
  Pass(5s);
  const std::optional<WallTime> since = Since(job);
  ASSERT_EQ(Waits(job), "no_match");
  WorkerSpec reads;
  reads.id = WorkerId{++last_id_};
  reads.tags = {"b"};
  reads.connected = true;
  reads.requirements = expr::Expr::Parse("TARGET.Size > 5").expr;
  ASSERT_TRUE(reads.requirements);
  ASSERT_TRUE(engine_->workers().Register(now_, reads, std::nullopt).ok());
  Pass(5s);
  EXPECT_EQ(Waits(job), "no_match");
  EXPECT_EQ(Since(job), since);
  EXPECT_EQ(Rows(), List{"no_match 2 tasks 1 jobs 1 classes"});
  // And those that are changed count where they are then.
  JobChange change;
  change.tags = std::vector<std::string>{"z"};
  ASSERT_TRUE(engine_->jobs().Change(now_, job, change).ok());
  EXPECT_EQ(Rows(), List{"no_match 2 tasks 1 jobs 1 classes"});
  EXPECT_EQ(Since(job), now_.wall);
}

TEST_F(EngineReasons, NobodyIsWokenForThemWhereNothingChanges) {
  Submit(Spec(3));
  Pass(3s);
  EXPECT_EQ(engine_->NextWake(now_), std::nullopt);
  const WorkerId worker = Register({"b"});
  engine_->workers().Unregister(now_, worker);
  Pass(3s);
  EXPECT_EQ(engine_->NextWake(now_), std::nullopt);
  EXPECT_EQ(Rows(), List{"no_workers 3 tasks 1 jobs 1 classes"});
}

TEST_F(EngineReasons, AreFoundInStepsWhereThereAreManyClasses) {
  constexpr std::uint32_t kClasses = 5000;
  for (std::uint32_t i = 0; i < kClasses; ++i) Submit(Spec(1, {"t" + std::to_string(i)}));
  Register({"t1", "t2"});
  Pass(3s);
  EXPECT_EQ(Rows(), (List{"no_match 4998 tasks 4998 jobs 4998 classes", "can_start 2 tasks 2 jobs 2 classes"}));
}

// Of jobs and workers with tags, against looking at each pair.
TEST_F(EngineReasons, AgreeWithALookAtAllWorkers) {
  const std::vector<List> tags = {{"a"}, {"b"}, {"a", "b"}, {"c"}};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    records_.clear();
    journal_.clear();
    floor_ = 0;
    Load(30s);
    Rng rng(seed);
    std::vector<JobId> jobs;
    std::vector<WorkerId> workers;
    const auto naive = [&](const JobView& job) {
      std::size_t free = 0, busy = 0, away = 0, draining = 0;
      const std::vector<WorkerView> all = engine_->looks().Workers(std::nullopt, 1000).workers;
      for (const WorkerView& worker : all) {
        if (!std::includes(worker.tags.begin(), worker.tags.end(), job.tags->begin(), job.tags->end())) continue;
        ++(worker.draining ? draining : worker.away ? away : worker.running < worker.slots ? free : busy);
      }
      return all.empty()    ? ReasonCode::kNoWorkers
             : free > 0     ? ReasonCode::kCanStart
             : busy > 0     ? ReasonCode::kAllBusy
             : away > 0     ? ReasonCode::kWorkersAway
             : draining > 0 ? ReasonCode::kWorkersDraining
                            : ReasonCode::kNoMatch;
    };
    for (int step = 0; step < 150; ++step) {
      const std::uint64_t what = rng.Below(10);
      const WorkerId worker = workers.empty() ? WorkerId{} : workers[rng.Below(workers.size())];
      if (what <= 2) {
        jobs.push_back(Submit(Spec(1 + static_cast<std::uint32_t>(rng.Below(5)), tags[rng.Below(tags.size())])));
      } else if (what <= 4) {
        workers.push_back(RegisterBy("", tags[rng.Below(tags.size())], 1 + static_cast<std::uint32_t>(rng.Below(2))));
      } else if (what == 5 && worker) {
        static_cast<void>(engine_->workers().Pull(now_, worker, PullOptions{2, false, 0s}));  // it may be gone
      } else if (what == 6 && worker) {
        rng.Below(2) == 0 ? engine_->workers().Disconnect(now_, worker) : engine_->workers().Unregister(now_, worker);
      } else if (what == 7 && worker) {
        static_cast<void>(engine_->workers().Drain(now_, worker));
      } else if (what == 8 && worker) {
        WorkerChange change;
        change.tags = tags[rng.Below(tags.size())];
        static_cast<void>(engine_->workers().Change(now_, worker, change));
      } else if (!jobs.empty()) {
        static_cast<void>(engine_->jobs().Cancel(now_, jobs[rng.Below(jobs.size())]));
      }
      Grants();
      const bool settled = rng.Below(4) == 0;
      if (settled) Pass(2s);
      std::map<ReasonCode, std::pair<std::uint64_t, std::uint64_t>> want;
      for (const JobId id : jobs) {
        const auto view = engine_->looks().Describe(id);
        if (!view.ok() || Ended(view->state) || view->queued == 0) continue;
        const ReasonCode code = naive(*view);
        ASSERT_TRUE(view->wait_reason.has_value());
        ASSERT_EQ(ReasonText(view->wait_reason->code), ReasonText(code));
        want[code].first += view->queued;
        ++want[code].second;
      }
      if (!settled) continue;
      std::map<ReasonCode, std::pair<std::uint64_t, std::uint64_t>> got;
      for (const ReasonRow& row : engine_->looks().Reasons()) got[row.code] = {row.tasks, row.jobs};
      ASSERT_EQ(got, want);
    }
  }
}

}  // namespace
}  // namespace allot
