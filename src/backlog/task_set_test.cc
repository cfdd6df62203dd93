// SPDX-License-Identifier: Apache-2.0
#include "backlog/task_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace allot {
namespace {

std::vector<TaskIndex> Members(const TaskSet& set) {
  std::vector<TaskIndex> members;
  set.ForEach([&](TaskIndex index) { members.push_back(index); });
  return members;
}

void ExpectSame(const TaskSet& set, const std::set<TaskIndex>& model) {
  ASSERT_EQ(set.size(), model.size());
  ASSERT_EQ(Members(set), std::vector<TaskIndex>(model.begin(), model.end()));
  std::set<std::uint32_t> pages;
  for (const TaskIndex index : model) pages.insert(PageOf(index));
  ASSERT_EQ(set.Pages(), std::vector<std::uint32_t>(pages.begin(), pages.end()));
  ASSERT_EQ(set.FirstPage(), pages.empty() ? std::nullopt : std::optional(*pages.begin()));
}

// A place among few pages, some dense and some sparse, some far away.
TaskIndex SomeIndex(Rng& rng) {
  constexpr std::uint32_t kPages[] = {0, 1, 2, 255, 256, 70'000, 131'071};
  const std::uint32_t page = kPages[rng.Below(std::size(kPages))];
  const std::uint64_t range = page % 2 == 0 ? 700 : kPageTasks;
  return static_cast<TaskIndex>(page * kPageTasks + rng.Below(range));
}

TEST(TaskSet, DoesAsAModelDoesUnderRandomOperations) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng(seed);
  TaskSet set;
  std::set<TaskIndex> model;
  for (int round = 0; round < 60; ++round) {
    const bool growing = round % 10 < 7;
    const std::uint64_t removes = growing ? 20 : 80;
    for (int step = 0; step < 2000; ++step) {
      const TaskIndex index = SomeIndex(rng);
      if (rng.Below(100) < removes) {
        ASSERT_EQ(set.Remove(index), model.erase(index) == 1);
      } else {
        ASSERT_EQ(set.Add(index), model.insert(index).second);
      }
      const TaskIndex at = SomeIndex(rng);
      ASSERT_EQ(set.Contains(at), model.contains(at));
      const auto next = model.lower_bound(at);
      ASSERT_EQ(set.FirstFrom(at), next == model.end() ? std::nullopt : std::optional(*next));
    }
    const std::uint32_t page = PageOf(SomeIndex(rng));
    const auto begin = model.lower_bound(page * kPageTasks);
    const auto end = page == 131'071 ? model.end() : model.lower_bound((page + 1) * kPageTasks);
    const std::set<TaskIndex> of_page(begin, end);
    ASSERT_EQ(set.SizeOfPage(page), of_page.size());
    switch (rng.Below(6)) {
      case 0: {  // out, and in again
        TaskSet taken;
        set.TakePage(page, taken);
        model.erase(begin, end);
        ExpectSame(taken, of_page);
        ExpectSame(set, model);
        for (int i = 0; i < 20; ++i) {
          const TaskIndex index = SomeIndex(rng);
          set.Add(index);
          model.insert(index);
        }
        taken.TakePage(page, set);
        EXPECT_TRUE(taken.empty());
        model.insert(of_page.begin(), of_page.end());
        break;
      }
      case 1: {
        TaskSet other;
        for (int i = 0; i < 5000; ++i) {
          const TaskIndex index = SomeIndex(rng);
          other.Add(index);
          model.insert(index);
        }
        set.Merge(other);
        break;
      }
      case 2: {
        EXPECT_EQ(set.ErasePage(page), of_page.size());
        model.erase(begin, end);
        break;
      }
      case 3: {
        std::string bytes;
        ByteWriter out(bytes);
        set.SavePage(page, out);
        set.ErasePage(page);
        ByteReader in(bytes);
        ASSERT_TRUE(set.LoadPage(page, in));
        ASSERT_TRUE(in.AtEnd());
        break;
      }
      case 4: {
        TaskSet moved = std::move(set);
        set = TaskSet();
        EXPECT_TRUE(set.empty());
        set = std::move(moved);
        break;
      }
      default:
        break;
    }
    ExpectSame(set, model);
  }
}

TEST(TaskSet, HoldsAWholePageInNothingAndLosesOneAgain) {
  for (const bool ascending : {true, false}) {
    TaskSet set;
    for (std::uint32_t i = 0; i < kPageTasks; ++i) {
      ASSERT_TRUE(set.Add(kPageTasks + (ascending ? i : kPageTasks - 1 - i)));
    }
    EXPECT_LE(set.MemoryBytes(), 64u);
    EXPECT_EQ(set.SizeOfPage(1), kPageTasks);
    EXPECT_FALSE(set.Add(kPageTasks + 77));
    EXPECT_EQ(set.FirstFrom(5), kPageTasks);
    EXPECT_EQ(set.FirstFrom(kPageTasks + 5), kPageTasks + 5);
    EXPECT_EQ(set.FirstFrom(2 * kPageTasks), std::nullopt);
    EXPECT_TRUE(set.Remove(kPageTasks + 77));
    EXPECT_FALSE(set.Contains(kPageTasks + 77));
    EXPECT_EQ(set.size(), kPageTasks - 1);
    for (std::uint32_t i = 0; i < kPageTasks; ++i) set.Remove(kPageTasks + i);
    EXPECT_TRUE(set.empty());
    EXPECT_EQ(set.MemoryBytes(), 0u);
  }
}

