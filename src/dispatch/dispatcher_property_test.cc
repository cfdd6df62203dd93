// SPDX-License-Identifier: Apache-2.0
// Worlds in which anything happens at any moment: whatever is done, a dispatcher is in order, and what it gives is what
// a naive look at all jobs allows.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "dispatch/testing_world.h"
#include "strategy/preview.h"
#include "strategy/some_strategy.h"

namespace allot {
namespace {

using testing::DispatchWorld;
using testing::WorldJob;
using testing::WorldWorker;

using SomeGate = testing::SomeGate<WorkerId>;

class SomeWorld {
 public:
  struct Size {
    std::size_t workers = 8, jobs = 25;
    std::uint32_t tasks = 6;  // of one job, about
    // Strategies that tell every job apart, so that an own queue has many cells.
    bool many_cells = false;
    std::uint64_t calm =
        0;  // so many steps of ten are pulls: where little changes between them, cells are kept in order
  };
  // `exact`: all verdicts and orders are there at once, so that what is given can be foreseen.
  SomeWorld(std::uint64_t seed, const Size& size, bool exact)
      : world_(seed), rng_(seed * 7919), size_(size), exact_(exact) {
    SetPolicy();
    for (int i = 0; i < 3; ++i) {
      bool none = false;
      strategies_.push_back(testing::SomeStrategy(rng_,
                                                  size_.calm > 0       ? 0
                                                  : rng_.Below(2) == 0 ? 1
                                                                       : 3,
                                                  none, !size_.many_cells));
      if (size_.many_cells) strategies_.back() = ManyCells(strategies_.back());
      text_ += " | " + strategies_.back();
    }
    world_.orders.SetSlots(slots_);
    for (std::size_t i = 0; i < size_.workers / 2; ++i) AddWorker();
    if (rng_.Below(3) > 0) Switch();
  }
  const std::string& text() const { return text_; }
  std::uint64_t picks() const { return picks_; }
  std::uint64_t own_picks() const { return own_picks_; }
  std::uint64_t strict_picks() const { return strict_picks_; }
  std::uint64_t sorted_picks() const { return sorted_picks_; }
  std::uint64_t steals() const { return world_.dispatcher.counts().steals; }
  std::uint64_t moves() const { return world_.dispatcher.counts().moves; }

  void Act() {
    world_.ms += static_cast<std::int64_t>(rng_.Below(3));
    if (rng_.Below(100) == 0) world_.ms -= 50;  // the clock is set back
    if (rng_.Below(2) == 0) world_.dispatcher.BeginCommand();
    if (rng_.Below(20) == 0) {
      ++time_;
      world_.table.BeginCommand(time_, kLong);
      world_.table.Renew();
      std::size_t much = 1'000'000'000;
      if (exact_) world_.table.Settle(much);
    }
    world_.table.BeginCommand(time_, exact_ || rng_.Below(2) == 0 ? kLong : 0);
    if (rng_.Below(10) < size_.calm) {
      world_.dispatcher.BeginCommand();
      if (std::size_t budget = 1000; rng_.Below(4) == 0) world_.Step(budget);
      if (rng_.Below(8) == 0) Finish();
      return Pull();
    }
    switch (rng_.Below(26)) {
      case 0:
      case 1:
        if (world_.jobs.size() < size_.jobs) {
          for (std::size_t i = size_.many_cells ? 8 : 1; i > 0; --i) Submit();
        } else {
          WorldJob& job = SomeJob();
          if (job.running == 0) world_.Forget(job);
        }
        break;
      case 2:
        ChangeReady();
        break;
      case 3:
        ToggleOpen();
        break;
      case 4:
        ToggleWorker();
        break;
      case 5:
        if (rng_.Below(2) == 0) {
          if (world_.workers.size() < size_.workers) AddWorker();
        } else if (WorldWorker* worker = SomeWorker(); worker != nullptr && worker->running == 0) {
          world_.Remove(*worker);
        }
        break;
      case 6:
        if (WorldWorker* worker = SomeWorker()) ChangeWorker(*worker);
        break;
      case 7:
        if (!world_.jobs.empty()) world_.SetGroup(SomeJob(), static_cast<std::uint32_t>(rng_.Below(SomeGate::kGroups)));
        break;
      case 8:
        if (WorldWorker* worker = SomeWorker()) gate_.Change(rng_, worker->id, world_.orders);
        break;
      case 9:
        if (rng_.Below(4) == 0) Switch();
        break;
      case 10:
        if (rng_.Below(8) == 0) SetPolicy();
        if (rng_.Below(8) == 0) SetWeights();
        break;
      case 11:
        ChangeJob();
        break;
      case 12:
        if (rng_.Below(4) == 0) world_.dispatcher.Sweep();
        break;
      case 13:
        if (rng_.Below(4) == 0) Settle();
        break;
      case 14:
      case 15: {
        std::size_t budget = rng_.Below(rng_.Below(2) == 0 ? 4 : 100);
        world_.Step(budget);
        break;
      }
      case 16:
      case 17:
        Finish();
        break;
      default:
        Pull();
    }
    if (!exact_ && rng_.Below(4) == 0) {
      std::size_t budget = rng_.Below(10);
      world_.table.Settle(budget);
    }
    if (exact_ || rng_.Below(4) == 0) world_.BuildAll();
    if (exact_ || rng_.Below(4) == 0) world_.Regroup();
    if (rng_.Below(8) == 0) {
      std::size_t budget = 100;
      world_.orders.builder().Clean(budget);
    }
    for (const WorkerId id : world_.dispatcher.TakeNewlyPromised()) {
      ASSERT_TRUE(std::any_of(world_.workers.begin(), world_.workers.end(),
                              [&](const auto& worker) { return worker->id == id && worker->queue; }));
    }
    if (size_.many_cells && rng_.Below(20) > 0) return;
    ASSERT_EQ(world_.Wrong(), "");
  }

