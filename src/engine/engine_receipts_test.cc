// SPDX-License-Identifier: Apache-2.0
// How starts were decided. That the steps are those of a preview taken just before is seen in engine_preview_test.cc.
#include "engine/receipt_log.h"
#include "engine/testing_limits.h"
#include "match/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

class EngineReceipts : public testing::LimitedEngineTest {
 protected:
  WorkerId RegisterNamed(const std::string& name, const std::string& strategy, std::vector<std::string> tags = {"a"}) {
    WorkerSpec spec;
    spec.id = WorkerId{++last_id_};
    spec.name = name;
    spec.tags = std::move(tags);
    spec.connected = true;
    spec.strategy = Strategy(strategy);
    EXPECT_TRUE(engine_->workers().Register(now_, spec, std::nullopt).ok());
    Pass(1ms);
    return spec.id;
  }
  std::vector<Receipt> All() { return engine_->looks().Receipts(std::nullopt, SIZE_MAX, std::nullopt); }
  static std::string Texts(const Receipt& receipt) {
    std::string out;
    for (const PreviewStep& step : receipt.why) out += step.text + "\n";
    return out;
  }
};

TEST_F(EngineReceipts, TellWhatWasSeenBeforeTheStart) {
  SetPolicy("fair(user, worker)", {{"user.bob", 2}});
  const WorkerId worker =
      RegisterNamed("host-1", "or_else(select_only(mode = preview, oldest), max_simultaneous(user, 50%, priority))");
  EXPECT_TRUE(All().empty());
  SubmitOf("ann", 1, {{"mode", "preview"}});
  Pass(1200ms);
  const JobId anns = SubmitOf("ann", 2);
  JobSpec bobs = Spec(1);
  bobs.user = "bob";
  bobs.priority = 7;
  bobs.delay = 500ms;
  const JobId later = Submit(bobs);
  Submit(Spec(1, {"other"}));
  Pass(800ms);
  const std::vector<Grant> grants = Pull(worker, 3);
  ASSERT_EQ(grants.size(), 2u);  // of ann no third: one slot is half of all
  EXPECT_FALSE(engine_->looks().ReceiptOf(anns, 0));
  const std::optional<Receipt> receipt = engine_->looks().ReceiptOf(later, 0);
  ASSERT_TRUE(receipt);
  EXPECT_EQ(receipt->serial, grants[1].task.lease.serial);
  EXPECT_EQ(receipt->job, later);
  EXPECT_EQ(receipt->attempt, 1u);
  EXPECT_EQ(receipt->worker, worker);
  EXPECT_EQ(receipt->worker_name, "host-1");
  EXPECT_EQ(receipt->user, "bob");
  EXPECT_EQ(receipt->at, now_.wall);
  EXPECT_EQ(receipt->waited, 300ms);
  EXPECT_EQ(receipt->classes_open, 2u);
  EXPECT_EQ(receipt->classes_matched, 1u);
  EXPECT_EQ(receipt->limits_met, 0u);
  EXPECT_EQ(receipt->blocked_by_limits, 0u);
  EXPECT_EQ(receipt->policy, "fair(user, worker)");
  EXPECT_EQ(receipt->strategy,
            "or_else(select_only(mode = \"preview\", oldest), max_simultaneous(user, 50%, priority))");
  EXPECT_EQ(Texts(*receipt),
            "shares between users: \"bob\" has 0 running tasks for a weight of 2, never served: first waiting job "
            "submitted 800ms ago\n"
            "the worker's own strategy\n"
            "choice 2 of 2: there is no task in the first\n"
            "nothing of a user whose running tasks take 50 % of all slots: \"bob\" has 0, and may have 1 (of 1 slots)\n"
            "the highest priority first: 7, scheduled 300ms ago\n");
  // The one before it.
  const std::vector<Receipt> all = All();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].job, later);
  EXPECT_EQ(Texts(all[1]),
            "shares between users: \"ann\" has 0 running tasks, never served: first waiting job submitted 2s ago\n"
            "the worker's own strategy\n"
            "the first choice of 2\n"
            "only jobs whose `mode` is \"preview\"\n"
            "the oldest job first: submitted 2s ago\n");
}

