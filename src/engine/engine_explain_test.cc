// SPDX-License-Identifier: Apache-2.0
// What explanations say agrees with what the engine does next.
#include <algorithm>
#include <set>

#include "engine/looks/explain.h"
#include "engine/looks/preview_walk.h"
#include "engine/testing_limits.h"
#include "strategy/some_strategy.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineExplain : public testing::LimitedEngineTest {
 protected:
  struct Explained {
    std::vector<Reason> reasons;
    JobSnapshot snapshot;
    bool Has(ReasonCode code) const {
      return std::any_of(reasons.begin(), reasons.end(), [&](const Reason& reason) { return reason.code == code; });
    }
    std::string Codes() const {
      std::string out;
      for (const Reason& reason : reasons) out += (out.empty() ? "" : " ") + std::string(ReasonText(reason.code));
      return out;
    }
    std::string Text() const {
      std::string out;
      for (const Reason& reason : reasons) {
        out += std::string(ReasonText(reason.code)) + ": " + reason.message + "\n";
      }
      return out;
    }
  };
  // As the server does.
  Explained ExplainJob(JobId job, std::optional<TaskIndex> task = std::nullopt) {
    Result<JobSnapshot> snapshot = engine_->prepared_looks().SnapshotOf(now_, job, task);
    EXPECT_TRUE(snapshot.ok());
    if (snapshot->order && snapshot->order->giving > 0) {
      PreviewRequest request;
      request.strategy = snapshot->order->strategy;
      request.worker = snapshot->order->like;
      request.count = 100;
      request.by_limits = true;
      request.focus = job;
      PreviewWalk walk(request);
      EXPECT_TRUE(*engine_->prepared_looks().Collect(now_, walk, 1'000'000));
      walk.Pick();
      engine_->looks().Resolve(walk);
      ApplyWalk(walk, job, *snapshot->order);
    }
    const Explanation explanation = Explain(snapshot->match);
    return {AllReasons(*snapshot, explanation.reasons, explanation.matching), std::move(*snapshot)};
  }
  // What the worker gets by its next pull.
  std::vector<JobId> Pulled(WorkerId worker, std::uint32_t credit = 1) {
    Grants();
    EXPECT_TRUE(engine_->workers().Pull(now_, worker, PullOptions{credit, true, 0s, {}}).ok());
    std::vector<JobId> jobs;
    for (const Grant& grant : Grants()) {
      jobs.push_back(grant.task.job);
      running_.emplace_back(worker, grant.task);
    }
    return jobs;
  }
  std::vector<std::pair<WorkerId, TaskRef>> running_;
};

TEST_F(EngineExplain, TheNextPullTakesWhatNothingHoldsBack) {
  const WorkerId worker = Register();
  const JobId first = SubmitOf("ann"), second = SubmitOf("bob");
  EXPECT_EQ(ExplainJob(first).Codes(), "can_start");
  const Explained behind = ExplainJob(second);
  EXPECT_EQ(behind.Codes(), "behind");
  EXPECT_EQ(behind.snapshot.order->place, 2u);
  EXPECT_EQ(behind.snapshot.order->first, first);
  EXPECT_EQ(behind.snapshot.order->first_user, "ann");
  EXPECT_EQ(Pulled(worker), std::vector<JobId>{first});
  EXPECT_EQ(ExplainJob(second).Codes(), "all_busy");
  EXPECT_EQ(ExplainJob(first).Codes(), "running");
}

TEST_F(EngineExplain, ACeilingSaysWhoseItIsAndHowMuchOfIt) {
  SetPolicy("max_simultaneous(user, 2, worker)");
  const WorkerId worker = RegisterBy("", {"a"}, 10);
  const JobId job = SubmitOf("ann", 5);
  EXPECT_EQ(Pulled(worker, 5).size(), 2u);
  const Explained explained = ExplainJob(job);
  ASSERT_EQ(explained.Codes(), "max_simultaneous");
  EXPECT_EQ(explained.reasons[0].message, "the policy lets 2 tasks of a user run at once, and \"ann\" has 2");
  ASSERT_EQ(explained.snapshot.order->ceilings.size(), 1u);
  EXPECT_EQ(explained.snapshot.order->ceilings[0].running, 2u);
  EXPECT_EQ(explained.snapshot.order->ceilings[0].max, 2u);
}

