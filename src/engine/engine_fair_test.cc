// SPDX-License-Identifier: Apache-2.0
// Sharing between users, to the letter: who is next, while slots fill up, afterwards, and after a restart.
#include <algorithm>

#include "engine/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineFairTest : public testing::EngineTest {
 protected:
  JobSpec Of(const std::string& user, std::uint32_t count = 1, std::vector<std::string> tags = {"a"}) {
    JobSpec spec = Spec(count, std::move(tags));
    spec.user = user;
    spec.lease = milliseconds(10'000'000);
    return spec;
  }
  std::string UserOf(const Grant& grant) { return View(grant.task.job).user; }
};

// --- The example: one-task jobs that were worked on before, each at a known time.

struct Example {
  std::string name;
  std::string strategy;
  std::string policy;  // empty: `worker`
};

class EngineFairExample : public EngineFairTest, public ::testing::WithParamInterface<Example> {
 protected:
  // All of it, up to the moment before the six pulls.
  void Prepare() {
    struct Row {
      std::string name, user;
      bool async;
      int worked;
      std::string service;
    };
    const std::vector<Row> rows = {{"u1-old", "u1", true, 12345, "foo"},   {"u1-new", "u1", true, 12352, "bar"},
                                   {"u1-sync", "u1", false, 12346, "foo"}, {"u2-old", "u2", true, 12345, "foo"},
                                   {"u2-new", "u2", true, 12350, "bar"},   {"u3-old", "u3", true, 12347, "foo"},
                                   {"u3-mid", "u3", true, 12348, "foo"},   {"u3-new", "u3", true, 12355, "foo"},
                                   {"u4-other", "u4", true, 12340, "bar"}, {"u5-gone", "u5", true, 12200, "foo"}};
    // Submitted in another order than they are worked on, so that age decides nothing.
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
      JobSpec spec = Of(row->user, 1, {row->service});
      spec.async = row->async;
      job_[row->name] = Submit(spec);
      name_[job_[row->name]] = row->name;
      Pass(1s);
    }
    std::vector<Row> by_time = rows;
    std::stable_sort(by_time.begin(), by_time.end(), [](const Row& a, const Row& b) { return a.worked < b.worked; });
    const Instant zero = now_.mono - 12100s;
    const WorkerId worker = RegisterBy("oldest", {"bar", "foo"});
    for (const Row& row : by_time) {
      Pass(zero + std::chrono::seconds(row.worked) - now_.mono);
      const JobId job = job_[row.name];
      PullOptions pull{1, false, 0s};
      pull.strategy = Strategy("select_only(job = \"" + std::to_string(job.value) + "\", oldest)");
      Grants();
      ASSERT_TRUE(engine_->workers().Pull(now_, worker, pull).ok());
      const auto grants = Grants();
      ASSERT_EQ(grants.size(), 1u);
      ASSERT_EQ(grants[0].task.job, job);
      Say(worker, grants[0].task, row.name == "u3-new" ? ReportKind::kDone : ReportKind::kReleased);
    }
    ASSERT_TRUE(engine_->jobs().Cancel(now_, job_["u5-gone"]).ok());
    engine_->workers().Unregister(now_, worker);
    Pass(5s);
    // Not sooner: it would have had a say in what was worked on when.
    if (!GetParam().policy.empty()) SetPolicy(GetParam().policy);
    Grants();
  }
  std::vector<std::string> NamesOf(const std::vector<Grant>& grants) {
    std::vector<std::string> names;
    for (const Grant& grant : grants) names.push_back(name_[grant.task.job]);
    return names;
  }

  std::map<std::string, JobId> job_;
  std::map<JobId, std::string> name_;
  const std::vector<std::string> kExpected = {"u2-old", "u1-sync", "u3-old", "u1-old", "u3-mid"};
};

TEST_P(EngineFairExample, GoesToTheUserServedLongestAgoWithTheFewestRunning) {
  Prepare();
  const WorkerId worker = RegisterBy(GetParam().strategy, {"foo"}, 6);
  std::vector<Grant> all;
  for (int i = 0; i < 6; ++i) {
    const auto grants = Pull(worker);
    all.insert(all.end(), grants.begin(), grants.end());
    EXPECT_EQ(grants.size(), i < 5 ? 1u : 0u);
  }
  EXPECT_EQ(NamesOf(all), kExpected);
}

TEST_P(EngineFairExample, AsOnePullForSix) {
  Prepare();
  EXPECT_EQ(NamesOf(Pull(RegisterBy(GetParam().strategy, {"foo"}, 6), 6)), kExpected);
}

