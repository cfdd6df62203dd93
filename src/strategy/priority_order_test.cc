#include "strategy/priority_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "match/testing.h"

namespace allot {
namespace {

OrderKey Key(std::optional<std::int64_t> priority, std::int64_t scheduled_ms, std::uint64_t id) {
  return OrderKey{!priority.has_value(), priority.value_or(0), FromMillis(scheduled_ms), JobId{id}};
}

TEST(PriorityOrder, PriorityDescendingNoneLastThenScheduleThenId) {
  // In order; each comes before all that follow.
  const OrderKey keys[] = {
      Key(INT64_MAX, 9, 9),
      Key(5, 1, 9),
      Key(5, 2, 1),
      Key(5, 2, 2),
      Key(0, 0, 1),
      Key(-1, 0, 1),
      Key(INT64_MIN, 0, 1),
      Key(std::nullopt, 0, 7),
      Key(std::nullopt, 1, 2),
  };
  for (const OrderKey& a : keys) {
    for (const OrderKey& b : keys) EXPECT_EQ(a < b, &a < &b);
  }
}

// A table of verdicts and the order that listens to it.
class Listening : public ClassTable::Listener {
 public:
  Listening() : table(*this), order(table) {}
  void OnWidth() override { order.OnWidth(); }
  void OnClass(ClassId cls) override { order.OnClass(cls); }
  void OnKind(KindId kind) override { order.OnKind(kind); }
  void OnMoved(KindId) override {}
  ClassTable table;
  PriorityOrder order;
};

TEST(PriorityOrder, TheFirstForAWorkerIsThatOfAFreshLookAfterAnyMixtureOfChanges) {
  struct Job : OrderEntry {
    testing::SampleJob job;
  };
  struct Worker {
    testing::SampleWorker worker;
    ClassTable::Handle handle;
  };
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::vector<std::unique_ptr<Job>> jobs;
    std::vector<Worker> workers;
    Listening world;
    constexpr std::int64_t kTime = 1000;
    world.table.SetTime(kTime);
    for (std::uint64_t step = 1; step <= 400; ++step) {
      const std::size_t which = jobs.empty() ? 0 : rng.Below(jobs.size());
      switch (rng.Below(6)) {
        case 0:
          if (workers.size() < 6) {
            const auto worker = testing::SomeWorker(rng);
            workers.push_back({worker, world.table.AddWorker(worker.Traits())});
          } else {
            const std::size_t leaving = rng.Below(workers.size());
            world.table.DropWorker(workers[leaving].handle);
            workers.erase(workers.begin() + static_cast<std::ptrdiff_t>(leaving));
          }
          break;
        case 1:
          if (!workers.empty()) {
            Worker& worker = workers[rng.Below(workers.size())];
            worker.worker = testing::SomeWorker(rng);
            world.table.ChangeWorker(worker.handle, worker.worker.Traits());
          }
          break;
        case 2:
          if (!jobs.empty() && jobs[which]->linked()) world.order.Erase(*jobs[which]);
          break;
        default: {
          const bool fresh = jobs.size() < 30;
          if (fresh) jobs.push_back(std::make_unique<Job>());
          Job& job = fresh ? *jobs.back() : *jobs[which];
          if (job.linked()) world.order.Erase(job);
          if (job.cls != kNoClass) world.table.DropJob(job.cls);
          job.job = testing::SomeJob(rng);
          job.key = Key(static_cast<std::int64_t>(rng.Below(3)), static_cast<std::int64_t>(rng.Below(3)), step);
          job.key.no_priority = rng.Below(4) == 0;
          job.cls = world.table.AddJob(job.job.In(world.table));
          world.order.Insert(job);
        }
      }
      for (const auto& job : jobs) {
        if (!world.table.Outdated(job->cls)) continue;
        const bool linked = job->linked();
        if (linked) world.order.Erase(*job);
        const ClassId cls = world.table.AddJob(job->job.In(world.table));
        world.table.DropJob(job->cls);
        job->cls = cls;
        if (linked) world.order.Insert(*job);
      }
      for (const Worker& worker : workers) {
        const OrderEntry* first = nullptr;
        double rank = 0;
        for (const auto& job : jobs) {
          if (!job->linked()) continue;
          const Verdict verdict = testing::NaiveVerdict(job->job, worker.worker, kTime);
          if (!verdict.match) continue;
          const bool better =
              first == nullptr || verdict.worker_rank > rank || (verdict.worker_rank == rank && job->key < first->key);
          if (!better) continue;
          first = job.get();
          rank = verdict.worker_rank;
        }
        ASSERT_EQ(world.order.First(world.table.KindOf(worker.handle)), first) << "step " << step;
      }
    }
    for (const auto& job : jobs) {
      if (job->linked()) world.order.Erase(*job);
    }
  }
}

}  // namespace
}  // namespace allot
