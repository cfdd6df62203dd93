// No start is paid for by less than it costs, and nothing waits that may start, whatever happens to limits.
//
//   ALLOT_LIMITS_SEED=n   runs that seed alone
//   ALLOT_LIMITS_SEEDS=n  runs that many
#include "simulation/limits.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace allot::simulation {
namespace {

using namespace std::chrono_literals;

std::uint64_t Asked(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(Limits, EveryStartIsPaidForAndNothingWaitsThatMayStart) {
  constexpr int kStepsPerSeed = 3'000;
  const bool only = std::getenv("ALLOT_LIMITS_SEED") != nullptr;
  const std::uint64_t first = Asked("ALLOT_LIMITS_SEED", 1);
  const std::uint64_t seeds = only ? 1 : Asked("ALLOT_LIMITS_SEEDS", 20);
  std::map<std::string, std::uint64_t> tally;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    Limits limits(seed);
    for (int i = 0; i < kStepsPerSeed; ++i) {
      ASSERT_TRUE(limits.Step()) << limits.wrong() << "\nrepeat with ALLOT_LIMITS_SEED=" << seed;
    }
    ASSERT_TRUE(limits.Finish()) << limits.wrong() << "\nrepeat with ALLOT_LIMITS_SEED=" << seed;
    for (const auto& [what, times] : limits.tally()) tally[what] += times;
  }
  // A simulation that never gets somewhere proves nothing there.
  for (const auto& [what, times] : tally) RecordProperty(what, std::to_string(times));
  if (std::getenv("ALLOT_SIM_TALLY") != nullptr) {
    for (const auto& [what, times] : tally)
      std::printf("%-24s %llu\n", what.c_str(), static_cast<unsigned long long>(times));
  }
  if (only) return;
  for (const char* what : {"start",
                           "start that draws",
                           "start past a monitor",
                           "held",
                           "waits",
                           "asked again",
                           "pull for all there is",
                           "look at who waits",
                           "limit",
                           "update",
                           "same terms again",
                           "renewal",
                           "delete",
                           "expired",
                           "summary",
                           "cost that fails",
                           "undelivered",
                           "pull and vanish",
                           "report",
                           "resumed",
                           "unregister",
                           "disconnect",
                           "drain",
                           "worker changes",
                           "change",
                           "cancel",
                           "pause",
                           "retry",
                           "policy",
                           "queue paused",
                           "failed command",
                           "gone",
                           "removed",
                           "crash"}) {
    EXPECT_GT(tally[what], 10 * seeds / 20) << what;
  }
}

}  // namespace
}  // namespace allot::simulation
