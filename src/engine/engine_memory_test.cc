// SPDX-License-Identifier: Apache-2.0
// The memory budget, and the quotas of users.
#include "base/testing/memory.h"
#include "base/text.h"
#include "engine/looks/preview_walk.h"
#include "engine/pace.h"
#include "engine/testing.h"
#include "expr/testing.h"

namespace allot {
namespace {

using testing::EngineTest;
using namespace std::chrono_literals;

constexpr std::uint64_t kMiB = 1024 * 1024;

class EngineMemoryTest : public EngineTest {
 protected:
  void SetUp() override {
    if (!MemoryPool::Available()) GTEST_SKIP() << "memory is not counted in this build";
    EngineTest::SetUp();
  }
  Result<SubmitAnswer> Try(const JobSpec& spec) { return engine_->jobs().Submit(now_, JobId{++last_id_}, spec); }
  Code TrySubmit(const JobSpec& spec) {
    const auto answer = Try(spec);
    if (++taken_ % 1000 == 0) Fold();
    return answer.ok() ? Code::kInternal : answer.error().code;
  }
  std::uint64_t Part(MemoryPart part) const { return engine_->looks().Memory().bytes[static_cast<std::size_t>(part)]; }
  // Steps until nothing is to be built or dropped.
  void Settle() {
    for (int i = 0; i < 1'000'000 && engine_->NextWake(now_) <= now_.mono; ++i) {
      Move(now_.mono + 1ms);
      engine_->Tick(now_);
    }
    Grants();
  }
  int taken_ = 0;
};

// --- Quotas.

class EngineQuotaTest : public EngineTest {
 protected:
  // How many different ones are taken, until one is refused.
  std::size_t Submits(std::function<void(JobSpec&, int)> who, Error& refused) {
    for (std::size_t i = 0;; ++i) {
      JobSpec spec = Spec(1, {"t" + std::to_string(++tags_)});
      who(spec, tags_);
      const auto answer = engine_->jobs().Submit(now_, JobId{++last_id_}, spec);
      if (tags_ % 1000 == 0) Fold();
      if (answer.ok()) continue;
      refused = answer.error();
      return i;
    }
  }
  int tags_ = 0;
};

TEST_F(EngineQuotaTest, OneUserLeavesClassesToOthers) {
  Error refused;
  EXPECT_EQ(Submits([](JobSpec& spec, int) { spec.user = "ann"; }, refused), 49'152u);
  EXPECT_EQ(refused.code, Code::kTooManyClasses);
  EXPECT_NE(refused.message.find("the user ann differ in 49,152 ways"), std::string::npos) << refused.message;
  // What is a class already is taken.
  JobSpec known = Spec(1, {"t1"});
  known.user = "ann";
  Submit(known);
  // Others have a share of the rest, whoever they say that they are.
  const auto made_up = [](JobSpec& spec, int i) {
    spec.user = "u" + std::to_string(i);
    spec.token = "0123";
  };
  EXPECT_EQ(Submits(made_up, refused), 12'288u);
  EXPECT_NE(refused.message.find("the token 0123"), std::string::npos) << refused.message;
  EXPECT_GT(Submits([](JobSpec& spec, int) { spec.user = "bob"; }, refused), 1000u);
  // What ends is free again.
  for (const JobView& job : engine_->looks().List(JobQuery{{}, 1000, {}, {}, "bob"}).jobs) {
    ASSERT_TRUE(engine_->jobs().Cancel(now_, job.id).ok());
  }
  EXPECT_GT(Submits([](JobSpec& spec, int) { spec.user = "cat"; }, refused), 500u);
}

TEST_F(EngineQuotaTest, OneUserLeavesStrategiesToOthers) {
  const auto registers = [&](const std::string& user, const std::string& token, int from) {
    for (int i = 0;; ++i) {
      WorkerSpec spec;
      spec.id = WorkerId{++last_id_};
      spec.connected = true;
      spec.user = user;
      spec.token = token;
      spec.strategy = Strategy("select_only(n = " + std::to_string(from + i) + ", oldest)");
      const auto answer = engine_->workers().Register(now_, spec, std::nullopt);
      if (answer.ok()) continue;
      EXPECT_EQ(answer.error().code, Code::kTooManyStrategies);
      EXPECT_NE(answer.error().message.find(user.empty() ? token.empty() ? "without a token" : "token " + token
                                                         : "user " + user),
                std::string::npos)
          << answer.error().message;
      return i;
    }
  };
  EXPECT_EQ(registers("ann", "1", 0), 192);
  EXPECT_EQ(registers("ann", "2", 1000), 0);  // another token of the same user
  EXPECT_EQ(registers("", "3", 2000), 48);
  EXPECT_EQ(registers("", "", 3000), 12);
  // What is in use is for all.
  WorkerSpec spec;
  spec.id = WorkerId{++last_id_};
  spec.connected = true;
  spec.user = "ann";
  spec.strategy = Strategy("select_only(n = 2000, oldest)");
  EXPECT_TRUE(engine_->workers().Register(now_, spec, std::nullopt).ok());
  PullOptions pull{1, false, 0s, Strategy("newest")};
  EXPECT_EQ(engine_->workers().Pull(now_, spec.id, pull).error().code, Code::kTooManyStrategies);
}

// --- The budget.

TEST_F(EngineMemoryTest, WithEverythingThatBoundsAllowAtOnceTheBudgetHolds) {
  constexpr std::uint64_t kBudget = 64 * kMiB;
  engine_->queue().SetMemoryBudget(kBudget);
  const std::uint64_t resident = ResidentBytes();
  Rng rng(1);
  std::map<std::string, std::uint64_t> refused;
  std::vector<std::unique_ptr<PreviewWalk>> looks;
  std::uint64_t most = 0;
  int limits = 0;
  const std::string long_text(900, 'x');
  for (int i = 0; i < 60'000; ++i) {
    Code code = Code::kInternal;
    switch (rng.Below(40)) {
      case 0: {  // a strategy over all jobs, of many blocks
        WorkerSpec spec;
        spec.id = WorkerId{++last_id_};
        spec.connected = true;
        spec.user = "w" + std::to_string(rng.Below(50));
        spec.tags = {"t" + std::to_string(rng.Below(20))};
        spec.attributes = {{"memory", static_cast<std::int64_t>(rng.Below(100))}, {"text", long_text}};
        std::string text = "fair(user, or_else(oldest";
        for (std::uint64_t n = rng.Below(4); n > 0; --n)
          text += ", prefer_distinct(rid, " + std::to_string(n) + ", newest)";
        spec.strategy = Strategy(text + ", select_only(n = " + std::to_string(i) + ", random)))");
        const auto answer = engine_->workers().Register(now_, spec, std::nullopt);
        if (!answer.ok()) code = answer.error().code;
        break;
      }
      case 1: {
        LimitSpec spec;
        spec.tag = "l" + std::to_string(i);
        spec.expr = testing::MustParse("MY.rid % 7 == " + std::to_string(i % 7));
        spec.cost = testing::MustParse("MY.rid");
        spec.name = spec.tag;
        spec.count = 1000;
        spec.window = 60s;
        spec.expires_in = 300s;
        const auto answer = engine_->limits().Create(now_, "uuid" + std::to_string(++limits), spec);
        if (!answer.ok()) code = answer.error().code;
        break;
      }
      case 2: {
        if (looks.size() > 8) looks.erase(looks.begin());
        looks.push_back(std::make_unique<PreviewWalk>(PreviewRequest{Strategy("fair(rid, oldest)"), {}, {}, {}}));
        const auto answer = engine_->prepared_looks().Collect(now_, *looks.back(), 1'000'000);
        if (!answer.ok()) code = answer.error().code;
        break;
      }
      default: {
        JobSpec spec = Spec(static_cast<std::uint32_t>(1 + rng.Below(100)), {"t" + std::to_string(rng.Below(20))});
        spec.user = "u" + std::to_string(rng.Below(200));
        spec.meta = {{"rid", static_cast<std::int64_t>(i)}};
        if (rng.Below(4) == 0) spec.meta.emplace_back("note", long_text);
        if (rng.Below(2) == 0) spec.requirements = testing::MustParse("TARGET.memory >= " + std::to_string(i));
        spec.idempotency_key = "key" + std::to_string(i);
        code = TrySubmit(spec);
      }
    }
    if (code != Code::kInternal) ++refused[std::string(CodeText(code))];
    Move(now_.mono + 1ms);
    if (i % 10 == 0) engine_->Tick(now_);
    if (i % 100 == 0) Grants();
    most = std::max(most, engine_->looks().Memory().total());
    ASSERT_LE(engine_->looks().Memory().total(), kBudget + kBudget / 10)
        << i << ": " << MemoryText(engine_->looks().Memory());
  }
  std::printf("most %s, refused:", FormatSize(most).c_str());
  for (const auto& [code, times] : refused) std::printf(" %s %lu", code.c_str(), times);
  std::printf("; %s\n", MemoryText(engine_->looks().Memory()).c_str());
  EXPECT_GT(refused["memory_full"], 1000u);
  EXPECT_GT(most, kBudget / 2);
  // What the test itself keeps beside it: the journal and records as a store would.
  std::uint64_t own = 0;
  for (const auto& [position, events] : journal_) own += events.capacity() + 100;
  for (const auto& [key, blob] : records_) own += blob.capacity() + 120;
  EXPECT_LE(ResidentBytes(), resident + own + kBudget + kBudget / 2);

  // What is there goes on, and what ends makes room.
  looks.clear();
  const WorkerId worker = Register({"t1"});
  const auto grants = Pull(worker, 10);
  for (const Grant& grant : grants) Say(worker, grant.task, ReportKind::kDone);
  for (;;) {
    const JobPage page = engine_->looks().List(JobQuery{{}, 1000, JobState::kActive, {}, {}});
    if (page.jobs.empty()) break;
    for (const JobView& job : page.jobs) ASSERT_TRUE(engine_->jobs().Cancel(now_, job.id).ok());
    Fold();
  }
  for (WorkerPage page; !(page = engine_->looks().Workers(std::nullopt, 10'000)).workers.empty();) {
    for (const WorkerView& other : page.workers) engine_->workers().Unregister(now_, other.id);
  }
  Settle();
  EXPECT_LT(Part(MemoryPart::kStrategies), 4 * kMiB);
  EXPECT_LT(Part(MemoryPart::kClasses), 4 * kMiB);
  Pass(25h);  // of retention
  Settle();
  EXPECT_LT(engine_->looks().Memory().total(), 4 * kMiB) << MemoryText(engine_->looks().Memory());
  EXPECT_EQ(TrySubmit(Spec(1)), Code::kInternal);
}

TEST_F(EngineMemoryTest, ARefusalSaysWhatUsesTheBudget) {
  engine_->queue().SetMemoryBudget(16 * kMiB);
  JobSpec spec = Spec(1);
  spec.meta = {{"text", std::string(1000, 'x')}};
  Error error;
  for (;;) {
    const auto answer = Try(spec);
    if (answer.ok()) continue;
    error = answer.error();
    break;
  }
  EXPECT_EQ(error.code, Code::kMemoryFull);
  EXPECT_NE(error.message.find("budget of 16"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("jobs 1"), std::string::npos) << error.message;
  EXPECT_NE(error.hint.find("memory_budget"), std::string::npos);
  // Whoever asks again for what is there gets it.
  engine_->queue().SetMemoryBudget(1);
  spec.idempotency_key = "k";
  EXPECT_EQ(TrySubmit(spec), Code::kMemoryFull);
  engine_->queue().SetMemoryBudget(0);
  const JobId job = Submit(spec);
  engine_->queue().SetMemoryBudget(1);
  EXPECT_EQ(Try(spec)->job, job);
}

TEST_F(EngineMemoryTest, ARestartWithASmallerBudgetLoadsAllAndRefusesNewJobsAlone) {
  const WorkerId worker = Register();
  for (int i = 0; i < 5000; ++i) Submit(Spec(2));
  const auto running = Pull(worker, 3);
  Fold();
  options_.memory_budget = 1;
  Load(30s);
  EXPECT_EQ(engine_->looks().Stats().jobs_active, 5000u);
  EXPECT_EQ(TrySubmit(Spec(1)), Code::kMemoryFull);
  // Who was there comes back, and works on.
  WorkerSpec same;
  same.id = worker;
  same.tags = {"a"};
  same.connected = true;
  for (const Grant& grant : running) same.resume.push_back(grant.task);
  ASSERT_TRUE(engine_->workers().Register(now_, same, key_of_[worker]).ok());
  for (const Grant& grant : running) Say(worker, grant.task, ReportKind::kDone);
  EXPECT_EQ(Pull(worker, 10).size(), 10u);
  EXPECT_TRUE(engine_->jobs().Cancel(now_, JobId{running[0].task.job}).ok());
}

TEST_F(EngineMemoryTest, StrategiesAreRefusedBeforeTheirOrdersAreBuilt) {
  for (int i = 0; i < 50'000; ++i) {
    Submit(Spec(1));
    if (i % 1000 == 0) Fold();
  }
  const std::uint64_t before = engine_->looks().Memory().total();
  engine_->queue().SetMemoryBudget(before + kMiB / 2);
  WorkerSpec spec;
  spec.id = WorkerId{++last_id_};
  spec.connected = true;
  spec.strategy = Strategy("newest");
  const auto refused = engine_->workers().Register(now_, spec, std::nullopt);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kMemoryFull);
  EXPECT_NE(refused.error().message.find("strategies"), std::string::npos) << refused.error().message;
  EXPECT_LE(engine_->looks().Memory().total(), before + kMiB / 16);
  spec.strategy = nullptr;  // by an order that is there
  EXPECT_TRUE(engine_->workers().Register(now_, spec, std::nullopt).ok());
}

TEST_F(EngineMemoryTest, AnOrderThatTurnsOutTooLargeIsGivenUpAndBuiltWhenThereIsRoom) {
  // Alike to all orders so far, and all different to the one that comes.
  for (int i = 0; i < 30'000; ++i) {
    JobSpec spec = Spec(1);
    spec.meta = {{"rid", static_cast<std::int64_t>(i)}};
    Submit(spec);
    if (i % 1000 == 0) Fold();
  }
  const std::uint64_t before = engine_->looks().Memory().total();
  const std::uint64_t budget = before + 4 * kMiB;
  engine_->queue().SetMemoryBudget(budget);
  const WorkerId worker = RegisterBy("prefer_distinct(rid, 1, newest)");
  ASSERT_TRUE(engine_->workers().Pull(now_, worker, {1, false, std::nullopt}).ok());
  Pass(2s);
  EXPECT_LE(engine_->looks().Memory().total(), budget + budget / 10);
  EXPECT_TRUE(Grants().empty());
  // Others go on.
  EXPECT_EQ(Pull(Register(), 5).size(), 5u);
  engine_->queue().SetMemoryBudget(budget + 100 * kMiB);
  Pass(2s);
  EXPECT_EQ(Grants().size(), 1u);
}

TEST_F(EngineMemoryTest, OrdersThatLeaveGiveTheirMemoryBackToTheSystem) {
  for (int i = 0; i < 30'000; ++i) {
    JobSpec spec = Spec(1, {"a", "t" + std::to_string(i % 1000)});
    spec.user = "u" + std::to_string(i % 300);
    Submit(spec);
    if (i % 1000 == 0) Fold();
  }
  Settle();
  const std::uint64_t counted = Part(MemoryPart::kStrategies);
  const std::uint64_t resident = ResidentBytes();
  std::vector<WorkerId> workers;
  for (int i = 0; i < 20; ++i) {
    workers.push_back(RegisterBy("or_else(select_only(n = " + std::to_string(i) + ", newest), fair(user, oldest))"));
  }
  Settle();
  EXPECT_EQ(engine_->looks().Stats().strategies, 21u);
  const std::uint64_t grown = Part(MemoryPart::kStrategies) - counted;
  EXPECT_GT(grown, 30 * kMiB);
  EXPECT_GT(ResidentBytes(), resident + grown * 8 / 10);
  EXPECT_LT(ResidentBytes(), resident + grown * 13 / 10);
  // More come meanwhile, so that what stays lies between what leaves.
  for (int i = 0; i < 3000; ++i) Submit(Spec(1, {"t" + std::to_string(i % 1000)}));
  for (const WorkerId worker : workers) engine_->workers().Unregister(now_, worker);
  Fold();
  Settle();
  EXPECT_LT(Part(MemoryPart::kStrategies), counted + 2 * kMiB);
  EXPECT_LT(ResidentBytes(), resident + grown / 4);
}

TEST_F(EngineMemoryTest, BuildingOrdersLeavesMostOfTheTimeToThoseWhoPull) {
  constexpr int kJobs = 20'000;
  for (int i = 0; i < kJobs; ++i) {
    Submit(Spec(1000));
    if (i % 1000 == 0) Fold();
  }
  Settle();
  const WorkerId other = Register();
  std::vector<WorkerId> workers;
  for (int i = 0; i < 20; ++i) workers.push_back(RegisterBy("select_only(n = " + std::to_string(i) + ", newest)"));
  const WorkerId first = RegisterBy("newest");
  ASSERT_TRUE(engine_->workers().Pull(now_, first, {1, false, std::nullopt}).ok());
  // All orders over all jobs take at least a unit for each job: as many commands, with a tick after each, as have
  // these units in all.
  int commands = 0;
  for (; commands < 1'000'000; ++commands) {
    ASSERT_TRUE(engine_->workers().Pull(now_, other, {1, true, 0s}).ok());
    Move(now_.mono + 100us);
    engine_->Tick(now_);
    bool ready = false;
    for (const Grant& grant : Grants())
      ready = ready || engine_->looks().Task(grant.task.job, grant.task.index)->worker == first;
    if (ready) break;
  }
  EXPECT_GT(commands, kJobs / static_cast<int>(3 * kBuildBesides));
  // At rest it is through soon.
  const Instant before = now_.mono;
  Settle();
  EXPECT_LT(now_.mono - before, 21 * 1ms * kJobs * 4 / static_cast<int>(kBuildAtRest));
}

}  // namespace
}  // namespace allot
