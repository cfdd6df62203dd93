// SPDX-License-Identifier: Apache-2.0
// Matching inside the engine: what tests of match/ and the simulation do not reach, or what should be seen by name.
#include "engine/testing.h"
#include "expr/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineMatchTest : public testing::EngineTest {
 protected:
  WorkerId RegisterAs(WorkerSpec spec) {
    spec.id = WorkerId{++last_id_};
    spec.connected = true;
    if (spec.tags.empty()) spec.tags = {"a"};
    const auto answer = engine_->workers().Register(now_, spec, std::nullopt);
    EXPECT_TRUE(answer.ok());
    key_of_[spec.id] = answer->key;
    return spec.id;
  }
  WorkerId WithMemory(std::int64_t memory) {
    WorkerSpec spec;
    spec.attributes = {{"Memory", memory}};
    return RegisterAs(spec);
  }
  JobSpec Requiring(const std::string& text) {
    JobSpec spec = Spec(1);
    spec.requirements = testing::MustParse(text);
    return spec;
  }
  void Change(WorkerId worker, const WorkerChange& change) {
    EXPECT_TRUE(engine_->workers().Change(now_, worker, change).ok());
  }
};

TEST_F(EngineMatchTest, SubmitSaysHowManyWorkersMayRunTheJob) {
  WithMemory(1);
  WithMemory(2);
  WithMemory(3);
  EXPECT_EQ(engine_->jobs().Submit(now_, JobId{++last_id_}, Requiring("TARGET.Memory >= 2"))->matching_workers, 2u);
  EXPECT_EQ(engine_->jobs().Submit(now_, JobId{++last_id_}, Requiring("TARGET.Memory >= 4"))->matching_workers, 0u);
  EXPECT_EQ(engine_->jobs().Submit(now_, JobId{++last_id_}, Requiring("TARGET.Memroy >= 1"))->matching_workers, 0u);
}

// By an older version, or a newer one: the queue loads, and the job waits, with its text as it was.
TEST_F(EngineMatchTest, AStoredExpressionThatIsNotReadAnyMoreMatchesNothingAndIsKept) {
  const std::string good = "TARGET.Memory >= 2", bad = "TARGET.Memory >=<2";
  ASSERT_EQ(expr::Expr::Parse(bad).expr, nullptr);
  const JobId job = Submit(Requiring(good));
  const JobId other = Submit(Spec(1));
  Fold();
  for (int round = 0; round < 2; ++round) {
    for (auto& [key, blob] : records_) {
      if (const std::size_t at = blob.find(good); at != std::string::npos) blob.replace(at, good.size(), bad);
    }
    Load(0s);
    const std::vector<Grant> grants = Pull(WithMemory(4), 5);
    ASSERT_LE(grants.size(), 1u);  // the other one, once
    for (const Grant& grant : grants) EXPECT_EQ(grant.task.job, other);
    EXPECT_EQ(View(job).requirements->source(), bad);
    EXPECT_EQ(View(job).queued, 1u);
    EXPECT_TRUE(engine_->jobs().Pause(now_, job).ok());  // written anew, as it was
    EXPECT_TRUE(engine_->jobs().Resume(now_, job).ok());
    Fold();
  }
}

TEST_F(EngineMatchTest, AWaitingWorkerThatChangesIsServedAtOnceAndWhatRunsStays) {
  WorkerSpec plain;
  const WorkerId worker = RegisterAs(plain);
  JobSpec spec = Spec(2);
  spec.constraints = {{{"gpu", "a100"}}};
  const JobId job = Submit(spec);
  Wait(worker, 1);
  EXPECT_TRUE(Grants().empty());
  WorkerChange change;
  change.properties = Properties{{"gpu", "a100"}, {"region", "eu"}};
  Change(worker, change);
  EXPECT_EQ(Grants().size(), 1u);
  change.properties = Properties{};
  Change(worker, change);
  EXPECT_EQ(View(job).running, 1u);
  Wait(worker, 1);
  EXPECT_TRUE(Grants().empty());
  EXPECT_EQ(View(job).queued, 1u);
}

TEST_F(EngineMatchTest, AJobThatChangesIsMatchedAnewAtOnce) {
  const WorkerId worker = WithMemory(2);
  const JobId job = Submit(Requiring("TARGET.Memory >= MY.Need"));
  Wait(worker);
  EXPECT_TRUE(Grants().empty());
  JobChange change;
  change.meta = Meta{{"Need", std::int64_t{2}}};
  EXPECT_TRUE(engine_->jobs().Change(now_, job, change).ok());
  EXPECT_EQ(Grants().size(), 1u);
}

