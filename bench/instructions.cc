// SPDX-License-Identifier: Apache-2.0
// The engine's work for a pull and its report, to be counted in instructions (bench/instructions): a figure that a busy
// machine does not change.
//
//   allot_instructions CASE [CYCLES]     (default 2,000 cycles)
//
// Nothing but MeasuredCycle() is counted: a pull, the effects so far, and the report. What the store would ask for
// (folding) comes between.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "backlog.h"
#include "limits/limit.h"

namespace allot::bench {
namespace {

struct Case {
  const char* name;
  std::uint64_t jobs;
  std::uint32_t count;   // tasks of each
  std::uint32_t credit;  // of a pull
  const char* strategy;
  bool release;       // what was taken is queued again: the backlog stays as it is
  bool sample;        // of 50 users and 20 customers
  bool blocked = false;  // as many jobs of 200 users, which are first in order, wait for a limit
};
constexpr Case kCases[] = {
    {"priority_32", 1000, 1000, 32, "priority", true, true},
    {"large_job_1", 1, 1'000'000, 1, "priority", false, false},
    {"large_job_100", 1, 1'000'000, 100, "priority", false, false},
    {"one_task_jobs_1", 20'000, 1, 1, "priority", false, false},
    {"one_task_jobs_32", 100'000, 1, 32, "priority", false, false},
    {"random_1", 20'000, 1, 1, "random", false, false},
    {"beside_blocked_1", 20'000, 1, 1, "priority", false, false, true},
};

JobSpec Sample(std::uint64_t i) {
  JobSpec spec;
  spec.user = "user-" + std::to_string(i % 50);
  spec.meta.emplace_back("customer", "customer-" + std::to_string(i % 20));
  spec.meta.emplace_back("mode", i % 3 == 0 ? "preview" : "normal");
  return spec;
}

// By name in the counter's output: not to be part of another function.
__attribute__((noinline)) void MeasuredCycle(Engine& engine, WorkerId worker, const PullOptions& pull, ReportKind kind,
                                             std::vector<Report>& reports) {
  Must(engine.workers().Pull(At(1'000'000), worker, pull));
  const auto [position, effects] = engine.Take();
  reports.clear();
  for (const Grant& grant : effects.grant_batches.at(0).grants) reports.push_back({grant.task, kind});
  Must(engine.workers().ReportAll(At(1'000'000), worker, reports));
}

void Run(const Case& of, int cycles) {
  EngineOptions options{SipKey{1, 2}};
  options.policy = Parse("worker", true);
  Engine engine(options);
  engine.records().FinishLoad(At(1'000'000), Duration(0));
  std::uint64_t id = 0;
  const auto submit = [&](JobSpec spec) {
    spec.tags = {"a"};
    spec.count = of.count;
    Must(engine.jobs().Submit(At(1'000'000), JobId{++id}, spec));
    if (id % 1000 == 0) Fold(engine);
  };
  if (of.blocked) {
    LimitSpec limit;
    limit.tag = "bench";
    limit.expr = Must(ParseLimitExpr("expr", "regexp(\"^held-\", User)"));
    limit.window = std::chrono::seconds(1);
    limit.expires_in = std::chrono::seconds(300);
    Must(engine.limits().Create(At(1'000'000), "stop", limit));
    for (std::uint64_t i = 0; i < of.jobs; ++i) {
      JobSpec spec;
      spec.user = "held-" + std::to_string(i * 2654435761u % 200);
      submit(spec);
    }
  }
  for (std::uint64_t i = 1; i <= of.jobs; ++i) submit(of.sample ? Sample(i) : JobSpec{});
  WorkerSpec worker;
  worker.id = WorkerId{kFirstWorker};
  worker.name = "host-1.example.org";
  worker.tags = {"a"};
  worker.connected = true;
  worker.slots = of.credit;
  worker.strategy = Parse(of.strategy);
  Must(engine.workers().Register(At(1'000'000), worker, std::nullopt));
  for (int i = 0; i < 100; ++i) engine.Tick(At(1'000'000));  // the order is built
  Fold(engine);
  PullOptions pull;
  pull.credit = of.credit;
  if (of.blocked) {  // what is blocked is moved aside
    Must(engine.workers().Pull(At(1'000'000), worker.id, pull));
    for (int i = 0; i < 1000; ++i) engine.Tick(At(1'000'000));
    std::vector<Report> first;
    const auto [position, effects] = engine.Take();
    for (const Grant& grant : effects.grant_batches.at(0).grants) first.push_back({grant.task, ReportKind::kDone});
    Must(engine.workers().ReportAll(At(1'000'000), worker.id, first));
    Fold(engine);
  }
  pull.wait = Duration(0);
  std::vector<Report> reports;
  reports.reserve(of.credit);
  for (int i = 1; i <= cycles; ++i) {
    MeasuredCycle(engine, worker.id, pull, of.release ? ReportKind::kReleased : ReportKind::kDone, reports);
    if (reports.size() != of.credit) throw Failure("there were not enough tasks to measure with");
    if (i % 100 == 0) Fold(engine);
  }
}

}  // namespace
}  // namespace allot::bench

int main(int argc, char** argv) {
  using namespace allot::bench;
  const auto* const found = std::find_if(std::begin(kCases), std::end(kCases), [&](const Case& of) {
    return argc > 1 && std::strcmp(argv[1], of.name) == 0;
  });
  if (found == std::end(kCases)) {
    std::fprintf(stderr, "allot_instructions: the cases are");
    for (const Case& of : kCases) std::fprintf(stderr, " %s", of.name);
    std::fprintf(stderr, "\n");
    return 2;
  }
  return PrintFigures("allot_instructions", [&](Figures&) { Run(*found, argc > 2 ? std::atoi(argv[2]) : 2000); });
}
