// SPDX-License-Identifier: Apache-2.0
// For tests: a store of each kind, with short words for what they do to it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/store_harness.h"

namespace allot {

// All that Load() hands out, as text.
struct Loaded {
  std::vector<std::string> records;  // "7=blob", "7/page=blob"
  std::vector<std::string> events;   // "position:events"
  std::vector<std::uint64_t> asked;  // sets, in order
};

inline std::string Text(const Record& record) {
  std::string page = record.page == kJobPage ? "" : "/" + std::to_string(record.page);
  return std::to_string(record.job.value) + page + "=" + record.blob;
}

inline Loaded LoadFrom(Store& store, const std::set<std::uint64_t>& dead_sets = {}) {
  Loaded loaded;
  Store::Loader loader;
  loader.on_record = [&](const Record& record) -> Result<void> {
    EXPECT_TRUE(loaded.events.empty()) << "records come before events";
    loaded.records.push_back(Text(record));
    return {};
  };
  loader.on_events = [&](Position position, std::string_view events) -> Result<void> {
    EXPECT_TRUE(loaded.asked.empty()) << "sets are asked about after the last event";
    loaded.events.push_back(std::to_string(position) + ":" + std::string(events));
    return {};
  };
  const Result<void> done = store.Load(loader, [&](JobId set) {
    loaded.asked.push_back(set.value);
    return !dead_sets.contains(set.value);
  });
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
  return loaded;
}

class StoreContract : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    if (const auto missing = GetParam().missing()) GTEST_SKIP() << *missing;
    harness_ = GetParam().make();
    Reopen();
  }

  // A crash: nothing but what was committed remains.
  void Crash() { Reopen(); }
  Loaded Reopen(const std::set<std::uint64_t>& dead_sets = {}) {
    store_.reset();
    auto store = harness_->Open();
    EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
    store_ = std::move(*store);
    return LoadFrom(*store_, dead_sets);
  }

  void Commit(std::vector<Batch> batches) {
    const Result<void> done = store_->Commit(batches);
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  void TidyUp() {
    for (int i = 0; i < 100'000; ++i) {
      const Result<bool> more = store_->Tidy();
      ASSERT_TRUE(more.ok()) << more.error().message;
      if (!*more) return;
    }
    FAIL() << "Tidy() never ends";
  }
  std::string Payload(std::uint64_t set, std::int64_t index) {
    const auto payload = store_->ReadPayload(JobId{set}, index);
    EXPECT_TRUE(payload.ok());
    return payload->value_or("(none)");
  }
  // "index kind attempt text", each.
  std::vector<std::string> Found(const Store::OutcomeQuery& query) {
    const auto outcomes = store_->ReadOutcomes(query);
    EXPECT_TRUE(outcomes.ok());
    std::vector<std::string> out;
    for (const Outcome& outcome : *outcomes) {
      EXPECT_EQ(outcome.job, query.job);
      out.push_back(std::to_string(outcome.index) + (outcome.kind == OutcomeKind::kResult ? " result " : " error ") +
                    std::to_string(outcome.attempt) + " " + outcome.text);
    }
    return out;
  }
  Store::Usage Usage() { return *store_->ReadUsage(); }

  std::unique_ptr<StoreHarness> harness_;
  std::unique_ptr<Store> store_;
};

inline Batch Events(Position position, std::string events) {
  Batch batch;
  batch.position = position;
  batch.events = std::move(events);
  return batch;
}
inline Batch Records(std::vector<Record> records) {
  Batch batch;
  batch.records = std::move(records);
  return batch;
}
inline Batch Outcomes(std::vector<Outcome> outcomes) {
  Batch batch;
  batch.outcomes = std::move(outcomes);
  return batch;
}
inline Batch Payloads(std::vector<PayloadSegment> segments) {
  Batch batch;
  batch.payloads = std::move(segments);
  return batch;
}
inline Batch Remove(std::uint64_t job, std::uint64_t set) {
  Batch batch;
  batch.removals.push_back({JobId{job}, JobId{set}});
  return batch;
}
inline Batch Floor(Position floor) {
  Batch batch;
  batch.floor = floor;
  return batch;
}

// Runs the tests of `Suite`, derived from StoreContract, on every kind of store.
#define ALLOT_FOR_ALL_STORES(Suite)                                             \
  INSTANTIATE_TEST_SUITE_P(Stores, Suite, ::testing::ValuesIn(AllStoreKinds()), \
                           [](const auto& kind) { return std::string(kind.param.name); })

}  // namespace allot
