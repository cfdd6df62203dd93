// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "base/bytes.h"
#include "engine/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;
using EngineTest = testing::EngineTest;

TEST_F(EngineTest, AJobOfManyTasksRunsToItsEndInOrderOfIndex) {
  const WorkerId worker = Register();
  const JobId job = Submit(Spec(3));
  for (TaskIndex index = 0; index < 3; ++index) {
    const auto grants = Pull(worker);
    ASSERT_EQ(grants.size(), 1u);
    EXPECT_EQ(grants[0].task.index, index);
    EXPECT_EQ(Say(worker, grants[0].task, ReportKind::kDone), ReportVerdict::kTaken);
  }
  EXPECT_EQ(View(job).state, JobState::kDone);
  EXPECT_EQ(View(job).done, 3u);
  EXPECT_TRUE(Pull(worker).empty());
}

TEST_F(EngineTest, PriorityComesFirstNoneLastThenTheScheduleThenTheId) {
  const WorkerId worker = Register();
  JobSpec none = Spec(1), low = Spec(1), high = Spec(1);
  low.priority = -5;
  high.priority = 7;
  const JobId j_none = Submit(none), j_low = Submit(low), j_high = Submit(high), j_none2 = Submit(none);
  const auto grants = Pull(worker, 10);
  ASSERT_EQ(grants.size(), 4u);
  EXPECT_EQ(grants[0].task.job, j_high);
  EXPECT_EQ(grants[1].task.job, j_low);
  EXPECT_EQ(grants[2].task.job, j_none);
  EXPECT_EQ(grants[3].task.job, j_none2);
}

TEST_F(EngineTest, AWorkerNeedsAllTagsOfAJob) {
  const WorkerId a = Register({"a"}), ab = Register({"a", "b"});
  const JobId job = Submit(Spec(1, {"a", "b"}));
  EXPECT_TRUE(Pull(a).empty());
  const auto grants = Pull(ab);
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].task.job, job);
}

TEST_F(EngineTest, AWaitingPullIsWokenBySubmitLongestWaitingFirst) {
  const WorkerId first = Register(), second = Register();
  ASSERT_TRUE(engine_->workers().Pull(now_, first, PullOptions{1, false, std::nullopt}).ok());
  ASSERT_TRUE(engine_->workers().Pull(now_, second, PullOptions{1, false, std::nullopt}).ok());
  Submit(Spec(1));
  const auto grants = Grants();
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(last_.grant_batches[0].worker, first);
}

TEST_F(EngineTest, AFailedTaskWaitsForItsBackoffAndFailsAfterItsLastAttempt) {
  const WorkerId worker = Register();
  JobSpec spec = Spec(1);
  spec.max_attempts = 2;
  const JobId job = Submit(spec);
  EXPECT_EQ(Say(worker, Pull(worker)[0].task, ReportKind::kFailed), ReportVerdict::kTaken);
  EXPECT_EQ(View(job).retrying, 1u);
  EXPECT_TRUE(Pull(worker).empty());
  Pass(1100ms);
  const auto again = Pull(worker);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].attempt, 2u);
  Say(worker, again[0].task, ReportKind::kFailed);
  EXPECT_EQ(View(job).state, JobState::kFailed);
  EXPECT_EQ(View(job).failed, 1u);
  auto retried = engine_->jobs().Retry(now_, job);
  ASSERT_TRUE(retried.ok());
  EXPECT_EQ(*retried, 1u);
  EXPECT_EQ(Pull(worker)[0].attempt, 1u);
}

