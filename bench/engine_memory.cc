// SPDX-License-Identifier: Apache-2.0
// What the engine alone keeps in memory: for tasks that nobody touched, for tasks touched in random order, for waiting
// one-task jobs, and for tasks that wait for a retry.
//
//   allot_engine_memory [SCALE]     (default 1: 10^9 untouched tasks, 10^8 touched ones, 10^6 jobs, 10^7 retries;
//                                    10 touches all 10^9, in some minutes)
//
// Counted is what the allocator and the engine's pools have given out, their own overhead included.
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "engine/jobs/events.h"
#include "permutation.h"
#include "support.h"

namespace allot::bench {
namespace {

constexpr std::uint32_t kTasksPerJob = 10'000;

double Allocated(const Engine* engine = nullptr) {
  const struct mallinfo2 info = mallinfo2();
  const std::uint64_t pools = engine == nullptr ? 0 : engine->looks().Memory().total();
  return static_cast<double>(info.uordblks + info.hblkhd + pools);
}

void SubmitAll(Engine& engine, std::uint64_t jobs, std::uint32_t count) {
  JobSpec spec;
  spec.tags = {"bench"};
  spec.count = count;
  for (std::uint64_t i = 1; i <= jobs; ++i) {
    Must(engine.jobs().Submit(At(1), JobId{i}, spec));
    if (i % 1000 == 0) Fold(engine);
  }
  Fold(engine);
}

void MeasureUntouched(double scale, Figures& figures) {
  const auto jobs = static_cast<std::uint64_t>(100'000 * std::min(1.0, scale));
  const double before = Allocated();
  Engine engine{EngineOptions{}};
  engine.records().FinishLoad(At(1), Duration(0));
  SubmitAll(engine, jobs, kTasksPerJob);
  figures.Add("engine_memory/untouched", (Allocated(&engine) - before) / 1e6, "MB");
}

void MeasureTouched(double scale, Figures& figures) {
  const auto jobs = static_cast<std::uint64_t>(10'000 * scale);
  const std::uint64_t tasks = jobs * kTasksPerJob;
  const double before = Allocated();
  std::string submits;
  {
    Engine engine{EngineOptions{}};
    engine.records().FinishLoad(At(1), Duration(0));
    JobSpec spec;
    spec.tags = {"bench"};
    spec.count = kTasksPerJob;
    for (std::uint64_t i = 1; i <= jobs; ++i) Must(engine.jobs().Submit(At(1), JobId{i}, spec));
    submits = engine.Take().second.events;
  }
  Engine engine{EngineOptions{}};
  Must(engine.records().Replay(1, submits));
  submits = {};
  // As done out of nothing, which is how a late report is applied: the state is the same as with a lease before it.
  const Permutation permutation(tasks, 2);
  Position position = 2;
  double most = 0;
  std::string events;
  constexpr std::uint64_t kPerEntry = 10'000;
  for (std::uint64_t at = 0; at < tasks;) {
    events.clear();
    ByteWriter out(events);
    for (std::uint64_t i = 0; i < kPerEntry && at < tasks; ++i, ++at) {
      const std::uint64_t task = permutation(at);
      out.U8(static_cast<std::uint8_t>(EventType::kDone));
      out.Varint(task / kTasksPerJob + 1);
      out.Varint(task % kTasksPerJob);
      out.Varint(0);
    }
    Must(engine.records().Replay(position++, events));
    if (at % (tasks / 20) >= kPerEntry) continue;
    while (engine.looks().UnfoldedEvents() > 0) engine.records().Fold(1 << 20);
    most = std::max(most, Allocated(&engine) - before);
  }
  figures.Add("engine_memory/touched_tasks", static_cast<double>(tasks), "tasks");
  figures.Add("engine_memory/touched_bytes", most, "bytes");
  // 1 KiB a job is allowed on top.
  figures.Add("engine_memory/touched", (most - 1024.0 * static_cast<double>(jobs)) / static_cast<double>(tasks),
              "bytes/task beyond 1 KiB a job");
}

void MeasureOneTaskJobs(double scale, Figures& figures) {
  const auto jobs = static_cast<std::uint64_t>(1'000'000 * std::min(1.0, scale));
  const double before = Allocated();
  Engine engine{EngineOptions{}};
  engine.records().FinishLoad(At(1), Duration(0));
  SubmitAll(engine, jobs, 1);
  figures.Add("engine_memory/one_task_job", (Allocated(&engine) - before) / static_cast<double>(jobs), "bytes/job");
}

void MeasureRetries(double scale, Figures& figures) {
  const auto tasks = static_cast<std::uint32_t>(10'000'000 * std::min(1.0, scale));
  constexpr std::uint32_t kCredit = 10'000;
  const double before = Allocated();
  Engine engine{EngineOptions{}};
  engine.records().FinishLoad(At(1), Duration(0));
  JobSpec spec;
  spec.count = tasks;
  spec.backoff.first = spec.backoff.max = std::chrono::hours(1);
  Must(engine.jobs().Submit(At(1), JobId{1}, spec));
  WorkerSpec worker;
  worker.id = WorkerId{2};
  worker.connected = true;
  worker.slots = kCredit;
  Must(engine.workers().Register(At(1), worker, std::nullopt));
  std::int64_t ms = 1;
  for (std::uint32_t failed = 0; failed < tasks;) {
    ms += 100;  // a hundred thousand failures a second
    PullOptions pull;
    pull.credit = kCredit;
    Must(engine.workers().Pull(At(ms), worker.id, pull));
    std::vector<Report> reports;
    auto [position, effects] = engine.Take();
    for (const GrantBatch& batch : effects.grant_batches) {
      for (const Grant& grant : batch.grants) reports.push_back({grant.task, ReportKind::kFailed});
    }
    if (reports.empty()) throw Failure("no tasks were granted");
    failed += static_cast<std::uint32_t>(reports.size());
    Must(engine.workers().ReportAll(At(ms), worker.id, reports));
    Fold(engine);
  }
  if (engine.looks().Stats().tasks_retrying != tasks) throw Failure("not all tasks wait for their retry");
  figures.Add("engine_memory/retry", (Allocated(&engine) - before) / tasks, "bytes/task");
}

void Measure(double scale, Figures& figures) {
  if (!(scale >= 0.001 && scale <= 10)) throw Failure("SCALE is a number from 0.001 to 10");
  MeasureUntouched(scale, figures);
  MeasureOneTaskJobs(scale, figures);
  MeasureRetries(scale, figures);
  MeasureTouched(scale, figures);
}

}  // namespace
}  // namespace allot::bench

int main(int argc, char** argv) {
  const double scale = argc > 1 ? std::strtod(argv[1], nullptr) : 1;
  return allot::bench::PrintFigures("allot_engine_memory",
                                    [scale](allot::bench::Figures& figures) { allot::bench::Measure(scale, figures); });
}
