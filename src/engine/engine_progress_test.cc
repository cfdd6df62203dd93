// SPDX-License-Identifier: Apache-2.0
// What workers say of a task beside its end: how far it is, and when to try again. And who follows a job's ends.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "base/rng.h"
#include "engine/looks/explain.h"
#include "engine/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineProgressTest : public testing::EngineTest {
 protected:
  void NoteProgress(WorkerId worker, const TaskRef& task, TaskProgress progress) {
    ProgressReport report{task, std::move(progress)};
    EXPECT_TRUE(engine_->workers().NoteProgress(now_, worker, std::span(&report, 1)).ok());
  }
  ReportVerdict Fail(WorkerId worker, const TaskRef& task, std::optional<milliseconds> retry_in) {
    const Report report{task, ReportKind::kFailed, retry_in};
    return engine_->workers().ReportAll(now_, worker, std::span(&report, 1))->front();
  }
  std::string WhyTask(JobId job, TaskIndex index) {
    const Result<JobSnapshot> snapshot = engine_->prepared_looks().SnapshotOf(now_, job, index);
    EXPECT_TRUE(snapshot.ok());
    return AllReasons(*snapshot, {}, 0).front().message;
  }
};

TEST_F(EngineProgressTest, IsSeenInTheTaskAndSummedInTheJob) {
  const JobId job = Submit(Spec(3));
  const WorkerId worker = Register();
  const std::vector<Grant> grants = Pull(worker, 2);
  ASSERT_EQ(grants.size(), 2u);
  EXPECT_EQ(View(job).progress, std::nullopt);
  NoteProgress(worker, grants[0].task, {1, 4, "reading"});
  NoteProgress(worker, grants[1].task, {1, 2, ""});
  EXPECT_DOUBLE_EQ(*View(job).progress, 0.75);
  const Result<TaskView> task = engine_->looks().Task(job, 0);
  ASSERT_TRUE(task->progress.has_value());
  EXPECT_EQ(task->progress->done, 1);
  EXPECT_EQ(task->progress->note, "reading");
  EXPECT_NE(WhyTask(job, 0).find("has done 1 of 4 (reading)"), std::string::npos) << WhyTask(job, 0);
  Say(worker, grants[0].task, ReportKind::kDone);
  EXPECT_DOUBLE_EQ(*View(job).progress, 0.5);
  EXPECT_EQ(engine_->looks().Task(job, 0)->progress, std::nullopt);
  Say(worker, grants[1].task, ReportKind::kReleased);
  EXPECT_EQ(View(job).progress, std::nullopt);
}

TEST_F(EngineProgressTest, IsThatOfTheLeasesOwnerAlone) {
  const JobId job = Submit(Spec(1));
  const WorkerId worker = Register(), other = Register();
  const TaskRef task = Pull(worker)[0].task;
  NoteProgress(other, task, {1, 2, ""});
  TaskRef made_up = task;
  made_up.lease.mac ^= 1;
  NoteProgress(worker, made_up, {1, 2, ""});
  EXPECT_EQ(View(job).progress, std::nullopt);
  EXPECT_FALSE(engine_->workers().NoteProgress(now_, WorkerId{9}, {}).ok());
}

TEST_F(EngineProgressTest, EndsWithTheLeaseHoweverThatEnds) {
  JobSpec spec = Spec(2);
  spec.lease = 60'000ms;
  const JobId job = Submit(spec);
  const WorkerId worker = Register({"a"}, false);
  const std::vector<Grant> grants = Pull(worker, 2);
  for (const Grant& grant : grants) NoteProgress(worker, grant.task, {1, 2, ""});
  EXPECT_DOUBLE_EQ(*View(job).progress, 1.0);
  Pass(61s);
  EXPECT_EQ(View(job).running, 0u);
  EXPECT_EQ(View(job).progress, std::nullopt);
}

TEST_F(EngineProgressTest, IsNotStored) {
  const JobId job = Submit(Spec(1));
  const WorkerId worker = Register();
  const TaskRef task = Pull(worker)[0].task;
  NoteProgress(worker, task, {1, 2, ""});
  EXPECT_TRUE(Grants().empty());
  EXPECT_TRUE(last_.events.empty());
  Load(30s);
  EXPECT_EQ(View(job).running, 1u);
  EXPECT_EQ(View(job).progress, std::nullopt);
}