  void Submit() {
    world_.Submit(SomeTasks(), [&](WorldJob& job) {
      Fill(job);
      job.group = static_cast<std::uint32_t>(rng_.Below(SomeGate::kGroups));
    });
  }

  // All steps, after which nothing waits on a worker that may not run it, or on nobody.
  void Settle() {
    std::size_t much = 1'000'000'000;
    ASSERT_TRUE(world_.table.Settle(much));
    world_.Regroup();
    ASSERT_TRUE(world_.table.Settle(much));
    world_.BuildAll();
    ASSERT_TRUE(world_.Settle(500 + rng_.Below(2000)));
    ASSERT_EQ(world_.Wrong(), "");
    ASSERT_EQ(world_.Unsettled(), "");
    std::uint64_t promised = 0;
    for (const auto& worker : world_.workers) promised += DispatchWorld::Promised(*worker);
    ASSERT_EQ(promised, world_.dispatcher.counts().promised);
  }

 private:
  static constexpr std::int64_t kLong = 10'000'000'000;

  std::string ManyCells(const std::string& inner) {
    static const std::vector<std::string> kBlocks = {"fair(job, ", "prefer_distinct(job, 2, ",
                                                     "max_simultaneous(job, 2, "};
    return kBlocks[rng_.Below(kBlocks.size())] + inner + ")";
  }
  WorldJob& SomeJob() { return *world_.jobs[rng_.Below(world_.jobs.size())]; }
  WorldWorker* SomeWorker() {
    return world_.workers.empty() ? nullptr : world_.workers[rng_.Below(world_.workers.size())].get();
  }
  std::uint32_t SomeTasks() {
    return 1 + static_cast<std::uint32_t>(rng_.Below(rng_.Below(2) == 0 ? 3 : 2 * size_.tasks));
  }

  void Fill(WorldJob& job) {
    job.sample = testing::SomeJob(rng_);
    job.sample.tags = rng_.Below(3) == 0 ? TagList{"a"} : TagList{};
    if (rng_.Below(4) > 0) job.sample.requirements = nullptr;
    job.async = rng_.Below(2) == 0;
    job.customer = rng_.Below(4) == 0 ? std::nullopt : std::optional<std::string>("c" + std::to_string(rng_.Below(4)));
    job.key.no_priority = rng_.Below(3) == 0;
    job.key.priority = job.key.no_priority ? 0 : static_cast<std::int64_t>(rng_.Below(3));
  }
  void ChangeReady() {
    if (world_.jobs.empty()) return;
    world_.SetQueued(SomeJob(), rng_.Below(5) == 0 ? 0 : SomeTasks(), rng_.Below(2) == 0);
  }
  void ToggleOpen() {
    if (world_.jobs.empty()) return;
    WorldJob& job = SomeJob();
    if (job.open) {
      world_.Close(job);
    } else if (job.queued > 0) {
      world_.Open(job);
    }
  }
  void ChangeJob() {
    if (world_.jobs.empty()) return;
    WorldJob& job = SomeJob();
    const bool open = job.open;
    if (open) world_.Close(job);
    world_.orders.Forget(job);
    world_.table.DropJob(job.cls);
    Fill(job);
    job.cls = world_.table.AddJob(job.sample.In(world_.table));
    world_.orders.Know(job);
    if (open) world_.Open(job);
  }

