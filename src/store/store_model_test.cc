// SPDX-License-Identifier: Apache-2.0
// Every kind of store against a naive model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/rng.h"
#include "store/store_fixture.h"

namespace allot {
namespace {

// The naive model of everything at once.
struct Model {
  std::map<Position, std::string> events;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::string> records;
  std::map<std::pair<std::uint64_t, std::int64_t>, std::string> payloads;
  std::map<std::pair<std::uint64_t, TaskIndex>, std::string> outcomes;
  Position floor = 0;
};

std::string RandomText(Rng& rng) {
  const std::uint64_t longest = rng.Below(20) == 0 ? 20'000 : 60;
  return std::string(1 + rng.Below(longest), static_cast<char>('a' + rng.Below(26)));
}

Batch RandomBatch(Rng& rng, Model& model, Position& position, std::uint64_t& next_job) {
  Batch batch;
  if (rng.Below(3) > 0) {
    batch.position = position += 1 + rng.Below(3);
    batch.events = RandomText(rng);
    model.events[batch.position] = batch.events;
  }
  const std::uint64_t lowest = next_job > 12 ? next_job - 12 : 1;  // older ones were removed
  const auto some_job = [&] { return lowest + rng.Below(next_job - lowest); };
  for (std::uint64_t i = rng.Below(4); i > 0; --i) {
    const std::uint64_t job = some_job();
    const std::uint32_t page = rng.Below(2) == 0 ? kJobPage : static_cast<std::uint32_t>(rng.Below(5));
    const std::string blob = rng.Below(5) == 0 ? "" : RandomText(rng);
    batch.records.push_back({JobId{job}, page, blob});
    model.records[{job, page}] = blob;
    if (blob.empty()) model.records.erase({job, page});
  }
  for (std::uint64_t i = rng.Below(6); i > 0; --i) {
    const std::uint64_t job = some_job();
    const auto index = static_cast<TaskIndex>(rng.Below(2) == 0 ? rng.Below(10) : rng.Below(10'000));
    batch.outcomes.push_back({JobId{job}, index, OutcomeKind::kResult, 1, RandomText(rng)});
    model.outcomes[{job, index}] = batch.outcomes.back().text;
  }
  if (rng.Below(2) == 0) {
    const std::uint64_t job = next_job++;
    PayloadSegment segment{JobId{job}, static_cast<std::int64_t>(rng.Below(3)) - 1, {}};
    const std::uint64_t count = segment.first == kCommonPayload ? 1 : 1 + rng.Below(4);
    for (std::uint64_t i = 0; i < count; ++i) {
      segment.payloads.push_back(RandomText(rng));
      model.payloads[{job, segment.first + static_cast<std::int64_t>(i)}] = segment.payloads.back();
    }
    batch.payloads.push_back(segment);
    if (job > 12) {
      const std::uint64_t old = job - 12;
      batch.removals.push_back({JobId{old}, JobId{old}});
      std::erase_if(model.records, [&](const auto& entry) { return entry.first.first == old; });
      std::erase_if(model.payloads, [&](const auto& entry) { return entry.first.first == old; });
      std::erase_if(model.outcomes, [&](const auto& entry) { return entry.first.first == old; });
    }
  }
  if (rng.Below(10) == 0 && position > 0) {
    batch.floor = rng.Below(position) + 1;
    model.floor = std::max(model.floor, batch.floor);
  }
  return batch;
}

class StoreModel : public StoreContract {};

TEST_P(StoreModel, BehavesAsTheModelUnderRandomCommitsAndCrashes) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  Model model;
  Position position = 0;
  std::uint64_t next_job = 2;
  for (int step = 0; step < 400; ++step) {
    std::vector<Batch> batches;
    for (std::uint64_t i = rng.Below(4); i > 0; --i) batches.push_back(RandomBatch(rng, model, position, next_job));
    Commit(batches);
    if (rng.Below(3) == 0) {
      ASSERT_TRUE(store_->Tidy().ok());
    }
    if (rng.Below(20) == 0) TidyUp();
    const std::uint64_t lowest = next_job > 12 ? next_job - 12 : 1;
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t job = lowest + rng.Below(next_job - lowest);
      const std::int64_t index = static_cast<std::int64_t>(rng.Below(6)) - 1;
      const auto want = model.payloads.find({job, index});
      ASSERT_EQ(Payload(job, index), want == model.payloads.end() ? "(none)" : want->second);
      const auto from = static_cast<TaskIndex>(rng.Below(2) == 0 ? 0 : rng.Below(10'000));
      std::vector<std::string> outcomes;
      for (auto it = model.outcomes.lower_bound({job, from}); it != model.outcomes.end(); ++it) {
        if (it->first.first != job || outcomes.size() == 10) break;
        outcomes.push_back(std::to_string(it->first.second) + " result 1 " + it->second);
      }
      ASSERT_EQ(Found({.job = JobId{job}, .from = from, .end = 1u << 31, .max = 10}), outcomes);
    }
    if (rng.Below(8) != 0) continue;
    const Loaded loaded = Reopen();
    std::vector<std::string> events;
    for (auto it = model.events.upper_bound(model.floor); it != model.events.end(); ++it) {
      events.push_back(std::to_string(it->first) + ":" + it->second);
    }
    ASSERT_EQ(loaded.events, events);
    std::vector<std::string> records;
    for (const auto& [key, blob] : model.records) records.push_back(Text({JobId{key.first}, key.second, blob}));
    ASSERT_THAT(loaded.records, testing::UnorderedElementsAreArray(records));
  }
}

ALLOT_FOR_ALL_STORES(StoreModel);

}  // namespace
}  // namespace allot