TEST_F(EngineProgressTest, AFailureMaySayWhenToTryAgain) {
  JobSpec spec = Spec(3);
  spec.backoff.first = spec.backoff.max = 600'000ms;
  const JobId job = Submit(spec);
  const WorkerId worker = Register();
  const std::vector<Grant> grants = Pull(worker, 3);
  EXPECT_EQ(Fail(worker, grants[0].task, 2'000ms), ReportVerdict::kTaken);
  EXPECT_EQ(Fail(worker, grants[1].task, 0ms), ReportVerdict::kTaken);
  EXPECT_EQ(Fail(worker, grants[2].task, std::nullopt), ReportVerdict::kTaken);
  Grants();
  EXPECT_EQ(engine_->looks().Task(job, 1)->state, TaskState::kQueued);  // at once
  const Result<TaskView> task = engine_->looks().Task(job, 0);
  EXPECT_EQ(task->state, TaskState::kRetrying);
  // Rounded up, by a sixteenth at most.
  EXPECT_GE(*task->retry_at, now_.wall + 2'000ms);
  EXPECT_LE(*task->retry_at, now_.wall + 2'125ms);
  EXPECT_GE(*engine_->looks().Task(job, 2)->retry_at, now_.wall + 600'000ms);
  EXPECT_EQ(engine_->looks().Task(job, 1)->retry_at, std::nullopt);
  EXPECT_NE(WhyTask(job, 0).find("the next one is due in 2s"), std::string::npos) << WhyTask(job, 0);
  EXPECT_NE(WhyTask(job, 2).find("the next one is due in 10m"), std::string::npos) << WhyTask(job, 2);
  // It is a fact: the same after a restart.
  Load(30s);
  EXPECT_EQ(engine_->looks().Task(job, 0)->retry_at, task->retry_at);
  Pass(3s);
  EXPECT_EQ(engine_->looks().Task(job, 0)->state, TaskState::kQueued);
  EXPECT_EQ(engine_->looks().Task(job, 0)->attempts, 1u);
}

TEST_F(EngineProgressTest, TheLastAttemptFailsWhateverItSays) {
  JobSpec spec = Spec(1);
  spec.max_attempts = 1;
  const JobId job = Submit(spec);
  const WorkerId worker = Register();
  Fail(worker, Pull(worker)[0].task, 1'000ms);
  EXPECT_EQ(View(job).state, JobState::kFailed);
}

class FollowTest : public EngineProgressTest {
 protected:
  // Looks until there is nothing more, so many at a time.
  FollowLooks::More Read(JobId job, ResultsReader& reader, std::size_t most, std::map<TaskIndex, TaskState>& sent) {
    for (bool news = true;; news = false) {
      const Result<FollowLooks::Ends> ends = engine_->follow_looks().TakeEnds(job, reader, most, news);
      EXPECT_TRUE(ends.ok());
      EXPECT_LE(ends->tasks.size(), most);
      for (const EndedTask& task : ends->tasks) EXPECT_TRUE(sent.emplace(task.index, task.state).second) << task.index;
      if (ends->more != FollowLooks::More::kMaybe) return ends->more;
    }
  }
};

TEST_F(FollowTest, AHeaderIsWhatTheJobIs) {
  JobSpec spec = Spec(1, {"a", "b"});
  spec.meta = {{"customer", std::string("acme")}};
  spec.user = "ann";
  const JobId job = Submit(spec);
  const Result<JobHeaderView> header = engine_->follow_looks().Header(job);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->id, job);
  EXPECT_EQ(*header->tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(*header->meta, spec.meta);
  EXPECT_EQ(header->user, "ann");
  EXPECT_EQ(engine_->follow_looks().Header(JobId{9}).error().code, Code::kUnknownJob);
}

TEST_F(FollowTest, EachEndIsToldOnceInWhateverOrderTheyCome) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng(seed);
  // More than one page, and no whole number of them.
  JobSpec spec = Spec(kPageTasks + 1'000);
  spec.max_attempts = 1;
  spec.max_failed_tasks.number = 1'000'000;
  const JobId job = Submit(spec);
  const WorkerId worker = RegisterBy("random", {"a"}, 500);
  std::map<TaskIndex, TaskState> sent, ended;
  ResultsReader reader;
  for (int round = 0; round < 200; ++round) {
    for (const Grant& grant : Pull(worker, 1 + static_cast<std::uint32_t>(rng.Below(60)))) {
      const bool fails = rng.Below(4) == 0;
      Say(worker, grant.task, fails ? ReportKind::kFailed : ReportKind::kDone);
      ended[grant.task.index] = fails ? TaskState::kFailed : TaskState::kDone;
    }
    EXPECT_EQ(Read(job, reader, 1 + rng.Below(50), sent), FollowLooks::More::kNo);
    ASSERT_EQ(sent, ended);
  }
  // Who comes later, with what it had, gets the rest.
  ResultsReader second;
  std::map<TaskIndex, TaskState> rest;
  for (const auto& [index, state] : ended) {
    if (rng.Below(2) == 0) second.sent.Add(index);
  }
  const std::uint64_t had = second.sent.size();
  Read(job, second, 100, rest);
  EXPECT_EQ(rest.size() + had, ended.size());
  // The end of the job ends all tasks.
  ASSERT_TRUE(engine_->jobs().Cancel(now_, job).ok());
  EXPECT_EQ(Read(job, reader, 1'000, sent), FollowLooks::More::kEnd);
  EXPECT_EQ(sent.size(), kPageTasks + 1'000u);
  EXPECT_EQ(std::count_if(sent.begin(), sent.end(), [](const auto& one) { return one.second == TaskState::kSkipped; }),
            static_cast<std::ptrdiff_t>(sent.size() - ended.size()));
}

TEST_F(FollowTest, WhatAReaderSaysItHasIsNotTrusted) {
  const JobId job = Submit(Spec(10));
  const WorkerId worker = Register();
  ResultsReader reader;
  for (TaskIndex i = 0; i < 10; ++i) reader.sent.Add(i);
  std::map<TaskIndex, TaskState> sent;
  EXPECT_EQ(Read(job, reader, 10, sent), FollowLooks::More::kNo);
  EXPECT_TRUE(reader.sent.empty());
  Say(worker, Pull(worker)[0].task, ReportKind::kDone);
  Read(job, reader, 10, sent);
  EXPECT_EQ(sent, (std::map<TaskIndex, TaskState>{{0, TaskState::kDone}}));
}

TEST_F(FollowTest, ARetryTakesBackWhatHadFailed) {
  JobSpec spec = Spec(2);
  spec.max_attempts = 1;
  const JobId job = Submit(spec);
  const WorkerId worker = Register();
  const std::vector<Grant> grants = Pull(worker, 2);
  Say(worker, grants[0].task, ReportKind::kDone);
  ResultsReader reader;
  std::map<TaskIndex, TaskState> sent;
  Read(job, reader, 10, sent);
  Say(worker, grants[1].task, ReportKind::kFailed);
  Read(job, reader, 10, sent);
  EXPECT_EQ(sent.at(1), TaskState::kFailed);
  ASSERT_TRUE(engine_->jobs().Retry(now_, job).ok());
  sent.clear();
  EXPECT_EQ(Read(job, reader, 10, sent), FollowLooks::More::kNo);
  EXPECT_TRUE(sent.empty());
  Say(worker, Pull(worker)[0].task, ReportKind::kDone);
  EXPECT_EQ(Read(job, reader, 10, sent), FollowLooks::More::kEnd);
  EXPECT_EQ(sent, (std::map<TaskIndex, TaskState>{{1, TaskState::kDone}}));
}

TEST_F(FollowTest, ALookIsBoundedHoweverLargeTheJob) {
  const JobId job = Submit(Spec(400'000'000));
  const WorkerId worker = RegisterBy("random", {"a"}, 20);
  std::set<TaskIndex> ended;
  for (const Grant& grant : Pull(worker, 20)) {
    Say(worker, grant.task, ReportKind::kDone);
    ended.insert(grant.task.index);
  }
  ResultsReader reader;
  std::map<TaskIndex, TaskState> sent;
  EXPECT_EQ(engine_->follow_looks().TakeEnds(job, reader, 1, true)->tasks.size(), 1u);
  reader = {};
  EXPECT_EQ(Read(job, reader, 1'000, sent), FollowLooks::More::kNo);
  EXPECT_EQ(sent.size(), ended.size());
}

}  // namespace
}  // namespace allot
