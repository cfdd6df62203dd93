// SPDX-License-Identifier: Apache-2.0
// What an explanation costs: on a network thread, never on the engine's.
#include <benchmark/benchmark.h>

#include <string>

#include "match/constraints.h"
#include "match/explain.h"
#include "match/testing.h"

namespace allot {
namespace {

using testing::MustParse;

MatchSnapshot Snapshot(std::size_t workers, const std::string& requirements) {
  MatchSnapshot snapshot;
  snapshot.job = JobId{1};
  snapshot.queued = 1;
  snapshot.tags = {{"render", {}}, {"gpuu", {}}};
  snapshot.constraints = {{{"gpu", "a100"}}};
  snapshot.constraint_tags = ConstraintTags(snapshot.constraints);
  snapshot.requirements = MustParse(requirements);
  snapshot.ad = std::make_shared<const expr::Ad>();
  for (std::size_t i = 0; i < workers; ++i) {
    expr::Ad ad;
    ad.Set("Name", expr::Value::String("node-" + std::to_string(i)));
    ad.Set("Memory", expr::Value::Integer(static_cast<std::int64_t>(i % 100) * 64));
    ad.Set("Arch", expr::Value::String("x86_64"));
    for (int k = 0; k < 8; ++k) ad.Set("attribute" + std::to_string(k), expr::Value::Integer(k));
    const Properties properties = {{"gpu", "a100"}, {"mem", "high"}};
    auto traits = std::make_shared<WorkerTraits>(WorkerTraits{{"gpu", "render"},
                                                              properties,
                                                              ConstraintTags(properties),
                                                              nullptr,
                                                              nullptr,
                                                              std::make_shared<const expr::Ad>(std::move(ad))});
    snapshot.workers.push_back({WorkerId{i + 1}, std::move(traits), 4, 0, false, false});
  }
  return snapshot;
}

// No worker has the tag; the nearest is looked for among all.
void BM_ExplainTags(benchmark::State& state) {
  const MatchSnapshot snapshot =
      Snapshot(static_cast<std::size_t>(state.range(0)), "TARGET.Memory >= 8192 && TARGET.Arch == \"arm64\"");
  for (auto _ : state) benchmark::DoNotOptimize(Explain(snapshot));
}
BENCHMARK(BM_ExplainTags)->Arg(10'000)->Unit(benchmark::kMillisecond);

// All have the tags, and every clause is counted for each.
void BM_ExplainRequirements(benchmark::State& state) {
  MatchSnapshot snapshot =
      Snapshot(static_cast<std::size_t>(state.range(0)),
               "TARGET.Memory >= 8192 && TARGET.Arch == \"arm64\" && TARGET.Disk > 5 && TARGET.attribute3 == 3");
  snapshot.tags.pop_back();
  for (auto _ : state) benchmark::DoNotOptimize(Explain(snapshot));
}
BENCHMARK(BM_ExplainRequirements)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace allot
