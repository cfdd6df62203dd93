// SPDX-License-Identifier: Apache-2.0
// Lists by filter and sweeps: against looking at every job.
#include <algorithm>
#include <set>

#include "base/rng.h"
#include "engine/job_sweep.h"
#include "engine/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineLists : public testing::EngineTest {
 protected:
  JobSpec SpecOf(const std::string& user, std::vector<std::string> tags = {"a"}, std::uint32_t count = 1) {
    JobSpec spec = Spec(count, std::move(tags));
    spec.user = user;
    return spec;
  }
  // All that a filter finds, page by page, oldest first.
  std::vector<JobId> All(const JobQuery& filter, std::size_t* pages = nullptr) {
    std::vector<JobId> ids;
    JobQuery query = filter;
    for (;;) {
      const JobPage page = engine_->looks().List(query);
      if (pages != nullptr) ++*pages;
      for (const JobView& job : page.jobs) ids.push_back(job.id);
      if (!page.next) break;
      query.before = page.next;
    }
    std::reverse(ids.begin(), ids.end());
    return ids;
  }
  std::vector<JobId> Naive(const JobQuery& filter) {
    std::vector<JobId> ids;
    for (const JobId id : All(JobQuery{{}, 1000, {}, {}, {}})) {
      const JobView job = View(id);
      if (filter.state && job.state != *filter.state) continue;
      if (!filter.user.empty() && job.user != filter.user) continue;
      if (!filter.tag.empty() && std::find(job.tags->begin(), job.tags->end(), filter.tag) == job.tags->end()) continue;
      ids.push_back(id);
    }
    return ids;
  }
  std::size_t Sweep(JobSweep& sweep, std::size_t budget = 100) {
    std::size_t steps = 0;
    do {
      ++steps;
      EXPECT_LT(steps, 1'000'000u);
    } while (!engine_->jobs().Sweep(now_, sweep, budget));
    return steps;
  }
};

TEST_F(EngineLists, AFilterFindsWhatANaiveLookFinds) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    records_.clear();
    journal_.clear();
    floor_ = 0;
    Load(30s);
    Rng rng(seed);
    const WorkerId worker = RegisterBy("", {"a", "rare", "t0", "t1", "t2"}, 1000);
    std::vector<JobId> jobs;
    for (int round = 0; round < 30; ++round) {
      for (int i = 0; i < 300; ++i) {
        std::vector<std::string> tags = {"t" + std::to_string(rng.Below(3))};
        if (rng.Below(500) == 0) tags.insert(tags.begin(), "rare");
        JobSpec spec = SpecOf("user" + std::to_string(rng.Below(200)), tags);
        if (rng.Below(20) == 0) spec.delay = 5s;
        spec.retention = rng.Below(3) == 0 ? 1s : 100s;
        jobs.push_back(Submit(spec));
      }
      for (const Grant& grant : Pull(worker, 200)) Say(worker, grant.task, ReportKind::kDone);
      for (int i = 0; i < 20; ++i) {
        const JobId id = jobs[rng.Below(jobs.size())];
        switch (rng.Below(4)) {
          case 0:
            static_cast<void>(engine_->jobs().Cancel(now_, id));
            break;
          case 1:
            static_cast<void>(engine_->jobs().Pause(now_, id));
            break;
          case 2:
            static_cast<void>(engine_->jobs().Retry(now_, id));
            break;
          default: {
            JobChange change;
            change.tags = std::vector<std::string>{"changed" + std::to_string(rng.Below(3))};
            static_cast<void>(engine_->jobs().Change(now_, id, change));
          }
        }
      }
      Pass(milliseconds(rng.Below(4000)));
      if (rng.Below(10) == 0) {
        Fold();
        Load(30s);
        ComeBack(worker, {});
      }
      const JobQuery queries[] = {
          {{}, 7, JobState::kPaused, "", ""},
          {{}, 50, JobState::kScheduled, "", ""},
          {{}, 50, {}, "rare", ""},
          {{}, 3, {}, "changed1", ""},
          {{}, 50, {}, "", "user" + std::to_string(rng.Below(200))},
          {{}, 50, JobState::kDone, "t1", "user" + std::to_string(rng.Below(200))},
          {{}, 50, {}, "never", ""},
      };
      for (const JobQuery& query : queries) {
        const std::vector<JobId> want = Naive(query);
        ASSERT_EQ(All(query), want);
        JobSweep sweep(SweepRequest{SweepAction::kCount, query.state, query.tag, query.user, {}});
        Sweep(sweep, 1 + rng.Below(50));
        ASSERT_EQ(sweep.matching(), want.size());
        if (!query.user.empty() && !query.state) {
          const auto last = engine_->looks().LastJob(query.user);
          ASSERT_EQ(last, want.empty() ? std::nullopt : std::optional(want.back()));
        }
      }
    }
  }
}

