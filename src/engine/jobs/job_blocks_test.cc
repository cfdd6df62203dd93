// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/job_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/rng.h"

namespace allot {
namespace {

struct Job {
  JobId id;
  JobState state;
  bool open = false, gone = false;
  std::vector<JobBlocks::Key> keys;
  std::uint32_t near = 0;
};

// What blocks say, against the jobs themselves.
class Model {
 public:
  void Append(JobId id, JobState state, const std::string& user) {
    Job job{id, state, false, false, {JobBlocks::UserKey(user)}};
    blocks.Append(id, jobs.size(), state, job.keys);
    jobs.push_back(std::move(job));
  }
  void Compact() {
    std::erase_if(jobs, [](const Job& job) { return job.gone; });
    blocks.Compact();
  }
  void Check() const {
    std::size_t next_open = 0;
    for (std::size_t block = 0; block < blocks.size(); ++block) {
      const std::size_t begin = blocks.begin(block);
      const std::size_t end = block + 1 < blocks.size() ? blocks.begin(block + 1) : jobs.size();
      ASSERT_LT(begin, end);
      ASSERT_LE(end - begin, JobBlocks::kBlockJobs);
      std::array<bool, 6> states{};
      bool open = false;
      for (std::size_t i = begin; i < end; ++i) {
        ASSERT_EQ(blocks.BlockAt(i), block);
        const Job& job = jobs[i];
        if (job.gone) continue;
        states[static_cast<std::size_t>(job.state)] = true;
        open = open || job.open;
        ASSERT_TRUE(blocks.May(block, {std::nullopt, false, job.keys}));
      }
      for (std::size_t state = 0; state < states.size(); ++state) {
        ASSERT_EQ(blocks.May(block, {static_cast<JobState>(state), false, {}}), states[state]);
      }
      ASSERT_EQ(blocks.May(block, {std::nullopt, true, {}}), open);
      if (!open) continue;
      ASSERT_EQ(blocks.NextOpen(next_open), block);
      next_open = block + 1;
    }
    ASSERT_EQ(blocks.NextOpen(next_open), blocks.size());
  }
  JobBlocks blocks;
  std::vector<Job> jobs;
};

TEST(JobBlocks, KnowWhatTheirJobsAre) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    Model model;
    std::uint64_t id = 0;
    for (int round = 0; round < 40; ++round) {
      for (int i = 0; i < 100; ++i) {
        id += 1 + rng.Below(3);
        model.Append(JobId{id}, static_cast<JobState>(rng.Below(6)), "user" + std::to_string(rng.Below(1000)));
      }
      for (int i = 0; i < 100; ++i) {
        Job& job = model.jobs[rng.Below(model.jobs.size())];
        if (job.gone) continue;
        const std::uint64_t what = rng.Below(4);
        if (what == 0) {
          const auto state = static_cast<JobState>(rng.Below(6));
          model.blocks.SetState(job.id, job.state, state, job.near);
          job.state = state;
        } else if (what == 1) {
          job.open = !job.open;
          model.blocks.SetOpen(job.id, job.open, job.near);
        } else if (what == 2) {
          job.keys.push_back(JobBlocks::TagKey("tag" + std::to_string(rng.Below(10))));
          model.blocks.AddKeys(job.id, job.keys, job.near);
        } else {
          if (job.open) model.blocks.SetOpen(job.id, false, job.near);
          job.open = false;
          job.gone = true;
          model.blocks.Remove(job.id, job.state, job.near);
        }
      }
      if (rng.Below(5) == 0) model.Compact();
      model.Check();
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(JobBlocks, SeldomSayMayOfAUserThatIsNotThere) {
  Model model;
  constexpr std::uint64_t kJobs = 64'000;
  for (std::uint64_t i = 1; i <= kJobs; ++i) model.Append(JobId{i}, JobState::kActive, "user" + std::to_string(i));
  std::size_t may = 0;
  for (std::size_t block = 0; block < model.blocks.size(); ++block) {
    for (int i = 0; i < 10; ++i) {
      may += model.blocks.May(block, {std::nullopt, false, {JobBlocks::UserKey("other" + std::to_string(i))}});
    }
  }
  EXPECT_LT(static_cast<double>(may), 0.02 * 10 * static_cast<double>(model.blocks.size()));
  EXPECT_LE(static_cast<double>(model.blocks.size() * 116), 2.0 * kJobs);
}

TEST(JobBlocks, ForgetWhoIsGoneWhenTheyAreRenewed) {
  Model model;
  for (std::uint64_t i = 1; i <= 64; ++i) model.Append(JobId{i}, JobState::kActive, i == 7 ? "ann" : "bob");
  const JobBlocks::Want ann{std::nullopt, false, {JobBlocks::UserKey("ann")}};
  EXPECT_TRUE(model.blocks.May(0, ann));
  EXPECT_FALSE(model.blocks.stale(0));
  std::uint32_t near = 0;
  model.blocks.Remove(JobId{7}, JobState::kActive, near);
  EXPECT_TRUE(model.blocks.May(0, ann));
  EXPECT_TRUE(model.blocks.stale(0));
  model.blocks.Renew(0, std::vector{JobBlocks::UserKey("bob")});
  EXPECT_FALSE(model.blocks.May(0, ann));
}

}  // namespace
}  // namespace allot