TEST_F(EngineMatchTest, AJobsRankChoosesAmongWaitingWorkersThenTheLongestWaiting) {
  const WorkerId small = WithMemory(1);
  const WorkerId large = WithMemory(8);
  const WorkerId larger_later = WithMemory(8);
  for (const WorkerId worker : {small, larger_later, large}) Wait(worker);
  JobSpec spec = Spec(1);
  spec.rank = testing::MustParse("TARGET.Memory");
  for (int i = 0; i < 3; ++i) Submit(spec);
  EXPECT_EQ(Served(), (std::vector<WorkerId>{larger_later, large, small}));
}

TEST_F(EngineMatchTest, OfOneJobWithManyTasksTheRankOrdersThoseWhoAreServed) {
  const WorkerId small = WithMemory(1);
  const WorkerId large = WithMemory(8);
  const WorkerId larger_later = WithMemory(8);
  for (const WorkerId worker : {small, larger_later, large}) Wait(worker);
  JobSpec spec = Spec(3);
  spec.rank = testing::MustParse("TARGET.Memory");
  Submit(spec);
  EXPECT_EQ(Served(), (std::vector<WorkerId>{larger_later, large, small}));
}

TEST_F(EngineMatchTest, AWorkersRankComesBeforeThePriorityOfJobs) {
  WorkerSpec spec;
  spec.rank = testing::MustParse("TARGET.Customer == \"acme\" ? 2 : 1");
  const WorkerId worker = RegisterAs(spec);
  JobSpec urgent = Spec(1);
  urgent.priority = 9;
  JobSpec acme = Spec(1);
  acme.meta = {{"Customer", std::string("ACME")}};
  const JobId first = Submit(urgent);
  const JobId second = Submit(acme);
  EXPECT_EQ(Pull(worker)[0].task.job, second);
  EXPECT_EQ(Pull(worker)[0].task.job, first);
}

TEST_F(EngineMatchTest, VerdictsThatReadTheTimeAreRenewedEverySecond) {
  const WorkerId worker = WithMemory(1);
  Wait(worker);
  const std::int64_t due = kStart / 1000 + 5;
  Submit(Requiring("time() >= " + std::to_string(due)));
  Pass(4900ms);
  EXPECT_TRUE(Grants().empty());
  Pass(150ms);
  EXPECT_EQ(Grants().size(), 1u);
}

TEST_F(EngineMatchTest, AWorkersRequirementsReadTheJobAlsoWhenManyJobsWaitAlready) {
  // More than one step can put into new classes.
  constexpr int kJobs = 5000;
  for (int i = 0; i < kJobs; ++i) {
    JobSpec spec = Spec(1);
    spec.user = i % 100 == 99 ? "ann" : "bob";
    Submit(spec);
  }
  WorkerSpec spec;
  spec.requirements = testing::MustParse("TARGET.User == \"ann\"");
  const WorkerId picky = RegisterAs(spec);
  const WorkerId other = Register();
  Wait(picky, 1000);
  Pass(1s);
  std::size_t got = 0;
  for (const Grant& grant : Grants()) {
    EXPECT_EQ(View(grant.task.job).user, "ann");
    ++got;
  }
  EXPECT_EQ(got, static_cast<std::size_t>(kJobs / 100));
  EXPECT_EQ(Pull(other, 1).size(), 1u);
  EXPECT_EQ(engine_->looks().Stats().classes, 2u);
}

TEST_F(EngineMatchTest, AWorkerThatWouldTellTooManyJobsApartIsRefused) {
  constexpr std::int64_t kJobs = 70'000;  // more than there may be classes
  for (std::int64_t i = 0; i < kJobs; ++i) {
    JobSpec spec = Spec(1);
    spec.meta = {{"few", i % 3}, {"rid", i}};
    Submit(spec);
    if (i % 1000 == 0) Fold();
  }
  WorkerSpec picky;
  picky.id = WorkerId{++last_id_};
  picky.tags = {"a"};
  picky.connected = true;
  picky.requirements = testing::MustParse("TARGET.rid >= 66000");
  const auto refused = engine_->workers().Register(now_, picky, std::nullopt);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kTooManyClasses);
  EXPECT_EQ(engine_->looks().Stats().classes, 1u);
  WorkerSpec modest;
  modest.requirements = testing::MustParse("TARGET.few == 1");
  const WorkerId worker = RegisterAs(modest);
  WorkerChange change;
  change.rank = testing::MustParse("TARGET.rid");
  EXPECT_FALSE(engine_->workers().Change(now_, worker, change).ok());
  Pass(1s);
  EXPECT_EQ(engine_->looks().Stats().classes, 3u);
  // When nobody reads it any more, the classes become one again.
  engine_->workers().Unregister(now_, worker);
  Pass(70s);  // without workers nothing is due before
  Pass(1s);
  EXPECT_EQ(engine_->looks().Stats().classes, 1u);
}

