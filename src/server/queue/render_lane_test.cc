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
  ASSERT_TRUE(lane.Enter(1));
  lane.Post(
      1, [&] { go.get_future().wait(); }, RenderLane::Place::kEntered);
  for (std::size_t i = 1; i < RenderLane::kMostOfOne; ++i) {
    ASSERT_TRUE(lane.Enter(1));
    lane.Post(
        1, [&] { ++ran; }, RenderLane::Place::kEntered);
  }
  EXPECT_FALSE(lane.Enter(1));
  std::size_t entered = RenderLane::kMostOfOne;
  for (AskerId asker = 2; lane.Enter(asker); ++asker) {
    ++entered;
    lane.Post(
        asker, [&] { ++ran; }, RenderLane::Place::kEntered);
  }
  EXPECT_EQ(entered, RenderLane::kMostOfAll);
  // What something else bounds is always taken.
  lane.Post(
      1, [&] { ++ran; }, RenderLane::Place::kUnbounded);
  // What is done, or throws, gives its place back.
  lane.Post(
      1, [] { throw 1; }, RenderLane::Place::kUnbounded);
  go.set_value();
  for (bool room = false; !room;) {
    room = lane.Enter(1);
    if (room)
      lane.Post(
          1, [&] { ++ran; }, RenderLane::Place::kEntered);
  }
  lane.Finish();
  EXPECT_EQ(ran, RenderLane::kMostOfAll + 1);
}

}  // namespace
}  // namespace allot
