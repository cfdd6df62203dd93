// SPDX-License-Identifier: Apache-2.0
#include "server/queue/committer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace allot {
namespace {

// Counts commits, and can be full, away or held up.
class FakeStore final : public Store {
 public:
  Result<void> Load(const Loader&, const std::function<bool(JobId)>&) override { return {}; }
  bool CommitsAtOnce() const override { return !far; }
  Position LastPosition() const override { return 0; }
  Result<void> Commit(std::span<const Batch> batches) override {
    std::unique_lock lock(mutex);
    ++tries;
    changed.notify_all();
    changed.wait(lock, [this] { return !stopped; });
    tried.emplace_back();
    for (const Batch& batch : batches) tried.back().push_back(batch.position);
    if (full) return Error{Code::kDiskFull, "full", ""};
    if (away) return Error{Code::kUnavailable, "away", ""};
    if (broken) return Error{Code::kStoreFailed, "broken", ""};
    ++commits;
    for (const Batch& batch : batches) positions.push_back(batch.position);
    return {};
  }
  Result<bool> Tidy() override { return false; }
  Result<void> PutSetting(std::string_view, std::string_view) override { return {}; }
  Result<std::optional<std::string>> GetSetting(std::string_view) override { return std::optional<std::string>(); }
  Result<std::optional<std::string>> ReadPayload(JobId, std::int64_t) override { return std::optional<std::string>(); }
  Result<std::vector<Outcome>> ReadOutcomes(const OutcomeQuery&) override { return std::vector<Outcome>(); }
  Result<void> Backup(const std::string&) override { return {}; }
  Result<Usage> ReadUsage() override { return Usage{}; }

  void WaitForTries(int n) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return tries >= n; });
  }
  void Set(bool& flag, bool value) {
    {
      std::lock_guard lock(mutex);
      flag = value;
    }
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  int tries = 0;
  int commits = 0;
  bool stopped = false, full = false, broken = false, away = false, far = false;
  std::vector<Position> positions;
  std::vector<std::vector<Position>> tried;  // each try, in order
};

// Runs what it gets at once, and remembers that.
class DirectExecutor final : public Executor {
 public:
  void Post(std::vector<Closure>& closures) override {
    for (Closure& closure : closures) closure();
    handovers.fetch_add(1);
    closures.clear();
  }
  std::atomic<int> handovers{0};
};

CommitWork WorkAt(Position position, Executor& executor, std::function<void()> then) {
  CommitWork work;
  work.batch.position = position;
  work.batch.events = "e";
  work.outbox.push_back({&executor, [then = std::move(then)] { then(); }});
  return work;
}

TEST(Committer, CommitsWhatWaitsTogetherAndLetsItGoInOrder) {
  FakeStore store;
  DirectExecutor executor;
  std::vector<int> sent;
  {
    Committer committer(
        store, [](const Error&) { FAIL(); }, nullptr);
    store.Set(store.stopped, true);
    committer.Push(WorkAt(1, executor, [&] { sent.push_back(1); }));
    store.WaitForTries(1);
    for (int i = 2; i <= 5; ++i)
      committer.Push(WorkAt(static_cast<Position>(i), executor, [&sent, i] { sent.push_back(i); }));
    EXPECT_TRUE(sent.empty());
    EXPECT_FALSE(committer.idle());
    store.Set(store.stopped, false);
  }
  EXPECT_EQ(store.commits, 2);
  EXPECT_EQ(store.positions, (std::vector<Position>{1, 2, 3, 4, 5}));
  EXPECT_EQ(sent, (std::vector<int>{1, 2, 3, 4, 5}));
  EXPECT_EQ(executor.handovers.load(), 2);
}