TEST_F(EngineExplain, AStrategyThatIsForOthersIsSaid) {
  RegisterBy("select_only(user = bob, oldest)");
  const Explained explained = ExplainJob(SubmitOf("ann"));
  ASSERT_EQ(explained.Codes(), "not_selected");
  EXPECT_EQ(explained.reasons[0].advice, Advice::kOperator);
  EXPECT_EQ(ExplainJob(SubmitOf("bob")).Codes(), "can_start");
}

TEST_F(EngineExplain, UnderFairSharingItSaysWhoHasLess) {
  SetPolicy("fair(user, worker)");
  const WorkerId worker = RegisterBy("", {"a"}, 10);
  const JobId ann = SubmitOf("ann", 5);
  EXPECT_EQ(Pulled(worker, 2), (std::vector<JobId>{ann, ann}));
  SubmitOf("bob", 5);
  const Explained explained = ExplainJob(ann);
  ASSERT_EQ(explained.Codes(), "behind");
  EXPECT_NE(explained.reasons[0].message.find("\"bob\" has 0 running tasks"), std::string::npos) << explained.Text();
  EXPECT_NE(explained.reasons[0].message.find("\"ann\" has 2 running tasks"), std::string::npos) << explained.Text();
}

TEST_F(EngineExplain, ATaskHasReasonsOfItsOwn) {
  const WorkerId worker = Register();
  const JobId job = SubmitOf("ann", 3);
  EXPECT_EQ(Pulled(worker).size(), 1u);
  EXPECT_EQ(ExplainJob(job, 0).Codes(), "running");
  EXPECT_EQ(ExplainJob(job, 1).Codes(), "all_busy");
  const Report report{running_[0].second, ReportKind::kFailed};
  ASSERT_TRUE(engine_->workers().ReportAll(now_, worker, {&report, 1}).ok());
  EXPECT_EQ(ExplainJob(job, 0).Codes(), "backoff");
  EXPECT_EQ(engine_->prepared_looks().SnapshotOf(now_, job, 3).error().code, Code::kUnknownTask);
}

TEST_F(EngineExplain, LiftingTheOneLimitThatIsNamedStartsIt) {
  const WorkerId worker = Register();
  SetLimit("l-1", testing::SomeLimit("MY.User == \"ann\"", 0));
  const JobId job = SubmitOf("ann");
  EXPECT_EQ(Pulled(worker), std::vector<JobId>{});
  ASSERT_EQ(ExplainJob(job).Codes(), "limit_never");
  ASSERT_TRUE(engine_->limits().Delete(now_, "l-1").ok());
  Pass(1ms);
  EXPECT_EQ(ExplainJob(job).Codes(), "can_start");
  EXPECT_EQ(Pulled(worker), std::vector<JobId>{job});
}

TEST_F(EngineExplain, OneWorkerHasReasonsOfItsStrategyToo) {
  SetPolicy("max_simultaneous(user, 1, worker)");
  const WorkerId any = RegisterBy("", {"a"}, 10), picky = RegisterBy("select_only(user = bob, oldest)");
  const JobId job = SubmitOf("ann", 3);
  const auto codes = [&](WorkerId worker) {
    const Result<JobSnapshot> snapshot = engine_->prepared_looks().SnapshotOf(now_, job, std::nullopt, worker);
    const PairExplanation pair = *ExplainPair(snapshot->match, worker);
    return Explained{AllReasons(*snapshot, pair.reasons, 1), {}}.Codes();
  };
  EXPECT_EQ(codes(any), "can_start");
  EXPECT_EQ(codes(picky), "not_selected");
  EXPECT_EQ(Pulled(any).size(), 1u);
  EXPECT_EQ(codes(any), "max_simultaneous");
  EXPECT_EQ(codes(picky), "not_selected max_simultaneous");
}

