// SPDX-License-Identifier: Apache-2.0
// For tests of damage: stores as a kill leaves them, and what a start says to them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "store/sqlite/sqlite_store.h"
#include "store/store_harness.h"

namespace allot {

namespace fs = std::filesystem;

inline void Flip(const std::string& file, std::uint64_t at) {
  std::string contents = Contents(file);
  ASSERT_LT(at, contents.size());
  contents[at] = static_cast<char>(contents[at] ^ 0x40);
  WriteFile(file, contents);
}

class DamageTest : public ::testing::Test {
 protected:
  struct Opened {
    std::unique_ptr<Store> store;
    Error error;
    std::uint64_t records = 0;
    std::vector<std::string> losses;
  };
  // Opens and loads.
  Opened Open(const std::string& file, bool accept_loss = false) {
    Opened opened;
    SqliteOptions options;
    options.file = file;
    options.accept_loss = accept_loss;
    options.log_pages = log_pages_;
    options.writing = writing_;
    options.on_loss = [&opened](const std::string& what) { opened.losses.push_back(what); };
    auto store = SqliteStore::Open(options);
    if (!store) {
      opened.error = store.error();
      return opened;
    }
    Store::Loader loader;
    loader.on_record = [&](const Record&) -> Result<void> {
      ++opened.records;
      return {};
    };
    loader.on_events = [](Position, std::string_view) -> Result<void> { return {}; };
    if (Result<void> done = (*store)->Load(loader, [](JobId) { return true; }); !done) {
      opened.error = done.error();
      return opened;
    }
    opened.store = std::move(*store);
    return opened;
  }
  // `n` commits of an event and a job each.
  void Commit(Store& store, std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) {
      Batch batch;
      batch.position = ++committed_;
      batch.events = "event " + std::to_string(committed_);
      batch.records.push_back({JobId{committed_}, kJobPage, "record of a job"});
      const Result<void> done = store.Commit({&batch, 1});
      ASSERT_TRUE(done.ok()) << done.error().message;
    }
  }
  // Of what is kept.
  static std::vector<std::string> Suffixes() {
    std::vector<std::string> all = {"", "-wal", ".mark"};
    for (int n = 1; n <= 8; ++n) all.push_back(".journal-" + std::to_string(n));
    return all;
  }
  // What a process that is killed now leaves.
  std::string Killed(const std::string& file) {
    const std::string copy = directory_ / ("killed-" + std::to_string(++copies_) + ".db");
    for (const std::string& suffix : Suffixes()) {
      if (fs::exists(file + suffix)) fs::copy_file(file + suffix, copy + suffix);
    }
    return copy;
  }
  // A store with `n` commits that was killed.
  std::string KilledAfter(std::uint64_t n) {
    committed_ = 0;
    const std::string file = directory_ / ("store-" + std::to_string(++copies_) + ".db");
    Opened opened = Open(file);
    EXPECT_TRUE(opened.store != nullptr) << opened.error.message;
    Commit(*opened.store, n);
    return Killed(file);
  }
  static std::string AllOf(const std::string& file) {
    std::string all;
    for (const std::string& suffix : Suffixes()) all += Contents(file + suffix) + "|";
    return all;
  }
  // It does not open, says what to do, and changes nothing; with the loss accepted it opens, and says what was lost.
  void ExpectRefused(const std::string& file, const std::string& says, std::uint64_t records_left) {
    const std::string before = AllOf(file);
    const Opened refused = Open(file);
    ASSERT_TRUE(refused.store == nullptr) << "it opened";
    EXPECT_EQ(refused.error.code, Code::kStoreCorrupt);
    EXPECT_THAT(refused.error.message, ::testing::HasSubstr(says));
    EXPECT_THAT(refused.error.message, ::testing::HasSubstr(file));
    EXPECT_THAT(refused.error.hint, ::testing::HasSubstr("--accept-loss"));
    EXPECT_THAT(refused.error.hint, ::testing::HasSubstr("allot restore"));
    EXPECT_TRUE(AllOf(file) == before) << "the files were changed";
    {
      const Opened accepted = Open(file, true);
      ASSERT_TRUE(accepted.store != nullptr) << accepted.error.message;
      ASSERT_FALSE(accepted.losses.empty());
      EXPECT_THAT(accepted.losses[0], ::testing::HasSubstr(says));
      EXPECT_EQ(accepted.records, records_left);
    }
    const Opened again = Open(file);
    EXPECT_TRUE(again.store != nullptr) << "once accepted, it is accepted: " << again.error.message;
  }
  void ExpectOpens(const std::string& file, std::uint64_t records) {
    const Opened opened = Open(file);
    ASSERT_TRUE(opened.store != nullptr) << opened.error.message;
    EXPECT_EQ(opened.records, records);
    EXPECT_THAT(opened.losses, ::testing::IsEmpty());
  }

  TempDirectory directory_;
  std::uint64_t committed_ = 0;
  int copies_ = 0;
  int log_pages_ = 2048;
  journal::Writing writing_ = journal::Writing::kAuto;
};

}  // namespace allot
