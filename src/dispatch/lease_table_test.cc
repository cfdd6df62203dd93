// SPDX-License-Identifier: Apache-2.0
#include "dispatch/lease_table.h"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"

namespace allot {
namespace {

struct LeaseTableTest : ::testing::Test {
  Lease& Grant(std::uint64_t job, TaskIndex index) {
    Lease& lease = leases.Grant(JobId{job}, index);
    worker.push_back(lease);
    of_job.push_back(lease);
    return lease;
  }
  void End(Lease& lease) { leases.End(lease, &worker, &of_job); }

  LeaseTable leases{SipKey{1, 2}};
  WorkerLeases worker;
  JobLeases of_job;
};

TEST_F(LeaseTableTest, ALeaseIsFoundByItsExactTaskAndIdAlone) {
  const TaskRef task = Grant(7, 3).task;
  ASSERT_NE(leases.Find(task), nullptr);
  const auto differs = [&](auto change) {
    TaskRef other = task;
    change(other);
    return leases.Find(other) == nullptr && !leases.Issued(other);
  };
  EXPECT_TRUE(differs([](TaskRef& t) { t.job.value = 8; }));
  EXPECT_TRUE(differs([](TaskRef& t) { t.index = 4; }));
  EXPECT_TRUE(differs([](TaskRef& t) { t.lease.serial += 1; }));
  EXPECT_TRUE(differs([](TaskRef& t) { t.lease.serial = 0; }));
  EXPECT_TRUE(differs([](TaskRef& t) { t.lease.mac ^= 1ull << 63; }));
}

TEST_F(LeaseTableTest, AnIdThatWasIssuedIsKnownAsSuchAfterItsEndAndByAnotherTableWithTheSameKey) {
  Lease& lease = Grant(7, 3);
  const TaskRef task = lease.task;
  End(lease);
  EXPECT_EQ(leases.Find(task), nullptr);
  EXPECT_TRUE(leases.Issued(task));
  LeaseTable same(SipKey{1, 2}), other(SipKey{1, 3});
  EXPECT_FALSE(same.Issued(task));  // it has not come so far yet
  same.SkipTo(leases.next_serial());
  other.SkipTo(leases.next_serial());
  EXPECT_TRUE(same.Issued(task));
  EXPECT_FALSE(other.Issued(task));
}

TEST_F(LeaseTableTest, ASerialIsNeverReusedWhateverIsRestoredOrSkipped) {
  std::set<std::uint64_t> seen;
  Rng rng(3);
  for (int i = 0; i < 2000; ++i) {
    switch (rng.Below(3)) {
      case 0: {
        const std::uint64_t restored = leases.next_serial() + rng.Below(5);
        leases.Restore(JobId{1}, 0, restored);
        ASSERT_TRUE(seen.insert(restored).second);
        break;
      }
      case 1:
        leases.SkipTo(leases.next_serial() - rng.Below(3));
        break;
      default:
        ASSERT_TRUE(seen.insert(leases.Grant(JobId{1}, 0).task.lease.serial).second);
    }
  }
  EXPECT_EQ(leases.size(), seen.size());
}

TEST_F(LeaseTableTest, ALeaseIsInBothListsForAsLongAsItLives) {
  Lease& first = Grant(1, 0);
  Lease& second = Grant(1, 1);
  Grant(1, 2);
  End(second);
  EXPECT_EQ(leases.size(), 2u);
  EXPECT_EQ(worker.size(), 2u);
  std::vector<TaskIndex> left;
  for (const Lease& lease : of_job) left.push_back(lease.task.index);
  EXPECT_EQ(left, (std::vector<TaskIndex>{0, 2}));
  End(first);
  EXPECT_EQ(worker.front().task.index, 2u);
}

TEST_F(LeaseTableTest, KeysOfWorkersDifferAmongThemselvesAndFromLeaseIds) {
  EXPECT_EQ(leases.WorkerKey(WorkerId{5}), LeaseTable(SipKey{1, 2}).WorkerKey(WorkerId{5}));
  EXPECT_NE(leases.WorkerKey(WorkerId{5}), leases.WorkerKey(WorkerId{6}));
  EXPECT_NE(leases.WorkerKey(WorkerId{5}), LeaseTable(SipKey{1, 3}).WorkerKey(WorkerId{5}));
  EXPECT_NE(leases.WorkerKey(WorkerId{5}), Grant(5, 0).task.lease.mac);
}

}  // namespace
}  // namespace allot
