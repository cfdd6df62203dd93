// SPDX-License-Identifier: Apache-2.0
// What matching costs: one requirement, a worker of a new kind, picking among many classes and kinds, and a rare tag
// beside a large backlog.
//
//   allot_matching [SCALE]     (default 1: 10,000 classes, 10^5 jobs, 10,000 workers in 100 kinds, 2·10^6 other jobs)
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.h"
#include "expr/expr.h"
#include "support.h"

namespace allot::bench {
namespace {

ExprPtr Parse(const std::string& text) {
  expr::Parsed parsed = expr::Expr::Parse(text);
  if (!parsed.expr) throw Failure(parsed.error.message);
  return parsed.expr;
}

std::unique_ptr<Engine> NewEngine() {
  auto engine = std::make_unique<Engine>(EngineOptions{});
  engine->records().FinishLoad(At(1), Duration(0));
  return engine;
}

constexpr std::uint64_t kFirstWorker = 1ull << 40;

// Worker `i` of a crowd in which every kind has another memory.
WorkerSpec CrowdWorker(std::uint64_t i, std::uint64_t kinds) {
  WorkerSpec spec;
  spec.id = WorkerId{kFirstWorker + i};
  spec.name = "worker-" + std::to_string(i);
  for (int tag = 0; tag < 100; ++tag) spec.tags.push_back("t" + std::to_string(tag));
  std::sort(spec.tags.begin(), spec.tags.end());
  spec.attributes = {{"Arch", std::string("x86_64")}, {"Memory", static_cast<std::int64_t>(i % kinds)}};
  spec.connected = true;
  return spec;
}

// Job `i` of a backlog of so many classes: a tag and a two-clause requirement.
JobSpec BacklogJob(std::uint64_t i, std::uint64_t classes, std::vector<ExprPtr>& requirements) {
  const std::uint64_t cls = i % classes;
  JobSpec spec;
  spec.tags = {"t" + std::to_string(cls % 100)};
  const std::size_t memory = cls / 100 % 100;
  if (requirements.size() <= memory) requirements.resize(memory + 1);
  if (!requirements[memory]) {
    requirements[memory] = Parse("TARGET.Memory >= " + std::to_string(memory) + " && TARGET.Arch == \"x86_64\"");
  }
  spec.requirements = requirements[memory];
  return spec;
}

void MeasureEvaluation(Figures& figures) {
  const ExprPtr requirement = Parse("TARGET.Memory >= 4096 && TARGET.Arch == \"x86_64\"");
  expr::Ad machine;
  for (const char* name : {"Name", "Disk", "Site", "Kernel", "Rack", "Owner", "Zone", "Os", "Gpu"}) {
    machine.Set(name, expr::Value::String("something"));
  }
  machine.Set("Memory", expr::Value::Integer(8192));
  machine.Set("Arch", expr::Value::String("X86_64"));
  machine.Set("Slots", expr::Value::Integer(8));
  expr::Evaluator evaluator;
  constexpr int kRounds = 2'000'000;
  int running = 0;
  const auto start = SteadyClock::now();
  for (int i = 0; i < kRounds; ++i) running += evaluator.True(*requirement, {nullptr, &machine}) ? 1 : 0;
  const double ns = SecondsSince(start) / kRounds * 1e9;
  if (running != kRounds) throw Failure("the requirement should hold");
  figures.Add("matching/evaluate", ns, "ns");
}

void MeasureNewKind(double scale, Figures& figures) {
  const auto classes = static_cast<std::uint64_t>(10'000 * scale);
  auto engine = NewEngine();
  std::vector<ExprPtr> requirements;
  // Kinds must be told apart, so the first workers are of other memories.
  for (std::uint64_t i = 0; i < 10; ++i) Must(engine->workers().Register(At(1), CrowdWorker(i * 7, 100), std::nullopt));
  for (std::uint64_t i = 0; i < classes; ++i) {
    Must(engine->jobs().Submit(At(1), JobId{i + 1}, BacklogJob(i, classes, requirements)));
    if (i % 1000 == 0) Fold(*engine);
  }
  Fold(*engine);
  const auto kinds = engine->looks().Stats().kinds;
  const auto start = SteadyClock::now();
  Must(engine->workers().Register(At(2), CrowdWorker(51, 100), std::nullopt));
  figures.Add("matching/new_kind", SecondsSince(start) * 1e3, "ms");
  if (engine->looks().Stats().kinds != kinds + 1) throw Failure("the worker should have been of a new kind");
}

// The time of one pick, claim and report, in ns.
double Cycle(std::uint64_t classes, double scale, double* verdict_bytes, double* order_bytes) {
  const auto jobs = static_cast<std::uint64_t>(100'000 * scale);
  const auto workers = static_cast<std::uint64_t>(10'000 * scale);
  auto engine = NewEngine();
  std::vector<ExprPtr> requirements;
  for (std::uint64_t i = 0; i < workers; ++i)
    Must(engine->workers().Register(At(1), CrowdWorker(i, 100), std::nullopt));
  for (std::uint64_t i = 0; i < jobs; ++i) {
    Must(engine->jobs().Submit(At(1), JobId{i + 1}, BacklogJob(i, classes, requirements)));
    if (i % 1000 == 0) Fold(*engine);
  }
  Fold(*engine);
  if (verdict_bytes != nullptr) {
    *verdict_bytes = static_cast<double>(engine->looks().MatchingBytes());
    *order_bytes = static_cast<double>(engine->looks().OrderBytes());
  }
  Rng rng(7);
  const std::uint64_t cycles = jobs / 2;
  std::uint64_t done = 0;
  const auto start = SteadyClock::now();
  for (std::uint64_t i = 0; i < cycles; ++i) {
    const WorkerId worker{kFirstWorker + rng.Below(workers)};
    Must(engine->workers().Pull(At(2), worker, PullOptions{1, false, Duration(0)}));
    auto [position, effects] = engine->Take();
    if (effects.grant_batches.empty() || effects.grant_batches[0].grants.empty()) continue;
    const Report report{effects.grant_batches[0].grants[0].task, ReportKind::kDone};
    Must(engine->workers().ReportAll(At(2), worker, {&report, 1}));
    engine->Take();
    ++done;
  }
  return SecondsSince(start) / static_cast<double>(std::max<std::uint64_t>(1, done)) * 1e9;
}

void MeasureCrowd(double scale, Figures& figures) {
  double bytes = 0, order = 0;
  double best_one = 1e18, best_many = 1e18;
  for (int round = 0; round < 3; ++round) {
    best_one = std::min(best_one, Cycle(1, scale, nullptr, nullptr));
    best_many = std::min(best_many, Cycle(static_cast<std::uint64_t>(10'000 * scale), scale, &bytes, &order));
  }
  figures.Add("matching/cycle_one_class", best_one, "ns");
  figures.Add("matching/cycle_many_classes", best_many, "ns");
  figures.Add("matching/cycle_ratio", best_many / best_one, "×");
  figures.Add("matching/verdict_memory", bytes / 1e6, "MB");
  figures.Add("matching/order_memory", order / 1e6, "MB");  // of the jobs themselves, with the masks of their heads
}

// Submit, pick and report of a job with a rare tag beside so many others, in ns.
double Rare(std::uint64_t others) {
  auto engine = NewEngine();
  JobSpec common;
  common.tags = {"common"};
  for (std::uint64_t i = 1; i <= others; ++i) {
    Must(engine->jobs().Submit(At(1), JobId{i}, common));
    if (i % 1000 == 0) Fold(*engine);
  }
  WorkerSpec worker;
  worker.id = WorkerId{kFirstWorker};
  worker.tags = {"rare"};
  worker.connected = true;
  Must(engine->workers().Register(At(1), worker, std::nullopt));
  JobSpec rare;
  rare.tags = {"rare"};
  rare.retention = milliseconds(0);
  double best = 1e18;
  std::uint64_t id = others;
  for (int round = 0; round < 5; ++round) {
    Fold(*engine);
    constexpr int kCycles = 20'000;
    const auto start = SteadyClock::now();
    for (int i = 0; i < kCycles; ++i) {
      Must(engine->jobs().Submit(At(2), JobId{++id}, rare));
      Must(engine->workers().Pull(At(2), worker.id, PullOptions{1, false, Duration(0)}));
      auto [position, effects] = engine->Take();
      const Report report{effects.grant_batches.at(0).grants.at(0).task, ReportKind::kDone};
      Must(engine->workers().ReportAll(At(2), worker.id, {&report, 1}));
      engine->Take();
    }
    best = std::min(best, SecondsSince(start) / kCycles * 1e9);
  }
  return best;
}

void MeasureRare(double scale, Figures& figures) {
  const double alone = Rare(0);
  const double beside = Rare(static_cast<std::uint64_t>(2'000'000 * scale));
  figures.Add("matching/rare_tag_empty_queue", alone, "ns");
  figures.Add("matching/rare_tag_beside_2e6_jobs", beside, "ns");
  figures.Add("matching/rare_tag_ratio", beside / alone, "×");
}

void Measure(double scale, Figures& figures) {
  if (!(scale >= 0.01 && scale <= 10)) throw Failure("SCALE is a number from 0.01 to 10");
  MeasureEvaluation(figures);
  MeasureNewKind(scale, figures);
  MeasureCrowd(scale, figures);
  MeasureRare(scale, figures);
}

}  // namespace
}  // namespace allot::bench

int main(int argc, char** argv) {
  const double scale = argc > 1 ? std::strtod(argv[1], nullptr) : 1;
  return allot::bench::PrintFigures("allot_matching",
                                    [scale](allot::bench::Figures& figures) { allot::bench::Measure(scale, figures); });
}
