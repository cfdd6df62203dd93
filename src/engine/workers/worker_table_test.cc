// SPDX-License-Identifier: Apache-2.0
#include "engine/workers/worker_table.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

TEST(WorkerTableTest, CountsWhoIsThereAwayAndDraining) {
  WorkerTable table;
  EngineWorker& worker = table.Stub(WorkerId{7});
  EXPECT_EQ(&table.Stub(WorkerId{7}), &worker);
  EXPECT_EQ(table.Find(WorkerId{7}), &worker);
  EXPECT_EQ(table.FindRegistered(WorkerId{7}), nullptr);
  EXPECT_EQ(table.away(), 1u);

  table.SetAway(worker, false);
  table.SetRegistered(worker, 4);
  table.SetRegistered(worker, 6);  // comes back with more
  EXPECT_EQ(table.FindRegistered(WorkerId{7}), &worker);
  EXPECT_EQ(table.registered(), 1u);
  EXPECT_EQ(table.slots(), 6u);
  table.SetDraining(worker, true);
  table.SetDraining(worker, true);
  EXPECT_EQ(table.draining(), 1u);

  table.SetUnregistered(worker);
  EXPECT_EQ(table.registered() + table.draining() + table.slots(), 0u);
  table.SetAway(worker, true);
  table.Erase(worker);
  EXPECT_EQ(table.away() + table.size(), 0u);
}

TEST(WorkerTableTest, RemembersTheLatestTags) {
  WorkerTable table;
  EngineWorker worker;
  worker.tags = {"kept"};
  table.RememberTags(worker, FromMillis(1'000'000));
  // Many others, of earlier moments: half of them is forgotten.
  for (int i = 0; i <= 10'000; ++i) {
    worker.tags = {"tag" + std::to_string(i)};
    table.RememberTags(worker, FromMillis(i));
  }
  EXPECT_EQ(table.LastSeen("kept"), FromMillis(1'000'000));
  EXPECT_EQ(table.LastSeen("tag0"), std::nullopt);
  EXPECT_TRUE(table.LastSeen("tag10000").has_value());
}

}  // namespace
}  // namespace allot
