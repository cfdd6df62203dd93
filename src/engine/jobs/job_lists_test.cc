// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/job_lists.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/rng.h"

namespace allot {
namespace {

// Jobs that come, open, close, end, change their tags and go; beside them what a plain look at all of them says.
class JobListsTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  void Step() {
    const std::uint64_t choice = rng_.Below(100);
    if (choice < 45 || jobs_.size() < 20) {
      Add();
    } else if (EngineJob* job = Any(); choice < 60) {
      job->open = !job->open;
      lists_.SetOpen(*job, job->open);
    } else if (choice < 70) {
      const auto state = static_cast<JobState>(rng_.Below(6));
      lists_.SetState(*job, state);
      job->state = state;
    } else if (choice < 75) {
      job->terms = Terms();
      lists_.AddKeys(*job);
    } else {
      Remove(*job);
    }
  }
  void Add() {
    EngineJob& job = jobs_.Add(JobId{last_ += 1 + rng_.Below(3)}, 1);
    job.terms = Terms();
    job.state = static_cast<JobState>(rng_.Below(6));
    lists_.Append(job, jobs_.places() - 1);
  }
  void Remove(EngineJob& job) {
    if (job.open) {
      job.open = false;
      lists_.SetOpen(job, false);
    }
    lists_.Remove(job);
    if (jobs_.Remove(job)) lists_.Compact();
  }
  EngineJob* Any() {
    for (;;) {
      if (EngineJob* job = jobs_.At(rng_.Below(jobs_.places()))) return job;
    }
  }
  TermsPtr Terms() {
    JobTerms terms;
    terms.user = "u" + std::to_string(rng_.Below(40));
    terms.tags = {"t" + std::to_string(rng_.Below(40))};
    return jobs_.Intern(terms);
  }

  void ExpectAsPlain() {
    const std::string user = rng_.Below(2) == 0 ? "" : "u" + std::to_string(rng_.Below(40));
    const std::string tag = rng_.Below(2) == 0 ? "" : "t" + std::to_string(rng_.Below(40));
    std::optional<JobState> state;
    if (rng_.Below(2) == 0) state = static_cast<JobState>(rng_.Below(6));
    const bool open = rng_.Below(3) == 0;
    std::vector<std::uint64_t> plain, up, down;
    const EngineJob* oldest = nullptr;
    std::vector<std::uint64_t> all_open, walked;
    for (std::size_t place = 0; place < jobs_.places(); ++place) {
      const EngineJob* job = jobs_.At(place);
      if (job == nullptr) continue;
      if (job->open && oldest == nullptr) oldest = job;
      if (job->open) all_open.push_back(job->id().value);
      if ((state && job->state != *state) || (open && !job->open)) continue;
      if ((!user.empty() && job->terms->user != user) || (!tag.empty() && job->terms->tags[0] != tag)) continue;
      plain.push_back(job->id().value);
    }
    JobFilter filter(state, tag, user, open);
    // In steps that end after some looks, and after some finds.
    std::size_t place = 0;
    while (place < jobs_.places()) {
      std::int64_t nanoseconds = 100 + static_cast<std::int64_t>(rng_.Below(20'000));
      const std::size_t most = up.size() + 1 + rng_.Below(5);
      place = lists_.Ascend(filter, place, jobs_.places(), nanoseconds, [&](const EngineJob& job) {
        up.push_back(job.id().value);
        return up.size() < most;
      });
    }
    for (place = jobs_.places(); place > 0;) {
      std::int64_t nanoseconds = 100 + static_cast<std::int64_t>(rng_.Below(20'000));
      const std::size_t most = down.size() + 1 + rng_.Below(5);
      place = lists_.Descend(filter, 0, place, nanoseconds, [&](const EngineJob& job) {
        down.push_back(job.id().value);
        return down.size() < most;
      });
    }
    EXPECT_EQ(up, plain);
    std::reverse(down.begin(), down.end());
    EXPECT_EQ(down, plain);
    EXPECT_EQ(lists_.Oldest(), oldest);
    JobCursor cursor;
    for (bool through = false; !through;) {
      std::size_t left = 1 + rng_.Below(50);
      through = lists_.WalkOpen(cursor, [&](const EngineJob* job) {
        if (left == 0) return false;
        --left;
        if (job != nullptr && job->open) walked.push_back(job->id().value);
        return true;
      });
    }
    EXPECT_EQ(walked, all_open);
    std::size_t looks = 1'000'000;
    const auto last = [&](const EngineJob& job) { return job.open && job.id().value == all_open.back(); };
    const EngineJob* found = all_open.empty() ? nullptr : lists_.FirstOpen(looks, last);
    EXPECT_EQ(found == nullptr ? 0 : found->id().value, all_open.empty() ? 0 : all_open.back());
  }

  Rng rng_{GetParam()};
  JobTable jobs_;
  JobLists lists_{jobs_};
  std::uint64_t last_ = 0;
};

TEST_P(JobListsTest, FindWhatAPlainLookAtAllJobsFinds) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  for (int i = 0; i < 400; ++i) Add();
  for (int step = 0; step < 6000 && !HasFailure(); ++step) {
    Step();
    if (step % 40 == 0) ExpectAsPlain();
  }
  // So many leave that empty places are closed.
  for (int i = 0; i < 3000; ++i) Add();
  while (jobs_.size() > 200 && !HasFailure()) {
    Remove(*Any());
    if (jobs_.size() % 100 == 0) ExpectAsPlain();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, JobListsTest, ::testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace allot