TEST(TaskSet, CostsAtMostTwoBytesAMemberInAnyOrderAndNeverMoreThanABitmap) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng(seed);
  std::vector<TaskIndex> order(kPageTasks);
  for (std::uint32_t i = 0; i < kPageTasks; ++i) order[i] = i;
  for (std::uint32_t i = kPageTasks; i > 1; --i) std::swap(order[i - 1], order[rng.Below(i)]);
  TaskSet set;
  const auto expect_bound = [&] {
    const std::size_t n = set.size();
    ASSERT_LE(set.MemoryBytes(), std::min<std::size_t>(2 * n + 64, 4096) + 64 + 16) << n << " members";
  };
  for (const TaskIndex index : order) {
    set.Add(index);
    expect_bound();
  }
  // Taking away leaves at most twice the need.
  for (const TaskIndex index : order) {
    set.Remove(index);
    ASSERT_LE(set.MemoryBytes(), std::min<std::size_t>(4 * set.size() + 64, 4096) + 64 + 16) << set.size();
  }
}

// A split array counts a block's members in a byte, so a full block of 256 needs another form.
TEST(TaskSet, FullBlockAmongScatteredMembersIsKept) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng(seed);
  for (const std::uint32_t scattered : {0u, 10u, 200u, 1000u, 3000u}) {
    TaskSet set;
    std::set<TaskIndex> model;
    for (std::uint32_t i = 0; i < scattered; ++i) {
      const auto index = static_cast<TaskIndex>(rng.Below(kPageTasks));
      ASSERT_EQ(set.Add(index), model.insert(index).second);
    }
    for (const TaskIndex start : {kPageTasks - 256, 256 * 5u}) {
      for (TaskIndex i = start; i < start + 256; ++i) {
        ASSERT_EQ(set.Add(i), model.insert(i).second);
        ASSERT_LE(set.MemoryBytes(), std::min<std::size_t>(2 * set.size() + 64, 4096) + 64 + 16);
      }
      ExpectSame(set, model);
    }
    TaskSet copy;
    copy.Merge(set);
    ExpectSame(copy, model);
    while (!model.empty()) {
      auto member = model.lower_bound(static_cast<TaskIndex>(rng.Below(kPageTasks)));
      if (member == model.end()) member = model.begin();
      ASSERT_TRUE(set.Remove(*member));
      model.erase(member);
      if (model.size() % 64 == 0) ExpectSame(set, model);
    }
  }
}

TEST(TaskSet, SmallDenseSetsTakeABitEach) {
  TaskSet set;
  for (TaskIndex i = 0; i < 1000; ++i) set.Add(i);
  EXPECT_LE(set.MemoryBytes(), 1000 / 8 + 16 + 64u);
}

TEST(TaskSet, RefusesBytesThatAreNoSet) {
  const std::string bad[] = {
      "",
      "\x04",                                      // no such form
      "\x01",                                      // no number of runs
      std::string("\x01\x00", 2),                  // no runs
      std::string("\x01\x01\x00", 3),              // half a run
      std::string("\x01\x01\x00\x80\x80\x02", 6),  // one longer than the page
      std::string("\x01\x02\x00\x00\x00\x00", 6),  // two runs that touch
      "\x02\x02\x05",                              // fewer members than said
      "\x02\x01\x80\x80\x02",                      // one beyond the page
      std::string("\x02\x00", 2),                  // none
      "\x03\x02\x01",                              // a bitmap cut short
      std::string("\x03\x02\x01\x00", 4),          // a bitmap with a zero at its end
      "\x03\x81\x20" + std::string(4097, '\x01'),  // one too long
  };
  for (const std::string& bytes : bad) {
    TaskSet set;
    ByteReader in(bytes);
    EXPECT_FALSE(set.LoadPage(3, in)) << ::testing::PrintToString(bytes);
    EXPECT_TRUE(set.empty());
    EXPECT_EQ(in.rest(), bytes);
  }
  TaskSet set;
  const std::string good("\x01\x01\x00\x00", 4);
  ByteReader in(good);
  EXPECT_FALSE(set.LoadPage(131'072, in)) << "a page that no index has";
  EXPECT_TRUE(set.LoadPage(131'071, in));
  ByteReader again(good);
  EXPECT_FALSE(set.LoadPage(131'071, again)) << "members are there already";
}

TEST(BitTree, FindsTheNextBitAsAModelDoes) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  Rng rng(seed);
  for (const std::uint32_t size : {1u, 2u, 63u, 64u, 65u, 4095u, 4096u, 4097u, 131'072u}) {
    BitTree tree(size);
    std::set<std::uint32_t> model;
    for (std::uint32_t i = 0; i < size; ++i) model.insert(i);
    for (std::uint32_t i = 0; i < size; ++i) {  // most of them away, so that whole words are empty
      if (rng.Below(2000) == 0) continue;
      tree.Clear(i);
      model.erase(i);
    }
    for (int step = 0; step < 3000; ++step) {
      const auto i = static_cast<std::uint32_t>(rng.Below(size));
      if (rng.Below(3) == 0) {
        tree.Set(i);
        model.insert(i);
      } else {
        tree.Clear(i);
        model.erase(i);
        if (!model.empty() && rng.Below(2) == 0) {
          tree.Clear(*model.begin());
          model.erase(model.begin());
        }
      }
      const auto from = static_cast<std::uint32_t>(rng.Below(size + 1));
      const auto next = model.lower_bound(from);
      ASSERT_EQ(tree.FirstFrom(from), next == model.end() ? std::nullopt : std::optional(*next)) << size;
    }
  }
}

}  // namespace
}  // namespace allot
