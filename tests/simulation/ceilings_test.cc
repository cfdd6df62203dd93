// Workers in a crowd never get more of a value than its maximum, whatever happens, and afterwards exactly as much.
//
//   ALLOT_CEILINGS_SEED=n  runs that seed alone
#include "simulation/ceilings.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace allot::simulation {
namespace {

TEST(Ceilings, AMaximumIsNeverExceededAndAfterwardsCountsAreExact) {
  constexpr std::uint64_t kSeeds = 20;
  constexpr int kStepsPerSeed = 3'000;
  const char* only = std::getenv("ALLOT_CEILINGS_SEED");
  const std::uint64_t first = only == nullptr ? 1 : std::strtoull(only, nullptr, 10);
  std::map<std::string, std::uint64_t> tally;
  for (std::uint64_t seed = first; seed < (only == nullptr ? first + kSeeds : first + 1); ++seed) {
    Ceilings ceilings(seed);
    for (int i = 0; i < kStepsPerSeed; ++i) {
      ASSERT_TRUE(ceilings.Step()) << ceilings.wrong() << "\nrepeat with ALLOT_CEILINGS_SEED=" << seed;
    }
    ASSERT_TRUE(ceilings.Finish()) << ceilings.wrong() << "\nrepeat with ALLOT_CEILINGS_SEED=" << seed;
    for (const auto& [what, times] : ceilings.tally()) tally[what] += times;
  }
  // A simulation that never gets somewhere proves nothing there.
  for (const auto& [what, times] : tally) RecordProperty(what, std::to_string(times));
  if (std::getenv("ALLOT_SIM_TALLY") != nullptr) {
    for (const auto& [what, times] : tally)
      std::printf("%-24s %llu\n", what.c_str(), static_cast<unsigned long long>(times));
  }
  if (only != nullptr) return;
  for (const char* what :
       {"grant", "expired", "timeout", "gone", "removed", "asked again", "crash", "crash that loses", "burst",
        "undelivered", "report", "resumed", "unregister", "disconnect", "cancel", "retry", "change", "policy"}) {
    EXPECT_GT(tally[what], 50u) << what;
  }
}

}  // namespace
}  // namespace allot::simulation
