// SPDX-License-Identifier: Apache-2.0
// A million random steps of engine and model side by side.
//
//   ALLOT_SIM_SEED=n   runs that seed alone
//   ALLOT_SIM_STEPS=n  steps in all, instead of a million (under a sanitizer, a hundred thousand)
#include "simulation/simulation.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "base/sanitizers.h"
#include "strategy/orders.h"

namespace allot::simulation {
namespace {

constexpr std::uint64_t kSteps = 1'000'000;
constexpr std::uint64_t kStepsPerSeed = 10'000;

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// As the model does; in steps it goes in EngineToldTest.
struct AllUpdatesAtOnce {
  AllUpdatesAtOnce() { UpdateBudget::updates_at_once = 1'000'000'000; }
  ~AllUpdatesAtOnce() { UpdateBudget::updates_at_once = before; }
  const std::size_t before = UpdateBudget::updates_at_once;
};

TEST(Simulation, EngineAndModelAgreeOverAMillionRandomSteps) {
  const std::uint64_t steps = FromEnvironment("ALLOT_SIM_STEPS", Rounds(kSteps));
  const std::uint64_t only = FromEnvironment("ALLOT_SIM_SEED", 0);
  const AllUpdatesAtOnce all_at_once;
  std::map<std::string, std::uint64_t> tally;
  std::uint64_t done = 0;
  for (std::uint64_t seed = only != 0 ? only : 1; done < steps; ++seed) {
    Simulation simulation(seed);
    const std::uint64_t most = only != 0 ? steps : std::min(kStepsPerSeed, steps - done);
    while (simulation.steps() < most) {
      ASSERT_TRUE(simulation.Step()) << simulation.difference() << "\nrepeat with ALLOT_SIM_SEED=" << seed;
    }
    done += simulation.steps();
    simulation.decisions().Write("SIM", seed);
    for (const auto& [what, times] : simulation.tally()) tally[what] += times;
  }
  // A simulation that never gets somewhere proves nothing there.
  for (const auto& [what, times] : tally) RecordProperty(what, std::to_string(times));
  if (std::getenv("ALLOT_SIM_TALLY") != nullptr) {
    for (const auto& [what, times] : tally)
      std::printf("%-24s %llu\n", what.c_str(), static_cast<unsigned long long>(times));
  }
  if (steps < kSteps || only != 0) return;
  for (const char* what : {"submit",
                           "submit refused",
                           "submit existing",
                           "change",
                           "change refused",
                           "cancel",
                           "pause",
                           "resume",
                           "retry",
                           "retry refused",
                           "policy",
                           "register",
                           "come back",
                           "come back refused",
                           "resumed",
                           "lost",
                           "pull",
                           "pull refused",
                           "report taken",
                           "report stale",
                           "report of an ended job",
                           "extend",
                           "drain",
                           "heartbeat",
                           "grant",
                           "nothing",
                           "cancel order",
                           "drain order",
                           "gone",
                           "ended",
                           "error",
                           "removed",
                           "records",
                           "crash",
                           "batches lost",
                           "clock step",
                           "stall"}) {
    EXPECT_GT(tally[what], 100u) << what;
  }
}

TEST(Simulation, TheSameSeedGivesTheSameEffectsToTheByte) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Simulation one(seed), two(seed);
    for (int i = 0; i < 5000; ++i) {
      ASSERT_TRUE(one.Step()) << one.difference() << "\nseed " << seed;
      ASSERT_TRUE(two.Step()) << two.difference() << "\nseed " << seed;
      ASSERT_EQ(one.effects_hash(), two.effects_hash()) << "seed " << seed << ", step " << i;
    }
  }
}

}  // namespace
}  // namespace allot::simulation