TEST_F(EngineLists, ARareFilterIsFoundInOnePage) {
  for (int i = 0; i < 200'000; ++i) Submit(SpecOf("user" + std::to_string(i)));
  const JobId rare = JobId{last_id_ - 150'000};
  std::size_t pages = 0;
  EXPECT_EQ(All(JobQuery{{}, 100, {}, "", "user" + std::to_string(rare.value - 101)}, &pages),
            std::vector<JobId>{rare});
  EXPECT_EQ(pages, 1u);
  ASSERT_TRUE(engine_->jobs().Pause(now_, rare).ok());
  pages = 0;
  EXPECT_EQ(All(JobQuery{{}, 100, JobState::kPaused, "", ""}, &pages), std::vector<JobId>{rare});
  EXPECT_EQ(pages, 1u);
}

TEST_F(EngineLists, ASweepDoesWhatTheCommandDoes) {
  const JobId one = Submit(SpecOf("ann", {"a"}, 3));
  const JobId two = Submit(SpecOf("bob", {"a"}, 2));
  const JobId three = Submit(SpecOf("ann", {"b"}, 5));
  const auto sweep = [&](SweepAction action, std::optional<JobState> state, std::string user) {
    JobSweep made(SweepRequest{action, state, "", std::move(user), {}});
    std::vector<JobId> touched;
    while (!engine_->jobs().Sweep(now_, made, 1))
      touched.insert(touched.end(), made.touched().begin(), made.touched().end());
    touched.insert(touched.end(), made.touched().begin(), made.touched().end());
    EXPECT_EQ(touched.size(), made.changed());
    EXPECT_TRUE(std::is_sorted(touched.begin(), touched.end()));  // the oldest first
    EXPECT_TRUE(made.complete());
    return std::tuple(made.matching(), made.tasks(), made.changed());
  };
  using Counts = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
  EXPECT_EQ(sweep(SweepAction::kCount, {}, "ann"), Counts(2, 8, 0));
  EXPECT_EQ(sweep(SweepAction::kPause, {}, "ann"), Counts(2, 8, 2));
  EXPECT_EQ(sweep(SweepAction::kPause, {}, ""), Counts(3, 10, 1));  // those that are paused are passed over
  EXPECT_EQ(View(two).state, JobState::kPaused);
  EXPECT_EQ(sweep(SweepAction::kResume, JobState::kPaused, ""), Counts(3, 10, 3));
  EXPECT_EQ(sweep(SweepAction::kRetry, {}, ""), Counts(3, 10, 0));
  EXPECT_EQ(sweep(SweepAction::kCancel, JobState::kActive, "ann"), Counts(2, 8, 2));
  EXPECT_EQ(View(one).state, JobState::kCancelled);
  EXPECT_EQ(sweep(SweepAction::kCancel, {}, "ann"), Counts(2, 0, 0));
  EXPECT_EQ(sweep(SweepAction::kRetry, {}, "ann"), Counts(2, 0, 2));
  EXPECT_EQ(View(three).state, JobState::kActive);
  EXPECT_EQ(View(three).queued, 5u);
  // And what it did is durable.
  Grants();
  Load(30s);
  EXPECT_EQ(View(one).state, JobState::kActive);
  EXPECT_EQ(View(two).state, JobState::kActive);
}

TEST_F(EngineLists, ASweepLeavesAloneWhatIsNewerThanItsEnd) {
  const JobId one = Submit(Spec(1));
  const JobId two = Submit(Spec(1));
  const JobId three = Submit(Spec(1));
  JobSweep some(SweepRequest{SweepAction::kCancel, {}, "", "", two});
  Sweep(some);
  EXPECT_EQ(some.changed(), 2u);
  EXPECT_EQ(some.up_to(), two);
  EXPECT_EQ(View(one).state, JobState::kCancelled);
  EXPECT_EQ(View(three).state, JobState::kActive);
}

// What ticks alone have to do does not make its steps shorter.
TEST_F(EngineLists, ASweepGoesOnWhileLargeJobsAreRevived) {
  constexpr std::uint32_t kJobs = 50;
  for (std::uint32_t i = 0; i < kJobs; ++i) Submit(Spec(10'000'000));
  JobSweep cancel(SweepRequest{SweepAction::kCancel, {}, "", "", {}});
  Sweep(cancel);
  JobSweep retry(SweepRequest{SweepAction::kRetry, {}, "", "", {}});
  std::size_t steps = 1;
  while (!engine_->jobs().Sweep(now_, retry, 1000)) ++steps;
  EXPECT_EQ(retry.changed(), kJobs);
  EXPECT_LE(steps, 5u);
}

TEST_F(EngineLists, ASweepGoesInStepsAndJobsThatComeMeanwhileAreLeftAlone) {
  constexpr std::uint32_t kJobs = 100'000;
  for (std::uint32_t i = 0; i < kJobs; ++i) Submit(Spec(1));
  const JobId last{last_id_};
  JobSweep sweep(SweepRequest{SweepAction::kCancel, JobState::kActive, "", "", {}});
  std::size_t steps = 0, most = 0;
  std::vector<JobId> fresh;
  bool through = false;
  while (!through) {
    through = engine_->jobs().Sweep(now_, sweep, 1000);
    most = std::max(most, sweep.touched().size());
    ASSERT_LT(++steps, 10'000u);
    if (fresh.size() < 20) fresh.push_back(Submit(Spec(1)));
  }
  EXPECT_EQ(sweep.changed(), kJobs);
  EXPECT_EQ(sweep.up_to(), last);
  EXPECT_LE(most, 1000u);  // about 5 µs each
  for (const JobId id : fresh) EXPECT_EQ(View(id).state, JobState::kActive);
  EXPECT_EQ(engine_->looks().Stats().jobs_cancelled, kJobs);
}

}  // namespace
}  // namespace allot
