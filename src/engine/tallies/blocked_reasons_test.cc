// SPDX-License-Identifier: Apache-2.0
// What limits and ceilings stop, counted in tasks, agrees with a look at every job and with what the engine then does.
#include "engine/tallies/blocked_reasons.h"

#include <algorithm>
#include <map>

#include "base/rng.h"
#include "engine/testing_limits.h"
#include "strategy/some_strategy.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineBlocked : public testing::LimitedEngineTest {
 protected:
  std::string Waits(JobId job) {
    const JobView view = View(job);
    return view.wait_reason ? std::string(ReasonText(view.wait_reason->code)) : "none";
  }
  // As `limit 3 tasks 2 jobs`, the most tasks first.
  std::vector<std::string> Rows() {
    std::vector<std::string> rows;
    for (const ReasonRow& row : engine_->looks().Reasons()) {
      rows.push_back(std::string(ReasonText(row.code)) + " " + std::to_string(row.tasks) + " tasks " +
                     std::to_string(row.jobs) + " jobs");
    }
    return rows;
  }
  ReasonRow Row(ReasonCode code) {
    for (const ReasonRow& row : engine_->looks().Reasons()) {
      if (row.code == code) return row;
    }
    return {};
  }
  void Change(const std::string& uuid, const LimitSpec& spec) {
    ASSERT_TRUE(engine_->limits().Update(now_, uuid, spec).ok());
  }
  // What rows say, as of a second ago at most, is what single jobs say.
  void ExpectRowsAgree(const std::vector<JobId>& jobs) {
    using Sums = std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;
    Sums want, got;
    for (const JobId id : jobs) {
      const auto view = engine_->looks().Describe(id);
      if (!view.ok() || !view->wait_reason || view->queued == 0 || view->state != JobState::kActive) continue;
      auto& [tasks, count] = want[std::string(ReasonText(view->wait_reason->code))];
      tasks += view->queued;
      ++count;
    }
    for (const ReasonRow& row : engine_->looks().Reasons()) {
      if (row.code == ReasonCode::kScheduled || row.code == ReasonCode::kJobPaused ||
          row.code == ReasonCode::kBackoff) {
        continue;
      }
      got[std::string(ReasonText(row.code))] = {row.tasks, row.jobs};
    }
    EXPECT_EQ(got, want);
  }
  using List = std::vector<std::string>;
};

TEST_F(EngineBlocked, ALimitStopsTasksAlsoWhereNobodyHasAskedYet) {
  RegisterBy("", {"a"}, 8);
  SetLimit("l", testing::SomeLimit("job.User == \"ann\"", 0));
  const JobId stopped = SubmitOf("ann", 3);
  const JobId other = SubmitOf("bob", 2);
  EXPECT_EQ(Waits(stopped), "limit_never");  // its count is 0
  EXPECT_EQ(Waits(other), "can_start");
  EXPECT_EQ(Rows(), (List{"limit_never 3 tasks 1 jobs", "can_start 2 tasks 1 jobs"}));
  Pass(2s);
  const ReasonRow row = Row(ReasonCode::kLimitNever);
  ASSERT_EQ(row.limits.size(), 1u);
  EXPECT_EQ(row.limits[0].limit.uuid, "l");
  EXPECT_EQ(row.limits[0].tasks, 3u);
  EXPECT_EQ(row.job, stopped);
  ASSERT_TRUE(engine_->limits().Delete(now_, "l").ok());
  EXPECT_EQ(Waits(stopped), "can_start");
  Pass(2s);
  EXPECT_EQ(Rows(), (List{"can_start 5 tasks 2 jobs"}));
}

TEST_F(EngineBlocked, ALimitThatCanPayAgainHoldsNothingBackAndHasATime) {
  job_lease_ = std::chrono::minutes(10);
  const WorkerId worker = RegisterBy("", {"a"}, 8);
  SetLimit("l", testing::SomeLimit("job.User == \"ann\"", 1));
  const JobId job = SubmitOf("ann", 3);
  EXPECT_EQ(Waits(job), "can_start");
  Pull(worker, 8);
  EXPECT_EQ(Waits(job), "limit");
  Pass(2s);
  EXPECT_EQ(Rows(), (List{"limit 2 tasks 1 jobs"}));
  const std::optional<WallTime> since = View(job).wait_reason->since;
  ASSERT_TRUE(since);
  EXPECT_LE(now_.wall - *since, 2s);
  EXPECT_EQ(Row(ReasonCode::kLimit).since, since);
  Pass(10s);
  EXPECT_EQ(View(job).wait_reason->since, since);
  Pass(120s);  // nobody asks, and the bucket is full
  EXPECT_EQ(Waits(job), "can_start");
  EXPECT_EQ(Rows(), (List{"can_start 2 tasks 1 jobs"}));
}

