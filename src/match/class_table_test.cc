#include "match/class_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/rng.h"

namespace allot {
namespace {

// Knows which pairs match, from what it was told alone.
class Pairs : public ClassTable::Listener {
 public:
  void OnMatch(KindId kind, ClassId cls) override { EXPECT_TRUE(pairs.insert({kind, cls}).second); }
  void OnUnmatch(KindId kind, ClassId cls) override { EXPECT_EQ(pairs.erase({kind, cls}), 1u); }
  std::set<std::pair<KindId, ClassId>> pairs;
};

TEST(ClassTable, AWorkerNeedsAllTagsOfAJobAndMayHaveMore) {
  struct Row {
    TagList job, worker;
    bool want;
  };
  const Row rows[] = {
      {{}, {}, true},
      {{}, {"a"}, true},
      {{"a"}, {}, false},
      {{"a"}, {"a"}, true},
      {{"a"}, {"a", "b"}, true},
      {{"a", "b"}, {"a"}, false},
      {{"a", "c"}, {"a", "b", "c"}, true},
      {{"b"}, {"a", "c"}, false},
      {{"a"}, {"ab"}, false},
  };
  for (const Row& row : rows) {
    Pairs pairs;
    ClassTable table(pairs);
    const ClassId cls = table.AddJob(row.job);
    table.AddWorker(row.worker);
    EXPECT_EQ(table.WorkersFor(cls), row.want ? 1u : 0u);
    EXPECT_EQ(pairs.pairs.size(), row.want ? 1u : 0u);
  }
}

TEST(ClassTable, AlikeOnesShareAGroupUntilTheLastLeaves) {
  Pairs pairs;
  ClassTable table(pairs);
  const ClassId cls = table.AddJob({"a"});
  EXPECT_EQ(table.AddJob({"a"}), cls);
  const KindId kind = table.AddWorker({"a", "b"});
  EXPECT_EQ(table.AddWorker({"a", "b"}), kind);
  EXPECT_EQ(table.WorkersFor(cls), 2u);
  table.DropJob(cls);
  EXPECT_EQ(pairs.pairs.size(), 1u);
  EXPECT_TRUE(table.Knows({"a"}));
  table.DropJob(cls);
  EXPECT_TRUE(pairs.pairs.empty());
  EXPECT_FALSE(table.Knows({"a"}));
  EXPECT_EQ(table.classes(), 0u);
  EXPECT_EQ(table.kinds(), 1u);
}

TEST(ClassTable, VerdictsAreThoseOfAFreshLookAfterAnyMixtureOfComingAndGoing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    Pairs pairs;
    ClassTable table(pairs);
    std::vector<std::pair<TagList, ClassId>> jobs;
    std::vector<std::pair<TagList, KindId>> workers;
    const auto tags = [&] {
      TagList list;
      for (const char* tag : {"a", "b", "c", "d"}) {
        if (rng.Below(2) == 0) list.emplace_back(tag);
      }
      return list;
    };
    for (int step = 0; step < 300; ++step) {
      const bool of_jobs = rng.Below(2) == 0;
      auto& all = of_jobs ? jobs : workers;
      if (all.size() < 3 || rng.Below(2) == 0) {
        const TagList list = tags();
        all.emplace_back(list, of_jobs ? table.AddJob(list) : table.AddWorker(list));
      } else {
        const std::size_t which = rng.Below(all.size());
        of_jobs ? table.DropJob(all[which].second) : table.DropWorker(all[which].second);
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
      }
      std::set<std::pair<KindId, ClassId>> expected;
      for (const auto& [job_tags, cls] : jobs) {
        std::uint32_t able = 0;
        for (const auto& [worker_tags, kind] : workers) {
          if (!std::includes(worker_tags.begin(), worker_tags.end(), job_tags.begin(), job_tags.end())) continue;
          ++able;
          expected.insert({kind, cls});
        }
        ASSERT_EQ(table.WorkersFor(cls), able);
        ASSERT_EQ(table.TagsOf(cls), job_tags);
      }
      ASSERT_EQ(pairs.pairs, expected);
      for (const auto& [kind, cls] : expected) {
        const auto kinds = table.KindsOf(cls);
        const auto classes = table.ClassesOf(kind);
        ASSERT_EQ(std::count(kinds.begin(), kinds.end(), kind), 1);
        ASSERT_EQ(std::count(classes.begin(), classes.end(), cls), 1);
      }
    }
  }
}

}  // namespace
}  // namespace allot
