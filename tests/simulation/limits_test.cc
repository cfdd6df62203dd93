// SPDX-License-Identifier: Apache-2.0
// No start is paid for by less than it costs, and nothing waits that may start, whatever happens to limits.
#include "simulation/limits.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/check.h"
#include "simulation/seeds.h"

namespace allot::simulation {
namespace {

using namespace std::chrono_literals;

TEST(Limits, EveryStartIsPaidForAndNothingWaitsThatMayStart) {
  RunSeeds<Limits>({"LIMITS", 3'000, 10}, {"start",
                                           "start that draws",
                                           "start past a monitor",
                                           "held",
                                           "waits",
                                           "asked again",
                                           "pull for all there is",
                                           "look at who waits",
                                           "limit",
                                           "update",
                                           "same terms again",
                                           "renewal",
                                           "delete",
                                           "expired",
                                           "summary",
                                           "cost that fails",
                                           "undelivered",
                                           "pull and vanish",
                                           "report",
                                           "resumed",
                                           "unregister",
                                           "disconnect",
                                           "drain",
                                           "worker changes",
                                           "change",
                                           "cancel",
                                           "pause",
                                           "retry",
                                           "policy",
                                           "queue paused",
                                           "failed command",
                                           "gone",
                                           "removed",
                                           "crash"});
}

// Where tasks start: in what order, and on whom.
class Queue {
 public:
  explicit Queue(bool with_limit, bool with_slow_jobs = true) {
    const auto submit = [this](const std::string& user, std::uint32_t count) {
      JobSpec spec;
      spec.tags = {"a"};
      spec.user = user;
      spec.count = count;
      CHECK(engine_.jobs().Submit(now_, JobId{++last_id_}, spec).ok());
    };
    // Their ids are taken in any case, so that those of the others are the same.
    for (int i = 0; i < 500; ++i) {
      if (with_slow_jobs) {
        submit("slow", 2);
      } else {
        ++last_id_;
      }
    }
    for (std::uint32_t i = 0; i < 200; ++i) submit("u" + std::to_string(i % 7), 1 + i % 3);
    slow_end_ = JobId{1500};
    for (int i = 0; i < 5; ++i) {
      WorkerSpec spec;
      spec.id = WorkerId{++last_id_};
      spec.tags = {"a"};
      spec.connected = true;
      spec.strategy = ParseStrategy("oldest", false).strategy;
      CHECK(engine_.workers().Register(now_, spec, std::nullopt).ok());
      workers_.push_back(spec.id);
    }
    if (!with_limit) return;
    LimitSpec limit;
    limit.tag = "test";
    limit.expr = *ParseLimitExpr("expr", "User == \"slow\"");
    limit.count = 0;
    limit.window = 60s;
    limit.expires_in = 300s;
    CHECK(engine_.limits().Create(now_, "l1", limit).ok());
  }

  // Workers ask in turn, for more or less, and finish what they get, until all of the others' tasks have started.
  // REQUIRES: that happens at some time.
  void Run() {
    Rng rng(7);
    while (started_.size() < 399) {
      const WorkerId worker = workers_[rng.Below(workers_.size())];
      CHECK(engine_.workers()
                .Pull(now_, worker, PullOptions{static_cast<std::uint32_t>(1 + rng.Below(8)), true, {}, {}})
                .ok());
      ++pulls_;
      while (engine_.NextWake(now_) == now_.mono) engine_.Tick(now_);
      std::vector<Report> reports;
      for (const GrantBatch& given : engine_.Take().second.grant_batches) {
        for (const Grant& grant : given.grants) {
          reports.push_back({grant.task, ReportKind::kDone});
          if (grant.task.job <= slow_end_) continue;
          started_.emplace_back(grant.task.job, grant.task.index);
          on_.push_back(given.worker);
        }
      }
      CHECK(!reports.empty());
      CHECK(engine_.workers().ReportAll(now_, worker, reports).ok());
      now_.mono += 10ms;
      now_.wall += 10ms;
    }
  }
  const std::vector<std::pair<JobId, TaskIndex>>& started() const { return started_; }  // not the slow ones
  const std::vector<WorkerId>& on() const { return on_; }
  int pulls() const { return pulls_; }

 private:
  Now now_{Instant(1s), FromMillis(1'800'000'000'000)};
  Engine engine_{EngineOptions{SipKey{1, 2}}};
  std::uint64_t last_id_ = 1000;
  JobId slow_end_;
  std::vector<WorkerId> workers_;
  std::vector<std::pair<JobId, TaskIndex>> started_;
  std::vector<WorkerId> on_;
  int pulls_ = 0;
};

TEST(Limits, ALimitOnOneUsersJobsLeavesTheOthersStartsUntouched) {
  Queue free(false), limited(true), without(false, false);
  free.Run();
  limited.Run();
  without.Run();
  EXPECT_EQ(limited.started(), free.started());
  EXPECT_LT(limited.pulls(), free.pulls()) << "the slow ones come first, and take their time";
  // It is as if the held jobs were not there, though all of them are first in order.
  EXPECT_EQ(limited.started(), without.started());
  EXPECT_EQ(limited.on(), without.on());
  EXPECT_EQ(limited.pulls(), without.pulls());
}

}  // namespace
}  // namespace allot::simulation
