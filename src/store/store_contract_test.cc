// SPDX-License-Identifier: Apache-2.0
// What store.h promises, for every kind of store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/rng.h"
#include "store/store_fixture.h"

namespace allot {
namespace {

using ::testing::ElementsAre;
using testing::IsEmpty;

TEST_P(StoreContract, ANewStoreIsEmpty) {
  const Loaded loaded = Reopen();
  EXPECT_THAT(loaded.records, IsEmpty());
  EXPECT_THAT(loaded.events, IsEmpty());
  EXPECT_THAT(loaded.asked, IsEmpty());
  EXPECT_EQ(store_->LastPosition(), 0u);
  EXPECT_EQ(Usage().journal_rows, 0u);
  EXPECT_EQ(Usage().garbage_jobs, 0u);
  EXPECT_FALSE(*store_->Tidy());
}

TEST_P(StoreContract, EventsComeBackInOrderEachBatchUnderItsOwnPosition) {
  Commit({Events(3, "a"), Events(4, std::string("b\0c", 3))});
  Commit({Events(10, "d"), Batch{}, Events(1'000'000'000'000, "e")});
  EXPECT_THAT(Reopen().events, ElementsAre("3:a", std::string("4:b\0c", 5), "10:d", "1000000000000:e"));
  EXPECT_EQ(store_->LastPosition(), 1'000'000'000'000u);
}

TEST_P(StoreContract, BatchesWithoutEventsLeaveNoJournalRow) {
  Commit({Records({{JobId{1}, kJobPage, "x"}}), Batch{}});
  Commit({});
  EXPECT_EQ(Usage().journal_rows, 0u);
  EXPECT_THAT(Reopen().events, IsEmpty());
}

TEST_P(StoreContract, ARecordReplacesTheOneBeforeAndAnEmptyOneRemovesIt) {
  Commit(
      {Records({{JobId{1}, kJobPage, "one"}, {JobId{2}, kJobPage, "two"}, {JobId{1}, 0, "p0"}, {JobId{1}, 7, "p7"}})});
  Commit({Records({{JobId{1}, kJobPage, "uno"}, {JobId{1}, 7, "first"}, {JobId{1}, 7, "last"}})});
  EXPECT_THAT(Reopen().records, ElementsAre("1=uno", "2=two", "1/0=p0", "1/7=last"));
  Commit({Records({{JobId{2}, kJobPage, ""}, {JobId{1}, 0, ""}, {JobId{9}, kJobPage, ""}, {JobId{9}, 4, ""}})});
  EXPECT_THAT(Reopen().records, ElementsAre("1=uno", "1/7=last"));
}

TEST_P(StoreContract, AJobsOwnRecordComesBeforeItsPages) {
  Commit({Records({{JobId{5}, 1, "page"}})});
  Commit({Records({{JobId{5}, kJobPage, "own"}, {JobId{4}, 0xFFFFFFFE, "last page"}, {JobId{4}, kJobPage, "four"}})});
  const std::vector<std::string> records = Reopen().records;
  const auto at = [&](const std::string& text) { return std::find(records.begin(), records.end(), text); };
  EXPECT_LT(at("5=own"), at("5/1=page"));
  EXPECT_LT(at("4=four"), at("4/4294967294=last page"));
  EXPECT_EQ(records.size(), 4u);
}

TEST_P(StoreContract, EventsUpToTheFloorAreGoneAtOnceAndTheirRowsAfterTidying) {
  for (Position position = 1; position <= 100; ++position) Commit({Events(position, "e")});
  EXPECT_EQ(Usage().journal_rows, 100u);
  Commit({Events(101, "y"), Events(102, "z")});
  Commit({Floor(101)});
  EXPECT_THAT(Reopen().events, ElementsAre("102:z"));
  TidyUp();
  EXPECT_EQ(Usage().journal_rows, 1u);
  EXPECT_THAT(Reopen().events, ElementsAre("102:z"));
  Commit({Floor(50)});  // a floor never falls
  EXPECT_THAT(Reopen().events, ElementsAre("102:z"));
  Commit({Events(103, "last"), Floor(103)});
  TidyUp();
  EXPECT_EQ(Usage().journal_rows, 0u);
}

TEST_P(StoreContract, ThePositionIsRememberedWhenNothingElseIsLeft) {
  Commit({Events(77, "e"), Floor(77)});
  TidyUp();
  EXPECT_EQ(store_->LastPosition(), 77u);
  Reopen();
  EXPECT_EQ(store_->LastPosition(), 77u);
}

TEST_P(StoreContract, NumberingMayBeginAnewWhenEverythingIsFolded) {
  Commit({Events(5, "old"), Events(6, "old")});
  Commit({Floor(6)});
  Commit({Events(1, "new"), Events(2, "newer")});  // before Tidy() came to drop the old ones
  EXPECT_LE(Usage().journal_rows, 2u);
  EXPECT_THAT(Reopen().events, ElementsAre("1:new", "2:newer"));
}

TEST_P(StoreContract, PayloadsAreFoundByTask) {
  Commit({Payloads({{JobId{8}, 0, {"a", "", "ccc"}}, {JobId{8}, 3, {"d"}}, {JobId{8}, 10, {"k", "l"}}}),
          Payloads({{JobId{9}, kCommonPayload, {"for all"}}, {JobId{10}, 0, {"single"}}}),
          Payloads({{JobId{11}, kCommonPayload, {"both"}}, {JobId{11}, 0, {"own"}}})});
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Payload(8, 0), "a");
    EXPECT_EQ(Payload(8, 1), "");
    EXPECT_EQ(Payload(8, 2), "ccc");
    EXPECT_EQ(Payload(8, 3), "d");
    EXPECT_EQ(Payload(8, 4), "(none)");
    EXPECT_EQ(Payload(8, 9), "(none)");
    EXPECT_EQ(Payload(8, 11), "l");
    EXPECT_EQ(Payload(8, 12), "(none)");
    EXPECT_EQ(Payload(8, kCommonPayload), "(none)");
    EXPECT_EQ(Payload(9, kCommonPayload), "for all");
    EXPECT_EQ(Payload(9, 0), "(none)");
    EXPECT_EQ(Payload(10, 0), "single");
    EXPECT_EQ(Payload(11, kCommonPayload), "both");
    EXPECT_EQ(Payload(11, 0), "own");
    EXPECT_EQ(Payload(11, 1), "(none)");
    EXPECT_EQ(Payload(7, 0), "(none)");
    EXPECT_EQ(Payload(12, 0), "(none)");
    Crash();
  }
}

