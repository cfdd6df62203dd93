// SPDX-License-Identifier: Apache-2.0
// Workers in a crowd never get more of a value than its maximum, whatever happens, and afterwards exactly as much.
#include "simulation/ceilings.h"

#include <gtest/gtest.h>

#include "simulation/seeds.h"

namespace allot::simulation {
namespace {

TEST(Ceilings, AMaximumIsNeverExceededAndAfterwardsCountsAreExact) {
  RunSeeds<Ceilings>({"CEILINGS", 3'000, 50}, {"grant", "expired", "timeout", "gone", "removed", "asked again", "crash",
                                               "crash that loses", "burst", "undelivered", "report", "resumed",
                                               "unregister", "disconnect", "cancel", "retry", "change", "policy"});
}

}  // namespace
}  // namespace allot::simulation
