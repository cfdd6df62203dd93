// SPDX-License-Identifier: Apache-2.0
#include "server/queue/render_lane.h"

#include <gtest/gtest.h>

#include <future>

#include "server/ops/metrics.h"

namespace allot {
namespace {

TEST(RenderLane, OnlySoManyOfOneAskerWaitAndOthersHaveRoom) {
  Metrics metrics("test");
  ExceptionLog exceptions(metrics);
  RenderLane lane(exceptions);
  std::promise<void> go;
  std::size_t ran = 0;
  // Posts it if there is a place.
  const auto post = [&lane](AskerId asker, Closure work) {
    Admission::Entry place = lane.Enter(asker);
    if (!place) return false;
    lane.Post(asker, std::move(work), std::move(place));
    return true;
  };
  const auto count = [&ran] { ++ran; };
  ASSERT_TRUE(post(1, [&] { go.get_future().wait(); }));
  for (std::size_t i = 1; i < RenderLane::kMostOfOne; ++i) ASSERT_TRUE(post(1, count));
  EXPECT_FALSE(post(1, count));
  std::size_t entered = RenderLane::kMostOfOne;
  for (AskerId asker = 2; post(asker, count); ++asker) ++entered;
  EXPECT_EQ(entered, RenderLane::kMostOfAll);
  // What something else bounds is always taken.
  lane.Post(1, count);
  // What is done, or throws, gives its place back.
  lane.Post(1, [] { throw 1; });
  go.set_value();
  while (!post(1, count)) {
  }
  lane.Finish();
  EXPECT_EQ(ran, RenderLane::kMostOfAll + 1);
}

}  // namespace
}  // namespace allot
