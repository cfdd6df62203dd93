// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/queue_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/sqlite/mark.h"
#include "store/sqlite/sqlite_store.h"
#include "store/store_harness.h"

namespace allot::sqlite {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::IsEmpty;

class QueueFilesTest : public ::testing::Test {
 protected:
  QueueFilesTest() { fs::create_directories(files_.folder()); }

  void Touch(const std::string& name) const { std::ofstream(files_.folder() + "/" + name).put('x'); }
  std::vector<std::string> InFolder() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(files_.folder())) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::vector<std::string> Listed() const {
    auto names = files_.List();
    EXPECT_TRUE(names.ok());
    return names.ok() ? *names : std::vector<std::string>();
  }
  // Opens the store of a queue, made if need be.
  std::unique_ptr<Store> Open(const std::string& queue) const {
    SqliteOptions options;
    options.file = files_.FileOf(queue);
    auto store = SqliteStore::Open(options);
    EXPECT_TRUE(store.ok()) << store.error().message;
    return store.ok() ? std::move(*store) : nullptr;
  }

  TempDirectory directory_;
  const QueueFiles files_{directory_.path()};
};

TEST_F(QueueFilesTest, NamesOnDiskStayAsTheyAre) {
  EXPECT_EQ(files_.folder(), directory_ / "queues");
  EXPECT_EQ(files_.FileOf("default"), directory_ / "queues/default.db");
  EXPECT_EQ(files_.FileOf("a.b-c"), directory_ / "queues/a.b-c.db");
}

TEST_F(QueueFilesTest, QueuesAreListedOnceAndInOrderAlsoWhereTheFileIsMissing) {
  EXPECT_THAT(Listed(), IsEmpty());
  for (const char* name :
       {"whole.db", "whole.db-wal", "whole.db-shm", "whole.db.lock", "whole.db.mark", "alone.db", "logged.db-wal",
        "marked.db.mark", "young.db.journal-1", "whole.db.journal-1", "whole.db.journal-2"}) {
    Touch(name);
  }
  EXPECT_THAT(Listed(), ElementsAre("alone", "logged", "marked", "whole", "young"));
}

TEST_F(QueueFilesTest, WhatIsNoQueueIsNotListed) {
  for (const char* name : {".db", ".db.mark", ".db-wal", "locked.db.lock", "index.db-shm", "copied.db.part",
                           "damaged.db-wal.lost", "damaged.db.journal-1.lost", "db", "notes.txt", "upper.DB"}) {
    Touch(name);
  }
  EXPECT_THAT(Listed(), IsEmpty());
  // Whether a name is a valid one is not known here.
  Touch("a.db.db");
  Touch("with space.db");
  EXPECT_THAT(Listed(), ElementsAre("a.db", "with space"));
}

TEST_F(QueueFilesTest, AFolderThatCannotBeReadIsAnErrorThatSaysWhy) {
  const auto names = QueueFiles(directory_ / "nowhere").List();
  ASSERT_FALSE(names.ok());
  EXPECT_EQ(names.error().code, Code::kStoreFailed);
  EXPECT_EQ(names.error().message, "No such file or directory");
}

TEST_F(QueueFilesTest, AQueueIsListedFromItsFirstOpeningUntilItIsDeleted) {
  for (const char* queue : {"b", "a"}) ASSERT_NE(Open(queue), nullptr);
  EXPECT_THAT(Listed(), ElementsAre("a", "b"));
  EXPECT_FALSE(*files_.FinishDeletion("a"));
  {
    const auto in_use = Open("a");
    ASSERT_NE(in_use, nullptr);
    EXPECT_THAT(Listed(), ElementsAre("a", "b"));
  }
  ASSERT_TRUE(files_.Delete("a").ok());
  EXPECT_THAT(Listed(), ElementsAre("b"));
  EXPECT_THAT(InFolder(), ElementsAre("b.db", "b.db.lock", "b.db.mark"));
}

TEST_F(QueueFilesTest, ADeletionThatWasCutShortIsStillListedAndThenFinished) {
  ASSERT_NE(Open("a"), nullptr);
  MarkContent deleted;
  deleted.state = MarkState::kDeleted;
  ASSERT_TRUE(Mark::Open(files_.FileOf("a"), deleted).ok());
  fs::remove(files_.FileOf("a"));
  EXPECT_THAT(Listed(), ElementsAre("a"));
  EXPECT_TRUE(*files_.FinishDeletion("a"));
  EXPECT_THAT(InFolder(), IsEmpty());
  EXPECT_FALSE(*files_.FinishDeletion("a"));
}

TEST_F(QueueFilesTest, AFileWithALogOrAMarkBesideItIsAQueuesOwn) {
  const std::string file = files_.FileOf("q");
  EXPECT_FALSE(QueueFiles::IsQueueFile(file));
  Touch("q.db");
  Touch("q.db.lock");
  EXPECT_FALSE(QueueFiles::IsQueueFile(file));  // as a backup
  Touch("q.db.mark");
  EXPECT_TRUE(QueueFiles::IsQueueFile(file));
  fs::remove(file + ".mark");
  Touch("q.db.journal-1");
  EXPECT_TRUE(QueueFiles::IsQueueFile(file));
  fs::remove(file + ".journal-1");
  Touch("q.db-wal");
  EXPECT_TRUE(QueueFiles::IsQueueFile(file));
  fs::remove(file);
  EXPECT_TRUE(QueueFiles::IsQueueFile(file));  // the file itself may be missing
}

}  // namespace
}  // namespace allot::sqlite
