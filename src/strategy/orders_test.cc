// SPDX-License-Identifier: Apache-2.0
#include "strategy/orders.h"

#include <gtest/gtest.h>

#include <set>

#include "match/testing.h"
#include "strategy/preview.h"
#include "strategy/some_strategy.h"
#include "strategy/testing.h"
#include "strategy/testing_bounds.h"
#include "strategy/testing_steps.h"
#include "strategy/trace.h"

namespace allot {
namespace {

struct Job : PickJob {
  testing::SampleJob sample;
  bool async = true;
  std::optional<std::string> customer;
};

using Keys = testing::SampleKeys<Job>;

class World : public ClassTable::Listener {
 public:
  World() : table(*this), orders(keys, table) { table.BeginCommand(1000); }
  void OnWidth() override { orders.OnWidth(); }
  void OnClass(ClassId cls) override { orders.OnClass(cls); }
  void OnKind(KindId kind) override { orders.OnKind(kind); }
  void OnMoved(KindId) override {}

  Keys keys;
  ClassTable table;
  Orders orders;
  std::vector<std::unique_ptr<Job>> jobs;

  void BuildAll() {
    while (orders.builder().Building()) {
      orders.builder().Begin();
      for (const auto& job : jobs) {
        if (orders.builder().built_to() < job->id()) orders.builder().Add(*job);
      }
      orders.builder().Finish();
    }
  }
};

using SomeGate = testing::SomeGate<std::size_t>;  // by the number of a worker

// Of how the last pick came about, what is written before the lease and read when all has changed.
std::vector<PreviewStep> Traced(Orders& orders, Orders::Id id, const PickJob& job, KindId kind, bool ranked) {
  const StrategyIndex& index = orders.index(id);
  const order::Rules rules = index.rules();
  char bytes[8192];
  const TracedPick pick{rules, *index.last_pick().leaf, job, kind, ranked, index.last_pick().candidates};
  const char* end = WriteTrace(pick, bytes, bytes + sizeof(bytes));
  EXPECT_NE(end, nullptr);
  // A little too little room is none.
  EXPECT_EQ(WriteTrace(pick, bytes, bytes + 63), nullptr);
  return ReadTrace(*index.strategies(), {bytes, end}, WallTime{});
}

TEST(Orders, EveryPickIsThatOfANaiveLookAtAllJobs) {
  std::uint64_t picks = 0, blocked = 0, traced = 0, gave_up = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Rng rng(seed);
    const testing::SmallSteps steps(seed % 3 == 0);
    World world;
    SomeGate gate;
    const bool gated = seed % 2 == 0;
    std::string policy_text = "worker";
    if (rng.Below(2) == 0) policy_text = testing::SomePolicy(rng, 2);
    StrategyPtr policy = testing::MustParseStrategy(policy_text, true);
    world.orders.SetPolicy(policy);
    struct Kind {
      std::string text;
      StrategyPtr strategy;
      Orders::Id id;
    };
    std::vector<Kind> strategies;
    for (int i = 0; i < 3; ++i) {
      bool none = false;
      Kind kind{testing::SomeStrategy(rng, 3, none), nullptr, 0};
      kind.strategy = testing::MustParseStrategy(kind.text);
      strategies.push_back(kind);
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ", policy " + policy_text + ", strategies " + strategies[0].text +
                 " | " + strategies[1].text + " | " + strategies[2].text);
    struct Worker {
      testing::SampleWorker sample;
      ClassTable::Handle handle;
    };
    std::vector<Worker> workers;
    for (int i = 0; i < 4; ++i) {
      const auto sample = testing::SomeWorker(rng);
      workers.push_back({sample, world.table.AddWorker(sample.Traits())});
    }
    for (Kind& kind : strategies) kind.id = world.orders.Use(kind.strategy);
    std::uint64_t last_id = 0, serial = 0;
    std::int64_t ms = 1'000'000;
    std::uint64_t slots = 4 + rng.Below(8);
    world.orders.SetSlots(slots);
    std::map<std::string, std::uint32_t> weights;
    world.BuildAll();
    const auto fill = [&](Job& job) {
      job.sample = testing::SomeJob(rng);
      job.sample.tags = rng.Below(3) == 0 ? TagList{"a"} : TagList{};
      job.sample.requirements = rng.Below(4) == 0 ? job.sample.requirements : nullptr;
      job.async = rng.Below(2) == 0;
      job.customer = rng.Below(4) == 0 ? std::nullopt : std::optional<std::string>("c" + std::to_string(rng.Below(4)));
      job.key.no_priority = rng.Below(3) == 0;
      job.key.priority = job.key.no_priority ? 0 : static_cast<std::int64_t>(rng.Below(3));
      job.key.scheduled_for = FromMillis(ms);
      job.cls = world.table.AddJob(job.sample.In(world.table));
      job.group = gated ? static_cast<std::uint32_t>(rng.Below(SomeGate::kGroups)) : 0;
    };
    for (int step = 0; step < 500; ++step) {
      const std::size_t which = world.jobs.empty() ? 0 : rng.Below(world.jobs.size());
      Job* job = world.jobs.empty() ? nullptr : world.jobs[which].get();
      ms += static_cast<std::int64_t>(rng.Below(3));
      switch (rng.Below(10)) {
        case 0:
        case 1:
          if (world.jobs.size() < 25) {
            world.jobs.push_back(std::make_unique<Job>());
            Job& made = *world.jobs.back();
            made.key.id = JobId{++last_id};
            made.submitted_at = FromMillis(ms);
            fill(made);
            world.orders.Know(made);
            world.orders.SetQueued(made, 1 + static_cast<std::uint32_t>(rng.Below(5)));
            world.orders.Open(made);
          } else if (job->running == 0 && job->picked.serial == 0) {
            if (job->open) world.orders.Close(*job);
            world.orders.Forget(*job);
            world.table.DropJob(job->cls);
            world.jobs.erase(world.jobs.begin() + static_cast<std::ptrdiff_t>(which));
          }
          break;
        case 2:
          if (job == nullptr) break;
          if (job->open) {
            world.orders.Close(*job);
          } else if (job->queued > 0) {
            world.orders.Open(*job);
          }
          break;
        case 3:
          // One lease comes back, done or not.
          if (job == nullptr || job->running == 0) break;
          world.orders.Returned(*job);
          if (rng.Below(2) == 0) {
            world.orders.SetQueued(*job, job->queued + 1);
            if (!job->open && rng.Below(2) == 0) world.orders.Open(*job);
          }
          break;
        case 4: {
          // When a value was served last outlives the job that it comes from, which is more than the naive look knows.
          if (job == nullptr || job->picked.serial != 0) break;
          const bool open = job->open;
          if (open) world.orders.Close(*job);
          world.orders.Forget(*job);
          world.table.DropJob(job->cls);
          fill(*job);
          world.orders.Know(*job);
          if (open) world.orders.Open(*job);
          break;
        }
        case 5:
          if (gated && rng.Below(2) == 0) {
            gate.Change(rng, rng.Below(workers.size()), world.orders);
          } else if (gated && rng.Below(2) == 0) {
            const auto group = static_cast<std::uint32_t>(rng.Below(SomeGate::kGroups));
            if (rng.Below(2) == 0) {
              if (job != nullptr) world.orders.SetGroup(*job, group);
            } else {
              world.orders.groups().Join(group);
              std::size_t budget = rng.Below(10);
              world.orders.groups().Step(budget);
            }
          } else if (rng.Below(4) == 0) {
            Worker& worker = workers[rng.Below(workers.size())];
            worker.sample = testing::SomeWorker(rng);
            world.table.ChangeWorker(worker.handle, worker.sample.Traits());
          } else if (rng.Below(4) == 0) {
            slots = 1 + rng.Below(20);
            world.orders.SetSlots(slots);
          } else if (rng.Below(8) == 0) {
            weights = {{"user.u1", static_cast<std::uint32_t>(1 + rng.Below(3))}, {"customer.c1", 2}};
            world.orders.SetWeights({weights.begin(), weights.end()});
          } else if (rng.Below(8) == 0) {
            // A strategy leaves, and comes back on a live queue.
            Kind& kind = strategies[rng.Below(strategies.size())];
            world.orders.Unuse(kind.id);
            kind.id = world.orders.Use(kind.strategy);
            world.BuildAll();
          }
          break;
        default: {
          gate.worker = rng.Below(workers.size());
          const Worker& worker = workers[gate.worker];
          const Kind& kind = strategies[rng.Below(strategies.size())];
          Preview naive({policy, kind.strategy, {weights.begin(), weights.end()}, slots});
          const KindId worker_kind = world.table.KindOf(worker.handle);
          std::set<ClassId> open, matched;
          bool ranked = false, ranked_here = false;
          for (const auto& j : world.jobs) {
            const Verdict verdict = testing::NaiveVerdict(j->sample, worker.sample, 1000);
            if (j->open) open.insert(j->cls);
            if (j->open && verdict.match) matched.insert(j->cls);
            if (j->open && verdict.match && verdict.worker_rank != 0) {
              ranked = true;
              ranked_here = ranked_here || gate.Ask(j->group) == StartGate::Blocked::kNo;
            }
            const bool may_start = gate.Ask(j->group) == StartGate::Blocked::kNo;
            if (verdict.match && !may_start && j->open) ++blocked;
            naive.Know(world.keys, *j, verdict.match && may_start ? std::optional(verdict.worker_rank) : std::nullopt);
          }
          bool random = false;
          const std::vector<JobId> allowed = naive.Allowed(random);
          ASSERT_EQ(world.orders.open_classes().count(), open.size());
          ASSERT_EQ(world.orders.open_classes().By(worker_kind).matched, matched.size());
          ASSERT_EQ(world.orders.open_classes().By(worker_kind).ranked, ranked);
          PickJob* picked =
              testing::PickToTheEnd(world.orders, kind.id, worker_kind, gate.Any() ? &gate : nullptr, rng, gave_up);
          ++picks;
          if (allowed.empty()) {
            ASSERT_EQ(picked, nullptr) << "step " << step << ", strategy " << kind.text;
            break;
          }
          ASSERT_NE(picked, nullptr) << "step " << step << ", strategy " << kind.text;
          ASSERT_EQ(world.orders.index(kind.id).last_pick().random_task, random);
          ASSERT_TRUE(std::find(allowed.begin(), allowed.end(), picked->id()) != allowed.end())
              << "step " << step << ", strategy " << kind.text << ": " << picked->id().value << " instead of "
              << allowed[0].value;
          // How it came about is told in the same words; where chance has a say, if that says the same.
          std::vector<PreviewStep> why = Traced(world.orders, kind.id, *picked, worker_kind, ranked_here);
          std::optional<PreviewPick> pick = naive.Next();
          ASSERT_TRUE(pick);
          if (pick->job == picked->id()) {
            ++traced;
            if (random) {
              // Of those that it was drawn from some may be blocked, or of values that are full.
              ASSERT_GE(why.back().candidates, pick->why.back().candidates);
              why.back() = pick->why.back();
            }
            ASSERT_EQ(testing::StepText(why), testing::StepText(pick->why))
                << "step " << step << ", strategy " << kind.text;
          }
          world.orders.Started(*picked, Stamp{ms, ++serial});
          if (picked->queued == 1) {
            world.orders.Close(*picked);
            picked->queued = 0;
          } else {
            world.orders.SetQueued(*picked, picked->queued - 1);
          }
        }
      }
      for (const auto& j : world.jobs) {
        if (!world.table.Outdated(j->cls)) continue;
        const bool open = j->open;
        if (open) world.orders.Close(*j);
        const ClassId cls = world.table.AddJob(j->sample.In(world.table));
        world.table.DropJob(j->cls);
        j->cls = cls;
        if (open) world.orders.Open(*j);
      }
    }
    for (const auto& j : world.jobs) {
      if (j->open) world.orders.Close(*j);
    }
  }
  EXPECT_GE(picks, 90'000u);
  EXPECT_GE(blocked, 80'000u);
  EXPECT_GE(traced, 25'000u);
  EXPECT_GE(gave_up, 1'000u);
}

}  // namespace
}  // namespace allot