TEST_F(EngineTest, ALeaseEndsExactlyAtItsDeadlineAndALateDoneIsTakenWhileNobodyRunsTheTask) {
  const WorkerId worker = Register(), other = Register();
  const JobId job = Submit(Spec(1));
  const TaskRef first = Pull(worker)[0].task;
  Pass(59'999ms);
  EXPECT_EQ(View(job).running, 1u);
  Pass(1ms);
  EXPECT_EQ(View(job).queued, 1u);
  const TaskRef second = Pull(other)[0].task;
  EXPECT_EQ(Say(worker, first, ReportKind::kDone), ReportVerdict::kStale);
  Say(other, second, ReportKind::kReleased);
  TaskRef forged = first;
  forged.lease.mac ^= 1;
  EXPECT_EQ(Say(worker, forged, ReportKind::kDone), ReportVerdict::kStale);
  EXPECT_EQ(Say(worker, first, ReportKind::kDone), ReportVerdict::kTaken);
  EXPECT_EQ(View(job).state, JobState::kDone);
}

TEST_F(EngineTest, AStallOfTheServerDoesNotLookLikeTheDeathOfItsWorkers) {
  const WorkerId worker = Register();
  const JobId job = Submit(Spec(1));
  Pull(worker);
  Move(now_.mono + 1h);
  engine_->Tick(now_);
  EXPECT_EQ(View(job).running, 1u);
}

TEST_F(EngineTest, CancellingTellsWorkersAndSkipsTheRest) {
  const WorkerId worker = Register();
  const JobId job = Submit(Spec(3));
  const TaskRef task = Pull(worker)[0].task;
  ASSERT_TRUE(engine_->jobs().Cancel(now_, job).ok());
  Grants();
  ASSERT_EQ(last_.stop_requests.size(), 1u);
  EXPECT_EQ(last_.stop_requests[0].task, task);
  EXPECT_EQ(View(job).skipped, 2u);
  EXPECT_EQ(View(job).running, 1u);
  EXPECT_EQ(Say(worker, task, ReportKind::kDone), ReportVerdict::kCancelled);
  EXPECT_EQ(View(job).skipped, 3u);
}

// --- Leases and silence.

TEST_F(EngineTest, ALeaseGrantedAfterASilentWaitLastsItsWholeTime) {
  const WorkerId worker = Register();
  Wait(worker, 2);
  Pass(10min);
  JobSpec spec = Spec(1);
  spec.lease = 10s;
  const JobId first = Submit(spec);
  Pass(9s);
  const JobId second = Submit(spec);
  Pass(1s);
  EXPECT_EQ(View(first).running, 0u);
  EXPECT_EQ(View(second).running, 1u);  // its worker has been silent for ten minutes, but holds it for a second only
  Pass(9s);
  EXPECT_EQ(View(second).running, 0u);
}

TEST_F(EngineTest, AWorkerIsForgottenAfterItsSilenceHoweverLongTheLeasesWereThatItHeld) {
  const WorkerId worker = Register({"a"}, false);
  JobSpec spec = Spec(1);
  spec.lease = 24h;
  Submit(spec);
  const TaskRef task = Pull(worker)[0].task;
  Pass(100s);
  Say(worker, task, ReportKind::kDone);
  Pass(89s);
  EXPECT_TRUE(engine_->looks().DescribeWorker(worker).ok());
  Pass(1s);
  EXPECT_FALSE(engine_->looks().DescribeWorker(worker).ok());
}

TEST_F(EngineTest, AfterARestartALeaseIsKeptForTheGraceTimeHoweverShortItsOwn) {
  const WorkerId worker = Register();
  JobSpec spec = Spec(1);
  spec.lease = 1s;
  spec.timeout = 2s;
  const JobId job = Submit(spec);
  const TaskRef task = Pull(worker)[0].task;
  Load(30s);
  Pass(29s);
  EXPECT_EQ(View(job).running, 1u);
  EXPECT_EQ(ComeBack(worker, {task}).resumed.size(), 1u);
}

TEST_F(EngineTest, AfterARestartLeasesEndInTheOrderInWhichTheyBegan) {
  const std::uint32_t page = 32'768;
  const WorkerId worker = Register();
  JobSpec spec = Spec(page + 1);
  spec.max_attempts = 1;
  const JobId job = Submit(spec);
  const TaskRef first = Pull(worker)[0].task;
  for (TaskIndex next = 1; next <= page;) {
    for (const Grant& grant : Pull(worker, 1000)) {
      if (next++ < page) Say(worker, grant.task, ReportKind::kDone);
    }
  }
  Say(worker, first, ReportKind::kReleased);
  ASSERT_EQ(Pull(worker, 1).at(0).task.index, 0u);  // the newest lease is in the first page
  Fold();
  Load(1s);
  Pass(1s);
  // The first to end fails the job, the other one is skipped.
  EXPECT_EQ(engine_->looks().Task(job, page)->state, TaskState::kFailed);
  EXPECT_EQ(engine_->looks().Task(job, 0)->state, TaskState::kSkipped);
}

TEST_F(EngineTest, WhatAWorkerHoldsCountsInItsCredit) {
  const WorkerId worker = Register();
  Submit(Spec(30'000));
  EXPECT_EQ(Pull(worker, 9'000).size(), 9'000u);
  EXPECT_EQ(Pull(worker, 9'000).size(), 1'000u);
  EXPECT_TRUE(Pull(worker, 1).empty());
}

TEST_F(EngineTest, AnOrderToDrainOutlivesALostConnection) {
  const WorkerId worker = Register();
  ASSERT_TRUE(engine_->workers().Drain(now_, worker).ok());
  engine_->workers().Disconnect(now_, worker);
  Grants();
  ComeBack(worker, {});
  Grants();
  EXPECT_EQ(last_.drains, std::vector<WorkerId>{worker});
  Submit(Spec(1));
  EXPECT_TRUE(Pull(worker).empty());
}

TEST_F(EngineTest, WhatWasGrantedToALostConnectionDoesNotReachTheNextOne) {
  const WorkerId worker = Register();
  const WorkerId other = Register();
  Submit(Spec(1));
  Grants();
  Wait(worker);  // granted, and not taken yet when the worker comes back without it
  ComeBack(worker, {});
  EXPECT_TRUE(Grants().empty());
  const std::vector<Grant> grants = Pull(other);
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].attempt, 1u);
}

TEST_F(EngineTest, WhoComesBackIsToldWhyToStop) {
  const WorkerId worker = Register();
  JobSpec spec = Spec(2);
  spec.max_attempts = 1;
  Submit(spec);
  const auto grants = Pull(worker, 2);
  engine_->workers().Disconnect(now_, worker);
  const WorkerId other = Register();
  Say(other, grants[0].task, ReportKind::kFailed);
  Grants();
  ComeBack(worker, {grants[1].task});
  Grants();
  ASSERT_EQ(last_.stop_requests.size(), 1u);
  EXPECT_EQ(last_.stop_requests[0].reason, "job_failed");
}

// --- Waiting pulls.

TEST_F(EngineTest, APullThatAsksForNothingIsAnsweredOnceAndLeavesNothingBehind) {
  const WorkerId worker = Register();
  JobSpec spec = Spec(1);
  spec.lease = 10s;
  Submit(spec);
  Pull(worker);
  ASSERT_TRUE(engine_->workers().Pull(now_, worker, PullOptions{0, true, 5s}).ok());
  Grants();
  EXPECT_EQ(last_.grant_batches.size(), 1u);
  Pass(10s);  // its lease ends, so that the engine looks at it
  Grants();
  EXPECT_TRUE(last_.grant_batches.empty());
}

TEST_F(EngineTest, OnlyAPullForOneAnswerIsToldThatItWaitedForNothing) {
  const WorkerId worker = Register();
  for (const bool once : {false, true}) {
    ASSERT_TRUE(engine_->workers().Pull(now_, worker, PullOptions{1, once, 5s}).ok());
    Pass(5s);
    Grants();
    EXPECT_EQ(last_.grant_batches.size(), once ? 1u : 0u);
  }
}

TEST_F(EngineTest, OfAllWhomWhatOpenedCouldServeTheLongestWaitingPullsFirst) {
  const WorkerId b = Register({"b"}), ab = Register({"a", "b"});
  Wait(b);
  Wait(ab);
  JobSpec important = Spec(1, {"b"});
  important.priority = 9;
  const JobSpec specs[] = {Spec(1, {"a"}), important};
  const JobId ids[] = {JobId{++last_id_}, JobId{++last_id_}};
  ASSERT_TRUE(engine_->jobs().SubmitAll(now_, ids, specs).ok());
  EXPECT_EQ(Served(), (std::vector<WorkerId>{b, ab}));
}

TEST_F(EngineTest, WhoGotSomethingWaitsBehindThoseWhoGotNothing) {
  const WorkerId first = Register(), second = Register();
  Wait(first, 2);
  Wait(second, 2);
  std::vector<WorkerId> served;
  for (int i = 0; i < 4; ++i) {
    Submit(Spec(1));
    served.push_back(Served().at(0));
  }
  EXPECT_EQ(served, (std::vector<WorkerId>{first, second, first, second}));
}

// --- Retry.

TEST_F(EngineTest, ATaskThatWasToldToStopBeforeARetryHasFreshAttempts) {
  const WorkerId worker = Register();
  JobSpec spec = Spec(1);
  spec.max_attempts = 1;
  const JobId job = Submit(spec);
  const TaskRef task = Pull(worker)[0].task;
  ASSERT_TRUE(engine_->jobs().Cancel(now_, job).ok());
  const auto again = engine_->jobs().Retry(now_, job);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, 1u);
  // It did as it was told; that is no failure of the task.
  EXPECT_EQ(Say(worker, task, ReportKind::kFailed), ReportVerdict::kTaken);
  EXPECT_EQ(View(job).state, JobState::kActive);
  EXPECT_EQ(Pull(worker)[0].attempt, 1u);
}

TEST_F(EngineTest, ARetryOfALargeJobGoesOnWhereACrashInterruptedIt) {
  const std::uint32_t count = 70 * 32'768;  // more pages than one step does
  const WorkerId worker = Register();
  JobSpec spec = Spec(count);
  spec.max_failed_tasks.number = 10;
  const JobId job = Submit(spec);
  const auto grants = Pull(worker, 3);
  Say(worker, grants[0].task, ReportKind::kRejected);
  Say(worker, grants[1].task, ReportKind::kDone);
  Say(worker, grants[2].task, ReportKind::kFailed);
  ASSERT_TRUE(engine_->jobs().Cancel(now_, job).ok());
  EXPECT_EQ(*engine_->jobs().Retry(now_, job), count - 1);
  Grants();
  EXPECT_TRUE(Pull(worker).empty());  // not ready yet
  Fold(2);
  Load(0s);
  const WorkerId other = Register();
  Pass(1s);
  EXPECT_EQ(View(job).queued, count - 1);
  EXPECT_EQ(View(job).done, 1u);
  const auto next = Pull(other, 2);
  ASSERT_EQ(next.size(), 2u);
  EXPECT_EQ(next[0].task.index, 0u);
  EXPECT_EQ(next[1].task.index, 2u);
  EXPECT_EQ(next[1].attempt, 1u);
}

// --- Restarts.

TEST_F(EngineTest, AKeyBelongsToTheJobThatHasItNowHoweverTheJournalGotThere) {
  JobSpec spec = Spec(0);
  spec.idempotency_key = "k";
  spec.retention = 0ms;
  Submit(spec);
  engine_->Tick(now_);  // the first is gone
  spec = Spec(1);
  spec.idempotency_key = "k";
  const JobId now_its_own = Submit(spec);
  Submit(Spec(1));
  // All of that is one entry of the journal. It is folded in part: the second job is in a record already when the
  // first one passes by once more.
  Grants();
  while (!records_.contains({now_its_own.value, kJobPage + 1})) Fold(1);
  ASSERT_LT(floor_, journal_.rbegin()->first);
  Load(30s);
  const auto again = engine_->jobs().Submit(now_, JobId{++last_id_}, spec);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->existing);
  EXPECT_EQ(again->job, now_its_own);
}

TEST_F(EngineTest, AnIdempotencyKeyBelongsToTheUserOfItsJob) {
  const auto of = [&](const std::string& user, std::uint64_t content) {
    JobSpec spec = Spec(1);
    spec.user = user;
    spec.idempotency_key = "nightly";
    spec.content = ContentHash{content, 1};
    return spec;
  };
  const JobId anns = Submit(of("ann", 1));
  // Another content is no conflict for others, also for those without a user, and the same content no answer.
  const JobId bobs = Submit(of("bob", 2));
  const JobId nobodys = Submit(of("", 3));
  const JobId cats = Submit(of("cat", 1));
  const std::vector<JobId> ids = {anns, bobs, nobodys, cats};
  EXPECT_EQ(std::set<JobId>(ids.begin(), ids.end()).size(), 4u);
  JobChange change;
  change.tags = std::vector<std::string>{"b"};
  ASSERT_TRUE(engine_->jobs().Change(now_, bobs, change).ok());
  for (const char* stage : {"at once", "from the journal", "from records"}) {
    if (stage == std::string("from records")) Fold();
    Grants();
    if (stage != std::string("at once")) Load(30s);
    const std::pair<const char*, std::uint64_t> first[] = {{"ann", 1}, {"bob", 2}, {"", 3}, {"cat", 1}};
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto again = engine_->jobs().Submit(now_, JobId{++last_id_}, of(first[i].first, first[i].second));
      ASSERT_TRUE(again.ok()) << stage;
      EXPECT_TRUE(again->existing) << stage;
      EXPECT_EQ(again->job, ids[i]) << stage;
      const auto other = engine_->jobs().Submit(now_, JobId{++last_id_}, of(first[i].first, 9));
      ASSERT_FALSE(other.ok()) << stage;
      EXPECT_EQ(other.error().code, Code::kIdempotencyConflict) << stage;
      EXPECT_NE(other.error().message.find(ToText(ids[i])), std::string::npos) << other.error().message;
    }
  }
  // In one batch as well.
  const std::vector<JobId> two = {JobId{++last_id_}, JobId{++last_id_}};
  JobSpec specs[] = {of("dan", 1), of("eve", 2)};
  EXPECT_TRUE(engine_->jobs().SubmitAll(now_, two, specs).ok());
}