TEST_F(EngineReceipts, OfATaskTellItsLastStart) {
  const WorkerId worker = Register();
  JobSpec spec = Spec(1);
  const JobId job = Submit(spec);
  const std::vector<Grant> first = Pull(worker);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(engine_->looks().ReceiptOf(job, 0)->attempt, 1u);
  Say(worker, first[0].task, ReportKind::kFailed);
  Pass(1min);
  ASSERT_EQ(Pull(worker).size(), 1u);
  EXPECT_EQ(engine_->looks().ReceiptOf(job, 0)->attempt, 2u);
  EXPECT_EQ(All().size(), 2u);
  EXPECT_FALSE(engine_->looks().ReceiptOf(job, 1));
  EXPECT_FALSE(engine_->looks().ReceiptOf(JobId{4}, 0));
}

TEST_F(EngineReceipts, StayWhenJobWorkerStrategyAndPolicyAreGone) {
  SetPolicy("fair(customer, worker)");
  const WorkerId worker = RegisterNamed("gone", "prefer_distinct(user, 2, least_recent)");
  JobSpec spec = Spec(3);
  spec.user = "ann";
  spec.meta = {{"customer", "acme"}};
  spec.retention = 1ms;
  const JobId job = Submit(spec);
  std::vector<Grant> grants = Pull(worker, 3);
  ASSERT_EQ(grants.size(), 3u);
  for (const Grant& grant : grants) Say(worker, grant.task, ReportKind::kDone);
  engine_->workers().Unregister(now_, worker);
  SetPolicy("worker");
  Pass(1min);
  ASSERT_FALSE(engine_->looks().Describe(job).ok());
  const std::optional<Receipt> receipt = engine_->looks().ReceiptOf(job, 2);
  ASSERT_TRUE(receipt);
  EXPECT_EQ(receipt->user, "ann");
  EXPECT_EQ(receipt->worker_name, "gone");
  EXPECT_EQ(receipt->policy, "fair(customer, worker)");
  EXPECT_EQ(receipt->strategy, "prefer_distinct(user, 2, least_recent)");
  EXPECT_EQ(receipt->why[0].value, "sacme");
  EXPECT_EQ(receipt->why[0].running, 2u);
  EXPECT_EQ(receipt->why[2].level, 1u);
  EXPECT_NE(Texts(*receipt).find("\"acme\" has 2 running tasks"), std::string::npos);
}

TEST_F(EngineReceipts, TellThePolicyThatWasInForce) {
  const WorkerId worker = Register();
  const JobId job = Submit(Spec(2));
  Pull(worker);
  SetPolicy("fair(user, worker)");
  Pass(1s);
  Pull(worker);
  EXPECT_EQ(engine_->looks().ReceiptOf(job, 0)->policy, "worker");
  EXPECT_EQ(engine_->looks().ReceiptOf(job, 1)->policy, "fair(user, worker)");
  // Of neither policy nor rank there is nothing to tell.
  EXPECT_EQ(engine_->looks().ReceiptOf(job, 0)->why.size(), 1u);
}

TEST_F(EngineReceipts, OfOneCommandMayBeByTwoPolicies) {
  // How many jobs there are decides whether another policy is in force at once, at the end of the next command, or
  // later.
  std::size_t in_one = 0;
  for (int jobs = 100; jobs <= 3000; jobs += 100) {
    SCOPED_TRACE(std::to_string(jobs) + " jobs");
    options_.policy = Strategy("max_simultaneous(user, 1, worker)", true);
    Load(30s);
    const WorkerId worker = RegisterBy("", {"a"}, 8);
    for (int i = 0; i < jobs; ++i) Submit(Spec(1, {"b"}));
    const JobId job = SubmitOf("ann", 3);
    engine_->queue().SetPolicy(now_, Strategy("fair(user, worker)", true), {});
    Wait(worker, 3);
    const std::uint64_t granted = engine_->looks().Stats().granted;
    const std::optional<Receipt> first = engine_->looks().ReceiptOf(job, 0);
    ASSERT_TRUE(first);
    if (granted < 3 || first->policy == "fair(user, worker)") continue;
    ++in_one;
    EXPECT_EQ(first->policy, "max_simultaneous(user, 1, worker)");
    for (const TaskIndex index : {1u, 2u}) {
      const std::optional<Receipt> later = engine_->looks().ReceiptOf(job, index);
      ASSERT_TRUE(later);
      EXPECT_EQ(later->policy, "fair(user, worker)");
      EXPECT_EQ(later->why[0].block, Strategy::Kind::kFair);
    }
  }
  EXPECT_GT(in_one, 0u);
}

