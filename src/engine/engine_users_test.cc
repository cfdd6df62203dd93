// SPDX-License-Identifier: Apache-2.0
// How users fare: against what a look at all jobs says.
#include <algorithm>
#include <map>

#include "base/rng.h"
#include "engine/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineUsers : public testing::EngineTest {
 protected:
  JobSpec SpecOf(std::string user, std::uint32_t count = 1) {
    JobSpec spec = Spec(count);
    spec.user = std::move(user);
    return spec;
  }
  UserPage Page(std::string after = "", std::size_t limit = 1000) {
    return engine_->looks().Users(UserQuery{std::move(after), limit, std::nullopt});
  }
  std::optional<UserView> One(const std::string& user) {
    UserPage page = engine_->looks().Users(UserQuery{"", 1, user});
    if (page.users.empty()) return std::nullopt;
    return page.users.front();
  }

  struct Naive {
    std::uint64_t jobs = 0, queued = 0, retrying = 0, running = 0;
    std::optional<WallTime> oldest;
    bool open = false;
  };
  std::map<std::string, Naive> Look() {
    std::map<std::string, Naive> users;
    std::optional<JobId> before;
    do {
      const JobPage page = engine_->looks().List(JobQuery{before, 1000, {}, {}, {}});
      for (const JobView& job : page.jobs) {
        const bool ended = Ended(job.state);
        if (ended && job.running == 0) continue;
        Naive& user = users[job.user];
        user.jobs += ended ? 0 : 1;
        user.queued += job.queued;
        user.retrying += job.retrying;
        user.running += job.running;
        if (job.state != JobState::kActive || job.queued == 0) continue;
        user.open = true;
        user.oldest = std::max(job.submitted_at, job.scheduled_for);  // newest first: the last is the oldest
      }
      before = page.next;
    } while (before);
    return users;
  }
  void Check() {
    const std::map<std::string, Naive> want = Look();
    const UserPage page = Page();
    ASSERT_EQ(page.users.size(), want.size());
    std::uint64_t active = 0, weights = 0, running = 0;
    double recent = 0;
    for (const UserView& view : page.users) {
      const auto found = want.find(view.user);
      ASSERT_NE(found, want.end()) << view.user;
      const Naive& user = found->second;
      EXPECT_EQ(view.jobs, user.jobs);
      EXPECT_EQ(view.queued, user.queued);
      EXPECT_EQ(view.retrying, user.retrying);
      EXPECT_EQ(view.running, user.running);
      EXPECT_EQ(view.oldest, user.oldest);
      running += user.running;
      if (!user.open && user.running == 0) continue;
      ++active;
      weights += view.weight;
      recent += view.recent;
    }
    EXPECT_EQ(page.active, active);
    EXPECT_EQ(page.weights, weights);
    EXPECT_EQ(page.running, running);
    EXPECT_NEAR(page.recent, recent, 1e-6);
    EXPECT_TRUE(std::is_sorted(page.users.begin(), page.users.end(),
                               [](const UserView& a, const UserView& b) { return a.user < b.user; }));
  }
};

TEST_F(EngineUsers, AUserIsThereUntilItsLastJobAndLeaseAreGone) {
  EXPECT_EQ(One("ann"), std::nullopt);
  const JobId job = Submit(SpecOf("ann", 2));
  ASSERT_NE(One("ann"), std::nullopt);
  EXPECT_EQ(One("ann")->queued, 2u);
  const WorkerId worker = RegisterBy("", {"a"}, 2);
  const std::vector<Grant> grants = Pull(worker);
  EXPECT_EQ(One("ann")->running, 1u);
  EXPECT_EQ(One("ann")->started, 1u);
  EXPECT_GT(One("ann")->recent, 0);
  ASSERT_TRUE(engine_->jobs().Cancel(now_, job).ok());
  EXPECT_EQ(One("ann")->jobs, 0u);
  EXPECT_EQ(One("ann")->queued, 0u);
  EXPECT_EQ(One("ann")->running, 1u);
  Say(worker, grants[0].task, ReportKind::kDone);
  EXPECT_EQ(One("ann"), std::nullopt);
  EXPECT_EQ(Page().active, 0u);
  ASSERT_TRUE(engine_->jobs().Retry(now_, job).ok());
  EXPECT_EQ(One("ann")->jobs, 1u);
  Check();
}

TEST_F(EngineUsers, WeightsAreThoseOfTheQueue) {
  Submit(SpecOf("ann"));
  Submit(SpecOf("bob"));
  EXPECT_EQ(Page().weights, 2u);
  SetPolicy("worker", {{"user.bob", 4}});
  EXPECT_EQ(One("bob")->weight, 4u);
  EXPECT_EQ(Page().weights, 5u);
  Grants();
  Load(30s);
  EXPECT_EQ(One("bob")->weight, 4u);
  EXPECT_EQ(Page().weights, 5u);
}