TEST_F(EngineTest, AHeaderMayHaveFieldsThatAreNotKnownYet) {
  JobSpec spec = Spec(3);
  spec.user = "ann";
  const JobId job = Submit(spec);
  Grants();
  // The event: its type, id and count, and the header: state, reason, and so on to its end.
  std::string& events = journal_.begin()->second;
  ByteReader in(events);
  in.U8(), in.Varint(), in.Varint(), in.U8();
  std::string rest;
  ByteWriter(rest).Varint(job.value);
  const std::size_t reason = 1 + rest.size() + 1 + 1;
  ASSERT_EQ(events[reason], 0);
  const std::string plain = events;
  std::string extension;
  ByteWriter fields(extension);
  fields.Varint(77);
  fields.Text("of a later version");
  fields.Varint(1000);
  fields.Text("");
  events[reason] = static_cast<char>(128);
  ByteWriter(events).Text(extension);
  Load(30s);
  EXPECT_EQ(View(job).user, "ann");
  EXPECT_EQ(View(job).queued, 3u);
  // One that is cut is none.
  for (std::size_t cut = 1; cut <= extension.size(); ++cut) {
    Engine other(options_);
    EXPECT_FALSE(other.records().Replay(1, std::string_view(events).substr(0, events.size() - cut)).ok());
  }
  events = plain;
}

