// SPDX-License-Identifier: Apache-2.0
// What the engine's commands cost: a task's whole life, and a start from records.
#include "engine/engine.h"

#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

const Now kNow{Instant(1s), FromMillis(1'800'000'000'000)};

void Fold(Engine& engine) {
  static_cast<void>(engine.Take());
  while (engine.looks().UnfoldedEvents() > 0) engine.records().Fold(1 << 20);
}

std::unique_ptr<Engine> WithJobs(std::uint64_t jobs, const JobSpec& spec) {
  auto engine = std::make_unique<Engine>(EngineOptions{SipKey{1, 2}});
  engine->records().FinishLoad(kNow, 0s);
  for (std::uint64_t i = 1; i <= jobs; ++i) {
    CHECK(engine->jobs().Submit(kNow, JobId{i}, spec).ok());
    if (i % 1000 == 0) Fold(*engine);
  }
  Fold(*engine);
  WorkerSpec worker;
  worker.id = WorkerId{1ull << 40};
  worker.tags = {"a"};
  worker.connected = true;
  CHECK(engine->workers().Register(kNow, worker, std::nullopt).ok());
  return engine;
}

// Pull, then report done, `credit` tasks at a time, effects taken; folding is left out.
void PullAndReport(benchmark::State& state, std::uint64_t jobs, std::uint32_t count) {
  const auto credit = static_cast<std::uint32_t>(state.range(0));
  JobSpec spec;
  spec.tags = {"a"};
  spec.count = count;
  const WorkerId worker{1ull << 40};
  auto engine = WithJobs(jobs, spec);
  std::uint64_t done = 0;
  std::vector<Report> reports;
  for (auto _ : state) {
    if (done + credit > jobs * count) {
      state.PauseTiming();
      engine = WithJobs(jobs, spec);
      done = 0;
      state.ResumeTiming();
    }
    CHECK(engine->workers().Pull(kNow, worker, PullOptions{credit, false, 0s}).ok());
    const auto [position, effects] = engine->Take();
    reports.clear();
    for (const Grant& grant : effects.grant_batches[0].grants) reports.push_back({grant.task, ReportKind::kDone});
    CHECK(reports.size() == credit);
    benchmark::DoNotOptimize(engine->workers().ReportAll(kNow, worker, reports));
    done += credit;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(credit));
}

void BM_OneJobOfAMillionTasks(benchmark::State& state) { PullAndReport(state, 1, 1'000'000); }
BENCHMARK(BM_OneJobOfAMillionTasks)->Arg(1)->Arg(32);
void BM_OneJobOfABillionTasks(benchmark::State& state) { PullAndReport(state, 1, 1'000'000'000); }
BENCHMARK(BM_OneJobOfABillionTasks)->Arg(1)->Arg(32);
void BM_AMillionJobsOfOneTask(benchmark::State& state) { PullAndReport(state, 1'000'000, 1); }
BENCHMARK(BM_AMillionJobsOfOneTask)->Arg(1)->Arg(32)->Iterations(30'000);

// Pulls of 32 by a strategy below a policy: a thousand jobs of 50 users and 20 customers, and what was taken is
// released again, so that the backlog stays as it is. Half of the time is for the releases.
void BM_PullsBy(benchmark::State& state, const char* strategy, const char* policy) {
  constexpr std::uint32_t kCredit = 32;
  EngineOptions options{SipKey{1, 2}};
  options.policy = ParseStrategy(policy, true).strategy;
  CHECK(options.policy != nullptr);
  Engine engine(options);
  engine.records().FinishLoad(kNow, 0s);
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    JobSpec spec;
    spec.tags = {"a"};
    spec.count = 1000;
    spec.user = "user-" + std::to_string(i % 50);
    spec.meta.emplace_back("customer", "customer-" + std::to_string(i % 20));
    spec.meta.emplace_back("mode", i % 3 == 0 ? "preview" : "normal");
    CHECK(engine.jobs().Submit(kNow, JobId{i}, spec).ok());
  }
  WorkerSpec worker;
  worker.id = WorkerId{1ull << 40};
  worker.name = "host-1.example.org";
  worker.tags = {"a"};
  worker.connected = true;
  worker.slots = kCredit;
  worker.strategy = ParseStrategy(strategy).strategy;
  CHECK(worker.strategy != nullptr && engine.workers().Register(kNow, worker, std::nullopt).ok());
  for (int i = 0; i < 100; ++i) engine.Tick(kNow);  // the order is built
  Fold(engine);
  std::vector<Report> reports;
  std::size_t cycles = 0;
  for (auto _ : state) {
    CHECK(engine.workers().Pull(kNow, worker.id, PullOptions{kCredit, false, 0s}).ok());
    const auto [position, effects] = engine.Take();
    reports.clear();
    for (const Grant& grant : effects.grant_batches[0].grants) reports.push_back({grant.task, ReportKind::kReleased});
    CHECK(reports.size() == kCredit);
    benchmark::DoNotOptimize(engine.workers().ReportAll(kNow, worker.id, reports));
    if (++cycles % 100 == 0) {
      state.PauseTiming();
      Fold(engine);
      state.ResumeTiming();
    }
  }
  state.SetItemsProcessed(state.iterations() * kCredit);
}
BENCHMARK_CAPTURE(BM_PullsBy, priority, "priority", "worker");
BENCHMARK_CAPTURE(BM_PullsBy, fair, "priority", "fair(user, worker)");
BENCHMARK_CAPTURE(BM_PullsBy, random, "random", "fair(user, worker)");
BENCHMARK_CAPTURE(BM_PullsBy, nested,
                  "max_simultaneous(customer, 10, prefer_distinct(customer, 2, or_else(select_only(mode = preview, "
                  "oldest), least_recent)))",
                  "fair(user, worker)");

void BM_SubmitOneTaskJob(benchmark::State& state) {
  JobSpec spec;
  spec.tags = {"a"};
  Engine engine{EngineOptions{SipKey{1, 2}}};
  engine.records().FinishLoad(kNow, 0s);
  std::uint64_t id = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(engine.jobs().Submit(kNow, JobId{++id}, spec));
    if (id % 64 == 0) static_cast<void>(engine.Take());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SubmitOneTaskJob);

// A start from the records of a million one-task jobs, with so many meta pairs each.
void BM_LoadAMillionJobs(benchmark::State& state) {
  JobSpec spec;
  spec.tags = {"a"};
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    spec.meta.emplace_back("key_" + std::to_string(i), "value of pair " + std::to_string(i));
  }
  std::vector<Record> records;
  {
    Engine engine{EngineOptions{SipKey{1, 2}}};
    engine.records().FinishLoad(kNow, 0s);
    for (std::uint64_t i = 1; i <= 1'000'000; ++i) {
      CHECK(engine.jobs().Submit(kNow, JobId{i}, spec).ok());
      static_cast<void>(engine.Take());
      FoldStep step = engine.records().Fold(1);
      for (Record& record : step.records) records.push_back(std::move(record));
    }
  }
  for (auto _ : state) {
    auto engine = std::make_unique<Engine>(EngineOptions{SipKey{1, 2}});
    for (const Record& record : records) CHECK(engine->records().Load(record.job, record.page, record.blob).ok());
    engine->records().FinishLoad(kNow, 30s);
    state.PauseTiming();
    engine.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * 1'000'000);
}
BENCHMARK(BM_LoadAMillionJobs)->Arg(0)->Arg(8)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
}  // namespace allot