TEST_F(EngineUsers, PagesGoOnWhereTheLastOneEnded) {
  for (const char* user : {"dora", "", "cleo", "ann", "bob"}) Submit(SpecOf(user));
  for (const std::size_t limit : {1u, 2u, 3u, 100u}) {
    std::vector<std::string> seen;
    std::string after;
    for (int pages = 0; pages < 10; ++pages) {
      const UserPage page = Page(after, limit);
      for (const UserView& view : page.users) seen.push_back(view.user);
      if (!page.next) break;
      after = *page.next;
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"", "ann", "bob", "cleo", "dora"})) << limit;
  }
}

TEST_F(EngineUsers, AgreeWithALookAtAllJobs) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    records_.clear();
    journal_.clear();
    floor_ = 0;
    Load(30s);
    Rng rng(seed);
    std::vector<JobId> jobs;
    std::vector<std::pair<WorkerId, TaskRef>> leases;
    std::vector<WorkerId> workers;
    for (int i = 0; i < 3; ++i) workers.push_back(RegisterBy("", {"a"}, 4));
    const auto one = [&] { return jobs[rng.Below(jobs.size())]; };
    for (int step = 0; step < 300; ++step) {
      const std::uint64_t what = jobs.empty() ? 0 : rng.Below(12);
      if (what <= 1) {
        JobSpec spec = SpecOf("user" + std::to_string(rng.Below(5)), 1 + static_cast<std::uint32_t>(rng.Below(4)));
        if (rng.Below(4) == 0) spec.delay = 2s;
        spec.retention = 20s;
        spec.max_attempts = 2;
        jobs.push_back(Submit(spec));
      } else if (what <= 4) {
        const WorkerId worker = workers[rng.Below(workers.size())];
        for (const Grant& grant : Pull(worker, 2)) leases.emplace_back(worker, grant.task);
      } else if (what <= 7 && !leases.empty()) {
        const std::size_t at = rng.Below(leases.size());
        const ReportKind kinds[] = {ReportKind::kDone, ReportKind::kFailed, ReportKind::kReleased,
                                    ReportKind::kRejected};
        Say(leases[at].first, leases[at].second, kinds[rng.Below(4)]);
        leases.erase(leases.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (what == 8) {
        static_cast<void>(engine_->jobs().Cancel(now_, one()));
      } else if (what == 9) {
        static_cast<void>(rng.Below(2) == 0 ? engine_->jobs().Pause(now_, one()) : engine_->jobs().Resume(now_, one()));
      } else if (what == 10) {
        static_cast<void>(engine_->jobs().Retry(now_, one()));
      } else if (rng.Below(4) > 0) {
        Pass(milliseconds(rng.Below(3000)));
      } else {
        Fold(rng.Below(20));
        Load(30s);
        for (const WorkerId worker : workers) {
          std::vector<TaskRef> running;
          for (const auto& [by, task] : leases) {
            if (by == worker) running.push_back(task);
          }
          ComeBack(worker, running);
        }
      }
      Grants();
      Check();
      if (HasFailure()) return;
    }
  }
}

TEST_F(EngineUsers, OfAWorkerOneUserSeesItsOwnTasksAlone) {
  const JobId anns = Submit(SpecOf("ann"));
  Submit(SpecOf("bob"));
  const WorkerId worker = RegisterBy("", {"a"}, 4);
  ASSERT_EQ(Pull(worker, 4).size(), 2u);
  EXPECT_EQ(engine_->looks().DescribeWorker(worker)->tasks.size(), 2u);
  const WorkerView seen = *engine_->looks().DescribeWorker(worker, "ann");
  ASSERT_EQ(seen.tasks.size(), 1u);
  EXPECT_EQ(seen.tasks[0].job, anns);
  EXPECT_TRUE(engine_->looks().DescribeWorker(worker, "eve")->tasks.empty());
}

TEST_F(EngineUsers, AMillionUsersAreNoBurden) {
  constexpr int kUsers = 100'000;  // as many as a test can afford
  for (int i = 0; i < kUsers; ++i) Submit(SpecOf("user" + std::to_string(i)));
  const UserPage page = Page("user5", 100);
  ASSERT_EQ(page.users.size(), 100u);
  EXPECT_EQ(page.users.front().user, "user50");
  EXPECT_EQ(page.active, static_cast<std::uint64_t>(kUsers));
  for (const UserView& view : page.users) EXPECT_NE(view.oldest, std::nullopt);
}

}  // namespace
}  // namespace allot
