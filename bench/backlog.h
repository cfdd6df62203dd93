// SPDX-License-Identifier: Apache-2.0
// An engine with a backlog in virtual time, and what a pick, claim and report cost on it.
#pragma once

#include <time.h>

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "strategy/strategy.h"
#include "support.h"

namespace allot::bench {

inline constexpr std::uint64_t kFirstWorker = 1ull << 40;

inline StrategyPtr Parse(const std::string& text, bool policy = false) {
  ParsedStrategy parsed = ParseStrategy(text, policy);
  if (!parsed.strategy) throw Failure(text + ": " + parsed.error.message);
  return parsed.strategy;
}

inline double CpuSeconds() {
  struct timespec time {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// An engine with a backlog, and the longest that it took for a single command or tick.
class Bench {
 public:
  explicit Bench(const EngineOptions& options = {}) : engine_(options) {
    engine_.records().FinishLoad(At(1), Duration(0));
  }

  Engine& engine() { return engine_; }
  std::uint64_t jobs() const { return jobs_; }

  void Submit(const JobSpec& spec) {
    Must(engine_.jobs().Submit(At(ms_), JobId{++jobs_}, spec));
    if (jobs_ % 1000 == 0) Fold(engine_);
  }

  WorkerId Join(const StrategyPtr& strategy, std::uint32_t slots = 1) {
    WorkerSpec spec;
    spec.id = WorkerId{kFirstWorker + workers_++};
    spec.tags = {"bench"};
    spec.strategy = strategy;
    spec.slots = slots;
    spec.connected = true;
    Timed([&] { Must(engine_.workers().Register(At(ms_), spec, std::nullopt)); });
    return spec.id;
  }
  void Leave(WorkerId worker) {
    Timed([&] { engine_.workers().Unregister(At(ms_), worker); });
    engine_.Take();
  }
  // Asks for `credit` tasks; empty if there is none now.
  std::vector<TaskRef> Pull(WorkerId worker, std::uint32_t credit = 1) {
    PullOptions options;
    options.credit = credit;
    options.wait = Duration(0);
    Must(engine_.workers().Pull(At(ms_), worker, options));
    return Granted();
  }
  void Done(WorkerId worker, const TaskRef& task) {
    const Report report{task, ReportKind::kDone};
    Must(engine_.workers().ReportAll(At(ms_), worker, {&report, 1}));
    engine_.Take();
  }
  std::vector<TaskRef> Granted() {
    std::vector<TaskRef> tasks;
    auto [position, effects] = engine_.Take();
    for (const GrantBatch& batch : effects.grant_batches) {
      for (const Grant& grant : batch.grants) tasks.push_back(grant.task);
    }
    return tasks;
  }
  // Runs what is due, tick by tick, as long as the engine wants one at once.
  void Settle() {
    for (bool more = true; more;) {
      Timed([&] { engine_.Tick(At(ms_)); });
      const auto wake = engine_.NextWake(At(ms_));
      more = wake && *wake <= At(ms_).mono;
    }
  }
  // In time of this thread: what others make it wait is not the engine's.
  template <typename F>
  void Timed(F command) {
    const double start = CpuSeconds();
    command();
    longest_ = std::max(longest_, (CpuSeconds() - start) * 1e3);
  }
  // Milliseconds, since the last call.
  double TakeLongest() { return std::exchange(longest_, 0); }
  void Later(std::int64_t ms) { ms_ += ms; }
  std::int64_t ms() const { return ms_; }

 private:
  Engine engine_;
  std::int64_t ms_ = 1'000'000;
  std::uint64_t jobs_ = 0, workers_ = 0;
  double longest_ = 0;
};

struct Cost {
  double median = 0, mean = 0, p99 = 0;  // µs
};

inline Cost CostOf(std::vector<double>& times) {
  std::sort(times.begin(), times.end());
  double sum = 0;
  for (const double us : times) sum += us;
  return {times[times.size() / 2], sum / static_cast<double>(times.size()), times[times.size() * 99 / 100]};
}

// The cost of a pull of one task and the report of another, while so many run. Best of some rounds: the machine
// may be busy with other things. So the mean is in time of this thread.
inline Cost Cycle(Bench& bench, WorkerId worker, int cycles, std::size_t count) {
  std::deque<TaskRef> running;
  const auto pull = [&] {
    const std::vector<TaskRef> tasks = bench.Pull(worker);
    if (tasks.empty()) throw Failure("there was no task to measure with");
    running.push_back(tasks.front());
  };
  while (running.size() < count) pull();
  Cost best;
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> times;
    double spent = 0, since = CpuSeconds();
    const auto fold = [&] {
      spent += CpuSeconds() - since;
      Fold(bench.engine());
      since = CpuSeconds();
    };
    for (int i = 0; i < cycles / kRounds; ++i) {
      bench.Later(1);
      const auto start = SteadyClock::now();
      pull();
      bench.Done(worker, running.front());
      times.push_back(SecondsSince(start) * 1e6);
      running.pop_front();
      if (i % 1000 == 0) fold();
    }
    fold();
    Cost cost = CostOf(times);
    cost.mean = spent * 1e6 / static_cast<double>(times.size());
    if (round == 0 || cost.median < best.median) best = cost;
  }
  for (const TaskRef& task : running) bench.Done(worker, task);
  Fold(bench.engine());
  return best;
}

inline void Note(Figures& figures, const std::string& name, const Cost& cost) {
  figures.Add(name, cost.median, "µs");
  figures.Add(name + "/mean", cost.mean, "µs");
  figures.Add(name + "/p99", cost.p99, "µs");
}

}  // namespace allot::bench