TEST_P(StoreContract, SeveralPayloadsAreReadAtOnce) {
  Batch batch = Payloads({{JobId{1}, kCommonPayload, {"all"}},
                          {JobId{1}, 0, {"a", "b"}},
                          {JobId{1}, 2, {"c"}},
                          {JobId{2}, 0, {std::string(50'000, 'x')}},
                          {JobId{3}, 0, {std::string(50'000, 'y')}}});
  Commit({batch});
  const std::vector<Store::PayloadKey> keys = {
      {JobId{1}, 2}, {JobId{1}, kCommonPayload}, {JobId{2}, 0}, {JobId{4}, 0}, {JobId{1}, 1}, {JobId{3}, 0},
      {JobId{1}, 3}, {JobId{2}, kCommonPayload}};
  const auto read = [&](std::size_t from, std::size_t max_bytes) {
    std::vector<std::string> out;
    for (const auto& payload : store_->ReadPayloads(std::span(keys).subspan(from), max_bytes)) {
      EXPECT_TRUE(payload.ok());
      out.push_back(payload->has_value() ? std::string((*payload)->text().substr(0, 3)) : "-");
    }
    return out;
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(read(0, 1 << 20), ElementsAre("c", "all", "xxx", "-", "b", "yyy", "-", "-"));
    EXPECT_THAT(read(8, 1 << 20), IsEmpty());
    // As much as may be, and always one.
    std::vector<std::string> all;
    while (all.size() < keys.size()) {
      const std::vector<std::string> some = read(all.size(), 40'000);
      ASSERT_FALSE(some.empty());
      EXPECT_LE(std::count(some.begin(), some.end(), "xxx") + std::count(some.begin(), some.end(), "yyy"), 1);
      all.insert(all.end(), some.begin(), some.end());
    }
    EXPECT_THAT(all, ElementsAre("c", "all", "xxx", "-", "b", "yyy", "-", "-"));
    Crash();
  }
}

TEST_P(StoreContract, LongPayloadsSurvive) {
  std::vector<std::string> many;
  for (int i = 0; i < 700; ++i) many.push_back(std::string(100, static_cast<char>('a' + i % 26)));
  const std::string big(1024 * 1024, 'x');
  Commit({Payloads({{JobId{1}, 0, many}, {JobId{1}, 700, {big}}, {JobId{2}, 0, {"small"}}})});
  Crash();
  EXPECT_EQ(Payload(1, 699), many[699]);
  EXPECT_EQ(Payload(1, 700), big);
  EXPECT_EQ(Payload(2, 0), "small");
}

TEST_P(StoreContract, ManySmallSetsAreReadInAnyOrder) {
  Batch batch;
  for (std::uint64_t set = 1; set <= 1000; ++set) {
    batch.payloads.push_back({JobId{set * 3}, 0, {"payload " + std::to_string(set)}});
  }
  Commit({batch});
  Crash();
  Rng rng(7);
  for (std::uint64_t set = 1; set <= 1000; ++set) ASSERT_EQ(Payload(set * 3, 0), "payload " + std::to_string(set));
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t set = 1 + rng.Below(1000);
    ASSERT_EQ(Payload(set * 3, 0), "payload " + std::to_string(set));
    ASSERT_EQ(Payload(set * 3 + 1, 0), "(none)");
  }
}

TEST_P(StoreContract, OfSeveralOutcomesOfATaskTheLastCounts) {
  Commit({Outcomes({{JobId{1}, 5, OutcomeKind::kError, 1, "in the same batch"},
                    {JobId{1}, 5, OutcomeKind::kError, 2, "boom"},
                    {JobId{1}, 2, OutcomeKind::kResult, 1, "two"}}),
          Outcomes({{JobId{2}, 5, OutcomeKind::kResult, 1, "other job"}})});
  EXPECT_THAT(Found({.job = JobId{1}, .end = 100}), ElementsAre("2 result 1 two", "5 error 2 boom"));
  Commit(
      {Outcomes({{JobId{1}, 5, OutcomeKind::kError, 3, "again"}}),
       Outcomes({{JobId{1}, 5, OutcomeKind::kResult, 1000, "at last"}, {JobId{1}, 0, OutcomeKind::kResult, 1, ""}})});
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(Found({.job = JobId{1}, .end = 100}),
                ElementsAre("0 result 1 ", "2 result 1 two", "5 result 1000 at last"));
    EXPECT_THAT(Found({.job = JobId{2}, .end = 100}), ElementsAre("5 result 1 other job"));
    EXPECT_THAT(Found({.job = JobId{3}, .end = 100}), IsEmpty());
    Crash();
  }
}

TEST_P(StoreContract, LaterOutcomesWinAcrossRestarts) {
  for (int i = 0; i < 5; ++i) {
    Commit({Outcomes({{JobId{1}, 9, OutcomeKind::kResult, 1, "round " + std::to_string(i)}})});
    Crash();
    EXPECT_THAT(Found({.job = JobId{1}, .end = 10}), ElementsAre("9 result 1 round " + std::to_string(i)));
  }
}

TEST_P(StoreContract, OutcomesAreReadInPages) {
  Batch batch;
  const std::vector<TaskIndex> indices = {0, 1, 4095, 4096, 32'767, 32'768, 1'000'000, 4'294'967'294};
  for (auto it = indices.rbegin(); it != indices.rend(); ++it) {
    batch.outcomes.push_back({JobId{1}, *it, OutcomeKind::kResult, 1, std::to_string(*it)});
  }
  Commit({batch});
  const auto read = [&](const Store::OutcomeQuery& query) {
    std::vector<TaskIndex> out;
    const auto outcomes = store_->ReadOutcomes(query);
    for (const Outcome& outcome : *outcomes) out.push_back(outcome.index);
    return out;
  };
  const std::uint64_t all = 1ull << 32;
  EXPECT_EQ(read({.job = JobId{1}, .end = all}), indices);
  EXPECT_THAT(read({.job = JobId{1}, .from = 1, .end = 4096}), ElementsAre(1, 4095));
  EXPECT_THAT(read({.job = JobId{1}, .from = 2, .end = all, .max = 2}), ElementsAre(4095, 4096));
  EXPECT_THAT(read({.job = JobId{1}, .from = 4'294'967'294, .end = all}), ElementsAre(4'294'967'294));
  EXPECT_THAT(read({.job = JobId{1}, .from = 5, .end = 5}), IsEmpty());
  EXPECT_THAT(read({.job = JobId{1}, .end = 0}), IsEmpty());
  EXPECT_THAT(read({.job = JobId{1}, .end = all, .max = 0}), IsEmpty());
  EXPECT_THAT(read({.job = JobId{1}, .end = all, .max_bytes = 0}), ElementsAre(0));  // never before the first
  std::vector<TaskIndex> paged;
  for (TaskIndex from = 0;;) {
    const auto page = read({.job = JobId{1}, .from = from, .end = all, .max_bytes = 10});
    if (page.empty()) break;
    paged.insert(paged.end(), page.begin(), page.end());
    from = page.back() + 1;
  }
  EXPECT_EQ(paged, indices);
}

TEST_P(StoreContract, ManyLongOutcomesStayWithinTheBytesAskedFor) {
  for (int commit = 0; commit < 8; ++commit) {
    Batch batch;
    for (TaskIndex i = 0; i < 16; ++i) {
      const TaskIndex index = (i * 8 + static_cast<TaskIndex>(commit) * 5) % 128;
      batch.outcomes.push_back({JobId{1}, index, OutcomeKind::kResult, 1, std::string(20'000, 'r')});
    }
    Commit({batch});
  }
  std::size_t total = 0;
  for (TaskIndex from = 0;;) {
    const auto page = *store_->ReadOutcomes({.job = JobId{1}, .from = from, .end = 128, .max_bytes = 100'000});
    if (page.empty()) break;
    EXPECT_LE(page.size(), 5u);
    EXPECT_GE(page.front().index, from);
    total += page.size();
    from = page.back().index + 1;
  }
  EXPECT_EQ(total, 128u);
}

TEST_P(StoreContract, AShorterOutcomeThatComesLaterLeavesNoHoleInAPage) {
  const std::string longer(5'000, 'r');
  Commit({Outcomes({{JobId{1}, 0, OutcomeKind::kError, 1, longer}, {JobId{1}, 1, OutcomeKind::kResult, 1, longer}})});
  Commit({Outcomes({{JobId{1}, 5'000, OutcomeKind::kResult, 1, "far"}})});
  TidyUp();
  Commit({Outcomes({{JobId{1}, 0, OutcomeKind::kResult, 2, "r"}})});
  Commit({Outcomes({{JobId{1}, 9'000, OutcomeKind::kResult, 1, "farther"}})});
  std::vector<TaskIndex> indices;
  for (TaskIndex from = 0;;) {
    const auto page = *store_->ReadOutcomes({.job = JobId{1}, .from = from, .end = 10'000, .max_bytes = 9'000});
    if (page.empty()) break;
    for (const Outcome& outcome : page) indices.push_back(outcome.index);
    from = page.back().index + 1;
  }
  EXPECT_EQ(indices, (std::vector<TaskIndex>{0, 1, 5'000, 9'000}));
}

TEST_P(StoreContract, ARemovedJobIsNotLoadedAndSweptInTheEnd) {
  std::vector<Record> records;
  Batch content;
  for (std::uint64_t job : {1, 2, 3}) {
    content.records.push_back({JobId{job}, kJobPage, "own"});
    for (std::uint32_t page = 0; page < 200; ++page) content.records.push_back({JobId{job}, page, "page"});
    for (TaskIndex i = 0; i < 100; ++i) {
      content.payloads.push_back({JobId{job + 10}, i, {"p"}});
      content.outcomes.push_back({JobId{job}, i * 1000, OutcomeKind::kResult, 1, "r"});
    }
  }
  Commit({content});
  Commit({Remove(2, 12)});
  EXPECT_EQ(Usage().garbage_jobs, 1u);
  for (int round = 0; round < 2; ++round) {
    const Loaded loaded = Reopen();
    EXPECT_EQ(loaded.records.size(), 402u);
    for (const std::string& record : loaded.records) EXPECT_NE(record[0], '2');
    TidyUp();
    EXPECT_EQ(Usage().garbage_jobs, 0u);
  }
  EXPECT_EQ(Payload(12, 0), "(none)");
  EXPECT_EQ(Payload(12, 99), "(none)");
  EXPECT_THAT(Found({.job = JobId{2}, .end = 1'000'000}), IsEmpty());
  EXPECT_EQ(Payload(11, 99), "p");
  EXPECT_EQ(Payload(13, 0), "p");
  EXPECT_EQ(Found({.job = JobId{1}, .end = 1'000'000}).size(), 100u);
  EXPECT_EQ(Found({.job = JobId{3}, .end = 1'000'000}).size(), 100u);
}

TEST_P(StoreContract, SweepingGoesOnAfterACrash) {
  Batch content;
  for (std::uint64_t job = 1; job <= 500; ++job) {
    content.records.push_back({JobId{job}, kJobPage, "own"});
    content.payloads.push_back({JobId{job}, 0, {"p"}});
  }
  Commit({content});
  std::vector<Batch> removals;
  for (std::uint64_t job = 1; job < 500; ++job) removals.push_back(Remove(job, job));
  Commit(removals);
  Rng rng(3);
  while (Usage().garbage_jobs > 0) {
    for (std::uint64_t i = rng.Below(3) + 1; i > 0; --i) ASSERT_TRUE(store_->Tidy().ok());
    EXPECT_THAT(Reopen().records, ElementsAre("500=own"));
  }
  EXPECT_EQ(Payload(499, 0), "(none)");
  EXPECT_EQ(Payload(500, 0), "p");
}

TEST_P(StoreContract, AJobWithoutPayloadSetLeavesTheSetsOfOthersAlone) {
  Commit({Payloads({{JobId{1}, 0, {"p"}}}), Records({{JobId{1}, kJobPage, "own"}}), Remove(1, 0)});
  TidyUp();
  const Loaded loaded = Reopen();
  EXPECT_THAT(loaded.records, IsEmpty());
  EXPECT_EQ(Payload(1, 0), "p");
}

TEST_P(StoreContract, SetsOfWhichNothingSpeaksAreDropped) {
  Batch spoken = Events(1, "submit");
  spoken.payloads.push_back({JobId{4}, 0, {"four"}});
  spoken.payloads_spoken_for = true;
  Commit({Payloads({{JobId{1}, 0, {"dead"}}, {JobId{1}, 1, {"dead"}}}), Payloads({{JobId{2}, 0, {"live"}}}),
          Payloads({{JobId{3}, kCommonPayload, {"removed"}}}), spoken});
  Commit({Remove(3, 3)});
  const Loaded first = Reopen({1});
  EXPECT_THAT(first.asked, ElementsAre(1, 2));  // not of removed ones, nor of those that are spoken for
  TidyUp();
  EXPECT_EQ(Payload(1, 0), "(none)");
  EXPECT_EQ(Payload(2, 0), "live");
  EXPECT_EQ(Payload(4, 0), "four");
  EXPECT_EQ(Usage().garbage_jobs, 0u);
  Commit({Payloads({{JobId{5}, 0, {"later"}}})});
  EXPECT_THAT(Reopen({5}).asked, ::testing::Contains(5u));
  TidyUp();
  EXPECT_EQ(Payload(5, 0), "(none)");
  EXPECT_EQ(Payload(2, 0), "live");
}

TEST_P(StoreContract, ARecordWithoutAJobStaysWhenAPayloadSetGoesAlone) {
  Commit({Records({{JobId{0}, kJobPage, "queue"}}), Payloads({{JobId{7}, 0, {"broken"}}})});
  Commit({Remove(0, 7)});
  const Loaded before_sweeping = Reopen();
  EXPECT_THAT(before_sweeping.records, testing::SizeIs(1));
  TidyUp();
  EXPECT_THAT(Reopen().records, testing::SizeIs(1));
  EXPECT_EQ(Payload(7, 0), "(none)");
}

TEST_P(StoreContract, SettingsAreKept) {
  EXPECT_EQ(*store_->GetSetting("key"), std::nullopt);
  ASSERT_TRUE(store_->PutSetting("key", std::string("v\0w", 3)).ok());
  ASSERT_TRUE(store_->PutSetting("empty", "").ok());
  Crash();
  EXPECT_EQ(*store_->GetSetting("key"), std::string("v\0w", 3));
  EXPECT_EQ(*store_->GetSetting("empty"), "");
  EXPECT_EQ(*store_->GetSetting("KEY"), std::nullopt);
  ASSERT_TRUE(store_->PutSetting("key", "other").ok());
  EXPECT_EQ(*store_->GetSetting("key"), "other");
}

TEST_P(StoreContract, AFullDiskWritesNothingAndCanBeTriedAgain) {
  Commit({Events(1, "before"), Records({{JobId{1}, kJobPage, "before"}})});
  Batch batch = Events(2, std::string(100'000, 'e'));
  batch.records.push_back({JobId{1}, kJobPage, "after"});
  batch.payloads.push_back({JobId{2}, 0, {std::string(100'000, 'p')}});
  batch.outcomes.push_back({JobId{1}, 0, OutcomeKind::kResult, 1, "after"});
  batch.removals.push_back({JobId{7}, JobId{7}});
  harness_->SetDiskFull(true);
  for (int i = 0; i < 3; ++i) {
    const Result<void> done = store_->Commit({&batch, 1});
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, Code::kDiskFull);
    EXPECT_EQ(store_->LastPosition(), 1u);
    EXPECT_EQ(Usage().journal_rows, 1u);
    EXPECT_EQ(Usage().garbage_jobs, 0u);
    EXPECT_EQ(Payload(2, 0), "(none)");  // reads go on
    EXPECT_THAT(Found({.job = JobId{1}, .end = 10}), IsEmpty());
  }
  harness_->SetDiskFull(false);
  Crash();
  EXPECT_THAT(Reopen().events, ElementsAre("1:before"));
  Commit({batch});
  EXPECT_THAT(Reopen().records, ElementsAre("1=after"));
  EXPECT_EQ(Payload(2, 0), std::string(100'000, 'p'));
}

TEST_P(StoreContract, AnErrorOfTheLoaderEndsLoading) {
  Commit({Events(1, "e"), Records({{JobId{1}, kJobPage, "r"}})});
  store_.reset();
  auto store = harness_->Open();
  Store::Loader loader;
  int events = 0;
  loader.on_record = [](const Record&) -> Result<void> { return Error{Code::kStoreCorrupt, "not mine", ""}; };
  loader.on_events = [&](Position, std::string_view) -> Result<void> {
    ++events;
    return {};
  };
  const Result<void> done = (*store)->Load(loader, [](JobId) { return true; });
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().message, "not mine");
  EXPECT_EQ(events, 0);
}

TEST_P(StoreContract, ABackupIsACompleteStore) {
  Commit({Events(1, "e"), Records({{JobId{1}, kJobPage, "r"}, {JobId{1}, 3, "page"}}), Payloads({{JobId{1}, 0, {"p"}}}),
          Outcomes({{JobId{1}, 0, OutcomeKind::kResult, 1, "o"}})});
  ASSERT_TRUE(store_->PutSetting("key", "value").ok());
  const std::string file = harness_->BackupName("copy");
  ASSERT_TRUE(store_->Backup(file).ok());
  Commit({Events(2, "later")});
  const Result<void> again = store_->Backup(file);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Code::kStoreFailed);

  auto copy = harness_->OpenBackup(file);
  ASSERT_TRUE(copy.ok()) << copy.error().message;
  const Loaded loaded = LoadFrom(**copy);
  EXPECT_THAT(loaded.records, ElementsAre("1=r", "1/3=page"));
  EXPECT_THAT(loaded.events, ElementsAre("1:e"));
  EXPECT_EQ(*(*copy)->ReadPayload(JobId{1}, 0), "p");
  EXPECT_EQ((*copy)->ReadOutcomes({.job = JobId{1}, .end = 1})->size(), 1u);
  EXPECT_EQ(*(*copy)->GetSetting("key"), "value");
  const Batch more = Events(2, "on its own");
  EXPECT_TRUE((*copy)->Commit({&more, 1}).ok());
}

TEST_P(StoreContract, OnlyOneStoreAtATime) {
  auto second = harness_->Open();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Code::kStoreLocked);
}

TEST_P(StoreContract, ReadersOnOtherThreadsSeeWhatIsCommittedWhole) {
  std::atomic<std::uint64_t> committed{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&, t] {
      Rng rng(static_cast<std::uint64_t>(t));
      while (!stop) {
        const std::uint64_t last = committed;
        if (last == 0) continue;
        const std::uint64_t n = 1 + rng.Below(last);
        EXPECT_EQ(*store_->ReadPayload(JobId{n}, 0), "payload " + std::to_string(n));
        const auto outcomes = store_->ReadOutcomes({.job = JobId{1}, .end = 1u << 20});
        EXPECT_EQ(outcomes->size() % 3, 0u) << "half a commit";
        EXPECT_GE(outcomes->size(), std::min<std::size_t>(last * 3, 999));
        EXPECT_TRUE(store_->ReadUsage().ok());
      }
    });
  }
  for (std::uint64_t n = 1; n <= 300; ++n) {
    Batch batch = Events(n, "e");
    batch.payloads.push_back({JobId{n}, 0, {"payload " + std::to_string(n)}});
    for (TaskIndex i = 0; i < 3; ++i) {
      batch.outcomes.push_back({JobId{1}, static_cast<TaskIndex>(n * 3) + i, OutcomeKind::kResult, 1, "r"});
    }
    batch.floor = n > 10 ? n - 10 : 0;
    EXPECT_TRUE(store_->Commit({&batch, 1}).ok());
    committed = n;
    EXPECT_TRUE(store_->Tidy().ok());
  }
  EXPECT_TRUE(store_->Backup(harness_->BackupName("beside")).ok());
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

ALLOT_FOR_ALL_STORES(StoreContract);

}  // namespace
}  // namespace allot
