// SPDX-License-Identifier: Apache-2.0
// What limits on starts cost: a start that many limits look at, jobs beside a million that are blocked, each start
// that a limit pays for, and a limit that is new to a large queue.
//
//   allot_limits [SCALE] [PART...]     (default 1: 10^6 one-task jobs of 10^4 users)
//
// Parts: matching priority fair distinct_random; all by default. Time is virtual, and nothing is counted but the
// commands that are named.
#include <cstdlib>
#include <optional>

#include "backlog.h"
#include "limits/limit.h"

namespace allot::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kCycles = 20'000;

LimitSpec Limit(const std::string& expr, double count, Duration window) {
  LimitSpec spec;
  spec.tag = "bench";
  spec.expr = Must(ParseLimitExpr("expr", expr));
  spec.count = count;
  spec.window = window;
  spec.expires_in = 300s;
  return spec;
}

void Set(Bench& bench, const std::string& uuid, const LimitSpec& spec) {
  bench.Timed([&] { Must(bench.engine().limits().Create(At(bench.ms()), uuid, spec)); });
}

void Fill(Bench& bench, std::uint64_t jobs, std::uint64_t users, const std::string& prefix) {
  for (std::uint64_t i = 0; i < jobs; ++i) {
    JobSpec spec;
    spec.tags = {"bench"};
    spec.user = prefix + std::to_string(i * 2654435761u % users);
    bench.Submit(spec);
  }
  Fold(bench.engine());
}