TEST_F(EngineExplain, WhileANewPolicyIsBuiltTheOneBeforeIsSaid) {
  Register();
  JobId last;
  for (int i = 0; i < 5000; ++i) last = SubmitOf("ann");
  const ParsedStrategy policy = ParseStrategy("max_simultaneous(user, 1, fair(customer, worker))", true);
  engine_->queue().SetPolicy(now_, policy.strategy, {});
  EXPECT_EQ(ExplainJob(last).Codes(), "behind");
  EXPECT_EQ(PrintStrategy(*ExplainJob(last).snapshot.order->policy), "worker");
  Pass(10s);
  EXPECT_NE(PrintStrategy(*ExplainJob(last).snapshot.order->policy), "worker");
}

TEST_F(EngineExplain, ChanceIsSaidOnlyOfThoseItIsLeftTo) {
  SetPolicy("fair(user, worker)");
  const WorkerId worker = RegisterBy("random", {"a"}, 10);
  const JobId ann = SubmitOf("ann", 5);
  EXPECT_EQ(Pulled(worker).size(), 1u);
  const JobId bob = SubmitOf("bob", 5), other = SubmitOf("bob", 5);
  EXPECT_EQ(ExplainJob(ann).Codes(), "behind");
  EXPECT_EQ(ExplainJob(bob).Codes(), "can_start");
  EXPECT_EQ(ExplainJob(other).Codes(), "can_start");
  EXPECT_NE(ExplainJob(other).reasons[0].message.find("chance"), std::string::npos);
}

TEST_F(EngineExplain, LookingIsNotAsking) {
  // Grants are the same whether somebody looks all the time or not.
  std::vector<std::uint64_t> granted[2];
  for (const bool looks : {false, true}) {
    records_.clear();
    journal_.clear();
    Load(0s);
    last_id_ = 0;
    SetPolicy("fair(user, worker)");
    const WorkerId worker = RegisterBy("random", {"a"}, 50), other = RegisterBy("oldest", {"a"}, 50);
    SetLimit("l-1", testing::SomeLimit("MY.User == \"ann\"", 3));
    std::vector<JobId> jobs;
    for (int i = 0; i < 20; ++i) jobs.push_back(SubmitOf(i % 2 == 0 ? "ann" : "bob", 2));
    for (int i = 0; i < 20; ++i) {
      for (const JobId job : jobs) {
        if (looks) ExplainJob(job);
      }
      for (const JobId job : Pulled(i % 3 == 0 ? other : worker)) granted[looks].push_back(job.value);
      Pass(100ms);
    }
    granted[looks].push_back(engine_->looks().Limits(now_, {}).at(0).skipped);
  }
  EXPECT_EQ(granted[0], granted[1]);
  EXPECT_GT(granted[0].size(), 15u);
}