// What waits for space keeps reads of its own jobs alone from being answered, not of those before it.
TEST(Committer, SaysHowFarItIsDurableWhileTheDiskIsFull) {
  FakeStore store;
  DirectExecutor executor;
  std::atomic<bool> sent{false};
  std::atomic<std::uint64_t> when_sent{0};
  {
    Committer committer(
        store, [](const Error&) { FAIL(); }, nullptr);
    CommitWork first = WorkAt(1, executor, [&] {
      when_sent = committer.durable_touch();
      sent = true;
    });
    first.touch = 1;
    committer.Push(std::move(first));
    while (!sent) std::this_thread::yield();
    EXPECT_EQ(when_sent, 1u);  // and not only when all is put away
    store.Set(store.full, true);
    CommitWork stuck = WorkAt(2, executor, [] {});
    stuck.touch = 2;
    committer.Push(std::move(stuck));
    store.WaitForTries(3);
    EXPECT_EQ(committer.durable_touch(), 1u);
    store.Set(store.full, false);
  }
}

TEST(Committer, AnAnswerWithoutEventsStillWaitsForThoseBeforeIt) {
  FakeStore store;
  DirectExecutor executor;
  std::vector<int> sent;
  {
    Committer committer(
        store, [](const Error&) { FAIL(); }, nullptr);
    store.Set(store.stopped, true);
    committer.Push(WorkAt(1, executor, [&] { sent.push_back(1); }));
    CommitWork empty;
    empty.outbox.push_back({&executor, [&sent] { sent.push_back(2); }});
    committer.Push(std::move(empty));
    store.WaitForTries(1);
    EXPECT_TRUE(sent.empty());
    store.Set(store.stopped, false);
  }
  EXPECT_EQ(sent, (std::vector<int>{1, 2}));
  EXPECT_EQ(store.commits, 1);
}

TEST(Committer, AFullDiskIsWaitedOut) {
  FakeStore store;
  DirectExecutor executor;
  std::atomic<int> sent{0};
  Committer committer(
      store, [](const Error&) { FAIL(); }, nullptr);
  store.Set(store.full, true);
  committer.Push(WorkAt(1, executor, [&] { sent = 1; }));
  store.WaitForTries(2);
  EXPECT_EQ(committer.stall(), Stall::kDiskFull);
  EXPECT_EQ(sent.load(), 0);
  store.Set(store.full, false);
  while (!committer.idle()) std::this_thread::yield();
  EXPECT_EQ(sent.load(), 1);
  EXPECT_EQ(committer.stall(), Stall::kNone);
}

TEST(Committer, AnyOtherErrorIsFatal) {
  FakeStore store;
  DirectExecutor executor;
  std::atomic<int> deaths{0};
  std::atomic<int> sent{0};
  store.Set(store.broken, true);
  {
    Committer committer(
        store, [&](const Error& error) { deaths += error.code == Code::kStoreFailed ? 1 : 0; }, nullptr);
    committer.Push(WorkAt(1, executor, [&] { sent = 1; }));
  }
  EXPECT_EQ(deaths.load(), 1);
  EXPECT_EQ(sent.load(), 0);  // nothing is told that is not there
}

CommitWork Little(Position position, std::size_t commands = 1) {
  CommitWork work;
  work.batch.position = position;
  work.batch.events = "e";
  work.commands = commands;
  return work;
}

void AwaitIdle(const Committer& committer) {
  while (!committer.idle()) std::this_thread::yield();
}

