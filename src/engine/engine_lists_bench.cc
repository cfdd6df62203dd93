// SPDX-License-Identifier: Apache-2.0
// What lists, users, reasons and statistics cost the engine where there are many jobs, users and classes.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "base/check.h"
#include "engine/engine.h"
#include "engine/job_sweep.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

const Now kListsNow{Instant(1s), FromMillis(1'800'000'000'000)};
constexpr std::uint64_t kJobs = 1'000'000;

// A million waiting jobs of as many users. One of them is the only one that is paused, and the only one with its tag.
Engine& Queue() {
  static const std::unique_ptr<Engine> engine = [] {
    auto made = std::make_unique<Engine>(EngineOptions{SipKey{1, 2}});
    made->records().FinishLoad(kListsNow, 0s);
    for (std::uint64_t i = 1; i <= kJobs; ++i) {
      JobSpec spec;
      spec.tags = {i == 1000 ? "rare" : "t" + std::to_string(i % 50)};
      spec.user = "user" + std::to_string(i);
      CHECK(made->jobs().Submit(kListsNow, JobId{i}, spec).ok());
      static_cast<void>(made->Take());
      if (i % 1000 == 0) {
        while (made->looks().UnfoldedEvents() > 0) made->records().Fold(1 << 20);
      }
    }
    CHECK(made->jobs().Pause(kListsNow, JobId{1000}).ok());
    return made;
  }();
  return *engine;
}

// Until all pages were seen.
void ListAll(benchmark::State& state, const JobQuery& first) {
  const Engine& engine = Queue();
  std::size_t pages = 0, found = 0;
  for (auto _ : state) {
    JobQuery query = first;
    pages = found = 0;
    do {
      const JobPage page = engine.looks().List(query);
      ++pages;
      found += page.jobs.size();
      query.before = page.next;
    } while (query.before);
  }
  state.counters["pages"] = static_cast<double>(pages);
  state.counters["found"] = static_cast<double>(found);
}
void BM_ListByRareUser(benchmark::State& state) { ListAll(state, JobQuery{{}, 100, {}, "", "user1000"}); }
BENCHMARK(BM_ListByRareUser)->Unit(benchmark::kMicrosecond);
void BM_ListByRareTag(benchmark::State& state) { ListAll(state, JobQuery{{}, 100, {}, "rare", ""}); }
BENCHMARK(BM_ListByRareTag)->Unit(benchmark::kMicrosecond);
void BM_ListByRareState(benchmark::State& state) { ListAll(state, JobQuery{{}, 100, JobState::kPaused, "", ""}); }
BENCHMARK(BM_ListByRareState)->Unit(benchmark::kMicrosecond);
void BM_ListByNobody(benchmark::State& state) { ListAll(state, JobQuery{{}, 100, {}, "", "nobody"}); }
BENCHMARK(BM_ListByNobody)->Unit(benchmark::kMicrosecond);

void BM_SweepCountsAMillionJobs(benchmark::State& state) {
  for (auto _ : state) {
    JobSweep sweep(SweepRequest{SweepAction::kCount, {}, "t7", "", {}});
    while (!Queue().jobs().Sweep(kListsNow, sweep, 1000)) {
    }
    CHECK(sweep.matching() >= kJobs / 50 - 1);
  }
}
BENCHMARK(BM_SweepCountsAMillionJobs)->Unit(benchmark::kMillisecond);

void BM_UsersOfAMillion(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Queue().looks().Users(UserQuery{"user5", 100, {}}));
}
BENCHMARK(BM_UsersOfAMillion)->Unit(benchmark::kMicrosecond);

void BM_StatsAndReasons(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(Queue().looks().Stats());
    benchmark::DoNotOptimize(Queue().looks().Reasons());
  }
}
BENCHMARK(BM_StatsAndReasons)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace allot
