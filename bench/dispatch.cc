// SPDX-License-Identifier: Apache-2.0
// What holding a task for one worker costs, beside letting all of them see it: promising a large job and taking it
// back, a worker that dies with a long queue, one that comes, a pull from its own queue and one that has to steal,
// another mode for a large queue, memory; and how well workers of mixed speeds are kept busy.
//
//   allot_dispatch [SCALE] [PART...]     (default 1: 10^6 tasks or one-task jobs, 10,000 workers)
//
// Parts: enqueue death memory cycle submit newcomer speeds; all by default. Time is virtual, and nothing is counted but
// the commands that are named. Steps are timed in CPU time of the thread.
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "backlog.h"
#include "base/memory.h"

namespace allot::bench {
namespace {

constexpr DispatchOptions kFanout{DispatchMode::kFanout, Balance::kLeastQueue};
constexpr DispatchOptions kLevel{DispatchMode::kBalanced, Balance::kLeastQueue};
constexpr DispatchOptions kAll[] = {
    kFanout, kLevel, {DispatchMode::kBalanced, Balance::kRoundRobin}, {DispatchMode::kBalanced, Balance::kRandom}};

// `fanout`, `least_queue`, …
std::string NameOf(const DispatchOptions& dispatch) {
  return std::string(dispatch.mode == DispatchMode::kFanout ? Text(dispatch.mode) : Text(dispatch.balance));
}

EngineOptions With(const DispatchOptions& dispatch) {
  EngineOptions options;
  options.dispatch = dispatch;
  return options;
}

double Allocated() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

// Of what a bench does: all of it, and the longest single command or tick.
struct Work {
  double total = 0, longest = 0;  // ms
};

// A command, and the ticks that it wants at once.
template <typename F>
Work Run(Bench& bench, F command) {
  Work work;
  const auto step = [&](auto f) {
    const double start = CpuSeconds();
    f();
    const double ms = (CpuSeconds() - start) * 1e3;
    work.total += ms;
    work.longest = std::max(work.longest, ms);
    bench.engine().Take();
  };
  step(command);
  for (;;) {
    const auto wake = bench.engine().NextWake(At(bench.ms()));
    if (!wake || *wake > At(bench.ms()).mono) return work;
    step([&] { bench.engine().Tick(At(bench.ms())); });
  }
}

void Note(Figures& figures, const std::string& name, const Work& work) {
  figures.Add(name, work.total, "ms");
  figures.Add(name + "/longest_step", work.longest, "ms");
}

// Every queued task is promised to somebody.
void CheckPromised(Bench& bench) {
  const EngineStats stats = bench.engine().looks().Stats();
  if (stats.tasks_promised != stats.tasks_queued) {
    throw Failure(std::to_string(stats.tasks_queued) + " tasks are queued, and " +
                  std::to_string(stats.tasks_promised) + " promised");
  }
}

// What the fewest and the most tasks of a worker are, promised and running.
std::pair<std::uint64_t, std::uint64_t> Loads(Bench& bench) {
  std::uint64_t least = UINT64_MAX, most = 0;
  WorkerPage page;
  do {
    const auto after = page.workers.empty() ? std::nullopt : std::optional(page.workers.back().id);
    page = bench.engine().looks().Workers(after, 100'000);
    for (const WorkerView& view : page.workers) {
      least = std::min(least, view.promised + view.running);
      most = std::max(most, view.promised + view.running);
    }
  } while (page.more);
  return {least, most};
}

WorkerId JoinAs(Bench& bench, std::uint64_t id, std::vector<std::string> tags) {
  WorkerSpec spec;
  spec.id = WorkerId{2 * kFirstWorker + id};
  spec.tags = std::move(tags);
  spec.connected = true;
  Must(bench.engine().workers().Register(At(bench.ms()), spec, std::nullopt));
  return spec.id;
}

JobSpec Tagged(std::uint32_t count, std::vector<std::string> tags = {"bench"}) {
  JobSpec spec;
  spec.tags = std::move(tags);
  spec.count = count;
  return spec;
}

// A task for the worker, however long its queue needs to be put in order.
TaskRef First(Bench& bench, WorkerId worker) {
  for (int i = 0; i < 10'000; ++i) {
    const std::vector<TaskRef> tasks = bench.Pull(worker);
    if (!tasks.empty()) return tasks.front();
    bench.Settle();
  }
  throw Failure("there was no task to measure with");
}

// --- A job of very many tasks, for very many workers.

struct Round {
  double submit, cancel;  // ms
};

Round Enqueue(Bench& bench, std::uint32_t tasks) {
  std::vector<double> submits, cancels;
  for (int i = 0; i < 9; ++i) {
    bench.TakeLongest();
    bench.Timed([&] { bench.Submit(Tagged(tasks)); });
    submits.push_back(bench.TakeLongest());
    Fold(bench.engine());
    if (bench.engine().looks().Stats().dispatch == DispatchMode::kBalanced) CheckPromised(bench);
    bench.Timed([&] { Must(bench.engine().jobs().Cancel(At(bench.ms()), JobId{bench.jobs()})); });
    cancels.push_back(bench.TakeLongest());
    Fold(bench.engine());
    bench.Settle();
  }
  return {Median(submits), Median(cancels)};
}

void MeasureEnqueue(double scale, Figures& figures) {
  const auto workers = static_cast<std::uint64_t>(10'000 * scale);
  const auto tasks = static_cast<std::uint32_t>(1'000'000 * scale);
  double slowest = 0, cancel = 0;
  const auto note = [&](const DispatchOptions& dispatch, const std::string& queues, const Round& round) {
    const std::string name = "dispatch/enqueue/" + NameOf(dispatch) + "/" + queues;
    figures.Add(name, round.submit, "ms");
    figures.Add(name + "/cancel", round.cancel, "ms");
    if (dispatch.mode == DispatchMode::kFanout) return;
    slowest = std::max(slowest, round.submit);
    cancel = std::max(cancel, round.cancel);
  };
  for (const DispatchOptions& dispatch : kAll) {
    Bench bench(With(dispatch));
    std::vector<WorkerId> all;
    for (std::uint64_t i = 0; i < workers; ++i) all.push_back(bench.Join(nullptr));
    bench.Settle();
    note(dispatch, "empty", Enqueue(bench, tasks));
    if (dispatch.balance == Balance::kRandom) continue;
    // Each holds some of a hundred other jobs, and has begun to work on them.
    for (int i = 0; i < 100; ++i) bench.Submit(Tagged(static_cast<std::uint32_t>(10 * workers)));
    bench.Settle();
    for (const WorkerId worker : all) First(bench, worker);
    Fold(bench.engine());
    note(dispatch, "100_jobs", Enqueue(bench, tasks));
    // Removing costs those who hold some of it, however many others there are.
    figures.Add("dispatch/enqueue/" + NameOf(dispatch) + "/10_holders/cancel", Enqueue(bench, 10).cancel * 1e3, "µs");
  }
  // Workers that differ in what else they may run.
  Bench bench(With(kLevel));
  for (int i = 0; i < 100; ++i) bench.Submit(Tagged(10, {"bench", "kind-" + std::to_string(i)}));
  for (std::uint64_t i = 0; i < workers; ++i) JoinAs(bench, i, {"bench", "kind-" + std::to_string(i % 100)});
  bench.Settle();
  note(kLevel, "100_kinds", Enqueue(bench, tasks));
  figures.Add("dispatch/enqueue/slowest_balanced", slowest, "ms");
  figures.Add("dispatch/enqueue/cancel_per_holder", cancel * 1e3 / static_cast<double>(workers), "µs");
}

// --- A worker dies with a long queue.

void MeasureDeath(double scale, Figures& figures) {
  const auto queue = static_cast<std::uint64_t>(1'000'000 * scale);
  for (const std::uint64_t others : {10, 100, 1000, 10'000}) {
    std::vector<double> totals, steps;
    for (int round = 0; round < 3; ++round) {
      Bench bench(With(kLevel));
      const WorkerId victim = bench.Join(nullptr);
      for (std::uint64_t i = 0; i < others; ++i) bench.Join(nullptr);
      for (int i = 0; i < 100; ++i) {
        bench.Submit(Tagged(static_cast<std::uint32_t>(queue / 100 * (others + 1))));
      }
      bench.Settle();
      First(bench, victim);
      Fold(bench.engine());
      if (Must(bench.engine().looks().DescribeWorker(victim)).promised + 1 < queue)
        throw Failure("its queue is too short");
      const Work work = Run(bench, [&] { bench.engine().workers().Unregister(At(bench.ms()), victim); });
      CheckPromised(bench);
      if (const auto [least, most] = Loads(bench); most > least + 1) throw Failure("they were not dealt evenly");
      totals.push_back(work.total);
      steps.push_back(work.longest);
    }
    Note(figures, "dispatch/death/100_jobs/others=" + std::to_string(others), Work{Median(totals), Median(steps)});
  }
  // The others have as much to do that only they may run.
  Bench bench(With(kLevel));
  for (std::uint64_t i = 0; i < 10; ++i) JoinAs(bench, i, {"bench", "other"});
  bench.Submit(Tagged(static_cast<std::uint32_t>(queue * 10), {"bench", "other"}));
  const WorkerId victim = JoinAs(bench, 10, {"bench"});
  std::vector<TaskRef> running;
  for (std::uint64_t i = 0; i < queue; ++i) {
    bench.Submit(Tagged(1));
    if (i == 0) running.push_back(First(bench, victim));  // so that its queue is in order
  }
  bench.Settle();
  if (Must(bench.engine().looks().DescribeWorker(victim)).promised_jobs + 1 < queue)
    throw Failure("its queue is too short");
  Note(figures, "dispatch/death/1e6_jobs",
       Run(bench, [&] { bench.engine().workers().Unregister(At(bench.ms()), victim); }));
  CheckPromised(bench);
}

// --- Memory.

void MeasureMemory(double scale, Figures& figures) {
  const auto jobs = static_cast<std::uint64_t>(1'000'000 * scale), many = static_cast<std::uint64_t>(10'000 * scale);
  struct Bytes {
    double workers, jobs;
  };
  const auto measure = [&](const DispatchOptions& dispatch, std::uint64_t workers) {
    const double start = Allocated();
    Bench bench(With(dispatch));
    std::vector<WorkerId> all;
    for (std::uint64_t i = 0; i < workers; ++i) all.push_back(bench.Join(nullptr));
    bench.Settle();
    const double joined = Allocated();
    for (std::uint64_t i = 0; i < jobs; ++i) bench.Submit(Tagged(1));
    bench.Settle();
    Fold(bench.engine());
    const double filled = Allocated();
    const std::string name = "dispatch/memory/" + NameOf(dispatch) + "/workers=" + std::to_string(workers);
    figures.Add(name + "/worker", (joined - start) / static_cast<double>(workers), "bytes");
    figures.Add(name + "/job", (filled - joined) / static_cast<double>(jobs), "bytes");
    figures.Add(name + "/counted_job",
                static_cast<double>(bench.engine().looks().MemoryBytes()) / static_cast<double>(jobs), "bytes");
    // Everybody sees all of it, at the same price.
    if (dispatch.mode == DispatchMode::kFanout) {
      const Cost cost = Cycle(bench, all.back(), 20'000, 0);
      figures.Add(name + "/cycle", cost.median, "µs");
    }
    return Bytes{joined - start, filled - joined};
  };
  const Bytes few = measure(kFanout, 10), all = measure(kFanout, many);
  figures.Add("dispatch/memory/fanout/ratio", all.jobs / few.jobs, "×");
  measure(kLevel, many);
}

// --- A pull and a report.

// Each worker runs one task: ends it, and asks for the next. Best of some rounds.
Cost Rotate(Bench& bench, const std::vector<WorkerId>& workers, int cycles) {
  std::vector<TaskRef> running;
  for (const WorkerId worker : workers) running.push_back(First(bench, worker));
  Fold(bench.engine());
  Cost best;
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> times;
    for (int i = 0; i < cycles / kRounds; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) % workers.size();
      if (i % 10 == 0) bench.Later(1);
      const auto start = SteadyClock::now();
      bench.Done(workers[at], running[at]);
      const std::vector<TaskRef> tasks = bench.Pull(workers[at]);
      times.push_back(SecondsSince(start) * 1e6);
      if (tasks.empty()) throw Failure("there was no task to measure with");
      running[at] = tasks.front();
      if (i % 1000 == 999) Fold(bench.engine());
    }
    const Cost cost = CostOf(times);
    if (round == 0 || cost.median < best.median) best = cost;
  }
  for (std::size_t i = 0; i < workers.size(); ++i) bench.Done(workers[i], running[i]);
  Fold(bench.engine());
  return best;
}

struct Named {
  const char* name;
  const char* text;
};
constexpr Named kStrategies[] = {{"priority", "priority"},
                                 {"fair", "fair(user, priority)"},
                                 {"max_simultaneous", "max_simultaneous(customer, 20, priority)"}};

// A worker that has nothing in its own queue, since it runs all of it, and goes on asking: each is stolen.
Cost Steal(Bench& bench, WorkerId thief, std::uint64_t own, int cycles) {
  std::vector<TaskRef> running;
  while (running.size() < own) {
    const std::vector<TaskRef> more = bench.Pull(thief, static_cast<std::uint32_t>(own - running.size()));
    if (more.empty()) bench.Settle();
    running.insert(running.end(), more.begin(), more.end());
    Fold(bench.engine());
  }
  const std::uint64_t before = bench.engine().looks().Stats().dispatch_steals;
  const Cost cost = Cycle(bench, thief, cycles, 1);
  const EngineStats stats = bench.engine().looks().Stats();
  if (stats.dispatch == DispatchMode::kBalanced &&
      stats.dispatch_steals < before + static_cast<std::uint64_t>(cycles)) {
    throw Failure("not every task was stolen");
  }
  for (const TaskRef& task : running) bench.Done(thief, task);
  Fold(bench.engine());
  return cost;
}

void MeasureCycle(double scale, Figures& figures) {
  const int cycles = static_cast<int>(20'000 * scale);
  const auto jobs = static_cast<std::uint64_t>(1'000'000 * scale);
  Bench bench;
  std::vector<WorkerId> workers;
  for (int i = 0; i < 100; ++i) workers.push_back(bench.Join(nullptr));
  // As many as there are to be, whatever was done of them.
  const auto fill = [&] {
    for (std::uint64_t i = bench.engine().looks().Stats().tasks_queued; i < jobs; ++i) {
      JobSpec spec = Tagged(1);
      spec.user = "user-" + std::to_string(i * 2654435761u % 1000);
      spec.meta = {{"customer", "customer-" + std::to_string(i * 40503u % 1000)}};
      spec.priority = static_cast<std::int64_t>(i / 3 % 5);
      bench.Submit(spec);
    }
    Fold(bench.engine());
  };
  // Of each: a cycle, and the same with a steal.
  Cost plain[2][3], steals[2][3];
  double ordered = 0;
  const auto measure = [&](int mode) {
    for (int s = 0; s < 3; ++s) {
      fill();
      for (const WorkerId worker : workers) {
        WorkerChange change;
        change.strategy = Parse(kStrategies[s].text);
        Must(bench.engine().workers().Change(At(bench.ms()), worker, change));
      }
      bench.Settle();
      // Its queue finds its order when it asks.
      bench.TakeLongest();
      for (const WorkerId worker : workers) {
        bench.Timed([&] { bench.Done(worker, First(bench, worker)); });
      }
      ordered = std::max(ordered, bench.TakeLongest());
      plain[mode][s] = Rotate(bench, workers, cycles);
      bench.Later(1000);  // levelled again
      bench.Settle();
      const std::uint64_t promised = Must(bench.engine().looks().DescribeWorker(workers[0])).promised;
      steals[mode][s] = Steal(bench, workers[0], mode == 1 ? promised : jobs / 110, cycles / 2);
    }
  };
  measure(0);
  fill();
  const Work there = Run(bench, [&] { bench.engine().queue().SetDispatch(At(bench.ms()), kLevel); });
  CheckPromised(bench);
  measure(1);
  const Work back = Run(bench, [&] { bench.engine().queue().SetDispatch(At(bench.ms()), kFanout); });
  if (bench.engine().looks().Stats().tasks_promised != 0) throw Failure("something is still promised");
  const Work again = Run(bench, [&] { bench.engine().queue().SetDispatch(At(bench.ms()), kLevel); });
  CheckPromised(bench);
  Note(figures, "dispatch/switch/to_balanced", there);
  Note(figures, "dispatch/switch/to_fanout", back);
  Note(figures, "dispatch/switch/to_balanced_again", again);
  figures.Add("dispatch/switch/slowest_step", std::max({there.longest, back.longest, again.longest}), "ms");
  figures.Add("dispatch/cycle/first_task", ordered, "ms");
  double cycle = 0, steal = 0;
  for (int s = 0; s < 3; ++s) {
    const std::string name = kStrategies[s].name;
    for (int mode = 0; mode < 2; ++mode) {
      const std::string of = mode == 0 ? "fanout/" : "balanced/";
      Note(figures, "dispatch/cycle/" + of + name, plain[mode][s]);
      Note(figures, "dispatch/steal/" + of + name, steals[mode][s]);
    }
    figures.Add("dispatch/cycle/ratio/" + name, plain[1][s].median / plain[0][s].median, "×");
    figures.Add("dispatch/steal/ratio/" + name, steals[1][s].median / steals[0][s].median, "×");
    cycle = std::max(cycle, plain[1][s].median / plain[0][s].median);
    steal = std::max(steal, steals[1][s].median / steals[0][s].median);
  }
  figures.Add("dispatch/cycle/most", cycle, "×");
  figures.Add("dispatch/steal/most", steal, "×");
}

// --- Submits of one task, for very many workers; and of a large job that all of them hold some of, what is stolen.

void MeasureSubmit(double scale, Figures& figures) {
  const auto workers = static_cast<std::uint64_t>(10'000 * scale);
  double fanout = 0, most = 0;
  for (const DispatchOptions& dispatch : kAll) {
    Bench bench(With(dispatch));
    std::vector<WorkerId> all;
    for (std::uint64_t i = 0; i < workers; ++i) all.push_back(bench.Join(nullptr));
    bench.Settle();
    const JobSpec spec = Tagged(1);
    double best = 1e18;
    for (int round = 0; round < 5; ++round) {
      std::vector<double> times;
      for (int i = 0; i < 20'000; ++i) {
        const auto start = SteadyClock::now();
        bench.Submit(spec);
        times.push_back(SecondsSince(start) * 1e6);
      }
      best = std::min(best, CostOf(times).median);
    }
    figures.Add("dispatch/submit/" + NameOf(dispatch), best, "µs");
    if (dispatch.mode == DispatchMode::kFanout) fanout = best;
    most = std::max(most, best / fanout);
    if (dispatch.mode == DispatchMode::kFanout || dispatch.balance != Balance::kLeastQueue) continue;
    Bench large(With(dispatch));
    for (WorkerId& worker : all) worker = large.Join(nullptr);
    large.Settle();
    large.Submit(Tagged(static_cast<std::uint32_t>(workers * 100)));
    Note(figures, "dispatch/steal/large_job", Steal(large, all[0], 100, 5'000));
  }
  figures.Add("dispatch/submit/ratio", most, "×");
}

// --- A worker comes to others with long queues.

void MeasureNewcomer(double scale, Figures& figures) {
  const auto jobs = static_cast<std::uint64_t>(1'000'000 * scale);
  Bench bench(With(kLevel));
  for (int i = 0; i < 10; ++i) First(bench, (bench.Submit(Tagged(1)), bench.Join(nullptr)));
  for (std::uint64_t i = 0; i < jobs; ++i) bench.Submit(Tagged(1));
  bench.Settle();
  CheckPromised(bench);
  Note(figures, "dispatch/newcomer", Run(bench, [&] { JoinAs(bench, 1, {"bench"}); }));
  CheckPromised(bench);
  if (const auto [least, most] = Loads(bench); most > least + 1) throw Failure("they are not level");
}

// --- Ten workers, one of them ten times slower than the others.

// How long they need for all tasks, over what they would need if nobody ever idled.
double MixedSpeeds(const DispatchOptions& dispatch, std::uint32_t tasks, bool one_job) {
  constexpr std::int64_t kFast = 100, kSlow = 1000;  // ms
  Bench bench(With(dispatch));
  using End = std::tuple<std::int64_t, std::uint64_t>;  // when, and which worker
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  std::vector<WorkerId> workers;
  std::vector<TaskRef> running(10);
  PullOptions waits;
  waits.credit = 1;
  std::uint32_t done = 0;
  const auto take = [&] {
    auto [position, effects] = bench.engine().Take();
    for (const GrantBatch& batch : effects.grant_batches) {
      const std::uint64_t at = batch.worker.value - kFirstWorker;
      running[at] = batch.grants.front().task;
      ends.emplace(bench.ms() + (at == 9 ? kSlow : kFast), at);
    }
  };
  for (int i = 0; i < 10; ++i) workers.push_back(bench.Join(nullptr));
  for (std::uint32_t i = 0; i < (one_job ? 1 : tasks); ++i) bench.Submit(Tagged(one_job ? tasks : 1));
  bench.Settle();
  Fold(bench.engine());
  const std::int64_t start = bench.ms();
  for (const WorkerId worker : workers) Must(bench.engine().workers().Pull(At(bench.ms()), worker, waits));
  take();
  while (done < tasks) {
    // Whatever comes first: a task ends, or the engine wants to be called.
    const auto wake = bench.engine().NextWake(At(bench.ms()));
    const std::int64_t tick =
        wake ? std::chrono::ceil<std::chrono::milliseconds>(wake->time_since_epoch()).count() : INT64_MAX;
    const std::int64_t end = ends.empty() ? INT64_MAX : std::get<0>(ends.top());
    if (std::min(tick, end) == INT64_MAX) throw Failure("nobody works, and nothing is due");
    if (tick <= end) {
      bench.Later(std::max<std::int64_t>(0, tick - bench.ms()));
      bench.engine().Tick(At(bench.ms()));
    } else {
      const std::uint64_t at = std::get<1>(ends.top());
      ends.pop();
      bench.Later(end - bench.ms());
      const Report report{running[at], ReportKind::kDone};
      Must(bench.engine().workers().ReportAll(At(bench.ms()), workers[at], {&report, 1}));
      Must(bench.engine().workers().Pull(At(bench.ms()), workers[at], waits));
      ++done;
    }
    take();
    if (done % 1000 == 0) Fold(bench.engine());
  }
  const double ideal = tasks / (9.0 / kFast + 1.0 / kSlow);
  return static_cast<double>(bench.ms() - start) / ideal;
}

void MeasureSpeeds(Figures& figures) {
  double most = 0;
  for (const DispatchOptions& dispatch : kAll) {
    const double one = MixedSpeeds(dispatch, 10'000, true), many = MixedSpeeds(dispatch, 10'000, false);
    figures.Add("dispatch/speeds/" + NameOf(dispatch) + "/one_job", one, "×");
    figures.Add("dispatch/speeds/" + NameOf(dispatch) + "/one_task_jobs", many, "×");
    most = std::max({most, one, many});
  }
  figures.Add("dispatch/speeds/slowest", most, "×");
}

void Measure(double scale, const std::set<std::string>& parts, Figures& figures) {
  if (!(scale >= 0.01 && scale <= 1)) throw Failure("SCALE is a number from 0.01 to 1");
  const auto wants = [&](const char* part) { return parts.empty() || parts.contains(part); };
  if (wants("enqueue")) MeasureEnqueue(scale, figures);
  if (wants("death")) MeasureDeath(scale, figures);
  if (wants("memory")) MeasureMemory(scale, figures);
  if (wants("cycle")) MeasureCycle(scale, figures);
  if (wants("submit")) MeasureSubmit(scale, figures);
  if (wants("newcomer")) MeasureNewcomer(scale, figures);
  if (wants("speeds")) MeasureSpeeds(figures);
}

}  // namespace
}  // namespace allot::bench

int main(int argc, char** argv) {
  allot::JoinFreeMemoryAtOnce();
  const double scale = argc > 1 ? std::strtod(argv[1], nullptr) : 1;
  const std::set<std::string> parts(argv + std::min(argc, 2), argv + argc);
  return allot::bench::PrintFigures(
      "allot_dispatch", [&](allot::bench::Figures& figures) { allot::bench::Measure(scale, parts, figures); });
}