TEST_F(EngineBlocked, ALimitThatReadsTheWorkerStopsWhatItHoldsOnAllThatAreFree) {
  const WorkerId north = RegisterAt("north"), south = RegisterAt("south");
  SetLimit("l", testing::SomeLimit("MACHINE.Site == \"north\"", 0));
  const JobId job = SubmitOf("ann", 4);
  EXPECT_EQ(Waits(job), "can_start");
  ASSERT_EQ(Pull(south).size(), 1u);
  EXPECT_EQ(Waits(job), "limit");  // the one that may start it is busy
  EXPECT_TRUE(Pull(north).empty());
  Pass(2s);
  EXPECT_EQ(Rows(), (List{"limit 3 tasks 1 jobs"}));
  engine_->workers().Unregister(now_, south);
  Pass(2s);
  EXPECT_EQ(Waits(job), "limit_never");  // wherever it could run
}

TEST_F(EngineBlocked, ACeilingOfThePolicyIsCountedInTasksWithItsValues) {
  SetPolicy("max_simultaneous(user, 2, worker)");
  const WorkerId worker = RegisterBy("", {"a"}, 8);
  Pass(1s);
  const JobId anns = SubmitOf("ann", 5);
  const JobId bobs = SubmitOf("bob", 1);
  const std::vector<Grant> grants = Pull(worker, 3);
  ASSERT_EQ(grants.size(), 3u);
  SubmitOf("ann", 4);
  EXPECT_EQ(Waits(anns), "max_simultaneous");
  EXPECT_EQ(Waits(bobs), "none");
  Pass(2s);
  EXPECT_EQ(Rows(), (List{"max_simultaneous 7 tasks 2 jobs"}));
  const ReasonRow row = Row(ReasonCode::kMaxSimultaneous);
  ASSERT_EQ(row.ceilings.size(), 1u);
  EXPECT_EQ(row.ceilings[0].key, "user");
  EXPECT_EQ(row.ceilings[0].value, "sann");
  EXPECT_EQ(row.ceilings[0].running, 2u);
  EXPECT_EQ(row.ceilings[0].max, 2u);
  EXPECT_EQ(row.ceilings[0].tasks, 7u);
  Say(worker, grants[0].task, ReportKind::kDone);
  EXPECT_EQ(Waits(anns), "can_start");
  Pass(2s);
  EXPECT_EQ(Rows(), (List{"can_start 7 tasks 2 jobs"}));
  // A policy without one holds nobody back.
  Pull(worker);
  SetPolicy("worker");
  Pass(2s);
  EXPECT_EQ(Rows(), (List{"can_start 6 tasks 2 jobs"}));
}

TEST_F(EngineBlocked, ACeilingHoldsWhereEveryStrategyOfThoseThatCouldRunItHasOne) {
  const WorkerId strict = RegisterBy("max_simultaneous(user, 1, oldest)", {"a"}, 4);
  Pass(1s);
  const JobId job = SubmitOf("ann", 9);
  ASSERT_EQ(Pull(strict, 4).size(), 1u);
  EXPECT_EQ(Waits(job), "max_simultaneous");
  const WorkerId lax = RegisterBy("", {"a"}, 1);
  EXPECT_EQ(Waits(job), "can_start");
  ASSERT_EQ(Pull(lax).size(), 1u);
  EXPECT_EQ(Waits(job), "all_busy");  // whoever has a free slot does not give it out, and who does has none
  Pass(2s);
  EXPECT_EQ(Rows(), (List{"all_busy 7 tasks 1 jobs"}));
}

TEST_F(EngineBlocked, StrategiesThatAreForOthersSelectNothing) {
  RegisterBy("select_only(customer = \"acme\", oldest)", {"a"}, 4);
  Pass(1s);
  const JobId job = SubmitOf("ann", 3, {{"customer", std::string("other")}});
  const JobId acme = SubmitOf("ann", 2, {{"customer", std::string("acme")}});
  EXPECT_EQ(Waits(job), "not_selected");
  EXPECT_EQ(Waits(acme), "can_start");
  EXPECT_EQ(Rows(), (List{"not_selected 3 tasks 1 jobs", "can_start 2 tasks 1 jobs"}));
}

TEST_F(EngineBlocked, WhatIsNotForAnyWorkerSaysSoWhateverLimitsSay) {
  Register({"b"});
  SetLimit("l", testing::SomeLimit("true", 0));
  const JobId job = SubmitOf("ann", 3);
  EXPECT_EQ(Waits(job), "no_match");
  Pass(2s);
  EXPECT_EQ(Rows(), (List{"no_match 3 tasks 1 jobs"}));
}