  testing::SampleWorker SomeSample() {
    testing::SampleWorker sample = testing::SomeWorker(rng_);
    if (rng_.Below(3) > 0) sample.tags = {"a"};
    if (rng_.Below(3) > 0) sample.requirements = nullptr;
    if (rng_.Below(size_.many_cells ? 2 : 6) == 0)
      sample.rank = testing::MustParse("time() % 2 == 0 ? TARGET.Need : TARGET.Priority");
    return sample;
  }
  void AddWorker() { world_.AddLike(SomeSample(), strategies_[rng_.Below(strategies_.size())]); }
  void ToggleWorker() {
    WorldWorker* worker = SomeWorker();
    if (worker == nullptr) return;
    if (worker->registered) {
      world_.Leave(*worker);
    } else {
      world_.UpdateRegistration(*worker);
    }
    world_.dispatcher.SetAsking(*worker, rng_.Below(2) == 0 ? std::optional(++sequence_) : std::nullopt);
  }
  void ChangeWorker(WorldWorker& worker) {
    if (rng_.Below(3) == 0) {
      const Orders::Id before = worker.order;
      worker.order = world_.orders.Use(testing::MustParseStrategy(strategies_[rng_.Below(strategies_.size())]));
      world_.orders.Unuse(before);
    } else {
      world_.Change(worker, SomeSample());
    }
  }

  void Switch() {
    const DispatchOptions options{rng_.Below(4) == 0 ? DispatchMode::kFanout : DispatchMode::kBalanced,
                                  static_cast<Balance>(rng_.Below(3))};
    world_.SetOptions(options);
  }
  void SetPolicy() {
    const std::string text = rng_.Below(2) == 0 ? "worker"
                             : size_.calm > 0   ? ManyCells("worker")
                                                : testing::SomePolicy(rng_, 2);
    text_ += ", policy " + text;
    policy_ = testing::MustParseStrategy(text, true);
    world_.orders.SetPolicy(policy_);
  }
  void SetWeights() {
    weights_ = {{"user.u1", static_cast<std::uint32_t>(1 + rng_.Below(3))}, {"customer.c1", 2}};
    world_.orders.SetWeights({weights_.begin(), weights_.end()});
    slots_ = 1 + rng_.Below(20);
    world_.orders.SetSlots(slots_);
  }

  void Finish() {
    if (leases_.empty()) return;
    const std::size_t which = rng_.Below(leases_.size());
    const auto [worker, job] = leases_[which];
    leases_.erase(leases_.begin() + static_cast<std::ptrdiff_t>(which));
    world_.Finish(*worker, *job, rng_.Below(2) == 0);
  }
  void Pull() {
    WorldWorker* worker = SomeWorker();
    if (worker == nullptr || !worker->registered || !world_.orders.indices().Ready(worker->order)) return;
    gate_.worker = worker->id;
    bool random_own = false, random_shared = false;
    std::vector<JobId> own, shared;
    if (exact_) {
      own = Allowed(*worker, true, random_own);
      shared = Allowed(*worker, false, random_shared);
    }
    const bool busy = world_.dispatcher.Busy() || world_.dealing;
    WorldJob* job = world_.Pick(*worker, &gate_);
    ++picks_;
    if (exact_) {
      const auto among = [&](const std::vector<JobId>& ids, bool random) {
        return job != nullptr && std::find(ids.begin(), ids.end(), job->id()) != ids.end() &&
               world_.dispatcher.last_pick().random_task == random;
      };
      const bool of_own = among(own, random_own), of_shared = among(shared, random_shared);
      if (!own.empty() && of_own) ++own_picks_;
      if (!own.empty() && of_own && worker->queue->order->sorted()) ++sorted_picks_;
      if (!busy) ++strict_picks_;
      ASSERT_EQ(job == nullptr, shared.empty() && own.empty()) << Say(*worker, job, own, shared);
      if (job != nullptr && !own.empty()) {
        // What is still to be promised may come first.
        ASSERT_TRUE(of_own || (busy && of_shared)) << Say(*worker, job, own, shared);
      } else if (job != nullptr) {
        ASSERT_TRUE(of_shared) << Say(*worker, job, own, shared);
      }
    }
    if (job == nullptr) return;
    ASSERT_TRUE(job->open);
    ASSERT_TRUE(world_.table.kinds().Matches(world_.table.KindOf(worker->handle), job->cls));
    world_.Take(*worker, *job);
    leases_.emplace_back(worker, job);
  }
  std::string Say(const WorldWorker& worker, const WorldJob* job, const std::vector<JobId>& own,
                  const std::vector<JobId>& shared) const {
    std::string text = "worker " + std::to_string(worker.id.value) + " by " +
                       PrintStrategy(*world_.orders.uses().strategy(worker.order)) + " got " +
                       (job == nullptr ? "nothing" : std::to_string(job->id().value)) + ", own:";
    for (const JobId id : own) text += " " + std::to_string(id.value);
    text += ", shared:";
    for (const JobId id : shared) text += " " + std::to_string(id.value);
    return text;
  }
  // What may come next by the plain reading of the rules: of its own queue, with so many tasks as it was promised; or
  // of all jobs.
  std::vector<JobId> Allowed(const WorldWorker& worker, bool own, bool& random) {
    Preview naive({policy_, world_.orders.uses().strategy(worker.order), {weights_.begin(), weights_.end()}, slots_});
    for (const auto& job : world_.jobs) {
      const Verdict verdict = testing::NaiveVerdict(job->sample, worker.sample, time_);
      const std::uint32_t tasks = own ? DispatchWorld::PromiseOf(*job, worker) : job->queued;
      const bool may = verdict.match && gate_.Ask(job->group) == StartGate::Blocked::kNo && tasks > 0;
      const std::uint32_t queued = std::exchange(job->queued, tasks);
      naive.Know(world_.keys, *job, may ? std::optional(verdict.worker_rank) : std::nullopt,
                 &world_.orders.indices().values());
      job->queued = queued;
    }
    return naive.Allowed(random);
  }

