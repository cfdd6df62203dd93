// SPDX-License-Identifier: Apache-2.0
// What limits cost a start: a draw, a denial, a token that wakes what waits, and finding a job's group.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "limits/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;
using expr::Value;
using testing::AddJob;
using testing::AddWorker;
using testing::AtTime;
using testing::SomeLimit;

// `limits` limits, of which `matching` match the jobs of ann, and the others nobody's.
void Fill(LimitTable& table, int limits, int matching, double count) {
  for (int i = 0; i < limits; ++i) {
    const std::string user = i < matching ? "ann" : "u" + std::to_string(i);
    LimitSpec spec = SomeLimit("MY.User == \"" + user + "\"", count);
    spec.window = 1s;
    CHECK(table.Create("l" + std::to_string(i), std::move(spec), AtTime(0s)).ok());
  }
}

void BM_Draw(benchmark::State& state) {
  LimitTable table;
  Fill(table, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), 1e9);
  const auto worker = AddWorker(table);
  const GroupId group = AddJob(table, {{"User", Value::String("ann")}});
  Duration now = 1s;
  for (auto _ : state) {
    now += 1us;
    benchmark::DoNotOptimize(table.Draw(group, worker, "ann", AtTime(now)).allowed());
  }
}
BENCHMARK(BM_Draw)->Args({0, 0})->Args({1, 1})->Args({100, 1})->Args({100, 10})->Args({1000, 10});

void BM_DrawOfLimitsThatReadTheWorker(benchmark::State& state) {
  LimitTable table;
  for (int i = 0; i < 10; ++i) {
    CHECK(
        table.Create("l" + std::to_string(i), SomeLimit("MY.User == \"ann\" && TARGET.Site == \"x\"", 1e12), AtTime(0s))
            .ok());
  }
  const auto worker = AddWorker(table, {{"Site", Value::String("x")}});
  const GroupId group = AddJob(table, {{"User", Value::String("ann")}});
  Duration now = 1s;
  for (auto _ : state) {
    now += 1us;
    benchmark::DoNotOptimize(table.Draw(group, worker, "ann", AtTime(now)).allowed());
  }
}
BENCHMARK(BM_DrawOfLimitsThatReadTheWorker);

// One token: what waits is opened, starts, and is blocked again.
void BM_TokenPaidOut(benchmark::State& state) {
  LimitTable table;
  Fill(table, 100, static_cast<int>(state.range(0)), 1);
  const auto worker = AddWorker(table);
  const GroupId group = AddJob(table, {{"User", Value::String("ann")}});
  Duration now = 1s;
  while (table.Draw(group, worker, "ann", AtTime(now)).allowed()) {
  }
  for (auto _ : state) {
    now += 1s;
    CHECK(table.waits().TakePayable(AtTime(now)).size() == 1);
    CHECK(table.Draw(group, worker, "ann", AtTime(now)).allowed());
    CHECK(!table.Draw(group, worker, "ann", AtTime(now)).allowed());
  }
}
BENCHMARK(BM_TokenPaidOut)->Arg(1)->Arg(10);

// With groups of ten thousand costs that wait for the same limit.
void BM_TokenPaidOutBeforeCostlierGroups(benchmark::State& state) {
  LimitTable table;
  LimitSpec spec = SomeLimit("true", 20'000, "MY.Weight");
  spec.window = 20'000s;
  CHECK(table.Create("l", spec, AtTime(0s)).ok());
  const auto worker = AddWorker(table);
  std::vector<GroupId> groups;
  for (int weight = 1; weight <= 10'000; ++weight)
    groups.push_back(AddJob(table, {{"Weight", Value::Integer(weight)}}));
  Duration now = 1s;
  while (table.Draw(groups[0], worker, "ann", AtTime(now)).allowed()) {
  }
  for (const GroupId group : groups) CHECK(!table.Draw(group, worker, "ann", AtTime(now)).allowed());
  for (auto _ : state) {
    now += 1s;
    CHECK(table.waits().TakePayable(AtTime(now)).size() == 1);
    CHECK(table.Draw(groups[0], worker, "ann", AtTime(now)).allowed());
    CHECK(!table.Draw(groups[0], worker, "ann", AtTime(now)).allowed());
  }
}
BENCHMARK(BM_TokenPaidOutBeforeCostlierGroups);

// The groups of jobs of ten thousand users, after the first of each.
void BM_GroupOfAJob(benchmark::State& state) {
  LimitTable table;
  Fill(table, static_cast<int>(state.range(0)), 1, 1);
  std::vector<std::string> users;
  for (int i = 0; i < 10'000; ++i) users.push_back("u" + std::to_string(i));
  std::size_t next = 0;
  for (auto _ : state) {
    const std::string& user = users[next++ % users.size()];
    benchmark::DoNotOptimize(AddJob(table, {{"User", Value::String(user)}, {"Priority", Value::Integer(1)}}));
  }
}
BENCHMARK(BM_GroupOfAJob)->Arg(0)->Arg(1)->Arg(100);

}  // namespace
}  // namespace allot