TEST_F(EngineBlocked, ManyJobsAreCountedInStepsAndManyValuesToo) {
  for (int i = 0; i < 3000; ++i) {
    JobSpec spec = Spec(2);
    spec.user = "u" + std::to_string(i);
    Submit(spec);
  }
  const WorkerId worker = RegisterBy("", {"a"}, 200);
  SetPolicy("max_simultaneous(user, 1, worker)");
  Pass(5s);
  ASSERT_EQ(Pull(worker, 100).size(), 100u);
  Pass(5s);
  EXPECT_EQ(Rows(), (List{"can_start 5800 tasks 2900 jobs", "max_simultaneous 100 tasks 100 jobs"}));
  EXPECT_EQ(Row(ReasonCode::kMaxSimultaneous).ceilings.size(), 5u);
  // One second, one look: nobody pays for it when nothing happens.
  SetPolicy("worker");
  Pass(5s);
  EXPECT_EQ(Rows(), (List{"can_start 5900 tasks 3000 jobs"}));
}

// Random worlds: users, tags, ceilings, strategies, limits on jobs and on workers.
TEST_F(EngineBlocked, AgreeWithALookAtEveryJobAndWithWhatTheEngineThenStarts) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    records_.clear();
    journal_.clear();
    floor_ = 0;
    Load(0s);
    if (rng.Below(3) > 0) SetPolicy(testing::SomePolicy(rng, 2, false));
    std::vector<WorkerId> workers;
    std::vector<std::pair<WorkerId, TaskRef>> running;
    const auto pull = [&](WorkerId worker) {
      std::vector<JobId> got;
      for (const Grant& grant : Pull(worker)) {
        running.emplace_back(worker, grant.task);
        got.push_back(grant.task.job);
      }
      return got;
    };
    for (std::uint64_t n = 1 + rng.Below(4); n > 0; --n) {
      bool no_worker = false;
      WorkerSpec spec;
      spec.id = WorkerId{++last_id_};
      spec.tags = rng.Below(3) == 0 ? List{"a", "b"} : List{"a"};
      spec.connected = true;
      spec.slots = static_cast<std::uint32_t>(1 + rng.Below(4));
      spec.attributes = {{"Site", "s" + std::to_string(rng.Below(2))}};
      if (rng.Below(2) == 0) spec.strategy = Strategy(testing::SomeStrategy(rng, 2, no_worker, false));
      ASSERT_TRUE(engine_->workers().Register(now_, spec, std::nullopt).ok());
      workers.push_back(spec.id);
    }
    for (std::uint64_t n = rng.Below(3); n > 0; --n) {
      static const char* const kOf[] = {"MY.User == \"u1\"", "true", "MY.User != \"u2\"", "MACHINE.Site == \"s1\"",
                                        "MACHINE.Site == \"s0\" && MY.User == \"u0\""};
      SetLimit("l-" + std::to_string(n), testing::SomeLimit(kOf[rng.Below(5)], static_cast<double>(rng.Below(4))));
    }
    std::vector<JobId> jobs;
    for (int step = 0; step < 25; ++step) {
      const std::uint64_t what = rng.Below(8);
      if (what <= 3) {
        JobSpec spec = Spec(static_cast<std::uint32_t>(1 + rng.Below(3)), rng.Below(4) == 0 ? List{"b"} : List{"a"});
        spec.user = "u" + std::to_string(rng.Below(3));
        if (rng.Below(2) == 0) spec.priority = static_cast<std::int64_t>(rng.Below(3));
        if (rng.Below(2) == 0) spec.meta = {{"customer", "c" + std::to_string(rng.Below(3))}};
        jobs.push_back(Submit(spec));
      } else if (what <= 5) {
        pull(workers[rng.Below(workers.size())]);
      } else if (what == 6 && !running.empty()) {
        const auto [worker, task] = running[rng.Below(running.size())];
        Say(worker, task, rng.Below(2) == 0 ? ReportKind::kDone : ReportKind::kReleased);
      } else if (what == 7) {
        rng.Below(6) == 0 ? SetPolicy(testing::SomePolicy(rng, 2, false)) : Pass(300ms);
      }
      Grants();
    }
    Pass(2s);
    ExpectRowsAgree(jobs);
    if (::testing::Test::HasFailure() || jobs.empty()) return;

    // One job is left alone in the queue: does anybody start it?
    const JobId job = jobs[rng.Below(jobs.size())];
    for (const JobId other : jobs) {
      if (other != job) static_cast<void>(engine_->jobs().Pause(now_, other));
    }
    const JobView view = View(job);
    if (!view.wait_reason || view.queued == 0) continue;
    ++seen[std::string(ReasonText(view.wait_reason->code))];
    SCOPED_TRACE(ReasonText(view.wait_reason->code));
    bool started = false;
    for (const WorkerId worker : workers) {
      const WorkerView asks = *engine_->looks().DescribeWorker(worker);
      started = started || (asks.running < asks.slots && !pull(worker).empty());
    }
    ASSERT_EQ(started, view.wait_reason->code == ReasonCode::kCanStart);
  }
  for (const char* code : {"can_start", "all_busy", "max_simultaneous", "not_selected", "limit", "limit_never"}) {
    EXPECT_GT(seen[code], 3) << code;
  }
}

}  // namespace
}  // namespace allot