TEST_F(EngineReceipts, AreThoseOfTheLastTenThousandStarts) {
  constexpr std::uint32_t kStarts = 25'500;
  const WorkerId worker = RegisterBy("", {"a"}, 1000);
  JobSpec spec = Spec(kStarts);
  spec.user = "ann";
  const JobId job = Submit(spec);
  const JobId bobs = SubmitOf("bob", 10);
  for (std::uint32_t done = 0; done < kStarts; done += 500) {
    const std::vector<Grant> grants = Pull(worker, 500);
    ASSERT_EQ(grants.size(), 500u);
    for (const Grant& grant : grants) Say(worker, grant.task, ReportKind::kDone);
  }
  ASSERT_EQ(Pull(worker, 10).size(), 10u);
  const std::vector<Receipt> all = All();
  ASSERT_EQ(all.size(), kReceiptsKept);
  EXPECT_EQ(all[0].job, bobs);
  EXPECT_EQ(all[0].index, 9u);
  for (std::size_t i = 1; i < all.size(); ++i) ASSERT_EQ(all[i].serial + 1, all[i - 1].serial);
  EXPECT_EQ(all.back().index, kStarts + 10 - kReceiptsKept);
  EXPECT_TRUE(engine_->looks().ReceiptOf(job, kStarts + 10 - kReceiptsKept));
  EXPECT_FALSE(engine_->looks().ReceiptOf(job, kStarts + 9 - kReceiptsKept));
  // In pages; of one user alone.
  std::size_t seen = 0;
  std::optional<std::uint64_t> before;
  for (;;) {
    const std::vector<Receipt> page = engine_->looks().Receipts(before, 999, std::nullopt);
    for (const Receipt& receipt : page) ASSERT_EQ(receipt.serial, all[seen++].serial);
    if (page.size() < 999) break;
    before = page.back().serial;
  }
  EXPECT_EQ(seen, kReceiptsKept);
  EXPECT_EQ(engine_->looks().Receipts(std::nullopt, 100, "bob").size(), 10u);
  EXPECT_EQ(engine_->looks().Receipts(std::nullopt, 7, "bob").size(), 7u);
  EXPECT_EQ(engine_->looks().Receipts(std::nullopt, 20'000, "ann").size(), kReceiptsKept - 10);
  EXPECT_TRUE(engine_->looks().Receipts(std::nullopt, 100, "").empty());
}

TEST_F(EngineReceipts, AreFewerWhereTheyAreLarge) {
  std::string strategy = "oldest";
  Meta meta;
  for (int i = 0; i < 15; ++i) {
    const std::string key = "key_" + std::to_string(i);
    strategy = "fair(" + key + ", " + strategy + ")";
    meta.emplace_back(key, std::string(bounds::kMaxMetaValueBytes, 'x'));
  }
  const WorkerId worker = RegisterNamed("large", strategy);
  const JobId job = SubmitOf("ann", 3000, meta);
  Pass(1s);
  std::size_t pulled = 0;  // one pull gives what two orders can be told of at once
  while (const std::size_t more = Pull(worker, 3000).size()) pulled += more;
  ASSERT_EQ(pulled, 3000u);
  const std::vector<Receipt> all = All();
  EXPECT_GT(all.size(), 1000u);
  EXPECT_LT(all.size(), 1200u);  // 15 KB each
  EXPECT_EQ(all[0].index, 2999u);
  EXPECT_EQ(all.back().index, 3000u - all.size());
  EXPECT_EQ(all.back().why[5].value, "s" + std::string(bounds::kMaxMetaValueBytes, 'x'));
  EXPECT_FALSE(engine_->looks().ReceiptOf(job, 0));
  // And as many as ever when they are small again.
  const WorkerId other = RegisterBy("", {"b"});
  Submit(Spec(10'000, {"b"}));
  pulled = 0;
  while (const std::size_t more = Pull(other, 10'000).size()) pulled += more;
  ASSERT_EQ(pulled, 10'000u);
  EXPECT_EQ(All().size(), kReceiptsKept);
}

TEST_F(EngineReceipts, TellOfLimits) {
  const WorkerId worker = RegisterAt("x");
  SetLimit("slow", testing::SomeLimit("MY.User == \"ann\"", 1));
  SetLimit("all", testing::SomeLimit("true", 1000));
  SubmitOf("ann", 2);
  const JobId bobs = SubmitOf("bob");
  Pass(1s);
  ASSERT_EQ(Pull(worker, 5).size(), 2u);
  const std::vector<Receipt> all = All();
  EXPECT_EQ(all[1].user, "ann");
  EXPECT_EQ(all[1].limits_met, 2u);
  EXPECT_EQ(all[1].blocked_by_limits, 0u);
  EXPECT_EQ(all[0].job, bobs);
  EXPECT_EQ(all[0].limits_met, 1u);
  EXPECT_EQ(all[0].blocked_by_limits, 1u);  // ann's second
}

TEST_F(EngineReceipts, TellTheRankWhereTheWorkerRanks) {
  WorkerSpec spec;
  spec.id = WorkerId{++last_id_};
  spec.tags = {"a"};
  spec.connected = true;
  spec.rank = testing::MustParse("TARGET.User == \"bob\" ? 2.5 : 0");
  ASSERT_TRUE(engine_->workers().Register(now_, spec, std::nullopt).ok());
  const JobId anns = SubmitOf("ann", 1);
  const JobId bobs = SubmitOf("bob", 1);
  Pass(1s);
  ASSERT_EQ(Pull(spec.id, 2).size(), 2u);
  EXPECT_EQ(engine_->looks().ReceiptOf(bobs, 0)->why[0].rank, 2.5);
  EXPECT_EQ(engine_->looks().ReceiptOf(bobs, 0)->classes_open, 2u);
  // Nothing is left that it ranks.
  EXPECT_EQ(Texts(*engine_->looks().ReceiptOf(anns, 0)), "the highest priority first: none, scheduled 1s ago\n");
}

TEST_F(EngineReceipts, TellWhereItWasTakenFrom) {
  options_.dispatch.mode = DispatchMode::kFanout;
  Load(30s);
  Submit(Spec(1));
  ASSERT_EQ(Pull(Register()).size(), 1u);
  EXPECT_EQ(All()[0].mode, DispatchMode::kFanout);
  EXPECT_EQ(All()[0].from, TakenFrom::kShared);

  options_.dispatch.mode = DispatchMode::kBalanced;
  Load(30s);
  const WorkerId one = Register(), two = Register();
  const JobId job = Submit(Spec(2));
  ASSERT_EQ(Pull(one, 2).size(), 2u);
  EXPECT_EQ(engine_->looks().ReceiptOf(job, 0)->mode, DispatchMode::kBalanced);
  EXPECT_EQ(engine_->looks().ReceiptOf(job, 0)->from, TakenFrom::kOwn);
  EXPECT_EQ(engine_->looks().ReceiptOf(job, 1)->from, TakenFrom::kAnother);
  // What was there before anyone is open until it is dealt out.
  ASSERT_TRUE(engine_->workers().Drain(now_, one).ok());
  ASSERT_TRUE(engine_->workers().Drain(now_, two).ok());
  const JobId early = Submit(Spec(10'000));
  const WorkerId three = Register();
  ASSERT_EQ(Pull(three, 1).size(), 1u);
  EXPECT_EQ(engine_->looks().ReceiptOf(early, 0)->from, TakenFrom::kOwn);
  for (const auto& [from, text] : {std::pair{TakenFrom::kShared, "shared"},
                                   {TakenFrom::kOwn, "own_queue"},
                                   {TakenFrom::kOpen, "open"},
                                   {TakenFrom::kAnother, "another_queue"}}) {
    EXPECT_EQ(TakenFromText(from), text);
  }
}

TEST_F(EngineReceipts, AreNotThereAfterARestart) {
  const WorkerId worker = Register();
  const JobId job = Submit(Spec(2));
  ASSERT_EQ(Pull(worker).size(), 1u);
  Fold();
  Load(30s);
  EXPECT_FALSE(engine_->looks().ReceiptOf(job, 0));
  EXPECT_TRUE(All().empty());
  ComeBack(worker, {});
  Pass(1min);
  ASSERT_EQ(Pull(worker).size(), 1u);
  EXPECT_EQ(All().size(), 1u);
}

}  // namespace
}  // namespace allot