TEST_P(EngineFairExample, AfterARestartFromTheJournalOrFromRecordsOrBoth) {
  Prepare();
  for (const std::size_t folded : {std::size_t{0}, std::size_t{4}, SIZE_MAX}) {
    Fold(folded);
    // Another engine from the same store, which stays as it is.
    engine_ = Loaded(30s);
    EXPECT_EQ(NamesOf(Pull(RegisterBy(GetParam().strategy, {"foo"}, 6), 6)), kExpected) << "folded " << folded;
    journal_.erase(std::prev(journal_.end()));
    engine_ = Loaded(30s);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, EngineFairExample,
    ::testing::Values(Example{"Name", "fair", ""},
                      Example{"Written", "fair(user, or_else(select_only(async = false, least_recent), least_recent))",
                              ""},
                      Example{"PolicyRecipe", "least_recent",
                              "fair(user, or_else(select_only(async = false, least_recent), worker))"},
                      Example{"PolicyFairAlone", "or_else(select_only(async = false, least_recent), least_recent)",
                              "fair(user, worker)"},
                      Example{"PolicyAndStrategy", "fair", "fair(user, worker)"}),
    [](const auto& way) { return way.param.name; });

// --- Slots that fill up, and what becomes free.

TEST_F(EngineFairTest, OneUserAloneGetsEverySlot) {
  SetPolicy("fair(user, worker)", {{"user.other", 5}});
  Submit(Of("ann", 40));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Pull(RegisterBy(i % 2 == 0 ? "oldest" : "fair", {"a"}, 8), 8).size(), 8u);
}