TEST_F(EngineTest, TheIdOfARemovedJobIsRememberedAcrossARestart) {
  JobSpec spec = Spec(0);
  spec.retention = 1s;
  const JobId job = Submit(spec);
  Fold();
  Pass(2s);
  Grants();
  ASSERT_EQ(last_.removed.size(), 1u);
  Load(30s);
  EXPECT_FALSE(engine_->looks().Describe(job).ok());
  EXPECT_GE(engine_->looks().HighestId(), job.value);
}

TEST_F(EngineTest, WorkersThatHoldNothingAnyMoreAreNotRememberedFromTheJournal) {
  const WorkerId worker = Register();
  Submit(Spec(1));
  Say(worker, Pull(worker)[0].task, ReportKind::kDone);
  Grants();
  Load(30s);
  EXPECT_EQ(engine_->looks().Stats().workers_away, 0u);
}

TEST_F(EngineTest, APageOfTasksComesBackFromRecordsAndJournalAlike) {
  const WorkerId worker = Register();
  JobSpec spec = Spec(70'000);
  spec.max_failed_tasks.number = 5;
  const JobId job = Submit(spec);
  const auto grants = Pull(worker, 5);
  Say(worker, grants[0].task, ReportKind::kDone);
  Say(worker, grants[1].task, ReportKind::kFailed);
  Say(worker, grants[2].task, ReportKind::kRejected);
  Grants();
  for (const bool folded : {false, true}) {
    if (folded) Fold();
    Load(30s);
    const JobView view = View(job);
    EXPECT_EQ(view.done, 1u);
    EXPECT_EQ(view.retrying, 1u);
    EXPECT_EQ(view.failed, 1u);
    EXPECT_EQ(view.running, 2u);
    EXPECT_EQ(view.queued, 69'995u);
    EXPECT_EQ(engine_->looks().Task(job, 4)->worker, worker);
  }
}

TEST_F(EngineTest, BytesThatAreNoRecordAreRefusedAndNeverEndTheProgram) {
  const WorkerId worker = Register();
  Submit(Spec(40'000));
  JobSpec spec = Spec(3);
  spec.idempotency_key = "k";
  spec.meta = {{"a", std::int64_t{1}}, {"b", std::string("x")}};
  Submit(spec);
  auto grants = Pull(worker, 4);
  Say(worker, grants[0].task, ReportKind::kFailed);
  Say(worker, grants[1].task, ReportKind::kDone);
  Fold();
  Say(worker, grants[2].task, ReportKind::kFailed);
  Grants();
  Rng rng(7);
  for (int i = 0; i < 3000; ++i) {
    Engine other(options_);
    bool fine = true;
    const std::size_t broken = rng.Below(records_.size() + 1);
    std::size_t at = 0;
    const auto spoil = [&](std::string bytes) {
      if (at++ != broken || bytes.empty()) return bytes;
      if (rng.Below(3) == 0) return bytes.substr(0, rng.Below(bytes.size()));
      bytes[rng.Below(bytes.size())] = static_cast<char>(rng.Next());
      return bytes;
    };
    for (const auto& [key, blob] : records_) {
      fine = fine && other.records().Load(JobId{key.first}, key.second - 1, spoil(blob)).ok();
    }
    if (fine) fine = other.records().Replay(journal_.rbegin()->first, spoil(journal_.rbegin()->second)).ok();
    if (fine) other.records().FinishLoad(now_, 30s);
  }
}

// --- Bounds and corners.

TEST_F(EngineTest, ABatchOfOneNewClassNeedsRoomForOneOnly) {
  for (int i = 0; i < 65'530; ++i) {
    JobSpec spec = Spec(1, {"t" + std::to_string(i)});
    spec.user = "u" + std::to_string(i);  // one user alone may not
    Submit(spec);
  }
  const std::vector<JobSpec> specs(10, Spec(1, {"new"}));
  std::vector<JobId> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(JobId{++last_id_});
  EXPECT_TRUE(engine_->jobs().SubmitAll(now_, ids, specs).ok());
  std::vector<JobSpec> different;
  for (int i = 0; i < 6; ++i) {
    different.push_back(Spec(1, {"other" + std::to_string(i)}));
    different.back().user = "v" + std::to_string(i);
  }
  for (JobId& id : ids) id = JobId{++last_id_};
  const auto refused = engine_->jobs().SubmitAll(now_, std::span(ids).first(6), different);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kTooManyClasses);
  EXPECT_TRUE(engine_->jobs().SubmitAll(now_, std::span(ids).first(5), std::span(different).first(5)).ok());
}

TEST_F(EngineTest, NoBackoffStaysNoneAfterManyAttempts) {
  const WorkerId worker = Register();
  JobSpec spec = Spec(1);
  spec.max_attempts = 1000;
  spec.backoff = Backoff{0ms, 100.0, 300s, 0.1};
  const JobId job = Submit(spec);
  for (int i = 0; i < 999; ++i) Say(worker, Pull(worker).at(0).task, ReportKind::kFailed);
  EXPECT_EQ(View(job).queued, 1u);
}

TEST_F(EngineTest, AWatchedJobTellsOfItsProgressOnceABatch) {
  const WorkerId worker = Register();
  const JobId job = Submit(Spec(3));
  ASSERT_TRUE(engine_->jobs().Watch(job).ok());
  const auto grants = Pull(worker, 2);
  Say(worker, grants[0].task, ReportKind::kDone);
  Say(worker, grants[1].task, ReportKind::kDone);
  Grants();
  EXPECT_EQ(last_.progressed, std::vector<JobId>{job});
  engine_->jobs().Unwatch(job);
  Say(worker, Pull(worker)[0].task, ReportKind::kDone);
  Grants();
  EXPECT_TRUE(last_.progressed.empty());
  EXPECT_EQ(last_.ended, std::vector<JobId>{job});
}

}  // namespace
}  // namespace allot