TEST_F(EngineMatchTest, CostlyRequirementsAreJudgedInSteps) {
  constexpr int kWorkers = 2000;
  for (int i = 0; i < kWorkers; ++i) {
    WorkerSpec spec;
    spec.name = "worker" + std::to_string(i);
    RegisterAs(spec);
  }
  std::string text = "size(TARGET.Name) > 0";
  for (int i = 0; i < 300; ++i) text += " && size(TARGET.Name) > 0";
  const JobId job = Submit(Requiring(text));
  EXPECT_TRUE(engine_->looks().Snapshot(job)->unsettled);
  EXPECT_EQ(engine_->NextWake(now_), now_.mono) << "it goes on at once";
  const WorkerId other = Register({"b"});
  Submit(Spec(1, {"b"}));
  Pass(1s);
  EXPECT_FALSE(engine_->looks().Snapshot(job)->unsettled);
  EXPECT_EQ(Pull(other).size(), 1u);
  WorkerSpec last;
  last.name = "late";
  EXPECT_EQ(Pull(RegisterAs(last)).size(), 1u) << "a worker that comes later may run it too";
}

TEST_F(EngineMatchTest, EndedJobsHoldNoClassAndARetryTakesOneAgain) {
  const WorkerId worker = WithMemory(1);
  const JobId job = Submit(Requiring("TARGET.Memory == 1"));
  EXPECT_EQ(engine_->looks().Stats().classes, 1u);
  const auto grants = Pull(worker);
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(Say(worker, grants[0].task, ReportKind::kRejected), ReportVerdict::kTaken);
  EXPECT_EQ(View(job).state, JobState::kFailed);
  EXPECT_EQ(engine_->looks().Stats().classes, 0u);
  EXPECT_EQ(*View(job).tags, std::vector<std::string>{"a"});
  EXPECT_TRUE(engine_->jobs().Retry(now_, job).ok());
  EXPECT_EQ(engine_->looks().Stats().classes, 1u);
  EXPECT_EQ(Pull(worker).size(), 1u);
}

TEST_F(EngineMatchTest, DemandsComeBackFromRecordsAndJournalAlike) {
  JobSpec spec = Requiring("TARGET.Memory >= MY.Need && TARGET.Arch == \"x86_64\"");
  spec.constraints = {{{"gpu", "a100"}, {"region", "eu west"}}, {{"gpu", "h100"}}};
  spec.rank = testing::MustParse("TARGET.Memory");
  spec.meta = {{"Need", std::int64_t{3}}};
  const JobId job = Submit(spec);
  for (const bool folded : {false, true}) {
    if (folded) Fold();
    Grants();
    Load(30s);
    const JobView view = View(job);
    EXPECT_EQ(*view.constraints, spec.constraints);
    EXPECT_EQ(*view.constraint_tags, (std::vector<std::string>{"c:gpu=a100,region=eu%20west", "c:gpu=h100"}));
    EXPECT_EQ(view.requirements->source(), spec.requirements->source());
    EXPECT_EQ(view.rank->source(), spec.rank->source());
  }
  WorkerSpec fitting;
  fitting.properties = {{"gpu", "h100"}};
  fitting.attributes = {{"Arch", std::string("X86_64")}, {"Memory", std::int64_t{3}}};
  WorkerSpec lacking = fitting;
  lacking.properties = {{"gpu", "a100"}};
  EXPECT_TRUE(Pull(RegisterAs(lacking)).empty());
  EXPECT_EQ(Pull(RegisterAs(fitting)).size(), 1u);
}

TEST_F(EngineMatchTest, ASnapshotKnowsWhenATagWasSeenLast) {
  const WorkerId worker = Register({"a", "b"});
  const JobId job = Submit(Spec(1, {"a", "never"}));
  EXPECT_FALSE(engine_->looks().Snapshot(job)->tags[0].last_seen.has_value());
  Pass(10s);
  engine_->workers().Unregister(now_, worker);
  const auto snapshot = engine_->looks().Snapshot(job);
  EXPECT_EQ(snapshot->tags[0].last_seen, now_.wall);
  EXPECT_FALSE(snapshot->tags[1].last_seen.has_value());
  EXPECT_TRUE(snapshot->workers.empty());
}

}  // namespace
}  // namespace allot
