// SPDX-License-Identifier: Apache-2.0
#include "server/ops/memory_keeper.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/memory_pool.h"
#include "base/memory_range.h"
#include "base/rng.h"
#include "base/testing/memory.h"

namespace allot {
namespace {

class MemoryKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!MemoryPool::Available()) GTEST_SKIP() << "no pools in this build";
  }
};

TEST_F(MemoryKeeperTest, AKeeperGivesBackWhatIsDeleted) {
  const MemoryKeeper keeper;
  const std::size_t before = ResidentBytes();
  MemoryPool pool;
  for (const std::size_t size : {100u, 1000u, 1'000'000u}) {
    std::vector<std::unique_ptr<char[]>> pieces;
    {
      MemoryPool::Scope scope(&pool);
      for (std::size_t i = 0; i < 64'000'000 / size; ++i) {
        pieces.push_back(std::make_unique<char[]>(size));
        std::fill_n(pieces.back().get(), size, 'x');
      }
    }
    EXPECT_GE(ResidentBytes(), before + 60'000'000);
    pieces.clear();
    for (int i = 0; i < 1000 && ResidentBytes() > before + 16'000'000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_LE(ResidentBytes(), before + 16'000'000);
  }
}

long FaultsOfThisThread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

// What is ready is used without waiting for the system, in pieces of any size, and again after it was given back.
TEST_F(MemoryKeeperTest, WhatIsReadyIsNeverUsedForTheFirstTime) {
  constexpr std::size_t kReady = 160 << 20, kUsed = 48 << 20;
  const std::size_t before = ResidentBytes();
  {
    MemoryKeeper keeper;
    keeper.Prepare(kReady);
    EXPECT_GE(ResidentBytes(), before + kReady * 9 / 10);
    MemoryPool pool;
    for (int round = 0; round < 3; ++round) {
      for (const std::size_t size : {100u, 5000u, 3'000'000u}) {
        std::vector<std::unique_ptr<char[]>> pieces(kUsed / size);
        const long faults = FaultsOfThisThread();
        {
          MemoryPool::Scope scope(&pool);
          for (auto& piece : pieces) piece = std::make_unique<char[]>(size);  // with zeros
        }
        // Of 12,000 pages.
        EXPECT_LE(FaultsOfThisThread() - faults, 100) << "round " << round << ", pieces of " << size;
        pieces.clear();
        // The keeper looks after what came back.
        for (int i = 0; i < 1000 && g_memory_range.Returned() >= MemoryRange::kReturned; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      }
    }
  }
  EXPECT_LE(ResidentBytes(), before + 16'000'000);
}

TEST_F(MemoryKeeperTest, KeepersComeAndGoWhileThreadsMakeAndDelete) {
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([seed] {
      MemoryPool pool;
      Rng rng(seed);
      std::vector<std::string> kept(200);
      for (int i = 0; i < 20'000; ++i) {
        MemoryPool::Scope scope(&pool);
        std::string& text = kept[rng.Below(kept.size())];
        ASSERT_TRUE(text.empty() || (text.front() == text.back() && text.front() == static_cast<char>('a' + seed)));
        text = std::string(rng.Below(10) == 0 ? rng.Below(300'000) : rng.Below(3000), static_cast<char>('a' + seed));
        text.shrink_to_fit();
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    MemoryKeeper one;
    const MemoryKeeper other;
    if (i % 2 == 1) one.Prepare(8 << 20);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace allot
