// SPDX-License-Identifier: Apache-2.0
// Runs simulated worlds, one for each seed, and sees to it that they got everywhere.
//
//   ALLOT_<NAME>_SEED=n   runs that seed alone
//   ALLOT_<NAME>_SEEDS=n  runs that many
//   ALLOT_SIM_TALLY=1     prints how often what happened
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <string>

namespace allot::simulation {

struct Seeds {
  std::string name;           // in the environment
  int steps = 0;              // of each
  std::uint64_t reached = 0;  // so often, and more, by twenty seeds: each of `what`
};

template <typename SomeWorld>
void RunSeeds(const Seeds& seeds, std::initializer_list<const char*> what) {
  const auto asked = [&](const char* end, std::uint64_t otherwise) {
    const char* text = std::getenv(("ALLOT_" + seeds.name + end).c_str());
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  };
  const std::uint64_t only = asked("_SEED", 0), first = only == 0 ? 1 : only;
  const std::uint64_t count = only == 0 ? asked("_SEEDS", 20) : 1;
  std::map<std::string, std::uint64_t> tally;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SomeWorld world(seed);
    const std::string again = "\nrepeat with ALLOT_" + seeds.name + "_SEED=" + std::to_string(seed);
    for (int i = 0; i < seeds.steps; ++i) ASSERT_TRUE(world.Step()) << world.wrong() << again;
    ASSERT_TRUE(world.Finish()) << world.wrong() << again;
    world.decisions().Write(seeds.name, seed);
    for (const auto& [event, times] : world.tally()) tally[event] += times;
  }
  // A simulation that never gets somewhere proves nothing there.
  for (const auto& [event, times] : tally) ::testing::Test::RecordProperty(event, std::to_string(times));
  if (std::getenv("ALLOT_SIM_TALLY") != nullptr) {
    for (const auto& [event, times] : tally) {
      std::printf("%-24s %llu\n", event.c_str(), static_cast<unsigned long long>(times));
    }
  }
  if (only != 0) return;
  for (const char* event : what) EXPECT_GT(tally[event], seeds.reached * count / 20) << event;
}

}  // namespace allot::simulation
