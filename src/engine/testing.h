// SPDX-License-Identifier: Apache-2.0
// For tests: an engine in virtual time, with shorthand for its commands, and what a store would keep of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/words.h"
#include "engine/engine.h"

namespace allot::testing {

using namespace std::chrono_literals;

// What tests make their engines with. With ALLOT_TEST_DISPATCH=balanced in the environment those promise their tasks:
// all that is said about order, fairness, limits and time holds then too, but for what the design leaves to fanout
// alone (the list is in CMakeLists.txt).
inline EngineOptions TestOptions() {
  EngineOptions options{SipKey{1, 2}};
  const char* dispatch = std::getenv("ALLOT_TEST_DISPATCH");
  if (dispatch != nullptr) options.dispatch.mode = ParseWord<DispatchMode>(dispatch, kDispatchWords).value();
  return options;
}

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override { Load(30s); }

  // The engine as it comes back from what was taken and folded so far.
  void Load(Duration grace) { engine_ = Loaded(grace); }
  // The same as another one.
  std::unique_ptr<Engine> Loaded(Duration grace) const {
    auto engine = std::make_unique<Engine>(options_);
    for (const auto& [key, blob] : records_) {
      EXPECT_TRUE(engine->records().Load(JobId{key.first}, key.second - 1, blob).ok());
    }
    for (const auto& [position, events] : journal_) {
      if (position <= floor_) continue;
      EXPECT_TRUE(engine->records().Replay(position, events).ok());
    }
    engine->records().FinishLoad(now_, grace);
    return engine;
  }
  // One record after another, at most `steps`.
  void Fold(std::size_t steps = SIZE_MAX) {
    Grants();
    for (; steps > 0 && engine_->looks().UnfoldedEvents() > 0; --steps) {
      const FoldStep step = engine_->records().Fold(1);
      for (const Record& record : step.records) records_[{record.job.value, record.page + 1}] = record.blob;
      floor_ = step.floor;
    }
  }

  void Pass(Duration time) {
    // As the server does: a tick at every wake-up.
    const Instant end = now_.mono + time;
    for (;;) {
      const auto wake = engine_->NextWake(now_);
      if (!wake || *wake > end) break;
      Move(std::max(*wake, now_.mono + 1us));
      engine_->Tick(now_);
    }
    Move(end);
    engine_->Tick(now_);
  }
  void Move(Instant to) {
    micros_ += to - now_.mono;
    now_.mono = to;
    now_.wall = FromMillis(kStart) + std::chrono::duration_cast<milliseconds>(micros_);
  }

  JobId Submit(JobSpec spec) {
    auto answer = engine_->jobs().Submit(now_, JobId{++last_id_}, spec);
    EXPECT_TRUE(answer.ok()) << answer.error().message;
    return answer->job;
  }
  JobSpec Spec(std::uint32_t count, std::vector<std::string> tags = {"a"}) {
    JobSpec spec;
    spec.count = count;
    spec.tags = std::move(tags);
    spec.backoff.jitter = 0;
    return spec;
  }
  WorkerId Register(std::vector<std::string> tags = {"a"}, bool connected = true) {
    WorkerSpec spec;
    spec.id = WorkerId{++last_id_};
    spec.tags = std::move(tags);
    spec.connected = connected;
    auto answer = engine_->workers().Register(now_, spec, std::nullopt);
    EXPECT_TRUE(answer.ok());
    key_of_[spec.id] = answer->key;
    return answer->worker;
  }
  // A connected worker with that strategy; empty: the default.
  WorkerId RegisterBy(const std::string& strategy, std::vector<std::string> tags = {"a"}, std::uint32_t slots = 1,
                      const std::string& user = {}) {
    WorkerSpec spec;
    spec.user = user;
    spec.id = WorkerId{++last_id_};
    spec.tags = std::move(tags);
    spec.connected = true;
    spec.slots = slots;
    if (!strategy.empty()) spec.strategy = Strategy(strategy);
    auto answer = engine_->workers().Register(now_, spec, std::nullopt);
    EXPECT_TRUE(answer.ok());
    key_of_[spec.id] = answer->key;
    return spec.id;
  }
  static StrategyPtr Strategy(const std::string& text, bool policy = false) {
    const ParsedStrategy parsed = ParseStrategy(text, policy);
    EXPECT_NE(parsed.strategy, nullptr) << text << ": " << parsed.error.message;
    return parsed.strategy;
  }
  void SetPolicy(const std::string& text, const Weights& weights = {}) {
    options_.policy = Strategy(text, true);
    options_.weights = weights;
    engine_->queue().SetPolicy(now_, options_.policy, weights);
  }
  RegisterAnswer ComeBack(WorkerId worker, std::vector<TaskRef> resume) {
    WorkerSpec spec;
    spec.id = worker;
    spec.tags = {"a"};
    spec.connected = true;
    spec.resume = std::move(resume);
    auto answer = engine_->workers().Register(now_, spec, key_of_[worker]);
    EXPECT_TRUE(answer.ok());
    return *answer;
  }
  void Wait(WorkerId worker, std::uint32_t credit = 1) {
    EXPECT_TRUE(engine_->workers().Pull(now_, worker, PullOptions{credit, false, std::nullopt}).ok());
  }
  // Who got something in the last effects, in order.
  std::vector<WorkerId> Served() {
    Grants();
    std::vector<WorkerId> workers;
    for (const GrantBatch& batch : last_.grant_batches) workers.push_back(batch.worker);
    return workers;
  }
  std::vector<Grant> Grants() {
    auto [position, effects] = engine_->Take();
    last_ = std::move(effects);
    if (!last_.events.empty()) journal_[position] = last_.events;
    for (const Removal& removal : last_.removed) {
      std::erase_if(records_, [&](const auto& entry) { return entry.first.first == removal.job.value; });
    }
    std::vector<Grant> grants;
    for (auto& batch : last_.grant_batches) {
      grants.insert(grants.end(), batch.grants.begin(), batch.grants.end());
    }
    return grants;
  }
  std::vector<Grant> Pull(WorkerId worker, std::uint32_t credit = 1) {
    Grants();
    EXPECT_TRUE(engine_->workers().Pull(now_, worker, PullOptions{credit, false, 0s}).ok());
    return Grants();
  }
  ReportVerdict Say(WorkerId worker, const TaskRef& task, ReportKind kind) {
    const Report report{task, kind};
    auto verdicts = engine_->workers().ReportAll(now_, worker, std::span(&report, 1));
    EXPECT_TRUE(verdicts.ok());
    return verdicts->front();
  }
  JobView View(JobId job) { return *engine_->looks().Describe(job); }

  static constexpr std::int64_t kStart = 1'800'000'000'000;
  Now now_{Instant(1s), FromMillis(kStart)};
  Duration micros_{0};
  std::uint64_t last_id_ = 100;
  std::map<WorkerId, std::uint64_t> key_of_;
  Effects last_;
  EngineOptions options_ = TestOptions();
  std::unique_ptr<Engine> engine_;
  // As a store keeps them: a job's own record before its pages, thus page + 1.
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::string> records_;
  std::map<Position, std::string> journal_;
  Position floor_ = 0;
};

}  // namespace allot::testing
