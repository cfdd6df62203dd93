// SPDX-License-Identifier: Apache-2.0
// What the states of a job's tasks cost, in time and in bytes.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "backlog/job_tasks.h"
#include "base/rng.h"

namespace allot {
namespace {

std::vector<TaskIndex> RandomOrder(std::uint32_t count) {
  Rng rng(1);
  std::vector<TaskIndex> order(count);
  for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
  for (std::uint32_t i = count; i > 1; --i) std::swap(order[i - 1], order[rng.Below(i)]);
  return order;
}

void CountTasks(benchmark::State& state, std::uint32_t count) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
}

void BM_ClaimAndFinishInOrder(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  for (auto _ : state) {
    JobTasks job(count);
    while (const auto next = job.FirstQueued()) {
      job.Claim(*next);
      job.FinishOut(*next);
    }
    benchmark::DoNotOptimize(job.done());
  }
  CountTasks(state, count);
}
BENCHMARK(BM_ClaimAndFinishInOrder)->Arg(1)->Arg(64)->Arg(10'000)->Arg(10'000'000)->Unit(benchmark::kMicrosecond);

// Half of the tasks stay out, as bytes_a_task says what a job costs that is touched everywhere.
void BM_ClaimAndFinishRandom(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  const std::vector<TaskIndex> order = RandomOrder(count);
  std::size_t bytes = 0;
  for (auto _ : state) {
    JobTasks job(count);
    for (const TaskIndex index : order) {
      job.Claim(index);
      if (index % 2 == 0) job.FinishOut(index);
    }
    bytes = job.MemoryBytes() + sizeof(job);
  }
  CountTasks(state, count);
  state.counters["bytes_a_task"] = static_cast<double>(bytes) / count;
}
BENCHMARK(BM_ClaimAndFinishRandom)->Arg(10'000)->Arg(10'000'000)->Unit(benchmark::kMicrosecond);

// FirstQueued from random places in a job of which one task in ten thousand is queued.
void BM_FirstQueuedInASparseJob(benchmark::State& state) {
  constexpr std::uint32_t kCount = 10'000'000;
  JobTasks job(kCount);
  for (TaskIndex i = 0; i < kCount; ++i) {
    if (i % 10'000 != 0) job.Claim(i);
  }
  Rng rng(2);
  for (auto _ : state) benchmark::DoNotOptimize(job.FirstQueued(static_cast<TaskIndex>(rng.Below(kCount))));
}
BENCHMARK(BM_FirstQueuedInASparseJob);

// Arguments: due times; whether tasks fail in random order; whether due times come at random or one after the other.
void BM_FailOnceAndWait(benchmark::State& state) {
  constexpr std::uint32_t kCount = 10'000'000;
  const auto due_times = static_cast<std::uint64_t>(state.range(0));
  const std::vector<TaskIndex> order = state.range(1) != 0 ? RandomOrder(kCount) : std::vector<TaskIndex>();
  std::size_t bytes = 0;
  for (auto _ : state) {
    Rng rng(3);
    JobTasks job(kCount);
    for (std::uint32_t i = 0; i < kCount; ++i) {
      const std::uint64_t due = state.range(2) != 0 ? rng.Below(due_times) : i * due_times / kCount;
      const TaskIndex index = order.empty() ? i : order[i];
      job.Claim(index);
      job.Wait(index, 1, FromMillis(static_cast<std::int64_t>(due)));
    }
    bytes = job.MemoryBytes();
  }
  CountTasks(state, kCount);
  state.counters["bytes_a_task"] = static_cast<double>(bytes) / kCount;
}
BENCHMARK(BM_FailOnceAndWait)
    ->ArgNames({"due_times", "random_order", "random_due"})
    ->ArgsProduct({{16, 64, 128, 256}, {0, 1}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

// All of a job that waits comes due: what a page costs.
void BM_ReleaseDue(benchmark::State& state) {
  constexpr std::uint32_t kCount = 1'000'000;
  const auto due_times = static_cast<std::uint64_t>(state.range(0));
  std::int64_t pages = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Rng rng(4);
    JobTasks job(kCount);
    for (TaskIndex i = 0; i < kCount; ++i) {
      job.Claim(i);
      job.Wait(i, 1, FromMillis(static_cast<std::int64_t>(rng.Below(due_times))));
    }
    state.ResumeTiming();
    job.ReleaseDue(FromMillis(static_cast<std::int64_t>(due_times)), SIZE_MAX, [&](std::uint32_t) { ++pages; });
  }
  CountTasks(state, kCount);
  state.counters["pages"] = benchmark::Counter(static_cast<double>(pages), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_ReleaseDue)->Arg(1)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond);

void BM_SaveAndLoadPage(benchmark::State& state) {
  Rng rng(5);
  JobTasks job(kPageTasks);
  for (TaskIndex i = 0; i < kPageTasks; ++i) {
    if (rng.Below(100) < static_cast<std::uint64_t>(state.range(0))) job.Finish(i);
  }
  std::string bytes;
  for (auto _ : state) {
    bytes.clear();
    ByteWriter out(bytes);
    job.SavePage(0, out);
    JobTasks loaded(kPageTasks);
    ByteReader in(bytes);
    benchmark::DoNotOptimize(loaded.LoadPage(0, in));
  }
  state.counters["bytes"] = static_cast<double>(bytes.size());
}
BENCHMARK(BM_SaveAndLoadPage)->ArgName("percent_done")->Arg(1)->Arg(10)->Arg(50)->Arg(100);

// Pictures, by what was done to the job before. Of the whole range, and of the widest one in which bits are counted.
enum Before : std::int64_t { kNothing, kEveryPage, kMillionsFailed, kMillionsRetrying };

JobTasks PicturedJob(std::uint32_t count, Before before) {
  JobTasks job(count);
  Rng rng(6);
  const auto spread = [&](auto change) {
    for (std::uint32_t i = 0; i < 3'000'000; ++i) {
      const auto index = static_cast<TaskIndex>(rng.Below(count));
      if (job.State(index) != TaskState::kQueued) continue;
      job.Claim(index);
      change(index);
    }
  };
  switch (before) {
    case kNothing:
      break;
    case kEveryPage:
      for (std::uint32_t page = 0; page < job.pages(); ++page) {
        const std::uint32_t step = page < 100 ? 2 : 1024;
        for (std::uint32_t i = 0; i < kPageTasks && page * kPageTasks + i < count; i += step) {
          job.Finish(page * kPageTasks + i);
        }
      }
      break;
    case kMillionsFailed:
      spread([&](TaskIndex index) { job.Fail(index); });
      break;
    case kMillionsRetrying: {
      constexpr std::uint64_t kDueTimes = 30;
      for (std::uint32_t i = 0; i < 3'000'000; ++i) {
        const auto index = static_cast<TaskIndex>(rng.Below(count));
        if (!job.FirstQueued(index) || *job.FirstQueued(index) != index) continue;
        job.Claim(index);
        job.Wait(index, 1, FromMillis(static_cast<std::int64_t>(rng.Below(kDueTimes))));
      }
      break;
    }
  }
  return job;
}

void BM_Picture(benchmark::State& state) {
  constexpr std::uint32_t kCount = 1'000'000'000;
  const auto before = static_cast<Before>(state.range(0));
  const auto to = static_cast<TaskIndex>(state.range(1) != 0 ? 100 * kPageTasks : kCount);
  const JobTasks job = PicturedJob(kCount, before);
  for (auto _ : state) benchmark::DoNotOptimize(job.Picture(0, to, static_cast<std::size_t>(state.range(2))));
}
BENCHMARK(BM_Picture)
    ->ArgNames({"before", "narrow", "parts"})
    ->ArgsProduct({{kNothing, kEveryPage, kMillionsFailed, kMillionsRetrying}, {0, 1}, {200, 1000}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace allot