TEST(Committer, ALittleIsCommittedByWhoeverBringsItToAnIdleStore) {
  FakeStore store;
  DirectExecutor executor;
  Committer committer(
      store, [](const Error&) { FAIL(); }, nullptr);
  CommitWork first = Little(1);
  EXPECT_FALSE(committer.CommitHere(first)) << "nothing is known of the store yet";
  committer.Push(std::move(first));
  AwaitIdle(committer);
  std::thread::id sent_by;
  CommitWork work = Little(2);
  work.outbox.push_back({&executor, [&] { sent_by = std::this_thread::get_id(); }});
  EXPECT_TRUE(committer.CommitHere(work));
  EXPECT_EQ(sent_by, std::this_thread::get_id());
  EXPECT_EQ(committer.commits_here(), 1u);
  // Not while the store is at something, ...
  store.Set(store.stopped, true);
  committer.Push(Little(3));
  store.WaitForTries(3);
  CommitWork behind = Little(4);
  EXPECT_FALSE(committer.CommitHere(behind));
  EXPECT_EQ(behind.batch.position, 4u);
  committer.Push(std::move(behind));
  store.Set(store.stopped, false);
  AwaitIdle(committer);
  // ... nor what is not little, or leaves something to tidy.
  CommitWork much = Little(5, 5);
  EXPECT_FALSE(committer.CommitHere(much));
  CommitWork folds = Little(5);
  folds.batch.floor = 2;
  EXPECT_FALSE(committer.CommitHere(folds));
  CommitWork last = Little(5);
  EXPECT_TRUE(committer.CommitHere(last));
  EXPECT_EQ(store.positions, (std::vector<Position>{1, 2, 3, 4, 5}));
}

TEST(Committer, UnderLoadAndForAWhileAfterItCommitsAreShared) {
  FakeStore store;
  Committer committer(
      store, [](const Error&) { FAIL(); }, nullptr);
  committer.Push(Little(1, 27));
  AwaitIdle(committer);
  Position position = 2;
  int pushed = 0;
  for (; pushed < 100; ++pushed, ++position) {
    CommitWork work = Little(position);
    if (committer.CommitHere(work)) break;
    committer.Push(std::move(work));
    AwaitIdle(committer);
  }
  EXPECT_GT(pushed, 5);
  EXPECT_LT(pushed, 50);
}

TEST(Committer, WhatFindsNoSpaceIsLeftToTheStoreThread) {
  FakeStore store;
  Committer committer(
      store, [](const Error&) { FAIL(); }, nullptr);
  committer.Push(Little(1));
  AwaitIdle(committer);
  store.Set(store.full, true);
  CommitWork work = Little(2);
  EXPECT_FALSE(committer.CommitHere(work));
  ASSERT_TRUE(HasContent(work.batch));
  committer.Push(std::move(work));
  store.WaitForTries(4);
  EXPECT_EQ(committer.stall(), Stall::kDiskFull);
  CommitWork refused = Little(3);
  EXPECT_FALSE(committer.CommitHere(refused));
  store.Set(store.full, false);
  AwaitIdle(committer);
  EXPECT_EQ(store.positions, (std::vector<Position>{1, 2}));
}

TEST(Committer, WhatADatabaseDidNotAnswerIsRepeatedAsItWas) {
  FakeStore store;
  store.far = store.away = true;
  Committer committer(
      store, [](const Error&) { FAIL(); }, nullptr);
  committer.Push(Little(1));
  store.WaitForTries(2);
  EXPECT_EQ(committer.stall(), Stall::kUnavailable);
  committer.Push(Little(2));
  committer.Push(Little(3));
  store.WaitForTries(4);
  store.Set(store.away, false);
  AwaitIdle(committer);
  EXPECT_EQ(committer.stall(), Stall::kNone);
  ASSERT_GE(store.tried.size(), 5u);
  const std::vector<Position> last = store.tried.back();
  store.tried.pop_back();
  EXPECT_EQ(last, (std::vector<Position>{2, 3}));
  for (const std::vector<Position>& positions : store.tried) EXPECT_EQ(positions, std::vector<Position>{1});
}

TEST(Committer, NobodyElseThanItsThreadWaitsForADatabase) {
  FakeStore store;
  store.far = true;
  Committer committer(
      store, [](const Error&) { FAIL(); }, nullptr);
  committer.Push(Little(1));
  AwaitIdle(committer);
  CommitWork work = Little(2);
  EXPECT_FALSE(committer.CommitHere(work));
  EXPECT_EQ(work.batch.position, 2u);
  EXPECT_EQ(committer.commits_here(), 0u);
}

}  // namespace
}  // namespace allot