// Random worlds: users, tags, ceilings, strategies, limits, pauses, schedules. Whatever is said of a job is tried out.
TEST_F(EngineExplain, AgreesWithWhatTheEngineDoesNext) {
  std::map<std::string, int> seen;
  int lifted = 0, taken = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    records_.clear();
    journal_.clear();
    running_.clear();
    Load(0s);
    SetPolicy(rng.Below(2) == 0 ? "worker" : testing::SomePolicy(rng, 2, false));
    std::vector<WorkerId> workers;
    for (std::uint64_t n = 1 + rng.Below(3); n > 0; --n) {
      bool no_worker = false;
      const std::string strategy = rng.Below(2) == 0 ? "" : testing::SomeStrategy(rng, 2, no_worker, false);
      workers.push_back(
          RegisterBy(strategy, rng.Below(3) == 0 ? std::vector<std::string>{"a", "b"} : std::vector<std::string>{"a"},
                     static_cast<std::uint32_t>(1 + rng.Below(4))));
    }
    std::vector<std::string> limits;
    for (std::uint64_t n = rng.Below(3); n > 0; --n) {
      limits.push_back("l-" + std::to_string(n));
      static const char* const kOf[] = {"MY.User == \"u1\"", "true", "MY.User != \"u2\""};
      SetLimit(limits.back(), testing::SomeLimit(kOf[rng.Below(3)], static_cast<double>(rng.Below(3))));
    }
    std::vector<JobId> jobs;
    for (std::uint64_t n = 1 + rng.Below(8); n > 0; --n) {
      JobSpec spec = Spec(static_cast<std::uint32_t>(1 + rng.Below(3)),
                          rng.Below(4) == 0 ? std::vector<std::string>{"b"} : std::vector<std::string>{"a"});
      spec.user = "u" + std::to_string(rng.Below(3));
      if (rng.Below(2) == 0) spec.priority = static_cast<std::int64_t>(rng.Below(3));
      if (rng.Below(2) == 0) spec.meta = {{"customer", "c" + std::to_string(rng.Below(3))}};
      if (rng.Below(6) == 0) spec.delay = 10s;
      jobs.push_back(Submit(spec));
      if (rng.Below(8) == 0) {
        EXPECT_TRUE(engine_->jobs().Pause(now_, jobs.back()).ok());
      }
    }
    for (std::uint64_t n = rng.Below(4); n > 0; --n) Pulled(workers[rng.Below(workers.size())]);
    Pass(1s);
    if (rng.Below(8) == 0) engine_->queue().Pause(now_);

    const JobId job = jobs[rng.Below(jobs.size())];
    const Explained explained = ExplainJob(job);
    for (const Reason& reason : explained.reasons) ++seen[std::string(ReasonText(reason.code))];
    SCOPED_TRACE(explained.Text());
    ASSERT_FALSE(explained.reasons.empty());
    // One pull alone: the next would find what that one changed.
    const auto is_free = [&](WorkerId worker) {
      const WorkerView view = *engine_->looks().DescribeWorker(worker);
      return view.running < view.slots;
    };
    const bool only_limits = std::all_of(explained.reasons.begin(), explained.reasons.end(), [](const Reason& reason) {
      return reason.code == ReasonCode::kLimit || reason.code == ReasonCode::kLimitNever ||
             reason.code == ReasonCode::kLimitOvertaken;
    });
    if (explained.Codes() == "can_start") {
      ++taken;
      const OrderSnapshot& order = *explained.snapshot.order;
      const WorkerId worker = order.first_for.value == 0 ? order.like : order.first_for;
      ASSERT_TRUE(is_free(worker));
      EXPECT_EQ(Pulled(worker), std::vector<JobId>{job});
    } else if (only_limits) {
      // At most three are named among the reasons; here there are no more.
      for (const LimitOnJob& on_job : explained.snapshot.limits.all) {
        if (on_job.limit.blocks) {
          ASSERT_TRUE(engine_->limits().Delete(now_, on_job.limit.limit.uuid).ok());
        }
      }
      Pass(1ms);
      const WorkerId like = explained.snapshot.order->like;
      if (is_free(like)) {
        ++lifted;
        EXPECT_EQ(Pulled(like), std::vector<JobId>{job});
      }
    } else {
      // Where not every worker could be asked, it is said of those like one.
      const bool all = !explained.snapshot.order || explained.snapshot.order->asked_all;
      const WorkerId worker = all ? workers[rng.Below(workers.size())] : explained.snapshot.order->like;
      if (is_free(worker)) {
        EXPECT_NE(Pulled(worker), std::vector<JobId>{job});
      }
    }
  }
  EXPECT_GT(taken, 20);
  EXPECT_GT(lifted, 10);
  for (const char* code : {"can_start", "behind", "all_busy", "max_simultaneous", "not_selected", "job_paused",
                           "queue_paused", "scheduled", "running", "limit_never", "tag_never_seen"}) {
    EXPECT_GT(seen[code], 0) << code;
  }
}

}  // namespace
}  // namespace allot