// A hundred limits, of which ten match each start and none denies any; in turn with none, and the best of each counts.
void MeasureMatching(Figures& figures) {
  std::optional<Cost> best[2];
  for (int round = 0; round < 6; ++round) {
    const bool limited = round % 2 == 1;
    Bench bench;
    Fill(bench, 100'000, 100, "user-");
    const WorkerId worker = bench.Join(Parse("priority"));
    for (int i = 0; limited && i < 100; ++i) {
      const std::string text = i < 10 ? "User != \"nobody-" + std::to_string(i) + "\""
                                      : "User == \"nobody-" + std::to_string(i) + "\" && TARGET.Slots > 0";
      Set(bench, "limit-" + std::to_string(i), Limit(text, 1e9, 60s));
    }
    bench.Settle();
    const Cost found = Cycle(bench, worker, kCycles, 0);
    if (!best[limited] || found.median < best[limited]->median) best[limited] = found;
  }
  Note(figures, "limits/none", *best[0]);
  Note(figures, "limits/100_limits", *best[1]);
  figures.Add("limits/100_limits/ratio", best[1]->median / best[0]->median, "");
}

// Many jobs of many users wait first in order, and one limit holds them all back.
void MeasureBlocked(double scale, const std::string& strategy, const std::string& name, Figures& figures) {
  Bench bench;
  Fill(bench, static_cast<std::uint64_t>(1e6 * scale), static_cast<std::uint64_t>(1e4 * scale), "held-");
  const WorkerId worker = bench.Join(Parse(strategy));
  bench.Settle();
  // As it is without the limit: the same jobs, and the others alone.
  const Cost all = Cycle(bench, worker, kCycles, 0);
  Note(figures, "limits/" + name + "/unblocked", all);
  Fill(bench, 60'000, 10, "other-");
  bench.TakeLongest();

  const double before = CpuSeconds();
  Set(bench, "stop", Limit("regexp(\"^held-\", User)", 0, 1s));
  // Somebody waits for what is left, while all jobs are looked at.
  PullOptions waits;
  waits.credit = 1;
  bench.Timed([&] { Must(bench.engine().workers().Pull(At(bench.ms()), worker, waits)); });
  std::vector<TaskRef> first = bench.Granted();
  while (first.empty()) {
    bench.Timed([&] { bench.engine().Tick(At(bench.ms())); });
    first = bench.Granted();
  }
  figures.Add("limits/" + name + "/first_other", CpuSeconds() - before, "s");
  bench.Settle();
  figures.Add("limits/" + name + "/settled", CpuSeconds() - before, "s");
  figures.Add("limits/" + name + "/longest_step", bench.TakeLongest(), "ms");
  bench.Done(worker, first.front());

  const Cost others = Cycle(bench, worker, kCycles, 0);
  Note(figures, "limits/" + name + "/others", others);
  figures.Add("limits/" + name + "/others/ratio", others.median / all.median, "");
  // What others get done in a time, of what they got done before.
  figures.Add("limits/" + name + "/others/rate", all.mean / others.mean, "");

  // The limit pays a start every millisecond. Between two of them somebody asks in vain, so that each has to open what
  // was blocked; that question is told beside.
  Must(bench.engine().limits().Update(At(bench.ms()), "stop", Limit("regexp(\"^held-\", User)", 1000, 1s)));
  bench.Settle();
  for (;;) {  // the others, and what has gathered
    const std::vector<TaskRef> tasks = bench.Pull(worker);
    if (tasks.empty()) break;
    bench.Done(worker, tasks.front());
  }
  std::vector<double> starts, questions;
  std::optional<Cost> token;  // the best of some rounds, as without limits
  for (int i = 1; i <= kCycles; ++i) {
    if (i % 1000 == 0) {
      Fold(bench.engine());
      Must(bench.engine().limits().Renew(At(bench.ms()), "stop", std::nullopt));
    }
    bench.Later(1);
    const auto start = SteadyClock::now();
    const std::vector<TaskRef> tasks = bench.Pull(worker);
    if (tasks.size() != 1) throw Failure("a millisecond paid for " + std::to_string(tasks.size()) + " starts");
    bench.Done(worker, tasks.front());
    starts.push_back(SecondsSince(start) * 1e6);
    const auto question = SteadyClock::now();
    if (!bench.Pull(worker).empty()) throw Failure("a start was not paid for");
    questions.push_back(SecondsSince(question) * 1e6);
    if (i % (kCycles / 5) != 0) continue;
    const Cost round = CostOf(starts);
    if (!token || round.median < token->median) token = round;
    starts.clear();
  }
  Note(figures, "limits/" + name + "/token", *token);
  figures.Add("limits/" + name + "/token/ratio", token->median / all.median, "");
  figures.Add("limits/" + name + "/in_vain", CostOf(questions).median, "µs");

  // The same for one who waits: woken, served, and finding no more.
  PullOptions many;
  many.credit = 10'000;
  std::vector<double> wakes;
  for (int i = 0; i < kCycles / 4; ++i) {
    if (i % 1000 == 0) {
      Fold(bench.engine());
      Must(bench.engine().limits().Renew(At(bench.ms()), "stop", std::nullopt));
      Must(bench.engine().workers().Pull(At(bench.ms()), worker, many));
      bench.Granted();
    }
    bench.Later(1);
    const auto start = SteadyClock::now();
    bench.engine().Tick(At(bench.ms()));
    const std::vector<TaskRef> tasks = bench.Granted();
    if (tasks.size() != 1) throw Failure("a millisecond paid for " + std::to_string(tasks.size()) + " starts");
    bench.Done(worker, tasks.front());
    wakes.push_back(SecondsSince(start) * 1e6);
  }
  Note(figures, "limits/" + name + "/woken", CostOf(wakes));

  // And when it is gone.
  bench.TakeLongest();
  const double gone = CpuSeconds();
  Must(bench.engine().limits().Delete(At(bench.ms()), "stop"));
  bench.Settle();
  bench.Later(11'000);
  bench.Settle();
  figures.Add("limits/" + name + "/gone", CpuSeconds() - gone, "s");
  figures.Add("limits/" + name + "/gone/longest_step", bench.TakeLongest(), "ms");
}

}  // namespace
}  // namespace allot::bench

int main(int argc, char** argv) {
  using namespace allot::bench;
  const double scale = argc > 1 ? std::atof(argv[1]) : 1;
  const std::vector<std::string> parts(argv + std::min(argc, 2), argv + argc);
  const auto wants = [&](const char* part) {
    return parts.empty() || std::find(parts.begin(), parts.end(), part) != parts.end();
  };
  return PrintFigures("allot_limits", [&](Figures& figures) {
    if (wants("matching")) MeasureMatching(figures);
    if (wants("priority")) MeasureBlocked(scale, "priority", "priority", figures);
    if (wants("fair")) MeasureBlocked(scale, "fair(user, oldest)", "fair", figures);
    if (wants("distinct_random")) MeasureBlocked(scale, "prefer_distinct(user, 1, random)", "distinct_random", figures);
  });
}
