// SPDX-License-Identifier: Apache-2.0
// What choosing costs: a pick, claim and report under every strategy, at a billion tasks and at a million jobs; what a
// value that flips costs for each of its cells; the memory of ten strategies at once; and how a strategy that is new to
// a large queue gets ready while others are served.
//
//   allot_strategies [SCALE] [PART...]     (default 1: 10^5 jobs of 10^4 tasks, 10^6 one-task jobs)
//
// Parts: tasks jobs flips memory; all by default. One strategy is in use at a time, beside the queue's default. Time is
// virtual, and nothing is counted but the commands that are named.
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backlog.h"
#include "base/memory.h"

namespace allot::bench {
namespace {

double Allocated() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

// A worker with the strategy comes, works, and leaves.
Cost Under(Bench& bench, const std::string& text, int cycles, std::size_t running) {
  const WorkerId worker = bench.Join(Parse(text));
  bench.Settle();
  const Cost cost = Cycle(bench, worker, cycles, running);
  bench.Leave(worker);
  bench.Settle();
  return cost;
}

// --- Backlogs.

// Customers have four users each, a site has four customers, and one job in four is a preview: a value spans at most
// 16 cells of the strategies below.
JobSpec Sample(std::uint64_t i, std::uint64_t customers) {
  const std::uint64_t customer = i * 2654435761u % customers;
  JobSpec spec;
  spec.tags = {"bench"};
  spec.user = "user-" + std::to_string(customer * 4 + i / 7 % 4);
  spec.priority = static_cast<std::int64_t>(i * 40503 % 5);
  spec.async = i % 8 != 0;
  spec.meta = {{"branch", "feature/" + std::to_string(i % 1000)},
               {"customer", "customer-" + std::to_string(customer)},
               {"mode", std::string(i / 3 % 4 == 0 ? "preview" : "bulk")},
               {"pipeline", static_cast<std::int64_t>(i % 50)},
               {"region", "eu-" + std::to_string(i % 10)},
               {"request", "request number " + std::to_string(i)},
               {"retryable", i % 2 == 0},
               {"site", "site-" + std::to_string(customer / 4)}};
  return spec;
}

void Fill(Bench& bench, std::uint64_t jobs, std::uint32_t count, std::uint64_t customers) {
  for (std::uint64_t i = 0; i < jobs; ++i) {
    JobSpec spec = Sample(i, customers);
    spec.count = count;
    bench.Submit(spec);
  }
  Fold(bench.engine());
}

struct Named {
  const char* name;
  const char* text;
};
constexpr Named kOrders[] = {{"random", "random"},
                             {"oldest", "oldest"},
                             {"newest", "newest"},
                             {"priority", "priority"},
                             {"least_recent", "least_recent"}};
constexpr Named kWrappers[] = {
    {"select_only", "select_only(mode = preview, oldest)"},
    {"prefer_distinct", "prefer_distinct(customer, 1, oldest)"},
    {"prefer_distinct_random", "prefer_distinct(customer, 1, random)"},
    {"max_simultaneous", "max_simultaneous(customer, 5, oldest)"},
    {"max_simultaneous_job", "max_simultaneous(job, 1, oldest)"},
    {"fair", "fair(user, oldest)"},
    {"or_else", "or_else(select_only(mode = preview, random), random)"},
};
constexpr Named kNested[] = {
    {"max_fair_or", "max_simultaneous(customer, 5, fair(user, or_else(select_only(mode = preview, oldest), oldest)))"},
    {"max_fair_select_random", "max_simultaneous(customer, 5, fair(user, select_only(mode = preview, random)))"},
    {"distinct_max_fair_random", "prefer_distinct(customer, 1, max_simultaneous(site, 10, fair(user, random)))"},
    {"fair_fair_least_recent", "max_simultaneous(site, 50, fair(customer, fair(user, least_recent)))"},
    {"harmony", "fair"},
};

// --- Parts.

void MeasureTasks(double scale, Figures& figures) {
  constexpr int kCycles = 20'000;
  constexpr std::uint32_t kCount = 10'000;
  std::vector<double> small;
  {
    Bench bench;
    Fill(bench, 100, kCount, 10);
    for (const Named& order : kOrders) {
      const Cost cost = Under(bench, order.text, kCycles, 0);
      small.push_back(cost.median);
      Note(figures, std::string("strategies/1e6_tasks/") + order.name, cost);
    }
  }
  Bench bench;
  Fill(bench, static_cast<std::uint64_t>(100'000 * scale), kCount, 2500);
  double worst = 0, plain = 0;
  for (std::size_t i = 0; i < std::size(kOrders); ++i) {
    const Cost cost = Under(bench, kOrders[i].text, kCycles, 0);
    Note(figures, std::string("strategies/1e9_tasks/") + kOrders[i].name, cost);
    plain = std::max(plain, cost.median);
    // Where jobs are taken at random, or in turn, memory is slower to reach the more of them there are.
    const std::string name = kOrders[i].name;
    if (name != "random" && name != "least_recent") worst = std::max(worst, cost.median / small[i]);
  }
  figures.Add("strategies/1e9_tasks/slowest_order", plain, "µs");
  figures.Add("strategies/1e9_tasks/most_over_1e6_tasks", worst, "×");
  double one = 0, three = 0;
  for (const Named& strategy : kWrappers) {
    const Cost cost = Under(bench, strategy.text, kCycles, 16);
    Note(figures, std::string("strategies/1e9_tasks/") + strategy.name, cost);
    one = std::max(one, cost.median);
  }
  for (const Named& strategy : kNested) {
    const Cost cost = Under(bench, strategy.text, kCycles, 16);
    Note(figures, std::string("strategies/1e9_tasks/") + strategy.name, cost);
    three = std::max(three, cost.median);
  }
  figures.Add("strategies/1e9_tasks/slowest_wrapper", one, "µs");
  figures.Add("strategies/1e9_tasks/slowest_nested", three, "µs");
}

// On a live queue of one-task jobs: how long until a worker with a strategy that nobody used gets its first task, and
// the longest that anybody else would have had to wait meanwhile; the same when it leaves.
class Arrivals {
 public:
  WorkerId Come(Bench& bench, const std::string& text) {
    const StrategyPtr strategy = Parse(text);
    bench.TakeLongest();
    const double start = CpuSeconds();
    const WorkerId worker = bench.Join(strategy);
    bench.Timed([&] { Must(bench.engine().workers().Pull(At(bench.ms()), worker, PullOptions{})); });
    std::vector<TaskRef> tasks;
    while ((tasks = bench.Granted()).empty()) bench.Timed([&] { bench.engine().Tick(At(bench.ms())); });
    slowest = std::max(slowest, CpuSeconds() - start);
    longest = std::max(longest, bench.TakeLongest());
    bench.Settle();
    longest = std::max(longest, bench.TakeLongest());
    bench.Done(worker, tasks.front());
    return worker;
  }
  void Go(Bench& bench, WorkerId worker) {
    bench.TakeLongest();
    bench.Leave(worker);
    bench.Settle();
    longest_leaving = std::max(longest_leaving, bench.TakeLongest());
  }
  double slowest = 0;          // s
  double longest = 0;          // ms
  double longest_leaving = 0;  // ms
};

void MeasureJobs(double scale, Figures& figures) {
  constexpr int kCycles = 10'000;
  const auto jobs = static_cast<std::uint64_t>(1'000'000 * scale);
  Bench bench;
  Fill(bench, jobs / 2, 1, 2500);
  JobSpec rare = Sample(0, 2500);
  rare.meta[2].second = std::string("rare");
  rare.priority.reset();
  rare.count = 3 * kCycles;
  bench.Submit(rare);
  Fill(bench, jobs / 2, 1, 2500);

  Arrivals arrivals;
  const auto measure = [&](const Named& strategy, std::size_t running) {
    const WorkerId worker = arrivals.Come(bench, strategy.text);
    const Cost cost = Cycle(bench, worker, kCycles, running);
    Note(figures, std::string("strategies/1e6_jobs/") + strategy.name, cost);
    arrivals.Go(bench, worker);
    return cost.median;
  };
  double plain = 0, one = 0, three = 0;
  for (const Named& strategy : kOrders) plain = std::max(plain, measure(strategy, 0));
  for (const Named& strategy : kWrappers) one = std::max(one, measure(strategy, 16));
  one = std::max(one, measure({"rare_value", "select_only(mode = rare, oldest)"}, 16));
  for (const Named& strategy : kNested) three = std::max(three, measure(strategy, 16));

  // 99 % of the customers have all that they may.
  for (const Named& strategy : {Named{"saturated", "max_simultaneous(customer, 1, oldest)"},
                                Named{"saturated_random", "max_simultaneous(customer, 1, random)"},
                                Named{"saturated_fair", "max_simultaneous(customer, 1, fair(user, oldest))"}}) {
    const WorkerId worker = arrivals.Come(bench, strategy.text);
    const WorkerId lessee = bench.Join(Parse(strategy.text));
    std::vector<TaskRef> running;
    while (running.size() < 2475) {  // a pull gives no more than orders can be updated by in one command
      const std::vector<TaskRef> more = bench.Pull(lessee, 2475 - static_cast<std::uint32_t>(running.size()));
      if (more.empty()) throw Failure("not all customers are held");
      running.insert(running.end(), more.begin(), more.end());
    }
    Fold(bench.engine());
    const Cost cost = Cycle(bench, worker, kCycles / 5, 16);
    Note(figures, std::string("strategies/1e6_jobs/") + strategy.name, cost);
    one = std::max(one, cost.median);
    for (const TaskRef& task : running) bench.Done(lessee, task);
    bench.Leave(lessee);
    arrivals.Go(bench, worker);
  }
  figures.Add("strategies/1e6_jobs/slowest_order", plain, "µs");
  figures.Add("strategies/1e6_jobs/slowest_wrapper", one, "µs");
  figures.Add("strategies/1e6_jobs/slowest_nested", three, "µs");

  // As many again that are for later.
  for (std::uint64_t i = 0; i < jobs; ++i) {
    JobSpec later = Sample(i, 2500);
    later.delay = std::chrono::hours(10);
    bench.Submit(later);
  }
  Fold(bench.engine());
  double scheduled = 0;
  for (const Named& strategy :
       {Named{"oldest_beside_scheduled", "oldest"}, Named{"fair_beside_scheduled", "fair(user, oldest)"}}) {
    Note(figures, std::string("strategies/1e6_jobs/") + strategy.name, Under(bench, strategy.text, kCycles, 0));
    scheduled = std::max(scheduled, figures.all()[figures.all().size() - 3].value);
  }
  figures.Add("strategies/1e6_jobs/beside_scheduled", scheduled, "µs");
  figures.Add("strategies/first_task", arrivals.slowest, "s");
  figures.Add("strategies/first_task/longest_step", arrivals.longest, "ms");
  figures.Add("strategies/leaving/longest_step", arrivals.longest_leaving, "ms");
}

// A customer with so many cells, of which each pull closes all and each report opens all again.
void MeasureFlips(Figures& figures) {
  struct Point {
    double cells, us;
  };
  const auto slope = [](const std::vector<Point>& points) {
    double x = 0, y = 0, xx = 0, xy = 0;
    const auto n = static_cast<double>(points.size());
    for (const Point& point : points) {
      x += point.cells;
      y += point.us;
      xx += point.cells * point.cells;
      xy += point.cells * point.us;
    }
    return (n * xy - x * y) / (n * xx - x * x);
  };
  double worst = 0;
  for (const Named& strategy :
       {Named{"max_order", "max_simultaneous(customer, 1, max_simultaneous(user, 1000, oldest))"},
        Named{"max_random", "max_simultaneous(customer, 1, max_simultaneous(user, 1000, random))"},
        Named{"max_fair", "max_simultaneous(customer, 1, fair(user, oldest))"},
        Named{"max_or",
              "max_simultaneous(customer, 1, fair(user, or_else(select_only(mode = preview, oldest), oldest)))"},
        Named{"distinct_fair", "prefer_distinct(customer, 1, fair(user, oldest))"}}) {
    std::vector<Point> points;
    for (const std::uint64_t cells : {16, 64, 256, 1024}) {
      Bench bench;
      JobSpec spec;
      spec.count = 100'000;
      for (std::uint64_t i = 0; i < cells; ++i) {
        spec.user = "user-" + std::to_string(i);
        spec.meta = {{"customer", std::string("big")}, {"mode", std::string("preview")}};
        bench.Submit(spec);
      }
      const WorkerId worker = bench.Join(Parse(strategy.text)), other = bench.Join(Parse(strategy.text));
      bench.Settle();
      const int cycles = static_cast<int>(40'000 / cells);
      double best = 1e18;
      for (int round = 0; round < 5; ++round) {
        std::vector<double> times;
        for (int i = 0; i < std::max(20, cycles / 5); ++i) {
          bench.Later(1);
          const auto start = SteadyClock::now();
          const std::vector<TaskRef> first = bench.Pull(worker);
          const std::vector<TaskRef> second = bench.Pull(other);
          bench.Done(worker, first.at(0));
          if (!second.empty()) bench.Done(other, second.at(0));
          times.push_back(SecondsSince(start) * 1e6);
        }
        Fold(bench.engine());
        best = std::min(best, Median(times));
      }
      figures.Add("strategies/flips/" + std::string(strategy.name) + "/cells=" + std::to_string(cells), best, "µs");
      // Each goes away and comes back.
      points.push_back({2 * static_cast<double>(cells), best});
    }
    figures.Add("strategies/flips/" + std::string(strategy.name), slope(points), "µs/cell");
    worst = std::max(worst, slope(points));
  }
  figures.Add("strategies/flips/most", worst, "µs/cell");
}

constexpr const char* kTen[] = {
    "oldest",
    "newest",
    "random",
    "least_recent",
    "select_only(mode = preview, random)",
    "prefer_distinct(customer, 1, random)",
    "max_simultaneous(customer, 5, oldest)",
    "fair",
    "max_simultaneous(customer, 5, fair(user, or_else(select_only(mode = preview, oldest), oldest)))",
    "prefer_distinct(customer, 1, max_simultaneous(site, 10, fair(user, random)))"};

void MeasureMemory(double scale, Figures& figures) {
  const auto jobs = static_cast<std::uint64_t>(1'000'000 * scale);
  Bench bench;
  Fill(bench, jobs, 1, 2500);
  const double before = Allocated();
  std::vector<WorkerId> workers;
  for (const char* text : kTen) {
    const double start = Allocated();
    workers.push_back(bench.Join(Parse(text)));
    bench.Settle();
    figures.Add("strategies/memory/" + std::string(text), (Allocated() - start) / static_cast<double>(jobs),
                "bytes/job");
  }
  const double per_million = 1e6 / static_cast<double>(jobs);
  figures.Add("strategies/memory/ten", (Allocated() - before) * per_million / 1048576, "MiB");

  // A policy for all of them at once.
  bench.TakeLongest();
  const double start = CpuSeconds();
  bench.Timed([&] {
    bench.engine().queue().SetPolicy(At(bench.ms()), Parse("max_simultaneous(customer, 100, worker)", true), {});
  });
  bench.Settle();
  figures.Add("strategies/policy_for_ten", CpuSeconds() - start, "s");
  figures.Add("strategies/policy_for_ten/longest_step", bench.TakeLongest(), "ms");
  figures.Add("strategies/memory/ten_under_policy", (Allocated() - before) * per_million / 1048576, "MiB");
  bench.Timed([&] { bench.engine().queue().SetPolicy(At(bench.ms()), nullptr, {}); });
  bench.Settle();
  bench.TakeLongest();
  for (const WorkerId worker : workers) bench.Leave(worker);
  bench.Settle();
  figures.Add("strategies/ten_leave/longest_step", bench.TakeLongest(), "ms");
  figures.Add("strategies/memory/after", (Allocated() - before) * per_million / 1048576, "MiB");

  // Every job is a cell of its own, and all of them open and close together.
  Arrivals arrivals;
  const WorkerId worker = arrivals.Come(bench, "max_simultaneous(mode, 1, max_simultaneous(job, 1, oldest))");
  figures.Add("strategies/cell_per_job/first_task", arrivals.slowest, "s");
  figures.Add("strategies/cell_per_job/longest_step", arrivals.longest, "ms");
  figures.Add("strategies/cell_per_job/memory", (Allocated() - before) / static_cast<double>(jobs), "bytes/job");
  std::vector<TaskRef> tasks;
  bench.Timed([&] { tasks = bench.Pull(worker, 10); });
  figures.Add("strategies/cell_per_job/close_value", bench.TakeLongest(), "ms");
  bench.Timed([&] { bench.Done(worker, tasks.at(0)); });
  figures.Add("strategies/cell_per_job/open_value", bench.TakeLongest(), "ms");
  bench.Done(worker, tasks.at(1));
  bench.TakeLongest();
  arrivals.Go(bench, worker);
  figures.Add("strategies/cell_per_job/leaving", arrivals.longest_leaving, "ms");
}

void Measure(double scale, const std::set<std::string>& parts, Figures& figures) {
  if (!(scale >= 0.01 && scale <= 10)) throw Failure("SCALE is a number from 0.01 to 10");
  const auto wants = [&](const char* part) { return parts.empty() || parts.contains(part); };
  if (wants("tasks")) MeasureTasks(scale, figures);
  if (wants("jobs")) MeasureJobs(std::max(0.1, scale), figures);
  if (wants("flips")) MeasureFlips(figures);
  if (wants("memory")) MeasureMemory(scale, figures);
}

}  // namespace
}  // namespace allot::bench

int main(int argc, char** argv) {
  allot::JoinFreeMemoryAtOnce();
  const double scale = argc > 1 ? std::strtod(argv[1], nullptr) : 1;
  const std::set<std::string> parts(argv + std::min(argc, 2), argv + argc);
  return allot::bench::PrintFigures(
      "allot_strategies", [&](allot::bench::Figures& figures) { allot::bench::Measure(scale, parts, figures); });
}