  DispatchWorld world_;
  Rng rng_;
  std::uint64_t sequence_ = 0;
  const Size size_;
  const bool exact_;
  std::string text_;
  std::vector<std::string> strategies_;
  StrategyPtr policy_;
  std::map<std::string, std::uint32_t> weights_;
  std::uint64_t slots_ = 8;
  std::int64_t time_ = 1000;
  SomeGate gate_;
  std::vector<std::pair<WorldWorker*, WorldJob*>> leases_;
  std::uint64_t picks_ = 0, own_picks_ = 0, strict_picks_ = 0, sorted_picks_ = 0;
};

TEST(DispatcherProperty, IsInOrderWhateverHappens) {
  std::uint64_t picks = 0, steals = 0, moves = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SomeWorld world(seed, {}, false);
    SCOPED_TRACE("seed " + std::to_string(seed) + world.text());
    for (int step = 0; step < 400; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      ASSERT_NO_FATAL_FAILURE(world.Act());
    }
    ASSERT_NO_FATAL_FAILURE(world.Settle());
    picks += world.picks();
    steals += world.steals();
    moves += world.moves();
  }
  EXPECT_GE(picks, 2'000u);
  EXPECT_GE(steals, 100u);
  EXPECT_GE(moves, 1'000u);
}

TEST(DispatcherProperty, IsInOrderWhereJobsAreSpreadOverManyWorkers) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SomeWorld world(seed, {300, 12, 2000}, false);
    SCOPED_TRACE("seed " + std::to_string(seed) + world.text());
    for (int step = 0; step < 400; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      ASSERT_NO_FATAL_FAILURE(world.Act());
    }
    ASSERT_NO_FATAL_FAILURE(world.Settle());
  }
}

TEST(DispatcherProperty, EveryPickIsThatOfANaiveLookAlsoWhereAQueueHasManyCells) {
  std::uint64_t own = 0, sorted = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const bool calm = seed % 2 == 0;
    SomeWorld world(seed, {calm ? 2u : 3u, calm ? 400u : 150u, 6, true, calm ? 9u : 0u}, true);
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (int i = 0; calm && i < 400; ++i) world.Submit();
    for (int step = 0; step < (calm ? 600 : 1500); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      ASSERT_NO_FATAL_FAILURE(world.Act()) << world.text();
    }
    own += world.own_picks();
    sorted += world.sorted_picks();
  }
  EXPECT_GE(own, 1'000u);
  EXPECT_GE(sorted, 200u);
}

TEST(DispatcherProperty, EveryPickIsThatOfANaiveLookAtTheWorkersQueueThenAtAllJobs) {
  std::uint64_t picks = 0, own = 0, strict = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SomeWorld world(seed, {}, true);
    SCOPED_TRACE("seed " + std::to_string(seed) + world.text());
    for (int step = 0; step < 400; ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      ASSERT_NO_FATAL_FAILURE(world.Act()) << world.text();
    }
    picks += world.picks();
    own += world.own_picks();
    strict += world.strict_picks();
  }
  EXPECT_GE(picks, 5'000u);
  EXPECT_GE(own, 1'000u);
  EXPECT_GE(strict, 1'000u);
}

}  // namespace
}  // namespace allot
