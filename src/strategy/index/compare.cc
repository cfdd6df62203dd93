// SPDX-License-Identifier: Apache-2.0
// Which cells a strategy gives, and which of two choices comes first, for those who look at cells one by one.
#include "base/check.h"
#include "strategy/index/views.h"

namespace allot::order {
namespace {

template <typename T>
int Sign(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// Which of the kind's ranks the cell's class has; less is wanted more.
std::size_t TierOf(const ViewContext& context, Bit kind, const Cell& cell) {
  std::size_t at = 0;
  for (const auto& [rank, tier] : context.verdicts.kinds().Tiers(kind)) {
    if (context.Has(cell, tier)) break;
    ++at;
  }
  return at;
}

}  // namespace

int Compare(const Plan& plan, const ViewContext& context, Bit kind, const Choice& a, const Choice& b) {
  switch (plan.compares) {
    case Compares::kInside:
      break;
    case Compares::kHead:
      return Sign(a.cell->leaves[plan.leaf].key, b.cell->leaves[plan.leaf].key);
    case Compares::kChance:
      return 0;
    case Compares::kLevel:
      if (const int order = Sign(TrueBin(plan, context, *a.cell), TrueBin(plan, context, *b.cell)); order != 0) {
        return order;
      }
      break;
    case Compares::kFairGroup:
      if (const int order = CompareFairGroups(plan, context, a.cell->values[plan.key], b.cell->values[plan.key]);
          order != 0) {
        return order;
      }
      break;
    case Compares::kBranches:
      for (const auto& branch : plan.inner) {
        const bool of_a = branch->Has(*a.leaf), of_b = branch->Has(*b.leaf);
        if (of_a != of_b) return of_a ? -1 : 1;
        if (of_a) return Compare(*branch, context, kind, a, b);
      }
      CHECK(false);
      return 0;
    case Compares::kRank:
      if (!context.verdicts.kinds().Tiers(kind).empty()) {
        if (const int order = Sign(TierOf(context, kind, *a.cell), TierOf(context, kind, *b.cell)); order != 0) {
          return order;
        }
      }
      break;
    case Compares::kOwn:
      if (const int order =
              plan.block->CompareValues(plan, context, a.cell->values[plan.key], b.cell->values[plan.key]);
          order != 0) {
        return order;
      }
      break;
  }
  return Compare(*plan.inner.front(), context, kind, a, b);
}

const Plan* LeafFor(const Plan& plan, const ViewContext& context, const Cell& cell) {
  switch (plan.passes) {
    case Passes::kAll:
      break;
    case Passes::kWanted:
      if (cell.values[plan.key] != plan.wanted) return nullptr;
      break;
    case Passes::kBelowMax:
      if (TrueBin(plan, context, cell) > 0) return nullptr;
      break;
    case Passes::kBranches:
      for (const auto& branch : plan.inner) {
        if (const Plan* leaf = LeafFor(*branch, context, cell)) return leaf;
      }
      return nullptr;
    case Passes::kOwn:
      if (!plan.block->PassesValue(plan, context, cell.values[plan.key])) return nullptr;
      break;
  }
  return plan.inner.empty() ? &plan : LeafFor(*plan.inner.front(), context, cell);
}

}  // namespace allot::order