// Users with endless work; what they have running, and when each was served last, kept by hand.
class EngineFairGroups : public EngineFairTest {
 protected:
  struct User {
    std::uint32_t weight = 1;
    std::uint64_t running = 0;
    std::uint64_t served = 0;  // the number of the grant
  };
  void AddUser(const std::string& name, std::uint32_t weight, int jobs) {
    users_[name].weight = weight;
    for (int i = 0; i < jobs; ++i) Submit(Of(name, 100'000));
    Pass(1ms);
  }
  // Whom the next grant must go to, once everybody was served.
  std::string Next() const {
    std::string best;
    for (const auto& [name, user] : users_) {
      if (best.empty()) {
        best = name;
        continue;
      }
      const User& other = users_.at(best);
      const std::uint64_t left = user.running * other.weight, right = other.running * user.weight;
      if (left < right || (left == right && user.served < other.served)) best = name;
    }
    return best;
  }
  void Got(WorkerId worker, const Grant& grant) {
    User& user = users_.at(UserOf(grant));
    ++user.running;
    user.served = ++grants_;
    running_.emplace_back(worker, grant.task);
  }
  // Some lease ends in some way, and its slot is free.
  WorkerId EndOne(Rng& rng) {
    const std::size_t which = rng.Below(running_.size());
    const auto [worker, task] = running_[which];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(which));
    --users_.at(View(task.job).user).running;
    static constexpr ReportKind kEnds[] = {ReportKind::kDone, ReportKind::kFailed, ReportKind::kReleased};
    EXPECT_EQ(Say(worker, task, kEnds[rng.Below(3)]), ReportVerdict::kTaken);
    return worker;
  }
  std::map<std::string, User> users_;
  std::vector<std::pair<WorkerId, TaskRef>> running_;
  std::uint64_t grants_ = 0;
};

TEST_F(EngineFairGroups, WhileSlotsFillUpNumbersNeverDifferByMoreThanOneAndLaterPicksGoToTheFewest) {
  for (std::size_t n = 2; n <= 7; ++n) {
    SCOPED_TRACE(std::to_string(n) + " users");
    Rng rng(n);
    users_.clear();
    running_.clear();
    records_.clear();
    journal_.clear();
    floor_ = 0;
    options_.policy = n % 2 == 0 ? Strategy("fair(user, worker)", true) : nullptr;
    Load(30s);
    for (std::size_t i = 0; i < n; ++i) AddUser("u" + std::to_string(i), 1, 1 + static_cast<int>(rng.Below(3)));
    std::vector<WorkerId> workers;
    for (int i = 0; i < 8; ++i) workers.push_back(RegisterBy(n % 2 == 0 ? "newest" : "fair", {"a"}, 5));
    for (int slot = 0; slot < 40; ++slot) {
      const WorkerId worker = workers[static_cast<std::size_t>(slot) % workers.size()];
      const auto grants = Pull(worker);
      ASSERT_EQ(grants.size(), 1u);
      Got(worker, grants[0]);
      const auto [least, most] = std::minmax_element(users_.begin(), users_.end(), [](const auto& a, const auto& b) {
        return a.second.running < b.second.running;
      });
      ASSERT_LE(most->second.running - least->second.running, 1u) << "slot " << slot;
    }
    for (int i = 0; i < 300; ++i) {
      // Some become free at once now and then, so that the fewest are not always one.
      for (std::uint64_t ends = rng.Below(4); ends > 0 && running_.size() > 5; --ends) EndOne(rng);
      const WorkerId worker = EndOne(rng);
      const std::string next = Next();
      const auto grants = Pull(worker);
      ASSERT_EQ(grants.size(), 1u);
      ASSERT_EQ(UserOf(grants[0]), next) << "pick " << i;
      Got(worker, grants[0]);
    }
  }
}

TEST_F(EngineFairGroups, WeightsShareInProportionAndFollowTheirChange) {
  const Weights weights = {{"user.u0", 3}, {"user.u2", 2}};
  SetPolicy("fair(user, worker)", weights);
  for (int i = 0; i < 4; ++i) AddUser("u" + std::to_string(i), i == 0 ? 3 : i == 2 ? 2 : 1, 1);
  const WorkerId worker = RegisterBy("oldest", {"a"}, 1000);
  Rng rng(1);
  for (std::uint64_t i = 1; i <= 70; ++i) {
    const auto grants = Pull(worker);
    ASSERT_EQ(grants.size(), 1u);
    Got(worker, grants[0]);
    if (i % 7 != 0) continue;
    for (const auto& [name, user] : users_) EXPECT_EQ(user.running, user.weight * i / 7) << name << " of " << i;
  }
  // Others pay more now: whoever has too much for it waits until the rest has caught up.
  SetPolicy("fair(user, worker)", {{"user.u1", 4}, {"user.u3", 9}});
  users_["u0"].weight = users_["u2"].weight = 1;
  users_["u1"].weight = 4;
  users_["u3"].weight = 9;
  for (int i = 0; i < 600; ++i) {
    if (rng.Below(2) == 0) EndOne(rng);
    const std::string next = Next();
    const auto grants = Pull(worker);
    ASSERT_EQ(grants.size(), 1u);
    ASSERT_EQ(UserOf(grants[0]), next) << "pick " << i;
    Got(worker, grants[0]);
  }
}

TEST_F(EngineFairGroups, WhoArrivesWhenAllSlotsAreTakenGetsTheFirstOneThatBecomesFree) {
  for (int i = 0; i < 3; ++i) AddUser("u" + std::to_string(i), 1, 1);
  const WorkerId worker = RegisterBy("fair", {"a"}, 10);
  for (const Grant& grant : Pull(worker, 10)) Got(worker, grant);
  ASSERT_EQ(running_.size(), 10u);
  AddUser("late", 1, 2);
  Rng rng(7);
  EndOne(rng);
  const auto grants = Pull(worker);
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(UserOf(grants[0]), "late");
}

TEST_F(EngineFairGroups, AlsoWhereWorkersWaitAndTheQueueIsFull) {
  SetPolicy("max_simultaneous(async, 10, fair(user, worker))");
  for (int i = 0; i < 3; ++i) AddUser("u" + std::to_string(i), 1, 1);
  const WorkerId worker = RegisterBy("priority", {"a"}, 20);
  for (const Grant& grant : Pull(worker, 20)) Got(worker, grant);
  ASSERT_EQ(running_.size(), 10u);
  Wait(worker, 10);
  JobSpec urgent = Of("u1", 1);
  urgent.priority = 9;
  Submit(urgent);
  AddUser("late", 1, 1);
  EXPECT_TRUE(Grants().empty());
  Rng rng(7);
  for (const bool first : {true, false}) {
    EndOne(rng);
    const auto grants = Grants();
    ASSERT_EQ(grants.size(), 1u);
    EXPECT_EQ(UserOf(grants[0]), first ? "late" : Next());
    Got(worker, grants[0]);
  }
}

// --- Restarts.

TEST_F(EngineFairTest, WhoWasServedLastIsKnownOfLargeJobsToo) {
  // Of several pages: most of what changes with a grant is not in the job's own record.
  const JobId ann = Submit(Of("ann", 100'000));
  const JobId bob = Submit(Of("bob", 100'000));
  const auto serve = [&](WorkerId worker) {
    const auto grants = Pull(worker);
    EXPECT_EQ(grants.size(), 1u);
    EXPECT_EQ(Say(worker, grants[0].task, ReportKind::kDone), ReportVerdict::kTaken);
    return grants[0].task.job;
  };
  for (const bool folded : {true, false}) {
    const WorkerId worker = RegisterBy("fair");
    EXPECT_EQ(serve(worker), ann);
    Fold();
    EXPECT_EQ(serve(worker), bob);
    EXPECT_EQ(serve(worker), ann);
    if (folded) Fold();
    Grants();
    Load(30s);
    EXPECT_EQ(serve(RegisterBy("fair")), bob);
  }
}

TEST_F(EngineFairTest, AfterACrashPicksGoOnAsIfThereHadBeenNone) {
  const std::vector<std::pair<std::string, std::string>> ways = {
      {"fair", "worker"},
      {"least_recent", "fair(user, worker)"},
      {"newest", "fair(customer, fair(user, worker))"},
      {"prefer_distinct(user, 2, least_recent)", "worker"},
      {"fair(customer, least_recent)", "max_simultaneous(user, 6, worker)"},
      {"or_else(select_only(customer = c1, fair(user, oldest)), least_recent)", "prefer_distinct(customer, 3, worker)"},
  };
  for (std::size_t way = 0; way < ways.size(); ++way) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(ways[way].first + " below " + ways[way].second + ", seed " + std::to_string(seed));
      Rng rng(seed * 100 + way);
      records_.clear();
      journal_.clear();
      floor_ = 0;
      options_.policy = Strategy(ways[way].second, true);
      options_.weights = {{"user.u1", 2}, {"customer.c2", 3}};
      Load(30s);
      WorkerSpec spec;
      spec.id = WorkerId{++last_id_};
      spec.tags = {"a"};
      spec.connected = true;
      spec.slots = 20;
      spec.strategy = Strategy(ways[way].first);
      const std::uint64_t key = engine_->workers().Register(now_, spec, std::nullopt)->key;
      std::vector<TaskRef> running;
      std::vector<Engine*> engines = {engine_.get()};
      // The same to all engines; what they grant must be the same.
      const auto step = [&] {
        if (rng.Below(4) == 0) Pass(std::chrono::milliseconds(rng.Below(50)));
        if (rng.Below(6) == 0) {
          JobSpec job = Of("u" + std::to_string(rng.Below(5)), 1 + static_cast<std::uint32_t>(rng.Below(6)));
          if (rng.Below(4) != 0) job.meta = {{"customer", "c" + std::to_string(rng.Below(3))}};
          job.async = rng.Below(3) != 0;
          ++last_id_;
          for (Engine* engine : engines) ASSERT_TRUE(engine->jobs().Submit(now_, JobId{last_id_}, job).ok());
        }
        if (!running.empty() && rng.Below(3) != 0) {
          const std::size_t which = rng.Below(running.size());
          const Report report{running[which], rng.Below(3) == 0 ? ReportKind::kReleased : ReportKind::kDone};
          for (Engine* engine : engines)
            ASSERT_TRUE(engine->workers().ReportAll(now_, spec.id, std::span(&report, 1)).ok());
          running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
        }
        for (Engine* engine : engines) {
          if (engine != engine_.get()) engine->Take();
        }
        Grants();
        const auto credit = static_cast<std::uint32_t>(1 + rng.Below(3));
        std::vector<TaskRef> first;
        for (Engine* engine : engines) {
          ASSERT_TRUE(engine->workers().Pull(now_, spec.id, PullOptions{credit, false, 0s}).ok());
          std::vector<TaskRef> got;
          if (engine == engine_.get()) {
            for (const Grant& grant : Grants()) got.push_back(grant.task);
            first = got;
          } else {
            const auto [position, effects] = engine->Take();
            for (const GrantBatch& batch : effects.grant_batches) {
              for (const Grant& grant : batch.grants) got.push_back(grant.task);
            }
            ASSERT_EQ(got, first);
          }
        }
        running.insert(running.end(), first.begin(), first.end());
      };
      for (int i = 0; i < 150; ++i) {
        step();
        if (HasFatalFailure()) return;
        if (rng.Below(20) == 0) Fold(rng.Below(6));
      }
      Fold(rng.Below(2) == 0 ? 0 : rng.Below(30));
      const std::unique_ptr<Engine> again = Loaded(30s);
      engines.push_back(again.get());
      // The worker comes back to both, so that they are told the same.
      spec.resume = running;
      for (Engine* engine : engines) {
        const auto answer = engine->workers().Register(now_, spec, key);
        ASSERT_TRUE(answer.ok());
        ASSERT_EQ(answer->resumed.size(), running.size());
      }
      for (int i = 0; i < 150; ++i) {
        step();
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace allot
