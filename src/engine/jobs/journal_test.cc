// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/journal.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

class JournalTest : public ::testing::Test {
 protected:
  Journal journal_;
  EngineJob small_{JobId{1}, 5}, large_{JobId{2}, 100'000};
};

TEST_F(JournalTest, PositionsIncreaseWithEventsAlone) {
  EXPECT_EQ(journal_.Take().first, 1u);
  journal_.effects().gone.push_back(WorkerId{1});
  EXPECT_EQ(journal_.Take().first, 1u);
  journal_.Event(EventType::kQueuePaused).U8(1);
  const auto [position, effects] = journal_.Take();
  EXPECT_EQ(position, 1u);
  EXPECT_EQ(effects.event_count, 1u);
  EXPECT_EQ(effects.events.size(), 2u);
  EXPECT_EQ(journal_.position(), 2u);
}

TEST_F(JournalTest, WhatChangesTwiceIsStoredOnce) {
  journal_.TaskEvent(EventType::kDone, small_, 0, 0);
  journal_.TaskEvent(EventType::kDone, small_, 1, 0);
  journal_.TaskEvent(EventType::kDone, large_, 0, 0);
  journal_.TaskEvent(EventType::kDone, large_, 40'000, 0);
  journal_.TaskEvent(EventType::kDone, large_, 40'001, 0);
  journal_.MarkQueue();
  journal_.MarkQueue();
  journal_.Take();
  EXPECT_EQ(journal_.dirty(), 4u);  // the small job, two pages, the queue
  EXPECT_EQ(journal_.TakeDirty()->job, small_.id());
  small_.dirty = false;
  EXPECT_EQ(journal_.TakeDirty()->page, 0u);
  EXPECT_EQ(journal_.TakeDirty()->page, PageOf(40'000));
  EXPECT_EQ(journal_.TakeDirty()->job, kQueueRecord);
  EXPECT_FALSE(journal_.TakeDirty().has_value());
  // It may change again.
  journal_.TaskEvent(EventType::kDone, large_, 3, 0);
  journal_.TaskEvent(EventType::kDone, small_, 3, 0);
  EXPECT_EQ(journal_.dirty(), 2u);
}

TEST_F(JournalTest, TheFloorIsBeforeTheOldestChangeThatIsInNoRecord) {
  for (EngineJob* job : {&small_, &large_}) {
    journal_.TaskEvent(EventType::kDone, *job, 0, 0);
    journal_.Take();
  }
  EXPECT_EQ(journal_.Unfolded(), 2u);
  EXPECT_EQ(journal_.Floor(), 0u);
  journal_.TakeDirty();
  EXPECT_EQ(journal_.Floor(), 1u);
  EXPECT_EQ(journal_.Unfolded(), 1u);
  journal_.TakeDirty();
  EXPECT_EQ(journal_.Floor(), 2u);
  EXPECT_EQ(journal_.Unfolded(), 0u);
}

TEST_F(JournalTest, ALoadGoesOnBehindAllThatWasStored) {
  journal_.Loaded(17);
  journal_.Loaded(4);
  EXPECT_EQ(journal_.position(), 18u);
  journal_.BeginReplay(20);
  journal_.EndReplay(3);
  EXPECT_EQ(journal_.position(), 21u);
  EXPECT_EQ(journal_.Unfolded(), 3u);
}

TEST_F(JournalTest, ProgressIsSaidToThoseWhoWatchOnceATime) {
  journal_.Progress(small_);
  EXPECT_TRUE(journal_.effects().progressed.empty());
  small_.Course().watchers = 1;
  journal_.Progress(small_);
  journal_.Progress(small_);
  EXPECT_EQ(journal_.effects().progressed.size(), 1u);
}

}  // namespace
}  // namespace allot
