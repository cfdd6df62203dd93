#include "strategy/priority_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "base/rng.h"

namespace allot {
namespace {

OrderKey Key(std::optional<std::int64_t> priority, std::int64_t scheduled_ms, std::uint64_t id) {
  return OrderKey{!priority.has_value(), priority.value_or(0), FromMillis(scheduled_ms), JobId{id}};
}

TEST(PriorityOrder, PriorityDescendingNoneLastThenScheduleThenId) {
  // In order; each comes before all that follow.
  const OrderKey keys[] = {
      Key(INT64_MAX, 9, 9),
      Key(5, 1, 9),
      Key(5, 2, 1),
      Key(5, 2, 2),
      Key(0, 0, 1),
      Key(-1, 0, 1),
      Key(INT64_MIN, 0, 1),
      Key(std::nullopt, 0, 7),
      Key(std::nullopt, 1, 2),
  };
  for (const OrderKey& a : keys) {
    for (const OrderKey& b : keys) EXPECT_EQ(a < b, &a < &b);
  }
}

TEST(PriorityOrder, TheFirstOfAKindIsThatOfAFreshLookAfterAnyMixtureOfChanges) {
  constexpr KindId kKinds = 4;
  constexpr ClassId kClasses = 5;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::vector<std::unique_ptr<OrderEntry>> entries;
    PriorityOrder order;
    std::set<std::pair<KindId, ClassId>> linked;
    for (std::uint64_t step = 1; step <= 1000; ++step) {
      const std::size_t which = entries.empty() ? 0 : rng.Below(entries.size());
      switch (rng.Below(4)) {
        case 0: {
          const std::pair<KindId, ClassId> pair(rng.Below(kKinds), rng.Below(kClasses));
          if (linked.insert(pair).second) {
            order.Link(pair.first, pair.second);
          } else {
            linked.erase(pair);
            order.Unlink(pair.first, pair.second);
          }
          break;
        }
        case 1:
          if (entries.empty() || !entries[which]->linked()) break;
          order.Erase(*entries[which]);
          break;
        default: {
          const bool fresh = entries.size() < 30;
          if (fresh) entries.push_back(std::make_unique<OrderEntry>());
          OrderEntry& entry = fresh ? *entries.back() : *entries[which];
          if (entry.linked()) order.Erase(entry);
          entry.key = Key(static_cast<std::int64_t>(rng.Below(3)), static_cast<std::int64_t>(rng.Below(3)), step);
          entry.key.no_priority = rng.Below(4) == 0;
          entry.cls = static_cast<ClassId>(rng.Below(kClasses));
          order.Insert(entry);
        }
      }
      for (KindId kind = 0; kind < kKinds; ++kind) {
        const OrderEntry* first = nullptr;
        for (const auto& entry : entries) {
          if (!entry->linked() || !linked.contains({kind, entry->cls})) continue;
          if (first == nullptr || entry->key < first->key) first = entry.get();
        }
        ASSERT_EQ(order.First(kind), first) << "kind " << kind << ", step " << step;
      }
      for (ClassId cls = 0; cls < kClasses; ++cls) {
        ASSERT_EQ(order.Empty(cls), std::none_of(entries.begin(), entries.end(), [cls](const auto& entry) {
                    return entry->linked() && entry->cls == cls;
                  }));
      }
    }
  }
}

}  // namespace
}  // namespace allot
