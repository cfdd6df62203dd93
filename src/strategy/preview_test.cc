// SPDX-License-Identifier: Apache-2.0
#include "strategy/preview.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>

namespace allot {
namespace {

// Jobs in the order of their ids, with what strategies see of them.
struct QueuedJob : PickJob {
  std::string user;
  std::optional<std::string> customer;
  bool async = true;
  std::optional<double> rank = 0;  // none: not for this worker
  std::uint32_t own = 0;           // tasks in its own queue
};

class Queue : public JobKeys {
 public:
  std::deque<QueuedJob> rows;
  static constexpr std::int64_t kNow = 1'000'000;

  QueuedJob& Add(const std::string& user, std::uint32_t queued = 1) {
    QueuedJob& row = rows.emplace_back();
    row.key.id = JobId{rows.size()};
    row.user = user;
    row.queued = queued;
    row.open = queued > 0;
    row.submitted_at = row.key.scheduled_for = FromMillis(kNow - 60'000);
    return row;
  }
  GroupText Get(const PickJob& job, const StrategyKey& key) const override {
    const QueuedJob& row = static_cast<const QueuedJob&>(job);
    if (key.kind == StrategyKey::Kind::kUser) return row.user.empty() ? std::nullopt : GroupText("s" + row.user);
    if (key.kind == StrategyKey::Kind::kAsync) return TextOf(row.async);
    if (key.kind == StrategyKey::Kind::kJob) return "s" + std::to_string(job.id().value);
    return row.customer ? GroupText("s" + *row.customer) : std::nullopt;
  }
  bool HasTag(const PickJob& job, const std::string& tag) const override {
    return static_cast<const QueuedJob&>(job).user == tag;
  }
  std::unique_ptr<Preview> Try(const std::string& strategy, const std::string& policy = "worker", Weights weights = {},
                               std::uint64_t seed = 1) const {
    Preview::Options options{ParseStrategy(policy, true).strategy, ParseStrategy(strategy).strategy, weights, 8};
    EXPECT_NE(options.policy, nullptr);
    EXPECT_NE(options.worker, nullptr);
    options.now = FromMillis(kNow);
    options.seed = seed;
    auto preview = std::make_unique<Preview>(options);
    for (const QueuedJob& row : rows) preview->Know(*this, row, row.rank, nullptr, row.own);
    return preview;
  }
  std::vector<std::uint64_t> Picks(const std::string& strategy, const std::string& policy = "worker",
                                   const Weights& weights = {}) const {
    const auto preview = Try(strategy, policy, weights);
    std::vector<std::uint64_t> ids;
    while (const auto pick = preview->Next()) ids.push_back(pick->job.value);
    return ids;
  }
};

std::vector<std::string> Texts(const PreviewPick& pick) {
  std::vector<std::string> texts;
  for (const PreviewStep& step : pick.why) texts.push_back(step.text);
  return texts;
}

using Ids = std::vector<std::uint64_t>;
using Lines = std::vector<std::string>;

TEST(Preview, EveryPickSeesThoseBefore) {
  Queue queue;
  queue.Add("ann", 3);
  queue.Add("bob", 2);
  EXPECT_EQ(queue.Picks("oldest"), (Ids{1, 1, 1, 2, 2}));
  EXPECT_EQ(queue.Picks("least_recent"), (Ids{1, 2, 1, 2, 1}));
  EXPECT_EQ(queue.Picks("fair(user, oldest)"), (Ids{1, 2, 1, 2, 1}));
  EXPECT_EQ(queue.Picks("fair(user, oldest)", "worker", {{"user.bob", 2}}), (Ids{1, 2, 2, 1, 1}));
  EXPECT_EQ(queue.Picks("max_simultaneous(user, 1, oldest)"), (Ids{1, 2}));
  const auto preview = queue.Try("oldest");
  EXPECT_EQ(preview->Next()->before, 0u);
  EXPECT_EQ(preview->Next()->before, 1u);
  EXPECT_EQ(preview->tasks(), 3u);
}

TEST(Preview, JobsOfOthersCountButAreNotGiven) {
  Queue queue;
  QueuedJob& full = queue.Add("ann", 0);  // nothing left to do, but running
  full.running = 1;
  full.picked = Stamp{5, 5};
  queue.Add("ann");
  queue.Add("bob");
  queue.Add("cy").rank.reset();  // not for this worker
  EXPECT_EQ(queue.Picks("fair(user, oldest)"), (Ids{3, 2}));
  EXPECT_EQ(queue.Picks("max_simultaneous(user, 1, oldest)"), (Ids{3}));
  EXPECT_EQ(queue.Try("oldest")->jobs(), 2u);
}

TEST(Preview, RankHoldsWhereThePolicySaysWorker) {
  Queue queue;
  queue.Add("ann").rank = 1;
  queue.Add("ann").rank = 2;
  queue.Add("bob").rank = 3;
  EXPECT_EQ(queue.Picks("oldest"), (Ids{3, 2, 1}));
  EXPECT_EQ(queue.Picks("oldest", "fair(user, worker)"), (Ids{2, 3, 1}));
  EXPECT_EQ(queue.Picks("oldest", "or_else(select_only(user = ann, oldest), worker)"), (Ids{1, 2, 3}));
}

TEST(Preview, SaysWhy) {
  Queue queue;
  QueuedJob& first = queue.Add("ann", 2);
  first.customer = "acme";
  first.running = 1;
  first.picked = Stamp{Queue::kNow - 5000, 7};
  first.key.no_priority = false;
  first.key.priority = 9;
  queue.Add("bob").async = false;
  queue.Add("");

  const struct {
    const char* policy;
    const char* strategy;
    std::vector<Lines> picks;
  } kRows[] = {
      {"worker",
       "oldest",
       {{"the oldest job first: submitted 1m 00s ago"}, {"the oldest job first: submitted 1m 00s ago"}}},
      {"worker",
       "priority",
       {{"the highest priority first: 9, scheduled 1m 00s ago"},
        {"the highest priority first: 9, scheduled 1m 00s ago"},
        {"the highest priority first: none, scheduled 1m 00s ago"}}},
      {"worker",
       "fair(user, least_recent)",
       {{"shares between users: jobs without a user, one group, have 0 running tasks, never served: first waiting job "
         "submitted 1m 00s ago",
         "the job picked from longest ago first: never, submitted 1m 00s ago"}}},
      {"max_simultaneous(user, 25%, worker)",
       "or_else(select_only(async = false, newest), prefer_distinct(customer, 2, oldest))",
       {{"nothing of a user whose running tasks take 25 % of all slots: \"bob\" has 0, and may have 2 (of 8 slots)",
         "the worker's own strategy", "the first choice of 2", "only jobs that a person waits for (`async` is false)",
         "the newest job first: submitted 1m 00s ago"},
        {"nothing of a user whose running tasks take 25 % of all slots: \"ann\" has 1, and may have 2 (of 8 slots)",
         "the worker's own strategy", "choice 2 of 2: there is no task in the first",
         "values of `customer` by their running tasks, in steps of 2: \"acme\" has 1, on step 1",
         "the oldest job first: submitted 1m 00s ago"},
        {"nothing of a user whose running tasks take 25 % of all slots: jobs without a user are not limited",
         "the worker's own strategy", "choice 2 of 2: there is no task in the first",
         "values of `customer` by their running tasks, in steps of 2: jobs without `customer` count as 0",
         "the oldest job first: submitted 1m 00s ago"}}},
      {"worker",
       "select_only(user = ann, max_simultaneous(customer, 5, random))",
       {{"only jobs of the user \"ann\"",
         "nothing of a value of `customer` that has 5 running tasks already: \"acme\" has 1",
         "any queued task, each as likely as the others: one of 2"},
        {"only jobs of the user \"ann\"",
         "nothing of a value of `customer` that has 5 running tasks already: \"acme\" has 2",
         "any queued task, each as likely as the others: the only one"}}},
      {"worker",
       "max_simultaneous(job, 2, oldest)",
       {{"nothing of a job that has 2 running tasks already: 1 has 1", "the oldest job first: submitted 1m 00s ago"}}},
  };
  for (const auto& row : kRows) {
    const auto preview = queue.Try(row.strategy, row.policy);
    for (const Lines& want : row.picks) {
      const auto pick = preview->Next();
      ASSERT_TRUE(pick) << row.strategy;
      EXPECT_EQ(Texts(*pick), want) << row.strategy;
    }
  }
  const auto preview = queue.Try("fair(user, oldest)", "worker", {{"user.ann", 3}});
  preview->Next();
  preview->Next();
  EXPECT_EQ(preview->Next()->why[0].text,
            "shares between users: \"ann\" has 1 running task for a weight of 3, served 5s ago");
  EXPECT_EQ(preview->Next()->why[0].text,
            "shares between users: \"ann\" has 2 running tasks for a weight of 3, served by pick 3");
  first.rank = 2.5;
  EXPECT_EQ(queue.Try("oldest")->Next()->why[0].text, "the worker's own rank and strategy: rank 2.5");
}

TEST(Preview, RandomIsAsLikelyForEveryTask) {
  Queue queue;
  queue.Add("ann", 1);
  queue.Add("bob", 3);
  std::map<std::uint64_t, int> count;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    const auto pick = queue.Try("random", "worker", {}, seed)->Next();
    EXPECT_TRUE(pick->random);
    ++count[pick->job.value];
  }
  EXPECT_NEAR(count[1], 1000, 120);
}

TEST(Preview, TheWorkersOwnQueueComesFirstAsFarAsItMayStart) {
  Queue queue;
  queue.Add("ann", 2);
  queue.Add("bob", 3).own = 2;
  queue.Add("cid", 1).own = 1;
  EXPECT_EQ(queue.Picks("oldest"), (Ids{2, 2, 3, 1, 1, 2}));
  EXPECT_EQ(queue.Picks("newest"), (Ids{3, 2, 2, 2, 1, 1}));
  // Of bob no second may run: others' come next.
  EXPECT_EQ(queue.Picks("oldest", "max_simultaneous(user, 1, worker)"), (Ids{2, 3, 1}));
  const auto preview = queue.Try("random");
  EXPECT_EQ(preview->tasks(), 6u);
  EXPECT_EQ(preview->Next()->why.back().candidates, 3u);
  // What the worker may not run does not stand in its queue any more.
  queue.rows[1].rank = queue.rows[2].rank = std::nullopt;
  EXPECT_EQ(queue.Picks("oldest"), (Ids{1, 1}));
}

TEST(Preview, StopsWhenToldThatItIsEnough) {
  Queue queue;
  queue.Add("ann", 9);
  Preview::Options options;
  int asked = 0;
  options.enough = [&asked] { return ++asked > 2; };
  Preview preview(options);
  preview.Know(queue, queue.rows[0], 0);
  EXPECT_TRUE(preview.Next());
  EXPECT_TRUE(preview.Next());
  EXPECT_FALSE(preview.stopped());
  EXPECT_FALSE(preview.Next());
  EXPECT_TRUE(preview.stopped());
}

}  // namespace
}  // namespace allot
