// SPDX-License-Identifier: Apache-2.0
// Promised tasks are lost, doubled or forgotten by nobody, whatever happens to workers, jobs and the mode; and slow
// workers do not hold up the others.
#include "simulation/dispatch.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <queue>

#include "base/check.h"
#include "simulation/seeds.h"

namespace allot::simulation {
namespace {

using namespace std::chrono_literals;

TEST(Dispatch, SharesAndWhatIsOpenAreWhatIsReadyAndNobodyWaitsInVain) {
  RunSeeds<Dispatch>({"DISPATCH", 800, 10}, {"grant of a promise",
                                             "grant to the first",
                                             "expired",
                                             "timeout",
                                             "gone",
                                             "removed",
                                             "waits",
                                             "asked again",
                                             "look at promises",
                                             "look at what is settled",
                                             "job changes",
                                             "cancel",
                                             "pause",
                                             "retry",
                                             "undelivered",
                                             "report",
                                             "resumed",
                                             "unregister",
                                             "drain",
                                             "disconnect",
                                             "worker changes",
                                             "queue paused",
                                             "policy",
                                             "fanout to balanced",
                                             "balanced to fanout",
                                             "another balance",
                                             "limit",
                                             "crash"});
}

// Ten workers, of which the last is ten times slower, and so many equal tasks. Gives how long all of it takes.
Duration TimeForAll(const DispatchOptions& dispatch, std::uint32_t tasks, std::uint32_t jobs) {
  constexpr int kWorkers = 10;
  EngineOptions options{SipKey{1, 2}};
  options.dispatch = dispatch;
  Engine engine(options);
  const Instant begin(5s);
  Now now{begin, FromMillis(1'800'000'000'000)};
  const auto move = [&](Instant to) {
    now.wall += std::chrono::duration_cast<milliseconds>(to - begin) -
                std::chrono::duration_cast<milliseconds>(now.mono - begin);
    now.mono = to;
  };
  std::uint64_t last_id = 1000;
  std::vector<WorkerId> workers;
  for (int i = 0; i < kWorkers; ++i) {
    WorkerSpec spec;
    spec.id = WorkerId{++last_id};
    spec.tags = {"a"};
    spec.connected = true;
    CHECK(engine.workers().Register(now, spec, std::nullopt).ok());
    workers.push_back(spec.id);
  }
  for (std::uint32_t i = 0; i < jobs; ++i) {
    JobSpec spec;
    spec.tags = {"a"};
    spec.count = tasks / jobs;
    spec.lease = milliseconds(600'000);
    CHECK(engine.jobs().Submit(now, JobId{++last_id}, spec).ok());
  }
  struct Running {
    Instant end;
    std::size_t worker;
    TaskRef task;
    bool operator>(const Running& other) const { return end > other.end; }
  };
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running;
  const auto collect = [&] {
    for (const GrantBatch& given : engine.Take().second.grant_batches) {
      const auto worker =
          static_cast<std::size_t>(std::find(workers.begin(), workers.end(), given.worker) - workers.begin());
      for (const Grant& grant : given.grants) {
        running.push({now.mono + (worker + 1 == kWorkers ? 1000ms : 100ms), worker, grant.task});
      }
    }
  };
  for (const WorkerId worker : workers) {
    CHECK(engine.workers().Pull(now, worker, PullOptions{1, false, {}, {}}).ok());
    collect();
  }
  std::uint32_t done = 0;
  while (done < tasks) {
    const auto wake = engine.NextWake(now);
    if (wake && (running.empty() || *wake < running.top().end)) {
      move(std::max(*wake, now.mono));
      engine.Tick(now);
      collect();
      continue;
    }
    CHECK(!running.empty());
    const Running next = running.top();
    running.pop();
    move(next.end);
    const std::vector<Report> reports = {{next.task, ReportKind::kDone}};
    CHECK((*engine.workers().ReportAll(now, workers[next.worker], reports))[0] == ReportVerdict::kTaken);
    ++done;
    CHECK(engine.workers().Pull(now, workers[next.worker], PullOptions{1, false, {}, {}}).ok());
    collect();
  }
  return now.mono - begin;
}

TEST(Dispatch, ASlowWorkerDoesNotHoldUpTheOthers) {
  constexpr std::uint32_t kTasks = 10'000;
  // Nine do ten in a second, and one does one.
  const double ideal = kTasks / 91.0;
  for (const std::uint32_t jobs : {1u, 100u, 10'000u}) {
    for (const DispatchOptions& dispatch : {DispatchOptions{DispatchMode::kFanout, Balance::kLeastQueue},
                                            DispatchOptions{DispatchMode::kBalanced, Balance::kLeastQueue},
                                            DispatchOptions{DispatchMode::kBalanced, Balance::kRoundRobin},
                                            DispatchOptions{DispatchMode::kBalanced, Balance::kRandom}}) {
      const double took = std::chrono::duration<double>(TimeForAll(dispatch, kTasks, jobs)).count();
      const std::string name =
          std::string(Text(dispatch.mode)) + "_" + std::string(Text(dispatch.balance)) + "_" + std::to_string(jobs);
      RecordProperty(name, std::to_string(took / ideal));
      EXPECT_LE(took, 1.05 * ideal) << name;
      EXPECT_GE(took, 0.99 * ideal) << name;
    }
  }
}

}  // namespace
}  // namespace allot::simulation
