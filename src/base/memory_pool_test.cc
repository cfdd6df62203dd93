// SPDX-License-Identifier: Apache-2.0
#include "base/memory_pool.h"

#include <sys/resource.h>

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/memory_owner.h"
#include "base/rng.h"
#include "base/testing/memory.h"

namespace allot {
namespace {

class MemoryPoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!MemoryPool::Available()) GTEST_SKIP() << "no pools in this build";
  }
};

TEST_F(MemoryPoolTest, CountsWhatIsMadeInItsScopeUntilItIsDeletedAnywhere) {
  MemorySum sum;
  MemoryPool one(&sum), other(&sum);
  std::map<int, std::string> map;
  auto text = std::make_unique<std::string>(100, 'x');  // before any scope
  {
    MemoryPool::Scope scope(&one);
    for (int i = 0; i < 1000; ++i) map[i] = std::string(50, 'y');
    {
      MemoryPool::Scope inner(&other);
      text = std::make_unique<std::string>(20'000, 'z');
      MemoryPool::Scope none(nullptr);
      map[-1] = std::string(5000, 'n');
    }
  }
  EXPECT_GE(one.bytes(), 1000u * (64 + 64));
  EXPECT_LE(one.bytes(), 1000u * 200);
  EXPECT_GE(other.bytes(), 20'000u);
  EXPECT_EQ(static_cast<std::size_t>(sum.bytes), one.bytes() + other.bytes());
  map.clear();
  text.reset();
  EXPECT_EQ(one.bytes(), 0u);
  EXPECT_EQ(other.bytes(), 0u);
  EXPECT_EQ(sum.bytes, 0);
}

TEST_F(MemoryPoolTest, PiecesOfAllSizesAreApartAndKeepWhatIsWrittenToThem) {
  MemoryPool pool;
  MemoryPool::Scope scope(&pool);
  Rng rng(1);
  std::vector<std::pair<std::unique_ptr<unsigned char[]>, std::size_t>> allocated;
  for (int i = 0; i < 50'000; ++i) {
    if (allocated.size() > 300 || (!allocated.empty() && rng.Below(2) == 0)) {
      const std::size_t at = rng.Below(allocated.size());
      const auto& [bytes, size] = allocated[at];
      ASSERT_EQ(bytes[0], static_cast<unsigned char>(size));
      ASSERT_EQ(bytes[size - 1], static_cast<unsigned char>(size));
      std::swap(allocated[at], allocated.back());
      allocated.pop_back();
      continue;
    }
    const std::size_t size = 1 + rng.Below(rng.Below(10) == 0 ? 300'000 : 2'000);
    auto bytes = std::make_unique<unsigned char[]>(size);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(bytes.get()) % 16, 0u);
    bytes[0] = bytes[size - 1] = static_cast<unsigned char>(size);
    allocated.emplace_back(std::move(bytes), size);
  }
  allocated.clear();
  allocated.shrink_to_fit();
  EXPECT_EQ(pool.bytes(), 0u);
}

TEST_F(MemoryPoolTest, OtherThreadsMayDeleteWhatItMade) {
  MemoryPool pool;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> texts;
    {
      MemoryPool::Scope scope(&pool);
      for (int i = 0; i < 1000; ++i) texts.emplace_back(100 + i, 'x');
    }
    std::thread other([mine = std::move(texts)]() mutable { mine.clear(); });
    {
      MemoryPool::Scope scope(&pool);  // goes on meanwhile
      std::vector<std::string> more(1000, std::string(100, 'y'));
    }
    other.join();
  }
  EXPECT_EQ(pool.bytes(), 0u);
}

// One whose turn is over deletes while the next one has its own.
TEST_F(MemoryPoolTest, ThreadsMayTakeTurns) {
  MemoryPool pool;
  std::mutex mutex;
  const auto work = [&] {
    for (int round = 0; round < 2000; ++round) {
      std::vector<std::string> texts, kept;
      {
        std::lock_guard lock(mutex);
        const MemoryOwner owner(&pool);
        MemoryPool::Scope scope(&pool);
        for (int i = 0; i < 20; ++i) texts.emplace_back(50 + i, 'x');
        for (int i = 0; i < 20; ++i) kept.emplace_back(50 + i, 'y');
        texts.clear();
      }
      for (const std::string& text : kept) EXPECT_EQ(text[49], 'y');
      kept.clear();
    }
  };
  std::thread one(work), other(work);
  one.join();
  other.join();
  EXPECT_EQ(pool.bytes(), 0u);
}

TEST_F(MemoryPoolTest, WhatIsDeletedGoesBackToTheSystemAlsoBetweenNeighboursThatStay) {
  constexpr std::size_t kPieces = 400'000;
  MemoryPool leaves, stays;
  std::vector<std::string*> gone(kPieces), kept(kPieces / 100);
  const std::size_t before = ResidentBytes();
  for (std::size_t i = 0; i < kPieces; ++i) {
    MemoryPool::Scope scope(&leaves);
    gone[i] = new std::string(200, 'x');
    MemoryPool::Scope other(&stays);
    if (i % 100 == 0) kept[i / 100] = new std::string(200, 'y');
  }
  const std::size_t full = ResidentBytes();
  EXPECT_GT(full, before + 80'000'000);
  for (const std::string* text : gone) delete text;
  EXPECT_LT(ResidentBytes(), before + 12'000'000);
  for (const std::string* text : kept) delete text;
}

TEST_F(MemoryPoolTest, APoolMayGoBeforeItsPieces) {
  std::string text;
  {
    MemoryPool pool;
    MemoryPool::Scope scope(&pool);
    text = std::string(1000, 'x');
  }
  EXPECT_EQ(text.size(), 1000u);
  text = {};
}

// A table of a million jobs grows and goes again and again: its addresses are used again, and do not run out.
TEST(MemoryPool, LargePiecesAreMadeOfTheSameAddresses) {
  if (!MemoryPool::Available()) GTEST_SKIP() << "no pools in this build";
  MemoryPool pool;
  std::set<void*> places;
  for (int i = 0; i < 50; ++i) {
    const std::size_t bytes = (std::size_t{100} + static_cast<std::size_t>(i % 5) * 30) << 20;
    void* piece = nullptr;
    {
      MemoryPool::Scope scope(&pool);
      piece = ::operator new(bytes);
    }
    places.insert(piece);
    ::operator delete(piece);
  }
  EXPECT_LE(places.size(), 5u);
  EXPECT_EQ(pool.bytes(), 0u);
}

// What others delete is put back a little at a time, and all of it is.
TEST(MemoryPool, WhatAnotherThreadDeletesIsPutBackInSteps) {
  if (!MemoryPool::Available()) GTEST_SKIP() << "no pools in this build";
  MemoryPool pool;
  auto pieces = std::make_unique<std::vector<std::unique_ptr<std::array<char, 100>>>>();
  constexpr std::size_t kPieces = 100'000;
  pieces->reserve(kPieces);
  {
    MemoryPool::Scope scope(&pool);
    for (std::size_t i = 0; i < kPieces; ++i) pieces->push_back(std::make_unique<std::array<char, 100>>());
  }
  const std::size_t all = pool.bytes();
  std::thread([&] { pieces.reset(); }).join();
  const std::size_t first = pool.bytes();
  EXPECT_LT(first, all);
  EXPECT_GT(first, all / 2) << "not all at once";
  for (int i = 0; i < 100; ++i) static_cast<void>(pool.bytes());
  EXPECT_EQ(pool.bytes(), 0u);
}

}  // namespace
}  // namespace allot
